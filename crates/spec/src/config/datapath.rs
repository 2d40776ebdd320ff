//! The datapaths, one row each. Every difference between them is a column here, or in the tables that hardware, model and waves index by [`Datapath`].

use super::{Design, LaneBits, Update, WIDEST_LANE_SUM, WIDEST_LANE_VALUE, WIDEST_LANE_WEIGHT, WeightUnit};
use crate::format::{Encodings, Format, Formats};
use serde::{Deserialize, Serialize};

/// A datapath: a recurrence with the arithmetic of its state and of its lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Datapath {
    /// FLASH-D.
    FlashD(FlashDVariant),
    /// FlashAttention-2.
    Fa2(Fa2Variant),
}

/// FLASH-D's datapaths: the paper's weight unit, or the log-sum-exp weight unit with one of the output updates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FlashDVariant {
    /// [`WeightUnit::Paper`].
    Paper,
    /// [`Update::Rounded`].
    Rounded,
    /// [`Update::Fixed`].
    Fixed,
    /// [`Update::Ranged`].
    Ranged,
}

/// FA2's datapath.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fa2Variant {
    /// Fixed-point m and l, one exponential, one multiplier per lane (exact, because one of the two factors is always 1), and a second multiplier per lane for
    /// the final scale. The textbook's datapath, hence the alias.
    #[serde(alias = "default")]
    SeparateScale,
    /// As the paper draws it: two exponentials, three multipliers a lane, the divider's included, every operation in the format.
    Literal,
    /// As `SeparateScale`, but the lane's multiplier also applies the final scale. It is idle in the cycle after the last key, because the next step is a gap
    /// or a first key, which only loads v.
    SharedScale,
    /// Fixed-point accumulator whose reference, a power of two, follows the exponent of l, so that rescaling is a shift. l stays in [1, 2), so no guard bits are needed
    /// for the number of keys.
    LogReference,
    /// Fixed point as in [`Fa2Variant::LogReference`]; the lane's one multiplier also applies the final scale. The reference is the first score plus an
    /// integer, so that a first key has the exponential 1 and v enters without a product.
    SharedLogReference,
    /// The recurrence of [`Fa2Variant::SharedLogReference`], and lanes in fixed point, each relative to the largest exponent that it has read.
    Ranged,
}

impl From<FlashDVariant> for Datapath {
    fn from(variant: FlashDVariant) -> Self {
        Datapath::FlashD(variant)
    }
}

impl From<Fa2Variant> for Datapath {
    fn from(variant: Fa2Variant) -> Self {
        Datapath::Fa2(variant)
    }
}

/// Number system of the lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arithmetic {
    /// Float; accumulator and weight have separate widths.
    Float,
    /// Fixed point, relative to a power of two loaded with q.
    Fixed,
    /// Fixed point, each lane relative to the largest exponent it has read.
    Ranged,
    /// Float; every operation of the core is rounded to the format, as in the paper.
    Letter,
}

/// The hold rules that a datapath supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HoldRules {
    /// A threshold or a budget; the budget is the default if the state has enough fraction bits.
    Budget,
    /// A threshold.
    Threshold,
    /// The paper's static rule.
    Static,
    /// None.
    Never,
}

/// The reference of FA2's exponentials, m of a state: exponentials are of `s - m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reference {
    /// The largest score so far.
    Maximum,
    /// An integer that follows the exponent of l.
    Octaves,
    /// The first score plus an integer that follows the exponent of l.
    ScoreAndOctaves,
}

/// A row: the option words, names and numbers of a core that follow from its datapath.
#[derive(Debug)]
pub struct DatapathKind {
    /// The datapath.
    pub datapath: Datapath,
    /// Its value of the option `design`.
    pub design: Design,
    /// Its value of the option `weight`, if the design has that option.
    pub weight: Option<WeightUnit>,
    /// Its value of the option `update`, if the design has that option.
    pub update: Option<Update>,
    /// Its value of the option `fa2`, if the design has that option.
    pub fa2: Option<Fa2Variant>,
    /// Suffix of the core's name, if the datapath is not the design's default.
    pub suffix: &'static str,
    /// Its description in lists and help.
    pub words: &'static str,
    /// The number system of the lanes.
    pub arithmetic: Arithmetic,
    /// Default widths of the design's fixed-point lanes, for formats and the bits of the number of keys.
    pub lane: fn(Formats, u32) -> LaneBits,
    /// Default fraction bits of a float accumulator: a value's fraction bits, G and this ([`CoreConfig::accumulator_fraction`]).
    ///
    /// [`CoreConfig::accumulator_fraction`]: super::CoreConfig::accumulator_fraction
    pub accumulator_guard: i32,
    /// Extra fraction bits of l ([`CoreConfig::state_fraction`]).
    ///
    /// [`CoreConfig::state_fraction`]: super::CoreConfig::state_fraction
    pub sum_guard: u32,
    /// Default of `value_stage`: v has a separate pipeline stage before the lanes.
    pub value_stage: bool,
    /// The hold rules it supports.
    pub hold: HoldRules,
    /// Scalars of a partial result's state, next to the accumulators: `lse`, `room` (the rest of a hold budget), `m` (FA2's maximum or reference), `l`.
    /// Empty in the paper-literal datapaths, which have no partial results because the paper draws none.
    pub state: &'static [&'static str],
    /// Set for the formats (elements with scales) in which it is the design's default. Fixed-point lanes are narrower than wide significands.
    pub ships: fn(Formats) -> bool,
    /// The widest scalar of its state.
    pub scalar: WidestScalar,
    /// The lane's multiplier also scales the result by 1/l.
    pub scales_in_lane: bool,
    /// The reference of its exponentials, if its design is FA2.
    pub reference: Reference,
}

