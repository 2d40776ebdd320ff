//! FLASH-D's output update, (12), in fixed point, each lane relative to the largest exponent that it has read.
//!
//! ```text
//!  v, x   significand of p bits, exponent field                  E  exponent field of the lane
//!  x > E  E <- x, o goes right by x - E        otherwise v goes right by E - x
//! ```
//!
//! Both are then fractions of `2^(E - bias + 1)`, and [`FixedUpdateFunction`] updates o as in
//! [`fixed_lane`](super::fixed_lane). A first key sets E. A step that reads no value changes nothing. `|o| <= max|v|` over
//! the lane's own values, so nothing overflows and the host need not pass an exponent: a lane is as exact for a small
//! channel of V as for a large one. One subtraction, `x - E - 1`, gives both distances: its complement is `E - x`.
//!
//! E grows a few times a query. A shift keeps only the bits of o that results are rounded from and puts one half of their last place below:
//! an error of at most a 32nd of v's last place, zero on average. Because every channel fills its range, v needs a bit less than
//! under one exponent for all. `docs/theory/lanes.md` compares the forms that were measured.

use super::fixed_lane::{
    DitherFunction, FixedUpdateFunction, lane_bits, lane_factor, lane_name, lane_result, waited, waiting,
};
use super::scalars::{FirstRead, WeightScalars, WeightWords};
use crate::arith::fixed::{clamp, shift_right_filled, shift_with_guard};
use crate::arith::{canonical, unpack};
use crate::attention::group::{CoreScalars, LaneInputs, LaneKind, LaneOutputs, LaneScalars};
use crate::attention::partial::{restore_ports, restored, restored_as};
use crate::attention::port_result::PortResult;
use crate::function;
use crate::rtl::{Module, Name, Number, Stage, Wire, signed};
use crate::word::bits_for;
use flashd_spec::config::LaneBits;
use flashd_spec::numerics::{LOG_SUM_GUARD_BITS, Numerics, fixed_result_bits};
use std::sync::Arc;

/// Width of an accumulator: OW, and FA2's guard bits.
pub(crate) fn accumulator_bits(n: &Numerics) -> u32 {
    lane_bits(n).o + if n.log_reference { LOG_SUM_GUARD_BITS } else { 0 }
}

/// Width of a lane's state in a partial result, `{E, o}`.
pub(crate) fn state_bits(n: &Numerics) -> u32 {
    n.formats.v.exponent_bits + accumulator_bits(n)
}

/// Width of o's right shift beyond the first place. The longest shift leaves only the sign.
fn right_bits(n: &Numerics) -> u32 {
    bits_for((fixed_result_bits(lane_bits(n)) - 2).into())
}

function! {
    /// A value in fixed point, and how it moves the lane's exponent.
    pub struct RangedValueFunction { numerics: Arc<Numerics> }
    name(this) = format!("{}_to_ranged_{}", this.numerics.formats.v.ident(), lane_bits(&this.numerics).v);
    doc = "fixed = v relative to 2^(max(e, x) + 1), or of a first key to 2^(x + 1), rounded half away from zero; x its\nexponent field. moves: e takes x; rises: x > e, and o goes right by right + 1 = x - e. Inf and NaN count as 0.";
    inputs { v: this.numerics.formats.v.width(), e: this.numerics.formats.v.exponent_bits, first: 1, read: 1 }
    outputs {
        fixed: lane_bits(&this.numerics).v, x: this.numerics.formats.v.exponent_bits, moves: 1, rises: 1,
        right: right_bits(&this.numerics)
    }
    eval<W> {
        let format = this.numerics.formats.v;
        let bits = lane_bits(&this.numerics).v;
        let u = unpack(format, &canonical(format, &v).named("v_finite"), "v");
        // x - e - 1 = x + ~e; its complement where it is negative is e - x.
        let wide = format.exponent_bits + 1;
        let beyond = u.exponent.zext(wide).add(&e.not().zext(wide)).named("x_beyond_e");
        let (rises, beyond) = (beyond.msb().named("x_above_e"), beyond.slice(0, wide - 1));
        let takes = rises.or(&first).named("takes_x");
        let places = format.precision().max(bits);
        let below = clamp(&beyond.not().named("e_beyond_x"), bits_for(places.into()).min(wide - 1));
        let v_right = takes.not().repeat(below.width()).and(&below).named("v_right");
        let (magnitude, guard) = shift_with_guard(&u.significand, &v_right, bits - 1);
        // The largest magnitude is not rounded up.
        let guard = guard.and(&magnitude.all().not());
        // -m - g = ~m + (1 - g): one incrementer for sign and rounding.
        let coded = W::zero(1).concat(&magnitude).xor(&u.sign.repeat(bits)).named("coded");
        let fixed = coded.add(&guard.xor(&u.sign).zext(bits));
        let right = clamp(&beyond, right_bits(&this.numerics));
        let right = rises.repeat(right.width()).and(&right).zext(right_bits(&this.numerics));
        [fixed, u.exponent, takes.and(&read), rises, right]
    }
}

