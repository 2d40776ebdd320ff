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
pub mod inside;
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
pub use inside::{Inside, Quantity, Reading};
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

/// A core as the simulator sees it.
pub trait Core: Block + Send {
    /// The ports.
    fn ports(&mut self) -> CorePorts<'_>;
    /// What is compared inside, in the settled cycle.
    fn inside(&self) -> Vec<Inside>;
}

/// Cycles from a key's acceptance to the cycles in which [`Inside`] shows its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stages {
    /// Score.
    pub score: u32,
    /// Argument of sigmoid or exponential.
    pub argument: u32,
    /// Weight, and `v_step`.
    pub value: u32,
    /// FA2's l after the step.
    pub sum: u32,
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
        // The weight's stage, and the register of l behind it.
        let value = score + value;
        Stages { score, argument: score + argument, value, sum: value + 1 }
    }
}

/// Cycles from a key's acceptance to its `v_step`.
pub fn v_step_latency(config: &CoreConfig) -> u32 {
    Stages::of(config).value
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

/// What a word for several of something ends with.
fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}
