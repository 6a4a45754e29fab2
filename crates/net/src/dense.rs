//! A network of dense layers for batches: inputs, hidden layers with ReLU, then logits and a value.
//!
//! For boards of one size, where a convolution is more than is needed. (`mlp.rs` has the network that learns one sample
//! at a time.) The inputs are taken to be mostly zeros, as stones on a board are: the first layer multiplies only the
//! others, which gives the same bits as long as all weights are finite.

use std::ops::Range;
use std::sync::Mutex;

use serde::{Deserialize, Serialize};

use crate::error::{NetError, check};
use crate::file::Tensor;
use crate::kernels::gemm::{Left, Size, gemm};
use crate::kernels::pointwise;
use crate::kernels::sparse::{self, Sparse};
use crate::lines::Lines;
use crate::math::{Level, tanh};
use crate::optim::Optimiser;
use crate::partial::add_in_order;
use crate::residual::Outputs;
use crate::store::{Kind, PANEL, Store, padded, refuse_others};
use crate::workers::Workers;

/// Rows of a batch whose gradients are summed together, before those sums are added in order.
const CHUNK: usize = 64;

/// What a dense network is. Weights fit a network only if all of this is equal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DenseSpec {
    /// Numbers that describe a position.
    pub inputs: usize,
    /// Units of each hidden layer.
    pub hidden: Vec<usize>,
    /// Logits.
    pub actions: usize,
    /// Which meaning the inputs have: weights learnt with another are refused.
    pub encoding: u32,
}

impl DenseSpec {
    fn check(&self) -> Result<(), NetError> {
        let named = [("inputs", self.inputs), ("actions", self.actions)];
        let hidden = self.hidden.iter().map(|&n| ("units in a hidden layer", n));
        match named.into_iter().chain(hidden).find(|(_, n)| *n == 0) {
            Some((what, _)) => Err(NetError::Spec(format!("no {what}"))),
            None => Ok(()),
        }
    }

    /// # Errors
    /// [`NetError::Other`] with the first field in which `found` differs.
    pub fn expect(&self, found: &DenseSpec) -> Result<(), NetError> {
        let fields = [
            ("encoding version", self.encoding.to_string(), found.encoding.to_string()),
            ("number of inputs", self.inputs.to_string(), found.inputs.to_string()),
            ("hidden layers", format!("{:?}", self.hidden), format!("{:?}", found.hidden)),
            ("number of actions", self.actions.to_string(), found.actions.to_string()),
        ];
        match fields.into_iter().find(|(_, expected, found)| expected != found) {
            Some((what, expected, found)) => Err(NetError::Other { what, found, expected }),
            None => Ok(()),
        }
    }
}

/// A layer's lengths and the places of its weights.
#[derive(Clone, Debug)]
struct Layer {
    inputs: usize,
    /// Distance between two rows of its input, the padded outputs of the layer before; the first layer does not use it.
    input_row: usize,
    outputs: usize,
    weight: Range<usize>,
    bias: Range<usize>,
}

impl Layer {
    /// The panels of its weights: place in the layer's weights, first column, and width.
    fn panels(&self) -> impl Iterator<Item = (Range<usize>, usize, usize)> + use<> {
        let (inputs, outputs) = (self.inputs, padded(self.outputs));
        (0..outputs).step_by(PANEL).map(move |first| {
            let width = PANEL.min(outputs - first);
            (first * inputs..(first + width) * inputs, first, width)
        })
    }

    /// As [`Layer::product`], of the inputs.
    fn first_product(&self, level: Level, weights: &[f32], x: &Sparse, y: &mut [f32]) {
        let row = padded(self.outputs);
        let weights = &weights[self.weight.clone()];
        for (range, first, width) in self.panels() {
            sparse::multiply(level, x, width, &weights[range], width, &mut y[first..], row);
        }
    }

    /// y = x W for all rows, without bias.
    fn product(&self, level: Level, weights: &[f32], x: &[f32], y: &mut [f32]) {
        let row = padded(self.outputs);
        let weights = &weights[self.weight.clone()];
        for (range, first, width) in self.panels() {
            let size = Size { m: y.len() / row, n: width, k: self.inputs };
            let left = Left { data: x, row: self.input_row, column: 1 };
            gemm(level, size, left, &weights[range], width, &mut y[first..], row, false);
        }
    }
}

