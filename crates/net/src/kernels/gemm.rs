//! Matrix products, and products whose left rows are gathered from anywhere.
//!
//! The block: MR rows of the left matrix times WIDE vectors of columns are kept in registers while k runs, so each
//! step loads WIDE vectors and MR single numbers for MR x WIDE multiply-adds. With AVX-512 that is 6 x 64 numbers in
//! 24 of 32 registers, with AVX2 6 x 16 in 12 of 16. Neither side is copied first: activations have their channels
//! last, so the columns of the right matrix lie side by side already, and the left one is read number by number.

use super::simd::{Simd, by_level};

/// Rows in a block.
const MR: usize = 6;
/// Steps of k after which the block is put down, so that the columns it reads (64 x 128 x 4 bytes) stay in the
/// first-level cache while all rows pass.
const K_BLOCK: usize = 128;

/// A matrix on the left: `a[i * row + p * column]`, so that it can be the transpose of what is stored.
#[derive(Clone, Copy)]
pub(crate) struct Left<'a> {
    pub(crate) data: &'a [f32],
    pub(crate) row: usize,
    pub(crate) column: usize,
}

/// The sizes of a product: `m x k` times `k x n`.
#[derive(Clone, Copy)]
pub(crate) struct Size {
    pub(crate) m: usize,
    pub(crate) n: usize,
    pub(crate) k: usize,
}

by_level! {
    /// C = A B, or C += A B. `b` has rows of `b_row` numbers and `c` of `c_row`, of which n are used; n is a
    /// multiple of 16.
    pub(crate) simd fn gemm = gemm_body(
        size: Size, a: Left<'_>, b: &[f32], b_row: usize, c: &mut [f32], c_row: usize, accumulate: bool,
    )
}

#[inline(always)]
fn gemm_body<S: Simd>(
    s: S,
    size: Size,
    a: Left<'_>,
    b: &[f32],
    b_row: usize,
    c: &mut [f32],
    c_row: usize,
    accumulate: bool,
) {
    let Size { m, n, k } = size;
    if m == 0 || n == 0 {
        return;
    }
    assert!(k > 0 && n.is_multiple_of(16) && b_row >= n && c_row >= n);
    assert!((m - 1) * a.row + (k - 1) * a.column < a.data.len());
    assert!((k - 1) * b_row + n <= b.len() && (m - 1) * c_row + n <= c.len());
    let mut accumulate = accumulate;
    for start in (0..k).step_by(K_BLOCK) {
        let steps = K_BLOCK.min(k - start);
        let block = Block { steps, a_step: a.column, b: b[start * b_row..].as_ptr(), b_row, accumulate };
        let left = Strided { data: a.data[start * a.column..].as_ptr(), row: a.row };
        // SAFETY: the extents of all three matrices were checked above.
        unsafe { rows(s, m, n, left, block, c.as_mut_ptr(), c_row) };
        accumulate = true;
    }
}

/// What is common to the blocks of one product.
#[derive(Clone, Copy)]
pub(crate) struct Block {
    /// Length of the sums.
    pub(crate) steps: usize,
    /// Distance between the numbers of a left row.
    pub(crate) a_step: usize,
    /// The right matrix, and the distance between its rows.
    pub(crate) b: *const f32,
    pub(crate) b_row: usize,
    /// Whether the sums start from what C holds, or from 0.
    pub(crate) accumulate: bool,
}

/// Where the rows of a left matrix start. (Not a closure: one that is not inlined costs a call for each row.)
pub(crate) trait Rows: Copy {
    /// # Safety
    /// The implementing type says which `i` there are.
    unsafe fn start(self, i: usize) -> *const f32;
}

/// Rows at equal distances.
#[derive(Clone, Copy)]
struct Strided {
    data: *const f32,
    row: usize,
}

impl Rows for Strided {
    #[inline(always)]
    unsafe fn start(self, i: usize) -> *const f32 {
        // SAFETY: the caller's promise.
        unsafe { self.data.add(i * self.row) }
    }
}

/// All m rows times all n columns.
///
/// # Safety
/// `left` has rows 0..m, and each may be read `steps` times at distance `a_step`; `b` holds `steps` rows of n numbers, `c` m rows;
/// n is a multiple of 16.
#[inline(always)]
pub(crate) unsafe fn rows<S: Simd>(s: S, m: usize, n: usize, left: impl Rows, block: Block, c: *mut f32, c_row: usize) {
    let mut j = 0;
    while j < n {
        let wide = S::WIDE.min((n - j) / S::LANES);
        let mut i = 0;
        while i < m {
            // SAFETY: columns j.. and rows i.. of what the caller vouches for.
            unsafe {
                let b = Block { b: block.b.add(j), ..block };
                let c = c.add(i * c_row + j);
                i += match (wide, m - i) {
                    (4.., MR..) => tile::<S, MR, 4>(s, left, i, b, c, c_row),
                    (4.., 5) => tile::<S, 5, 4>(s, left, i, b, c, c_row),
                    (4.., 4) => tile::<S, 4, 4>(s, left, i, b, c, c_row),
                    (4.., 3) => tile::<S, 3, 4>(s, left, i, b, c, c_row),
                    (4.., 2) => tile::<S, 2, 4>(s, left, i, b, c, c_row),
                    (4.., _) => tile::<S, 1, 4>(s, left, i, b, c, c_row),
                    (3, MR..) => tile::<S, MR, 3>(s, left, i, b, c, c_row),
                    (3, 4 | 5) => tile::<S, 4, 3>(s, left, i, b, c, c_row),
                    (3, _) => tile::<S, 1, 3>(s, left, i, b, c, c_row),
                    (2, MR..) => tile::<S, MR, 2>(s, left, i, b, c, c_row),
                    (2, 4 | 5) => tile::<S, 4, 2>(s, left, i, b, c, c_row),
                    (2, 3) => tile::<S, 3, 2>(s, left, i, b, c, c_row),
                    (2, 2) => tile::<S, 2, 2>(s, left, i, b, c, c_row),
                    (2, _) => tile::<S, 1, 2>(s, left, i, b, c, c_row),
                    (_, MR..) => tile::<S, MR, 1>(s, left, i, b, c, c_row),
                    (_, 4 | 5) => tile::<S, 4, 1>(s, left, i, b, c, c_row),
                    (_, _) => tile::<S, 1, 1>(s, left, i, b, c, c_row),
                };
            }
        }
        j += wide * S::LANES;
    }
}

