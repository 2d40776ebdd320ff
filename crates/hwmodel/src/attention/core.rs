//! A core of any kind: score unit, scalar path and lanes, with the flags that accompany a step.

use super::any_flag::AnyFlag;
use super::control::key_control;
use super::delay::delay;
use super::flags::{Flags, flag_pipe, show_flags};
use super::group::{FlagOrFunction, GroupInputs, GroupOutputs, LANES_PER_GROUP, LaneKind, group};
use super::masks::{EmptyQueryFunction, QueryEndsFunction, UnmaskedFunction};
use super::port_result::{PortResult, Scaling};
use super::ports::{CoreInputs, CoreOutputs};
use super::results::{
    EndOfQueryFunction, overflow_control, result_control, saturated_keys, saturation_control,
};
use super::scalar_path::{ScalarInputs, ScalarOutputs};
use super::schedule::{SCORE_TO_VALUE, dot_stages, score_stage};
use super::signals::Signals;
use crate::rtl::Number::Float;
use crate::rtl::{Module, Name, Number, Pin, Quantity, Row, Stage, Tag, Wire};
use crate::score::bias::{biased_score, key_bias};
use crate::score::operand::Operand;
use crate::score::score::Scored;
use crate::score::softcap::capped_score;
use flashd_spec::config::CoreConfig;
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
    /// The scalar path.
    pub scalar_path: fn(&mut Module, &Arc<Numerics>, &ScalarInputs) -> ScalarOutputs,
    /// The lanes.
    pub lanes: &'static LaneKind,
    /// How an array makes the results at its port.
    pub at_port: Option<&'static PortResult>,
    /// Cycles from the score stage to the cycle that shows the argument of sigmoid or exponential.
    pub argument_after: u32,
    /// Cycles from the score stage to the cycle that shows the weight, in which the core requests the value.
    pub weight_after: u32,
    /// The core requests the value two cycles after the score stage; otherwise, three cycles after it.
    pub early_value: bool,
    /// The scalar path and the lanes learn of a query's end [`SCORE_TO_VALUE`] stages after the score. Otherwise only
    /// the lanes do, a stage later.
    pub scalar_path_ends: bool,
    /// Fixed-point lanes under one exponent: cycles from where it aligns the value to where it scales the result.
    pub result_exponent: Option<usize>,
    /// With partial results: cycles from `v_state` to the restore flag of the groups, at a value latency of 1.
    pub restore_after: usize,
    /// With partial results: for each scalar of the state, the name of its delay registers, and the cycles from the
    /// scalar path to the result at a value latency of 1.
    pub state_after: &'static [(&'static str, usize)],
}

