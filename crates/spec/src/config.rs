//! What a user chooses: the configuration of a core, and of what is made of cores.

mod about;
mod array;
mod datapath;
mod fields;
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
pub use about::{ABOUT, About, Group};
pub use array::{ArrayConfig, DEFAULT_KEY_INDEX_BITS, KEY_INDEX_BITS_RANGE, QUERIES_RANGE, TRANSFER_CYCLES};
pub use datapath::{
    Arithmetic, Datapath, Fa2Variant, FlashDVariant, HoldRules, KINDS, Kind, LAZY_SLACK, WidestScalar,
};
pub use fields::CoreFields;
pub use kinds::{Accumulator, Design, Dot, Hold, LaneBits, Lengths, Update, WeightUnit};
pub use option::{Applies, CoreOption, Range};
pub use options::OPTIONS;
pub use split::{MERGE_CYCLES, PARTS_RANGE, SplitConfig};
pub use validate::ConfigError;
pub use value::{OptionValue, Word};
pub use wrapper::{Carried, DEFAULT_BEAT_BITS, STREAM_LATENCY, StreamWords, Values, WrapperConfig};

use crate::format::{Encodings, Format, Formats, Scales, Words};
use crate::numerics::{BUDGET_STATE_FRACTION, LOG_SUM_GUARD_BITS, SUM_GUARD_BITS, SUM_INTEGER_BITS};
use serde::{Deserialize, Serialize};

/// Configuration of one core. [`CoreConfig::new`] gives the shipped defaults; [`CoreConfig::validate`]
/// is the gate that everything else relies on.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "CoreFields")]
pub struct CoreConfig {
    /// Recurrence, and the arithmetic of state and lanes.
    pub datapath: Datapath,
    /// Elements of a query and of a key, d_k, 2 to 576; of a value and of a result too, unless [`CoreConfig::dv`] says otherwise.
    pub d: usize,
    /// Elements of a value and of a result, d_v, where there are not as many.
    pub dv: Option<usize>,
    /// Format of q; of k, v and o too, where they have none of their own.
    pub format: Format,
    /// Format of k, where it is not that of q.
    pub k_format: Option<Format>,
    /// Format of v, where it is not that of q.
    pub v_format: Option<Format>,
    /// Format of o, where it is not that of q.
    pub o_format: Option<Format>,
    /// The dot product; [`Dot::Fused`] when absent, but [`Dot::Tree`] where the paper is followed to the letter.
    pub dot: Option<Dot>,
    /// What queries and keys are multiplied by, and values too where it is by blocks; a scale a row for queries and for keys that are
    /// integers when absent.
    pub scales: Option<Scale>,
    /// What queries are multiplied by, where it is not what `scales` says.
    pub q_scales: Option<Scale>,
    /// What keys are multiplied by, where it is not what `scales` says.
    pub k_scales: Option<Scale>,
    /// What values are multiplied by, where it is not what `scales` says.
    pub v_scales: Option<Scale>,
    /// Widths of fixed-point lanes; the format's default when absent.
    pub lane: Option<LaneBits>,
    /// FLASH-D with fixed-point lanes: whether v is brought into fixed point in a stage of its own, which takes a
    /// register a lane and shortens the clock period. It asks for the value a cycle earlier; the latency is the same.
    pub value_stage: Option<bool>,
    /// Whether keys can be masked: a port `k_mask`, and `o_empty` for queries all of whose keys are.
    pub masks: bool,
    /// Whether a query can start from a partial result, in place of its first key, and hands out the state beside its
    /// result, so that its keys can come in tiles. Takes masks, whose `o_empty` tells that there is no state.
    pub partial: bool,
    /// What scores are capped by: `c tanh(s / c)` of the score s, before a bias is added. It takes a stage, and a cycle of the latency.
    pub softcap: Option<f64>,
    /// Whether a number is added to the score of each key: a port `k_bias`, in bf16.
    pub bias: bool,
    /// Cycles from `v_ren` to its value, 1 to 16: the way to the memory and back. Each beyond the first takes a stage of
    /// registers for the scalars that wait for the value, and adds one to the latency; the rate stays one key a cycle.
    pub value_latency: u32,
    /// The hold rule; the design's default when absent.
    pub hold: Option<Hold>,
    /// Accumulator of the output update; the design's default when absent.
    pub accumulator: Option<Accumulator>,
    /// Significand bits of the weight or exponential of float lanes; those of the format when absent.
    pub weight_bits: Option<u32>,
    /// Segments of a PWL table (per octave where the range is reduced): 4, 8, 16 or 32.
    pub segments: u32,
    /// The score is `q . k * 2^score_shift`; the power-of-two part of 1/sqrt(d) when absent.
    pub score_shift: Option<i32>,
    /// Integer bits of the fixed-point score (without sign); it saturates at +-2^bits.
    pub score_integer_bits: u32,
    /// Fraction bits of the fixed-point score.
    pub score_fraction_bits: u32,
    /// Fraction bits of the scalar state (log-sum-exp, running sum).
    pub state_fraction_bits: u32,
}

