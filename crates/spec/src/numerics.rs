//! Every width and constant of a core, computed here from its configuration.
//!
//! ```text
//!  score  s   | sign | IS integer     | FS fraction |            saturates at +-2^IS
//!  state  L   | sign | IS + 1 integer | FL fraction             |
//!  x = s - L  | sign | IS + 2 integer | FL fraction             |
//!  |x|    t          | OB octave: k   | B fraction: f |          saturates where 2^-t has vanished
//!  sum    l          | G + 1 integer  | FL fraction             | saturates; G = ceil(log2 N) for N keys
//! ```
//!
//! In `paper` and `literal`, scores and states are in the format and arguments are natural, with IA integer and B fraction bits; a multiplication by log2(e)
//! gives octave k (IA + 1 bits) and fraction f.

mod budget;
mod dither;
mod state;
mod sum;
mod tables;

pub use budget::{BUDGET_RESERVE, BudgetNumerics};
pub use dither::{DITHER_BITS, dither_bits, fixed_result_bits};
pub use sum::LOG_SUM_GUARD_BITS;
pub use tables::{ExpNumerics, ReciprocalNumerics};

use crate::bits::bits_for;
use crate::config::{CoreConfig, Hold, LaneBits, Reference, STATIC_HOLD, WidestScalar};
use crate::format::{Encodings, Format, Formats, Scales, Subnormals};
use crate::pwl::softcap::Softcap;
pub use crate::pwl::{LOG2E, LOG2E_FRACTION};
use std::sync::Arc;

/// Integer bits IA of a natural argument `t = |x|`, at least 4. It may saturate where `e^-t` is below the format's smallest number and below the state's last
/// fraction bit.
pub fn argument_integer_bits(format: Format, state_fraction: u32) -> u32 {
    let below_format = below_smallest(format);
    let below_state = state_fraction + 2;
    let octaves = below_format.max(below_state) as f64;
    ((octaves * std::f64::consts::LN_2).log2().ceil() as u32).max(4)
}

/// Bits of the octave k of a base-2 argument `t = k + f`. They reach the octave in which `2^-t` is below the state's last fraction bit and, for a weight
/// rounded to `format`, below its smallest number.
pub fn octave_bits(format: Option<Format>, state_fraction: u32) -> u32 {
    bits_for(vanished_octave(format, state_fraction).into())
}

/// First octave k with `2^-k` below half of the format's smallest number.
fn below_smallest(format: Format) -> u32 {
    (format.bias + format.fraction_bits as i32 + 1).max(0) as u32
}

/// First octave in which `2^-t` has no effect.
fn vanished_octave(format: Option<Format>, state_fraction: u32) -> u32 {
    let below_format = format.map_or(0, below_smallest);
    below_format.max(state_fraction + 2)
}

/// Fraction bits that the natural score has beyond the base-2 score.
pub const NATURAL_SCORE_GUARD_BITS: u32 = 2;
/// Further fraction bits of the natural score if significands of scales multiply it.
pub const SIGNIFICANDS_GUARD_BITS: u32 = 2;
/// Format of a key's bias, in natural units, as a memory holds it. It is multiplied by [`LOG2E`], rounded once to the score's last place, half away from zero,
/// and saturates like the score.
pub const BIAS: Format = Format::BF16;
/// Width of the product of q's scale, k's scale and log2(e), after rounding; its top two bits may be zero. Each key has another error, so that it does not cancel
/// in differences of scores: relatively at most 2^-22.5, which is 0.003 at a score of 20,000.
pub const SCALE_PRODUCT_BITS: u32 = 24;
/// Bits that rounding to [`SCALE_PRODUCT_BITS`] drops from the product of both scales' significands and [`LOG2E`], if both have bf16's fraction; with longer
/// ones it drops as many more.
pub const SCALE_PRODUCT_DROPPED: u32 = 2 * Format::BF16.precision() + bits_for(LOG2E) - SCALE_PRODUCT_BITS;
/// Fraction bits of the rounded product.
pub const SCALE_PRODUCT_FRACTION: u32 =
    2 * Format::BF16.fraction_bits + LOG2E_FRACTION - SCALE_PRODUCT_DROPPED;
