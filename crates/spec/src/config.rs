//! The choices of a user: the configurations of a core, an array, a split and a wrapper.

mod array;
mod conflict;
mod datapath;
mod fields;
mod keys;
mod kinds;
mod lists;
mod name;
mod option;
mod options;
mod split;
mod validate;
mod value;
mod wrapper;

pub use crate::format::Scale;
pub use array::{ArrayConfig, INTERLEAVE_RANGE, KEY_INDEX_BITS_RANGE, QUERIES_RANGE, TRANSFER_CYCLES};
pub use datapath::{
    Arithmetic, Datapath, DatapathKind, Fa2Variant, FlashDVariant, HoldRules, KINDS, Reference, WidestScalar,
};
pub use fields::CoreFields;
pub use keys::{
    ACCUMULATOR_GUARD_BITS, DEFAULT_MAX_KEYS, HOLD_RANGE, MAX_KEYS_RANGE, STATE_FRACTION_RANGE, too_long,
};
pub use kinds::{Accumulator, Design, Hold, LaneBits, Lengths, Update, WeightUnit};
pub use name::{LONGEST_NAME, design_name, encoded_length, with_digest, without_digest};
pub use option::{Applies, CoreOption, OptionGroup, Range};
pub use options::OPTIONS;
pub use split::{MERGE_CYCLES, PARTS_RANGE, SplitConfig};
pub use validate::ConfigError;
pub use value::{OptionValue, Word};
pub use wrapper::{Carried, DEFAULT_BEAT_BITS, STREAM_LATENCY, StreamWords, Values, WrapperConfig};

use crate::format::{Encodings, Format, Formats, Scales, Words};
use crate::numerics::LOG_SUM_GUARD_BITS;
use serde::{Deserialize, Serialize};

/// Configuration of one core. [`CoreConfig::new`] gives the shipped defaults; [`CoreConfig::validate`]
/// is the gate that everything else relies on.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "CoreFields")]
pub struct CoreConfig {
    /// Recurrence, and the arithmetic of state and lanes.
    pub datapath: Datapath,
    /// Elements of a query and of a key, d_k, 2 to 576. Also d_v, unless [`CoreConfig::dv`] is set.
    pub d: usize,
    /// Elements of a value and of a result, d_v, if it differs from d_k.
    pub dv: Option<usize>,
    /// The most keys of a query, N. Every width that depends on the number of keys follows from it ([`CoreConfig::key_bits`]).
    pub max_keys: usize,
    /// Format of q, and the default for k, v and o.
    pub format: Format,
    /// Format of k, if it differs from that of q.
    pub k_format: Option<Format>,
    /// Format of v, if it differs from that of q.
    pub v_format: Option<Format>,
    /// Format of o, if it differs from the default, [`Format::of_results`] of q's.
    pub o_format: Option<Format>,
    /// Scale of queries and keys, and of values if it is per block. By default, integers have a bf16 scale per row and floats have none.
    pub scales: Option<Scale>,
    /// Scale of queries, if it differs from `scales`.
    pub q_scales: Option<Scale>,
    /// Scale of keys, if it differs from `scales`.
    pub k_scales: Option<Scale>,
    /// Scale of values, if it differs from `scales`.
    pub v_scales: Option<Scale>,
    /// Widths of fixed-point lanes; by default the datapath's for these formats.
    pub lane: Option<LaneBits>,
    /// FLASH-D with fixed-point lanes: v is aligned in a separate pipeline stage. This costs a register per lane and shortens the clock period. The core then
    /// requests the value a cycle earlier; the latency is unchanged.
    pub value_stage: Option<bool>,
    /// Keys can be masked: adds the port `k_mask`, and `o_empty` for a query with no unmasked key.
    pub masks: bool,
    /// A query can start from a partial result in place of its first key, and the core outputs the state with the result, so that keys can come in tiles.
    /// Requires `masks`, because `o_empty` marks a result without a state.
    pub partial: bool,
    /// Soft cap c of the scores, `c tanh(s / c)`, applied before the bias. It takes one stage and one cycle of latency.
    pub softcap: Option<f64>,
    /// Each key has a number that is added to its score: the port `k_bias`, in bf16.
    pub bias: bool,
    /// Cycles from `v_ren` to the value, 1 to 16: the round trip to the memory. Each cycle beyond the first adds a pipeline stage for the scalars that wait for
    /// the value, and a cycle of latency. The initiation interval stays 1.
    pub value_latency: u32,
    /// The hold rule; by default the datapath's.
    pub hold: Option<Hold>,
    /// Accumulator of float lanes; by default the datapath's.
    pub accumulator: Option<Accumulator>,
    /// Significand bits of the weight or exponential in float lanes; by default the format's.
    pub weight_bits: Option<u32>,
    /// Segments of a PWL table (per octave if the range is reduced): 4, 8, 16 or 32; by default [`CoreConfig::segments`].
    pub segments: Option<u32>,
    /// The score is `q . k * 2^score_shift`. By default the power-of-two part of 1/sqrt(d), and 0 if queries have a Q0.16 scale, which has all of it.
    pub score_shift: Option<i32>,
    /// Integer bits of the fixed-point score (without sign); it saturates at +-2^bits.
    pub score_integer_bits: u32,
    /// Fraction bits of the fixed-point score; by default [`CoreConfig::score_fraction`].
    pub score_fraction_bits: Option<u32>,
    /// Fraction bits of the scalar state (log-sum-exp, running sum); by default [`CoreConfig::state_fraction`].
    pub state_fraction_bits: Option<u32>,
}

