//! The literal variant's maximum and two exponentials, everything in the format.

use super::inside::{Inside, Quantity};
use crate::arith::exp::{exp_unit, reciprocal_unit};
use crate::numerics::Numerics;
use crate::rtl::{Bus, EnabledRegister, In, Logic, Out, Register, ResetRegister, Tag, ast, hdl_gen, logic};
use crate::units::{Mixed, Operation};
use crate::{circuit, function, unit};
use std::sync::Arc;

function! {
    /// An exponential in the format, or 1 for a first key.
    pub struct LiteralExpFunction { numerics: Arc<Numerics> }
    name(this) = format!("{}_exp_or_one", this.numerics.format.ident());
    doc = format!("y = first ? 1 : exp(x), x <= 0, {} PWL segments.", this.numerics.exp.exp.segments);
    inputs { x: this.numerics.format.width(), first: 1 }
    outputs { y: this.numerics.format.width() }
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
    outputs { y: this.numerics.format.width() }
    eval<W> { [first.select(&a, &b)] }
}
unit! {
    /// `first ? a : b`.
    pub struct FirstSelect(FirstSelectFunction) { first, a, b } -> { y }
}

function! {
    /// `1 / l` in the format.
    pub struct ReciprocalFunction { numerics: Arc<Numerics> }
    name(this) = format!("{}_reciprocal_finite", this.numerics.format.ident());
    doc = "y = 1 / sum; the unit rests unless the sum is final.";
    inputs { sum: this.numerics.format.width(), finish: 1 }
    outputs { y: this.numerics.format.width() }
    eval<W> {
        let fmt = this.numerics.format;
        let sum = finish.repeat(fmt.width()).and(&sum).named("final_sum");
        [reciprocal_unit(&this.numerics.reciprocal, fmt, &sum)]
    }
}
unit! {
    /// `1 / l` in the format.
    pub struct Reciprocal(ReciprocalFunction) { sum, finish } -> { y }
}

circuit! {
    /// The running sum in the format and its reciprocal.
    pub struct LiteralSum {
        ports {
            /// Clock.
            clk: Bus<In>,
            /// A step updates.
            update: Bus<In>,
            /// It is a first key.
            first: Bus<In>,
            /// `exp(m_old - m)`.
            c: Bus<In>,
            /// `exp(s - m)`.
            e: Bus<In>,
            /// The sum is final.
            finish: Bus<In>,
            /// Its reciprocal.
            r: Bus<Out>,
        }
        parts {
            /// l.
            sum_q: EnabledRegister,
            /// `l c`.
            scaled: Mixed,
            /// `l c + e`.
            total: Mixed,
            /// First key or sum.
            select: FirstSelect,
            /// 1 / l.
            reciprocal: Reciprocal,
        }
        config {}
    }
}

impl LiteralSum {
    /// The unit for a configuration.
    pub fn new(n: &Arc<Numerics>) -> Self {
        let (fmt, width) = (n.format, n.format.width());
        LiteralSum {
            tag: Tag::module(format!("{}_literal_sum", fmt.ident()), "l <- l * c + e, and its reciprocal."),
            unrest: Default::default(),
            clk: Bus::new(1),
            update: Bus::new(1),
            first: Bus::new(1),
            c: Bus::new(width),
            e: Bus::new(width),
            finish: Bus::new(1),
            r: Bus::new(width),
            sum_q: EnabledRegister::new(width),
            scaled: Mixed::uniform(Operation::Mul, fmt),
            total: Mixed::uniform(Operation::Add, fmt),
            select: FirstSelect::new(FirstSelectFunction { numerics: n.clone() }),
            reciprocal: Reciprocal::new(ReciprocalFunction { numerics: n.clone() }),
        }
    }
}

impl Logic for LiteralSum {
    #[hdl_gen]
    fn update(&mut self) {
        self.scaled.a.next = self.sum_q.q.val();
        self.scaled.b.next = self.c.val();
        self.total.a.next = self.scaled.y.val();
        self.total.b.next = self.e.val();
        self.select.first.next = self.first.val();
        self.select.a.next = self.e.val();
        self.select.b.next = self.total.y.val();
        self.sum_q.clk.next = self.clk.val();
        self.sum_q.enable.next = self.update.val();
        self.sum_q.d.next = self.select.y.val();
        self.reciprocal.sum.next = self.sum_q.q.val();
        self.reciprocal.finish.next = self.finish.val();
        self.r.next = self.reciprocal.y.val();
    }
}

