//! 3x3 convolution as the sum of nine matrix products, and the patches of an input with few planes.
//!
//! im2col (Chellapilla, Puri and Simard 2006) writes the nine neighbours of every point side by side, so that a
//! convolution becomes one product of `rows x 9 inputs` by `9 inputs x outputs`. For the first layer, whose inputs are a few planes, that is
//! what happens here. Between wide layers nothing is copied: for each of the nine taps the product's left rows are
//! the neighbours themselves, and points beyond the border read a row of zeros.

use super::gemm::{Block, Rows, rows};
use super::simd::{Simd, by_level};
use super::winograd::{Channels, Finish};

/// The nine neighbours of each point of a board, row of the board by row.
#[derive(Clone, Debug)]
pub(crate) struct Neighbours {
    /// `[tap][area]`; `NONE` beyond the border.
    points: Vec<u32>,
    area: usize,
}

const NONE: u32 = u32::MAX;
/// Rows that all nine taps go through before the next: their sums (48 x 64 x 4 bytes) stay in the first-level cache.
const ROWS_AT_ONCE: usize = 48;
/// The longest row that is read where a neighbour is missing, and so the largest number of channels.
pub(crate) const MAX_CHANNELS: usize = 1024;
static ZEROS: [f32; MAX_CHANNELS] = [0.0; MAX_CHANNELS];

impl Neighbours {
    pub(crate) fn new(height: usize, width: usize) -> Neighbours {
        let mut points = Vec::with_capacity(9 * height * width);
        for (r, c) in (0..3).flat_map(|r| (0..3).map(move |c| (r, c))) {
            for (row, column) in (0..height).flat_map(|row| (0..width).map(move |column| (row, column))) {
                let on_board = (1..=height).contains(&(row + r)) && (1..=width).contains(&(column + c));
                points.push(if on_board { ((row + r - 1) * width + column + c - 1) as u32 } else { NONE });
            }
        }
        Neighbours { points, area: height * width }
    }
}

/// The planes around each point: `[positions][planes][height][width]` to the patches `[positions][height][width][9][planes]`,
/// 0 beyond the border.
pub(crate) fn patches((height, width): (usize, usize), planes: usize, input: &[f32], patches: &mut [f32]) {
    let (area, stripe) = (height * width, (width + 2) * planes);
    assert!(input.len().is_multiple_of(planes * area) && patches.len() == 9 * input.len());
    // A board with its border and the planes last: a row of a patch lies in one piece.
    let mut bordered = vec![0.0; (height + 2) * stripe];
    let boards = input.chunks_exact(planes * area).zip(patches.chunks_exact_mut(9 * planes * area));
    for (input, patches) in boards {
        for (plane, numbers) in input.chunks_exact(area).enumerate() {
            for (row, numbers) in numbers.chunks_exact(width).enumerate() {
                let start = (row + 1) * stripe + planes + plane;
                bordered[start..].iter_mut().step_by(planes).zip(numbers).for_each(|(to, number)| *to = *number);
            }
        }
        for (point, patch) in patches.chunks_exact_mut(9 * planes).enumerate() {
            let start = point / width * stripe + point % width * planes;
            for (row, patch) in patch.chunks_exact_mut(3 * planes).enumerate() {
                patch.copy_from_slice(&bordered[start + row * stripe..][..3 * planes]);
            }
        }
    }
}

/// The neighbours of the points from `first` on, at one tap.
#[derive(Clone, Copy)]
struct Gathered {
    x: *const f32,
    input: usize,
    area: usize,
    tap: *const u32,
    first: usize,
}

impl Rows for Gathered {
    /// # Safety
    /// Point `first + i` is one of those in `x`, and `tap` has a number for each point of a board.
    #[inline(always)]
    unsafe fn start(self, i: usize) -> *const f32 {
        let (position, point) = ((self.first + i) / self.area, (self.first + i) % self.area);
        // SAFETY: the caller's promise; a neighbour is a point of the same board.
        unsafe {
            match *self.tap.add(point) {
                NONE => ZEROS.as_ptr(),
                neighbour => self.x.add((position * self.area + neighbour as usize) * self.input),
            }
        }
    }
}

