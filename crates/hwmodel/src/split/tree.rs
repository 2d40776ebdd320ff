//! Cores that share a query, and the tree that merges their parts.

use super::lane::MergeKind;
use super::node::merge_node;
use super::result::result;
use super::scalars::{LseScalars, MergeScalars, State, SumScalars};
use crate::array::flag_tree::flag_tree;
use crate::array::{LowFunction, ZeroFunction};
use crate::attention::delay::{delay, late_flag};
use crate::attention::ports::{CoreInputs, CoreOutputs, OpenInputs, contract_order};
use crate::catalogue::core;
use crate::rtl::{Circuit, Module, Number, Stage, Tag, Wire};
use flashd_spec::config::{ConfigError, Design, MERGE_CYCLES, SplitConfig};
use flashd_spec::numerics::Numerics;
use flashd_spec::ports::Port;
use std::sync::Arc;

/// Builds the cores and the tree of a configuration, without a wrapper.
///
/// # Errors
/// If the configuration is not valid.
pub fn build(config: &SplitConfig) -> Result<Circuit, ConfigError> {
    config.validate()?;
    let n = &Arc::new(Numerics::new(&config.core));
    let parts = config.parts;
    let mut bench = Module::bench();
    let b = &mut bench;
    let open = OpenInputs::new(b, &config.into());
    let doc = format!(
        "{parts} cores for one query, each with a part of its keys, and the merges of their results."
    );
    bench.part("top", Tag::module(config.name(), doc).open(), |m| match config.core.design() {
        Design::FlashD => split::<LseScalars>(m, config, n, &open),
        Design::Fa2 => split::<SumScalars>(m, config, n, &open),
    });
    Ok(bench.into_circuit())
}

/// The ports and the inside of the design.
fn split<S: MergeScalars>(m: &mut Module, config: &SplitConfig, n: &Arc<Numerics>, open: &OpenInputs) {
    m.clock();
    m.reset();
    let outside = open.core();
    let q = m.inputs("q", &outside.q);
    let q_valid = m.input("q_valid", outside.q_valid);
    let v_exponent = outside.v_exponent.map(|exponent| m.input("v_exponent", exponent));
    // Each part has a key, value and mask; the ports concatenate these, part by part.
    let k = m.inputs("k", &outside.k);
    let [k_valid, k_last] = m.input_each([("k_valid", outside.k_valid), ("k_last", outside.k_last)]);
    let k_mask = m.inputs("k_mask", &open[Port::KMask]);
    let k_bias = if n.bias { m.inputs("k_bias", &outside.k_bias) } else { Vec::new() };
    let v = m.inputs("v", &outside.v);

    let shared = CoreInputs {
        q,
        q_valid,
        v_exponent,
        k: Vec::new(),
        k_valid,
        k_last,
        k_mask: None,
        k_bias: Vec::new(),
        k_state: None,
        state_scalars: Vec::new(),
        state_o: Vec::new(),
        v: Vec::new(),
    };
    let cores = cores(m, config, n, [&k, &v, &k_mask, &k_bias], &shared);
    let last = merged::<S>(m, config, n, &cores);

    let waits = config.result_cycles() as usize;
    let merges = (MERGE_CYCLES * config.levels()) as usize;
    // `done`: the merged accumulators are there. `o_valid`: the result is there, for FA2 a cycle later.
    let done = m.register_reset("done_q", 0, last.valid);
    let o_valid = late_flag(m, "valid_q", done, waits);
    // Flags of any part: trees like the merges', delayed to the result.
    let mut any = |tree, delayed, flags: &[Wire]| {
        let any = flag_tree(m, tree, flags);
        delay(m, delayed, any, merges + 1 + waits)
    };
    let flags_of =
        |flag: fn(&CoreOutputs) -> Option<Wire>| cores.iter().map(flag).collect::<Option<Vec<_>>>();
    let invalids: Vec<Wire> = cores.iter().map(|core| core.o_invalid).collect();
    let o_invalid = any("invalids", "invalid_q", &invalids);
    let saturations = flags_of(|core| core.o_saturated);
    let o_saturated = saturations.map(|flags| any("saturations", "saturated_q", &flags));
    let overflows = flags_of(|core| core.o_overflow);
    let o_overflow = overflows.map(|flags| any("overflows", "overflow_q", &flags));
    let x = v_exponent.map(|exponent| {
        let exponent = m.register_if("v_exponent_q", q_valid, exponent);
        delay(m, "result_exponent", exponent, n.latency() as usize + merges + 1)
    });
    let o_empty = delay(m, "empty_q", last.empty, 1 + waits);
    let o_scalars = last.scalars.map_named("", &mut |scalar, wire| delay(m, scalar, wire, 1 + waits));
    let o_state = if waits > 0 { m.registers("state_q", &last.o) } else { last.o.clone() };
    let sum = last.scalars.sum().map(|l| (l, last.valid));
    let o = result(m, n, &last.o, [done, o_empty], x, sum);
    m.output("v_step", cores[0].v_step);
    m.outputs("v_ren", &cores.iter().map(|core| core.v_ren).collect::<Vec<Wire>>());
    m.outputs("o", &o);
    m.output_each([("o_valid", o_valid), ("o_invalid", o_invalid), ("o_empty", o_empty)]);
    m.optional_output("o_saturated", o_saturated);
    m.optional_output("o_overflow", o_overflow);
    m.hand_out("o_", &o_scalars);
    m.outputs("o_state", &o_state);
    m.order_ports(contract_order);
    m.number_each(&o, Number::Float(n.formats.o));
    show_ports(m, config);
}

