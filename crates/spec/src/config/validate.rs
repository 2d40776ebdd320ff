//! Which configurations there are.

use super::*;

/// What is wrong with a configuration, with what would be right.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct ConfigError {
    /// The configuration field at fault, as written in JSON and on the command line.
    pub field: &'static str,
    /// What was given and what is allowed.
    pub problem: String,
}

fn require(ok: bool, field: &'static str, problem: impl FnOnce() -> String) -> Result<(), ConfigError> {
    if ok { Ok(()) } else { Err(ConfigError { field, problem: problem() }) }
}

impl CoreConfig {
    /// Checks every field and every combination.
    ///
    /// # Errors
    /// Names the field, what was given and what is allowed.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let (lo, hi) = D_RANGE;
        require((lo..=hi).contains(&self.d), "d", || format!("{} is outside {lo} to {hi}", self.d))?;
        require([4, 8, 16, 32].contains(&self.segments), "segments", || {
            format!("{} is not one of 4, 8, 16, 32", self.segments)
        })?;
        let shift = self.score_shift();
        let (lo, hi) = SCORE_SHIFT_RANGE;
        require((lo..=hi).contains(&shift), "score_shift", || format!("{shift} is outside {lo} to {hi}"))?;
        let within = |field, value: u32, lo: u32, hi: u32| {
            require((lo..=hi).contains(&value), field, || format!("{value} is outside {lo} to {hi}"))
        };
        within("score_integer_bits", self.score_integer_bits, 5, 12)?;
        within("score_fraction_bits", self.score_fraction_bits, 2, 20)?;
        within("state_fraction_bits", self.state_fraction_bits, self.score_fraction_bits, 26)?;
        let (lo, hi) = VALUE_LATENCY_RANGE;
        within("value_latency", self.value_latency, lo, hi)?;
        self.validate_lane()?;
        self.validate_partial()?;
        self.validate_precision()?;
        require(self.dot() == Dot::Tree || !self.follows_the_paper(), "dot", || {
            "paper and literal have every operation in the format: use tree or leave it out".into()
        })?;
        let default = CoreConfig::new(self.design, self.d, self.format);
        match (self.design, self.weight, self.hold) {
            (_, WeightUnit::Paper, _) if ![Update::default(), default.update].contains(&self.update) => {
                require(false, "update", || "the paper's weight unit has its own; leave it out".into())
            }
            (Design::Fa2, WeightUnit::Paper, _) => {
                require(false, "weight", || "fa2 has no weight unit; leave it out".into())
            }
            (Design::Fa2, _, Some(Hold::Static | Hold::Budget(_))) if self.fa2 != Fa2Variant::Literal => {
                require(false, "hold", || "fa2 takes a threshold T or none".into())
            }
            (Design::Fa2, _, Some(Hold::Static | Hold::Below(_) | Hold::Budget(_)))
                if self.fa2 == Fa2Variant::Literal =>
            {
                require(false, "hold", || {
                    "the literal variant has no hold rule; use none or leave it out".into()
                })
            }
            (Design::Fa2, _, _) if self.update != Update::default() => {
                require(false, "update", || "fa2 has no update variants; choose with fa2".into())
            }
            (Design::FlashD, _, _) if self.fa2 != Fa2Variant::default() => {
                require(false, "fa2", || "flash-d has no fa2 variant; leave it out".into())
            }
            (_, WeightUnit::Lse, Some(Hold::Static)) => {
                require(false, "hold", || "the lse weight unit takes a threshold T, a budget or none".into())
            }
            (_, WeightUnit::Lse, Some(Hold::Below(t))) => {
                require((1.0..=64.0).contains(&t), "hold", || format!("threshold {t} is outside 1 to 64"))
            }
            (_, WeightUnit::Lse, Some(Hold::Budget(fraction))) => {
                let (lo, hi) = BUDGET_FRACTIONS;
                require((lo..=hi).contains(&fraction), "hold", || {
                    format!("a budget for {fraction} fraction bits is outside {lo} to {hi}")
                })?;
                let (bits, least) = (self.state_fraction_bits, BUDGET_STATE_FRACTION);
                require(bits >= least, "state_fraction_bits", || {
                    format!("{bits} is too few for a budget of the hold rule, which needs {least}")
                })
            }
            (_, WeightUnit::Paper, Some(Hold::Below(_) | Hold::Budget(_))) => {
                require(false, "hold", || "the paper weight unit takes static or none".into())
            }
            _ => Ok(()),
        }
    }

    fn validate_partial(&self) -> Result<(), ConfigError> {
        if !self.partial {
            return Ok(());
        }
        require(self.can_be_partial(), "partial", || {
            "partial results are for the lse weight unit of flash-d and for separate-scale and shared-scale of fa2".into()
        })?;
        require(self.masks, "partial", || "a core with partial results has masks too: add masks".into())?;
        // The scalars of a state are asked for a cycle before the score stage, which d = 2 has in the key's own.
        require(self.d > 2, "partial", || "takes a d of 3 or more".into())
    }

    fn validate_lane(&self) -> Result<(), ConfigError> {
        require(
            self.value_stage.is_none() || (self.design == Design::FlashD && self.has_fixed_lanes()),
            "value_stage",
            || "only the fixed update of flash-d has a choice; leave it out".into(),
        )?;
        if !self.has_fixed_lanes() {
            return require(self.lane.is_none(), "lane", || {
                "only the fixed update and the fixed and log-reference fa2 variants have lane widths".into()
            });
        }
        require(self.accumulator.is_none(), "accumulator", || {
            "fixed-point lanes have no float accumulator; use lane".into()
        })?;
        let LaneBits { o, v, w } = self.lane_bits();
        require(
            (8..=28).contains(&o) && (4..=20).contains(&v) && v <= o && (3..=WIDEST_LANE_WEIGHT).contains(&w),
            "lane",
            || {
                format!(
                    "widths {o},{v},{w} are outside o 8 to 28, v 4 to 20 and at most o, w 3 to {WIDEST_LANE_WEIGHT}"
                )
            },
        )
    }

    fn validate_precision(&self) -> Result<(), ConfigError> {
        let format = self.format;
        match self.accumulator {
            Some(Accumulator::Fraction(bits)) => {
                let (lo, hi) = (format.fraction_bits, 23);
                require((lo..=hi).contains(&bits), "accumulator", || {
                    format!("{bits} is outside {lo} to {hi}")
                })?;
            }
            Some(Accumulator::Float(wide)) => {
                require(wide.holds(format), "accumulator", || {
                    format!("{wide} does not hold every number of {format}")
                })?;
                require(!self.follows_the_paper(), "accumulator", || {
                    "paper and literal have every operation in the format: use a number of bits or leave it out".into()
                })?;
            }
            Some(Accumulator::Format) | None => {}
        }
        if let Some(bits) = self.weight_bits {
            require(!self.has_fixed_lanes(), "weight_bits", || {
                "fixed-point lanes have their weight's width in lane".into()
            })?;
            require(!self.follows_the_paper(), "weight_bits", || {
                "paper and literal have their weights in the format; leave it out".into()
            })?;
            let (lo, hi) = WEIGHT_BITS_RANGE;
            require((lo..=hi).contains(&bits), "weight_bits", || format!("{bits} is outside {lo} to {hi}"))?;
        }
        // The sum's product with a factor is a 64-bit word.
        let widest = 63 - SUM_INTEGER_BITS - self.factor_significand();
        require(self.state_fraction_bits <= widest, "state_fraction_bits", || {
            format!(
                "{} is more than {widest}, the most that fits a 64-bit product with {} bits of weight",
                self.state_fraction_bits,
                self.factor_significand()
            )
        })
    }
}
