//! A vector of f32 for each instruction set, and how a kernel is compiled for all of them.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

/// Vectors of [`Simd::LANES`] numbers. A value of an implementing type is proof that the processor has the
/// instructions, so only [`by_level`] makes one.
///
/// Every method is inlined into a function that has the instructions switched on; called from elsewhere they would
/// be slow, not wrong.
pub(crate) trait Simd: Copy {
    /// Numbers in a vector.
    const LANES: usize;
    /// Vectors side by side in the widest block of a matrix product, see `gemm.rs`.
    const WIDE: usize;
    /// The vector.
    type V: Copy;

    fn splat(self, x: f32) -> Self::V;
    /// # Safety
    /// `p` may be read for `LANES` numbers.
    unsafe fn load(self, p: *const f32) -> Self::V;
    /// # Safety
    /// `p` may be written for `LANES` numbers.
    unsafe fn store(self, p: *mut f32, v: Self::V);
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    fn sub(self, a: Self::V, b: Self::V) -> Self::V;
    fn mul(self, a: Self::V, b: Self::V) -> Self::V;
    /// a b + c, with one rounding where the processor has it and two where not.
    fn fma(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    fn max(self, a: Self::V, b: Self::V) -> Self::V;
}

/// Plain Rust: 4 lanes, since every 64-bit processor has vectors of that width. Never fused.
#[derive(Clone, Copy)]
pub(crate) struct Portable;

impl Simd for Portable {
    const LANES: usize = 4;
    const WIDE: usize = 2;
    type V = [f32; 4];

    #[inline(always)]
    fn splat(self, x: f32) -> [f32; 4] {
        [x; 4]
    }
    #[inline(always)]
    unsafe fn load(self, p: *const f32) -> [f32; 4] {
        // SAFETY: the caller's promise; an array of f32 has the alignment of f32.
        unsafe { p.cast::<[f32; 4]>().read() }
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut f32, v: [f32; 4]) {
        // SAFETY: as in `load`.
        unsafe { p.cast::<[f32; 4]>().write(v) }
    }
    #[inline(always)]
    fn add(self, a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
        [a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]]
    }
    #[inline(always)]
    fn sub(self, a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
        [a[0] - b[0], a[1] - b[1], a[2] - b[2], a[3] - b[3]]
    }
    #[inline(always)]
    fn mul(self, a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
        [a[0] * b[0], a[1] * b[1], a[2] * b[2], a[3] * b[3]]
    }
    #[inline(always)]
    fn fma(self, a: [f32; 4], b: [f32; 4], c: [f32; 4]) -> [f32; 4] {
        self.add(self.mul(a, b), c)
    }
    #[inline(always)]
    fn max(self, a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
        let larger = |a: f32, b: f32| if a > b { a } else { b };
        [larger(a[0], b[0]), larger(a[1], b[1]), larger(a[2], b[2]), larger(a[3], b[3])]
    }
}

