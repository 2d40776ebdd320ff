//! One element of a merge: the update of a core's lane, with an accumulator where the core has a value.

use super::{merge_formats, merge_numerics};
use crate::block::{Low, LowFunction};
use crate::cores::factor::factor_bits;
use crate::cores::fixed_lane::{FixedUpdate, FixedUpdateFunction, lane_bits};
use crate::cores::fused_lane::{FusedUpdate, FusedUpdateFunction};
use crate::cores::lane::{LaneOperands, LaneOperandsFunction, LaneSide, LaneSideFunction, lane_suffix};
use crate::cores::shared_lane::{FactorProduct, FactorProductFunction};
use crate::numerics::Numerics;
use crate::rtl::{Bus, EnabledRegister, In, Logic, Out, Tag, ast, hdl_gen, logic};
use crate::units::{Mixed, Operation};
use crate::{circuit, function, unit};
use std::sync::Arc;

function! {
    /// What both parts make, or the one that is not empty.
    pub struct MergeSelectFunction { bits: u32 }
    name(this) = format!("merge_select_{}", this.bits);
    doc = "y = keep_a ? a : take_b ? b : merged.";
    inputs { merged: this.bits, a: this.bits, b: this.bits, take_b: 1, keep_a: 1 }
    outputs { y: this.bits }
    eval<W> { [keep_a.select(&a, &take_b.select(&b, &merged))] }
}
unit! {
    /// What both parts make, or the one that is not empty.
    pub struct MergeSelect(MergeSelectFunction) { merged, a, b, take_b, keep_a } -> { y }
}

circuit! {
    /// FLASH-D, fixed point.
    pub struct FixedMergeLane {
        ports {
            /// Clock.
            clk: Bus<In>,
            /// Accumulator of part a.
            a: Bus<In>,
            /// Of part b.
            b: Bus<In>,
            /// The lane's factor.
            w: Bus<In>,
            /// Which side it is for.
            upper: Bus<In>,
            /// Part a is empty.
            take_b: Bus<In>,
            /// Part b is empty.
            keep_a: Bus<In>,
            /// A merge is here.
            enable: Bus<In>,
            /// Accumulator of both.
            o: Bus<Out>,
        }
        parts {
            /// No merge is a first key.
            low: Low,
            /// The update.
            step: FixedUpdate,
            /// Or one part as it is.
            select: MergeSelect,
            /// The accumulator of both.
            o_q: EnabledRegister,
        }
        config {}
    }
}

impl FixedMergeLane {
    /// A lane for cores of these numerics.
    pub fn new(n: &Arc<Numerics>) -> Self {
        let merge = Arc::new(merge_numerics(n));
        let bits = lane_bits(n).o;
        let factor = factor_bits(n, lane_bits(n).w);
        FixedMergeLane {
            tag: Tag::module(
                format!("flash_d_fixed_merge_lane_{bits}_{}", lane_bits(n).w),
                "One element of o in fixed point: o = o_a + w * (o_b - o_a).",
            ),
            unrest: Default::default(),
            clk: Bus::new(1),
            a: Bus::new(bits),
            b: Bus::new(bits),
            w: Bus::new(factor),
            upper: Bus::new(1),
            take_b: Bus::new(1),
            keep_a: Bus::new(1),
            enable: Bus::new(1),
            o: Bus::new(bits),
            low: Low::new(LowFunction {}),
            step: FixedUpdate::new(FixedUpdateFunction { numerics: merge }),
            select: MergeSelect::new(MergeSelectFunction { bits }),
            o_q: EnabledRegister::new(bits),
        }
    }
}

impl Logic for FixedMergeLane {
    #[hdl_gen]
    fn update(&mut self) {
        self.step.v.next = self.b.val();
        self.step.o.next = self.a.val();
        self.step.w.next = self.w.val();
        self.step.upper.next = self.upper.val();
        self.step.load.next = self.low.y.val();
        self.select.merged.next = self.step.o_next.val();
        self.select.a.next = self.a.val();
        self.select.b.next = self.b.val();
        self.select.take_b.next = self.take_b.val();
        self.select.keep_a.next = self.keep_a.val();
        self.o_q.clk.next = self.clk.val();
        self.o_q.enable.next = self.enable.val();
        self.o_q.d.next = self.select.y.val();
        self.o.next = self.o_q.q.val();
    }
}

