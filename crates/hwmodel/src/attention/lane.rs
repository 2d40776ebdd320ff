//! Formats of the float lanes, the operands of their update, and the accumulator with its restore.

use crate::arith::widen;
use crate::attention::partial::{restore_ports, restored};
use crate::function;
use crate::rtl::{Module, Wire};
use flashd_spec::format::Format;
use flashd_spec::numerics::Numerics;

/// The formats that a float lane computes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneFormats {
    /// The value on the port.
    pub port: Format,
    /// The result.
    pub result: Format,
    /// The value in the lane, at least as wide.
    pub value: Format,
    /// A weight or exponential.
    pub weight: Format,
    /// The accumulator o.
    pub accumulator: Format,
    /// Differences and products.
    pub inner: Format,
}

impl LaneFormats {
    /// The formats of a lane of a core, with `inner` for differences and products.
    pub fn new(n: &Numerics, inner: Format) -> Self {
        let (port, result) = (n.formats.v, n.formats.o);
        LaneFormats { port, result, value: n.value, weight: n.weight, accumulator: n.accumulator, inner }
    }
}

function! {
    /// The next value of the accumulator: v for a first key, else the sum.
    pub struct LaneNextFunction { formats: LaneFormats }
    name(this) = format!("{}_{}_lane_next", this.formats.port.ident(), this.formats.accumulator.ident());
    doc = "o_next = load ? v : sum.";
    inputs { load: 1, v: this.formats.value.width(), sum: this.formats.accumulator.width() }
    outputs { o_next: this.formats.accumulator.width() }
    eval<W> { [load.select(&widen(this.formats.value, &v, this.formats.accumulator), &sum)] }
}

function! {
    /// Operands of FA2's update `o c + v e`. One of c and e is always 1, so one multiplier serves both products.
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
    /// The accumulator before a step: zero for a first key.
    pub struct LaneBeforeFunction { formats: LaneFormats }
    name(this) = format!("{}_lane_before", this.formats.accumulator.ident());
    doc = "o_before = load ? 0 : o.";
    inputs { load: 1, o: this.formats.accumulator.width() }
    outputs { o_before: this.formats.accumulator.width() }
    eval<W> { [load.not().repeat(o.width()).and(&o)] }
}

function! {
    /// Operands of FLASH-D's update `base + u way`: `o + w (v - o)`, or `v + (1 - w) (o - v)` for a weight above 1/2.
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

/// Drives the accumulator `o` of a lane by `next`.
///
/// With partial results it also declares the ports of a restore, a flag and an accumulator, and the output `o_state`:
/// the accumulator as it is, or, with `done`, as it was when `done` was last high.
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
        let state = done.map_or(o, |done| m.register_if("state_q", done, o));
        m.output("o_state", state)
    })
}

/// The formats, as a part of the names of modules.
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
