//! A wrapper with sources, sinks, a memory and a host around it.

use super::engine::{Beat, WrapperEngine, WrapperInputs, WrapperOutputs};
use super::lite::{LiteAccess, LiteAnswer, LiteHost};
use super::pace::{Pace, Side};
use super::rules::WrapperRules;
use crate::bench::{Cycle, Observer};
use crate::running::RtlEngine;
use flashd_hwmodel::wrapper::Shape;
use flashd_spec::config::{ConfigError, WrapperConfig};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::VecDeque;

/// How both sides of every stream behave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paces {
    /// The source of queries.
    pub q: Pace,
    /// The source of keys.
    pub k: Pace,
    /// The memory, when it sends values.
    pub v: Pace,
    /// The source of states.
    pub s: Pace,
    /// The memory, when it takes requests.
    pub vreq: Pace,
    /// The sink of results.
    pub o: Pace,
    /// The host at the register port, on each channel.
    pub lite: Pace,
    /// Cycles from a request to the first beat of its value, at least.
    pub memory: u64,
}

impl Paces {
    /// Nothing pauses, and the memory answers a request after `memory` cycles.
    pub fn free(memory: u64) -> Self {
        let pace = Pace::Always;
        Paces { q: pace, k: pace, v: pace, s: pace, vreq: pace, o: pace, lite: pace, memory }
    }

    /// Paces by chance.
    pub fn random(seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut pace = || Pace::ALL[rng.random_range(0..Pace::ALL.len())];
        let (q, k, v, vreq, o, lite) = (pace(), pace(), pace(), pace(), pace(), pace());
        let memory = rng.random_range(0..12);
        let s = Pace::ALL[rng.random_range(0..Pace::ALL.len())];
        Paces { q, k, v, s, vreq, o, lite, memory }
    }
}

/// How a run goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrapperDrive {
    /// Both sides of every stream.
    pub paces: Paces,
    /// Seed of random paces, and of noise on idle inputs.
    pub seed: u64,
    /// The engine of the hardware.
    pub engine: RtlEngine,
}

/// A source: beats in order, each held until it is taken.
#[derive(Clone, Debug)]
struct BeatSource {
    side: Side,
    beats: VecDeque<(u64, Beat)>,
    offered: bool,
}

impl BeatSource {
    fn new(pace: Pace, seed: u64) -> Self {
        BeatSource { side: Side::new(pace, seed), beats: VecDeque::new(), offered: false }
    }

    /// The offer of a cycle: a beat has a first cycle.
    fn offer(&mut self, cycle: u64) -> Option<Beat> {
        let acts = self.side.acts();
        let due = self.beats.front().is_some_and(|(from, _)| *from <= cycle);
        self.offered |= acts && due;
        self.offered.then(|| self.beats.front().map(|(_, beat)| beat.clone())).flatten()
    }

    /// Whether its beat was taken.
    fn advance(&mut self, ready: bool) -> bool {
        self.side.saw(ready);
        let taken = self.offered && ready;
        if taken {
            self.beats.pop_front();
            self.offered = false;
        }
        taken
    }
}

/// Beats of vectors, `tlast` on the last one of the last vector if they are a packet.
pub(super) fn beats(shape: &Shape, vectors: &[u64], users: &[bool], packet: bool) -> Vec<Beat> {
    let count = vectors.len() / shape.len();
    let mut all = Vec::new();
    for (i, vector) in vectors.chunks(shape.len()).enumerate() {
        let words = shape.beats_of(vector);
        let n = words.len();
        all.extend(words.into_iter().enumerate().map(|(j, data)| Beat {
            data,
            last: packet && i + 1 == count && j + 1 == n,
            user: (j + 1 == n && users.get(i).is_some_and(|&user| user)) as u64,
        }));
    }
    all
}

