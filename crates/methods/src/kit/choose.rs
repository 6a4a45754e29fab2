//! From scores to actions. The legal list is compacted first and everything works on it, so an illegal action
//! cannot be chosen, whatever a network says about it.

use rules::{Choice, Rng};

/// The index of the greatest score, the first of equals. NaN is never the greatest.
///
/// # Panics
/// If there are no scores.
pub fn argmax(scores: &[f32]) -> usize {
    assert!(!scores.is_empty(), "nothing to choose from");
    let mut best = 0;
    for (i, &score) in scores.iter().enumerate() {
        if score > scores[best] || scores[best].is_nan() {
            best = i;
        }
    }
    best
}

/// Draws an index with these probabilities, which add up to 1.
pub fn sample(probabilities: &[f32], rng: &mut Rng) -> usize {
    let mut left = rng.unit();
    for (i, &p) in probabilities.iter().enumerate() {
        left -= p;
        if left < 0.0 {
            return i;
        }
    }
    // Rounding may leave a crumb: it belongs to the likeliest, which is surely possible.
    argmax(probabilities)
}

/// Appends the choice of a player that is greedy: all probability on the first of the best-scored actions.
pub fn greedy_choice(legal: &[u16], scores: &[f32], choices: &mut Vec<Choice>) {
    choices.push(Choice { action: legal[argmax(scores)], probability: 1.0 });
}

/// Appends the choices of a player that samples; actions whose probability has vanished in rounding are left out.
pub fn sampled_choices(legal: &[u16], probabilities: &[f32], choices: &mut Vec<Choice>) {
    let total: f64 = probabilities.iter().map(|&p| f64::from(p)).sum();
    let possible = legal.iter().zip(probabilities).filter(|(_, p)| **p > 0.0);
    choices.extend(possible.map(|(&action, &p)| Choice { action, probability: f64::from(p) / total }));
}

/// Appends the choices of a player that makes a random move with probability `epsilon` and is greedy otherwise.
pub fn epsilon_greedy_choices(legal: &[u16], scores: &[f32], epsilon: f32, choices: &mut Vec<Choice>) {
    if epsilon == 0.0 {
        return greedy_choice(legal, scores, choices);
    }
    let (best, epsilon) = (argmax(scores), f64::from(epsilon));
    choices.extend(legal.iter().enumerate().map(|(i, &action)| {
        let greedy = if i == best { 1.0 - epsilon } else { 0.0 };
        Choice { action, probability: epsilon / legal.len() as f64 + greedy }
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn argmax_takes_the_first_of_equals_and_never_nan() {
        assert_eq!(argmax(&[1.0, 3.0, 3.0]), 1);
        assert_eq!(argmax(&[f32::NAN, -1.0, f32::NAN]), 1);
        assert_eq!(argmax(&[f32::NEG_INFINITY]), 0);
    }

    #[test]
    fn a_random_move_may_also_be_the_best() {
        let mut choices = Vec::new();
        epsilon_greedy_choices(&[2, 5], &[0.0, 1.0], 0.5, &mut choices);
        assert_eq!(choices, [Choice { action: 2, probability: 0.25 }, Choice { action: 5, probability: 0.75 }]);
        choices.clear();
        epsilon_greedy_choices(&[2, 5], &[0.0, 1.0], 0.0, &mut choices);
        assert_eq!(choices, [Choice { action: 5, probability: 1.0 }]);
    }

    #[test]
    fn sampling_never_returns_an_impossible_index() {
        let mut rng = Rng::new(3, 0);
        assert!((0..10_000).all(|_| sample(&[0.0, 0.3, 0.0, 0.7 - 1e-6, 0.0], &mut rng) % 2 == 1));
    }
}
