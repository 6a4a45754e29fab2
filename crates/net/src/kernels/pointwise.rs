//! What is done number by number between the products: normalisation, residual, ReLU, and their way back.
//!
//! Arrays are `[rows][channels]`. Sums over rows are taken within one board in f32 and over boards in f64.

use super::simd::by_level;

by_level! {
    /// Adds the sum and the sum of squares of each channel to `sums` (`[2][channels]`), board by board.
    pub(crate) plain fn add_moments = add_moments_body(channels: usize, area: usize, x: &[f32], sums: &mut [f64])
}

#[inline(always)]
fn add_moments_body(channels: usize, area: usize, x: &[f32], sums: &mut [f64]) {
    assert_eq!(sums.len(), 2 * channels);
    let mut board_sums = vec![0.0f32; 2 * channels];
    for board in x.chunks(area * channels) {
        board_sums.fill(0.0);
        let (sum, squares) = board_sums.split_at_mut(channels);
        for row in board.chunks_exact(channels) {
            for ((x, sum), squares) in row.iter().zip(&mut *sum).zip(&mut *squares) {
                *sum += x;
                *squares += x * x;
            }
        }
        for (total, sum) in sums.iter_mut().zip(&board_sums) {
            *total += f64::from(*sum);
        }
    }
}

by_level! {
    /// y = ReLU(scale x + shift + residual), without the residual if it is empty.
    pub(crate) plain fn scale_shift_relu = scale_shift_relu_body(
        x: &[f32], scale: &[f32], shift: &[f32], residual: &[f32], y: &mut [f32],
    )
}

#[inline(always)]
fn scale_shift_relu_body(x: &[f32], scale: &[f32], shift: &[f32], residual: &[f32], y: &mut [f32]) {
    let channels = scale.len();
    assert!(shift.len() == channels && x.len() == y.len());
    let relu = |x: f32| if x > 0.0 { x } else { 0.0 };
    if residual.is_empty() {
        for (x, y) in x.chunks_exact(channels).zip(y.chunks_exact_mut(channels)) {
            for (((x, scale), shift), y) in x.iter().zip(scale).zip(shift).zip(y) {
                *y = relu(scale * x + shift);
            }
        }
    } else {
        assert_eq!(residual.len(), y.len());
        let rows = x.chunks_exact(channels).zip(residual.chunks_exact(channels)).zip(y.chunks_exact_mut(channels));
        for ((x, residual), y) in rows {
            for ((((x, residual), scale), shift), y) in x.iter().zip(residual).zip(scale).zip(shift).zip(y) {
                *y = relu(scale * x + shift + residual);
            }
        }
    }
}

by_level! {
    /// Takes the gradient at a ReLU's output through it, in place: `d` becomes 0 where `y` is 0. Adds to `sums`
    /// (`[2][channels]`) the sums of d and of d (x - mean) over the rows, board by board.
    pub(crate) plain fn relu_back_and_sums = relu_back_and_sums_body(
        area: usize, x: &[f32], mean: &[f32], y: &[f32], d: &mut [f32], sums: &mut [f64],
    )
}

#[inline(always)]
fn relu_back_and_sums_body(area: usize, x: &[f32], mean: &[f32], y: &[f32], d: &mut [f32], sums: &mut [f64]) {
    let channels = mean.len();
    assert!(sums.len() == 2 * channels && x.len() == d.len() && y.len() == d.len());
    let mut board_sums = vec![0.0f32; 2 * channels];
    let board = area * channels;
    for ((x, y), d) in x.chunks(board).zip(y.chunks(board)).zip(d.chunks_mut(board)) {
        board_sums.fill(0.0);
        let (sum, products) = board_sums.split_at_mut(channels);
        let rows = x.chunks_exact(channels).zip(y.chunks_exact(channels)).zip(d.chunks_exact_mut(channels));
        for ((x, y), d) in rows {
            let numbers = x.iter().zip(y).zip(d).zip(mean).zip(&mut *sum).zip(&mut *products);
            for (((((x, y), d), mean), sum), products) in numbers {
                *d = if *y > 0.0 { *d } else { 0.0 };
                *sum += *d;
                *products += *d * (x - mean);
            }
        }
        for (total, sum) in sums.iter_mut().zip(&board_sums) {
            *total += f64::from(*sum);
        }
    }
}

by_level! {
    /// `dx = by_d d + by_x x + constant`, each factor one number for each channel.
    pub(crate) plain fn normalise_back = normalise_back_body(
        x: &[f32], d: &[f32], by_d: &[f32], by_x: &[f32], constant: &[f32], dx: &mut [f32],
    )
}

#[inline(always)]
fn normalise_back_body(x: &[f32], d: &[f32], by_d: &[f32], by_x: &[f32], constant: &[f32], dx: &mut [f32]) {
    let channels = by_d.len();
    assert!(by_x.len() == channels && constant.len() == channels && x.len() == dx.len() && d.len() == dx.len());
    let rows = x.chunks_exact(channels).zip(d.chunks_exact(channels)).zip(dx.chunks_exact_mut(channels));
    for ((x, d), dx) in rows {
        let numbers = x.iter().zip(d).zip(by_d).zip(by_x).zip(constant).zip(dx);
        for (((((x, d), by_d), by_x), constant), dx) in numbers {
            *dx = by_d * d + by_x * x + constant;
        }
    }
}

by_level! {
    /// `to += from`.
    pub(crate) plain fn add = add_body(from: &[f32], to: &mut [f32])
}

#[inline(always)]
fn add_body(from: &[f32], to: &mut [f32]) {
    assert_eq!(from.len(), to.len());
    for (to, from) in to.iter_mut().zip(from) {
        *to += from;
    }
}

by_level! {
    /// y = ReLU(y + bias).
    pub(crate) plain fn bias_relu = bias_relu_body(bias: &[f32], y: &mut [f32])
}

#[inline(always)]
fn bias_relu_body(bias: &[f32], y: &mut [f32]) {
    for y in y.chunks_exact_mut(bias.len()) {
        for (y, bias) in y.iter_mut().zip(bias) {
            let sum = *y + bias;
            *y = if sum > 0.0 { sum } else { 0.0 };
        }
    }
}

by_level! {
    /// Takes the gradient at a ReLU's output `y` through it, in place.
    pub(crate) plain fn relu_back = relu_back_body(y: &[f32], d: &mut [f32])
}

#[inline(always)]
fn relu_back_body(y: &[f32], d: &mut [f32]) {
    assert_eq!(y.len(), d.len());
    for (y, d) in y.iter().zip(d) {
        *d = if *y > 0.0 { *d } else { 0.0 };
    }
}
