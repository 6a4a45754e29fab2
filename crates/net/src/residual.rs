//! The residual network for boards: one set of weights for boards of any size.
//!
//! ```text
//! planes -> conv 3x3, norm, ReLU -> [ conv, norm, ReLU, conv, norm, + input, ReLU ] x blocks -+-> conv 1x1, norm, ReLU -> policy
//!                                                                                             +-> conv 1x1, norm, ReLU -> value
//! ```
//!
//! (He et al. 2016 for the blocks; Silver et al. 2017 for a policy and a value on one trunk.) Each convolution with its
//! normalisation and ReLU is a *unit*; forward and backward go through the units, and each unit through chunks of the
//! batch that its workers share. With normalisation the moments of all chunks are joined before a unit goes on, so
//! they are those of the whole batch.

use std::ops::Range;
use std::sync::Mutex;

use serde::{Deserialize, Serialize};

use crate::error::{NetError, check};
use crate::file::Tensor;
use crate::heads::{Actions, Board, HIDDEN, Heads, POLICY_FEATURES, POOLED, Saved, VALUE_FEATURES};
use crate::inference::{BoardInference, Way, fold};
use crate::kernels::direct::{MAX_CHANNELS, Neighbours};
use crate::kernels::gemm::{Left, Size, gemm};
use crate::kernels::pointwise;
use crate::kernels::tiles;
use crate::kernels::winograd::{self, Channels, Finish, Tiling, Workspace};
use crate::math::Level;
use crate::optim::Optimiser;
use crate::store::{Kind, Store, refuse_others};
use crate::workers::Workers;

/// Added to a variance before its root is taken.
pub(crate) const EPSILON: f32 = 1e-5;
/// Part of a batch's moments in the running ones, which inference uses.
const RUNNING: f32 = 0.1;
/// Parts into which a batch is cut: their gradients are computed apart and added in order, so this is also the largest
/// number of workers that training can use.
const CHUNKS: usize = 8;

/// What a board network is. Weights fit a network only if all of this is equal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BoardSpec {
    /// Input planes.
    pub planes: usize,
    /// Features at each point of the trunk: a multiple of 16, at most 1024.
    pub channels: usize,
    /// Residual blocks of two convolutions.
    pub blocks: usize,
    /// Batch normalisation after each convolution; without it, a bias.
    pub norm: bool,
    /// What an action is.
    pub actions: Actions,
    /// Which meaning the planes have: weights learnt with another are refused.
    pub encoding: u32,
}

impl BoardSpec {
    fn check(&self) -> Result<(), NetError> {
        if self.planes == 0 || self.planes > MAX_CHANNELS {
            return Err(NetError::Spec(format!("{} planes, where 1 to {MAX_CHANNELS} are possible", self.planes)));
        }
        if self.channels == 0 || self.channels > MAX_CHANNELS || !self.channels.is_multiple_of(16) {
            let why = "where a multiple of 16 up to 1024 is needed";
            return Err(NetError::Spec(format!("{} channels, {why}", self.channels)));
        }
        Ok(())
    }

    /// # Errors
    /// [`NetError::Other`] with the first field in which `found` differs.
    pub fn expect(&self, found: &BoardSpec) -> Result<(), NetError> {
        let fields = [
            ("encoding version", self.encoding.to_string(), found.encoding.to_string()),
            ("number of planes", self.planes.to_string(), found.planes.to_string()),
            ("number of channels", self.channels.to_string(), found.channels.to_string()),
            ("number of blocks", self.blocks.to_string(), found.blocks.to_string()),
            ("normalisation", self.norm.to_string(), found.norm.to_string()),
            ("kind of actions", format!("{:?}", self.actions), format!("{:?}", found.actions)),
        ];
        match fields.into_iter().find(|(_, expected, found)| expected != found) {
            Some((what, expected, found)) => Err(NetError::Other { what, found, expected }),
            None => Ok(()),
        }
    }
}

/// What a network says of a batch; also the shape of the loss's gradient by it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outputs {
    /// Logits, `[positions][actions]`.
    pub policy: Vec<f32>,
    /// Values in [-1, 1] for the side that the planes are drawn for, `[positions]`.
    pub value: Vec<f32>,
}

