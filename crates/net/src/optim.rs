//! From gradients to new weights: momentum, Adam, clipping, and how the learning rate changes.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::error::NetError;
use crate::file::{Tensor, take};
use crate::kernels::simd::by_level;
use crate::lines::Lines;
use crate::math::Level;
use crate::workers::FlushDenormals;

/// How a gradient becomes a step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Rule {
    /// Stochastic gradient descent: v = momentum v + g, weight -= rate v. Weight decay is added to g.
    Sgd {
        /// In [0, 1); 0 is plain descent.
        momentum: f32,
    },
    /// Adam (Kingma and Ba 2015, algorithm 1), with decoupled weight decay (AdamW; Loshchilov and Hutter 2019,
    /// algorithm 2): m and v are running means of g and of its square, corrected for their start at 0;
    /// weight -= rate m / (sqrt(v) + epsilon), and weight -= rate decay weight.
    Adam {
        /// Decay of the mean of the gradient, in [0, 1), usually 0.9.
        beta1: f32,
        /// Decay of the mean of its square, in [0, 1), usually 0.999.
        beta2: f32,
        /// Added to the root, usually 1e-8.
        epsilon: f32,
    },
}

impl Rule {
    /// Adam with its authors' numbers.
    pub const ADAM: Rule = Rule::Adam { beta1: 0.9, beta2: 0.999, epsilon: 1e-8 };
}

/// An optimiser's settings and what it remembers from step to step.
#[derive(Clone, Debug, PartialEq)]
pub struct Optimiser {
    rule: Rule,
    weight_decay: f32,
    clip: Option<f32>,
    steps: u32,
    /// Momentum, or the mean of the gradient.
    first: Lines,
    /// The mean of its square, for Adam.
    second: Lines,
}

impl Optimiser {
    /// `weight_decay` draws weights (not biases, scales or shifts) towards 0 and is 0 or more; `clip` is the largest Euclidean norm that
    /// the gradient of all weights together may have: a longer one is shortened to it.
    pub fn new(rule: Rule, weight_decay: f32, clip: Option<f32>) -> Optimiser {
        Optimiser { rule, weight_decay, clip, steps: 0, first: Lines::default(), second: Lines::default() }
    }

    /// Steps taken so far.
    pub fn steps(&self) -> u32 {
        self.steps
    }

    /// Changes `weights` by `gradients`, at this learning rate; `decayed` are the places that weight decay acts on.
    /// The gradients are left as they were used: clipped, and for [`Rule::Sgd`] with the decay added.
    ///
    /// # Panics
    /// If the lengths differ, or change between steps.
    pub fn step(&mut self, rate: f32, weights: &mut [f32], gradients: &mut [f32], decayed: &[Range<usize>]) {
        assert_eq!(weights.len(), gradients.len());
        if self.steps == 0 {
            self.first.resize(weights.len());
            if matches!(self.rule, Rule::Adam { .. }) {
                self.second.resize(weights.len());
            }
        }
        assert_eq!(self.first.len(), weights.len(), "an optimiser belongs to one network");
        self.steps += 1;
        let _flush = FlushDenormals::new();
        let level = Level::best();
        if let Some(most) = self.clip {
            let norm = norm(gradients);
            if norm > most {
                scale(level, most / norm, gradients);
            }
        }
        match self.rule {
            Rule::Sgd { momentum } => {
                if self.weight_decay != 0.0 {
                    for range in decayed {
                        add_scaled(level, self.weight_decay, &weights[range.clone()], &mut gradients[range.clone()]);
                    }
                }
                sgd(level, rate, momentum, weights, gradients, &mut self.first);
            }
            Rule::Adam { beta1, beta2, epsilon } => {
                if self.weight_decay != 0.0 {
                    for range in decayed {
                        scale(level, 1.0 - rate * self.weight_decay, &mut weights[range.clone()]);
                    }
                }
                let correction = |beta: f32| (1.0 - f64::from(beta).powi(self.steps as i32)) as f32;
                let rate = rate / correction(beta1);
                let root = correction(beta2).sqrt().recip();
                let numbers = AdamStep { rate, root, beta1, beta2, epsilon };
                adam(level, numbers, weights, gradients, &mut self.first, &mut self.second);
            }
        }
    }

    /// What is remembered, as named tensors; [`Optimiser::restore`] takes them.
    pub fn state(&self) -> Vec<Tensor> {
        // 24 bits each, since an f32 holds no more.
        let steps = vec![(self.steps & 0xff_ffff) as f32, (self.steps >> 24) as f32];
        vec![
            Tensor::new("optimiser.steps", &[2], steps),
            Tensor::new("optimiser.first", &[self.first.len()], self.first.to_vec()),
            Tensor::new("optimiser.second", &[self.second.len()], self.second.to_vec()),
        ]
    }

