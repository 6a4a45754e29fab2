//! What a game is, for everything that plays, searches, learns or proves.

use std::fmt;
use std::hash::Hash;

use crate::notation::NotationError;
use crate::random::Rng;
use crate::renju::Foul;
use crate::symmetry::Symmetry;
use crate::value::{Outcome, Seat};

/// An action: an index in `0..game.actions()`, the same number for the same point or column in every position.
pub type Action = u16;

/// A game for two, without chance or secrets, in which every move places one stone that stays.
///
/// A value of the type holds the board's size and rule set; a position holds nothing but the stones and whose turn
/// it is, in at most 200 bytes. No method here allocates, except those that return or append to text and lists.
/// What every implementation owes is written as code in [`crate::laws`].
pub trait Game: Clone + PartialEq + fmt::Debug + Send + Sync + 'static {
    /// Stones and side to move. Equal positions are the same game from here on.
    type Position: Copy + Ord + Hash + fmt::Debug + Send + Sync + 'static;

    /// The name by which the game is chosen, such as `tictactoe` or `gomoku:15:renju`.
    fn name(&self) -> String;

    /// What people call the side: X and O, Black and White.
    fn seat_name(&self, seat: Seat) -> &'static str {
        match seat {
            Seat::First => "X",
            Seat::Second => "O",
        }
    }

    /// Number of columns of the board.
    fn columns(&self) -> usize;

    /// Number of rows of the board.
    fn rows(&self) -> usize;

    /// Number of cells of the board. A cell is an index, row x columns + column.
    fn cells(&self) -> usize {
        self.columns() * self.rows()
    }

    /// Number of actions: one for each cell or, where stones fall, for each column.
    fn actions(&self) -> usize;

    /// The same rules on a square board of another side, for games that have any.
    fn resized(&self, _side: usize) -> Option<Self> {
        None
    }

    /// The position before the first move.
    fn start(&self) -> Self::Position;

    /// Number of stones on the board.
    fn ply(&self, position: &Self::Position) -> usize;

    /// The side whose turn it is; after the end, the side whose turn it would be.
    fn to_move(&self, position: &Self::Position) -> Seat;

    /// Whether and how the game has ended.
    fn outcome(&self, position: &Self::Position) -> Outcome;

    /// Appends every legal action in increasing order; none when the game is over.
    fn legal(&self, position: &Self::Position, actions: &mut Vec<Action>);

    /// Accepts the action, or says why it may not be played.
    ///
    /// # Errors
    /// The first reason that applies, in the order in which [`Refusal`] lists them.
    fn referee(&self, position: &Self::Position, action: Action) -> Result<(), Refusal>;

    /// Plays an action that [`Game::referee`] accepts. Playing any other is a bug of the caller and may leave
    /// the position in any state; use [`Game::try_play`] for actions that come from outside.
    fn play(&self, position: &mut Self::Position, action: Action);

    /// Plays the action if it is legal; leaves the position unchanged if not.
    ///
    /// # Errors
    /// As [`Game::referee`].
    fn try_play(&self, position: &mut Self::Position, action: Action) -> Result<(), Refusal> {
        self.referee(position, action)?;
        self.play(position, action);
        Ok(())
    }

    /// One of the legal actions, each with the same probability. The game must not be over.
    fn random_legal(&self, position: &Self::Position, rng: &mut Rng) -> Action;

    /// Appends every legal action that wins at once for the side to move, in increasing order.
    ///
    /// A game may know a quicker way than to try each.
    fn winning(&self, position: &Self::Position, actions: &mut Vec<Action>) {
        let winning = Outcome::Win(self.to_move(position));
        let before = actions.len();
        self.legal(position, actions);
        let mut kept = before;
        for i in before..actions.len() {
            let mut after = *position;
            self.play(&mut after, actions[i]);
            if self.outcome(&after) == winning {
                actions[kept] = actions[i];
                kept += 1;
            }
        }
        actions.truncate(kept);
    }

    /// The cell on which the stone of a legal `action` would come to rest.
    fn landing(&self, position: &Self::Position, action: Action) -> usize;

    /// The owner of the stone on `cell`, if there is one.
    fn stone(&self, position: &Self::Position, cell: usize) -> Option<Seat>;

    /// Calls `visit` with the cell and the owner of every stone, in an order that is the same for equal positions.
    #[inline]
    fn for_each_stone(&self, position: &Self::Position, mut visit: impl FnMut(usize, Seat)) {
        for cell in 0..self.cells() {
            if let Some(owner) = self.stone(position, cell) {
                visit(cell, owner);
            }
        }
    }

    /// Cells of all winning lines of a finished game, each line from its lowest cell; empty if nobody has won.
    fn winning_lines(&self, position: &Self::Position) -> Vec<Vec<usize>>;

    /// The symmetries of the game, the identity first.
    fn symmetries(&self) -> &'static [Symmetry];

    /// The position as the symmetry shows it.
    fn transform(&self, symmetry: Symmetry, position: &Self::Position) -> Self::Position;

    /// The action that does in the transformed position what `action` does in the original.
    fn transform_action(&self, symmetry: Symmetry, action: Action) -> Action;

    /// The first of the symmetries that show the position in its canonical orientation.
    fn orientation(&self, position: &Self::Position) -> Symmetry {
        let least = self.symmetries().iter().min_by_key(|&&s| self.transform(s, position));
        *least.expect("every game has the identity")
    }

    /// The least of all symmetric positions: equal for two positions exactly when they are symmetric.
    fn canonical(&self, position: &Self::Position) -> Self::Position {
        self.transform(self.orientation(position), position)
    }

    /// The action as people write it: a cell number, a column, a point such as `h8`.
    fn write_action(&self, action: Action) -> String;

    /// Reads what [`Game::write_action`] writes, in either case and with blanks around it.
    ///
    /// # Errors
    /// Says what was read and what would have been right. Whether the action is legal is another question.
    fn read_action(&self, text: &str) -> Result<Action, NotationError>;

    /// The position in one line: rows from the top, separated by `/`, then the side to move (see [`crate::notation`]).
    fn write_position(&self, position: &Self::Position) -> String;

    /// Reads what [`Game::write_position`] writes.
    ///
    /// # Errors
    /// Says at which place the text stops being a position of this game.
    fn read_position(&self, text: &str) -> Result<Self::Position, NotationError>;
}

