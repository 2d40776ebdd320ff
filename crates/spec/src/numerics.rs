//! Every width and constant of a core, computed from its configuration in one place.
//!
//! ```text
//!  score  s   | sign | IS integer     | FS fraction |            saturates at +-2^IS
//!  state  L   | sign | IS + 1 integer | FL fraction             |
//!  x = s - L  | sign | IS + 2 integer | FL fraction             |
//!  |x|    t          | OB octave: k   | B fraction: f |          saturates where 2^-t has vanished
//!  sum    l          | 17 integer     | FL fraction             | saturates
//! ```
//!
//! `paper` and `literal` have scores and states in the format and natural arguments: IA integer and B fraction bits
//! that a multiplication by log2(e) turns into octave k (IA + 1 bits) and fraction f.

mod budget;
mod sum;

pub use budget::{BUDGET_REGISTER, BUDGET_RESERVE, BUDGET_STATE_FRACTION, BudgetNumerics};
pub use sum::{LOG_SUM_GUARD_BITS, SUM_GUARD_BITS, SUM_INTEGER_BITS};

use crate::bits::bits_for;
use crate::config::{CoreConfig, Dot, Fa2Variant, Hold, LaneBits, STATIC_HOLD, WidestScalar};
use crate::format::{Encodings, Format, Formats, Scales, Subnormals};
use crate::pwl::softcap::Softcap;
use crate::pwl::{self, Function, Table};
pub use crate::pwl::{LOG2E, LOG2E_FRACTION};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Integer bits of `|x|` before the exponential, at least 4: where `e^-|x|` has vanished below the smallest
/// number of the format and below the last fraction bit of the state, it may saturate.
pub fn argument_integer_bits(format: Format, state_fraction: u32) -> u32 {
    let below_format = below_smallest(format);
    let below_state = state_fraction + 2;
    let octaves = below_format.max(below_state) as f64;
    ((octaves * std::f64::consts::LN_2).log2().ceil() as u32).max(4)
}

/// Bits of the octave `k` of a base-2 argument `t = k + f`: enough that `2^-t` has vanished below the last
/// fraction bit of the state and, for a weight that is rounded to the format, below its smallest number.
pub fn octave_bits(format: Option<Format>, state_fraction: u32) -> u32 {
    bits_for(vanished_octave(format, state_fraction).into())
}

/// The octave in which `2^-t` is below half of a format's smallest number.
fn below_smallest(format: Format) -> u32 {
    (format.bias + format.fraction_bits as i32 + 1).max(0) as u32
}

/// The octave in which `2^-t` has vanished.
fn vanished_octave(format: Option<Format>, state_fraction: u32) -> u32 {
    let below_format = format.map_or(0, below_smallest);
    below_format.max(state_fraction + 2)
}

/// Fraction bits that the natural score has beyond those of the base-2 score made from it.
pub const NATURAL_SCORE_GUARD_BITS: u32 = 2;
/// Fraction bits that the natural score has beyond [`NATURAL_SCORE_GUARD_BITS`] where significands of scales multiply it.
pub const SIGNIFICANDS_GUARD_BITS: u32 = 2;
/// Format of what is added to a key's score: natural units, as a memory would hold it. It is multiplied by [`LOG2E`], the score's own
/// constant, rounded once to the score's last place, half away from zero, and saturates as the score does.
pub const BIAS: Format = Format::BF16;
/// Width of the product of a query's scale, a key's and `log2(e)`: rounded to this many bits; the top two may be zero. A
/// relative error of 2^-14.5 at most is below the score's last place for scores up to 16.
pub const SCALE_PRODUCT_BITS: u32 = 16;
/// Bits of the product of both scales' significands and [`LOG2E`] that rounding to [`SCALE_PRODUCT_BITS`] drops.
pub const SCALE_PRODUCT_DROPPED: u32 = 2 * Format::BF16.precision() + bits_for(LOG2E) - SCALE_PRODUCT_BITS;
/// Fraction bits of what is left of that product.
pub const SCALE_PRODUCT_FRACTION: u32 =
    2 * Format::BF16.fraction_bits + LOG2E_FRACTION - SCALE_PRODUCT_DROPPED;
