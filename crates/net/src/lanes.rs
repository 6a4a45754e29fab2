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

        by_halves!(add = _mm256_add_ps, sub = _mm256_sub_ps, mul = _mm256_mul_ps, div = _mm256_div_ps);
        by_halves!(max = _mm256_max_ps, min = _mm256_min_ps);

        #[inline(always)]
        fn where_positive(self, x: Self::X, y: Self::X) -> Self::X {
            // SAFETY: the token proves AVX2.
            let half = |x, y| unsafe { _mm256_and_ps(x, _mm256_cmp_ps::<_CMP_GT_OQ>(y, _mm256_setzero_ps())) };
            [half(x[0], y[0]), half(x[1], y[1])]
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

        at_once!(add = _mm512_add_ps, sub = _mm512_sub_ps, mul = _mm512_mul_ps, div = _mm512_div_ps);
        at_once!(max = _mm512_max_ps, min = _mm512_min_ps);

        #[inline(always)]
        fn where_positive(self, x: __m512, y: __m512) -> __m512 {
            // SAFETY: the token proves AVX-512.
            unsafe { _mm512_maskz_mov_ps(_mm512_cmp_ps_mask::<_CMP_GT_OQ>(y, _mm512_setzero_ps()), x) }
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
