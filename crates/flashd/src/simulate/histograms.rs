//! Histograms of the steps' scores, arguments and factors.

use crate::output::{self, Failure};
use flashd_golden::{Action, Step, StepUnits};
use flashd_spec::config::CoreConfig;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard};

/// Counts by bin.
type Bins = BTreeMap<i64, u64>;

/// Counts of all steps of a run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct StepCounters {
    /// Steps by action.
    pub held: u64,
    pub masked: u64,
    pub loads: u64,
    pub updates: u64,
    /// Partial results taken over.
    #[serde(rename = "starts")]
    pub restored: u64,
    /// Scores of the steps whose key is seen, by integer part; in base 2, but natural in `paper` and `literal`.
    pub score: Bins,
    /// Arguments of the weight function of held and updating steps, likewise.
    pub argument: Bins,
    /// The lanes' factors of updating steps, by the integer part of their logarithm in base 2. Factors of zero are left out.
    pub factor_log2: Bins,
}

/// Histograms that threads fill together.
pub struct Histograms {
    core: String,
    units: StepUnits,
    counts: Mutex<StepCounters>,
}

#[derive(Serialize)]
struct HistogramFile<'a> {
    core: &'a str,
    #[serde(flatten)]
    counts: &'a StepCounters,
}

impl Histograms {
    pub fn new(config: &CoreConfig) -> Self {
        Histograms { core: config.name(), units: StepUnits::new(config), counts: Mutex::default() }
    }

    fn counts(&self) -> MutexGuard<'_, StepCounters> {
        // A count is whole whoever has panicked.
        self.counts.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Adds steps.
    pub fn add(&self, steps: &[Step]) {
        let mut counts = self.counts();
        let bin = |bins: &mut Bins, x: f64| *bins.entry(x.floor() as i64).or_default() += 1;
        for step in steps {
            *match step.action {
                Action::Hold => &mut counts.held,
                Action::Masked => &mut counts.masked,
                Action::Load => &mut counts.loads,
                Action::Update => &mut counts.updates,
                Action::Restore => &mut counts.restored,
            } += 1;
            if !matches!(step.action, Action::Masked | Action::Restore) {
                bin(&mut counts.score, self.units.score(step));
            }
            if matches!(step.action, Action::Hold | Action::Update) {
                bin(&mut counts.argument, self.units.argument(step));
            }
            let factor = self.units.factor(step);
            if step.action == Action::Update && factor > 0.0 {
                bin(&mut counts.factor_log2, factor.log2());
            }
        }
    }

    /// Writes them as JSON.
    pub fn write(&self, path: &Path) -> Result<(), Failure> {
        let failure = |e: String| Failure::input(format!("--histograms {}: {e}", path.display()));
        let counts = self.counts();
        let text = serde_json::to_string_pretty(&HistogramFile { core: &self.core, counts: &counts })
            .map_err(|e| failure(e.to_string()))?;
        output::write("--histograms", path, text.as_bytes()).map(drop)
    }
}
