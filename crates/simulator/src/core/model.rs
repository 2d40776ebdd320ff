//! The bit-exact model as an engine: results, and the counts of a run in cycles without running any.
//!
//! When a key is accepted depends on the driver alone, and everything that follows has a constant latency, so that cycles,
//! bubbles and reads follow from the driver and the model's decisions. They equal those of [`crate::run`].

use super::engine::{Inputs, Outputs};
use super::lockstep::{Counters, require_bias, require_masks, require_partial};
use super::stream::{CoreDriver, RESET_CYCLES};
use super::workload::Workload;
use crate::gaps::Gaps;
use flashd_golden::{Action, Monitor, QueryResult, Step, StepCounts, VectorModel, VectorRun};
use flashd_hwmodel::catalogue::v_step_latency;
use flashd_spec::config::{ConfigError, CoreConfig};
use std::collections::VecDeque;
use std::sync::Mutex;

/// A finished run of the model.
#[derive(Clone, Debug)]
pub struct ModelRun {
    /// The counts that [`crate::run`] gives, with 0 comparisons.
    pub counters: Counters,
    /// Results without steps.
    pub results: Vec<QueryResult>,
    /// What the steps did, query by query.
    pub counts: Vec<StepCounts>,
}

/// What the steps of a workload did, a few bits each.
pub struct Decisions(Vec<Vec<Decision>>);

/// What a step did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// It read its value, or the partial result that it took over.
    pub reads: bool,
    /// Its key was masked.
    pub masked: bool,
}

impl Decisions {
    /// Of a query's step.
    pub fn of(&self, query: usize, step: usize) -> Decision {
        self.0[query][step]
    }

    /// The same; None behind its last one.
    pub fn get(&self, query: usize, step: usize) -> Option<Decision> {
        self.0[query].get(step).copied()
    }
}

impl Workload {
    /// Shows a model's run of this workload to a monitor.
    pub fn run_model(&self, model: &VectorModel, monitor: Monitor) -> VectorRun {
        self.with_head(|head| model.run_monitored(head, monitor))
    }

    /// The same, with what every step did.
    pub(crate) fn run_decisions(&self, model: &VectorModel, monitor: Monitor) -> (VectorRun, Decisions) {
        let all: Vec<Mutex<Vec<Decision>>> = self.queries.iter().map(|_| Mutex::default()).collect();
        let watch = |query: usize, first: usize, steps: &[Step]| {
            let decision = |step: &Step| Decision {
                reads: !matches!(step.action, Action::Hold | Action::Masked),
                masked: step.action == Action::Masked,
            };
            all[query].lock().unwrap_or_else(|e| e.into_inner()).extend(steps.iter().map(decision));
            if let Some(watch) = monitor.watch {
                watch(query, first, steps);
            }
        };
        let run = self.run_model(model, Monitor { watch: Some(&watch), ..monitor });
        let decisions = all.into_iter().map(|each| each.into_inner().unwrap_or_else(|e| e.into_inner()));
        (run, Decisions(decisions.collect()))
    }
}

/// Runs a workload through the model and counts the cycles that the core would take.
///
/// # Errors
/// An invalid configuration, masked keys for a core without masks, or a partial result for one without partial results.
pub fn run_model(
    config: &CoreConfig,
    workload: &Workload,
    gaps: Gaps,
    monitor: Monitor,
) -> Result<ModelRun, ConfigError> {
    config.validate()?;
    run_model_with(&VectorModel::new(config), workload, gaps, monitor)
}

/// [`run_model`] with a model made before, for many small workloads.
///
/// # Errors
/// As there; the model's configuration is valid.
pub fn run_model_with(
    model: &VectorModel,
    workload: &Workload,
    gaps: Gaps,
    monitor: Monitor,
) -> Result<ModelRun, ConfigError> {
    let config = model.config();
    require_masks(config, workload)?;
    require_bias(config, workload)?;
    require_partial(config, workload)?;
    let (run, timing) = match gaps {
        Gaps::None => (workload.run_model(model, monitor), Timing::without_gaps(workload)),
        Gaps::Random(_) => {
            let (run, decisions) = workload.run_decisions(model, monitor);
            (run, Timing::driven(config, workload, gaps, &decisions))
        }
    };
    let latency = u64::from(model.numerics().latency());
    let mut all = StepCounts::default();
    run.counts.iter().for_each(|counts| all.add(counts));
    let queries = workload.queries.iter().filter(|query| query.is_sent()).count() as u64;
    let counters = Counters {
        // From the first key to the last one, and on to its result.
        cycles: if queries > 0 { timing.last - timing.first + 1 + latency } else { 0 },
        keys: all.keys,
        restored: all.restored,
        queries,
        bubbles: timing.bubbles,
        held: all.held,
        masked: all.masked,
        loads: all.loads,
        v_reads: all.value_reads(),
        latency: if queries > 0 { latency } else { 0 },
        comparisons: 0,
    };
    Ok(ModelRun { counters, results: run.results, counts: run.counts })
}

/// When keys are accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Timing {
    first: u64,
    last: u64,
    bubbles: u64,
}

impl Timing {
    /// One key a cycle: queries are loaded with the last key of the one before.
    fn without_gaps(workload: &Workload) -> Timing {
        // The first query is loaded in the cycle after the reset.
        let first = RESET_CYCLES as u64 + 1;
        Timing { first, last: first + (workload.steps() as u64).saturating_sub(1), bubbles: 0 }
    }

    /// Asks the driver, and answers as the core would.
    fn driven(config: &CoreConfig, workload: &Workload, gaps: Gaps, decisions: &Decisions) -> Timing {
        let mut driver = CoreDriver::new(config, workload, gaps);
        let latency = u64::from(v_step_latency(config));
        let (mut inputs, mut outputs) = (Inputs::default(), Outputs::default());
        let mut steps = VecDeque::new();
        let mut timing = Timing::default();
        let mut begun = false;
        for cycle in 0.. {
            if driver.finished() {
                break;
            }
            let accepted = driver.next(&outputs, &mut inputs);
            timing.bubbles += u64::from(accepted.bubble);
            if let Some((query, step)) = accepted.step {
                if !begun {
                    (timing.first, begun) = (cycle, true);
                }
                timing.last = cycle;
                steps.push_back((cycle + latency, decisions.of(query, step).reads));
            }
            let due = steps.front().copied().filter(|&(at, _)| at == cycle);
            (outputs.v_step, outputs.v_ren) = (due.is_some(), due.is_some_and(|(_, reads)| reads));
            if due.is_some() {
                steps.pop_front();
            }
        }
        timing
    }
}
