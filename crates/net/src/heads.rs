//! The last layers of a board network: logits for actions, and one value, on a board of any size.
//!
//! The policy is a sum of 32 features at each point, so there is no weight that belongs to a place. Where an action is a
//! column, its logit is the sum over the column's points. The value sees the board through pools (as KataGo's does, Wu
//! 2019, "Accelerating Self-Play Learning in Go", section 3.3): each feature's mean, its mean times the board's size, and its
//! maximum; then 64 units and a tanh.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::kernels::gemm::{Left, Size, gemm};
use crate::kernels::simd::by_level;
use crate::math::{Level, tanh};
use crate::store::{Kind, Store};

/// Features at each point that the policy is made of.
pub(crate) const POLICY_FEATURES: usize = 32;
/// Features at each point that are pooled for the value.
pub(crate) const VALUE_FEATURES: usize = 32;
/// Each of them in three ways.
pub(crate) const POOLED: usize = 3 * VALUE_FEATURES;
/// Units between the pools and the value.
pub(crate) const HIDDEN: usize = 64;

/// What an action of the game is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Actions {
    /// A point of the board, numbered by rows: height x width actions.
    Points,
    /// A column: width actions.
    Columns,
}

/// The size of a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Board {
    /// Rows.
    pub height: usize,
    /// Columns.
    pub width: usize,
}

impl Board {
    /// Points.
    pub fn area(self) -> usize {
        self.height * self.width
    }

    /// How many actions there are.
    pub fn actions(self, actions: Actions) -> usize {
        match actions {
            Actions::Points => self.area(),
            Actions::Columns => self.width,
        }
    }

    /// The board's size as a factor near 0: 0 at 10 x 10, 0.5 at 15 x 15.
    pub(crate) fn size_factor(self) -> f32 {
        ((self.area() as f32).sqrt() - 10.0) / 10.0
    }
}

/// Where the heads' weights stand in the store.
#[derive(Clone, Debug)]
pub(crate) struct Heads {
    pub(crate) actions: Actions,
    pub(crate) policy_weight: Range<usize>,
    pub(crate) policy_bias: Range<usize>,
    pub(crate) hidden_weight: Range<usize>,
    pub(crate) hidden_bias: Range<usize>,
    pub(crate) value_weight: Range<usize>,
    pub(crate) value_bias: Range<usize>,
}

/// Numbers of the heads that the way back needs, for some positions.
pub(crate) struct Saved<'a> {
    /// `[positions][POOLED]`.
    pub(crate) pooled: &'a mut [f32],
    /// `[positions][HIDDEN]`, after their ReLU.
    pub(crate) hidden: &'a mut [f32],
}

impl Heads {
    pub(crate) fn new(store: &mut Store, actions: Actions) -> Heads {
        Heads {
            actions,
            policy_weight: store.add("policy.out.weight", Kind::Pointwise { input: POLICY_FEATURES, output: 1 }),
            policy_bias: store.add("policy.out.bias", Kind::Vector { n: 1 }),
            hidden_weight: store.add("value.hidden.weight", Kind::Dense { input: POOLED, output: HIDDEN }),
            hidden_bias: store.add("value.hidden.bias", Kind::Vector { n: HIDDEN }),
            value_weight: store.add("value.out.weight", Kind::Dense { input: HIDDEN, output: 1 }),
            value_bias: store.add("value.out.bias", Kind::Vector { n: 1 }),
        }
    }

    /// Everything between the first and the last weight of the heads.
    pub(crate) fn range(&self) -> Range<usize> {
        self.policy_weight.start..self.value_bias.end
    }

    /// Column `0` of weights that are padded to 16 outputs.
    fn column(weights: &[f32]) -> Vec<f32> {
        weights.iter().step_by(16).copied().collect()
    }

