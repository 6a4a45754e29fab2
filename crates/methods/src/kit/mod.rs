//! Pure helpers that several methods use.

pub mod actor_critic;
pub mod advantage;
pub mod after_states;
pub mod best_response;
pub mod choose;
pub mod policy_network;
pub mod replay;
pub mod schedule;
pub mod self_play;
pub mod tally;
#[cfg(test)]
pub(crate) mod testing;
pub mod value_network;
