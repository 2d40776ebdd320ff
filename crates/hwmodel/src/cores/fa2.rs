//! The FlashAttention-2 cores.

use super::any_flag::AnyFlag;
use super::attention_core::attention_core;
use super::control::{FlagPipe, KeyControl};
use super::delay::Delay;
use super::fa2_fixed_lane::Fa2FixedLaneGroup;
use super::fa2_lane::Fa2LaneGroup;
use super::factor::FactorForm;
use super::inside::{Inside, Quantity};
use super::lane_group::{FlagOr, LANES_PER_GROUP, flag_or, group_sizes};
use super::literal::LiteralLaneGroup;
use super::literal_softmax::LiteralSoftmax;
use super::log_reference::LogReference;
use super::masks::{EmptyQuery, EmptyQueryFunction, QueryEnds, QueryEndsFunction, Unmasked, unmasked};
use super::reference::MaximumReference;
use super::results::{EndOfQuery, EndOfQueryFunction, OverflowControl, ResultControl};
use super::schedule::{SCORE_TO_VALUE, score_stage};
use super::score::{FormatScoreUnit, ScoreUnit};
use super::shared_lane::SharedLaneGroup;
use super::shared_softmax::SharedSoftmax;
use super::softmax::Softmax;
use super::special::AnySpecial;
use super::{Core, CorePorts};
use crate::config::CoreConfig;
use crate::numerics::Numerics;
use crate::rtl::{Bus, EnabledRegister, In, Logic, Out, Register, ResetRegister, Tag, ast, hdl_gen, logic};
use std::sync::Arc;

attention_core! {
    /// FlashAttention-2: one exponential, one multiplier a lane.
    Fa2Core { ScoreUnit, Softmax, Fa2LaneGroup }
    weight(n) = Softmax::new(n, FactorForm::Format);
    early = true;
    scalars: [update, e, moved, load, r, right];
    finish: finish finish_q in flags after 1, weight;
    partial: restore after 0, state_o o_state: n.accumulator.width(),
        state [
            state_m o_m o_m_q maximum_count if true; n.score_bits(), 4,
            state_l o_l o_l_q sum_count if true; n.sum_bits(), 2
        ];
    doc = "FlashAttention-2 attention core: running maximum, running sum, division by reciprocal; one key a cycle.";
}

attention_core! {
    /// FlashAttention-2 whose lane multiplier also does the final scale.
    Fa2SharedCore { ScoreUnit, SharedSoftmax, SharedLaneGroup }
    weight(n) = SharedSoftmax::new(n, FactorForm::Shift(n.factor_significand));
    early = true;
    scalars: [update, take, e, moved, load];
    finish: finish finish_q in flags after 1, weight;
    partial: restore after 0, state_o o_state: n.accumulator.width(),
        state [
            state_m o_m o_m_q maximum_count if true; n.score_bits(), 4,
            state_l o_l o_l_q sum_count if true; n.sum_bits(), 2
        ];
    doc = "FlashAttention-2 attention core: one multiplier a lane for update and final scale; one key a cycle.";
}

attention_core! {
    /// FlashAttention-2 in fixed point, relative to the maximum.
    Fa2FixedCore { ScoreUnit, MaximumReference, Fa2FixedLaneGroup }
    weight(n) = MaximumReference::new(n);
    early = true;
    scalars: [update, e, delta, load, r, right];
    finish: finish finish_q in flags after 1, weight;
    fixed: v_exponent v_exponent_q value_exponent result_exponent(1),
        outside any_outside or overflow after 1, outside_q, any_outside_q overflow o_overflow;
    doc = "FlashAttention-2 attention core in fixed point, relative to the maximum; one key a cycle.";
}

attention_core! {
    /// FlashAttention-2 in fixed point, relative to the running sum's exponent.
    Fa2LogReferenceCore { ScoreUnit, LogReference, Fa2FixedLaneGroup }
    weight(n) = LogReference::new(n);
    early = true;
    scalars: [update, e, delta, load, r, right];
    finish: finish finish_q in flags after 1, weight;
    fixed: v_exponent v_exponent_q value_exponent result_exponent(1),
        outside any_outside, any_outside_q overflow o_overflow;
    doc = "FlashAttention-2 attention core in fixed point, relative to the sum's exponent; one key a cycle.";
}

attention_core! {
    /// FlashAttention-2 as the paper draws it.
    Fa2LiteralCore { FormatScoreUnit, LiteralSoftmax, LiteralLaneGroup }
    weight(n) = LiteralSoftmax::new(n);
    early = true;
    scalars: [update, c, e, load, r];
    finish: finish finish_q in flags after 1, weight;
    doc = "FlashAttention-2 attention core as the paper draws it: two exponentials, two multipliers a lane.";
}
