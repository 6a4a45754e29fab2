//! Wins, draws and losses, and how far the score that was seen may be from the true one.
//!
//! Every opening is played twice, with seats exchanged, and the two games are not independent: an opening that favours
//! one seat gives both players a point each. So the unit of evidence is the *pair* of games (the "pentanomial" model of
//! computer chess testing), not the game.

use std::ops::AddAssign;

use rules::Wdl;
use serde::Serialize;

/// Results of one player.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Games won.
    pub wins: u64,
    /// Games drawn.
    pub draws: u64,
    /// Games lost.
    pub losses: u64,
}

impl Tally {
    /// Counts one more game.
    pub fn add(&mut self, result: Wdl) {
        match result {
            Wdl::Win => self.wins += 1,
            Wdl::Draw => self.draws += 1,
            Wdl::Loss => self.losses += 1,
        }
    }

    /// The number of games.
    pub fn games(&self) -> u64 {
        self.wins + self.draws + self.losses
    }

    /// (wins + draws / 2) / games, in [0, 1]; one half when nothing was played.
    pub fn score(&self) -> f64 {
        if self.games() == 0 {
            return 0.5;
        }
        (self.wins as f64 + 0.5 * self.draws as f64) / self.games() as f64
    }

    /// The same games seen by the opponent.
    #[must_use]
    pub fn flip(&self) -> Tally {
        Tally { wins: self.losses, draws: self.draws, losses: self.wins }
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.wins += other.wins;
        self.draws += other.draws;
        self.losses += other.losses;
    }
}

/// Pairs of games with exchanged seats, by what one player made of both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Pairs {
    /// Two wins.
    pub win_win: u64,
    /// A win and a draw.
    pub win_draw: u64,
    /// A win and a loss.
    pub win_loss: u64,
    /// Two draws.
    pub draw_draw: u64,
    /// A draw and a loss.
    pub draw_loss: u64,
    /// Two losses.
    pub loss_loss: u64,
}

impl Pairs {
    /// Counts one more pair.
    pub fn add(&mut self, a: Wdl, b: Wdl) {
        *match (a.min(b), a.max(b)) {
            (Wdl::Win, _) => &mut self.win_win,
            (Wdl::Draw, Wdl::Win) => &mut self.win_draw,
            (Wdl::Loss, Wdl::Win) => &mut self.win_loss,
            (Wdl::Draw, _) => &mut self.draw_draw,
            (Wdl::Loss, Wdl::Draw) => &mut self.draw_loss,
            (Wdl::Loss, Wdl::Loss) => &mut self.loss_loss,
        } += 1;
    }

    /// The number of pairs.
    pub fn count(&self) -> u64 {
        self.pentanomial().iter().sum()
    }

    /// The number of pairs by half points in two games: 0, 1, 2, 3, 4.
    pub fn pentanomial(&self) -> [u64; 5] {
        [self.loss_loss, self.draw_loss, self.win_loss + self.draw_draw, self.win_draw, self.win_win]
    }

    /// The single games.
    pub fn tally(&self) -> Tally {
        Tally {
            wins: 2 * self.win_win + self.win_draw + self.win_loss,
            draws: 2 * self.draw_draw + self.win_draw + self.draw_loss,
            losses: 2 * self.loss_loss + self.draw_loss + self.win_loss,
        }
    }

    /// The same pairs seen by the opponent.
    #[must_use]
    pub fn flip(&self) -> Pairs {
        Pairs {
            win_win: self.loss_loss,
            win_draw: self.draw_loss,
            draw_loss: self.win_draw,
            loss_loss: self.win_win,
            ..*self
        }
    }