circuit! {
    /// FLASH-D, every operation rounded.
    pub struct RoundedMergeLane {
        ports {
            /// Clock.
            clk: Bus<In>,
            /// Accumulator of part a.
            a: Bus<In>,
            /// Of part b.
            b: Bus<In>,
            /// The lane's factor.
            w: Bus<In>,
            /// Which side it is for.
            upper: Bus<In>,
            /// Part a is empty.
            take_b: Bus<In>,
            /// Part b is empty.
            keep_a: Bus<In>,
            /// A merge is here.
            enable: Bus<In>,
            /// Accumulator of both.
            o: Bus<Out>,
        }
        parts {
            /// `b - a`.
            difference: Mixed,
            /// Base and way.
            side: LaneSide,
            /// `w (b - a)` or `w (a - b)`.
            product: Mixed,
            /// Their sum.
            sum: Mixed,
            /// Or one part as it is.
            select: MergeSelect,
            /// The accumulator of both.
            o_q: EnabledRegister,
        }
        config {}
    }
}

impl RoundedMergeLane {
    /// A lane for cores of these numerics.
    pub fn new(n: &Arc<Numerics>) -> Self {
        let merge = merge_numerics(n);
        let f = merge_formats(n, merge.difference);
        let (bits, factor) = (f.accumulator.width(), f.weight.width());
        RoundedMergeLane {
            tag: Tag::module(
                format!("flash_d_merge_lane_{}", lane_suffix(f)),
                "One element of o: o = upper ? b + w * (a - b) : a + w * (b - a), every operation rounded.",
            ),
            unrest: Default::default(),
            clk: Bus::new(1),
            a: Bus::new(bits),
            b: Bus::new(bits),
            w: Bus::new(factor),
            upper: Bus::new(1),
            take_b: Bus::new(1),
            keep_a: Bus::new(1),
            enable: Bus::new(1),
            o: Bus::new(bits),
            difference: Mixed::of(Operation::Sub, f.value, f.accumulator, f.inner),
            side: LaneSide::new(LaneSideFunction { formats: f }),
            product: Mixed::of(Operation::Mul, f.weight, f.inner, f.inner),
            sum: Mixed::of(Operation::Add, f.accumulator, f.inner, f.accumulator),
            select: MergeSelect::new(MergeSelectFunction { bits }),
            o_q: EnabledRegister::new(bits),
        }
    }
}

impl Logic for RoundedMergeLane {
    #[hdl_gen]
    fn update(&mut self) {
        self.difference.a.next = self.b.val();
        self.difference.b.next = self.a.val();
        self.side.upper.next = self.upper.val();
        self.side.difference.next = self.difference.y.val();
        self.side.o.next = self.a.val();
        self.side.v.next = self.b.val();
        self.product.a.next = self.w.val();
        self.product.b.next = self.side.way.val();
        self.sum.a.next = self.side.base.val();
        self.sum.b.next = self.product.y.val();
        self.select.merged.next = self.sum.y.val();
        self.select.a.next = self.a.val();
        self.select.b.next = self.b.val();
        self.select.take_b.next = self.take_b.val();
        self.select.keep_a.next = self.keep_a.val();
        self.o_q.clk.next = self.clk.val();
        self.o_q.enable.next = self.enable.val();
        self.o_q.d.next = self.select.y.val();
        self.o.next = self.o_q.q.val();
    }
}

circuit! {
    /// FLASH-D, one rounding.
    pub struct FusedMergeLane {
        ports {
            /// Clock.
            clk: Bus<In>,
            /// Accumulator of part a.
            a: Bus<In>,
            /// Of part b.
            b: Bus<In>,
            /// The lane's factor.
            w: Bus<In>,
            /// Which side it is for.
            upper: Bus<In>,
            /// Part a is empty.
            take_b: Bus<In>,
            /// Part b is empty.
            keep_a: Bus<In>,
            /// A merge is here.
            enable: Bus<In>,
            /// Accumulator of both.
            o: Bus<Out>,
        }
        parts {
            /// The update.
            step: FusedUpdate,
            /// Or one part as it is.
            select: MergeSelect,
            /// The accumulator of both.
            o_q: EnabledRegister,
        }
        config {}
    }
}

impl FusedMergeLane {
    /// A lane for cores of these numerics.
    pub fn new(n: &Arc<Numerics>) -> Self {
        let f = merge_formats(n, n.accumulator);
        let (bits, factor) = (f.accumulator.width(), factor_bits(n, n.factor_significand));
        FusedMergeLane {
            tag: Tag::module(
                format!("flash_d_fused_merge_lane_{}", lane_suffix(f)),
                "One element of o: o = upper ? b + w * (a - b) : a + w * (b - a), rounded once.",
            ),
            unrest: Default::default(),
            clk: Bus::new(1),
            a: Bus::new(bits),
            b: Bus::new(bits),
            w: Bus::new(factor),
            upper: Bus::new(1),
            take_b: Bus::new(1),
            keep_a: Bus::new(1),
            enable: Bus::new(1),
            o: Bus::new(bits),
            step: FusedUpdate::new(FusedUpdateFunction { formats: f, factor_bits: factor }),
            select: MergeSelect::new(MergeSelectFunction { bits }),
            o_q: EnabledRegister::new(bits),
        }
    }
}

