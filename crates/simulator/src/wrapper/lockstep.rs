//! A run of blocks through a wrapper, compared with the model.

use super::engine::Beat;
use super::lite::LiteAccess;
use super::stream::{Paces, WrapperBench, WrapperDrive, beats};
use super::workload::{ExpectedBlock, Mask, WrapperBlock, WrapperWorkload};
use crate::bench::Observer;
use crate::running::RtlEngine;
use flashd_golden::{PartialState, QueryResult};
use flashd_hwmodel::wrapper::registers::RUN_BIT;
use flashd_hwmodel::wrapper::{Register, RegisterName, Shape, registers};
use flashd_spec::bits::ones;
use flashd_spec::config::{Carried, ConfigError, Values, WrapperConfig};
use std::collections::BTreeMap;

/// A finished run without differences.
#[derive(Clone, Debug)]
pub struct WrapperRun {
    /// Cycles of the whole run.
    pub cycles: u64,
    /// Cycle of the first result beat of each block.
    pub first_results: Vec<u64>,
    /// Cycle in which the last beat of each block's last key was taken.
    pub last_keys: Vec<u64>,
    /// Registers at the end, by name; absent ones are left out.
    pub registers: BTreeMap<String, u64>,
    /// Single comparisons made.
    pub comparisons: u64,
}

/// Cycles without any transfer after which a run counts as hanging.
const HANG: u64 = 3000;

/// A register, if the configuration has it.
fn register(config: &WrapperConfig, name: RegisterName) -> Option<Register> {
    registers(config).into_iter().find(|r| r.name == name)
}

/// The writes that set a workload's registers and start. A value that its register cannot hold is an error: the hardware would
/// drop its upper bits, the model would not.
fn setup(config: &WrapperConfig, w: &WrapperWorkload) -> Result<Vec<LiteAccess>, String> {
    let (mode, window) = match w.mask {
        Mask::None => (0, 0),
        Mask::Causal => (1, 0),
        Mask::Window(window) => (2, window),
    };
    let values = [
        (RegisterName::Blocks, w.blocks.len() as u64),
        (RegisterName::Length, w.length),
        (RegisterName::VExponent, w.v_exponent),
        (RegisterName::MaskMode, mode),
        (RegisterName::Window, window),
        (RegisterName::Stride, w.stride),
        (RegisterName::Position, w.position),
        (RegisterName::States, w.begins_from_states().into()),
        (RegisterName::Control, 1 << RUN_BIT),
    ];
    let mut writes = Vec::new();
    for (name, value) in values {
        let Some(Register { width, offset, .. }) = register(config, name) else { continue };
        if value > ones(width) {
            return Err(format!("{name:?} has {width} bits, which hold 0 to {}, not {value}", ones(width)));
        }
        writes.push(LiteAccess::Write(offset.into(), value, 15));
    }
    Ok(writes)
}

/// Runs a workload; everything that comes out is compared with the model.
///
/// # Errors
/// The first difference, a broken rule, or a run that hangs, as text with the cycle.
///
/// # Panics
/// If the workload does not fit the configuration.
pub fn run(
    config: &WrapperConfig,
    w: &WrapperWorkload,
    paces: &Paces,
    seed: u64,
) -> Result<WrapperRun, String> {
    run_against(config, w, paces, seed, &w.expected(config))
}

/// [`run`] against given expectations: the check itself, apart from the model.
///
/// # Errors
/// As [`run`].
pub fn run_against(
    config: &WrapperConfig,
    w: &WrapperWorkload,
    paces: &Paces,
    seed: u64,
    expected: &[ExpectedBlock],
) -> Result<WrapperRun, String> {
    let drive = WrapperDrive { paces: *paces, seed, engine: RtlEngine::default() };
    run_observed(config, w, &drive, &mut [], expected).map_err(|e| e.to_string())
}

/// What ends a run.
#[derive(Debug, thiserror::Error)]
pub enum WrapperError {
    /// The configuration is not valid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A difference from the model, a broken rule, or a run that hangs, with its cycle.
    #[error("{0}")]
    Difference(String),
    /// An observer could not write.
    #[error("cannot write the recording: {0}")]
    Observer(std::io::Error),
}

/// [`run_against`] with observers who see every cycle.
///
/// # Errors
/// What ends the run.
pub fn run_observed(
    config: &WrapperConfig,
    w: &WrapperWorkload,
    drive: &WrapperDrive,
    observers: &mut [&mut dyn Observer],
    expected: &[ExpectedBlock],
) -> Result<WrapperRun, WrapperError> {
    let mut bench = WrapperBench::observed(config, drive, observers)?;
    let run = checked(config, w, &mut bench, expected);
    run.map_err(|e| bench.failed.take().map_or(WrapperError::Difference(e), WrapperError::Observer))
}

