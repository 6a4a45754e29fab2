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
use crate::lanes::{Blocks, LANES, Lanes, flat, flat_mut};
use crate::math::Level;
use crate::mlp::{Activation, Place};

/// A network with its weights and the room for one pass.
#[derive(Clone, Debug)]
pub struct PolicyNet {
    hidden: Vec<Hidden>,
    /// For each output a row of blocks: what each unit of the last hidden layer adds to it.
    rows: Vec<Lanes>,
    /// Padded to whole blocks with minus infinity, so that the outputs are too and a softmax need not know.
    biases: Vec<Lanes>,
    outputs: Vec<Lanes>,
    /// The policy, then the gradient of the loss by the outputs.
    policy: Vec<Lanes>,
    /// Number of outputs.
    actions: usize,
    /// The inputs of the last forward pass that were one.
    ones: Vec<Term>,
    level: Level,
}

by_level! { simd fn forward = forward_body(net: &mut PolicyNet) -> () }
by_level! { simd fn descend = descend_body(net: &mut PolicyNet, rate: f32) -> () }
by_level! { simd fn softmax = softmax_body(policy: &mut [Lanes], sharpness: f32) -> () }

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
        let nothing = vec![Lanes([f32::NEG_INFINITY; LANES]); outputs.div_ceil(LANES)];
        let mut biases = nothing.clone();
        flat_mut(&mut biases)[..outputs].fill_with(|| init(Place { layer, bias: true, inputs, outputs }));
        let (actions, level) = (outputs, Level::best());
        let (outputs, policy) = (nothing.clone(), vec![Lanes::ZERO; nothing.len()]);
        PolicyNet { hidden, rows, biases, outputs, policy, actions, ones: Vec::new(), level }
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
        hidden + (self.hidden[self.hidden.len() - 1].outputs + 1) * self.actions
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
        self.outputs()
    }

    /// The outputs of the last forward pass.
    #[inline]
    pub fn outputs(&self) -> &[f32] {
        &flat(&self.outputs)[..self.actions]
    }

    /// The policy of the last forward pass: the softmax over all outputs. Whoever has changed it into dL/dy, the
    /// gradient of a loss by the outputs y, calls [`PolicyNet::descend`].
    pub fn policy(&mut self) -> &mut [f32] {
        self.policy.copy_from_slice(&self.outputs);
        softmax(self.level, &mut self.policy, 1.0);
        &mut flat_mut(&mut self.policy)[..self.actions]
    }

    /// As [`PolicyNet::policy`], over these outputs alone and at a temperature above 0; the others have none.
    pub fn policy_over(&mut self, legal: impl IntoIterator<Item = usize>, temperature: f32) -> &mut [f32] {
        self.policy.fill(Lanes([f32::NEG_INFINITY; LANES]));
        let policy = flat_mut(&mut self.policy);
        for output in legal {
            policy[output] = flat(&self.outputs)[output];
        }
        softmax(self.level, &mut self.policy, 1.0 / temperature);
        &mut flat_mut(&mut self.policy)[..self.actions]
    }

    /// What the next step would descend, or the last one has.
    pub fn gradient(&self) -> &[f32] {
        &flat(&self.policy)[..self.actions]
    }

    /// One step of gradient descent for the last forward pass: every parameter w becomes w - `rate` dL/dw, where
    /// what [`PolicyNet::policy`] gave is now dL/dy for the outputs y. The weights must not have changed since.
    pub fn descend(&mut self, rate: f32) {
        descend(self.level, self, rate);
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
        let biases = flat(&self.biases)[..self.actions].to_vec();
        tensors.push(Tensor::new(format!("{prefix}{l}.weight"), &[self.actions, inputs], weights));
        tensors.push(Tensor::new(format!("{prefix}{l}.bias"), &[self.actions], biases));
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
        let weights = take(tensors, &format!("{prefix}{l}.weight"), &[self.actions, inputs])?;
        let rows = read.rows.chunks_exact_mut(inputs.div_ceil(LANES));
        for (row, weights) in rows.zip(weights.chunks_exact(inputs)) {
            for (i, &w) in weights.iter().enumerate() {
                row[i / LANES].0[i % LANES] = w;
            }
        }
        let biases = take(tensors, &format!("{prefix}{l}.bias"), &[self.actions])?;
        flat_mut(&mut read.biases)[..self.actions].copy_from_slice(biases);
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
fn descend_body<S: Blocks>(simd: S, net: &mut PolicyNet, rate: f32) {
    by_blocks!(net, descend_in_registers, descend_in_memory, (simd, net, rate));
}

/// [`crate::math::softmax`] of scores padded with minus infinity.
#[inline(always)]
fn softmax_body<S: Blocks>(simd: S, policy: &mut [Lanes], sharpness: f32) {
    let sharp = simd.splat(sharpness);
    let (mut overflows, mut vanishes) = (false, true);
    for block in policy.iter() {
        let x = simd.mul(simd.load(block), sharp);
        overflows |= simd.any_above(x, 80.0);
        vanishes &= !simd.any_above(x, -40.0);
    }
    // Mostly there is nothing to subtract, and no greatest score to wait for.
    let greatest = if overflows || vanishes {
        flat(policy).iter().fold(f32::NEG_INFINITY, |greatest, &x| if x > greatest { x } else { greatest })
    } else {
        0.0
    };
    let mut sums = simd.splat(0.0);
    for block in policy.iter_mut() {
        let x = simd.mul(simd.sub(simd.load(block), simd.splat(greatest)), sharp);
        let y = simd.exp(x);
        sums = simd.add(sums, y);
        simd.store(y, block);
    }
    let scale = simd.splat(1.0 / simd.sum(sums));
    for block in policy {
        simd.store(simd.mul(simd.load(block), scale), block);
    }
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
    for ((group, bias), output) in rows::<N>(&net.rows).chunks(LANES).zip(&net.biases).zip(&mut net.outputs) {
        // Seven outputs and nine, the small boards', are summed without a detour through memory.
        let sums = match group.len() {
            7 => products::<S, N, 7>(simd, group, &values),
            9 => products::<S, N, 9>(simd, group, &values),
            _ => products::<S, N, LANES>(simd, group, &values),
        };
        simd.store(simd.add(sums, simd.load(bias)), output);
    }
}

/// The products of up to `R` rows with the values.
#[inline(always)]
fn products<S: Blocks, const N: usize, const R: usize>(simd: S, rows: &[[Lanes; N]], values: &[S::X; N]) -> S::X {
    let mut sums = [simd.splat(0.0); LANES];
    if let Some(rows) = rows.first_chunk::<R>() {
        for b in 0..N {
            for r in 0..R {
                sums[r] = simd.fused(sums[r], simd.load(&rows[r][b]), values[b]);
            }
        }
    } else {
        for (row, sum) in rows.iter().zip(&mut sums) {
            for b in 0..N {
                *sum = simd.fused(*sum, simd.load(&row[b]), values[b]);
            }
        }
    }
    simd.sums(sums)
}

#[inline(always)]
fn descend_in_registers<S: Blocks, const N: usize>(simd: S, net: &mut PolicyNet, rate: f32) {
    let layer = &mut net.hidden[0];
    let values: [S::X; N] = from_fn(|b| simd.load(&layer.values[b]));
    let mut deltas = [simd.splat(0.0); N];
    let (biases, gradient) = (flat_mut(&mut net.biases), flat(&net.policy));
    for ((row, bias), &delta) in net.rows.as_chunks_mut::<N>().0.iter_mut().zip(biases).zip(gradient) {
        let (d, step) = (simd.splat(delta), simd.splat(-rate * delta));
        for b in 0..N {
            let old = simd.load(&row[b]);
            deltas[b] = simd.fused(deltas[b], old, d);
            simd.store(simd.fused(old, step, values[b]), &mut row[b]);
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
    for ((row, bias), output) in rows.zip(flat(&net.biases)).zip(flat_mut(&mut net.outputs)) {
        let mut sum = simd.splat(0.0);
        for (w, a) in row.iter().zip(values) {
            sum = simd.fused(sum, simd.load(w), simd.load(a));
        }
        *output = simd.sum(sum) + bias;
    }
}

/// The backward pass for any number of layers and units.
#[inline(always)]
fn descend_in_memory<S: Blocks>(simd: S, net: &mut PolicyNet, rate: f32) {
    let gradient = &flat(&net.policy)[..net.actions];
    let top = net.hidden.len() - 1;
    let layer = &mut net.hidden[top];
    let blocks = layer.values.len();
    for (b, (y, d)) in layer.values.iter().zip(layer.deltas.iter_mut()).enumerate() {
        let y = simd.load(y);
        let mut sum = simd.splat(0.0);
        for (o, &delta) in gradient.iter().enumerate() {
            // Backwards through the old weight, then the step.
            let w = &mut net.rows[o * blocks + b];
            let old = simd.load(w);
            sum = simd.fused(sum, old, simd.splat(delta));
            simd.store(simd.fused(old, simd.splat(-rate * delta), y), w);
        }
        simd.store(simd.times_slope(layer.activation, sum, y), d);
    }
    for (bias, delta) in flat_mut(&mut net.biases).iter_mut().zip(gradient) {
        *bias -= rate * delta;
    }
    hidden::descend(simd, &mut net.hidden, &net.ones, rate);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::simd::Portable;
    use crate::math;
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
                let mut probabilities = expected.clone();
                math::softmax(&mut probabilities, 1.0);
                let d_outputs: Vec<f32> = probabilities.iter().map(|p| p - next()).collect();
                let gradient = net.policy();
                assert!(gradient.iter().zip(&probabilities).all(|(p, e)| (p - e).abs() < 5e-6), "{sizes:?}");
                gradient.copy_from_slice(&d_outputs);
                net.descend(0.05);
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
    fn every_set_of_vector_instructions_gives_the_same_bits_and_plain_ones_nearly_those() {
        for sizes in SHAPES {
            let results = Level::available().into_iter().map(|level| {
                let mut next = numbers();
                let mut net = PolicyNet::new(sizes, |_| next()).at(level);
                for step in 0..20 {
                    net.forward([step % sizes[0]]);
                    net.policy().iter_mut().for_each(|p| *p -= next());
                    net.descend(0.1);
                }
                net.tensors("")
            });
            let results: Vec<Vec<Tensor>> = results.collect();
            assert!(results[1..].iter().all(|tensors| tensors == &results[1]), "{sizes:?}");
            for (plain, fused) in results[0].iter().zip(&results[results.len() - 1]) {
                assert!(plain.data.iter().zip(&fused.data).all(|(a, b)| (a - b).abs() < 1e-5), "{sizes:?}");
            }
        }
    }

    #[test]
    fn policies_are_safe_at_any_scale_and_illegal_actions_have_none() {
        for level in Level::available() {
            for scale in [1e-3, 1.0, 1e4, 1e15] {
                let mut next = numbers();
                let mut net = PolicyNet::new(&[2, 3, 20], |_| scale * next()).at(level);
                let outputs = net.forward([0]).to_vec();
                let legal: Vec<usize> = (0..20).step_by(3).collect();
                let mut expected: Vec<f32> = legal.iter().map(|&o| outputs[o]).collect();
                math::softmax(&mut expected, 0.7);
                let policy = net.policy_over(legal.iter().copied(), 0.7);
                for (output, p) in policy.iter().enumerate() {
                    let e = if output % 3 == 0 { expected[output / 3] } else { 0.0 };
                    assert!((p - e).abs() < 2e-6 && (e > 0.0 || *p < 1e-30), "{scale}: {p} and {e}");
                }
            }
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
                    net.policy().iter_mut().for_each(|p| *p = next());
                    if in_memory {
                        forward_in_memory(Portable, &mut net);
                        descend_in_memory(Portable, &mut net, 0.1);
                    } else {
                        forward_body(Portable, &mut net);
                        descend_body(Portable, &mut net, 0.1);
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
