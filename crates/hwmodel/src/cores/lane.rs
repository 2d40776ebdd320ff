//! FLASH-D's output update with every operation rounded.

use super::lane_group::lane_group;
use super::partial::{Restore, restores};
use crate::arith::widen;
use crate::format::Format;
use crate::numerics::Numerics;
use crate::rtl::{Bus, EnabledRegister, In, Logic, Out, ResetRegister, Tag, ast, hdl_gen, logic};
use crate::units::{Canonical, CanonicalFunction, Convert, ConvertFunction, Mixed, Operation};
use crate::{circuit, function, unit};
use std::sync::Arc;

/// The formats a lane computes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneFormats {
    /// Ports.
    pub format: Format,
    /// Values in the lane.
    pub value: Format,
    /// A weight or exponential that is rounded to a format.
    pub weight: Format,
    /// The accumulator o.
    pub accumulator: Format,
    /// Difference and product.
    pub inner: Format,
}

impl LaneFormats {
    /// A lane's formats in a core, with `inner` for differences and products.
    pub fn new(n: &Numerics, inner: Format) -> Self {
        LaneFormats { format: n.format, value: n.value, weight: n.weight, accumulator: n.accumulator, inner }
    }
}

function! {
    /// The accumulator's next value.
    pub struct LaneNextFunction { formats: LaneFormats }
    name(this) = format!("{}_{}_lane_next", this.formats.format.ident(), this.formats.accumulator.ident());
    doc = "o_next = load ? v : sum.";
    inputs { load: 1, v: this.formats.value.width(), sum: this.formats.accumulator.width() }
    outputs { o_next: this.formats.accumulator.width() }
    eval<W> { [load.select(&widen(this.formats.value, &v, this.formats.accumulator), &sum)] }
}
unit! {
    /// The accumulator's next value.
    pub struct LaneNext(LaneNextFunction) { load, v, sum } -> { o_next }
}

function! {
    /// FA2's operands: one of the two factors is always 1, so one multiplier serves both products.
    pub struct LaneOperandsFunction { formats: LaneFormats }
    name(this) = format!("{}_lane_operands", lane_suffix(this.formats));
    doc = "The maximum moved: o * e + v.  It stayed: v * e + o.  A first key finds o = 0.";
    inputs { load: 1, moved: 1, o: this.formats.accumulator.width(), v: this.formats.value.width() }
    outputs { multiplicand: this.formats.accumulator.width(), addend: this.formats.accumulator.width() }
    eval<W> {
        let v = widen(this.formats.value, &v, this.formats.accumulator).named("v_wide");
        let o = load.not().repeat(o.width()).and(&o).named("o_before");
        [moved.select(&o, &v), moved.select(&v, &o)]
    }
}
unit! {
    /// FA2's operands.
    pub struct LaneOperands(LaneOperandsFunction) { load, moved, o, v } -> { multiplicand, addend }
}

function! {
    /// What the lane starts from: nothing for a first key.
    pub struct LaneBeforeFunction { formats: LaneFormats }
    name(this) = format!("{}_lane_before", this.formats.accumulator.ident());
    doc = "o_before = load ? 0 : o.";
    inputs { load: 1, o: this.formats.accumulator.width() }
    outputs { o_before: this.formats.accumulator.width() }
    eval<W> { [load.not().repeat(o.width()).and(&o)] }
}
unit! {
    /// What the lane starts from.
    pub struct LaneBefore(LaneBeforeFunction) { load, o } -> { o_before }
}

function! {
    /// FLASH-D's operands: the weight moves o towards v, or its complement v towards o.
    pub struct LaneSideFunction { formats: LaneFormats }
    name(this) = format!("{}_lane_side", lane_suffix(this.formats));
    doc = "upper: base = v, way = o - v.  Otherwise: base = o, way = v - o.";
    inputs {
        upper: 1, difference: this.formats.inner.width(), o: this.formats.accumulator.width(),
        v: this.formats.value.width()
    }
    outputs { way: this.formats.inner.width(), base: this.formats.accumulator.width() }
    eval<W> {
        let magnitude = difference.slice(0, difference.width() - 1);
        let way = difference.msb().xor(&upper).concat(&magnitude);
        [way, upper.select(&widen(this.formats.value, &v, this.formats.accumulator), &o)]
    }
}
unit! {
    /// FLASH-D's operands.
    pub struct LaneSide(LaneSideFunction) { upper, difference, o, v } -> { way, base }
}

