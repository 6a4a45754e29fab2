//! Why a network refuses what it is given.

use thiserror::Error;

use crate::file::FileError;

/// Why a network refuses what it is given.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum NetError {
    /// A network that cannot be built.
    #[error("no such network: {0}")]
    Spec(String),
    /// Weights that are missing, of another shape, or not finite.
    #[error(transparent)]
    Weights(#[from] FileError),
    /// Weights of a larger or another network.
    #[error("the tensor '{0}' belongs to another network")]
    Unexpected(String),
    /// Weights of a network with another description.
    #[error("weights of another network: its {what} is {found}, where {expected} is needed")]
    Other {
        /// The field of the description.
        what: &'static str,
        /// Its value where the weights come from.
        found: String,
        /// Its value here.
        expected: String,
    },
    /// An array that does not fit the batch or the board.
    #[error("{what}: {found} numbers where {expected} are needed")]
    Length {
        /// Which array.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The length that fits.
        expected: usize,
    },
    /// NaN or infinity.
    #[error("{what}: {number} at {at}")]
    NotFinite {
        /// Which array.
        what: &'static str,
        /// The first such place.
        at: usize,
        /// What stands there.
        number: f32,
    },
}

/// # Errors
/// If the array has another length or holds a number that is not finite.
pub(crate) fn check(what: &'static str, numbers: &[f32], expected: usize) -> Result<(), NetError> {
    if numbers.len() != expected {
        return Err(NetError::Length { what, found: numbers.len(), expected });
    }
    finite(what, numbers)
}

/// # Errors
/// [`NetError::NotFinite`] with the first number that is not finite.
pub fn finite(what: &'static str, numbers: &[f32]) -> Result<(), NetError> {
    // First whether all are finite, without a branch and so a vector at a time; then which is not.
    if numbers.iter().fold(true, |finite, x| finite & x.is_finite()) {
        return Ok(());
    }
    match numbers.iter().position(|x| !x.is_finite()) {
        Some(at) => Err(NetError::NotFinite { what, at, number: numbers[at] }),
        None => Ok(()),
    }
}