    /// The score with its 95 % interval: all scores, in [0, 1], that these pairs do not speak against.
    ///
    /// It is Wilson's interval (1927) for as many independent yes-or-no trials as would have the variance of these pairs
    /// (pairs of scores in between vary less, pairs that repeat each other more). That variance is taken with one
    /// further pair spread evenly over the five results, so that a handful of equal pairs is not taken for certainty.
    /// At 0 and 100 % the interval reaches the end; without games it is everything.
    pub fn interval(&self) -> Interval {
        let pairs = self.count() as f64;
        if pairs == 0.0 {
            return Interval { low: 0.0, high: 1.0 };
        }
        let counts = self.pentanomial().map(|n| n as f64 + 0.2);
        let weighted = |f: &dyn Fn(f64) -> f64| -> f64 {
            counts.iter().enumerate().map(|(i, n)| n * f(i as f64 / 4.0)).sum::<f64>() / (pairs + 1.0)
        };
        let mean = weighted(&|score| score);
        let variance = weighted(&|score| (score - mean).powi(2));
        let trials = pairs * mean * (1.0 - mean) / variance;
        wilson(self.tally().score(), trials)
    }
}

impl AddAssign for Pairs {
    fn add_assign(&mut self, other: Pairs) {
        self.win_win += other.win_win;
        self.win_draw += other.win_draw;
        self.win_loss += other.win_loss;
        self.draw_draw += other.draw_draw;
        self.draw_loss += other.draw_loss;
        self.loss_loss += other.loss_loss;
    }
}

/// A 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The lower end; minus infinity if it is open.
    pub low: f64,
    /// The upper end; infinity if it is open.
    pub high: f64,
}

/// The 97.5 % point of the normal distribution: 95 % lie within this many standard deviations.
pub const Z95: f64 = 1.959_963_984_540_054;

/// Wilson's 95 % interval for a share that was seen in so many independent trials.
pub fn wilson(share: f64, trials: f64) -> Interval {
    let z2 = Z95 * Z95;
    let centre = share + z2 / (2.0 * trials);
    let half = Z95 * (share * (1.0 - share) / trials + z2 / (4.0 * trials * trials)).sqrt();
    let whole = 1.0 + z2 / trials;
    // At the ends of the range rounding must not leave a gap.
    Interval {
        low: if share <= 0.0 { 0.0 } else { (centre - half) / whole },
        high: if share >= 1.0 { 1.0 } else { (centre + half) / whole },
    }
}

/// The difference in rating at which this score is expected: 400 points for ten to one (Elo 1978). Infinite at 0 and 1.
pub fn elo(score: f64) -> f64 {
    -400.0 * (1.0 / score - 1.0).log10()
}

/// The score that is expected at this difference in rating.
pub fn expected(elo: f64) -> f64 {
    1.0 / (1.0 + 10_f64.powf(-elo / 400.0))
}

