//! A multilayer perceptron with several outputs and no function after the last layer, for inputs that are zero but for
//! a few ones, learning one sample at a time.
//!
//! It computes what [`crate::mlp::Mlp`] computes, which the tests take as the reference; the hidden layers and how they
//! are stored are those of [`crate::value_net::ValueNet`]. The last layer is stored by outputs, so that a forward pass
//! is a few products of vectors and a backward pass adds vectors: no sum across lanes but one for each output.
//!
//! With one hidden layer of at most 128 units, all of its blocks stay in registers through a pass; the same sums in the
//! same order as in the general pass, so the same bits.

use std::array::from_fn;

use crate::file::{FileError, Tensor, take};
use crate::hidden::{self, Hidden, Term};
use crate::kernels::simd::by_level;
use crate::lanes::{Blocks, LANES, Lanes};
use crate::math::Level;
use crate::mlp::{Activation, Place};

/// A network with its weights and the room for one pass.
#[derive(Clone, Debug)]
pub struct PolicyNet {
    hidden: Vec<Hidden>,
    /// For each output a row of blocks: what each unit of the last hidden layer adds to it.
    rows: Vec<Lanes>,
    biases: Vec<f32>,
    outputs: Vec<f32>,
    /// The inputs of the last forward pass that were one.
    ones: Vec<Term>,
    level: Level,
}

by_level! { simd fn forward = forward_body(net: &mut PolicyNet) -> () }
by_level! { simd fn descend = descend_body(net: &mut PolicyNet, d_outputs: &[f32], rate: f32) -> () }

impl PolicyNet {
    /// A network with `sizes[0]` inputs, hidden layers with ReLU, and the outputs; `init` as in [`crate::mlp::Mlp::new`].
    ///
    /// # Panics
    /// If there is no hidden layer or a size is 0.
    pub fn new(sizes: &[usize], mut init: impl FnMut(Place) -> f32) -> PolicyNet {
        assert!(sizes.len() >= 3 && sizes.iter().all(|&size| size > 0), "inputs, hidden layers, outputs; none empty");
        let layer = sizes.len() - 2;
        let hidden = hidden::layers(&sizes[..=layer], &vec![Activation::Relu; layer], &mut init);
        let (inputs, outputs) = (sizes[layer], sizes[layer + 1]);
        let blocks = inputs.div_ceil(LANES);
        let mut rows = vec![Lanes::ZERO; outputs * blocks];
        for row in rows.chunks_exact_mut(blocks) {
            for i in 0..inputs {
                row[i / LANES].0[i % LANES] = init(Place { layer, bias: false, inputs, outputs });
            }
        }
        let biases = (0..outputs).map(|_| init(Place { layer, bias: true, inputs, outputs })).collect();
        PolicyNet { hidden, rows, biases, outputs: vec![0.0; outputs], ones: Vec::new(), level: Level::best() }
    }

    /// The same network computing with these instructions; the results do not depend on it.
    #[must_use]
    pub fn at(mut self, level: Level) -> PolicyNet {
        self.level = level;
        self
    }

    /// The function after each layer.
    pub(crate) fn activations(&self) -> Vec<Activation> {
        self.hidden.iter().map(|hidden| hidden.activation).chain([Activation::Identity]).collect()
    }

    /// Number of weights and biases.
    pub fn parameters(&self) -> usize {
        let hidden: usize = self.hidden.iter().map(|layer| (layer.inputs + 1) * layer.outputs).sum();
        hidden + (self.hidden[self.hidden.len() - 1].outputs + 1) * self.biases.len()
    }

    /// The outputs for inputs that are one at the indices `ones`, each listed once, and zero elsewhere.
    ///
    /// # Panics
    /// If an input does not exist.
    #[inline]
    pub fn forward(&mut self, ones: impl IntoIterator<Item = usize>) -> &[f32] {
        self.ones.clear();
        self.ones.extend(ones.into_iter().map(|input| Term { input, value: 1.0 }));
        forward(self.level, self);
        &self.outputs
    }

    /// The outputs of the last forward pass.
    pub fn outputs(&self) -> &[f32] {
        &self.outputs
    }

