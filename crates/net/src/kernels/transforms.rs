//! The transforms of Winograd's convolution, forward and back, each along one dimension and then over all tiles.
//!
//! No closures here: one that is not inlined would be compiled without the vector instructions.

use super::simd::{Simd, by_level};
use super::winograd::{Finish, GAP, HAS, POINTS, Tiling, weights_len};

/// B' d for a segment of R outputs; `d` holds its R + 2 inputs.
#[inline(always)]
fn input_1d<S: Simd, const R: usize>(s: S, d: [S::V; POINTS]) -> [S::V; POINTS] {
    let zero = s.splat(0.0);
    match R {
        4 => {
            let p = s.fma(s.splat(-4.0), d[2], d[4]);
            let q = s.fma(s.splat(-4.0), d[1], d[3]);
            let r = s.sub(d[4], d[2]);
            let t = s.sub(d[3], d[1]);
            [
                s.fma(s.splat(4.0), d[0], s.fma(s.splat(-5.0), d[2], d[4])),
                s.add(p, q),
                s.sub(p, q),
                s.fma(s.splat(2.0), t, r),
                s.fma(s.splat(-2.0), t, r),
                s.fma(s.splat(4.0), d[1], s.fma(s.splat(-5.0), d[3], d[5])),
            ]
        }
        3 => [
            s.fma(s.splat(4.0), s.sub(d[0], d[2]), s.mul(s.splat(2.0), s.sub(d[3], d[1]))),
            s.fma(s.splat(3.0), s.sub(d[3], d[2]), s.mul(s.splat(-6.0), d[1])),
            s.fma(s.splat(2.0), d[1], s.fma(s.splat(-3.0), d[2], d[3])),
            s.mul(s.splat(4.0), s.sub(d[3], d[1])),
            zero,
            s.fma(s.splat(2.0), s.sub(d[1], d[3]), s.sub(d[4], d[2])),
        ],
        2 => [
            s.mul(s.splat(4.0), s.sub(d[0], d[2])),
            s.mul(s.splat(-3.0), s.add(d[1], d[2])),
            s.mul(s.splat(3.0), s.sub(d[1], d[2])),
            zero,
            zero,
            s.sub(d[3], d[1]),
        ],
        _ => [s.mul(s.splat(4.0), s.sub(d[0], d[1])), s.mul(s.splat(-6.0), d[1]), zero, zero, zero, s.sub(d[2], d[1])],
    }
}

/// A' m for a segment of R outputs.
#[inline(always)]
fn output_1d<S: Simd, const R: usize>(s: S, m: [S::V; POINTS]) -> [S::V; 4] {
    let zero = s.splat(0.0);
    match R {
        4 => {
            let (p, q) = (s.add(m[1], m[2]), s.sub(m[1], m[2]));
            let (r, t) = (s.add(m[3], m[4]), s.sub(m[3], m[4]));
            [
                s.add(m[0], s.add(p, r)),
                s.fma(s.splat(2.0), t, q),
                s.fma(s.splat(4.0), r, p),
                s.fma(s.splat(8.0), t, s.add(q, m[5])),
            ]
        }
        3 => {
            let (p, q) = (s.add(m[1], m[2]), s.sub(m[1], m[2]));
            [s.add(m[0], s.add(p, m[3])), s.fma(s.splat(2.0), m[3], q), s.fma(s.splat(4.0), m[3], s.add(p, m[5])), zero]
        }
        2 => [s.add(m[0], s.add(m[1], m[2])), s.add(s.sub(m[1], m[2]), m[5]), zero, zero],
        _ => [s.add(m[0], s.add(m[1], m[5])), zero, zero, zero],
    }
}

/// A y, the transpose of [`output_1d`]: the gradient at the slots from that at the outputs.
#[inline(always)]
fn output_1d_back<S: Simd, const R: usize>(s: S, y: [S::V; 4]) -> [S::V; POINTS] {
    let zero = s.splat(0.0);
    match R {
        4 => {
            let (p, q) = (s.add(y[0], y[2]), s.add(y[1], y[3]));
            let r = s.fma(s.splat(4.0), y[2], y[0]);
            let t = s.fma(s.splat(8.0), y[3], s.mul(s.splat(2.0), y[1]));
            [y[0], s.add(p, q), s.sub(p, q), s.add(r, t), s.sub(r, t), y[3]]
        }
        3 => {
            let p = s.add(y[0], y[2]);
            let r = s.fma(s.splat(4.0), y[2], s.fma(s.splat(2.0), y[1], y[0]));
            [y[0], s.add(p, y[1]), s.sub(p, y[1]), r, zero, y[2]]
        }
        2 => [y[0], s.add(y[0], y[1]), s.sub(y[0], y[1]), zero, zero, y[1]],
        _ => [y[0], y[0], zero, zero, zero, y[0]],
    }
}