/// The rows of a batch through all layers; `outputs` are one buffer for each.
fn forward(level: Level, layers: &[Layer], weights: &[f32], x: &Sparse, outputs: &mut [Lines]) {
    for (n, layer) in layers.iter().enumerate() {
        let (before, here) = outputs.split_at_mut(n);
        let y = &mut here[0];
        y.resize(x.rows() * padded(layer.outputs));
        match before.last() {
            None => layer.first_product(level, weights, x, y),
            Some(x) => layer.product(level, weights, x, y),
        }
        if n + 1 < layers.len() {
            pointwise::bias_relu(level, &weights[layer.bias.clone()], y);
        }
    }
}

/// Logits and values from the last layer's sums.
fn read_out(layer: &Layer, weights: &[f32], sums: &[f32], policy: &mut [f32], values: &mut [f32]) {
    let actions = layer.outputs - 1;
    let bias = &weights[layer.bias.clone()];
    let rows = sums.chunks_exact(padded(layer.outputs)).zip(policy.chunks_exact_mut(actions)).zip(values);
    for ((sums, policy), value) in rows {
        for ((logit, sum), bias) in policy.iter_mut().zip(sums).zip(bias) {
            *logit = sum + bias;
        }
        *value = tanh(sums[actions] + bias[actions]);
    }
}

/// What is remembered of a chunk of a batch's rows.
#[derive(Debug, Default)]
struct Chunk {
    inputs: Sparse,
    /// The inputs' columns as rows.
    columns: Sparse,
    /// For each layer its outputs, after their ReLU.
    out: Vec<Lines>,
    /// For each layer the loss's gradient by those.
    slopes: Vec<Lines>,
}

impl Chunk {
    /// Writes the gradients of all weights. `transposed` are the layers' weights, as [`DenseNet`] has them.
    fn backward(&mut self, level: Level, layers: &[Layer], transposed: &[Lines], gradients: &mut [f32]) {
        let rows = self.inputs.rows();
        self.inputs.transpose(&mut self.columns);
        for (n, layer) in layers.iter().enumerate().rev() {
            let row = padded(layer.outputs);
            let (before, here) = self.slopes.split_at_mut(n);
            let dy = &here[0];
            let db = &mut gradients[layer.bias.clone()];
            db.fill(0.0);
            dy.chunks_exact(row).for_each(|dy| pointwise::add(level, dy, db));
            let dw = &mut gradients[layer.weight.clone()];
            let Some(dx) = before.last_mut() else {
                for (range, first, width) in layer.panels() {
                    sparse::multiply(level, &self.columns, width, &dy[first..], row, &mut dw[range], width);
                }
                continue;
            };
            let (x, columns) = (&self.out[n - 1], layer.input_row);
            for (range, first, width) in layer.panels() {
                let size = Size { m: layer.inputs, n: width, k: rows };
                let left = Left { data: x, row: 1, column: columns };
                gemm(level, size, left, &dy[first..], row, &mut dw[range], width, false);
            }
            dx.resize(rows * columns);
            for first in (0..columns).step_by(PANEL) {
                let width = PANEL.min(columns - first);
                let panel = &transposed[n][first * layer.outputs..];
                let size = Size { m: rows, n: width, k: layer.outputs };
                let left = Left { data: dy, row, column: 1 };
                gemm(level, size, left, panel, width, &mut dx[first..], columns, false);
            }
            pointwise::relu_back(level, x, dx);
        }
    }
}

/// A dense network with its gradients and what it remembers of the last forward pass.
#[derive(Debug)]
pub struct DenseNet {
    spec: DenseSpec,
    level: Level,
    weights: Store,
    layers: Vec<Layer>,
    gradients: Lines,
    /// For each layer but the first its weights transposed, in panels of its inputs.
    transposed: Vec<Lines>,
    /// Whether `transposed` is that of the present weights.
    fresh: bool,
    /// Those of the last batch, and perhaps more of batches before.
    chunks: Vec<Chunk>,
    outputs: Outputs,
    /// The gradients of all chunks but the first.
    partial: Lines,
}

impl DenseNet {
    /// A network with random weights (He et al. 2015), drawn from `uniform`, which gives numbers in [0, 1). The last layer
    /// starts at a tenth, so that the first policies are nearly even and the first values nearly 0.
    ///
    /// # Errors
    /// [`NetError::Spec`].
    pub fn new(spec: DenseSpec, uniform: &mut dyn FnMut() -> f32) -> Result<DenseNet, NetError> {
        spec.check()?;
        let mut weights = Store::default();
        let mut layers: Vec<Layer> = Vec::new();
        for (n, &outputs) in spec.hidden.iter().chain(&[spec.actions + 1]).enumerate() {
            let name = if n < spec.hidden.len() { format!("layers.{n}") } else { "out".into() };
            let (inputs, input_row) =
                layers.last().map_or((spec.inputs, spec.inputs), |l| (l.outputs, padded(l.outputs)));
            let weight = weights.add(format!("{name}.weight"), Kind::Dense { input: inputs, output: outputs });
            let bias = weights.add(format!("{name}.bias"), Kind::Vector { n: outputs });
            let bound = (6.0 / inputs as f32).sqrt() * if n < spec.hidden.len() { 1.0 } else { 0.1 };
            weights.fill(&weight, || bound * (2.0 * uniform() - 1.0));
            layers.push(Layer { inputs, input_row, outputs, weight, bias });
        }
        Ok(DenseNet {
            spec,
            level: Level::best(),
            gradients: Lines::zeros(weights.data.len()),
            transposed: vec![Lines::default(); layers.len()],
            fresh: false,
            chunks: Vec::new(),
            outputs: Outputs::default(),
            partial: Lines::default(),
            weights,
            layers,
        })
    }

