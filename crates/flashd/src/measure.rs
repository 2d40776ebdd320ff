//! Figures of one core or array, with what is going on shown in a bar: for `flashd ppa` and `flashd explore`.

use crate::output::Failure;
use flashd_ppa::Target;
use flashd_ppa::figures::{CoreFigures, PowerFigures};
use flashd_ppa::netlist::Simulation;
use flashd_ppa::power::{PowerOptions, STREAMS, estimate};
use flashd_ppa::synthesis::{Flow, Mapped, Progress};
use indicatif::ProgressBar;
use std::path::Path;

/// Refuses a `--clock` that is no period.
pub fn check_clock(clock: Option<f64>) -> Result<(), Failure> {
    match clock.is_some_and(|ns| !(ns.is_finite() && ns > 0.0)) {
        true => Err(Failure::input("--clock: a period in ns, above 0, is needed")),
        false => Ok(()),
    }
}

/// Area and timing, and the netlist.
pub fn map(flow: &Flow, target: &Target, bar: &ProgressBar) -> Result<(CoreFigures, Mapped), Failure> {
    let progress = |progress: Progress| {
        bar.set_message(match progress {
            Progress::Module { name, done, of, .. } => format!("module {done} of {of} mapped: {name}"),
            Progress::Timing { round, period, area } => {
                format!("timing run {round}: {period:.3} ns, {area:.0} um2")
            }
        });
    };
    Ok(flow.figures(target, &progress)?)
}

/// Power at the clock of the core's figures, on the heads of a folder.
pub fn power(
    flow: &Flow,
    (figures, mapped): (&CoreFigures, &Mapped),
    cycles: usize,
    data: &Path,
    bar: &ProgressBar,
) -> Result<PowerFigures, Failure> {
    let options = PowerOptions {
        clock_mhz: 1000.0 / figures.timing.clock,
        cycles,
        streams: STREAMS,
        data: data.to_path_buf(),
    };
    let mut observer = |cycle: usize, of: usize, _: &Simulation<'_>| {
        bar.set_message(format!("power: cycle {cycle} of {of}"));
    };
    Ok(estimate(&figures.target(), mapped, &flow.library.cells, &options, &mut observer)?)
}
