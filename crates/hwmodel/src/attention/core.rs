//! A core of any kind: score unit, scalar path and lanes, with the flags that accompany a step.

use super::any_flag::AnyFlag;
use super::control::{KeyOutputs, key_control};
use super::delay::delay;
use super::flags::{Flags, flag_pipe, show_flags};
use super::group::{
    CoreScalars, Exponents, FlagOrFunction, GroupInputs, GroupOutputs, LANES_PER_GROUP, LaneKind,
    LaneScalars, group,
};
use super::masks::{EmptyQueryFunction, QueryEndsFunction, UnmaskedFunction};
use super::port_result::{PortResult, Scaling};
use super::ports::{CoreInputs, CoreOutputs, contract_order};
use super::results::{
    EndOfQueryFunction, overflow_control, result_control, saturated_keys, saturation_control,
};
use super::scalar_path::{ScalarInputs, ScalarPath};
use super::schedule::{SCORE_TO_VALUE, dot_stages, score_stage};
use crate::rtl::Number::Float;
use crate::rtl::{Module, Name, Number, Pin, Quantity, Row, Stage, Tag, Wire};
use crate::score::bias::{biased_score, key_bias};
use crate::score::operand::Operand;
use crate::score::score::Scored;
use crate::score::softcap::capped_score;
use flashd_spec::config::{CoreConfig, Design};
use flashd_spec::format::Formats;
use flashd_spec::numerics::Numerics;
use flashd_spec::ports::Port;
use std::sync::Arc;

/// Computes a score from the words of a query and of a key, d elements each, followed by their scales. The third
/// argument is d.
pub type ScoreUnit = fn(&mut Module, &Arc<Numerics>, usize, &[Wire], &[Wire]) -> Scored;

/// A kind of core: its units, and the cycles between their signals.
pub struct CoreKind {
    /// The function of the core, for the header of its module.
    pub doc: &'static str,
    /// The titles of the five stages from the score on.
    pub stages: [&'static str; 5],
    /// The score unit.
    pub score: ScoreUnit,
    /// Builds the core: [`core`] with its scalar path and its lanes.
    pub(crate) build: fn(Site) -> CoreOutputs,
    /// How an array makes the results at its port.
    pub at_port: Option<&'static PortResult>,
    /// Cycles from the score stage to the cycle that shows the argument of sigmoid or exponential.
    pub argument_after: u32,
    /// Cycles from the score stage to the cycle that shows the weight, in which the core requests the value.
    pub weight_after: u32,
    /// The core requests the value two cycles after the score stage; otherwise, three cycles after it.
    pub early_value: bool,
    /// Fixed-point lanes under one exponent: cycles from where it aligns the value to where it scales the result.
    pub result_exponent: Option<usize>,
    /// With partial results: cycles from `v_state` to the restore flag of the groups, at a value latency of 1.
    pub restore_after: usize,
    /// With partial results: for each scalar of the state, the name of its delay registers, and the cycles from the
    /// scalar path to the result at a value latency of 1.
    pub state_after: &'static [(&'static str, usize)],
}

/// Where a core is built, and of what.
pub(crate) struct Site<'a> {
    pub(crate) around: &'a mut Module,
    pub(crate) name: Name,
    pub(crate) inputs: &'a CoreInputs,
    pub(crate) parts: Parts<'a>,
}

