//! The engines that run the RTL, driven as `testbench/bench/main.cpp` drives what Verilator made.

use flashd_compiled::{Backend, Batch, Compiled};
use flashd_hwmodel::catalogue::build;
use flashd_hwmodel::rtl::{Circuit, PortPlace};
use flashd_simulator::RESET_CYCLES;
use flashd_spec::config::CoreConfig;
use std::error::Error;
use std::ops::Range;
use std::time::Instant;

/// Queries, keys and values as they are on the ports, `d` elements a row. An element takes as few bytes as its format allows, so that
/// the engines are measured and not how fast a stream is read.
pub struct Stream<T> {
    pub d: usize,
    q: Vec<T>,
    k: Vec<T>,
    v: Vec<T>,
    v_exponent: u64,
}

impl<T: TryFrom<u64>> Stream<T> {
    /// From the bits of queries, keys and values.
    pub fn new(d: usize, vectors: [&[u64]; 3], v_exponent: u64) -> Result<Stream<T>, Box<dyn Error>> {
        let small = |bits: &[u64]| -> Result<Vec<T>, &'static str> {
            bits.iter().map(|&bits| T::try_from(bits).map_err(|_| "an element is too wide")).collect()
        };
        let [q, k, v] = vectors;
        Ok(Stream { d, q: small(q)?, k: small(k)?, v: small(v)?, v_exponent })
    }
}

impl<T> Stream<T> {
    pub fn queries(&self) -> usize {
        self.q.len() / self.d
    }

    pub fn keys(&self) -> usize {
        self.k.len() / self.d
    }

    fn row<'a>(&self, vectors: &'a [T], row: usize) -> &'a [T] {
        &vectors[row * self.d..(row + 1) * self.d]
    }
}

/// A design in an engine, in one run or in several beside each other.
trait Rtl {
    fn port(&self, name: &str) -> Option<PortPlace>;
    fn drive<T: Copy + Into<u64>>(&mut self, run: usize, port: PortPlace, words: &[T]);
    fn words(&self, run: usize, port: PortPlace) -> impl Iterator<Item = u64>;
    fn read(&self, run: usize, port: PortPlace, words: &mut Vec<u64>) {
        words.extend(self.words(run, port));
    }
    fn settle(&mut self);
    fn clock(&mut self);

    fn is_high(&self, run: usize, port: PortPlace) -> bool {
        self.words(run, port).next() == Some(1)
    }
}

impl Rtl for Compiled {
    fn port(&self, name: &str) -> Option<PortPlace> {
        Compiled::port(self, name)
    }
    fn drive<T: Copy + Into<u64>>(&mut self, _: usize, port: PortPlace, words: &[T]) {
        Compiled::drive(self, port, words);
    }
    fn words(&self, _: usize, port: PortPlace) -> impl Iterator<Item = u64> {
        Compiled::read(self, port)
    }
    fn read(&self, _: usize, port: PortPlace, words: &mut Vec<u64>) {
        self.read_into(port, words);
    }
    fn settle(&mut self) {
        Compiled::settle(self);
    }
    fn clock(&mut self) {
        Compiled::clock(self);
    }
}

impl Rtl for Batch {
    fn port(&self, name: &str) -> Option<PortPlace> {
        Batch::port(self, name)
    }
    fn drive<T: Copy + Into<u64>>(&mut self, run: usize, port: PortPlace, words: &[T]) {
        Batch::drive(self, run, port, words);
    }
    fn words(&self, run: usize, port: PortPlace) -> impl Iterator<Item = u64> {
        Batch::read(self, run, port)
    }
    fn read(&self, run: usize, port: PortPlace, words: &mut Vec<u64>) {
        self.read_into(run, port, words);
    }
    fn settle(&mut self) {
        Batch::settle(self);
    }
    fn clock(&mut self) {
        Batch::clock(self);
    }
}

