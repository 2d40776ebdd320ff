//! Merges and split keys of each kind of core that has partial results.

use super::fa2::Fa2MergeWeight;
use super::lane::{Fa2MergeLane, FixedMergeLane, FusedMergeLane, RoundedMergeLane};
use super::node::merge_node;
use super::result::{FixedResult, FloatResult, ScaledResult, result_cycles};
use super::split::split_core;
use super::weight::FlashDMergeWeight;
use super::{MERGE_CYCLES, SplitConfig, SplitCore, SplitPorts, Zero, ZeroFunction};
use crate::block::{Low, LowFunction};
use crate::config::{ConfigError, Design, Fa2Variant, Update};
use crate::cores::delay::Delay;
use crate::cores::fa2::{Fa2Core, Fa2SharedCore};
use crate::cores::factor::FactorForm;
use crate::cores::factor::factor_bits;
use crate::cores::fixed_lane::lane_bits;
use crate::cores::flash_d::{FlashDCore, FlashDFixedCore, FlashDFusedCore, FlashDStagedFixedCore};
use crate::cores::hold_budget::room_bits;
use crate::cores::lane_group::{FlagOr, LANES_PER_GROUP, flag_or, group_sizes};
use crate::cores::partial::{StateStep, StateStepFunction};
use crate::cores::{Core, Inside};
use crate::numerics::Numerics;
use crate::rtl::{Bus, EnabledRegister, In, Logic, Out, Register, ResetRegister, Tag, ast, hdl_gen, logic};
use std::sync::Arc;

merge_node! {
    /// Merge of FLASH-D's parts in fixed point.
    FlashDFixedMerge {
        FlashDMergeWeight(n) = FlashDMergeWeight::new(n, FactorForm::Shift(lane_bits(n).w)),
        FixedMergeLane in FixedMergeGroup
    }
    factor = factor_bits(n, lane_bits(n).w);
    accumulator = lane_bits(n).o;
    scalars: [a_lse b_lse lse: n.state_bits()];
    rooms: rooms a_room b_room room;
    doc = "Merge of two parts: o = o_a + sigmoid(L_b - L_a) * (o_b - o_a), in fixed point.";
}
merge_node! {
    /// Merge of FLASH-D's parts, every operation rounded.
    FlashDMerge {
        FlashDMergeWeight(n) = FlashDMergeWeight::new(n, FactorForm::Format),
        RoundedMergeLane in RoundedMergeGroup
    }
    factor = n.weight.width();
    accumulator = n.accumulator.width();
    scalars: [a_lse b_lse lse: n.state_bits()];
    rooms: rooms a_room b_room room;
    doc = "Merge of two parts: o = o_a + sigmoid(L_b - L_a) * (o_b - o_a), every operation rounded.";
}
merge_node! {
    /// Merge of FLASH-D's parts, one rounding.
    FlashDFusedMerge {
        FlashDMergeWeight(n) = FlashDMergeWeight::new(n, FactorForm::Shift(n.factor_significand)),
        FusedMergeLane in FusedMergeGroup
    }
    factor = factor_bits(n, n.factor_significand);
    accumulator = n.accumulator.width();
    scalars: [a_lse b_lse lse: n.state_bits()];
    rooms: rooms a_room b_room room;
    doc = "Merge of two parts: o = o_a + sigmoid(L_b - L_a) * (o_b - o_a), rounded once.";
}
merge_node! {
    /// Merge of FA2's parts.
    Fa2Merge {
        Fa2MergeWeight(n) = Fa2MergeWeight::new(n, FactorForm::Shift(n.factor_significand)),
        Fa2MergeLane in Fa2MergeGroup
    }
    factor = factor_bits(n, n.factor_significand);
    accumulator = n.accumulator.width();
    scalars: [a_m b_m m: n.score_bits(), a_l b_l l: n.sum_bits()];
    doc = "Merge of two parts: o = o_a * 2^(m_a - m) + o_b * 2^(m_b - m), and l alike; one of both factors is 1.";
}

split_core! {
    /// Parts of FLASH-D in fixed point.
    FlashDFixedSplit of FlashDFixedCore merged by FlashDFixedMerge to FixedResult(n);
    accumulator = lane_bits(n).o;
    scalars: [state_lse o_lse a_lse b_lse lse: n.state_bits()];
    rooms: rooms state_room o_room a_room b_room room;
    fixed: v_exponent v_exponent_q result_exponent o_overflow overflows overflow_q;
}
split_core! {
    /// Parts of FLASH-D in fixed point, with a stage for the value.
    FlashDStagedFixedSplit of FlashDStagedFixedCore merged by FlashDFixedMerge to FixedResult(n);
    accumulator = lane_bits(n).o;
    scalars: [state_lse o_lse a_lse b_lse lse: n.state_bits()];
    rooms: rooms state_room o_room a_room b_room room;
    fixed: v_exponent v_exponent_q result_exponent o_overflow overflows overflow_q;
}
split_core! {
    /// Parts of FLASH-D, every operation rounded.
    FlashDSplit of FlashDCore merged by FlashDMerge to FloatResult(n);
    accumulator = n.accumulator.width();
    scalars: [state_lse o_lse a_lse b_lse lse: n.state_bits()];
    rooms: rooms state_room o_room a_room b_room room;
}
split_core! {
    /// Parts of FLASH-D, one rounding.
    FlashDFusedSplit of FlashDFusedCore merged by FlashDFusedMerge to FloatResult(n);
    accumulator = n.accumulator.width();
    scalars: [state_lse o_lse a_lse b_lse lse: n.state_bits()];
    rooms: rooms state_room o_room a_room b_room room;
}
split_core! {
    /// Parts of FA2.
    Fa2Split of Fa2Core merged by Fa2Merge to ScaledResult(n);
    accumulator = n.accumulator.width();
    scalars: [state_m o_m a_m b_m m: n.score_bits(), state_l o_l a_l b_l l: n.sum_bits()];
    divides: l;
}
split_core! {
    /// Parts of FA2 whose lane multipliers also do the final scale.
    Fa2SharedSplit of Fa2SharedCore merged by Fa2Merge to ScaledResult(n);
    accumulator = n.accumulator.width();
    scalars: [state_m o_m a_m b_m m: n.score_bits(), state_l o_l a_l b_l l: n.sum_bits()];
    divides: l;
}

/// Builds the cores and the tree of a configuration.
///
/// # Errors
/// If the configuration is not valid.
pub fn build(config: &SplitConfig) -> Result<Box<dyn SplitCore>, ConfigError> {
    config.validate()?;
    let core = &config.core;
    let n = Arc::new(Numerics::new(core));
    let mut split: Box<dyn SplitCore> = match (core.design, core.update, core.fa2) {
        (Design::FlashD, Update::Rounded, _) => Box::new(FlashDSplit::new(config, &n)),
        (Design::FlashD, Update::Fused, _) => Box::new(FlashDFusedSplit::new(config, &n)),
        (Design::FlashD, Update::Fixed, _) if core.value_stage() => {
            Box::new(FlashDStagedFixedSplit::new(config, &n))
        }
        (Design::FlashD, Update::Fixed, _) => Box::new(FlashDFixedSplit::new(config, &n)),
        (Design::Fa2, _, Fa2Variant::SeparateScale) => Box::new(Fa2Split::new(config, &n)),
        (Design::Fa2, ..) => Box::new(Fa2SharedSplit::new(config, &n)),
    };
    split.connect_all();
    Ok(split)
}
