//! Ratings of many players at once, by maximum likelihood.
//!
//! The model is Davidson's (1970), Bradley and Terry's with draws: with strengths a and b, win : draw : loss =
//! a : v sqrt(a b) : b, with one v for the whole table. Every two players that met are given one further draw as a prior
//! (half a win and half a loss, so that it says nothing about v); without it whoever won all games would be infinitely
//! strong. All results are fitted together, so players who never met are compared through those whom both met.
//!
//! A rating is 400 log10(strength) / (1 + v / 2): with this scale a point means near equality what it means in Elo's
//! formula without draws (BayesElo scales in the same way).

use crate::score::{Interval, Pairs, Z95};

/// What two players made of their games.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Match {
    /// The player whose results are counted.
    pub player: usize,
    /// Its opponent.
    pub opponent: usize,
    /// Their pairs of games, seen by the player.
    pub pairs: Pairs,
}

/// A rating relative to the anchor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rating {
    /// The difference to the anchor's rating.
    pub elo: f64,
    /// All differences that the games do not speak against, with 95 % confidence; infinite where they are open-ended.
    pub interval: Interval,
}

/// The ratings of players `0..players` relative to `anchor`; `None` for those that no chain of games connects with it.
///
/// The interval holds the differences d for which 2 (l - l(d)) <= 1.96^2 x f, where l is the greatest log-likelihood and
/// l(d) the greatest with that difference (a profile likelihood). The factor f is how much more (or less) the rating
/// varies than independent games would let it, estimated from the pairs of games (White's sandwich, 1982). An end is
/// open if the games alone would put it at infinity: if the other side has taken no point from it, directly or
/// through others (Ford 1957).
///
/// # Panics
/// If a match is of a player with itself or names one that is not there.
pub fn ratings(players: usize, anchor: usize, matches: &[Match]) -> Vec<Option<Rating>> {
    assert!(anchor < players && matches.iter().all(|m| m.player < players && m.opponent < players));
    assert!(matches.iter().all(|m| m.player != m.opponent), "nobody plays itself");
    let played: Vec<Match> = matches.iter().copied().filter(|m| m.pairs.count() > 0).collect();
    let met = reach(players, played.iter().flat_map(|m| [(m.player, m.opponent), (m.opponent, m.player)]));
    let took = reach(players, played.iter().flat_map(points_taken));
    // Players that no games connect with the anchor can't be rated, and are left out of the fit.
    let rated: Vec<usize> = (0..players).filter(|&p| p != anchor && met[p][anchor]).collect();
    let place = |player: usize| rated.iter().position(|&p| p == player);
    let kept: Vec<Term> = played
        .iter()
        .filter(|m| met[m.player][anchor] || m.player == anchor)
        .map(|m| Term { player: place(m.player), opponent: place(m.opponent), pairs: m.pairs })
        .collect();
    let model = Model { free: rated.len(), draws: kept.iter().any(|t| t.pairs.tally().draws > 0), terms: kept };
    let best = model.fit(None, &vec![0.0; model.size()]);
    let inflation = model.inflation(&best.at);
    let scale = 400.0 / std::f64::consts::LN_10 / (1.0 + 0.5 * model.nu(&best.at));
    (0..players)
        .map(|player| {
            if player == anchor {
                return Some(Rating { elo: 0.0, interval: Interval { low: 0.0, high: 0.0 } });
            }
            let i = place(player)?;
            let end = |towards: f64, open: bool| {
                if open { towards * f64::INFINITY } else { scale * model.profile_end(&best, i, towards, inflation[i]) }
            };
            let interval = Interval { low: end(-1.0, !took[player][anchor]), high: end(1.0, !took[anchor][player]) };
            Some(Rating { elo: scale * best.at[i], interval })
        })
        .collect()
}

/// Who took at least half a point from whom.
fn points_taken(m: &Match) -> Vec<(usize, usize)> {
    let tally = m.pairs.tally();
    let own = (tally.wins + tally.draws > 0).then_some((m.player, m.opponent));
    let other = (tally.losses + tally.draws > 0).then_some((m.opponent, m.player));
    own.into_iter().chain(other).collect()
}

/// Which players can be reached from which along these arrows, by Warshall's closure.
fn reach(players: usize, arrows: impl Iterator<Item = (usize, usize)>) -> Vec<Vec<bool>> {
    let mut reach = vec![vec![false; players]; players];
    for (from, to) in arrows {
        reach[from][to] = true;
    }
    for via in 0..players {
        let further = reach[via].clone();
        for row in reach.iter_mut().filter(|row| row[via]) {
            for (to, also) in row.iter_mut().zip(&further) {
                *to |= also;
            }
        }
    }
    reach
}