impl Outputs {
    /// Zeros for this many positions and actions.
    pub fn zeros(positions: usize, actions: usize) -> Outputs {
        Outputs { policy: vec![0.0; positions * actions], value: vec![0.0; positions] }
    }
}

/// What a unit does before its normalisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// 3x3 on the input planes, by patches.
    Planes,
    /// 3x3 between channels.
    Conv,
    /// 1x1.
    Pointwise,
}

/// A convolution, its normalisation (or bias), perhaps a residual, and a ReLU.
#[derive(Clone, Debug)]
pub(crate) struct Unit {
    pub(crate) name: String,
    pub(crate) operation: Operation,
    pub(crate) channels: Channels,
    /// The unit whose output it reads; the first reads the planes.
    pub(crate) input: usize,
    /// The unit whose output is added before the ReLU.
    pub(crate) residual: Option<usize>,
    pub(crate) weight: Range<usize>,
    /// The normalisation's scale, and its running mean and variance in the other store.
    pub(crate) norm: Option<Norm>,
    /// The normalisation's shift, or the bias.
    pub(crate) shift: Range<usize>,
}

/// Where a normalisation's numbers stand.
#[derive(Clone, Debug)]
pub(crate) struct Norm {
    pub(crate) scale: Range<usize>,
    pub(crate) mean: Range<usize>,
    pub(crate) variance: Range<usize>,
}

/// A network with its gradients and what it remembers of the last forward pass.
#[derive(Debug)]
pub struct BoardNet {
    spec: BoardSpec,
    level: Level,
    weights: Store,
    running: Store,
    units: Vec<Unit>,
    heads: Heads,
    gradients: Vec<f32>,
    prepared: Vec<Prepared>,
    /// Whether `prepared` is that of the present weights.
    fresh: bool,
    tape: Tape,
    slopes: Slopes,
    /// The gradients of one unit's weights, chunk by chunk.
    partial: Vec<f32>,
    scratch: Mutex<Vec<Scratch>>,
}

/// A unit's weights in the forms that its kernels want: transformed for the Winograd convolution, transposed for the way back.
#[derive(Clone, Debug, Default)]
struct Prepared {
    forward: Vec<f32>,
    backward: Vec<f32>,
}

/// What the way back needs of the last forward pass.
#[derive(Debug, Default)]
struct Tape {
    shape: Option<Shape>,
    planes: Vec<f32>,
    /// For each unit its numbers before the normalisation, and its output.
    raw: Vec<Vec<f32>>,
    out: Vec<Vec<f32>>,
    /// For each unit the mean and the inverse deviation of each channel.
    moments: Vec<(Vec<f32>, Vec<f32>)>,
    pooled: Vec<f32>,
    hidden: Vec<f32>,
    outputs: Outputs,
}

/// Gradients on the way back, kept so that their memory is used again.
#[derive(Debug, Default)]
struct Slopes {
    policy: Vec<f32>,
    value: Vec<f32>,
    /// At the output of the block that is gone through, and between its two units.
    block: Vec<f32>,
    inside: Vec<f32>,
}

/// The batch of a forward pass.
#[derive(Clone, Debug)]
struct Shape {
    board: Board,
    positions: usize,
    /// Positions of a chunk; the last may have fewer.
    chunk: usize,
    tiling: Tiling,
    neighbours: Neighbours,
}

/// What one worker works in.
#[derive(Debug, Default)]
struct Scratch {
    work: Workspace,
    patches: Vec<f32>,
    d_raw: Vec<f32>,
    du: Vec<f32>,
}

