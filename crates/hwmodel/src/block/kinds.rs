//! The array of each kind of core.

use super::array::query_array;
use super::control::BlockControl;
use super::pick::ResultPick;
use super::results::{KeptResult, Order, OrderFunction, ResultSelect, Select, SelectFunction};
use super::shadow::QueryShadow;
use super::window::{KeyCounter, KeyWindow};
use super::{ArrayPorts, BlockConfig, Low, LowFunction, QueryArray};
use crate::config::{ConfigError, Design, Fa2Variant, Update, WeightUnit};
use crate::cores::fa2::{Fa2Core, Fa2FixedCore, Fa2LiteralCore, Fa2LogReferenceCore, Fa2SharedCore};
use crate::cores::flash_d::{
    FlashDCore, FlashDFixedCore, FlashDFusedCore, FlashDPaperCore, FlashDStagedFixedCore,
};
use crate::cores::lane_group::{FlagOr, flag_or};
use crate::cores::{Core, Inside};
use crate::numerics::Numerics;
use crate::rtl::{Bus, In, Logic, Out, ResetRegister, Tag, ast, hdl_gen, logic};
use std::sync::Arc;

query_array! {
    /// Array of FLASH-D cores, every operation of the output update rounded.
    FlashDArray of FlashDCore
}
query_array! {
    /// Array of FLASH-D cores, one rounding in the output update.
    FlashDFusedArray of FlashDFusedCore
}
query_array! {
    /// Array of FLASH-D cores, output in fixed point.
    FlashDFixedArray of FlashDFixedCore fixed: v_exponent o_overflow
}
query_array! {
    /// Array of FLASH-D cores, output in fixed point, with a stage for the value.
    FlashDStagedFixedArray of FlashDStagedFixedCore fixed: v_exponent o_overflow
}
query_array! {
    /// Array of FLASH-D cores with the paper's weight unit.
    FlashDPaperArray of FlashDPaperCore
}
query_array! {
    /// Array of FlashAttention-2 cores.
    Fa2Array of Fa2Core
}
query_array! {
    /// Array of FlashAttention-2 cores whose lane multipliers also do the final scale.
    Fa2SharedArray of Fa2SharedCore
}
query_array! {
    /// Array of FlashAttention-2 cores in fixed point, relative to the maximum.
    Fa2FixedArray of Fa2FixedCore fixed: v_exponent o_overflow
}
query_array! {
    /// Array of FlashAttention-2 cores in fixed point, relative to the running sum's exponent.
    Fa2LogReferenceArray of Fa2LogReferenceCore fixed: v_exponent o_overflow
}
query_array! {
    /// Array of FlashAttention-2 cores as the paper draws them.
    Fa2LiteralArray of Fa2LiteralCore
}

/// Builds the array of a configuration.
///
/// # Errors
/// If the configuration is not valid.
pub fn build(config: &BlockConfig) -> Result<Box<dyn QueryArray>, ConfigError> {
    config.validate()?;
    let core = &config.core;
    let n = Arc::new(Numerics::new(core));
    let mut array: Box<dyn QueryArray> = match core.design {
        Design::FlashD => match (core.weight, core.update) {
            (WeightUnit::Paper, _) => Box::new(FlashDPaperArray::new(config, &n)),
            (_, Update::Rounded) => Box::new(FlashDArray::new(config, &n)),
            (_, Update::Fused) => Box::new(FlashDFusedArray::new(config, &n)),
            (_, Update::Fixed) if core.value_stage() => Box::new(FlashDStagedFixedArray::new(config, &n)),
            (_, Update::Fixed) => Box::new(FlashDFixedArray::new(config, &n)),
        },
        Design::Fa2 => match core.fa2 {
            Fa2Variant::SeparateScale => Box::new(Fa2Array::new(config, &n)),
            Fa2Variant::Literal => Box::new(Fa2LiteralArray::new(config, &n)),
            Fa2Variant::SharedScale => Box::new(Fa2SharedArray::new(config, &n)),
            Fa2Variant::Fixed => Box::new(Fa2FixedArray::new(config, &n)),
            Fa2Variant::LogReference => Box::new(Fa2LogReferenceArray::new(config, &n)),
        },
    };
    array.connect_all();
    Ok(array)
}