/// Rows for control in the order of the protocol, then for the first elements of vectors, of keys in each part.
fn show_ports(m: &mut Module, config: &SplitConfig) {
    use Port::*;
    m.stage(Stage::Ports);
    m.show_port("clk", 0);
    let control = [Rst, QValid, KValid, KLast, VStep, OValid, OInvalid, KMask, Q];
    control.into_iter().for_each(|port| m.show_port(port.name(), 0));
    (0..config.parts).for_each(|part| m.show_port(K.name(), part * config.core.port_words().k));
    m.show_port(O.name(), 0);
}

/// The cores, one for each part. None is restored from a partial result.
fn cores(
    m: &mut Module,
    config: &SplitConfig,
    n: &Arc<Numerics>,
    [k, v, k_mask, k_bias]: [&[Wire]; 4],
    shared: &CoreInputs,
) -> Vec<CoreOutputs> {
    let words = config.core.port_words();
    let [low] = m.call("low", LowFunction {}, []);
    let scalars = config.core.state_scalars().iter().zip(n.scalar_bits(&config.core));
    let scalars: Vec<Wire> =
        scalars.map(|(scalar, width)| m.call(format!("a_{scalar}"), ZeroFunction { width }, [])[0]).collect();
    let [zero] = m.call("zero", ZeroFunction { width: MergeKind::of(&config.core).accumulator_bits(n) }, []);
    let accumulators = vec![zero; config.core.dv()];
    let cores =
        (k.chunks(words.k).zip(v.chunks(words.v)).zip(k_mask).enumerate()).map(|(p, ((k, v), &k_mask))| {
            let (k_mask, k_bias, k_state) =
                (Some(k_mask), k_bias.get(p..=p).unwrap_or_default().to_vec(), Some(low));
            let (state_scalars, state_o) = (scalars.clone(), accumulators.clone());
            let (k, v) = (k.to_vec(), v.to_vec());
            CoreInputs { k, k_mask, k_bias, k_state, state_scalars, state_o, v, ..shared.clone() }
        });
    m.each("core", cores, |m, name, inputs| core(m, name, &config.core, n, inputs))
}

/// Merges the partial results of all cores in a tree, leaves first.
fn merged<S: MergeScalars>(
    m: &mut Module,
    config: &SplitConfig,
    n: &Arc<Numerics>,
    cores: &[CoreOutputs],
) -> State<S> {
    let kind = MergeKind::of(&config.core);
    // The factors of the first merges come two cycles later than the cores' accumulators.
    let o: Vec<Wire> = cores.iter().flat_map(|core| core.o_state.iter().copied()).collect();
    let o = m.registers("core_o_q", &o);
    let o = m.registers("core_o_qq", &o);
    let of_core = |(core, o): (&CoreOutputs, &[Wire])| State {
        valid: core.o_valid,
        empty: core.o_empty.unwrap_or_else(|| panic!("{}: cores without masks", config.name())),
        scalars: S::of(&core.state_scalars),
        o: o.to_vec(),
    };
    // Merge i joins entries 2i and 2i + 1 of a list that has all cores, then all merges.
    let mut list: Vec<State<S>> = cores.iter().zip(o.chunks(config.core.dv())).map(of_core).collect();
    let nodes = cores.len() - 1;
    for i in 0..nodes {
        let both = merge_node(m, i, kind, n, [&list[2 * i], &list[2 * i + 1]], i + 1 == nodes);
        list.push(both);
    }
    list.swap_remove(list.len() - 1)
}