impl BoardNet {
    /// A network with random weights (He et al. 2015), drawn from `uniform`, which gives numbers in [0, 1). The last
    /// layers start at a tenth, so that the first policies are nearly even and the first values nearly 0.
    ///
    /// # Errors
    /// [`NetError::Spec`].
    pub fn new(spec: BoardSpec, uniform: &mut dyn FnMut() -> f32) -> Result<BoardNet, NetError> {
        spec.check()?;
        let (mut weights, mut running) = (Store::default(), Store::default());
        let mut units = Vec::new();
        let trunk = Channels { input: spec.channels, output: spec.channels };
        let mut unit = |name: String, operation, channels: Channels, input, residual| {
            let Channels { input: from, output: to } = channels;
            let kind = match operation {
                Operation::Pointwise => Kind::Pointwise { input: from, output: to },
                Operation::Planes | Operation::Conv => Kind::Conv { input: from, output: to },
            };
            let vector = Kind::Vector { n: to };
            let weight = weights.add(format!("{name}.conv.weight"), kind);
            let norm = spec.norm.then(|| Norm {
                scale: weights.add(format!("{name}.norm.weight"), vector),
                mean: running.add(format!("{name}.norm.running_mean"), vector),
                variance: running.add(format!("{name}.norm.running_var"), vector),
            });
            let of = if spec.norm { "norm" } else { "conv" };
            let shift = weights.add(format!("{name}.{of}.bias"), vector);
            units.push(Unit { name, operation, channels, input, residual, weight, norm, shift });
        };
        let stem = Channels { input: spec.planes, output: spec.channels };
        unit("stem".into(), Operation::Planes, stem, 0, None);
        for block in 0..spec.blocks {
            unit(format!("blocks.{block}.first"), Operation::Conv, trunk, 2 * block, None);
            unit(format!("blocks.{block}.second"), Operation::Conv, trunk, 2 * block + 1, Some(2 * block));
        }
        let features = |output| Channels { input: spec.channels, output };
        unit("policy".into(), Operation::Pointwise, features(POLICY_FEATURES), 2 * spec.blocks, None);
        unit("value".into(), Operation::Pointwise, features(VALUE_FEATURES), 2 * spec.blocks, None);
        let heads = Heads::new(&mut weights, spec.actions);

        let mut draw = |range: &Range<usize>, inputs: usize, gain: f32| {
            let bound = gain * (6.0 / inputs as f32).sqrt();
            weights.fill(range, || bound * (2.0 * uniform() - 1.0));
        };
        for unit in &units {
            let taps = if unit.operation == Operation::Pointwise { 1 } else { 9 };
            // Without normalisation each block would double the variance: the second convolutions share it out.
            let gain = if unit.residual.is_some() { (spec.blocks as f32).sqrt().recip() } else { 1.0 };
            draw(&unit.weight, taps * unit.channels.input, gain);
        }
        draw(&heads.policy_weight, POLICY_FEATURES, 0.1);
        draw(&heads.hidden_weight, POOLED, 1.0);
        draw(&heads.value_weight, HIDDEN, 0.1);
        for norm in units.iter().filter_map(|unit| unit.norm.as_ref()) {
            weights.data[norm.scale.clone()].fill(1.0);
            running.data[norm.variance.clone()].fill(1.0);
        }
        Ok(BoardNet {
            spec,
            level: Level::best(),
            gradients: vec![0.0; weights.data.len()],
            prepared: vec![Prepared::default(); units.len()],
            fresh: false,
            tape: Tape::default(),
            slopes: Slopes::default(),
            partial: Vec::new(),
            scratch: Mutex::default(),
            weights,
            running,
            units,
            heads,
        })
    }

    /// What this network is.
    pub fn spec(&self) -> &BoardSpec {
        &self.spec
    }

    /// How many numbers are learnt (with the padding of the last layers).
    pub fn weights_len(&self) -> usize {
        self.weights.data.len()
    }

    /// All weights and running moments, with names and shapes as PyTorch gives them.
    pub fn tensors(&self) -> Vec<Tensor> {
        let mut tensors = self.weights.named(&self.weights.data);
        tensors.extend(self.running.named(&self.running.data));
        tensors
    }

    /// The gradients gathered since the last step, under the names of their weights.
    pub fn gradients(&self) -> Vec<Tensor> {
        self.weights.named(&self.gradients)
    }

    /// Replaces all weights and running moments; nothing changes if one is refused.
    ///
    /// # Errors
    /// If a tensor is missing, is one too many, has another shape or holds a number that is not finite.
    pub fn load(&mut self, tensors: &[Tensor]) -> Result<(), NetError> {
        refuse_others(&[&self.weights, &self.running], tensors)?;
        let weights = self.weights.laid_out(tensors)?;
        self.running.data = self.running.laid_out(tensors)?;
        self.weights.data = weights;
        self.fresh = false;
        Ok(())
    }

