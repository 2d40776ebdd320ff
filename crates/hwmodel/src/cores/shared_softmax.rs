//! FA2's scalar path for lanes whose multiplier also does the final scale.

use super::factor::FactorForm;
use super::factor::significand_and_right;
use super::inside::Inside;
use super::softmax::Softmax;
use super::sum::sum_exponent_bits;
use crate::numerics::Numerics;
use crate::rtl::{Bus, In, Logic, Out, Tag, ast, hdl_gen, logic};
use crate::{circuit, function, unit};
use std::sync::Arc;

function! {
    /// The factor of lanes whose multiplier also does the final scale.
    pub struct SharedFactorFunction { numerics: Arc<Numerics>, form: FactorForm }
    name(this) = format!("shared_factor_{}", this.form.suffix(&this.numerics));
    doc = "factor = finish ? r * 2^-right : e, as {right, m}; the next step of a finished query's lanes is a first\nkey or none, which needs no factor.";
    inputs {
        r: this.numerics.reciprocal.table.value_fraction + 1, right: sum_exponent_bits(),
        e: this.form.bits(&this.numerics), finish: 1, update: 1
    }
    outputs { factor: this.form.bits(&this.numerics), take: 1 }
    eval<W> {
        let bits = this.form.bits(&this.numerics);
        let m = this.form.significand(&this.numerics);
        // l is at least 1 here, so its exponent is not negative.
        let octave = right.slice(0, right.width() - 1);
        let (scale, right) = significand_and_right(&r, &octave, m, bits - m);
        [finish.select(&right.concat(&scale), &e), finish.or(&update)]
    }
}
unit! {
    /// The factor of lanes whose multiplier also does the final scale.
    pub struct SharedFactor(SharedFactorFunction) { r, right, e, finish, update } -> { factor, take }
}

circuit! {
    /// [`Softmax`] and the factor that its lanes share between update and final scale.
    pub struct SharedSoftmax {
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
            /// As [`Softmax`]'s, like all of a partial result.
            state: Vec<Bus<In>>,
            /// Maximum of a partial result.
            state_m: Vec<Bus<In>>,
            /// Its sum.
            state_l: Vec<Bus<In>>,
            /// The maximum.
            o_m: Vec<Bus<Out>>,
            /// The sum.
            o_l: Vec<Bus<Out>>,
            /// A step asks for its value.
            step: Bus<Out>,
            /// That step updates: it needs its value.
            reads: Bus<Out>,
            /// A step leaves for the lanes' registers.
            update: Bus<Out>,
            /// Its exponential, or in the cycle of `finish` the final scale.
            e: Bus<Out>,
            /// The lanes' registers take that factor.
            take: Bus<Out>,
            /// The maximum moved.
            moved: Bus<Out>,
            /// It is a first key.
            load: Bus<Out>,
        }
        parts {
            /// Maximum, exponential, sum.
            softmax: Softmax,
            /// The factor.
            factor: SharedFactor,
        }
        config {
            partials: usize,
        }
    }
}

impl SharedSoftmax {
    /// The unit for a configuration.
    pub fn new(n: &Arc<Numerics>, form: FactorForm) -> Self {
        let partials = n.partial as usize;
        SharedSoftmax {
            tag: Tag::module("shared_softmax", "Scalar path and shared factor.").dissolved(),
            unrest: Default::default(),
            clk: Bus::new(1),
            rst: Bus::new(1),
            score: Bus::new(n.score_bits()),
            valid: Bus::new(1),
            first: Bus::new(1),
            finish: Bus::new(1),
            state: Bus::vector(partials, 1),
            state_m: Bus::vector(partials, n.score_bits()),
            state_l: Bus::vector(partials, n.sum_bits()),
            o_m: Bus::vector(partials, n.score_bits()),
            o_l: Bus::vector(partials, n.sum_bits()),
            step: Bus::new(1),
            reads: Bus::new(1),
            update: Bus::new(1),
            e: Bus::new(form.bits(n)),
            take: Bus::new(1),
            moved: Bus::new(1),
            load: Bus::new(1),
            softmax: Softmax::new(n, form),
            factor: SharedFactor::new(SharedFactorFunction { numerics: n.clone(), form }),
            partials,
        }
    }

    /// As [`Softmax`]'s.
    pub(super) fn inside(&self) -> Vec<Inside> {
        self.softmax.inside()
    }
}

impl Logic for SharedSoftmax {
    #[hdl_gen]
    fn update(&mut self) {
        self.softmax.clk.next = self.clk.val();
        self.softmax.rst.next = self.rst.val();
        self.softmax.score.next = self.score.val();
        self.softmax.valid.next = self.valid.val();
        self.softmax.first.next = self.first.val();
        self.softmax.finish.next = self.finish.val();
        for p in 0..self.partials {
            self.softmax.state[p].next = self.state[p].val();
            self.softmax.state_m[p].next = self.state_m[p].val();
            self.softmax.state_l[p].next = self.state_l[p].val();
            self.o_m[p].next = self.softmax.o_m[p].val();
            self.o_l[p].next = self.softmax.o_l[p].val();
        }
        self.factor.r.next = self.softmax.r.val();
        self.factor.right.next = self.softmax.right.val();
        self.factor.e.next = self.softmax.e.val();
        self.factor.finish.next = self.finish.val();
        self.factor.update.next = self.softmax.update.val();
        self.step.next = self.softmax.step.val();
        self.reads.next = self.softmax.reads.val();
        self.update.next = self.softmax.update.val();
        self.e.next = self.factor.factor.val();
        self.take.next = self.factor.take.val();
        self.moved.next = self.softmax.moved.val();
        self.load.next = self.softmax.load.val();
    }
}
