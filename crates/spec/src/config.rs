//! What a user chooses: the configuration of a core.

mod fields;
mod kinds;
mod name;
mod validate;

pub use fields::CoreFields;
pub use kinds::{Accumulator, Design, Dot, Fa2Variant, Hold, LaneBits, Update, WeightUnit};
pub use validate::ConfigError;

use crate::format::Format;
use crate::numerics::{BUDGET_STATE_FRACTION, SUM_INTEGER_BITS};
use serde::{Deserialize, Serialize};

/// Configuration of one core. [`CoreConfig::new`] gives the shipped defaults; [`CoreConfig::validate`]
/// is the gate that everything else relies on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "CoreFields")]
pub struct CoreConfig {
    /// Recurrence.
    pub design: Design,
    /// Vector length d, 2 to 512.
    pub d: usize,
    /// Format of q, k, v and o.
    pub format: Format,
    /// FLASH-D's weight unit.
    pub weight: WeightUnit,
    /// FA2's datapath.
    pub fa2: Fa2Variant,
    /// The dot product; [`Dot::Fused`] when absent, but [`Dot::Tree`] where the paper is followed to the letter.
    pub dot: Option<Dot>,
    /// FLASH-D's output update.
    pub update: Update,
    /// Widths of fixed-point lanes; the format's default when absent.
    pub lane: Option<LaneBits>,
    /// FLASH-D with fixed-point lanes: whether v is brought into fixed point in a stage of its own, which takes a
    /// register a lane and shortens the clock period. It asks for the value a cycle earlier; the latency is the same.
    pub value_stage: Option<bool>,
    /// Whether keys can be masked: a port `k_mask`, and `o_empty` for queries all of whose keys are.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub masks: bool,
    /// Whether a query can start from a partial result, in place of its first key, and hands out the state beside its
    /// result, so that its keys can come in tiles. Takes masks, whose `o_empty` tells that there is no state.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// Cycles from `v_ren` to its value, 1 to 16: the way to the memory and back. Each beyond the first takes a stage of
    /// registers for the scalars that wait for the value, and adds one to the latency; the rate stays one key a cycle.
    #[serde(skip_serializing_if = "is_default_value_latency")]
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
fn is_default_value_latency(latency: &u32) -> bool {
    *latency == DEFAULT_VALUE_LATENCY
}

/// Default widths of fixed-point lanes, p being the format's precision.
///
/// FLASH-D multiplies the difference of two rounded numbers, which takes six bits beyond p where FA2 takes v as it
/// is: v and w are the smallest with which the mean error on every group of recorded heads is no larger than that of
/// the float variants. Its accumulator, which is normalised, has bits for averages over 65,536 keys: with these the
/// error there is no larger than that of FA2 in float. Resolution for averages is not the format's matter, so that
/// there is a least width.
fn default_lane_bits(design: Design, format: Format) -> LaneBits {
    let p = format.precision();
    let v = (p + 6).min(20);
    match design {
        Design::FlashD => {
            LaneBits { o: (p + 15).clamp(20, 28), v: v.max(11), w: (p + 1).clamp(6, WIDEST_LANE_WEIGHT) }
        }
        Design::Fa2 => LaneBits { o: (p + 12).min(28), v, w: p.clamp(3, WIDEST_LANE_WEIGHT) },
    }
}

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
pub const STATIC_SKIP: (f64, f64) = (-6.0, 11.0);
/// Fraction bits that the accumulator has beyond the format's by default. With none, both designs lose the
/// sum of many small updates, FLASH-D more of it; with three FLASH-D's mean error on real traces is up to 1.054
/// times FA2's in bf16, with four up to 1.037 times, and both are smaller.
pub const ACCUMULATOR_GUARD_BITS: u32 = 4;
/// Fewest and most cycles from `v_ren` to the value.
pub const VALUE_LATENCY_RANGE: (u32, u32) = (1, 16);
/// Smallest and largest `score_shift`.
pub const SCORE_SHIFT_RANGE: (i32, i32) = (-64, 64);
/// Smallest and largest vector length.
pub const D_RANGE: (usize, usize) = (2, 512);

impl CoreConfig {
    /// The shipped defaults for a design, vector length and format.
    pub fn new(design: Design, d: usize, format: Format) -> Self {
        CoreConfig {
            design,
            d,
            format,
            weight: WeightUnit::default(),
            fa2: Fa2Variant::default(),
            dot: None,
            update: match design {
                // The widest fixed-point lanes are narrower than such a significand.
                Design::FlashD if format.precision() > WIDEST_LANE_WEIGHT => Update::Rounded,
                _ => Update::default(),
            },
            lane: None,
            value_stage: None,
            masks: false,
            partial: false,
            value_latency: DEFAULT_VALUE_LATENCY,
            hold: None,
            accumulator: None,
            weight_bits: None,
            segments: 8,
            score_shift: None,
            score_integer_bits: 9,
            score_fraction_bits: 10,
            state_fraction_bits: 18,
        }
    }

