//! A game as a record: one line of JSON in a file of games.

use rules::notation::NotationError;
use rules::{Action, Forfeit, Game, Outcome, Seat};
use serde::{Deserialize, Serialize};

use crate::play::{End, Played};

/// A game of a tournament. Everything is said by name and read by name, never by its place in a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// The number of the game in its tournament, from 0.
    pub number: u64,
    /// The game that was played, such as `gomoku:15:renju`.
    pub game: String,
    /// The player that moved first, by the name that it gave itself.
    pub first: String,
    /// The player that moved second.
    pub second: String,
    /// How many of the moves belong to the opening, which no player chose.
    pub opening: usize,
    /// The moves from the empty board, as the game writes them, separated by blanks.
    pub moves: String,
    /// The winning seat, or a draw.
    pub result: Result,
    /// How the result came about.
    pub end: Reason,
    /// What a failed player said, or the refused move and why it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// Who won, by seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Result {
    /// The player that moved first has won.
    First,
    /// The player that moved second has won.
    Second,
    /// Nobody has won.
    Draw,
}

/// How a recorded game ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reason {
    /// On the board.
    Board,
    /// The loser gave up.
    Resigned,
    /// The loser left.
    Left,
    /// The loser's time ran out.
    Time,
    /// The loser crashed or answered nonsense.
    Failed,
    /// The loser's move was refused.
    Illegal,
}

impl Record {
    /// The record of a finished game.
    pub fn new<G: Game>(game: &G, number: u64, first: &str, second: &str, played: &Played) -> Record {
        let (end, detail) = match &played.end {
            End::Board => (Reason::Board, None),
            End::Forfeit(Forfeit::Resigned) => (Reason::Resigned, None),
            End::Forfeit(Forfeit::Left) => (Reason::Left, None),
            End::Forfeit(Forfeit::TimedOut) => (Reason::Time, None),
            End::Forfeit(Forfeit::Failed(why)) => (Reason::Failed, Some(why.clone())),
            End::Illegal(action, refusal) => {
                let point = if usize::from(*action) < game.actions() {
                    game.write_action(*action)
                } else {
                    format!("action {action}")
                };
                (Reason::Illegal, Some(format!("{point}: {refusal}")))
            }
        };
        Record {
            number,
            game: game.name(),
            first: first.to_owned(),
            second: second.to_owned(),
            opening: played.opening,
            moves: write_moves(game, &played.moves),
            result: match played.outcome {
                Outcome::Win(Seat::First) => Result::First,
                Outcome::Win(Seat::Second) => Result::Second,
                // A finished game that nobody won; `play_game` returns no other.
                Outcome::Draw | Outcome::Ongoing => Result::Draw,
            },
            end,
            detail,
        }
    }

    /// The name of the winner; `None` for a draw.
    pub fn winner(&self) -> Option<&str> {
        match self.result {
            Result::First => Some(&self.first),
            Result::Second => Some(&self.second),
            Result::Draw => None,
        }
    }

    /// The moves, checked against the rules: each is legal, and a game that ended on the board ended so.
    ///
    /// # Errors
    /// Says which move is wrong and why, or that the result is not the board's.
    pub fn replay<G: Game>(&self, game: &G) -> std::result::Result<Vec<Action>, NotationError> {
        if self.game != game.name() {
            return Err(NotationError(format!("this is a game of {}, not of {}", self.game, game.name())));
        }
        let mut position = game.start();
        let mut moves = Vec::new();
        for (i, text) in self.moves.split_whitespace().enumerate() {
            let at = |why: &dyn std::fmt::Display| NotationError(format!("move {}, {text}: {why}", i + 1));
            let action = game.read_action(text).map_err(|e| at(&e))?;
            game.try_play(&mut position, action).map_err(|e| at(&e))?;
            moves.push(action);
        }
        let claimed = match self.result {
            Result::First => Outcome::Win(Seat::First),
            Result::Second => Outcome::Win(Seat::Second),
            Result::Draw => Outcome::Draw,
        };
        let reached = game.outcome(&position);
        let right = match self.end {
            Reason::Board => reached == claimed,
            // The side to move lost without a move of its own.
            _ => reached == Outcome::Ongoing && claimed == Outcome::Win(game.to_move(&position).other()),
        };
        if right {
            Ok(moves)
        } else {
            Err(NotationError(format!("the result '{:?}' does not follow from the moves", self.result).to_lowercase()))
        }
    }
}

