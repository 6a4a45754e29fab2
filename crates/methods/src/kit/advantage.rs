//! How much better a move was than the value of its position: generalised advantage estimation (Schulman et al. 2016,
//! equation 16), for two seats that alternate. The two forms are told in [`crate::ppo`].

use rules::Seat;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kit::self_play::Played;

/// How advantages are estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// From ply to ply, with signs that turn.
    Ply,
    /// Along the moves of each seat.
    Seat,
}

/// Advantages of consecutive moves of which only the last is rewarded: A_t = delta_t + g lambda A_t+1 with
/// delta_t = r_t + g V_t+1 - V_t, and V = 0 after the end.
///
/// In the seat form `values` are those of one seat's positions and g is gamma. In the ply form they are those of both
/// seats', each for its side to move, and g is -gamma: what is good for the next to move is bad for this one.
pub fn estimate(values: &[f32], last: f32, g: f32, lambda: f32) -> Vec<f32> {
    let mut advantages = vec![0.0; values.len()];
    let (mut next_value, mut next_advantage, mut reward) = (0.0, 0.0, last);
    for (advantage, value) in advantages.iter_mut().zip(values).rev() {
        *advantage = reward + g * next_value - value + g * lambda * next_advantage;
        (next_value, next_advantage, reward) = (*value, *advantage, 0.0);
    }
    advantages
}

impl Form {
    /// The advantages of a game's moves, whose positions have these values. Of a game in which the learner had one seat there
    /// is the seat form only: between two own moves lie two plies, so there the ply form's gamma is squared.
    pub fn advantages<P>(self, game: &Played<P>, values: &[f32], gamma: f32, lambda: f32) -> Vec<f32> {
        let reward = |seat| game.outcome.seen_by(seat).expect("the game is over").value();
        if self == Form::Ply && game.seat.is_none() {
            let last = game.steps.last().map_or(0.0, |step| reward(step.seat));
            return estimate(values, last, -gamma, lambda);
        }
        let gamma = if self == Form::Ply { gamma * gamma } else { gamma };
        let mut all = vec![0.0; values.len()];
        for seat in Seat::BOTH {
            let own: Vec<usize> = (0..values.len()).filter(|&i| game.steps[i].seat == seat).collect();
            let own_values: Vec<f32> = own.iter().map(|&i| values[i]).collect();
            let advantages = estimate(&own_values, reward(seat), gamma, lambda);
            own.into_iter().zip(advantages).for_each(|(i, advantage)| all[i] = advantage);
        }
        all
    }
}

/// Mean and variance.
pub fn moments(numbers: &[f32]) -> (f64, f64) {
    let n = numbers.len().max(1) as f64;
    let mean = numbers.iter().map(|&x| f64::from(x)).sum::<f64>() / n;
    (mean, numbers.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>() / n)
}

#[cfg(test)]
mod tests {
    use rules::{Outcome, Symmetry};

    use super::*;
    use crate::kit::self_play::Step;

    fn assert_close(found: &[f32], expected: &[f32]) {
        assert!(found.len() == expected.len());
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{found:?}, not {expected:?}");
    }

    /// Four plies, won by the second player; values of the side to move.
    const VALUES: [f32; 4] = [0.1, -0.2, 0.3, 0.4];

    /// Row D6 of the public reports (Stoix, issues 99 and 103): nobody had said how to do it where seats alternate.
    #[test]
    fn the_ply_form_computed_by_hand() {
        // A4 = 1 - 0.4; A3 = (-0.9 x 0.4 - 0.3) - 0.72 x 0.6; A2 = (-0.9 x 0.3 + 0.2) + 0.72 x 1.092;
        // A1 = (0.9 x 0.2 - 0.1) - 0.72 x 0.71624.
        assert_close(&estimate(&VALUES, 1.0, -0.9, 0.8), &[-0.4356928, 0.71624, -1.092, 0.6]);
    }

    #[test]
    fn the_seat_form_computed_by_hand() {
        // The loser: A3 = -1 - 0.3; A1 = (0.81 x 0.3 - 0.1) - 0.648 x 1.3. The winner: A4 = 1 - 0.4;
        // A2 = (0.81 x 0.4 + 0.2) + 0.648 x 0.6.
        assert_close(&estimate(&[0.1, 0.3], -1.0, 0.81, 0.8), &[-0.6994, -1.3]);
        assert_close(&estimate(&[-0.2, 0.4], 1.0, 0.81, 0.8), &[0.9128, 0.6]);
    }

    #[test]
    fn the_forms_agree_at_lambda_one_and_only_there() {
        let seats = |lambda| {
            // Seat gamma is gamma squared, and the loser, whose last move was a ply earlier, is paid -gamma.
            let [loser, winner] = [
                estimate(&[VALUES[0], VALUES[2]], -0.9, 0.81, lambda),
                estimate(&[VALUES[1], VALUES[3]], 1.0, 0.81, lambda),
            ];
            [loser[0], winner[0], loser[1], winner[1]]
        };
        assert_close(&estimate(&VALUES, 1.0, -0.9, 1.0), &seats(1.0));
        let (ply, seat) = (estimate(&VALUES, 1.0, -0.9, 0.95), seats(0.95));
        assert!((ply[0] - seat[0]).abs() > 0.01 && (ply[1] - seat[1]).abs() > 0.01, "{ply:?} {seat:?}");
    }

    #[test]
    fn a_game_pays_both_seats_in_either_form() {
        let step = |seat| Step { position: (), seat, symmetry: Symmetry::IDENTITY, action: 0 };
        let steps = [Seat::First, Seat::Second, Seat::First].map(step).to_vec();
        for (outcome, expected) in [
            (Outcome::Win(Seat::First), [1.0, -1.0, 1.0]),
            (Outcome::Win(Seat::Second), [-1.0, 1.0, -1.0]),
            (Outcome::Draw, [0.0; 3]),
        ] {
            let game = Played { steps: steps.clone(), outcome, seat: None };
            for form in [Form::Ply, Form::Seat] {
                assert_close(&form.advantages(&game, &[0.0; 3], 1.0, 1.0), &expected);
            }
        }
    }

    #[test]
    fn with_one_seat_there_is_the_seat_form_only() {
        let step = Step { position: (), seat: Seat::Second, symmetry: Symmetry::IDENTITY, action: 0 };
        let game = Played { steps: vec![step; 2], outcome: Outcome::Win(Seat::Second), seat: Some(Seat::Second) };
        // As the winner above, with 0.9 squared from ply to ply.
        assert_close(&Form::Ply.advantages(&game, &[-0.2, 0.4], 0.9, 0.8), &[0.9128, 0.6]);
        assert_close(&Form::Seat.advantages(&game, &[-0.2, 0.4], 0.81, 0.8), &[0.9128, 0.6]);
    }
}
