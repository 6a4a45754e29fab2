//! Positions with the exact score of every column, to audit players by. Nobody ever learns from them.
//!
//! Three kinds are made for this (see the example `connect4_audit_set`), some of each number of stones: from random
//! play, from play of a simple searcher against itself, and from play in which both sides keep the game as even as they
//! can. The others are of the six sets that Pons published.

use std::fmt;
use std::sync::OnceLock;

use rules::Action;
use rules::connect4::{COLUMNS, Connect4, Position};

use super::Score;
use super::book::checksum;
use crate::exact::Verdict;
use crate::exam::Labelled;
use crate::proof::Packed;

/// Where a position comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Source(u8);

/// Names of the sources.
const NAMES: [&str; 9] = [
    "random play",
    "searcher's self-play",
    "near-balanced play",
    "Test_L3_R1",
    "Test_L2_R1",
    "Test_L2_R2",
    "Test_L1_R1",
    "Test_L1_R2",
    "Test_L1_R3",
];

impl Source {
    /// The source of this name, as [`Source::name`] gives it.
    pub fn named(name: &str) -> Option<Source> {
        NAMES.iter().position(|&n| n == name).map(|i| Source(i as u8))
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        NAMES[usize::from(self.0)]
    }
}

/// A position with the score of each column for the side that plays there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scored {
    /// Where it comes from.
    pub source: Source,
    /// The position.
    pub position: Position,
    /// `None` where no stone may be played.
    pub scores: [Option<Score>; COLUMNS],
}

/// What a stored set begins with: its kind and the version of the format.
const MAGIC: [u8; 8] = *b"C4AUDIT\x01";
/// Stands for the score of a column where no stone may be played.
const NONE: u8 = 127;
/// Bytes of a position: its key, its scores, its source.
const BYTES: usize = 8 + COLUMNS + 1;

/// The stored form of a set.
pub fn to_bytes(set: &[Scored]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    for Scored { source, position, scores } in set {
        bytes.extend_from_slice(&Connect4.pack(position).to_le_bytes());
        bytes.extend(scores.map(|score| score.map_or(NONE, |score| score.0 as u8)));
        bytes.push(source.0);
    }
    let sum = checksum(&bytes);
    bytes.extend_from_slice(&sum.to_le_bytes());
    bytes
}

/// Reads a stored set.
///
/// # Errors
/// If the bytes are not a set of this version, or not whole.
pub fn from_bytes(bytes: &[u8]) -> Result<Vec<Scored>, SetError> {
    if !bytes.starts_with(&MAGIC) {
        return Err(SetError::Foreign);
    }
    let (stored, sum) = bytes.split_last_chunk().ok_or(SetError::Damaged)?;
    let (records, rest) = stored[MAGIC.len().min(stored.len())..].as_chunks::<BYTES>();
    let known = |record: &[u8; BYTES]| usize::from(record[BYTES - 1]) < NAMES.len();
    if checksum(stored) != u64::from_le_bytes(*sum) || !rest.is_empty() || !records.iter().all(known) {
        return Err(SetError::Damaged);
    }
    let read = |record: &[u8; BYTES]| {
        let (key, rest) = record.split_first_chunk::<8>().expect("a record is longer");
        let score = |column: usize| (rest[column] != NONE).then_some(Score(rest[column] as i8));
        let source = Source(rest[COLUMNS]);
        let scores = std::array::from_fn(score);
        Scored { source, position: Connect4.unpack(u64::from_le_bytes(*key)), scores }
    };
    Ok(records.iter().map(read).collect())
}

/// The set that comes with the program.
pub fn built_in() -> &'static [Labelled<Connect4>] {
    static SET: OnceLock<Vec<Labelled<Connect4>>> = OnceLock::new();
    SET.get_or_init(|| {
        let set = from_bytes(include_bytes!("../../data/connect4/audit.bin")).expect("the stored set is whole");
        set.iter().map(Scored::labelled).collect()
    })
}

impl Scored {
    /// The same in the terms that all games share.
    pub fn labelled(&self) -> Labelled<Connect4> {
        let position = self.position;
        let verdict = |(action, score): (usize, &Option<Score>)| {
            let score = super::player::score_of_move(&position, (*score)?);
            Some(Verdict { action: action as Action, score })
        };
        let verdicts = self.scores.iter().enumerate().filter_map(verdict).collect();
        Labelled { source: self.source.name(), position, verdicts }
    }
}

/// Why bytes are not a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetError {
    /// They are something else, or a set of another version.
    Foreign,
    /// They were a set, but some are missing or changed.
    Damaged,
}

impl fmt::Display for SetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SetError::Foreign => "not a set of positions of this version",
            SetError::Damaged => "a damaged set of positions",
        })
    }
}

impl std::error::Error for SetError {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connect4::Solver;
    use rules::{Game, game::legal_actions};
    use std::sync::atomic::AtomicBool;

    #[test]
    fn the_stored_set_is_read_back_and_a_damaged_one_refused() {
        let bytes = include_bytes!("../../data/connect4/audit.bin");
        let set = from_bytes(bytes).unwrap();
        assert_eq!(to_bytes(&set), bytes);
        for at in [0, 7, 8, 1_000, bytes.len() - 1] {
            let mut damaged = bytes.to_vec();
            damaged[at] ^= 1;
            let expected = if at < 8 { SetError::Foreign } else { SetError::Damaged };
            assert_eq!(from_bytes(&damaged), Err(expected));
        }
        assert_eq!(from_bytes(&bytes[..bytes.len() - 16]), Err(SetError::Damaged));
        assert_eq!(from_bytes(&bytes[..8]), Err(SetError::Damaged));
    }

    #[test]
    fn every_stored_position_is_open_and_its_late_scores_are_right() {
        let mut solver = Solver::new(0, 1);
        for scored in from_bytes(include_bytes!("../../data/connect4/audit.bin")).unwrap() {
            let position = scored.position;
            assert!(!Connect4.outcome(&position).is_over());
            let legal = legal_actions(&Connect4, &position);
            let columns = (0..COLUMNS as Action).filter(|&column| scored.scores[usize::from(column)].is_some());
            assert_eq!(columns.collect::<Vec<_>>(), legal);
            if Connect4.ply(&position) >= 24 {
                assert_eq!(solver.scores(&position, &AtomicBool::new(false)), Ok(scored.scores));
            }
        }
    }
}