function! {
    /// Aligns the accumulator when the lane's exponent rises.
    pub struct RangedAlignFunction { numerics: Arc<Numerics> }
    name(this) = {
        let LaneBits { o, v, .. } = lane_bits(&this.numerics);
        format!("ranged_align_{o}_{v}")
    };
    doc = "y = rises ? the upper bits of o, right by right + 1, and a half of their last place : o.";
    inputs { o: lane_bits(&this.numerics).o, rises: 1, right: right_bits(&this.numerics) }
    outputs { y: lane_bits(&this.numerics).o }
    eval<W> {
        let kept = fixed_result_bits(lane_bits(&this.numerics));
        let one_right = o.msb().concat(&o.top(kept).drop_low(1));
        let moved = shift_right_filled(&one_right, &right, &o.msb());
        let moved = match o.width() - kept {
            0 => moved,
            low => moved.concat(&W::constant(low, 1 << (low - 1))),
        };
        [rises.select(&moved.named("moved"), &o)]
    }
}

function! {
    /// Packs accumulator and exponent into a lane's state.
    pub struct RangedStateFunction { o_bits: u32, exponent_bits: u32 }
    name(this) = format!("ranged_state_{}", this.o_bits);
    doc = "state = {e, o}.";
    inputs { o: this.o_bits, e: this.exponent_bits }
    outputs { state: this.exponent_bits + this.o_bits }
    eval<W> { [e.concat(&o)] }
}

function! {
    /// Unpacks accumulator and exponent from a lane's state.
    pub struct RangedPartsFunction { o_bits: u32, exponent_bits: u32 }
    name(this) = format!("ranged_parts_{}", this.o_bits);
    doc = "{e, o} = state.";
    inputs { state: this.exponent_bits + this.o_bits }
    outputs { o: this.o_bits, e: this.exponent_bits }
    eval<W> { [state.slice(0, this.o_bits), state.drop_low(this.o_bits)] }
}

/// Packs an accumulator, or what of it waits, and its exponent into one word.
pub(crate) fn pack(m: &mut Module, name: impl Into<Name>, [o, e]: [Wire; 2]) -> Wire {
    let function = RangedStateFunction { o_bits: o.width(), exponent_bits: e.width() };
    m.call(name, function, [o, e])[0]
}

/// Unpacks such a word.
pub(crate) fn unpacked(m: &mut Module, name: impl Into<Name>, n: &Numerics, state: Wire) -> [Wire; 2] {
    let exponent_bits = n.formats.v.exponent_bits;
    m.call(name, RangedPartsFunction { o_bits: state.width() - exponent_bits, exponent_bits }, [state])
}

/// One element of o with its exponent: converts the value, aligns and updates in one stage.
///
/// With a pipeline stage value and exponent come before the update. On a step that holds, weight and accumulator do not toggle.
/// The value's registers toggle only with the port, and a core reads no value then. They have no enable, which saves a multiplexer a
/// bit; they count only where `update` is high.
pub const RANGED: LaneKind<RangedScalars> = LaneKind {
    name: |n, scalars, rounds| lane_name("ranged", n, scalars.reads.is_some(), rounds),
    doc: |_| "One element of o in fixed point, relative to the largest exponent read: o <- o + w * (v - o), when update.",
    lane,
};

/// The scalars of these lanes. They need to know with the value that its key is a first one.
pub type RangedScalars = WeightScalars<FirstRead, Wire>;

impl LaneScalars for RangedScalars {
    fn copies(&self, m: &mut Module, n: &Arc<Numerics>, finish: Option<Wire>) -> (Self, Option<Wire>) {
        let w = lane_factor(m, n, self.words.w);
        let reads = self.reads.map(|value| (m.register_reset("reads_q", 0, value.reads), value));
        let (words, finish) =
            WeightScalars { words: WeightWords { w, ..self.words }, ..*self }.copy_words(m, finish);
        let reads = reads.map(|(reads, value)| FirstRead {
            reads,
            loads: m.register_if("loads_q", value.reads, value.loads),
        });
        (WeightScalars { reads, ..words }, finish)
    }

