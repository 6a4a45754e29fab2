//! Sixteen numbers handled together, by whatever vector instructions there are, with the same bits from each.
//!
//! Where [`crate::kernels`] works in vectors as wide as the registers and fuses what it can, a block here is sixteen
//! numbers in any registers, nothing is fused and every sum has one order: wider instructions only make results sooner.

use crate::kernels::simd::Portable;
use crate::mlp::Activation;

/// Numbers in a block.
pub(crate) const LANES: usize = 16;

/// A block in memory, aligned so that no load crosses a cache line.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(64))]
pub(crate) struct Lanes(pub(crate) [f32; LANES]);

impl Lanes {
    pub(crate) const ZERO: Lanes = Lanes([0.0; LANES]);
}

/// The numbers of these blocks, one after the other.
#[inline]
pub(crate) fn flat(blocks: &[Lanes]) -> &[f32] {
    // SAFETY: a block is sixteen numbers of 4 bytes in its 64, so blocks in a row are numbers in a row.
    unsafe { std::slice::from_raw_parts(blocks.as_ptr().cast(), blocks.len() * LANES) }
}

/// As [`flat`], to be changed.
#[inline]
pub(crate) fn flat_mut(blocks: &mut [Lanes]) -> &mut [f32] {
    // SAFETY: as in `flat`.
    unsafe { std::slice::from_raw_parts_mut(blocks.as_mut_ptr().cast(), blocks.len() * LANES) }
}

/// Arithmetic on one number or many. In comparisons with NaN the second operand wins, as processors have it.
pub(crate) trait Arithmetic: Copy {
    /// What is computed with.
    type X: Copy;

    fn splat(self, x: f32) -> Self::X;
    fn add(self, a: Self::X, b: Self::X) -> Self::X;
    fn sub(self, a: Self::X, b: Self::X) -> Self::X;
    fn mul(self, a: Self::X, b: Self::X) -> Self::X;
    fn div(self, a: Self::X, b: Self::X) -> Self::X;
    /// a where a > b, else b.
    fn max(self, a: Self::X, b: Self::X) -> Self::X;
    /// a where a < b, else b.
    fn min(self, a: Self::X, b: Self::X) -> Self::X;
    /// x where y > 0, else 0.
    fn where_positive(self, x: Self::X, y: Self::X) -> Self::X;

    /// a + b x c, rounded twice.
    #[inline(always)]
    fn add_product(self, a: Self::X, b: Self::X, c: Self::X) -> Self::X {
        self.add(a, self.mul(b, c))
    }

    /// a + b x c, rounded once where the processor can, and twice on the portable path.
    #[inline(always)]
    fn fused(self, a: Self::X, b: Self::X, c: Self::X) -> Self::X {
        self.add_product(a, b, c)
    }

    /// 2^n for a whole n from -126 to 127, given as n + 1.5 x 2^23, which has n in its low bits.
    fn power_of_two(self, n: Self::X) -> Self::X;

    /// e^x for x up to 80; 0 from -87 down, and for NaN; relative error below 3e-7.
    ///
    /// As [`crate::math::exp`], but the polynomial is summed in pairs (Estrin), so that few products wait for others.
    #[inline(always)]
    fn exp(self, x: Self::X) -> Self::X {
        const ROUND: f32 = 12_582_912.0;
        const LEAST: f32 = -87.0;
        const P: [f32; 6] = [5e-1, 1.666_666_5e-1, 4.166_579_6e-2, 8.333_452e-3, 1.398_2e-3, 1.987_569_1e-4];
        let kept = self.max(self.splat(LEAST), x);
        let rounded = self.fused(self.splat(ROUND), kept, self.splat(std::f32::consts::LOG2_E));
        let n = self.sub(rounded, self.splat(ROUND));
        let r = self.fused(kept, n, self.splat(-0.693_359_4));
        let r = self.fused(r, n, self.splat(2.121_944_4e-4));
        let r2 = self.mul(r, r);
        let low = self.fused(self.splat(P[0]), r, self.splat(P[1]));
        let middle = self.fused(self.splat(P[2]), r, self.splat(P[3]));
        let high = self.fused(self.splat(P[4]), r, self.splat(P[5]));
        let rest = self.fused(low, r2, self.fused(middle, r2, high));
        let y = self.fused(self.add(self.splat(1.0), r), r2, rest);
        self.where_positive(self.mul(y, self.power_of_two(rounded)), self.sub(x, self.splat(LEAST)))
    }

