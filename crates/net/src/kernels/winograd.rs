//! 3x3 convolution by Winograd's minimal filtering: F(4x4, 3x3) and its smaller relatives.
//!
//! Source: Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2015. Along one dimension, r outputs of
//! a filter of 3 are polynomials' values at r + 2 points, so r + 2 multiplications do the work of 3 r:
//!
//! ```text
//! y = A' [ (G g) * (B' d) ]      d: r + 2 inputs, g: 3 weights, y: r outputs, *: number by number
//! ```
//!
//! In two dimensions each transform is applied along the columns and then along the rows. Summed over input channels,
//! the product at each of the 6 x 6 points ("slots" here) is a matrix product: tiles x channels by channels x channels.
//!
//! A board's side is cut into ceil(n / 4) segments of r <= 4 outputs, as even as can be: 15 = 4 + 4 + 4 + 3 and
//! 7 = 4 + 3. The points of r = 3 are {0, 1, -1, 2, infinity}, those of r = 4 have -2 as well, and so on down: each set
//! holds the smaller ones. A point's weights differ between the sets by a factor only, and that factor is moved into
//! B'. So all tiles share the transformed weights of r = 4, and a smaller tile just lacks some slots: a 6 x 7 board costs 10 x 11
//! products a channel pair instead of the 12 x 12 of four whole tiles, where the plain sum costs 42 x 9.

use super::gemm::{Left, Size, gemm};
use super::simd::{Simd, by_level};
use crate::math::Level;

/// Slots along a dimension: the points 0, 1, -1, 2, -2, infinity.
const POINTS: usize = 6;
/// Slots of a tile.
pub(crate) const SLOTS: usize = POINTS * POINTS;
/// Numbers between the slots' areas, so that their starts do not fall on the same set of the first-level cache.
const GAP: usize = 16;

/// The slots that a segment of r outputs has, by r.
const HAS: [&[usize]; 5] = [&[], &[0, 1, 5], &[0, 1, 2, 5], &[0, 1, 2, 3, 5], &[0, 1, 2, 3, 4, 5]];

/// Outputs `start..start + size` of one side of the board.
#[derive(Clone, Copy, Debug)]
struct Segment {
    start: usize,
    size: usize,
}

/// How a board is cut into tiles, and where each tile's numbers lie in the transformed arrays.
#[derive(Clone, Debug)]
pub(crate) struct Tiling {
    height: usize,
    width: usize,
    rows: Vec<Segment>,
    columns: Vec<Segment>,
    /// For each slot the tiles of a board that have it.
    tiles: [usize; SLOTS],
    /// For each slot the tiles of all slots before it.
    before: [usize; SLOTS],
}

impl Tiling {
    pub(crate) fn new(height: usize, width: usize) -> Tiling {
        let cut = |side: usize| -> Vec<Segment> {
            let pieces = side.div_ceil(4);
            let mut start = 0;
            // The larger come first, so the tiles that have a slot are the first ones.
            let segment = |i| {
                let size = side / pieces + usize::from(i < side % pieces);
                start += size;
                Segment { start: start - size, size }
            };
            (0..pieces).map(segment).collect()
        };
        let (rows, columns) = (cut(height), cut(width));
        let having = |segments: &[Segment], slot| segments.iter().filter(|s| HAS[s.size].contains(&slot)).count();
        let tiles: [usize; SLOTS] =
            std::array::from_fn(|at| having(&rows, at / POINTS) * having(&columns, at % POINTS));
        let before = std::array::from_fn(|at| tiles[..at].iter().sum());
        Tiling { height, width, rows, columns, tiles, before }
    }

    /// Points of the board.
    pub(crate) fn area(&self) -> usize {
        self.height * self.width
    }

    /// Products that one position takes for each pair of channels.
    pub(crate) fn products(&self) -> usize {
        self.tiles.iter().sum()
    }

    /// Tiles of one position.
    pub(crate) fn tiles(&self) -> usize {
        self.rows.len() * self.columns.len()
    }

    /// Positions that are transformed together: enough rows for the products, few enough to stay in cache.
    pub(crate) fn positions_at_once(&self) -> usize {
        (48 / self.tiles()).max(1)
    }

    /// Length of a transformed array for this many positions and channels.
    pub(crate) fn transformed_len(&self, positions: usize, channels: usize) -> usize {
        self.products() * positions * channels + SLOTS * GAP
    }