    /// Policy logits `[positions][actions]` and values `[positions]` from the features `[positions][area][32]`.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn forward(
        &self,
        level: Level,
        board: Board,
        weights: &[f32],
        policy_features: &[f32],
        value_features: &[f32],
        saved: &mut Saved<'_>,
        policy: &mut [f32],
        values: &mut [f32],
    ) {
        let positions = values.len();
        let rows = positions * board.area();
        let mut sums = vec![0.0; rows * 16];
        let size = Size { m: rows, n: 16, k: POLICY_FEATURES };
        let left = Left { data: policy_features, row: POLICY_FEATURES, column: 1 };
        gemm(level, size, left, &weights[self.policy_weight.clone()], 16, &mut sums, 16, false);
        let bias = weights[self.policy_bias.start];
        let points = sums.chunks(16 * board.area()).zip(policy.chunks_mut(board.actions(self.actions)));
        for (sums, logits) in points {
            logits.fill(bias);
            for (point, sum) in sums.iter().step_by(16).enumerate() {
                match self.actions {
                    Actions::Points => logits[point] += sum,
                    Actions::Columns => logits[point % board.width] += sum,
                }
            }
        }

        pool(level, board.area(), board.size_factor(), value_features, saved.pooled);
        for hidden in saved.hidden.chunks_mut(HIDDEN) {
            hidden.copy_from_slice(&weights[self.hidden_bias.clone()]);
        }
        let size = Size { m: positions, n: HIDDEN, k: POOLED };
        let left = Left { data: saved.pooled, row: POOLED, column: 1 };
        gemm(level, size, left, &weights[self.hidden_weight.clone()], HIDDEN, saved.hidden, HIDDEN, true);
        let out = Heads::column(&weights[self.value_weight.clone()]);
        for (hidden, value) in saved.hidden.chunks_mut(HIDDEN).zip(values) {
            let mut sum = weights[self.value_bias.start];
            for (x, w) in hidden.iter_mut().zip(&out) {
                *x = if *x > 0.0 { *x } else { 0.0 };
                sum += *x * w;
            }
            *value = tanh(sum);
        }
    }

    /// The gradients by the features, written to `d_policy_features` and `d_value_features`, and by the heads' weights,
    /// added to `d_weights` (as long as [`Heads::range`]).
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn backward(
        &self,
        level: Level,
        board: Board,
        weights: &[f32],
        policy_features: &[f32],
        value_features: &[f32],
        saved: &Saved<'_>,
        values: &[f32],
        d_policy: &[f32],
        d_values: &[f32],
        d_policy_features: &mut [f32],
        d_value_features: &mut [f32],
        d_weights: &mut [f32],
    ) {
        let start = self.range().start;
        let own = |range: &Range<usize>| range.start - start..range.end - start;
        let area = board.area();
        let out = Heads::column(&weights[self.policy_weight.clone()]);
        let mut d_out = vec![0.0; POLICY_FEATURES];
        let boards = policy_features
            .chunks(area * POLICY_FEATURES)
            .zip(d_policy_features.chunks_mut(area * POLICY_FEATURES))
            .zip(d_policy.chunks(board.actions(self.actions)));
        for ((x, dx), d) in boards {
            let rows = x.chunks_exact(POLICY_FEATURES).zip(dx.chunks_exact_mut(POLICY_FEATURES));
            for (point, (x, dx)) in rows.enumerate() {
                let d = match self.actions {
                    Actions::Points => d[point],
                    Actions::Columns => d[point % board.width],
                };
                for (((x, dx), w), dw) in x.iter().zip(dx).zip(&out).zip(&mut d_out) {
                    *dx = d * w;
                    *dw += d * x;
                }
            }
        }
        for (dw, d_out) in d_weights[own(&self.policy_weight)].iter_mut().step_by(16).zip(&d_out) {
            *dw += d_out;
        }
        d_weights[own(&self.policy_bias)][0] += d_policy.iter().sum::<f32>();

        let out = Heads::column(&weights[self.value_weight.clone()]);
        let mut d_out = [0.0; HIDDEN];
        let mut d_pooled = vec![0.0; saved.pooled.len()];
        let positions = saved.pooled.chunks(POOLED).zip(saved.hidden.chunks(HIDDEN)).zip(d_pooled.chunks_mut(POOLED));
        for (((pooled, hidden), d_pooled), (value, d_value)) in positions.zip(values.iter().zip(d_values)) {
            // tanh' = 1 - tanh^2.
            let d = d_value * (1.0 - value * value);
            d_weights[own(&self.value_bias)][0] += d;
            let mut d_hidden = [0.0; HIDDEN];
            for ((d_hidden, hidden), (w, d_out)) in d_hidden.iter_mut().zip(hidden).zip(out.iter().zip(&mut d_out)) {
                *d_hidden = if *hidden > 0.0 { d * w } else { 0.0 };
                *d_out += d * hidden;
            }
            for (bias, d) in d_weights[own(&self.hidden_bias)].iter_mut().zip(&d_hidden) {
                *bias += d;
            }
            let w = &weights[self.hidden_weight.clone()];
            dense_back(level, pooled, w, &d_hidden, d_pooled, &mut d_weights[own(&self.hidden_weight)]);
        }
        for (dw, d_out) in d_weights[own(&self.value_weight)].iter_mut().step_by(16).zip(&d_out) {
            *dw += d_out;
        }
        pool_back(level, area, board.size_factor(), value_features, &d_pooled, d_value_features);
    }
}

