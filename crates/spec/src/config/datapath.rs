//! The datapaths that there are, one row each: whatever differs between them is a column here or in the rows that hardware,
//! model and waves have for the same [`Datapath`].

use super::{Design, LaneBits, Update, WIDEST_LANE_WEIGHT, WeightUnit};
use crate::format::{Encodings, Formats};
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
    /// [`Update::Fused`].
    Fused,
    /// [`Update::Fixed`].
    Fixed,
    /// [`Update::Ranged`].
    Ranged,
}

/// FA2's datapath.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fa2Variant {
    /// Fixed-point maximum and sum, one exponential, one multiplier a lane (exact: of the two factors one
    /// is always 1), and another one a lane for the final scale. The textbook's datapath, hence the alias.
    #[serde(alias = "default")]
    SeparateScale,
    /// As the paper draws it: two exponentials, two multipliers a lane, everything in the format.
    Literal,
    /// The same update, but the lane's multiplier also does the final scale: in the cycle after the last key it is
    /// idle, because the next step is a gap or a first key, which only loads v.
    SharedScale,
    /// Fixed-point accumulator with guard bits for 65,536 keys; the reference is an integer power of two at or
    /// above the maximum, so that rescaling is a shift.
    Fixed,
    /// Fixed-point accumulator whose reference follows the exponent of l, which stays in [1, 2): no guard bits.
    LogReference,
    /// The lanes of [`Fa2Variant::SharedScale`] with a reference that moves by whole octaves, and only for a score
    /// that is more than [`LAZY_SLACK`] octaves above it, as FlashAttention-4 rescales: rescaling is a shift, and rare.
    LazyReference,
    /// Fixed point as [`Fa2Variant::LogReference`], in lanes whose one multiplier also does the final scale: the reference is
    /// the first score plus an integer, so that a first key has the exponential 1, and v enters without a multiplication.
    SharedLogReference,
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

/// What the lanes compute in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arithmetic {
    /// Float, with an accumulator and a weight of their own widths.
    Float,
    /// Fixed point, relative to a power of two that is loaded with q.
    Fixed,
    /// Fixed point, each lane relative to the largest exponent that it has read.
    Ranged,
    /// Float, and like the rest of the core every operation rounded to the format, as the paper has it.
    Letter,
}

/// The hold rules that a datapath can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HoldRules {
    /// A threshold, or a budget, the default where the state is fine enough for it.
    Budget,
    /// A threshold.
    Threshold,
    /// The paper's.
    Static,
    /// None at all.
    Never,
}

/// A row: what the words of the options, the names and the numbers of a core follow from.
#[derive(Debug)]
pub struct Kind {
    /// The datapath.
    pub datapath: Datapath,
    /// Value of the option `design`.
    pub design: Design,
    /// Value of the option `weight`, where there is a choice.
    pub weight: Option<WeightUnit>,
    /// Value of the option `update`, where there is a choice.
    pub update: Option<Update>,
    /// Value of the option `fa2`, where there is a choice.
    pub fa2: Option<Fa2Variant>,
    /// What a name has of it, if it is not its design's default.
    pub suffix: &'static str,
    /// What lists and help say of it.
    pub words: &'static str,
    /// The lanes.
    pub arithmetic: Arithmetic,
    /// Widths of the design's fixed-point lanes, if nothing else is asked for.
    pub lane: fn(Formats) -> LaneBits,
    /// Whether v has a pipeline stage of its own before the lanes, if nothing else is asked for.
    pub value_stage: bool,
    /// The hold rules.
    pub hold: HoldRules,
    /// Scalars of the state that a partial result consists of beside its accumulators; none where there are no partial results: those
    /// that follow the paper are there to show what it draws, which hands no state out. `room` is what is left of a budget, `m` FA2's
    /// maximum or reference.
    pub state: &'static [&'static str],
    /// The formats, of elements with their scales, in which it is its design's default: fixed-point lanes are narrower than wide
    /// significands.
    pub ships: fn(Formats) -> bool,
    /// The widest scalar of the state.
    pub scalar: WidestScalar,
    /// The lane's multiplier also scales the result by the reciprocal of the sum.
    pub scales_in_lane: bool,
    /// Octaves by which a score may exceed FA2's reference before the reference moves. Exponentials reach 2 to that power, and
    /// sum and accumulators have as much more room.
    pub slack: u32,
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
    /// The name that manifests give it.
    pub fn name(self) -> &'static str {
        match self {
            WidestScalar::ScoreDifference => "score_difference",
            WidestScalar::RunningSum => "running_sum",
        }
    }
}

/// The slack of a reference that moves rarely, as in FlashAttention-4: o and l are rescaled when a score is more than 8 octaves, a
/// factor of 256, above it.
pub const LAZY_SLACK: u32 = 8;

