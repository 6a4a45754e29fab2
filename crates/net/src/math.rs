//! Which vector instructions to use, and exp, ln and tanh of our own.
//!
//! The functions here are plain multiplications and additions in a fixed order, so they give the same bits on every
//! machine; the standard library's come from the platform and do not.

use std::sync::OnceLock;

use crate::kernels::simd::by_level;

/// The environment variable that forces a [`Level`]: `portable`, `avx2` or `avx512`.
pub const LEVEL_VARIABLE: &str = "TENGEN_SIMD";

/// A set of vector instructions that this processor has. It can only be made by detection, so holding one is proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Level(Isa);

/// What a [`Level`] stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isa {
    /// Plain Rust, never fused: the same bits on every machine.
    Portable,
    /// AVX2 and FMA, 8 lanes.
    Avx2,
    /// AVX-512 (F, BW, DQ, VL), 16 lanes.
    Avx512,
}

impl Level {
    /// Plain Rust; every machine has it.
    pub const PORTABLE: Level = Level(Isa::Portable);

    /// The widest set that this processor has, or the one that [`LEVEL_VARIABLE`] names. Read once for each process.
    ///
    /// # Panics
    /// As [`Level::chosen`] fails.
    pub fn best() -> Level {
        static BEST: OnceLock<Level> = OnceLock::new();
        *BEST.get_or_init(|| Level::chosen().unwrap_or_else(|why| panic!("{why}")))
    }

    /// As [`Level::best`], for programs that check the variable before anything is computed.
    ///
    /// # Errors
    /// If the variable holds another word, or names a set that this processor lacks.
    pub fn chosen() -> Result<Level, String> {
        let available = Level::available();
        let isa = match std::env::var(LEVEL_VARIABLE).as_deref() {
            Err(_) => return Ok(available[available.len() - 1]),
            Ok("portable") => Isa::Portable,
            Ok("avx2") => Isa::Avx2,
            Ok("avx512") => Isa::Avx512,
            Ok(word) => return Err(format!("{LEVEL_VARIABLE} is portable, avx2 or avx512, not {word:?}")),
        };
        let level = Level(isa);
        if available.contains(&level) {
            Ok(level)
        } else {
            Err(format!("{LEVEL_VARIABLE} names {isa:?}, and this processor has no such instructions"))
        }
    }

    /// Every set that this processor has, narrowest first. Tests compare them.
    pub fn available() -> Vec<Level> {
        let mut levels = vec![Level(Isa::Portable)];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                levels.push(Level(Isa::Avx2));
                if is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
                {
                    levels.push(Level(Isa::Avx512));
                }
            }
        }
        levels
    }

    /// The instructions behind this level.
    #[inline]
    pub fn isa(self) -> Isa {
        self.0
    }
}

/// e^x; 0 below -87.3, infinity above 88.7; relative error below 2e-7.
///
/// x = n ln 2 + r with |r| <= ln 2 / 2; e^r by the polynomial of the Cephes library (Moshier), `expf`.
#[inline]
pub fn exp(x: f32) -> f32 {
    if x > 88.722_83 {
        return f32::INFINITY;
    }
    if x < -87.336_54 {
        return 0.0;
    }
    // Adding 1.5 x 2^23 rounds to the nearest integer and leaves it in the low bits: to take it from there keeps to vectors,
    // which a conversion that is defined for every float does not.
    const ROUND: f32 = 12_582_912.0;
    let rounded = x * std::f32::consts::LOG2_E + ROUND;
    let (n, integer) = (rounded - ROUND, rounded.to_bits().wrapping_sub(ROUND.to_bits()).cast_signed());
    // ln 2 in two parts: n times the first is exact.
    let r = x - n * 0.693_359_4 + n * 2.121_944_4e-4;
    let p = 1.987_569_1e-4;
    let p = p * r + 1.398_2e-3;
    let p = p * r + 8.333_452e-3;
    let p = p * r + 4.166_579_6e-2;
    let p = p * r + 1.666_666_5e-1;
    let p = p * r + 5e-1;
    let y = p * r * r + r + 1.0;
    // 2^n in two factors, since n = 128 has no float of its own.
    let half = integer / 2;
    let power = |n: i32| f32::from_bits(((n + 127) << 23) as u32);
    y * power(half) * power(integer - half)
}

/// Turns scores into probabilities in place: exp(score / temperature), normalised. Any finite scores are safe: the
/// greatest is subtracted first.
///
/// # Panics
/// If there are no scores or the temperature is not positive.
pub fn softmax(scores: &mut [f32], temperature: f32) {
    assert!(!scores.is_empty() && temperature > 0.0, "a softmax over something, at a positive temperature");
    let greatest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sharpness = 1.0 / temperature;
    for score in scores.iter_mut() {
        *score = (*score - greatest) * sharpness;
    }
    exponentials(Level::best(), scores);
    let scale = 1.0 / scores.iter().sum::<f32>();
    for score in scores {
        *score *= scale;
    }
}

by_level! {
    /// e^x for each x.
    plain fn exponentials = exponentials_body(numbers: &mut [f32])
}