    /// Where the numbers of a slot start in a transformed array.
    fn slot_start(&self, slot: usize, positions: usize, channels: usize) -> usize {
        self.before[slot] * positions * channels + slot * GAP
    }

    /// Distance between two positions in a slot's numbers, and between two of its rows of tiles.
    fn slot_strides(&self, slot: usize, channels: usize) -> (usize, usize) {
        let in_row = self.columns.iter().filter(|s| HAS[s.size].contains(&(slot % POINTS))).count();
        (self.tiles[slot] * channels, in_row * channels)
    }
}

/// B' d for a segment of R outputs; `d` holds its R + 2 inputs.
#[inline(always)]
fn input_1d<S: Simd, const R: usize>(s: S, d: [S::V; POINTS]) -> [S::V; POINTS] {
    let k = |x: f32| s.splat(x);
    let zero = k(0.0);
    match R {
        4 => {
            let p = s.fma(k(-4.0), d[2], d[4]);
            let q = s.fma(k(-4.0), d[1], d[3]);
            let r = s.sub(d[4], d[2]);
            let t = s.sub(d[3], d[1]);
            [
                s.fma(k(4.0), d[0], s.fma(k(-5.0), d[2], d[4])),
                s.add(p, q),
                s.sub(p, q),
                s.fma(k(2.0), t, r),
                s.fma(k(-2.0), t, r),
                s.fma(k(4.0), d[1], s.fma(k(-5.0), d[3], d[5])),
            ]
        }
        3 => [
            s.fma(k(4.0), s.sub(d[0], d[2]), s.mul(k(2.0), s.sub(d[3], d[1]))),
            s.fma(k(3.0), s.sub(d[3], d[2]), s.mul(k(-6.0), d[1])),
            s.fma(k(2.0), d[1], s.fma(k(-3.0), d[2], d[3])),
            s.mul(k(4.0), s.sub(d[3], d[1])),
            zero,
            s.fma(k(2.0), s.sub(d[1], d[3]), s.sub(d[4], d[2])),
        ],
        2 => [
            s.mul(k(4.0), s.sub(d[0], d[2])),
            s.mul(k(-3.0), s.add(d[1], d[2])),
            s.mul(k(3.0), s.sub(d[1], d[2])),
            zero,
            zero,
            s.sub(d[3], d[1]),
        ],
        _ => [s.mul(k(4.0), s.sub(d[0], d[1])), s.mul(k(-6.0), d[1]), zero, zero, zero, s.sub(d[2], d[1])],
    }
}

/// A' m for a segment of R outputs.
#[inline(always)]
fn output_1d<S: Simd, const R: usize>(s: S, m: [S::V; POINTS]) -> [S::V; 4] {
    let k = |x: f32| s.splat(x);
    let zero = k(0.0);
    match R {
        4 => {
            let (p, q) = (s.add(m[1], m[2]), s.sub(m[1], m[2]));
            let (r, t) = (s.add(m[3], m[4]), s.sub(m[3], m[4]));
            [s.add(m[0], s.add(p, r)), s.fma(k(2.0), t, q), s.fma(k(4.0), r, p), s.fma(k(8.0), t, s.add(q, m[5]))]
        }
        3 => {
            let (p, q) = (s.add(m[1], m[2]), s.sub(m[1], m[2]));
            [s.add(m[0], s.add(p, m[3])), s.fma(k(2.0), m[3], q), s.fma(k(4.0), m[3], s.add(p, m[5])), zero]
        }
        2 => [s.add(m[0], s.add(m[1], m[2])), s.add(s.sub(m[1], m[2]), m[5]), zero, zero],
        _ => [s.add(m[0], s.add(m[1], m[5])), zero, zero, zero],
    }
}

/// A y, the transpose of [`output_1d`]: the gradient at the slots from that at the outputs.
#[inline(always)]
fn output_1d_back<S: Simd, const R: usize>(s: S, y: [S::V; 4]) -> [S::V; POINTS] {
    let k = |x: f32| s.splat(x);
    let zero = k(0.0);
    match R {
        4 => {
            let (p, q) = (s.add(y[0], y[2]), s.add(y[1], y[3]));
            let r = s.fma(k(4.0), y[2], y[0]);
            let t = s.fma(k(8.0), y[3], s.mul(k(2.0), y[1]));
            [y[0], s.add(p, q), s.sub(p, q), s.add(r, t), s.sub(r, t), y[3]]
        }
        3 => {
            let p = s.add(y[0], y[2]);
            let r = s.fma(k(4.0), y[2], s.fma(k(2.0), y[1], y[0]));
            [y[0], s.add(p, y[1]), s.sub(p, y[1]), r, zero, y[2]]
        }
        2 => [y[0], s.add(y[0], y[1]), s.sub(y[0], y[1]), zero, zero, y[1]],
        _ => [y[0], y[0], zero, zero, zero, y[0]],
    }
}