    /// One step of gradient descent for the last forward pass: every parameter w becomes w - `rate` dL/dw, where
    /// `d_outputs` is dL/dy for the outputs y. The weights must not have changed since the forward pass.
    ///
    /// # Panics
    /// If there are not as many gradients as outputs.
    pub fn descend(&mut self, d_outputs: &[f32], rate: f32) {
        assert_eq!(d_outputs.len(), self.outputs.len(), "a gradient for each output");
        descend(self.level, self, d_outputs, rate);
    }

    /// The parameters, named and shaped as those of [`crate::mlp::Mlp::tensors`].
    pub fn tensors(&self, prefix: &str) -> Vec<Tensor> {
        let mut tensors = Vec::new();
        for (l, layer) in self.hidden.iter().enumerate() {
            tensors.extend(layer.tensors(&format!("{prefix}{l}")));
        }
        let (l, inputs) = (self.hidden.len(), self.hidden[self.hidden.len() - 1].outputs);
        let rows = self.rows.chunks_exact(inputs.div_ceil(LANES));
        let weights = rows.flat_map(|row| row.iter().flat_map(|block| block.0).take(inputs)).collect();
        tensors.push(Tensor::new(format!("{prefix}{l}.weight"), &[self.biases.len(), inputs], weights));
        tensors.push(Tensor::new(format!("{prefix}{l}.bias"), &[self.biases.len()], self.biases.clone()));
        tensors
    }

    /// Takes the parameters that [`PolicyNet::tensors`] gave; others in the list are ignored.
    ///
    /// # Errors
    /// If one is missing, has another shape or holds a number that is not finite; the network is then unchanged.
    pub fn set_tensors(&mut self, prefix: &str, tensors: &[Tensor]) -> Result<(), FileError> {
        let mut read = self.clone();
        for (l, layer) in read.hidden.iter_mut().enumerate() {
            layer.set_tensors(&format!("{prefix}{l}"), tensors)?;
        }
        let (l, inputs) = (self.hidden.len(), self.hidden[self.hidden.len() - 1].outputs);
        let weights = take(tensors, &format!("{prefix}{l}.weight"), &[self.biases.len(), inputs])?;
        let rows = read.rows.chunks_exact_mut(inputs.div_ceil(LANES));
        for (row, weights) in rows.zip(weights.chunks_exact(inputs)) {
            for (i, &w) in weights.iter().enumerate() {
                row[i / LANES].0[i % LANES] = w;
            }
        }
        read.biases.copy_from_slice(take(tensors, &format!("{prefix}{l}.bias"), &[self.biases.len()])?);
        *self = read;
        Ok(())
    }
}

/// Calls the pass for this number of blocks, known when it is compiled, or the general one.
macro_rules! by_blocks {
    ($net:expr, $in_registers:ident, $general:ident, ($($argument:expr),*)) => {
        match ($net.hidden.len(), $net.hidden[0].blocks) {
            (1, 1) => $in_registers::<_, 1>($($argument),*),
            (1, 2) => $in_registers::<_, 2>($($argument),*),
            (1, 3) => $in_registers::<_, 3>($($argument),*),
            (1, 4) => $in_registers::<_, 4>($($argument),*),
            (1, 5) => $in_registers::<_, 5>($($argument),*),
            (1, 6) => $in_registers::<_, 6>($($argument),*),
            (1, 7) => $in_registers::<_, 7>($($argument),*),
            (1, 8) => $in_registers::<_, 8>($($argument),*),
            _ => $general($($argument),*),
        }
    };
}

#[inline(always)]
fn forward_body<S: Blocks>(simd: S, net: &mut PolicyNet) {
    by_blocks!(net, forward_in_registers, forward_in_memory, (simd, net));
}

#[inline(always)]
fn descend_body<S: Blocks>(simd: S, net: &mut PolicyNet, d_outputs: &[f32], rate: f32) {
    by_blocks!(net, descend_in_registers, descend_in_memory, (simd, net, d_outputs, rate));
}

/// The rows of `N` blocks.
#[inline(always)]
fn rows<const N: usize>(blocks: &[Lanes]) -> &[[Lanes; N]] {
    blocks.as_chunks().0
}

