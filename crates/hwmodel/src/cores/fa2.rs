//! The FlashAttention-2 core, default and literal.

use super::control::{FlagPipe, KeyControl, ResultControl};
use super::dot::DotProduct;
use super::fa2_lane::Fa2LaneGroup;
use super::lane::{LANES_PER_GROUP, LaneFormats, group_sizes};
use super::literal::{LiteralLaneGroup, LiteralSum};
use super::softmax::{LiteralSoftmax, RunningSum, Softmax};
use super::special::AnySpecial;
use super::{Core, CorePorts, Tap, WeightTap};
use crate::config::CoreConfig;
use crate::numerics::Numerics;
use crate::rtl::{Bus, EnabledRegister, In, Logic, Out, Register, ResetRegister, Tag, ast, hdl_gen, logic};
use std::sync::Arc;

/// Both variants share ports, dot product and control; `$factor` is the second scalar of a step, `$scale`
/// the ports of the final scale.
macro_rules! fa2_core {
    (
        $(#[$meta:meta])*
        $name:ident { $softmax:ident, $sum:ident, $group:ident, factor: $factor:ident, scale: [$($scale:ident),*] }
        new_group($n:ident, $lane:ident, $lanes:ident) = $new_group:expr;
        $doc:expr
    ) => {
        crate::circuit! {
            $(#[$meta])*
            pub struct $name {
                ports {
                    /// Clock.
                    clk: Bus<In>,
                    /// Synchronous reset.
                    rst: Bus<In>,
                    /// Query.
                    q: Vec<Bus<In>>,
                    /// The query register loads.
                    q_valid: Bus<In>,
                    /// Key.
                    k: Vec<Bus<In>>,
                    /// A key is accepted.
                    k_valid: Bus<In>,
                    /// It is its query's last.
                    k_last: Bus<In>,
                    /// One step reaches the value stage.
                    v_step: Bus<Out>,
                    /// That step needs its value.
                    v_ren: Bus<Out>,
                    /// Value, one cycle after `v_ren`.
                    v: Vec<Bus<In>>,
                    /// Result.
                    o: Vec<Bus<Out>>,
                    /// The result is valid.
                    o_valid: Bus<Out>,
                    /// An operand was Inf or NaN.
                    o_invalid: Bus<Out>,
                }
                parts {
                    /// Query register.
                    q_q: Vec<EnabledRegister>,
                    /// Inf or NaN in q.
                    q_special: AnySpecial,
                    /// Inf or NaN in k.
                    k_special: AnySpecial,
                    /// Flags up to the score stage.
                    control: KeyControl,
                    /// `q . k`.
                    dot: DotProduct,
                    /// Maximum and exponential.
                    softmax: $softmax,
                    /// Flags from the score to the value stage.
                    flags: FlagPipe,
                    /// Inf or NaN in v.
                    v_special: AnySpecial,
                    /// End of a query.
                    result: ResultControl,
                    /// `l` and its reciprocal.
                    sum: $sum,
                    /// `o`.
                    group: Vec<$group>,
                    /// The scaled result is in the output registers.
                    o_valid_q: ResetRegister,
                    /// Its invalid bit.
                    o_invalid_q: Register,
                }
                config {
                    d: usize,
                    full_groups: usize,
                    groups: usize,
                    last_lanes: usize,
                }
            }
        }

        impl $name {
            /// The core of a (valid) configuration.
            pub fn new(config: &CoreConfig, $n: &Arc<Numerics>, $lane: LaneFormats) -> Self {
                let (d, fmt) = (config.d, $n.format);
                let width = fmt.width();
                let stages = $n.tree_levels as usize + 1;
                $name {
                    tag: Tag::module(config.name(), $doc),
                    quiet: false,
                    clk: Bus::new(1),
                    rst: Bus::new(1),
                    q: Bus::vector(d, width),
                    q_valid: Bus::new(1),
                    k: Bus::vector(d, width),
                    k_valid: Bus::new(1),
                    k_last: Bus::new(1),
                    v_step: Bus::new(1),
                    v_ren: Bus::new(1),
                    v: Bus::vector(d, width),
                    o: Bus::vector(d, width),
                    o_valid: Bus::new(1),
                    o_invalid: Bus::new(1),
                    q_q: (0..d).map(|_| EnabledRegister::new(width)).collect(),
                    q_special: AnySpecial::new(fmt, d),
                    k_special: AnySpecial::new(fmt, d),
                    control: KeyControl::new(stages),
                    dot: DotProduct::new(fmt, d),
                    softmax: $softmax::new($n),
                    flags: FlagPipe::new(1),
                    v_special: AnySpecial::new(fmt, d),
                    result: ResultControl::new(),
                    sum: $sum::new($n),
                    group: group_sizes(d).into_iter().map(|$lanes| $new_group).collect(),
                    o_valid_q: ResetRegister::new(1, 0),
                    o_invalid_q: Register::new(1),
                    d,
                    full_groups: d / LANES_PER_GROUP,
                    groups: d.div_ceil(LANES_PER_GROUP),
                    last_lanes: d % LANES_PER_GROUP,
                }
            }
        }

        impl Logic for $name {
            #[hdl_gen]
            fn update(&mut self) {
                for i in 0..self.d {
                    self.q_q[i].clk.next = self.clk.val();
                    self.q_q[i].enable.next = self.q_valid.val();
                    self.q_q[i].d.next = self.q[i].val();
                    self.q_special.x[i].next = self.q[i].val();
                    self.k_special.x[i].next = self.k[i].val();
                    self.dot.q[i].next = self.q_q[i].q.val();
                    self.dot.k[i].next = self.k[i].val();
                    self.v_special.x[i].next = self.v[i].val();
                }
                self.control.clk.next = self.clk.val();
                self.control.rst.next = self.rst.val();
                self.control.q_valid.next = self.q_valid.val();
                self.control.q_special.next = self.q_special.any.val();
                self.control.k_valid.next = self.k_valid.val();
                self.control.k_last.next = self.k_last.val();
                self.control.k_special.next = self.k_special.any.val();
                self.dot.clk.next = self.clk.val();
                self.softmax.clk.next = self.clk.val();
                self.softmax.dot.next = self.dot.dot.val();
                self.softmax.valid.next = self.control.valid.val();
                self.softmax.first.next = self.control.first.val();
                self.v_step.next = self.control.valid.val();
                self.v_ren.next = self.control.valid.val();
                self.flags.clk.next = self.clk.val();
                self.flags.rst.next = self.rst.val();
                self.flags.valid.next = self.control.valid.val();
                self.flags.first.next = self.control.first.val();
                self.flags.last.next = self.control.last.val();
                self.flags.invalid.next = self.control.invalid.val();
                self.sum.clk.next = self.clk.val();
                self.sum.rst.next = self.rst.val();
                self.sum.valid.next = self.control.valid.val();
                self.sum.first.next = self.control.first.val();
                self.sum.e.next = self.softmax.e.val();
                self.sum.$factor.next = self.softmax.$factor.val();
                self.sum.done.next = self.result.done.val();
                for g in 0..self.groups {
                    self.group[g].clk.next = self.clk.val();
                    self.group[g].rst.next = self.rst.val();
                    self.group[g].update.next = self.control.valid.val();
                    self.group[g].load.next = self.control.first.val();
                    self.group[g].e.next = self.softmax.e.val();
                    self.group[g].$factor.next = self.softmax.$factor.val();
                    $(self.group[g].$scale.next = self.sum.$scale.val();)*
                    self.group[g].done.next = self.result.done.val();
                }
                for g in 0..self.full_groups {
                    for i in 0..16 {
                        self.group[g].v[i].next = self.v[16 * g + i].val();
                        self.o[16 * g + i].next = self.group[g].o[i].val();
                    }
                }
                for g in self.full_groups..self.groups {
                    for i in 0..self.last_lanes {
                        self.group[g].v[i].next = self.v[16 * g + i].val();
                        self.o[16 * g + i].next = self.group[g].o[i].val();
                    }
                }
                self.result.clk.next = self.clk.val();
                self.result.rst.next = self.rst.val();
                self.result.valid.next = self.flags.valid_out.val();
                self.result.first.next = self.flags.first_out.val();
                self.result.last.next = self.flags.last_out.val();
                self.result.invalid.next = self.flags.invalid_out.val();
                self.result.reads_v.next = self.flags.valid_out.val();
                self.result.v_special.next = self.v_special.any.val();
                self.o_valid_q.clk.next = self.clk.val();
                self.o_valid_q.rst.next = self.rst.val();
                self.o_valid_q.d.next = self.result.done.val();
                self.o_invalid_q.clk.next = self.clk.val();
                self.o_invalid_q.d.next = self.result.done_invalid.val();
                self.o_valid.next = self.o_valid_q.q.val();
                self.o_invalid.next = self.o_invalid_q.q.val();
            }
        }

        impl Core for $name {
            fn ports(&mut self) -> CorePorts<'_> {
                super::core_ports!(self)
            }
            fn tap(&self) -> Tap {
                let softmax = &self.softmax;
                let valid = softmax.valid.val() != 0;
                let first = softmax.first.val() != 0;
                Tap {
                    score: valid.then(|| softmax.score.score.val()),
                    x: (valid && !first).then(|| self.x_tap()),
                    weight: valid.then(|| WeightTap {
                        w: softmax.e.val(),
                        update: true,
                        load: first,
                        upper: self.upper_tap(),
                    }),
                }
            }
        }
    };
}

fa2_core!(
    /// FlashAttention-2: one exponential, one multiplier a lane.
    Fa2Core { Softmax, RunningSum, Fa2LaneGroup, factor: moved, scale: [r, right] }
    new_group(n, lane, lanes) = Fa2LaneGroup::new(lane, lanes, n.reciprocal.table.value_fraction);
    "FlashAttention-2 attention core: running maximum, running sum, division by reciprocal; one key a cycle."
);
fa2_core!(
    /// FlashAttention-2 as the paper draws it.
    Fa2LiteralCore { LiteralSoftmax, LiteralSum, LiteralLaneGroup, factor: c, scale: [r] }
    new_group(n, lane, lanes) = LiteralLaneGroup::new(lane, lanes);
    "FlashAttention-2 attention core as the paper draws it: two exponentials, two multipliers a lane."
);

impl Fa2Core {
    fn upper_tap(&self) -> bool {
        self.softmax.maximum.moved.val() != 0
    }

    /// `x = s - m_old`, from its magnitude and sign.
    fn x_tap(&self) -> u64 {
        let maximum = &self.softmax.maximum;
        let distance = maximum.distance.val();
        let x = if maximum.moved.val() != 0 { distance } else { distance.wrapping_neg() };
        x & crate::word::ones(maximum.distance.width() + 1)
    }
}

impl Fa2LiteralCore {
    fn upper_tap(&self) -> bool {
        false
    }

    /// `x = s - m`.
    fn x_tap(&self) -> u64 {
        self.softmax.new_difference.y.val()
    }
}