/// One block: ROWS rows from `first` on and NV vectors of columns. Returns ROWS.
///
/// # Safety
/// As [`rows`], for these rows and columns.
#[inline(always)]
unsafe fn tile<S: Simd, const ROWS: usize, const NV: usize>(
    s: S,
    left: impl Rows,
    first: usize,
    block: Block,
    c: *mut f32,
    c_row: usize,
) -> usize {
    // Plain loops over constant ranges: the arrays become registers only if all of this is unrolled.
    let mut starts = [std::ptr::null(); ROWS];
    for r in 0..ROWS {
        // SAFETY: the caller vouches for these rows.
        starts[r] = unsafe { left.start(first + r) };
    }
    let mut sums = [[s.splat(0.0); NV]; ROWS];
    // SAFETY: every access is one that the caller vouches for.
    unsafe {
        if block.accumulate {
            for r in 0..ROWS {
                for v in 0..NV {
                    sums[r][v] = s.load(c.add(r * c_row + v * S::LANES));
                }
            }
        }
        let mut b = block.b;
        let mut at = 0;
        for _ in 0..block.steps {
            let mut columns = [s.splat(0.0); NV];
            for v in 0..NV {
                columns[v] = s.load(b.add(v * S::LANES));
            }
            for r in 0..ROWS {
                let left = s.splat(*starts[r].add(at));
                for v in 0..NV {
                    sums[r][v] = s.fma(left, columns[v], sums[r][v]);
                }
            }
            b = b.add(block.b_row);
            at += block.a_step;
        }
        for r in 0..ROWS {
            for v in 0..NV {
                s.store(c.add(r * c_row + v * S::LANES), sums[r][v]);
            }
        }
    }
    ROWS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Level;
    use crate::test_data::{assert_close, numbers};

    #[test]
    fn every_level_multiplies_and_accumulates_like_the_definition_at_every_size() {
        for level in Level::available() {
            for (m, n, k) in
                [(1, 16, 1), (6, 64, 9), (7, 48, 130), (13, 80, 257), (5, 32, 3), (11, 96, 64), (4, 16, 20)]
            {
                let (a, b, start) = (numbers(m * k, 1), numbers(k * (n + 3), 2), numbers(m * (n + 5), 3));
                let mut wanted = start.clone();
                for i in 0..m {
                    for j in 0..n {
                        let sum: f64 = (0..k).map(|p| f64::from(a[i * k + p]) * f64::from(b[p * (n + 3) + j])).sum();
                        wanted[i * (n + 5) + j] += sum as f32;
                    }
                }
                let mut found = start.clone();
                let size = Size { m, n, k };
                gemm(level, size, Left { data: &a, row: k, column: 1 }, &b, n + 3, &mut found, n + 5, true);
                assert_close(&found, &wanted, 1e-4);
                // The same from the transpose of A, and without a start.
                let transposed: Vec<f32> = (0..k * m).map(|at| a[at % m * k + at / m]).collect();
                let mut again = vec![7.0; m * n];
                gemm(level, size, Left { data: &transposed, row: 1, column: m }, &b, n + 3, &mut again, n, false);
                for i in 0..m {
                    let less: Vec<f32> = (0..n).map(|j| wanted[i * (n + 5) + j] - start[i * (n + 5) + j]).collect();
                    assert_close(&again[i * n..(i + 1) * n], &less, 1e-4);
                }
            }
        }
    }

    #[test]
    fn a_row_gives_the_same_bits_wherever_it_stands() {
        for level in Level::available() {
            let (n, k) = (64, 200);
            let (a, b) = (numbers(17 * k, 1), numbers(k * n, 2));
            let mut all = vec![0.0; 17 * n];
            let left = |data| Left { data, row: k, column: 1 };
            gemm(level, Size { m: 17, n, k }, left(&a), &b, n, &mut all, n, false);
            for i in 0..17 {
                let mut alone = vec![0.0; n];
                gemm(level, Size { m: 1, n, k }, left(&a[i * k..]), &b, n, &mut alone, n, false);
                assert_eq!(alone, all[i * n..(i + 1) * n]);
            }
        }
    }
}
