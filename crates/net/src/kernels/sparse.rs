//! Products whose left rows are mostly zeros, as the stones of a board among its points: only the others are multiplied.
//!
//! Each sum adds the same products in the same order as `gemm.rs`, which adds zeros between them, so both give the same bits.

use super::simd::{Simd, by_level};

/// Vectors of columns whose sums are kept in registers while the entries of a row pass.
const NV: usize = 4;

/// A matrix without its zeros.
#[derive(Debug, Default)]
pub(crate) struct Sparse {
    columns: usize,
    /// For each row the end of its entries; they begin where those of the row before end.
    ends: Vec<usize>,
    /// Column, below `columns`, and number, row by row; and room for more.
    entries: Vec<(u32, f32)>,
}

impl Sparse {
    /// Takes the place of what was here: the rows of `numbers`, each of this many columns.
    pub(crate) fn gather(&mut self, numbers: &[f32], columns: usize) {
        self.columns = columns;
        self.ends.clear();
        self.make_room(numbers.len());
        let mut end = 0;
        for row in numbers.chunks_exact(columns) {
            for (column, &x) in row.iter().enumerate() {
                // Without a branch: where the stones are cannot be predicted. A zero is overwritten by what comes next.
                self.entries[end] = (column as u32, x);
                end += usize::from(x != 0.0);
            }
            self.ends.push(end);
        }
    }

    pub(crate) fn rows(&self) -> usize {
        self.ends.len()
    }

    fn make_room(&mut self, entries: usize) {
        if self.entries.len() < entries {
            self.entries.resize(entries, (0, 0.0));
        }
    }

    /// The entries of all rows.
    fn entries(&self) -> &[(u32, f32)] {
        &self.entries[..self.ends.last().copied().unwrap_or(0)]
    }

    /// The matrix with rows and columns exchanged takes the place of what was in `to`.
    pub(crate) fn transpose(&self, to: &mut Sparse) {
        to.columns = self.ends.len();
        // Where the entries of each column begin, which grows to where they end as they are put there.
        to.ends.clear();
        to.ends.resize(self.columns + 1, 0);
        for &(column, _) in self.entries() {
            to.ends[column as usize + 1] += 1;
        }
        to.ends.pop();
        let mut begin = 0;
        for count in &mut to.ends {
            begin += *count;
            *count = begin;
        }
        to.make_room(self.entries().len());
        let mut begin = 0;
        for (row, &end) in self.ends.iter().enumerate() {
            for &(column, x) in &self.entries[begin..end] {
                let place = &mut to.ends[column as usize];
                to.entries[*place] = (row as u32, x);
                *place += 1;
            }
            begin = end;
        }
    }
}

by_level! {
    /// C = A B. `b` has a row of `b_row` numbers for each column of A, `c` one of `c_row` for each row of A; n numbers of
    /// each are used, a multiple of 16.
    pub(crate) simd fn multiply = multiply_body(
        a: &Sparse, n: usize, b: &[f32], b_row: usize, c: &mut [f32], c_row: usize,
    )
}

#[inline(always)]
fn multiply_body<S: Simd>(s: S, a: &Sparse, n: usize, b: &[f32], b_row: usize, c: &mut [f32], c_row: usize) {
    let rows = a.ends.len();
    if rows == 0 || n == 0 {
        return;
    }
    assert!(n.is_multiple_of(16) && b_row >= n && c_row >= n);
    assert!((a.columns - 1) * b_row + n <= b.len() && (rows - 1) * c_row + n <= c.len());
    let mut begin = 0;
    for (row, &end) in a.ends.iter().enumerate() {
        let entries = &a.entries[begin..end];
        let mut j = 0;
        while j < n {
            // SAFETY: columns j.. of row `row` and of the rows that the entries name; the extents were checked above.
            unsafe {
                let (b, c) = (b.as_ptr().add(j), c.as_mut_ptr().add(row * c_row + j));
                j += if n - j >= NV * S::LANES {
                    sums::<S, NV>(s, entries, b, b_row, c)
                } else {
                    sums::<S, 1>(s, entries, b, b_row, c)
                };
            }
        }
        begin = end;
    }
}

/// V vectors of one row of the product. Returns the numbers written.
///
/// # Safety
/// `b` may be read for V vectors in each row of `b_row` numbers that an entry names, and `c` be written for V vectors.
#[inline(always)]
unsafe fn sums<S: Simd, const V: usize>(
    s: S,
    entries: &[(u32, f32)],
    b: *const f32,
    b_row: usize,
    c: *mut f32,
) -> usize {
    let mut sums = [s.splat(0.0); V];
    for &(column, x) in entries {
        let x = s.splat(x);
        for v in 0..V {
            // SAFETY: the caller's promise.
            let columns = unsafe { s.load(b.add(column as usize * b_row + v * S::LANES)) };
            sums[v] = s.fma(x, columns, sums[v]);
        }
    }
    for v in 0..V {
        // SAFETY: the caller's promise.
        unsafe { s.store(c.add(v * S::LANES), sums[v]) };
    }
    V * S::LANES
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::gemm::{Left, Size, gemm};
    use crate::math::Level;
    use crate::test_data::numbers;

    /// A matrix in which two numbers of three are 0.
    fn mostly_zeros(rows: usize, columns: usize) -> Vec<f32> {
        numbers(rows * columns, 1).into_iter().map(|x| if x > 0.3 { x } else { 0.0 }).collect()
    }

    #[test]
    fn both_ways_round_it_gives_the_bits_of_the_whole_product() {
        for (m, k, n) in [(1, 1, 16), (7, 30, 48), (64, 225, 64), (5, 9, 80)] {
            let a = mostly_zeros(m, k);
            let (mut sparse, mut transposed) = (Sparse::default(), Sparse::default());
            // What was there before leaves nothing behind.
            sparse.gather(&numbers(200, 3), 20);
            sparse.transpose(&mut transposed);
            sparse.gather(&a, k);
            sparse.transpose(&mut transposed);
            for level in Level::available() {
                let product = |sparse: &Sparse, left: Left<'_>, (m, k): (usize, usize)| {
                    let b = numbers(k * (n + 3), 2);
                    let (mut found, mut wanted) = (vec![7.0; m * (n + 5)], vec![7.0; m * (n + 5)]);
                    multiply(level, sparse, n, &b, n + 3, &mut found, n + 5);
                    gemm(level, Size { m, n, k }, left, &b, n + 3, &mut wanted, n + 5, false);
                    let bits = |numbers: Vec<f32>| numbers.into_iter().map(f32::to_bits).collect::<Vec<_>>();
                    assert_eq!(bits(found), bits(wanted));
                };
                product(&sparse, Left { data: &a, row: k, column: 1 }, (m, k));
                product(&transposed, Left { data: &a, row: 1, column: k }, (k, m));
            }
        }
    }
}
