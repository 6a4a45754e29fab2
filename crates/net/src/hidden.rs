//! The hidden layers of small networks that learn one sample at a time from inputs that are mostly zero.
//!
//! Units stand in blocks of 16 lanes, padded with zeros that stay zero. All sums have a fixed order and nothing is
//! fused, so every [`crate::math::Level`] gives the same bits; wider instructions only make them sooner. What the
//! layers compute is what [`crate::mlp::Mlp`] computes, which the tests of their users take as the reference.

use crate::file::{FileError, Tensor, take};
use crate::lanes::{Blocks, LANES, Lanes};
use crate::mlp::{Activation, Place};

/// An input that is not zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Term {
    /// The index of the input.
    pub input: usize,
    /// Its value.
    pub value: f32,
}

/// A layer with its weights and the room for one pass.
#[derive(Clone, Debug)]
pub(crate) struct Hidden {
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
    /// Blocks of lanes that hold the outputs.
    pub(crate) blocks: usize,
    pub(crate) activation: Activation,
    /// `inputs` rows of `blocks`: what each input adds to every output.
    pub(crate) rows: Vec<Lanes>,
    pub(crate) biases: Vec<Lanes>,
    /// The outputs of the last forward pass.
    pub(crate) values: Vec<Lanes>,
    /// The gradient of the loss with respect to the sums, in the backward pass.
    pub(crate) deltas: Vec<Lanes>,
}

/// One layer for each pair of neighbouring `sizes`, its parameters from `init` in the order of [`crate::mlp::Mlp::new`].
pub(crate) fn layers(sizes: &[usize], activations: &[Activation], init: &mut impl FnMut(Place) -> f32) -> Vec<Hidden> {
    let layers = sizes.windows(2).zip(activations).enumerate().map(|(layer, (pair, &activation))| {
        let (inputs, outputs) = (pair[0], pair[1]);
        let blocks = outputs.div_ceil(LANES);
        let zeros = vec![Lanes::ZERO; blocks];
        let mut rows = vec![Lanes::ZERO; inputs * blocks];
        let mut biases = zeros.clone();
        for output in 0..outputs {
            for input in 0..inputs {
                let w = init(Place { layer, bias: false, inputs, outputs });
                rows[input * blocks + output / LANES].0[output % LANES] = w;
            }
        }
        for output in 0..outputs {
            biases[output / LANES].0[output % LANES] = init(Place { layer, bias: true, inputs, outputs });
        }
        Hidden { inputs, outputs, blocks, activation, rows, biases, values: zeros.clone(), deltas: zeros }
    });
    layers.collect()
}

impl Hidden {
    /// The parameters as `{name}.weight` (outputs x inputs) and `{name}.bias`.
    pub(crate) fn tensors(&self, name: &str) -> [Tensor; 2] {
        let mut by_output = Vec::with_capacity(self.inputs * self.outputs);
        for o in 0..self.outputs {
            by_output.extend((0..self.inputs).map(|i| self.rows[i * self.blocks + o / LANES].0[o % LANES]));
        }
        let biases = self.biases.iter().flat_map(|block| block.0).take(self.outputs).collect();
        [
            Tensor::new(format!("{name}.weight"), &[self.outputs, self.inputs], by_output),
            Tensor::new(format!("{name}.bias"), &[self.outputs], biases),
        ]
    }

    /// Takes the parameters that [`Hidden::tensors`] gave.
    pub(crate) fn set_tensors(&mut self, name: &str, tensors: &[Tensor]) -> Result<(), FileError> {
        let weights = take(tensors, &format!("{name}.weight"), &[self.outputs, self.inputs])?;
        for (o, from) in weights.chunks_exact(self.inputs).enumerate() {
            for (i, &w) in from.iter().enumerate() {
                self.rows[i * self.blocks + o / LANES].0[o % LANES] = w;
            }
        }
        for (o, &b) in take(tensors, &format!("{name}.bias"), &[self.outputs])?.iter().enumerate() {
            self.biases[o / LANES].0[o % LANES] = b;
        }
        Ok(())
    }
}

/// The values of all layers for inputs that are zero but for `terms`.
#[inline(always)]
pub(crate) fn forward<S: Blocks>(simd: S, layers: &mut [Hidden], terms: &[Term]) {
    let first = &mut layers[0];
    for (b, value) in first.values.iter_mut().enumerate() {
        let mut sum = simd.load(&first.biases[b]);
        for term in terms {
            let row = simd.load(&first.rows[term.input * first.blocks + b]);
            sum = simd.add_product(sum, simd.splat(term.value), row);
        }
        simd.store(simd.activate(first.activation, sum), value);
    }
    forward_from_first(simd, layers);
}

/// The rest of the forward pass once the first layer has its values.
#[inline(always)]
pub(crate) fn forward_from_first<S: Blocks>(simd: S, layers: &mut [Hidden]) {
    for l in 1..layers.len() {
        let (before, after) = layers.split_at_mut(l);
        let (a, layer) = (&before[l - 1].values, &mut after[0]);
        for (b, value) in layer.values.iter_mut().enumerate() {
            let mut sum = simd.load(&layer.biases[b]);
            for i in 0..layer.inputs {
                let row = simd.load(&layer.rows[i * layer.blocks + b]);
                sum = simd.add_product(sum, simd.splat(a[i / LANES].0[i % LANES]), row);
            }
            simd.store(simd.activate(layer.activation, sum), value);
        }
    }
}

/// Backwards through all layers, whose last has its `deltas`, and a step of gradient descent in each.
#[inline(always)]
pub(crate) fn descend<S: Blocks>(simd: S, layers: &mut [Hidden], terms: &[Term], rate: f32) {
    for l in (1..layers.len()).rev() {
        let (before, after) = layers.split_at_mut(l);
        let (below, layer) = (&mut before[l - 1], &mut after[0]);
        for (i, row) in layer.rows.chunks_exact_mut(layer.blocks).enumerate() {
            let step = simd.splat(-rate * below.values[i / LANES].0[i % LANES]);
            let mut sum = simd.splat(0.0);
            for (w, d) in row.iter_mut().zip(&layer.deltas) {
                let (old, d) = (simd.load(w), simd.load(d));
                sum = simd.add_product(sum, old, d);
                simd.store(simd.add_product(old, step, d), w);
            }
            below.deltas[i / LANES].0[i % LANES] = simd.sum(sum);
        }
        for (b, d) in layer.biases.iter_mut().zip(&layer.deltas) {
            simd.store(simd.add_product(simd.load(b), simd.splat(-rate), simd.load(d)), b);
        }
        for (d, y) in below.deltas.iter_mut().zip(&below.values) {
            simd.store(simd.times_slope(below.activation, simd.load(d), simd.load(y)), d);
        }
    }
    let first = &mut layers[0];
    for (b, d) in first.deltas.iter().enumerate() {
        let d = simd.load(d);
        let bias = &mut first.biases[b];
        simd.store(simd.add_product(simd.load(bias), simd.splat(-rate), d), bias);
        for term in terms {
            let row = &mut first.rows[term.input * first.blocks + b];
            simd.store(simd.add_product(simd.load(row), simd.splat(-rate * term.value), d), row);
        }
    }
}