    /// The hyperbolic tangent; absolute error below 4e-7.
    ///
    /// A rational function x P(x^2) / Q(x^2) with both polynomials of degree 4, fitted for the least greatest error
    /// on [-9, 9] (1.9e-8 before rounding; Lawson's reweighting); beyond 9 the tangent is 1 to within 4e-8.
    #[inline(always)]
    fn tanh(self, x: Self::X) -> Self::X {
        const P: [f32; 5] = [1.318_490_8e-8, 2.047_253_4e-5, 3.486_634_7e-3, 1.337_324_6e-1, 0.999_999_9];
        const Q: [f32; 5] = [7.703_003_7e-7, 3.271_464_4e-4, 2.584_219_2e-2, 4.670_654_3e-1, 1.0];
        let x = self.min(self.splat(9.0), self.max(self.splat(-9.0), x));
        let z = self.mul(x, x);
        let (mut p, mut q) = (self.splat(P[0]), self.splat(Q[0]));
        for i in 1..P.len() {
            p = self.add_product(self.splat(P[i]), p, z);
            q = self.add_product(self.splat(Q[i]), q, z);
        }
        let y = self.div(self.mul(x, p), q);
        self.min(self.splat(1.0), self.max(self.splat(-1.0), y))
    }

    /// The function of every number.
    #[inline(always)]
    fn activate(self, activation: Activation, x: Self::X) -> Self::X {
        match activation {
            Activation::Identity => x,
            Activation::Relu => self.max(self.splat(0.0), x),
            Activation::Tanh => self.tanh(x),
        }
    }

    /// x times the derivative of the function where it has the value y; the derivative of ReLU is 0 at 0.
    #[inline(always)]
    fn times_slope(self, activation: Activation, x: Self::X, y: Self::X) -> Self::X {
        match activation {
            Activation::Identity => x,
            Activation::Relu => self.where_positive(x, y),
            Activation::Tanh => self.mul(x, self.sub(self.splat(1.0), self.mul(y, y))),
        }
    }
}

/// Arithmetic on a block.
pub(crate) trait Blocks: Arithmetic {
    fn load(self, from: &Lanes) -> Self::X;
    fn store(self, x: Self::X, to: &mut Lanes);
    /// The sum by halves: lane i and lane i + 8, then i + 4, i + 2, i + 1.
    fn sum(self, x: Self::X) -> f32;
    /// Whether any number is above the bound.
    fn any_above(self, x: Self::X, bound: f32) -> bool;
    /// The sums of sixteen blocks, each as [`Blocks::sum`] makes it.
    fn sums(self, x: [Self::X; LANES]) -> Self::X;
}

/// A single number.
#[derive(Clone, Copy)]
pub(crate) struct One;

impl Arithmetic for One {
    type X = f32;

    #[inline(always)]
    fn splat(self, x: f32) -> f32 {
        x
    }

    #[inline(always)]
    fn add(self, a: f32, b: f32) -> f32 {
        a + b
    }

    #[inline(always)]
    fn sub(self, a: f32, b: f32) -> f32 {
        a - b
    }

    #[inline(always)]
    fn mul(self, a: f32, b: f32) -> f32 {
        a * b
    }

    #[inline(always)]
    fn div(self, a: f32, b: f32) -> f32 {
        a / b
    }

    #[inline(always)]
    fn max(self, a: f32, b: f32) -> f32 {
        if a > b { a } else { b }
    }

    #[inline(always)]
    fn min(self, a: f32, b: f32) -> f32 {
        if a < b { a } else { b }
    }

    #[inline(always)]
    fn where_positive(self, x: f32, y: f32) -> f32 {
        if y > 0.0 { x } else { 0.0 }
    }

    #[inline(always)]
    fn power_of_two(self, n: f32) -> f32 {
        // The bits above those of n are shifted out.
        f32::from_bits((n.to_bits() << 23).wrapping_add(127 << 23))
    }
}

