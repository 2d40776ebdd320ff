//! The functions of a step of FLASH-D's weight unit ([`super::weight`]): the next x, the hold decision and the weight.

use super::fixed_lane::threshold_bits;
use crate::arith::exp::{log2p1_tail, octaves, sigmoid_tail};
use crate::arith::fixed::clamp;
use crate::arith::prefix::prefix_sum;
use crate::attention::factor::{FactorForm, table_factor};
use crate::function;
use crate::word::ones;
use flashd_spec::numerics::Numerics;
use std::sync::Arc;

function! {
    /// The next x without the table's term: `s - s_previous + min(x, 0)`, in the state's fraction.
    pub struct ScoreStepFunction { numerics: Arc<Numerics> }
    name(this) = "score_step";
    doc = "base = first ? 0 : score - previous + min(x, 0), scores aligned to the state's fraction.";
    inputs {
        score: this.numerics.score_bits(), previous: this.numerics.score_bits(), x: this.numerics.state_bits() + 1,
        first: 1
    }
    outputs { base: this.numerics.state_bits() + 1 }
    eval<W> {
        let n = &this.numerics;
        let wide = n.state_bits() + 1;
        let narrow = score.width() + 1;
        let step = score.sext(narrow).sub(&previous.sext(narrow)).named("step");
        let aligned = step.append_zeros(n.state_fraction - n.score_fraction);
        let negative_x = x.msb().repeat(wide).and(&x).named("negative_x");
        let base = aligned.sext(wide).add(&negative_x).named("sum");
        [first.not().repeat(wide).and(&base)]
    }
}

function! {
    /// Sign of x, and `|x|` cut to the tables' fraction and clamped.
    pub struct ExpArgumentFunction { numerics: Arc<Numerics> }
    name(this) = "exp_argument";
    doc = "t = |x|, cut to the tables' fraction (one's complement) and clamped where 2^-t has vanished;\nnegative = x < 0.";
    inputs { x: this.numerics.state_bits() + 1 }
    outputs { t: this.numerics.octave_argument_bits(), negative: 1 }
    eval<W> {
        let n = &this.numerics;
        // One's complement: |x| less one unit of the state where x is negative. That is far below the table's error
        // and keeps a carry chain out of the loop. Zero stays zero.
        let b = n.exp.value_fraction;
        let low = n.state_fraction.saturating_sub(b);
        let kept = x.slice(low, x.width() - 1 - low);
        let magnitude = kept.xor(&x.msb().repeat(kept.width())).named("magnitude");
        let aligned = magnitude.append_zeros(b.saturating_sub(n.state_fraction));
        [clamp(&aligned.zext(aligned.width().max(n.octave_argument_bits())), n.octave_argument_bits()), x.msb()]
    }
}

function! {
    /// The hold decision: whether a step updates o, and whether L grows.
    pub struct HoldDecisionFunction { numerics: Arc<Numerics> }
    name(this) = "hold_decision";
    doc = match (this.numerics.hold_threshold, &this.numerics.budget) {
        (Some(t), _) => format!(
            "update = valid and not (x <= -{}); a first key always updates. grows: L exceeds max(s, L).",
            t as f64 / (this.numerics.score_fraction as f64).exp2()
        ),
        (None, Some(_)) => {
            "update = valid and x, which tells that x is above the budget's limit; a first key always updates.\ngrows: L exceeds max(s, L).".to_string()
        }
        (None, None) => "update = valid; grows: L exceeds max(s, L), but for a first key.".to_string(),
    };
    inputs { x: this.numerics.hold_bits(), first: 1, valid: 1 }
    outputs { update: 1, grows: 1 }
    eval<W> {
        let n = &this.numerics;
        let above = match (n.hold_threshold, &n.budget) {
            (None, None) => return [valid, first.not()],
            (None, Some(_)) => x,
            (Some(threshold), _) => {
                let threshold = threshold << (n.state_fraction - n.score_fraction);
                // x <= -T  <=>  x < -T + 1 unit.
                let limit = W::constant(x.width(), (1u64.wrapping_sub(threshold)) & ones(x.width()));
                x.slt(&limit).not().named("above_threshold")
            }
        };
        [valid.and(&first.or(&above)), first.not().and(&above)]
    }
}

function! {
    /// The threshold by which fixed-point lanes round their differences.
    pub struct ThresholdFunction { numerics: Arc<Numerics> }
    name(this) = format!("threshold_{}", threshold_bits(&this.numerics));
    doc = "threshold = the lowest bits of x; 0 for a first key.";
    inputs { x: this.numerics.state_bits() + 1, first: 1 }
    outputs { threshold: threshold_bits(&this.numerics) }
    eval<W> {
        let bits = threshold_bits(&this.numerics);
        [first.not().repeat(bits).and(&x.slice(0, bits))]
    }
}