/// B t, the transpose of [`input_1d`]: the gradient at the inputs from that at the slots.
#[inline(always)]
fn input_1d_back<S: Simd, const R: usize>(s: S, t: [S::V; POINTS]) -> [S::V; POINTS] {
    let zero = s.splat(0.0);
    match R {
        4 => {
            let (p, q) = (s.add(t[1], t[2]), s.sub(t[1], t[2]));
            let (r, u) = (s.add(t[3], t[4]), s.sub(t[3], t[4]));
            [
                s.mul(s.splat(4.0), t[0]),
                s.fma(s.splat(4.0), s.sub(t[5], q), s.mul(s.splat(-2.0), u)),
                s.fma(s.splat(-5.0), t[0], s.fma(s.splat(-4.0), p, s.sub(zero, r))),
                s.fma(s.splat(-5.0), t[5], s.fma(s.splat(2.0), u, q)),
                s.add(t[0], s.add(p, r)),
                t[5],
            ]
        }
        3 => {
            let p = s.fma(s.splat(-4.0), t[3], s.mul(s.splat(-2.0), t[0]));
            let p = s.fma(s.splat(2.0), t[5], p);
            [
                s.mul(s.splat(4.0), t[0]),
                s.fma(s.splat(-6.0), t[1], s.fma(s.splat(2.0), t[2], p)),
                s.fma(s.splat(-4.0), t[0], s.fma(s.splat(-3.0), s.add(t[1], t[2]), s.sub(zero, t[5]))),
                s.fma(s.splat(3.0), t[1], s.sub(t[2], p)),
                t[5],
                zero,
            ]
        }
        2 => [
            s.mul(s.splat(4.0), t[0]),
            s.fma(s.splat(3.0), s.sub(t[2], t[1]), s.sub(zero, t[5])),
            s.fma(s.splat(-4.0), t[0], s.mul(s.splat(-3.0), s.add(t[1], t[2]))),
            t[5],
            zero,
            zero,
        ],
        _ => [
            s.mul(s.splat(4.0), t[0]),
            s.fma(s.splat(-4.0), t[0], s.fma(s.splat(-6.0), t[1], s.sub(zero, t[5]))),
            t[5],
            zero,
            zero,
            zero,
        ],
    }
}

/// G g.
#[inline(always)]
fn weights_1d<S: Simd>(s: S, g: [S::V; 3]) -> [S::V; POINTS] {
    let ends = s.add(g[0], g[2]);
    let sixth = s.splat(-1.0 / 6.0);
    let (even, odd) = (s.mul(sixth, ends), s.mul(sixth, g[1]));
    let far = s.fma(s.splat(1.0 / 6.0), g[2], s.mul(s.splat(1.0 / 24.0), g[0]));
    let twelfth = s.mul(s.splat(1.0 / 12.0), g[1]);
    [s.mul(s.splat(0.25), g[0]), s.add(even, odd), s.sub(even, odd), s.add(far, twelfth), s.sub(far, twelfth), g[2]]
}