/// The likelihood as a function of the free strengths (natural logarithms; the anchor's is 0) and, if there are draws,
/// ln v as the last coordinate. It is concave.
struct Model {
    free: usize,
    draws: bool,
    terms: Vec<Term>,
}

/// A match; `None` stands for the anchor.
struct Term {
    player: Option<usize>,
    opponent: Option<usize>,
    pairs: Pairs,
}

/// A point and its log-likelihood.
struct Fit {
    at: Vec<f64>,
    likelihood: f64,
}

/// Probabilities of a win, a draw and a loss.
struct Chances {
    win: f64,
    draw: f64,
    loss: f64,
}

impl Model {
    fn size(&self) -> usize {
        self.free + usize::from(self.draws)
    }

    fn nu(&self, at: &[f64]) -> f64 {
        if self.draws { at[self.free].exp() } else { 0.0 }
    }

    fn chances(&self, at: &[f64], term: &Term) -> Chances {
        let difference = term.player.map_or(0.0, |i| at[i]) - term.opponent.map_or(0.0, |i| at[i]);
        // Relative to the greatest, so that nothing overflows.
        let logs = [0.5 * difference, if self.draws { at[self.free] } else { f64::NEG_INFINITY }, -0.5 * difference];
        let greatest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let [win, draw, loss] = logs.map(|log| (log - greatest).exp());
        let sum = win + draw + loss;
        Chances { win: win / sum, draw: draw / sum, loss: loss / sum }
    }

    /// Wins, draws and losses with the prior's half win and half loss.
    fn counts(term: &Term) -> (f64, f64, f64) {
        let tally = term.pairs.tally();
        (tally.wins as f64 + 0.5, tally.draws as f64, tally.losses as f64 + 0.5)
    }

    fn likelihood(&self, at: &[f64]) -> f64 {
        let of = |term: &Term| {
            let (wins, draws, losses) = Self::counts(term);
            let chances = self.chances(at, term);
            let drawn = if draws > 0.0 { draws * chances.draw.ln() } else { 0.0 };
            wins * chances.win.ln() + drawn + losses * chances.loss.ln()
        };
        self.terms.iter().map(of).sum()
    }

    /// How the logarithm of the likelihood of results with this half difference of wins and losses, and so many draws,
    /// in `games` games changes with each coordinate.
    fn gradient(&self, term: &Term, chances: &Chances, half_lead: f64, draws: f64, games: f64) -> Vec<f64> {
        let mut gradient = vec![0.0; self.size()];
        let slope = half_lead - 0.5 * games * (chances.win - chances.loss);
        if let Some(i) = term.player {
            gradient[i] = slope;
        }
        if let Some(j) = term.opponent {
            gradient[j] = -slope;
        }
        if self.draws {
            gradient[self.free] = draws - games * chances.draw;
        }
        gradient
    }

    /// The gradient and the negated matrix of second derivatives.
    fn derivatives(&self, at: &[f64]) -> (Vec<f64>, Vec<Vec<f64>>) {
        let size = self.size();
        let mut gradient = vec![0.0; size];
        let mut information = vec![vec![0.0; size]; size];
        for term in &self.terms {
            let (wins, draws, losses) = Self::counts(term);
            let games = wins + draws + losses;
            let chances = self.chances(at, term);
            let lead = chances.win - chances.loss;
            let own = self.gradient(term, &chances, 0.5 * (wins - losses), draws, games);
            for (sum, own) in gradient.iter_mut().zip(own) {
                *sum += own;
            }
            let strength = 0.25 * games * (chances.win + chances.loss - lead * lead);
            let mixed = -0.5 * games * lead * chances.draw;
            let sides = [(term.player, 1.0), (term.opponent, -1.0)];
            for (i, sign) in sides.iter().filter_map(|&(side, sign)| Some((side?, sign))) {
                for (j, other) in sides.iter().filter_map(|&(side, sign)| Some((side?, sign))) {
                    information[i][j] += sign * other * strength;
                }
                if self.draws {
                    information[i][self.free] += sign * mixed;
                    information[self.free][i] += sign * mixed;
                }
            }
            if self.draws {
                information[self.free][self.free] += games * chances.draw * (1.0 - chances.draw);
            }
        }
        (gradient, information)
    }

