//! FLASH-D's output update, (12), in fixed point: `o <- o + w (v - o)`.
//!
//! ```text
//!  v  | sign | VW - 1 fraction |          relative to the largest exponent of V, rounded
//!  o  | sign | OW - 1 fraction       |    |o| <= max|v|: no guard bits, no final scale
//!  u  m 2^-(WM - 1) 2^-right              the smaller one of w and 1 - w
//! ```
//!
//! The multiplier takes `v - o` in v's places, which are as many as a result needs. If the difference were truncated there, o would
//! stagnate up to one place of v away from the mean of many keys, because each key moves it by less than that. So the difference is
//! dithered: a threshold, the same for all lanes, changes from step to step. The difference is rounded up with a frequency equal to o's
//! fraction below v's places. The threshold is the lowest bits of x: L, the logarithm of a sum of many keys, has more fraction bits than
//! the tables use. Because `u <= 1/2`, the result is between o and v or half a place of v beyond one of them.

use super::scalars::{WeightScalars, WeightWords};
use crate::arith::fixed::{clamp, fixed_to_format, fixed_to_integer, shift_right_filled, value_to_fixed};
use crate::arith::prefix::prefix_sum;
use crate::arith::signed::signed_times_less;
use crate::attention::factor::{factor_bits, right_bits};
use crate::attention::group::{
    CoreScalars, IntegerExponentFunction, LaneInputs, LaneKind, LaneOutputs, LaneScalars,
};
use crate::attention::partial::{restore_ports, restored};
use crate::attention::port_result::PortResult;
use crate::function;
use crate::rtl::{Module, Name, Number, Stage, Wire, signed};
use crate::word::bits_for;
use flashd_spec::config::LaneBits;
use flashd_spec::numerics::{Numerics, dither_bits, fixed_result_bits};
use std::sync::Arc;

/// Widths of a core with fixed-point lanes.
pub(crate) fn lane_bits(n: &Numerics) -> LaneBits {
    n.lane.unwrap_or(LaneBits { o: 2, v: 2, w: 1 })
}

/// The formats of v and o, for the names of lanes.
pub(crate) fn lane_ident(n: &Numerics) -> String {
    n.formats.v.ident_with("to_", n.formats.o)
}

/// The format of o, for the names of units that take exponents of v's format.
pub(crate) fn result_ident(n: &Numerics) -> String {
    n.formats.o.ident_with("by_", n.formats.v)
}

/// Width of the threshold: the difference's, and above it the bit that decides ties.
pub(crate) fn threshold_bits(n: &Numerics) -> u32 {
    dither_bits(lane_bits(n)) + 1
}

/// Accumulator bits that the result is rounded from.
fn result_bits(n: &Numerics) -> u32 {
    fixed_result_bits(lane_bits(n))
}

function! {
    /// A value in fixed point.
    pub struct ValueToFixedFunction { numerics: Arc<Numerics> }
    name(this) = format!("{}_to_fixed_{}", this.numerics.formats.v.ident(), lane_bits(&this.numerics).v);
    doc = "fixed = v relative to 2^(x + 1), x the largest exponent field of the values; rounded half away from\nzero, saturating when v's exponent is outside. Inf and NaN count as 0.";
    inputs { v: this.numerics.formats.v.width(), x: this.numerics.formats.v.exponent_bits }
    outputs { fixed: lane_bits(&this.numerics).v, outside: 1 }
    eval<W> {
        let (fixed, outside) = value_to_fixed(this.numerics.formats.v, &v, &x, lane_bits(&this.numerics).v);
        [fixed, outside]
    }
}

function! {
    /// An integer value in fixed point, which needs no exponent.
    pub struct IntegerToFixedFunction { numerics: Arc<Numerics> }
    name(this) = format!("{}_integer_to_fixed_{}", this.numerics.formats.v.ident(), lane_bits(&this.numerics).v);
    doc = "fixed = v relative to the power of two above the largest integer; the lowest counts as the one above it.";
    inputs { v: this.numerics.formats.v.width() }
    outputs { fixed: lane_bits(&this.numerics).v }
    eval<W> {
        let v_format = this.numerics.formats.v;
        let (fixed, _) = value_to_fixed(v_format, &v, &W::constant(v_format.exponent_bits, 1), lane_bits(&this.numerics).v);
        [fixed]
    }
}