/// B t, the transpose of [`input_1d`]: the gradient at the inputs from that at the slots.
#[inline(always)]
fn input_1d_back<S: Simd, const R: usize>(s: S, t: [S::V; POINTS]) -> [S::V; POINTS] {
    let k = |x: f32| s.splat(x);
    let zero = k(0.0);
    match R {
        4 => {
            let (p, q) = (s.add(t[1], t[2]), s.sub(t[1], t[2]));
            let (r, u) = (s.add(t[3], t[4]), s.sub(t[3], t[4]));
            [
                s.mul(k(4.0), t[0]),
                s.fma(k(4.0), s.sub(t[5], q), s.mul(k(-2.0), u)),
                s.fma(k(-5.0), t[0], s.fma(k(-4.0), p, s.sub(zero, r))),
                s.fma(k(-5.0), t[5], s.fma(k(2.0), u, q)),
                s.add(t[0], s.add(p, r)),
                t[5],
            ]
        }
        3 => {
            let p = s.fma(k(-4.0), t[3], s.mul(k(-2.0), t[0]));
            let p = s.fma(k(2.0), t[5], p);
            [
                s.mul(k(4.0), t[0]),
                s.fma(k(-6.0), t[1], s.fma(k(2.0), t[2], p)),
                s.fma(k(-4.0), t[0], s.fma(k(-3.0), s.add(t[1], t[2]), s.sub(zero, t[5]))),
                s.fma(k(3.0), t[1], s.sub(t[2], p)),
                t[5],
                zero,
            ]
        }
        2 => [
            s.mul(k(4.0), t[0]),
            s.fma(k(3.0), s.sub(t[2], t[1]), s.sub(zero, t[5])),
            s.fma(k(-4.0), t[0], s.mul(k(-3.0), s.add(t[1], t[2]))),
            t[5],
            zero,
            zero,
        ],
        _ => {
            [s.mul(k(4.0), t[0]), s.fma(k(-4.0), t[0], s.fma(k(-6.0), t[1], s.sub(zero, t[5]))), t[5], zero, zero, zero]
        }
    }
}

/// `$f::<S, R>` for the R that is known only when it runs.
macro_rules! for_size {
    ($size:expr, $f:ident, $s:expr, $x:expr) => {
        match $size {
            4 => $f::<S, 4>($s, $x),
            3 => $f::<S, 3>($s, $x),
            2 => $f::<S, 2>($s, $x),
            _ => $f::<S, 1>($s, $x),
        }
    };
}

/// Length of the transformed weights of this many pairs of channels: 36 areas of `pairs` numbers, each followed by a gap.
pub(crate) fn weights_len(pairs: usize) -> usize {
    SLOTS * (pairs + GAP)
}

by_level! {
    /// U = G g G' for every pair of channels: `weights` is `[9][pairs]`, `u` as long as [`weights_len`] says, pairs a
    /// multiple of 16.
    pub(crate) simd fn transform_weights = transform_weights_body(weights: &[f32], u: &mut [f32])
}

#[inline(always)]
fn transform_weights_body<S: Simd>(s: S, weights: &[f32], u: &mut [f32]) {
    let pairs = weights.len() / 9;
    assert!(pairs.is_multiple_of(16) && weights.len() == 9 * pairs && u.len() == weights_len(pairs));
    let transform = |g: [S::V; 3]| {
        let ends = s.add(g[0], g[2]);
        let sixth = s.splat(-1.0 / 6.0);
        let (even, odd) = (s.mul(sixth, ends), s.mul(sixth, g[1]));
        let far = s.fma(s.splat(1.0 / 6.0), g[2], s.mul(s.splat(1.0 / 24.0), g[0]));
        let twelfth = s.mul(s.splat(1.0 / 12.0), g[1]);
        [s.mul(s.splat(0.25), g[0]), s.add(even, odd), s.sub(even, odd), s.add(far, twelfth), s.sub(far, twelfth), g[2]]
    };
    for at in (0..pairs).step_by(S::LANES) {
        // SAFETY: `at` and LANES numbers from it lie within each of the 9 and 36 areas.
        unsafe {
            let columns: [[S::V; POINTS]; 3] = std::array::from_fn(|x| {
                transform(std::array::from_fn(|y| s.load(weights.as_ptr().add((y * 3 + x) * pairs + at))))
            });
            for y in 0..POINTS {
                let row = transform(std::array::from_fn(|x| columns[x][y]));
                for (x, v) in row.into_iter().enumerate() {
                    s.store(u.as_mut_ptr().add((y * POINTS + x) * (pairs + GAP) + at), v);
                }
            }
        }
    }
}