    /// The greatest likelihood, with one coordinate held at a value if `held` says so; by Newton's method.
    fn fit(&self, held: Option<(usize, f64)>, start: &[f64]) -> Fit {
        let mut at = start.to_vec();
        if let Some((i, value)) = held {
            at[i] = value;
        }
        let mut likelihood = self.likelihood(&at);
        for _ in 0..200 {
            let (mut gradient, mut information) = self.derivatives(&at);
            if let Some((i, _)) = held {
                gradient[i] = 0.0;
                for (j, row) in information.iter_mut().enumerate() {
                    if j == i {
                        row.fill(0.0);
                    }
                    row[i] = f64::from(i == j);
                }
            }
            let step = solve(&information, &gradient);
            // A full step may overshoot; the function is concave, so a part of it ascends.
            let mut share = 1.0;
            let improved = loop {
                let next: Vec<f64> = at.iter().zip(&step).map(|(x, step)| x + share * step).collect();
                let found = self.likelihood(&next);
                if found > likelihood {
                    break Some((next, found));
                }
                share *= 0.5;
                if share < 1e-9 {
                    break None;
                }
            };
            let Some((next, found)) = improved else { break };
            let small = found - likelihood < 1e-13 * likelihood.abs();
            (at, likelihood) = (next, found);
            if small {
                break;
            }
        }
        Fit { at, likelihood }
    }

    /// For each strength, its variance by the pairs of games over that by independent games.
    fn inflation(&self, at: &[f64]) -> Vec<f64> {
        let (_, information) = self.derivatives(at);
        let columns: Vec<Vec<f64>> = (0..self.free)
            .map(|i| solve(&information, &(0..self.size()).map(|j| f64::from(i == j)).collect::<Vec<_>>()))
            .collect();
        let mut robust = vec![0.0; self.free];
        for term in &self.terms {
            let chances = self.chances(at, term);
            let p = &term.pairs;
            // (number, half difference of wins and losses, draws, games); the prior's two halves come last.
            let kinds = [
                (p.win_win as f64, 1.0, 0.0, 2.0),
                (p.win_draw as f64, 0.5, 1.0, 2.0),
                (p.win_loss as f64, 0.0, 0.0, 2.0),
                (p.draw_draw as f64, 0.0, 2.0, 2.0),
                (p.draw_loss as f64, -0.5, 1.0, 2.0),
                (p.loss_loss as f64, -1.0, 0.0, 2.0),
                (0.5, 0.5, 0.0, 1.0),
                (0.5, -0.5, 0.0, 1.0),
            ];
            for (number, half_lead, draws, games) in kinds {
                let gradient = self.gradient(term, &chances, half_lead, draws, games);
                for (sum, column) in robust.iter_mut().zip(&columns) {
                    let influence: f64 = column.iter().zip(&gradient).map(|(a, b)| a * b).sum();
                    *sum += number * influence * influence;
                }
            }
        }
        (0..self.free).map(|i| robust[i] / columns[i][i]).collect()
    }

    /// How far coordinate `i` may go in one direction until the likelihood has fallen by more than chance explains.
    fn profile_end(&self, best: &Fit, i: usize, towards: f64, inflation: f64) -> f64 {
        let limit = Z95 * Z95 * inflation;
        let mut inside = best.at.clone();
        let mut step = 0.1;
        let mut outside = loop {
            let fit = self.fit(Some((i, inside[i] + towards * step)), &inside);
            if 2.0 * (best.likelihood - fit.likelihood) > limit {
                break fit.at[i];
            }
            inside = fit.at;
            step *= 2.0;
        };
        while (outside - inside[i]).abs() > 1e-6 {
            let middle = 0.5 * (outside + inside[i]);
            let fit = self.fit(Some((i, middle)), &inside);
            if 2.0 * (best.likelihood - fit.likelihood) > limit {
                outside = middle;
            } else {
                inside = fit.at;
            }
        }
        outside
    }
}

