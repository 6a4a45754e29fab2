//! Evaluating positions with weights that no longer change.
//!
//! A normalisation by running moments is a factor and a shift for each channel, so it is folded into the weights and the
//! bias of the convolution before it: w' = w s and b' = shift - mean s with s = scale / sqrt(variance + epsilon).

use std::ops::Range;
use std::sync::Mutex;

use crate::error::{NetError, check};
use crate::heads::{Board, HIDDEN, Heads, POOLED, Saved};
use crate::kernels::direct::{self, Neighbours};
use crate::kernels::gemm::{Left, Size, gemm};
use crate::kernels::pointwise;
use crate::kernels::winograd::{self, Channels, Finish, Tiling, Workspace};
use crate::math::Level;
use crate::residual::{BoardSpec, EPSILON, Operation, Outputs, Unit};
use crate::workers::Workers;

/// Most positions that go through all layers together: enough to make use of each layer's weights while they are in
/// the cache.
const CHUNK_ROWS: usize = 2700;

/// A network's weights as they were, ready to evaluate positions on boards of one size. Shared freely between threads.
///
/// A position's outputs have the same bits in any batch.
#[derive(Debug)]
pub struct BoardInference {
    level: Level,
    board: Board,
    planes: usize,
    channels: usize,
    units: Vec<Folded>,
    heads: Heads,
    /// The weights that the heads' ranges point into.
    weights: Vec<f32>,
    tiling: Tiling,
    neighbours: Neighbours,
    winograd: bool,
    scratch: Mutex<Vec<Scratch>>,
}

/// A unit with its normalisation folded in.
#[derive(Debug)]
struct Folded {
    channels: Channels,
    /// Transformed where the convolution is Winograd's.
    weights: Vec<f32>,
    bias: Vec<f32>,
    residual: bool,
}

/// A unit's weights and bias with its normalisation folded in, laid out as in the store.
pub(crate) fn fold(unit: &Unit, weights: &[f32], running: &[f32]) -> (Vec<f32>, Vec<f32>) {
    let numbers = |range: &Range<usize>, from: &[f32]| from[range.clone()].to_vec();
    let (mut folded, mut bias) = (numbers(&unit.weight, weights), numbers(&unit.shift, weights));
    let Some(norm) = &unit.norm else { return (folded, bias) };
    let (mean, variance) = (&running[norm.mean.clone()], &running[norm.variance.clone()]);
    let scale = &weights[norm.scale.clone()];
    let factor: Vec<f32> = scale.iter().zip(variance).map(|(s, v)| s / (v + EPSILON).sqrt()).collect();
    for row in folded.chunks_mut(unit.channels.output) {
        for (weight, factor) in row.iter_mut().zip(&factor) {
            *weight *= factor;
        }
    }
    for ((bias, mean), factor) in bias.iter_mut().zip(mean).zip(&factor) {
        *bias -= mean * factor;
    }
    (folded, bias)
}

/// What one chunk of positions is evaluated in.
#[derive(Debug, Default)]
struct Scratch {
    work: Workspace,
    patches: Vec<f32>,
    /// A block's input, what is between its units, and a feature map of the heads.
    trunk: Vec<f32>,
    inside: Vec<f32>,
    policy: Vec<f32>,
    value: Vec<f32>,
    pooled: Vec<f32>,
    hidden: Vec<f32>,
}

impl BoardInference {
    pub(crate) fn new(
        spec: &BoardSpec,
        units: &[Unit],
        heads: &Heads,
        weights: &[f32],
        running: &[f32],
        board: Board,
        nominal_batch: usize,
    ) -> BoardInference {
        let level = Level::best();
        let tiling = Tiling::new(board.height, board.width);
        // Winograd's weights are four times as long and must come from memory for each batch, which few tiles cannot
        // pay for. Measured: results/2026-11-30-networks.
        let winograd = nominal_batch * tiling.tiles() >= 12;
        let prepare = |unit: &Unit| {
            let (mut folded, bias) = fold(unit, weights, running);
            if unit.operation == Operation::Conv && winograd {
                let mut u = vec![0.0; winograd::weights_len(unit.channels.input * unit.channels.output)];
                winograd::transform_weights(level, &folded, &mut u);
                folded = u;
            }
            let residual = unit.residual.is_some();
            Folded { channels: unit.channels, weights: folded, bias, residual }
        };
        BoardInference {
            level,
            board,
            planes: spec.planes,
            channels: spec.channels,
            units: units.iter().map(prepare).collect(),
            heads: heads.clone(),
            weights: weights.to_vec(),
            tiling,
            neighbours: Neighbours::new(board.height, board.width),
            winograd,
            scratch: Mutex::default(),
        }
    }

