//! FA2's running sum, as in Alg. 1 and Alg. 2, and its reciprocal for the final scale.

use crate::arith::reciprocal::reciprocal;
use crate::arith::unpack;
use crate::attention::factor::FactorForm;
use crate::attention::partial::{restore_ports, restored};
use crate::function;
use crate::rtl::{Module, Quantity, Stage, Tag, Wire, signed, unsigned};
use crate::word::{Word, index_bits};
use flashd_spec::numerics::Numerics;
use std::sync::Arc;

/// Bits of the exponent of `l`, which is -1 to G in two's complement.
pub fn sum_exponent_bits(n: &Numerics) -> u32 {
    index_bits(n.sum_integer_bits() as usize) + 1
}

/// `addend + multiplicand e`, the product rounded half up, saturating. Addend, multiplicand and result are sums in
/// fixed point, with [`Numerics::sum_bits`] bits; e is a factor of the given form.
pub fn scaled_sum<W: Word>(n: &Numerics, form: FactorForm, multiplicand: &W, addend: &W, e: &W) -> W {
    let (bits, fmt) = (n.sum_bits(), n.weight);
    // e = significand 2^-right with right at least 1. The product is shifted right by `right - 1`, which keeps a bit
    // for rounding: by `always`, and by `right_less`, which depends on e.
    let (significand, always, right_less) = match form {
        FactorForm::Format => {
            let u = unpack(fmt, e, "e");
            // e is at most 1, and its exponent at most the bias.
            let bias = W::constant(fmt.exponent_bits, fmt.bias as u64);
            (u.significand, fmt.fraction_bits - 1, bias.sub(&u.exponent).named("octaves_below_one"))
        }
        FactorForm::Shift(m) => (e.slice(0, m), m - 2, e.drop_low(m)),
    };
    let halves = product_above(multiplicand, &significand, always).shr(&right_less).named("scaled_halves");
    let scaled = halves.slice(0, bits + 2).add(&W::constant(bits + 2, 1)).drop_low(1).named("scaled");
    let total = addend.zext(bits + 1).add(&scaled).named("total");
    total.msb().repeat(bits).or(&total.slice(0, bits)).named("saturated")
}

/// The product without its `dropped` lowest bits, at least half of b's if it has more than 64: then it is formed in two
/// halves. fp32 needs that for many keys.
fn product_above<W: Word>(a: &W, b: &W, dropped: u32) -> W {
    if a.width() + b.width() <= u64::BITS {
        return a.mul(b).named("product").drop_low(dropped);
    }
    let low_bits = b.width() / 2;
    let high = a.mul(&b.drop_low(low_bits)).named("product_high");
    let low = a.mul(&b.slice(0, low_bits)).named("product_low").drop_low(low_bits);
    let wide = high.width() + 1;
    high.zext(wide).add(&low.zext(wide)).named("product").drop_low(dropped - low_bits)
}

function! {
    /// The next running sum.
    pub struct SumNextFunction { numerics: Arc<Numerics>, form: FactorForm }
    name(this) = format!("running_sum_next_{}", this.form.suffix(&this.numerics));
    doc = "The maximum moved: sum * e + 1.  It stayed: sum + e.  First key: 1.  Saturating fixed point.";
    inputs { sum: this.numerics.sum_bits(), e: this.form.bits(&this.numerics), moved: 1, first: 1 }
    outputs { sum_next: this.numerics.sum_bits() }
    eval<W> {
        let n = &this.numerics;
        let bits = n.sum_bits();
        let one = W::constant(bits, 1 << n.state_fraction);
        let multiplicand = moved.select(&sum, &one).named("multiplicand");
        let addend = moved.select(&one, &sum).named("addend");
        let sum = scaled_sum(n, this.form, &multiplicand, &addend, &e);
        [first.select(&one, &sum)]
    }
}

function! {
    /// `1 / l` as a normalised reciprocal and a shift.
    pub struct SumReciprocalFunction { numerics: Arc<Numerics>, bits: u32 }
    name(this) = format!("sum_reciprocal_{}_{}", this.bits, this.numerics.formats.o.ident());
    doc = {
        let r = &this.numerics.reciprocal;
        format!(
            "1 / sum = r * 2^-right, r in (1/2, 1] with {} fraction bits: {} PWL segments, {} Newton steps.\nThe sum has {} fraction bits; the unit rests unless it is final.",
            r.table.value_fraction, r.table.segments, r.newton_steps, this.numerics.state_fraction
        )
    };
    inputs { sum: this.bits, finish: 1 }
    outputs { r: this.numerics.reciprocal.table.value_fraction + 1, right: sum_exponent_bits(&this.numerics) }
    eval<W> {
        let n = &this.numerics;
        let (bits, vr) = (this.bits, n.reciprocal.table.value_fraction);
        let sum = finish.repeat(bits).and(&sum).named("final_sum");
        let (normalised, leading_zeros) = sum.normalise();
        let leading_zeros = leading_zeros.named("leading_zeros");
        let normalised = normalised.append_zeros((vr + 1).saturating_sub(bits)).named("normalised");
        let m = normalised.top(vr + 1).named("m");
        let r = reciprocal(&n.reciprocal, &m).named("reciprocal");
        let wide = leading_zeros.width().max(sum_exponent_bits(n));
        let top = (bits - 1 - n.state_fraction) as u64;
        let right = W::constant(wide, top).sub(&leading_zeros.zext(wide));
        [r, right.slice(0, sum_exponent_bits(n))]
    }
}

/// The running sum, and a cycle later its reciprocal.
///
/// `step` has the ports of a step: it updates (`update`), it is a `first` key, its exponential `e`, the maximum
/// `moved`, and the register holds a query's final sum (`finish`). With partial results, `restore` says whether the
/// step is a restore, and has its sum.
///
/// Returns, in the cycle of `finish`, the normalised reciprocal of the sum and its exponent, and with partial results
/// the sum.
pub fn running_sum(
    around: &mut Module,
    n: &Arc<Numerics>,
    form: FactorForm,
    step: [(&str, Wire); 5],
    restore: Option<(Wire, Wire)>,
) -> ([Wire; 2], Option<Wire>) {
    let tag = Tag::module(
        format!("running_sum_{}", form.suffix(n)),
        "l <- moved ? l * e + 1 : l + e, and the reciprocal of l for the final scale.",
    );
    let bits = n.sum_bits();
    around.part("sum", tag.dissolved(), |m| {
        m.clock();
        let [update, first, e, moved, finish] = m.input_each(step);
        let restore = restore_ports(m, "state_l", restore);

        let sum_q = m.state_if("sum_q", bits, update);
        let function = SumNextFunction { numerics: n.clone(), form };
        let [sum] = m.call("sum", function, [sum_q, e, moved, first]);
        let function = SumReciprocalFunction { numerics: n.clone(), bits };
        let [r, right] = m.call("reciprocal", function, [sum_q, finish]);
        m.stage(Stage::Score(2));
        m.signal(sum_q, unsigned(n.state_fraction), "running sum l");
        m.signal(sum, unsigned(n.state_fraction), "next l");
        m.stage(Stage::Score(3));
        m.show(("reciprocal", "sum"), "sum l");
        m.number(r, unsigned(n.reciprocal.table.value_fraction));
        m.number(right, signed(0));
        let sum = restored(m, sum, restore);
        m.next(sum_q, sum);
        m.watch_each([(Quantity::Sum, sum_q), (Quantity::Reciprocal, r), (Quantity::Right, right)]);
        let o_l = restore.map(|_| m.output("o_l", sum_q));
        (m.output_each([("r", r), ("right", right)]), o_l)
    })
}
