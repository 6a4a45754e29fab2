//! Randomness that is a function of (seed, game number), so that a run gives the same bits on any machine,
//! with any number of threads, stopped and resumed anywhere.
//!
//! The generator is xoshiro256++ (Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2021),
//! from its crate. How a number becomes a choice is written here, so that no version bump of a library changes a run.

use rand_core::{Rng as _, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A stream of random numbers. Cheap to make: one for each game.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// The stream numbered `stream` of a run with this `seed`. Different pairs give unrelated streams.
    #[inline]
    pub fn new(seed: u64, stream: u64) -> Rng {
        // Two rounds of mixing, so that (seed, stream) and (seed + 1, stream - 1) have nothing in common.
        Rng(Xoshiro256PlusPlus::seed_from_u64(mix(mix(seed).wrapping_add(stream))))
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number in `0..n`; `n` must not be 0.
    ///
    /// By multiplication (Lemire 2019, without the rejection step): the bias is below n / 2^32, which no
    /// game here can notice.
    #[inline]
    pub fn below(&mut self, n: usize) -> usize {
        debug_assert!(n > 0 && n <= u32::MAX as usize);
        (((self.bits() >> 32) * n as u64) >> 32) as usize
    }

    /// Uniform in [0, 1), a multiple of 2^-24.
    #[inline]
    pub fn unit(&mut self) -> f32 {
        (self.bits() >> 40) as f32 * (1.0 / 16_777_216.0)
    }

    /// Uniform in [low, high).
    #[inline]
    pub fn uniform(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * self.unit()
    }

    /// `true` with this probability.
    #[inline]
    pub fn chance(&mut self, probability: f32) -> bool {
        self.unit() < probability
    }

    /// Puts the items into a random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

/// The finaliser of SplitMix64: a bijection of 64 bits in which every input bit moves every output bit.
#[inline]
fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_pair_gives_the_same_stream_and_another_pair_another() {
        let first = |seed, stream| Rng::new(seed, stream).bits();
        assert_eq!(first(7, 3), first(7, 3));
        let mut seen: Vec<u64> = (0..40).flat_map(|seed| (0..40).map(move |stream| first(seed, stream))).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 1600);
    }

    #[test]
    fn below_is_uniform_within_its_range() {
        let mut rng = Rng::new(1, 0);
        let mut counts = [0u32; 9];
        for _ in 0..90_000 {
            counts[rng.below(9)] += 1;
        }
        // Standard deviation of a count is 94; six of them.
        assert!(counts.iter().all(|&n| n.abs_diff(10_000) < 570), "{counts:?}");
    }

    #[test]
    fn unit_stays_below_one() {
        let mut rng = Rng::new(2, 0);
        assert!((0..100_000).all(|_| (0.0..1.0).contains(&rng.unit())));
    }

    #[test]
    fn every_order_is_equally_likely() {
        let mut rng = Rng::new(3, 0);
        let mut counts = std::collections::HashMap::new();
        for _ in 0..24_000 {
            let mut items = [0, 1, 2, 3];
            rng.shuffle(&mut items);
            *counts.entry(items).or_insert(0_u32) += 1;
        }
        // Standard deviation of a count is 31; six of them.
        assert!(counts.len() == 24 && counts.values().all(|n| n.abs_diff(1_000) < 186), "{counts:?}");
    }
}