/// Left shift that brings the product with the factor's significand to half places of o; negative: a right shift. The factor then shifts
/// it right by `right - 1`: as `u <= 1/2`, every factor shifts by at least one place.
fn half_places_left(bits: LaneBits) -> i32 {
    bits.o as i32 - bits.v as i32 + 1 - bits.w as i32
}

/// Width of the right shift that a lane gets. A longer shift would leave nothing of the product in half places of o.
fn lane_right_bits(n: &Numerics) -> u32 {
    let bits = lane_bits(n);
    let product = bits.v + bits.w + half_places_left(bits).max(0) as u32;
    bits_for(product.into()).min(right_bits(n))
}

/// Width of a lane's factor, `{right - 1, m}`.
pub fn lane_factor_bits(n: &Numerics) -> u32 {
    lane_right_bits(n) + lane_bits(n).w
}

function! {
    /// The factor as the lanes of a group take it, computed once for all of them.
    pub struct LaneFactorFunction { numerics: Arc<Numerics> }
    name(this) = format!("lane_factor_{}_{}", lane_bits(&this.numerics).w, lane_right_bits(&this.numerics));
    doc = "y = {right - 1, m} of u = {right, m} up to 1/2; right - 1 saturates. u = 0 has m = 0 and any right.";
    inputs { w: factor_bits(&this.numerics, lane_bits(&this.numerics).w) }
    outputs { y: lane_factor_bits(&this.numerics) }
    eval<W> {
        let bits = lane_bits(&this.numerics).w;
        let (m, right) = (w.slice(0, bits), w.drop_low(bits));
        let right = right.sub(&W::constant(right.width(), 1)).named("right_less_one");
        [clamp(&right, lane_right_bits(&this.numerics)).concat(&m)]
    }
}

function! {
    /// The borrow by which the difference of v and o is rounded to v's places: it is set as often as o's fraction below them says, and
    /// never if that is zero, so that equal v and o have no difference.
    pub struct DitherFunction { numerics: Arc<Numerics> }
    name(this) = {
        let LaneBits { o, v, .. } = lane_bits(&this.numerics);
        format!("dither_{o}_{v}")
    };
    doc = "borrow = the low bits of threshold < the bits of o below v's places; up = its top bit.";
    inputs { o: lane_bits(&this.numerics).o, threshold: threshold_bits(&this.numerics) }
    outputs { borrow: 1, up: 1 }
    eval<W> {
        let bits = dither_bits(lane_bits(&this.numerics));
        let places = o.top(result_bits(&this.numerics)).slice(0, bits);
        [threshold.slice(0, bits).lt(&places), threshold.bit(bits)]
    }
}

