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
use super::transforms::{transform_input, transform_input_back, transform_output, transform_output_back};
pub(crate) use super::transforms::{transform_weights, transform_weights_back};
use crate::math::Level;

/// Slots along a dimension: the points 0, 1, -1, 2, -2, infinity.
pub(super) const POINTS: usize = 6;
/// Slots of a tile.
pub(crate) const SLOTS: usize = POINTS * POINTS;
/// Numbers between the slots' areas, so that their starts do not fall on the same set of the first-level cache.
pub(super) const GAP: usize = 16;

/// The slots that a segment of r outputs has, by r.
pub(super) const HAS: [&[usize]; 5] = [&[], &[0, 1, 5], &[0, 1, 2, 5], &[0, 1, 2, 3, 5], &[0, 1, 2, 3, 4, 5]];

/// Outputs `start..start + size` of one side of the board.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    pub(super) start: usize,
    pub(super) size: usize,
}

/// How a board is cut into tiles, and where each tile's numbers lie in the transformed arrays.
#[derive(Clone, Debug)]
pub(crate) struct Tiling {
    pub(super) height: usize,
    pub(super) width: usize,
    pub(super) rows: Vec<Segment>,
    pub(super) columns: Vec<Segment>,
    /// For each slot the tiles of a board that have it.
    tiles: [u32; SLOTS],
    /// For each slot the tiles in a row of tiles that have it.
    tiles_in_row: [u32; SLOTS],
    /// For each slot the tiles of all slots before it.
    before: [u32; SLOTS],
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
        let having =
            |segments: &[Segment], point| segments.iter().filter(|s| HAS[s.size].contains(&point)).count() as u32;
        let tiles_in_row: [u32; SLOTS] = std::array::from_fn(|slot| having(&columns, slot % POINTS));
        let tiles: [u32; SLOTS] = std::array::from_fn(|slot| having(&rows, slot / POINTS) * tiles_in_row[slot]);
        let before = std::array::from_fn(|at| tiles[..at].iter().sum());
        Tiling { height, width, rows, columns, tiles, tiles_in_row, before }
    }

    /// Points of the board.
    pub(crate) fn area(&self) -> usize {
        self.height * self.width
    }

    /// Products that one position takes for each pair of channels.
    pub(crate) fn products(&self) -> usize {
        self.tiles.iter().sum::<u32>() as usize
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
        self.before[slot] as usize * positions * channels + slot * GAP
    }

    /// Where channel 0 of tile (i, j) of a position stands for each slot; of no meaning for slots that the tile lacks.
    ///
    /// All slots alike and in 32 bits, so that it is a few vector instructions where it is inlined.
    #[inline(always)]
    pub(super) fn places(
        &self,
        positions: usize,
        channels: usize,
        position: usize,
        i: usize,
        j: usize,
    ) -> [u32; SLOTS] {
        let (positions, channels, position, i, j) =
            (positions as u32, channels as u32, position as u32, i as u32, j as u32);
        let mut places = [0; SLOTS];
        for slot in 0..SLOTS {
            let tile = position * self.tiles[slot] + i * self.tiles_in_row[slot] + j;
            places[slot] = (self.before[slot] * positions + tile) * channels + (slot * GAP) as u32;
        }
        places
    }
}

/// Length of the transformed weights of this many pairs of channels: 36 areas of `pairs` numbers, each followed by a gap.
pub(crate) fn weights_len(pairs: usize) -> usize {
    SLOTS * (pairs + GAP)
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
            let rows = tiling.tiles[slot] as usize * positions;
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
            let rows = tiling.tiles[slot] as usize * positions;
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