    /// The eighteen shipped cores: three designs, three vector lengths, two formats.
    pub fn shipped() -> Vec<CoreConfig> {
        let mut cores = Vec::new();
        for format in [Format::BF16, Format::FP8_E4M3] {
            for d in [16, 64, 256] {
                let flash_d = CoreConfig::new(Design::FlashD, d, format);
                cores.push(flash_d.clone());
                cores.push(CoreConfig { weight: WeightUnit::Paper, ..flash_d });
                cores.push(CoreConfig::new(Design::Fa2, d, format));
            }
        }
        cores
    }

    /// Every design variant of a vector length and format, other parameters at their defaults.
    pub fn variants(d: usize, format: Format) -> Vec<CoreConfig> {
        let flash_d = CoreConfig::new(Design::FlashD, d, format);
        let fa2 = CoreConfig::new(Design::Fa2, d, format);
        let updates = [Update::Rounded, Update::Fused, Update::Fixed];
        let datapaths = [
            Fa2Variant::SeparateScale,
            Fa2Variant::Literal,
            Fa2Variant::SharedScale,
            Fa2Variant::Fixed,
            Fa2Variant::LogReference,
        ];
        let mut all = vec![CoreConfig { weight: WeightUnit::Paper, ..flash_d.clone() }];
        all.extend(updates.map(|update| CoreConfig { update, ..flash_d.clone() }));
        if flash_d.has_fixed_lanes() {
            all.push(CoreConfig { value_stage: Some(true), ..flash_d.clone() });
        }
        all.extend(datapaths.map(|datapath| CoreConfig { fa2: datapath, ..fa2.clone() }));
        all.extend([&flash_d, &fa2].map(|c| CoreConfig { dot: Some(Dot::Tree), ..c.clone() }));
        all
    }

    /// Cores whose lanes compute in another precision than their ports have: with accumulators of another format, wider
    /// weights, or both.
    pub fn mixed_precision(d: usize) -> Vec<CoreConfig> {
        let updates =
            [Update::Rounded, Update::Fused].map(|update| (Design::FlashD, update, Fa2Variant::default()));
        let datapaths = [Fa2Variant::SeparateScale, Fa2Variant::SharedScale]
            .map(|fa2| (Design::Fa2, Update::default(), fa2));
        let precisions = [
            (Format::FP8_E4M3, Some(Format::BF16), Some(Format::BF16.precision())),
            (Format::BF16, Some(Format::FP32), None),
            (Format::FP8_E5M2, Some(Format::FP16), Some(6)),
            (Format::FP16, Some(Format::FP32), None),
            (Format::BF16, None, Some(12)),
        ];
        let float = |format| Accumulator::Float(format);
        let core = |(format, accumulator, weight_bits): (Format, Option<Format>, Option<u32>),
                    (design, update, fa2)| {
            let accumulator = accumulator.map(float);
            CoreConfig { update, fa2, accumulator, weight_bits, ..CoreConfig::new(design, d, format) }
        };
        precisions
            .into_iter()
            .flat_map(|p| updates.into_iter().chain(datapaths).map(move |datapath| core(p, datapath)))
            .collect()
    }

    /// FLASH-D with a hold rule other than the default, with every update and lane.
    pub fn with_hold(d: usize, format: Format, hold: Hold) -> Vec<CoreConfig> {
        let lse = |core: &CoreConfig| core.design == Design::FlashD && core.weight == WeightUnit::Lse;
        let cores = CoreConfig::variants(d, format).into_iter().filter(lse);
        cores.map(|core| CoreConfig { hold: Some(hold), ..core }).collect()
    }

    /// Whether the weight state is fine enough for a budget.
    fn has_room_for_a_budget(&self) -> bool {
        self.state_fraction_bits >= BUDGET_STATE_FRACTION
    }

    /// Whether the output lanes compute in fixed point.
    pub fn has_fixed_lanes(&self) -> bool {
        match self.design {
            Design::FlashD => self.weight == WeightUnit::Lse && self.update == Update::Fixed,
            Design::Fa2 => self.fa2.is_fixed(),
        }
    }

    /// Whether FLASH-D's fixed-point lanes have a stage for v.
    pub fn value_stage(&self) -> bool {
        self.value_stage.unwrap_or(false)
    }

