//! A sequential test: play until it is decided whether one player is stronger, and no longer.
//!
//! Wald's sequential probability ratio test (1945) between "the true difference is `elo0`" and "it is `elo1`". The
//! likelihoods are those of the pairs of games (five results), each with the probabilities that fit best among all with
//! the expected score of the hypothesis: the generalised ratio that computer chess testing uses (Van den Bergh,
//! "A practical introduction to the GSPRT").

use crate::score::{Pairs, expected};

/// The two hypotheses and the accepted chances of error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sprt {
    /// The difference in rating under the null hypothesis.
    pub elo0: f64,
    /// The difference under the alternative; above `elo0`.
    pub elo1: f64,
    /// The accepted chance of choosing the alternative when the null hypothesis is true, in (0, 0.5).
    pub alpha: f64,
    /// The accepted chance of choosing the null hypothesis when the alternative is true, in (0, 0.5).
    pub beta: f64,
}

/// Where a test stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// More games are needed.
    Open,
    /// The null hypothesis is accepted: not stronger by `elo1`.
    Null,
    /// The alternative is accepted: stronger than `elo0`.
    Alternative,
}

impl Sprt {
    /// Refuses what can't be tested.
    ///
    /// # Errors
    /// Says what would be possible.
    pub fn check(&self) -> Result<(), String> {
        let Sprt { elo0, elo1, alpha, beta } = *self;
        if !(elo0.abs() <= 1_000.0 && elo1.abs() <= 1_000.0 && elo0 < elo1) {
            return Err(format!("differences of {elo0} and {elo1}: the first must be the smaller, both within 1000"));
        }
        let possible = |chance: f64| chance > 0.0 && chance < 0.5;
        if !possible(alpha) || !possible(beta) {
            return Err(format!("chances of error of {alpha} and {beta}: both must be above 0 and below 0.5"));
        }
        Ok(())
    }

    /// The logarithms of the likelihood ratio at which the null and the alternative hypothesis are accepted.
    pub fn bounds(&self) -> (f64, f64) {
        ((self.beta / (1.0 - self.alpha)).ln(), ((1.0 - self.beta) / self.alpha).ln())
    }

    /// The logarithm of the likelihood ratio of the alternative to the null hypothesis.
    pub fn log_ratio(&self, pairs: &Pairs) -> f64 {
        if pairs.count() == 0 {
            return 0.0;
        }
        // Results that were not seen get a crumb, or one-sided beginnings would have no likelihood at all.
        let counts = pairs.pentanomial().map(|n| (n as f64).max(1e-3));
        let (null, alternative) = (expected(self.elo0), expected(self.elo1));
        let (null_tilt, alternative_tilt) = (tilt(&counts, null), tilt(&counts, alternative));
        let terms = counts.iter().enumerate().map(|(i, n)| {
            let score = i as f64 / 4.0;
            n * ((1.0 + null_tilt * (score - null)).ln() - (1.0 + alternative_tilt * (score - alternative)).ln())
        });
        terms.sum()
    }

    /// What has been decided by these pairs of games.
    pub fn verdict(&self, pairs: &Pairs) -> Verdict {
        let (low, high) = self.bounds();
        match self.log_ratio(pairs) {
            ratio if ratio >= high => Verdict::Alternative,
            ratio if ratio <= low => Verdict::Null,
            _ => Verdict::Open,
        }
    }
}

/// Of all probabilities with this mean score, those under which the counts are likeliest are
/// count / (1 + tilt (score - mean)), up to a factor; this finds the tilt.
fn tilt(counts: &[f64; 5], mean: f64) -> f64 {
    let slope = |tilt: f64| -> f64 {
        let scores = (0..5).map(|i| i as f64 / 4.0 - mean);
        counts.iter().zip(scores).map(|(n, score)| n * score / (1.0 + tilt * score)).sum()
    };
    // Every denominator must be positive; between the limits the slope falls from plus to minus infinity.
    let (mut low, mut high) = (-1.0 / (1.0 - mean), 1.0 / mean);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if slope(middle) > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rules::{Rng, Wdl};

    const TEST: Sprt = Sprt { elo0: 0.0, elo1: 30.0, alpha: 0.05, beta: 0.05 };

    #[test]
    fn impossible_tests_are_refused() {
        assert!(TEST.check().is_ok());
        for bad in [
            Sprt { elo1: 0.0, ..TEST },
            Sprt { elo0: f64::NAN, ..TEST },
            Sprt { elo1: f64::INFINITY, ..TEST },
            Sprt { alpha: 0.0, ..TEST },
            Sprt { beta: 0.5, ..TEST },
            Sprt { beta: f64::NAN, ..TEST },
        ] {
            assert!(bad.check().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn bounds_are_walds() {
        let (low, high) = TEST.bounds();
        assert!((high - 19_f64.ln()).abs() < 1e-12 && (low + 19_f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn for_pairs_won_or_lost_outright_it_is_the_binomial_ratio() {
        let pairs = Pairs { win_win: 60, loss_loss: 50, ..Pairs::default() };
        let (p0, p1) = (expected(TEST.elo0), expected(TEST.elo1));
        let binomial = 60.0 * (p1 / p0).ln() + 50.0 * ((1.0 - p1) / (1.0 - p0)).ln();
        assert!((TEST.log_ratio(&pairs) - binomial).abs() < 0.01);
        assert_eq!(TEST.log_ratio(&Pairs::default()), 0.0);
    }

    #[test]
    fn exchanging_players_and_hypotheses_exchanges_the_sign() {
        let pairs = Pairs { win_win: 20, win_draw: 9, win_loss: 14, draw_draw: 8, draw_loss: 4, loss_loss: 11 };
        let mirrored = Sprt { elo0: -TEST.elo1, elo1: -TEST.elo0, ..TEST };
        assert!((TEST.log_ratio(&pairs) + mirrored.log_ratio(&pairs.flip())).abs() < 1e-9);
    }

    #[test]
    fn one_sided_results_decide_quickly() {
        assert_eq!(TEST.verdict(&Pairs { win_win: 60, ..Pairs::default() }), Verdict::Alternative);
        assert_eq!(TEST.verdict(&Pairs { loss_loss: 60, ..Pairs::default() }), Verdict::Null);
        assert_eq!(TEST.verdict(&Pairs { win_win: 1, ..Pairs::default() }), Verdict::Open);
    }

    #[test]
    fn errors_are_as_rare_as_was_asked() {
        // Pairs in which one seat is favoured and a third is drawn, at a true difference of either hypothesis.
        for (truth, wrong) in [(TEST.elo0, Verdict::Alternative), (TEST.elo1, Verdict::Null)] {
            let trials = 400;
            let mut errors = 0;
            for number in 0..trials {
                let mut rng = Rng::new(11, number);
                let mut pairs = Pairs::default();
                let verdict = loop {
                    let mut game = |tilt: f64| {
                        let (draw, win) = (0.3, expected(truth) - 0.15 + tilt);
                        match f64::from(rng.unit()) {
                            u if u < win => Wdl::Win,
                            u if u < win + draw => Wdl::Draw,
                            _ => Wdl::Loss,
                        }
                    };
                    pairs.add(game(0.1), game(-0.1));
                    match TEST.verdict(&pairs) {
                        Verdict::Open => assert!(pairs.count() < 20_000, "the test ends"),
                        decided => break decided,
                    }
                };
                errors += u32::from(verdict == wrong);
            }
            // 5 % of 400, and three standard deviations.
            assert!((1..=33).contains(&errors), "{errors} of {trials} at {truth}");
        }
    }
}