#[inline(always)]
fn exponentials_body(numbers: &mut [f32]) {
    for x in numbers {
        *x = exp(*x);
    }
}

/// The natural logarithm; minus infinity at 0, NaN below; relative error below 2e-7 away from 1.
///
/// x = m 2^e with m in [sqrt(1/2), sqrt(2)); ln m by the polynomial of the Cephes library (Moshier), `logf`.
#[inline]
pub fn ln(x: f32) -> f32 {
    if x.is_nan() || x < 0.0 {
        return f32::NAN;
    }
    if x == 0.0 {
        return f32::NEG_INFINITY;
    }
    if x == f32::INFINITY {
        return x;
    }
    // A denormal is scaled up first: 2^23 x is normal.
    let (x, shift) = if x < f32::MIN_POSITIVE { (x * 8_388_608.0, -23) } else { (x, 0) };
    let bits = x.to_bits();
    let mut e = (bits >> 23) as i32 - 126 + shift;
    let mut m = f32::from_bits(bits & 0x007f_ffff | 0x3f00_0000);
    if m < std::f32::consts::FRAC_1_SQRT_2 {
        e -= 1;
        m += m;
    }
    let m = m - 1.0;
    let z = m * m;
    let p = 7.037_683_6e-2;
    let p = p * m - 1.151_461e-1;
    let p = p * m + 1.167_699_9e-1;
    let p = p * m - 1.242_014_1e-1;
    let p = p * m + 1.424_932_3e-1;
    let p = p * m - 1.666_805_8e-1;
    let p = p * m + 2.000_071_5e-1;
    let p = p * m - 2.499_999_4e-1;
    let p = p * m + 3.333_333e-1;
    let e = e as f32;
    p * m * z - 2.121_944_4e-4 * e - 0.5 * z + m + 0.693_359_4 * e
}

/// The hyperbolic tangent; absolute error below 2e-7.
#[inline]
pub fn tanh(x: f32) -> f32 {
    let size = x.abs();
    if size < 0.625 {
        // Cephes `tanhf`: an odd polynomial, so that small values keep their relative precision.
        let z = x * x;
        let p = -5.704_988_7e-3;
        let p = p * z + 2.063_909e-2;
        let p = p * z - 5.373_971_6e-2;
        let p = p * z + 1.333_144_2e-1;
        let p = p * z - 3.333_328e-1;
        return p * z * x + x;
    }
    // Above 9 the answer rounds to 1 anyway.
    let y = 1.0 - 2.0 / (exp(2.0 * size.min(20.0)) + 1.0);
    if x.is_nan() { x } else { y.copysign(x) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Largest error of `ours` against `exact` over a fine walk of `low..high`, relative to max(|exact|, `floor`).
    fn worst(low: f64, high: f64, floor: f64, ours: fn(f32) -> f32, exact: fn(f64) -> f64) -> f64 {
        let steps = 400_000;
        (0..=steps)
            .map(|i| {
                let x = (low + (high - low) * f64::from(i) / f64::from(steps)) as f32;
                let truth = exact(f64::from(x));
                (f64::from(ours(x)) - truth).abs() / truth.abs().max(floor)
            })
            .fold(0.0, f64::max)
    }

    #[test]
    fn each_function_is_within_its_stated_error() {
        assert!(worst(-87.0, 88.7, 0.0, exp, f64::exp) < 2e-7);
        assert!(worst(1e-6, 0.9, 0.0, ln, f64::ln) < 2e-7);
        assert!(worst(1.1, 1e6, 0.0, ln, f64::ln) < 2e-7);
        assert!(worst(0.9, 1.1, 0.1, ln, f64::ln) < 2e-7);
        assert!(worst(-12.0, 12.0, 1.0, tanh, f64::tanh) < 2e-7);
        assert!(worst(1e-6, 0.6, 0.0, tanh, f64::tanh) < 3e-7);
    }

    #[test]
    fn softmax_survives_extreme_scores() {
        let mut scores = [-1e9, -1e9, f32::NEG_INFINITY];
        softmax(&mut scores, 1.0);
        assert_eq!(scores, [0.5, 0.5, 0.0]);
        let mut scores = [f32::MAX, 0.0];
        softmax(&mut scores, 0.01);
        assert_eq!(scores, [1.0, 0.0]);
    }

    #[test]
    fn the_ends_are_as_ieee_has_them() {
        assert_eq!((exp(0.0), exp(-1e9), exp(1e9)), (1.0, 0.0, f32::INFINITY));
        assert!(exp(88.72).is_finite() && exp(f32::NAN).is_nan());
        assert_eq!((ln(1.0), ln(0.0), ln(f32::INFINITY)), (0.0, f32::NEG_INFINITY, f32::INFINITY));
        assert!(ln(-1.0).is_nan() && ln(f32::NAN).is_nan());
        assert!((ln(1e-40) - -92.1034).abs() < 1e-3);
        assert_eq!((tanh(0.0), tanh(50.0), tanh(-50.0), tanh(f32::INFINITY)), (0.0, 1.0, -1.0, 1.0));
        assert!(tanh(f32::NAN).is_nan());
    }
}