/// Integer bits of the largest product of the fused dot product in natural units. Products of public models reach 74,000. A larger product than this saturates; in
/// formats of 8 bits with the default `score_shift` there is none.
pub const PRODUCT_INTEGER_BITS: u32 = 18;
/// Most bits of the score, integer and fraction together. Words of 64 bits then hold every product of the score unit.
pub const SCORE_BITS: u32 = 32;
/// Guard bits of `1 - sigmoid(-t)`.
pub const COMPLEMENT_GUARD_BITS: u32 = 2;
/// Extra fraction bits of FLASH-D's difference and product and of FA2's product. Even without them the result stays between o and v, because the factor is at
/// most 1/2. They are for accuracy: with 0, FLASH-D's mean error on random heads grows by 5 to 12 %; with 1, by up to 4 %.
pub const UPDATE_GUARD_BITS: u32 = 2;

/// Widths and constants of one core.
#[derive(Clone, Debug)]
pub struct Numerics {
    /// Formats of elements on the ports, and their scales.
    pub encodings: Encodings,
    /// Formats of the products and sums: q, k and v with their scales, and o.
    pub formats: Formats,
    /// Float format of the accumulator.
    pub accumulator: Format,
    /// Format of v in float lanes; see [`CoreConfig::value_format`].
    pub value: Format,
    /// Format of a weight or exponential that is rounded to a float; see [`CoreConfig::weight_format`].
    pub weight: Format,
    /// Significand bits of the factor that enters the lanes.
    pub factor_significand: u32,
    /// Format of FLASH-D's `v - o` and `w (v - o)`; it never saturates. See [`UPDATE_GUARD_BITS`].
    pub difference: Format,
    /// Format of FA2's `o c` and `v e`.
    pub product: Format,
    /// Set if every product and sum of the dot product is rounded to the format.
    pub rounded_dot: bool,
    /// Fraction bits of the fused dot product's terms beyond the natural score's. They keep the rms of d rounding errors near the error of
    /// a single rounding.
    pub dot_guard: u32,
    /// Octave bits of base-2 arguments.
    pub octave_bits: u32,
    /// Widths of fixed-point lanes; `None` for float lanes.
    pub lane: Option<LaneBits>,
    /// Set if each fixed-point lane has an exponent.
    pub ranged: bool,
    /// Set if FA2's reference follows the exponent of l, which stays below 2.
    pub log_reference: bool,
    /// Set if FA2's lanes have one multiplier for update and final scale.
    pub scales_in_lane: bool,
    /// Levels of the adder tree, `ceil(log2 d)`.
    pub tree_levels: u32,
    /// Exponent of the power of two that scales the dot product.
    pub score_shift: i32,
    /// Bits G of the number of keys: `ceil(log2 N)`.
    pub key_bits: u32,
    /// Integer bits IS of the score.
    pub score_integer: u32,
    /// Fraction bits FS of the score.
    pub score_fraction: u32,
    /// Fraction bits FL of the state.
    pub state_fraction: u32,
    /// Hold threshold `T log2(e) 2^FS`; `None` without one.
    pub hold_threshold: Option<u64>,
    /// FLASH-D's hold budget; `None` without one.
    pub budget: Option<BudgetNumerics>,
    /// Set if the paper's static rule is in use.
    pub static_hold: bool,
    /// Set if keys can be masked.
    pub masks: bool,
    /// Set if the core loads and outputs partial results.
    pub partial: bool,
    /// Table of the scores' soft cap.
    pub softcap: Option<Arc<Softcap>>,
    /// Set if each key has a bias; see [`BIAS`].
    pub bias: bool,
    /// Cycles from `v_ren` to the value.
    pub value_latency: u32,
    /// Tables of exponential, sigmoid, softplus and ln.
    pub exp: ExpNumerics,
    /// FA2's divider.
    pub reciprocal: ReciprocalNumerics,
}

