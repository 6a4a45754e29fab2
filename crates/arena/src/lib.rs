//! Matches between players, and what may be concluded from them.
//!
//! The arena cannot see a network, a file or a clock: it plays any [`rules::Player`], and hands every finished game to
//! its caller as a [`record::Record`]. What it reports is a function of the players, the openings and the seed, at any
//! number of threads.

pub mod balance;
pub mod formats;
pub mod openings;
pub mod play;
pub mod rating;
pub mod record;
pub mod score;
pub mod sprt;
pub mod standings;
pub mod swap2;
pub mod tournament;

pub use play::{End, Played, play_game};
pub use record::Record;
pub use score::{Interval, Pairs, Tally};