    /// What this network is.
    pub fn spec(&self) -> &DenseSpec {
        &self.spec
    }

    /// How many numbers are learnt (with the padding of each layer).
    pub fn weights_len(&self) -> usize {
        self.weights.data.len()
    }

    /// All weights, with names and shapes as PyTorch gives them.
    pub fn tensors(&self) -> Vec<Tensor> {
        self.weights.named(&self.weights.data)
    }

    /// The gradients of the last backward pass, under the names of their weights.
    pub fn gradients(&self) -> Vec<Tensor> {
        self.weights.named(&self.gradients)
    }

    /// Replaces all weights; nothing changes if one is refused.
    ///
    /// # Errors
    /// If a tensor is missing, is one too many, has another shape or holds a number that is not finite.
    pub fn load(&mut self, tensors: &[Tensor]) -> Result<(), NetError> {
        refuse_others(&[&self.weights], tensors)?;
        self.weights.data = self.weights.laid_out(tensors)?;
        self.fresh = false;
        Ok(())
    }

    /// A copy of the present weights, made ready to evaluate positions.
    pub fn inference(&self) -> DenseInference {
        DenseInference {
            level: self.level,
            spec: self.spec.clone(),
            layers: self.layers.clone(),
            weights: self.weights.data.clone(),
            scratch: Mutex::default(),
        }
    }

    /// The outputs for a batch, `inputs` being `[positions][inputs]`; what [`DenseNet::backward`] needs is kept.
    ///
    /// # Errors
    /// If the inputs are not whole rows, are none, or hold a number that is not finite.
    pub fn forward(&mut self, inputs: &[f32], workers: &Workers) -> Result<&Outputs, NetError> {
        let positions = inputs.len().div_ceil(self.spec.inputs).max(1);
        check("the inputs", inputs, positions * self.spec.inputs)?;
        self.outputs.policy.resize(positions * self.spec.actions, 0.0);
        self.outputs.value.resize(positions, 0.0);
        let chunks = positions.div_ceil(CHUNK);
        if self.chunks.len() < chunks {
            self.chunks.resize_with(chunks, Chunk::default);
        }
        let (level, layers, weights) = (self.level, &self.layers, &self.weights.data);
        let items = inputs
            .chunks(CHUNK * self.spec.inputs)
            .zip(self.outputs.policy.chunks_mut(CHUNK * self.spec.actions))
            .zip(self.outputs.value.chunks_mut(CHUNK))
            .zip(&mut self.chunks)
            .collect();
        workers.each(items, |(((x, policy), values), chunk): (_, &mut Chunk)| {
            chunk.inputs.gather(x, layers[0].inputs);
            chunk.out.resize_with(layers.len(), Lines::default);
            forward(level, layers, weights, &chunk.inputs, &mut chunk.out);
            read_out(&layers[layers.len() - 1], weights, &chunk.out[layers.len() - 1], policy, values);
        });
        Ok(&self.outputs)
    }

