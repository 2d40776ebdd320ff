//! FLASH-D's output update in fixed point: `o <- o + w (v - o)`.
//!
//! ```text
//!  v  | sign | VW - 1 fraction |          relative to the largest exponent of V, rounded
//!  o  | sign | OW - 1 fraction       |    |o| <= max |v|: no guard bits, no final scale
//!  u  m 2^-(WM - 1) 2^-right              the smaller one of w and 1 - w
//! ```
//!
//! What is multiplied is the distance of o and v, a magnitude: values mostly lie near o, and a small magnitude leaves
//! the upper part of the multiplier at rest where two's complement would toggle it with every change of sign. The distance is formed
//! with o cut to v's places and, where v is above, one unit less, which saves the carry of a negation: it is never more than
//! the true one, and half a unit less on average on either side. Because `u <= 1/2`, the result lies between o and v, bit for bit.

use super::factor::factor_bits;
use super::lane_group::lane_group;
use super::partial::{Restore, restores};
use crate::arith::fixed::{clamp, fixed_to_format, value_to_fixed};
use crate::config::LaneBits;
use crate::numerics::{Numerics, fixed_result_bits};
use crate::rtl::{Bus, EnabledRegister, In, Logic, Out, Register, ResetRegister, Tag, ast, hdl_gen, logic};
use crate::word::bits_for;
use crate::{circuit, function, unit};
use std::sync::Arc;

/// Widths of a core with fixed-point lanes.
pub(crate) fn lane_bits(n: &Numerics) -> LaneBits {
    n.lane.unwrap_or(LaneBits { o: 2, v: 2, w: 1 })
}

/// Width of what becomes the result.
fn result_bits(n: &Numerics) -> u32 {
    fixed_result_bits(lane_bits(n))
}

function! {
    /// A value in fixed point.
    pub struct ValueToFixedFunction { numerics: Arc<Numerics> }
    name(this) = format!("{}_to_fixed_{}", this.numerics.format.ident(), lane_bits(&this.numerics).v);
    doc = "fixed = v relative to 2^(x + 1), x the largest exponent field of the values; rounded half away from\nzero, saturating when v's exponent is outside. Inf and NaN count as 0.";
    inputs { v: this.numerics.format.width(), x: this.numerics.format.exponent_bits }
    outputs { fixed: lane_bits(&this.numerics).v, outside: 1 }
    eval<W> {
        let (fixed, outside) = value_to_fixed(this.numerics.format, &v, &x, lane_bits(&this.numerics).v);
        [fixed, outside]
    }
}
unit! {
    /// A value in fixed point.
    pub struct ValueToFixed(ValueToFixedFunction) { v, x } -> { fixed, outside }
}

function! {
    /// The accumulator's next value.
    pub struct FixedUpdateFunction { numerics: Arc<Numerics> }
    name(this) = {
        let LaneBits { o, v, w } = lane_bits(&this.numerics);
        format!("fixed_update_{o}_{v}_{w}")
    };
    doc = "o_next = upper ? v + u * (o - v) : o + u * (v - o), u = {right, m}. The distance of o and v is v - t - 1 or\nt - v, t being o cut to v's places; its product is rounded half up. The result lies between o and v.";
    inputs {
        v: lane_bits(&this.numerics).v, o: lane_bits(&this.numerics).o,
        w: factor_bits(&this.numerics, lane_bits(&this.numerics).w), upper: 1, load: 1
    }
    outputs { o_next: lane_bits(&this.numerics).o }
    eval<W> {
        let bits = lane_bits(&this.numerics);
        let low = bits.o - bits.v;
        let (m, right) = (w.slice(0, bits.w), w.drop_low(bits.w));
        // A first key has u = 0 and does not depend on o; a simulator that starts with an unknown o must see
        // that too.
        let known = load.not();
        let wide = bits.v + 1;
        let not_o = o.top(bits.v).and(&known.repeat(bits.v)).not().named("not_o").sext(wide);
        // v - t - 1 = v + ~t; its complement where it is negative is t - v.
        let difference = v.sext(wide).add(&not_o).named("difference");
        let below = difference.msb().named("v_is_below");
        let distance = difference.slice(0, bits.v).xor(&below.repeat(bits.v)).named("distance");
        let product = distance.mul(&m).named("product");
        // To half places of o: << (low + 1), >> (WM - 1 + right).
        let half_places = product.append_zeros(low + 1);
        let shift = clamp(&right, bits_for(half_places.width() as u64));
        let way = half_places.shr(&shift).drop_low(bits.w - 1).named("way_halves");
        let whole = way.drop_low(1);
        let whole = whole.zext(whole.width().max(bits.o)).slice(0, bits.o).named("way");
        let base = upper.select(&v.append_zeros(low), &o).named("base");
        // - (way + round) = + ~way + 1 - round.
        let minus = below.xor(&upper).named("minus");
        let carry = minus.xor(&way.bit(0)).named("carry");
        let addend = whole.xor(&minus.repeat(bits.o)).named("addend");
        [base.concat(&W::constant(1, 1)).add(&addend.concat(&carry)).named("o_next_halves").drop_low(1)]
    }
}
unit! {
    /// The accumulator's next value.
    pub struct FixedUpdate(FixedUpdateFunction) { v, o, w, upper, load } -> { o_next }
}

