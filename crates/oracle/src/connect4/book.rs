//! The exact scores of all positions with at most six stones, where searching takes longest.
//!
//! Stored are the 8,231 positions with six stones that are different even in a mirror, one byte each; those with fewer
//! follow from them. A position that nobody has solved yet is marked as such and left to the search.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use rules::connect4::{Connect4, Position};
use rules::{Game, game::legal_actions};

use super::score::Score;
use super::solver::{Solver, Stopped};

/// Scores of all positions with at most [`Book::STONES`] stones.
pub struct Book {
    scores: HashMap<Position, Score>,
}

/// What a stored book begins with: its kind and the version of the format.
const MAGIC: [u8; 8] = *b"C4BOOK6\x01";
/// Stands for a score that is not known.
const UNKNOWN: u8 = 127;

impl Book {
    /// Most stones of a position in the book.
    pub const STONES: u32 = 6;

    /// The book that comes with the program.
    pub fn built_in() -> &'static Book {
        static BOOK: OnceLock<Book> = OnceLock::new();
        BOOK.get_or_init(|| {
            Book::from_bytes(include_bytes!("../../data/connect4/book.bin")).expect("the stored book is whole")
        })
    }

    /// The score of a position, unless it has too many stones.
    pub fn score(&self, position: &Position) -> Option<Score> {
        if position.occupied().count_ones() > Book::STONES {
            return None;
        }
        self.scores.get(&Connect4.canonical(position)).copied()
    }

    /// The positions whose scores are stored, in that order.
    pub fn positions() -> Vec<Position> {
        Book::positions_with(Book::STONES)
    }

    fn positions_with(stones: u32) -> Vec<Position> {
        let mut level = BTreeSet::from([Connect4.start()]);
        for _ in 0..stones {
            level = level.iter().flat_map(children).map(|child| Connect4.canonical(&child)).collect();
        }
        level.into_iter().collect()
    }

    /// Reads a stored book.
    ///
    /// # Errors
    /// If the bytes are not a book of this version, or not whole.
    pub fn from_bytes(bytes: &[u8]) -> Result<Book, BookError> {
        let rest = bytes.strip_prefix(&MAGIC).ok_or(BookError::Foreign)?;
        let (stored, sum) = rest.split_last_chunk().ok_or(BookError::Damaged)?;
        let positions = Book::positions();
        if checksum(stored) != u64::from_le_bytes(*sum) || stored.len() != positions.len() {
            return Err(BookError::Damaged);
        }
        let known = positions.into_iter().zip(stored).filter(|&(_, &byte)| byte != UNKNOWN);
        let mut book = Book { scores: known.map(|(position, &byte)| (position, Score(byte as i8))).collect() };
        book.add(&Connect4.start());
        Ok(book)
    }

    /// The stored form of a book, from the scores of [`Book::positions`], as far as they are known.
    pub fn to_bytes(scores: &[Option<Score>]) -> Vec<u8> {
        let stored: Vec<u8> = scores.iter().map(|score| score.map_or(UNKNOWN, |score| score.0 as u8)).collect();
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&stored);
        bytes.extend_from_slice(&checksum(&stored).to_le_bytes());
        bytes
    }

    /// Finds the scores of [`Book::positions`]: calls `known` for those already found in an earlier run, and `found`
    /// with each new one. They come in an order in which neighbours have much in common.
    ///
    /// # Errors
    /// If `stop` was set; another call goes on where this one was stopped.
    pub fn make(
        solver: &mut Solver,
        stop: &AtomicBool,
        known: impl Fn(&Position) -> bool,
        mut found: impl FnMut(&Position, Score),
    ) -> Result<(), Stopped> {
        let mut seen = BTreeSet::new();
        let mut ancestors = vec![Connect4.start()];
        for _ in 0..Book::STONES - 2 {
            ancestors = ancestors.iter().flat_map(children).collect();
            ancestors.sort_unstable();
            ancestors.dedup();
        }
        for ancestor in ancestors {
            for position in children(&ancestor).iter().flat_map(children) {
                let canonical = Connect4.canonical(&position);
                if seen.insert(canonical) && !known(&canonical) {
                    // Searches of positions with this ancestor share what they find.
                    solver.prepare(&ancestor);
                    found(&canonical, solver.score(&position, stop)?);
                }
            }
        }
        Ok(())
    }

    /// Adds a position with fewer stones and all that come after it, if enough is known. No game ends before the
    /// seventh stone.
    fn add(&mut self, position: &Position) -> Option<Score> {
        let known = self.score(position);
        if known.is_some() || position.occupied().count_ones() == Book::STONES {
            return known;
        }
        // All children are visited, even if one is unknown: what is known of the others counts.
        let scores: Vec<_> = children(position).iter().map(|child| self.add(child)).collect();
        let worst_for_opponent = scores.into_iter().collect::<Option<Vec<_>>>()?.into_iter().min()?;
        let best = Score(-worst_for_opponent.0);
        self.scores.insert(Connect4.canonical(position), best);
        Some(best)
    }
}