/// Moves as the game writes them, separated by blanks.
pub fn write_moves<G: Game>(game: &G, moves: &[Action]) -> String {
    moves.iter().map(|&action| game.write_action(action)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use rules::Refusal;
    use rules::tictactoe::TicTacToe;

    fn record(moves: &[Action], outcome: Outcome, end: End) -> Record {
        let played = Played { moves: moves.to_vec(), opening: 0, outcome, end };
        Record::new(&TicTacToe, 7, "1/2", "b", &played)
    }

    #[test]
    fn a_record_is_one_line_and_reads_back() {
        let record = record(&[0, 3, 1, 4, 2], Outcome::Win(Seat::First), End::Board);
        let line = serde_json::to_string(&record).unwrap();
        let expected = r#"{"number":7,"game":"tictactoe","first":"1/2","second":"b","opening":0,"moves":"0 3 1 4 2","result":"first","end":"board"}"#;
        assert_eq!(line, expected);
        assert_eq!(serde_json::from_str::<Record>(&line).unwrap(), record);
        assert_eq!(record.winner(), Some("1/2"));
        assert_eq!(record.replay(&TicTacToe), Ok(vec![0, 3, 1, 4, 2]));
    }

    #[test]
    fn resigning_credits_the_other_seat() {
        let end = || End::Forfeit(Forfeit::Resigned);
        let x_gave_up = record(&[0, 3], Outcome::Win(Seat::Second), end());
        assert_eq!((x_gave_up.winner(), x_gave_up.end), (Some("b"), Reason::Resigned));
        assert!(x_gave_up.replay(&TicTacToe).is_ok());
        let o_gave_up = record(&[0], Outcome::Win(Seat::First), end());
        assert_eq!(o_gave_up.winner(), Some("1/2"));
        assert!(o_gave_up.replay(&TicTacToe).is_ok());
        let wrong = record(&[0], Outcome::Win(Seat::Second), end());
        assert!(wrong.replay(&TicTacToe).is_err());
    }

    #[test]
    fn a_refused_move_is_named_as_people_write_it() {
        let illegal = record(&[4], Outcome::Win(Seat::First), End::Illegal(4, Refusal::Occupied));
        assert_eq!(illegal.detail.as_deref(), Some("4: there is a stone already"));
        let nowhere = record(&[4], Outcome::Win(Seat::First), End::Illegal(99, Refusal::OutOfRange));
        assert_eq!(nowhere.detail.as_deref(), Some("action 99: there is no such point on this board"));
    }

    #[test]
    fn records_that_break_the_rules_are_refused_with_the_place() {
        let error = |moves: &[Action], outcome| record(moves, outcome, End::Board).replay(&TicTacToe).unwrap_err().0;
        // Two lines, credited to the second: the record is wrong at the first move after the end.
        let both = [0, 3, 1, 4, 2, 5];
        assert_eq!(error(&both, Outcome::Win(Seat::Second)), "move 6, 5: the game is over");
        assert_eq!(error(&[0, 0], Outcome::Draw), "move 2, 0: there is a stone already");
        assert!(error(&[0, 3, 1, 4, 2], Outcome::Draw).contains("does not follow"));
        let mut record = record(&[0], Outcome::Draw, End::Board);
        record.moves = "0 x".to_owned();
        assert_eq!(record.replay(&TicTacToe).unwrap_err().0, "move 2, x: 'x' is not a cell from 0 to 8");
        record.game = "connect4".to_owned();
        assert_eq!(record.replay(&TicTacToe).unwrap_err().0, "this is a game of connect4, not of tictactoe");
    }
}
