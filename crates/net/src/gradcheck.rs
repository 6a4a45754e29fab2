//! Gradients by finite differences, to check those that are computed.

/// The largest difference between `gradient` and the central differences of `loss` around `at`, relative to the
/// largest gradient (or 1, if all are smaller).
///
/// `step` is how far each number is moved either way; 1e-2 suits f32 sums of numbers near 1.
pub fn worst_error(at: &[f32], gradient: &[f32], step: f32, mut loss: impl FnMut(&[f32]) -> f64) -> f64 {
    assert_eq!(at.len(), gradient.len());
    let scale = gradient.iter().fold(1.0f32, |largest, g| largest.max(g.abs()));
    let mut moved = at.to_vec();
    let mut worst = 0.0f64;
    for i in 0..at.len() {
        moved[i] = at[i] + step;
        let (above, high) = (loss(&moved), moved[i]);
        moved[i] = at[i] - step;
        let (below, low) = (loss(&moved), moved[i]);
        moved[i] = at[i];
        // The distance that was really moved, after rounding.
        let slope = (above - below) / (f64::from(high) - f64::from(low));
        let error = (slope - f64::from(gradient[i])).abs();
        // Not `max`, which would drop a NaN.
        worst = if error > worst || error.is_nan() { error } else { worst };
    }
    worst / f64::from(scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_right_gradient_passes_and_a_wrong_or_missing_one_does_not() {
        let square = |x: &[f32]| x.iter().map(|x| f64::from(x * x)).sum::<f64>();
        let at = [0.5, -1.0, 2.0];
        assert!(worst_error(&at, &[1.0, -2.0, 4.0], 1e-2, square) < 1e-3);
        assert!(worst_error(&at, &[1.0, -2.0, 3.0], 1e-2, square) > 0.2);
        assert!(worst_error(&at, &[1.0, f32::NAN, 4.0], 1e-2, square).is_nan());
    }
}
