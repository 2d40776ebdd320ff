//! Cycles per second of processor time of both engines on the same stream, in one run:
//! `cargo run --release -p flashd-compiled --example cycles [CYCLES] [CORE] [interpreted]`.
//!
//! As the harness for Verilator does, a query is driven when it is loaded and a result read when it is there.

use flashd_compiled::{Backend, Batch, Compiled};
use flashd_hwmodel::catalogue::build;
use flashd_hwmodel::rtl::{Circuit, PortPlace};
use flashd_simulator::{CoreDriver, Gaps, Inputs, Outputs, Workload};
use flashd_spec::config::{CoreConfig, Design};
use flashd_spec::format::Format;
use flashd_workload::{ScoreScale, TensorScale, choose_scaling, quantise, round_value, synthetic};
use rustix::time::{ClockId, clock_gettime};
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::time::{Duration, Instant};

/// What is driven in a cycle, as small as the formats here are: the engines are measured, and not how fast a stream is read.
struct Cycle {
    rst: bool,
    k_valid: bool,
    k_last: bool,
    exponent: u8,
    /// Where a query is loaded.
    q: Option<Vec<u16>>,
    k: Vec<u16>,
    v: Vec<u16>,
}

impl Cycle {
    fn of(inputs: &Inputs) -> Cycle {
        let small = |words: &[u64]| words.iter().map(|&word| word as u16).collect::<Vec<u16>>();
        Cycle {
            rst: inputs.rst,
            k_valid: inputs.k_valid,
            k_last: inputs.k_last,
            exponent: inputs.v_exponent as u8,
            q: inputs.q_valid.then(|| small(&inputs.q)),
            k: small(&inputs.k),
            v: small(&inputs.v),
        }
    }

    fn flags(&self) -> [(&'static str, bool); 4] {
        [("rst", self.rst), ("q_valid", self.q.is_some()), ("k_valid", self.k_valid), ("k_last", self.k_last)]
    }
}

/// What both engines are asked for.
trait Core {
    fn cycle(&mut self, inputs: &Cycle, outputs: &mut Outputs);
}

impl Core for Circuit {
    fn cycle(&mut self, inputs: &Cycle, outputs: &mut Outputs) {
        inputs.flags().into_iter().for_each(|(port, high)| self.set(port, high));
        self.set_optional("v_exponent", inputs.exponent);
        let q = inputs.q.as_deref().unwrap_or_default();
        for (port, words) in [("q", q), ("k", &inputs.k), ("v", &inputs.v)] {
            let words: Vec<u64> = words.iter().map(|&word| word.into()).collect();
            self.set_words(port, &words);
        }
        self.settle();
        outputs.v_step = self.is_high("v_step");
        outputs.v_ren = self.is_high("v_ren");
        outputs.o_valid = self.is_high("o_valid");
        outputs.o_invalid = self.is_high("o_invalid");
        outputs.o.clear();
        if outputs.o_valid {
            outputs.o.extend(self.words("o"));
        }
        self.clock();
    }
}

/// Ports, found once.
struct Ports {
    flags: [PortPlace; 4],
    exponent: Option<PortPlace>,
    vectors: [PortPlace; 3],
    outputs: [PortPlace; 4],
    o: PortPlace,
}

impl Ports {
    fn of(port: impl Fn(&str) -> Option<PortPlace>) -> Option<Ports> {
        Some(Ports {
            flags: [port("rst")?, port("q_valid")?, port("k_valid")?, port("k_last")?],
            exponent: port("v_exponent"),
            vectors: [port("q")?, port("k")?, port("v")?],
            outputs: [port("v_step")?, port("v_ren")?, port("o_valid")?, port("o_invalid")?],
            o: port("o")?,
        })
    }

