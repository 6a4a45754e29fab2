//! Earlier versions of the network as opponents, drawn by how hard they are to beat: prioritised fictitious self-play
//! (Vinyals et al. 2019, "Grandmaster level in StarCraft II using multi-agent reinforcement learning", methods). What has
//! been forgotten since a version was made becomes likely to be met again.

use std::sync::Arc;

use net::Workers;
use net::file::{Tensor, take};
use rules::{Game, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kit::actor_critic::{Reader, prefixed, without};
use crate::kit::self_play::{Played, play_others};
use crate::learner::{ConfigError, RestoreError, State, require};

/// Earlier versions as opponents.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pool {
    /// The share of an iteration's games that is played against earlier versions, in [0, 1]; 0 for no pool.
    pub share: f32,
    /// Versions that are kept at most, 1 to 1,000; of more, the one that is beaten most easily is dropped.
    pub size: usize,
    /// Iterations between two versions, at least 1.
    pub every: u64,
}

impl Default for Pool {
    /// No pool.
    fn default() -> Self {
        Pool { share: 0.0, size: 16, every: 10 }
    }
}

impl Pool {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        require((0.0..=1.0).contains(&self.share), "pool.share", &self.share, "within [0, 1]")?;
        require((1..=1_000).contains(&self.size), "pool.size", &self.size, "from 1 to 1000")?;
        require(self.every >= 1, "pool.every", &self.every, "at least 1")
    }
}

/// The versions that are kept, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Versions(Vec<Version>);

#[derive(Debug)]
struct Version {
    weights: Vec<Tensor>,
    /// The learner's points out of one against it, a mean in which the last game has the weight 1 / [`WINDOW`]: what was
    /// won long ago is forgotten, as the learner changes.
    points: f32,
}

const WINDOW: f32 = 32.0;

impl Version {
    /// Weights in the order of their names, whatever order a file has.
    fn new(mut weights: Vec<Tensor>, points: f32) -> Self {
        weights.sort_by(|a, b| a.name.cmp(&b.name));
        Version { weights, points }
    }
}

impl Versions {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Keeps a version. Nothing is known of it yet; it plays as well as the learner does.
    pub(super) fn add(&mut self, weights: Vec<Tensor>, size: usize) {
        self.0.push(Version::new(weights, 0.5));
        if self.0.len() > size {
            // Of those that were kept before; `max_by` takes the last of equals, reversed, that is the oldest.
            let points = |i: &usize| self.0[*i].points;
            let easiest = (0..size).rev().max_by(|a, b| points(a).total_cmp(&points(b)));
            self.0.remove(easiest.expect("there are some"));
        }
    }

    /// What the probability of each version to be drawn is in proportion to: (1 - points)^2, for all the same if none is
    /// ever lost to.
    fn weights(&self) -> Vec<f32> {
        let weights: Vec<f32> = self.0.iter().map(|version| (1.0 - version.points).powi(2)).collect();
        if weights.iter().sum::<f32>() > 1e-6 { weights } else { vec![1.0; weights.len()] }
    }

    fn draw(&self, rng: &mut Rng) -> usize {
        let weights = self.weights();
        let mut left = rng.unit() * weights.iter().sum::<f32>();
        let found = weights.iter().position(|weight| {
            left -= weight;
            left < 0.0
        });
        // Rounding may leave a crumb.
        found.unwrap_or(weights.len() - 1)
    }

    /// Plays games with these numbers, each against a version drawn for it, and counts the points. `reader` makes a network
    /// of its weights. There must be a version.
    pub(super) fn play<G: Game>(
        &mut self,
        learner: &Reader<G>,
        reader: impl Fn(&[Tensor]) -> Arc<Reader<G>>,
        openings: usize,
        (seed, numbers): (u64, std::ops::Range<u64>),
        workers: &Workers,
    ) -> Vec<Played<G::Position>> {
        // Streams that no other draw of the training has.
        let drawn: Vec<usize> = numbers.clone().map(|number| self.draw(&mut Rng::new(!seed, !number))).collect();
        let mut versions = drawn.clone();
        versions.sort_unstable();
        versions.dedup();
        let others: Vec<_> = versions.iter().map(|&version| reader(&self.0[version].weights)).collect();
        let place = |version| versions.binary_search(version).expect("it was drawn");
        let games: Vec<(u64, usize)> = numbers.zip(drawn.iter().map(place)).collect();
        let played = play_others(learner, &others, openings, (seed, &games), workers);
        for (game, version) in played.iter().zip(drawn) {
            let points = &mut self.0[version].points;
            *points += (points_of(game) - *points) / WINDOW;
        }
        played
    }

