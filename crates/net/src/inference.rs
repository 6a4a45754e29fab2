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
use crate::kernels::int8::{self, Int8Scratch, Int8Trunk};
use crate::kernels::pointwise;
use crate::kernels::tiles::{self, HalfScratch, HalfTrunk, Software};
use crate::kernels::winograd::{self, Channels, Finish, Tiling, Workspace};
use crate::math::{LEVEL_VARIABLE, Level};
use crate::residual::{BoardSpec, EPSILON, Outputs, Unit};
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
    stem: Folded,
    blocks: Blocks,
    policy: Folded,
    value: Folded,
    heads: Heads,
    /// The weights that the heads' ranges point into.
    weights: Vec<f32>,
    tiling: Tiling,
    neighbours: Neighbours,
    scratch: Mutex<Vec<Scratch>>,
}

/// Numbers shorter than f32, for the weights and the inputs of a network's blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// bfloat16, the upper half of an f32: its range, with 8 bits of precision. On the tiles of AMX.
    Bf16,
    /// Integers of 8 bits, times a step for each output's weights and one for each position's inputs. By AVX512-VNNI.
    Int8,
}

impl Precision {
    /// # Errors
    /// [`NetError::Spec`] if the processor cannot do it, or not with so many channels.
    pub(crate) fn check(self, channels: usize) -> Result<(), NetError> {
        let (permitted, instructions) = match self {
            Precision::Bf16 => (tiles::permitted(), "the tiles of AMX"),
            Precision::Int8 => (int8::permitted(), "AVX512-VNNI"),
        };
        if !permitted {
            let why = format!("which this processor lacks or {LEVEL_VARIABLE} rules out");
            return Err(NetError::Spec(format!("one in {self:?} needs {instructions}, {why}")));
        }
        if !channels.is_multiple_of(32) {
            return Err(NetError::Spec(format!("{channels} channels in {self:?}, where a multiple of 32 is needed")));
        }
        Ok(())
    }
}

/// How the blocks are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// In f32, by the convolution that suits batches of so many positions.
    Single { nominal_batch: usize },
    /// By the processor's instructions for this precision, or by those in plain Rust.
    Low { precision: Precision, software: bool },
}

