//! A multilayer perceptron with one output, for inputs that are mostly zero and differ in one place.
//!
//! It computes what [`crate::mlp::Mlp`] computes, which the tests take as the reference. What is special is the use:
//! a player asks for the values of all positions that it can move to. They share all inputs but one, so the first
//! layer's sums are made once and each successor adds one row; and one output makes the last layer a vector.
//!
//! Units stand in blocks of 16 lanes, padded with zeros that stay zero. All sums have a fixed order and nothing is
//! fused, so every [`Level`] gives the same bits; wider instructions only make them sooner.

use crate::file::{FileError, Tensor, take};
use crate::hidden::{self, Hidden, Term};
use crate::kernels::simd::by_level;
use crate::lanes::{Arithmetic, Blocks, LANES, Lanes, One};
use crate::math::Level;
use crate::mlp::{Activation, Place};

/// A network with its weights and the room for one pass.
#[derive(Clone, Debug)]
pub struct ValueNet {
    hidden: Vec<Hidden>,
    last: Vec<Lanes>,
    last_bias: f32,
    last_activation: Activation,
    level: Level,
    /// The shared sums of the first layer, see [`ValueNet::scores`].
    shared: Vec<Lanes>,
}

by_level! { simd fn score = score_body(net: &mut ValueNet, terms: &[Term]) -> f32 }
by_level! { simd fn append_scores = append_scores_body(net: &mut ValueNet, terms: &[Term], extras: &[Term], scores: &mut Vec<f32>) }
by_level! { simd fn descend = descend_body(net: &mut ValueNet, terms: &[Term], target: f32, rate: f32) -> f32 }

impl ValueNet {
    /// A network with `sizes[0]` inputs, at least one hidden layer and one output; as [`crate::mlp::Mlp::new`].
    ///
    /// # Panics
    /// If there is no hidden layer, a size is 0, the last is not 1, or the lengths do not fit.
    pub fn new(sizes: &[usize], activations: &[Activation], mut init: impl FnMut(Place) -> f32) -> ValueNet {
        assert!(activations.len() >= 2 && sizes.len() == activations.len() + 1, "one function for each layer");
        assert!(sizes.iter().all(|&size| size > 0) && sizes.ends_with(&[1]), "no layer is empty; one output");
        let layers = activations.len();
        let hidden = hidden::layers(&sizes[..layers], activations, &mut init);
        let place = |bias| Place { layer: layers - 1, bias, inputs: sizes[layers - 1], outputs: 1 };
        let mut last = vec![Lanes::ZERO; sizes[layers - 1].div_ceil(LANES)];
        for input in 0..sizes[layers - 1] {
            last[input / LANES].0[input % LANES] = init(place(false));
        }
        let last_bias = init(place(true));
        let shared = vec![Lanes::ZERO; hidden[0].blocks];
        let last_activation = activations[layers - 1];
        ValueNet { hidden, last, last_bias, last_activation, level: Level::best(), shared }
    }

    /// The same network computing with these instructions; the results do not depend on it.
    #[must_use]
    pub fn at(mut self, level: Level) -> ValueNet {
        self.level = level;
        self
    }

    /// Number of inputs.
    pub fn inputs(&self) -> usize {
        self.hidden[0].inputs
    }

    /// Number of weights and biases.
    pub fn parameters(&self) -> usize {
        let hidden: usize = self.hidden.iter().map(|layer| (layer.inputs + 1) * layer.outputs).sum();
        hidden + self.hidden[self.hidden.len() - 1].outputs + 1
    }

    /// Whether every weight and bias is a finite number.
    pub fn is_finite(&self) -> bool {
        let blocks = self.hidden.iter().flat_map(|layer| layer.rows.iter().chain(&layer.biases)).chain(&self.last);
        self.last_bias.is_finite() && blocks.flat_map(|block| &block.0).all(|w| w.is_finite())
    }

    /// The output for inputs that are zero but for `terms`, each input listed at most once.
    ///
    /// # Panics
    /// If an input does not exist.
    pub fn value(&mut self, terms: &[Term]) -> f32 {
        let score = self.score(terms);
        self.value_of_score(score)
    }