/// Default cycles from `v_ren` to the value.
const DEFAULT_VALUE_LATENCY: u32 = 1;
/// Default integer bits of the score.
pub const DEFAULT_SCORE_INTEGER_BITS: u32 = 16;
/// Fewest and most integer bits of the score.
pub const SCORE_INTEGER_RANGE: (u32, u32) = (5, 20);
/// Most bits of the accumulator in fixed-point lanes.
pub const WIDEST_LANE_SUM: u32 = 36;
/// Most bits of the value in fixed-point lanes.
pub const WIDEST_LANE_VALUE: u32 = 20;
/// Most significand bits of the weight in fixed-point lanes.
pub const WIDEST_LANE_WEIGHT: u32 = 12;
/// Fewest and most significand bits of the weight in float lanes; the tables resolve no more.
pub const WEIGHT_BITS_RANGE: (u32, u32) = (3, 16);
/// Default budget of FLASH-D's hold rule in lanes of up to 8 significand bits: all held keys together change o by less than `2^-10 max|v|`, 0.1 %, at any
/// N. It is half an ulp of o in bf16.
pub const DEFAULT_BUDGET: u32 = 9;
/// Default budget in lanes of more bits, half an ulp of o in fp16.
const FINE_BUDGET: u32 = 12;
/// The default budget has at least G - 4 bits for `2^G` keys.
const BUDGET_BELOW_KEYS: u32 = 4;
/// Threshold T of the cores that lists and reports have with one; a core without a budget has a default that follows its most keys.
pub const DEFAULT_HOLD: f64 = 12.0;
/// Fewest and most fraction bits F of `budget:F`.
pub const BUDGET_FRACTIONS: (u32, u32) = (4, 22);
/// The paper's static rule updates only for `D = s_i - s_{i-1}` within these limits.
pub const STATIC_HOLD: (f64, f64) = (-6.0, 11.0);
/// Fewest and most cycles from `v_ren` to the value.
pub const VALUE_LATENCY_RANGE: (u32, u32) = (1, 16);
/// Smallest and largest `score_shift`.
pub const SCORE_SHIFT_RANGE: (i32, i32) = (-64, 64);
/// Smallest and largest vector length.
pub const D_RANGE: (usize, usize) = (2, 576);