    /// Versions and points, as [`Versions::restore`] takes them.
    pub(super) fn save(&self, state: &mut State) {
        if self.is_empty() {
            return;
        }
        let points = self.0.iter().map(|version| version.points).collect();
        state.counters.push((COUNTER.to_owned(), self.len() as u64));
        state.tensors.push(Tensor::new(POINTS, &[self.len()], points));
        let versions = self.0.iter().enumerate();
        state.tensors.extend(versions.flat_map(|(i, version)| prefixed(&prefix(i), version.weights.clone())));
    }

    /// Takes what [`Versions::save`] gave; weights are not looked into.
    ///
    /// # Errors
    /// If the points are missing.
    pub(super) fn restore(state: &State) -> Result<Self, RestoreError> {
        let versions = state.counter(COUNTER).unwrap_or(0) as usize;
        if versions == 0 {
            return Ok(Versions::default());
        }
        let points = take(&state.tensors, POINTS, &[versions])?;
        let version = |(i, &points)| Version::new(without(&prefix(i), &state.tensors), points);
        Ok(Versions(points.iter().enumerate().map(version).collect()))
    }

    /// The weights of all versions.
    pub(super) fn all(&self) -> impl Iterator<Item = &[Tensor]> {
        self.0.iter().map(|version| &*version.weights)
    }
}

const COUNTER: &str = "pool";
const POINTS: &str = "pool.points";

fn prefix(version: usize) -> String {
    format!("pool.{version}.")
}

/// The learner's points of a game in which it had one seat: 1, 0.5 or 0.
pub(super) fn points_of<P>(game: &Played<P>) -> f32 {
    let value = game.seat.and_then(|seat| game.outcome.seen_by(seat)).expect("one seat, and an end").value();
    value / 2.0 + 0.5
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(points: &[f32]) -> Versions {
        Versions(points.iter().map(|&points| Version::new(Vec::new(), points)).collect())
    }

    #[test]
    fn versions_are_drawn_by_how_hard_they_are_to_beat() {
        // (1 - 0)^2 : (1 - 0.5)^2 : (1 - 1)^2 is 4 : 1 : 0.
        let versions = pool(&[0.0, 0.5, 1.0]);
        assert_eq!(versions.weights(), [1.0, 0.25, 0.0]);
        let mut drawn = [0; 3];
        let mut rng = Rng::new(1, 0);
        (0..10_000).for_each(|_| drawn[versions.draw(&mut rng)] += 1);
        assert!((7_800..8_200).contains(&drawn[0]) && drawn[2] == 0, "{drawn:?}");
        // Who beats all meets all.
        assert_eq!(pool(&[1.0, 1.0]).weights(), [1.0, 1.0]);
    }

    #[test]
    fn the_easiest_makes_room_of_equals_the_oldest() {
        let mut versions = pool(&[0.4, 0.8, 0.6]);
        versions.add(Vec::new(), 3);
        let points = |versions: &Versions| versions.0.iter().map(|version| version.points).collect::<Vec<_>>();
        assert_eq!(points(&versions), [0.4, 0.6, 0.5]);
        let mut versions = pool(&[0.5, 0.4]);
        versions.add(Vec::new(), 2);
        assert_eq!(points(&versions), [0.4, 0.5]);
    }

    #[test]
    fn a_state_without_the_points_is_refused() {
        let mut state = State { games: 0, counters: Vec::new(), tensors: Vec::new() };
        pool(&[0.25, 0.75]).save(&mut state);
        assert_eq!(Versions::restore(&state).unwrap().weights(), [0.5625, 0.0625]);
        state.tensors.clear();
        assert!(Versions::restore(&state).is_err());
    }
}
