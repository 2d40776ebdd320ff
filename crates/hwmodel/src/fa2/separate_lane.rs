//! FA2's output update, and a final scale in a second multiplier. (1) divides by l in every step; here the result
//! is divided once.

use super::scalars::{Moved, Reciprocal, SeparateScalars, StepScalars};
use crate::arith::normalise::normalise_product;
use crate::arith::round::{Unrounded, round_pack};
use crate::arith::unpack;
use crate::attention::group::{LaneInputs, LaneKind, LaneOutputs};
use crate::attention::lane::{LaneFormats, LaneOperandsFunction, accumulate, lane_suffix};
use crate::function;
use crate::rtl::Number::Float;
use crate::rtl::{Module, Stage};
use crate::score::sum::sum_exponent_bits;
use crate::units::{CanonicalFunction, MixedFunction, Operation};
use crate::word::{bits_for, ones};
use flashd_spec::format::Format;
use flashd_spec::numerics::Numerics;
use std::sync::Arc;

function! {
    /// The result `o / l`, as `o r 2^-right`.
    pub struct ScaleFunction { accumulator: Format, format: Format, r_fraction: u32, right_bits: u32 }
    name(this) = format!("{}_{}_scale", this.accumulator.ident(), this.format.ident());
    doc = "y = o * r * 2^-right, one rounding.";
    inputs { o: this.accumulator.width(), r: this.r_fraction + 1, right: this.right_bits }
    outputs { y: this.format.width() }
    eval<W> {
        let u = unpack(this.accumulator, &o, "o");
        let product = u.significand.mul(&r).named("product");
        // r is above 1/2.
        let (significand, leading_zeros) = normalise_product(this.accumulator, &product, 2);
        // The top bit of the product weighs 2^(e_o + 1 - bias) 2^-right, because r has one integer bit.
        let rebias = this.format.bias - this.accumulator.bias;
        let wide = (this.accumulator.exponent_bits + 2)
            .max(leading_zeros.width() + 2)
            .max(this.right_bits + 2)
            .max(bits_for(rebias.unsigned_abs() as u64) + 2);
        let exponent = u.exponent.zext(wide)
            .add(&W::constant(wide, (1 + rebias) as i64 as u64 & ones(wide)))
            .sub(&right.sext(wide))
            .sub(&leading_zeros.zext(wide))
            .named("exponent");
        [round_pack(this.format, &Unrounded::new(u.sign, exponent, significand.named("normalised")))]
    }
}

/// One element of o: `o <- moved ? o e + v : o + v e`, with `o = 0` before a first key. The result is `o r 2^-right`,
/// registered while `done` is high.
pub const SEPARATE: LaneKind<SeparateScalars<Moved>> = LaneKind {
    name: |n, _, _| format!("fa2_lane_{}", lane_suffix(LaneFormats::new(n, n.product))),
    doc: |_| "One element of o: o <- moved ? o * e + v : o + v * e; result = o * r * 2^-right.",
    lane,
};

fn lane(m: &mut Module, n: &Arc<Numerics>, inputs: &LaneInputs<SeparateScalars<Moved>>) -> LaneOutputs {
    let f = LaneFormats::new(n, n.product);
    let v = inputs.enter(m);
    let SeparateScalars { update, step, end } = inputs.scalars;
    let StepScalars { e, change: Moved { moved }, load } = m.enter("", &step);
    let update = m.input("update", update);
    let Reciprocal { r, right } = m.enter("", &end);
    let done = m.optional_input("done", inputs.core.finish);

    let [v] = m.call("value", CanonicalFunction { format: f.port, to: f.value }, [v]);
    let o = m.state_if("o_q", f.accumulator.width(), update);
    // The exponential multiplies o if the maximum moved, else v.
    let function = LaneOperandsFunction { formats: f };
    let [multiplicand, addend] = m.call("operands", function, [load, moved, o, v]);
    let function = MixedFunction::of(Operation::Mul, f.accumulator, f.weight, f.inner);
    let [product] = m.call("product", function, [multiplicand, e]);
    let function = MixedFunction::of(Operation::Add, f.accumulator, f.inner, f.accumulator);
    let [next] = m.call("sum", function, [addend, product]);
    let r_fraction = n.reciprocal.table.value_fraction;
    let right_bits = sum_exponent_bits(n);
    let function = ScaleFunction { accumulator: f.accumulator, format: f.result, r_fraction, right_bits };
    let [scaled] = m.call("scale", function, [o, r, right]);
    m.number(v, Float(f.value));
    m.number_each(&[multiplicand, addend], Float(f.accumulator));
    m.stage(Stage::Score(3));
    m.signal(o, Float(f.accumulator), "accumulator [#]");
    m.signal(product, Float(f.inner), "accumulator e or v e [#]");
    m.signal(next, Float(f.accumulator), "next accumulator [#]");
    m.stage(Stage::Score(4));
    m.show(("scale", "o"), "accumulator [#]");
    m.signal(scaled, Float(f.result), "accumulator [#] / l");
    let result = done.map_or(o, |done| m.register_if("result_q", done, scaled));
    let result = m.output("o", result);
    LaneOutputs { o: result, outside: None, o_state: accumulate(m, o, next, inputs.restore, done) }
}