/// Builds the core of a valid configuration. With `at_port` it hands out accumulators, of which an array makes results.
pub fn core(
    around: &mut Module,
    name: impl Into<Name>,
    kind: &CoreKind,
    config: &CoreConfig,
    n: &Arc<Numerics>,
    inputs: &CoreInputs,
    at_port: Option<&PortResult>,
) -> CoreOutputs {
    let lanes = at_port.map_or(kind.lanes, |at_port| at_port.lanes);
    let module = match at_port {
        Some(_) => format!("{}_accumulators", config.name()),
        None => config.name(),
    };
    around.part(name, Tag::module(module, kind.doc), |m| {
        let ports = inputs.enter(m, config);
        let CoreInputs { q, q_valid, v_exponent, k, k_valid, k_last, k_mask, k_bias, k_state, v, .. } = ports;
        let early = usize::from(kind.early_value);
        let late = n.value_latency as usize - 1;

        // From the ports to the score stage.
        let q_q = m.registers_if("q_q", q_valid, &q);
        let (formats, scales) = (n.encodings.formats, n.encodings.scales);
        show_inputs(m, formats, [&q, &q_q, &k].map(|words| &words[..config.d]), v_exponent);
        let q_operand = Operand { format: formats.q, d: config.d, scale: scales.q };
        let k_operand = Operand { format: formats.k, d: config.d, scale: scales.k };
        let v_operand = Operand { format: formats.v, d: config.dv(), scale: scales.v };
        let q_special = q_operand.any_special(m, "q_special", &q);
        let k_special = k_operand.any_special(m, "k_special", &k);
        let bias = k_bias.first().map(|&k_bias| key_bias(m, n, k_bias, k_special));
        let k_special = bias.as_ref().map_or(k_special, |(_, special)| *special);
        let keys = [
            ("q_valid", q_valid),
            ("q_special", q_special),
            ("k_valid", k_valid),
            ("k_last", k_last),
            ("k_special", k_special),
        ];
        let stages = [score_stage(n), dot_stages(n.tree_levels)].map(|stages| stages as usize);
        let control = key_control(m, stages, keys, k_mask, k_state);
        show_flags(m, 0, control.flags);
        m.stage(if n.softcap.is_some() { Stage::UncappedScore } else { Stage::Score(0) });
        let score = (kind.score)(m, n, config.d, &q_q, &k);
        m.stage(Stage::Score(0));
        let score = match &n.softcap {
            Some(table) => capped_score(m, table, score),
            None => score,
        };
        let Scored { score, saturated } = match bias {
            Some((bias, _)) => biased_score(m, n, score, &bias),
            None => score,
        };
        let valid = control.live.unwrap_or(control.flags.valid);
        m.watch_each([(Quantity::Valid, valid), (Quantity::Score, score)]);

        // The scalar path.
        let (flags, valid_before) =
            flag_pipe(m, "flags", control.flags, SCORE_TO_VALUE as usize, |m, after, flags| {
                show_flags(m, after, flags);
            });
        let end_of = |m: &mut Module, flags: Flags| {
            m.call("finish", EndOfQueryFunction {}, [flags.valid, flags.last])[0]
        };
        m.reserve(&["finish"]);
        let end = kind.scalar_path_ends.then(|| end_of(m, flags));
        let state = control.state.map(|(_, now)| now);
        let saturated = saturated.map(|saturated| {
            let keys = saturated_keys(m, saturated, k_mask.map(|_| valid), state);
            delay(m, "late_saturated", keys, SCORE_TO_VALUE as usize + late + 1)
        });
        let (first, state_scalars) = (control.flags.first, &ports.state_scalars);
        let path = ScalarInputs { score, valid, first, state, state_scalars, finish: end };
        let path = (kind.scalar_path)(m, n, &path);
        let mut scalars: Signals =
            path.lanes.iter().map(|(name, wire)| (name, delay(m, name, wire, late))).collect();
        m.reserve(&["finish_q"]);
        let value_flags = flag_pipe(m, "value_flags", flags, late, |_, _, _| ()).0;
        // The value comes after the stage that requests it.
        let waits = late > 0 && kind.weight_after < SCORE_TO_VALUE;
        show_flags(m, 3, if waits { value_flags } else { flags });
        let step = match k_mask {
            Some(_) => {
                let valid = if kind.early_value { valid_before } else { flags.valid };
                m.call(("steps", 0), FlagOrFunction {}, [path.step, valid])[0]
            }
            None => path.step,
        };
        let late_flags = flag_pipe(m, "late_flags", value_flags, 1, |_, _, _| ()).0;
        show_flags(m, 4, late_flags);
        if kind.scalar_path_ends || lanes.finish.is_some() {
            let (end, cycles) = end.map_or_else(|| (end_of(m, late_flags), 0), |end| (end, late));
            scalars.set("finish", delay(m, "finish_q", end, cycles));
        }

        // Whether the step has read a value, and whether that was Inf or NaN.
        let read = m.register_reset("reads_v_q", 0, path.reads);
        let reads_v = delay(m, "late_reads_v", read, early + late);
        let (wire, after) = if kind.scalar_path_ends { (read, 3) } else { (reads_v, 4) };
        m.stage(Stage::Score(after));
        m.show(wire, "v was read");
        m.stage(Stage::Score(4 - early));
        m.signals(&v[..config.dv()], Float(formats.v), "v[#]");
        let Flags { valid, first, last, .. } = late_flags;
        let empty =
            k_mask.map(|_| m.call(("empty", 0), EmptyQueryFunction {}, [valid, first, last, reads_v])[0]);
        let blanks = k_mask.is_some() && lanes.finish.is_none() && at_port.is_none();
        let ends_query = blanks.then(|| m.call(("blank_end", 0), QueryEndsFunction {}, [valid, last])[0]);
        let o_empty = empty.map(|empty| m.register(("empty_q", 0), empty));
        let v_special = v_operand.any_special(m, "v_special", &v);
        let v_special = delay(m, "late_v_special", v_special, early);

        // The lanes.
        let v = v_operand.products(m, ("v_scaled", 0), &v);
        if let (Some(exponent), Some(result)) = (v_exponent, kind.result_exponent) {
            let exponent = m.register_if("v_exponent_q", q_valid, exponent);
            // The registers in the groups add the last cycle to both delays.
            let stages = (score_stage(n) + SCORE_TO_VALUE) as usize + late - early;
            let exponent = delay(m, "value_exponent", exponent, stages);
            scalars.set("x", exponent);
            scalars.set("result_x", delay(m, "result_exponent", exponent, result));
        }
        m.reserve(&["group", "outside_q", "any_outside", "any_outside_q", "overflow", "result"]);
        let mut counted = reads_v;
        // Three flags of a restore: the core needs its scalars in the next cycle, requests its accumulators, and loads
        // them.
        let requests = control.state.map(|(state_ren, state_now)| {
            let v_state = delay(m, ("value_state", 0), state_now, SCORE_TO_VALUE as usize - early);
            let late_state = delay(m, ("late_state", 0), v_state, 1 + early + late);
            // During a restore the value port carries state.
            counted = m.call(("value_read", 0), UnmaskedFunction {}, [reads_v, late_state])[0];
            let restore = delay(m, ("restore", 0), v_state, kind.restore_after + late);
            [state_ren, v_state, restore]
        });
        let state_scalars: Vec<Wire> = (path.state_scalars.iter().zip(kind.state_after))
            .map(|(&wire, &(name, after))| delay(m, (name, 0), wire, after + late))
            .collect();
        let [state_ren, v_state, restore] = [0, 1, 2].map(|i| requests.map(|requests| requests[i]));
        let groups = v.chunks(LANES_PER_GROUP).enumerate().map(|(g, v)| GroupInputs {
            scalars: scalars.clone(),
            // The port of an array shows the zeros of a query without keys.
            empty: empty.filter(|_| at_port.is_none()),
            ends_query,
            v: v.to_vec(),
            restore: restore
                .map(|restore| (restore, ports.state_o[g * LANES_PER_GROUP..][..v.len()].to_vec())),
        });
        let groups: Vec<GroupOutputs> =
            m.each("group", groups, |m, name, inputs| group(m, name, n, lanes, inputs));
        if let Some(end) = end {
            m.stage(Stage::Score(3));
            m.show(end, "l is final");
        }
        let of_groups = |wires: fn(&GroupOutputs) -> &[Wire]| {
            groups.iter().flat_map(wires).copied().collect::<Vec<Wire>>()
        };

        let scaling = at_port.filter(|at_port| at_port.scales).map(|_| {
            let (finish, scale) = (scalars["finish"], scalars["e"]);
            let done = m.register_reset("ended_q", 0, finish);
            let scale = m.register_if("scale_q", finish, scale);
            Scaling { done: m.output("o_done", done), scale: m.output("o_scale", scale) }
        });

        // The result's flags.
        let o_overflow = v_exponent.map(|_| {
            let outside: Vec<Wire> = groups.iter().filter_map(|group| group.outside).collect();
            let any =
                AnyFlag { count: outside.len(), doc: "Some lane's value has an exponent above the largest." };
            let any = m.leaf("any_outside", any, &outside)[0];
            let any = delay(m, "any_outside_q", any, early);
            overflow_control(m, late_flags, counted, any)
        });
        let (done, invalid) = result_control(m, late_flags, counted, v_special);
        let o_saturated = saturated.map(|saturated| saturation_control(m, late_flags, saturated));
        if at_port.is_none() {
            m.number_each(&of_groups(|group| &group.o), Float(n.formats.o));
        }
        let outputs = CoreOutputs {
            state_ren: m.optional_output("state_ren", state_ren),
            v_state: m.optional_output("v_state", v_state),
            v_step: m.output("v_step", step),
            v_ren: m.output("v_ren", path.reads),
            o: m.outputs("o", &of_groups(|group| &group.o)),
            scaling,
            o_valid: m.output("o_valid", done),
            o_invalid: m.output("o_invalid", invalid),
            o_saturated: o_saturated.map(|saturated| m.output("o_saturated", saturated)),
            o_empty: m.optional_output("o_empty", o_empty),
            o_overflow: o_overflow.map(|overflow| m.output("o_overflow", overflow)),
            state_scalars: (config.state_scalars().iter().zip(state_scalars))
                .map(|(name, wire)| m.outputs(&format!("o_{name}"), &[wire])[0])
                .collect(),
            o_state: match k_state {
                Some(_) if at_port.is_none() => m.outputs("o_state", &of_groups(|group| &group.o_state)),
                _ => Vec::new(),
            },
        };
        show_outputs(m, kind, &outputs);
        outputs
    })
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
