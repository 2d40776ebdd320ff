//! Which bus carries what: the ends of paths below the core, as [`super::key`] writes them. The first row that fits
//! decides.

/// The quantity on a bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::wave) enum Quantity {
    /// A float of the queries' format: any bus of its width without a row.
    Port,
    /// A float of the keys' format.
    Key,
    /// A float of the values' format.
    PortValue,
    /// A float of the results' format.
    Result,
    /// A value in a float lane.
    Value,
    /// A weight or exponential that is rounded to a format.
    Weight,
    /// The float lanes' accumulator.
    Accumulator,
    /// A float lane's difference or product.
    Inner,
    /// A term or a sum of the fused dot product.
    Term,
    /// The score before it is turned into base 2.
    Natural,
    /// The score, or FA2's maximum, in log2 units.
    Score,
    /// The bias of a score, natural units.
    Bias,
    /// Distance of score and maximum, in log2 units.
    Distance,
    /// Distance of score and fixed FA2's reference, in log2 units.
    Tau,
    /// Fixed FA2's reference, in log2 units.
    Reference,
    /// The same with the fraction of the first score.
    FineReference,
    /// `x = s - L`, in log2 units.
    Difference,
    /// `t = |x|`, in log2 units.
    Argument,
    /// `log2(1 + 2^-t)`.
    Tail,
    /// The rest of the hold rule's budget, as a fraction of all of it.
    Room,
    /// The limit of `-floor(x) - 1`, in log2 units.
    Limit,
    /// FA2's running sum l.
    Sum,
    /// Normalised reciprocal of l.
    Reciprocal,
    /// Exponent of l.
    SumExponent,
    /// The lanes' factor as significand and right shift.
    Factor,
    /// The same as FLASH-D's fixed-point lanes get it, its shift less one.
    LaneFactor,
    /// A fixed-point lane's value.
    FixedValue,
    /// A fixed-point lane's accumulator.
    FixedAccumulator,
    /// An exponent field or the amount of a lane's shift: read best as bits.
    Bits,
}

use Quantity::*;