by_level! {
    /// y = convolution of `x`, `[positions][area][input]`, by `weights`, `[9][input][output]`, finished; outputs a
    /// multiple of 16.
    pub(crate) simd fn forward = forward_body(
        neighbours: &Neighbours, channels: Channels, weights: &[f32], x: &[f32], finish: Finish<'_>,
        y: &mut [f32],
    )
}

#[inline(always)]
fn forward_body<S: Simd>(
    s: S,
    neighbours: &Neighbours,
    channels: Channels,
    weights: &[f32],
    x: &[f32],
    finish: Finish<'_>,
    y: &mut [f32],
) {
    let Channels { input, output } = channels;
    let area = neighbours.area;
    assert!(input <= MAX_CHANNELS && output.is_multiple_of(16) && weights.len() == 9 * input * output);
    assert!(x.len().is_multiple_of(area * input) && y.len() / output == x.len() / input);
    assert!(finish.bias.is_none_or(|bias| bias.len() == output));
    for (n, y) in y.chunks_mut(ROWS_AT_ONCE * output).enumerate() {
        for tap in 0..9 {
            let left = Gathered {
                x: x.as_ptr(),
                input,
                area,
                tap: neighbours.points[tap * area..][..area].as_ptr(),
                first: n * ROWS_AT_ONCE,
            };
            let b = weights[tap * input * output..].as_ptr();
            let block = Block { steps: input, a_step: 1, b, b_row: output, accumulate: finish.onto || tap > 0 };
            // SAFETY: each row has `input` numbers (`ZEROS` at least as many), the weights of a tap are as long as was
            // checked above, and y holds whole rows, as many as x.
            unsafe { rows(s, y.len() / output, output, left, block, y.as_mut_ptr(), output) };
        }
        for y in y.chunks_exact_mut(output) {
            if let Some(bias) = finish.bias {
                for (y, bias) in y.iter_mut().zip(bias) {
                    *y += bias;
                }
            }
            if finish.relu {
                for y in y {
                    *y = if *y > 0.0 { *y } else { 0.0 };
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers;
    use crate::math::Level;
    use crate::test_data::{assert_close, numbers};

    #[test]
    fn the_sum_over_taps_is_the_convolution_at_every_level() {
        let weights = numbers(9 * 16 * 48, 1).iter().map(|w| w * 0.1).collect::<Vec<_>>();
        for (height, width) in [(1, 1), (2, 3), (6, 7), (15, 15)] {
            let x = numbers(3 * height * width * 16, 2);
            let plain = layers::conv3x3_forward((height, width), &x, &weights, 16, 48);
            let (bias, residual) = (numbers(48, 3), numbers(plain.len(), 4));
            let sums = plain.iter().zip(&residual).zip(bias.iter().cycle());
            let finished: Vec<f32> = sums.map(|((y, r), b)| (y + r + b).max(0.0)).collect();
            let (neighbours, channels) = (Neighbours::new(height, width), Channels { input: 16, output: 48 });
            for level in Level::available() {
                let mut y = vec![f32::NAN; plain.len()];
                forward(level, &neighbours, channels, &weights, &x, Finish::default(), &mut y);
                assert_close(&y, &plain, 1e-4);
                let finish = Finish { bias: Some(&bias), onto: true, relu: true };
                y.copy_from_slice(&residual);
                forward(level, &neighbours, channels, &weights, &x, finish, &mut y);
                assert_close(&y, &finished, 1e-4);
            }
        }
    }

    #[test]
    fn patches_times_weights_is_the_convolution_of_the_planes() {
        let (planes, outputs, area) = (3, 2, 20);
        let (input, weights) = (numbers(2 * planes * area, 1), numbers(9 * planes * outputs, 2));
        let mut patches = vec![f32::NAN; 9 * input.len()];
        super::patches((4, 5), planes, &input, &mut patches);
        let channels_last: Vec<f32> = (0..input.len())
            .map(|at| input[at / (planes * area) * planes * area + at % planes * area + at / planes % area])
            .collect();
        let wanted = layers::conv3x3_forward((4, 5), &channels_last, &weights, planes, outputs);
        assert_close(&layers::dense_forward(&patches, &weights, &[0.0; 2]), &wanted, 1e-5);
    }
}
