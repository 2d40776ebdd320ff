//! FA2's lane as the paper draws it: two multipliers for the update and one for the division.

use super::lane::{LaneFormats, LaneNext, LaneNextFunction};
use super::lane_group::lane_group;
use crate::circuit;
use crate::numerics::Numerics;
use crate::rtl::{Bus, EnabledRegister, In, Logic, Out, ResetRegister, Tag, ast, hdl_gen, logic};
use crate::units::{Canonical, CanonicalFunction, Mixed, Operation};
use std::sync::Arc;

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
    pub fn new(n: &Numerics) -> Self {
        let f = LaneFormats::new(n, n.accumulator);
        let (fmt, acc) = (f.format, f.accumulator);
        LiteralLane {
            tag: Tag::module(
                format!("fa2_literal_lane_{}_{}", fmt.ident(), acc.ident()),
                "One element of o: o <- load ? v : o * c + v * e; result = o * r.",
            ),
            unrest: Default::default(),
            clk: Bus::new(1),
            v: Bus::new(fmt.width()),
            c: Bus::new(fmt.width()),
            e: Bus::new(fmt.width()),
            load: Bus::new(1),
            update: Bus::new(1),
            r: Bus::new(fmt.width()),
            done: Bus::new(1),
            o: Bus::new(fmt.width()),
            value: Canonical::new(CanonicalFunction { format: fmt, to: fmt }),
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

lane_group! {
    /// Up to 16 literal lanes.
    LiteralLaneGroup of LiteralLane(n);
    flags: [update update_q update, finish finish_q done];
    words: [
        c c_q if update: n.format.width(),
        e e_q if update: n.format.width(),
        load load_q if update: 1,
        r r_q if finish: n.format.width()
    ];
    free: [];
}