    /// Goes on from a [`Optimiser::state`] of a network with this many weights.
    ///
    /// # Errors
    /// If a tensor is missing, has another length or holds a number that is not finite.
    pub fn restore(&mut self, weights: usize, tensors: &[Tensor]) -> Result<(), NetError> {
        let steps = take(tensors, "optimiser.steps", &[2])?;
        let steps = steps[0] as u32 | (steps[1] as u32) << 24;
        let length = |used: bool| if used && steps > 0 { weights } else { 0 };
        let first = take(tensors, "optimiser.first", &[length(true)])?.into();
        let second = take(tensors, "optimiser.second", &[length(matches!(self.rule, Rule::Adam { .. }))])?.into();
        (self.steps, self.first, self.second) = (steps, first, second);
        Ok(())
    }
}

/// The Euclidean norm of all numbers together.
pub fn norm(numbers: &[f32]) -> f32 {
    // Parts of 64 in f32 and their sum in f64: fast, exact enough and always in the same order.
    let part = |part: &[f32]| {
        let mut sums = [0.0f32; 16];
        for numbers in part.chunks(16) {
            for (sum, x) in sums.iter_mut().zip(numbers) {
                *sum += x * x;
            }
        }
        sums.iter().map(|sum| f64::from(*sum)).sum::<f64>()
    };
    numbers.chunks(64).map(part).sum::<f64>().sqrt() as f32
}

by_level! {
    /// `numbers *= factor`.
    plain fn scale = scale_body(factor: f32, numbers: &mut [f32])
}

#[inline(always)]
fn scale_body(factor: f32, numbers: &mut [f32]) {
    for x in numbers {
        *x *= factor;
    }
}

by_level! {
    /// `to += factor from`.
    plain fn add_scaled = add_scaled_body(factor: f32, from: &[f32], to: &mut [f32])
}

#[inline(always)]
fn add_scaled_body(factor: f32, from: &[f32], to: &mut [f32]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to += factor * from;
    }
}

by_level! {
    plain fn sgd = sgd_body(rate: f32, momentum: f32, weights: &mut [f32], gradients: &[f32], velocity: &mut [f32])
}

#[inline(always)]
fn sgd_body(rate: f32, momentum: f32, weights: &mut [f32], gradients: &[f32], velocity: &mut [f32]) {
    for ((w, g), v) in weights.iter_mut().zip(gradients).zip(velocity) {
        *v = momentum * *v + g;
        *w -= rate * *v;
    }
}

/// The numbers of one step of Adam: the rate is already corrected for the start, `root` corrects the square root.
#[derive(Clone, Copy)]
struct AdamStep {
    rate: f32,
    root: f32,
    beta1: f32,
    beta2: f32,
    epsilon: f32,
}

by_level! {
    plain fn adam = adam_body(
        step: AdamStep, weights: &mut [f32], gradients: &[f32], first: &mut [f32], second: &mut [f32],
    )
}

#[inline(always)]
fn adam_body(step: AdamStep, weights: &mut [f32], gradients: &[f32], first: &mut [f32], second: &mut [f32]) {
    let AdamStep { rate, root, beta1, beta2, epsilon } = step;
    for (((w, g), m), v) in weights.iter_mut().zip(gradients).zip(first).zip(second) {
        *m = beta1 * *m + (1.0 - beta1) * g;
        *v = beta2 * *v + (1.0 - beta2) * (g * g);
        *w -= rate * *m / (v.sqrt() * root + epsilon);
    }
}

/// The learning rate, step by step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Schedule {
    /// Always the same.
    Constant {
        /// The rate.
        rate: f32,
    },
    /// From one rate to another in a straight line, and then the last.
    Linear {
        /// At step 0.
        from: f32,
        /// At step `steps` and after.
        to: f32,
        /// Length of the line.
        steps: u32,
    },
    /// Up in a straight line, then down along half a cosine (Loshchilov and Hutter 2017), and then the last.
    Cosine {
        /// At the top.
        from: f32,
        /// At step `steps` and after.
        to: f32,
        /// Steps from 0 up to the top; 0 starts there.
        warmup: u32,
        /// The end of the descent.
        steps: u32,
    },
}

impl Schedule {
    /// The rate of step number `step`, counted from 0.
    pub fn at(&self, step: u32) -> f32 {
        match *self {
            Schedule::Constant { rate } => rate,
            Schedule::Linear { from, to, steps } => {
                let part = if step >= steps { 1.0 } else { f64::from(step) / f64::from(steps) };
                (f64::from(from) + (f64::from(to) - f64::from(from)) * part) as f32
            }
            Schedule::Cosine { from, warmup, .. } if step < warmup => {
                (f64::from(from) * f64::from(step + 1) / f64::from(warmup)) as f32
            }
            Schedule::Cosine { from, to, warmup, steps } => {
                if step >= steps {
                    return to;
                }
                let part = f64::from(step - warmup) / f64::from(steps - warmup);
                // The cosine through our own tanh-free polynomial would be overkill: a series of ten terms is exact.
                let down = (1.0 + cosine(std::f64::consts::PI * part)) / 2.0;
                (f64::from(to) + (f64::from(from) - f64::from(to)) * down) as f32
            }
        }
    }
}

