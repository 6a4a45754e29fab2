//! Losses of a policy and a value, with their gradients by the network's outputs.
//!
//! A method sums the parts it needs; each function returns the loss of one position and writes or returns the gradient.

use crate::kernels::simd::by_level;
use crate::math::{self, Level, ln};

/// The probabilities of a softmax over the legal actions, `probabilities[i]` being that of `legal[i]`.
///
/// Illegal actions take no part.
pub fn softmax(logits: &[f32], legal: &[u16], probabilities: &mut Vec<f32>) {
    probabilities.clear();
    probabilities.extend(legal.iter().map(|&a| logits[usize::from(a)]));
    math::softmax(probabilities, 1.0);
}

/// Cross-entropy of `target` (a distribution over `legal`) and the softmax of the logits: - sum target ln p.
///
/// Adds `weight` times its gradient, p - target, to `d_logits` at the legal actions. `probabilities` receives p.
pub fn cross_entropy(
    logits: &[f32],
    legal: &[u16],
    target: &[f32],
    weight: f32,
    probabilities: &mut Vec<f32>,
    d_logits: &mut [f32],
) -> f32 {
    assert_eq!(legal.len(), target.len());
    softmax(logits, legal, probabilities);
    for ((&action, &target), &p) in legal.iter().zip(target).zip(&*probabilities) {
        d_logits[usize::from(action)] += weight * (p - target);
    }
    let mut loss = 0.0;
    let mut terms = [0.0; 32];
    for (target, p) in target.chunks(terms.len()).zip(probabilities.chunks(terms.len())) {
        let terms = &mut terms[..p.len()];
        weighted_logarithms(Level::best(), target, p, terms);
        loss -= terms.iter().sum::<f32>();
    }
    loss
}

by_level! {
    /// The terms target ln p, which are 0 where the target is.
    plain fn weighted_logarithms = weighted_logarithms_body(target: &[f32], p: &[f32], terms: &mut [f32])
}

#[inline(always)]
fn weighted_logarithms_body(target: &[f32], p: &[f32], terms: &mut [f32]) {
    for ((term, target), p) in terms.iter_mut().zip(target).zip(p) {
        let logarithm = ln(p.max(f32::MIN_POSITIVE));
        *term = if *target > 0.0 { target * logarithm } else { 0.0 };
    }
}

/// Squared error of a value and its gradient: (value - target)^2 and 2 (value - target).
pub fn squared_error(value: f32, target: f32) -> (f32, f32) {
    let error = value - target;
    (error * error, 2.0 * error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gradcheck::worst_error;

    /// Row C20 of the public reports (open_spiel, issue 127): numbers of illegal actions, however great, count for nothing.
    #[test]
    fn the_policy_is_one_of_legal_actions_whatever_the_others_say() {
        let mut probabilities = Vec::new();
        softmax(&[1e9, -1e9, 1e9, -1e9], &[1, 3], &mut probabilities);
        assert_eq!(probabilities, [0.5, 0.5]);
    }

    #[test]
    fn an_illegal_action_changes_nothing_and_receives_nothing() {
        let (legal, target) = ([0, 2, 3], [0.2, 0.5, 0.3]);
        let mut p = Vec::new();
        let mut run = |logits: &[f32], d: &mut [f32]| cross_entropy(logits, &legal, &target, 1.0, &mut p, d);
        let (mut one, mut other) = ([0.0; 4], [0.0; 4]);
        assert_eq!(run(&[1.0, -3.0, 0.5, 2.0], &mut one), run(&[1.0, 80.0, 0.5, 2.0], &mut other));
        assert_eq!(one, other);
        assert_eq!(one[1], 0.0);
        assert!((p.iter().sum::<f32>() - 1.0).abs() < 1e-6);
    }

    #[test]
    fn gradients_are_those_of_finite_differences() {
        let (logits, legal, target) = ([0.3, -1.0, 0.8, 0.1], [0, 1, 2, 3], [0.1, 0.0, 0.6, 0.3]);
        let mut p = Vec::new();
        let mut d = [0.0; 4];
        cross_entropy(&logits, &legal, &target, 1.0, &mut p, &mut d);
        let loss = |x: &[f32]| f64::from(cross_entropy(x, &legal, &target, 1.0, &mut Vec::new(), &mut [0.0; 4]));
        assert!(worst_error(&logits, &d, 1e-2, loss) < 1e-3);
        let d = [squared_error(0.3, -1.0).1];
        assert!(worst_error(&[0.3], &d, 1e-2, |x| f64::from(squared_error(x[0], -1.0).0)) < 1e-3);
    }

    #[test]
    fn huge_logits_neither_overflow_nor_hide_the_loss() {
        let mut p = Vec::new();
        let loss = cross_entropy(&[1000.0, -1000.0], &[0, 1], &[0.0, 1.0], 1.0, &mut p, &mut [0.0; 2]);
        assert!(loss.is_finite() && loss > 80.0 && p[0] == 1.0);
    }
}