    /// The gradients become those of a loss whose gradient by the outputs of the last forward pass is `d`.
    ///
    /// # Errors
    /// If `d` has another shape than those outputs, or holds a number that is not finite.
    pub fn backward(&mut self, d: &Outputs, workers: &Workers) -> Result<(), NetError> {
        check("the policy's gradient", &d.policy, self.outputs.policy.len())?;
        check("the value's gradient", &d.value, self.outputs.value.len())?;
        self.transpose(workers);
        let chunks = d.value.len().div_ceil(CHUNK);
        let mut partial = std::mem::take(&mut self.partial);
        partial.resize((chunks - 1) * self.gradients.len());
        // The first chunk's gradients go where all end up, so that a small batch needs no second array.
        let parts = std::iter::once(&mut self.gradients[..]).chain(partial.chunks_mut(self.weights.data.len()));
        let (level, layers, transposed, actions) = (self.level, &self.layers, &self.transposed, self.spec.actions);
        let last = padded(actions + 1);
        let items = d
            .policy
            .chunks(CHUNK * actions)
            .zip(d.value.chunks(CHUNK).zip(self.outputs.value.chunks(CHUNK)))
            .zip(self.chunks.iter_mut().zip(parts))
            .collect();
        workers.each(items, |((d_policy, (d_values, values)), (chunk, gradients)): (_, (&mut Chunk, &mut [f32]))| {
            chunk.slopes.resize_with(layers.len(), Lines::default);
            let dy = &mut chunk.slopes[layers.len() - 1];
            dy.resize(values.len() * last);
            let rows = dy.chunks_exact_mut(last).zip(d_policy.chunks_exact(actions)).zip(d_values.iter().zip(values));
            for ((dy, d_policy), (d_value, value)) in rows {
                dy[..actions].copy_from_slice(d_policy);
                // tanh' = 1 - tanh^2.
                dy[actions] = d_value * (1.0 - value * value);
            }
            chunk.backward(level, layers, transposed, gradients);
        });
        add_in_order(level, &partial, &mut self.gradients, workers);
        self.partial = partial;
        Ok(())
    }

    /// Lets the optimiser change the weights by the gradients of the last backward pass.
    pub fn step(&mut self, optimiser: &mut Optimiser, rate: f32) {
        let decayed = self.weights.decayed();
        optimiser.step(rate, &mut self.weights.data, &mut self.gradients, &decayed);
        self.fresh = false;
    }

    /// Transposes the weights of all layers but the first, whose input needs no gradient.
    fn transpose(&mut self, workers: &Workers) {
        if self.fresh {
            return;
        }
        let all = &self.weights.data;
        let items = self.layers.iter().zip(&mut self.transposed).skip(1).collect();
        workers.each(items, |(layer, transposed): (&Layer, &mut Lines)| {
            let weights = &all[layer.weight.clone()];
            transposed.resize(layer.outputs * layer.input_row);
            for (range, first, width) in layer.panels() {
                let weights = &weights[range];
                for panel in (0..layer.inputs).step_by(PANEL) {
                    let panel_width = PANEL.min(layer.input_row - panel);
                    let from = &weights[panel * width..layer.inputs.min(panel + PANEL) * width];
                    let to = &mut transposed[panel * layer.outputs + first * panel_width..];
                    for (output, to) in
                        to.chunks_exact_mut(panel_width).take(layer.outputs - first).take(width).enumerate()
                    {
                        for (to, from) in to.iter_mut().zip(from.chunks_exact(width)) {
                            *to = from[output];
                        }
                    }
                }
            }
        });
        self.fresh = true;
    }
}

/// A dense network's weights as they were, ready to evaluate positions. Shared freely between threads.
///
/// A position's outputs have the same bits in any batch.
#[derive(Debug)]
pub struct DenseInference {
    level: Level,
    spec: DenseSpec,
    layers: Vec<Layer>,
    weights: Lines,
    /// One for each worker.
    scratch: Mutex<Vec<(Sparse, Vec<Lines>)>>,
}

impl DenseInference {
    /// Writes the outputs for a batch, `inputs` being `[positions][inputs]`.
    ///
    /// # Errors
    /// If the inputs are not whole rows or hold a number that is not finite.
    pub fn run(&self, inputs: &[f32], workers: &Workers, outputs: &mut Outputs) -> Result<(), NetError> {
        let positions = inputs.len().div_ceil(self.spec.inputs);
        check("the inputs", inputs, positions * self.spec.inputs)?;
        outputs.policy.resize(positions * self.spec.actions, 0.0);
        outputs.value.resize(positions, 0.0);
        let chunk = positions.div_ceil(workers.threads()).clamp(1, 4 * CHUNK);
        let items = inputs
            .chunks(chunk * self.spec.inputs)
            .zip(outputs.policy.chunks_mut(chunk * self.spec.actions))
            .zip(outputs.value.chunks_mut(chunk))
            .collect();
        workers.each(items, |((x, policy), values)| {
            let (mut sparse, mut out) = self.lock().pop().unwrap_or_default();
            sparse.gather(x, self.spec.inputs);
            out.resize_with(self.layers.len(), Lines::default);
            forward(self.level, &self.layers, &self.weights, &sparse, &mut out);
            read_out(&self.layers[out.len() - 1], &self.weights, &out[out.len() - 1], policy, values);
            self.lock().push((sparse, out));
        });
        Ok(())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(Sparse, Vec<Lines>)>> {
        self.scratch.lock().expect("no worker panics while it holds the heap")
    }
}
