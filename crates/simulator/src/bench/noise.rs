//! Pauses, and what idle ports carry.

use super::frame::Frame;
use crate::gaps::Gaps;
use flashd_spec::bits::ones;
use flashd_spec::ports::Port;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Seeded noise, or none: then idle vectors keep their words, other idle words are 0, and nothing pauses.
pub(crate) struct Noise(Option<ChaCha8Rng>);

impl Noise {
    pub(crate) fn new(gaps: Gaps) -> Noise {
        Noise(match gaps {
            Gaps::None => None,
            Gaps::Random(seed) => Some(ChaCha8Rng::seed_from_u64(seed)),
        })
    }

    /// True once in `one_in` calls on average; never without noise.
    pub(crate) fn chance(&mut self, one_in: u32) -> bool {
        self.0.as_mut().is_some_and(|rng| rng.random_ratio(1, one_in))
    }

    /// A random bit; 0 without noise.
    pub(crate) fn bit(&mut self) -> bool {
        self.0.as_mut().is_some_and(|rng| rng.random())
    }

    /// A random word of `width` bits; 0 without noise.
    pub(crate) fn word(&mut self, width: u32) -> u64 {
        self.0.as_mut().map_or(0, |rng| rng.random::<u64>() & ones(width))
    }

    /// Random words in a port; without noise they stay as they are.
    pub(crate) fn fill(&mut self, frame: &mut Frame, port: Port) {
        let width = frame.width(port);
        if let Some(rng) = &mut self.0 {
            frame[port].fill_with(|| rng.random::<u64>() & ones(width));
        }
    }

    /// Random words in a port; zeros without noise.
    pub(crate) fn fill_or_clear(&mut self, frame: &mut Frame, port: Port) {
        frame[port].fill(0);
        self.fill(frame, port);
    }
}