/// Builds a core with a scalar path, and lanes that take its scalars.
pub(crate) fn core<S: LaneScalars>(
    Site { around, name, inputs, parts }: Site,
    scalar_path: ScalarPath<S>,
    lanes: &LaneKind<S>,
) -> CoreOutputs {
    let Parts { kind, config, n, at_port, .. } = parts;
    let module = match at_port {
        Some(_) => format!("{}_accumulators", config.name()),
        None => config.name(),
    };
    around.part(name, Tag::module(module, kind.doc), |m| {
        let ports = inputs.enter(m, config);
        let step = parts.scored(m, &ports);
        let path = parts.scalar_path(m, scalar_path, &step, &ports);
        let read = parts.value(m, &path, &ports);
        let groups = parts.groups(m, lanes, &path, &read, &ports);
        let of_groups = |wires: fn(&GroupOutputs) -> &[Wire]| {
            groups.iter().flat_map(wires).copied().collect::<Vec<Wire>>()
        };

        let scaling = at_port.and(path.lanes.scale()).zip(path.finish).map(|(scale, finish)| {
            let done = m.register_reset("ended_q", 0, finish);
            let scale = m.register_if("scale_q", finish, scale);
            Scaling { done: m.output("o_done", done), scale: m.output("o_scale", scale) }
        });
        let o_overflow = ports.v_exponent.map(|_| {
            let outside: Vec<Wire> = groups.iter().filter_map(|group| group.outside).collect();
            let any =
                AnyFlag { count: outside.len(), doc: "Some lane's value has an exponent above the largest." };
            let any = m.leaf("any_outside", any, &outside)[0];
            let any = delay(m, "any_outside_q", any, parts.early);
            overflow_control(m, path.flags, read.counted, any)
        });
        let (done, invalid) = result_control(m, path.flags, read.counted, read.special);
        let o_saturated = path.saturated.map(|saturated| saturation_control(m, path.flags, saturated));
        if at_port.is_none() {
            m.number_each(&of_groups(|group| &group.o), Float(n.formats.o));
        }
        let outputs = CoreOutputs {
            state_ren: m.optional_output("state_ren", step.control.state.map(|(state_ren, _)| state_ren)),
            v_state: m.optional_output("v_state", read.v_state),
            v_step: m.output("v_step", path.step),
            v_ren: m.output("v_ren", path.reads),
            o: m.outputs("o", &of_groups(|group| &group.o)),
            scaling,
            o_valid: m.output("o_valid", done),
            o_invalid: m.output("o_invalid", invalid),
            o_saturated: m.optional_output("o_saturated", o_saturated),
            o_empty: m.optional_output("o_empty", read.o_empty),
            o_overflow: m.optional_output("o_overflow", o_overflow),
            state_scalars: (config.state_scalars().iter().zip(&path.state_scalars))
                .map(|(name, &wire)| m.output(&format!("o_{name}"), wire))
                .collect(),
            o_state: match ports.k_state {
                Some(_) if at_port.is_none() => m.outputs("o_state", &of_groups(|group| &group.o_state)),
                _ => Vec::new(),
            },
        };
        m.order_ports(contract_order);
        show_outputs(m, kind, &outputs);
        outputs
    })
}

/// The kind of a core, its configuration, and the cycles that its value comes later. With `at_port` it hands out accumulators, of which an
/// array makes results.
pub(crate) struct Parts<'a> {
    pub(crate) kind: &'a CoreKind,
    pub(crate) config: &'a CoreConfig,
    pub(crate) n: &'a Arc<Numerics>,
    pub(crate) at_port: Option<&'a PortResult>,
    /// 1 if the core requests the value a cycle earlier.
    pub(crate) early: usize,
    /// Cycles beyond the first from the request of a value to the value.
    pub(crate) late: usize,
}

/// A step at the score stage.
struct Step {
    control: KeyOutputs,
    score: Scored,
    /// A step is present and not masked.
    valid: Wire,
}

/// A step at the lanes.
struct Path<S> {
    /// The scalars for the groups: of the scalar path, the end of a query, and the exponents.
    lanes: S,
    finish: Option<Wire>,
    exponents: Option<Exponents>,
    /// The flags of the step.
    flags: Flags,
    /// The scalar path learns of the query's end.
    end: Option<Wire>,
    /// The outputs `v_step` and `v_ren`.
    step: Wire,
    reads: Wire,
    /// The score of the step's key saturated.
    saturated: Option<Wire>,
    state_scalars: Vec<Wire>,
    /// The step is a restore, at the score stage.
    restores: Option<Wire>,
}

/// The value of a step.
struct Value {
    /// Elements, multiplied by their scales.
    v: Vec<Wire>,
    /// One of them is Inf or NaN.
    special: Wire,
    /// The step has read a value.
    counted: Wire,
    /// With masks: the query that ends has not seen a key; with the lanes, and with the result.
    empty: Option<Wire>,
    o_empty: Option<Wire>,
    /// With masks, for lanes that show a result in every cycle: a query ends.
    ends_query: Option<Wire>,
    /// With partial results: the step reads accumulators, and loads them.
    v_state: Option<Wire>,
    restore: Option<Wire>,
}

