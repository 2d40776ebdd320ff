//! The lane of FA2 `shared-log-reference`: fixed point, and one multiplier for update and final scale. Its scalar path
//! is [`super::shared_log_reference`].
//!
//! ```text
//!  step        o <- (o >> delta) + v e     multiplier: significand of v (p bits) times that of e (WM)
//!  first key   o <- v                      no product
//!  result      o r                         multiplier: the top of |o| (KO bits) times the significand of r (WM)
//! ```
//!
//! The lane scales the result of a query in the cycle after its last update. In that cycle it has no step, or the first
//! one of the next query, which needs no product. So there is no bubble.
//!
//! KO is p + 3, and its last bit is a 1, the middle of the dropped bits. WM is p + 2. Measured on recorded heads, the
//! mean error is within 1 % of that of `log-reference`, mostly below it, because e has the bits that r needs. (The
//! second multiplier of `log-reference` takes p + 4 by p + 6 bits, and its exponentials have p bits.) With one bit less
//! in KO the error is up to 7 % larger than that of `log-reference`. One bit more in WM reduces the error by up to 1 %
//! and enlarges the core by 2 %.

use super::scalars::{Delta, SharedScalars, StepScalars};
use super::shared_log_reference::delta_bits;
use super::widths::accumulator_bits;
use crate::arith::fixed::{rebias_bits, relative, shift_with_guard};
use crate::arith::normalise::normalise_within;
use crate::arith::round::{Unrounded, round_pack};
use crate::arith::signed::shift_right_signed;
use crate::attention::factor::factor_bits;
use crate::attention::group::{IntegerExponentFunction, LaneInputs, LaneKind, LaneOutputs};
use crate::attention::lane::accumulate;
use crate::attention::partial::{restore_ports, restored};
use crate::attention::port_result::{Accumulated, PortResult};
use crate::flash_d::fixed_lane::{lane_bits, lane_ident, result_ident};
use crate::function;
use crate::rtl::Number::Float;
use crate::rtl::{Module, Number, Stage, Wire, signed};
use crate::word::{bits_for, ones};
use flashd_spec::format::Format;
use flashd_spec::numerics::{LOG_SUM_GUARD_BITS, Numerics};
use std::sync::Arc;

function! {
    /// The value, aligned to the largest exponent of the values, as significand and right shift.
    pub struct RelativeValueFunction { format: Format }
    name(this) = format!("{}_relative_value", this.format.ident());
    doc = "v = significand * 2^-right relative to 2^(x + 1), x the largest exponent field of the values; outside: v's exponent\nis larger, and counts as x with the largest significand.";
    inputs { v: this.format.width(), x: this.format.exponent_bits }
    outputs { significand: this.format.precision(), v_right: this.format.exponent_bits, negative: 1, outside: 1 }
    eval<W> {
        let r = relative(this.format, &v, &x);
        [r.significand, r.right, r.sign, r.outside]
    }
}

function! {
    /// [`RelativeValueFunction`] of an integer.
    pub struct IntegerValueFunction { format: Format }
    name(this) = format!("{}_value", this.format.ident());
    doc = "v = significand * 2^-right relative to 2^2, 1 being the exponent field of all integers.";
    inputs { v: this.format.width() }
    outputs { significand: this.format.precision(), v_right: this.format.exponent_bits, negative: 1 }
    eval<W> {
        let r = relative(this.format, &v, &W::constant(this.format.exponent_bits, 1));
        [r.significand, r.right, r.sign]
    }
}

/// Width of the factor `{right, m}`.
pub(super) fn e_bits(n: &Numerics) -> u32 {
    factor_bits(n, n.factor_significand)
}

/// Width of the product.
pub(super) fn product_bits(n: &Numerics) -> u32 {
    n.kept_significand() + n.factor_significand
}

/// Width of the count of an accumulator's leading zeros.
pub(super) fn zeros_bits(n: &Numerics) -> u32 {
    crate::word::all_stages(accumulator_bits(n))
}

