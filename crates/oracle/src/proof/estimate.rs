//! How many positions a walk will meet, before it is made.
//!
//! Knuth, "Estimating the efficiency of backtrack programs" (1975), counts a tree by random descents: one over the
//! chance of having come to a place is, on average, the number of places. Here places are reached in several ways, so
//! the chance is that of all of them: it is found by a small walk of its own, over the positions whose stones are all
//! among those of the last position of the descent.

use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;

use rules::{Action, Game, NotExact, Outcome, Rng, game::legal_actions};

use super::{Asked, Packed, Task, actions, is_symmetric};

/// A number of positions that a walk is expected to meet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The expected number.
    pub positions: f64,
    /// Its standard deviation, as far as the descents tell.
    pub deviation: f64,
    /// Questions to the player that the estimate took.
    pub asked: u64,
}

/// How much likelier a reply is in a descent that does not let the player win at once: descents should be long.
const SENSIBLE: f64 = 30.0;

/// Descents that are made at least, and at most.
const DESCENTS: std::ops::Range<u64> = 8..1_000;

/// Estimates the number of positions by descents until about `questions` have been asked.
///
/// # Errors
/// If the player's choice is not a function of the position.
pub fn estimate<G: Packed>(task: &Task<'_, G>, questions: u64) -> Result<Estimate, NotExact> {
    let share = if is_symmetric(task)? { 1.0 / task.game.symmetries().len() as f64 } else { 1.0 };
    let mut descents = Descents { task, asked: Asked::new(task), known: HashMap::new(), questions: 0 };
    let (mut count, mut sum, mut squares) = (0, 0.0, 0.0);
    while (count < DESCENTS.start || descents.questions < questions) && count < DESCENTS.end && !task.stop.load(Relaxed)
    {
        let positions = share * descents.descend(&mut Rng::new(count, 1))?;
        count += 1;
        sum += positions;
        squares += positions * positions;
    }
    let n = count.max(1) as f64;
    let mean = sum / n;
    let variance = (squares / n - mean * mean).max(0.0) / (n - 1.0).max(1.0);
    Ok(Estimate { positions: mean, deviation: variance.sqrt(), asked: descents.questions })
}

struct Descents<'a, G: Game> {
    task: &'a Task<'a, G>,
    asked: Asked<G>,
    /// Moves of the player, by position.
    known: HashMap<G::Position, u16>,
    questions: u64,
}

impl<G: Packed> Descents<'_, G> {
    fn moves(&mut self, position: &G::Position) -> Result<u16, NotExact> {
        if let Some(&moves) = self.known.get(position) {
            return Ok(moves);
        }
        self.questions += 1;
        let moves = self.asked.moves(self.task.game, position)?;
        self.known.insert(*position, moves);
        Ok(moves)
    }

    /// The replies in a position with their chances in a descent.
    fn replies(&self, position: &G::Position) -> Vec<(Action, f64)> {
        let game = self.task.game;
        let mut wins = Vec::new();
        let weight = |action: &Action| {
            let after = played(game, position, *action);
            wins.clear();
            if game.outcome(&after) == Outcome::Ongoing {
                game.winning(&after, &mut wins);
            }
            if wins.is_empty() { SENSIBLE } else { 1.0 }
        };
        let replies = legal_actions(game, position);
        let weights: Vec<f64> = replies.iter().map(weight).collect();
        let total: f64 = weights.iter().sum();
        replies.into_iter().zip(weights).map(|(reply, weight)| (reply, weight / total)).collect()
    }

    /// One random game against the player: the sum, over its positions with the player to move, of one over the chance
    /// that a descent comes there.
    fn descend(&mut self, rng: &mut Rng) -> Result<f64, NotExact> {
        let (game, seat) = (self.task.game, self.task.seat);
        let mut way = Vec::new();
        let mut position = game.start();
        while game.outcome(&position) == Outcome::Ongoing {
            let action = if game.to_move(&position) == seat {
                way.push(position);
                let moves: Vec<Action> = actions(self.moves(&position)?).collect();
                moves[rng.below(moves.len())]
            } else {
                let replies = self.replies(&position);
                let mut left = f64::from(rng.unit());
                let drawn = replies.iter().find(|(_, chance)| {
                    left -= chance;
                    left < 0.0
                });
                drawn.unwrap_or(&replies[0]).0
            };
            position = played(game, &position, action);
        }
        let Some(last) = way.last() else { return Ok(0.0) };
        let chances = self.chances_within(last)?;
        Ok(way.iter().map(|position| 1.0 / chances[position]).sum())
    }

    /// The chance that a descent comes to each position whose stones are all among those of `last`.
    fn chances_within(&mut self, last: &G::Position) -> Result<HashMap<G::Position, f64>, NotExact> {
        let (game, seat) = (self.task.game, self.task.seat);
        let within = |position: &G::Position, action: Action| {
            game.stone(last, game.landing(position, action)) == Some(game.to_move(position))
        };
        let mut chances = HashMap::new();
        let mut level = HashMap::from([(game.start(), 1.0)]);
        while !level.is_empty() {
            let mut next = HashMap::new();
            for (position, chance) in &level {
                let options: Vec<(Action, f64)> = if game.to_move(position) == seat {
                    let moves = self.moves(position)?;
                    actions(moves).map(|action| (action, 1.0 / f64::from(moves.count_ones()))).collect()
                } else {
                    self.replies(position)
                };
                for (action, share) in options {
                    if within(position, action) {
                        let after = played(game, position, action);
                        if game.outcome(&after) == Outcome::Ongoing {
                            *next.entry(after).or_insert(0.0) += chance * share;
                        }
                    }
                }
            }
            chances.extend(level.into_iter().filter(|(position, _)| game.to_move(position) == seat));
            level = next;
        }
        Ok(chances)
    }
}

fn played<G: Game>(game: &G, position: &G::Position, action: Action) -> G::Position {
    let mut after = *position;
    game.play(&mut after, action);
    after
}