impl Numerics {
    /// Computes everything from a configuration, which must be valid.
    pub fn new(config: &CoreConfig) -> Self {
        let encodings = config.encodings();
        let formats = encodings.products();
        let accumulator = config.accumulator_format();
        let hold = config.hold();
        let tree_levels = config.d.next_power_of_two().ilog2();
        let fixed_lanes = config.has_fixed_lanes();
        let (value, weight) = (config.value_format(), config.weight_format());
        Numerics {
            rounded_dot: config.follows_the_paper(),
            dot_guard: tree_levels.div_ceil(2).saturating_sub(NATURAL_SCORE_GUARD_BITS),
            octave_bits: bits_for(
                vanished_octave((!fixed_lanes).then_some(weight), config.state_fraction()).into(),
            ),
            ranged: config.has_ranged_lanes(),
            log_reference: config.kind().reference != Reference::Maximum,
            scales_in_lane: config.kind().scales_in_lane,
            lane: fixed_lanes.then(|| config.lane_bits()),
            encodings,
            formats,
            accumulator,
            value,
            weight,
            factor_significand: config.factor_significand(),
            difference: difference_format(value, weight, accumulator),
            product: accumulator.intermediate(accumulator.fraction_bits + UPDATE_GUARD_BITS),
            tree_levels,
            score_shift: config.score_shift(),
            key_bits: config.key_bits(),
            score_integer: config.score_integer_bits,
            score_fraction: config.score_fraction(),
            state_fraction: config.state_fraction(),
            hold_threshold: match hold {
                Hold::Below(t) => {
                    let unit = (config.score_fraction() as f64).exp2();
                    Some((t * std::f64::consts::LOG2_E * unit).round() as u64)
                }
                Hold::None | Hold::Static | Hold::Budget(_) => None,
            },
            budget: match hold {
                Hold::Budget(fraction) => Some(BudgetNumerics::new(fraction, config.key_bits())),
                _ => None,
            },
            masks: config.masks,
            partial: config.partial,
            softcap: config.softcap.map(|cap| {
                let (integer, fraction) = (config.score_integer_bits, config.score_fraction());
                Softcap::get(cap, integer, fraction)
            }),
            bias: config.bias,
            value_latency: config.value_latency,
            static_hold: hold == Hold::Static,
            exp: ExpNumerics::new(
                config.segments(),
                argument_integer_bits(formats.v, config.state_fraction()),
            ),
            reciprocal: ReciprocalNumerics::new(formats.o.precision()),
        }
    }

    /// Fraction bits of the natural score `q . k 2^score_shift`. The significands of both scales multiply it, and its rounding error, by less than 4.
    pub fn natural_fraction(&self) -> u32 {
        let guard = if self.has_significands() { SIGNIFICANDS_GUARD_BITS } else { 0 };
        self.score_fraction + NATURAL_SCORE_GUARD_BITS + guard
    }

    /// Width of the signed natural score.
    pub fn natural_bits(&self) -> u32 {
        1 + self.score_integer + self.natural_fraction()
    }

    /// Set if the dot product is an exact integer, which scales multiply.
    pub fn is_exact(&self) -> bool {
        self.encodings.is_exact()
    }

    /// Set if significands of scales multiply the natural score.
    pub fn has_significands(&self) -> bool {
        self.encodings.has_significands()
    }

    /// Width of one term of the fused dot product, before its rounding bit is added.
    pub fn term_bits(&self) -> u32 {
        match self.is_exact() {
            true => 1 + self.formats.q.precision() + self.formats.k.precision(),
            false => 1 + self.product_integer() + self.natural_fraction() + self.dot_guard,
        }
    }

    /// Integer bits of the fused dot product's terms: enough for the largest product, but no more than [`PRODUCT_INTEGER_BITS`] and one more than the score.
    fn product_integer(&self) -> u32 {
        // Both significands are below 2.
        let largest = |format: Format| largest_exponent(format) - format.bias + 1;
        let largest = largest(self.formats.q) + largest(self.formats.k) + self.score_shift;
        let most = PRODUCT_INTEGER_BITS.max(self.score_integer + 1);
        largest.clamp(1, most as i32) as u32
    }

    /// Power of two that scales a product to the unit of a term.
    pub fn term_shift(&self) -> i32 {
        self.score_shift + (self.natural_fraction() + self.dot_guard) as i32
    }

