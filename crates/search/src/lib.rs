//! Looking ahead: minimax and Monte Carlo tree search over any game and any evaluator.
//!
//! A search is a function of what it is given: it draws no randomness that is not handed in, reads no clock, and asks a
//! caller's `stop` now and then whether to go on. Its memory is kept between searches and never grows with their number.

pub mod greedy;
pub mod mcts;
pub mod minimax;
pub mod noise;
pub mod symmetric;
pub mod tree;

pub use greedy::Greedy;
pub use mcts::{Mcts, Searched};
pub use minimax::{Minimax, Score};
pub use symmetric::{Averaged, Drawn};
pub use tree::{Rule, Tree};