function! {
    /// The accumulator's next value.
    ///
    /// `even`: a prefix adder forms the difference, whose bits then settle at about the same time. Where its operands are registers that is
    /// worth the gates, because the multiplier after it has fewer glitches.
    pub struct FixedUpdateFunction { numerics: Arc<Numerics>, even: bool }
    name(this) = {
        let LaneBits { o, v, w } = lane_bits(&this.numerics);
        format!("fixed_{}update_{o}_{v}_{w}", if this.even { "even_" } else { "" })
    };
    doc = "o_next = upper ? v - u * y : o + u * y, u = {right - 1, m}, y = v - t - borrow, t being o cut to v's places.\nThe product is rounded to nearest, a tie up or down.";
    inputs {
        v: lane_bits(&this.numerics).v, o: lane_bits(&this.numerics).o, borrow: 1, up: 1,
        w: lane_factor_bits(&this.numerics), upper: 1, load: 1
    }
    outputs { o_next: lane_bits(&this.numerics).o }
    eval<W> {
        let bits = lane_bits(&this.numerics);
        let low = bits.o - bits.v;
        let (m, right) = (w.slice(0, bits.w), w.drop_low(bits.w));
        // A first key has u = 0 and does not depend on o. The mask shows that to a simulator that starts with
        // an unknown o.
        let known = load.not().named("known");
        let wide = bits.v + 1;
        let not_o = o.top(bits.v).and(&known.repeat(bits.v)).not().named("not_o").sext(wide);
        // v - t - borrow = v + ~t + ~borrow, the last of them carried from a one below the last place.
        let not_o = not_o.concat(&borrow.not().and(&known)).named("not_o_and_borrow");
        let v_and_one = v.sext(wide).concat(&W::constant(1, 1));
        let halves = if this.even { prefix_sum(&v_and_one, &not_o) } else { v_and_one.add(&not_o) };
        let difference = halves.drop_low(1).named("difference");
        // One less in the last of the half places of o: a tie is rounded down.
        let down = up.not().named("down");
        let product = signed_times_less(&difference, &m, &down);
        // To half places of o: << (low + 1), >> (WM + right - 1).
        let left = half_places_left(bits);
        let places = match left {
            1.. => product.concat(&down.repeat(left as u32)).named("half_places"),
            _ => product,
        };
        let way = shift_right_filled(&places, &right, &places.msb());
        let way = way.drop_low((-left).max(0) as u32).named("way_halves");
        let halves = bits.o + 1;
        let way = way.sext(way.width().max(halves)).slice(0, halves);
        let base = upper.select(&v.append_zeros(low), &o).named("base");
        // 2 base + 1 + way, or, as -way = ~way + 1, 2 base - way.
        let addend = way.xor(&upper.repeat(halves)).named("addend");
        [base.concat(&W::constant(1, 1)).add(&addend).named("o_next_halves").drop_low(1)]
    }
}

function! {
    /// The accumulator rounded to the output format.
    pub struct FixedToFormatFunction { numerics: Arc<Numerics> }
    name(this) = format!("fixed_{}_to_{}", lane_bits(&this.numerics).o, result_ident(&this.numerics));
    doc = {
        let (o, kept) = (lane_bits(&this.numerics).o, result_bits(&this.numerics));
        let cut = if kept < o { format!(", cut to {kept} bits") } else { String::new() };
        format!("y = o relative to 2^(x + 1){cut}, rounded to the format; at rest unless done.")
    };
    inputs { o: lane_bits(&this.numerics).o, x: this.numerics.formats.v.exponent_bits, done: 1 }
    outputs { y: this.numerics.formats.o.width() }
    at_rest { done ignores o }
    eval<W> {
        let kept = result_bits(&this.numerics);
        let o = done.repeat(kept).and(&o.top(kept)).named("o_when_done");
        [fixed_to_format(this.numerics.formats.v, &o, &x, this.numerics.formats.o)]
    }
}

function! {
    /// The accumulator of integer values rounded to integer results: there is no exponent.
    pub struct FixedToIntegerFunction { numerics: Arc<Numerics> }
    name(this) = format!("fixed_{}_to_{}", lane_bits(&this.numerics).o, result_ident(&this.numerics));
    doc = "y = o in units of the result, rounded to nearest, ties to even; at rest unless done.";
    inputs { o: lane_bits(&this.numerics).o, done: 1 }
    outputs { y: this.numerics.formats.o.width() }
    at_rest { done ignores o }
    eval<W> {
        let kept = result_bits(&this.numerics);
        let o = done.repeat(kept).and(&o.top(kept)).named("o_when_done");
        [fixed_to_integer(this.numerics.formats.v, &o, this.numerics.formats.o)]
    }
}

/// Set if results take [`FixedToIntegerFunction`], which has no exponent.
pub(crate) fn integers_to_integers(n: &Numerics) -> bool {
    n.formats.v.is_integer() && n.formats.o.is_integer()
}