    fn show(&self, m: &mut Module, core: CoreScalars) {
        self.show_words(m, self.reads.map(|value| value.reads), core);
    }
}

/// Results of [`RANGED`] at an array's port.
pub const RANGED_AT_PORT: PortResult = PortResult {
    applies: |_| true,
    lanes: |n| lane_name("ranged", n, false, false),
    convert: |m, n, from| {
        let [o, e] = unpacked(m, "parts", n, from.word);
        let o = waited(m, n, o);
        lane_result(m, n, "result", o, Some(e), from.done)
    },
};

/// [`RANGED_AT_PORT`] of lanes with a pipeline stage for the value.
pub const STAGED_RANGED_AT_PORT: PortResult =
    PortResult { lanes: |n| lane_name("ranged", n, true, false), ..RANGED_AT_PORT };

fn lane(m: &mut Module, n: &Arc<Numerics>, inputs: &LaneInputs<RangedScalars>) -> LaneOutputs {
    let staged = inputs.scalars.reads.is_some();
    let v = inputs.enter(m);
    let WeightWords { w, upper, load, threshold } = m.enter("", &inputs.scalars.words);
    let update = m.input("update", inputs.scalars.update);
    let done = m.optional_input("done", inputs.core.finish);
    let early =
        inputs.scalars.reads.map(|value| m.input_each([("accept", value.reads), ("loads", value.loads)]));
    let restore = restore_ports(m, "state_o", inputs.restore)
        .map(|(restore, state)| (restore, unpacked(m, "state", n, state)));

    // The exponent moves with the value.
    let moves = m.later(1);
    let ahead = m.state_if(if staged { "ahead_q" } else { "e_q" }, n.formats.v.exponent_bits, moves);
    let [read, first] = early.unwrap_or([update, load]);
    let convert = RangedValueFunction { numerics: n.clone() };
    let [fixed, x, takes, rises, right] = m.call("value", convert, [v, ahead, first, read]);
    m.drive(moves, takes);
    let x = restored_as(m, "restored_e", x, restore.map(|(restore, [_, e])| (restore, e)));
    m.next(ahead, x);

    // With a value stage, all outputs of the conversion wait for the weight.
    let mut wait = |name: &'static str, wire| match early {
        Some(_) => m.register(name, wire),
        None => wire,
    };
    let [value, rises, right] =
        [("value_q", fixed), ("rises_q", rises), ("right_q", right)].map(|(name, wire)| wait(name, wire));
    let restore = restore.map(|(restore, [o, _])| match early {
        Some([accept, _]) => (m.register("restore_q", restore), m.register_if("state_q", accept, o)),
        None => (restore, o),
    });
    let e = match early {
        // The value stage is a cycle ahead of the update, and so is its exponent.
        Some(_) => m.register("e_q", ahead),
        None => ahead,
    };
    let o = m.state_if("o_q", lane_bits(n).o, update);
    let [aligned] = m.call("align", RangedAlignFunction { numerics: n.clone() }, [o, rises, right]);
    let step = FixedUpdateFunction { numerics: n.clone(), even: staged };
    let dither = DitherFunction { numerics: n.clone() };
    let [borrow, up] = m.call("dither", dither, [aligned, threshold]);
    let [next] = m.call("step", step, [value, aligned, borrow, up, w, upper, load]);
    m.number_each(&[ahead, right], Number::Bits);
    let places = "2^-(E + 1 - bias)";
    m.stage(Stage::Score(if staged { 3 } else { 4 }));
    if staged {
        m.show(ahead, "E[#] before, ahead of o");
        m.signal(fixed, signed(lane_bits(n).v - 1), &format!("v[#] {places}"));
        m.stage(Stage::Score(4));
    }
    m.show(e, "E[#] before: largest exponent read");
    m.signal(value, signed(lane_bits(n).v - 1), &format!("v[#] {places}"));
    let number = signed(lane_bits(n).o - 1);
    m.signal(aligned, number, &format!("o[#] {places} before"));
    m.signal(next, number, &format!("next o[#] {places}"));
    m.number(o, number);
    let y = done.map(|done| lane_result(m, n, "result", o, Some(e), done));
    let next = restored(m, next, restore);
    m.next(o, next);
    let Some(y) = y else {
        let kept = waiting(m, n, o);
        let word = pack(m, "state_of", [kept, e]);
        return LaneOutputs { o: m.output("o", word), outside: None, o_state: None };
    };
    let o_state = restore.map(|_| {
        let state = pack(m, "state_of", [o, e]);
        m.output("o_state", state)
    });
    LaneOutputs { o: m.output("o", y), outside: None, o_state }
}
