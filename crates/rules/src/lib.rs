//! What a game is: positions, actions, outcomes, symmetries, notation, input planes.
//!
//! This crate knows no network, no search and no clock. A [`Game`] is a value that holds its size and
//! rule set; a position is a small copyable value that is played in place.

pub mod connect4;
pub mod game;
pub mod grid;
pub mod laws;
mod lines;
pub mod notation;
pub mod perft;
pub mod planes;
pub mod player;
pub mod random;
pub mod renju;
pub mod symmetry;
pub mod tictactoe;
pub mod tiny;
pub mod value;

pub use game::{Action, Game, Refusal};
pub use player::{Choice, Evaluations, Evaluator, Forfeit, NotExact, Player};
pub use random::Rng;
pub use symmetry::Symmetry;
pub use value::{Outcome, Seat, Wdl};