/// A wrapper with everything around it.
pub struct WrapperBench<'a> {
    /// The wrapper.
    pub(super) engine: WrapperEngine,
    /// The host.
    pub(super) host: LiteHost,
    /// The last cycle's outputs.
    pub outputs: WrapperOutputs,
    q: BeatSource,
    k: BeatSource,
    v: BeatSource,
    s: BeatSource,
    requests: Side,
    results: Side,
    rng: ChaCha8Rng,
    memory: u64,
    /// Requests that were taken, with their cycles.
    pub asked: Vec<(u64, u64)>,
    /// Result beats that were taken, with their cycles.
    pub sent: Vec<(u64, Beat)>,
    /// Cycles in which key beats were taken.
    pub keys_taken: Vec<u64>,
    rules: WrapperRules,
    /// Values that will be asked for.
    values: VecDeque<Vec<Beat>>,
    observers: Vec<&'a mut dyn Observer>,
    /// Why an observer has ended the run.
    pub(super) failed: Option<std::io::Error>,
}

impl<'a> WrapperBench<'a> {
    /// A wrapper after reset, with nothing to stream.
    ///
    /// # Errors
    /// If the configuration is not valid.
    pub fn new(config: &WrapperConfig, paces: &Paces, seed: u64) -> Result<Self, ConfigError> {
        let drive = WrapperDrive { paces: *paces, seed, engine: RtlEngine::default() };
        WrapperBench::observed(config, &drive, &mut [])
    }

    /// The same with observers, who see its reset too.
    ///
    /// # Errors
    /// If the configuration is not valid.
    pub(super) fn observed(
        config: &WrapperConfig,
        drive: &WrapperDrive,
        observers: &'a mut [&mut dyn Observer],
    ) -> Result<Self, ConfigError> {
        let observers =
            observers.iter_mut().map(|observer| -> &mut dyn Observer { &mut **observer }).collect();
        let WrapperDrive { paces, seed, engine } = *drive;
        let side = |pace, n: u64| Side::new(pace, seed.wrapping_mul(31).wrapping_add(n));
        let source = |pace, n: u64| BeatSource::new(pace, seed.wrapping_mul(37).wrapping_add(n));
        let mut bench = WrapperBench {
            engine: WrapperEngine::new(config, engine)?,
            host: LiteHost::new(paces.lite, seed),
            outputs: WrapperOutputs::default(),
            q: source(paces.q, 1),
            k: source(paces.k, 2),
            v: source(paces.v, 3),
            s: source(paces.s, 6),
            requests: side(paces.vreq, 4),
            results: side(paces.o, 5),
            rng: ChaCha8Rng::seed_from_u64(seed),
            memory: paces.memory,
            asked: Vec::new(),
            sent: Vec::new(),
            keys_taken: Vec::new(),
            rules: WrapperRules::default(),
            values: VecDeque::new(),
            observers,
            failed: None,
        };
        bench.reset();
        Ok(bench)
    }

    /// A reset of two cycles.
    pub fn reset(&mut self) {
        for _ in 0..2 {
            self.engine.settle(&WrapperInputs::default(), &mut self.outputs);
            self.observe();
            self.engine.clock();
        }
        self.rules = WrapperRules::default();
    }

    /// Passes a settled cycle to the observers. An observer's write error ends the run in the next cycle.
    fn observe(&mut self) {
        for observer in &mut self.observers {
            let running = self.engine.running();
            let cycle = Cycle { number: running.cycle(), running: Some(running), frame: None, inside: &[] };
            if let Err(e) = observer.cycle(&cycle) {
                self.failed.get_or_insert(e);
            }
        }
    }

    /// Drops queued beats and results.
    pub fn clear(&mut self) {
        for source in [&mut self.q, &mut self.k, &mut self.v, &mut self.s] {
            source.beats.clear();
            source.offered = false;
        }
        self.values.clear();
        self.asked.clear();
        self.sent.clear();
        self.keys_taken.clear();
    }

    /// Adds packets of queries, keys and values (these as they are asked for, or as they are).
    pub fn stream(&mut self, q: Vec<Beat>, k: Vec<Beat>, v: Vec<Beat>) {
        for (source, beats) in [(&mut self.q, q), (&mut self.k, k), (&mut self.v, v)] {
            source.beats.extend(beats.into_iter().map(|beat| (0, beat)));
        }
    }