impl Rtl for Circuit {
    fn port(&self, name: &str) -> Option<PortPlace> {
        Circuit::port(self, name)
    }
    fn drive<T: Copy + Into<u64>>(&mut self, _: usize, port: PortPlace, words: &[T]) {
        let words: Vec<u64> = words.iter().map(|&word| word.into()).collect();
        Circuit::drive(self, port, &words);
    }
    fn words(&self, _: usize, port: PortPlace) -> impl Iterator<Item = u64> {
        Circuit::read(self, port)
    }
    fn settle(&mut self) {
        Circuit::settle(self);
    }
    fn clock(&mut self) {
        Circuit::clock(self);
    }
}

/// Ports, found once.
struct Ports {
    rst: PortPlace,
    q_valid: PortPlace,
    k_valid: PortPlace,
    k_last: PortPlace,
    q: PortPlace,
    k: PortPlace,
    v: PortPlace,
    v_exponent: Option<PortPlace>,
    v_ren: PortPlace,
    v_step: PortPlace,
    o_valid: PortPlace,
    o: PortPlace,
}

impl Ports {
    fn of(port: impl Fn(&str) -> Option<PortPlace>) -> Result<Ports, String> {
        let there = |name: &str| port(name).ok_or_else(|| format!("the core has no port {name}"));
        Ok(Ports {
            rst: there("rst")?,
            q_valid: there("q_valid")?,
            k_valid: there("k_valid")?,
            k_last: there("k_last")?,
            q: there("q")?,
            k: there("k")?,
            v: there("v")?,
            v_exponent: port("v_exponent"),
            v_ren: there("v_ren")?,
            v_step: there("v_step")?,
            o_valid: there("o_valid")?,
            o: there("o")?,
        })
    }
}

/// What came out of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Played {
    /// Elements of all results, in the order of the queries.
    pub o: Vec<u64>,
    /// Cycles from the first key to the last result, both included.
    pub cycles: u64,
    /// Values that were read.
    pub reads: u64,
}

/// One stimulus: queries that follow each other without a pause, each with all keys.
struct Stimulus {
    run: usize,
    queries: Range<usize>,
    /// Where the stream is.
    query: usize,
    key: usize,
    value: usize,
    /// What was asked for in the cycle before.
    asked: Option<usize>,
    results: usize,
    played: Played,
}

impl Stimulus {
    fn new(run: usize, queries: Range<usize>) -> Stimulus {
        let query = queries.start;
        Stimulus { run, queries, query, key: 0, value: 0, asked: None, results: 0, played: Played::default() }
    }

    fn is_over(&self) -> bool {
        self.results == self.queries.len()
    }

    /// Drives a cycle of reset.
    fn reset(&self, core: &mut impl Rtl, ports: &Ports) {
        core.drive(self.run, ports.rst, &[1u64]);
        core.drive(self.run, ports.q_valid, &[0u64]);
        core.drive(self.run, ports.k_valid, &[0u64]);
    }

    /// Drives the cycle in which the first query is loaded.
    fn load<T: Copy + Into<u64>>(&self, core: &mut impl Rtl, ports: &Ports, stream: &Stream<T>) {
        core.drive(self.run, ports.rst, &[0u64]);
        core.drive(self.run, ports.q_valid, &[1u64]);
        core.drive(self.run, ports.q, stream.row(&stream.q, self.query));
        if let Some(exponent) = ports.v_exponent {
            core.drive(self.run, exponent, &[stream.v_exponent]);
        }
    }

    /// Drives the next cycle.
    fn drive<T: Copy + Into<u64>>(&mut self, core: &mut impl Rtl, ports: &Ports, stream: &Stream<T>) {
        if let Some(row) = self.asked {
            core.drive(self.run, ports.v, stream.row(&stream.v, row));
        }
        let sends = self.query < self.queries.end;
        core.drive(self.run, ports.k_valid, &[u64::from(sends)]);
        let mut loads = false;
        if sends {
            core.drive(self.run, ports.k, stream.row(&stream.k, self.key));
            self.key += 1;
            let last = self.key == stream.keys();
            core.drive(self.run, ports.k_last, &[u64::from(last)]);
            if last {
                (self.key, self.query) = (0, self.query + 1);
                loads = self.query < self.queries.end;
            }
        }
        core.drive(self.run, ports.q_valid, &[u64::from(loads)]);
        if loads {
            core.drive(self.run, ports.q, stream.row(&stream.q, self.query));
        }
    }

