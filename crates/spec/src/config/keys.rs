//! Widths that follow from the number of keys.

use super::*;
use crate::bits::index_bits;
use crate::numerics::BudgetNumerics;

/// Default number of keys that a core is built for.
pub const DEFAULT_MAX_KEYS: usize = 1 << 16;
/// Smallest and largest number of keys that a core can be built for.
pub const MAX_KEYS_RANGE: (usize, usize) = (2, 1 << 20);

/// Smallest and largest threshold T of the hold rule.
pub const HOLD_RANGE: (f64, f64) = (1.0, 64.0);

/// Fewest fraction bits of the default state: with few keys its rounding errors do not average.
const LEAST_STATE_FRACTION: u32 = 12;

/// Fraction bits of FLASH-D's L for `2^G` keys.
///
/// The last of N equal scores adds `log2(1 + 1/N)` to L, about 1.44/N: five or six units. With fewer fraction bits, the rounding errors of L grow. With
/// more, the lowest bits of L, the lanes' thresholds, are not spread evenly.
fn log_sum_fraction(key_bits: u32) -> u32 {
    (key_bits + 2).max(LEAST_STATE_FRACTION)
}

/// Fraction bits of FA2's l: the rounding errors of `2^G` terms must not reach the last place of a result of p significand bits, and of few terms neither.
/// Results of 3 or 4 bits sometimes change by a whole place: with a bit less fp8-e5m2 has a geometric mean of 1.104 at 65,536 keys, fp8-e4m3 a largest error of
/// 3.26 times the reference's at 32,768.
fn sum_fraction(key_bits: u32, p: u32) -> u32 {
    let finer = match p {
        ..=3 => key_bits > 12,
        4 => (13..16).contains(&key_bits),
        _ => false,
    };
    (key_bits + p.saturating_sub(5) + u32::from(finer)).max(LEAST_STATE_FRACTION)
}

/// Fraction bits of L and l beyond the significand bits of the results.
const STATE_FRACTION_BEYOND_RESULTS: u32 = 6;
/// Fewest and most fraction bits of the state.
pub const STATE_FRACTION_RANGE: (u32, u32) = (2, 26);
/// Fewest fraction bits of the default accumulator beyond the format's. With 0, both designs lose the sum of many small updates, and FLASH-D loses more. With 3,
/// FLASH-D's mean error on real traces is up to 1.054 times FA2's in bf16; with 4, up to 1.037 times, and both errors are smaller.
pub const ACCUMULATOR_GUARD_BITS: u32 = 4;

/// The warning for a query of more keys than a core is built for; `None` for no more. Bindings and command line share it.
pub fn too_long(keys: usize, max_keys: usize) -> Option<String> {
    let least = keys.next_power_of_two().min(MAX_KEYS_RANGE.1);
    let advice = match keys <= MAX_KEYS_RANGE.1 {
        true => format!("--max-keys {least} makes one that is right for them"),
        false => format!("the most is --max-keys {}", MAX_KEYS_RANGE.1),
    };
    (keys > max_keys)
        .then(|| format!("a query has {keys} keys, and the core is built for {max_keys}: its sums lose more than the formats; {advice}"))
}

impl CoreConfig {
    /// `ceil(log2 N)` for at most N keys: the bits by which a sum of N terms grows.
    pub fn key_bits(&self) -> u32 {
        index_bits(self.max_keys)
    }

    /// Fraction bits FL of the scalar state: as configured, else enough for N equal scores and for the results, and no fewer than the score has. Where N is small,
    /// the state's rounding errors of many keys must stay below the results' (docs/theory/widths.md).
    pub fn state_fraction(&self) -> u32 {
        // The tables err by half an ulp of 12 bits: more fraction bits gain nothing.
        let p = self.formats().o.precision().min(WIDEST_LANE_WEIGHT);
        let of_keys = match self.design() {
            Design::Fa2 => sum_fraction(self.key_bits(), p) + self.kind().sum_guard,
            Design::FlashD => log_sum_fraction(self.key_bits()),
        };
        let ours = of_keys.max(p + STATE_FRACTION_BEYOND_RESULTS).max(self.score_fraction());
        self.state_fraction_bits.unwrap_or(ours.min(STATE_FRACTION_RANGE.1).min(self.widest_state_fraction()))
    }

    /// Most fraction bits of the state: the product of l and half of a factor is a 64-bit word.
    pub(super) fn widest_state_fraction(&self) -> u32 {
        let l_integer = self.key_bits() + 1;
        63u32.saturating_sub(l_integer + self.factor_significand().div_ceil(2))
    }

    /// Set if the state has enough fraction bits for a hold budget.
    pub(super) fn has_room_for_a_budget(&self) -> bool {
        self.state_fraction() >= BudgetNumerics::least_state_fraction(self.key_bits())
    }

    /// The threshold at which N held keys, each of weight `e^-T`, together change o by at most about an ulp: `ln N + (p + 1) ln 2`, rounded up.
    pub(super) fn default_threshold(&self) -> f64 {
        let octaves = self.key_bits() + self.products().lane_precision() + 1;
        (f64::from(octaves) * std::f64::consts::LN_2).ceil().min(HOLD_RANGE.1)
    }

    /// Fraction bits of the accumulator. As configured; the format's in the paper-literal datapaths; else the fraction bits of the wider of v and o, plus G, plus
    /// [`DatapathKind::accumulator_guard`](super::datapath::DatapathKind), and at least [`ACCUMULATOR_GUARD_BITS`] more than the format. The sum of N equal values is then
    /// exact, and an update of weight 1/N moves it.
    pub fn accumulator_fraction(&self) -> u32 {
        let lanes = self.products().lane_precision() - 1;
        match self.accumulator {
            Some(Accumulator::Fraction(bits)) => bits,
            Some(Accumulator::Format) => lanes,
            Some(Accumulator::Float(format)) => format.fraction_bits,
            None if self.follows_the_paper() => lanes,
            None => {
                let terms = (lanes + self.key_bits()).saturating_add_signed(self.kind().accumulator_guard);
                terms.max(lanes + ACCUMULATOR_GUARD_BITS).min(23)
            }
        }
    }

    /// Float format of the accumulator. FA2's is a sum of N values, times exponentials that may exceed 1, so formats with few exponent bits get more. FLASH-D's
    /// weights and the exponentials of `separate-scale` are floats with the accumulator's exponents, and go down to 1/N and below, so there too.
    pub fn accumulator_format(&self) -> Format {
        let base = self.products().lane_exponents();
        if let Some(Accumulator::Float(format)) = self.accumulator {
            return format;
        }
        let bits = self.accumulator_fraction();
        // The paper-literal datapaths and the format itself keep their exponents.
        if self.follows_the_paper() || self.accumulator == Some(Accumulator::Format) {
            return if bits == base.fraction_bits { base } else { base.accumulator(bits) };
        }
        let of_keys = self.key_bits();
        match self.fa2() {
            None => base.with_least_weight(of_keys).accumulator(bits),
            // An exponential of a key with next to no weight keeps a few bits.
            Some(Fa2Variant::SeparateScale) => base.with_least_weight(of_keys + 3).sum(bits, of_keys),
            Some(_) => base.sum(bits, of_keys),
        }
    }
}