impl CoreConfig {
    /// The shipped defaults for a design, vector length and format.
    pub fn new(design: Design, d: usize, format: Format) -> Self {
        CoreConfig::with_datapath(Datapath::shipped(design, format), d, format)
    }

    /// A datapath with a vector length and a format; everything else at its default.
    pub fn with_datapath(datapath: Datapath, d: usize, format: Format) -> Self {
        CoreConfig {
            datapath,
            d,
            dv: None,
            max_keys: DEFAULT_MAX_KEYS,
            format,
            k_format: None,
            v_format: None,
            o_format: None,
            scales: None,
            q_scales: None,
            k_scales: None,
            v_scales: None,
            lane: None,
            value_stage: None,
            masks: false,
            partial: false,
            softcap: None,
            bias: false,
            value_latency: DEFAULT_VALUE_LATENCY,
            hold: None,
            accumulator: None,
            weight_bits: None,
            segments: None,
            score_shift: None,
            score_integer_bits: DEFAULT_SCORE_INTEGER_BITS,
            score_fraction_bits: None,
            state_fraction_bits: None,
        }
    }

    /// Replaces the formats of q, k, v and o.
    #[must_use]
    pub fn with_formats(self, formats: Formats) -> Self {
        let Formats { q, k, v, o } = formats;
        let other = |format| (format != q).then_some(format);
        let o_format = (o != q.of_results()).then_some(o);
        CoreConfig { format: q, k_format: other(k), v_format: other(v), o_format, ..self }
    }

    /// Formats of the elements of q, k, v and o on the ports.
    pub fn formats(&self) -> Formats {
        let of = |own: Option<Format>| own.unwrap_or(self.format);
        let o = self.o_format.unwrap_or(self.format.of_results());
        Formats { q: self.format, k: of(self.k_format), v: of(self.v_format), o }
    }

    /// Replaces d_k and d_v.
    #[must_use]
    pub fn with_lengths(self, Lengths { k, v }: Lengths) -> Self {
        CoreConfig { d: k, dv: (v != k).then_some(v), ..self }
    }

    /// Set if q, k, v and o share one format and one length and no operand has a scale.
    pub fn has_one_shape(&self) -> bool {
        self.formats().uniform().is_some() && self.dv() == self.d && self.scales() == Scales::NONE
    }

    /// d_k and d_v.
    pub fn lengths(&self) -> Lengths {
        Lengths { k: self.d, v: self.dv() }
    }

    /// Elements of a value and of a result, d_v.
    pub fn dv(&self) -> usize {
        self.dv.unwrap_or(self.d)
    }

    /// The default core with this datapath and these lengths and formats.
    #[must_use]
    pub fn plain(&self) -> CoreConfig {
        let CoreConfig { datapath, d, dv, format, k_format, v_format, o_format, .. } = *self;
        CoreConfig { dv, k_format, v_format, o_format, ..CoreConfig::with_datapath(datapath, d, format) }
    }

