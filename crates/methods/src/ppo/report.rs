//! What is told of an iteration: its line of metrics, and what has gone wrong, with what to try.

use rules::{Outcome, Seat};

use super::loss::Sums;
use super::{Batch, Config, pool};
use crate::kit::self_play::Played;
use crate::learner::Metric;

/// Below this share of an even policy's entropy, in the first half of a training, exploration has ended too early.
const COLLAPSED: f64 = 0.01;

/// The squared error of values in [-1, 1] that call every position even is at most this.
const KNOWS_NOTHING: f64 = 1.0;

/// What has been said already, one bit each: it is said once.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Said(pub(super) u64);

impl Said {
    /// What is to be said now, of an iteration with this mean entropy as a share of an even policy's, and this mean squared
    /// error of values; `early` in the first half of a training.
    pub(super) fn new_warnings(&mut self, spread: f64, value_loss: f64, early: bool) -> Vec<String> {
        let warnings = [
            (early && spread < COLLAPSED).then(|| {
                let share = 100.0 * spread;
                format!(
                    "the policy has collapsed to {share:.1} % of an even one's entropy: it explores no more; try a greater entropy or a lower rate"
                )
            }),
            (value_loss > KNOWS_NOTHING).then(|| {
                format!(
                    "the value loss has exploded to {value_loss:.2}, more than calling every position even would cost; try a lower rate, a smaller value weight or a norm"
                )
            }),
        ];
        let new = warnings.into_iter().enumerate().filter(|(bit, text)| text.is_some() && self.0 & (1 << bit) == 0);
        let (bits, texts): (Vec<usize>, Vec<Option<String>>) = new.unzip();
        bits.into_iter().for_each(|bit| self.0 |= 1 << bit);
        texts.into_iter().flatten().collect()
    }
}

/// The line of metrics of an iteration.
pub(super) fn metrics<P>(
    config: &Config,
    played: &[Played<P>],
    batch: &Batch<P>,
    epochs: u64,
    sums: &Sums,
) -> Vec<(&'static str, Metric)> {
    let results = |outcome| Metric::Count(played.iter().filter(|game| game.outcome == outcome).count() as u64);
    let mean = |sum: f64| Metric::Real(sum / sums.moves);
    let mut metrics = vec![
        ("first_wins", results(Outcome::Win(Seat::First))),
        ("second_wins", results(Outcome::Win(Seat::Second))),
        ("draws", results(Outcome::Draw)),
        ("moves", Metric::Count(batch.samples.len() as u64)),
        ("epochs", Metric::Count(epochs)),
    ];
    // Nothing is known of a policy whose moves are all the search's.
    if sums.moves > 0.0 {
        metrics.extend([
            ("policy_loss", mean(sums.policy)),
            ("value_loss", mean(sums.value)),
            ("entropy", mean(sums.entropy)),
            ("divergence", mean(sums.divergence)),
            ("clip_share", mean(sums.clipped)),
            ("explained_variance", Metric::Real(batch.explained)),
        ]);
    }
    if config.search > 0.0 {
        // The probability of sound moves: the geometric mean over the positions in which some are not.
        metrics.push(("sound", Metric::Real((-sums.search / sums.searched.max(1.0)).exp())));
    }
    let pooled: Vec<f32> = played.iter().filter(|game| game.seat.is_some()).map(pool::points_of).collect();
    if !pooled.is_empty() {
        let points = f64::from(pooled.iter().sum::<f32>()) / pooled.len() as f64;
        metrics.extend([("pool_games", Metric::Count(pooled.len() as u64)), ("pool_points", Metric::Real(points))]);
    }
    if sums.made > 0.0 {
        metrics.push(("mcts_loss", Metric::Real(sums.shares / sums.made)));
    }
    metrics
}
