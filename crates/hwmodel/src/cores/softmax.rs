//! FA2's maximum, exponential and running sum.
//!
//! With `m = max(m_old, s)`, one of `c = exp(m_old - m)` and `e = exp(s - m)` is always exactly 1: a single
//! exponential `exp(-|s - m_old|)` and one bit that says whether the maximum moved carry both.

use crate::arith::exp::{argument, exp_unit, exp_weight};
use crate::arith::reciprocal::reciprocal;
use crate::arith::unpack;
use crate::numerics::Numerics;
use crate::rtl::{Bus, EnabledRegister, In, Logic, Out, ResetRegister, Tag, ast, hdl_gen, logic};
use crate::units::{Mixed, Operation, ScoreScale, ScoreScaleFunction, ScoreToFixed, ScoreToFixedFunction};
use crate::word::{index_bits, ones};
use crate::{circuit, function, unit};
use std::sync::Arc;

function! {
    /// The running maximum.
    pub struct ScoreMaximumFunction { numerics: Arc<Numerics> }
    name(this) = "score_maximum";
    doc = "maximum_next = max(score, maximum); distance = |score - maximum|; a first key sets the maximum.";
    inputs { score: this.numerics.score_bits(), maximum: this.numerics.score_bits(), first: 1 }
    outputs { this.numerics.score_bits(), 1, this.numerics.score_bits() }
    eval<W> {
        let bits = this.numerics.score_bits();
        let moved = maximum.slt(&score).named("maximum_moves");
        let difference = score.sext(bits + 1).sub(&maximum.sext(bits + 1)).named("difference");
        let distance = moved.select(&difference, &difference.negate());
        // Before a first key the maximum is whatever was there, in a simulator after power-up even unknown.
        let moves = first.not().and(&moved);
        [first.or(&moved).select(&score, &maximum), moves, distance.slice(0, bits)]
    }
}
unit! {
    /// The running maximum.
    pub struct ScoreMaximum(ScoreMaximumFunction) { score, maximum, first } -> { maximum_next, moved, distance }
}

function! {
    /// `exp(-|s - m|)` in the format.
    pub struct ExpWeightFunction { numerics: Arc<Numerics> }
    name(this) = format!("{}_exp_weight", this.numerics.format.ident());
    doc = format!(
        "e = exp(-distance), {} PWL segments; 1 for a first key.", this.numerics.exp.exp.segments
    );
    inputs { distance: this.numerics.score_bits(), first: 1 }
    outputs { this.numerics.format.width() }
    eval<W> {
        let n = &this.numerics;
        let t = argument(&n.exp, &distance, n.score_fraction);
        let e = exp_weight(&n.exp, n.format, &t).named("exponential");
        [first.select(&W::constant(n.format.width(), n.format.one()), &e)]
    }
}
unit! {
    /// `exp(-|s - m|)`.
    pub struct ExpWeight(ExpWeightFunction) { distance, first } -> { e }
}

function! {
    /// The running sum.
    pub struct SumNextFunction { numerics: Arc<Numerics> }
    name(this) = format!("{}_running_sum_next", this.numerics.format.ident());
    doc = "The maximum moved: sum * e + 1.  It stayed: sum + e.  First key: 1.  Saturating fixed point.";
    inputs { sum: this.numerics.sum_bits(), e: this.numerics.format.width(), moved: 1, first: 1 }
    outputs { this.numerics.sum_bits() }
    eval<W> {
        let n = &this.numerics;
        let (bits, fmt) = (n.sum_bits(), n.format);
        let one = W::constant(bits, 1 << n.state_fraction);
        let multiplicand = moved.select(&sum, &one).named("multiplicand");
        let addend = moved.select(&one, &sum).named("addend");
        // e = significand 2^-right, right = bias + F - exponent >= F because e <= 1.
        let u = unpack(fmt, &e, "e");
        let product = multiplicand.mul(&u.significand).named("product");
        let wide = fmt.exponent_bits + 1;
        let right = W::constant(wide, (fmt.bias as u64 + fmt.fraction_bits as u64 - 1) & ones(wide))
            .sub(&u.exponent.zext(wide))
            .named("right_less_one");
        let halves = product.shr(&right).named("scaled_halves");
        let scaled = halves.slice(0, bits + 2).add(&W::constant(bits + 2, 1)).drop_low(1).named("scaled");
        let total = addend.zext(bits + 1).add(&scaled).named("total");
        let saturated = total.msb().repeat(bits).or(&total.slice(0, bits)).named("saturated");
        [first.select(&one, &saturated)]
    }
}
unit! {
    /// The running sum.
    pub struct SumNext(SumNextFunction) { sum, e, moved, first } -> { sum_next }
}

