//! From the last merge's accumulators to results in the format.

use crate::circuit;
use crate::config::{CoreConfig, Design};
use crate::cores::fa2_lane::{Scale, ScaleFunction};
use crate::cores::fixed_lane::{FixedToFormat, FixedToFormatFunction, lane_bits};
use crate::cores::lane::{LaneFormats, narrow};
use crate::cores::lane_group::{Blank, BlankFunction};
use crate::cores::masks::{Unmasked, unmasked};
use crate::cores::sum::{SumReciprocal, SumReciprocalFunction, sum_exponent_bits};
use crate::numerics::Numerics;
use crate::rtl::{Bus, EnabledRegister, In, Logic, Out, Tag, ast, hdl_gen, logic};
use crate::units::Convert;
use std::sync::Arc;

circuit! {
    /// FLASH-D in fixed point: the accumulators in the format.
    pub struct FixedResult {
        ports {
            /// Accumulators.
            o: Vec<Bus<In>>,
            /// Exponent field of the largest |v|.
            x: Bus<In>,
            /// The accumulators are a result.
            done: Bus<In>,
            /// It has seen no key.
            empty: Bus<In>,
            /// Results.
            y: Vec<Bus<Out>>,
        }
        parts {
            /// A result is shown.
            shows: Unmasked,
            /// Elements.
            convert: Vec<FixedToFormat>,
        }
        config {
            d: usize,
        }
    }
}

impl FixedResult {
    /// For `d` lanes.
    pub fn new(n: &Arc<Numerics>, d: usize) -> Self {
        FixedResult {
            tag: Tag::module(
                format!("fixed_result_{d}"),
                "Accumulators in the format; zero for an empty query.",
            )
            .dissolved(),
            unrest: Default::default(),
            o: Bus::vector(d, lane_bits(n).o),
            x: Bus::new(n.format.exponent_bits),
            done: Bus::new(1),
            empty: Bus::new(1),
            y: Bus::vector(d, n.format.width()),
            shows: unmasked(),
            convert: (0..d)
                .map(|_| FixedToFormat::new(FixedToFormatFunction { numerics: n.clone() }))
                .collect(),
            d,
        }
    }
}

impl Logic for FixedResult {
    #[hdl_gen]
    fn update(&mut self) {
        self.shows.x.next = self.done.val();
        self.shows.mask.next = self.empty.val();
        for i in 0..self.d {
            self.convert[i].o.next = self.o[i].val();
            self.convert[i].x.next = self.x.val();
            self.convert[i].done.next = self.shows.y.val();
            self.y[i].next = self.convert[i].y.val();
        }
    }
}

circuit! {
    /// FLASH-D in float: the accumulators, rounded to the format.
    pub struct FloatResult {
        ports {
            /// Accumulators.
            o: Vec<Bus<In>>,
            /// The result has seen no key.
            empty: Bus<In>,
            /// Results.
            y: Vec<Bus<Out>>,
        }
        parts {
            /// Roundings of wider accumulators.
            convert: Vec<Convert>,
            /// Or zero.
            blank: Vec<Blank>,
        }
        config {
            converts: usize,
            d: usize,
        }
    }
}

impl FloatResult {
    /// For `d` lanes.
    pub fn new(n: &Arc<Numerics>, d: usize) -> Self {
        let convert: Vec<Convert> = (0..d).flat_map(|_| narrow(LaneFormats::new(n, n.accumulator))).collect();
        let width = n.format.width();
        FloatResult {
            tag: Tag::module(
                format!("float_result_{d}"),
                "Accumulators in the format; zero for an empty query.",
            )
            .dissolved(),
            unrest: Default::default(),
            o: Bus::vector(d, n.accumulator.width()),
            empty: Bus::new(1),
            y: Bus::vector(d, width),
            converts: convert.len(),
            convert,
            blank: (0..d).map(|_| Blank::new(BlankFunction { width })).collect(),
            d,
        }
    }
}

