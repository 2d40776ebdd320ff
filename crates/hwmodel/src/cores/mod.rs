//! The cores: pipelined RustHDL modules with the port contract of the project.
//!
//! | file | unit | equation |
//! | --- | --- | --- |
//! | `dot` | products and adder tree | `q . k` |
//! | `lse` | FLASH-D's weight unit | `x = s - L`, `L <- L + softplus(x)`, `w = sigmoid(x)` |
//! | `paper` | the paper's weight unit | `w = sigmoid(s_i - s_{i-1} + ln w_{i-1})` |
//! | `lane` | FLASH-D's output update | `o <- o + w (v - o) = v + (1 - w) (o - v)` |
//! | `paper_lane` | the same in the paper's order | |
//! | `softmax` | FA2's maximum, exponential and sum | `m <- max(m, s)`, `e = exp(-abs(s - m))`, `l <- l c + e` |
//! | `fa2_lane` | FA2's output update and division | `o <- o c + v e`, `o / l` |
//! | `literal` | the same as the paper draws it | |
//! | `control` | flags beside the data | |
//! | `flash_d`, `fa2` | the cores | |

pub mod control;
pub mod dot;
pub mod fa2;
pub mod fa2_lane;
pub mod flash_d;
pub mod lane;
pub mod literal;
pub mod lse;
pub mod paper;
pub mod paper_lane;
pub mod softmax;
pub mod special;

use crate::config::{ConfigError, CoreConfig, Design, Fa2Variant, WeightUnit};
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
    pub k: &'a mut [Bus<In>],
    pub k_valid: &'a mut Bus<In>,
    pub k_last: &'a mut Bus<In>,
    pub v_step: &'a Bus<Out>,
    pub v_ren: &'a Bus<Out>,
    pub v: &'a mut [Bus<In>],
    pub o: &'a [Bus<Out>],
    pub o_valid: &'a Bus<Out>,
    pub o_invalid: &'a Bus<Out>,
}

/// [`CorePorts`] of a core whose fields carry the contract's names.
macro_rules! core_ports {
    ($core:ident) => {
        CorePorts {
            clk: &mut $core.clk,
            rst: &mut $core.rst,
            q: &mut $core.q,
            q_valid: &mut $core.q_valid,
            k: &mut $core.k,
            k_valid: &mut $core.k_valid,
            k_last: &mut $core.k_last,
            v_step: &$core.v_step,
            v_ren: &$core.v_ren,
            v: &mut $core.v,
            o: &$core.o,
            o_valid: &$core.o_valid,
            o_invalid: &$core.o_invalid,
        }
    };
}
pub(crate) use core_ports;

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

/// Cycles from a key's acceptance to its `v_step`: FLASH-D decides a cycle after the score, FA2 with it.
pub fn v_step_latency(config: &CoreConfig) -> u32 {
    let score_stage = Numerics::new(config).tree_levels + 1;
    match config.design {
        Design::FlashD => score_stage + 1,
        Design::Fa2 => score_stage,
    }
}

/// Width in bits of the tapped argument x; the score's when it is in fixed point.
pub fn tap_widths(config: &CoreConfig) -> (u32, u32) {
    let n = Numerics::new(config);
    match (config.design, config.weight, config.fa2) {
        (Design::FlashD, WeightUnit::Lse, _) => (n.score_bits(), n.state_bits() + 1),
        (Design::Fa2, _, Fa2Variant::Default) => (n.score_bits(), n.score_bits() + 1),
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
    let (_, lane) = lane::LaneKind::of(config.design, config.weight, config.fa2, &n);
    let mut core: Box<dyn Core> = match (config.design, config.weight, config.fa2) {
        (Design::FlashD, WeightUnit::Lse, _) => Box::new(flash_d::FlashDCore::new(config, &n, lane)),
        (Design::FlashD, WeightUnit::Paper, _) => Box::new(flash_d::FlashDPaperCore::new(config, &n, lane)),
        (Design::Fa2, _, Fa2Variant::Default) => Box::new(fa2::Fa2Core::new(config, &n, lane)),
        (Design::Fa2, _, Fa2Variant::Literal) => Box::new(fa2::Fa2LiteralCore::new(config, &n, lane)),
    };
    core.connect_all();
    Ok(core)
}
