//! FA2's lane whose multiplier also does the final scale.
//!
//! A query's result is scaled in the cycle after its last update. The lane's multiplier is idle then: the step
//! at the lanes is none or the first of the next query, which only loads v. So there is no bubble.

use super::factor::factor_bits;
use super::lane::{LaneFormats, LaneNext, LaneNextFunction, LaneOperands, LaneOperandsFunction, lane_suffix};
use super::lane_group::lane_group;
use super::partial::{Restore, restores};
use crate::arith::normalise::normalise_within;
use crate::arith::round::{Unrounded, round_pack};
use crate::arith::unpack;
use crate::format::{Format, Subnormals};
use crate::numerics::Numerics;
use crate::rtl::{Bus, EnabledRegister, In, Logic, Out, ResetRegister, Tag, ast, hdl_gen, logic};
use crate::units::{Canonical, CanonicalFunction, Convert, ConvertFunction, Mixed, Operation};
use crate::word::bits_for;
use crate::{circuit, function, unit};
use std::sync::Arc;

function! {
    /// A float times a factor.
    pub struct FactorProductFunction { from: Format, to: Format, significand: u32, factor_bits: u32 }
    name(this) = format!("{}_{}_factor_product", this.from.ident(), this.to.ident());
    doc = format!("y = a * m * 2^-({} + right), factor = {{right, m}}, rounded to {}.", this.significand - 1, this.to);
    inputs { a: this.from.width(), factor: this.factor_bits }
    outputs { y: this.to.width() }
    eval<W> {
        let u = unpack(this.from, &a, "a");
        let (m, right) = (factor.slice(0, this.significand), factor.drop_low(this.significand));
        let product = u.significand.mul(&m).named("product");
        // m has its leading one, and so has a where no subnormals are kept.
        let (significand, leading_zeros) = match this.from.subnormals {
            Subnormals::Flushed => normalise_within(&product, 1),
            Subnormals::Supported => {
                let (significand, leading_zeros) = product.normalise();
                (significand, leading_zeros.named("leading_zeros"))
            }
        };
        let wide = (this.from.exponent_bits.max(right.width()) + 2).max(bits_for(product.width() as u64) + 2);
        // Both significands have one integer bit, so the product's top bit weighs 2.
        let exponent = u.exponent.zext(wide)
            .add(&W::constant(wide, 1))
            .sub(&right.zext(wide))
            .sub(&leading_zeros.zext(wide))
            .named("exponent");
        [round_pack(this.to, &Unrounded::new(u.sign, exponent, significand.named("normalised")))]
    }
}
unit! {
    /// A float times a factor.
    pub struct FactorProduct(FactorProductFunction) { a, factor } -> { y }
}

function! {
    /// What the multiplier works on.
    pub struct ScaledOperandFunction { formats: LaneFormats }
    name(this) = format!("{}_scaled_operand", lane_suffix(this.formats));
    doc = "y = scale ? o : multiplicand.";
    inputs { scale: 1, o: this.formats.accumulator.width(), multiplicand: this.formats.accumulator.width() }
    outputs { y: this.formats.accumulator.width() }
    eval<W> { [scale.select(&o, &multiplicand)] }
}
unit! {
    /// What the multiplier works on.
    pub struct ScaledOperand(ScaledOperandFunction) { scale, o, multiplicand } -> { y }
}

circuit! {
    /// One element of o.
    pub struct SharedLane {
        ports {
            /// Clock.
            clk: Bus<In>,
            /// Value element.
            v: Bus<In>,
            /// Exponential, or the final scale.
            e: Bus<In>,
            /// The maximum moved.
            moved: Bus<In>,
            /// Take v as it is.
            load: Bus<In>,
            /// A step updates.
            update: Bus<In>,
            /// The accumulator is final and e is its scale.
            done: Bus<In>,
            /// Result.
            o: Bus<Out>,
            /// With partial results: the accumulator takes that of one over.
            restore: Vec<Bus<In>>,
            /// This one, with the value.
            state_o: Vec<Bus<In>>,
            /// The accumulator of a result.
            o_state: Vec<Bus<Out>>,
        }
        parts {
            /// v without Inf, NaN and flushed subnormals.
            value: Canonical,
            /// Which operand the exponential multiplies.
            operands: LaneOperands,
            /// Or the accumulator as a whole.
            operand: ScaledOperand,
            /// The multiplier.
            product: FactorProduct,
            /// The update.
            sum: Mixed,
            /// Load or sum.
            select: LaneNext,
            /// The accumulator.
            o_q: EnabledRegister,
            /// The scaled accumulator in the format.
            narrow: Convert,
            /// The result.
            result_q: EnabledRegister,
            /// The update or a partial result.
            restored: Vec<Restore>,
            /// The accumulator of a result.
            state_q: Vec<EnabledRegister>,
        }
        config {
            partials: usize,
        }
    }
}

