//! The arithmetic that takes the time, once for each instruction set.
//!
//! A kernel is written once, generic over [`simd::Simd`] or as plain loops, and compiled for every level of
//! [`crate::math::Level`]; the choice is made when it is called. All of them go through a row's numbers in the same
//! order wherever that row stands, so a position's result never depends on its neighbours in the batch.

// A kernel's arguments are its arrays and sizes, and its loops run over several arrays at once.
#![allow(clippy::too_many_arguments, clippy::needless_range_loop)]

pub(crate) mod direct;
pub(crate) mod gemm;
pub(crate) mod int8;
pub(crate) mod pointwise;
pub(crate) mod simd;
pub(crate) mod sparse;
pub(crate) mod tiles;
mod transforms;
pub(crate) mod winograd;
