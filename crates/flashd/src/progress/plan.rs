//! The phases of a command as one bar with one forecast, from the first second on.
//!
//! Each phase has units and an expected time per unit. The expectation weighs half a second of measurement, so measured times soon outweigh
//! it. They correct the later phases, too.

use super::{Work, about};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A part of a command's work.
#[derive(Clone, Debug)]
pub struct Phase {
    /// Name of the units, as the bar shows it: `keys in f64`.
    pub what: String,
    /// Units of work.
    pub units: u64,
    /// Seconds that a unit is expected to take, on the clock.
    pub seconds: f64,
}

impl Phase {
    /// A phase of some units and seconds per unit.
    pub fn new(what: impl Into<String>, units: u64, seconds: f64) -> Phase {
        Phase { what: what.into(), units, seconds }
    }
}

/// A phase and how far it is.
struct PhaseProgress {
    phase: Phase,
    done: u64,
    /// Time that it took so far, without the current stretch.
    taken: Duration,
    begun: Option<Instant>,
    ended: bool,
}

impl PhaseProgress {
    fn taken(&self) -> f64 {
        (self.taken + self.begun.map_or(Duration::ZERO, |begun| begun.elapsed())).as_secs_f64()
    }

    /// Finished units, and the fraction of the current one if a unit takes `unit` seconds.
    fn done(&self, unit: f64) -> f64 {
        let done = self.done as f64;
        (self.taken() / unit.max(1e-12)).clamp(done, done + NEARLY)
    }
}

/// The most that a unit in progress counts for: it may be the last, and take longer than expected.
const NEARLY: f64 = 0.9;

/// How far all phases are.
#[derive(Default)]
pub(super) struct Forecast(Mutex<Vec<PhaseProgress>>);

/// Seconds that an expectation weighs as much as.
const WEIGHT: f64 = 0.5;