    /// Looks at the settled outputs.
    fn look(&mut self, core: &impl Rtl, ports: &Ports, keys: usize) {
        if self.is_over() {
            return;
        }
        if core.is_high(self.run, ports.o_valid) {
            core.read(self.run, ports.o, &mut self.played.o);
            self.results += 1;
        }
        self.asked = core.is_high(self.run, ports.v_ren).then_some(self.value);
        self.played.reads += u64::from(self.asked.is_some());
        if core.is_high(self.run, ports.v_step) {
            self.value = (self.value + 1) % keys;
        }
        self.played.cycles += 1;
    }
}

/// Runs a stream from reset to its last result, its queries shared out to so many runs beside each other.
fn play<T: Copy + Into<u64>>(core: &mut impl Rtl, ports: &Ports, runs: usize, stream: &Stream<T>) -> Played {
    let runs = runs.min(stream.queries());
    let from = |run: usize| run * stream.queries() / runs;
    let mut stimuli: Vec<Stimulus> =
        (0..runs).map(|run| Stimulus::new(run, from(run)..from(run + 1))).collect();
    for _ in 0..RESET_CYCLES {
        stimuli.iter().for_each(|stimulus| stimulus.reset(core, ports));
        core.settle();
        core.clock();
    }
    stimuli.iter().for_each(|stimulus| stimulus.load(core, ports, stream));
    core.settle();
    core.clock();
    while !stimuli.iter().all(Stimulus::is_over) {
        stimuli.iter_mut().for_each(|stimulus| stimulus.drive(core, ports, stream));
        core.settle();
        stimuli.iter_mut().for_each(|stimulus| stimulus.look(core, ports, stream.keys()));
        core.clock();
    }
    stimuli.into_iter().fold(Played::default(), |mut all, Stimulus { played, .. }| {
        all.o.extend(played.o);
        all.cycles = all.cycles.max(played.cycles);
        all.reads += played.reads;
        all
    })
}

/// What an engine gives for a stream: seconds from the configuration to the first cycle, its instructions, and what runs the stream.
pub struct Player<'a> {
    pub start: f64,
    pub instructions: String,
    pub play: Box<dyn FnMut() -> Played + 'a>,
}

/// Runs beside each other in the engine for several.
pub const BESIDE: usize = 64;

/// The compiled engine, alone or with [`BESIDE`] runs, or RustHDL's sweeps. `isa` names the vector instructions.
pub fn player<'a, T: Copy + Into<u64>>(
    engine: &str,
    config: &CoreConfig,
    stream: &'a Stream<T>,
    isa: &str,
) -> Result<Player<'a>, Box<dyn Error>> {
    let start = Instant::now();
    let circuit = build(config)?;
    let of_isa = |backend: &Backend| match backend {
        Backend::Native(vectors) => vectors.to_string() == isa,
        Backend::Interpreter => true,
    };
    let backend = Backend::available().into_iter().find(of_isa).unwrap_or(Backend::Interpreter);
    match engine {
        "rtl" => {
            let core = Compiled::with_backend(&circuit.design(), backend)?;
            let instructions = core.instructions();
            ready(start, core, 1, instructions, stream)
        }
        "beside" => {
            let core = Batch::with_backend(&circuit.design(), BESIDE, backend)?;
            let instructions = core.instructions();
            ready(start, core, BESIDE, instructions, stream)
        }
        _ => ready(start, circuit, 1, "scalar".into(), stream),
    }
}

fn ready<'a, T: Copy + Into<u64>>(
    start: Instant,
    mut core: impl Rtl + 'a,
    runs: usize,
    instructions: String,
    stream: &'a Stream<T>,
) -> Result<Player<'a>, Box<dyn Error>> {
    let ports = Ports::of(|name| core.port(name))?;
    core.settle();
    core.clock();
    let start = start.elapsed().as_secs_f64();
    Ok(Player { start, instructions, play: Box::new(move || play(&mut core, &ports, runs, stream)) })
}