/// Implements [`Simd`] by intrinsics.
#[cfg(target_arch = "x86_64")]
macro_rules! x86 {
    ($(#[$doc:meta])* $name:ident, $vector:ty, $lanes:literal, $wide:literal, $splat:ident, $load:ident, $store:ident,
     $add:ident, $sub:ident, $mul:ident, $fma:ident, $max:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(crate) struct $name(());

        impl $name {
            /// # Safety
            /// The processor has the instructions.
            #[inline(always)]
            pub(crate) unsafe fn new() -> $name {
                $name(())
            }
        }

        // SAFETY of every block below: a value of this type is proof that the processor has the instructions; the
        // memory accesses, which need no alignment, are the caller's promise.
        #[allow(clippy::undocumented_unsafe_blocks)]
        impl Simd for $name {
            const LANES: usize = $lanes;
            const WIDE: usize = $wide;
            type V = $vector;

            #[inline(always)]
            fn splat(self, x: f32) -> $vector {
                unsafe { $splat(x) }
            }
            #[inline(always)]
            unsafe fn load(self, p: *const f32) -> $vector {
                unsafe { $load(p) }
            }
            #[inline(always)]
            unsafe fn store(self, p: *mut f32, v: $vector) {
                unsafe { $store(p, v) }
            }
            #[inline(always)]
            fn add(self, a: $vector, b: $vector) -> $vector {
                unsafe { $add(a, b) }
            }
            #[inline(always)]
            fn sub(self, a: $vector, b: $vector) -> $vector {
                unsafe { $sub(a, b) }
            }
            #[inline(always)]
            fn mul(self, a: $vector, b: $vector) -> $vector {
                unsafe { $mul(a, b) }
            }
            #[inline(always)]
            fn fma(self, a: $vector, b: $vector, c: $vector) -> $vector {
                unsafe { $fma(a, b, c) }
            }
            #[inline(always)]
            fn max(self, a: $vector, b: $vector) -> $vector {
                unsafe { $max(a, b) }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
x86! {
    /// AVX2 and FMA: 8 lanes, 16 registers.
    Avx2, __m256, 8, 2, _mm256_set1_ps, _mm256_loadu_ps, _mm256_storeu_ps,
    _mm256_add_ps, _mm256_sub_ps, _mm256_mul_ps, _mm256_fmadd_ps, _mm256_max_ps
}

#[cfg(target_arch = "x86_64")]
x86! {
    /// AVX-512: 16 lanes, 32 registers.
    Avx512, __m512, 16, 4, _mm512_set1_ps, _mm512_loadu_ps, _mm512_storeu_ps,
    _mm512_add_ps, _mm512_sub_ps, _mm512_mul_ps, _mm512_fmadd_ps, _mm512_max_ps
}

/// Makes a function that takes a [`Level`](crate::math::Level) first and runs a body compiled for it.
///
/// `simd fn` hands the body a [`Simd`] value; `plain fn` hands it nothing and leaves the vectors to the compiler.
/// The body must be `#[inline(always)]`, or it is compiled without the instructions.
macro_rules! by_level {
    ($(#[$doc:meta])* $vis:vis simd fn $name:ident = $body:ident ($($arg:ident: $ty:ty),* $(,)?) $(-> $out:ty)?) => {
        by_level! { @make [$(#[$doc])*] [$vis] $name [$($arg: $ty),*] [$($out)?]
            [$body($crate::kernels::simd::Portable, $($arg),*)]
            // SAFETY: these functions have the instructions switched on and are only called where they exist.
            [$body(unsafe { $crate::kernels::simd::Avx2::new() }, $($arg),*)]
            // SAFETY: as above.
            [$body(unsafe { $crate::kernels::simd::Avx512::new() }, $($arg),*)]
        }
    };
    ($(#[$doc:meta])* $vis:vis plain fn $name:ident = $body:ident ($($arg:ident: $ty:ty),* $(,)?) $(-> $out:ty)?) => {
        by_level! { @make [$(#[$doc])*] [$vis] $name [$($arg: $ty),*] [$($out)?]
            [$body($($arg),*)] [$body($($arg),*)] [$body($($arg),*)]
        }
    };
    (@make [$($doc:tt)*] [$vis:vis] $name:ident [$($arg:ident: $ty:ty),*] [$($out:ty)?]
     [$portable:expr] [$avx2:expr] [$avx512:expr]) => {
        $($doc)*
        $vis fn $name(level: $crate::math::Level, $($arg: $ty),*) $(-> $out)? {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn avx2($($arg: $ty),*) $(-> $out)? {
                $avx2
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
            fn avx512($($arg: $ty),*) $(-> $out)? {
                $avx512
            }
            match level.isa() {
                // SAFETY: a level other than portable exists only where its instructions were detected.
                #[cfg(target_arch = "x86_64")]
                $crate::math::Isa::Avx512 => unsafe { avx512($($arg),*) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                $crate::math::Isa::Avx2 => unsafe { avx2($($arg),*) },
                _ => $portable,
            }
        }
    };
}
pub(crate) use by_level;
