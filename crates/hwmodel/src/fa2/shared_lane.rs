//! FA2's lane with one float multiplier for update and final scale.
//!
//! The lane scales the result of a query in the cycle after its last update. Its multiplier is idle then: the lane has
//! no step, or the first one of the next query, which only loads v. So there is no bubble.

use super::scalars::{Moved, SharedScalars, StepScalars};
use crate::arith::normalise::normalise_product;
use crate::arith::round::{Unrounded, round_pack};
use crate::arith::unpack;
use crate::attention::factor::factor_bits;
use crate::attention::group::{LaneInputs, LaneKind, LaneOutputs};
use crate::attention::lane::{LaneFormats, LaneNextFunction, LaneOperandsFunction, accumulate, lane_suffix};
use crate::function;
use crate::rtl::Number::Float;
use crate::rtl::{Module, Stage};
use crate::units::{CanonicalFunction, ConvertFunction, MixedFunction, Operation};
use crate::word::bits_for;
use flashd_spec::format::Format;
use flashd_spec::numerics::Numerics;
use std::sync::Arc;

function! {
    /// A float times a factor, `y = a m 2^-(WM - 1 + right)`.
    pub struct FactorProductFunction { from: Format, to: Format, significand: u32, factor_bits: u32 }
    name(this) = format!("{}_{}_factor_product", this.from.ident(), this.to.ident());
    doc = format!(
        "y = a * m * 2^-({} + right), factor = {{right, m}}, rounded to {}.", this.significand - 1, this.to
    );
    inputs { a: this.from.width(), factor: this.factor_bits }
    outputs { y: this.to.width() }
    eval<W> {
        let u = unpack(this.from, &a, "a");
        let (m, right) = (factor.slice(0, this.significand), factor.drop_low(this.significand));
        let product = u.significand.mul(&m).named("product");
        // m has its leading one.
        let (significand, leading_zeros) = normalise_product(this.from, &product, 1);
        let wide = (this.from.exponent_bits.max(right.width()) + 2).max(bits_for(product.width() as u64) + 2);
        // Both significands have one integer bit, so the top bit of the product weighs 2.
        let exponent = u.exponent.zext(wide)
            .add(&W::constant(wide, 1))
            .sub(&right.zext(wide))
            .sub(&leading_zeros.zext(wide))
            .named("exponent");
        [round_pack(this.to, &Unrounded::new(u.sign, exponent, significand.named("normalised")))]
    }
}

impl FactorProductFunction {
    /// The product of an accumulator and the shared factor.
    pub fn of(f: LaneFormats, n: &Numerics) -> Self {
        let significand = n.factor_significand;
        let factor_bits = factor_bits(n, significand);
        FactorProductFunction { from: f.accumulator, to: f.inner, significand, factor_bits }
    }
}

function! {
    /// The operand of the multiplier: the accumulator for the final scale, else the update's operand.
    pub struct ScaledOperandFunction { formats: LaneFormats }
    name(this) = format!("{}_scaled_operand", lane_suffix(this.formats));
    doc = "y = scale ? o : multiplicand.";
    inputs { scale: 1, o: this.formats.accumulator.width(), multiplicand: this.formats.accumulator.width() }
    outputs { y: this.formats.accumulator.width() }
    eval<W> { [scale.select(&o, &multiplicand)] }
}

/// One element of o: updates like the [separate](super::separate_lane::SEPARATE) lane, but a first key only loads v.
/// While `done` is high, `e` is the final scale, and the result is `o e`.
pub const SHARED: LaneKind<SharedScalars<Moved>> = LaneKind {
    name: |n, _, _| format!("fa2_shared_lane_{}", lane_suffix(LaneFormats::new(n, n.product))),
    doc: |_| "One element of o: o <- moved ? o * e + v : o + v * e; result = o * scale by the same multiplier.",
    lane,
};

fn lane(m: &mut Module, n: &Arc<Numerics>, inputs: &LaneInputs<SharedScalars<Moved>>) -> LaneOutputs {
    let f = LaneFormats::new(n, n.product);
    let v = inputs.enter(m);
    let StepScalars { e, change: Moved { moved }, load } = m.enter("", &inputs.scalars.step);
    let update = m.input("update", inputs.scalars.update);
    let done = m.optional_input("done", inputs.core.finish);

    let [v] = m.call("value", CanonicalFunction { format: f.port, to: f.value }, [v]);
    let o = m.state_if("o_q", f.accumulator.width(), update);
    // The factor multiplies o if the maximum moved, else v; for the final scale, o even if the step is a first key.
    let function = LaneOperandsFunction { formats: f };
    let [multiplicand, addend] = m.call("operands", function, [load, moved, o, v]);
    let function = ScaledOperandFunction { formats: f };
    let operand = done.map_or(multiplicand, |done| m.call("operand", function, [done, o, multiplicand])[0]);
    let function = FactorProductFunction::of(f, n);
    let [product] = m.call("product", function, [operand, e]);
    let function = MixedFunction::of(Operation::Add, f.accumulator, f.inner, f.accumulator);
    let [sum] = m.call("sum", function, [addend, product]);
    let [next] = m.call("select", LaneNextFunction { formats: f }, [load, v, sum]);
    let [scaled] = m.call("narrow", ConvertFunction { from: f.inner, to: f.result }, [product]);
    m.number(v, Float(f.value));
    m.number_each(&[multiplicand, addend, sum], Float(f.accumulator));
    m.stage(Stage::Score(3));
    m.signal(o, Float(f.accumulator), "accumulator [#]");
    m.signal(product, Float(f.inner), "accumulator e or v e [#]");
    m.signal(next, Float(f.accumulator), "next accumulator [#]");
    m.stage(Stage::Score(4));
    m.signal(operand, Float(f.accumulator), "accumulator [#]");
    m.signal(scaled, Float(f.result), "accumulator [#] / l");
    let result = done.map_or(o, |done| m.register_if("result_q", done, scaled));
    let result = m.output("o", result);
    LaneOutputs { o: result, outside: None, o_state: accumulate(m, o, next, inputs.restore, done) }
}