/// Queues the packets of a workload, and its values for their requests.
fn queue(config: &WrapperConfig, w: &WrapperWorkload, bench: &mut WrapperBench, expected: &[ExpectedBlock]) {
    let words = config.array.core.port_words();
    let [q_shape, k_shape, v_shape] =
        [Carried::Query, Carried::Key, Carried::Value].map(|c| Shape::of(config, c));
    for (block, e) in w.blocks.iter().zip(expected) {
        let all = config.values == Values::All;
        let v = if all { beats(&v_shape, &block.v, &[], true) } else { Vec::new() };
        let k = beats(&k_shape, &keys_with_biases(config, block), &block.padding, true);
        bench.stream(beats(&q_shape, &block.q, &[], true), k, v);
        for key in e.needed.iter().filter(|_| !all) {
            bench.remember(beats(&v_shape, &block.v[key * words.v..(key + 1) * words.v], &[], false));
        }
        if w.begins_from_states() {
            bench.begin_from(states(config, block, e.results.len()));
        }
    }
}

/// The run in a bench after reset.
fn checked(
    config: &WrapperConfig,
    w: &WrapperWorkload,
    bench: &mut WrapperBench,
    expected: &[ExpectedBlock],
) -> Result<WrapperRun, String> {
    queue(config, w, bench, expected);
    // Nothing moves before the start.
    for _ in 0..20 {
        bench.cycle()?;
        let o = &bench.outputs;
        if o.q_ready || o.k_ready || o.v_ready || o.s_ready || o.vreq.is_some() || o.o.is_some() {
            return Err(format!("cycle {}: a stream moves before the start", bench.engine.cycle() - 1));
        }
    }
    for answer in bench.access(&setup(config, w)?)? {
        if answer.resp != 0 {
            return Err(format!("{answer:?}: a write was refused"));
        }
    }
    let results: usize = expected.iter().map(|e| e.results.len()).sum();
    let result_beats = results * Shape::of(config, Carried::Result).beats;
    let (mut before, mut still) = (0, 0);
    while !bench.is_streamed() || bench.sent.len() < result_beats {
        bench.cycle()?;
        let moved = bench.sent.len() + bench.asked.len() + bench.keys_taken.len() + bench.queries_left();
        still = if moved == before { still + 1 } else { 0 };
        before = moved;
        if still > HANG {
            return Err(format!(
                "cycle {}: nothing has moved for {HANG} cycles: {} of {result_beats} result beats, {} requests",
                bench.engine.cycle(),
                bench.sent.len(),
                bench.asked.len()
            ));
        }
    }
    let cycles = bench.engine.cycle();
    // Nothing more may come.
    for _ in 0..60 {
        bench.cycle()?;
    }
    let mut run = compare(config, bench, expected)?;
    run.cycles = cycles;
    read_registers(config, bench, &mut run)?;
    counters(expected, &run)?;
    run.last_keys = last_keys(&Shape::of(config, Carried::Key), expected, &bench.keys_taken);
    Ok(run)
}

/// The keys of a block, each followed by the queries' biases.
fn keys_with_biases(config: &WrapperConfig, block: &WrapperBlock) -> Vec<u64> {
    let (words, queries) = (config.array.core.port_words(), config.array.queries);
    if !config.array.core.bias {
        return block.k.clone();
    }
    let keys = block.k.chunks(words.k).zip(block.biases.chunks(queries));
    keys.flat_map(|(key, biases)| [key, biases].concat()).collect()
}

/// A state as its stream has it: accumulators, and scalars.
fn words_of_state(config: &WrapperConfig, state: &PartialState) -> Vec<u64> {
    let scalars = config.array.core.state_scalars().len();
    [state.o.as_slice(), &state.scalars[..scalars]].concat()
}

/// The packet of states of a block; a query without a state has a flag that says so.
fn states(config: &WrapperConfig, block: &WrapperBlock, queries: usize) -> Vec<Beat> {
    let shape = Shape::of(config, Carried::State);
    let state = |query: usize| block.states.get(query).and_then(Option::as_ref);
    let none: Vec<bool> = (0..queries).map(|query| state(query).is_none()).collect();
    let words = |query| state(query).map_or(vec![0; shape.len()], |state| words_of_state(config, state));
    beats(&shape, &(0..queries).flat_map(words).collect::<Vec<u64>>(), &none, true)
}

/// Cycle of the last key beat of each block.
fn last_keys(shape: &Shape, expected: &[ExpectedBlock], taken: &[u64]) -> Vec<u64> {
    let mut beats = 0;
    let last = |e: &ExpectedBlock| {
        beats += e.keys * shape.beats;
        taken[beats - 1]
    };
    expected.iter().map(last).collect()
}

