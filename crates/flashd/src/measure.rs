//! Figures of one core or array, with what is going on shown in a bar: for `flashd ppa` and `flashd explore`.

use crate::output::Failure;
use flashd_ppa::Target;
use flashd_ppa::figures::{CoreFigures, PowerFigures};
use flashd_ppa::netlist::Simulation;
use flashd_ppa::power::{PowerOptions, STREAMS, estimate};
use flashd_ppa::synthesis::{Flow, Mapped, Progress};
use indicatif::ProgressBar;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Time between two lines where there is no terminal for a bar.
const LINE_EVERY: Duration = Duration::from_secs(60);

/// Refuses a `--clock` that is no period.
pub fn check_clock(clock: Option<f64>) -> Result<(), Failure> {
    match clock.is_some_and(|ns| !(ns.is_finite() && ns > 0.0)) {
        true => Err(Failure::input("--clock: a period in ns, above 0, is needed")),
        false => Ok(()),
    }
}

/// Says on standard error what a bar would show, a line a minute, where that is no terminal; until it is dropped.
pub struct Heartbeat {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Heartbeat {
    /// Begins, if it is needed.
    pub fn start(bar: &ProgressBar) -> Heartbeat {
        if std::io::stderr().is_terminal() {
            return Heartbeat { stop: None, thread: None };
        }
        let (stop, stopped) = channel();
        let bar = bar.clone();
        let thread =
            std::thread::spawn(move || lines(&bar, LINE_EVERY, &stopped, |line| eprintln!("{line}")));
        Heartbeat { stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It only prints.
            let _ = thread.join();
        }
    }
}

/// A line after every interval until the other end is dropped.
fn lines(bar: &ProgressBar, every: Duration, stopped: &Receiver<()>, mut line: impl FnMut(String)) {
    while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(every) {
        let seconds = bar.elapsed().as_secs();
        line(format!("{}:{:02} min: {} {}", seconds / 60, seconds % 60, bar.prefix(), bar.message()));
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

/// Cycles that are simulated with delays where no number is given.
pub const GLITCH_CYCLES: usize = 1000;
/// Cells of a core up to which they are: it takes less than a minute.
const GLITCH_CELLS: u64 = 250_000;

/// What is simulated: cycles of each stream, and of all streams together with delays; `None` for the default.
#[derive(Clone, Copy)]
pub struct Cycles {
    pub each: usize,
    pub glitches: Option<usize>,
}

/// Power at the clock of the core's figures, on the heads of a folder.
pub fn power(
    flow: &Flow,
    (figures, mapped): (&CoreFigures, &Mapped),
    cycles: Cycles,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_terminal_there_is_a_line_at_every_interval() {
        let bar = ProgressBar::hidden();
        bar.set_prefix("1 of 2, core:");
        bar.set_message("module 3 of 4");
        let (stop, stopped) = channel();
        let (out, written) = channel();
        let shared = bar.clone();
        let every = Duration::from_millis(10);
        let thread =
            std::thread::spawn(move || lines(&shared, every, &stopped, |line| out.send(line).unwrap()));
        assert!(written.recv().unwrap().ends_with("min: 1 of 2, core: module 3 of 4"));
        bar.set_message("module 4 of 4");
        while !written.recv().unwrap().ends_with("module 4 of 4") {}
        drop(stop);
        thread.join().unwrap();
    }
}
