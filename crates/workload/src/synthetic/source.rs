//! The random numbers of all synthetic streams.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Seeded random numbers, the same on every machine: ChaCha8, and nothing but exact arithmetic on top of it.
pub(super) struct RandomSource(ChaCha8Rng);

impl RandomSource {
    pub(super) fn new(seed: u64) -> RandomSource {
        RandomSource(ChaCha8Rng::seed_from_u64(seed))
    }

    /// Uniform in [0, 1), a multiple of 2^-53.
    pub(super) fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform in 0..n.
    pub(super) fn below(&mut self, n: usize) -> usize {
        // The product stays below n: uniform() is at most 1 - 2^-53, and n is far below 2^53.
        (self.uniform() * n as f64) as usize
    }

    /// Mean 0, standard deviation 1, bell-shaped: the sum of twelve uniform numbers. Unlike the usual methods it
    /// needs no logarithm and no cosine, whose last bits differ between machines. Nothing beyond +-6 occurs.
    pub(super) fn gaussian(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }

    /// `n` Gaussian numbers.
    pub(super) fn gaussians(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.gaussian()).collect()
    }

    /// `count` random directions in `d` dimensions, of length 1 and at right angles to each other; beyond `d` they
    /// repeat.
    pub(super) fn directions(&mut self, count: usize, d: usize) -> Vec<Vec<f64>> {
        let mut basis: Vec<Vec<f64>> = Vec::with_capacity(count);
        while basis.len() < count.min(d) {
            let mut vector = self.gaussians(d);
            for axis in &basis {
                let along: f64 = vector.iter().zip(axis).map(|(x, a)| x * a).sum();
                vector.iter_mut().zip(axis).for_each(|(x, a)| *x -= along * a);
            }
            let length = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
            // What is left is noise where the vector nearly lay in the span of the others: draw again.
            if length > 1e-3 {
                vector.iter_mut().for_each(|x| *x /= length);
                basis.push(vector);
            }
        }
        basis.into_iter().cycle().take(count).collect()
    }
}
