//! A training step: forward, backward, and the change of the weights.
//!
//! Forward and backward go through the units, and each unit through chunks of the batch that the workers share. With
//! normalisation the moments of all chunks are joined before a unit goes on, so they are those of the whole batch.

use std::sync::Mutex;

use super::{BoardNet, EPSILON, Operation, Outputs, Unit, check_board};
use crate::error::{NetError, check};
use crate::heads::{Board, HIDDEN, POLICY_FEATURES, POOLED, Saved, VALUE_FEATURES};
use crate::kernels::direct;
use crate::kernels::gemm::{Left, Size, gemm};
use crate::kernels::pointwise;
use crate::kernels::winograd::{self, Channels, Finish, Tiling, Workspace};
use crate::optim::Optimiser;
use crate::partial::add_in_order;
use crate::workers::Workers;

/// Part of a batch's moments in the running ones, which inference uses.
const RUNNING: f32 = 0.1;
/// Parts into which a batch is cut: their gradients are computed apart and added in order, so this is also the largest
/// number of workers that training can use.
const CHUNKS: usize = 8;

/// A unit's weights in the forms that its kernels want: transformed for the Winograd convolution, transposed for the way back.
#[derive(Clone, Debug, Default)]
pub(super) struct Prepared {
    forward: Vec<f32>,
    backward: Vec<f32>,
}

/// What the way back needs of the last forward pass.
#[derive(Debug, Default)]
pub(super) struct Tape {
    shape: Option<Shape>,
    planes: Vec<f32>,
    /// For each unit its numbers before the normalisation, if it has one, and its output.
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
pub(super) struct Slopes {
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
}

/// What one worker works in.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    work: Workspace,
    patches: Vec<f32>,
    normalised: Vec<f32>,
    du: Vec<f32>,
}

impl BoardNet {
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
        self.tape.prepare(board, positions, &self.units, board.actions(self.spec.actions));
        self.tape.planes.clear();
        self.tape.planes.extend_from_slice(planes);
        workers.together(|| {
            self.prepare(workers);
            for unit in 0..self.units.len() {
                self.unit_forward(unit, workers);
            }
            self.heads_forward(workers);
        });
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
        workers.together(|| {
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
        });
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
        let (step, shift) = (shape.chunk * area, &self.weights.data[unit.shift.clone()]);
        let length = step * channels.output;
        let mut raw = std::mem::take(&mut self.tape.raw[index]);
        let mut out = std::mem::take(&mut self.tape.out[index]);
        let x = if index == 0 { &self.tape.planes } else { &self.tape.out[unit.input] };
        let residual = unit.residual.map(|unit| &self.tape.out[unit]);
        let residual_of = |n: usize, out: &[f32]| residual.map_or(&[][..], |r| &r[n * length..][..out.len()]);
        let weights = &self.weights.data[unit.weight.clone()];
        let mut sums = vec![0.0f64; CHUNKS * 2 * channels.output];
        // Without a normalisation, whose moments need the whole batch first, each group's output is finished at once.
        let product = if unit.norm.is_some() { &mut raw } else { &mut out };
        let items: Vec<_> = x
            .chunks(step * channels.input)
            .zip(product.chunks_mut(length))
            .zip(sums.chunks_mut(2 * channels.output))
            .enumerate()
            .collect();
        workers.each(items, |(n, ((x, y), sums))| {
            let mut scratch = self.scratch.take();
            let finished = unit.norm.is_none();
            if finished && residual.is_some() {
                y.copy_from_slice(residual_of(n, y));
            }
            let group = shape.tiling.positions_at_once() * area;
            for (x, y) in x.chunks(group * channels.input).zip(y.chunks_mut(group * channels.output)) {
                let rows = y.len() / channels.output;
                match unit.operation {
                    Operation::Planes => {
                        let patches = scratch.patches(shape.board, channels.input, x);
                        let left = Left { data: patches, row: 9 * channels.input, column: 1 };
                        let size = Size { m: rows, n: channels.output, k: 9 * channels.input };
                        gemm(level, size, left, weights, channels.output, y, channels.output, false);
                    }
                    Operation::Conv => {
                        let (u, work) = (&self.prepared[index].forward, &mut scratch.work);
                        let finish = Finish { bias: Some(shift), onto: residual.is_some(), relu: true };
                        let finish = if finished { finish } else { Finish::default() };
                        winograd::forward(level, &shape.tiling, channels, u, x, finish, y, work);
                    }
                    Operation::Pointwise => {
                        let left = Left { data: x, row: channels.input, column: 1 };
                        let size = Size { m: rows, n: channels.output, k: channels.input };
                        gemm(level, size, left, weights, channels.output, y, channels.output, false);
                    }
                }
                if !finished {
                    pointwise::add_moments(level, channels.output, area, y, sums);
                } else if unit.operation != Operation::Conv {
                    pointwise::bias_relu(level, shift, y);
                }
            }
            self.scratch.put(scratch);
        });