    /// Bits above a term that are set if its product is too large; 0 if no product is.
    ///
    /// Normal products need one. Products of subnormal numbers have zeros above their leading one, and with a large [`Numerics::score_shift`] these zeros are above
    /// the term although the product is not too large.
    pub fn term_spare(&self) -> u32 {
        let Formats { q, k, .. } = self.formats;
        let [q_most, k_most] = [q, k].map(largest_exponent);
        // An exact product fits its term.
        if self.is_exact() || q_most + k_most <= self.term_top(0) {
            return 0;
        }
        // A subnormal number has at most its fraction's width of zeros, and the exponent field counts as 1. Integers are subnormal.
        let zeros = |format: Format| match format.subnormals {
            Subnormals::Supported => format.fraction_bits as i32,
            Subnormals::Flushed => 0,
        };
        let (of_q, of_k) = (zeros(q), zeros(k));
        let both = if of_q > 0 && of_k > 0 { of_q + of_k } else { 0 };
        let beyond = [(1 + k_most, of_q), (1 + q_most, of_k), (2, both)]
            .map(|(sum, zeros)| (sum - self.term_top(1)).clamp(0, zeros));
        1 + beyond.into_iter().fold(0, i32::max) as u32
    }

    /// Largest sum of exponent fields of which a product fits into a term with `spare` bits above it.
    pub fn term_top(&self, spare: u32) -> i32 {
        let Formats { q, k, .. } = self.formats;
        (self.term_bits() - 1 + spare) as i32 + q.bias + k.bias - 2 - self.term_shift()
    }

    /// Width of a base-2 argument `t`.
    pub fn octave_argument_bits(&self) -> u32 {
        self.octave_bits + self.exp.value_fraction
    }

    /// Width of the signed score, `1 + IS + FS`.
    pub fn score_bits(&self) -> u32 {
        1 + self.score_integer + self.score_fraction
    }

    /// Width of the signed state L, `1 + (IS + 1) + FL`. L cannot overflow: `|s| <= 2^IS` and `log2 N <= 20 < 2^IS`.
    pub fn state_bits(&self) -> u32 {
        2 + self.score_integer + self.state_fraction
    }

    /// Width of the input of FLASH-D's hold decision: x, or with a budget a single bit.
    pub fn hold_bits(&self) -> u32 {
        if self.budget.is_some() { 1 } else { self.state_bits() + 1 }
    }

    /// Widths of [`CoreConfig::state_scalars`], in the same order.
    pub fn scalar_bits(&self, config: &CoreConfig) -> Vec<u32> {
        let of = |name: &&str| match *name {
            "lse" => self.state_bits(),
            "room" => self.budget.as_ref().map_or(0, BudgetNumerics::room_bits),
            "m" => match config.kind().reference {
                Reference::Maximum => self.score_bits(),
                Reference::Octaves => self.reference_bits(),
                Reference::ScoreAndOctaves => self.fine_reference_bits(),
            },
            _ if self.log_reference => self.log_sum_bits(),
            _ => self.sum_bits(),
        };
        config.state_scalars().iter().map(of).collect()
    }

    /// Width of an integer reference of FA2, two's complement: `-2^IS` to `2^IS`, and the octaves of l above.
    pub fn reference_bits(&self) -> u32 {
        self.score_integer + 2
    }

    /// Width of a reference of FA2 that is a score plus an integer.
    pub fn fine_reference_bits(&self) -> u32 {
        self.reference_bits() + self.score_fraction
    }

    /// Width of l if the reference keeps it below 2.
    pub fn log_sum_bits(&self) -> u32 {
        self.state_fraction + 1
    }

    /// Integer bits of FA2's l: `2^G` equal scores give exactly `2^G`.
    pub fn sum_integer_bits(&self) -> u32 {
        self.key_bits + 1
    }

    /// Width of FA2's l: `2^G` scores at the reference give exactly `2^G`.
    pub fn sum_bits(&self) -> u32 {
        self.sum_integer_bits() + self.state_fraction
    }

    /// Width of the widest scalar of the state.
    pub fn widest_scalar_bits(&self, scalar: WidestScalar) -> u32 {
        match scalar {
            WidestScalar::ScoreDifference => self.state_bits() + 1,
            WidestScalar::RunningSum => self.sum_bits(),
        }
    }

