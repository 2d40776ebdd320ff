//! Checks of a configuration.

use super::*;
use crate::number::short;
use crate::numerics::{BudgetNumerics, Numerics, SCORE_BITS};

/// Bits of a word of the models.
const WORD_BITS: u32 = 64;

/// An error of a configuration, with the allowed values.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct ConfigError {
    /// The configuration field at fault, as written in JSON and on the command line.
    pub field: &'static str,
    /// The given value and the allowed ones.
    pub problem: String,
}

impl ConfigError {
    /// The error with the flag in place of the field: `--weight-bits: 2 is outside 3 to 16`.
    pub fn by_flag(&self) -> String {
        // A problem that starts with a verb continues the flag's name: `--d is missing`.
        let colon = if self.problem.starts_with("is missing") { "" } else { ":" };
        format!("--{}{colon} {}", self.field.replace('_', "-"), self.problem)
    }
}

fn require(ok: bool, field: &'static str, problem: impl FnOnce() -> String) -> Result<(), ConfigError> {
    if ok { Ok(()) } else { Err(ConfigError { field, problem: problem() }) }
}

impl CoreConfig {
    /// Checks every field and every combination.
    ///
    /// # Errors
    /// Names the field, the given value and the allowed ones.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let default = self.plain();
        for option in OPTIONS {
            if !option.applies_to(self) && option.configured(self) != option.configured(&default) {
                return Err(option.not_here());
            }
            if let (true, Some(problem)) = (option.applies_to(self), option.problem(self)) {
                return Err(ConfigError { field: option.field, problem });
            }
        }
        let (state, score) = (self.state_fraction(), self.score_fraction());
        require(state >= score, "state_fraction_bits", || format!("{state} is outside {score} to 26"))?;
        let integer = self.score_integer_bits;
        require(integer + score <= SCORE_BITS, "score_integer_bits", || {
            format!(
                "{integer} with {score} fraction bits (--score-fraction-bits): the score has at most {SCORE_BITS} bits"
            )
        })?;
        self.validate_softcap()?;
        self.validate_formats()?;
        self.validate_scales()?;
        self.validate_lane()?;
        self.validate_partial()?;
        self.validate_precision()?;
        self.validate_hold()?;
        self.validate_term()
    }

    /// Checks that a term of the fused dot product, with the bits above it that show an overflow, fits a word of the models.
    fn validate_term(&self) -> Result<(), ConfigError> {
        let bits = |shift: i32| {
            let n = Numerics::new(&CoreConfig { score_shift: Some(shift), ..self.clone() });
            n.term_bits() + n.term_spare()
        };
        let shift = self.score_shift();
        require(self.follows_the_paper() || bits(shift) <= WORD_BITS, "score_shift", || {
            let most =
                (SCORE_SHIFT_RANGE.0..shift).rev().find(|&shift| bits(shift) <= WORD_BITS).unwrap_or(0);
            let Formats { q, k, .. } = self.formats();
            format!(
                "{shift} with products of {q} and {k} is more than {most}, the most whose terms fit {WORD_BITS} bits"
            )
        })
    }

    /// Checks that the datapath has the hold rule and that its number is in range.
    fn validate_hold(&self) -> Result<(), ConfigError> {
        let problem = |problem: &str| require(false, "hold", || problem.into());
        match (self.kind().hold, self.hold()) {
            (_, Hold::None) => Ok(()),
            (HoldRules::Static, Hold::Static) => Ok(()),
            (HoldRules::Budget | HoldRules::Threshold, Hold::Below(t)) => {
                let (lo, hi) = HOLD_RANGE;
                require((lo..=hi).contains(&t), "hold", || {
                    format!("threshold {} is outside {lo} to {hi}", short(t))
                })
            }
            (HoldRules::Budget, Hold::Budget(fraction)) => {
                let (lo, hi) = BUDGET_FRACTIONS;
                require((lo..=hi).contains(&fraction), "hold", || {
                    format!("a budget for {fraction} fraction bits is outside {lo} to {hi}")
                })?;
                let least = BudgetNumerics::least_state_fraction(self.key_bits());
                let bits = self.state_fraction();
                require(bits >= least, "state_fraction_bits", || {
                    format!("{bits} is too few for a budget of the hold rule, which needs {least}")
                })
            }
            (HoldRules::Budget, _) => problem("the lse weight unit takes a threshold T, a budget or none"),
            (HoldRules::Threshold, _) => problem("fa2 takes a threshold T or none"),
            (HoldRules::Static, _) => problem("the paper weight unit takes static or none"),
            (HoldRules::Never, _) => problem("there is no hold rule"),
        }
    }

    /// Checks that the datapath's units take these formats.
    fn validate_formats(&self) -> Result<(), ConfigError> {
        let formats = self.formats();
        require(formats.o.is_of_results(), "o_format", || {
            format!("{} is of fewer than 8 bits; results are {}", formats.o, Format::result_names())
        })?;
        const FIELDS: [&str; 4] = ["format", "k_format", "v_format", "o_format"];
        let by_field = || FIELDS.into_iter().zip(formats.by_operand());
        let narrow = by_field().find(|(_, (_, format))| !format.is_wide_float());
        if let Some((field, (operand, format))) = narrow {
            let refused = |option: &str, word: &str, why: &str| {
                require(false, field, || format!("{format} for {operand} with --{option} {word}, {why}"))
            };
            if self.follows_the_paper() {
                let option = if self.kind().weight.is_some() { "weight" } else { "fa2" };
                return refused(
                    option,
                    self.kind().suffix,
                    "which has every operation in one format of floats",
                );
            }
        }
        let first = [("k_format", formats.k), ("v_format", formats.v), ("o_format", formats.o)];
        let other = first.into_iter().find(|(_, format)| *format != formats.q);
        if let (true, Some((field, format))) = (self.follows_the_paper(), other) {
            let kind = self.kind();
            let option = if kind.weight.is_some() { "weight" } else { "fa2" };
            return require(false, field, || {
                format!(
                    "{format} beside {} (--q-format or --format) with --{option} {}, which has every operation in one format",
                    formats.q, kind.suffix
                )
            });
        }
        Ok(())
    }

    /// Checks the cap: above the score's own limit it would have no effect.
    fn validate_softcap(&self) -> Result<(), ConfigError> {
        let Some(cap) = self.softcap else { return Ok(()) };
        let bits = self.score_integer_bits;
        let most = (f64::from(bits).exp2() / std::f64::consts::LOG2_E).floor();
        require((1.0..=most).contains(&cap), "softcap", || {
            let cap = short(cap);
            format!("{cap} is outside 1 to {most}, where scores saturate with --score-integer-bits {bits}")
        })
    }

    /// Checks that each scale takes its operand's elements and that the dot product takes the scales.
    fn validate_scales(&self) -> Result<(), ConfigError> {
        let formats = self.formats();
        let fields = [
            (self.q_scales, "q_scales", formats.q),
            (self.k_scales, "k_scales", formats.k),
            (self.v_scales, "v_scales", formats.v),
        ];
        for ((own, field, format), (operand, scale)) in fields.into_iter().zip(self.scales().by_operand()) {
            let field = if own.is_some() { field } else { "scales" };
            let scale_word = scale.word();
            require(scale.takes(format), field, || {
                let takes = match scale {
                    Scale::Nvfp4 => "fp4-e2m1".to_string(),
                    _ => Format::MX.map(|format| format.to_string()).join(", "),
                };
                format!("{scale_word} with --{operand}-format {format}: its blocks are of {takes}")
            })?;
            require(operand == "q" || scale != Scale::RowQ16, field, || {
                format!("row-q16 of {operand}: only queries have it; take --q-scales row-q16")
            })?;
            require(operand != "v" || scale != Scale::Row, field, || {
                "row is a product with each element of v: take row-e8m0, or a scale a channel, which the host has".into()
            })?;
        }
        Ok(())
    }

    fn validate_partial(&self) -> Result<(), ConfigError> {
        if !self.partial {
            return Ok(());
        }
        require(self.masks, "partial", || {
            "a core with partial results has masks too: add --masks, or \"masks\": true in JSON".into()
        })?;
        // The scalars of a state are requested a cycle before the score stage. With d = 2 that would be the cycle before the key's.
        require(self.d > 2, "partial", || "takes a d of 3 or more".into())
    }

    fn validate_lane(&self) -> Result<(), ConfigError> {
        if !self.has_fixed_lanes() {
            return Ok(());
        }
        let LaneBits { o, v, w } = self.lane_bits();
        // FLASH-D dithers the places of o below v's.
        let widest = WIDEST_LANE_VALUE.min(o.saturating_sub(u32::from(self.design() == Design::FlashD)));
        require(
            (8..=WIDEST_LANE_SUM).contains(&o)
                && (4..=widest).contains(&v)
                && (3..=WIDEST_LANE_WEIGHT).contains(&w),
            "lane",
            || {
                format!(
                    "widths {o},{v},{w} are outside o 8 to {WIDEST_LANE_SUM}, v 4 to {widest}, w 3 to {WIDEST_LANE_WEIGHT}"
                )
            },
        )
    }

    fn validate_precision(&self) -> Result<(), ConfigError> {
        let Formats { v: format, .. } = self.products();
        match self.accumulator {
            Some(Accumulator::Fraction(bits)) => {
                let (lo, hi) = (self.products().lane_precision() - 1, 23);
                require((lo..=hi).contains(&bits), "accumulator", || {
                    format!("{bits} is outside {lo} to {hi}")
                })?;
            }
            Some(Accumulator::Float(wide)) => {
                require(!wide.is_integer(), "accumulator", || {
                    format!("{wide} is an integer; float lanes accumulate in a float: bf16, fp16 or fp32")
                })?;
                require(wide.holds(format), "accumulator", || {
                    format!("{wide} does not hold every number of {format}")
                })?;
                require(!self.follows_the_paper(), "accumulator", || {
                    "paper and literal have every operation in the format: use a number of bits or leave it out".into()
                })?;
            }
            Some(Accumulator::Format) | None => {}
        }
        let widest = self.widest_state_fraction();
        require(self.state_fraction() <= widest, "state_fraction_bits", || {
            format!(
                "{} is more than {widest}, the most that fits a 64-bit product with half of {} bits of weight",
                self.state_fraction(),
                self.factor_significand()
            )
        })
    }
}
