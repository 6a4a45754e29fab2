//! Advice where no exact value is known: what can be proved, or at least seen.

use arena::record::write_moves;
use rules::{Action, Game};

use crate::board::Note;

/// Knows something about the positions of a game.
pub(crate) trait Adviser<G: Game> {
    /// What to play and why.
    fn hint(&mut self, position: &G::Position) -> String;

    /// The points worth a look.
    fn marks(&mut self, position: &G::Position) -> Marks;
}

/// Marks on the board, and what they mean.
#[derive(Default)]
pub(crate) struct Marks {
    /// For each cell; empty before the first mark.
    pub(crate) notes: Vec<Note>,
    /// A line for each kind of mark.
    pub(crate) legend: Vec<String>,
}

impl Marks {
    /// Marks cells in one way, over earlier marks.
    pub(crate) fn add<G: Game>(&mut self, game: &G, mark: char, mood: Option<bool>, why: &str, cells: &[Action]) {
        if cells.is_empty() {
            return;
        }
        self.notes.resize(game.cells(), Note::default());
        for &cell in cells {
            self.notes[usize::from(cell)] = Note { text: mark.to_string(), mood };
        }
        self.legend.push(format!("{mark}  {why}: {}", write_moves(game, cells)));
    }
}