by_level! {
    /// The three pools of each feature: means, means times `size`, maxima. `x` is `[positions][area][VALUE_FEATURES]`,
    /// `pooled` `[positions][POOLED]`.
    plain fn pool = pool_body(area: usize, size: f32, x: &[f32], pooled: &mut [f32])
}

#[inline(always)]
fn pool_body(area: usize, size: f32, x: &[f32], pooled: &mut [f32]) {
    for (x, pooled) in x.chunks_exact(area * VALUE_FEATURES).zip(pooled.chunks_exact_mut(POOLED)) {
        let mut sums = [0.0f32; VALUE_FEATURES];
        let mut largest = [f32::NEG_INFINITY; VALUE_FEATURES];
        for row in x.chunks_exact(VALUE_FEATURES) {
            for ((x, sum), largest) in row.iter().zip(&mut sums).zip(&mut largest) {
                *sum += x;
                *largest = if *x > *largest { *x } else { *largest };
            }
        }
        for (c, (sum, largest)) in sums.iter().zip(&largest).enumerate() {
            let mean = sum / area as f32;
            pooled[c] = mean;
            pooled[VALUE_FEATURES + c] = mean * size;
            pooled[2 * VALUE_FEATURES + c] = *largest;
        }
    }
}

by_level! {
    /// The transpose of [`pool`]; a maximum's gradient goes to the first point that has it.
    plain fn pool_back = pool_back_body(area: usize, size: f32, x: &[f32], d_pooled: &[f32], dx: &mut [f32])
}

#[inline(always)]
fn pool_back_body(area: usize, size: f32, x: &[f32], d_pooled: &[f32], dx: &mut [f32]) {
    let boards = x.chunks_exact(area * VALUE_FEATURES).zip(dx.chunks_exact_mut(area * VALUE_FEATURES));
    for ((x, dx), d) in boards.zip(d_pooled.chunks_exact(POOLED)) {
        let mut each = [0.0f32; VALUE_FEATURES];
        for (c, each) in each.iter_mut().enumerate() {
            *each = (d[c] + size * d[VALUE_FEATURES + c]) / area as f32;
        }
        let mut largest = [f32::NEG_INFINITY; VALUE_FEATURES];
        let mut place = [0usize; VALUE_FEATURES];
        for (point, (row, dx)) in x.chunks_exact(VALUE_FEATURES).zip(dx.chunks_exact_mut(VALUE_FEATURES)).enumerate() {
            dx.copy_from_slice(&each);
            for ((x, largest), place) in row.iter().zip(&mut largest).zip(&mut place) {
                if *x > *largest {
                    (*largest, *place) = (*x, point);
                }
            }
        }
        for (c, point) in place.into_iter().enumerate() {
            dx[point * VALUE_FEATURES + c] += d[2 * VALUE_FEATURES + c];
        }
    }
}

by_level! {
    /// One row through a dense layer of [`HIDDEN`] outputs, backwards: dx = W d, dW += x d.
    plain fn dense_back = dense_back_body(
        x: &[f32], weights: &[f32], d: &[f32; HIDDEN], dx: &mut [f32], d_weights: &mut [f32],
    )
}

#[inline(always)]
fn dense_back_body(x: &[f32], weights: &[f32], d: &[f32; HIDDEN], dx: &mut [f32], d_weights: &mut [f32]) {
    let rows = weights.chunks_exact(HIDDEN).zip(d_weights.chunks_exact_mut(HIDDEN));
    for ((x, dx), (w, dw)) in x.iter().zip(dx).zip(rows) {
        let mut sums = [0.0f32; 16];
        for part in 0..HIDDEN / 16 {
            for (lane, sum) in sums.iter_mut().enumerate() {
                *sum += w[part * 16 + lane] * d[part * 16 + lane];
            }
        }
        *dx = sums.iter().sum();
        for (dw, d) in dw.iter_mut().zip(d) {
            *dw += x * d;
        }
    }
}