/// Cycles from `v_ren` to its value when nothing else is asked for.
const DEFAULT_VALUE_LATENCY: u32 = 1;
/// Integer bits of the score when nothing else is asked for.
const DEFAULT_SCORE_INTEGER_BITS: u32 = 9;
/// Largest significand of a weight of fixed-point lanes.
pub(crate) const WIDEST_LANE_WEIGHT: u32 = 12;
/// Fewest and most significand bits of a weight of float lanes; the tables have no more.
pub const WEIGHT_BITS_RANGE: (u32, u32) = (3, 16);
/// Default budget of FLASH-D's hold rule: what it loses stays below 2^-10 of the largest value, 0.1 %, at any number of keys.
pub const DEFAULT_BUDGET: u32 = 9;
/// Default threshold T of the hold rule, where there is no budget.
pub const DEFAULT_HOLD: f64 = 12.0;
/// Fewest and most fraction bits that a budget of the hold rule may be made for.
pub const BUDGET_FRACTIONS: (u32, u32) = (4, 22);
/// Range of `D = s_i - s_{i-1}` in which the paper's static rule computes.
pub const STATIC_HOLD: (f64, f64) = (-6.0, 11.0);
/// Fraction bits that the accumulator has beyond the format's by default. With none, both designs lose the
/// sum of many small updates, FLASH-D more of it; with three FLASH-D's mean error on real traces is up to 1.054
/// times FA2's in bf16, with four up to 1.037 times, and both are smaller.
pub const ACCUMULATOR_GUARD_BITS: u32 = 4;
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

    /// A datapath of a vector length and format, everything else at its default.
    pub fn with_datapath(datapath: Datapath, d: usize, format: Format) -> Self {
        CoreConfig {
            datapath,
            d,
            dv: None,
            format,
            k_format: None,
            v_format: None,
            o_format: None,
            dot: None,
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
            segments: 8,
            score_shift: None,
            score_integer_bits: DEFAULT_SCORE_INTEGER_BITS,
            score_fraction_bits: 10,
            state_fraction_bits: 18,
        }
    }

    /// The same with a format for each operand and for the result.
    #[must_use]
    pub fn with_formats(self, formats: Formats) -> Self {
        let Formats { q, k, v, o } = formats;
        let other = |format| (format != q).then_some(format);
        let o_format = (o != q.of_results()).then_some(o);
        CoreConfig { format: q, k_format: other(k), v_format: other(v), o_format, ..self }
    }

    /// The formats of the elements of operands and result, on the ports.
    pub fn formats(&self) -> Formats {
        let of = |own: Option<Format>| own.unwrap_or(self.format);
        let o = self.o_format.unwrap_or(self.format.of_results());
        Formats { q: self.format, k: of(self.k_format), v: of(self.v_format), o }
    }

    /// The same with vectors of these lengths.
    #[must_use]
    pub fn with_lengths(self, Lengths { k, v }: Lengths) -> Self {
        CoreConfig { d: k, dv: (v != k).then_some(v), ..self }
    }

    /// Whether the vectors of all operands have one format and one length, and nothing stands behind their elements.
    pub fn has_one_shape(&self) -> bool {
        self.formats().uniform().is_some() && self.dv() == self.d && self.scales() == Scales::NONE
    }

    /// d_k and d_v.
    pub fn lengths(&self) -> Lengths {
        Lengths { k: self.d, v: self.dv() }
    }

    /// Elements of a value and of a result.
    pub fn dv(&self) -> usize {
        self.dv.unwrap_or(self.d)
    }

    /// The default core with this datapath, these lengths and formats.
    #[must_use]
    pub fn plain(&self) -> CoreConfig {
        let CoreConfig { datapath, d, dv, format, k_format, v_format, o_format, .. } = *self;
        CoreConfig { dv, k_format, v_format, o_format, ..CoreConfig::with_datapath(datapath, d, format) }
    }

    /// What is known of the datapath.
    pub fn kind(&self) -> &'static Kind {
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

    /// The update of FLASH-D's log-sum-exp weight unit.
    pub fn update(&self) -> Option<Update> {
        self.kind().update
    }

    /// FA2's datapath.
    pub fn fa2(&self) -> Option<Fa2Variant> {
        self.kind().fa2
    }

    /// Whether the weight state is fine enough for a budget.
    fn has_room_for_a_budget(&self) -> bool {
        self.state_fraction_bits >= BUDGET_STATE_FRACTION
    }

    /// Whether the output lanes compute in fixed point.
    pub fn has_fixed_lanes(&self) -> bool {
        matches!(self.kind().arithmetic, Arithmetic::Fixed | Arithmetic::Ranged)
    }

    /// Whether all lanes are relative to one exponent, which is loaded with q: the ports `v_exponent` and `o_overflow`. Integers have
    /// one exponent, which needs no port.
    pub fn has_value_exponent(&self) -> bool {
        self.kind().arithmetic == Arithmetic::Fixed && !self.products().v.is_integer()
    }

    /// What the elements of operands are multiplied by.
    pub fn scales(&self) -> Scales {
        let plain = self.formats().scales();
        let of_blocks = self.scales.filter(|scale| scale.is_of_blocks());
        Scales {
            q: self.q_scales.or(self.scales).unwrap_or(plain.q),
            k: self.k_scales.or(self.scales).unwrap_or(plain.k),
            v: self.v_scales.or(of_blocks).unwrap_or(plain.v),
        }
    }

    /// How operands are encoded.
    pub fn encodings(&self) -> Encodings {
        Encodings { formats: self.formats(), scales: self.scales() }
    }

    /// What is multiplied and added up: elements with their scales, and the result.
    pub fn products(&self) -> Formats {
        self.encodings().products()
    }

    /// Words on the ports, the elements and behind them those of their scales.
    pub fn port_words(&self) -> Words {
        self.encodings().words(self.d, self.dv())
    }

    /// Whether each lane has an exponent of its own beside its fixed-point accumulator.
    pub fn has_ranged_lanes(&self) -> bool {
        self.kind().arithmetic == Arithmetic::Ranged
    }

    /// Whether FLASH-D's fixed-point lanes have a stage for v.
    pub fn value_stage(&self) -> bool {
        self.value_stage.unwrap_or(self.kind().value_stage)
    }

    /// Whether the core can take over and hand out partial results: all but those that follow the paper to the letter.
    pub fn can_be_partial(&self) -> bool {
        !self.kind().state.is_empty()
    }

    /// The scalars of a partial result's state beside its accumulators: ports are `state_` and `o_` before the name.
    pub fn state_scalars(&self) -> &'static [&'static str] {
        match (self.kind().state, self.hold()) {
            (state, Hold::Budget(_)) => state,
            ([state @ .., datapath::ROOM], _) => state,
            (state, _) => state,
        }
    }

    /// Widths of fixed-point lanes: as configured, or the format's default.
    pub fn lane_bits(&self) -> LaneBits {
        self.lane.unwrap_or_else(|| (self.kind().lane)(self.products()))
    }

    /// How many times the smallest channel of V the largest may be, where all channels are under one exponent, for values a quarter of
    /// the smallest channel's largest to keep the format's precision; none where each element has an exponent of its own.
    pub fn channel_spread(&self) -> Option<f64> {
        let LaneBits { o, v, .. } = self.lane_bits();
        // FLASH-D's values enter the lanes with v bits, FA2's products the accumulator. One of the bits is the sign.
        let kept = if self.design() == Design::FlashD { v } else { o };
        let octaves = f64::from(kept) - 3.0 - f64::from(self.products().v.precision());
        self.has_value_exponent().then(|| octaves.exp2())
    }

    /// The dot product in force.
    pub fn dot(&self) -> Dot {
        self.dot.unwrap_or(if self.follows_the_paper() { Dot::Tree } else { Dot::Fused })
    }

    /// The power-of-two part of the score's scale: as configured, or that of 1/sqrt(d).
    pub fn score_shift(&self) -> i32 {
        self.score_shift.unwrap_or_else(|| default_score_shift(self.d))
    }

    /// The hold rule in force.
    pub fn hold(&self) -> Hold {
        self.hold.unwrap_or(match self.kind().hold {
            HoldRules::Budget if self.has_room_for_a_budget() => Hold::Budget(DEFAULT_BUDGET),
            HoldRules::Budget | HoldRules::Threshold => Hold::Below(DEFAULT_HOLD),
            HoldRules::Static => Hold::Static,
            HoldRules::Never => Hold::None,
        })
    }

    /// Whether the configuration is one of those that follow the paper to the letter, everything in the
    /// format: FLASH-D `paper`, FA2 `literal`.
    pub fn follows_the_paper(&self) -> bool {
        self.kind().arithmetic == Arithmetic::Letter
    }

    /// Fraction bits of the accumulator: as configured; by default [`ACCUMULATOR_GUARD_BITS`] more than those of
    /// v and o, in both designs, and none more where the paper is followed to the letter.
    pub fn accumulator_fraction(&self) -> u32 {
        let lanes = self.products().lane_precision() - 1;
        match self.accumulator {
            Some(Accumulator::Fraction(bits)) => bits,
            Some(Accumulator::Format) => lanes,
            Some(Accumulator::Float(format)) => format.fraction_bits,
            None if self.follows_the_paper() => lanes,
            None => (lanes + ACCUMULATOR_GUARD_BITS).min(23),
        }
    }

    /// The accumulator's float format. Where exponentials exceed 1, formats with few exponents take one bit more of them: then
    /// 65,536 of the largest exponentials of values up to 1 fit.
    pub fn accumulator_format(&self) -> Format {
        let base = self.products().lane_exponents();
        let grows = self.kind().slack > 0 && base.exponent_bits < Format::BF16.exponent_bits;
        match (self.accumulator, self.accumulator_fraction()) {
            (Some(Accumulator::Float(format)), _) => format,
            (None | Some(Accumulator::Fraction(_)), bits) if grows => base.intermediate(bits),
            (_, bits) if bits != base.fraction_bits => base.accumulator(bits),
            _ => base,
        }
    }

    /// Width of an accumulator, as partial results hold it: in lanes with an exponent of their own that field above the number.
    pub fn accumulator_bits(&self) -> u32 {
        match self.kind().arithmetic {
            Arithmetic::Fixed => self.lane_bits().o + self.sum_guard_bits(),
            Arithmetic::Ranged => self.products().v.exponent_bits + self.lane_bits().o,
            Arithmetic::Float | Arithmetic::Letter => self.accumulator_format().width(),
        }
    }

    /// Bits that FA2's fixed-point accumulators have above the values': l stays below 2 in both forms whose reference follows it, and
    /// below 65,536 in the other one. FLASH-D's have none.
    pub fn sum_guard_bits(&self) -> u32 {
        match self.fa2() {
            Some(Fa2Variant::LogReference | Fa2Variant::SharedLogReference) => LOG_SUM_GUARD_BITS,
            Some(Fa2Variant::Fixed) => SUM_GUARD_BITS,
            _ => 0,
        }
    }

    /// The format in which float lanes see v: that of its elements with their scales, in the accumulator's exponents where those differ.
    pub fn value_format(&self) -> Format {
        let (format, accumulator) = (self.products().v, self.accumulator_format());
        let same = accumulator.bias == format.bias && accumulator.subnormals == format.subnormals;
        if same { format } else { accumulator.with_fraction(format.fraction_bits) }
    }

    /// The format of a weight or exponential that is rounded to one: the exponents of v in the lanes, with a significand of its own.
    pub fn weight_format(&self) -> Format {
        let bits = self.weight_bits.unwrap_or(self.products().lane_precision());
        self.value_format().with_fraction(bits - 1)
    }

    /// Significand bits of the weight or exponential as the lanes get it. A multiplier that also scales FA2's result takes the
    /// reciprocal of the sum as well, which needs two bits beyond the result's precision, and one for its own rounding where the
    /// product is rounded twice, as in float lanes.
    pub fn factor_significand(&self) -> u32 {
        let p = self.products().lane_precision();
        let asked = if self.has_fixed_lanes() { Some(self.lane_bits().w) } else { self.weight_bits };
        match self.kind().scales_in_lane {
            true => asked.unwrap_or(0).max(p + if self.has_fixed_lanes() { 2 } else { 3 }),
            false => asked.unwrap_or(p),
        }
    }
}

/// Exponent of the power-of-two part of 1/sqrt(d), `-floor(log2(d) / 2)`: what remains for the host to fold
/// into q lies in (1/2, 1].
pub fn default_score_shift(d: usize) -> i32 {
    -((d.max(1).ilog2() / 2) as i32)
}