/// Solves A x = b for a symmetric positive definite A, by Cholesky's decomposition.
fn solve(a: &[Vec<f64>], b: &[f64]) -> Vec<f64> {
    let n = b.len();
    let mut lower = vec![vec![0.0; n]; n];
    for i in 0..n {
        for j in 0..=i {
            let inner: f64 = (0..j).map(|k| lower[i][k] * lower[j][k]).sum();
            let rest = a[i][j] - inner;
            // Players far apart leave next to no curvature; a crumb keeps the step finite.
            lower[i][j] = if i == j { rest.max(1e-12).sqrt() } else { rest / lower[j][j] };
        }
    }
    let mut x = b.to_vec();
    for i in 0..n {
        let inner: f64 = (0..i).map(|k| lower[i][k] * x[k]).sum();
        x[i] = (x[i] - inner) / lower[i][i];
    }
    for i in (0..n).rev() {
        let inner: f64 = (i + 1..n).map(|k| lower[k][i] * x[k]).sum();
        x[i] = (x[i] - inner) / lower[i][i];
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::score::elo;
    use rules::{Rng, Wdl};

    fn pairs(win_win: u64, win_draw: u64, win_loss: u64, draw_draw: u64, draw_loss: u64, loss_loss: u64) -> Pairs {
        Pairs { win_win, win_draw, win_loss, draw_draw, draw_loss, loss_loss }
    }

    fn meet(player: usize, opponent: usize, pairs: Pairs) -> Match {
        Match { player, opponent, pairs }
    }

    fn close(a: f64, b: f64, by: f64) {
        assert!((a - b).abs() < by, "{a} is not {b}");
    }

    #[test]
    fn two_players_in_closed_form() {
        // Without draws the odds are wins to losses, each with half a game of the prior.
        let table = ratings(2, 0, &[meet(1, 0, pairs(20, 0, 15, 0, 0, 5))]);
        close(table[1].unwrap().elo, 400.0 * (55.5_f64 / 25.5).log10(), 1e-6);
        assert_eq!(table[0].unwrap().elo, 0.0);
        // With draws v = draws / sqrt(wins x losses), and the rating is scaled by 1 + v / 2.
        let table = ratings(2, 0, &[meet(1, 0, pairs(10, 10, 5, 10, 6, 4))]);
        let (wins, draws, losses) = (35.5_f64, 36.0, 19.5);
        let v = draws / (wins * losses).sqrt();
        close(table[1].unwrap().elo, 400.0 * (wins / losses).log10() / (1.0 + v / 2.0), 1e-6);
        // That scale makes it nearly what Elo's formula says of the score.
        close(table[1].unwrap().elo, elo((35.5 + 18.0) / 91.0), 3.0);
    }

    #[test]
    fn players_who_never_met_are_compared_through_a_third() {
        // A took three quarters from B, B three quarters from C: on a chain the differences add up exactly.
        let table = ratings(3, 2, &[meet(0, 1, pairs(30, 0, 30, 0, 0, 0)), meet(1, 2, pairs(30, 0, 30, 0, 0, 0))]);
        let step = 400.0 * (90.5_f64 / 30.5).log10();
        close(table[1].unwrap().elo, step, 1e-6);
        close(table[0].unwrap().elo, 2.0 * step, 1e-6);
        let width = |i: usize| table[i].unwrap().interval.high - table[i].unwrap().interval.low;
        close(width(0) / width(1), 2_f64.sqrt(), 0.03);
        // A star: B and C only met A, and the difference of equals is nothing.
        let table = ratings(3, 1, &[meet(0, 1, pairs(9, 0, 7, 0, 0, 0)), meet(0, 2, pairs(9, 0, 7, 0, 0, 0))]);
        close(table[2].unwrap().elo, 0.0, 1e-6);
    }

    #[test]
    fn players_that_no_games_connect_are_not_compared() {
        let table = ratings(4, 0, &[meet(0, 1, pairs(1, 0, 1, 0, 0, 0)), meet(2, 3, pairs(1, 0, 1, 0, 0, 0))]);
        assert!(table[1].is_some() && table[2].is_none() && table[3].is_none());
        assert_eq!(ratings(2, 0, &[meet(0, 1, Pairs::default())])[1], None);
        assert!(ratings(1, 0, &[])[0].is_some());
    }

    #[test]
    fn a_circle_of_equal_victories_makes_equals() {
        let win = pairs(10, 0, 10, 0, 0, 0);
        let table = ratings(3, 0, &[meet(0, 1, win), meet(1, 2, win), meet(2, 0, win)]);
        for rating in table {
            close(rating.unwrap().elo, 0.0, 1e-6);
        }
    }

    #[test]
    fn a_table_as_a_general_optimiser_fits_it() {
        // The same likelihood maximised by scipy.optimize.minimize 1.17 (BFGS, then Nelder-Mead to 1e-12): natural
        // logarithms of the strengths relative to player 0, and ln v.
        let (strengths, ln_nu) = ([-0.518_993_82, -1.330_822_41, -1.742_117_07], -0.300_254_21);
        let table = ratings(
            4,
            0,
            &[
                meet(0, 1, pairs(4, 3, 6, 2, 3, 2)),
                meet(0, 2, pairs(9, 5, 4, 1, 1, 0)),
                meet(1, 2, pairs(6, 2, 7, 0, 4, 1)),
                meet(2, 3, pairs(3, 6, 2, 5, 2, 2)),
                meet(1, 3, pairs(8, 1, 1, 3, 0, 2)),
            ],
        );
        let scale = 400.0 / std::f64::consts::LN_10 / (1.0 + 0.5 * f64::exp(ln_nu));
        for (rating, strength) in table[1..].iter().zip(strengths) {
            close(rating.unwrap().elo, scale * strength, 1e-3);
        }
    }

    #[test]
    fn at_0_and_100_percent_and_only_there_intervals_are_open() {
        let table = ratings(3, 0, &[meet(1, 0, pairs(10, 0, 0, 0, 0, 0)), meet(2, 0, pairs(9, 1, 0, 0, 0, 0))]);
        let all = table[1].unwrap().interval;
        assert_eq!(all.high, f64::INFINITY);
        // Twenty wins of twenty leave a true score of about 0.8 possible (Wilson for 20 trials: 0.839).
        assert!(all.low > elo(0.70) && all.low < elo(0.90), "{all:?}");
        let nearly = table[2].unwrap().interval;
        assert!(nearly.high.is_finite() && nearly.low > 0.0);
        // Seen from the other side.
        let table = ratings(2, 1, &[meet(1, 0, pairs(10, 0, 0, 0, 0, 0))]);
        assert_eq!(table[0].unwrap().interval.low, f64::NEG_INFINITY);
        // Who beat the one that always won is open upwards too, although it lost a game to a third.
        let chain = [meet(1, 0, pairs(5, 0, 0, 0, 0, 0)), meet(2, 1, pairs(3, 0, 2, 0, 0, 0))];
        let table = ratings(3, 0, &chain);
        assert_eq!(table[2].unwrap().interval.high, f64::INFINITY);
        assert!(table[2].unwrap().interval.low > 0.0);
    }

    #[test]
    fn for_two_players_intervals_agree_with_those_of_the_score() {
        for seen in
            [pairs(12, 0, 9, 0, 0, 4), pairs(4, 7, 9, 20, 5, 2), pairs(0, 0, 40, 0, 2, 1), pairs(20, 4, 8, 2, 1, 1)]
        {
            let table = ratings(2, 0, &[meet(1, 0, seen)]);
            let (model, score) = (table[1].unwrap().interval, seen.interval().elo());
            let width = score.high - score.low;
            assert!((model.low - score.low).abs() < 0.15 * width, "{model:?} {score:?}");
            assert!((model.high - score.high).abs() < 0.15 * width, "{model:?} {score:?}");
        }
    }

    #[test]
    fn intervals_hold_the_true_ratings_in_95_of_100_tables() {
        // Four players, of whom 0 and 3 never meet; strengths and v as in the model, seats favoured by the opening.
        let truth = [0.0, 0.7, -0.4, 0.9_f64];
        let nu = 0.5;
        let met = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)];
        let scale = 400.0 / std::f64::consts::LN_10 / (1.0 + 0.5 * nu);
        let (mut held, mut all) = (0, 0);
        for number in 0..300 {
            let mut rng = Rng::new(21, number);
            let mut game = |difference: f64| {
                let chances = [f64::exp(-0.5 * difference), nu, f64::exp(0.5 * difference)];
                let u = f64::from(rng.unit()) * chances.iter().sum::<f64>();
                match u {
                    u if u < chances[0] => Wdl::Loss,
                    u if u < chances[0] + chances[1] => Wdl::Draw,
                    _ => Wdl::Win,
                }
            };
            let mut play = |(player, opponent): (usize, usize)| {
                let mut pairs = Pairs::default();
                for _ in 0..40 {
                    let difference = truth[player] - truth[opponent];
                    pairs.add(game(difference), game(difference));
                }
                meet(player, opponent, pairs)
            };
            let matches: Vec<Match> = met.into_iter().map(&mut play).collect();
            for (player, rating) in ratings(4, 0, &matches).into_iter().enumerate().skip(1) {
                let interval = rating.unwrap().interval;
                all += 1;
                held += u32::from((interval.low..=interval.high).contains(&(scale * truth[player])));
            }
        }
        let share = f64::from(held) / f64::from(all);
        // The standard deviation of the share is 0.0073 if ratings of a table were independent.
        assert!((0.92..=0.98).contains(&share), "{share}");
    }
}