by_level! {
    /// The transpose of [`transform_weights`]: dg = G' dU G, added to `d_weights`.
    pub(crate) simd fn transform_weights_back = transform_weights_back_body(du: &[f32], d_weights: &mut [f32])
}

#[inline(always)]
fn transform_weights_back_body<S: Simd>(s: S, du: &[f32], d_weights: &mut [f32]) {
    let pairs = d_weights.len() / 9;
    assert!(pairs.is_multiple_of(16) && d_weights.len() == 9 * pairs && du.len() == weights_len(pairs));
    let transform = |u: [S::V; POINTS]| {
        let sixth = s.splat(1.0 / 6.0);
        let (p, q) = (s.mul(sixth, s.add(u[1], u[2])), s.sub(u[2], u[1]));
        let (r, t) = (s.add(u[3], u[4]), s.sub(u[3], u[4]));
        [
            s.fma(s.splat(1.0 / 24.0), r, s.sub(s.mul(s.splat(0.25), u[0]), p)),
            s.fma(sixth, q, s.mul(s.splat(1.0 / 12.0), t)),
            s.fma(sixth, r, s.sub(u[5], p)),
        ]
    };
    for at in (0..pairs).step_by(S::LANES) {
        // SAFETY: as in `transform_weights_body`.
        unsafe {
            let rows: [[S::V; 3]; POINTS] = std::array::from_fn(|y| {
                transform(std::array::from_fn(|x| s.load(du.as_ptr().add((y * POINTS + x) * (pairs + GAP) + at))))
            });
            for x in 0..3 {
                let column = transform(std::array::from_fn(|y| rows[y][x]));
                for (y, v) in column.into_iter().enumerate() {
                    let to = d_weights.as_mut_ptr().add((y * 3 + x) * pairs + at);
                    s.store(to, s.add(s.load(to), v));
                }
            }
        }
    }
}

/// What to do with the outputs of a convolution before they are written.
#[derive(Clone, Copy, Default)]
pub(crate) struct Finish<'a> {
    /// Added to every point, one number for each channel.
    pub(crate) bias: Option<&'a [f32]>,
    /// Whether they are added to what stands there: the residual connection.
    pub(crate) onto: bool,
    /// Whether negative numbers become 0.
    pub(crate) relu: bool,
}

by_level! {
    /// V = B' d B for all tiles of `x`, which is `[positions][area][channels]`.
    simd fn transform_input = transform_input_body(
        tiling: &Tiling, positions: usize, channels: usize, x: &[f32], v: &mut [f32],
    )
}

#[inline(always)]
fn transform_input_body<S: Simd>(s: S, tiling: &Tiling, positions: usize, channels: usize, x: &[f32], v: &mut [f32]) {
    let (height, width) = (tiling.height, tiling.width);
    assert!(x.len() == positions * tiling.area() * channels && channels.is_multiple_of(16));
    assert!(v.len() >= tiling.transformed_len(positions, channels));
    let slots = Slots::new(tiling, positions, channels);
    let zero = s.splat(0.0);
    for position in 0..positions {
        for (i, rows) in tiling.rows.iter().enumerate() {
            for (j, columns) in tiling.columns.iter().enumerate() {
                for channel in (0..channels).step_by(S::LANES) {
                    let mut part = [[zero; POINTS]; POINTS];
                    for c in 0..columns.size + 2 {
                        // Column and row numbers are one too high, so that the border before the board is 0.
                        let column = columns.start + c;
                        if column == 0 || column > width {
                            continue;
                        }
                        let d = std::array::from_fn(|r| {
                            let row = rows.start + r;
                            if r >= rows.size + 2 || row == 0 || row > height {
                                return zero;
                            }
                            let point = (position * height + row - 1) * width + column - 1;
                            // SAFETY: the point is on the board, and `x` has `channels` numbers for each point.
                            unsafe { s.load(x.as_ptr().add(point * channels + channel)) }
                        });
                        let transformed = for_size!(rows.size, input_1d, s, d);
                        for (k, t) in transformed.into_iter().enumerate() {
                            part[k][c] = t;
                        }
                    }
                    for &k in HAS[rows.size] {
                        let row = for_size!(columns.size, input_1d, s, part[k]);
                        for &l in HAS[columns.size] {
                            let at = slots.at(k * POINTS + l, position, i, j) + channel;
                            // SAFETY: the tile has this slot, so its place lies within `transformed_len`.
                            unsafe { s.store(v.as_mut_ptr().add(at), row[l]) };
                        }
                    }
                }
            }
        }
    }
}