    /// Octaves by which FA2's fixed-point exponentials may exceed 1. In `log-reference` the reference is the floor of the first score, so its exponential is in
    /// [1, 2); in `shared-log-reference` it is the score itself.
    pub fn exponential_octaves(&self) -> u32 {
        u32::from(self.log_reference && !self.scales_in_lane)
    }

    /// Significand bits of a fixed-point accumulator that FA2 multiplies by 1/l; the rest is dropped. In lanes with one multiplier the last
    /// of these bits is set to 1, the middle of the dropped interval: this removes the bias without a larger error.
    pub fn kept_significand(&self) -> u32 {
        let Formats { v, o, .. } = self.formats;
        match self.scales_in_lane {
            // The multiplier also takes values.
            true => (o.precision() + 3).max(v.precision()),
            false => o.precision() + 4,
        }
    }

    /// Pipeline stages of the soft cap, 0 or 1.
    pub fn cap_stages(&self) -> u32 {
        self.softcap.is_some().into()
    }

    /// Cycles from accepting a key to its result: `4 + ceil(log2 d)`, plus 1 with a soft cap, plus `value_latency - 1`.
    pub fn latency(&self) -> u32 {
        3 + self.tree_levels + self.cap_stages() + self.value_latency
    }
}

/// Exponent field of a format's largest number; integers have the one field 1.
fn largest_exponent(format: Format) -> i32 {
    ((format.max_finite() >> format.fraction_bits) & format.exponent_mask()).max(1) as i32
}

/// Alignment of a scaled score, for integer queries and keys with scales: returns `(e, left)`. The product of sum and scales, shifted left by `left`, needs a right
/// shift by 0 where the sum of both exponent fields is e. A further left shift saturates, or its operand is zero.
pub fn scaled_right(n: &Numerics) -> (i32, u32) {
    let scale = Format::BF16;
    // The smallest non-zero product of significands and log2(e) has two bits less. 1 times it, shifted left by `left`, must saturate.
    let left = (n.score_integer + n.score_fraction + 1).saturating_sub(SCALE_PRODUCT_BITS - 3);
    let unit =
        2 * (scale.bias + scale.fraction_bits as i32) + LOG2E_FRACTION as i32 - SCALE_PRODUCT_DROPPED as i32;
    let fraction = n.formats.q.integer_fraction() + n.formats.k.integer_fraction();
    (unit - n.score_shift + fraction - n.score_fraction as i32 + left as i32, left)
}

/// Format of FLASH-D's `v - o` and `w (v - o)`, [`UPDATE_GUARD_BITS`] finer than v and w.
///
/// With gradual underflow the difference has a fixed ulp; it is kept as fine as a wider accumulator's.
pub fn difference_format(value: Format, weight: Format, accumulator: Format) -> Format {
    let relative = value.fraction_bits.max(weight.fraction_bits) + UPDATE_GUARD_BITS;
    value.intermediate(match value.subnormals {
        Subnormals::Supported => relative.max(accumulator.fraction_bits),
        Subnormals::Flushed => relative,
    })
}

/// The paper's static limits as encodings `(low, high)`: `D <= low` holds, `D >= high` loads. Each is the number of the format with the smallest magnitude not
/// below 6 and 11.
pub fn static_limits(format: Format) -> (u64, u64) {
    let magnitude_at_least = |limit: f64| {
        let (mut below, mut enough) = (0, format.max_finite());
        while below + 1 < enough {
            let middle = (below + enough) / 2;
            *(if format.value(middle) >= limit { &mut enough } else { &mut below }) = middle;
        }
        enough
    };
    let (low, high) = STATIC_HOLD;
    (format.sign_bit() | magnitude_at_least(-low), magnitude_at_least(high))
}

/// The numerics of a merge: its scores are states and its values are accumulators.
pub fn merge_numerics(n: &Numerics) -> Numerics {
    Numerics {
        encodings: Encodings { scales: Scales::NONE, ..n.encodings },
        softcap: None,
        bias: false,
        score_integer: n.score_integer + 1,
        score_fraction: n.state_fraction,
        hold_threshold: None,
        budget: None,
        value: n.accumulator,
        difference: difference_format(n.accumulator, n.weight, n.accumulator),
        lane: n.lane.map(|lane| LaneBits { v: lane.o, ..lane }),
        ..n.clone()
    }
}