/// Guard bits with which `1 - sigmoid(-t)` is formed.
pub const COMPLEMENT_GUARD_BITS: u32 = 2;
/// Extra fraction bits of FLASH-D's difference and product and of FA2's product. The result stays between `o`
/// and `v` even without them, because the factor is at most 1/2; they are there for accuracy: without them the
/// mean error of FLASH-D on random heads grows by 5 to 12 %, with one by up to 4 %.
pub const UPDATE_GUARD_BITS: u32 = 2;

/// Bits beyond the value's of what a fixed-point FLASH-D lane turns into its result.
pub(crate) const FIXED_RESULT_GUARD_BITS: u32 = 4;

/// Width of the top of the accumulator of a fixed-point FLASH-D lane that becomes the result, the rest being
/// dropped: with bits for averages over thousands of keys the accumulator is wider than a result needs. What is lost
/// is below a sixteenth of the value's last place.
pub fn fixed_result_bits(lane: LaneBits) -> u32 {
    lane.o.min(lane.v + FIXED_RESULT_GUARD_BITS)
}

/// The exponential's range reduction and tables: `e^-t = 2^-k 2^-f`, `k + f = t log2(e)`.
#[derive(Clone, Debug)]
pub struct ExpNumerics {
    /// Integer bits IA of the argument.
    pub argument_integer: u32,
    /// Fraction bits B of the argument, of `f` and of the values.
    pub value_fraction: u32,
    /// `round(log2(e) * 2^log2e_fraction)`.
    pub log2e: u64,
    /// Fraction bits of `log2e`.
    pub log2e_fraction: u32,
    /// `round(ln(2) * 2^value_fraction)`.
    pub ln2: u64,
    /// `2^-f`.
    pub exp: Arc<Table>,
    /// `2^k sigmoid(-(k + f) ln 2)`.
    pub sigmoid: Arc<Table>,
    /// `2^k softplus(-(k + f) ln 2)`.
    pub softplus: Arc<Table>,
    /// `2^k log2(1 + 2^-(k + f))`.
    pub log2p1: Arc<Table>,
    /// `ln m`.
    pub ln: Arc<Table>,
    /// `sigmoid(z - 6)`.
    pub paper_sigmoid: Arc<Table>,
}

impl ExpNumerics {
    /// Tables with this many segments, arguments with [`argument_integer_bits`].
    pub fn new(segments: u32, argument_integer: u32) -> Self {
        let value_fraction = pwl::value_fraction(segments);
        let log2e_fraction = value_fraction + 2;
        let table = |f| Table::get(f, segments, value_fraction);
        ExpNumerics {
            argument_integer,
            value_fraction,
            log2e: (std::f64::consts::LOG2_E * (log2e_fraction as f64).exp2()).round() as u64,
            log2e_fraction,
            ln2: (std::f64::consts::LN_2 * (value_fraction as f64).exp2()).round() as u64,
            exp: table(Function::Exp),
            sigmoid: table(Function::Sigmoid),
            softplus: table(Function::Softplus),
            log2p1: table(Function::Log2p1),
            ln: table(Function::Ln),
            paper_sigmoid: table(Function::PaperSigmoid),
        }
    }

    /// Width of `t = |x|`.
    pub fn argument_bits(&self) -> u32 {
        self.argument_integer + self.value_fraction
    }
}

/// How `1/m` is found: a table, then Newton steps `r <- r (2 - m r)`, as few as keep the error at or below
/// `2^-(p+2)`, p the significand width of the result.
#[derive(Clone, Debug)]
pub struct ReciprocalNumerics {
    /// `1 / m` on [1, 2); `m` and the result have its `value_fraction` fraction bits.
    pub table: Arc<Table>,
    /// Newton steps after the table.
    pub newton_steps: u32,
}

impl ReciprocalNumerics {
    /// The cheapest unit for a result of `precision` significand bits.
    pub fn new(precision: u32) -> Self {
        // Looked for once: it takes the errors of several tables, and searches for test streams make thousands of models.
        static FOUND: Mutex<BTreeMap<u32, ReciprocalNumerics>> = Mutex::new(BTreeMap::new());
        let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
        found.entry(precision).or_insert_with(|| ReciprocalNumerics::cheapest(precision)).clone()
    }