by_level! {
    /// Y = A' M A for all tiles, finished and written to `y`, which is `[positions][area][channels]`.
    simd fn transform_output = transform_output_body(
        tiling: &Tiling, positions: usize, channels: usize, m: &[f32], finish: Finish<'_>, y: &mut [f32],
    )
}

#[inline(always)]
fn transform_output_body<S: Simd>(
    s: S,
    tiling: &Tiling,
    positions: usize,
    channels: usize,
    m: &[f32],
    finish: Finish<'_>,
    y: &mut [f32],
) {
    assert!(y.len() == positions * tiling.area() * channels && channels.is_multiple_of(16));
    assert!(m.len() >= tiling.transformed_len(positions, channels));
    assert!(finish.bias.is_none_or(|b| b.len() == channels));
    let slots = Slots::new(tiling, positions, channels);
    let zero = s.splat(0.0);
    for position in 0..positions {
        for (i, rows) in tiling.rows.iter().enumerate() {
            for (j, columns) in tiling.columns.iter().enumerate() {
                for channel in (0..channels).step_by(S::LANES) {
                    let mut part = [[zero; POINTS]; 4];
                    for &l in HAS[columns.size] {
                        let mut column = [zero; POINTS];
                        for &k in HAS[rows.size] {
                            let at = slots.at(k * POINTS + l, position, i, j) + channel;
                            // SAFETY: as in `transform_input_body`.
                            column[k] = unsafe { s.load(m.as_ptr().add(at)) };
                        }
                        let transformed = for_size!(rows.size, output_1d, s, column);
                        for (r, t) in transformed.into_iter().enumerate() {
                            part[r][l] = t;
                        }
                    }
                    // SAFETY: bias has `channels` numbers.
                    let bias = finish.bias.map_or(zero, |b| unsafe { s.load(b.as_ptr().add(channel)) });
                    for (r, part) in part.iter().enumerate().take(rows.size) {
                        let out = for_size!(columns.size, output_1d, s, *part);
                        for (c, out) in out.into_iter().enumerate().take(columns.size) {
                            let point = (position * tiling.height + rows.start + r) * tiling.width + columns.start + c;
                            let at = point * channels + channel;
                            let mut out = s.add(out, bias);
                            // SAFETY: the point is on the board, and `y` has `channels` numbers for each point.
                            unsafe {
                                let to = y.as_mut_ptr().add(at);
                                if finish.onto {
                                    out = s.add(out, s.load(to));
                                }
                                if finish.relu {
                                    out = s.max(out, zero);
                                }
                                s.store(to, out);
                            }
                        }
                    }
                }
            }
        }
    }
}

by_level! {
    /// dM = A dY A' for all tiles of `dy`, which is `[positions][area][channels]`.
    simd fn transform_output_back = transform_output_back_body(
        tiling: &Tiling, positions: usize, channels: usize, dy: &[f32], dm: &mut [f32],
    )
}