    /// A copy of the present weights, made ready to evaluate positions on boards of this size. Kernels are chosen for
    /// batches of `nominal_batch` positions; others are served as well.
    ///
    /// # Errors
    /// [`NetError::Spec`] for an empty board.
    pub fn inference(&self, board: Board, nominal_batch: usize) -> Result<BoardInference, NetError> {
        check_board(board)?;
        Ok(self.inference_by(board, Way::Single { nominal_batch }))
    }

    /// As [`BoardNet::inference`], with the blocks in bfloat16: several times as fast, with 8 bits of precision in the
    /// blocks' inputs and weights. The outputs have other bits, so this is never taken unasked. `None` where the
    /// processor has no tiles for it (AMX) or [`Level::best`] is forced below AVX-512, or the channels are no multiple
    /// of 32.
    ///
    /// # Errors
    /// [`NetError::Spec`] for an empty board.
    pub fn inference_bf16(&self, board: Board) -> Result<Option<BoardInference>, NetError> {
        check_board(board)?;
        let possible = tiles::permitted() && self.spec.channels.is_multiple_of(32);
        Ok(possible.then(|| self.inference_by(board, Way::Half { software: false })))
    }

    pub(crate) fn inference_by(&self, board: Board, way: Way) -> BoardInference {
        let (weights, running) = (&self.weights.data, &self.running.data);
        BoardInference::new(&self.spec, &self.units, &self.heads, weights, running, board, way)
    }

    /// The outputs for a batch, `planes` being `[positions][planes][height][width]`, with the moments of this batch where
    /// the network normalises; what [`BoardNet::backward`] needs is kept.
    ///
    /// # Errors
    /// If the planes do not fit the board, are none, or hold a number that is not finite.
    pub fn forward(&mut self, board: Board, planes: &[f32], workers: &Workers) -> Result<&Outputs, NetError> {
        check_board(board)?;
        let one = self.spec.planes * board.area();
        let positions = planes.len().div_ceil(one).max(1);
        check("the planes", planes, positions * one)?;
        self.prepare(workers);
        self.tape.prepare(board, positions, &self.units, board.actions(self.spec.actions));
        self.tape.planes.clear();
        self.tape.planes.extend_from_slice(planes);
        for unit in 0..self.units.len() {
            self.unit_forward(unit, workers);
        }
        self.heads_forward(workers);
        Ok(&self.tape.outputs)
    }

    /// Adds to the gradients those of a loss whose gradient by the outputs of the last forward pass is `d`.
    ///
    /// # Errors
    /// If `d` has another shape than those outputs, or holds a number that is not finite.
    ///
    /// # Panics
    /// If there was no forward pass.
    pub fn backward(&mut self, d: &Outputs, workers: &Workers) -> Result<(), NetError> {
        check("the policy's gradient", &d.policy, self.tape.outputs.policy.len())?;
        check("the value's gradient", &d.value, self.tape.outputs.value.len())?;
        let rows = self.tape.shape().rows();
        let mut slopes = std::mem::take(&mut self.slopes);
        let Slopes { policy, value, block: at_block, inside } = &mut slopes;
        policy.resize(rows * POLICY_FEATURES, 0.0);
        value.resize(rows * VALUE_FEATURES, 0.0);
        at_block.resize(rows * self.spec.channels, 0.0);
        inside.resize(rows * self.spec.channels, 0.0);
        self.heads_backward(d, policy, value, workers);
        let trunk = 2 * self.spec.blocks;
        let (set, add) = (false, true);
        self.unit_backward(trunk + 1, policy, at_block, set, workers);
        self.unit_backward(trunk + 2, value, at_block, add, workers);
        for block in (0..self.spec.blocks).rev() {
            self.unit_backward(2 * block + 2, at_block, inside, set, workers);
            // Through its ReLU, `at_block` is by now the gradient of the residual connection too.
            self.unit_backward(2 * block + 1, inside, at_block, add, workers);
        }
        self.unit_backward(0, at_block, &mut [], set, workers);
        self.slopes = slopes;
        Ok(())
    }

    /// Lets the optimiser change the weights by the gradients gathered since the last step, and forgets those.
    pub fn step(&mut self, optimiser: &mut Optimiser, rate: f32) {
        let decayed = self.weights.decayed();
        optimiser.step(rate, &mut self.weights.data, &mut self.gradients, &decayed);
        self.gradients.fill(0.0);
        self.fresh = false;
    }