function! {
    /// `1 / l` as a normalised reciprocal and a shift.
    pub struct SumReciprocalFunction { numerics: Arc<Numerics> }
    name(this) = format!("running_sum_reciprocal_{}", this.numerics.format.ident());
    doc = {
        let r = &this.numerics.reciprocal;
        format!(
            "1 / sum = r * 2^-right, r in (1/2, 1] with {} fraction bits: {} PWL segments, {} Newton steps.\nZero while not done, so that the scaling multipliers rest.",
            r.table.value_fraction, r.table.segments, r.newton_steps
        )
    };
    inputs { sum: this.numerics.sum_bits(), done: 1 }
    outputs { this.numerics.reciprocal.table.value_fraction + 1, right_bits() }
    eval<W> {
        let n = &this.numerics;
        let (bits, vr) = (n.sum_bits(), n.reciprocal.table.value_fraction);
        let (normalised, leading_zeros) = sum.normalise();
        let normalised = normalised.append_zeros((vr + 1).saturating_sub(bits)).named("normalised");
        let m = normalised.top(vr + 1).named("m");
        let r = reciprocal(&n.reciprocal, &m).named("reciprocal");
        // sum >= 1, so its leading one is at or above bit FL: right = 16 - leading zeros.
        let top = crate::numerics::SUM_INTEGER_BITS as u64 - 1;
        let wide = leading_zeros.width().max(right_bits());
        let right = W::constant(wide, top).sub(&leading_zeros.zext(wide));
        [done.repeat(vr + 1).and(&r), right.slice(0, right_bits())]
    }
}
unit! {
    /// `1 / l`.
    pub struct SumReciprocal(SumReciprocalFunction) { sum, done } -> { r, right }
}

/// Bits of the exponent of `l`, 0 to 16.
pub fn right_bits() -> u32 {
    index_bits(crate::numerics::SUM_INTEGER_BITS as usize)
}

circuit! {
    /// Maximum and exponential, at the score stage.
    pub struct Softmax {
        ports {
            /// Clock.
            clk: Bus<In>,
            /// Dot product.
            dot: Bus<In>,
            /// A step is at the score stage.
            valid: Bus<In>,
            /// It is a first key.
            first: Bus<In>,
            /// The exponential that is not 1.
            e: Bus<Out>,
            /// The maximum moved: e multiplies what was there.
            moved: Bus<Out>,
        }
        parts {
            /// m.
            maximum_q: EnabledRegister,
            /// s.
            score: ScoreToFixed,
            /// max(m, s).
            maximum: ScoreMaximum,
            /// exp(-|s - m|).
            exponential: ExpWeight,
        }
        config {}
    }
}

impl Softmax {
    /// The unit for a configuration.
    pub fn new(n: &Arc<Numerics>) -> Self {
        Softmax {
            tag: Tag::module(
                format!("{}_softmax", n.format.ident()),
                "m <- max(m, s); e = exp(-|s - m|) is the factor of the old state or of the new value.",
            ),
            quiet: false,
            clk: Bus::new(1),
            dot: Bus::new(n.format.width()),
            valid: Bus::new(1),
            first: Bus::new(1),
            e: Bus::new(n.format.width()),
            moved: Bus::new(1),
            maximum_q: EnabledRegister::new(n.score_bits()),
            score: ScoreToFixed::new(ScoreToFixedFunction { numerics: n.clone() }),
            maximum: ScoreMaximum::new(ScoreMaximumFunction { numerics: n.clone() }),
            exponential: ExpWeight::new(ExpWeightFunction { numerics: n.clone() }),
        }
    }
}

impl Logic for Softmax {
    #[hdl_gen]
    fn update(&mut self) {
        self.score.dot.next = self.dot.val();
        self.maximum.score.next = self.score.score.val();
        self.maximum.maximum.next = self.maximum_q.q.val();
        self.maximum.first.next = self.first.val();
        self.maximum_q.clk.next = self.clk.val();
        self.maximum_q.enable.next = self.valid.val();
        self.maximum_q.d.next = self.maximum.maximum_next.val();
        self.exponential.distance.next = self.maximum.distance.val();
        self.exponential.first.next = self.first.val();
        self.e.next = self.exponential.e.val();
        self.moved.next = self.maximum.moved.val();
    }
}