    fn cheapest(precision: u32) -> Self {
        let bound = (-(precision as f64 + 2.0)).exp2();
        let unit = |bits: u32| (-(bits as f64)).exp2();
        for segments in [4, 8, 16, 32] {
            let bits = pwl::value_fraction(segments).max(precision + 5);
            let table = Table::get(Function::Reciprocal, segments, bits);
            // The operand's truncation adds at most one unit.
            if table.max_error(0).1 + unit(bits) <= bound {
                return ReciprocalNumerics { table, newton_steps: 0 };
            }
        }
        let bits = precision + 5;
        let table = Table::get(Function::Reciprocal, 32, bits);
        let (mut error, mut newton_steps) = (table.max_error(0).1, 0);
        while error + unit(bits) > bound {
            error = error * error + 2.0 * unit(bits);
            newton_steps += 1;
        }
        ReciprocalNumerics { table, newton_steps }
    }
}

/// Widths and constants of one core.
#[derive(Clone, Debug)]
pub struct Numerics {
    /// Formats of elements on the ports, and what multiplies them.
    pub encodings: Encodings,
    /// What the units multiply and add up: q, k and v with their scales, and o.
    pub formats: Formats,
    /// Format of the accumulator.
    pub accumulator: Format,
    /// Format of v in float lanes: that of the ports, in the accumulator's exponents where these are others.
    pub value: Format,
    /// Format of the weight or exponential where it is rounded to one: that of v with a significand of its own.
    pub weight: Format,
    /// Significand bits of the lanes' factor.
    pub factor_significand: u32,
    /// Format of FLASH-D's `v - o` and `w (v - o)`: never saturates, see [`UPDATE_GUARD_BITS`].
    pub difference: Format,
    /// Format of FA2's `o c` and `v e`.
    pub product: Format,
    /// How the dot product is formed.
    pub dot: Dot,
    /// Fraction bits that the fused dot product's terms have beyond the natural score's, so that the rms of d
    /// rounding errors stays that of a few.
    pub dot_guard: u32,
    /// Octave bits of base-2 arguments.
    pub octave_bits: u32,
    /// Fixed-point lanes.
    pub lane: Option<LaneBits>,
    /// Each fixed-point lane has an exponent of its own.
    pub ranged: bool,
    /// FA2's reference follows the exponent of l, which stays below 2.
    pub log_reference: bool,
    /// FA2's lanes have one multiplier, for update and final scale.
    pub scales_in_lane: bool,
    /// Octaves by which a score may exceed FA2's reference. Arguments of exponentials are relative to this much above it.
    pub slack: u32,
    /// Levels of the adder tree, `ceil(log2 d)`.
    pub tree_levels: u32,
    /// Power of two applied to the dot product.
    pub score_shift: i32,
    /// Integer bits IS of the score.
    pub score_integer: u32,
    /// Fraction bits FS of the score.
    pub score_fraction: u32,
    /// Fraction bits FL of the state.
    pub state_fraction: u32,
    /// Hold threshold `T log2(e) 2^FS`, if steps may hold.
    pub hold_threshold: Option<u64>,
    /// FLASH-D's budget for what steps hold, if there is one.
    pub budget: Option<BudgetNumerics>,
    /// The paper's static rule is in force.
    pub static_hold: bool,
    /// Keys can be masked.
    pub masks: bool,
    /// Partial results are taken over and handed out.
    pub partial: bool,
    /// The table of the scores' cap.
    pub softcap: Option<Arc<Softcap>>,
    /// Each key has a bias, see [`BIAS`].
    pub bias: bool,
    /// Cycles from `v_ren` to the value.
    pub value_latency: u32,
    /// Exponential, sigmoid, softplus, ln.
    pub exp: ExpNumerics,
    /// FA2's divider.
    pub reciprocal: ReciprocalNumerics,
}