#[inline(always)]
fn forward_in_registers<S: Blocks, const N: usize>(simd: S, net: &mut PolicyNet) {
    let layer = &mut net.hidden[0];
    let first = rows::<N>(&layer.rows);
    let mut values: [S::X; N] = from_fn(|b| simd.load(&layer.biases[b]));
    for one in &net.ones {
        let row = &first[one.input];
        for b in 0..N {
            values[b] = simd.add(values[b], simd.load(&row[b]));
        }
    }
    for (value, to) in values.iter_mut().zip(&mut layer.values) {
        *value = simd.activate(layer.activation, *value);
        simd.store(*value, to);
    }
    for ((row, bias), output) in rows::<N>(&net.rows).iter().zip(&net.biases).zip(&mut net.outputs) {
        let mut sum = simd.splat(0.0);
        for b in 0..N {
            sum = simd.add_product(sum, simd.load(&row[b]), values[b]);
        }
        *output = simd.sum(sum) + bias;
    }
}

#[inline(always)]
fn descend_in_registers<S: Blocks, const N: usize>(simd: S, net: &mut PolicyNet, d_outputs: &[f32], rate: f32) {
    let layer = &mut net.hidden[0];
    let values: [S::X; N] = from_fn(|b| simd.load(&layer.values[b]));
    let mut deltas = [simd.splat(0.0); N];
    for ((row, bias), &delta) in net.rows.as_chunks_mut::<N>().0.iter_mut().zip(&mut net.biases).zip(d_outputs) {
        let (d, step) = (simd.splat(delta), simd.splat(-rate * delta));
        for b in 0..N {
            let old = simd.load(&row[b]);
            deltas[b] = simd.add_product(deltas[b], old, d);
            simd.store(simd.add_product(old, step, values[b]), &mut row[b]);
        }
        *bias -= rate * delta;
    }
    let first = layer.rows.as_chunks_mut::<N>().0;
    let step = simd.splat(-rate);
    for b in 0..N {
        deltas[b] = simd.mul(step, simd.times_slope(layer.activation, deltas[b], values[b]));
        simd.store(simd.add(simd.load(&layer.biases[b]), deltas[b]), &mut layer.biases[b]);
    }
    for one in &net.ones {
        let row = &mut first[one.input];
        for b in 0..N {
            simd.store(simd.add(simd.load(&row[b]), deltas[b]), &mut row[b]);
        }
    }
}

/// The forward pass for any number of layers and units.
#[inline(always)]
fn forward_in_memory<S: Blocks>(simd: S, net: &mut PolicyNet) {
    hidden::forward(simd, &mut net.hidden, &net.ones);
    let values = &net.hidden[net.hidden.len() - 1].values;
    let rows = net.rows.chunks_exact(values.len());
    for ((row, bias), output) in rows.zip(&net.biases).zip(&mut net.outputs) {
        let mut sum = simd.splat(0.0);
        for (w, a) in row.iter().zip(values) {
            sum = simd.add_product(sum, simd.load(w), simd.load(a));
        }
        *output = simd.sum(sum) + bias;
    }
}

