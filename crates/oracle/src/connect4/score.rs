//! What a position is worth, in numbers and words, and positions as lists of columns.

use std::fmt;

use rules::connect4::{COLUMNS, Connect4, Position, ROWS};
use rules::{Game, Outcome, Refusal, Wdl, notation::quote};

/// An exact score, for the side to move: 22 minus the number of stones that the winner will have placed when the game
/// ends, if the side to move wins; minus that if it loses; 0 for a draw. So the greater the better: a win the sooner
/// the better, a loss the later. From -18 to 18; the empty board has 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Score(pub i8);

impl Score {
    /// Win, draw or loss for the side to move.
    pub fn wdl(self) -> Wdl {
        match self.0 {
            1.. => Wdl::Win,
            0 => Wdl::Draw,
            _ => Wdl::Loss,
        }
    }

    /// How many moves the winner still makes from `position`, which has this score; `None` for a draw.
    pub fn moves_to_win(self, position: &Position) -> Option<u32> {
        let stones = Connect4.ply(position) as u32;
        // The side to move has stones / 2 on the board, the other the rest.
        let placed = if self.0 > 0 { stones / 2 } else { stones.div_ceil(2) };
        (self.0 != 0).then(|| 22 - u32::from(self.0.unsigned_abs()) - placed)
    }

    /// What the side to move of `position`, which has this score, can expect of best play.
    pub fn words(self, position: &Position) -> String {
        let verb = match self.wdl() {
            Wdl::Win => "wins",
            Wdl::Draw => return "draws".to_owned(),
            Wdl::Loss => "loses",
        };
        match self.moves_to_win(position) {
            Some(0) => "has lost".to_owned(),
            Some(1) => format!("{verb} in 1 move"),
            Some(moves) => format!("{verb} in {moves} moves"),
            None => unreachable!("a decided game has a winner"),
        }
    }

    /// The score of a game that is over.
    pub(super) fn of_finished(position: &Position) -> Option<Score> {
        match Connect4.outcome(position) {
            Outcome::Ongoing => None,
            Outcome::Draw => Some(Score(0)),
            // The side that moved last has won.
            Outcome::Win(_) => Some(Score((Connect4.ply(position) as i8 + 1) / 2 - 22)),
        }
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Why a text is not a list of moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MovesError {
    /// Something else than a column from 1 to 7.
    Character {
        /// Which character, from 1.
        at: usize,
        /// What stands there.
        found: char,
    },
    /// More moves than the board has cells.
    TooMany(usize),
    /// A move that may not be played.
    Refused {
        /// Which move, from 1.
        at: usize,
        /// Its column, from 1.
        column: usize,
        /// Why.
        why: Refusal,
    },
}

impl fmt::Display for MovesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MovesError::Character { at, found } => {
                write!(f, "character {at} is {}, not a column from 1 to {COLUMNS}", quote(&found.to_string()))
            }
            MovesError::TooMany(moves) => write!(f, "{moves} moves, but the board has {} cells", COLUMNS * ROWS),
            MovesError::Refused { at, column, why } => write!(f, "move {at}, column {column}: {why}"),
        }
    }
}

impl std::error::Error for MovesError {}

/// The position after the moves of one line of text: columns from 1 to 7 without blanks; the line's end is ignored.
///
/// # Errors
/// The first thing in the line that is wrong.
pub fn read_moves(line: &str) -> Result<Position, MovesError> {
    let line = line.strip_suffix('\n').unwrap_or(line);
    let line = line.strip_suffix('\r').unwrap_or(line);
    if let Some((i, found)) = line.chars().enumerate().find(|(_, c)| !('1'..='7').contains(c)) {
        return Err(MovesError::Character { at: i + 1, found });
    }
    if line.len() > COLUMNS * ROWS {
        return Err(MovesError::TooMany(line.len()));
    }
    let mut position = Connect4.start();
    for (i, digit) in line.bytes().enumerate() {
        let column = usize::from(digit - b'0');
        Connect4.try_play(&mut position, column as u16 - 1).map_err(|why| MovesError::Refused {
            at: i + 1,
            column,
            why,
        })?;
    }
    Ok(position)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_or_refused_with_the_reason() {
        assert_eq!(read_moves(""), Ok(Connect4.start()));
        for end in ["", "\n", "\r\n", "\r"] {
            assert_eq!(read_moves(&format!("44{end}")), read_moves("44"));
        }
        let error = |line: &str| read_moves(line).unwrap_err().to_string();
        assert_eq!(error("4444444"), "move 7, column 4: the column is full");
        assert_eq!(error("12121212"), "move 8, column 2: the game is over");
        assert_eq!(error(&"1".repeat(43)), "43 moves, but the board has 42 cells");
        assert_eq!(error("448"), "character 3 is '8', not a column from 1 to 7");
        assert_eq!(error("4 4"), "character 2 is ' ', not a column from 1 to 7");
        assert_eq!(error("44\r\n\n"), "character 3 is '\\r', not a column from 1 to 7");
        assert_eq!(error("4é"), "character 2 is 'é', not a column from 1 to 7");
    }

    #[test]
    fn scores_in_words() {
        let words = |moves: &str, score| Score(score).words(&read_moves(moves).unwrap());
        assert_eq!(words("", 1), "wins in 21 moves");
        assert_eq!(words("4455", 18), "wins in 2 moves");
        assert_eq!(words("44455554221", -15), "loses in 1 move");
        assert_eq!(words("1", 0), "draws");
        let over = read_moves("1212121").unwrap();
        let score = Score::of_finished(&over).unwrap();
        assert_eq!((score, score.words(&over)), (Score(-18), "has lost".to_owned()));
        assert_eq!(Score::of_finished(&read_moves("121212").unwrap()), None);
    }
}
