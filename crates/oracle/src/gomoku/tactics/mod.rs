//! The tactics of Gomoku as questions: positions in which the threat search knows every right move, to audit players by.
//! Nobody ever learns from them.
//!
//! # What is right
//!
//! A *short win* is one move of any kind after which, whatever the opponent answers, the game is won at once or by fours
//! alone; a four that the opponent makes on the way must be met by a four. Every tactic named below is one: an open
//! four and a double four win at once, a four-three and a double three by fours. Whether a move wins shortly is decided
//! by [the search for wins by fours](super) for **every** legal move, and a position becomes a question only if none of these
//! searches reached its limit. So no right move is missing, and none is in the set by mistake.
//!
//! - Who *attacks* has a short win: right is every move that begins one, whatever its shape.
//! - Who *defends* has none, and the opponent would if it were to move: right is every move after which it has none. A
//!   four that only puts the decision off is right too, as nothing is lost by it.
//!
//! Whether a defence holds in the long run nobody knows, and a slower way to win is wrong where there is a short one.
//! Neither side has five in a row, stones alternate as in play, and no more than half of the empty points are right.
//!
//! # The kinds
//!
//! Let *M* be the side to move and *O* its opponent. The first of these that fits is the kind:
//!
//! | kind | when |
//! |---|---|
//! | win in one | M can make a five. Right are the moves that make it: only here a short win is not enough |
//! | block a four | O could make a five on one point. That point is right, if O has no short win after it |
//! | open four | M can make two points that complete a five, on one line: unbroken, or with gaps (`x.xxx.x`) |
//! | double four | M can make fours on two lines at once |
//! | four-three | M wins by a move that makes a four and, on another line, an open three |
//! | double three | M has no win by fours alone, and wins by a move that makes two open threes |
//! | block an open three; stop a double four, a four-three, a double three | M defends; if O were to move, it would be one of the last four |
//!
//! From the open four on, neither side can make a five. To block an open three is the defence against an open four.
//!
//! In Renju the shapes of Black are those of its rule, a forbidden point is no move, and there are four kinds more:
//!
//! | kind | when |
//! |---|---|
//! | forbidden block | White can make a four that Black could only block on a forbidden point, and no open or double four |
//! | a four that is none | White attacks; without Renju's rule Black could make a five, with it he cannot |
//! | a three that is none | White attacks; without the rule Black could make an open or double four, with it he cannot |
//! | own three that is none | the same, but Black is to move and defends |
//!
//! In the last three what is right without Renju's rule and what is right with it have no move in common: whoever sees a
//! line as it is in the free game answers wrongly. A position that is one of them is of no other kind.
//! Hardly ever could Black still make a simple four of a three that is none: it gains time, and spoils short wins.
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
mod themes;

use rules::{Action, Game};

pub use exam::{KindMarks, Marks, Share, exam};
pub use judge::Judge;
#[cfg(test)]
pub(super) use positions::worth;
pub use positions::{playout, themed_playout};
pub use set::{STORED, built_in, from_bytes, to_bytes};
pub use themes::has_theme;

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