/// Why an action may not be played.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// The game has ended.
    GameOver,
    /// The action's number is not below `game.actions()`.
    OutOfRange,
    /// There is a stone on the cell already.
    Occupied,
    /// The column is full.
    ColumnFull,
    /// Black may not make this shape in Renju.
    Forbidden(Foul),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::GameOver => f.write_str("the game is over"),
            Refusal::OutOfRange => f.write_str("there is no such point on this board"),
            Refusal::Occupied => f.write_str("there is a stone already"),
            Refusal::ColumnFull => f.write_str("the column is full"),
            Refusal::Forbidden(foul) => write!(f, "Black may not make {foul}"),
        }
    }
}

impl std::error::Error for Refusal {}

/// The legal actions as a new list: for callers that are in no hurry.
pub fn legal_actions<G: Game>(game: &G, position: &G::Position) -> Vec<Action> {
    let mut actions = Vec::with_capacity(game.actions());
    game.legal(position, &mut actions);
    actions
}

/// The position after `actions` from the start.
///
/// # Errors
/// The index of the first action that is refused, and why.
pub fn replay<G: Game>(game: &G, actions: &[Action]) -> Result<G::Position, (usize, Refusal)> {
    let mut position = game.start();
    for (i, &action) in actions.iter().enumerate() {
        game.try_play(&mut position, action).map_err(|refusal| (i, refusal))?;
    }
    Ok(position)
}