impl Numerics {
    /// Derives everything from a configuration (which must be valid).
    pub fn new(config: &CoreConfig) -> Self {
        let encodings = config.encodings();
        let formats = encodings.products();
        let accumulator = config.accumulator_format();
        let hold = config.hold();
        let tree_levels = config.d.next_power_of_two().ilog2();
        let fixed_lanes = config.has_fixed_lanes();
        let (value, weight) = (config.value_format(), config.weight_format());
        Numerics {
            dot: config.dot(),
            dot_guard: tree_levels.div_ceil(2).saturating_sub(NATURAL_SCORE_GUARD_BITS),
            octave_bits: {
                let vanished = vanished_octave((!fixed_lanes).then_some(weight), config.state_fraction_bits);
                bits_for((vanished + config.kind().slack).into())
            },
            slack: config.kind().slack,
            ranged: config.has_ranged_lanes(),
            log_reference: matches!(
                config.fa2(),
                Some(Fa2Variant::LogReference | Fa2Variant::SharedLogReference)
            ),
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
            score_integer: config.score_integer_bits,
            score_fraction: config.score_fraction_bits,
            state_fraction: config.state_fraction_bits,
            hold_threshold: match hold {
                Hold::Below(t) => {
                    let unit = (config.score_fraction_bits as f64).exp2();
                    Some((t * std::f64::consts::LOG2_E * unit).round() as u64)
                }
                Hold::None | Hold::Static | Hold::Budget(_) => None,
            },
            budget: match hold {
                Hold::Budget(fraction) => Some(BudgetNumerics::new(fraction)),
                _ => None,
            },
            masks: config.masks,
            partial: config.partial,
            softcap: config.softcap.map(|cap| {
                let (integer, fraction) = (config.score_integer_bits, config.score_fraction_bits);
                Softcap::get(cap, integer, fraction, config.segments)
            }),
            bias: config.bias,
            value_latency: config.value_latency,
            static_hold: hold == Hold::Static,
            exp: ExpNumerics::new(
                config.segments,
                argument_integer_bits(formats.v, config.state_fraction_bits),
            ),
            reciprocal: ReciprocalNumerics::new(formats.o.precision()),
        }
    }

    /// Fraction bits of the natural score `q . k 2^score_shift`. Significands of scales that multiply it make its rounding error
    /// four times as large at most.
    pub fn natural_fraction(&self) -> u32 {
        let guard = if self.has_significands() { SIGNIFICANDS_GUARD_BITS } else { 0 };
        self.score_fraction + NATURAL_SCORE_GUARD_BITS + guard
    }

    /// Width of the natural score.
    pub fn natural_bits(&self) -> u32 {
        1 + self.score_integer + self.natural_fraction()
    }

    /// Whether the dot product is one of exact integers, which scales multiply.
    pub fn is_exact(&self) -> bool {
        self.encodings.is_exact()
    }

    /// Whether significands of scales multiply the natural score.
    pub fn has_significands(&self) -> bool {
        self.encodings.has_significands()
    }

    /// Width of one term of the fused dot product, before its rounding bit is added.
    pub fn term_bits(&self) -> u32 {
        match self.is_exact() {
            true => 1 + self.formats.q.precision() + self.formats.k.precision(),
            false => self.natural_bits() + self.dot_guard,
        }
    }

    /// Width of a base-2 argument `t`.
    pub fn octave_argument_bits(&self) -> u32 {
        self.octave_bits + self.exp.value_fraction
    }

    /// Width of the signed score, `1 + IS + FS`.
    pub fn score_bits(&self) -> u32 {
        1 + self.score_integer + self.score_fraction
    }

    /// Width of the signed state `L`, `1 + (IS + 1) + FL`: `ln 65536 < 2^IS`, so L cannot overflow.
    pub fn state_bits(&self) -> u32 {
        2 + self.score_integer + self.state_fraction
    }

    /// Width of what FLASH-D's decision looks at: x, or where there is a budget one bit about it.
    pub fn hold_bits(&self) -> u32 {
        if self.budget.is_some() { 1 } else { self.state_bits() + 1 }
    }

    /// Widths of [`CoreConfig::state_scalars`].
    pub fn scalar_bits(&self, config: &CoreConfig) -> Vec<u32> {
        let of = |name: &&str| match *name {
            "lse" => self.state_bits(),
            "room" => self.budget.as_ref().map_or(0, BudgetNumerics::room_bits),
            "m" => match config.fa2() {
                Some(Fa2Variant::Fixed | Fa2Variant::LogReference) => self.reference_bits(),
                Some(Fa2Variant::SharedLogReference) => self.fine_reference_bits(),
                _ => self.score_bits(),
            },
            _ if self.log_reference => self.log_sum_bits(),
            _ => self.sum_bits(),
        };
        config.state_scalars().iter().map(of).collect()
    }