/// G' u, the transpose of [`weights_1d`].
#[inline(always)]
fn weights_1d_back<S: Simd>(s: S, u: [S::V; POINTS]) -> [S::V; 3] {
    let sixth = s.splat(1.0 / 6.0);
    let (p, q) = (s.mul(sixth, s.add(u[1], u[2])), s.sub(u[2], u[1]));
    let (r, t) = (s.add(u[3], u[4]), s.sub(u[3], u[4]));
    [
        s.fma(s.splat(1.0 / 24.0), r, s.sub(s.mul(s.splat(0.25), u[0]), p)),
        s.fma(sixth, q, s.mul(s.splat(1.0 / 12.0), t)),
        s.fma(sixth, r, s.sub(u[5], p)),
    ]
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

by_level! {
    /// U = G g G' for every pair of channels: `weights` is `[9][pairs]`, `u` as long as [`weights_len`] says, pairs a
    /// multiple of 16.
    pub(crate) simd fn transform_weights = transform_weights_body(weights: &[f32], u: &mut [f32])
}

#[inline(always)]
fn transform_weights_body<S: Simd>(s: S, weights: &[f32], u: &mut [f32]) {
    let pairs = weights.len() / 9;
    assert!(pairs.is_multiple_of(16) && weights.len() == 9 * pairs && u.len() == weights_len(pairs));
    for at in (0..pairs).step_by(S::LANES) {
        // SAFETY: `at` and LANES numbers from it lie within each of the 9 and 36 areas.
        unsafe {
            let mut columns = [[s.splat(0.0); POINTS]; 3];
            for x in 0..3 {
                let mut g = [s.splat(0.0); 3];
                for y in 0..3 {
                    g[y] = s.load(weights.as_ptr().add((y * 3 + x) * pairs + at));
                }
                columns[x] = weights_1d(s, g);
            }
            for y in 0..POINTS {
                let row = weights_1d(s, [columns[0][y], columns[1][y], columns[2][y]]);
                for x in 0..POINTS {
                    s.store(u.as_mut_ptr().add((y * POINTS + x) * (pairs + GAP) + at), row[x]);
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
    for at in (0..pairs).step_by(S::LANES) {
        // SAFETY: as in `transform_weights_body`.
        unsafe {
            let mut rows = [[s.splat(0.0); 3]; POINTS];
            for y in 0..POINTS {
                let mut u = [s.splat(0.0); POINTS];
                for x in 0..POINTS {
                    u[x] = s.load(du.as_ptr().add((y * POINTS + x) * (pairs + GAP) + at));
                }
                rows[y] = weights_1d_back(s, u);
            }
            for x in 0..3 {
                let mut column = [s.splat(0.0); POINTS];
                for y in 0..POINTS {
                    column[y] = rows[y][x];
                }
                let column = weights_1d_back(s, column);
                for y in 0..3 {
                    let to = d_weights.as_mut_ptr().add((y * 3 + x) * pairs + at);
                    s.store(to, s.add(s.load(to), column[y]));
                }
            }
        }
    }
}

by_level! {
    /// V = B' d B for all tiles of `x`, which is `[positions][area][channels]`.
    pub(super) simd fn transform_input = transform_input_body(
        tiling: &Tiling, positions: usize, channels: usize, x: &[f32], v: &mut [f32],
    )
}

#[inline(always)]
fn transform_input_body<S: Simd>(s: S, tiling: &Tiling, positions: usize, channels: usize, x: &[f32], v: &mut [f32]) {
    let (height, width) = (tiling.height, tiling.width);
    assert!(x.len() == positions * tiling.area() * channels && channels.is_multiple_of(16));
    assert!(v.len() >= tiling.transformed_len(positions, channels));
    let zero = s.splat(0.0);
    for position in 0..positions {
        for (i, rows) in tiling.rows.iter().enumerate() {
            for (j, columns) in tiling.columns.iter().enumerate() {
                let places = tiling.places(positions, channels, position, i, j);
                for channel in (0..channels).step_by(S::LANES) {
                    let mut part = [[zero; POINTS]; POINTS];
                    for c in 0..columns.size + 2 {
                        // Column and row numbers are one too high, so that the border before the board is 0.
                        let column = columns.start + c;
                        if column == 0 || column > width {
                            continue;
                        }
                        let mut d = [zero; POINTS];
                        for r in 0..rows.size + 2 {
                            let row = rows.start + r;
                            if row > 0 && row <= height {
                                let point = (position * height + row - 1) * width + column - 1;
                                // SAFETY: the point is on the board, and `x` has `channels` numbers for each point.
                                d[r] = unsafe { s.load(x.as_ptr().add(point * channels + channel)) };
                            }
                        }
                        let transformed = for_size!(rows.size, input_1d, s, d);
                        for k in 0..POINTS {
                            part[k][c] = transformed[k];
                        }
                    }
                    for &k in HAS[rows.size] {
                        let row = for_size!(columns.size, input_1d, s, part[k]);
                        for &l in HAS[columns.size] {
                            let at = places[k * POINTS + l] as usize + channel;
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
    pub(super) simd fn transform_output = transform_output_body(
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
    let zero = s.splat(0.0);
    for position in 0..positions {
        for (i, rows) in tiling.rows.iter().enumerate() {
            for (j, columns) in tiling.columns.iter().enumerate() {
                let places = tiling.places(positions, channels, position, i, j);
                for channel in (0..channels).step_by(S::LANES) {
                    let mut part = [[zero; POINTS]; 4];
                    for &l in HAS[columns.size] {
                        let mut column = [zero; POINTS];
                        for &k in HAS[rows.size] {
                            let at = places[k * POINTS + l] as usize + channel;
                            // SAFETY: as in `transform_input_body`.
                            column[k] = unsafe { s.load(m.as_ptr().add(at)) };
                        }
                        let transformed = for_size!(rows.size, output_1d, s, column);
                        for r in 0..transformed.len() {
                            part[r][l] = transformed[r];
                        }
                    }
                    let bias = match finish.bias {
                        // SAFETY: it has `channels` numbers.
                        Some(bias) => unsafe { s.load(bias.as_ptr().add(channel)) },
                        None => zero,
                    };
                    for r in 0..rows.size {
                        let out = for_size!(columns.size, output_1d, s, part[r]);
                        for c in 0..columns.size {
                            let point = (position * tiling.height + rows.start + r) * tiling.width + columns.start + c;
                            let at = point * channels + channel;
                            let mut out = s.add(out[c], bias);
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
    pub(super) simd fn transform_output_back = transform_output_back_body(
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
    let zero = s.splat(0.0);
    for position in 0..positions {
        for (i, rows) in tiling.rows.iter().enumerate() {
            for (j, columns) in tiling.columns.iter().enumerate() {
                let places = tiling.places(positions, channels, position, i, j);
                for channel in (0..channels).step_by(S::LANES) {
                    let mut part = [[zero; 4]; POINTS];
                    for c in 0..columns.size {
                        let mut d = [zero; 4];
                        for r in 0..rows.size {
                            let point = (position * tiling.height + rows.start + r) * tiling.width + columns.start + c;
                            // SAFETY: the point is on the board, and `dy` has `channels` numbers for each point.
                            d[r] = unsafe { s.load(dy.as_ptr().add(point * channels + channel)) };
                        }
                        let transformed = for_size!(rows.size, output_1d_back, s, d);
                        for k in 0..POINTS {
                            part[k][c] = transformed[k];
                        }
                    }
                    for &k in HAS[rows.size] {
                        let row = for_size!(columns.size, output_1d_back, s, part[k]);
                        for &l in HAS[columns.size] {
                            let at = places[k * POINTS + l] as usize + channel;
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
    pub(super) simd fn transform_input_back = transform_input_back_body(
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
    let zero = s.splat(0.0);
    for position in 0..positions {
        for (i, rows) in tiling.rows.iter().enumerate() {
            for (j, columns) in tiling.columns.iter().enumerate() {
                let places = tiling.places(positions, channels, position, i, j);
                for channel in (0..channels).step_by(S::LANES) {
                    let mut part = [[zero; POINTS]; POINTS];
                    for &l in HAS[columns.size] {
                        let mut column = [zero; POINTS];
                        for &k in HAS[rows.size] {
                            let at = places[k * POINTS + l] as usize + channel;
                            // SAFETY: as in `transform_input_body`.
                            column[k] = unsafe { s.load(dv.as_ptr().add(at)) };
                        }
                        let transformed = for_size!(rows.size, input_1d_back, s, column);
                        for r in 0..transformed.len() {
                            part[r][l] = transformed[r];
                        }
                    }
                    for r in 0..rows.size + 2 {
                        let row = rows.start + r;
                        if row == 0 || row > height {
                            continue;
                        }
                        let d = for_size!(columns.size, input_1d_back, s, part[r]);
                        for c in 0..columns.size + 2 {
                            let column = columns.start + c;
                            if column == 0 || column > width {
                                continue;
                            }
                            let point = (position * height + row - 1) * width + column - 1;
                            // SAFETY: the point is on the board, and `dx` has `channels` numbers for each point.
                            unsafe {
                                let to = dx.as_mut_ptr().add(point * channels + channel);
                                s.store(to, s.add(s.load(to), d[c]));
                            }
                        }
                    }
                }
            }
        }
    }
}