function! {
    /// The top of |o|, normalised, as an operand of the multiplier.
    pub struct KeptFunction { numerics: Arc<Numerics> }
    name(this) = format!("kept_{}_of_{}", this.numerics.kept_significand(), accumulator_bits(&this.numerics));
    doc = format!(
        "|o| normalised and cut to {} bits and a one in the middle of what is dropped; at rest unless done.",
        this.numerics.kept_significand() - 1
    );
    inputs { o: accumulator_bits(&this.numerics), done: 1 }
    outputs { kept: this.numerics.kept_significand(), zeros: zeros_bits(&this.numerics), negative: 1 }
    at_rest { done ignores o }
    eval<W> {
        let (bits, kept) = (accumulator_bits(&this.numerics), this.numerics.kept_significand());
        let o = done.repeat(bits).and(&o).named("o_when_done");
        let sign = o.msb();
        let magnitude = sign.select(&o.negate(), &o).named("magnitude");
        let (normalised, leading_zeros) = magnitude.normalise();
        let normalised = normalised.append_zeros(kept.saturating_sub(bits)).named("normalised");
        [normalised.top(kept - 1).concat(&done), leading_zeros, sign]
    }
}

function! {
    /// The product of the lane's only multiplier.
    pub struct SharedProductFunction { numerics: Arc<Numerics> }
    name(this) = format!("shared_product_{}_{}", this.numerics.kept_significand(), this.numerics.factor_significand);
    doc = "product = (done ? kept : significand) * m, e = {right, m}, kept being zero unless done.";
    inputs {
        kept: this.numerics.kept_significand(), significand: this.numerics.formats.v.precision(),
        e: e_bits(&this.numerics), done: 1
    }
    outputs { product: product_bits(&this.numerics) }
    eval<W> {
        let m = e.slice(0, this.numerics.factor_significand);
        let significand = done.not().repeat(significand.width()).and(&significand);
        [kept.or(&significand.zext(kept.width())).named("operand").mul(&m)]
    }
}

function! {
    /// The product of a lane whose results are made at the port.
    pub struct LaneProductFunction { numerics: Arc<Numerics> }
    name(this) = format!("lane_product_{}_{}", this.numerics.formats.v.precision(), this.numerics.factor_significand);
    doc = "product = significand * m, e = {right, m}.";
    inputs { significand: this.numerics.formats.v.precision(), e: e_bits(&this.numerics) }
    outputs { product: product_bits(&this.numerics) }
    eval<W> {
        let m = e.slice(0, this.numerics.factor_significand);
        [significand.mul(&m).zext(product_bits(&this.numerics))]
    }
}

function! {
    /// The product of a result that is made at the port.
    pub struct KeptProductFunction { numerics: Arc<Numerics> }
    name(this) = format!("kept_product_{}_{}", this.numerics.kept_significand(), this.numerics.factor_significand);
    doc = "product = kept * m, e = {right, m}.";
    inputs { kept: this.numerics.kept_significand(), e: e_bits(&this.numerics) }
    outputs { product: product_bits(&this.numerics) }
    eval<W> { [kept.mul(&e.slice(0, this.numerics.factor_significand))] }
}

function! {
    /// The next value of the accumulator.
    pub struct SharedUpdateFunction { numerics: Arc<Numerics> }
    name(this) = {
        let n = &this.numerics;
        format!("{}_shared_update_{}_{}", n.formats.v.ident(), accumulator_bits(n), n.factor_significand)
    };
    doc = "o_next = load ? v : (o >> delta) + product * 2^-right, e = {right, m}, v and product relative to the largest value.";
    inputs {
        o: accumulator_bits(&this.numerics), significand: this.numerics.formats.v.precision(), v_right: this.numerics.formats.v.exponent_bits,
        negative: 1, product: product_bits(&this.numerics), e: e_bits(&this.numerics), delta: delta_bits(&this.numerics), load: 1
    }
    outputs { o_next: accumulator_bits(&this.numerics) }
    eval<W> {
        let n = &this.numerics;
        let (bits, w) = (accumulator_bits(n), n.factor_significand);
        // |v| e = product 2^-(p + WM - 1) 2^-shift, below 1. A first key has e = 1: its v is placed like a product
        // with m = 2^(WM - 1).
        let product = product.slice(0, n.formats.v.precision() + w);
        let placed = significand.append_zeros(w - 1).zext(product.width());
        let addend = load.select(&placed, &product).named("addend");
        let right = e.drop_low(w);
        let wide = v_right.width().max(right.width()) + 1;
        let right = load.not().repeat(right.width()).and(&right).named("right");
        let shift = v_right.zext(wide).add(&right.zext(wide)).named("right_sum");
        let fraction = lane_bits(n).o - 1;
        let (magnitude, guard) = shift_with_guard(&addend, &shift, fraction + 1);
        let before = load.not().repeat(bits).and(&o).named("o_before");
        let base = shift_right_signed(&before, &delta).named("o_shifted");
        let term = magnitude.slice(0, fraction).zext(bits).xor(&negative.repeat(bits)).named("term");
        let carry = guard.xor(&negative).named("carry");
        // A 1 below the last place adds the carry in the same adder.
        [base.concat(&W::constant(1, 1)).add(&term.concat(&carry)).named("o_next_halves").drop_low(1)]
    }
}

