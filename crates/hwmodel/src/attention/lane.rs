//! What lanes that round every operation have in common: their formats, and the operands of their update.

use crate::arith::widen;
use crate::attention::partial::{restore_ports, restored};
use crate::function;
use crate::rtl::{Module, Wire};
use flashd_spec::format::Format;
use flashd_spec::numerics::Numerics;

/// The formats a lane computes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneFormats {
    /// The port of the value.
    pub port: Format,
    /// The result.
    pub result: Format,
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
        let (port, result) = (n.formats.v, n.formats.o);
        LaneFormats { port, result, value: n.value, weight: n.weight, accumulator: n.accumulator, inner }
    }
}

function! {
    /// The accumulator's next value.
    pub struct LaneNextFunction { formats: LaneFormats }
    name(this) = format!("{}_{}_lane_next", this.formats.port.ident(), this.formats.accumulator.ident());
    doc = "o_next = load ? v : sum.";
    inputs { load: 1, v: this.formats.value.width(), sum: this.formats.accumulator.width() }
    outputs { o_next: this.formats.accumulator.width() }
    eval<W> { [load.select(&widen(this.formats.value, &v, this.formats.accumulator), &sum)] }
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

function! {
    /// What the lane starts from: nothing for a first key.
    pub struct LaneBeforeFunction { formats: LaneFormats }
    name(this) = format!("{}_lane_before", this.formats.accumulator.ident());
    doc = "o_before = load ? 0 : o.";
    inputs { load: 1, o: this.formats.accumulator.width() }
    outputs { o_before: this.formats.accumulator.width() }
    eval<W> { [load.not().repeat(o.width()).and(&o)] }
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

/// What feeds the accumulator `o` of a lane. With partial results, the ports by which it takes one over (a flag and the accumulator)
/// and hands one out: its own as it is, or as it was `done` last.
pub(crate) fn accumulate(
    m: &mut Module,
    o: Wire,
    next: Wire,
    restore: Option<(Wire, Wire)>,
    done: Option<Wire>,
) -> Option<Wire> {
    let restore = restore_ports(m, "state_o", restore);
    let next = restored(m, next, restore);
    m.next(o, next);
    restore.map(|_| {
        let state = done.map_or(o, |done| m.register_if(("state_q", 0), done, o));
        m.outputs("o_state", &[state])[0]
    })
}

/// Formats as a part of module names.
pub(crate) fn lane_suffix(f: LaneFormats) -> String {
    let mut suffix = f.port.ident();
    if f.accumulator != f.port {
        suffix += &format!("_{}", f.accumulator.ident());
    }
    if f.weight.fraction_bits != f.value.fraction_bits {
        suffix += &format!("_w{}", f.weight.precision());
    }
    if f.result != f.port {
        suffix += &format!("_to_{}", f.result.ident());
    }
    suffix
}