/// The blocks in the form that their way wants.
#[derive(Debug)]
enum Blocks {
    Direct(Vec<Folded>),
    Winograd(Vec<Folded>),
    Bf16 { trunk: HalfTrunk, software: bool },
    Int8 { trunk: Int8Trunk, software: bool },
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
    half: HalfScratch,
    int8: Int8Scratch,
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
        way: Way,
    ) -> BoardInference {
        let level = Level::best();
        let tiling = Tiling::new(board.height, board.width);
        let plain = |unit: &Unit| {
            let (weights, bias) = fold(unit, weights, running);
            Folded { channels: unit.channels, weights, bias, residual: unit.residual.is_some() }
        };
        let transformed = |unit: &Unit| {
            let folded = plain(unit);
            let mut u = vec![0.0; winograd::weights_len(unit.channels.input * unit.channels.output)];
            winograd::transform_weights(level, &folded.weights, &mut u);
            Folded { weights: u, ..folded }
        };
        let [stem, blocks @ .., policy, value] = units else {
            unreachable!("a network has a first unit and two heads")
        };
        let blocks = match way {
            // Winograd's weights are four times as long and must come from memory for each batch, which few tiles cannot
            // pay for. Measured: results/2026-11-30-networks.
            Way::Single { nominal_batch } if nominal_batch * tiling.tiles() >= 8 => {
                Blocks::Winograd(blocks.iter().map(transformed).collect())
            }
            Way::Single { .. } => Blocks::Direct(blocks.iter().map(plain).collect()),
            Way::Low { precision, software } => {
                let convolutions: Vec<_> = blocks.iter().map(|unit| fold(unit, weights, running)).collect();
                let Board { height, width } = board;
                match precision {
                    Precision::Bf16 => {
                        Blocks::Bf16 { trunk: HalfTrunk::new(height, width, spec.channels, &convolutions), software }
                    }
                    Precision::Int8 => {
                        Blocks::Int8 { trunk: Int8Trunk::new(height, width, spec.channels, &convolutions), software }
                    }
                }
            }
        };
        BoardInference {
            level,
            board,
            planes: spec.planes,
            channels: spec.channels,
            stem: plain(stem),
            blocks,
            policy: plain(policy),
            value: plain(value),
            heads: heads.clone(),
            weights: weights.to_vec(),
            tiling,
            neighbours: Neighbours::new(board.height, board.width),
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
        let Scratch {
            work,
            half,
            int8,
            patches,
            trunk,
            inside,
            policy: policy_features,
            value: value_features,
            pooled,
            hidden,
        } = scratch;
        trunk.resize(rows * self.channels, 0.0);
        inside.resize(rows * self.channels, 0.0);
        patches.resize(9 * planes.len(), 0.0);
        direct::patches((self.board.height, self.board.width), self.planes, planes, patches);
        self.product(&self.stem, patches, trunk);
        match &self.blocks {
            Blocks::Direct(blocks) | Blocks::Winograd(blocks) => {
                for block in blocks.chunks_exact(2) {
                    self.conv(&block[0], trunk, inside, work);
                    self.conv(&block[1], inside, trunk, work);
                }
            }
            Blocks::Bf16 { trunk: blocks, software } => {
                let mut plain = Software::new();
                match tiles::processor().filter(|_| !software) {
                    Some(mut tiles) => blocks.run(self.level, &mut tiles, trunk, half),
                    None => blocks.run(self.level, &mut plain, trunk, half),
                }
            }
            Blocks::Int8 { trunk: blocks, software } => blocks.run(*software, trunk, int8),
        }
        policy_features.resize(rows * self.policy.channels.output, 0.0);
        value_features.resize(rows * self.value.channels.output, 0.0);
        self.product(&self.policy, trunk, policy_features);
        self.product(&self.value, trunk, value_features);
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
        if matches!(self.blocks, Blocks::Winograd(_)) {
            winograd::forward(self.level, &self.tiling, unit.channels, &unit.weights, x, finish, y, work);
        } else {
            direct::forward(self.level, &self.neighbours, unit.channels, &unit.weights, x, finish, y);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heads::Actions;
    use crate::math::exp;
    use crate::optim::{Optimiser, Rule};
    use crate::residual::BoardNet;
    use crate::test_data::numbers;

    /// A network of the size of net A that has learnt to say which player has more stones in each column.
    fn trained(board: Board) -> BoardNet {
        let spec = BoardSpec { planes: 2, channels: 64, blocks: 5, norm: true, actions: Actions::Columns, encoding: 0 };
        let mut seeds = numbers(1 << 20, 1).into_iter().map(|x| (x + 1.0) / 2.0).cycle();
        let mut net = BoardNet::new(spec, &mut || seeds.next().unwrap()).unwrap();
        let mut adam = Optimiser::new(Rule::ADAM, 1e-4, None);
        for step in 0..40 {
            let planes: Vec<f32> = numbers(16 * 2 * board.area(), step).iter().map(|x| x.max(0.0).ceil()).collect();
            let outputs = net.forward(board, &planes, &Workers::one()).unwrap();
            let mut d = Outputs::zeros(16, board.width);
            for n in 0..16 {
                let stones = &planes[n * 2 * board.area()..][..2 * board.area()];
                let mut sum = 0.0;
                for column in 0..board.width {
                    let more: f32 = (0..board.area())
                        .filter(|at| at % board.width == column)
                        .map(|at| stones[at] - stones[board.area() + at])
                        .sum();
                    sum += more;
                    d.policy[n * board.width + column] = (outputs.policy[n * board.width + column] - more) / 100.0;
                }
                d.value[n] = (outputs.value[n] - (sum / 10.0).clamp(-0.9, 0.9)) / 16.0;
            }
            net.backward(&d, &Workers::one()).unwrap();
            net.step(&mut adam, 2e-3);
        }
        net
    }

    #[test]
    fn a_trained_network_says_nearly_the_same_in_low_precision() {
        let board = Board { height: 6, width: 7 };
        let net = trained(board);
        let planes: Vec<f32> = numbers(40 * 2 * board.area(), 99).iter().map(|x| x.max(0.0).ceil()).collect();
        let run = |way, planes: &[f32]| {
            let mut outputs = Outputs::default();
            net.inference_by(board, way).run(planes, &Workers::one(), &mut outputs).unwrap();
            outputs
        };
        let full = run(Way::Single { nominal_batch: 256 }, &planes);
        let worst = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        let policy = |outputs: &Outputs| -> Vec<f32> {
            let softmax = |logits: &[f32]| {
                let sum: f32 = logits.iter().map(|l| exp(*l)).sum();
                logits.iter().map(|l| exp(*l) / sum).collect::<Vec<_>>()
            };
            outputs.policy.chunks(7).flat_map(softmax).collect()
        };
        for (precision, of_policy, of_value) in [(Precision::Bf16, 1e-3, 1e-2), (Precision::Int8, 5e-3, 1e-2)] {
            for software in [true, false] {
                if !software && precision.check(64).is_err() {
                    continue;
                }
                let way = Way::Low { precision, software };
                let low = run(way, &planes);
                let (policy, value) = (worst(&policy(&full), &policy(&low)), worst(&full.value, &low.value));
                assert!(policy < of_policy && value < of_value, "{way:?}: policy off by {policy}, value by {value}");
                assert_ne!(full, low);
                // The same bits in another batch.
                let few = run(way, &planes[..3 * 2 * board.area()]);
                assert_eq!((&few.policy[..], &few.value[..]), (&low.policy[..21], &low.value[..3]));
            }
        }
    }

    #[test]
    fn a_low_precision_is_offered_only_where_it_can_be_had() {
        let board = Board { height: 6, width: 7 };
        for channels in [32, 48] {
            let spec = BoardSpec { planes: 2, channels, blocks: 1, norm: true, actions: Actions::Columns, encoding: 0 };
            let net = BoardNet::new(spec, &mut || 0.5).unwrap();
            let possible: Vec<Precision> = [Precision::Bf16, Precision::Int8]
                .into_iter()
                .filter(|precision| net.inference_low(board, *precision).is_ok())
                .collect();
            assert_eq!(net.low_precision(), possible.first().copied());
            assert!(channels == 32 || possible.is_empty());
        }
    }
}