    /// The output whose score is this: the output's activation function applied to it.
    pub fn value_of_score(&self, score: f32) -> f32 {
        One.activate(self.last_activation, score)
    }

    /// The output before its activation function: it orders inputs as the output does, without rounding to equal
    /// numbers where the function is flat.
    ///
    /// # Panics
    /// If an input does not exist.
    pub fn score(&mut self, terms: &[Term]) -> f32 {
        score(self.level, self, terms)
    }

    /// Appends the score of `terms` with one of `extras` added, for each of these in turn.
    ///
    /// # Panics
    /// If an input does not exist.
    pub fn scores(&mut self, terms: &[Term], extras: &[Term], scores: &mut Vec<f32>) {
        append_scores(self.level, self, terms, extras, scores);
    }

    /// One step of gradient descent on (output - target)^2 / 2 for these inputs, at this rate; returns the output
    /// before the step.
    ///
    /// # Panics
    /// If an input does not exist.
    pub fn step(&mut self, terms: &[Term], target: f32, rate: f32) -> f32 {
        descend(self.level, self, terms, target, rate)
    }

    /// The activation of each layer.
    pub(crate) fn activations(&self) -> Vec<Activation> {
        self.hidden.iter().map(|hidden| hidden.activation).chain([self.last_activation]).collect()
    }

    /// The parameters, named and shaped as those of [`crate::mlp::Mlp::tensors`].
    pub fn tensors(&self, prefix: &str) -> Vec<Tensor> {
        let mut tensors = Vec::new();
        for (l, layer) in self.hidden.iter().enumerate() {
            tensors.extend(layer.tensors(&format!("{prefix}{l}")));
        }
        let (l, inputs) = (self.hidden.len(), self.hidden[self.hidden.len() - 1].outputs);
        let last = self.last.iter().flat_map(|block| block.0).take(inputs).collect();
        tensors.push(Tensor::new(format!("{prefix}{l}.weight"), &[1, inputs], last));
        tensors.push(Tensor::new(format!("{prefix}{l}.bias"), &[1], vec![self.last_bias]));
        tensors
    }

    /// Takes the parameters that [`ValueNet::tensors`] gave; others in the list are ignored.
    ///
    /// # Errors
    /// If one is missing, has another shape or holds a number that is not finite; the network is then unchanged.
    pub fn set_tensors(&mut self, prefix: &str, tensors: &[Tensor]) -> Result<(), FileError> {
        let mut read = self.clone();
        for (l, layer) in read.hidden.iter_mut().enumerate() {
            layer.set_tensors(&format!("{prefix}{l}"), tensors)?;
        }
        let (l, inputs) = (self.hidden.len(), self.hidden[self.hidden.len() - 1].outputs);
        for (i, &w) in take(tensors, &format!("{prefix}{l}.weight"), &[1, inputs])?.iter().enumerate() {
            read.last[i / LANES].0[i % LANES] = w;
        }
        read.last_bias = take(tensors, &format!("{prefix}{l}.bias"), &[1])?[0];
        *self = read;
        Ok(())
    }
}

#[inline(always)]
fn score_body<S: Blocks>(simd: S, net: &mut ValueNet, terms: &[Term]) -> f32 {
    hidden::forward(simd, &mut net.hidden, terms);
    last_layer(simd, net)
}

/// The sum of the last layer, from the values of the last hidden one.
#[inline(always)]
fn last_layer<S: Blocks>(simd: S, net: &ValueNet) -> f32 {
    let mut sum = simd.splat(0.0);
    for (w, a) in net.last.iter().zip(&net.hidden[net.hidden.len() - 1].values) {
        sum = simd.add_product(sum, simd.load(w), simd.load(a));
    }
    simd.sum(sum) + net.last_bias
}

