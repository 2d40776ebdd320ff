//! The FLASH-D cores: the log-sum-exp weight unit with each output update, and the paper's weight unit.

use super::any_flag::AnyFlag;
use super::attention_core::attention_core;
use super::control::{FlagPipe, KeyControl};
use super::delay::Delay;
use super::factor::FactorForm;
use super::fixed_lane::{FixedLaneGroup, StagedFixedLaneGroup, lane_bits};
use super::fused_lane::FusedLaneGroup;
use super::hold_budget::room_bits;
use super::inside::{Inside, Quantity};
use super::lane::FlashDLaneGroup;
use super::lane_group::{FlagOr, LANES_PER_GROUP, flag_or, group_sizes};
use super::lse::LseWeight;
use super::masks::{EmptyQuery, EmptyQueryFunction, QueryEnds, QueryEndsFunction, Unmasked, unmasked};
use super::paper::PaperWeight;
use super::paper_lane::PaperLaneGroup;
use super::results::{EndOfQuery, EndOfQueryFunction, OverflowControl, ResultControl};
use super::schedule::{SCORE_TO_VALUE, score_stage};
use super::score::{FormatScoreUnit, ScoreUnit};
use super::special::AnySpecial;
use super::{Core, CorePorts};
use crate::config::CoreConfig;
use crate::numerics::Numerics;
use crate::rtl::{Bus, EnabledRegister, In, Logic, Out, Register, ResetRegister, Tag, ast, hdl_gen, logic};
use std::sync::Arc;

attention_core! {
    /// FLASH-D, every operation of the output update rounded.
    FlashDCore { ScoreUnit, LseWeight, FlashDLaneGroup }
    weight(n) = LseWeight::new(n, FactorForm::Format, false);
    early = false;
    scalars: [update, w, upper, load];
    partial: restore after 0, state_o o_state: n.accumulator.width(),
        state [
            state_lse o_lse o_lse_q lse_count if true; n.state_bits(), 3,
            state_room o_room o_room_q room_count if n.budget.is_some(); room_bits(n), 3
        ];
    doc = "FLASH-D attention core: o <- o + sigmoid(s - L) * (v - o), one key a cycle.";
}

attention_core! {
    /// FLASH-D, one rounding in the output update.
    FlashDFusedCore { ScoreUnit, LseWeight, FusedLaneGroup }
    weight(n) = LseWeight::new(n, FactorForm::Shift(n.factor_significand), false);
    early = false;
    scalars: [update, w, upper, load];
    partial: restore after 0, state_o o_state: n.accumulator.width(),
        state [
            state_lse o_lse o_lse_q lse_count if true; n.state_bits(), 3,
            state_room o_room o_room_q room_count if n.budget.is_some(); room_bits(n), 3
        ];
    doc = "FLASH-D attention core: o <- o + sigmoid(s - L) * (v - o), rounded once, one key a cycle.";
}

attention_core! {
    /// FLASH-D, output in fixed point.
    FlashDFixedCore { ScoreUnit, LseWeight, FixedLaneGroup }
    weight(n) = LseWeight::new(n, FactorForm::Shift(lane_bits(n).w), false);
    early = false;
    scalars: [update, w, upper, load];
    finish: finish finish_q in late_flags after 0;
    fixed: v_exponent v_exponent_q value_exponent result_exponent(1),
        outside any_outside, any_outside_q overflow o_overflow;
    partial: restore after 0, state_o o_state: lane_bits(n).o,
        state [
            state_lse o_lse o_lse_q lse_count if true; n.state_bits(), 3,
            state_room o_room o_room_q room_count if n.budget.is_some(); room_bits(n), 3
        ];
    doc = "FLASH-D attention core: o <- o + sigmoid(s - L) * (v - o) in fixed point, one key a cycle.";
}

attention_core! {
    /// FLASH-D, output in fixed point, with a stage for the value.
    FlashDStagedFixedCore { ScoreUnit, LseWeight, StagedFixedLaneGroup }
    weight(n) = LseWeight::new(n, FactorForm::Shift(lane_bits(n).w), true);
    early = true;
    scalars: [reads, update, w, upper, load];
    finish: finish finish_q in late_flags after 0;
    fixed: v_exponent v_exponent_q value_exponent result_exponent(2),
        outside any_outside, any_outside_q overflow o_overflow;
    partial: restore after 1, state_o o_state: lane_bits(n).o,
        state [
            state_lse o_lse o_lse_q lse_count if true; n.state_bits(), 3,
            state_room o_room o_room_q room_count if n.budget.is_some(); room_bits(n), 3
        ];
    doc = "FLASH-D attention core: o <- o + sigmoid(s - L) * (v - o) in fixed point, one key a cycle.";
}

attention_core! {
    /// FLASH-D with the paper's weight unit.
    FlashDPaperCore { FormatScoreUnit, PaperWeight, PaperLaneGroup }
    weight(n) = PaperWeight::new(n);
    early = false;
    scalars: [update, w, load];
    doc = "FLASH-D attention core after the paper's Alg. 3, one key a cycle.";
}