fn children(position: &Position) -> Vec<Position> {
    let play = |action| {
        let mut child = *position;
        Connect4.play(&mut child, action);
        child
    };
    legal_actions(&Connect4, position).into_iter().map(play).collect()
}

/// FNV-1a, 64 bits: finds damage, not malice.
pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, &byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Why bytes are not a book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BookError {
    /// They are something else, or a book of another version.
    Foreign,
    /// They were a book, but some are missing or changed.
    Damaged,
}

impl fmt::Display for BookError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BookError::Foreign => "not a Connect Four book of this version",
            BookError::Damaged => "a damaged Connect Four book",
        })
    }
}

impl std::error::Error for BookError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_positions_are_those_of_the_published_count() {
        assert_eq!(Book::positions().len(), 8_231);
    }

    #[test]
    fn a_stored_book_is_read_back_and_a_damaged_one_refused() {
        let positions = Book::positions();
        let scores: Vec<_> = (0..positions.len()).map(|i| Some(Score(i as i8 % 19))).collect();
        let bytes = Book::to_bytes(&scores);
        let book = Book::from_bytes(&bytes).unwrap();
        for (position, score) in positions.iter().zip(&scores) {
            assert_eq!(book.score(position), *score);
            let mirrored = Connect4.transform(Connect4.symmetries()[1], position);
            assert_eq!(book.score(&mirrored), *score);
        }
        assert!(book.score(&Connect4.start()).is_some());
        for at in [0, 7, 8, 5_000, bytes.len() - 1] {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            let expected = if at < 8 { BookError::Foreign } else { BookError::Damaged };
            assert_eq!(Book::from_bytes(&damaged).err(), Some(expected));
        }
        assert_eq!(Book::from_bytes(&bytes[..bytes.len() - 1]).err(), Some(BookError::Damaged));
        assert_eq!(Book::from_bytes(&bytes[..10]).err(), Some(BookError::Damaged));
    }

    #[test]
    fn the_built_in_book_answers_everything_with_few_stones_without_search() {
        let mut solver = Solver::new(0, 1).with_book(Book::built_in());
        let go_on = AtomicBool::new(false);
        for position in (0..=Book::STONES).flat_map(Book::positions_with) {
            assert_eq!(solver.score(&position, &go_on).ok(), Book::built_in().score(&position));
        }
        let start = Connect4.start();
        // Known since Allen and Allis, 1988: the middle wins, its neighbours draw, all others lose.
        let scores = solver.scores(&start, &go_on).unwrap().map(|score| score.map(|score| score.0));
        assert_eq!(scores, [-2, -1, 0, 1, 0, -1, -2].map(Some));
        assert_eq!(solver.score(&start, &go_on), Ok(Score(1)));
        assert_eq!(solver.nodes(), 0);
    }

    #[test]
    fn the_built_in_book_says_what_the_search_finds() {
        let book = Book::built_in();
        let mut solver = Solver::new(0, 1);
        let known = Book::positions().into_iter().filter_map(|position| Some((position, book.score(&position)?)));
        // Early wins are found quickly.
        let quick: Vec<_> = known.filter(|(_, score)| score.0.abs() >= 8).step_by(25).collect();
        assert!(quick.len() > 10);
        for (position, score) in quick {
            assert_eq!(solver.score(&position, &AtomicBool::new(false)), Ok(score), "{position:?}");
        }
    }

    #[test]
    fn what_is_unknown_is_not_answered_and_the_rest_is() {
        let positions = Book::positions();
        let mut scores = vec![Some(Score(1)); positions.len()];
        scores[4_000] = None;
        let book = Book::from_bytes(&Book::to_bytes(&scores)).unwrap();
        assert_eq!(book.score(&positions[4_000]), None);
        assert_eq!(book.score(&positions[3_999]), Some(Score(1)));
        assert_eq!(book.score(&Connect4.start()), None);
        let five: Vec<_> = Book::positions_with(5).into_iter().map(|position| book.score(&position)).collect();
        let unknown = five.iter().filter(|score| score.is_none()).count();
        // Only those from which the unknown one is reached: at most one for each of its stones that may be the last.
        assert!((1..=6).contains(&unknown), "{unknown}");
        assert!(five.iter().flatten().all(|&score| score == Score(-1)));
    }
}