circuit! {
    /// The scalar path of the literal variant, everything in the format: maximum and two exponentials, sum, and
    /// its reciprocal.
    pub struct LiteralSoftmax {
        ports {
            /// Clock.
            clk: Bus<In>,
            /// Synchronous reset.
            rst: Bus<In>,
            /// Score, at the score stage.
            score: Bus<In>,
            /// A step is at the score stage.
            valid: Bus<In>,
            /// It is a first key.
            first: Bus<In>,
            /// The step at the value stage is its query's last.
            finish: Bus<In>,
            /// A step asks for its value.
            step: Bus<Out>,
            /// That step updates: it needs its value.
            reads: Bus<Out>,
            /// A step leaves for the lanes' registers.
            update: Bus<Out>,
            /// `exp(m_old - m)`.
            c: Bus<Out>,
            /// `exp(s - m)`.
            e: Bus<Out>,
            /// It is a first key.
            load: Bus<Out>,
            /// Reciprocal of the sum, in the cycle of `finish`.
            r: Bus<Out>,
        }
        parts {
            /// s, at the exponentials' stage.
            score_q: EnabledRegister,
            /// Exponentials' stage.
            valid_q: ResetRegister,
            /// Exponentials' stage.
            exp_first_q: Register,
            /// m.
            maximum_q: EnabledRegister,
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
            /// Sum's stage.
            c_q: EnabledRegister,
            /// Sum's stage.
            e_q: EnabledRegister,
            /// Sum's stage.
            first_q: Register,
            /// Sum's stage.
            step_q: ResetRegister,
            /// l and 1 / l.
            sum: LiteralSum,
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
                "m <- max(m_old, s); c = exp(m_old - m), e = exp(s - m); l <- l * c + e.",
            ),
            unrest: Default::default(),
            clk: Bus::new(1),
            rst: Bus::new(1),
            score: Bus::new(width),
            valid: Bus::new(1),
            first: Bus::new(1),
            finish: Bus::new(1),
            step: Bus::new(1),
            reads: Bus::new(1),
            update: Bus::new(1),
            c: Bus::new(width),
            e: Bus::new(width),
            load: Bus::new(1),
            r: Bus::new(width),
            score_q: EnabledRegister::new(width),
            valid_q: ResetRegister::new(1, 0),
            exp_first_q: Register::new(1),
            maximum_q: EnabledRegister::new(width),
            larger: Mixed::uniform(Operation::Max, fmt),
            maximum: FirstSelect::new(FirstSelectFunction { numerics: n.clone() }),
            old_difference: Mixed::uniform(Operation::Sub, fmt),
            new_difference: Mixed::uniform(Operation::Sub, fmt),
            old_exp: LiteralExp::new(LiteralExpFunction { numerics: n.clone() }),
            new_exp: LiteralExp::new(LiteralExpFunction { numerics: n.clone() }),
            c_q: EnabledRegister::new(width),
            e_q: EnabledRegister::new(width),
            first_q: Register::new(1),
            step_q: ResetRegister::new(1, 0),
            sum: LiteralSum::new(n),
        }
    }

    /// What is compared of a step.
    pub(super) fn inside(&self) -> Vec<Inside> {
        vec![
            Inside::new(Quantity::Argument, &self.new_difference.y),
            Inside::new(Quantity::Step, &self.step),
            Inside::new(Quantity::Weight, &self.e),
            Inside::new(Quantity::Load, &self.load),
            Inside::new(Quantity::Sum, &self.sum.sum_q.q),
            Inside::new(Quantity::Reciprocal, &self.sum.reciprocal.y),
        ]
    }
}

impl Logic for LiteralSoftmax {
    #[hdl_gen]
    fn update(&mut self) {
        self.score_q.clk.next = self.clk.val();
        self.score_q.enable.next = self.valid.val();
        self.score_q.d.next = self.score.val();
        self.valid_q.clk.next = self.clk.val();
        self.valid_q.rst.next = self.rst.val();
        self.valid_q.d.next = self.valid.val();
        self.exp_first_q.clk.next = self.clk.val();
        self.exp_first_q.d.next = self.first.val();
        self.larger.a.next = self.maximum_q.q.val();
        self.larger.b.next = self.score_q.q.val();
        self.maximum.first.next = self.exp_first_q.q.val();
        self.maximum.a.next = self.score_q.q.val();
        self.maximum.b.next = self.larger.y.val();
        self.maximum_q.clk.next = self.clk.val();
        self.maximum_q.enable.next = self.valid_q.q.val();
        self.maximum_q.d.next = self.maximum.y.val();
        self.old_difference.a.next = self.maximum_q.q.val();
        self.old_difference.b.next = self.maximum.y.val();
        self.new_difference.a.next = self.score_q.q.val();
        self.new_difference.b.next = self.maximum.y.val();
        self.old_exp.x.next = self.old_difference.y.val();
        self.old_exp.first.next = self.exp_first_q.q.val();
        self.new_exp.x.next = self.new_difference.y.val();
        self.new_exp.first.next = self.exp_first_q.q.val();
        self.c_q.clk.next = self.clk.val();
        self.c_q.enable.next = self.valid_q.q.val();
        self.c_q.d.next = self.old_exp.y.val();
        self.e_q.clk.next = self.clk.val();
        self.e_q.enable.next = self.valid_q.q.val();
        self.e_q.d.next = self.new_exp.y.val();
        self.first_q.clk.next = self.clk.val();
        self.first_q.d.next = self.exp_first_q.q.val();
        self.step_q.clk.next = self.clk.val();
        self.step_q.rst.next = self.rst.val();
        self.step_q.d.next = self.valid_q.q.val();
        self.sum.clk.next = self.clk.val();
        self.sum.update.next = self.step_q.q.val();
        self.sum.first.next = self.first_q.q.val();
        self.sum.c.next = self.c_q.q.val();
        self.sum.e.next = self.e_q.q.val();
        self.sum.finish.next = self.finish.val();
        self.r.next = self.sum.r.val();
        self.step.next = self.step_q.q.val();
        self.reads.next = self.step_q.q.val();
        self.update.next = self.step_q.q.val();
        self.c.next = self.c_q.q.val();
        self.e.next = self.e_q.q.val();
        self.load.next = self.first_q.q.val();
    }
}
