//! The lane of FA2 `lazy-reference`, whose scalar path is [`super::lazy_reference`].
//!
//! ```text
//!  o <- o 2^-delta + v e          delta = 0 but where the reference moves
//!  result = o r 2^-right          by the multiplier of v e, which is idle after a query's last key
//! ```
//!
//! Rescaling subtracts delta from the exponent. That is exact but below the smallest normal number, where it rounds
//! towards zero. As in the [shared](super::shared_lane::SHARED) lane a first key loads v, so the multiplier is free for
//! the final scale of the query before.

use super::lazy_reference::delta_bits;
use super::shared_lane::{FactorProductFunction, SHARED};
use crate::arith::{unpack, widen};
use crate::attention::group::{LaneInputs, LaneKind, LaneOutputs};
use crate::attention::lane::{LaneFormats, LaneNextFunction, accumulate, lane_suffix};
use crate::function;
use crate::rtl::{Module, Name, Tag};
use crate::units::{CanonicalFunction, ConvertFunction, MixedFunction, Operation};
use flashd_spec::format::{Format, Subnormals};
use flashd_spec::numerics::Numerics;
use std::sync::Arc;

function! {
    /// The accumulator relative to the new reference, `o 2^-delta`.
    pub struct RescaleFunction { accumulator: Format, delta_bits: u32 }
    name(this) = format!("{}_rescale_{}", this.accumulator.ident(), this.delta_bits);
    doc = match this.accumulator.subnormals {
        Subnormals::Flushed => "y = o * 2^-delta; a zero with its sign below the smallest normal number.",
        Subnormals::Supported => "y = o * 2^-delta; rounded towards zero below the smallest normal number.",
    };
    inputs { o: this.accumulator.width(), delta: this.delta_bits }
    outputs { y: this.accumulator.width() }
    eval<W> {
        let format = this.accumulator;
        let u = unpack(format, &o, "o");
        let wide = format.exponent_bits.max(this.delta_bits) + 1;
        // One less than the exponent field of the result; negative below the smallest normal number.
        let above = u.exponent.zext(wide).sub(&delta.zext(wide)).sub(&W::constant(wide, 1)).named("above_least");
        let normal = above.msb().not();
        let field = normal.repeat(format.exponent_bits).and(&above.slice(0, format.exponent_bits));
        let f = format.fraction_bits;
        let magnitude = match format.subnormals {
            Subnormals::Flushed => {
                let kept = normal.repeat(format.precision()).and(&u.significand).named("kept");
                field.append_zeros(f).add(&kept.zext(f + format.exponent_bits))
            }
            Subnormals::Supported => {
                let below = normal.not().repeat(wide).and(&above.negate()).named("below_least");
                let kept = u.significand.shr(&below).named("kept");
                field.append_zeros(f).add(&kept.zext(f + format.exponent_bits))
            }
        };
        [u.sign.concat(&magnitude)]
    }
}

function! {
    /// The operand of the multiplier: the accumulator for the final scale, else v.
    pub struct LazyOperandFunction { formats: LaneFormats }
    name(this) = format!("{}_lazy_operand", lane_suffix(this.formats));
    doc = "y = scale ? o : v.";
    inputs { scale: 1, o: this.formats.accumulator.width(), v: this.formats.value.width() }
    outputs { y: this.formats.accumulator.width() }
    eval<W> { [scale.select(&o, &widen(this.formats.value, &v, this.formats.accumulator))] }
}

/// One element of o: `o <- load ? v : o 2^-delta + v e`. While `done` is high, `e` is the final scale, and the result
/// is `o e`.
pub const LAZY: LaneKind = LaneKind {
    name: |n| format!("fa2_lazy_lane_{}", lane_suffix(LaneFormats::new(n, n.product))),
    lane,
    words: &[("e", "take"), ("delta", "update"), ("load", "update")],
    ..SHARED
};

fn lane(around: &mut Module, name: Name, n: &Arc<Numerics>, inputs: &LaneInputs) -> LaneOutputs {
    let f = LaneFormats::new(n, n.product);
    let tag = Tag::module(
        (LAZY.name)(n),
        "One element of o: o <- o * 2^-delta + v * e; result = o * scale by the same multiplier.",
    );
    around.part(name, tag, |m| {
        let (v, [e, delta, load, update, done]) = inputs.enter(m, ["e", "delta", "load", "update", "done"]);

        let [v] = m.call("value", CanonicalFunction { format: f.port, to: f.value }, [v]);
        let o = m.state_if("o_q", f.accumulator.width(), update);
        let function = RescaleFunction { accumulator: f.accumulator, delta_bits: delta_bits(n) };
        let [rescaled] = m.call("rescale", function, [o, delta]);
        let [operand] = m.call("operand", LazyOperandFunction { formats: f }, [done, o, v]);
        let [product] = m.call("product", FactorProductFunction::of(f, n), [operand, e]);
        let function = MixedFunction::of(Operation::Add, f.accumulator, f.inner, f.accumulator);
        let [sum] = m.call("sum", function, [rescaled, product]);
        let [next] = m.call("select", LaneNextFunction { formats: f }, [load, v, sum]);
        m.reserve(&["o_q"]);
        let [scaled] = m.call("narrow", ConvertFunction { from: f.inner, to: f.result }, [product]);
        let result_q = m.register_if("result_q", done, scaled);
        let result = m.output("o", result_q);
        LaneOutputs { o: result, outside: None, o_state: accumulate(m, o, next, inputs.restore, Some(done)) }
    })
}