    fn drive(&self, inputs: &Cycle, mut drive: impl FnMut(PortPlace, &[u16])) {
        for (&port, (_, high)) in self.flags.iter().zip(inputs.flags()) {
            drive(port, &[high.into()]);
        }
        if let Some(port) = self.exponent {
            drive(port, &[inputs.exponent.into()]);
        }
        let [q, k, v] = self.vectors;
        if let Some(words) = &inputs.q {
            drive(q, words);
        }
        drive(k, &inputs.k);
        drive(v, &inputs.v);
    }
}

/// The compiled design.
struct Fast {
    core: Compiled,
    ports: Ports,
}

impl Fast {
    fn new(core: Compiled) -> Option<Fast> {
        Some(Fast { ports: Ports::of(|name| core.port(name))?, core })
    }
}

impl Core for Fast {
    fn cycle(&mut self, inputs: &Cycle, outputs: &mut Outputs) {
        let Fast { core, ports } = self;
        ports.drive(inputs, |port, words| core.drive(port, words));
        core.settle();
        let high = |port: PortPlace| core.read(port).next() == Some(1);
        [outputs.v_step, outputs.v_ren, outputs.o_valid, outputs.o_invalid] = ports.outputs.map(high);
        outputs.o.clear();
        if outputs.o_valid {
            core.read_into(ports.o, &mut outputs.o);
        }
        core.clock();
    }
}

/// Runs of the same stream beside each other, each a cycle later than the one before: cycles per second of all of them, and whether
/// what came out of each has the hash.
fn beside(
    design: &flashd_hwmodel::rtl::Design,
    stream: &[Cycle],
    runs: usize,
    hash: u64,
) -> Option<(f64, bool)> {
    let mut batch = Batch::new(design, runs).ok()?;
    let ports = Ports::of(|name| batch.port(name))?;
    let mut hashes: Vec<DefaultHasher> = (0..runs).map(|_| DefaultHasher::new()).collect();
    let mut outputs = Outputs::default();
    let mut pass = |mut hashes: Option<&mut [DefaultHasher]>| {
        for cycle in 0..stream.len() + runs {
            for run in 0..runs {
                // Before its stream begins a run is reset.
                let at = cycle.saturating_sub(run).min(stream.len() - 1);
                ports.drive(&stream[at], |port, words| batch.drive(run, port, words));
            }
            batch.settle();
            for run in 0..runs {
                let high = |port: PortPlace| batch.read(run, port).next() == Some(1);
                [outputs.v_step, outputs.v_ren, outputs.o_valid, outputs.o_invalid] = ports.outputs.map(high);
                outputs.o.clear();
                if outputs.o_valid {
                    batch.read_into(run, ports.o, &mut outputs.o);
                }
                if let Some(hashes) = &mut hashes
                    && (run..run + stream.len()).contains(&cycle)
                {
                    add(&mut hashes[run], &outputs);
                }
            }
            batch.clock();
        }
    };
    pass(Some(&mut hashes));
    let mut best: f64 = 0.0;
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_millis(400) {
        let start = processor_seconds();
        pass(None);
        best = best.max(((stream.len() + runs) * runs) as f64 / (processor_seconds() - start));
    }
    Some((best, hashes.iter().all(|run| run.finish() == hash)))
}

fn add(hash: &mut DefaultHasher, outputs: &Outputs) {
    (outputs.v_step, outputs.v_ren, outputs.o_valid, outputs.o_invalid).hash(hash);
    outputs.o.hash(hash);
}

/// The inputs of each cycle of a workload, and what they come from: the outputs that asked for them.
fn recorded(config: &CoreConfig, workload: &Workload, cycles: usize) -> Option<Vec<Cycle>> {
    let mut core = Fast::new(Compiled::new(&build(config).ok()?.design()).ok()?)?;
    let mut driver = CoreDriver::new(config, workload, Gaps::None);
    let (mut inputs, mut outputs) = (Inputs::default(), Outputs::default());
    let mut stream = Vec::new();
    while stream.len() < cycles && !driver.finished() {
        driver.next(&outputs, &mut inputs);
        let cycle = Cycle::of(&inputs);
        core.cycle(&cycle, &mut outputs);
        stream.push(cycle);
    }
    Some(stream)
}

/// Seconds that this thread has run.
fn processor_seconds() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}