function! {
    /// The result `o / l`: the product of accumulator and reciprocal, rounded once.
    pub struct SharedResultFunction { numerics: Arc<Numerics> }
    name(this) = {
        let n = &this.numerics;
        format!("{}_shared_result_{}_{}", result_ident(n), accumulator_bits(n), n.factor_significand)
    };
    doc = "y = product * 2^(2 - zeros - right), e = {right, m}, relative to 2^(x + 1), one rounding.";
    inputs {
        product: product_bits(&this.numerics), zeros: zeros_bits(&this.numerics), negative: 1, e: e_bits(&this.numerics), x: this.numerics.formats.v.exponent_bits
    }
    outputs { y: this.numerics.formats.o.width() }
    eval<W> {
        let n = &this.numerics;
        let (from, fmt) = (n.formats.v, n.formats.o);
        let rebias = fmt.bias - from.bias;
        // Both factors have their leading one.
        let (significand, product_zeros) = normalise_within(&product, 1);
        // The reciprocal is at most 4. It is above 1/2 but for an error that a wide factor does not round away. The
        // factor is a quarter of it, so right is 0 to 4 and 3 bits of it suffice.
        let right = e.slice(n.factor_significand, 3);
        let wide = (fmt.exponent_bits.max(from.exponent_bits) + 2)
            .max(bits_for(accumulator_bits(n) as u64) + 3)
            .max(rebias_bits(rebias));
        // The top bit of the accumulator weighs 2^(guard) 2^(x - bias + 1). The product has one integer bit more, and
        // the factor is a quarter of the reciprocal.
        let constant = W::constant(wide, (LOG_SUM_GUARD_BITS as i32 + 4 + rebias) as i64 as u64 & ones(wide));
        let exponent = x.zext(wide)
            .add(&constant)
            .sub(&zeros.zext(wide))
            .sub(&right.zext(wide))
            .sub(&product_zeros.zext(wide))
            .named("exponent");
        let sign = negative.and(&significand.msb());
        [round_pack(fmt, &Unrounded::new(sign, exponent, significand.named("normalised_product")))]
    }
}

/// One element of o: `o <- load ? v : (o >> delta) + v e` while `update` is high. While `done` is high, `e` is a
/// quarter of the final scale, and the result is `4 o e`.
pub const SHARED_FIXED: LaneKind<SharedScalars<Delta>> = LaneKind {
    name: |n, _, rounds| lane_name(if rounds { "shared_fixed_lane" } else { "fixed_accumulator" }, n),
    doc: |rounds| match rounds {
        true => {
            "One element of o in fixed point: o <- (o >> delta) + v * e; result = o * scale by the same multiplier."
        }
        false => "One element of o in fixed point: o <- (o >> delta) + v * e.",
    },
    lane,
};

/// Name of the module of a lane whose factor has the significand of exponentials.
pub(super) fn lane_name(form: &str, n: &Numerics) -> String {
    format!("fa2_{form}_{}_{}_{}", lane_ident(n), accumulator_bits(n), n.factor_significand)
}