impl Interval {
    /// An interval of scores as one of differences in rating.
    #[must_use]
    pub fn elo(&self) -> Interval {
        Interval { low: elo(self.low), high: elo(self.high) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rules::Rng;

    const RESULTS: [Wdl; 3] = [Wdl::Loss, Wdl::Draw, Wdl::Win];

    #[test]
    fn pairs_know_their_games_and_their_points() {
        let mut pairs = Pairs::default();
        let mut tally = Tally::default();
        for a in RESULTS {
            for b in RESULTS {
                pairs.add(a, b);
                tally.add(a);
                tally.add(b);
            }
        }
        assert_eq!(pairs.pentanomial(), [1, 2, 3, 2, 1]);
        assert_eq!(pairs.tally(), tally);
        assert_eq!(tally, Tally { wins: 6, draws: 6, losses: 6 });
        assert_eq!(pairs.flip(), pairs);
        let one = Pairs { win_win: 3, draw_loss: 1, ..Pairs::default() };
        assert_eq!(one.flip().tally(), one.tally().flip());
    }

    #[test]
    fn elo_is_by_the_common_logarithm() {
        assert_eq!(elo(0.5), 0.0);
        assert!((elo(10.0 / 11.0) - 400.0).abs() < 1e-9);
        assert!((elo(0.75) - 400.0 * 3_f64.log10()).abs() < 1e-9);
        assert_eq!((elo(0.0), elo(1.0)), (f64::NEG_INFINITY, f64::INFINITY));
        for score in [0.01, 0.3, 0.5, 0.99] {
            assert!((expected(elo(score)) - score).abs() < 1e-12);
        }
    }

    #[test]
    fn wilson_in_closed_form() {
        // Half of n trials: 1/2 -+ z / (2 sqrt(n + z^2)). All of n: from n / (n + z^2). Symmetric in share and 1 - share.
        let z2 = Z95 * Z95;
        for n in [1.0, 7.5, 400.0] {
            let half = wilson(0.5, n);
            let expected = Z95 / (2.0 * (n + z2).sqrt());
            assert!((half.high - 0.5 - expected).abs() < 1e-12 && (0.5 - half.low - expected).abs() < 1e-12);
            assert!((wilson(1.0, n).low - n / (n + z2)).abs() < 1e-12);
            let (a, b) = (wilson(0.3, n), wilson(0.7, n));
            assert!((a.low + b.high - 1.0).abs() < 1e-12 && (a.high + b.low - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn at_the_ends_and_without_games_intervals_are_open() {
        let nothing = Pairs::default().interval();
        assert_eq!((nothing.low, nothing.high), (0.0, 1.0));
        assert_eq!((nothing.elo().low, nothing.elo().high), (f64::NEG_INFINITY, f64::INFINITY));
        let all = Pairs { win_win: 10, ..Pairs::default() };
        assert_eq!((all.interval().high, all.interval().elo().high), (1.0, f64::INFINITY));
        assert!(all.interval().low > 0.7 && all.interval().low < 0.9);
        assert_eq!(all.flip().interval().elo().low, f64::NEG_INFINITY);
    }

    #[test]
    fn a_few_equal_pairs_are_no_certainty_and_many_nearly_are() {
        let interval = |draw_draw| Pairs { draw_draw, ..Pairs::default() }.interval();
        assert!(interval(2).high - interval(2).low > 0.2);
        let many = interval(1_000);
        assert!(many.high - many.low < 0.002 && many.low < 0.5 && many.high > 0.5);
    }

    #[test]
    fn games_that_undo_each_other_say_more_than_independent_ones() {
        // The same 50 % in 100 games: as 50 pairs that are 1-1, and as 25 pairs won and 25 lost outright.
        let split = Pairs { win_loss: 50, ..Pairs::default() }.interval();
        let outright = Pairs { win_win: 25, loss_loss: 25, ..Pairs::default() }.interval();
        assert!(split.high - split.low < 0.03);
        // Outright pairs are 50 trials, not 100 (Wilson for 25 of 50: 0.366 to 0.634).
        assert!((outright.low - 0.366).abs() < 0.01 && (outright.high - 0.634).abs() < 0.01, "{outright:?}");
    }

    #[test]
    fn the_interval_holds_the_true_score_in_95_of_100_matches() {
        // Chances of a loss, a draw and a win in the favoured and the other seat; the pair shares its opening.
        let cases = [
            ([0.1, 0.3, 0.6], [0.6, 0.3, 0.1], 20),
            ([0.0, 0.1, 0.9], [0.9, 0.1, 0.0], 50),
            ([0.02, 0.03, 0.95], [0.02, 0.03, 0.95], 50),
            ([0.3, 0.4, 0.3], [0.3, 0.4, 0.3], 30),
            ([0.0, 0.9, 0.1], [0.0, 0.9, 0.1], 40),
        ];
        for (case, (one, other, pairs)) in cases.into_iter().enumerate() {
            let mean = |chances: [f64; 3]| 0.5 * chances[1] + chances[2];
            let truth = 0.5 * (mean(one) + mean(other));
            let matches = 4_000;
            let mut held = 0;
            for number in 0..matches {
                let mut rng = Rng::new(case as u64, number);
                let mut draw = |chances: [f64; 3]| {
                    let u = f64::from(rng.unit());
                    RESULTS[usize::from(u >= chances[0]) + usize::from(u >= chances[0] + chances[1])]
                };
                let mut seen = Pairs::default();
                for _ in 0..pairs {
                    seen.add(draw(one), draw(other));
                }
                let interval = seen.interval();
                held += u32::from(interval.low <= truth && truth <= interval.high);
            }
            let share = f64::from(held) / matches as f64;
            // The standard deviation of the share is 0.0034.
            assert!((0.935..=0.99).contains(&share), "case {case}: {share}");
        }
    }
}
