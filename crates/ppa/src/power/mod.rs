//! Power of a mapped core on real attention heads.
//!
//! ```text
//!  folder of heads --workload--> 64 streams --drive--> toggles of every net, outputs checked against the model
//!                                                         |
//!  Liberty tables, loads ---------------------energy------+--> mW by kind and by part of the core
//! ```
//!
//! Toggles are counted without delays in all streams and cycles, and with the library's delays, so with glitches, in a
//! sample of them (`glitches`). The figures exclude the clock tree, wires where the library has no default wire load
//! model (loads are pins only), and the charging of the core's input ports, which is done from outside.

mod conditions;
mod drive;
mod energy;
mod glitches;
mod nets;
mod stream;
mod workload;

pub use drive::{Activity, Observer, STREAMS};
pub use energy::{CellPower, PowerReport};
pub use glitches::{GlitchActivity, HeadActivity};
pub use workload::warm_up;

use crate::Target;
use crate::figures::PowerFigures;
use crate::liberty::Library;
use crate::netlist::{Netlist, NetlistError};
use crate::synthesis::Mapped;
use glitches::{GlitchCounter, Timed};
use std::path::{Path, PathBuf};

/// How power is estimated.
#[derive(Clone, Debug)]
pub struct PowerOptions {
    /// Clock, MHz.
    pub clock_mhz: f64,
    /// Cycles to count, in each stream.
    pub cycles: usize,
    /// Cycles to simulate with delays too, about, over all streams; 0 for none.
    pub glitches: usize,
    /// Streams that are simulated side by side, 1 to [`STREAMS`].
    pub streams: usize,
    /// Folder of attention heads.
    pub data: PathBuf,
}

/// Why there are no power figures.
#[derive(Debug, thiserror::Error)]
pub enum PowerError {
    /// The netlist cannot be simulated.
    #[error(transparent)]
    Netlist(#[from] NetlistError),
    /// The heads cannot be used.
    #[error(transparent)]
    Traces(#[from] flashd_workload::TraceError),
    /// The heads cannot be scaled for the core.
    #[error(transparent)]
    Scaling(#[from] flashd_workload::ScalingError),
    /// The folder has heads, but none that fits.
    #[error("{}: {problem}", folder.display())]
    NoHead {
        /// Folder.
        folder: PathBuf,
        /// The requirement.
        problem: String,
    },
    /// The netlist does not have the ports of a core.
    #[error("the netlist's port {port}: {problem}")]
    Port {
        /// Port.
        port: String,
        /// Problem.
        problem: String,
    },
    /// The netlist's outputs differ from the model's.
    #[error("the mapped netlist of {core} differs from the model: stream {stream}, cycle {cycle}: {problem}")]
    Mismatch {
        /// Core.
        core: String,
        /// Stream, from 0.
        stream: usize,
        /// Cycle.
        cycle: usize,
        /// The difference.
        problem: String,
    },
    /// With delays the netlist comes to rest in another state than without.
    #[error(
        "the mapped netlist of {core} with delays ends in another state than without: stream {stream}, cycle {cycle}, \
         net {net}"
    )]
    Unsettled {
        /// Core.
        core: String,
        /// Stream, from 0.
        stream: usize,
        /// Cycle.
        cycle: usize,
        /// Net of the netlist.
        net: u32,
    },
    /// An option makes no sense.
    #[error("{option}: {problem}")]
    Option {
        /// Option.
        option: &'static str,
        /// Problem.
        problem: String,
    },
}

/// Simulates a mapped core on heads from `options.data` and adds up its power; `observer` sees every cycle, for
/// progress.
///
/// # Errors
/// Netlists that cannot be simulated, data that cannot be used, and any output that differs from the model's.
pub fn estimate(
    target: &Target,
    mapped: &Mapped,
    library: &Library,
    options: &PowerOptions,
    observer: Observer,
) -> Result<PowerFigures, PowerError> {
    let files: Vec<&Path> = mapped.modules.iter().map(|module| module.json.as_path()).collect();
    let netlist = Netlist::read(&mapped.top, &files, library)?;
    let (activity, workload) = simulate(target, &netlist, library, options, observer)?;
    let clock = options.clock_mhz * 1e6;
    let report = PowerReport::new(&netlist, library, &activity, clock);
    let figures = report.figures(&netlist, &crate::synthesis::part, workload, &activity);
    let glitches = PowerReport::with_glitches(&netlist, library, &activity, clock, &crate::synthesis::part);
    Ok(PowerFigures { glitches, ..figures })
}

/// Simulates a netlist on heads from `options.data`, compares its outputs with the model's, and counts toggles, with the
/// delays of the library too if the options ask for it.
/// Also returns a description of the workload.
///
/// # Errors
/// As [`estimate`].
pub fn simulate(
    target: &Target,
    netlist: &Netlist,
    library: &Library,
    options: &PowerOptions,
    observer: Observer,
) -> Result<(Activity, String), PowerError> {
    options.check()?;
    let streams = workload::streams(target, options)?;
    let timed = match options.glitches {
        0 => None,
        _ => Some(Timed::new(netlist, library)?),
    };
    let counter =
        timed.as_ref().map(|timed| GlitchCounter::new(timed, netlist, &streams.heads, options.streams));
    let glitches = counter.map(|counter| (counter, options.glitches));
    let activity = drive::drive(target, netlist, &streams.feeds, options.cycles, glitches, observer)?;
    Ok((activity, streams.description))
}

/// Reads the heads that [`estimate`] would use for a core, so that a folder without any is found before the
/// core is mapped.
///
/// # Errors
/// As [`estimate`], for the folder and its heads.
pub fn check_heads(target: &Target, folder: &Path) -> Result<(), PowerError> {
    workload::heads(target.core().d, folder).map(drop)
}

impl PowerOptions {
    fn check(&self) -> Result<(), PowerError> {
        let wrong = |option, problem: String| Err(PowerError::Option { option, problem });
        if !(self.clock_mhz > 0.0 && self.clock_mhz.is_finite()) {
            return wrong("clock", format!("{} MHz is not a clock frequency", self.clock_mhz));
        }
        if !(1..=STREAMS).contains(&self.streams) {
            return wrong("streams", format!("{} is outside 1 to {STREAMS}", self.streams));
        }
        match self.cycles {
            0 => wrong("cycles", "at least one is needed".into()),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