impl Parts<'_> {
    /// From the ports to the score: `s = q . k`, its cap, its bias.
    fn scored(&self, m: &mut Module, ports: &CoreInputs) -> Step {
        let Parts { config, n, .. } = *self;
        let CoreInputs { q, q_valid, k, k_valid, k_last, .. } = ports;
        let q_q = m.registers_if("q_q", *q_valid, q);
        let (formats, scales) = (n.encodings.formats, n.encodings.scales);
        show_inputs(m, formats, [q, &q_q, k].map(|words| &words[..config.d]), ports.v_exponent);
        let q_operand = Operand { format: formats.q, d: config.d, scale: scales.q };
        let k_operand = Operand { format: formats.k, d: config.d, scale: scales.k };
        let q_special = q_operand.any_special(m, "q_special", q);
        let k_special = k_operand.any_special(m, "k_special", k);
        let bias = ports.k_bias.first().map(|&k_bias| key_bias(m, n, k_bias, k_special));
        let k_special = bias.as_ref().map_or(k_special, |(_, special)| *special);
        let keys = [
            ("q_valid", *q_valid),
            ("q_special", q_special),
            ("k_valid", *k_valid),
            ("k_last", *k_last),
            ("k_special", k_special),
        ];
        let stages = [score_stage(n), dot_stages(n.tree_levels)].map(|stages| stages as usize);
        let control = key_control(m, stages, keys, ports.k_mask, ports.k_state);
        show_flags(m, 0, control.flags);
        m.stage(if n.softcap.is_some() { Stage::UncappedScore } else { Stage::Score(0) });
        let score = (self.kind.score)(m, n, config.d, &q_q, k);
        m.stage(Stage::Score(0));
        let score = match &n.softcap {
            Some(table) => capped_score(m, table, score),
            None => score,
        };
        let score = match bias {
            Some((bias, _)) => biased_score(m, n, score, &bias),
            None => score,
        };
        let valid = control.live.unwrap_or(control.flags.valid);
        m.watch_each([(Quantity::Valid, valid), (Quantity::Score, score.score)]);
        Step { control, score, valid }
    }

    /// From the score to the scalars of the lanes, and the flags with them.
    fn scalar_path<S: LaneScalars>(
        &self,
        m: &mut Module,
        scalar_path: ScalarPath<S>,
        step: &Step,
        ports: &CoreInputs,
    ) -> Path<S> {
        let Parts { kind, config, n, late, .. } = *self;
        let (valid, to_value) = (step.valid, SCORE_TO_VALUE as usize);
        let (flags, valid_before) = flag_pipe(m, "flags", step.control.flags, to_value, show_flags);
        let end_of = |m: &mut Module, flags: Flags| {
            m.call("finish", EndOfQueryFunction {}, [flags.valid, flags.last])[0]
        };
        let end = (config.design() == Design::Fa2).then(|| end_of(m, flags));
        let state = step.control.state.map(|(_, now)| now);
        let saturated = step.score.saturated.map(|saturated| {
            let keys = saturated_keys(m, saturated, ports.k_mask.map(|_| valid), state);
            delay(m, "late_saturated", keys, to_value + late + 1)
        });
        let (first, state_scalars) = (step.control.flags.first, &ports.state_scalars);
        let path = ScalarInputs { score: step.score.score, valid, first, state, state_scalars, finish: end };
        let path = scalar_path(m, n, &path);
        let lanes = path.lanes.map_named("", &mut |name, wire| delay(m, name, wire, late));
        let value_flags = flag_pipe(m, "value_flags", flags, late, |_, _, _| ()).0;
        // The value comes after the stage that requests it.
        let waits = late > 0 && kind.weight_after < SCORE_TO_VALUE;
        show_flags(m, 3, if waits { value_flags } else { flags });
        let step = match ports.k_mask {
            Some(_) => {
                let valid = if kind.early_value { valid_before } else { flags.valid };
                m.call("steps", FlagOrFunction {}, [path.step, valid])[0]
            }
            None => path.step,
        };
        let flags = flag_pipe(m, "late_flags", value_flags, 1, |_, _, _| ()).0;
        show_flags(m, 4, flags);
        let finish = match end {
            Some(end) => Some((end, late)),
            None => self.ends_lanes().then(|| (end_of(m, flags), 0)),
        };
        let finish = finish.map(|(end, cycles)| delay(m, "finish_q", end, cycles));
        let exponents = ports.v_exponent.zip(kind.result_exponent).map(|(exponent, result)| {
            let exponent = m.register_if("v_exponent_q", ports.q_valid, exponent);
            // The registers in the groups add the last cycle to both delays.
            let stages = (score_stage(n) + SCORE_TO_VALUE) as usize + late - self.early;
            let x = delay(m, "value_exponent", exponent, stages);
            Exponents { x, result_x: delay(m, "result_exponent", x, result) }
        });
        let state_scalars = (path.state_scalars.iter().zip(kind.state_after))
            .map(|(&wire, &(name, after))| delay(m, name, wire, after + late))
            .collect();
        let reads = path.reads;
        Path { lanes, finish, exponents, flags, end, step, reads, saturated, state_scalars, restores: state }
    }

    /// Whether the lanes make results that are zero unless a query ends: FLASH-D's in fixed point. They learn of it a stage later than FA2's
    /// scalar path and lanes do.
    fn ends_lanes(&self) -> bool {
        self.config.design() == Design::FlashD && self.n.lane.is_some() && self.at_port.is_none()
    }

    /// Whether the step has read a value, whether that was Inf or NaN, and whether it was a state.
    fn value<S>(&self, m: &mut Module, path: &Path<S>, ports: &CoreInputs) -> Value {
        let Parts { kind, config, n, early, late, .. } = *self;
        let read = m.register_reset("reads_v_q", 0, path.reads);
        let reads_v = delay(m, "late_reads_v", read, early + late);
        let (wire, after) = if path.end.is_some() { (read, 3) } else { (reads_v, 4) };
        m.stage(Stage::Score(after));
        m.show(wire, "v was read");
        m.stage(Stage::Score(4 - early));
        let (formats, scales) = (n.encodings.formats, n.encodings.scales);
        m.signals(&ports.v[..config.dv()], Float(formats.v), "v[#]");
        let Flags { valid, first, last, .. } = path.flags;
        let masks = ports.k_mask.is_some();
        let empty = masks.then(|| m.call("empty", EmptyQueryFunction {}, [valid, first, last, reads_v])[0]);
        let blanks = masks && self.at_port.is_none() && !self.ends_lanes();
        let ends_query = blanks.then(|| m.call("blank_end", QueryEndsFunction {}, [valid, last])[0]);
        let o_empty = empty.map(|empty| m.register("empty_q", empty));
        let operand = Operand { format: formats.v, d: config.dv(), scale: scales.v };
        let special = operand.any_special(m, "v_special", &ports.v);
        let special = delay(m, "late_v_special", special, early);
        let v = operand.products(m, "v_scaled", &ports.v);
        let v_state =
            path.restores.map(|restores| delay(m, "value_state", restores, SCORE_TO_VALUE as usize - early));
        let counted = v_state.map_or(reads_v, |v_state| {
            // During a restore the value port carries state.
            let late_state = delay(m, "late_state", v_state, 1 + early + late);
            m.call("value_read", UnmaskedFunction {}, [reads_v, late_state])[0]
        });
        let restore = v_state.map(|v_state| delay(m, "restore", v_state, kind.restore_after + late));
        Value { v, special, counted, empty, o_empty, ends_query, v_state, restore }
    }

    /// The lanes in groups: `o <- o + w (v - o)`, or FA2's.
    fn groups<S: LaneScalars>(
        &self,
        m: &mut Module,
        lanes: &LaneKind<S>,
        path: &Path<S>,
        value: &Value,
        ports: &CoreInputs,
    ) -> Vec<GroupOutputs> {
        let groups = value.v.chunks(LANES_PER_GROUP).enumerate().map(|(g, v)| GroupInputs {
            scalars: path.lanes,
            core: CoreScalars {
                finish: path.finish.filter(|_| self.at_port.is_none()),
                exponents: path.exponents,
            },
            // The port of an array shows the zeros of a query without keys.
            empty: value.empty.filter(|_| self.at_port.is_none()),
            ends_query: value.ends_query,
            v: v.to_vec(),
            restore: (value.restore)
                .map(|restore| (restore, ports.state_o[g * LANES_PER_GROUP..][..v.len()].to_vec())),
        });
        let groups = m.each("group", groups, |m, name, inputs| group(m, name, self.n, lanes, inputs));
        if let Some(end) = path.end {
            m.stage(Stage::Score(3));
            m.show(end, "l is final");
        }
        groups
    }
}

