//! The lock-step run: core and model, compared in every cycle.

use super::engine::{Engine, Inputs, Outputs};
use super::rules::{CoreRules, Pending, StepId};
use super::stream::CoreDriver;
use super::workload::Workload;
use crate::expected::{Expected, Recorded, alongside, groups};
use crate::inside::InsideSchedule;
use crate::running::Drive;
use flashd_golden::{Action, Model, QueryResult, Step};
use flashd_hwmodel::attention::inside::Inside;
use flashd_hwmodel::catalogue::Stages;
use flashd_spec::config::{ConfigError, CoreConfig, WeightUnit};
use flashd_spec::numerics::Numerics;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fmt;

/// Counts of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Cycles from the first accepted key to the last result, both included.
    pub cycles: u64,
    /// Keys accepted.
    pub keys: u64,
    /// Partial results accepted.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[serde(rename = "starts")]
    pub restored: u64,
    /// Queries with a result.
    pub queries: u64,
    /// Cycles without a key between a query's first and last.
    pub bubbles: u64,
    /// Steps that left `o` as it was.
    #[serde(rename = "skips")]
    pub held: u64,
    /// Steps whose key was masked.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub masked: u64,
    /// Steps that took v as it was.
    pub loads: u64,
    /// Values read.
    pub v_reads: u64,
    /// Cycles from the acceptance of a last key to its result.
    pub latency: u64,
    /// Single comparisons made.
    pub comparisons: u64,
}

pub(crate) fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Sees every settled cycle.
pub trait Observer {
    /// Called once a cycle, before the clock rises.
    ///
    /// # Errors
    /// An I/O error ends the run.
    fn cycle(&mut self, engine: &Engine, inputs: &Inputs, outputs: &Outputs) -> std::io::Result<()>;
}

/// A finished run without differences.
#[derive(Clone, Debug)]
pub struct CoreRun {
    /// Counts.
    pub counters: Counters,
    /// The model's results, equal to the core's; without steps.
    pub results: Vec<QueryResult>,
}

/// Why a run ended early.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The configuration is not valid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Core and model differ.
    #[error("{0}")]
    Divergence(Box<Divergence>),
    /// An observer could not write.
    #[error("cannot write the recording: {0}")]
    Observer(#[from] std::io::Error),
}

/// The first difference between core and model.
#[derive(Clone, Debug, PartialEq)]
pub struct Divergence {
    /// Name of the core.
    pub core: String,
    /// Cycle from the start of the run in which they differ.
    pub cycle: u64,
    /// Port, or quantity inside.
    pub signal: String,
    /// What the model says: bits and value.
    pub expected: (u64, String),
    /// What the core says.
    pub actual: (u64, String),
    /// The steps that led there, oldest first.
    pub history: Vec<String>,
}

impl Divergence {
    /// A signal that should have been the first of two values and was the second, after the steps of `history`.
    pub(crate) fn new(
        core: String,
        cycle: u64,
        signal: &str,
        [expected, actual]: [(u64, String); 2],
        history: &VecDeque<String>,
    ) -> Self {
        let history = history.iter().cloned().collect();
        Divergence { core, cycle, signal: signal.to_string(), expected, actual, history }
    }
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: cycle {}: {} differs from the model", self.core, self.cycle, self.signal)?;
        writeln!(f, "  expected {:#x} = {}", self.expected.0, self.expected.1)?;
        writeln!(f, "  actual   {:#x} = {}", self.actual.0, self.actual.1)?;
        for step in &self.history {
            writeln!(f, "  before: {step}")?;
        }
        Ok(())
    }
}

/// How many steps a divergence reports.
const HISTORY: usize = 6;

/// Runs a workload through core and model; `observers` see every cycle.
///
/// # Errors
/// The first difference, an invalid configuration, or an observer's I/O error.
pub fn run(
    config: &CoreConfig,
    workload: &Workload,
    drive: impl Into<Drive>,
    observers: &mut [&mut dyn Observer],
) -> Result<CoreRun, RunError> {
    require_masks(config, workload)?;
    require_bias(config, workload)?;
    require_partial(config, workload)?;
    config.validate()?;
    let queries = workload.queries.iter().map(|query| (1, query.steps())).collect();
    let (counters, results) =
        alongside(&Model::new(config).with_sums(), workload, groups(queries), |expected| {
            run_expected(config, workload, drive, observers, expected)
        })?;
    Ok(CoreRun { counters, results })
}

/// Only a core with masks can keep a key from a query.
pub(crate) fn require_masks(config: &CoreConfig, workload: &Workload) -> Result<(), ConfigError> {
    match workload.masked() {
        masked if masked > 0 && !config.masks => Err(ConfigError {
            field: "masks",
            problem: format!("{masked} keys are masked, which takes a core with masks"),
        }),
        _ => Ok(()),
    }
}

