//! Connect Four, solved: the exact score of any position, without errors and in most cases at once.
//!
//! [`Solver`] answers questions about positions; the rest of this module is how.

mod board;
mod book;
pub mod labelled;
mod player;
mod published;
mod score;
mod search;
mod shelf;
mod solver;
mod table;

pub(crate) use book::checksum;
pub use book::{Book, BookError};
pub use player::Perfect;
pub use published::Published;
pub use score::{MovesError, Score, read_moves};
pub use solver::{Solver, Stopped};