function! {
    /// The accumulator in the format.
    pub struct FixedToFormatFunction { numerics: Arc<Numerics> }
    name(this) = format!("fixed_{}_to_{}", lane_bits(&this.numerics).o, this.numerics.format.ident());
    doc = {
        let (o, kept) = (lane_bits(&this.numerics).o, result_bits(&this.numerics));
        let cut = if kept < o { format!(", cut to {kept} bits") } else { String::new() };
        format!("y = o relative to 2^(x + 1){cut}, rounded to the format; at rest unless done.")
    };
    inputs { o: lane_bits(&this.numerics).o, x: this.numerics.format.exponent_bits, done: 1 }
    outputs { y: this.numerics.format.width() }
    at_rest { done ignores o }
    eval<W> {
        let kept = result_bits(&this.numerics);
        let o = done.repeat(kept).and(&o.top(kept)).named("o_when_done");
        [fixed_to_format(this.numerics.format, &o, &x)]
    }
}
unit! {
    /// The accumulator in the format.
    pub struct FixedToFormat(FixedToFormatFunction) { o, x, done } -> { y } while done ignores o
}

/// Declares a lane: where the update finds the value, and the register that it waits in, if any.
macro_rules! fixed_lane {
    ($(#[$meta:meta])* $name:ident($suffix:expr), value from [$($value:tt)*], state $p:ident from [$($state:tt)*] $(, kept in $value_q:ident $state_q:ident if $accept:ident)?) => {
        circuit! {
            $(#[$meta])*
            pub struct $name {
                ports {
                    /// Clock.
                    clk: Bus<In>,
                    /// Value element.
                    v: Bus<In>,
                    /// Exponent field of the largest value.
                    x: Bus<In>,
                    $(/// The value is there.
                    $accept: Bus<In>,)?
                    /// The smaller one of the weight and one minus it.
                    w: Bus<In>,
                    /// It is one minus the weight.
                    upper: Bus<In>,
                    /// First key.
                    load: Bus<In>,
                    /// This step changes o.
                    update: Bus<In>,
                    /// The accumulator is final.
                    done: Bus<In>,
                    /// The exponent field for the result.
                    result_x: Bus<In>,
                    /// The accumulator in the format while `done`.
                    o: Bus<Out>,
                    /// The value's exponent is above the largest.
                    outside: Bus<Out>,
                    /// With partial results: the accumulator takes that of one over.
                    restore: Vec<Bus<In>>,
                    /// This one, with the value.
                    state_o: Vec<Bus<In>>,
                    /// The accumulator of a result.
                    o_state: Vec<Bus<Out>>,
                }
                parts {
                    /// v in fixed point.
                    value: ValueToFixed,
                    $(/// The same at the update.
                    $value_q: EnabledRegister,)?
                    /// The update.
                    step: FixedUpdate,
                    /// The accumulator.
                    o_q: EnabledRegister,
                    /// The result.
                    result: FixedToFormat,
                    $(/// The accumulator of a partial result, at the update.
                    $state_q: Vec<EnabledRegister>,)?
                    /// The update or a partial result.
                    restored: Vec<Restore>,
                }
                config {
                    partials: usize,
                }
            }
        }

        impl $name {
            /// A lane.
            pub fn new(n: &Arc<Numerics>) -> Self {
                let (width, bits) = (n.format.width(), lane_bits(n));
                $name {
                    tag: Tag::module(
                        format!("{}_{}_{}_{}_{}", $suffix, n.format.ident(), bits.o, bits.v, bits.w),
                        "One element of o in fixed point: o <- o + w * (v - o), when update.",
                    ),
                    unrest: Default::default(),
                    clk: Bus::new(1),
                    v: Bus::new(width),
                    x: Bus::new(n.format.exponent_bits),
                    $($accept: Bus::new(1),)?
                    w: Bus::new(factor_bits(n, bits.w)),
                    upper: Bus::new(1),
                    load: Bus::new(1),
                    update: Bus::new(1),
                    done: Bus::new(1),
                    result_x: Bus::new(n.format.exponent_bits),
                    o: Bus::new(width),
                    outside: Bus::new(1),
                    restore: Bus::vector(n.partial as usize, 1),
                    state_o: Bus::vector(n.partial as usize, bits.o),
                    o_state: Bus::vector(n.partial as usize, bits.o),
                    value: ValueToFixed::new(ValueToFixedFunction { numerics: n.clone() }),
                    $($value_q: EnabledRegister::new(bits.v),)?
                    step: FixedUpdate::new(FixedUpdateFunction { numerics: n.clone() }),
                    o_q: EnabledRegister::new(bits.o),
                    result: FixedToFormat::new(FixedToFormatFunction { numerics: n.clone() }),
                    $($state_q: (0..n.partial as usize).map(|_| EnabledRegister::new(bits.o)).collect(),)?
                    restored: restores(n, bits.o),
                    partials: n.partial as usize,
                }
            }
        }

        impl Logic for $name {
            #[hdl_gen]
            fn update(&mut self) {
                self.value.v.next = self.v.val();
                self.value.x.next = self.x.val();
                self.outside.next = self.value.outside.val();
                $(
                    self.$value_q.clk.next = self.clk.val();
                    self.$value_q.enable.next = self.$accept.val();
                    self.$value_q.d.next = self.value.fixed.val();
                )?
                self.step.v.next = self.$($value)*.val();
                self.step.o.next = self.o_q.q.val();
                self.step.w.next = self.w.val();
                self.step.upper.next = self.upper.val();
                self.step.load.next = self.load.val();
                self.o_q.clk.next = self.clk.val();
                self.o_q.enable.next = self.update.val();
                for _keys in self.partials..1 {
                    self.o_q.d.next = self.step.o_next.val();
                }
                for $p in 0..self.partials {
                    $(
                        self.$state_q[$p].clk.next = self.clk.val();
                        self.$state_q[$p].enable.next = self.$accept.val();
                        self.$state_q[$p].d.next = self.state_o[$p].val();
                    )?
                    self.restored[$p].x.next = self.step.o_next.val();
                    self.restored[$p].state.next = self.$($state)*.val();
                    self.restored[$p].restore.next = self.restore[$p].val();
                    self.o_q.d.next = self.restored[$p].y.val();
                    self.o_state[$p].next = self.o_q.q.val();
                }
                self.result.o.next = self.o_q.q.val();
                self.result.x.next = self.result_x.val();
                self.result.done.next = self.done.val();
                self.o.next = self.result.y.val();
            }
        }
    };
}

fixed_lane! {
    /// One element of o: the value to fixed point and the update in one stage.
    FixedLane("flash_d_fixed_lane"), value from [value.fixed], state p from [state_o[p]]
}

fixed_lane! {
    /// One element of o: the value to fixed point, a stage before the update.
    StagedFixedLane("flash_d_staged_fixed_lane"), value from [value_q.q], state p from [state_q[p].q], kept in value_q state_q if accept
}

lane_group! {
    /// Up to 16 fixed-point lanes.
    FixedLaneGroup of FixedLane(n);
    flags: [update update_q update];
    words: [
        w w_q if update: factor_bits(n, lane_bits(n).w),
        upper upper_q if update: 1,
        load load_q if update: 1,
        result_x result_x_q if finish: n.format.exponent_bits
    ];
    free: [x x_q: n.format.exponent_bits];
    outside: outside any_outside;
    ends: finish finish_q done;
    partial: partials restore restore_q state_o o_state: lane_bits(n).o;
}

lane_group! {
    /// Up to 16 fixed-point lanes whose values have a stage. On a step that holds, neither weight, value nor
    /// accumulator toggle.
    StagedFixedLaneGroup of StagedFixedLane(n);
    flags: [reads reads_q accept, update update_q update];
    words: [
        w w_q if update: factor_bits(n, lane_bits(n).w),
        upper upper_q if update: 1,
        load load_q if update: 1,
        result_x result_x_q if finish: n.format.exponent_bits
    ];
    free: [x x_q: n.format.exponent_bits];
    outside: outside any_outside;
    ends: finish finish_q done;
    partial: partials restore restore_q state_o o_state: lane_bits(n).o;
}
