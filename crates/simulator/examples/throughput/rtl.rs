//! The engines that run the RTL, driven as `testbench/bench/main.cpp` drives what Verilator made.

use flashd_hwmodel::catalogue::build;
use flashd_hwmodel::rtl::{Circuit, PortPlace};
use flashd_rtl_engine::{Backend, Batch, Compiled};
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

/// A design in an engine, with one run or a batch.
trait Rtl {
    fn port(&self, name: &str) -> Option<PortPlace>;
    /// Drives a port, with a row of words for each run or none.
    fn drive_rows<T: Copy + Into<u64>>(&mut self, port: PortPlace, rows: &[Option<&[T]>]);
    /// Drives a port of one word, in each run.
    fn drive_words<T: Copy + Into<u64>>(&mut self, port: PortPlace, words: &[T]);
    /// The word of a port that has one, of each run.
    fn read_words(&self, port: PortPlace, words: &mut [u64]);
    /// Appends the words of a port of one run.
    fn read(&self, run: usize, port: PortPlace, words: &mut Vec<u64>);
    fn settle(&mut self);
    fn clock(&mut self);
}

impl Rtl for Compiled {
    fn port(&self, name: &str) -> Option<PortPlace> {
        Compiled::port(self, name)
    }
    fn drive_rows<T: Copy + Into<u64>>(&mut self, port: PortPlace, rows: &[Option<&[T]>]) {
        rows.iter().flatten().for_each(|row| self.drive(port, row));
    }
    fn drive_words<T: Copy + Into<u64>>(&mut self, port: PortPlace, words: &[T]) {
        self.drive(port, words);
    }
    fn read_words(&self, port: PortPlace, words: &mut [u64]) {
        words.iter_mut().zip(Compiled::read(self, port)).for_each(|(to, word)| *to = word);
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
    fn drive_rows<T: Copy + Into<u64>>(&mut self, port: PortPlace, rows: &[Option<&[T]>]) {
        Batch::drive_rows(self, port, rows);
    }
    fn drive_words<T: Copy + Into<u64>>(&mut self, port: PortPlace, words: &[T]) {
        Batch::drive_words(self, port, words);
    }
    fn read_words(&self, port: PortPlace, words: &mut [u64]) {
        Batch::read_words(self, port, words);
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
    fn drive_rows<T: Copy + Into<u64>>(&mut self, port: PortPlace, rows: &[Option<&[T]>]) {
        rows.iter().flatten().for_each(|row| self.drive_words(port, row));
    }
    fn drive_words<T: Copy + Into<u64>>(&mut self, port: PortPlace, words: &[T]) {
        let words: Vec<u64> = words.iter().map(|&word| word.into()).collect();
        self.drive(port, &words);
    }
    fn read_words(&self, port: PortPlace, words: &mut [u64]) {
        words.iter_mut().zip(Circuit::read(self, port)).for_each(|(to, word)| *to = word);
    }
    fn read(&self, _: usize, port: PortPlace, words: &mut Vec<u64>) {
        words.extend(Circuit::read(self, port));
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
    queries: Range<usize>,
    /// Where the stream is.
    query: usize,
    key: usize,
    value: usize,
    results: usize,
    played: Played,
}

impl Stimulus {
    fn new(queries: Range<usize>) -> Stimulus {
        Stimulus { query: queries.start, queries, key: 0, value: 0, results: 0, played: Played::default() }
    }

    fn is_over(&self) -> bool {
        self.results == self.queries.len()
    }

    /// Takes the next key to send, and whether it is the last one of its query.
    fn send(&mut self, keys: usize) -> Option<(usize, bool)> {
        if self.query == self.queries.end {
            return None;
        }
        let (key, last) = (self.key, self.key + 1 == keys);
        if last {
            (self.key, self.query) = (0, self.query + 1);
        } else {
            self.key += 1;
        }
        Some((key, last))
    }

    /// Sees whether a value is asked for and the next one has its turn; the value that is.
    fn look(&mut self, asks: bool, steps: bool, keys: usize) -> Option<usize> {
        let asked = asks.then_some(self.value);
        self.played.reads += u64::from(asks);
        if steps {
            self.value = if self.value + 1 == keys { 0 } else { self.value + 1 };
        }
        self.played.cycles += 1;
        asked
    }
}

/// Words of one bit, of all runs.
struct Bits {
    q_valid: Vec<bool>,
    k_valid: Vec<bool>,
    k_last: Vec<bool>,
    o_valid: Vec<u64>,
    v_ren: Vec<u64>,
    v_step: Vec<u64>,
}

/// Runs a stream from reset to its last result, with its queries divided among a batch of `runs`.
fn play<T: Copy + Into<u64>>(core: &mut impl Rtl, ports: &Ports, runs: usize, stream: &Stream<T>) -> Played {
    let (runs, keys) = (runs.min(stream.queries()), stream.keys());
    let from = |run: usize| run * stream.queries() / runs;
    let mut stimuli: Vec<Stimulus> = (0..runs).map(|run| Stimulus::new(from(run)..from(run + 1))).collect();
    let (low, none) = (vec![false; runs], vec![0; runs]);
    core.drive_words(ports.rst, &vec![true; runs]);
    core.drive_words(ports.q_valid, &low);
    core.drive_words(ports.k_valid, &low);
    for _ in 0..RESET_CYCLES {
        core.settle();
        core.clock();
    }
    let first = |stimulus: &Stimulus| Some(stream.row(&stream.q, stimulus.query));
    let mut q: Vec<Option<&[T]>> = stimuli.iter().map(first).collect();
    let (mut k, mut v) = (vec![None; runs], vec![None; runs]);
    core.drive_words(ports.rst, &low);
    core.drive_words(ports.q_valid, &vec![true; runs]);
    core.drive_rows(ports.q, &q);
    if let Some(exponent) = ports.v_exponent {
        core.drive_words(exponent, &vec![stream.v_exponent; runs]);
    }
    core.settle();
    core.clock();
    let [o_valid, v_ren, v_step] = [none.clone(), none.clone(), none];
    let mut bits = Bits { q_valid: low.clone(), k_valid: low.clone(), k_last: low, o_valid, v_ren, v_step };
    while !stimuli.iter().all(Stimulus::is_over) {
        for (run, stimulus) in stimuli.iter_mut().enumerate() {
            let sent = stimulus.send(keys);
            k[run] = sent.map(|(key, _)| stream.row(&stream.k, key));
            bits.k_valid[run] = sent.is_some();
            bits.k_last[run] = sent.is_some_and(|(_, last)| last);
            // A query is sent in the cycle of the previous query's last key.
            bits.q_valid[run] = bits.k_last[run] && stimulus.query < stimulus.queries.end;
            q[run] = bits.q_valid[run].then(|| stream.row(&stream.q, stimulus.query));
        }
        core.drive_words(ports.q_valid, &bits.q_valid);
        core.drive_words(ports.k_valid, &bits.k_valid);
        core.drive_words(ports.k_last, &bits.k_last);
        core.drive_rows(ports.q, &q);
        core.drive_rows(ports.k, &k);
        core.drive_rows(ports.v, &v);
        core.settle();
        core.read_words(ports.o_valid, &mut bits.o_valid);
        core.read_words(ports.v_ren, &mut bits.v_ren);
        core.read_words(ports.v_step, &mut bits.v_step);
        for (run, stimulus) in stimuli.iter_mut().enumerate() {
            if stimulus.is_over() {
                v[run] = None;
                continue;
            }
            if bits.o_valid[run] != 0 {
                core.read(run, ports.o, &mut stimulus.played.o);
                stimulus.results += 1;
            }
            let asked = stimulus.look(bits.v_ren[run] != 0, bits.v_step[run] != 0, keys);
            v[run] = asked.map(|row| stream.row(&stream.v, row));
        }
        core.clock();
    }
    stimuli.into_iter().fold(Played::default(), |mut all, Stimulus { played, .. }| {
        all.o.extend(played.o);
        all.cycles = all.cycles.max(played.cycles);
        all.reads += played.reads;
        all
    })
}

/// An engine ready for a stream: seconds from the configuration to the first cycle, its instructions, and the function that runs it.
pub struct Player<'a> {
    pub start: f64,
    pub instructions: String,
    pub play: Box<dyn FnMut() -> Played + 'a>,
}

/// Runs of a batch.
pub const BESIDE: usize = 64;

/// Builds the compiled engine, alone or with [`BESIDE`] runs, or the reference simulator. `isa` names the vector instructions.
pub fn player<'a, T: Copy + Into<u64>>(
    engine: &str,
    config: &CoreConfig,
    stream: &'a Stream<T>,
    isa: &str,
) -> Result<Player<'a>, Box<dyn Error>> {
    let start = Instant::now();
    let circuit = build(config)?;
    let backend = if isa == "baseline" { Backend::Interpreter } else { Backend::best() };
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
