//! Noise on the priors of a root, so that self-play also tries what the network thinks little of.
//!
//! AlphaZero (Silver et al. 2018): P = (1 - fraction) p + fraction x Dirichlet(alpha), over the legal actions of the root
//! only, drawn once a search.

use rules::{Game, Rng};

use crate::tree::Tree;

/// Mixes noise into the priors of the root, which has been judged and not been searched yet.
///
/// `fraction` is in [0, 1]; `alpha` is positive, about 10 / (number of legal actions).
///
/// # Panics
/// As [`Tree::change_root_priors`].
pub fn add_root_noise<G: Game>(tree: &mut Tree<G>, fraction: f32, alpha: f64, rng: &mut Rng) {
    tree.change_root_priors(|priors| {
        let noise = dirichlet(alpha, priors.len(), rng);
        for ((_, prior), noise) in priors.iter_mut().zip(noise) {
            *prior = (1.0 - fraction) * *prior + fraction * noise;
        }
    });
}

/// `n` >= 1 positive numbers that add up to 1, symmetric Dirichlet with parameter `alpha` > 0.
pub fn dirichlet(alpha: f64, n: usize, rng: &mut Rng) -> Vec<f32> {
    // Gamma variables divided by their sum. For a small alpha all may be too small for `f64`, so logarithms are kept.
    let logs: Vec<f64> = (0..n).map(|_| ln_gamma_variable(alpha, rng)).collect();
    let greatest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = logs.iter().map(|log| (log - greatest).exp()).collect();
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|weight| (weight / sum) as f32).collect()
}

/// The logarithm of a Gamma(alpha, 1) variable (Marsaglia and Tsang, "A simple method for generating gamma variables", 2000).
fn ln_gamma_variable(alpha: f64, rng: &mut Rng) -> f64 {
    if alpha < 1.0 {
        // Gamma(alpha) = Gamma(alpha + 1) x U^(1 / alpha).
        return ln_gamma_variable(alpha + 1.0, rng) + open_unit(rng).ln() / alpha;
    }
    let d = alpha - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = normal(rng);
        let v = (1.0 + c * x).powi(3);
        if v > 0.0 && open_unit(rng).ln() < 0.5 * x * x + d - d * v + d * v.ln() {
            return (d * v).ln();
        }
    }
}

/// A standard normal variable (Box and Muller 1958).
fn normal(rng: &mut Rng) -> f64 {
    let radius = (-2.0 * open_unit(rng).ln()).sqrt();
    radius * (std::f64::consts::TAU * open_unit(rng)).cos()
}

/// Uniform in (0, 1).
fn open_unit(rng: &mut Rng) -> f64 {
    ((rng.bits() >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_adds_up_to_one_and_its_entries_differ() {
        for alpha in [0.01, 0.3, 1.0, 10.0] {
            for number in 0..100 {
                let noise = dirichlet(alpha, 7, &mut Rng::new(1, number));
                assert!((noise.iter().sum::<f32>() - 1.0).abs() < 1e-5, "{noise:?}");
                assert!(noise.iter().all(|&p| (0.0..=1.0).contains(&p)), "{noise:?}");
                assert!((1..7).any(|i| noise[i] != noise[0]), "{noise:?}");
            }
        }
    }

    #[test]
    fn mean_and_variance_are_those_of_the_distribution() {
        // Mean 1/n, variance (1/n)(1 - 1/n) / (n alpha + 1).
        for (alpha, n) in [(0.3, 7), (1.0, 4), (2.5, 3)] {
            let draws = 20_000;
            let mut rng = Rng::new(2, 0);
            let (mut sum, mut squares) = (0.0, 0.0);
            for _ in 0..draws {
                let first = f64::from(dirichlet(alpha, n, &mut rng)[0]);
                sum += first;
                squares += first * first;
            }
            let share = 1.0 / n as f64;
            let mean = sum / f64::from(draws);
            let variance = squares / f64::from(draws) - mean * mean;
            let expected = share * (1.0 - share) / (n as f64 * alpha + 1.0);
            // Six standard deviations of the mean; 10 % of the variance is more than that for it.
            assert!((mean - share).abs() < 6.0 * (expected / f64::from(draws)).sqrt(), "{alpha}: mean {mean}");
            assert!((variance / expected - 1.0).abs() < 0.1, "{alpha}: variance {variance} for {expected}");
        }
    }
}