    /// The units, the heads, and all weights as inference uses them, under the names of a network without normalisation.
    pub(crate) fn folded(&self) -> (&[Unit], &Heads, Vec<Tensor>) {
        let mut plain = Store::default();
        for unit in &self.units {
            let Channels { input, output } = unit.channels;
            let kind = match unit.operation {
                Operation::Pointwise => Kind::Pointwise { input, output },
                Operation::Planes | Operation::Conv => Kind::Conv { input, output },
            };
            let (weight, bias) = fold(unit, &self.weights.data, &self.running.data);
            let place = plain.add(format!("{}.conv.weight", unit.name), kind);
            plain.data[place].copy_from_slice(&weight);
            let place = plain.add(format!("{}.conv.bias", unit.name), Kind::Vector { n: output });
            plain.data[place].copy_from_slice(&bias);
        }
        let mut tensors = plain.named(&plain.data);
        tensors.extend(self.weights.named_within(&self.heads.range(), &self.weights.data));
        (&self.units, &self.heads, tensors)
    }

    /// Brings the weights into the forms that the kernels want.
    fn prepare(&mut self, workers: &Workers) {
        if self.fresh {
            return;
        }
        let (level, weights) = (self.level, &self.weights.data);
        let items = self.units.iter().zip(&mut self.prepared).collect();
        workers.each(items, |(unit, prepared): (&Unit, &mut Prepared)| {
            let Channels { input, output } = unit.channels;
            let weights = &weights[unit.weight.clone()];
            match unit.operation {
                Operation::Planes => {}
                Operation::Pointwise => prepared.backward = transposed(weights, input, output),
                Operation::Conv => {
                    let length = winograd::weights_len(input * output);
                    prepared.forward.resize(length, 0.0);
                    prepared.backward.resize(length, 0.0);
                    winograd::transform_weights(level, weights, &mut prepared.forward);
                    winograd::transform_weights(level, &transposed(weights, input, output), &mut prepared.backward);
                }
            }
        });
        self.fresh = true;
    }

    fn unit_forward(&mut self, index: usize, workers: &Workers) {
        let unit = &self.units[index];
        let shape = self.tape.shape.as_ref().expect("prepared");
        let (level, channels, area) = (self.level, unit.channels, shape.board.area());
        let mut raw = std::mem::take(&mut self.tape.raw[index]);
        let mut out = std::mem::take(&mut self.tape.out[index]);
        let x = if unit.operation == Operation::Planes { &self.tape.planes } else { &self.tape.out[unit.input] };
        let weights = &self.weights.data[unit.weight.clone()];
        let step = shape.chunk * area;
        let mut sums = vec![0.0f64; CHUNKS * 2 * channels.output];
        let items = x
            .chunks(step * channels.input)
            .zip(raw.chunks_mut(step * channels.output))
            .zip(sums.chunks_mut(2 * channels.output))
            .collect();
        workers.each(items, |((x, raw), sums): ((&[f32], &mut [f32]), &mut [f64])| {
            let mut scratch = self.scratch.take();
            let group = shape.tiling.positions_at_once() * area;
            for (x, raw) in x.chunks(group * channels.input).zip(raw.chunks_mut(group * channels.output)) {
                match unit.operation {
                    Operation::Planes => {
                        let patches = scratch.patches(&shape.neighbours, channels.input, x);
                        let (m, k) = (raw.len() / channels.output, 9 * channels.input);
                        let left = Left { data: patches, row: k, column: 1 };
                        let size = Size { m, n: channels.output, k };
                        gemm(level, size, left, weights, channels.output, raw, channels.output, false);
                    }
                    Operation::Conv => {
                        let u = &self.prepared[index].forward;
                        let work = &mut scratch.work;
                        winograd::forward(level, &shape.tiling, channels, u, x, Finish::default(), raw, work);
                    }
                    Operation::Pointwise => {
                        let left = Left { data: x, row: channels.input, column: 1 };
                        let size = Size { m: raw.len() / channels.output, n: channels.output, k: channels.input };
                        gemm(level, size, left, weights, channels.output, raw, channels.output, false);
                    }
                }
                if unit.norm.is_some() {
                    pointwise::add_moments(level, channels.output, area, raw, sums);
                }
            }
            self.scratch.put(scratch);
        });

        let shift = &self.weights.data[unit.shift.clone()];
        let mut scale = vec![1.0; channels.output];
        let mut moved = shift.to_vec();
        if let Some(norm) = &unit.norm {
            let rows = shape.rows() as f64;
            let (mean, inverse) = &mut self.tape.moments[index];
            for c in 0..channels.output {
                let total = |at: usize| sums.chunks(2 * channels.output).map(|s| s[at]).sum::<f64>() / rows;
                let average = total(c);
                let variance = (total(channels.output + c) - average * average).max(0.0);
                mean[c] = average as f32;
                inverse[c] = (variance + f64::from(EPSILON)).sqrt().recip() as f32;
                scale[c] = self.weights.data[norm.scale.start + c] * inverse[c];
                moved[c] = shift[c] - mean[c] * scale[c];
                // The running variance is the unbiased one, as PyTorch has it.
                let unbiased = variance * rows / (rows - 1.0).max(1.0);
                let run = |from: &mut f32, to: f64| *from += RUNNING * (to as f32 - *from);
                run(&mut self.running.data[norm.mean.start + c], average);
                run(&mut self.running.data[norm.variance.start + c], unbiased);
            }
        }
        let residual = unit.residual.map(|unit| &self.tape.out[unit]);
        let length = step * channels.output;
        let items = raw.chunks(length).zip(out.chunks_mut(length)).enumerate().collect();
        workers.each(items, |(n, (raw, out)): (usize, (&[f32], &mut [f32]))| {
            let residual = residual.map_or(&[][..], |r| &r[n * length..][..out.len()]);
            pointwise::scale_shift_relu(level, raw, &scale, &moved, residual, out);
        });
        self.tape.raw[index] = raw;
        self.tape.out[index] = out;
    }

