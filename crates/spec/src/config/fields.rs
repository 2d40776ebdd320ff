//! The fields of a configuration as they are given: what is left out has the default.

use super::*;

/// What a file or flags say about a core. Whatever is absent is as in [`CoreConfig::new`] for the design, vector length
/// and format that are there: one rule for files and flags. What a field means in full, [`CoreConfig`] says.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoreFields {
    /// Recurrence; there is no default.
    pub design: Option<Design>,
    /// Vector length, 2 to 512; there is no default.
    pub d: Option<usize>,
    /// Format of q, k, v and o; bf16 by default.
    pub format: Option<Format>,
    /// FLASH-D's weight unit.
    pub weight: Option<WeightUnit>,
    /// FA2's datapath.
    pub fa2: Option<Fa2Variant>,
    /// The dot product.
    pub dot: Option<Dot>,
    /// FLASH-D's output update.
    pub update: Option<Update>,
    /// Widths of fixed-point lanes, in bits.
    pub lane: Option<LaneBits>,
    /// FLASH-D with fixed-point lanes: v is brought into fixed point in a stage of its own.
    pub value_stage: Option<bool>,
    /// Keys can be masked.
    pub masks: Option<bool>,
    /// A query can start from a partial result and hands out its state.
    pub partial: Option<bool>,
    /// Cycles from `v_ren` to its value, 1 to 16.
    pub value_latency: Option<u32>,
    /// The hold rule.
    pub hold: Option<Hold>,
    /// Accumulator of the output update.
    pub accumulator: Option<Accumulator>,
    /// Significand bits of the weight or exponential of float lanes, 3 to 16.
    pub weight_bits: Option<u32>,
    /// Segments of a PWL table (per octave where the range is reduced): 4, 8, 16 or 32.
    pub segments: Option<u32>,
    /// The score is `q . k * 2^score_shift`, -64 to 64.
    pub score_shift: Option<i32>,
    /// Integer bits of the fixed-point score, without sign.
    pub score_integer_bits: Option<u32>,
    /// Fraction bits of the fixed-point score.
    pub score_fraction_bits: Option<u32>,
    /// Fraction bits of the scalar state (log-sum-exp, running sum).
    pub state_fraction_bits: Option<u32>,
}

impl CoreFields {
    /// These fields, and where one is absent that of `other`.
    pub fn or(self, other: CoreFields) -> CoreFields {
        CoreFields {
            design: self.design.or(other.design),
            d: self.d.or(other.d),
            format: self.format.or(other.format),
            weight: self.weight.or(other.weight),
            fa2: self.fa2.or(other.fa2),
            dot: self.dot.or(other.dot),
            update: self.update.or(other.update),
            lane: self.lane.or(other.lane),
            value_stage: self.value_stage.or(other.value_stage),
            masks: self.masks.or(other.masks),
            partial: self.partial.or(other.partial),
            value_latency: self.value_latency.or(other.value_latency),
            hold: self.hold.or(other.hold),
            accumulator: self.accumulator.or(other.accumulator),
            weight_bits: self.weight_bits.or(other.weight_bits),
            segments: self.segments.or(other.segments),
            score_shift: self.score_shift.or(other.score_shift),
            score_integer_bits: self.score_integer_bits.or(other.score_integer_bits),
            score_fraction_bits: self.score_fraction_bits.or(other.score_fraction_bits),
            state_fraction_bits: self.state_fraction_bits.or(other.state_fraction_bits),
        }
    }

    /// The configuration, not validated yet. Without a format it is in bf16.
    ///
    /// # Errors
    /// If there is no design or no vector length, which have no default.
    pub fn config(self) -> Result<CoreConfig, ConfigError> {
        let (lo, hi) = D_RANGE;
        let missing = |field, problem| ConfigError { field, problem };
        let design = self.design.ok_or_else(|| missing("design", "is missing: flash-d or fa2".into()))?;
        let d = self.d.ok_or_else(|| missing("d", format!("is missing: a vector length, {lo} to {hi}")))?;
        let default = CoreConfig::new(design, d, self.format.unwrap_or(Format::BF16));
        Ok(CoreConfig {
            design,
            d,
            format: default.format,
            weight: self.weight.unwrap_or(default.weight),
            fa2: self.fa2.unwrap_or(default.fa2),
            dot: self.dot.or(default.dot),
            update: self.update.unwrap_or(default.update),
            lane: self.lane.or(default.lane),
            value_stage: self.value_stage.or(default.value_stage),
            masks: self.masks.unwrap_or(default.masks),
            partial: self.partial.unwrap_or(default.partial),
            value_latency: self.value_latency.unwrap_or(default.value_latency),
            hold: self.hold.or(default.hold),
            accumulator: self.accumulator.or(default.accumulator),
            weight_bits: self.weight_bits.or(default.weight_bits),
            segments: self.segments.unwrap_or(default.segments),
            score_shift: self.score_shift.or(default.score_shift),
            score_integer_bits: self.score_integer_bits.unwrap_or(default.score_integer_bits),
            score_fraction_bits: self.score_fraction_bits.unwrap_or(default.score_fraction_bits),
            state_fraction_bits: self.state_fraction_bits.unwrap_or(default.state_fraction_bits),
        })
    }
}

impl TryFrom<CoreFields> for CoreConfig {
    type Error = ConfigError;
    fn try_from(fields: CoreFields) -> Result<CoreConfig, ConfigError> {
        fields.config()
    }
}
