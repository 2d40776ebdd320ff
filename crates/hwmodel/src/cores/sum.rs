//! FA2's running sum, and its reciprocal for the final scale.

use super::factor::FactorForm;
use super::partial::{Restore, restores};
use crate::arith::reciprocal::reciprocal;
use crate::arith::unpack;
use crate::numerics::{Numerics, SUM_INTEGER_BITS};
use crate::rtl::{Bus, EnabledRegister, In, Logic, Out, Tag, ast, hdl_gen, logic};
use crate::word::{Word, index_bits, ones};
use crate::{circuit, function, unit};
use std::sync::Arc;

/// Bits of the exponent of `l`: -1 to 16, two's complement.
pub fn sum_exponent_bits() -> u32 {
    index_bits(SUM_INTEGER_BITS as usize) + 1
}

/// `addend + multiplicand e`, the product rounded half up, saturating; sums in fixed point.
pub fn scaled_sum<W: Word>(n: &Numerics, form: FactorForm, multiplicand: &W, addend: &W, e: &W) -> W {
    let (bits, fmt) = (n.sum_bits(), n.weight);
    // e = significand 2^-right with right at least 1, and the shift is one less: what it always is, and what e adds.
    let (significand, always, right_less) = match form {
        FactorForm::Format => {
            let u = unpack(fmt, e, "e");
            let wide = fmt.exponent_bits + 1;
            let top = W::constant(wide, (fmt.bias as u64 + fmt.fraction_bits as u64 - 1) & ones(wide));
            (u.significand, 0, top.sub(&u.exponent.zext(wide)).named("right_less_one"))
        }
        FactorForm::Shift(m) => (e.slice(0, m), m - 2, e.drop_low(m)),
    };
    let product = multiplicand.mul(&significand).named("product");
    let halves = product.drop_low(always).shr(&right_less).named("scaled_halves");
    let scaled = halves.slice(0, bits + 2).add(&W::constant(bits + 2, 1)).drop_low(1).named("scaled");
    let total = addend.zext(bits + 1).add(&scaled).named("total");
    total.msb().repeat(bits).or(&total.slice(0, bits)).named("saturated")
}

function! {
    /// The running sum.
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
unit! {
    /// The running sum.
    pub struct SumNext(SumNextFunction) { sum, e, moved, first } -> { sum_next }
}

function! {
    /// `1 / l` as a normalised reciprocal and a shift.
    pub struct SumReciprocalFunction { numerics: Arc<Numerics>, bits: u32 }
    name(this) = format!("sum_reciprocal_{}_{}", this.bits, this.numerics.format.ident());
    doc = {
        let r = &this.numerics.reciprocal;
        format!(
            "1 / sum = r * 2^-right, r in (1/2, 1] with {} fraction bits: {} PWL segments, {} Newton steps.\nThe sum has {} fraction bits; the unit rests unless it is final.",
            r.table.value_fraction, r.table.segments, r.newton_steps, this.numerics.state_fraction
        )
    };
    inputs { sum: this.bits, finish: 1 }
    outputs { r: this.numerics.reciprocal.table.value_fraction + 1, right: sum_exponent_bits() }
    eval<W> {
        let n = &this.numerics;
        let (bits, vr) = (this.bits, n.reciprocal.table.value_fraction);
        let sum = finish.repeat(bits).and(&sum).named("final_sum");
        let (normalised, leading_zeros) = sum.normalise();
        let leading_zeros = leading_zeros.named("leading_zeros");
        let normalised = normalised.append_zeros((vr + 1).saturating_sub(bits)).named("normalised");
        let m = normalised.top(vr + 1).named("m");
        let r = reciprocal(&n.reciprocal, &m).named("reciprocal");
        let wide = leading_zeros.width().max(sum_exponent_bits());
        let top = (bits - 1 - n.state_fraction) as u64;
        let right = W::constant(wide, top).sub(&leading_zeros.zext(wide));
        [r, right.slice(0, sum_exponent_bits())]
    }
}
unit! {
    /// `1 / l`.
    pub struct SumReciprocal(SumReciprocalFunction) { sum, finish } -> { r, right }
}

circuit! {
    /// The running sum, and a cycle later its reciprocal.
    pub struct RunningSum {
        ports {
            /// Clock.
            clk: Bus<In>,
            /// A step updates.
            update: Bus<In>,
            /// It is a first key.
            first: Bus<In>,
            /// Its exponential.
            e: Bus<In>,
            /// The maximum moved.
            moved: Bus<In>,
            /// The sum is a query's final one.
            finish: Bus<In>,
            /// With partial results: the step is one.
            restore: Vec<Bus<In>>,
            /// Its sum.
            state_l: Vec<Bus<In>>,
            /// The sum.
            o_l: Vec<Bus<Out>>,
            /// Normalised reciprocal of the sum.
            r: Bus<Out>,
            /// The sum's exponent.
            right: Bus<Out>,
        }
        parts {
            /// l.
            sum_q: EnabledRegister,
            /// Next l.
            sum: SumNext,
            /// 1 / l.
            reciprocal: SumReciprocal,
            /// Next l or that of a partial result.
            restored: Vec<Restore>,
        }
        config {
            partials: usize,
        }
    }
}

impl RunningSum {
    /// The unit for a configuration.
    pub fn new(n: &Arc<Numerics>, form: FactorForm) -> Self {
        let bits = n.sum_bits();
        RunningSum {
            tag: Tag::module(
                format!("running_sum_{}", form.suffix(n)),
                "l <- moved ? l * e + 1 : l + e, and the reciprocal of l for the final scale.",
            )
            .dissolved(),
            unrest: Default::default(),
            clk: Bus::new(1),
            update: Bus::new(1),
            first: Bus::new(1),
            e: Bus::new(form.bits(n)),
            moved: Bus::new(1),
            finish: Bus::new(1),
            restore: Bus::vector(n.partial as usize, 1),
            state_l: Bus::vector(n.partial as usize, bits),
            o_l: Bus::vector(n.partial as usize, bits),
            r: Bus::new(n.reciprocal.table.value_fraction + 1),
            right: Bus::new(sum_exponent_bits()),
            sum_q: EnabledRegister::new(bits),
            sum: SumNext::new(SumNextFunction { numerics: n.clone(), form }),
            reciprocal: SumReciprocal::new(SumReciprocalFunction { numerics: n.clone(), bits }),
            restored: restores(n, bits),
            partials: n.partial as usize,
        }
    }
}

impl Logic for RunningSum {
    #[hdl_gen]
    fn update(&mut self) {
        self.sum.sum.next = self.sum_q.q.val();
        self.sum.e.next = self.e.val();
        self.sum.moved.next = self.moved.val();
        self.sum.first.next = self.first.val();
        self.sum_q.clk.next = self.clk.val();
        self.sum_q.enable.next = self.update.val();
        for _keys in self.partials..1 {
            self.sum_q.d.next = self.sum.sum_next.val();
        }
        for p in 0..self.partials {
            self.restored[p].x.next = self.sum.sum_next.val();
            self.restored[p].state.next = self.state_l[p].val();
            self.restored[p].restore.next = self.restore[p].val();
            self.sum_q.d.next = self.restored[p].y.val();
            self.o_l[p].next = self.sum_q.q.val();
        }
        self.reciprocal.sum.next = self.sum_q.q.val();
        self.reciprocal.finish.next = self.finish.val();
        self.r.next = self.reciprocal.r.val();
        self.right.next = self.reciprocal.right.val();
    }
}
