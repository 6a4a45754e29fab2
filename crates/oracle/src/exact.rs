//! What all sources of exact truth have in common, whether they look it up or search for it.

use std::sync::atomic::AtomicBool;

use rules::{Action, Game, Player, Wdl};

use crate::connect4::Stopped;
use crate::table::Score;

/// A perfect player that can also say what is true: it plays any of the best moves, each with the same probability.
/// Best is what wins soonest, else what draws, else what loses latest.
pub trait Exact<G: Game>: Player<G> {
    /// Every legal move with its exact score, in increasing order of actions; `None` if the position cannot arise in
    /// play and so nothing is known of it. Where a score has no plies, a win is as good as any other, and so is a loss.
    fn verdicts(&mut self, position: &G::Position) -> Option<Vec<Verdict>>;

    /// What a position that is not over is worth to the side to move.
    ///
    /// # Errors
    /// If `stop` was set meanwhile.
    fn value(&mut self, position: &G::Position, stop: &AtomicBool) -> Result<Wdl, Stopped>;
}

/// A legal move and what it leads to with best play of both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The move.
    pub action: Action,
    /// What it is worth to the side that makes it; the plies to the end count the move itself.
    pub score: Score,
}