impl Forecast {
    fn phases<T>(&self, of: impl FnOnce(&mut Vec<PhaseProgress>) -> T) -> T {
        of(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Time that is left for all phases.
    pub(super) fn left(&self) -> Duration {
        self.phases(|phases| {
            // How much slower than expected this machine is, by all that was measured.
            let (mut taken, mut expected) = (WEIGHT, WEIGHT);
            for phase in phases.iter() {
                taken += phase.taken();
                expected += phase.phase.seconds * phase.done(phase.phase.seconds);
            }
            // Rates of one kind of work say little about another: a machine is at most a few times slower than expected.
            let slower = (taken / expected).clamp(0.5, 3.0);
            let left = |phase: &PhaseProgress| {
                if phase.ended {
                    return 0.0;
                }
                let unit = (phase.phase.seconds * slower).max(1e-12);
                let done = phase.done(unit);
                let rest = (phase.phase.units as f64 - done).max(0.0);
                // The expectation, as a number of measured units.
                let before = WEIGHT / unit;
                match phase.begun {
                    Some(_) => rest * (WEIGHT + phase.taken()) / (before + done),
                    None => rest * unit,
                }
            };
            Duration::from_secs_f64(phases.iter().map(left).sum::<f64>().clamp(0.0, 1e9))
        })
    }

    /// The phase that runs, and how far it is.
    pub(super) fn words(&self) -> String {
        self.phases(|phases| match phases.iter().find(|phase| phase.begun.is_some()) {
            Some(PhaseProgress { phase, done, .. }) => {
                format!("{} of {} {}", done.min(&phase.units), phase.units, phase.what)
            }
            None => String::new(),
        })
    }
}

/// The work of a command, in phases.
pub struct ProgressPlan {
    work: Work,
    forecast: Arc<Forecast>,
    start: Instant,
    /// Milliseconds from the start to the last time that the bar was moved.
    moved: AtomicU64,
}

/// Milliseconds between two moves of the bar.
const MOVES: u64 = 100;

/// Length of the bar: a hundredth of a percent.
const LENGTH: u64 = 10_000;

impl ProgressPlan {
    /// Begins with the first of the phases; says how long all will take, if that is worth a line, and what that depends on.
    pub fn start(phases: impl IntoIterator<Item = Phase>, depends: &str) -> ProgressPlan {
        let new = |phase| PhaseProgress { phase, done: 0, taken: Duration::ZERO, begun: None, ended: false };
        let forecast = Arc::new(Forecast(Mutex::new(phases.into_iter().map(new).collect())));
        let work = Work::planned(LENGTH, &forecast);
        work.expect(forecast.left(), depends);
        let plan = ProgressPlan { work, forecast, start: Instant::now(), moved: AtomicU64::new(0) };
        plan.begin(0);
        plan
    }

    /// Ends the phase that runs and begins another.
    pub fn begin(&self, phase: usize) {
        self.forecast.phases(|phases| {
            for (place, progress) in phases.iter_mut().enumerate() {
                if let Some(begun) = progress.begun.take() {
                    progress.taken += begun.elapsed();
                    progress.ended = place < phase;
                }
                // Phases that were passed over are not to come any more.
                progress.ended |= place < phase;
                if place == phase {
                    progress.begun = Some(Instant::now());
                }
            }
        });
        self.show();
    }

    /// Another number of units, once it is known.
    pub fn expect(&self, phase: usize, units: u64) {
        self.forecast.phases(|phases| {
            if let Some(progress) = phases.get_mut(phase) {
                progress.phase.units = units;
            }
        });
    }

    /// Units of the running phase that are done.
    pub fn inc(&self, units: u64) {
        self.forecast.phases(|phases| {
            if let Some(progress) = phases.iter_mut().find(|progress| progress.begun.is_some()) {
                progress.done += units;
            }
        });
        let now = self.start.elapsed().as_millis() as u64;
        if now >= self.moved.load(Ordering::Relaxed) + MOVES {
            self.moved.store(now, Ordering::Relaxed);
            self.show();
        }
    }

    /// The bar, for callers that set its prefix and message.
    pub fn bar(&self) -> &indicatif::ProgressBar {
        &self.work
    }

    fn show(&self) {
        let (elapsed, left) = (self.start.elapsed().as_secs_f64(), self.forecast.left().as_secs_f64());
        let share = elapsed / (elapsed + left).max(1e-9);
        // The bar never moves back.
        let position = ((share * LENGTH as f64) as u64).min(LENGTH).max(self.work.position());
        self.work.set_position(position);
    }
}

/// The remaining time, in words.
pub(super) fn left_in_words(forecast: &Forecast) -> String {
    format!("{} left", about(forecast.left()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phases(all: &[(u64, f64, u64, u64, bool)]) -> Forecast {
        let new = |&(units, seconds, done, taken, ended): &(u64, f64, u64, u64, bool)| PhaseProgress {
            begun: (done > 0 && !ended).then(Instant::now),
            ended,
            ..running(units, seconds, done, taken)
        };
        Forecast(Mutex::new(all.iter().map(new).collect()))
    }

    #[test]
    fn before_anything_is_measured_expectations_count() {
        let left = phases(&[(100, 1.0, 0, 0, false), (10, 5.0, 0, 0, false)]).left();
        assert_eq!(left.as_secs(), 150);
    }

    #[test]
    fn what_is_measured_corrects_the_phase_and_those_to_come() {
        // Four times as slow as expected: 200 s for the rest of this phase, and at most three times the next.
        let left = phases(&[(100, 1.0, 50, 200, false), (50, 1.0, 0, 0, false)]).left().as_secs_f64();
        assert!((330.0..=360.0).contains(&left), "{left}");
        // A phase that has ended leaves nothing, whatever it did of its units.
        let left = phases(&[(100, 1.0, 10, 40, true), (50, 1.0, 0, 0, false)]).left().as_secs_f64();
        assert!((140.0..=160.0).contains(&left), "{left}");
    }

    #[test]
    fn a_long_unit_that_is_not_done_tells_nothing_yet() {
        // Halfway through the first of ten cores of about 100 s.
        let progress = PhaseProgress { begun: Some(Instant::now()), ..running(10, 100.0, 0, 50) };
        let left = Forecast(Mutex::new(vec![progress])).left().as_secs_f64();
        assert!((900.0..1000.0).contains(&left), "{left}");
    }

    fn running(units: u64, seconds: f64, done: u64, taken: u64) -> PhaseProgress {
        let phase = Phase::new("units", units, seconds);
        PhaseProgress { phase, done, taken: Duration::from_secs(taken), begun: None, ended: false }
    }

    #[test]
    fn phases_of_all_sizes_share_one_forecast() {
        // Two short phases and a long one: the end of the second is not the end of the command.
        let plan = [(10, 0.1, 10, 1, true), (10, 0.1, 10, 1, true), (10, 600.0, 0, 0, false)];
        let left = phases(&plan).left().as_secs_f64();
        assert!((5000.0..7000.0).contains(&left), "{left}");
    }
}