circuit! {
    /// The running sum, at the value stage, and its reciprocal one cycle later.
    pub struct RunningSum {
        ports {
            /// Clock.
            clk: Bus<In>,
            /// Synchronous reset.
            rst: Bus<In>,
            /// A step is at the score stage.
            valid: Bus<In>,
            /// It is a first key.
            first: Bus<In>,
            /// Its exponential.
            e: Bus<In>,
            /// The maximum moved.
            moved: Bus<In>,
            /// The sum is a query's final one.
            done: Bus<In>,
            /// Normalised reciprocal of the sum; zero unless done.
            r: Bus<Out>,
            /// The sum's exponent.
            right: Bus<Out>,
        }
        parts {
            /// Value stage.
            e_q: EnabledRegister,
            /// Value stage.
            moved_q: EnabledRegister,
            /// Value stage.
            first_q: EnabledRegister,
            /// Value stage.
            step_q: ResetRegister,
            /// l.
            sum_q: EnabledRegister,
            /// Next l.
            sum: SumNext,
            /// 1 / l.
            reciprocal: SumReciprocal,
        }
        config {}
    }
}

impl RunningSum {
    /// The unit for a configuration.
    pub fn new(n: &Arc<Numerics>) -> Self {
        RunningSum {
            tag: Tag::module(
                format!("{}_running_sum", n.format.ident()),
                "l <- moved ? l * e + 1 : l + e, and the reciprocal of l for the final scale.",
            ),
            quiet: false,
            clk: Bus::new(1),
            rst: Bus::new(1),
            valid: Bus::new(1),
            first: Bus::new(1),
            e: Bus::new(n.format.width()),
            moved: Bus::new(1),
            done: Bus::new(1),
            r: Bus::new(n.reciprocal.table.value_fraction + 1),
            right: Bus::new(right_bits()),
            e_q: EnabledRegister::new(n.format.width()),
            moved_q: EnabledRegister::new(1),
            first_q: EnabledRegister::new(1),
            step_q: ResetRegister::new(1, 0),
            sum_q: EnabledRegister::new(n.sum_bits()),
            sum: SumNext::new(SumNextFunction { numerics: n.clone() }),
            reciprocal: SumReciprocal::new(SumReciprocalFunction { numerics: n.clone() }),
        }
    }
}

impl Logic for RunningSum {
    #[hdl_gen]
    fn update(&mut self) {
        self.e_q.clk.next = self.clk.val();
        self.e_q.enable.next = self.valid.val();
        self.e_q.d.next = self.e.val();
        self.moved_q.clk.next = self.clk.val();
        self.moved_q.enable.next = self.valid.val();
        self.moved_q.d.next = self.moved.val();
        self.first_q.clk.next = self.clk.val();
        self.first_q.enable.next = self.valid.val();
        self.first_q.d.next = self.first.val();
        self.step_q.clk.next = self.clk.val();
        self.step_q.rst.next = self.rst.val();
        self.step_q.d.next = self.valid.val();
        self.sum.sum.next = self.sum_q.q.val();
        self.sum.e.next = self.e_q.q.val();
        self.sum.moved.next = self.moved_q.q.val();
        self.sum.first.next = self.first_q.q.val();
        self.sum_q.clk.next = self.clk.val();
        self.sum_q.enable.next = self.step_q.q.val();
        self.sum_q.d.next = self.sum.sum_next.val();
        self.reciprocal.sum.next = self.sum_q.q.val();
        self.reciprocal.done.next = self.done.val();
        self.r.next = self.reciprocal.r.val();
        self.right.next = self.reciprocal.right.val();
    }
}