/// Cycles per second over the stream again and again, and a hash of what came out the first time.
fn rate(core: &mut dyn Core, stream: &[Cycle], least: Duration) -> (f64, u64) {
    let mut hash = DefaultHasher::new();
    let mut outputs = Outputs::default();
    for inputs in stream {
        core.cycle(inputs, &mut outputs);
        add(&mut hash, &outputs);
    }
    let mut best: f64 = 0.0;
    let begin = Instant::now();
    while begin.elapsed() < least {
        let start = processor_seconds();
        stream.iter().for_each(|inputs| core.cycle(inputs, &mut outputs));
        best = best.max(stream.len() as f64 / (processor_seconds() - start));
    }
    (best, hash.finish())
}

/// Runs beside each other.
const RUNS: usize = 64;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let cycles = arguments.get(1).and_then(|text| text.parse().ok()).unwrap_or(4000);
    let only = arguments.get(2).filter(|text| text.contains("_d"));
    let interpreted = arguments.iter().any(|text| text == "interpreted");
    let backend = if interpreted { Backend::Interpreter } else { Backend::best() };
    println!(
        "{:28} {:>12} {:>12} {:>8} {:>12} {:>8}  start",
        "core, cycles/s", "rusthdl", "compiled", "ratio", "64 runs", "ratio"
    );
    for format in [Format::BF16, Format::FP8_E4M3] {
        for design in [Design::FlashD, Design::Fa2] {
            for d in [16, 64, 256] {
                let name = CoreConfig::new(design, d, format).name();
                if only.is_some_and(|only| *only != name) {
                    continue;
                }
                if let Err(text) = one(design, d, format, cycles, backend) {
                    eprintln!("{text}");
                }
            }
        }
    }
}

fn one(design: Design, d: usize, format: Format, cycles: usize, backend: Backend) -> Result<(), String> {
    let mut config = CoreConfig::new(design, d, format);
    let heads = synthetic::attention_like(1, 8, 512, d);
    let round = |x: f64| round_value(format, x);
    let scaling = choose_scaling(format, &heads, ScoreScale::Auto, TensorScale::Auto, &round)
        .map_err(|error| error.to_string())?;
    config.score_shift = Some(scaling.score_shift);
    let rounded = quantise(format, scaling, &heads);
    let workload = Workload::new(format, d, &rounded.q, &rounded.k, &rounded.v);
    let stream = recorded(&config, &workload, cycles).ok_or("no such core")?;
    let mut circuit = build(&config).map_err(|error| error.to_string())?;
    let start = Instant::now();
    let design = build(&config).map_err(|error| error.to_string())?.design();
    let built = start.elapsed();
    let compiled = Compiled::with_steps(&design, backend, &|_, steps| steps);
    let compiled = compiled.map_err(|error| error.to_string())?;
    let instructions = compiled.instructions();
    let mut fast = Fast::new(compiled).ok_or("no such port")?;
    let started = start.elapsed();
    let least = Duration::from_millis(400);
    let (slow, expected) = rate(&mut circuit, &stream, least);
    let (quick, actual) = rate(&mut fast, &stream, least);
    let (many, all_same) = beside(&design, &stream, RUNS, expected).ok_or("no such port")?;
    let same = if expected == actual && all_same { "" } else { ", OUTPUTS DIFFER" };
    println!(
        "{:28} {slow:12.0} {quick:12.0} {:8.2} {many:12.0} {:8.2}  {:.0} ms, {:.0} of them to build, {instructions}{same}",
        config.name(),
        quick / slow,
        many / slow,
        started.as_secs_f64() * 1e3,
        built.as_secs_f64() * 1e3
    );
    Ok(())
}