/// Rounds an accumulator to the result, relative to `2^(x - bias + 1)`; integers of integers need no x.
pub(crate) fn lane_result(
    m: &mut Module,
    n: &Arc<Numerics>,
    name: impl Into<Name>,
    o: Wire,
    x: Option<Wire>,
    done: Wire,
) -> Wire {
    let numerics = n.clone();
    let [y] = match x.filter(|_| !integers_to_integers(n)) {
        Some(x) => m.call(name, FixedToFormatFunction { numerics }, [o, x, done]),
        None => m.call(name, FixedToIntegerFunction { numerics }, [o, done]),
    };
    m.number(y, Number::Float(n.formats.o));
    y
}

/// Calls [`LaneFactorFunction`] for the lanes of a group.
pub(crate) fn lane_factor(m: &mut Module, n: &Arc<Numerics>, w: Wire) -> Wire {
    let [y] = m.call("factor", LaneFactorFunction { numerics: n.clone() }, [w]);
    // A place of the shift is the significand's.
    let bits = lane_bits(n).w;
    m.number(y, Number::Factor { significand: bits, fraction: bits });
    y
}

/// One element of o: converts the value to fixed point and updates in one stage.
///
/// With a pipeline stage for the value all operands of the update are registers. On a step that holds, weight, value
/// and accumulator do not toggle.
pub const FIXED: LaneKind<FixedScalars> = LaneKind {
    name: |n, scalars, rounds| lane_name("fixed", n, scalars.reads.is_some(), rounds),
    doc: |_| "One element of o in fixed point: o <- o + w * (v - o), when update.",
    lane,
};

/// The scalars of these lanes; `reads` is a flag.
pub type FixedScalars = WeightScalars<Wire, Wire>;

impl LaneScalars for FixedScalars {
    fn copies(&self, m: &mut Module, n: &Arc<Numerics>, finish: Option<Wire>) -> (Self, Option<Wire>) {
        let w = lane_factor(m, n, self.words.w);
        let reads = self.reads.map(|reads| m.register_reset("reads_q", 0, reads));
        WeightScalars { reads, words: WeightWords { w, ..self.words }, ..*self }.copy_words(m, finish)
    }

    fn show(&self, m: &mut Module, core: CoreScalars) {
        self.show_words(m, self.reads, core);
    }
}

function! {
    /// What of an accumulator waits for the port of an array.
    pub struct WaitingFunction { numerics: Arc<Numerics> }
    name(this) = format!("waiting_{}_of_{}", result_bits(&this.numerics), lane_bits(&this.numerics).o);
    doc = "y = the upper bits of o, which a result is rounded from.";
    inputs { o: lane_bits(&this.numerics).o }
    outputs { y: result_bits(&this.numerics) }
    eval<W> { [o.top(result_bits(&this.numerics))] }
}

function! {
    /// An accumulator from the bits that have waited.
    pub struct WaitedFunction { numerics: Arc<Numerics> }
    name(this) = format!("waited_{}_of_{}", result_bits(&this.numerics), lane_bits(&this.numerics).o);
    doc = "o = y above zeros.";
    inputs { y: result_bits(&this.numerics) }
    outputs { o: lane_bits(&this.numerics).o }
    eval<W> { [y.append_zeros(lane_bits(&this.numerics).o - y.width())] }
}

/// What of an accumulator waits for the port: all of it with partial results, else the bits that a result is rounded from.
pub(crate) fn waiting(m: &mut Module, n: &Arc<Numerics>, o: Wire) -> Wire {
    match n.partial || result_bits(n) == o.width() {
        true => o,
        false => m.call("waiting", WaitingFunction { numerics: n.clone() }, [o])[0],
    }
}

/// The accumulator from the bits that have waited.
pub(crate) fn waited(m: &mut Module, n: &Arc<Numerics>, y: Wire) -> Wire {
    match y.width() == lane_bits(n).o {
        true => y,
        false => m.call("waited", WaitedFunction { numerics: n.clone() }, [y])[0],
    }
}