circuit! {
    /// FLASH-D: `o <- upper ? v + w (o - v) : o + w (v - o)` when `update`, `o = 0` before a first key.
    pub struct FlashDLane {
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
            /// `v - o`.
            difference: Mixed,
            /// Base and way.
            side: LaneSide,
            /// `w (v - o)` or `w (o - v)`.
            product: Mixed,
            /// The update.
            sum: Mixed,
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

impl FlashDLane {
    /// A lane.
    pub fn new(n: &Numerics) -> Self {
        let f = LaneFormats::new(n, n.difference);
        let narrow = narrow(f);
        FlashDLane {
            tag: Tag::module(
                format!("flash_d_lane_{}", lane_suffix(f)),
                "One element of o: o <- upper ? v + w * (o - v) : o + w * (v - o), when update.",
            ),
            unrest: Default::default(),
            clk: Bus::new(1),
            v: Bus::new(f.format.width()),
            w: Bus::new(f.weight.width()),
            upper: Bus::new(1),
            load: Bus::new(1),
            update: Bus::new(1),
            o: Bus::new(f.format.width()),
            restore: Bus::vector(n.partial as usize, 1),
            state_o: Bus::vector(n.partial as usize, f.accumulator.width()),
            o_state: Bus::vector(n.partial as usize, f.accumulator.width()),
            value: Canonical::new(CanonicalFunction { format: f.format, to: f.value }),
            old: LaneBefore::new(LaneBeforeFunction { formats: f }),
            difference: Mixed::of(Operation::Sub, f.value, f.accumulator, f.inner),
            side: LaneSide::new(LaneSideFunction { formats: f }),
            product: Mixed::of(Operation::Mul, f.weight, f.inner, f.inner),
            sum: Mixed::of(Operation::Add, f.accumulator, f.inner, f.accumulator),
            o_q: EnabledRegister::new(f.accumulator.width()),
            restored: restores(n, f.accumulator.width()),
            partials: n.partial as usize,
            converts: narrow.len(),
            narrow,
        }
    }
}

/// Formats as a part of module names.
pub(crate) fn lane_suffix(f: LaneFormats) -> String {
    let mut suffix = f.format.ident();
    if f.accumulator != f.format {
        suffix += &format!("_{}", f.accumulator.ident());
    }
    if f.weight != f.value {
        suffix += &format!("_w{}", f.weight.precision());
    }
    suffix
}

/// The converter that a wider accumulator needs.
pub(crate) fn narrow(f: LaneFormats) -> Vec<Convert> {
    match f.accumulator == f.format {
        true => vec![],
        false => vec![Convert::new(ConvertFunction { from: f.accumulator, to: f.format })],
    }
}

impl Logic for FlashDLane {
    #[hdl_gen]
    fn update(&mut self) {
        self.value.a.next = self.v.val();
        self.old.load.next = self.load.val();
        self.old.o.next = self.o_q.q.val();
        self.difference.a.next = self.value.y.val();
        self.difference.b.next = self.old.o_before.val();
        self.side.upper.next = self.upper.val();
        self.side.difference.next = self.difference.y.val();
        self.side.o.next = self.old.o_before.val();
        self.side.v.next = self.value.y.val();
        self.product.a.next = self.w.val();
        self.product.b.next = self.side.way.val();
        self.sum.a.next = self.side.base.val();
        self.sum.b.next = self.product.y.val();
        self.o_q.clk.next = self.clk.val();
        self.o_q.enable.next = self.update.val();
        for _keys in self.partials..1 {
            self.o_q.d.next = self.sum.y.val();
        }
        for p in 0..self.partials {
            self.restored[p].x.next = self.sum.y.val();
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
    /// Up to 16 FLASH-D lanes. On a step that holds, neither weight nor accumulator toggle.
    FlashDLaneGroup of FlashDLane(n);
    flags: [update update_q update];
    words: [
        w w_q if update: n.weight.width(),
        upper upper_q if update: 1,
        load load_q if update: 1
    ];
    free: [];
    partial: partials restore restore_q state_o o_state: n.accumulator.width();
}
