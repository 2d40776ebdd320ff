//! The lane of FA2 `ranged`: fixed point relative to the largest exponent that the lane has read, and one multiplier for
//! update and final scale. Its scalar path is [`super::octave_reference`].
//!
//! ```text
//!  first key   E <- x                  o <- v                                     no product
//!  step        E' = max(E, x)          o <- (o >> delta + E' - E) + (v e >> E' - x)
//!  result      o r 2^E                 multiplier: the top of |o| times the significand of r
//! ```
//!
//! o is a fraction of `2^(E - bias + 1)`. l is below 2, so o stays below twice the largest value that the lane has read, nothing
//! overflows, and the host passes no exponent. One subtraction, `x - E - 1`, gives both distances: its complement is
//! `E - x`. Each is added to a shift that is due anyway, so an exponent for each lane takes no shifter more than one for
//! all lanes ([`super::shared_fixed_lane`]).
//!
//! A value of the largest exponent and an exponential of `2^-16`, which 65,536 equal scores reach, have a product that ends
//! in the accumulator's last place. With fewer bits such a product ends in a half of the last place in every second step. Rounding
//! away from zero then adds half of the value's own last place to the mean.
//!
//! The result takes `~o` for the magnitude of a negative o, which is one last place less and needs no carry chain.

use super::scalars::{Delta, SharedScalars, StepScalars};
use super::shared_fixed_lane::{
    LaneProductFunction, SharedProductFunction, SharedResultFunction, e_bits, lane_name, product_bits,
    scaled, show_accumulator, zeros_bits,
};
use super::shared_log_reference::delta_bits;
use super::widths::accumulator_bits;
use crate::arith::fixed::{clamp, shift_right_filled};
use crate::arith::{canonical, unpack};
use crate::attention::group::{LaneInputs, LaneKind, LaneOutputs};
use crate::attention::partial::{restore_ports, restored_as};
use crate::attention::port_result::PortResult;
use crate::flash_d::fixed_lane::lane_bits;
use crate::flash_d::ranged_lane::{pack, unpacked};
use crate::function;
use crate::rtl::Number::Float;
use crate::rtl::{Module, Number, Stage};
use crate::word::bits_for;
use flashd_spec::numerics::Numerics;
use std::sync::Arc;

/// Width of a product on its way to the accumulator: a bit that weighs 1, the accumulator's fraction and a guard.
fn product_places(n: &Numerics) -> u32 {
    (n.formats.v.precision() + n.factor_significand).max(lane_bits(n).o + 1)
}

/// Width of the product's right shift. The longest shift leaves nothing.
fn product_right_bits(n: &Numerics) -> u32 {
    bits_for(product_places(n).into())
}

/// Width of o's right shift. The longest shift leaves only the sign.
fn o_right_bits(n: &Numerics) -> u32 {
    bits_for((accumulator_bits(n) - 1).into())
}

function! {
    /// A value's significand, and how far product and accumulator go right to be relative to the larger exponent.
    pub struct RangedFa2ValueFunction { numerics: Arc<Numerics> }
    name(this) = {
        let n = &this.numerics;
        format!("{}_ranged_operand_{}_{}", n.formats.v.ident(), accumulator_bits(n), n.factor_significand)
    };
    doc = "v = significand * 2^(x - bias). e = {right, m}. The product goes right by right + max(0, top - x), o by delta + max(0, x - top);\na first key by nothing. moves: x is the new top, top being the largest exponent read. Inf and NaN count as 0.";
    inputs {
        v: this.numerics.formats.v.width(), top: this.numerics.formats.v.exponent_bits, e: e_bits(&this.numerics),
        delta: delta_bits(&this.numerics), load: 1, update: 1
    }
    outputs {
        significand: this.numerics.formats.v.precision(), negative: 1, x: this.numerics.formats.v.exponent_bits, moves: 1,
        product_right: product_right_bits(&this.numerics), o_right: o_right_bits(&this.numerics)
    }
    eval<W> {
        let n = &this.numerics;
        let (format, right) = (n.formats.v, e.drop_low(n.factor_significand));
        let u = unpack(format, &canonical(format, &v).named("v_finite"), "v");
        // x - top - 1 = x + ~top; its complement where it is negative is top - x.
        let bits = format.exponent_bits;
        let beyond = u.exponent.zext(bits + 1).add(&top.not().zext(bits + 1)).named("x_beyond_top");
        let (rises, beyond) = (beyond.msb().named("x_above_top"), beyond.slice(0, bits));
        let below = rises.not().repeat(bits).and(&beyond.not()).named("top_beyond_x");
        let wide = bits.max(right.width()) + 1;
        let product_right = clamp(&right.zext(wide).add(&below.zext(wide)).named("right_sum"), product_right_bits(n));
        let product_right = product_right.zext(product_right_bits(n));
        let product_right = load.not().repeat(product_right.width()).and(&product_right);
        // delta + (x - top - 1) + 1.
        let above = rises.repeat(bits).and(&beyond).named("x_beyond");
        let wide = bits.max(delta.width()) + 1;
        let sum = |a: &W| a.zext(wide).concat(&rises);
        let o_right = sum(&delta).add(&sum(&above)).drop_low(1).named("delta_sum");
        let o_right = clamp(&o_right, o_right_bits(n)).zext(o_right_bits(n));
        let moves = rises.or(&load).and(&update);
        [u.significand, u.sign, u.exponent, moves, product_right, o_right]
    }
}

