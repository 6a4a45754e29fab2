//! Losses of a policy and a value, with their gradients by the network's outputs.
//!
//! A method sums the parts it needs; each function returns the loss of one position and writes or returns the gradient.

use crate::kernels::simd::by_level;
use crate::math::{Level, exp, ln};

/// The probabilities of a softmax over the legal actions, `probabilities[i]` being that of `legal[i]`.
///
/// Illegal actions take no part.
pub fn softmax(logits: &[f32], legal: &[u16], probabilities: &mut Vec<f32>) {
    gather(logits, legal, probabilities);
    normalise(Level::best(), probabilities);
}

/// A policy over the legal actions of a position.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// The probability of each legal action.
    pub p: Vec<f32>,
    /// Its logarithm, finite even where the probability is too small for a number.
    pub log_p: Vec<f32>,
}

impl Policy {
    /// Becomes the [`softmax`] over the legal actions.
    pub fn set(&mut self, logits: &[f32], legal: &[u16]) {
        gather(logits, legal, &mut self.log_p);
        self.p.clone_from(&self.log_p);
        let whole = normalise(Level::best(), &mut self.p);
        self.log_p.iter_mut().for_each(|logit| *logit -= whole);
    }

    /// In nats: - sum p ln p.
    pub fn entropy(&self) -> f32 {
        self.cross_entropy(&self.p)
    }

    /// With a target distribution over the same actions, in nats: - sum target ln p.
    pub fn cross_entropy(&self, target: &[f32]) -> f32 {
        assert_eq!(target.len(), self.p.len());
        -sum_of_products(Level::best(), target, &self.log_p)
    }
}

fn gather(logits: &[f32], legal: &[u16], gathered: &mut Vec<f32>) {
    assert!(!legal.is_empty(), "a softmax over something");
    gathered.clear();
    gathered.extend(legal.iter().map(|&action| logits[usize::from(action)]));
}

/// Sums side by side, as many as the widest vector has lanes: a sum of many numbers in one would wait for itself.
const LANES: usize = 16;

by_level! {
    /// Turns logits into probabilities in place; returns ln of the sum of e^logit: a logit less that is its probability's logarithm.
    plain fn normalise = normalise_body(numbers: &mut [f32]) -> f32
}

#[inline(always)]
fn normalise_body(numbers: &mut [f32]) -> f32 {
    let mut greatest = [f32::NEG_INFINITY; LANES];
    for numbers in numbers.chunks(LANES) {
        for (greatest, x) in greatest.iter_mut().zip(numbers) {
            *greatest = if *x > *greatest { *x } else { *greatest };
        }
    }
    let greatest = greatest.into_iter().fold(f32::NEG_INFINITY, f32::max);
    for x in numbers.iter_mut() {
        *x = exp(*x - greatest);
    }
    let sum = sum_body(numbers);
    let scale = 1.0 / sum;
    for x in numbers {
        *x *= scale;
    }
    greatest + ln(sum)
}

#[inline(always)]
fn sum_body(numbers: &[f32]) -> f32 {
    let mut sums = [0.0f32; LANES];
    for numbers in numbers.chunks(LANES) {
        for (sum, x) in sums.iter_mut().zip(numbers) {
            *sum += x;
        }
    }
    sums.iter().sum()
}

by_level! {
    plain fn sum_of_products = sum_of_products_body(a: &[f32], b: &[f32]) -> f32
}

#[inline(always)]
fn sum_of_products_body(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0f32; LANES];
    for (a, b) in a.chunks(LANES).zip(b.chunks(LANES)) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    sums.iter().sum()
}

/// Cross-entropy of `target` (a distribution over `legal`) and the softmax of the logits, which `policy` becomes.
///
/// Adds `weight` times its gradient, p - target, to `d_logits` at the legal actions.
pub fn cross_entropy(
    logits: &[f32],
    legal: &[u16],
    target: &[f32],
    weight: f32,
    policy: &mut Policy,
    d_logits: &mut [f32],
) -> f32 {
    policy.set(logits, legal);
    for ((&action, &target), &p) in legal.iter().zip(target).zip(&policy.p) {
        d_logits[usize::from(action)] += weight * (p - target);
    }
    policy.cross_entropy(target)
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
        let mut policy = Policy::default();
        let mut run = |logits: &[f32], d: &mut [f32]| cross_entropy(logits, &legal, &target, 1.0, &mut policy, d);
        let (mut one, mut other) = ([0.0; 4], [0.0; 4]);
        assert_eq!(run(&[1.0, -3.0, 0.5, 2.0], &mut one), run(&[1.0, 80.0, 0.5, 2.0], &mut other));
        assert_eq!(one, other);
        assert_eq!(one[1], 0.0);
        assert!((policy.p.iter().sum::<f32>() - 1.0).abs() < 1e-6);
    }

    #[test]
    fn gradients_are_those_of_finite_differences() {
        let (logits, legal, target) = ([0.3, -1.0, 0.8, 0.1], [0, 1, 2, 3], [0.1, 0.0, 0.6, 0.3]);
        let loss =
            |x: &[f32], d: &mut [f32]| f64::from(cross_entropy(x, &legal, &target, 1.0, &mut Policy::default(), d));
        let mut d = [0.0; 4];
        loss(&logits, &mut d);
        assert!(worst_error(&logits, &d, 1e-2, |x| loss(x, &mut [0.0; 4])) < 1e-3);
        let d = [squared_error(0.3, -1.0).1];
        assert!(worst_error(&[0.3], &d, 1e-2, |x| f64::from(squared_error(x[0], -1.0).0)) < 1e-3);
    }

    #[test]
    fn every_level_gives_the_probabilities_and_logarithms_of_the_definition() {
        for level in Level::available() {
            for n in [1, 5, 16, 17, 225] {
                let logits: Vec<f32> = (0..n).map(|i| ((i * 37) % 23) as f32 / 2.0 - 5.0).collect();
                let whole: f64 = logits.iter().map(|&x| f64::from(x).exp()).sum();
                let (mut p, mut expected_entropy) = (logits.clone(), 0.0);
                let found = f64::from(normalise(level, &mut p));
                assert!((found - whole.ln()).abs() < 1e-5, "{n}: {found}");
                for (&x, &p) in logits.iter().zip(&p) {
                    let expected = f64::from(x).exp() / whole;
                    assert!((f64::from(p) / expected - 1.0).abs() < 1e-5, "{n}: {p}, not {expected}");
                    expected_entropy -= expected * expected.ln();
                }
                let log_p: Vec<f32> = logits.iter().map(|x| x - found as f32).collect();
                let entropy = -f64::from(sum_of_products(level, &p, &log_p));
                assert!((entropy - expected_entropy).abs() < 1e-5, "{n}: {entropy}, not {expected_entropy}");
            }
        }
    }

    #[test]
    fn huge_logits_neither_overflow_nor_hide_the_loss() {
        let mut policy = Policy::default();
        let loss = cross_entropy(&[1000.0, -1000.0], &[0, 1], &[0.0, 1.0], 1.0, &mut policy, &mut [0.0; 2]);
        assert_eq!((loss, policy.p[0], policy.entropy()), (2000.0, 1.0, 0.0));
    }
}