/// FLASH-D rounds the difference of two rounded numbers, which takes six bits of v beyond the format's precision where FA2 takes v as
/// it is: v and w are the smallest with which the mean error on every group of recorded heads is no larger than that of the float
/// variants. Its accumulator, which is normalised, has bits for averages over 65,536 keys: with these the error there is no larger than
/// that of FA2 in float. Resolution for averages is not the format's matter, so that there is a least width.
fn flash_d_lane(formats: Formats) -> LaneBits {
    let p = formats.lane_precision();
    if ships_fixed(formats) {
        // Integers fill their range in every channel, and are rounded coarsely: with these widths the core adds 1 % to their error on
        // recorded heads, and int8 is smaller than fp8-e4m3.
        let p = formats.v.precision();
        return LaneBits { o: 20, v: (p + 5).max(8), w: (p + 1).max(6) };
    }
    LaneBits { o: (p + 15).clamp(20, 28), v: (p + 6).clamp(11, 20), w: (p + 1).clamp(6, WIDEST_LANE_WEIGHT) }
}

/// A lane relative to its own largest exponent fills its range in every channel: it needs a bit less of v than [`flash_d_lane`] for
/// the same mean error on recorded heads. With less than 11 bits the largest error on 65,536 equal scores is above FA2's: in an average
/// that hardly moves, what the distance has of v's places adds up.
fn ranged_lane(formats: Formats) -> LaneBits {
    let fixed = flash_d_lane(formats);
    LaneBits { v: (formats.lane_precision() + 5).clamp(11, fixed.v.max(11)), ..fixed }
}

fn fa2_lane(formats: Formats) -> LaneBits {
    let p = formats.lane_precision();
    LaneBits { o: (p + 12).min(28), v: (p + 6).min(20), w: p.clamp(3, WIDEST_LANE_WEIGHT) }
}

/// Integers with results that fixed-point lanes can give: fixed point without an exponent ships.
fn ships_fixed(formats: Formats) -> bool {
    formats.v.is_integer() && formats.lane_precision() <= WIDEST_LANE_WEIGHT
}

/// What a hold rule with a budget adds to the state.
pub(super) const ROOM: &str = "room";

const fn flash_d(variant: FlashDVariant, update: Update, suffix: &'static str, words: &'static str) -> Kind {
    Kind {
        datapath: Datapath::FlashD(variant),
        design: Design::FlashD,
        weight: Some(WeightUnit::Lse),
        update: Some(update),
        fa2: None,
        suffix,
        words,
        arithmetic: Arithmetic::Float,
        lane: flash_d_lane,
        value_stage: false,
        hold: HoldRules::Budget,
        state: &["lse", ROOM],
        ships: |_| false,
        scalar: WidestScalar::ScoreDifference,
        scales_in_lane: false,
        slack: 0,
    }
}

const fn fa2(variant: Fa2Variant, suffix: &'static str, words: &'static str) -> Kind {
    Kind {
        datapath: Datapath::Fa2(variant),
        design: Design::Fa2,
        weight: None,
        update: None,
        fa2: Some(variant),
        suffix,
        words,
        arithmetic: Arithmetic::Float,
        lane: fa2_lane,
        value_stage: false,
        hold: HoldRules::Threshold,
        state: &["m", "l"],
        ships: |_| false,
        scalar: WidestScalar::RunningSum,
        scales_in_lane: false,
        slack: 0,
    }
}

static FLASH_D_PAPER: Kind = Kind {
    update: None,
    weight: Some(WeightUnit::Paper),
    arithmetic: Arithmetic::Letter,
    hold: HoldRules::Static,
    state: &[],
    ..flash_d(FlashDVariant::Paper, Update::Rounded, "paper", "The paper's Alg. 3, everything in the format")
};
static FLASH_D_ROUNDED: Kind = Kind {
    ships: |formats| formats.lane_precision() > WIDEST_LANE_WEIGHT,
    ..flash_d(
        FlashDVariant::Rounded,
        Update::Rounded,
        "rounded",
        "Difference, product and sum rounded one by one",
    )
};
static FLASH_D_FUSED: Kind =
    flash_d(FlashDVariant::Fused, Update::Fused, "fused", "One alignment, one rounding");