function! {
    /// `log2(1 + 2^-t)` with one fraction bit more than the state, for rounding.
    pub struct Log2p1TailFunction { numerics: Arc<Numerics> }
    name(this) = format!("log2p1_tail_{}", this.numerics.exp.log2p1.segments);
    doc = format!(
        "tail = log2(1 + 2^-t), {} PWL segments per octave of 2^-t.", this.numerics.exp.log2p1.segments
    );
    inputs { t: this.numerics.octave_argument_bits() }
    outputs { tail: this.numerics.state_fraction + 2 }
    eval<W> {
        let n = &this.numerics;
        let tail = log2p1_tail(&n.exp, &octaves(&n.exp, &t), n.state_fraction + 1);
        // At most 1: one integer bit suffices.
        [tail.zext(tail.width().max(n.state_fraction + 2)).slice(0, n.state_fraction + 2)]
    }
}

function! {
    /// The next x: `base - log2(1 + 2^-|x|)`, the table's term left out where L does not grow; 0 for a first key.
    pub struct ScoreDifferenceFunction { numerics: Arc<Numerics> }
    name(this) = "score_difference";
    doc = "x_next = base - (grows and not first ? tail : 0), L rounded half up; 0 for a first key.";
    inputs {
        base: this.numerics.state_bits() + 1, tail: this.numerics.state_fraction + 2, grows: 1, first: 1
    }
    outputs { x_next: this.numerics.state_bits() + 1 }
    eval<W> {
        let gain = grows.and(&first.not()).repeat(tail.width()).and(&tail).named("gain");
        // base - floor((gain + 1) / 2) = base + not (gain / 2) + (1 - gain mod 2). The table's term comes last in the loop over keys.
        // Above it both outcomes are there before it comes, and its carry chooses.
        let subtrahend = gain.drop_low(1).not().named("subtrahend");
        let (width, carry) = (subtrahend.width(), gain.slice(0, 1).not().named("carry"));
        let wide = |x: &W, name| x.concat(&carry).zext(width + 2).named(name);
        let lower = wide(&base.slice(0, width), "lower_halves");
        let halves = prefix_sum(&lower, &wide(&subtrahend, "subtrahend_halves")).named("halves");
        let upper = base.drop_low(width);
        let less_one = upper.sub(&W::constant(upper.width(), 1)).named("upper_less_one");
        let upper = halves.msb().select(&upper, &less_one).named("upper");
        [upper.concat(&halves.slice(1, width))]
    }
}

function! {
    /// The weight, to which (6), (7) and (8) lead, (9), in base 2, as the smaller one of `w` and `1 - w`.
    pub struct SigmoidWeightFunction { numerics: Arc<Numerics>, form: FactorForm }
    name(this) = format!("sigmoid_weight_{}", this.form.suffix(&this.numerics));
    doc = match this.form {
        FactorForm::Format => {
            "w = 1 / (1 + 2^t): the weight itself below 1/2, one minus the weight above; 0 for a first key."
                .to_string()
        }
        FactorForm::Shift(bits) => format!(
            "w = {{right, m}}: 1 / (1 + 2^t) = m * 2^-({} + right), the weight itself below 1/2, one minus the\nweight above; 0 for a first key.",
            bits - 1
        ),
    };
    inputs { t: this.numerics.octave_argument_bits(), first: 1 }
    outputs { w: this.form.bits(&this.numerics) }
    eval<W> {
        let n = &this.numerics;
        let sigmoid = match this.form {
            FactorForm::Format => sigmoid_tail(&n.exp, n.weight, &octaves(&n.exp, &t)),
            FactorForm::Shift(bits) => {
                let (m, right) = table_factor(n, &n.exp.sigmoid, &t, bits);
                right.concat(&m)
            }
        };
        let sigmoid = sigmoid.named("sigmoid");
        [first.not().repeat(sigmoid.width()).and(&sigmoid)]
    }
}

function! {
    /// Whether the factor is `1 - w` and the update starts from v.
    pub struct UpperFunction {}
    name(this) = "weight_side";
    doc = "upper: the weight is above 1/2, so that 1 - w scales the old output; always for a first key.";
    inputs { negative: 1, first: 1 }
    outputs { upper: 1 }
    eval<W> { [first.or(&negative.not())] }
}