function! {
    /// An exponential in the format, or 1 for a first key.
    pub struct LiteralExpFunction { numerics: Arc<Numerics> }
    name(this) = format!("{}_exp_or_one", this.numerics.format.ident());
    doc = format!("y = first ? 1 : exp(x), x <= 0, {} PWL segments.", this.numerics.exp.exp.segments);
    inputs { x: this.numerics.format.width(), first: 1 }
    outputs { this.numerics.format.width() }
    eval<W> {
        let n = &this.numerics;
        let e = exp_unit(&n.exp, n.format, &x).named("exponential");
        [first.select(&W::constant(n.format.width(), n.format.one()), &e)]
    }
}
unit! {
    /// An exponential in the format.
    pub struct LiteralExp(LiteralExpFunction) { x, first } -> { y }
}

function! {
    /// `first ? a : b`.
    pub struct FirstSelectFunction { numerics: Arc<Numerics> }
    name(this) = format!("{}_first_select", this.numerics.format.ident());
    doc = "y = first ? a : b.";
    inputs { first: 1, a: this.numerics.format.width(), b: this.numerics.format.width() }
    outputs { this.numerics.format.width() }
    eval<W> { [first.select(&a, &b)] }
}
unit! {
    /// `first ? a : b`.
    pub struct FirstSelect(FirstSelectFunction) { first, a, b } -> { y }
}

circuit! {
    /// The literal variant's maximum and two exponentials, everything in the format.
    pub struct LiteralSoftmax {
        ports {
            /// Clock.
            clk: Bus<In>,
            /// Dot product.
            dot: Bus<In>,
            /// A step is at the score stage.
            valid: Bus<In>,
            /// It is a first key.
            first: Bus<In>,
            /// `exp(m_old - m)`.
            c: Bus<Out>,
            /// `exp(s - m)`.
            e: Bus<Out>,
        }
        parts {
            /// m.
            maximum_q: EnabledRegister,
            /// s.
            score: ScoreScale,
            /// max(m_old, s).
            larger: Mixed,
            /// m.
            maximum: FirstSelect,
            /// `m_old - m`.
            old_difference: Mixed,
            /// `s - m`.
            new_difference: Mixed,
            /// c.
            old_exp: LiteralExp,
            /// e.
            new_exp: LiteralExp,
        }
        config {}
    }
}

impl LiteralSoftmax {
    /// The unit for a configuration.
    pub fn new(n: &Arc<Numerics>) -> Self {
        let (fmt, width) = (n.format, n.format.width());
        LiteralSoftmax {
            tag: Tag::module(
                format!("{}_literal_softmax", fmt.ident()),
                "m <- max(m_old, s); c = exp(m_old - m), e = exp(s - m).",
            ),
            quiet: false,
            clk: Bus::new(1),
            dot: Bus::new(width),
            valid: Bus::new(1),
            first: Bus::new(1),
            c: Bus::new(width),
            e: Bus::new(width),
            maximum_q: EnabledRegister::new(width),
            score: ScoreScale::new(ScoreScaleFunction { numerics: n.clone() }),
            larger: Mixed::uniform(Operation::Max, fmt),
            maximum: FirstSelect::new(FirstSelectFunction { numerics: n.clone() }),
            old_difference: Mixed::uniform(Operation::Sub, fmt),
            new_difference: Mixed::uniform(Operation::Sub, fmt),
            old_exp: LiteralExp::new(LiteralExpFunction { numerics: n.clone() }),
            new_exp: LiteralExp::new(LiteralExpFunction { numerics: n.clone() }),
        }
    }
}

impl Logic for LiteralSoftmax {
    #[hdl_gen]
    fn update(&mut self) {
        self.score.dot.next = self.dot.val();
        self.larger.a.next = self.maximum_q.q.val();
        self.larger.b.next = self.score.score.val();
        self.maximum.first.next = self.first.val();
        self.maximum.a.next = self.score.score.val();
        self.maximum.b.next = self.larger.y.val();
        self.maximum_q.clk.next = self.clk.val();
        self.maximum_q.enable.next = self.valid.val();
        self.maximum_q.d.next = self.maximum.y.val();
        self.old_difference.a.next = self.maximum_q.q.val();
        self.old_difference.b.next = self.maximum.y.val();
        self.new_difference.a.next = self.score.score.val();
        self.new_difference.b.next = self.maximum.y.val();
        self.old_exp.x.next = self.old_difference.y.val();
        self.old_exp.first.next = self.first.val();
        self.new_exp.x.next = self.new_difference.y.val();
        self.new_exp.first.next = self.first.val();
        self.c.next = self.old_exp.y.val();
        self.e.next = self.new_exp.y.val();
    }
}