    /// Width of a reference of FA2 that is an integer, `-2^IS` to `2^IS` and the octaves of l above that, two's complement.
    pub fn reference_bits(&self) -> u32 {
        self.score_integer + 2
    }

    /// Width of a reference that is a score plus an integer.
    pub fn fine_reference_bits(&self) -> u32 {
        self.reference_bits() + self.score_fraction
    }

    /// Width of an l that the reference keeps below 2.
    pub fn log_sum_bits(&self) -> u32 {
        self.state_fraction + 1
    }

    /// Width of FA2's running sum: 65,536 scores as far above the reference as they may be give exactly `2^(16 + slack)`.
    pub fn sum_bits(&self) -> u32 {
        SUM_INTEGER_BITS + self.slack + self.state_fraction
    }

    /// Width of the widest scalar of the state.
    pub fn widest_scalar_bits(&self, scalar: WidestScalar) -> u32 {
        match scalar {
            WidestScalar::ScoreDifference => self.state_bits() + 1,
            WidestScalar::RunningSum => self.sum_bits(),
        }
    }

    /// Octaves by which FA2's exponentials in fixed point exceed 1: where a first key is multiplied, the reference is the floor of its
    /// score; where it is not, the score itself.
    pub fn exponential_octaves(&self) -> u32 {
        u32::from(self.log_reference && !self.scales_in_lane)
    }

    /// Significand bits of a fixed-point accumulator that FA2 multiplies by the reciprocal of l, the rest being dropped. In lanes with
    /// one multiplier the last of them is a one, the middle of what is dropped: no bias, with no more of an error.
    pub fn kept_significand(&self) -> u32 {
        let Formats { v, o, .. } = self.formats;
        match self.scales_in_lane {
            // The multiplier takes a value as well.
            true => (o.precision() + 3).max(v.precision()),
            false => o.precision() + 4,
        }
    }

    /// Stages of the scores' cap.
    pub fn cap_stages(&self) -> u32 {
        self.softcap.is_some().into()
    }

    /// Cycles from a key's acceptance to its result: `4 + ceil(log2 d)`, one more with a soft cap, and more where the value takes more
    /// than one cycle to come.
    pub fn latency(&self) -> u32 {
        3 + self.tree_levels + self.cap_stages() + self.value_latency
    }
}

/// Of a core whose queries and keys have scales: the sum of both exponent fields at which the product of sum and scales, moved left by
/// the second number, goes right by nothing. What goes further left saturates, or is zero.
pub fn scaled_right(n: &Numerics) -> (i32, u32) {
    let scale = Format::BF16;
    // The smallest product of significands and log2(e) that is not zero has two bits less; one times it, moved left, has to saturate.
    let left = (n.score_integer + n.score_fraction + 1).saturating_sub(SCALE_PRODUCT_BITS - 3);
    let unit =
        2 * (scale.bias + scale.fraction_bits as i32) + LOG2E_FRACTION as i32 - SCALE_PRODUCT_DROPPED as i32;
    (unit - n.score_shift - n.score_fraction as i32 + left as i32, left)
}

/// Format of FLASH-D's `v - o` and `w (v - o)`, [`UPDATE_GUARD_BITS`] finer than v and w.
///
/// With gradual underflow the difference has a fixed quantum, which is kept as fine as that of a wider
/// accumulator.
pub fn difference_format(value: Format, weight: Format, accumulator: Format) -> Format {
    let relative = value.fraction_bits.max(weight.fraction_bits) + UPDATE_GUARD_BITS;
    value.intermediate(match value.subnormals {
        Subnormals::Supported => relative.max(accumulator.fraction_bits),
        Subnormals::Flushed => relative,
    })
}

/// The paper's static limits as encodings: `D <= low` holds, `D >= high` loads. `high` is the smallest
/// number of the format that is not below 11.
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

/// The numbers of a merge: its scores are states, and its values accumulators.
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