/// Applies an operation on single numbers lane by lane.
macro_rules! lane_by_lane {
    ($($name:ident),*) => {
        $(#[inline(always)]
        fn $name(self, a: Self::X, b: Self::X) -> Self::X {
            std::array::from_fn(|i| One.$name(a[i], b[i]))
        })*
    };
}

impl Arithmetic for Portable {
    type X = [f32; LANES];

    #[inline(always)]
    fn splat(self, x: f32) -> Self::X {
        [x; LANES]
    }

    lane_by_lane!(add, sub, mul, div, max, min, where_positive);

    #[inline(always)]
    fn power_of_two(self, n: Self::X) -> Self::X {
        n.map(|n| One.power_of_two(n))
    }
}

impl Blocks for Portable {
    #[inline(always)]
    fn load(self, from: &Lanes) -> Self::X {
        from.0
    }

    #[inline(always)]
    fn store(self, x: Self::X, to: &mut Lanes) {
        to.0 = x;
    }

    #[inline(always)]
    fn sum(self, mut x: Self::X) -> f32 {
        let mut half = LANES / 2;
        while half > 0 {
            for i in 0..half {
                x[i] += x[i + half];
            }
            half /= 2;
        }
        x[0]
    }

    #[inline(always)]
    fn any_above(self, x: Self::X, bound: f32) -> bool {
        x.iter().any(|&x| x > bound)
    }

