//! The book: one file, one learning method, readable alone.
//!
//! Each file tells its update rule and source, its `Config`, its state, its whole training loop and its player,
//! from top to bottom. What they share is vocabulary ([`learner`], [`kit`]), never the loop.

pub mod kit;
pub mod learner;
pub mod monte_carlo;
pub mod outcome;
pub mod ppo;
pub mod q_learning;
pub mod td_backward;
pub mod td_batch;
pub mod td_online;
pub mod value_minimax;
