//! Counting what can be reached: the classic check of a game's rules against published numbers.

use std::collections::{HashMap, HashSet};

use crate::game::{Game, legal_actions};

/// What lies at one depth below the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Perft {
    /// Sequences of this many legal moves.
    pub lines: u64,
    /// Those among `lines` at whose end the game is over.
    pub ended: u64,
    /// Distinct positions at their ends.
    pub positions: u64,
    /// Distinct positions up to symmetry.
    pub canonical: u64,
}

/// Counts lines and positions at exactly `depth` moves from the start, both directly and by canonical positions.
///
/// # Panics
/// If the two ways disagree about the number of lines: then a symmetry of the game is wrong.
pub fn perft<G: Game>(game: &G, depth: usize) -> Perft {
    let plain = frontier(game, depth, |position| position);
    let canonical = frontier(game, depth, |position| game.canonical(&position));
    let lines = plain.values().sum();
    assert_eq!(lines, canonical.values().sum::<u64>(), "{}: symmetry changes the number of lines", game.name());
    let ended = plain.iter().filter(|(position, _)| game.outcome(position).is_over()).map(|(_, lines)| lines).sum();
    let merged: HashSet<_> = plain.keys().map(|position| game.canonical(position)).collect();
    assert_eq!(merged.len(), canonical.len(), "{}: canonical positions do not merge what they should", game.name());
    Perft { lines, ended, positions: plain.len() as u64, canonical: canonical.len() as u64 }
}

/// Every position at this depth as `merge` shows it, with the number of lines that lead there.
fn frontier<G: Game>(game: &G, depth: usize, merge: impl Fn(G::Position) -> G::Position) -> HashMap<G::Position, u64> {
    let mut level = HashMap::from([(merge(game.start()), 1)]);
    for _ in 0..depth {
        let mut next = HashMap::new();
        for (position, lines) in level {
            for action in legal_actions(game, &position) {
                let mut child = position;
                game.play(&mut child, action);
                *next.entry(merge(child)).or_insert(0) += lines;
            }
        }
        level = next;
    }
    level
}
