//! Fraction bits of a state's scalars, and the scalars of the empty state.

use super::Numerics;
use crate::config::{CoreConfig, Design, Reference};

impl Numerics {
    /// Fraction bits of [`CoreConfig::state_scalars`], in the same order. L and m are logarithms to base 2, room counts units of the hold
    /// rule's budget.
    pub fn scalar_fractions(&self, config: &CoreConfig) -> Vec<u32> {
        let of = |name: &&str| match (*name, config.kind().reference) {
            ("room", _) | ("m", Reference::Octaves) => 0,
            ("m", _) => self.score_fraction,
            _ => self.state_fraction,
        };
        config.state_scalars().iter().map(of).collect()
    }

    /// The scalars of a query that has seen no key, a missing second one as 0: FLASH-D's L and FA2's m are their least word, which no keys lead
    /// to; all room is left, and l is 0. `None` for a core that cannot have partial results.
    pub fn no_key(&self, config: &CoreConfig) -> Option<[u64; 2]> {
        let least = 1 << (self.scalar_bits(config).first()? - 1);
        let second = match &self.budget {
            Some(budget) if config.design() == Design::FlashD => 1 << budget.register,
            _ => 0,
        };
        Some([least, second])
    }
}