#[inline(always)]
fn transform_output_back_body<S: Simd>(
    s: S,
    tiling: &Tiling,
    positions: usize,
    channels: usize,
    dy: &[f32],
    dm: &mut [f32],
) {
    assert!(dy.len() == positions * tiling.area() * channels && channels.is_multiple_of(16));
    assert!(dm.len() >= tiling.transformed_len(positions, channels));
    let slots = Slots::new(tiling, positions, channels);
    let zero = s.splat(0.0);
    for position in 0..positions {
        for (i, rows) in tiling.rows.iter().enumerate() {
            for (j, columns) in tiling.columns.iter().enumerate() {
                for channel in (0..channels).step_by(S::LANES) {
                    let mut part = [[zero; 4]; POINTS];
                    for c in 0..columns.size {
                        let d = std::array::from_fn(|r| {
                            if r >= rows.size {
                                return zero;
                            }
                            let point = (position * tiling.height + rows.start + r) * tiling.width + columns.start + c;
                            // SAFETY: the point is on the board, and `dy` has `channels` numbers for each point.
                            unsafe { s.load(dy.as_ptr().add(point * channels + channel)) }
                        });
                        let transformed = for_size!(rows.size, output_1d_back, s, d);
                        for (k, t) in transformed.into_iter().enumerate() {
                            part[k][c] = t;
                        }
                    }
                    for &k in HAS[rows.size] {
                        let row = for_size!(columns.size, output_1d_back, s, part[k]);
                        for &l in HAS[columns.size] {
                            let at = slots.at(k * POINTS + l, position, i, j) + channel;
                            // SAFETY: as in `transform_input_body`.
                            unsafe { s.store(dm.as_mut_ptr().add(at), row[l]) };
                        }
                    }
                }
            }
        }
    }
}

by_level! {
    /// dX += B dV B', summed where tiles overlap; `dx` is `[positions][area][channels]`.
    simd fn transform_input_back = transform_input_back_body(
        tiling: &Tiling, positions: usize, channels: usize, dv: &[f32], dx: &mut [f32],
    )
}

