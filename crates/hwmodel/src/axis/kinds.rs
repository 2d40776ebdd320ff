//! The wrapper of each kind of array.

use super::advance::*;
use super::buffer::FLAG_BITS;
use super::host::HostControl;
use super::keys::KeyStream;
use super::queries::QueryStream;
use super::registers::{ADDRESS_BITS, Packets, error_bits};
use super::requests::{INDEX_BITS, RequestStream};
use super::results::ResultStream;
use super::steps::StepTracker;
use super::values::ValueStream;
use super::wrapper::axis_wrapper;
use super::{AxisConfig, AxisPorts, AxisWrapper, LitePorts, SinkPorts, SourcePorts, Values};
use crate::block::kinds::*;
use crate::block::{Low, LowFunction};
use crate::config::{ConfigError, Design, Fa2Variant, Update, WeightUnit};
use crate::cores::v_step_latency;
use crate::numerics::Numerics;
use crate::rtl::{Bus, ClockGate, In, Logic, Out, Tag, ast, hdl_gen, logic};
use std::sync::Arc;

axis_wrapper! {
    /// Wrapper of FLASH-D arrays, every operation of the output update rounded.
    FlashDAxis of FlashDArray
}
axis_wrapper! {
    /// Wrapper of FLASH-D arrays, one rounding in the output update.
    FlashDFusedAxis of FlashDFusedArray
}
axis_wrapper! {
    /// Wrapper of FLASH-D arrays, output in fixed point.
    FlashDFixedAxis of FlashDFixedArray fixed: v_exponent o_overflow
}
axis_wrapper! {
    /// Wrapper of FLASH-D arrays, output in fixed point, with a stage for the value.
    FlashDStagedFixedAxis of FlashDStagedFixedArray fixed: v_exponent o_overflow
}
axis_wrapper! {
    /// Wrapper of FLASH-D arrays with the paper's weight unit.
    FlashDPaperAxis of FlashDPaperArray
}
axis_wrapper! {
    /// Wrapper of FlashAttention-2 arrays.
    Fa2Axis of Fa2Array
}
axis_wrapper! {
    /// Wrapper of FlashAttention-2 arrays whose lane multipliers also do the final scale.
    Fa2SharedAxis of Fa2SharedArray
}
axis_wrapper! {
    /// Wrapper of FlashAttention-2 arrays in fixed point, relative to the maximum.
    Fa2FixedAxis of Fa2FixedArray fixed: v_exponent o_overflow
}
axis_wrapper! {
    /// Wrapper of FlashAttention-2 arrays in fixed point, relative to the running sum's exponent.
    Fa2LogReferenceAxis of Fa2LogReferenceArray fixed: v_exponent o_overflow
}
axis_wrapper! {
    /// Wrapper of FlashAttention-2 arrays as the paper draws them.
    Fa2LiteralAxis of Fa2LiteralArray
}

/// Builds the wrapper of a configuration.
///
/// # Errors
/// If the configuration is not valid.
pub fn build(config: &AxisConfig) -> Result<Box<dyn AxisWrapper>, ConfigError> {
    config.validate()?;
    let core = &config.block.core;
    let n = Arc::new(Numerics::new(core));
    let mut wrapper: Box<dyn AxisWrapper> = match core.design {
        Design::FlashD => match (core.weight, core.update) {
            (WeightUnit::Paper, _) => Box::new(FlashDPaperAxis::new(config, &n)),
            (_, Update::Rounded) => Box::new(FlashDAxis::new(config, &n)),
            (_, Update::Fused) => Box::new(FlashDFusedAxis::new(config, &n)),
            (_, Update::Fixed) if core.value_stage() => Box::new(FlashDStagedFixedAxis::new(config, &n)),
            (_, Update::Fixed) => Box::new(FlashDFixedAxis::new(config, &n)),
        },
        Design::Fa2 => match core.fa2 {
            Fa2Variant::SeparateScale => Box::new(Fa2Axis::new(config, &n)),
            Fa2Variant::Literal => Box::new(Fa2LiteralAxis::new(config, &n)),
            Fa2Variant::SharedScale => Box::new(Fa2SharedAxis::new(config, &n)),
            Fa2Variant::Fixed => Box::new(Fa2FixedAxis::new(config, &n)),
            Fa2Variant::LogReference => Box::new(Fa2LogReferenceAxis::new(config, &n)),
        },
    };
    wrapper.connect_all();
    Ok(wrapper)
}