    /// Adds packets of states.
    pub fn begin_from(&mut self, states: Vec<Beat>) {
        self.s.beats.extend(states.into_iter().map(|beat| (0, beat)));
    }

    /// Adds a value that will be asked for.
    pub fn remember(&mut self, value: Vec<Beat>) {
        self.values.push_back(value);
    }

    /// Whether all beats have been taken.
    pub(crate) fn is_streamed(&self) -> bool {
        self.q.beats.is_empty()
            && self.k.beats.is_empty()
            && self.v.beats.is_empty()
            && self.s.beats.is_empty()
            && self.values.is_empty()
    }

    /// Query beats that have not been taken.
    pub(crate) fn queries_left(&self) -> usize {
        self.q.beats.len()
    }

    /// One cycle.
    ///
    /// # Errors
    /// A stream's rule that was broken, or an observer that could not write.
    pub fn cycle(&mut self) -> Result<(), String> {
        let cycle = self.engine.cycle();
        self.engine.set_noise(self.rng.random());
        let mut inputs = WrapperInputs {
            aresetn: true,
            q: self.q.offer(cycle),
            k: self.k.offer(cycle),
            v: self.v.offer(cycle),
            s: self.s.offer(cycle),
            vreq_ready: self.requests.acts(),
            o_ready: self.results.acts(),
            lite: self.host.offer(),
        };
        let mut outputs = std::mem::take(&mut self.outputs);
        self.engine.settle(&inputs, &mut outputs);
        if let (Some(place), true) = (outputs.vreq, inputs.vreq_ready) {
            self.asked.push((cycle, place));
            let value = self.values.pop_front();
            let value =
                value.ok_or(format!("cycle {cycle}: value {place} is asked for, and none is needed"))?;
            // Beats follow the first; a memory of no delay answers in this cycle.
            self.v.beats.extend(value.into_iter().map(|beat| (cycle + self.memory, beat)));
            if inputs.v.is_none() && self.memory == 0 {
                inputs.v = self.v.offer(cycle);
                let before = outputs.clone();
                self.engine.settle(&inputs, &mut outputs);
                if outputs != before {
                    return Err(format!("cycle {cycle}: an output follows s_axis_v within the cycle"));
                }
            }
        }
        self.observe();
        if let Some(e) = &self.failed {
            return Err(format!("cannot write the recording: {e}"));
        }
        self.rules.check(cycle, &outputs)?;
        let o_taken = inputs.o_ready && outputs.o.is_some();
        self.rules.advance(&inputs, &outputs);
        self.requests.saw(outputs.vreq.is_some());
        self.results.saw(outputs.o.is_some());
        self.host.advance(cycle, &inputs.lite, &outputs.lite)?;
        self.q.advance(outputs.q_ready);
        if self.k.advance(outputs.k_ready) {
            self.keys_taken.push(cycle);
        }
        self.v.advance(outputs.v_ready);
        self.s.advance(outputs.s_ready);
        if let (true, Some(beat)) = (o_taken, &outputs.o) {
            self.sent.push((cycle, beat.clone()));
        }
        self.outputs = outputs;
        self.engine.clock();
        Ok(())
    }

    /// Makes accesses and waits for their answers, while the streams go on.
    ///
    /// # Errors
    /// As [`WrapperBench::cycle`], or if there is no answer.
    pub fn access(&mut self, accesses: &[LiteAccess]) -> Result<Vec<LiteAnswer>, String> {
        let first = self.host.answers.len();
        self.host.push(accesses.iter().copied());
        for _ in 0..ANSWER_LIMIT * accesses.len() as u64 {
            if self.host.is_idle() {
                return Ok(self.host.answers[first..].to_vec());
            }
            self.cycle()?;
        }
        Err(format!("an access was not answered in {ANSWER_LIMIT} cycles"))
    }
}

/// Cycles after which an access counts as hanging; the slowest host takes a few hundred.
const ANSWER_LIMIT: u64 = 1000;