#[inline(always)]
fn transform_input_back_body<S: Simd>(
    s: S,
    tiling: &Tiling,
    positions: usize,
    channels: usize,
    dv: &[f32],
    dx: &mut [f32],
) {
    let (height, width) = (tiling.height, tiling.width);
    assert!(dx.len() == positions * tiling.area() * channels && channels.is_multiple_of(16));
    assert!(dv.len() >= tiling.transformed_len(positions, channels));
    let slots = Slots::new(tiling, positions, channels);
    let zero = s.splat(0.0);
    for position in 0..positions {
        for (i, rows) in tiling.rows.iter().enumerate() {
            for (j, columns) in tiling.columns.iter().enumerate() {
                for channel in (0..channels).step_by(S::LANES) {
                    let mut part = [[zero; POINTS]; POINTS];
                    for &l in HAS[columns.size] {
                        let mut column = [zero; POINTS];
                        for &k in HAS[rows.size] {
                            let at = slots.at(k * POINTS + l, position, i, j) + channel;
                            // SAFETY: as in `transform_input_body`.
                            column[k] = unsafe { s.load(dv.as_ptr().add(at)) };
                        }
                        let transformed = for_size!(rows.size, input_1d_back, s, column);
                        for (r, t) in transformed.into_iter().enumerate() {
                            part[r][l] = t;
                        }
                    }
                    for (r, part) in part.iter().enumerate().take(rows.size + 2) {
                        let row = rows.start + r;
                        if row == 0 || row > height {
                            continue;
                        }
                        let d = for_size!(columns.size, input_1d_back, s, *part);
                        for (c, d) in d.into_iter().enumerate().take(columns.size + 2) {
                            let column = columns.start + c;
                            if column == 0 || column > width {
                                continue;
                            }
                            let point = (position * height + row - 1) * width + column - 1;
                            // SAFETY: the point is on the board, and `dx` has `channels` numbers for each point.
                            unsafe {
                                let to = dx.as_mut_ptr().add(point * channels + channel);
                                s.store(to, s.add(s.load(to), d));
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Where each tile's numbers lie, slot by slot.
struct Slots {
    start: [usize; SLOTS],
    position: [usize; SLOTS],
    row: [usize; SLOTS],
    channels: usize,
}

impl Slots {
    #[inline(always)]
    fn new(tiling: &Tiling, positions: usize, channels: usize) -> Slots {
        let strides: [(usize, usize); SLOTS] = std::array::from_fn(|slot| tiling.slot_strides(slot, channels));
        Slots {
            start: std::array::from_fn(|slot| tiling.slot_start(slot, positions, channels)),
            position: strides.map(|s| s.0),
            row: strides.map(|s| s.1),
            channels,
        }
    }

    /// Channel 0 of tile (i, j) of a position.
    #[inline(always)]
    fn at(&self, slot: usize, position: usize, i: usize, j: usize) -> usize {
        self.start[slot] + position * self.position[slot] + i * self.row[slot] + j * self.channels
    }
}

/// Arrays that a convolution works in; their contents mean nothing between calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct Workspace {
    v: Vec<f32>,
    m: Vec<f32>,
}

impl Workspace {
    /// Makes both arrays at least this long.
    fn reserve(&mut self, v: usize, m: usize) {
        self.v.resize(self.v.len().max(v), 0.0);
        self.m.resize(self.m.len().max(m), 0.0);
    }
}

/// The channels on both sides of a convolution.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Channels {
    pub(crate) input: usize,
    pub(crate) output: usize,
}

/// y = convolution of x by the weights behind `u` (from `[9][input][output]`), finished. Any number of positions.
pub(crate) fn forward(
    level: Level,
    tiling: &Tiling,
    channels: Channels,
    u: &[f32],
    x: &[f32],
    finish: Finish<'_>,
    y: &mut [f32],
    work: &mut Workspace,
) {
    let (input, output) = (channels.input, channels.output);
    let at_once = tiling.positions_at_once();
    let (x_step, y_step) = (at_once * tiling.area() * input, at_once * tiling.area() * output);
    for (x, y) in x.chunks(x_step).zip(y.chunks_mut(y_step)) {
        let positions = x.len() / (tiling.area() * input);
        work.reserve(tiling.transformed_len(positions, input), tiling.transformed_len(positions, output));
        transform_input(level, tiling, positions, input, x, &mut work.v);
        for slot in 0..SLOTS {
            let rows = tiling.tiles[slot] * positions;
            let v = Left { data: &work.v[tiling.slot_start(slot, positions, input)..], row: input, column: 1 };
            let m = &mut work.m[tiling.slot_start(slot, positions, output)..];
            let u = &u[slot * (input * output + GAP)..][..input * output];
            gemm(level, Size { m: rows, n: output, k: input }, v, u, output, m, output, false);
        }
        transform_output(level, tiling, positions, output, &work.m, finish, y);
    }
}

/// The gradients of [`forward`] without its finish: that of the weights behind `u` is added to `du`, that of x to
/// `dx`. `u_transposed` comes from `[9][output][input]`.
pub(crate) fn backward(
    level: Level,
    tiling: &Tiling,
    channels: Channels,
    u_transposed: &[f32],
    x: &[f32],
    dy: &[f32],
    dx: &mut [f32],
    du: &mut [f32],
    work: &mut Workspace,
) {
    let (input, output) = (channels.input, channels.output);
    let at_once = tiling.positions_at_once();
    let (x_step, y_step) = (at_once * tiling.area() * input, at_once * tiling.area() * output);
    for ((x, dy), dx) in x.chunks(x_step).zip(dy.chunks(y_step)).zip(dx.chunks_mut(x_step)) {
        let positions = x.len() / (tiling.area() * input);
        work.reserve(tiling.transformed_len(positions, input), tiling.transformed_len(positions, output));
        transform_input(level, tiling, positions, input, x, &mut work.v);
        transform_output_back(level, tiling, positions, output, dy, &mut work.m);
        for slot in 0..SLOTS {
            let rows = tiling.tiles[slot] * positions;
            if rows == 0 {
                continue;
            }
            let v = &mut work.v[tiling.slot_start(slot, positions, input)..];
            let dm = &work.m[tiling.slot_start(slot, positions, output)..];
            // dU += V' dM, and then V is no longer needed: dV = dM U' takes its place.
            let (u_t, du) = (&u_transposed[slot * (input * output + GAP)..], &mut du[slot * (input * output + GAP)..]);
            let size = Size { m: input, n: output, k: rows };
            gemm(level, size, Left { data: v, row: 1, column: input }, dm, output, du, output, true);
            let size = Size { m: rows, n: input, k: output };
            gemm(level, size, Left { data: dm, row: output, column: 1 }, u_t, input, v, input, false);
        }
        transform_input_back(level, tiling, positions, input, &work.v, dx);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers;
    use crate::test_data::{assert_close, numbers};

    const BOARDS: [(usize, usize); 10] =
        [(1, 1), (2, 5), (3, 3), (4, 4), (5, 6), (6, 7), (7, 10), (9, 9), (3, 13), (15, 15)];

    /// `[9][rows][columns]` to `[9][columns][rows]`.
    fn transposed(weights: &[f32], rows: usize, columns: usize) -> Vec<f32> {
        let matrix = |m: &[f32]| (0..m.len()).map(|at| m[at % rows * columns + at / rows]).collect::<Vec<_>>();
        weights.chunks(rows * columns).flat_map(matrix).collect()
    }

    fn transformed(level: Level, weights: &[f32]) -> Vec<f32> {
        let mut u = vec![0.0; weights_len(weights.len() / 9)];
        transform_weights(level, weights, &mut u);
        u
    }

    #[test]
    fn forward_is_the_convolution_on_every_board_at_every_level() {
        let channels = Channels { input: 16, output: 32 };
        let weights = numbers(9 * 16 * 32, 1).iter().map(|w| w * 0.1).collect::<Vec<_>>();
        let bias = numbers(32, 2);
        for (height, width) in BOARDS {
            let tiling = Tiling::new(height, width);
            // More than are transformed together, and not a multiple of it.
            let positions = if height * width > 100 { 4 } else { tiling.positions_at_once() + 2 };
            let x = numbers(positions * height * width * 16, 3);
            let residual = numbers(positions * height * width * 32, 4);
            let plain = layers::conv3x3_forward((height, width), &x, &weights, 16, 32);
            let wanted = plain.iter().zip(&residual).zip(bias.iter().cycle()).map(|((y, r), b)| (y + r + b).max(0.0));
            let wanted: Vec<f32> = wanted.collect();
            for level in Level::available() {
                let (u, mut work) = (transformed(level, &weights), Workspace::default());
                let mut y = vec![f32::NAN; plain.len()];
                forward(level, &tiling, channels, &u, &x, Finish::default(), &mut y, &mut work);
                assert_close(&y, &plain, 1e-4);
                let finish = Finish { bias: Some(&bias), onto: true, relu: true };
                y.copy_from_slice(&residual);
                forward(level, &tiling, channels, &u, &x, finish, &mut y, &mut work);
                assert_close(&y, &wanted, 1e-4);
            }
        }
    }

    #[test]
    fn backward_gives_the_gradients_of_the_convolution_on_every_board_at_every_level() {
        let channels = Channels { input: 32, output: 16 };
        let weights = numbers(9 * 32 * 16, 1).iter().map(|w| w * 0.1).collect::<Vec<_>>();
        for (height, width) in BOARDS {
            let tiling = Tiling::new(height, width);
            let positions = if height * width > 100 { 4 } else { tiling.positions_at_once() + 2 };
            let x = numbers(positions * height * width * 32, 2);
            let dy = numbers(positions * height * width * 16, 3).iter().map(|y| y * 0.1).collect::<Vec<_>>();
            let wanted = layers::conv3x3_backward((height, width), &x, &weights, &dy, 32);
            for level in Level::available() {
                let u_transposed = transformed(level, &transposed(&weights, 32, 16));
                let (mut dx, mut du) = (vec![0.0; x.len()], vec![0.0; weights_len(32 * 16)]);
                let mut work = Workspace::default();
                backward(level, &tiling, channels, &u_transposed, &x, &dy, &mut dx, &mut du, &mut work);
                assert_close(&dx, &wanted.dx, 1e-4);
                let mut dw = numbers(weights.len(), 5);
                let wanted: Vec<f32> = dw.iter().zip(&wanted.dw).map(|(start, dw)| start + dw).collect();
                transform_weights_back(level, &du, &mut dw);
                assert_close(&dw, &wanted, 2e-4);
            }
        }
    }

    #[test]
    fn a_position_gives_the_same_bits_wherever_it_stands_in_the_batch() {
        let (tiling, channels) = (Tiling::new(6, 7), Channels { input: 16, output: 64 });
        let x = numbers(30 * 42 * 16, 1);
        for level in Level::available() {
            let u = transformed(level, &numbers(9 * 16 * 64, 2));
            let mut work = Workspace::default();
            let mut run = |x: &[f32]| {
                let mut y = vec![0.0; x.len() * 4];
                forward(level, &tiling, channels, &u, x, Finish::default(), &mut y, &mut work);
                y
            };
            let all = run(&x);
            for (x, y) in x.chunks(42 * 16).zip(all.chunks(42 * 64)) {
                assert_eq!(run(x), y);
            }
        }
    }

    #[test]
    fn even_segments_take_as_few_products_as_the_lengths_allow() {
        let products = |height, width| Tiling::new(height, width).products();
        assert_eq!((products(6, 7), products(15, 15), products(9, 9), products(1, 1)), (110, 23 * 23, 225, 9));
    }
}