    /// Whether the core can take over and hand out partial results: FLASH-D with the log-sum-exp, and FA2 with float
    /// lanes, an exponential and a running sum.
    pub fn can_be_partial(&self) -> bool {
        match self.design {
            Design::FlashD => self.weight == WeightUnit::Lse,
            Design::Fa2 => matches!(self.fa2, Fa2Variant::SeparateScale | Fa2Variant::SharedScale),
        }
    }

    /// The scalars of a partial result's state beside its accumulators: ports are `state_` and `o_` before the name.
    pub fn state_scalars(&self) -> &'static [&'static str] {
        match (self.design, self.hold()) {
            (Design::FlashD, Hold::Budget(_)) => &["lse", "room"],
            (Design::FlashD, _) => &["lse"],
            (Design::Fa2, _) => &["m", "l"],
        }
    }

    /// Widths of fixed-point lanes: as configured, or the format's default.
    pub fn lane_bits(&self) -> LaneBits {
        self.lane.unwrap_or_else(|| default_lane_bits(self.design, self.format))
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
        match (self.hold, self.design, self.weight) {
            (Some(hold), _, _) => hold,
            (None, Design::Fa2, _) if self.fa2 == Fa2Variant::Literal => Hold::None,
            (None, Design::FlashD, WeightUnit::Lse) if self.has_room_for_a_budget() => {
                Hold::Budget(DEFAULT_BUDGET)
            }
            (None, _, WeightUnit::Lse) => Hold::Below(DEFAULT_HOLD),
            (None, _, WeightUnit::Paper) => Hold::Static,
        }
    }

    /// Whether the configuration is one of those that follow the paper to the letter, everything in the
    /// format: FLASH-D `paper`, FA2 `literal`.
    pub fn follows_the_paper(&self) -> bool {
        self.weight == WeightUnit::Paper || self.fa2 == Fa2Variant::Literal
    }

    /// Fraction bits of the accumulator: as configured; by default [`ACCUMULATOR_GUARD_BITS`] more than the
    /// format's, in both designs, and none more where the paper is followed to the letter.
    pub fn accumulator_fraction(&self) -> u32 {
        match self.accumulator {
            Some(Accumulator::Fraction(bits)) => bits,
            Some(Accumulator::Format) => self.format.fraction_bits,
            Some(Accumulator::Float(format)) => format.fraction_bits,
            None if self.follows_the_paper() => self.format.fraction_bits,
            None => (self.format.fraction_bits + ACCUMULATOR_GUARD_BITS).min(23),
        }
    }

    /// The accumulator's float format.
    pub fn accumulator_format(&self) -> Format {
        match (self.accumulator, self.accumulator_fraction()) {
            (Some(Accumulator::Float(format)), _) => format,
            (_, bits) if bits != self.format.fraction_bits => self.format.accumulator(bits),
            _ => self.format,
        }
    }

    /// Width of an accumulator, as partial results hold it.
    pub fn accumulator_bits(&self) -> u32 {
        if self.has_fixed_lanes() { self.lane_bits().o } else { self.accumulator_format().width() }
    }

    /// The format in which float lanes see v: that of the ports, in the accumulator's exponents where those differ.
    pub fn value_format(&self) -> Format {
        let (format, accumulator) = (self.format, self.accumulator_format());
        let same = accumulator.bias == format.bias && accumulator.subnormals == format.subnormals;
        if same { format } else { accumulator.with_fraction(format.fraction_bits) }
    }

    /// The format of a weight or exponential that is rounded to one: that of v with a significand of its own.
    pub fn weight_format(&self) -> Format {
        match self.weight_bits {
            Some(bits) => self.value_format().with_fraction(bits - 1),
            None => self.value_format(),
        }
    }

    /// Significand bits of the weight or exponential as the lanes get it. FA2's shared multiplier also takes the
    /// reciprocal of the sum, which needs two bits beyond the result's precision and one for its own rounding.
    pub fn factor_significand(&self) -> u32 {
        if self.has_fixed_lanes() {
            return self.lane_bits().w;
        }
        let p = self.format.precision();
        match (self.design, self.fa2) {
            (Design::Fa2, Fa2Variant::SharedScale) => self.weight_bits.unwrap_or(0).max(p + 3),
            _ => self.weight_bits.unwrap_or(p),
        }
    }
}

/// Exponent of the power-of-two part of 1/sqrt(d), `-floor(log2(d) / 2)`: what remains for the host to fold
/// into q lies in (1/2, 1].
pub fn default_score_shift(d: usize) -> i32 {
    -((d.max(1).ilog2() / 2) as i32)
}
