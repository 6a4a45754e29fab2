//! Pure helpers that several methods use.

pub mod after_states;
pub mod best_response;
pub mod choose;
pub mod policy_network;
pub mod replay;
pub mod schedule;
pub mod tally;
#[cfg(test)]
pub(crate) mod testing;
pub mod value_network;
