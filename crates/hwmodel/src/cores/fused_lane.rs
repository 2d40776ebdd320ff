//! FLASH-D's output update with one alignment and one rounding.

use super::factor::factor_bits;
use super::lane::{LaneBefore, LaneBeforeFunction, LaneFormats, lane_suffix, narrow};
use super::lane_group::lane_group;
use super::partial::{Restore, restores};
use crate::arith::fused::flash_d_update;
use crate::numerics::Numerics;
use crate::rtl::{Bus, EnabledRegister, In, Logic, Out, ResetRegister, Tag, ast, hdl_gen, logic};
use crate::units::{Canonical, CanonicalFunction, Convert};
use crate::{circuit, function, unit};
use std::sync::Arc;

function! {
    /// The accumulator's next value.
    pub struct FusedUpdateFunction { formats: LaneFormats, factor_bits: u32 }
    name(this) = format!("{}_fused_update", lane_suffix(this.formats));
    doc = "o_next = upper ? v + u * (o - v) : o + u * (v - o), u = {right, m}: aligned once, rounded once.";
    inputs {
        v: this.formats.value.width(), o: this.formats.accumulator.width(),
        w: this.factor_bits, upper: 1
    }
    outputs { o_next: this.formats.accumulator.width() }
    eval<W> {
        let LaneFormats { value, weight, accumulator, .. } = this.formats;
        let (m, right) = (w.slice(0, weight.precision()), w.drop_low(weight.precision()));
        [flash_d_update(accumulator, &o, value, &v, &m, &right, &upper)]
    }
}
unit! {
    /// The accumulator's next value.
    pub struct FusedUpdate(FusedUpdateFunction) { v, o, w, upper } -> { o_next }
}

circuit! {
    /// One element of o.
    pub struct FusedLane {
        ports {
            /// Clock.
            clk: Bus<In>,
            /// Value element.
            v: Bus<In>,
            /// The smaller one of the weight and one minus it.
            w: Bus<In>,
            /// It is one minus the weight.
            upper: Bus<In>,
            /// First key.
            load: Bus<In>,
            /// This step changes o.
            update: Bus<In>,
            /// The accumulator, rounded to the format.
            o: Bus<Out>,
            /// With partial results: the accumulator takes that of one over.
            restore: Vec<Bus<In>>,
            /// This one, with the value.
            state_o: Vec<Bus<In>>,
            /// The accumulator of a result.
            o_state: Vec<Bus<Out>>,
        }
        parts {
            /// v without Inf, NaN and flushed subnormals.
            value: Canonical,
            /// o, or 0 before a first key.
            old: LaneBefore,
            /// The update.
            step: FusedUpdate,
            /// The accumulator.
            o_q: EnabledRegister,
            /// Rounding of a wider accumulator (none or one).
            narrow: Vec<Convert>,
            /// The update or a partial result.
            restored: Vec<Restore>,
        }
        config {
            partials: usize,
            converts: usize,
        }
    }
}

impl FusedLane {
    /// A lane.
    pub fn new(n: &Numerics) -> Self {
        let f = LaneFormats::new(n, n.accumulator);
        let factor_bits = factor_bits(n, n.factor_significand);
        let narrow = narrow(f);
        FusedLane {
            tag: Tag::module(
                format!("flash_d_fused_lane_{}", lane_suffix(f)),
                "One element of o: o <- o + w * (v - o) with one rounding, when update.",
            ),
            unrest: Default::default(),
            clk: Bus::new(1),
            v: Bus::new(f.format.width()),
            w: Bus::new(factor_bits),
            upper: Bus::new(1),
            load: Bus::new(1),
            update: Bus::new(1),
            o: Bus::new(f.format.width()),
            restore: Bus::vector(n.partial as usize, 1),
            state_o: Bus::vector(n.partial as usize, f.accumulator.width()),
            o_state: Bus::vector(n.partial as usize, f.accumulator.width()),
            value: Canonical::new(CanonicalFunction { format: f.format, to: f.value }),
            old: LaneBefore::new(LaneBeforeFunction { formats: f }),
            step: FusedUpdate::new(FusedUpdateFunction { formats: f, factor_bits }),
            o_q: EnabledRegister::new(f.accumulator.width()),
            restored: restores(n, f.accumulator.width()),
            partials: n.partial as usize,
            converts: narrow.len(),
            narrow,
        }
    }
}

impl Logic for FusedLane {
    #[hdl_gen]
    fn update(&mut self) {
        self.value.a.next = self.v.val();
        self.old.load.next = self.load.val();
        self.old.o.next = self.o_q.q.val();
        self.step.v.next = self.value.y.val();
        self.step.o.next = self.old.o_before.val();
        self.step.w.next = self.w.val();
        self.step.upper.next = self.upper.val();
        self.o_q.clk.next = self.clk.val();
        self.o_q.enable.next = self.update.val();
        for _keys in self.partials..1 {
            self.o_q.d.next = self.step.o_next.val();
        }
        for p in 0..self.partials {
            self.restored[p].x.next = self.step.o_next.val();
            self.restored[p].state.next = self.state_o[p].val();
            self.restored[p].restore.next = self.restore[p].val();
            self.o_q.d.next = self.restored[p].y.val();
            self.o_state[p].next = self.o_q.q.val();
        }
        for i in 0..self.converts {
            self.narrow[i].a.next = self.o_q.q.val();
            self.o.next = self.narrow[i].y.val();
        }
        for _i in self.converts..1 {
            self.o.next = self.o_q.q.val();
        }
    }
}

lane_group! {
    /// Up to 16 lanes with one rounding. On a step that holds, neither weight nor accumulator toggle.
    FusedLaneGroup of FusedLane(n);
    flags: [update update_q update];
    words: [
        w w_q if update: factor_bits(n, n.factor_significand),
        upper upper_q if update: 1,
        load load_q if update: 1
    ];
    free: [];
    partial: partials restore restore_q state_o o_state: n.accumulator.width();
}