    /// From `d`, the gradient at the unit's output, to that at its input, which `dx` is set to, or which is added to it; on the
    /// way `d` goes through the ReLU.
    fn unit_backward(&mut self, index: usize, d: &mut [f32], dx: &mut [f32], add: bool, workers: &Workers) {
        let unit = &self.units[index];
        let shape = self.tape.shape.as_ref().expect("a forward pass");
        let (level, channels, area) = (self.level, unit.channels, shape.board.area());
        let (raw, out) = (&self.tape.raw[index], &self.tape.out[index]);
        let (mean, inverse) = &self.tape.moments[index];
        let step = shape.chunk * area;
        let length = step * channels.output;
        let mut sums = vec![0.0f64; CHUNKS * 2 * channels.output];
        let items = raw
            .chunks(length)
            .zip(out.chunks(length))
            .zip(d.chunks_mut(length).zip(sums.chunks_mut(2 * channels.output)))
            .collect();
        workers.each(items, |((raw, out), (d, sums))| {
            pointwise::relu_back_and_sums(level, area, raw, mean, out, d, sums);
        });

        // d raw = by_d d + by_raw raw + constant; without normalisation it is d itself.
        let mut by_d = vec![1.0; channels.output];
        let mut by_raw = vec![0.0; channels.output];
        let mut constant = vec![0.0; channels.output];
        let rows = shape.rows() as f64;
        for c in 0..channels.output {
            let total = |at: usize| sums.chunks(2 * channels.output).map(|s| s[at]).sum::<f64>();
            let d_shift = total(c);
            self.gradients[unit.shift.start + c] += d_shift as f32;
            if let Some(norm) = &unit.norm {
                let inverse = f64::from(inverse[c]);
                let d_scale = total(channels.output + c) * inverse;
                self.gradients[norm.scale.start + c] += d_scale as f32;
                let by = f64::from(self.weights.data[norm.scale.start + c]) * inverse;
                let slope = -by * d_scale / rows * inverse;
                by_d[c] = by as f32;
                by_raw[c] = slope as f32;
                constant[c] = (-by * d_shift / rows - slope * f64::from(mean[c])) as f32;
            }
        }

        let x = if unit.operation == Operation::Planes { &self.tape.planes } else { &self.tape.out[unit.input] };
        let d = &*d;
        let chunks = shape.positions.div_ceil(shape.chunk);
        let mut partial = std::mem::take(&mut self.partial);
        partial.resize(unit.weight.len() * chunks, 0.0);
        let mut dx_chunks: Vec<&mut [f32]> = dx.chunks_mut(step * channels.input).collect();
        // The first unit has no gradient at its input.
        dx_chunks.resize_with(chunks, Default::default);
        let items = dx_chunks.into_iter().zip(partial.chunks_mut(unit.weight.len())).enumerate().collect();
        workers.each(items, |(n, (dx, dw)): (usize, (&mut [f32], &mut [f32]))| {
            let mut scratch = self.scratch.take();
            dw.fill(0.0);
            if !add {
                dx.fill(0.0);
            }
            let group = shape.tiling.positions_at_once() * area;
            let rows = n * step..shape.rows().min((n + 1) * step);
            if unit.operation == Operation::Conv {
                scratch.du.clear();
                scratch.du.resize(winograd::weights_len(channels.input * channels.output), 0.0);
            }
            let mut d_raw = std::mem::take(&mut scratch.d_raw);
            for start in rows.clone().step_by(group) {
                let rows_here = group.min(rows.end - start);
                let here = |channels: usize| start * channels..(start + rows_here) * channels;
                let x = &x[here(channels.input)];
                d_raw.resize(rows_here * channels.output, 0.0);
                let (raw, d) = (&raw[here(channels.output)], &d[here(channels.output)]);
                pointwise::normalise_back(level, raw, d, &by_d, &by_raw, &constant, &mut d_raw);
                let mut here = start - rows.start..start - rows.start + rows_here;
                here = here.start * channels.input..here.end * channels.input;
                let product = |data: &[f32], columns: usize, dw: &mut [f32]| {
                    let size = Size { m: columns, n: channels.output, k: rows_here };
                    let left = Left { data, row: 1, column: columns };
                    gemm(level, size, left, &d_raw, channels.output, dw, channels.output, true);
                };
                match unit.operation {
                    Operation::Planes => {
                        let patches = scratch.patches(&shape.neighbours, channels.input, x);
                        product(patches, 9 * channels.input, dw);
                    }
                    Operation::Conv => {
                        let (u, du) = (&self.prepared[index].backward, &mut scratch.du);
                        let work = &mut scratch.work;
                        winograd::backward(level, &shape.tiling, channels, u, x, &d_raw, &mut dx[here], du, work);
                    }
                    Operation::Pointwise => {
                        product(x, channels.input, dw);
                        let size = Size { m: rows_here, n: channels.input, k: channels.output };
                        let left = Left { data: &d_raw, row: channels.output, column: 1 };
                        let weights = &self.prepared[index].backward;
                        gemm(level, size, left, weights, channels.input, &mut dx[here], channels.input, true);
                    }
                }
            }
            if unit.operation == Operation::Conv {
                winograd::transform_weights_back(level, &scratch.du, dw);
            }
            scratch.d_raw = d_raw;
            self.scratch.put(scratch);
        });
        for partial in partial.chunks(unit.weight.len()) {
            pointwise::add(level, partial, &mut self.gradients[unit.weight.clone()]);
        }
        self.partial = partial;
    }