/// The widest scalar of a state. Its width is [`Numerics::widest_scalar_bits`](crate::numerics::Numerics::widest_scalar_bits).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WidestScalar {
    /// FLASH-D: `x = s - L`.
    ScoreDifference,
    /// FA2: l.
    RunningSum,
}

impl WidestScalar {
    /// Its name in manifests.
    pub fn name(self) -> &'static str {
        match self {
            WidestScalar::ScoreDifference => "score_difference",
            WidestScalar::RunningSum => "running_sum",
        }
    }
}

/// Widths of FLASH-D's fixed-point lanes for values and results of p significand bits and `2^G` keys: what `flashd size` finds in ASAP7 at 4 ns for 512, 4,096 and
/// 65,536 keys, as functions of p and G. They keep the rule of equal error at 2 to N keys (`flashd_study::equal_error`; docs/theory/widths.md has the errors).
///
/// - O: a step of 1/N of a difference moves o by some units, and N roundings add up like a random walk.
/// - V: the difference in these places is dithered, so that on average it also resolves the dither's places. The mean of N random values is about `2^(-G/2)` of them.
///   In bf16 `flashd size` finds a bit less, with which recorded heads have up to 1.13 times FA2's error.
/// - W: rounding the weight costs less than rounding the result. With p bits recorded heads have up to 8 % more error in floats.
fn flash_d_lane(formats: Formats, key_bits: u32) -> LaneBits {
    // Integers have the same last place in every channel, and their rounding dominates.
    let integers = ships_fixed(formats);
    let p = if integers { formats.v.precision() - 1 } else { formats.lane_precision() };
    // Results of 11 bits resolve more of the roundings.
    let (g, long) = (key_bits, u32::from(key_bits > if p >= 11 { 14 } else { 16 }));
    // Integers, and up to 4,096 keys other results of few bits, hardly resolve the roundings of differences.
    let coarser_value = u32::from(integers || p <= 4 && g <= 12);
    // The rounding of integers hides a bit of O's, but not at 16,384 keys: there the geometric mean would be 1.106.
    let coarser_sum = u32::from(integers && matches!(g, 11..=13 | 15 | 16));
    // Few integers do not average the roundings of their weights.
    let finer_weight = u32::from(!integers || g < 7);
    LaneBits {
        o: (g.max(7) + p + 2 + long - coarser_sum).clamp(12, widest_shipped_sum(formats)),
        v: ((p + g.div_ceil(2)).saturating_sub(4).max(p + 4) - coarser_value).clamp(6, WIDEST_LANE_VALUE),
        w: (p + finer_weight).clamp(3, WIDEST_LANE_WEIGHT),
    }
}

/// Most bits of the accumulator of shipped lanes. Floats keep the bits with which their errors and areas were measured; a last place of
/// fixed point stays right at every length only with more.
fn widest_shipped_sum(formats: Formats) -> u32 {
    if formats.v.is_fixed_point() { WIDEST_LANE_SUM } else { 30 }
}

/// Widths of the lanes that are relative to one exponent: values of floats are smaller in most channels.
fn flash_d_fixed_lane(formats: Formats, key_bits: u32) -> LaneBits {
    let LaneBits { o, v, w } = flash_d_lane(formats, key_bits);
    let more = u32::from(!ships_fixed(formats));
    LaneBits { o: (o + more).min(widest_shipped_sum(formats)), v: (v + more).min(WIDEST_LANE_VALUE), w }
}

