//! The games of an iteration: on which board, against whom, and by whose moves.

use std::ops::Range;
use std::sync::Arc;

use net::Workers;
use net::file::Tensor;
use rules::{Game, Rng};

use super::made::{Made, make};
use super::{Config, Lesson, Ppo, Sample};
use crate::kit::actor_critic::{ActorCritic, Reader};
use crate::kit::self_play::{Played, self_play};
use crate::learner::RestoreError;

/// The network of these weights, as it plays on a board.
pub(super) fn reader<G: Game>(
    game: &G,
    board: &G,
    config: &Config,
    weights: &[Tensor],
) -> Result<Arc<Reader<G>>, RestoreError> {
    let mut net = ActorCritic::new(game, &config.network, 0.0, &mut Rng::new(0, 0))?;
    net.set_tensors(weights)?;
    Ok(net.reader(board))
}

/// Games by the policy's moves, and games that the search made.
pub(super) type Games<P> = (Vec<Played<P>>, Vec<Made<P>>);

impl<G: Game> Ppo<G> {
    /// The board on which game number `game` is played, and the number of games with which its stage ends.
    pub(super) fn stage(&self, game: u64) -> (G, u64) {
        let mut share = 0.0;
        for &(side, of_games) in &self.config.curriculum {
            share += of_games;
            let end = (share * self.config.games as f64).round() as u64;
            if game < end {
                return (self.game.resized(side as usize).expect("checked when it was made"), end);
            }
        }
        (self.game.clone(), self.config.games)
    }

    /// The number of iterations after which so many games have been played. An iteration never belongs to two boards.
    pub(super) fn iterations(&self, games: u64) -> u64 {
        let (mut begin, mut iterations) = (0, 0);
        loop {
            let (_, end) = self.stage(begin);
            iterations += (games.min(end) - begin).div_ceil(self.config.iteration);
            if games <= end {
                return iterations;
            }
            begin = end;
        }
    }

    /// Plays the games of an iteration: those against earlier versions first, then those of the policy against itself; and lets
    /// the search make its own, which are the last.
    pub(super) fn play(&mut self, numbers: Range<u64>, workers: &Workers) -> Games<G::Position> {
        let Ppo { game, config, seed, board, net, versions, .. } = self;
        let (openings, seed, learner) = (config.openings, *seed, net.reader(board));
        let games = |share: f32| (share * (numbers.end - numbers.start) as f32).round() as u64;
        let pool = numbers.start + if versions.is_empty() { 0 } else { games(config.pool.share) };
        let made = numbers.end - games(config.mcts.share).min(numbers.end - pool);
        let version = |weights: &[Tensor]| reader(game, board, config, weights).expect("weights of this network");
        let mut played = versions.play(&learner, version, openings, (seed, numbers.start..pool), workers);
        played.extend(self_play(&learner, openings, (seed, pool..made), workers));
        (played, make(&learner, config.mcts.visits, openings, (seed, made..numbers.end), workers))
    }

    /// What is learned from a game that a search made: its shares, and the discounted result as the value.
    pub(super) fn lessons(&self, made: &Made<G::Position>) -> Vec<Sample<G::Position>> {
        // Advantages over values of 0, with lambda 1, are the discounted results themselves.
        let nothing = vec![0.0; made.shares.len()];
        let targets = self.config.form.advantages(&made.game, &nothing, self.config.gamma, 1.0);
        let moves = made.game.steps.iter().zip(&made.shares).zip(targets);
        let sample = |((&step, shares), target): ((_, &Vec<f32>), _)| {
            let lesson = Lesson::Searched(shares.clone());
            Sample { step, target, lesson }
        };
        moves.map(sample).collect()
    }
}