/// Signals of a query and a key: the query at the port and in its register, and the key.
fn show_inputs(m: &mut Module, formats: Formats, [q, q_q, k]: [&[Wire]; 3], v_exponent: Option<Wire>) {
    m.stage(Stage::QueryAndKey);
    m.show_port("clk", 0);
    [Port::Rst, Port::QValid, Port::KValid, Port::KLast].iter().for_each(|port| m.show_port(port.name(), 0));
    m.signals(q, Float(formats.q), "q[#]");
    m.signals(q_q, Float(formats.q), "query register [#]");
    m.signals(k, Float(formats.k), "k[#]");
    if let Some(exponent) = v_exponent {
        m.number(exponent, Number::Bits);
        m.show_as(Row::Late, exponent, "v_exponent: of the largest |v|");
    }
}

/// Rows for the outputs: the request of the value, and the result.
fn show_outputs(m: &mut Module, kind: &CoreKind, outputs: &CoreOutputs) {
    m.stage(Stage::Score(kind.weight_after as usize));
    [Port::VStep, Port::VRen].iter().for_each(|port| m.show_as(Row::Flag, port.name(), port.name()));
    m.stage(Stage::Result);
    [Port::OValid, Port::OInvalid].iter().for_each(|port| m.show_port(port.name(), 0));
    if outputs.o_saturated.is_some() {
        m.show(Port::OSaturated.name(), "o_saturated: a score out of range");
    }
    if outputs.o_overflow.is_some() {
        m.show(Port::OOverflow.name(), "o_overflow: a value out of range");
    }
    for j in 0..outputs.o.len() {
        let row = if j == 0 { Row::Trace } else { Row::Plain };
        m.show_element(row, Pin::Port(Port::O.name(), j), j, "o[#]");
    }
}