/// Results of [`SHARED_FIXED`] at an array's port, for values without an exponent port.
pub const SHARED_FIXED_AT_PORT: PortResult = PortResult {
    applies: |n| n.formats.v.is_integer(),
    lanes: |n| lane_name("fixed_accumulator", n),
    convert: |m, n, from| {
        let [kept, zeros, negative] =
            m.call("kept", KeptFunction { numerics: n.clone() }, [from.word, from.done]);
        let [x] = m.call("result_x", IntegerExponentFunction {}, []);
        scaled(m, n, from, [kept, zeros, negative], x)
    },
};

/// The result from the top of an accumulator, which has this exponent.
pub(super) fn scaled(
    m: &mut Module,
    n: &Arc<Numerics>,
    from: &Accumulated,
    [kept, zeros, negative]: [Wire; 3],
    x: Wire,
) -> Wire {
    let scale = from.scale.unwrap_or_else(|| panic!("FA2's results take a scale"));
    let [product] = m.call("product", KeptProductFunction { numerics: n.clone() }, [kept, scale]);
    let function = SharedResultFunction { numerics: n.clone() };
    m.call("scale", function, [product, zeros, negative, scale, x])[0]
}

/// Rows for the accumulator and its next value, relative to an exponent of this name.
pub(super) fn show_accumulator(m: &mut Module, n: &Numerics, exponent: &str, [o, next]: [Wire; 2]) {
    m.stage(Stage::Score(3));
    let number = signed(lane_bits(n).o - 1);
    m.signal(o, number, &format!("accumulator [#] 2^-({exponent} + 1 - bias)"));
    m.signal(next, number, &format!("next accumulator [#] 2^-({exponent} + 1 - bias)"));
}

fn lane(m: &mut Module, n: &Arc<Numerics>, inputs: &LaneInputs<SharedScalars<Delta>>) -> LaneOutputs {
    let rounds = inputs.core.finish.is_some();
    let numerics = || n.clone();
    let v = inputs.enter(m);
    let x = rounds.then(|| inputs.x(m));
    let StepScalars { e, change: Delta { delta }, load } = m.enter("", &inputs.scalars.step);
    let update = m.input("update", inputs.scalars.update);
    let Some((x, done)) = x.zip(m.optional_input("done", inputs.core.finish)) else {
        let [significand, v_right, negative] =
            m.call("value", IntegerValueFunction { format: n.formats.v }, [v]);
        let o = m.state_if("o_q", accumulator_bits(n), update);
        let [product] = m.call("product", LaneProductFunction { numerics: numerics() }, [significand, e]);
        let operands = [o, significand, v_right, negative, product, e, delta, load];
        let [next] = m.call("step", SharedUpdateFunction { numerics: numerics() }, operands);
        let restore = restore_ports(m, "state_o", inputs.restore);
        let next = restored(m, next, restore);
        m.next(o, next);
        show_accumulator(m, n, "x", [o, next]);
        return LaneOutputs { o: m.output("o", o), outside: None, o_state: None };
    };
    let result_x = inputs.result_x(m, x);
    let [significand, v_right, negative, outside] =
        m.call("value", RelativeValueFunction { format: n.formats.v }, [v, x]);
    let o = m.state_if("o_q", accumulator_bits(n), update);
    let [kept, zeros, o_negative] = m.call("kept", KeptFunction { numerics: numerics() }, [o, done]);
    let function = SharedProductFunction { numerics: numerics() };
    let [product] = m.call("product", function, [kept, significand, e, done]);
    let function = SharedUpdateFunction { numerics: numerics() };
    let [o_next] = m.call("step", function, [o, significand, v_right, negative, product, e, delta, load]);
    let function = SharedResultFunction { numerics: numerics() };
    let [scaled] = m.call("scale", function, [product, zeros, o_negative, e, result_x]);
    m.number_each(&[significand, v_right, product, kept, zeros], Number::Bits);
    show_accumulator(m, n, "x", [o, o_next]);
    m.stage(Stage::Score(4));
    m.show(("kept", "o"), "accumulator [#] 2^-(x + 1 - bias)");
    m.signal(scaled, Float(n.formats.o), "accumulator [#] / l");
    let result_q = m.register_if("result_q", done, scaled);
    let result = m.output("o", result_q);
    let outside = inputs.core.exponents.map(|_| m.output("outside", outside));
    LaneOutputs { o: result, outside, o_state: accumulate(m, o, o_next, inputs.restore, Some(done)) }
}
