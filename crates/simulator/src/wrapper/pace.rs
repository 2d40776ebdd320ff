//! When a source offers a beat and a sink is ready for one.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// How a source or a sink behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// In every cycle.
    Always,
    /// In every second cycle.
    Toggle,
    /// In random cycles, on average one of this many.
    OneIn(u32),
    /// Runs of cycles, and pauses of up to this length.
    Pauses(u32),
    /// Only in a cycle after one in which the other side was seen: a sink that is ready when it has seen a beat, a
    /// source that offers when it has seen a ready sink.
    AfterPeer,
}

impl Pace {
    /// Every kind.
    pub const ALL: [Pace; 5] =
        [Pace::Always, Pace::Toggle, Pace::OneIn(3), Pace::Pauses(60), Pace::AfterPeer];
}

/// One side of a stream.
#[derive(Clone, Debug)]
pub(crate) struct Side {
    pace: Pace,
    rng: ChaCha8Rng,
    on: bool,
    left: u32,
    peer: bool,
}

impl Side {
    /// A side with a pace.
    pub(crate) fn new(pace: Pace, seed: u64) -> Self {
        Side { pace, rng: ChaCha8Rng::seed_from_u64(seed), on: false, left: 0, peer: false }
    }

    /// Whether it acts in this cycle. To be called once a cycle.
    pub(crate) fn acts(&mut self) -> bool {
        self.on = match self.pace {
            Pace::Always => true,
            Pace::Toggle => !self.on,
            Pace::OneIn(n) => self.rng.random_ratio(1, n),
            Pace::AfterPeer => self.peer,
            Pace::Pauses(longest) => {
                if self.left == 0 {
                    self.left = self.rng.random_range(1..=longest);
                    !self.on
                } else {
                    self.left -= 1;
                    self.on
                }
            }
        };
        self.on
    }

    /// Records whether the other side acted in this cycle.
    pub(crate) fn saw(&mut self, peer: bool) {
        self.peer = peer;
    }
}