#[inline(always)]
fn append_scores_body<S: Blocks>(simd: S, net: &mut ValueNet, terms: &[Term], extras: &[Term], scores: &mut Vec<f32>) {
    let first = &net.hidden[0];
    for (b, shared) in net.shared.iter_mut().enumerate() {
        let mut sum = simd.load(&first.biases[b]);
        for term in terms {
            let row = simd.load(&first.rows[term.input * first.blocks + b]);
            sum = simd.add_product(sum, simd.splat(term.value), row);
        }
        simd.store(sum, shared);
    }
    let shallow = net.hidden.len() == 1;
    for extra in extras {
        let first = &mut net.hidden[0];
        let row = &first.rows[extra.input * first.blocks..][..first.blocks];
        let scale = simd.splat(extra.value);
        if shallow {
            // The common case stays in registers.
            let mut sum = simd.splat(0.0);
            for ((shared, row), w) in net.shared.iter().zip(row).zip(&net.last) {
                let y = simd.add_product(simd.load(shared), scale, simd.load(row));
                sum = simd.add_product(sum, simd.load(w), simd.activate(first.activation, y));
            }
            scores.push(simd.sum(sum) + net.last_bias);
        } else {
            for ((shared, row), value) in net.shared.iter().zip(row).zip(first.values.iter_mut()) {
                let y = simd.add_product(simd.load(shared), scale, simd.load(row));
                simd.store(simd.activate(first.activation, y), value);
            }
            hidden::forward_from_first(simd, &mut net.hidden);
            scores.push(last_layer(simd, net));
        }
    }
}