/// Ships for integers, which need no exponent of a lane's own.
static FLASH_D_FIXED: Kind = Kind {
    arithmetic: Arithmetic::Fixed,
    ships: ships_fixed,
    ..flash_d(FlashDVariant::Fixed, Update::Fixed, "fixed", "Fixed point")
};
/// Ships: of the lanes that keep the format's range it is the smallest and the fastest, and with the value stage, which keeps the glitches
/// of v's alignment out of the multiplier, the one that needs least power (docs/theory/lanes.md).
static FLASH_D_RANGED: Kind = Kind {
    arithmetic: Arithmetic::Ranged,
    lane: ranged_lane,
    value_stage: true,
    ships: |formats| formats.lane_precision() <= WIDEST_LANE_WEIGHT && !formats.v.is_integer(),
    ..flash_d(
        FlashDVariant::Ranged,
        Update::Ranged,
        "ranged",
        "Fixed point, each lane relative to the largest exponent that it has read",
    )
};
static FA2_SEPARATE: Kind = fa2(
    Fa2Variant::SeparateScale,
    "separate",
    "One exponential and one multiplier a lane, and another one for the final scale",
);
static FA2_LITERAL: Kind = Kind {
    arithmetic: Arithmetic::Letter,
    hold: HoldRules::Never,
    state: &[],
    ..fa2(Fa2Variant::Literal, "literal", "As the paper draws it: two of each, everything in the format")
};
static FA2_SHARED: Kind = Kind {
    scales_in_lane: true,
    ships: |formats| !ships_fixed(formats),
    ..fa2(Fa2Variant::SharedScale, "shared", "The lane's multiplier also does the final scale")
};
static FA2_FIXED: Kind = Kind {
    arithmetic: Arithmetic::Fixed,
    ..fa2(Fa2Variant::Fixed, "fixed", "Fixed point, relative to the maximum")
};
static FA2_LOG_REFERENCE: Kind = Kind {
    arithmetic: Arithmetic::Fixed,
    ..fa2(Fa2Variant::LogReference, "logref", "Fixed point, relative to the exponent of the running sum")
};
static FA2_LAZY_REFERENCE: Kind = Kind {
    scales_in_lane: true,
    slack: LAZY_SLACK,
    ..fa2(
        Fa2Variant::LazyReference,
        "lazy",
        "The shared scale's lanes; the reference moves rarely, by whole octaves: a shift",
    )
};
/// Ships for integers: the smallest of FA2's datapaths, and without exponents of its values there is nothing that it loses.
static FA2_SHARED_LOG_REFERENCE: Kind = Kind {
    ships: ships_fixed,
    scales_in_lane: true,
    arithmetic: Arithmetic::Fixed,
    ..fa2(
        Fa2Variant::SharedLogReference,
        "sharedlog",
        "The log-reference's fixed point, where the lane's multiplier also does the final scale",
    )
};

/// All of them.
pub static KINDS: [&Kind; 12] = [
    &FLASH_D_PAPER,
    &FLASH_D_ROUNDED,
    &FLASH_D_FUSED,
    &FLASH_D_FIXED,
    &FLASH_D_RANGED,
    &FA2_SEPARATE,
    &FA2_LITERAL,
    &FA2_SHARED,
    &FA2_FIXED,
    &FA2_LOG_REFERENCE,
    &FA2_LAZY_REFERENCE,
    &FA2_SHARED_LOG_REFERENCE,
];

impl Datapath {
    /// FLASH-D as it ships, but for values with their scales and results whose significand is too wide for fixed-point lanes, and FA2 as it ships.
    pub fn shipped(design: Design, encodings: impl Into<Encodings>) -> Datapath {
        Self::best(design, encodings.into(), |_| true)
    }

    /// FLASH-D with a weight unit, as it ships.
    pub fn with_weight(weight: WeightUnit, encodings: impl Into<Encodings>) -> Datapath {
        Self::best(Design::FlashD, encodings.into(), |kind| kind.weight == Some(weight))
    }

    /// The one that ships among those of a design that fit, or the first of them.
    fn best(design: Design, encodings: Encodings, fits: impl Fn(&Kind) -> bool) -> Datapath {
        let products = encodings.products();
        let mut all = KINDS.into_iter().filter(|kind| kind.design == design && fits(kind));
        let first = all.clone().next().unwrap_or(KINDS[0]);
        all.find(|kind| (kind.ships)(products)).unwrap_or(first).datapath
    }

    /// Its row.
    pub fn kind(self) -> &'static Kind {
        use Datapath::{Fa2, FlashD};
        match self {
            FlashD(FlashDVariant::Paper) => &FLASH_D_PAPER,
            FlashD(FlashDVariant::Rounded) => &FLASH_D_ROUNDED,
            FlashD(FlashDVariant::Fused) => &FLASH_D_FUSED,
            FlashD(FlashDVariant::Fixed) => &FLASH_D_FIXED,
            FlashD(FlashDVariant::Ranged) => &FLASH_D_RANGED,
            Fa2(Fa2Variant::SeparateScale) => &FA2_SEPARATE,
            Fa2(Fa2Variant::Literal) => &FA2_LITERAL,
            Fa2(Fa2Variant::SharedScale) => &FA2_SHARED,
            Fa2(Fa2Variant::Fixed) => &FA2_FIXED,
            Fa2(Fa2Variant::LogReference) => &FA2_LOG_REFERENCE,
            Fa2(Fa2Variant::LazyReference) => &FA2_LAZY_REFERENCE,
            Fa2(Fa2Variant::SharedLogReference) => &FA2_SHARED_LOG_REFERENCE,
        }
    }
}