/// End of a path, and the quantity on its bus.
pub(in crate::wave) type Row = (&'static str, Quantity);

/// The fused dot product.
pub(in crate::wave) const FUSED_DOT: &[Row] = &[
    ("term.x", Term),
    ("fused.x_q", Term),
    ("tree.x", Term),
    ("tree.y", Term),
    ("tree.sum.x", Term),
    ("tree.sum.y", Term),
    ("tree.last.x", Term),
    ("tree.last.y", Term),
    ("tree.sum_q", Term),
    ("late_total.x", Term),
    ("late_total.y", Term),
    ("late_total.stage_q", Term),
    ("total", Term),
];

/// Scores in fixed point.
pub(in crate::wave) const SCORE: &[Row] = &[
    ("natural", Natural),
    ("score", Score),
    ("score_q", Score),
    ("k_bias", Bias),
    ("capped", Score),
    ("late_score.x", Score),
    ("late_score.y", Score),
    ("late_score.stage_q", Score),
    ("bias.bias", Score),
    ("biased.bias", Score),
    ("sum.bias", Score),
    ("biased", Score),
    ("late_bias.x", Score),
    ("late_bias.y", Score),
    ("late_bias.stage_q", Score),
];

/// FLASH-D's log-sum-exp weight unit.
pub(in crate::wave) const LSE: &[Row] = &[
    ("previous_q", Score),
    ("previous", Score),
    ("weight.base.base", Difference),
    ("weight.difference.base", Difference),
    ("x_next", Difference),
    ("weight.x_q", Difference),
    ("weight.base.x", Difference),
    ("updates.x", Difference),
    ("argument.x", Difference),
    ("t", Argument),
    ("tail", Tail),
];

/// The budget of FLASH-D's hold rule.
pub(in crate::wave) const BUDGET: &[Row] = &[
    ("room_q", Room),
    ("next.room", Room),
    ("room_next", Room),
    ("limit_q", Limit),
    ("next.limit", Limit),
    ("limit_next", Limit),
    ("budget.x", Difference),
    ("next.x", Difference),
];

/// FLASH-D's factor where it is not rounded to the format.
pub(in crate::wave) const WEIGHT_FACTOR: &[Row] =
    &[("w", Factor), ("w.x", Factor), ("w.y", Factor), ("w_q", Factor)];

/// The same as its group makes it for fixed-point lanes, and they get it.
pub(in crate::wave) const LANE_FACTOR: &[Row] = &[
    ("factor.y", LaneFactor),
    ("group.w_q", LaneFactor),
    ("lane.w", LaneFactor),
    ("lane.step.w", LaneFactor),
    ("threshold", Bits),
    ("threshold.x", Bits),
    ("threshold.y", Bits),
    ("threshold_q", Bits),
    ("lane.dither.o", Bits),
];

/// FLASH-D's weight rounded to a format.
pub(in crate::wave) const WEIGHT: &[Row] =
    &[("w", Weight), ("w.x", Weight), ("w.y", Weight), ("w_q", Weight)];

/// FA2's exponential rounded to a format.
pub(in crate::wave) const EXPONENTIAL: &[Row] =
    &[("e", Weight), ("e.x", Weight), ("e.y", Weight), ("e_q", Weight), ("lane.product.b", Weight)];

/// FA2's maximum.
pub(in crate::wave) const MAXIMUM: &[Row] = &[
    ("maximum_q", Score),
    ("maximum.maximum", Score),
    ("maximum_next", Score),
    ("distance", Distance),
    ("distance_q", Distance),
];

/// FA2's references.
pub(in crate::wave) const REFERENCE: &[Row] = &[
    ("reference_q", Reference),
    ("reference", Reference),
    ("reference_next", Reference),
    ("tau", Tau),
    ("delta", Bits),
    ("delta.x", Bits),
    ("delta.y", Bits),
    ("delta_q", Bits),
];

/// FA2's running sum and its reciprocal.
pub(in crate::wave) const SUM: &[Row] = &[
    ("weight.sum_q", Sum),
    ("sum.sum_q", Sum),
    ("sum.sum", Sum),
    ("sum_next", Sum),
    ("decide.sum", Sum),
    ("final_sum_q", Sum),
    ("reciprocal.sum", Sum),
    ("r", Reciprocal),
    ("r.x", Reciprocal),
    ("r.y", Reciprocal),
    ("r_q", Reciprocal),
    ("right", SumExponent),
    ("right.x", SumExponent),
    ("right.y", SumExponent),
    ("right_q", SumExponent),
];

/// FA2's factor where it is not rounded to the format.
pub(in crate::wave) const EXPONENTIAL_FACTOR: &[Row] =
    &[("e", Factor), ("e.x", Factor), ("e.y", Factor), ("e_q", Factor), ("factor", Factor)];

/// Every float lane.
pub(in crate::wave) const FLOAT_LANE: &[Row] = &[
    ("lane.value.y", Value),
    ("lane.select.v", Value),
    ("lane.o_q", Accumulator),
    ("lane.sum.a", Accumulator),
    ("lane.sum.b", Inner),
    ("lane.sum.y", Accumulator),
    ("lane.narrow.a", Accumulator),
    ("lane.select.sum", Accumulator),
    ("lane.select.o_next", Accumulator),
];

/// FLASH-D's lanes with every operation rounded.
pub(in crate::wave) const ROUNDED_LANE: &[Row] = &[
    ("lane.old.o", Accumulator),
    ("o_before", Accumulator),
    ("lane.difference.a", Value),
    ("lane.difference.b", Accumulator),
    ("lane.side.v", Value),
    ("lane.product.a", Weight),
    ("lane.difference.y", Inner),
    ("lane.side.difference", Inner),
    ("lane.side.o", Accumulator),
    ("lane.side.way", Inner),
    ("lane.side.base", Accumulator),
    ("lane.product.b", Inner),
    ("lane.product.y", Inner),
];

/// FA2's choice of operands and product; the default's scale.
pub(in crate::wave) const FA2_LANE: &[Row] = &[
    ("lane.operands.v", Value),
    ("lane.operands.o", Accumulator),
    ("lane.operands.multiplicand", Accumulator),
    ("lane.operands.addend", Accumulator),
    ("lane.product.a", Accumulator),
    ("lane.product.y", Inner),
    ("lane.scale.o", Accumulator),
];

/// The operand and the result of a multiplier that also scales.
pub(in crate::wave) const SHARED_LANE: &[Row] = &[
    ("lane.operand.o", Accumulator),
    ("lane.operand.multiplicand", Accumulator),
    ("lane.operand.y", Accumulator),
    ("lane.narrow.a", Inner),
];

/// The literal variant's products and scale.
pub(in crate::wave) const LITERAL_LANE: &[Row] = &[
    ("lane.old_product.a", Accumulator),
    ("lane.old_product.y", Accumulator),
    ("lane.new_product.y", Accumulator),
    ("lane.scale.a", Accumulator),
];

/// Lanes in fixed point, and the exponent that they are relative to.
pub(in crate::wave) const FIXED_LANE: &[Row] = &[
    ("lane.value.fixed", FixedValue),
    ("lane.value_q", FixedValue),
    ("lane.o_q", FixedAccumulator),
    ("lane.step.o", FixedAccumulator),
    ("lane.step.o_next", FixedAccumulator),
    ("lane.result.o", FixedAccumulator),
    ("lane.scale.o", FixedAccumulator),
    ("v_exponent", Bits),
    ("v_exponent_q", Bits),
    ("value_exponent.x", Bits),
    ("value_exponent.y", Bits),
    ("value_exponent.stage_q", Bits),
    ("result_exponent.x", Bits),
    ("result_exponent.y", Bits),
    ("result_exponent.stage_q", Bits),
    ("group.x", Bits),
    ("x_q", Bits),
    ("result_x", Bits),
    ("result_x_q", Bits),
    ("lane.x", Bits),
    ("lane.value.x", Bits),
    ("lane.step.x", Bits),
    ("lane.result.x", Bits),
    ("lane.scale.x", Bits),
];

/// Fixed-point lanes with an exponent each.
pub(in crate::wave) const RANGED_LANE: &[Row] = &[
    ("lane.value.fixed", FixedValue),
    ("lane.value_q", FixedValue),
    ("lane.align.o", FixedAccumulator),
    ("lane.align.y", FixedAccumulator),
    ("lane.o_q", FixedAccumulator),
    ("lane.step.o", FixedAccumulator),
    ("lane.step.o_next", FixedAccumulator),
    ("lane.result.o", FixedAccumulator),
    ("lane.ahead_q", Bits),
    ("lane.e_q", Bits),
    ("lane.right_q", Bits),
    ("lane.value.e", Bits),
    ("lane.value.x", Bits),
    ("lane.value.right", Bits),
    ("lane.align.right", Bits),
    ("lane.result.x", Bits),
];

/// FLASH-D's fixed-point value at the update; FA2's is a float.
pub(in crate::wave) const FIXED_OPERAND: &[Row] = &[("lane.step.v", FixedValue)];

/// Keys, values and results at ports and on the ways from and to them.
pub(in crate::wave) const PORTS: &[Row] = &[
    ("k", Key),
    ("term.b", Key),
    ("k_special.x", Key),
    ("v", PortValue),
    ("lane.value.a", PortValue),
    ("v_special.x", PortValue),
    ("o", Result),
    ("lane.result_q", Result),
    ("lane.narrow.y", Result),
    ("lane.scale.y", Result),
    ("lane.result.y", Result),
];