    #[inline(always)]
    fn sums(self, x: [Self::X; LANES]) -> Self::X {
        x.map(|x| self.sum(x))
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    //! The two sets of vector instructions of x86-64.

    use std::arch::x86_64::*;

    use super::{Arithmetic, Blocks, LANES, Lanes};
    use crate::kernels::simd::{Avx2, Avx512};

    /// The sum of eight lanes by halves.
    #[inline(always)]
    fn sum8(x: __m256) -> f32 {
        // SAFETY: called by blocks whose token proves AVX, which includes SSE3.
        unsafe {
            let x = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps::<1>(x));
            let x = _mm_add_ps(x, _mm_movehl_ps(x, x));
            _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)))
        }
    }

    /// Methods of two operands from the instruction for one vector.
    macro_rules! by_halves {
        ($($name:ident = $instruction:ident),*) => {
            $(#[inline(always)]
            fn $name(self, a: Self::X, b: Self::X) -> Self::X {
                // SAFETY: the token proves AVX2.
                unsafe { [$instruction(a[0], b[0]), $instruction(a[1], b[1])] }
            })*
        };
    }

    impl Arithmetic for Avx2 {
        type X = [__m256; 2];

        #[inline(always)]
        fn splat(self, x: f32) -> Self::X {
            // SAFETY: the token proves AVX2.
            unsafe { [_mm256_set1_ps(x); 2] }
        }

        #[inline(always)]
        fn fused(self, a: Self::X, b: Self::X, c: Self::X) -> Self::X {
            // SAFETY: the token proves AVX2, and a level of that name has FMA too.
            unsafe { [_mm256_fmadd_ps(b[0], c[0], a[0]), _mm256_fmadd_ps(b[1], c[1], a[1])] }
        }

        by_halves!(add = _mm256_add_ps, sub = _mm256_sub_ps, mul = _mm256_mul_ps, div = _mm256_div_ps);
        by_halves!(max = _mm256_max_ps, min = _mm256_min_ps);

        #[inline(always)]
        fn where_positive(self, x: Self::X, y: Self::X) -> Self::X {
            // SAFETY: the token proves AVX2.
            let half = |x, y| unsafe { _mm256_and_ps(x, _mm256_cmp_ps::<_CMP_GT_OQ>(y, _mm256_setzero_ps())) };
            [half(x[0], y[0]), half(x[1], y[1])]
        }

        #[inline(always)]
        fn power_of_two(self, n: Self::X) -> Self::X {
            // SAFETY: the token proves AVX2.
            unsafe {
                let one = _mm256_set1_epi32(127 << 23);
                let a = _mm256_add_epi32(_mm256_slli_epi32::<23>(_mm256_castps_si256(n[0])), one);
                let b = _mm256_add_epi32(_mm256_slli_epi32::<23>(_mm256_castps_si256(n[1])), one);
                [_mm256_castsi256_ps(a), _mm256_castsi256_ps(b)]
            }
        }
    }

    impl Blocks for Avx2 {
        #[inline(always)]
        fn load(self, from: &Lanes) -> Self::X {
            let from = from.0.as_ptr();
            // SAFETY: the token proves AVX2; a block is 16 numbers, aligned to 64 bytes.
            unsafe { [_mm256_load_ps(from), _mm256_load_ps(from.add(LANES / 2))] }
        }

        #[inline(always)]
        fn store(self, x: Self::X, to: &mut Lanes) {
            let to = to.0.as_mut_ptr();
            // SAFETY: as for `load`.
            unsafe {
                _mm256_store_ps(to, x[0]);
                _mm256_store_ps(to.add(LANES / 2), x[1]);
            }
        }

        #[inline(always)]
        fn sum(self, x: Self::X) -> f32 {
            // SAFETY: the token proves AVX2.
            sum8(unsafe { _mm256_add_ps(x[0], x[1]) })
        }

        #[inline(always)]
        fn any_above(self, x: Self::X, bound: f32) -> bool {
            // SAFETY: the token proves AVX2.
            unsafe {
                let bound = _mm256_set1_ps(bound);
                let (a, b) = (_mm256_cmp_ps::<_CMP_GT_OQ>(x[0], bound), _mm256_cmp_ps::<_CMP_GT_OQ>(x[1], bound));
                _mm256_movemask_ps(_mm256_or_ps(a, b)) != 0
            }
        }

        #[inline(always)]
        fn sums(self, x: [Self::X; LANES]) -> Self::X {
            // As for AVX-512, with two registers for a block. Loops and no closures: see `Blocks`.
            // SAFETY: the token proves AVX2.
            unsafe {
                let mut by_4 = [_mm256_setzero_ps(); 8];
                for i in 0..8 {
                    let a = _mm256_add_ps(x[2 * i][0], x[2 * i][1]);
                    let b = _mm256_add_ps(x[2 * i + 1][0], x[2 * i + 1][1]);
                    by_4[i] = _mm256_add_ps(_mm256_permute2f128_ps::<0x20>(a, b), _mm256_permute2f128_ps::<0x31>(a, b));
                }
                let mut by_2 = [_mm256_setzero_ps(); 4];
                for i in 0..4 {
                    let (a, b) = (by_4[2 * i], by_4[2 * i + 1]);
                    by_2[i] = _mm256_add_ps(_mm256_shuffle_ps::<0x44>(a, b), _mm256_shuffle_ps::<0xEE>(a, b));
                }
                // Of its eight sums, number 2 j + k stands in lane 4 k + j.
                let order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
                let mut sums = [_mm256_setzero_ps(); 2];
                for i in 0..2 {
                    let (a, b) = (by_2[2 * i], by_2[2 * i + 1]);
                    let sum = _mm256_add_ps(_mm256_shuffle_ps::<0x88>(a, b), _mm256_shuffle_ps::<0xDD>(a, b));
                    sums[i] = _mm256_permutevar8x32_ps(sum, order);
                }
                sums
            }
        }
    }

    /// Methods of two operands, each one instruction.
    macro_rules! at_once {
        ($($name:ident = $instruction:ident),*) => {
            $(#[inline(always)]
            fn $name(self, a: Self::X, b: Self::X) -> Self::X {
                // SAFETY: the token proves AVX-512.
                unsafe { $instruction(a, b) }
            })*
        };
    }

    impl Arithmetic for Avx512 {
        type X = __m512;

        #[inline(always)]
        fn splat(self, x: f32) -> __m512 {
            // SAFETY: the token proves AVX-512.
            unsafe { _mm512_set1_ps(x) }
        }

        #[inline(always)]
        fn fused(self, a: __m512, b: __m512, c: __m512) -> __m512 {
            // SAFETY: the token proves AVX-512.
            unsafe { _mm512_fmadd_ps(b, c, a) }
        }

        at_once!(add = _mm512_add_ps, sub = _mm512_sub_ps, mul = _mm512_mul_ps, div = _mm512_div_ps);
        at_once!(max = _mm512_max_ps, min = _mm512_min_ps);

        #[inline(always)]
        fn where_positive(self, x: __m512, y: __m512) -> __m512 {
            // SAFETY: the token proves AVX-512.
            unsafe { _mm512_maskz_mov_ps(_mm512_cmp_ps_mask::<_CMP_GT_OQ>(y, _mm512_setzero_ps()), x) }
        }

        #[inline(always)]
        fn power_of_two(self, n: __m512) -> __m512 {
            // SAFETY: the token proves AVX-512.
            unsafe {
                let shifted = _mm512_slli_epi32::<23>(_mm512_castps_si512(n));
                _mm512_castsi512_ps(_mm512_add_epi32(shifted, _mm512_set1_epi32(127 << 23)))
            }
        }
    }

    impl Blocks for Avx512 {
        #[inline(always)]
        fn load(self, from: &Lanes) -> __m512 {
            // SAFETY: the token proves AVX-512; a block is 16 numbers, aligned to 64 bytes.
            unsafe { _mm512_load_ps(from.0.as_ptr()) }
        }

        #[inline(always)]
        fn store(self, x: __m512, to: &mut Lanes) {
            // SAFETY: as for `load`.
            unsafe { _mm512_store_ps(to.0.as_mut_ptr(), x) }
        }

        #[inline(always)]
        fn sum(self, x: __m512) -> f32 {
            // SAFETY: the token proves AVX-512.
            sum8(unsafe { _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps::<1>(x)) })
        }

        #[inline(always)]
        fn any_above(self, x: __m512, bound: f32) -> bool {
            // SAFETY: the token proves AVX-512.
            unsafe { _mm512_cmp_ps_mask::<_CMP_GT_OQ>(x, _mm512_set1_ps(bound)) != 0 }
        }

        #[inline(always)]
        fn sums(self, x: [__m512; LANES]) -> __m512 {
            // Each step adds the halves of two vectors and packs the results into one: 15 additions instead of 64.
            // SAFETY: the token proves AVX-512.
            unsafe {
                let mut by_8 = [_mm512_setzero_ps(); 8];
                for i in 0..8 {
                    let (a, b) = (x[2 * i], x[2 * i + 1]);
                    by_8[i] = _mm512_add_ps(_mm512_shuffle_f32x4::<0x44>(a, b), _mm512_shuffle_f32x4::<0xEE>(a, b));
                }
                let mut by_4 = [_mm512_setzero_ps(); 4];
                for i in 0..4 {
                    let (a, b) = (by_8[2 * i], by_8[2 * i + 1]);
                    by_4[i] = _mm512_add_ps(_mm512_shuffle_f32x4::<0x88>(a, b), _mm512_shuffle_f32x4::<0xDD>(a, b));
                }
                let mut by_2 = [_mm512_setzero_ps(); 2];
                for i in 0..2 {
                    let (a, b) = (by_4[2 * i], by_4[2 * i + 1]);
                    by_2[i] = _mm512_add_ps(_mm512_shuffle_ps::<0x44>(a, b), _mm512_shuffle_ps::<0xEE>(a, b));
                }
                let [a, b] = by_2;
                let sums = _mm512_add_ps(_mm512_shuffle_ps::<0x88>(a, b), _mm512_shuffle_ps::<0xDD>(a, b));
                // Sum 4 j + k stands in lane 4 k + j.
                let order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
                _mm512_permutexvar_ps(order, sums)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tanh_is_within_its_stated_error_and_never_beyond_one() {
        let mut worst = 0.0_f64;
        for i in -2_000_000..=2_000_000 {
            let x = i as f32 * 1e-5;
            let y = One.tanh(x);
            assert!((-1.0..=1.0).contains(&y));
            worst = worst.max((f64::from(y) - f64::from(x).tanh()).abs());
        }
        assert!(worst < 4e-7, "{worst}");
        assert!(One.tanh(0.0) == 0.0 && One.tanh(f32::INFINITY) > 0.999_999_5 && One.tanh(f32::NAN).is_nan());
    }

    #[test]
    fn the_sum_of_a_block_goes_by_halves() {
        // Only this order keeps the small numbers: 2^24 + 1 is not a float.
        let mut x = [0.0; LANES];
        (x[0], x[8], x[1], x[9]) = (16_777_216.0, -16_777_216.0, 1.0, 1.0);
        assert_eq!(Portable.sum(x), 2.0);
    }
}