/// Only a core with a bias can add one to scores.
pub(crate) fn require_bias(config: &CoreConfig, workload: &Workload) -> Result<(), ConfigError> {
    match workload.is_biased() && !config.bias {
        true => Err(ConfigError {
            field: "bias",
            problem: "something is added to scores, which takes a core with a bias".into(),
        }),
        false => Ok(()),
    }
}

/// Only a core with partial results can start from one.
pub(crate) fn require_partial(config: &CoreConfig, workload: &Workload) -> Result<(), ConfigError> {
    match workload.queries.iter().filter(|query| query.restore.is_some()).count() {
        restored if restored > 0 && !config.partial => Err(ConfigError {
            field: "partial",
            problem: format!("{restored} queries start from a partial result, which takes a core with such"),
        }),
        _ => Ok(()),
    }
}

/// [`run`] against given results (with steps): the check itself, apart from the model.
///
/// # Errors
/// As [`run`].
pub fn run_against(
    config: &CoreConfig,
    workload: &Workload,
    drive: impl Into<Drive>,
    observers: &mut [&mut dyn Observer],
    results: &[QueryResult],
) -> Result<Counters, RunError> {
    run_expected(config, workload, drive, observers, &mut Recorded(results))
}

fn run_expected(
    config: &CoreConfig,
    workload: &Workload,
    drive: impl Into<Drive>,
    observers: &mut [&mut dyn Observer],
    expected: &mut dyn Expected,
) -> Result<Counters, RunError> {
    let Drive { gaps, engine } = drive.into();
    let mut engine = Engine::with(config, engine)?;
    let mut checker = CoreChecker::new(config, expected, engine.inside());
    let mut driver = CoreDriver::new(config, workload, gaps);
    let (mut inputs, mut outputs) = (Inputs::default(), Outputs::default());
    // After the last key: its latency, and some cycles in which nothing more may come out.
    let mut drain = checker.schedule.latency() + HISTORY as u64;
    while drain > 0 {
        if driver.finished() {
            drain -= 1;
        }
        let accepted = driver.next(&outputs, &mut inputs);
        checker.accept(engine.cycle(), accepted);
        engine.settle(&inputs, &mut outputs);
        checker.inside.due(engine.cycle(), &mut outputs.inside);
        // Observers first: a wave should show the cycle that differs.
        for observer in observers.iter_mut() {
            observer.cycle(&engine, &inputs, &outputs)?;
        }
        if !inputs.rst {
            checker.compare(engine.cycle(), &outputs, engine.inside()).map_err(RunError::Divergence)?;
        }
        engine.clock();
    }
    Ok(checker.counters)
}

struct CoreChecker<'a> {
    config: &'a CoreConfig,
    expected: &'a mut dyn Expected,
    schedule: CoreRules,
    score_stage: u64,
    fixed: bool,
    fractions: (u32, u32),
    inside: InsideSchedule,
    scores: Pending<(StepId, Step)>,
    history: VecDeque<(StepId, Step)>,
    counters: Counters,
    first_key: Option<u64>,
}

impl<'a> CoreChecker<'a> {
    fn new(config: &'a CoreConfig, expected: &'a mut dyn Expected, inside: &[Inside]) -> Self {
        let n = Numerics::new(config);
        let lse = config.weight() == Some(WeightUnit::Lse);
        let fixed = !config.follows_the_paper();
        CoreChecker {
            config,
            expected,
            schedule: CoreRules::new(config),
            score_stage: Stages::of(config).score.into(),
            fixed,
            fractions: (n.score_fraction, if lse { n.state_fraction } else { n.score_fraction }),
            inside: InsideSchedule::new(config, inside, 1),
            scores: Pending::default(),
            history: VecDeque::new(),
            counters: Counters::default(),
            first_key: None,
        }
    }

    fn accept(&mut self, cycle: u64, accepted: super::stream::Accepted) {
        self.counters.bubbles += accepted.bubble as u64;
        if let Some((query, step)) = accepted.step {
            self.first_key.get_or_insert(cycle);
            let id = (query, step);
            let step = self.expected.step(query, step);
            match step.action {
                Action::Restore => self.counters.restored += 1,
                _ => self.counters.keys += 1,
            }
            // A masked key has a score that nobody looks at.
            if step.action != Action::Masked {
                self.scores.push(cycle, (id, step));
            }
            self.inside.accept(cycle, 0, &step, accepted.last);
            self.schedule.accept(cycle, query, step.action, accepted.last);
        }
    }