#[inline(always)]
fn descend_body<S: Blocks>(simd: S, net: &mut ValueNet, terms: &[Term], target: f32, rate: f32) -> f32 {
    let score = score_body(simd, net, terms);
    let output = One.activate(net.last_activation, score);
    let delta = One.times_slope(net.last_activation, output - target, output);
    let top = net.hidden.len() - 1;
    let layer = &mut net.hidden[top];
    for ((w, y), d) in net.last.iter_mut().zip(&layer.values).zip(layer.deltas.iter_mut()) {
        // Backwards through the old weights, then the step.
        let (old, y) = (simd.load(w), simd.load(y));
        simd.store(simd.times_slope(layer.activation, simd.mul(old, simd.splat(delta)), y), d);
        simd.store(simd.add_product(old, simd.splat(-rate * delta), y), w);
    }
    net.last_bias -= rate * delta;
    hidden::descend(simd, &mut net.hidden, terms, rate);
    output
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mlp::Mlp;

    const SHAPES: [(&[usize], &[Activation]); 5] = [
        (&[9, 27, 1], &[Activation::Tanh, Activation::Tanh]),
        (&[18, 36, 1], &[Activation::Relu, Activation::Tanh]),
        (&[5, 16, 1], &[Activation::Identity, Activation::Identity]),
        (&[6, 17, 33, 1], &[Activation::Tanh, Activation::Relu, Activation::Identity]),
        (&[4, 3, 40, 5, 1], &[Activation::Relu, Activation::Tanh, Activation::Tanh, Activation::Tanh]),
    ];

    /// Numbers in [-0.5, 0.5) that look random: multiples of the golden ratio.
    fn numbers() -> impl FnMut() -> f32 {
        let mut state = 0.0_f64;
        move || {
            state = (state + 0.618_033_988_749_895).fract();
            (state - 0.5) as f32
        }
    }

    fn pair(sizes: &[usize], activations: &[Activation]) -> (ValueNet, Mlp) {
        let (mut a, mut b) = (numbers(), numbers());
        (ValueNet::new(sizes, activations, |_| a()), Mlp::new(sizes, activations, |_| b()))
    }

    fn dense(inputs: usize, terms: &[Term]) -> Vec<f32> {
        let mut dense = vec![0.0; inputs];
        terms.iter().for_each(|term| dense[term.input] = term.value);
        dense
    }

    fn close(a: f32, b: f32) -> bool {
        (a - b).abs() < 4e-6
    }

    #[test]
    fn it_computes_and_learns_what_the_plain_network_does() {
        for (sizes, activations) in SHAPES {
            let (mut net, mut plain) = pair(sizes, activations);
            assert_eq!((net.inputs(), net.parameters()), (plain.inputs(), plain.parameters()));
            let mut pass = plain.pass();
            for round in 0..50 {
                let term = |input, value| Term { input, value };
                let terms = [term(round % sizes[0], 1.0), term((round + 1) % sizes[0], -1.0 + round as f32 * 0.1)];
                let target = if round % 3 == 0 { 1.0 } else { -0.5 };
                let expected = plain.forward(&mut pass, &dense(sizes[0], &terms))[0];
                assert!(close(net.value(&terms), expected), "{sizes:?}, round {round}");
                plain.descend(&mut pass, &[expected - target], 0.05);
                assert!(close(net.step(&terms, target, 0.05), expected));
            }
            for (a, b) in net.tensors("v.").iter().zip(plain.tensors("v.")) {
                assert_eq!((&a.name, &a.shape), (&b.name, &b.shape));
                assert!(a.data.iter().zip(&b.data).all(|(&a, &b)| close(a, b)), "{sizes:?}: {}", a.name);
            }
        }
    }

    #[test]
    fn scores_of_successors_are_scores_of_all_their_terms() {
        for (sizes, activations) in SHAPES {
            let (mut net, _) = pair(sizes, activations);
            let terms = [Term { input: 1, value: -1.0 }, Term { input: 3, value: 0.5 }];
            let extras = [Term { input: 0, value: 1.0 }, Term { input: 2, value: -2.0 }];
            let mut scores = vec![7.0];
            net.scores(&terms, &extras, &mut scores);
            assert_eq!((scores.len(), scores[0]), (3, 7.0));
            for (extra, &score) in extras.iter().zip(&scores[1..]) {
                let all: Vec<Term> = terms.iter().chain([extra]).copied().collect();
                assert_eq!(net.score(&all), score);
                assert_eq!(net.value(&all), net.value_of_score(score));
            }
        }
    }

    #[test]
    fn every_set_of_instructions_gives_the_same_bits() {
        for (sizes, activations) in SHAPES {
            let run = |level: Level| {
                let mut net = pair(sizes, activations).0.at(level);
                let mut seen = Vec::new();
                for round in 0..200 {
                    let terms = [
                        Term { input: round % sizes[0], value: 1.0 },
                        Term { input: (round + 2) % sizes[0], value: 0.3 },
                    ];
                    net.scores(&terms[..1], &terms[1..], &mut seen);
                    seen.push(net.step(&terms, (round % 5) as f32 * 0.5 - 1.0, 0.1));
                }
                seen.extend(net.tensors("").into_iter().flat_map(|t| t.data));
                seen.into_iter().map(f32::to_bits).collect::<Vec<u32>>()
            };
            let portable = run(Level::PORTABLE);
            for level in Level::available() {
                assert!(run(level) == portable, "{sizes:?} {level:?}");
            }
        }
    }

    #[test]
    fn weights_survive_the_way_out_and_in_and_strangers_change_nothing() {
        let (net, _) = pair(SHAPES[3].0, SHAPES[3].1);
        let mut copy = ValueNet::new(SHAPES[3].0, SHAPES[3].1, |_| 0.0);
        let blank = copy.tensors("");
        let mut tensors = net.tensors("v.");
        assert!(copy.set_tensors("", &tensors).is_err() && copy.tensors("") == blank);
        copy.set_tensors("v.", &tensors).unwrap();
        assert_eq!(copy.tensors("v."), tensors);
        tensors[5].data[0] = f32::NAN;
        let mut copy = ValueNet::new(SHAPES[3].0, SHAPES[3].1, |_| 0.0);
        assert!(copy.set_tensors("v.", &tensors).is_err() && copy.tensors("") == blank);
    }

    #[test]
    fn a_weight_that_is_not_a_number_is_found() {
        for (sizes, activations) in SHAPES {
            let (mut net, _) = pair(sizes, activations);
            assert!(net.is_finite());
            net.step(&[Term { input: 1, value: 1.0 }], f32::NAN, 0.1);
            assert!(!net.is_finite() && net.value(&[Term { input: 1, value: 1.0 }]).is_nan());
        }
    }
}
