//! One element of a merge: the update of a core's lane, with an accumulator where the core has a value.

use super::{merge_formats, merge_numerics};
use crate::arith::fixed::{clamp, shift_right_filled, shift_with_guard};
use crate::arith::signed::shift_right_signed;
use crate::array::LowFunction;
use crate::attention::factor::FactorForm;
use crate::attention::lane::{LaneOperandsFunction, lane_suffix};
use crate::fa2::shared_lane::FactorProductFunction;
use crate::fa2::widths::{accumulator_bits, delta_bits};
use crate::flash_d::fixed_lane::{FixedUpdateFunction, lane_bits, lane_factor};
use crate::flash_d::ranged_lane::{self, pack, state_bits};
use crate::flash_d::rounded_lane::{Operands, rounded_update};
use crate::function;
use crate::rtl::{Module, Tag, Wire, bundle};
use crate::units::{MixedFunction, Operation};
use crate::word::bits_for;
use flashd_spec::config::{Arithmetic, CoreConfig, LaneBits, Reference, Update};
use flashd_spec::numerics::Numerics;
use std::sync::Arc;

function! {
    /// Selects the merged accumulator, or the only part's with a key.
    pub struct MergeSelectFunction { bits: u32 }
    name(this) = format!("merge_select_{}", this.bits);
    doc = "y = keep_a ? a : take_b ? b : merged.";
    inputs { merged: this.bits, a: this.bits, b: this.bits, take_b: 1, keep_a: 1 }
    outputs { y: this.bits }
    eval<W> { [keep_a.select(&a, &take_b.select(&b, &merged))] }
}

/// How partial results are merged, which follows from the update of the cores' lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeKind {
    /// FLASH-D, fixed point.
    Fixed,
    /// FLASH-D, fixed point, an exponent for each lane.
    Ranged,
    /// FLASH-D, every operation rounded.
    Rounded,
    /// FA2, one multiplier.
    Fa2,
    /// FA2 in fixed point relative to the exponent of l: a shift.
    LogReference,
    /// FA2 in fixed point relative to a score plus an integer: one multiplier.
    SharedLog,
    /// The same, an exponent for each lane.
    RangedSum,
}

/// Width of `w` of FA2's lanes in fixed point: a shift or a factor, and above it a bit that says whether the reference
/// rises by an octave.
fn w_bits(kind: MergeKind, n: &Numerics) -> u32 {
    1 + match kind {
        MergeKind::SharedLog | MergeKind::RangedSum => kind.factor(n).bits(n),
        _ => delta_bits(n),
    }
}

impl MergeKind {
    /// The kind of merge for the cores of a configuration.
    pub fn of(config: &CoreConfig) -> MergeKind {
        match config.update() {
            Some(Update::Fixed) => MergeKind::Fixed,
            Some(Update::Ranged) => MergeKind::Ranged,
            Some(Update::Rounded) => MergeKind::Rounded,
            None => match (config.kind().arithmetic, config.kind().reference) {
                (Arithmetic::Ranged, _) => MergeKind::RangedSum,
                (_, Reference::Octaves) => MergeKind::LogReference,
                (_, Reference::ScoreAndOctaves) => MergeKind::SharedLog,
                (_, Reference::Maximum) => MergeKind::Fa2,
            },
        }
    }

    /// The form of the lanes' factor. [`MergeKind::LogReference`] shifts instead, and does not use it.
    pub fn factor(self, n: &Numerics) -> FactorForm {
        match self {
            MergeKind::Fixed | MergeKind::Ranged => FactorForm::Shift(lane_bits(n).w),
            MergeKind::Rounded => FactorForm::Format,
            _ => FactorForm::Shift(n.factor_significand),
        }
    }

    /// Width of an accumulator in bits.
    pub fn accumulator_bits(self, n: &Numerics) -> u32 {
        match self {
            MergeKind::Fixed => lane_bits(n).o,
            MergeKind::Ranged | MergeKind::RangedSum => state_bits(n),
            MergeKind::LogReference | MergeKind::SharedLog => accumulator_bits(n),
            _ => n.accumulator.width(),
        }
    }

