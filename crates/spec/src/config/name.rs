//! The name of a core.

use super::*;

impl CoreConfig {
    /// Module and file name: what is not default is a suffix, in fixed order, before format and d:
    /// `flash_d_bf16_d64`, `flash_d_paper_bf16_d64`, `fa2_literal_fp8_e4m3_d16`.
    pub fn name(&self) -> String {
        let default = CoreConfig::new(self.design, self.d, self.format);
        let mut parts = vec![match self.design {
            Design::FlashD => "flash_d".to_string(),
            Design::Fa2 => "fa2".to_string(),
        }];
        let mut suffix = |differs: bool, text: String| {
            if differs {
                parts.push(text)
            }
        };
        suffix(self.weight == WeightUnit::Paper, "paper".into());
        let fa2 = match self.fa2 {
            Fa2Variant::SeparateScale => "separate",
            Fa2Variant::Literal => "literal",
            Fa2Variant::SharedScale => "shared",
            Fa2Variant::Fixed => "fixed",
            Fa2Variant::LogReference => "logref",
        };
        suffix(self.fa2 != default.fa2, fa2.into());
        let update = match self.update {
            Update::Rounded => "rounded",
            Update::Fused => "fused",
            Update::Fixed => "fixed",
        };
        suffix(self.update != default.update, update.into());
        suffix(
            self.dot() != CoreConfig { dot: None, ..self.clone() }.dot(),
            match self.dot() {
                Dot::Tree => "tree".into(),
                Dot::Fused => "fuseddot".into(),
            },
        );
        if self.has_fixed_lanes() && self.lane_bits() != default_lane_bits(self.design, self.format) {
            let LaneBits { o, v, w } = self.lane_bits();
            suffix(true, format!("o{o}v{v}w{w}"));
        }
        suffix(self.value_stage(), "staged".into());
        suffix(self.masks && !self.partial, "masked".into());
        suffix(self.partial, "partial".into());
        suffix(self.value_latency != default.value_latency, format!("vlat{}", self.value_latency));
        if self.hold() != (CoreConfig { hold: None, ..self.clone() }).hold() {
            let text = match self.hold() {
                Hold::None | Hold::Static => "nohold".to_string(),
                Hold::Below(t) => format!("hold{t}").replace('.', "p"),
                Hold::Budget(fraction) => format!("budget{fraction}"),
            };
            suffix(true, text);
        }
        let bits = self.accumulator_fraction();
        let own_default = CoreConfig { accumulator: None, ..self.clone() }.accumulator_fraction();
        match self.accumulator {
            Some(Accumulator::Float(format)) => suffix(true, format!("acc_{}", format.ident())),
            _ => suffix(bits != own_default && !self.has_fixed_lanes(), format!("acc{bits}")),
        }
        if let Some(bits) = self.weight_bits.filter(|&bits| bits != self.format.precision()) {
            suffix(true, format!("w{bits}"));
        }
        suffix(self.segments != default.segments, format!("seg{}", self.segments));
        let shift = self.score_shift();
        suffix(
            shift != default.score_shift(),
            format!("shift{}{}", if shift < 0 { "m" } else { "" }, shift.abs()),
        );
        suffix(
            self.score_integer_bits != default.score_integer_bits
                || self.score_fraction_bits != default.score_fraction_bits,
            format!("score{}p{}", self.score_integer_bits, self.score_fraction_bits),
        );
        suffix(
            self.state_fraction_bits != default.state_fraction_bits,
            format!("state{}", self.state_fraction_bits),
        );
        parts.push(self.format.ident());
        parts.push(format!("d{}", self.d));
        parts.join("_")
    }
}