    fn heads_forward(&mut self, workers: &Workers) {
        let Tape { shape, out, pooled, hidden, outputs, .. } = &mut self.tape;
        let shape = shape.as_ref().expect("prepared");
        let (board, chunk, trunk) = (shape.board, shape.chunk, 2 * self.spec.blocks);
        let items = pooled
            .chunks_mut(chunk * POOLED)
            .zip(hidden.chunks_mut(chunk * HIDDEN))
            .zip(outputs.policy.chunks_mut(chunk * board.actions(self.spec.actions)))
            .zip(outputs.value.chunks_mut(chunk))
            .zip(out[trunk + 1].chunks(chunk * board.area() * POLICY_FEATURES))
            .zip(out[trunk + 2].chunks(chunk * board.area() * VALUE_FEATURES))
            .collect();
        let weights = &self.weights.data;
        workers.each(items, |(((((pooled, hidden), policy), value), policy_features), value_features)| {
            let saved = &mut Saved { pooled, hidden };
            self.heads.forward(self.level, board, weights, policy_features, value_features, saved, policy, value);
        });
    }

    fn heads_backward(&mut self, d: &Outputs, d_policy: &mut [f32], d_value: &mut [f32], workers: &Workers) {
        let Tape { shape, out, pooled, hidden, outputs, .. } = &mut self.tape;
        let shape = shape.as_ref().expect("a forward pass");
        let (board, chunk, trunk) = (shape.board, shape.chunk, 2 * self.spec.blocks);
        let range = self.heads.range();
        let mut partial = vec![0.0; CHUNKS * range.len()];
        let (policy_rows, value_rows) = (chunk * board.area() * POLICY_FEATURES, chunk * board.area() * VALUE_FEATURES);
        let actions = chunk * board.actions(self.spec.actions);
        let items = pooled
            .chunks_mut(chunk * POOLED)
            .zip(hidden.chunks_mut(chunk * HIDDEN))
            .zip(out[trunk + 1].chunks(policy_rows).zip(out[trunk + 2].chunks(value_rows)))
            .zip(outputs.value.chunks(chunk).zip(d.policy.chunks(actions).zip(d.value.chunks(chunk))))
            .zip(d_policy.chunks_mut(policy_rows).zip(d_value.chunks_mut(value_rows)))
            .zip(partial.chunks_mut(range.len()))
            .collect();
        let weights = &self.weights.data;
        workers.each(items, |(((((pooled, hidden), features), (values, d)), d_features), d_weights)| {
            let saved = &Saved { pooled, hidden };
            self.heads.backward(
                self.level,
                board,
                weights,
                features.0,
                features.1,
                saved,
                values,
                d.0,
                d.1,
                d_features.0,
                d_features.1,
                d_weights,
            );
        });
        for partial in partial.chunks(range.len()) {
            pointwise::add(self.level, partial, &mut self.gradients[range.clone()]);
        }
    }
}

