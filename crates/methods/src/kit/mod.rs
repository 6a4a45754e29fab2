//! Pure helpers that several methods use.

pub mod choose;
