//! The tactics of Gomoku as questions: positions in which the threat search knows every right move, to audit players by.
//! Nobody ever learns from them.
//!
//! # What a question is
//!
//! *To win by threats* is to have a move after which, whatever the opponent answers, a chain of moves that each make a
//! four or an open three ends in five in a row; a four or a five of the opponent on the way must be met. That is what
//! [the threat search](super::Solver) decides. A position becomes a question only if this was decided for **every** legal move, none of the searches
//! having reached its limit, so that no right move is missing from the set of right ones and none is in it by mistake.
//! What it cannot see is a win that needs a quiet move, which threatens neither a four nor a three.
//!
//! Neither side has five in a row, stones alternate as in play, and no more than half of the legal moves are right.
//!
//! # The kinds
//!
//! Let *M* be the side to move and *O* its opponent. The first of these that fits is the kind:
//!
//! | kind | when | right moves |
//! |---|---|---|
//! | win in one | M can make a five | those that make it; a slower win is wrong here, and only here |
//! | block a four | O could make a five on one point, and does not win by threats when it is blocked | that point |
//! | open four | M can make an open four, and every way of M to threaten two fives at once is one | all that win by threats |
//! | double four | M can make two fours at once, each on its own line, and has no open four | all that win by threats |
//! | four-three | none of the above; M wins by a move that makes a four and an open three | all that win by threats |
//! | double three | M has no win by fours, and wins by a move that makes two open threes | all that win by threats |
//! | the defence against each of the last four | M has no win by threats; if O were to move, the position would be of that kind | all after which O does not win by threats |
//!
//! In the first kind nothing else matters; in the second O's four must be met; in all others neither side has a four.
//! To block an open three is the defence against an open four. A four that only puts the decision off is a right
//! defence, as nothing is lost by it. An *open four* is two points that complete a five on one line, so it
//! may have a gap (`X.XXX.X`).
//!
//! In Renju the shapes of Black are those of its rule, a forbidden point is no move, and there are four kinds more:
//!
//! | kind | when | right moves |
//! |---|---|---|
//! | forbidden block | White makes a four that Black could only block on a forbidden point | all that win by threats |
//! | a four that is none | Black has what were a four without Renju's rule, but could not complete it; White wins by threats | all that win by threats |
//! | a three that is none | in the same way Black could make an open or double four were it not for the rule; White wins by threats | all that win by threats |
//! | own three that is none | as before, but Black is to move and White threatens to win | all after which White does not win by threats |
//!
//! In the last three what is right without Renju's rule and what is right with it have no move in common: a player who sees
//! a line as it is in the free game answers wrongly. Most of them come from positions in which Black played as in the
//! free game.
//!
//! # Regions
//!
//! A question lies in the corner, at the edge or in the middle, by its key moves, those that make the shape that it is
//! named after: in the corner if one of them does, else at the edge if one does. See [`Region`].

mod exam;
mod judge;
mod positions;
mod set;
mod short;

use rules::{Action, Game};

pub use exam::{KindMarks, Marks, Share, exam};
pub use judge::Judge;
pub use positions::playout;
#[cfg(test)]
pub(super) use positions::worth;
pub use set::{STORED, built_in, from_bytes, to_bytes};

/// A position with all of its right moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question<P> {
    /// What is asked.
    pub kind: Kind,
    /// Where.
    pub region: Region,
    /// The position, which is not over.
    pub position: P,
    /// The right moves, at least one, in increasing order.
    pub right: Vec<Action>,
}

/// What a question is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "each has a name and a description")]
pub enum Kind {
    WinInOne,
    BlockFour,
    OpenFour,
    BlockOpenThree,
    DoubleFour,
    StopDoubleFour,
    FourThree,
    StopFourThree,
    DoubleThree,
    StopDoubleThree,
    ForbiddenBlock,
    FalseFour,
    FalseThree,
    OwnFalseThree,
}

impl Kind {
    /// All kinds; those from [`Kind::ForbiddenBlock`] on are of Renju alone.
    pub const ALL: [Kind; 14] = [
        Kind::WinInOne,
        Kind::BlockFour,
        Kind::OpenFour,
        Kind::BlockOpenThree,
        Kind::DoubleFour,
        Kind::StopDoubleFour,
        Kind::FourThree,
        Kind::StopFourThree,
        Kind::DoubleThree,
        Kind::StopDoubleThree,
        Kind::ForbiddenBlock,
        Kind::FalseFour,
        Kind::FalseThree,
        Kind::OwnFalseThree,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        self.words().0
    }

    /// What it asks, in a few words.
    pub fn about(self) -> &'static str {
        self.words().1
    }

    fn words(self) -> (&'static str, &'static str) {
        match self {
            Kind::WinInOne => ("win in one", "complete a five"),
            Kind::BlockFour => ("block a four", "the opponent would complete a five"),
            Kind::OpenFour => ("open four", "make a four that can be completed at two points"),
            Kind::BlockOpenThree => ("block an open three", "the opponent would make an open four"),
            Kind::DoubleFour => ("double four", "make two fours at once"),
            Kind::StopDoubleFour => ("stop a double four", "the opponent would make two fours at once"),
            Kind::FourThree => ("four-three", "make a four and an open three at once"),
            Kind::StopFourThree => ("stop a four-three", "the opponent would make a four and an open three"),
            Kind::DoubleThree => ("double three", "make two open threes at once"),
            Kind::StopDoubleThree => ("stop a double three", "the opponent would make two open threes"),
            Kind::ForbiddenBlock => ("forbidden block", "make a four that Black may not block"),
            Kind::FalseFour => ("a four that is none", "win: Black's four cannot be completed"),
            Kind::FalseThree => ("a three that is none", "win: Black's three cannot become a four that wins"),
            Kind::OwnFalseThree => ("own three that is none", "defend: Black's own three wins nothing"),
        }
    }

    /// The kind that asks the other side to prevent what this one asks for.
    fn defence(self) -> Option<Kind> {
        match self {
            Kind::WinInOne => Some(Kind::BlockFour),
            Kind::OpenFour => Some(Kind::BlockOpenThree),
            Kind::DoubleFour => Some(Kind::StopDoubleFour),
            Kind::FourThree => Some(Kind::StopFourThree),
            Kind::DoubleThree => Some(Kind::StopDoubleThree),
            _ => None,
        }
    }
}

/// Where on the board: the outer quarter of the lines on each side (four of fifteen, three of nine) is the margin; the
/// corner is where two margins cross, the edge the rest of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "said above")]
pub enum Region {
    Middle,
    Edge,
    Corner,
}

impl Region {
    /// All regions.
    pub const ALL: [Region; 3] = [Region::Middle, Region::Edge, Region::Corner];

    /// Its name.
    pub fn name(self) -> &'static str {
        ["middle", "edge", "corner"][self as usize]
    }

    /// Where a cell lies.
    pub fn of<G: Game>(game: &G, cell: usize) -> Region {
        let in_margin = |at: usize, size: usize| at.min(size - 1 - at) < size.div_ceil(4);
        let column = in_margin(cell % game.columns(), game.columns());
        let row = in_margin(cell / game.columns(), game.rows());
        Region::ALL[usize::from(column) + usize::from(row)]
    }
}