    fn compare(&mut self, cycle: u64, outputs: &Outputs, inside: &[Inside]) -> Result<(), Box<Divergence>> {
        let ports = self.schedule.due(cycle);
        let (reads, restored) = (ports.reads(), ports.restores());
        self.check(cycle, "state_ren", ports.restore as u64, outputs.state_ren as u64, SignalKind::Bit)?;

        if let Some(id) = self.scores.due(cycle, self.score_stage) {
            if self.history.len() == HISTORY {
                self.history.pop_front();
            }
            self.history.push_back(id);
        }
        self.counters.comparisons += outputs.inside.iter().flatten().count() as u64;
        if let Some((name, values)) = self.inside.differs(&outputs.inside, inside) {
            return Err(self.divergence(cycle, &name, values));
        }

        let due = ports.value;
        self.check(cycle, "v_step", due.is_some() as u64, outputs.v_step as u64, SignalKind::Bit)?;
        self.check(cycle, "v_ren", reads as u64, outputs.v_ren as u64, SignalKind::Bit)?;
        self.check(cycle, "v_state", restored as u64, outputs.v_state as u64, SignalKind::Bit)?;
        if let Some(action) = due {
            self.counters.v_reads += (reads && !restored) as u64;
            let masked = action == Action::Masked;
            self.counters.masked += masked as u64;
            self.counters.held += (!reads && !masked) as u64;
            self.counters.loads += (action == Action::Load) as u64;
        }

        let due = ports.result;
        self.check(cycle, "o_valid", due.is_some() as u64, outputs.o_valid as u64, SignalKind::Bit)?;
        if let Some(query) = due {
            let result = self.expected.result(query).clone();
            self.check(cycle, "o_invalid", result.invalid as u64, outputs.o_invalid as u64, SignalKind::Bit)?;
            self.check(
                cycle,
                "o_saturated",
                result.score_saturated as u64,
                outputs.o_saturated as u64,
                SignalKind::Bit,
            )?;
            self.check(
                cycle,
                "o_overflow",
                result.overflow as u64,
                outputs.o_overflow as u64,
                SignalKind::Bit,
            )?;
            if self.config.masks {
                self.check(cycle, "o_empty", result.empty as u64, outputs.o_empty as u64, SignalKind::Bit)?;
            }
            for (j, (expected, actual)) in result.o.iter().zip(&outputs.o).enumerate() {
                if expected != actual {
                    self.check(
                        cycle,
                        &format!("o[{j}] of query {query}"),
                        *expected,
                        *actual,
                        SignalKind::Float,
                    )?;
                }
            }
            if let Some(state) = &result.state {
                let scalars = state.scalars.iter().zip(&outputs.o_scalars).zip(self.config.state_scalars());
                for ((expected, actual), name) in scalars {
                    self.check(
                        cycle,
                        &format!("o_{name} of query {query}"),
                        *expected,
                        *actual,
                        SignalKind::Bit,
                    )?;
                }
                for (j, (expected, actual)) in state.o.iter().zip(&outputs.o_state).enumerate() {
                    let signal = format!("o_state[{j}] of query {query}");
                    self.check(cycle, &signal, *expected, *actual, SignalKind::Bit)?;
                }
            }
            self.counters.comparisons += result.o.len() as u64;
            self.counters.queries += 1;
            self.counters.latency = self.schedule.latency();
            self.counters.cycles = cycle - self.first_key.unwrap_or(cycle) + 1;
        }
        Ok(())
    }

    fn step_text(&self, ((query, key), s): &(StepId, Step)) -> String {
        let (score, argument) = self.fractions;
        format!(
            "query {query} step {key}: s = {}, x = {}, w = {:#x} ({}), {:?}",
            self.number(s.s, score),
            self.number(s.x, argument),
            s.w,
            self.config.weight_format().value(s.w),
            s.action
        )
    }

    fn number(&self, value: i64, fraction: u32) -> String {
        match self.fixed {
            true => format!("{}", value as f64 / (fraction as f64).exp2()),
            false => format!("{}", self.config.format.value(value as u64)),
        }
    }

    fn divergence(&self, cycle: u64, signal: &str, values: [(u64, String); 2]) -> Box<Divergence> {
        let history = self.history.iter().map(|step| self.step_text(step)).collect();
        Box::new(Divergence::new(self.config.name(), cycle, signal, values, &history))
    }

    fn check(
        &mut self,
        cycle: u64,
        signal: &str,
        expected: u64,
        actual: u64,
        kind: SignalKind,
    ) -> Result<(), Box<Divergence>> {
        self.counters.comparisons += 1;
        if expected == actual {
            return Ok(());
        }
        let text = |bits: u64| match kind {
            SignalKind::Bit => bits.to_string(),
            SignalKind::Float => self.config.formats().o.value(bits).to_string(),
        };
        Err(self.divergence(cycle, signal, [expected, actual].map(|bits| (bits, text(bits)))))
    }
}

#[derive(Clone, Copy)]
enum SignalKind {
    Bit,
    Float,
}