/// Results of [`FIXED`] at an array's port. With an exponent port each core makes its results, as its queries may have another exponent.
pub const FIXED_AT_PORT: PortResult = PortResult {
    applies: |n| n.formats.v.is_integer(),
    lanes: |n| lane_name("fixed", n, false, false),
    convert: |m, n, from| {
        let o = waited(m, n, from.word);
        let x = integer_exponent(m, n);
        lane_result(m, n, "result", o, x, from.done)
    },
};

/// [`FIXED_AT_PORT`] of lanes with a pipeline stage for the value.
pub const STAGED_FIXED_AT_PORT: PortResult =
    PortResult { lanes: |n| lane_name("fixed", n, true, false), ..FIXED_AT_PORT };

/// The constant exponent field of integer values whose results are floats.
fn integer_exponent(m: &mut Module, n: &Numerics) -> Option<Wire> {
    (!integers_to_integers(n)).then(|| m.call("result_x", IntegerExponentFunction {}, [])[0])
}

/// Name of the module of a lane, with a pipeline stage for the value or not, and with a result or an accumulator.
pub(super) fn lane_name(form: &str, n: &Numerics, staged: bool, rounds: bool) -> String {
    let LaneBits { o, v, w } = lane_bits(n);
    let (stage, end) = (if staged { "staged_" } else { "" }, if rounds { "lane" } else { "accumulator" });
    format!("flash_d_{stage}{form}_{end}_{}_{o}_{v}_{w}", lane_ident(n))
}

fn lane(m: &mut Module, n: &Arc<Numerics>, inputs: &LaneInputs<FixedScalars>) -> LaneOutputs {
    let (staged, rounds) = (inputs.scalars.reads.is_some(), inputs.core.finish.is_some());
    let numerics = || n.clone();
    let v = inputs.enter(m);
    let x = (rounds && !integers_to_integers(n)).then(|| inputs.x(m));
    let accept = m.optional_input("accept", inputs.scalars.reads);
    let WeightWords { w, upper, load, threshold } = m.enter("", &inputs.scalars.words);
    let update = m.input("update", inputs.scalars.update);
    let done = m.optional_input("done", inputs.core.finish);
    let result_x = x.map(|x| inputs.result_x(m, x));

    let (fixed, outside) = match inputs.core.exponents.and(x) {
        Some(x) => {
            let [fixed, outside] = m.call("value", ValueToFixedFunction { numerics: numerics() }, [v, x]);
            (fixed, Some(outside))
        }
        None => (m.call("value", IntegerToFixedFunction { numerics: numerics() }, [v])[0], None),
    };
    let value = accept.map_or(fixed, |accept| m.register_if("value_q", accept, fixed));
    let o = m.state_if("o_q", lane_bits(n).o, update);
    let step = FixedUpdateFunction { numerics: numerics(), even: staged };
    let [borrow, up] = m.call("dither", DitherFunction { numerics: numerics() }, [o, threshold]);
    let [next] = m.call("step", step, [value, o, borrow, up, w, upper, load]);
    let (places, number) = ("2^-(x + 1 - bias)", signed(lane_bits(n).v - 1));
    m.stage(Stage::Score(if staged { 3 } else { 4 }));
    m.signal(fixed, number, &format!("v[#] {places}"));
    m.stage(Stage::Score(4));
    if staged {
        m.show(value, &format!("v[#] {places}"));
    }
    let number = signed(lane_bits(n).o - 1);
    m.signal(o, number, &format!("o[#] {places} before"));
    m.signal(next, number, &format!("next o[#] {places}"));
    let y = match done {
        Some(done) => lane_result(m, n, "result", o, result_x, done),
        None => waiting(m, n, o),
    };
    let outputs = LaneOutputs {
        o: m.output("o", y),
        outside: outside.map(|outside| m.output("outside", outside)),
        o_state: None,
    };
    let restore = restore_ports(m, "state_o", inputs.restore).map(|(restore, state)| {
        (restore, accept.map_or(state, |accept| m.register_if("state_q", accept, state)))
    });
    let next = restored(m, next, restore);
    m.next(o, next);
    let o_state = restore.filter(|_| rounds).map(|_| m.output("o_state", o));
    LaneOutputs { o_state, ..outputs }
}