pub(crate) fn check_board(board: Board) -> Result<(), NetError> {
    if board.height == 0 || board.width == 0 {
        return Err(NetError::Spec(format!("a board of {} x {}", board.height, board.width)));
    }
    Ok(())
}

/// Each matrix of `rows` x `columns` in `weights`, transposed.
fn transposed(weights: &[f32], rows: usize, columns: usize) -> Vec<f32> {
    let mut out = vec![0.0; weights.len()];
    for (from, to) in weights.chunks(rows * columns).zip(out.chunks_mut(rows * columns)) {
        for (row, from) in from.chunks(columns).enumerate() {
            for (column, weight) in from.iter().enumerate() {
                to[column * rows + row] = *weight;
            }
        }
    }
    out
}

impl Shape {
    fn rows(&self) -> usize {
        self.positions * self.board.area()
    }
}

impl Tape {
    fn shape(&self) -> &Shape {
        self.shape.as_ref().expect("backward follows a forward pass")
    }

    /// Makes room for a batch.
    fn prepare(&mut self, board: Board, positions: usize, units: &[Unit], actions: usize) {
        if self.shape.as_ref().is_some_and(|shape| shape.board == board && shape.positions == positions) {
            return;
        }
        let shape = Shape {
            board,
            positions,
            chunk: positions.div_ceil(CHUNKS),
            tiling: Tiling::new(board.height, board.width),
            neighbours: Neighbours::new(board.height, board.width),
        };
        let rows = shape.rows();
        self.raw = units.iter().map(|unit| vec![0.0; rows * unit.channels.output]).collect();
        self.out = self.raw.clone();
        self.moments =
            units.iter().map(|unit| (vec![0.0; unit.channels.output], vec![1.0; unit.channels.output])).collect();
        self.pooled = vec![0.0; positions * POOLED];
        self.hidden = vec![0.0; positions * HIDDEN];
        self.outputs = Outputs::zeros(positions, actions);
        self.shape = Some(shape);
    }
}

impl Scratch {
    fn patches(&mut self, neighbours: &Neighbours, planes: usize, x: &[f32]) -> &[f32] {
        self.patches.resize(9 * x.len(), 0.0);
        neighbours.patches(planes, x, &mut self.patches);
        &self.patches
    }
}

/// A heap of work spaces: a worker takes one, or makes one, and puts it back.
trait Heap {
    fn take(&self) -> Scratch;
    fn put(&self, scratch: Scratch);
}

impl Heap for Mutex<Vec<Scratch>> {
    fn take(&self) -> Scratch {
        self.lock().expect("no worker panics while it holds the heap").pop().unwrap_or_default()
    }

    fn put(&self, scratch: Scratch) {
        self.lock().expect("no worker panics while it holds the heap").push(scratch);
    }
}