impl SharedLane {
    /// A lane.
    pub fn new(n: &Numerics) -> Self {
        let f = LaneFormats::new(n, n.product);
        let width = f.format.width();
        let significand = n.factor_significand;
        let factor_bits = factor_bits(n, significand);
        SharedLane {
            tag: Tag::module(
                format!("fa2_shared_lane_{}", lane_suffix(f)),
                "One element of o: o <- moved ? o * e + v : o + v * e; result = o * scale by the same multiplier.",
            ),
            unrest: Default::default(),
            clk: Bus::new(1),
            v: Bus::new(width),
            e: Bus::new(factor_bits),
            moved: Bus::new(1),
            load: Bus::new(1),
            update: Bus::new(1),
            done: Bus::new(1),
            o: Bus::new(width),
            restore: Bus::vector(n.partial as usize, 1),
            state_o: Bus::vector(n.partial as usize, f.accumulator.width()),
            o_state: Bus::vector(n.partial as usize, f.accumulator.width()),
            value: Canonical::new(CanonicalFunction { format: f.format, to: f.value }),
            operands: LaneOperands::new(LaneOperandsFunction { formats: f }),
            operand: ScaledOperand::new(ScaledOperandFunction { formats: f }),
            product: FactorProduct::new(FactorProductFunction {
                from: f.accumulator,
                to: f.inner,
                significand,
                factor_bits,
            }),
            sum: Mixed::of(Operation::Add, f.accumulator, f.inner, f.accumulator),
            select: LaneNext::new(LaneNextFunction { formats: f }),
            o_q: EnabledRegister::new(f.accumulator.width()),
            restored: restores(n, f.accumulator.width()),
            state_q: (0..n.partial as usize).map(|_| EnabledRegister::new(f.accumulator.width())).collect(),
            partials: n.partial as usize,
            narrow: Convert::new(ConvertFunction { from: f.inner, to: f.format }),
            result_q: EnabledRegister::new(width),
        }
    }
}

impl Logic for SharedLane {
    #[hdl_gen]
    fn update(&mut self) {
        self.value.a.next = self.v.val();
        self.operands.load.next = self.load.val();
        self.operands.moved.next = self.moved.val();
        self.operands.o.next = self.o_q.q.val();
        self.operands.v.next = self.value.y.val();
        self.operand.scale.next = self.done.val();
        self.operand.o.next = self.o_q.q.val();
        self.operand.multiplicand.next = self.operands.multiplicand.val();
        self.product.a.next = self.operand.y.val();
        self.product.factor.next = self.e.val();
        self.sum.a.next = self.operands.addend.val();
        self.sum.b.next = self.product.y.val();
        self.select.load.next = self.load.val();
        self.select.v.next = self.value.y.val();
        self.select.sum.next = self.sum.y.val();
        self.o_q.clk.next = self.clk.val();
        self.o_q.enable.next = self.update.val();
        for _keys in self.partials..1 {
            self.o_q.d.next = self.select.o_next.val();
        }
        for p in 0..self.partials {
            self.restored[p].x.next = self.select.o_next.val();
            self.restored[p].state.next = self.state_o[p].val();
            self.restored[p].restore.next = self.restore[p].val();
            self.o_q.d.next = self.restored[p].y.val();
            self.state_q[p].clk.next = self.clk.val();
            self.state_q[p].enable.next = self.done.val();
            self.state_q[p].d.next = self.o_q.q.val();
            self.o_state[p].next = self.state_q[p].q.val();
        }
        self.narrow.a.next = self.product.y.val();
        self.result_q.clk.next = self.clk.val();
        self.result_q.enable.next = self.done.val();
        self.result_q.d.next = self.narrow.y.val();
        self.o.next = self.result_q.q.val();
    }
}

lane_group! {
    /// Up to 16 lanes with a shared multiplier.
    SharedLaneGroup of SharedLane(n);
    flags: [update update_q update, finish finish_q done];
    words: [
        e e_q if take: factor_bits(n, n.factor_significand),
        moved moved_q if update: 1,
        load load_q if update: 1
    ];
    free: [];
    takes: take;
    partial: partials restore restore_q state_o o_state: n.accumulator.width();
}
