//! FA2's output update and final scale: lanes in groups that share copies of the scalar registers.

use super::lane::{LaneFormats, LaneOperands, LaneOperandsFunction, lane_suffix};
use super::lane_group::lane_group;
use super::partial::{Restore, restores};
use super::sum::sum_exponent_bits;
use crate::arith::normalise::normalise_within;
use crate::arith::round::{Unrounded, round_pack};
use crate::arith::unpack;
use crate::format::{Format, Subnormals};
use crate::numerics::Numerics;
use crate::rtl::{Bus, EnabledRegister, In, Logic, Out, ResetRegister, Tag, ast, hdl_gen, logic};
use crate::units::{Canonical, CanonicalFunction, Mixed, Operation};
use crate::word::{bits_for, ones};
use crate::{circuit, function, unit};
use std::sync::Arc;

function! {
    /// `o / l` by the reciprocal of l.
    pub struct ScaleFunction { accumulator: Format, format: Format, r_fraction: u32 }
    name(this) = format!("{}_{}_scale", this.accumulator.ident(), this.format.ident());
    doc = "y = o * r * 2^-right, one rounding.";
    inputs { o: this.accumulator.width(), r: this.r_fraction + 1, right: sum_exponent_bits() }
    outputs { y: this.format.width() }
    eval<W> {
        let u = unpack(this.accumulator, &o, "o");
        let product = u.significand.mul(&r).named("product");
        // r is above 1/2, and o has its leading one where no subnormals are kept.
        let (significand, leading_zeros) = match this.accumulator.subnormals {
            Subnormals::Flushed => normalise_within(&product, 2),
            Subnormals::Supported => {
                let (significand, leading_zeros) = product.normalise();
                (significand, leading_zeros.named("leading_zeros"))
            }
        };
        // The product's top bit weighs 2^(e_o + 1 - bias) 2^-right, r having one integer bit.
        let rebias = this.format.bias - this.accumulator.bias;
        let wide = (this.accumulator.exponent_bits + 2)
            .max(leading_zeros.width() + 2)
            .max(sum_exponent_bits() + 2)
            .max(bits_for(rebias.unsigned_abs() as u64) + 2);
        let exponent = u.exponent.zext(wide)
            .add(&W::constant(wide, (1 + rebias) as i64 as u64 & ones(wide)))
            .sub(&right.sext(wide))
            .sub(&leading_zeros.zext(wide))
            .named("exponent");
        [round_pack(this.format, &Unrounded::new(u.sign, exponent, significand.named("normalised")))]
    }
}
unit! {
    /// `o / l` by the reciprocal of l.
    pub struct Scale(ScaleFunction) { o, r, right } -> { y }
}

circuit! {
    /// FA2: `o <- moved ? o e + v : o + v e` with `o = 0` before a first key, then `o r 2^-right` when `done`.
    pub struct Fa2Lane {
        ports {
            /// Clock.
            clk: Bus<In>,
            /// Value element.
            v: Bus<In>,
            /// Exponential.
            e: Bus<In>,
            /// The maximum moved.
            moved: Bus<In>,
            /// Take v as it is.
            load: Bus<In>,
            /// A step is present.
            update: Bus<In>,
            /// Reciprocal of the sum.
            r: Bus<In>,
            /// Its shift.
            right: Bus<In>,
            /// The accumulator is final.
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
            /// `o e` or `v e`.
            product: Mixed,
            /// The update.
            sum: Mixed,
            /// The accumulator.
            o_q: EnabledRegister,
            /// The final scale.
            scale: Scale,
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

impl Fa2Lane {
    /// A lane.
    pub fn new(n: &Numerics) -> Self {
        let f = LaneFormats::new(n, n.product);
        let r_fraction = n.reciprocal.table.value_fraction;
        let width = f.format.width();
        Fa2Lane {
            tag: Tag::module(
                format!("fa2_lane_{}", lane_suffix(f)),
                "One element of o: o <- moved ? o * e + v : o + v * e; result = o * r * 2^-right.",
            ),
            unrest: Default::default(),
            clk: Bus::new(1),
            v: Bus::new(width),
            e: Bus::new(f.weight.width()),
            moved: Bus::new(1),
            load: Bus::new(1),
            update: Bus::new(1),
            r: Bus::new(r_fraction + 1),
            right: Bus::new(sum_exponent_bits()),
            done: Bus::new(1),
            o: Bus::new(width),
            restore: Bus::vector(n.partial as usize, 1),
            state_o: Bus::vector(n.partial as usize, f.accumulator.width()),
            o_state: Bus::vector(n.partial as usize, f.accumulator.width()),
            value: Canonical::new(CanonicalFunction { format: f.format, to: f.value }),
            operands: LaneOperands::new(LaneOperandsFunction { formats: f }),
            product: Mixed::of(Operation::Mul, f.accumulator, f.weight, f.inner),
            sum: Mixed::of(Operation::Add, f.accumulator, f.inner, f.accumulator),
            o_q: EnabledRegister::new(f.accumulator.width()),
            restored: restores(n, f.accumulator.width()),
            state_q: (0..n.partial as usize).map(|_| EnabledRegister::new(f.accumulator.width())).collect(),
            partials: n.partial as usize,
            scale: Scale::new(ScaleFunction { accumulator: f.accumulator, format: f.format, r_fraction }),
            result_q: EnabledRegister::new(width),
        }
    }
}

impl Logic for Fa2Lane {
    #[hdl_gen]
    fn update(&mut self) {
        self.value.a.next = self.v.val();
        self.operands.load.next = self.load.val();
        self.operands.moved.next = self.moved.val();
        self.operands.o.next = self.o_q.q.val();
        self.operands.v.next = self.value.y.val();
        self.product.a.next = self.operands.multiplicand.val();
        self.product.b.next = self.e.val();
        self.sum.a.next = self.operands.addend.val();
        self.sum.b.next = self.product.y.val();
        self.o_q.clk.next = self.clk.val();
        self.o_q.enable.next = self.update.val();
        for _keys in self.partials..1 {
            self.o_q.d.next = self.sum.y.val();
        }
        for p in 0..self.partials {
            self.restored[p].x.next = self.sum.y.val();
            self.restored[p].state.next = self.state_o[p].val();
            self.restored[p].restore.next = self.restore[p].val();
            self.o_q.d.next = self.restored[p].y.val();
            self.state_q[p].clk.next = self.clk.val();
            self.state_q[p].enable.next = self.done.val();
            self.state_q[p].d.next = self.o_q.q.val();
            self.o_state[p].next = self.state_q[p].q.val();
        }
        self.scale.o.next = self.o_q.q.val();
        self.scale.r.next = self.r.val();
        self.scale.right.next = self.right.val();
        self.result_q.clk.next = self.clk.val();
        self.result_q.enable.next = self.done.val();
        self.result_q.d.next = self.scale.y.val();
        self.o.next = self.result_q.q.val();
    }
}

lane_group! {
    /// Up to 16 FA2 lanes.
    Fa2LaneGroup of Fa2Lane(n);
    flags: [update update_q update, finish finish_q done];
    words: [
        e e_q if update: n.weight.width(),
        moved moved_q if update: 1,
        load load_q if update: 1,
        r r_q if finish: n.reciprocal.table.value_fraction + 1,
        right right_q if finish: sum_exponent_bits()
    ];
    free: [];
    partial: partials restore restore_q state_o o_state: n.accumulator.width();
}