    /// Name of the lane's module.
    pub fn lane_name(self, n: &Numerics) -> String {
        let formats = || lane_suffix(merge_formats(n, n.accumulator));
        match self {
            MergeKind::Fixed => format!("flash_d_fixed_merge_lane_{}_{}", lane_bits(n).o, lane_bits(n).w),
            MergeKind::Ranged => {
                let LaneBits { o, w, .. } = lane_bits(n);
                format!("flash_d_ranged_merge_lane_{}_{o}_{w}", n.formats.v.ident())
            }
            MergeKind::Rounded => format!("flash_d_merge_lane_{}", formats()),
            MergeKind::Fa2 => format!("fa2_merge_lane_{}", formats()),
            MergeKind::LogReference => format!("fa2_logref_merge_lane_{}", accumulator_bits(n)),
            MergeKind::SharedLog => {
                format!("fa2_sharedlog_merge_lane_{}_{}", accumulator_bits(n), n.factor_significand)
            }
            MergeKind::RangedSum => {
                let (v, factor) = (n.formats.v.ident(), n.factor_significand);
                format!("fa2_ranged_merge_lane_{v}_{}_{factor}", accumulator_bits(n))
            }
        }
    }

    fn lane_doc(self) -> &'static str {
        match self {
            MergeKind::Fixed => "One element of o in fixed point: o = o_a + w * (o_b - o_a).",
            MergeKind::Ranged => {
                "One element of o in fixed point, relative to the larger exponent of both parts: o = o_a + w * (o_b - o_a)."
            }
            MergeKind::Rounded => {
                "One element of o: o = upper ? b + w * (a - b) : a + w * (b - a), every operation rounded."
            }
            MergeKind::Fa2 => "One element of o: o = upper ? a * e + b : a + b * e.",
            MergeKind::LogReference => {
                "One element of o in fixed point: o = upper ? (a >> w) + b : a + (b >> w), and half of that with w's top bit."
            }
            MergeKind::SharedLog => {
                "One element of o in fixed point: o = upper ? a * e + b : a + b * e, and half of that with w's top bit."
            }
            MergeKind::RangedSum => {
                "One element of o in fixed point, relative to the larger exponent of both parts: o = upper ? a * e + b : a + b * e,\nand half of that with w's top bit."
            }
        }
    }

    /// The factor in the form that the lanes use.
    pub(super) fn lane_factor(self, m: &mut Module, n: &Arc<Numerics>, w: Wire) -> Wire {
        match self {
            MergeKind::Fixed | MergeKind::Ranged => lane_factor(m, &Arc::new(merge_numerics(n)), w),
            _ => w,
        }
    }

    /// The merged accumulator of one lane.
    fn merged(self, m: &mut Module, n: &Arc<Numerics>, operands: &Operands) -> Wire {
        match self {
            MergeKind::Fixed => fixed(m, n, operands),
            MergeKind::Ranged => ranged(m, n, operands),
            MergeKind::Rounded => rounded_update(m, merge_formats(n, merge_numerics(n).difference), operands),
            MergeKind::Fa2 => fa2(m, n, operands),
            MergeKind::LogReference => {
                let function = ShiftedMergeFunction { bits: accumulator_bits(n), delta: w_bits(self, n) };
                m.call("shifted", function, [operands.o, operands.v, operands.w, operands.upper])[0]
            }
            MergeKind::SharedLog => factor_merge(m, self, n, operands),
            MergeKind::RangedSum => {
                let align = RangedMergeAlignFunction { numerics: n.clone() };
                let [o, v, e] = m.call("align", align, [operands.o, operands.v]);
                let o = factor_merge(m, self, n, &Operands { o, v, ..*operands });
                pack(m, "state", [o, e])
            }
        }
    }
}

