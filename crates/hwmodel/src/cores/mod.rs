//! The cores: pipelined RustHDL modules with the port contract of the project.
//!
//! | file | unit | equation |
//! | --- | --- | --- |
//! | `dot` | products and adder tree | `q . k` |
//! | `lse`, `lse_step` | FLASH-D's weight unit | `x = s - L`, `L <- L + softplus(x)`, `w = sigmoid(x)` |
//! | `paper` | the paper's weight unit | `w = sigmoid(s_i - s_{i-1} + ln w_{i-1})` |
//! | `lane` | FLASH-D's output update | `o <- o + w (v - o) = v + (1 - w) (o - v)` |
//! | `paper_lane` | the same in the paper's order | |
//! | `softmax` | FA2's maximum, exponential and sum | `m <- max(m, s)`, `e = exp(-abs(s - m))`, `l <- l c + e` |
//! | `fa2_lane` | FA2's output update and division | `o <- o c + v e`, `o / l` |
//! | `literal` | the same as the paper draws it | |
//! | `control`, `results` | flags beside the data | |
//! | `masks` | the same of keys that a query does not see | |
//! | `partial` | starting from a partial result, and handing one out | |
//! | `flash_d`, `fa2` | the cores | |

pub mod any_flag;
mod attention_core;
pub mod control;
pub mod delay;
pub mod dot;
pub mod fa2;
pub mod fa2_fixed_lane;
pub mod fa2_lane;
pub mod factor;
pub mod fixed_lane;
pub mod flash_d;
pub mod fused_dot;
pub mod fused_lane;
pub mod hold_budget;
pub mod lane;
pub mod lane_group;
pub mod literal;
pub mod literal_softmax;
pub mod log_reference;
pub mod lse;
pub mod lse_step;
pub mod masks;
pub mod paper;
pub mod paper_lane;
pub mod partial;
pub mod reference;
pub mod results;
pub mod schedule;
pub mod score;
pub mod shared_lane;
pub mod shared_softmax;
pub mod softmax;
pub mod special;
pub mod sum;
pub mod term_sum;

use crate::config::{ConfigError, CoreConfig, Design, Fa2Variant, Update, WeightUnit};
use crate::numerics::Numerics;
use crate::rtl::{Block, Bus, In, Out};
use std::sync::Arc;

/// The ports of a core, by the names of the contract.
#[allow(missing_docs)]
pub struct CorePorts<'a> {
    pub clk: &'a mut Bus<In>,
    pub rst: &'a mut Bus<In>,
    pub q: &'a mut [Bus<In>],
    pub q_valid: &'a mut Bus<In>,
    /// Of fixed-point lanes only.
    pub v_exponent: Option<&'a mut Bus<In>>,
    pub k: &'a mut [Bus<In>],
    pub k_valid: &'a mut Bus<In>,
    pub k_last: &'a mut Bus<In>,
    /// With masks only.
    pub k_mask: Option<&'a mut Bus<In>>,
    /// With partial results only.
    pub k_state: Option<&'a mut Bus<In>>,
    /// With partial results only.
    pub state_ren: Option<&'a Bus<Out>>,
    /// With partial results only: the scalars of the state, in the order of
    /// [`CoreConfig::state_scalars`].
    pub state: Vec<&'a mut Bus<In>>,
    /// With partial results only.
    pub v_state: Option<&'a Bus<Out>>,
    /// With partial results only: accumulators.
    pub state_o: Vec<&'a mut Bus<In>>,
    pub v_step: &'a Bus<Out>,
    pub v_ren: &'a Bus<Out>,
    pub v: &'a mut [Bus<In>],
    pub o: &'a [Bus<Out>],
    pub o_valid: &'a Bus<Out>,
    pub o_invalid: &'a Bus<Out>,
    /// With masks only.
    pub o_empty: Option<&'a Bus<Out>>,
    /// Of fixed-point lanes only.
    pub o_overflow: Option<&'a Bus<Out>>,
    /// With partial results only: scalars, as in `state`.
    pub o_scalars: Vec<&'a Bus<Out>>,
    /// With partial results only: accumulators.
    pub o_state: Vec<&'a Bus<Out>>,
}

