//! The phases of a run as one bar: the exact reference, the run itself, and the design that it is compared with.

use crate::cli::SimulateArgs;
use crate::progress::{Phase, ProgressPlan, rates};
use flashd_golden::Monitor;
use flashd_simulator::{Cycle, Observer, RtlEngine, Scenario};
use flashd_spec::config::CoreConfig;
use std::io;

/// The steps for each head, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadStage {
    /// Attention in f64.
    Reference,
    /// The search for V's power of two, by runs of the model.
    Scale,
    /// The run.
    Run,
    /// The search for the design that is compared.
    ScaleOther,
    /// Its model.
    Other,
}

const STEPS: [HeadStage; 5] =
    [HeadStage::Reference, HeadStage::Scale, HeadStage::Run, HeadStage::ScaleOther, HeadStage::Other];

/// The kind of design, which decides the time of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunShape {
    /// A core alone, compared with the other design.
    Core,
    /// An array, with its number of cores.
    Array(usize),
    /// Split keys, with the number of parts; compared with one core.
    Parts(usize),
    /// An array with streams: its number of cores, and beats per key.
    Wrapper(usize, u32),
}

/// The bar, and the head that is under way.
pub struct Phases {
    plan: ProgressPlan,
    head: usize,
}

impl Phases {
    /// Begins with the first of `heads` heads, which are about equally long.
    pub fn start(
        args: &SimulateArgs,
        around: RunShape,
        config: &CoreConfig,
        other: &CoreConfig,
        scenario: &Scenario,
        heads: usize,
    ) -> Phases {
        let a = &scenario.attention;
        let keys: u64 = scenario.ranges().iter().map(|range| range.len() as u64).sum();
        // An element of a key and one of its value, for each query.
        let elements = (config.d + config.dv()) as f64;
        let blocks = a.queries.div_ceil(BLOCK);
        let threads = rayon::current_num_threads().clamp(1, blocks.max(1));
        let together = a.queries.clamp(1, BLOCK) * threads;
        let model = rates::MODEL_ELEMENT * elements * BLOCK as f64 / together as f64;
        let search = |core: &CoreConfig, is_done: bool| {
            let candidates = scenario.v_exponents(core).len() as u64;
            let units = if is_done && candidates > 1 { candidates * keys } else { 0 };
            Phase::new("keys, for V's power of two", units, model)
        };
        let slower = match args.rtl() {
            Some(RtlEngine::Reference) => rates::REFERENCE,
            Some(RtlEngine::RustHdl) => rates::RUSTHDL,
            _ => 1.0,
        };
        let lockstep = rates::LOCKSTEP_ELEMENT * elements * slower;
        let run = match (args.rtl(), around) {
            (None, _) => Phase::new("keys by the model", keys, model),
            (Some(_), RunShape::Core) => Phase::new("keys in lock-step with the model", keys, lockstep),
            (Some(_), RunShape::Parts(parts)) => {
                let units = keys.div_ceil(parts as u64);
                Phase::new("steps in lock-step with the model", units, lockstep * parts as f64)
            }
            (Some(_), RunShape::Array(queries)) => {
                let units = keys.div_ceil(queries.min(a.queries.max(1)) as u64);
                Phase::new("keys in lock-step with the model", units, lockstep * queries as f64)
            }
            (Some(_), RunShape::Wrapper(queries, beats)) => {
                let units = keys.div_ceil(queries.min(a.queries.max(1)) as u64) * u64::from(beats);
                Phase::new("beats at the streams", units, lockstep * queries as f64 / f64::from(beats))
            }
        };
        let (compares, name) = match around {
            RunShape::Core => (true, "keys of the other design"),
            RunShape::Parts(_) => (true, "keys of one core"),
            RunShape::Array(_) | RunShape::Wrapper(..) => (false, ""),
        };
        let of_head = [
            Phase::new("keys in f64", keys, rates::F64_TERM * (a.d + a.dv) as f64),
            search(config, true),
            run,
            search(other, around == RunShape::Core),
            Phase::new(name, if compares { keys } else { 0 }, model),
        ];
        let all = (0..heads).flat_map(|_| of_head.clone());
        Phases { plan: ProgressPlan::start(all, ""), head: 0 }
    }

    /// The next head.
    pub fn next_head(&mut self) {
        self.head += 1;
    }

    /// Begins a step of the head.
    pub fn begin(&self, step: HeadStage) {
        let place = STEPS.iter().position(|of| *of == step).unwrap_or(0);
        self.plan.begin(self.head * STEPS.len() + place);
    }

    /// Units of the step that are done.
    pub fn inc(&self, units: u64) {
        self.plan.inc(units);
    }
}

/// Queries that the model computes side by side.
const BLOCK: usize = 16;

/// Shows a model's run to the bar.
pub fn watched<T>(phases: &Phases, run: impl FnOnce(Monitor) -> T) -> T {
    run(Monitor { progress: Some(&|keys| phases.inc(keys)), ..Monitor::default() })
}

/// Observes a run, and counts keys or beats for the bar.
pub struct SentCounter<'a> {
    phases: &'a Phases,
    /// Units that the bar does not have yet: a step takes less time than an update.
    waiting: u64,
}

/// Units of one update.
const TOGETHER: u64 = 64;

impl SentCounter<'_> {
    pub fn of(phases: &Phases) -> SentCounter<'_> {
        SentCounter { phases, waiting: 0 }
    }
}

impl Observer for SentCounter<'_> {
    fn cycle(&mut self, cycle: &Cycle) -> io::Result<()> {
        // A wrapper counts cycles instead of keys: each beat of a key takes at least one.
        self.waiting += u64::from(cycle.frame.is_none() || cycle.takes_key());
        if self.waiting == TOGETHER {
            self.phases.inc(std::mem::take(&mut self.waiting));
        }
        Ok(())
    }

    fn reads_inside(&self) -> bool {
        false
    }
}
