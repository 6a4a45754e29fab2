//! `tengen signature`: one hash for all that a short training does.

use anyhow::{Result, bail};
use net::math::{Isa, LEVEL_VARIABLE, Level};

use crate::registry::{self, DEFAULT_GAME, Known, WithGame};
use crate::settings::Change;
use crate::talk;

/// Print a hash of how this build learns
///
/// Trains every preset for a few thousand games with portable arithmetic and hashes the metrics and weights. The same
/// source gives the same hash on every machine; another hash means that learning has changed.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {}

/// Games of each training.
const GAMES: u64 = 3_000;

/// The seed of each training.
const SEED: u64 = 1;

/// The command.
pub(crate) fn run() -> Result<()> {
    if Level::best().isa() != Isa::Portable {
        bail!("the signature needs portable arithmetic: set {LEVEL_VARIABLE}=portable");
    }
    let hash = registry::with_game(DEFAULT_GAME, Sign)?;
    Ok(talk::data(hash)?)
}

struct Sign;

impl WithGame for Sign {
    type Output = blake3::Hash;

    fn run<G: Known>(self, game: G) -> Result<blake3::Hash> {
        let mut hasher = blake3::Hasher::new();
        for method in game.methods() {
            for (preset, _) in method.presets(&game) {
                hasher.update(&method.trace(&game, preset, &[Change::games(GAMES)], SEED)?);
            }
        }
        Ok(hasher.finalize())
    }
}