/// Inputs that the lanes of a merge share.
#[derive(Clone, Copy)]
pub struct SharedInputs {
    /// The factor.
    pub w: Wire,
    /// The factor scales part a; if low, part b.
    pub upper: Wire,
    /// Part a is empty.
    pub take_b: Wire,
    /// Part b is empty.
    pub keep_a: Wire,
}

bundle!(SharedInputs { w, upper, take_b, keep_a });

/// Lane `index` of a group: merges the accumulators a and b into a register in the cycle of `enable`.
pub fn merge_lane(
    around: &mut Module,
    index: usize,
    kind: MergeKind,
    n: &Arc<Numerics>,
    [a, b]: [Wire; 2],
    shared: SharedInputs,
    enable: Wire,
) -> Wire {
    let tag = Tag::module(kind.lane_name(n), kind.lane_doc());
    around.part(("lane", index), tag, |m| {
        m.clock();
        let [a, b] = m.input_each([("a", a), ("b", b)]);
        let SharedInputs { w, upper, take_b, keep_a } = m.enter("", &shared);
        let enable = m.input("enable", enable);
        let merged = kind.merged(m, n, &Operands { o: a, v: b, w, upper });
        let select = MergeSelectFunction { bits: a.width() };
        let [y] = m.call("select", select, [merged, a, b, take_b, keep_a]);
        let o = m.register_if("o_q", enable, y);
        m.output("o", o)
    })
}

/// FA2's accumulators relative to the larger reference, times a factor where that is not their own.
fn factor_merge(
    m: &mut Module,
    kind: MergeKind,
    n: &Numerics,
    &Operands { o, v, w, upper }: &Operands,
) -> Wire {
    let function =
        FactorMergeFunction { bits: accumulator_bits(n), factor: n.factor_significand, w: w_bits(kind, n) };
    m.call("scaled", function, [o, v, w, upper])[0]
}

fn fixed(m: &mut Module, n: &Arc<Numerics>, &Operands { o, v, w, upper }: &Operands) -> Wire {
    // `low`, because accumulators have no places below, and no merge is a first key.
    let [low] = m.call("low", LowFunction {}, []);
    let step = FixedUpdateFunction { numerics: Arc::new(merge_numerics(n)), even: false };
    m.call("step", step, [v, o, low, low, w, upper, low])[0]
}

function! {
    /// Aligns the accumulators of both parts to the larger exponent, rounding down.
    pub struct RangedMergeAlignFunction { numerics: Arc<Numerics> }
    name(this) = format!("{}_ranged_merge_align_{}", this.numerics.formats.v.ident(), ranged_lane::accumulator_bits(&this.numerics));
    doc = "e = max(e_a, e_b); what is relative to the smaller one goes right, cut.";
    inputs { a: state_bits(&this.numerics), b: state_bits(&this.numerics) }
    outputs {
        a_o: ranged_lane::accumulator_bits(&this.numerics), b_o: ranged_lane::accumulator_bits(&this.numerics), e: this.numerics.formats.v.exponent_bits
    }
    eval<W> {
        let bits = ranged_lane::accumulator_bits(&this.numerics);
        let [(a, e_a), (b, e_b)] = [a, b].map(|part| (part.slice(0, bits), part.drop_low(bits)));
        // e_a - e_b - 1. If that is negative, its complement is e_b - e_a.
        let wide = e_a.width() + 1;
        let beyond = e_a.zext(wide).add(&e_b.not().zext(wide)).named("a_beyond_b");
        let above = beyond.msb().named("a_above_b");
        let distance = beyond.slice(0, wide - 1).xor(&above.not().repeat(wide - 1)).named("distance");
        let smaller = above.select(&b.msb().concat(&b.drop_low(1)), &a).named("smaller");
        let right = clamp(&distance, bits_for((bits - 1).into()));
        let moved = shift_right_filled(&smaller, &right, &smaller.msb()).named("moved");
        [above.select(&a, &moved), above.select(&moved, &b), above.select(&e_a, &e_b)]
    }
}