/// Compares results and requests with their expectations.
fn compare(
    config: &WrapperConfig,
    bench: &WrapperBench,
    expected: &[ExpectedBlock],
) -> Result<WrapperRun, String> {
    let shape = Shape::of(config, Carried::Result);
    let core = &config.array.core;
    let mut run = WrapperRun {
        cycles: 0,
        first_results: Vec::new(),
        last_keys: Vec::new(),
        registers: BTreeMap::new(),
        comparisons: 0,
    };
    let mut results = bench.sent.chunks(shape.beats);
    for (b, e) in expected.iter().enumerate() {
        for (i, result) in e.results.iter().enumerate() {
            let beats = results.next().ok_or(format!("result {i} of block {b} is missing"))?;
            let at = beats[0].0;
            if i == 0 {
                run.first_results.push(at);
            }
            let words: Vec<Vec<u64>> = beats.iter().map(|(_, beat)| beat.data.clone()).collect();
            let flags = flags(core.masks, core.has_value_exponent(), result);
            for (j, (_, beat)) in beats.iter().enumerate() {
                let last = i + 1 == e.results.len() && j + 1 == beats.len();
                if (beat.last, beat.user) != (last, flags) {
                    return Err(format!(
                        "cycle {at}, result {i} of block {b}, beat {j}: tlast {}, tuser {}; expected {last}, {flags}",
                        beat.last, beat.user
                    ));
                }
                run.comparisons += 2;
            }
            // A result without a key has no state.
            let state = result.state.as_ref().map_or_else(Vec::new, |state| words_of_state(config, state));
            let expected = [result.o.as_slice(), &state].concat();
            let mut got = shape.vector_of(&words);
            got.truncate(expected.len());
            if got != expected {
                return Err(format!("cycle {at}, result {i} of block {b}: {got:x?}; expected {expected:x?}"));
            }
            run.comparisons += got.len() as u64;
        }
    }
    if results.next().is_some() {
        return Err("more results than queries".into());
    }
    if config.values == Values::Requested {
        let asked: Vec<u64> = bench.asked.iter().map(|(_, place)| *place).collect();
        let needed: Vec<u64> = expected.iter().flat_map(|e| e.needed.iter().map(|key| *key as u64)).collect();
        if asked != needed {
            return Err(format!("values asked for: {asked:?}; expected {needed:?}"));
        }
        run.comparisons += asked.len() as u64;
    }
    Ok(run)
}

fn flags(masks: bool, fixed: bool, result: &QueryResult) -> u64 {
    result.invalid as u64
        | ((fixed && result.overflow) as u64) << 1
        | ((masks && result.empty) as u64) << 2
        | (result.score_saturated as u64) << 3
}

fn read_registers(
    config: &WrapperConfig,
    bench: &mut WrapperBench,
    run: &mut WrapperRun,
) -> Result<(), String> {
    for register in registers(config) {
        let answers = bench.access(&[LiteAccess::Read(register.offset.into())])?;
        let name = format!("{:?}", register.name);
        match answers[..] {
            [answer] if answer.resp == 0 => run.registers.insert(name, answer.data),
            _ => return Err(format!("{name}: {answers:?}")),
        };
    }
    Ok(())
}

/// Compares the counters with their expectations, and their sum with the cycles.
fn counters(expected: &[ExpectedBlock], run: &WrapperRun) -> Result<(), String> {
    let count = |name: RegisterName| run.registers.get(&format!("{name:?}")).copied().unwrap_or(0);
    let total = |of: fn(&ExpectedBlock) -> usize| expected.iter().map(of).sum::<usize>() as u64;
    let (keys, read) = (total(|e| e.keys), total(|e| e.needed.len()));
    for (name, value) in [
        (RegisterName::Control, 0),
        (RegisterName::Status, 0),
        (RegisterName::BlocksDone, expected.len() as u64),
        (RegisterName::Keys, keys),
        (RegisterName::ValuesRead, read),
        (RegisterName::ValuesSkipped, keys - read),
    ] {
        if count(name) != value {
            return Err(format!("{name:?} is {}, expected {value}", count(name)));
        }
    }
    use RegisterName::{Cycles, Keys, StallRequest, StallResult, StallValue, WaitKeys, WaitQueries};
    let parts = [Keys, StallValue, StallResult, StallRequest, WaitKeys, WaitQueries].map(count);
    // The rest: cycles in which the array takes a block over, and the latency of the last results.
    if parts.iter().sum::<u64>() > count(Cycles) || count(Cycles) > run.cycles {
        return Err(format!("CYCLES {} of {}, parts {parts:?}", count(Cycles), run.cycles));
    }
    Ok(())
}