        if let Some(norm) = &unit.norm {
            let mut scale = vec![0.0; channels.output];
            let mut moved = vec![0.0; channels.output];
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
            let items = raw.chunks(length).zip(out.chunks_mut(length)).enumerate().collect();
            workers.each(items, |(n, (raw, out)): (usize, (&[f32], &mut [f32]))| {
                pointwise::scale_shift_relu(level, raw, &scale, &moved, residual_of(n, out), out);
            });
        }
        self.tape.raw[index] = raw;
        self.tape.out[index] = out;
    }

    /// From `d`, the gradient at the unit's output, to that at its input, which `dx` is set to, or which is added to it; on the
    /// way `d` goes through the ReLU.
    fn unit_backward(&mut self, index: usize, d: &mut [f32], dx: &mut [f32], add: bool, workers: &Workers) {
        let unit = &self.units[index];
        let shape = self.tape.shape.as_ref().expect("a forward pass");
        let (level, channels, area) = (self.level, unit.channels, shape.board.area());
        let out = &self.tape.out[index];
        // Without a normalisation nothing is kept from before it, and what is computed of it below is not used.
        let raw = if unit.norm.is_some() { &self.tape.raw[index] } else { out };
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

        let x = if index == 0 { &self.tape.planes } else { &self.tape.out[unit.input] };
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
            let mut normalised = std::mem::take(&mut scratch.normalised);
            for start in rows.clone().step_by(group) {
                let rows_here = group.min(rows.end - start);
                let here = |channels: usize| start * channels..(start + rows_here) * channels;
                let x = &x[here(channels.input)];
                let mut d_raw = &d[here(channels.output)];
                if unit.norm.is_some() {
                    normalised.resize(rows_here * channels.output, 0.0);
                    let raw = &raw[here(channels.output)];
                    pointwise::normalise_back(level, raw, d_raw, &by_d, &by_raw, &constant, &mut normalised);
                    d_raw = &normalised;
                }
                let mut here = start - rows.start..start - rows.start + rows_here;
                here = here.start * channels.input..here.end * channels.input;
                let product = |data: &[f32], columns: usize, dw: &mut [f32]| {
                    let size = Size { m: columns, n: channels.output, k: rows_here };
                    let left = Left { data, row: 1, column: columns };
                    gemm(level, size, left, d_raw, channels.output, dw, channels.output, true);
                };
                match unit.operation {
                    Operation::Planes => {
                        let patches = scratch.patches(shape.board, channels.input, x);
                        product(patches, 9 * channels.input, dw);
                    }
                    Operation::Conv => {
                        let (u, du) = (&self.prepared[index].backward, &mut scratch.du);
                        let work = &mut scratch.work;
                        winograd::backward(level, &shape.tiling, channels, u, x, d_raw, &mut dx[here], du, work);
                    }
                    Operation::Pointwise => {
                        product(x, channels.input, dw);
                        let size = Size { m: rows_here, n: channels.input, k: channels.output };
                        let left = Left { data: d_raw, row: channels.output, column: 1 };
                        let weights = &self.prepared[index].backward;
                        gemm(level, size, left, weights, channels.input, &mut dx[here], channels.input, true);
                    }
                }
            }
            if unit.operation == Operation::Conv {
                winograd::transform_weights_back(level, &scratch.du, dw);
            }
            scratch.normalised = normalised;
            self.scratch.put(scratch);
        });
        add_in_order(level, &partial, &mut self.gradients[unit.weight.clone()], workers);
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
        add_in_order(self.level, &partial, &mut self.gradients[range], workers);
    }
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
        };
        let rows = shape.rows();
        let numbers = |unit: &Unit| vec![0.0; rows * unit.channels.output];
        self.raw = units.iter().map(|unit| if unit.norm.is_some() { numbers(unit) } else { Vec::new() }).collect();
        self.out = units.iter().map(numbers).collect();
        self.moments =
            units.iter().map(|unit| (vec![0.0; unit.channels.output], vec![1.0; unit.channels.output])).collect();
        self.pooled = vec![0.0; positions * POOLED];
        self.hidden = vec![0.0; positions * HIDDEN];
        self.outputs = Outputs::zeros(positions, actions);
        self.shape = Some(shape);
    }
}

impl Scratch {
    fn patches(&mut self, board: Board, planes: usize, x: &[f32]) -> &[f32] {
        self.patches.resize(9 * x.len(), 0.0);
        direct::patches((board.height, board.width), planes, x, &mut self.patches);
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