/// Internal values of the current cycle, for the lock-step check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tap {
    /// Score of the step at the score stage, raw bits.
    pub score: Option<u64>,
    /// Argument of sigmoid or exponential, raw bits; absent for first keys.
    pub x: Option<u64>,
    /// Weight of the step at the weight stage.
    pub weight: Option<WeightTap>,
}

/// A step's weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WeightTap {
    /// Weight (FLASH-D) or exponential (FA2), encoding in the format; meaningless when held.
    pub w: u64,
    /// The step changes o.
    pub update: bool,
    /// It takes v as it is.
    pub load: bool,
    /// The factor scales the old output; meaningless on a load.
    pub upper: bool,
}

/// A core as the simulator sees it.
pub trait Core: Block + Send {
    /// The ports.
    fn ports(&mut self) -> CorePorts<'_>;
    /// Internal values of the settled cycle.
    fn tap(&self) -> Tap;
}

/// Cycles from a key's acceptance to the cycles in which a [`Tap`] shows its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stages {
    /// Score.
    pub score: u32,
    /// Argument of sigmoid or exponential.
    pub argument: u32,
    /// Weight, and `v_step`.
    pub value: u32,
}

impl Stages {
    /// The stages of a core.
    pub fn of(config: &CoreConfig) -> Stages {
        let score = schedule::score_stage(Numerics::new(config).tree_levels);
        let (argument, value) = match (config.design, config.weight, config.update, config.fa2) {
            (Design::FlashD, WeightUnit::Paper, ..) => (3, 3),
            (Design::FlashD, _, Update::Fixed, _) if config.value_stage() => (1, 2),
            (Design::FlashD, ..) => (1, 3),
            (Design::Fa2, _, _, Fa2Variant::Literal | Fa2Variant::LogReference) => (1, 2),
            (Design::Fa2, ..) => (0, 2),
        };
        Stages { score, argument: score + argument, value: score + value }
    }
}

/// Cycles from a key's acceptance to its `v_step`.
pub fn v_step_latency(config: &CoreConfig) -> u32 {
    Stages::of(config).value
}

/// Widths in bits of the tapped score and argument.
pub fn tap_widths(config: &CoreConfig) -> (u32, u32) {
    let n = Numerics::new(config);
    match (config.design, config.weight, config.fa2) {
        (Design::FlashD, WeightUnit::Lse, _) => (n.score_bits(), n.state_bits() + 1),
        (Design::Fa2, _, Fa2Variant::SeparateScale | Fa2Variant::SharedScale) => {
            (n.score_bits(), n.score_bits() + 1)
        }
        (Design::Fa2, _, Fa2Variant::Fixed | Fa2Variant::LogReference) => {
            (n.score_bits(), n.score_bits() + 2)
        }
        _ => (n.format.width(), n.format.width()),
    }
}

/// Builds the core of a configuration.
///
/// # Errors
/// If the configuration is not valid.
pub fn build(config: &CoreConfig) -> Result<Box<dyn Core>, ConfigError> {
    config.validate()?;
    let n = Arc::new(Numerics::new(config));
    let mut core: Box<dyn Core> = match config.design {
        Design::FlashD => match (config.weight, config.update) {
            (WeightUnit::Paper, _) => Box::new(flash_d::FlashDPaperCore::new(config, &n)),
            (_, Update::Rounded) => Box::new(flash_d::FlashDCore::new(config, &n)),
            (_, Update::Fused) => Box::new(flash_d::FlashDFusedCore::new(config, &n)),
            (_, Update::Fixed) if config.value_stage() => {
                Box::new(flash_d::FlashDStagedFixedCore::new(config, &n))
            }
            (_, Update::Fixed) => Box::new(flash_d::FlashDFixedCore::new(config, &n)),
        },
        Design::Fa2 => match config.fa2 {
            Fa2Variant::SeparateScale => Box::new(fa2::Fa2Core::new(config, &n)),
            Fa2Variant::Literal => Box::new(fa2::Fa2LiteralCore::new(config, &n)),
            Fa2Variant::SharedScale => Box::new(fa2::Fa2SharedCore::new(config, &n)),
            Fa2Variant::Fixed => Box::new(fa2::Fa2FixedCore::new(config, &n)),
            Fa2Variant::LogReference => Box::new(fa2::Fa2LogReferenceCore::new(config, &n)),
        },
    };
    core.connect_all();
    Ok(core)
}