/// The backward pass for any number of layers and units.
#[inline(always)]
fn descend_in_memory<S: Blocks>(simd: S, net: &mut PolicyNet, d_outputs: &[f32], rate: f32) {
    let top = net.hidden.len() - 1;
    let layer = &mut net.hidden[top];
    let blocks = layer.values.len();
    for (b, (y, d)) in layer.values.iter().zip(layer.deltas.iter_mut()).enumerate() {
        let y = simd.load(y);
        let mut sum = simd.splat(0.0);
        for (o, &delta) in d_outputs.iter().enumerate() {
            // Backwards through the old weight, then the step.
            let w = &mut net.rows[o * blocks + b];
            let old = simd.load(w);
            sum = simd.add_product(sum, old, simd.splat(delta));
            simd.store(simd.add_product(old, simd.splat(-rate * delta), y), w);
        }
        simd.store(simd.times_slope(layer.activation, sum, y), d);
    }
    for (bias, delta) in net.biases.iter_mut().zip(d_outputs) {
        *bias -= rate * delta;
    }
    hidden::descend(simd, &mut net.hidden, &net.ones, rate);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::simd::Portable;
    use crate::mlp::Mlp;

    /// Numbers in [-0.5, 0.5) that look random: multiples of the golden ratio.
    fn numbers() -> impl FnMut() -> f32 {
        let mut state = 0.0_f64;
        move || {
            state = (state + 0.618_033_988_749_895).fract();
            (state - 0.5) as f32
        }
    }

    const SHAPES: [&[usize]; 4] = [&[18, 100, 9], &[18, 16, 9], &[7, 33, 17, 20], &[84, 5, 7]];

    /// Trains both on the same samples and compares outputs and weights.
    #[test]
    fn it_computes_and_learns_what_the_reference_does() {
        for sizes in SHAPES {
            let mut next = numbers();
            let mut net = PolicyNet::new(sizes, |_| next());
            let mut activations = vec![Activation::Relu; sizes.len() - 2];
            activations.push(Activation::Identity);
            let mut next = numbers();
            let mut reference = Mlp::new(sizes, &activations, |_| next());
            assert_eq!(net.parameters(), reference.parameters());
            let mut pass = reference.pass();
            let mut next = numbers();
            for step in 0..30 {
                let mut ones = vec![step % sizes[0], (3 * step + 1) % sizes[0]];
                ones.dedup();
                let expected = reference.forward_sparse(&mut pass, &ones).to_vec();
                for (y, e) in net.forward(ones).iter().zip(&expected) {
                    assert!((y - e).abs() < 2e-5, "{sizes:?}: {y} and {e}");
                }
                let d_outputs: Vec<f32> = expected.iter().map(|_| next()).collect();
                net.descend(&d_outputs, 0.05);
                reference.descend(&mut pass, &d_outputs, 0.05);
            }
            for (ours, theirs) in net.tensors("").iter().zip(reference.tensors("")) {
                assert_eq!((&ours.name, &ours.shape), (&theirs.name, &theirs.shape));
                let close = ours.data.iter().zip(&theirs.data).all(|(a, b)| (a - b).abs() < 2e-5);
                assert!(close, "{sizes:?}: {}", ours.name);
            }
        }
    }

    #[test]
    fn every_set_of_instructions_gives_the_same_bits() {
        for sizes in SHAPES {
            let results = Level::available().into_iter().map(|level| {
                let mut next = numbers();
                let mut net = PolicyNet::new(sizes, |_| next()).at(level);
                for step in 0..20 {
                    net.forward([step % sizes[0]]);
                    let d_outputs: Vec<f32> = net.outputs().iter().map(|y| y - next()).collect();
                    net.descend(&d_outputs, 0.1);
                }
                net.tensors("")
            });
            let results: Vec<Vec<Tensor>> = results.collect();
            assert!(results.iter().all(|tensors| tensors == &results[0]), "{sizes:?}");
        }
    }

    #[test]
    fn passes_in_registers_and_in_memory_give_the_same_bits() {
        for hidden in [1, 16, 17, 33, 60, 80, 81, 100, 128] {
            let results = [false, true].map(|in_memory| {
                let mut next = numbers();
                let mut net = PolicyNet::new(&[18, hidden, 9], |_| next()).at(Level::PORTABLE);
                for step in 0..20 {
                    net.ones = [step % 18, (step + 5) % 18].map(|input| Term { input, value: 1.0 }).to_vec();
                    let d_outputs: Vec<f32> = net.outputs.iter().map(|y| y - next()).collect();
                    if in_memory {
                        forward_in_memory(Portable, &mut net);
                        descend_in_memory(Portable, &mut net, &d_outputs, 0.1);
                    } else {
                        forward_body(Portable, &mut net);
                        descend_body(Portable, &mut net, &d_outputs, 0.1);
                    }
                }
                net.tensors("")
            });
            assert_eq!(results[0], results[1], "{hidden} hidden units");
        }
    }

    #[test]
    fn weights_come_back_from_tensors_and_those_of_another_network_are_refused() {
        let mut next = numbers();
        let net = PolicyNet::new(&[18, 20, 9], |_| next());
        let mut other = PolicyNet::new(&[18, 20, 9], |_| 0.0);
        other.set_tensors("", &net.tensors("")).unwrap();
        assert_eq!(other.tensors(""), net.tensors(""));
        let mut narrow = PolicyNet::new(&[18, 19, 9], |_| 0.0);
        assert!(matches!(narrow.set_tensors("", &net.tensors("")), Err(FileError::Shape { .. })));
    }
}
