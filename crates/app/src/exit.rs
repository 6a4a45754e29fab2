//! Ways to end other than success (0) and bad input (2).

use thiserror::Error;

use crate::stop::INTERRUPTED;

/// Ends the program with one line and a code of its own.
#[derive(Debug, Error)]
pub(crate) enum Ended {
    /// What was asked for could not be finished: code 1.
    #[error("{0}")]
    Failed(String),
    /// The person stopped it: code 130.
    #[error("{0}")]
    Interrupted(String),
}

/// The exit code for an error. Whatever has no code of its own is bad input, or a file that cannot be used.
pub(crate) fn code(error: &anyhow::Error) -> u8 {
    match error.downcast_ref::<Ended>() {
        Some(Ended::Failed(_)) => 1,
        Some(Ended::Interrupted(_)) => INTERRUPTED,
        None => 2,
    }
}