fn ranged(m: &mut Module, n: &Arc<Numerics>, &Operands { o, v, w, upper }: &Operands) -> Wire {
    let [a, b, e] = m.call("align", RangedMergeAlignFunction { numerics: n.clone() }, [o, v]);
    let o = fixed(m, n, &Operands { o: a, v: b, w, upper });
    pack(m, "state", [o, e])
}

fn fa2(m: &mut Module, n: &Arc<Numerics>, &Operands { o, v, w, upper }: &Operands) -> Wire {
    let f = merge_formats(n, n.product);
    // `low`, because accumulators have no places below, and no merge is a first key.
    let [low] = m.call("low", LowFunction {}, []);
    // One of both factors is 1: the exponential multiplies the part whose maximum is smaller.
    let [multiplicand, addend] = m.call("operands", LaneOperandsFunction { formats: f }, [low, upper, o, v]);
    let function = FactorProductFunction::of(f, n);
    let [product] = m.call("product", function, [multiplicand, w]);
    let add = MixedFunction::of(Operation::Add, f.accumulator, f.inner, f.accumulator);
    m.call("sum", add, [addend, product])[0]
}

function! {
    /// Adds the accumulators of both parts relative to the larger reference, which is whole octaves above the smaller
    /// one. The sum is halved if the reference rises by an octave.
    pub struct ShiftedMergeFunction { bits: u32, delta: u32 }
    name(this) = format!("shifted_merge_{}_{}", this.bits, this.delta);
    doc = "o = upper ? (a >> delta) + b : a + (b >> delta), and one place right of that where carry, w = {carry, delta}.";
    inputs { a: this.bits, b: this.bits, w: this.delta, upper: 1 }
    outputs { o: this.bits }
    eval<W> {
        let delta = w.slice(0, this.delta - 1);
        let smaller = upper.select(&a, &b).named("smaller");
        let larger = upper.select(&b, &a).named("larger");
        let moved = shift_right_signed(&smaller, &delta).named("moved");
        let wide = this.bits + 1;
        let sum = larger.sext(wide).add(&moved.sext(wide)).named("sum");
        [w.msb().select(&sum.drop_low(1), &sum.slice(0, this.bits))]
    }
}

function! {
    /// Adds the accumulators of both parts relative to the larger reference, with a factor for any distance of the
    /// references. The sum is halved if the reference rises by an octave.
    pub struct FactorMergeFunction { bits: u32, factor: u32, w: u32 }
    name(this) = format!("factor_merge_{}_{}", this.bits, this.factor);
    doc = format!(
        "o = upper ? a * e + b : a + b * e, e = m * 2^-({} + right), the product rounded half away from zero; one place\nright of that where carry, w = {{carry, right, m}}.",
        this.factor - 1
    );
    inputs { a: this.bits, b: this.bits, w: this.w, upper: 1 }
    outputs { o: this.bits }
    eval<W> {
        let (bits, factor) = (this.bits, this.factor);
        let (m, right) = (w.slice(0, factor), w.slice(factor, this.w - 1 - factor));
        let smaller = upper.select(&a, &b).named("smaller");
        let larger = upper.select(&b, &a).named("larger");
        let sign = smaller.msb();
        let magnitude = sign.select(&smaller.negate(), &smaller).named("magnitude");
        let product = magnitude.mul(&m).named("product");
        let (magnitude, guard) = shift_with_guard(&product, &right, bits + 1);
        let term = magnitude.xor(&sign.repeat(bits + 1)).named("term");
        let carry = guard.xor(&sign).named("round");
        // A one below the last place lets the same adder take the carry.
        let base = larger.sext(bits + 1);
        let sum = base.concat(&W::constant(1, 1)).add(&term.concat(&carry)).named("sum_halves").drop_low(1);
        [w.msb().select(&sum.drop_low(1), &sum.slice(0, bits))]
    }
}
