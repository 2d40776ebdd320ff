//! The fields of a configuration as they are given: what is left out has the default.

use super::*;

/// What a file or flags say about a core. Whatever is absent is as in [`CoreConfig::new`] for the design, vector length
/// and format that are there: one rule for files and flags.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // They are those of CoreConfig.
pub struct CoreFields {
    pub design: Option<Design>,
    pub d: Option<usize>,
    pub format: Option<Format>,
    pub weight: Option<WeightUnit>,
    pub fa2: Option<Fa2Variant>,
    pub dot: Option<Dot>,
    pub update: Option<Update>,
    pub lane: Option<LaneBits>,
    pub value_stage: Option<bool>,
    pub masks: Option<bool>,
    pub partial: Option<bool>,
    pub value_latency: Option<u32>,
    pub hold: Option<Hold>,
    pub accumulator: Option<Accumulator>,
    pub weight_bits: Option<u32>,
    pub segments: Option<u32>,
    pub score_shift: Option<i32>,
    pub score_integer_bits: Option<u32>,
    pub score_fraction_bits: Option<u32>,
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