impl Logic for FusedMergeLane {
    #[hdl_gen]
    fn update(&mut self) {
        self.step.v.next = self.b.val();
        self.step.o.next = self.a.val();
        self.step.w.next = self.w.val();
        self.step.upper.next = self.upper.val();
        self.select.merged.next = self.step.o_next.val();
        self.select.a.next = self.a.val();
        self.select.b.next = self.b.val();
        self.select.take_b.next = self.take_b.val();
        self.select.keep_a.next = self.keep_a.val();
        self.o_q.clk.next = self.clk.val();
        self.o_q.enable.next = self.enable.val();
        self.o_q.d.next = self.select.y.val();
        self.o.next = self.o_q.q.val();
    }
}

circuit! {
    /// FA2, one multiplier.
    pub struct Fa2MergeLane {
        ports {
            /// Clock.
            clk: Bus<In>,
            /// Accumulator of part a.
            a: Bus<In>,
            /// Of part b.
            b: Bus<In>,
            /// The lane's factor.
            w: Bus<In>,
            /// Which side it is for.
            upper: Bus<In>,
            /// Part a is empty.
            take_b: Bus<In>,
            /// Part b is empty.
            keep_a: Bus<In>,
            /// A merge is here.
            enable: Bus<In>,
            /// Accumulator of both.
            o: Bus<Out>,
        }
        parts {
            /// No merge is a first key.
            low: Low,
            /// Which operand the exponential multiplies.
            operands: LaneOperands,
            /// `a e` or `b e`.
            product: FactorProduct,
            /// The sum.
            sum: Mixed,
            /// Or one part as it is.
            select: MergeSelect,
            /// The accumulator of both.
            o_q: EnabledRegister,
        }
        config {}
    }
}

impl Fa2MergeLane {
    /// A lane for cores of these numerics.
    pub fn new(n: &Arc<Numerics>) -> Self {
        let f = merge_formats(n, n.product);
        let significand = n.factor_significand;
        let (bits, factor) = (f.accumulator.width(), factor_bits(n, significand));
        Fa2MergeLane {
            tag: Tag::module(
                format!("fa2_merge_lane_{}", lane_suffix(f)),
                "One element of o: o = upper ? a * e + b : a + b * e.",
            ),
            unrest: Default::default(),
            clk: Bus::new(1),
            a: Bus::new(bits),
            b: Bus::new(bits),
            w: Bus::new(factor),
            upper: Bus::new(1),
            take_b: Bus::new(1),
            keep_a: Bus::new(1),
            enable: Bus::new(1),
            o: Bus::new(bits),
            low: Low::new(LowFunction {}),
            operands: LaneOperands::new(LaneOperandsFunction { formats: f }),
            product: FactorProduct::new(FactorProductFunction {
                from: f.accumulator,
                to: f.inner,
                significand,
                factor_bits: factor,
            }),
            sum: Mixed::of(Operation::Add, f.accumulator, f.inner, f.accumulator),
            select: MergeSelect::new(MergeSelectFunction { bits }),
            o_q: EnabledRegister::new(bits),
        }
    }
}

impl Logic for Fa2MergeLane {
    #[hdl_gen]
    fn update(&mut self) {
        self.operands.load.next = self.low.y.val();
        self.operands.moved.next = self.upper.val();
        self.operands.o.next = self.a.val();
        self.operands.v.next = self.b.val();
        self.product.a.next = self.operands.multiplicand.val();
        self.product.factor.next = self.w.val();
        self.sum.a.next = self.operands.addend.val();
        self.sum.b.next = self.product.y.val();
        self.select.merged.next = self.sum.y.val();
        self.select.a.next = self.a.val();
        self.select.b.next = self.b.val();
        self.select.take_b.next = self.take_b.val();
        self.select.keep_a.next = self.keep_a.val();
        self.o_q.clk.next = self.clk.val();
        self.o_q.enable.next = self.enable.val();
        self.o_q.d.next = self.select.y.val();
        self.o.next = self.o_q.q.val();
    }
}
