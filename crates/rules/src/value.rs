//! Who moves, how a game ended, and what that is worth to whom.
//!
//! Absolute results ([`Outcome`]: which seat won) and relative ones ([`Wdl`]: seen by one side) are different types,
//! and this file is the only place where one becomes the other. Mixing them up is the commonest bug of
//! programs that learn games: a tie returned as a loss because zero meant "still running", or a reward that
//! was not negated on its way up the tree.

use std::fmt;

/// One of the two sides. The first moves on the empty board (X, Black); the second answers (O, White).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Seat {
    /// X in tic-tac-toe, Black in Gomoku.
    First,
    /// O in tic-tac-toe, White in Gomoku.
    Second,
}

impl Seat {
    /// Both seats, in the order of play.
    pub const BOTH: [Seat; 2] = [Seat::First, Seat::Second];

    /// The opponent.
    #[must_use]
    pub fn other(self) -> Seat {
        match self {
            Seat::First => Seat::Second,
            Seat::Second => Seat::First,
        }
    }

    /// 0 for the first seat, 1 for the second.
    pub fn index(self) -> usize {
        self as usize
    }

    /// The seat that moves after `plies` moves when the first seat began.
    pub fn at_ply(plies: usize) -> Seat {
        if plies.is_multiple_of(2) { Seat::First } else { Seat::Second }
    }
}

impl fmt::Display for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Seat::First => "first",
            Seat::Second => "second",
        })
    }
}

/// The state of a game, the same whoever looks at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Moves are still to be made.
    Ongoing,
    /// Over: this seat has won.
    Win(Seat),
    /// Over: nobody has won.
    Draw,
}

impl Outcome {
    /// Whether no more moves may be made.
    pub fn is_over(self) -> bool {
        self != Outcome::Ongoing
    }

    /// What the finished game is worth to `seat`; `None` while it is ongoing.
    pub fn seen_by(self, seat: Seat) -> Option<Wdl> {
        match self {
            Outcome::Ongoing => None,
            Outcome::Draw => Some(Wdl::Draw),
            Outcome::Win(winner) if winner == seat => Some(Wdl::Win),
            Outcome::Win(_) => Some(Wdl::Loss),
        }
    }
}

/// A result seen by one side, ordered from worst to best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Wdl {
    /// The side that looks loses.
    Loss,
    /// Nobody wins.
    Draw,
    /// The side that looks wins.
    Win,
}

impl Wdl {
    /// The same result seen by the opponent.
    #[must_use]
    pub fn flip(self) -> Wdl {
        match self {
            Wdl::Loss => Wdl::Win,
            Wdl::Draw => Wdl::Draw,
            Wdl::Win => Wdl::Loss,
        }
    }

    /// -1 for a loss, 0 for a draw, +1 for a win.
    pub fn value(self) -> f32 {
        match self {
            Wdl::Loss => -1.0,
            Wdl::Draw => 0.0,
            Wdl::Win => 1.0,
        }
    }

    /// The outcome that `seat` sees as this result.
    pub fn outcome_for(self, seat: Seat) -> Outcome {
        match self {
            Wdl::Loss => Outcome::Win(seat.other()),
            Wdl::Draw => Outcome::Draw,
            Wdl::Win => Outcome::Win(seat),
        }
    }
}

impl fmt::Display for Wdl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Wdl::Loss => "loss",
            Wdl::Draw => "draw",
            Wdl::Win => "win",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finished_game_is_a_win_for_one_seat_and_a_loss_for_the_other() {
        assert_eq!(Outcome::Win(Seat::Second).seen_by(Seat::Second), Some(Wdl::Win));
        assert_eq!(Outcome::Win(Seat::Second).seen_by(Seat::First), Some(Wdl::Loss));
    }

    #[test]
    fn a_draw_is_worth_zero_to_both_and_is_not_ongoing() {
        assert!(Outcome::Draw.is_over());
        for seat in Seat::BOTH {
            assert_eq!(Outcome::Draw.seen_by(seat).map(Wdl::value), Some(0.0));
            assert_eq!(Outcome::Ongoing.seen_by(seat), None);
        }
    }

    #[test]
    fn relative_and_absolute_convert_both_ways() {
        for seat in Seat::BOTH {
            for wdl in [Wdl::Loss, Wdl::Draw, Wdl::Win] {
                assert_eq!(wdl.outcome_for(seat).seen_by(seat), Some(wdl));
                assert_eq!(wdl.outcome_for(seat).seen_by(seat.other()), Some(wdl.flip()));
                assert_eq!(wdl.flip().value(), -wdl.value());
            }
        }
    }
}