impl Logic for FloatResult {
    #[hdl_gen]
    fn update(&mut self) {
        for i in 0..self.converts {
            self.convert[i].a.next = self.o[i].val();
            self.blank[i].o.next = self.convert[i].y.val();
        }
        for i in self.converts..self.d {
            self.blank[i].o.next = self.o[i].val();
        }
        for i in 0..self.d {
            self.blank[i].empty.next = self.empty.val();
            self.y[i].next = self.blank[i].y.val();
        }
    }
}

circuit! {
    /// FA2: the accumulators times the reciprocal of the sum, a cycle later.
    pub struct ScaledResult {
        ports {
            /// Clock.
            clk: Bus<In>,
            /// The sum, a cycle before the accumulators.
            l: Bus<In>,
            /// The sum is a result's.
            finish: Bus<In>,
            /// Accumulators.
            o: Vec<Bus<In>>,
            /// They are a result.
            done: Bus<In>,
            /// Beside the results: there was no key.
            empty: Bus<In>,
            /// Results.
            y: Vec<Bus<Out>>,
        }
        parts {
            /// 1 / l.
            reciprocal: SumReciprocal,
            /// Normalised.
            r_q: EnabledRegister,
            /// And its shift.
            right_q: EnabledRegister,
            /// Elements.
            scale: Vec<Scale>,
            /// Elements.
            result_q: Vec<EnabledRegister>,
            /// Or zero.
            blank: Vec<Blank>,
        }
        config {
            d: usize,
        }
    }
}

impl ScaledResult {
    /// For `d` lanes.
    pub fn new(n: &Arc<Numerics>, d: usize) -> Self {
        let (width, bits) = (n.format.width(), n.sum_bits());
        let r_fraction = n.reciprocal.table.value_fraction;
        let scale = ScaleFunction { accumulator: n.accumulator, format: n.format, r_fraction };
        ScaledResult {
            tag: Tag::module(
                format!("scaled_result_{d}"),
                "o / l by the reciprocal of l; zero for an empty query.",
            )
            .dissolved(),
            unrest: Default::default(),
            clk: Bus::new(1),
            l: Bus::new(bits),
            finish: Bus::new(1),
            o: Bus::vector(d, n.accumulator.width()),
            done: Bus::new(1),
            empty: Bus::new(1),
            y: Bus::vector(d, width),
            reciprocal: SumReciprocal::new(SumReciprocalFunction { numerics: n.clone(), bits }),
            r_q: EnabledRegister::new(r_fraction + 1),
            right_q: EnabledRegister::new(sum_exponent_bits()),
            scale: (0..d).map(|_| Scale::new(scale.clone())).collect(),
            result_q: (0..d).map(|_| EnabledRegister::new(width)).collect(),
            blank: (0..d).map(|_| Blank::new(BlankFunction { width })).collect(),
            d,
        }
    }
}

impl Logic for ScaledResult {
    #[hdl_gen]
    fn update(&mut self) {
        self.reciprocal.sum.next = self.l.val();
        self.reciprocal.finish.next = self.finish.val();
        self.r_q.clk.next = self.clk.val();
        self.r_q.enable.next = self.finish.val();
        self.r_q.d.next = self.reciprocal.r.val();
        self.right_q.clk.next = self.clk.val();
        self.right_q.enable.next = self.finish.val();
        self.right_q.d.next = self.reciprocal.right.val();
        for i in 0..self.d {
            self.scale[i].o.next = self.o[i].val();
            self.scale[i].r.next = self.r_q.q.val();
            self.scale[i].right.next = self.right_q.q.val();
            self.result_q[i].clk.next = self.clk.val();
            self.result_q[i].enable.next = self.done.val();
            self.result_q[i].d.next = self.scale[i].y.val();
            self.blank[i].o.next = self.result_q[i].q.val();
            self.blank[i].empty.next = self.empty.val();
            self.y[i].next = self.blank[i].y.val();
        }
    }
}

/// Cycles from the last merge's accumulators to the result.
pub fn result_cycles(config: &CoreConfig) -> u32 {
    (config.design == Design::Fa2).into()
}