function! {
    /// The top of |o|, normalised, as an operand of the multiplier.
    pub struct RangedKeptFunction { numerics: Arc<Numerics> }
    name(this) = format!("ranged_kept_{}_of_{}", this.numerics.kept_significand(), accumulator_bits(&this.numerics));
    doc = format!(
        "o, or ~o if it is negative, normalised and cut to {} bits and a one in the middle of what is dropped; at rest\nunless done.",
        this.numerics.kept_significand() - 1
    );
    inputs { o: accumulator_bits(&this.numerics), done: 1 }
    outputs { kept: this.numerics.kept_significand(), zeros: zeros_bits(&this.numerics), negative: 1 }
    at_rest { done ignores o }
    eval<W> {
        let (bits, kept) = (accumulator_bits(&this.numerics), this.numerics.kept_significand());
        let o = done.repeat(bits).and(&o).named("o_when_done");
        let sign = o.msb();
        let magnitude = o.xor(&sign.repeat(bits)).named("magnitude");
        let (normalised, leading_zeros) = magnitude.normalise();
        let normalised = normalised.append_zeros(kept.saturating_sub(bits)).named("normalised");
        [normalised.top(kept - 1).concat(&done), leading_zeros, sign]
    }
}

function! {
    /// The next value of the accumulator.
    pub struct RangedFa2UpdateFunction { numerics: Arc<Numerics> }
    name(this) = {
        let n = &this.numerics;
        format!("{}_ranged_update_{}_{}", n.formats.v.ident(), accumulator_bits(n), n.factor_significand)
    };
    doc = "o_next = load ? v : (o >> o_right) + product * 2^-product_right, rounded half away from zero.";
    inputs {
        o: accumulator_bits(&this.numerics), significand: this.numerics.formats.v.precision(), negative: 1,
        product: product_bits(&this.numerics), product_right: product_right_bits(&this.numerics),
        o_right: o_right_bits(&this.numerics), load: 1
    }
    outputs { o_next: accumulator_bits(&this.numerics) }
    eval<W> {
        let n = &this.numerics;
        let (bits, fraction) = (accumulator_bits(n), lane_bits(n).o - 1);
        let (p, w) = (n.formats.v.precision(), n.factor_significand);
        // |v| e = product 2^-(p + WM - 1) 2^-right, below 1. A first key has e = 1: its v is placed like a product
        // with m = 2^(WM - 1).
        let product = product.slice(0, p + w);
        let placed = significand.append_zeros(w - 1).zext(p + w);
        let addend = load.select(&placed, &product).named("addend");
        let places = product_places(n);
        let shifted = addend.append_zeros(places - addend.width()).shr(&product_right).named("shifted");
        let below = places - 1 - fraction;
        let (magnitude, guard) = (shifted.slice(below, fraction), shifted.bit(below - 1));
        let before = load.not().repeat(bits).and(&o).named("o_before");
        let base = shift_right_filled(&before, &o_right, &before.msb()).named("o_shifted");
        let addend = magnitude.zext(bits).xor(&negative.repeat(bits)).named("addend");
        let carry = guard.xor(&negative).named("carry");
        // A 1 below the last place adds the carry in the same adder.
        [base.concat(&W::constant(1, 1)).add(&addend.concat(&carry)).named("o_next_halves").drop_low(1)]
    }
}

