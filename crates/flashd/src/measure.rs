//! Figures of one core or array, with progress in a bar: for `flashd ppa` and `flashd explore`.

use crate::output::Failure;
use crate::progress::step;
use flashd_ppa::Target;
use flashd_ppa::figures::{CoreFigures, PowerFigures};
use flashd_ppa::netlist::Simulation;
use flashd_ppa::power::{PowerOptions, STREAMS, estimate};
use flashd_ppa::synthesis::{Flow, Mapped, Progress};
use indicatif::ProgressBar;
use std::path::Path;

/// Area and timing, and the netlist.
pub fn map(flow: &Flow, target: &Target, bar: &ProgressBar) -> Result<(CoreFigures, Mapped), Failure> {
    let progress = |progress: Progress| {
        let text = match progress {
            Progress::Module { name, done, of, .. } => format!("module {done} of {of} mapped: {name}"),
            Progress::Timing { round, period, area } => {
                format!("timing run {round}: {period:.3} ns, {area:.0} um2")
            }
        };
        // The words are made before: the bar is locked while it is suspended.
        let said = format!("{} {text}", bar.prefix());
        bar.suspend(|| step(|| said));
        bar.set_message(text);
    };
    Ok(flow.figures(target, &progress)?)
}

/// Cycles that are simulated with delays where no number is given.
pub const GLITCH_CYCLES: usize = 1000;
/// Cells of a core up to which they are: it takes less than a minute.
const GLITCH_CELLS: u64 = 250_000;

/// Lengths of simulations: cycles of each stream, and of all streams together with delays; `None` for the
/// default.
#[derive(Clone, Copy)]
pub struct SimulatedCycles {
    pub each: usize,
    pub glitches: Option<usize>,
}

/// Power at the clock of the core's figures, on the heads of a folder.
pub fn power(
    flow: &Flow,
    (figures, mapped): (&CoreFigures, &Mapped),
    cycles: SimulatedCycles,
    data: &Path,
    bar: &ProgressBar,
) -> Result<PowerFigures, Failure> {
    let options = PowerOptions {
        clock_mhz: 1000.0 / figures.timing.clock,
        cycles: cycles.each,
        glitches: cycles.glitches.unwrap_or(match figures.area.cells <= GLITCH_CELLS {
            true => GLITCH_CYCLES,
            false => 0,
        }),
        streams: STREAMS,
        data: data.to_path_buf(),
    };
    let mut observer = |cycle: usize, of: usize, _: &Simulation<'_>| {
        bar.set_message(format!("power: cycle {cycle} of {of}"));
    };
    Ok(estimate(&figures.target(), mapped, &flow.library.cells, &options, &mut observer)?)
}
