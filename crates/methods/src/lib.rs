//! The book: one file, one learning method, readable alone.
//!
//! Each file tells its update rule and source, its `Config`, its state, its whole training loop and its player,
//! from top to bottom. What they share is vocabulary ([`learner`], [`kit`]), never the loop.

pub mod kit;
pub mod learner;
pub mod outcome;
