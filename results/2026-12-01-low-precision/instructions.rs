//! Multiply-adds that one core does in a nanosecond by each kind of instruction on 512 bits, with 24 independent sums and
//! nothing from memory: CSV, medians of rounds in which the kinds take turns, by this thread's processor time.

use std::arch::x86_64::*;
use std::hint::black_box;

const SUMS: usize = 24;
const STEPS: usize = 1_000_000;
const ROUNDS: usize = 21;

#[repr(C)]
struct Time {
    seconds: i64,
    nanoseconds: i64,
}

unsafe extern "C" {
    fn clock_gettime(clock: i32, time: *mut Time) -> i32;
}

/// Nanoseconds of processor time.
fn now() -> f64 {
    const THREAD: i32 = 3;
    let mut time = Time { seconds: 0, nanoseconds: 0 };
    // SAFETY: writes one time.
    assert_eq!(unsafe { clock_gettime(THREAD, &mut time) }, 0);
    time.seconds as f64 * 1e9 + time.nanoseconds as f64
}

#[target_feature(enable = "avx512f")]
fn fma() {
    let (a, b) = black_box((_mm512_set1_ps(0.5), _mm512_set1_ps(0.25)));
    let mut sums = [_mm512_setzero_ps(); SUMS];
    for _ in 0..STEPS {
        for sum in &mut sums {
            *sum = _mm512_fmadd_ps(a, b, *sum);
        }
    }
    black_box(sums);
}

#[target_feature(enable = "avx512f,avx512bf16")]
fn dpbf16() {
    let ones = _mm512_set1_ps(1.0);
    let ones = black_box(_mm512_cvtne2ps_pbh(ones, ones));
    let mut sums = [_mm512_setzero_ps(); SUMS];
    for _ in 0..STEPS {
        for sum in &mut sums {
            *sum = _mm512_dpbf16_ps(*sum, ones, ones);
        }
    }
    black_box(sums);
}

#[target_feature(enable = "avx512f,avx512vnni")]
fn dpbusd() {
    let (a, b) = black_box((_mm512_set1_epi8(3), _mm512_set1_epi8(-5)));
    let mut sums = [_mm512_setzero_si512(); SUMS];
    for _ in 0..STEPS {
        for sum in &mut sums {
            *sum = _mm512_dpbusd_epi32(*sum, a, b);
        }
    }
    black_box(sums);
}

fn main() {
    let has = is_x86_feature_detected!("avx512bf16") && is_x86_feature_detected!("avx512vnni");
    assert!(has, "a processor with AVX512-BF16 and AVX512-VNNI is needed");
    // SAFETY of all calls: detected above.
    let kinds: [(&str, f64, fn()); 3] = [
        ("vfmadd231ps (f32)", 16.0, || unsafe { fma() }),
        ("vdpbf16ps (bfloat16)", 32.0, || unsafe { dpbf16() }),
        ("vpdpbusd (8-bit integers)", 64.0, || unsafe { dpbusd() }),
    ];
    let mut rates = [const { Vec::new() }; 3];
    for _ in 0..ROUNDS {
        for ((_, each, run), rates) in kinds.iter().zip(&mut rates) {
            let before = now();
            run();
            rates.push(each * (SUMS * STEPS) as f64 / (now() - before));
        }
    }
    println!("instruction,multiply-adds a nanosecond,least,largest");
    for ((name, ..), rates) in kinds.iter().zip(&mut rates) {
        rates.sort_by(f64::total_cmp);
        println!("{name},{:.0},{:.0},{:.0}", rates[ROUNDS / 2], rates[0], rates[ROUNDS - 1]);
    }
}