/// One element of o: `o <- load ? v : (o >> delta) + v e` while `update` is high, relative to the largest exponent read.
/// While `done` is high, `e` is a quarter of the final scale, and the result is `4 o e`.
pub const RANGED: LaneKind<SharedScalars<Delta>> = LaneKind {
    name: |n, _, rounds| lane_name(if rounds { "ranged_lane" } else { "ranged_accumulator" }, n),
    doc: |rounds| match rounds {
        true => {
            "One element of o in fixed point, relative to the largest exponent read: o <- (o >> delta) + v * e;\nresult = o * scale by the same multiplier."
        }
        false => {
            "One element of o in fixed point, relative to the largest exponent read: o <- (o >> delta) + v * e."
        }
    },
    lane,
};

/// Results of [`RANGED`] at an array's port.
pub const RANGED_AT_PORT: PortResult = PortResult {
    applies: |_| true,
    lanes: |n| lane_name("ranged_accumulator", n),
    convert: |m, n, from| {
        let [o, top] = unpacked(m, "parts", n, from.word);
        let kept = m.call("kept", RangedKeptFunction { numerics: n.clone() }, [o, from.done]);
        scaled(m, n, from, kept, top)
    },
};

fn lane(m: &mut Module, n: &Arc<Numerics>, inputs: &LaneInputs<SharedScalars<Delta>>) -> LaneOutputs {
    let numerics = || n.clone();
    let v = inputs.enter(m);
    let StepScalars { e, change: Delta { delta }, load } = m.enter("", &inputs.scalars.step);
    let update = m.input("update", inputs.scalars.update);
    let done = m.optional_input("done", inputs.core.finish);
    let restore = restore_ports(m, "state_o", inputs.restore)
        .map(|(restore, state)| (restore, unpacked(m, "state", n, state)));

    let moves = m.later(1);
    let top = m.state_if("e_q", n.formats.v.exponent_bits, moves);
    let function = RangedFa2ValueFunction { numerics: numerics() };
    let [significand, negative, x, takes, product_right, o_right] =
        m.call("value", function, [v, top, e, delta, load, update]);
    m.drive(moves, takes);
    let o = m.state_if("o_q", accumulator_bits(n), update);
    let kept = done.map(|done| m.call("kept", RangedKeptFunction { numerics: numerics() }, [o, done]));
    let [product] = match (done, kept) {
        (Some(done), Some([kept, ..])) => {
            let function = SharedProductFunction { numerics: numerics() };
            m.call("product", function, [kept, significand, e, done])
        }
        _ => m.call("product", LaneProductFunction { numerics: numerics() }, [significand, e]),
    };
    let function = RangedFa2UpdateFunction { numerics: numerics() };
    let mut next =
        [m.call("step", function, [o, significand, negative, product, product_right, o_right, load])[0], x];
    m.stage(Stage::Score(3));
    let bits = [significand, x, top, product_right, o_right, product];
    m.number_each(&bits, Number::Bits);
    if let Some([kept, zeros, _]) = kept {
        m.number_each(&[kept, zeros], Number::Bits);
    }
    m.show(top, "E[#] before: largest exponent read");
    show_accumulator(m, n, "E", [o, next[0]]);
    if let Some((restore, state)) = restore {
        for ((next, state), name) in next.iter_mut().zip(state).zip(["restored", "restored_e"]) {
            *next = restored_as(m, name, *next, Some((restore, state)));
        }
    }
    m.next_all(&[o, top], &next);
    let (Some(done), Some([_, zeros, o_negative])) = (done, kept) else {
        let word = pack(m, "state_of", [o, top]);
        return LaneOutputs { o: m.output("o", word), outside: None, o_state: None };
    };
    let function = SharedResultFunction { numerics: numerics() };
    let [scaled] = m.call("scale", function, [product, zeros, o_negative, e, top]);
    m.stage(Stage::Score(4));
    m.show(("kept", "o"), "accumulator [#] 2^-(E + 1 - bias)");
    m.signal(scaled, Float(n.formats.o), "accumulator [#] / l");
    let result_q = m.register_if("result_q", done, scaled);
    let o_state = restore.map(|_| {
        let state = pack(m, "state_of", [o, top]);
        let state = m.register_if("state_q", done, state);
        m.output("o_state", state)
    });
    LaneOutputs { o: m.output("o", result_q), outside: None, o_state }
}
