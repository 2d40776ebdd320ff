//! FA2 as the paper draws it: two multipliers a lane, sum and division in the format.

use super::lane::{LaneFormats, LaneNext, LaneNextFunction};
use crate::arith::exp::reciprocal_unit;
use crate::numerics::Numerics;
use crate::rtl::{Bus, EnabledRegister, In, Logic, Out, ResetRegister, Tag, ast, hdl_gen, logic};
use crate::units::{Canonical, CanonicalFunction, Mixed, Operation};
use crate::{circuit, function, unit};
use std::sync::Arc;

use super::softmax::{FirstSelect, FirstSelectFunction};

function! {
    /// `1 / l` in the format.
    pub struct ReciprocalFunction { numerics: Arc<Numerics> }
    name(this) = format!("{}_reciprocal_finite", this.numerics.format.ident());
    doc = "y = 1 / sum; zero while not done, so that the scaling multipliers rest.";
    inputs { sum: this.numerics.format.width(), done: 1 }
    outputs { this.numerics.format.width() }
    eval<W> {
        let fmt = this.numerics.format;
        let y = reciprocal_unit(&this.numerics.reciprocal, fmt, &sum).named("reciprocal_of_sum");
        [done.repeat(fmt.width()).and(&y)]
    }
}
unit! {
    /// `1 / l` in the format.
    pub struct Reciprocal(ReciprocalFunction) { sum, done } -> { y }
}

