//! Exact truth about games: tables and solvers, and audits of players against them.
//!
//! Nothing here is ever shown to a learner: no labels, no stopping, no choice of a checkpoint.

pub mod audit;
pub mod connect4;
pub mod exact;
pub mod exam;
pub mod gomoku;
pub mod mnk;
pub mod playouts;
pub mod proof;
pub mod strategy;
pub mod table;