/// Widths of FA2's fixed-point lanes: each of N addends is rounded once, so O has the bits of N below the result's. FA2 uses v as it is, and an exponential with
/// the result's precision.
fn fa2_lane(formats: Formats, key_bits: u32) -> LaneBits {
    let p = formats.lane_precision();
    // Rounding the values to integers dominates, unless they have a binary point: then values of one size would all round the same way.
    let rounded = ships_fixed(formats) && !formats.v.is_fixed_point();
    let of_sum = if rounded { p - 2 } else { p };
    // Few values of few bits do not average their roundings.
    let of_sum = if key_bits < 12 { of_sum.max(5) } else { of_sum };
    LaneBits {
        o: (key_bits.max(7) + of_sum + 1 + u32::from(key_bits > 16)).clamp(12, widest_shipped_sum(formats)),
        v: (p + 6).min(WIDEST_LANE_VALUE),
        w: p.clamp(3, WIDEST_LANE_WEIGHT),
    }
}

/// Widths of FA2's lanes that are relative to one exponent: values of floats are smaller in most channels.
fn fa2_fixed_lane(formats: Formats, key_bits: u32) -> LaneBits {
    let lane = fa2_lane(formats, key_bits);
    LaneBits { o: (lane.o + u32::from(!ships_fixed(formats))).min(widest_shipped_sum(formats)), ..lane }
}

/// Fixed-point lanes keep the numbers of the format: integers, which have one last place, and floats of no more bits than a weight.
fn fits_fixed(format: Format) -> bool {
    format.is_integer() || format.precision() <= WIDEST_LANE_WEIGHT
}

/// Integers whose results fit fixed-point lanes: fixed point without an exponent ships.
fn ships_fixed(formats: Formats) -> bool {
    formats.v.is_integer() && fits_fixed(formats.o)
}

/// Floats whose results fit fixed-point lanes: fixed point with an exponent for each lane ships.
fn ships_ranged(formats: Formats) -> bool {
    !formats.v.is_integer() && fits_fixed(formats.v) && fits_fixed(formats.o)
}

/// Everything else.
fn ships_float(formats: Formats) -> bool {
    !ships_fixed(formats) && !ships_ranged(formats)
}

/// The scalar that a hold budget adds to the state.
pub(super) const ROOM: &str = "room";

const fn flash_d(
    variant: FlashDVariant,
    update: Update,
    suffix: &'static str,
    words: &'static str,
) -> DatapathKind {
    DatapathKind {
        datapath: Datapath::FlashD(variant),
        design: Design::FlashD,
        weight: Some(WeightUnit::Lse),
        update: Some(update),
        fa2: None,
        suffix,
        words,
        arithmetic: Arithmetic::Float,
        lane: flash_d_lane,
        accumulator_guard: 0,
        sum_guard: 0,
        value_stage: false,
        hold: HoldRules::Budget,
        state: &["lse", ROOM],
        ships: |_| false,
        scalar: WidestScalar::ScoreDifference,
        scales_in_lane: false,
        reference: Reference::Maximum,
    }
}

const fn fa2(variant: Fa2Variant, suffix: &'static str, words: &'static str) -> DatapathKind {
    DatapathKind {
        datapath: Datapath::Fa2(variant),
        design: Design::Fa2,
        weight: None,
        update: None,
        fa2: Some(variant),
        suffix,
        words,
        arithmetic: Arithmetic::Float,
        lane: fa2_lane,
        accumulator_guard: 0,
        sum_guard: 0,
        value_stage: false,
        hold: HoldRules::Threshold,
        state: &["m", "l"],
        ships: |_| false,
        scalar: WidestScalar::RunningSum,
        scales_in_lane: false,
        reference: Reference::Maximum,
    }
}

