//! The FLASH-D core, with either weight unit.

use super::control::{FlagPipe, KeyControl, ResultControl};
use super::dot::DotProduct;
use super::lane::{FlashDLaneGroup, LANES_PER_GROUP, LaneFormats, group_sizes};
use super::lse::LseWeight;
use super::paper::PaperWeight;
use super::paper_lane::PaperLaneGroup;
use super::special::AnySpecial;
use super::{Core, CorePorts, Tap, WeightTap};
use crate::config::CoreConfig;
use crate::numerics::Numerics;
use crate::rtl::{Bus, EnabledRegister, In, Logic, Out, ResetRegister, Tag, ast, hdl_gen, logic};
use std::sync::Arc;

/// The two weight units have the same ports, so that one core description serves both.
macro_rules! flash_d_core {
    ($(#[$meta:meta])* $name:ident, $weight:ident, $group:ident, scalars: [$($scalar:ident),*], $doc:expr) => {
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
                    /// `w`.
                    weight: $weight,
                    /// Flags from the score to the value stage.
                    flags: FlagPipe,
                    /// The step at the value stage reads v.
                    reads_v_q: ResetRegister,
                    /// Inf or NaN in v.
                    v_special: AnySpecial,
                    /// `o`.
                    group: Vec<$group>,
                    /// End of a query.
                    result: ResultControl,
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
            pub fn new(config: &CoreConfig, n: &Arc<Numerics>, lane: LaneFormats) -> Self {
                let (d, fmt) = (config.d, n.format);
                let width = fmt.width();
                let stages = n.tree_levels as usize + 1;
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
                    weight: $weight::new(n),
                    flags: FlagPipe::new(2),
                    reads_v_q: ResetRegister::new(1, 0),
                    v_special: AnySpecial::new(fmt, d),
                    group: group_sizes(d).into_iter().map(|lanes| $group::new(lane, lanes)).collect(),
                    result: ResultControl::new(),
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
                self.weight.clk.next = self.clk.val();
                self.weight.rst.next = self.rst.val();
                self.weight.dot.next = self.dot.dot.val();
                self.weight.valid.next = self.control.valid.val();
                self.weight.first.next = self.control.first.val();
                self.v_step.next = self.weight.step.val();
                self.v_ren.next = self.weight.update.val();
                self.flags.clk.next = self.clk.val();
                self.flags.rst.next = self.rst.val();
                self.flags.valid.next = self.control.valid.val();
                self.flags.first.next = self.control.first.val();
                self.flags.last.next = self.control.last.val();
                self.flags.invalid.next = self.control.invalid.val();
                for g in 0..self.groups {
                    self.group[g].clk.next = self.clk.val();
                    self.group[g].rst.next = self.rst.val();
                    $(self.group[g].$scalar.next = self.weight.$scalar.val();)*
                    self.group[g].update.next = self.weight.update.val();
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
                self.reads_v_q.clk.next = self.clk.val();
                self.reads_v_q.rst.next = self.rst.val();
                self.reads_v_q.d.next = self.weight.update.val();
                self.result.reads_v.next = self.reads_v_q.q.val();
                self.result.v_special.next = self.v_special.any.val();
                self.o_valid.next = self.result.done.val();
                self.o_invalid.next = self.result.done_invalid.val();
            }
        }

        impl Core for $name {
            fn ports(&mut self) -> CorePorts<'_> {
                super::core_ports!(self)
            }
            fn tap(&self) -> Tap {
                self.weight_tap()
            }
        }
    };
}

flash_d_core!(
    /// FLASH-D with the log-sum-exp weight unit.
    FlashDCore, LseWeight, FlashDLaneGroup, scalars: [w, upper, load],
    "FLASH-D attention core: o <- o + sigmoid(s - L) * (v - o), one key a cycle."
);
flash_d_core!(
    /// FLASH-D with the paper's weight unit.
    FlashDPaperCore, PaperWeight, PaperLaneGroup, scalars: [w, load],
    "FLASH-D attention core after the paper's Alg. 3, one key a cycle."
);

impl FlashDCore {
    fn weight_tap(&self) -> Tap {
        let w = &self.weight;
        let valid = w.valid.val() != 0;
        Tap {
            score: valid.then(|| w.score.score.val()),
            x: (valid && w.first.val() == 0).then(|| w.difference.x.val()),
            weight: (w.step.val() != 0).then(|| WeightTap {
                w: w.w.val(),
                update: w.update.val() != 0,
                load: w.load.val() != 0,
                upper: w.upper.val() != 0,
            }),
        }
    }
}

impl FlashDPaperCore {
    fn weight_tap(&self) -> Tap {
        let w = &self.weight;
        let step = w.step.val() != 0;
        Tap {
            score: (w.valid.val() != 0).then(|| w.score.score.val()),
            // The paper's x is formed at the weight stage, and only where no rule skips it.
            x: (step && w.keeps_q.q.val() == 0 && w.loads_q.q.val() == 0).then(|| w.x.y.val()),
            weight: step.then(|| WeightTap {
                w: w.w.val(),
                update: w.update.val() != 0,
                load: w.load.val() != 0,
                upper: false,
            }),
        }
    }
}

const _: () = assert!(LANES_PER_GROUP == 16, "the kernels' index arithmetic is written for 16 lanes a group");
