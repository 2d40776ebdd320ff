//! States as numbers, and the empty state.

use crate::result::PartialState;
use flashd_spec::bits::{ones, signed};
use flashd_spec::config::{CoreConfig, Design};
use flashd_spec::numerics::Numerics;

impl PartialState {
    /// The empty state, of a query that has seen no key: accumulators of 0 and the scalars of [`Numerics::no_key`].
    /// [`Merge::merge`](crate::Merge::merge) of it and another state is that other state. `None` for a core that cannot have partial results.
    pub fn no_key(config: &CoreConfig, n: &Numerics) -> Option<PartialState> {
        let scalars = n.no_key(config)?;
        Some(PartialState { scalars, o: vec![0; config.dv()] })
    }

    /// Whether the scalars are equal to the scalars of [`PartialState::no_key`]; accumulators do not matter.
    pub fn is_no_key(&self, config: &CoreConfig, n: &Numerics) -> bool {
        match config.design() {
            Design::FlashD => n.no_key(config).is_some_and(|scalars| scalars[0] == self.scalars[0]),
            Design::Fa2 => self.scalars[1] == 0,
        }
    }

    /// The log-sum-exp in base 2: `log2 sum e^s` over the keys that were seen, s in natural units. FLASH-D has it as L; FA2: `m + log2 l`.
    /// Minus infinity for no key.
    pub fn log_sum_exp(&self, config: &CoreConfig, n: &Numerics) -> f64 {
        let (bits, fractions) = (n.scalar_bits(config), n.scalar_fractions(config));
        let (&[bits, ..], &[fraction, ..]) = (&bits[..], &fractions[..]) else { return f64::NEG_INFINITY };
        if self.is_no_key(config, n) {
            return f64::NEG_INFINITY;
        }
        let units = |fraction: u32| f64::from(fraction).exp2();
        let first = signed(self.scalars[0] & ones(bits), bits) as f64 / units(fraction);
        match config.design() {
            Design::FlashD => first,
            Design::Fa2 => first + (self.scalars[1] as f64 / units(n.state_fraction)).log2(),
        }
    }
}