    /// The board's size.
    pub fn board(&self) -> Board {
        self.board
    }

    /// Writes the outputs for a batch, `planes` being `[positions][planes][height][width]`.
    ///
    /// # Errors
    /// If the planes do not fit the board, or hold a number that is not finite.
    pub fn run(&self, planes: &[f32], workers: &Workers, outputs: &mut Outputs) -> Result<(), NetError> {
        let one = self.planes * self.board.area();
        let positions = planes.len().div_ceil(one);
        check("the planes", planes, positions * one)?;
        let actions = self.board.actions(self.heads.actions);
        outputs.policy.resize(positions * actions, 0.0);
        outputs.value.resize(positions, 0.0);
        let largest = (CHUNK_ROWS / self.board.area()).max(self.tiling.positions_at_once());
        let chunk = positions.div_ceil(workers.threads()).clamp(1, largest);
        let items = planes
            .chunks(chunk * one)
            .zip(outputs.policy.chunks_mut(chunk * actions))
            .zip(outputs.value.chunks_mut(chunk))
            .collect();
        workers.each(items, |((planes, policy), value)| {
            let mut scratch = self.lock().pop().unwrap_or_default();
            self.chunk(planes, policy, value, &mut scratch);
            self.lock().push(scratch);
        });
        Ok(())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Scratch>> {
        self.scratch.lock().expect("no worker panics while it holds the heap")
    }

    fn chunk(&self, planes: &[f32], policy: &mut [f32], value: &mut [f32], scratch: &mut Scratch) {
        let rows = value.len() * self.board.area();
        let Scratch { work, patches, trunk, inside, .. } = scratch;
        trunk.resize(rows * self.channels, 0.0);
        inside.resize(rows * self.channels, 0.0);
        let [stem, blocks @ .., policy_unit, value_unit] = &self.units[..] else {
            unreachable!("a network has a first unit and two heads")
        };
        patches.resize(9 * planes.len(), 0.0);
        self.neighbours.patches(self.planes, planes, patches);
        self.product(stem, patches, trunk);
        for block in blocks.chunks_exact(2) {
            self.conv(&block[0], trunk, inside, work);
            self.conv(&block[1], inside, trunk, work);
        }
        let Scratch { trunk, policy: policy_features, value: value_features, pooled, hidden, .. } = scratch;
        policy_features.resize(rows * policy_unit.channels.output, 0.0);
        value_features.resize(rows * value_unit.channels.output, 0.0);
        self.product(policy_unit, trunk, policy_features);
        self.product(value_unit, trunk, value_features);
        pooled.resize(value.len() * POOLED, 0.0);
        hidden.resize(value.len() * HIDDEN, 0.0);
        let saved = &mut Saved { pooled, hidden };
        let weights = &self.weights;
        self.heads.forward(self.level, self.board, weights, policy_features, value_features, saved, policy, value);
    }

    /// A unit whose input has one row for each point: patches of the planes, or the trunk.
    fn product(&self, unit: &Folded, x: &[f32], y: &mut [f32]) {
        let n = unit.channels.output;
        let size = Size { m: y.len() / n, n, k: unit.weights.len() / n };
        gemm(self.level, size, Left { data: x, row: size.k, column: 1 }, &unit.weights, n, y, n, false);
        pointwise::bias_relu(self.level, &unit.bias, y);
    }

    fn conv(&self, unit: &Folded, x: &[f32], y: &mut [f32], work: &mut Workspace) {
        let finish = Finish { bias: Some(&unit.bias), onto: unit.residual, relu: true };
        if self.winograd {
            winograd::forward(self.level, &self.tiling, unit.channels, &unit.weights, x, finish, y, work);
        } else {
            direct::forward(self.level, &self.neighbours, unit.channels, &unit.weights, x, finish, y);
        }
    }
}