circuit! {
    /// The running sum in the format and its reciprocal.
    pub struct LiteralSum {
        ports {
            /// Clock.
            clk: Bus<In>,
            /// Synchronous reset.
            rst: Bus<In>,
            /// A step is at the score stage.
            valid: Bus<In>,
            /// It is a first key.
            first: Bus<In>,
            /// `exp(m_old - m)`.
            c: Bus<In>,
            /// `exp(s - m)`.
            e: Bus<In>,
            /// The sum is final.
            done: Bus<In>,
            /// Its reciprocal; zero unless done.
            r: Bus<Out>,
        }
        parts {
            /// Value stage.
            c_q: EnabledRegister,
            /// Value stage.
            e_q: EnabledRegister,
            /// Value stage.
            first_q: EnabledRegister,
            /// Value stage.
            step_q: ResetRegister,
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
            quiet: false,
            clk: Bus::new(1),
            rst: Bus::new(1),
            valid: Bus::new(1),
            first: Bus::new(1),
            c: Bus::new(width),
            e: Bus::new(width),
            done: Bus::new(1),
            r: Bus::new(width),
            c_q: EnabledRegister::new(width),
            e_q: EnabledRegister::new(width),
            first_q: EnabledRegister::new(1),
            step_q: ResetRegister::new(1, 0),
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
        self.c_q.clk.next = self.clk.val();
        self.c_q.enable.next = self.valid.val();
        self.c_q.d.next = self.c.val();
        self.e_q.clk.next = self.clk.val();
        self.e_q.enable.next = self.valid.val();
        self.e_q.d.next = self.e.val();
        self.first_q.clk.next = self.clk.val();
        self.first_q.enable.next = self.valid.val();
        self.first_q.d.next = self.first.val();
        self.step_q.clk.next = self.clk.val();
        self.step_q.rst.next = self.rst.val();
        self.step_q.d.next = self.valid.val();
        self.scaled.a.next = self.sum_q.q.val();
        self.scaled.b.next = self.c_q.q.val();
        self.total.a.next = self.scaled.y.val();
        self.total.b.next = self.e_q.q.val();
        self.select.first.next = self.first_q.q.val();
        self.select.a.next = self.e_q.q.val();
        self.select.b.next = self.total.y.val();
        self.sum_q.clk.next = self.clk.val();
        self.sum_q.enable.next = self.step_q.q.val();
        self.sum_q.d.next = self.select.y.val();
        self.reciprocal.sum.next = self.sum_q.q.val();
        self.reciprocal.done.next = self.done.val();
        self.r.next = self.reciprocal.y.val();
    }
}

circuit! {
    /// `o <- load ? v : o c + v e`, then `o r` when `done`.
    pub struct LiteralLane {
        ports {
            /// Clock.
            clk: Bus<In>,
            /// Value element.
            v: Bus<In>,
            /// Factor of the old output.
            c: Bus<In>,
            /// Factor of the value.
            e: Bus<In>,
            /// Take v as it is.
            load: Bus<In>,
            /// A step is present.
            update: Bus<In>,
            /// Reciprocal of the sum.
            r: Bus<In>,
            /// The accumulator is final.
            done: Bus<In>,
            /// Result.
            o: Bus<Out>,
        }
        parts {
            /// v without Inf, NaN and flushed subnormals.
            value: Canonical,
            /// `o c`.
            old_product: Mixed,
            /// `v e`.
            new_product: Mixed,
            /// Their sum.
            sum: Mixed,
            /// Load or sum.
            select: LaneNext,
            /// The accumulator.
            o_q: EnabledRegister,
            /// `o r`.
            scale: Mixed,
            /// The result.
            result_q: EnabledRegister,
        }
        config {}
    }
}

impl LiteralLane {
    /// A lane.
    pub fn new(f: LaneFormats) -> Self {
        let (fmt, acc) = (f.format, f.accumulator);
        LiteralLane {
            tag: Tag::module(
                format!("fa2_literal_lane_{}_{}", fmt.ident(), acc.ident()),
                "One element of o: o <- load ? v : o * c + v * e; result = o * r.",
            ),
            quiet: false,
            clk: Bus::new(1),
            v: Bus::new(fmt.width()),
            c: Bus::new(fmt.width()),
            e: Bus::new(fmt.width()),
            load: Bus::new(1),
            update: Bus::new(1),
            r: Bus::new(fmt.width()),
            done: Bus::new(1),
            o: Bus::new(fmt.width()),
            value: Canonical::new(CanonicalFunction { format: fmt }),
            old_product: Mixed::of(Operation::Mul, acc, fmt, acc),
            new_product: Mixed::of(Operation::Mul, fmt, fmt, acc),
            sum: Mixed::uniform(Operation::Add, acc),
            select: LaneNext::new(LaneNextFunction { formats: f }),
            o_q: EnabledRegister::new(acc.width()),
            scale: Mixed::of(Operation::Mul, acc, fmt, fmt),
            result_q: EnabledRegister::new(fmt.width()),
        }
    }
}

impl Logic for LiteralLane {
    #[hdl_gen]
    fn update(&mut self) {
        self.value.a.next = self.v.val();
        self.old_product.a.next = self.o_q.q.val();
        self.old_product.b.next = self.c.val();
        self.new_product.a.next = self.value.y.val();
        self.new_product.b.next = self.e.val();
        self.sum.a.next = self.old_product.y.val();
        self.sum.b.next = self.new_product.y.val();
        self.select.load.next = self.load.val();
        self.select.v.next = self.value.y.val();
        self.select.sum.next = self.sum.y.val();
        self.o_q.clk.next = self.clk.val();
        self.o_q.enable.next = self.update.val();
        self.o_q.d.next = self.select.o_next.val();
        self.scale.a.next = self.o_q.q.val();
        self.scale.b.next = self.r.val();
        self.result_q.clk.next = self.clk.val();
        self.result_q.enable.next = self.done.val();
        self.result_q.d.next = self.scale.y.val();
        self.o.next = self.result_q.q.val();
    }
}

circuit! {
    /// Up to 16 literal lanes with their own copies of the scalar registers.
    pub struct LiteralLaneGroup {
        ports {
            /// Clock.
            clk: Bus<In>,
            /// Synchronous reset.
            rst: Bus<In>,
            /// A step reaches the lanes in the next cycle.
            update: Bus<In>,
            /// It is a first key.
            load: Bus<In>,
            /// Factor of the old output.
            c: Bus<In>,
            /// Factor of the value.
            e: Bus<In>,
            /// Value elements.
            v: Vec<Bus<In>>,
            /// Reciprocal of the sum.
            r: Bus<In>,
            /// The accumulators are final.
            done: Bus<In>,
            /// Results.
            o: Vec<Bus<Out>>,
        }
        parts {
            /// Copy.
            c_q: EnabledRegister,
            /// Copy.
            e_q: EnabledRegister,
            /// Copy.
            load_q: EnabledRegister,
            /// Copy.
            update_q: ResetRegister,
            /// Lanes.
            lane: Vec<LiteralLane>,
        }
        config {
            lanes: usize,
        }
    }
}

impl LiteralLaneGroup {
    /// A group of `lanes` lanes.
    pub fn new(f: LaneFormats, lanes: usize) -> Self {
        let width = f.format.width();
        LiteralLaneGroup {
            tag: Tag::module(
                format!("fa2_literal_lane_group_{lanes}_{}_{}", f.format.ident(), f.accumulator.ident()),
                format!("{lanes} lanes and their copies of the scalar registers."),
            ),
            quiet: false,
            clk: Bus::new(1),
            rst: Bus::new(1),
            update: Bus::new(1),
            load: Bus::new(1),
            c: Bus::new(width),
            e: Bus::new(width),
            v: Bus::vector(lanes, width),
            r: Bus::new(width),
            done: Bus::new(1),
            o: Bus::vector(lanes, width),
            c_q: EnabledRegister::new(width),
            e_q: EnabledRegister::new(width),
            load_q: EnabledRegister::new(1),
            update_q: ResetRegister::new(1, 0),
            lane: (0..lanes).map(|_| LiteralLane::new(f)).collect(),
            lanes,
        }
    }
}

impl Logic for LiteralLaneGroup {
    #[hdl_gen]
    fn update(&mut self) {
        self.c_q.clk.next = self.clk.val();
        self.c_q.enable.next = self.update.val();
        self.c_q.d.next = self.c.val();
        self.e_q.clk.next = self.clk.val();
        self.e_q.enable.next = self.update.val();
        self.e_q.d.next = self.e.val();
        self.load_q.clk.next = self.clk.val();
        self.load_q.enable.next = self.update.val();
        self.load_q.d.next = self.load.val();
        self.update_q.clk.next = self.clk.val();
        self.update_q.rst.next = self.rst.val();
        self.update_q.d.next = self.update.val();
        for i in 0..self.lanes {
            self.lane[i].clk.next = self.clk.val();
            self.lane[i].v.next = self.v[i].val();
            self.lane[i].c.next = self.c_q.q.val();
            self.lane[i].e.next = self.e_q.q.val();
            self.lane[i].load.next = self.load_q.q.val();
            self.lane[i].update.next = self.update_q.q.val();
            self.lane[i].r.next = self.r.val();
            self.lane[i].done.next = self.done.val();
            self.o[i].next = self.lane[i].o.val();
        }
    }
}
