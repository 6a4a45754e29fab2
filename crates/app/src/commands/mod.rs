//! One file for each command.

pub(crate) mod arena;
pub(crate) mod audit;
pub(crate) mod compare;
pub(crate) mod export;
pub(crate) mod list;
pub(crate) mod openings;
pub(crate) mod play;
pub(crate) mod resume;
pub(crate) mod signature;
pub(crate) mod solve;
pub(crate) mod train;
