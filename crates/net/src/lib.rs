//! Small networks with forward and backward side by side, on plain slices. Knows no game.

pub mod file;
pub mod math;
pub mod mlp;
