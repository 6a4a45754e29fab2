//! The games of an iteration: on which board, against whom, and by whose moves.

use std::ops::Range;
use std::sync::Arc;

use net::Workers;
use net::file::Tensor;
use rules::{Game, Rng};

use super::{Config, Ppo};
use crate::kit::actor_critic::{ActorCritic, Reader};
use crate::kit::self_play::{Played, self_play};
use crate::learner::RestoreError;

/// The network of these weights, as it plays on a board.
pub(super) fn reader<G: Game>(
    game: &G,
    board: &G,
    config: &Config,
    weights: &[Tensor],
) -> Result<Arc<Reader<G>>, RestoreError> {
    let mut net = ActorCritic::new(game, &config.network, 0.0, &mut Rng::new(0, 0))?;
    net.set_tensors(weights)?;
    Ok(net.reader(board))
}

impl<G: Game> Ppo<G> {
    /// The board on which game number `game` is played, and the number of games with which its stage ends.
    pub(super) fn stage(&self, game: u64) -> (G, u64) {
        let mut end = 0;
        for &(side, games) in &self.config.curriculum {
            end += games;
            if game < end {
                return (
                    self.game.resized(side as usize).expect("checked when it was made"),
                    end.min(self.config.games),
                );
            }
        }
        (self.game.clone(), self.config.games)
    }

    /// Plays the games of an iteration: those against earlier versions first, then those of the policy against itself.
    pub(super) fn play(&mut self, numbers: Range<u64>, workers: &Workers) -> Vec<Played<G::Position>> {
        let Ppo { game, config, seed, board, net, versions, .. } = self;
        let (openings, seed, learner) = (config.openings, *seed, net.reader(board));
        let share = if versions.is_empty() { 0.0 } else { config.pool.share };
        let middle = numbers.start + (share * (numbers.end - numbers.start) as f32).round() as u64;
        let version = |weights: &[Tensor]| reader(game, board, config, weights).expect("weights of this network");
        let mut played = versions.play(&learner, version, openings, (seed, numbers.start..middle), workers);
        played.extend(self_play(&learner, openings, (seed, middle..numbers.end), workers));
        played
    }
}