    /// The datapath's row in [`KINDS`].
    pub fn kind(&self) -> &'static DatapathKind {
        self.datapath.kind()
    }

    /// The recurrence.
    pub fn design(&self) -> Design {
        self.kind().design
    }

    /// FLASH-D's weight unit.
    pub fn weight(&self) -> Option<WeightUnit> {
        self.kind().weight
    }

    /// The output update of FLASH-D's log-sum-exp weight unit.
    pub fn update(&self) -> Option<Update> {
        self.kind().update
    }

    /// The datapath of FA2.
    pub fn fa2(&self) -> Option<Fa2Variant> {
        self.kind().fa2
    }

    /// Set if the output lanes compute in fixed point.
    pub fn has_fixed_lanes(&self) -> bool {
        matches!(self.kind().arithmetic, Arithmetic::Fixed | Arithmetic::Ranged)
    }

    /// Set if all lanes share one exponent, loaded with q: the ports `v_exponent` and `o_overflow`. Integers have a constant exponent and need no port.
    pub fn has_value_exponent(&self) -> bool {
        self.kind().arithmetic == Arithmetic::Fixed && !self.products().v.is_integer()
    }

    /// Scales of q, k and v: each operand's own, else the common one, else the default of its format.
    pub fn scales(&self) -> Scales {
        let plain = self.formats().scales();
        let of_blocks = self.scales.filter(|scale| scale.is_of_blocks());
        Scales {
            q: self.q_scales.or(self.scales).unwrap_or(plain.q),
            k: self.k_scales.or(self.scales).unwrap_or(plain.k),
            v: self.v_scales.or(of_blocks).unwrap_or(plain.v),
        }
    }

    /// Formats and scales of the operands.
    pub fn encodings(&self) -> Encodings {
        Encodings { formats: self.formats(), scales: self.scales() }
    }

    /// Formats of the operands (elements with their scales) and of the result.
    pub fn products(&self) -> Formats {
        self.encodings().products()
    }

    /// Words per vector on the ports: elements, then scales.
    pub fn port_words(&self) -> Words {
        self.encodings().words(self.d, self.dv())
    }

    /// Set if each lane has an exponent next to its fixed-point accumulator.
    pub fn has_ranged_lanes(&self) -> bool {
        self.kind().arithmetic == Arithmetic::Ranged
    }

    /// Set if FLASH-D's fixed-point lanes align v in a separate stage.
    pub fn value_stage(&self) -> bool {
        self.value_stage.unwrap_or(self.kind().value_stage)
    }

    /// Segments of a PWL table: as few as keep the rule of equal error (docs/theory/widths.md) in contexts of any length; in `paper` and `literal` no fewer than
    /// the papers' 8.
    pub fn segments(&self) -> u32 {
        self.segments.unwrap_or(match self.formats().o.precision() {
            9.. => 16,
            _ if self.follows_the_paper() => 8,
            _ => 4,
        })
    }

    /// Fraction bits FS of the score for results of p significand bits: rounding to places of `2^-(p + 1)` octaves changes a weight by at most a sixth of an ulp of the
    /// result. With one bit less, recorded heads of 256 elements with ALiBi have 1.2 times the error of exact attention.
    pub fn score_fraction(&self) -> u32 {
        let p = self.formats().o.precision();
        self.score_fraction_bits.unwrap_or((p + 1).clamp(5, 12))
    }

    /// Set if the core can load and output partial results: all datapaths but the two paper-literal ones.
    pub fn can_be_partial(&self) -> bool {
        !self.kind().state.is_empty()
    }

    /// Names of the scalars in a partial result's state. The ports are `state_` and `o_` with these names.
    pub fn state_scalars(&self) -> &'static [&'static str] {
        match (self.kind().state, self.hold()) {
            (state, Hold::Budget(_)) => state,
            ([state @ .., datapath::ROOM], _) => state,
            (state, _) => state,
        }
    }

    /// Widths of fixed-point lanes, as configured or the datapath's default for these formats.
    pub fn lane_bits(&self) -> LaneBits {
        self.lane.unwrap_or_else(|| (self.kind().lane)(self.products(), self.key_bits()))
    }

    /// Ratio of the largest to the smallest channel of V at which the smallest channel's values keep the format's precision down to a quarter of that channel's
    /// largest. Only for lanes that share one exponent; `None` for the others.
    pub fn channel_spread(&self) -> Option<f64> {
        let LaneBits { o, v, .. } = self.lane_bits();
        // FLASH-D's values enter the lanes with v bits; FA2's products enter the accumulator. One of the bits is the sign.
        let kept = if self.design() == Design::FlashD { v } else { o };
        let octaves = f64::from(kept) - 3.0 - f64::from(self.products().v.precision());
        self.has_value_exponent().then(|| octaves.exp2())
    }

    /// Exponent of the power-of-two part of the score's scale, as configured or the default.
    pub fn score_shift(&self) -> i32 {
        let default = match self.scales().q {
            Scale::RowQ16 => 0,
            _ => default_score_shift(self.d),
        };
        self.score_shift.unwrap_or(default)
    }

    /// The budget that a core has by default: half an ulp of o, within limits. The mean of many values is smaller than they, and its rounding error too.
    fn default_budget(&self) -> u32 {
        let ulp = (self.products().lane_precision() + 1).clamp(DEFAULT_BUDGET, FINE_BUDGET);
        ulp.max(self.key_bits().saturating_sub(BUDGET_BELOW_KEYS))
    }

    /// The hold rule in use.
    pub fn hold(&self) -> Hold {
        self.hold.unwrap_or(match self.kind().hold {
            HoldRules::Budget if self.has_room_for_a_budget() => Hold::Budget(self.default_budget()),
            HoldRules::Budget | HoldRules::Threshold => Hold::Below(self.default_threshold()),
            HoldRules::Static => Hold::Static,
            HoldRules::Never => Hold::None,
        })
    }

    /// Set for the datapaths that follow the paper literally, with every operation rounded to the format: FLASH-D `paper` and FA2 `literal`.
    pub fn follows_the_paper(&self) -> bool {
        self.kind().arithmetic == Arithmetic::Letter
    }

    /// Width of an accumulator in a partial result. In ranged lanes the exponent field occupies the upper bits.
    pub fn accumulator_bits(&self) -> u32 {
        match self.kind().arithmetic {
            Arithmetic::Fixed => self.lane_bits().o + self.sum_guard_bits(),
            Arithmetic::Ranged => {
                self.products().v.exponent_bits + self.lane_bits().o + self.sum_guard_bits()
            }
            Arithmetic::Float | Arithmetic::Letter => self.accumulator_format().width(),
        }
    }

    /// Guard bits of FA2's fixed-point accumulators above the value. l stays below 2. FLASH-D needs none.
    pub fn sum_guard_bits(&self) -> u32 {
        match self.kind().reference {
            Reference::Maximum => 0,
            Reference::Octaves | Reference::ScoreAndOctaves => LOG_SUM_GUARD_BITS,
        }
    }

    /// Format of v in float lanes: elements with their scales, converted to the accumulator's exponents if these differ.
    pub fn value_format(&self) -> Format {
        let (format, accumulator) = (self.products().v, self.accumulator_format());
        let same = accumulator.bias == format.bias && accumulator.subnormals == format.subnormals;
        if same { format } else { accumulator.with_fraction(format.fraction_bits) }
    }

    /// Format of a weight or exponential that is rounded to a float: v's exponents in the lanes, `weight_bits` of significand.
    pub fn weight_format(&self) -> Format {
        let bits = self.weight_bits.unwrap_or(self.products().lane_precision());
        self.value_format().with_fraction(bits - 1)
    }

    /// Significand bits of the factor that enters the lanes. A multiplier that also applies FA2's final scale takes the reciprocal of l as well: 2 bits more
    /// than the result's precision, and in float lanes a third, because they round the product twice.
    pub fn factor_significand(&self) -> u32 {
        let p = self.products().lane_precision();
        let asked = if self.has_fixed_lanes() { Some(self.lane_bits().w) } else { self.weight_bits };
        match self.kind().scales_in_lane {
            true => asked.unwrap_or(0).max(p + if self.has_fixed_lanes() { 2 } else { 3 }),
            false => asked.unwrap_or(p),
        }
    }
}

/// `-floor(log2(d) / 2)`, the exponent of the power-of-two part of 1/sqrt(d). The rest, in (1/2, 1], is for the host to fold into q.
pub fn default_score_shift(d: usize) -> i32 {
    -((d.max(1).ilog2() / 2) as i32)
}