/// The cosine of an angle in [0, pi], by its Taylor series around pi / 2: the same bits on every machine.
fn cosine(angle: f64) -> f64 {
    let x = std::f64::consts::FRAC_PI_2 - angle;
    let mut term = x;
    let mut sum = x;
    for n in 1..12 {
        term *= -x * x / f64::from(2 * n * (2 * n + 1));
        sum += term;
    }
    sum
}

#[cfg(test)]
// One range of weights is meant, not its members.
#[allow(clippy::single_range_in_vec_init)]
mod tests {
    use super::*;
    use crate::test_data::{assert_close, numbers};

    #[test]
    fn the_first_steps_are_those_of_the_formulas() {
        let mut weights = [1.0, -2.0];
        let mut sgd = Optimiser::new(Rule::Sgd { momentum: 0.5 }, 0.1, None);
        // Only the first weight decays: g = 1 + 0.1, v = 1.1; then g = 1 + 0.1 x 0.89, v = 0.55 + 1.089.
        sgd.step(0.1, &mut weights, &mut [1.0, 1.0], &[0..1]);
        assert_close(&weights, &[0.89, -2.1], 1e-6);
        sgd.step(0.1, &mut weights, &mut [1.0, 1.0], &[0..1]);
        assert_close(&weights, &[0.89 - 0.1 * 1.639, -2.1 - 0.15], 1e-6);

        // Adam's first step has the length of the rate, whatever the gradient.
        let mut weights = [1.0, -2.0, 3.0];
        let mut adam = Optimiser::new(Rule::ADAM, 0.5, None);
        adam.step(0.01, &mut weights, &mut [1e-3, -50.0, 0.0], &[2..3]);
        assert_close(&weights, &[0.99, -1.99, 3.0 * 0.995], 1e-5);
        assert_eq!(adam.steps(), 1);
    }

    #[test]
    fn a_long_gradient_is_shortened_and_a_short_one_is_not() {
        let step = |clip| {
            let mut weights = [0.0, 0.0];
            Optimiser::new(Rule::Sgd { momentum: 0.0 }, 0.0, clip).step(1.0, &mut weights, &mut [3.0, -4.0], &[]);
            weights
        };
        assert_close(&step(Some(1.0)), &[-0.6, 0.8], 1e-6);
        assert_eq!(step(Some(5.0)), step(None));
        assert!((norm(&numbers(1000, 1)) - (1000.0f32 / 3.0).sqrt()).abs() < 0.5);
    }

    #[test]
    fn a_restored_optimiser_goes_on_as_if_nothing_had_happened() {
        for rule in [Rule::Sgd { momentum: 0.9 }, Rule::ADAM] {
            let mut one = Optimiser::new(rule, 0.01, Some(1.0));
            let mut weights = numbers(50, 1);
            for seed in 0..3 {
                one.step(0.1, &mut weights, &mut numbers(50, seed), &[0..20]);
            }
            let mut other = Optimiser::new(rule, 0.01, Some(1.0));
            other.restore(50, &one.state()).unwrap();
            assert_eq!(one, other);
            assert!(other.restore(51, &one.state()).is_err());
            let mut damaged = one.state();
            damaged[1].data[7] = f32::NAN;
            assert!(matches!(other.restore(50, &damaged), Err(NetError::Weights(_))));
            assert_eq!(one, other);
        }
    }

    #[test]
    fn schedules_pass_through_their_ends_and_middles() {
        let linear = Schedule::Linear { from: 1.0, to: 0.0, steps: 4 };
        assert_eq!([0, 1, 2, 4, 9].map(|s| linear.at(s)), [1.0, 0.75, 0.5, 0.0, 0.0]);
        let cosine = Schedule::Cosine { from: 1.0, to: 0.2, warmup: 2, steps: 12 };
        assert_close(&[0, 1, 2, 7, 12, 99].map(|s| cosine.at(s)), &[0.5, 1.0, 1.0, 0.6, 0.2, 0.2], 1e-6);
        assert_eq!(Schedule::Constant { rate: 0.3 }.at(7), 0.3);
        assert!((0..=100).all(|i| {
            let angle = std::f64::consts::PI * f64::from(i) / 100.0;
            (super::cosine(angle) - angle.cos()).abs() < 1e-14
        }));
    }
}