static FLASH_D_PAPER: DatapathKind = DatapathKind {
    update: None,
    weight: Some(WeightUnit::Paper),
    arithmetic: Arithmetic::Letter,
    hold: HoldRules::Static,
    state: &[],
    ..flash_d(FlashDVariant::Paper, Update::Rounded, "paper", "The paper's Alg. 3, everything in the format")
};
/// A product is rounded before it is added, so that an update far below o is not lost as a whole.
static FLASH_D_ROUNDED: DatapathKind = DatapathKind {
    ships: ships_float,
    accumulator_guard: -2,
    ..flash_d(
        FlashDVariant::Rounded,
        Update::Rounded,
        "rounded",
        "Difference, product and sum rounded one by one",
    )
};
/// Ships for integers, which need no exponent per lane.
static FLASH_D_FIXED: DatapathKind = DatapathKind {
    arithmetic: Arithmetic::Fixed,
    ships: ships_fixed,
    lane: flash_d_fixed_lane,
    ..flash_d(FlashDVariant::Fixed, Update::Fixed, "fixed", "Fixed point")
};
/// Ships: the smallest and fastest of the lanes that keep the format's range. With the value stage, which keeps glitches of v's alignment out of the
/// multiplier, it also needs the least power (docs/theory/lanes.md).
static FLASH_D_RANGED: DatapathKind = DatapathKind {
    arithmetic: Arithmetic::Ranged,
    value_stage: true,
    ships: ships_ranged,
    ..flash_d(
        FlashDVariant::Ranged,
        Update::Ranged,
        "ranged",
        "Fixed point, each lane relative to the largest exponent that it has read",
    )
};
static FA2_SEPARATE: DatapathKind = fa2(
    Fa2Variant::SeparateScale,
    "separate",
    "One exponential and one multiplier a lane, and another one for the final scale",
);
static FA2_LITERAL: DatapathKind = DatapathKind {
    arithmetic: Arithmetic::Letter,
    hold: HoldRules::Never,
    state: &[],
    ..fa2(Fa2Variant::Literal, "literal", "As the paper draws it: two of each, everything in the format")
};
static FA2_SHARED: DatapathKind = DatapathKind {
    scales_in_lane: true,
    ships: ships_float,
    ..fa2(Fa2Variant::SharedScale, "shared", "The lane's multiplier also does the final scale")
};
/// The reference is whole octaves, so that equal scores add an exponential with a fraction, down to `2^-G`.
static FA2_LOG_REFERENCE: DatapathKind = DatapathKind {
    arithmetic: Arithmetic::Fixed,
    lane: fa2_fixed_lane,
    reference: Reference::Octaves,
    sum_guard: 4,
    ..fa2(Fa2Variant::LogReference, "logref", "Fixed point, relative to the exponent of the running sum")
};
/// Ships for integers: the smallest datapath of FA2. It loses nothing, because integers have no exponents.
static FA2_SHARED_LOG_REFERENCE: DatapathKind = DatapathKind {
    ships: ships_fixed,
    scales_in_lane: true,
    arithmetic: Arithmetic::Fixed,
    reference: Reference::ScoreAndOctaves,
    lane: fa2_fixed_lane,
    ..fa2(
        Fa2Variant::SharedLogReference,
        "sharedlog",
        "The log-reference's fixed point, where the lane's multiplier also does the final scale",
    )
};

/// Ships: the smallest and fastest of FA2's lanes that keep the format's range in every channel and the rule of equal error over 65,536 keys.
static FA2_RANGED: DatapathKind = DatapathKind {
    ships: ships_ranged,
    scales_in_lane: true,
    arithmetic: Arithmetic::Ranged,
    reference: Reference::ScoreAndOctaves,
    ..fa2(
        Fa2Variant::Ranged,
        "ranged",
        "The shared log-reference, where each lane is relative to the largest exponent that it has read",
    )
};

/// All datapaths, in the order of lists.
pub static KINDS: [&DatapathKind; 10] = [
    &FLASH_D_PAPER,
    &FLASH_D_ROUNDED,
    &FLASH_D_FIXED,
    &FLASH_D_RANGED,
    &FA2_SEPARATE,
    &FA2_LITERAL,
    &FA2_SHARED,
    &FA2_LOG_REFERENCE,
    &FA2_SHARED_LOG_REFERENCE,
    &FA2_RANGED,
];

impl Datapath {
    /// The default datapath of a design for these formats and scales.
    pub fn shipped(design: Design, encodings: impl Into<Encodings>) -> Datapath {
        Self::best(design, encodings.into(), |_| true)
    }

    /// The default FLASH-D datapath with this weight unit.
    pub fn with_weight(weight: WeightUnit, encodings: impl Into<Encodings>) -> Datapath {
        Self::best(Design::FlashD, encodings.into(), |kind| kind.weight == Some(weight))
    }

    /// The shipped one among the design's datapaths that fit, else the first of them.
    fn best(design: Design, encodings: Encodings, fits: impl Fn(&DatapathKind) -> bool) -> Datapath {
        let products = encodings.products();
        let mut all = KINDS.into_iter().filter(|kind| kind.design == design && fits(kind));
        let first = all.clone().next().unwrap_or(KINDS[0]);
        all.find(|kind| (kind.ships)(products)).unwrap_or(first).datapath
    }

    /// Its row.
    pub fn kind(self) -> &'static DatapathKind {
        use Datapath::{Fa2, FlashD};
        match self {
            FlashD(FlashDVariant::Paper) => &FLASH_D_PAPER,
            FlashD(FlashDVariant::Rounded) => &FLASH_D_ROUNDED,
            FlashD(FlashDVariant::Fixed) => &FLASH_D_FIXED,
            FlashD(FlashDVariant::Ranged) => &FLASH_D_RANGED,
            Fa2(Fa2Variant::SeparateScale) => &FA2_SEPARATE,
            Fa2(Fa2Variant::Literal) => &FA2_LITERAL,
            Fa2(Fa2Variant::SharedScale) => &FA2_SHARED,
            Fa2(Fa2Variant::LogReference) => &FA2_LOG_REFERENCE,
            Fa2(Fa2Variant::SharedLogReference) => &FA2_SHARED_LOG_REFERENCE,
            Fa2(Fa2Variant::Ranged) => &FA2_RANGED,
        }
    }
}
