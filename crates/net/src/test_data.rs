//! Numbers for tests, and how close is close.

/// `n` numbers in [-1, 1) that look random and are always the same for the same `seed`.
pub(crate) fn numbers(n: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678_9abc_def1;
    (0..n)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 40) as f32 / 8_388_608.0 - 1.0
        })
        .collect()
}

/// Each number within `tolerance` of its partner, relative to the larger of 1 and the partner's size.
#[track_caller]
pub(crate) fn assert_close(found: &[f32], wanted: &[f32], tolerance: f32) {
    assert_eq!(found.len(), wanted.len());
    for (i, (f, w)) in found.iter().zip(wanted).enumerate() {
        assert!((f - w).abs() <= tolerance * w.abs().max(1.0), "number {i}: {f}, wanted {w}");
    }
}
