//! Waves: a VCD or an FST of a run, and a save file with which GTKWave shows it stage by stage.
//!
//! [`WaveWriter`] observes a lock-step run. Time is in nanoseconds and a cycle lasts 10 of them, so cycle
//! 37 begins at 370 ns: the clock rises there, everything that the cycle settles to changes with it, and
//! the clock falls at 375 ns. Scopes follow the hierarchy of modules; element 3 of a vector `x` is
//! `x_3`. Each bus with a number has a variable `<name>_real` with its decimal value.
//!
//! | file | what |
//! | --- | --- |
//! | `signals` | the buses of a design, in the order of the description, each with its net and its number |
//! | `actions` | the action of a step in a stage, as an enumeration |
//! | `layout` | the stages as the save file shows them, which is also the default selection |
//! | `select` | patterns |
//! | `recorder` | which nets change when |
//! | `sink` | the interface of wave formats |
//! | `format`, `vcd`, `fst` | the formats |
//! | `gtkw` | the save file |
//! | `variants` | every kind of core, for the tests |

mod actions;
mod format;
mod fst;
mod gtkw;
mod layout;
mod recorder;
mod select;
pub(crate) mod signals;
mod sink;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod variants;
mod vcd;

pub use format::WaveFormat;
pub use select::WaveSelection;

use crate::bench::{Cycle, Observer};
use crate::running::Running;
use flashd_files::AtomicFile;
use flashd_spec::config::ConfigError;
use flashd_spec::machine::Machine;
use recorder::Recorder;
use signals::{Reading, Signal};
use std::io::{Result as IoResult, Write as _};
use std::path::{Path, PathBuf};

/// Length of a cycle.
pub const PERIOD_NS: u64 = 10;
/// Suffix of the names of decimal values.
pub(crate) const NUMBER_SUFFIX: &str = "_real";

/// What to record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WaveOptions {
    /// The file's format.
    pub format: WaveFormat,
    /// Which signals.
    pub signals: WaveSelection,
    /// The first cycle recorded; cycle 0 is the first of reset.
    pub from: u64,
    /// The last cycle recorded; the end of the run when absent.
    pub to: Option<u64>,
}

/// Files written, and their contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaveFiles {
    /// The waves.
    pub wave: PathBuf,
    /// GTKWave's save file, next to them; none if they went into a device or a pipe.
    pub gtkw: Option<PathBuf>,
    /// Recorded signals; a bus and its decimal value count once.
    pub signals: usize,
    /// Recorded cycles.
    pub cycles: u64,
}

/// Why waves cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum WaveError {
    /// The configuration is not valid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A file cannot be written.
    #[error("cannot write {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// The wave has no name, or that of another kind of file: of its save file, or of a wave in another format.
    #[error("{path}: not a name for a wave file, which is {}; give one that ends in .{}", format.article_and_name(), format.ending())]
    Name {
        /// The name.
        path: PathBuf,
        /// The format.
        format: WaveFormat,
    },
    /// A selection without patterns.
    #[error("no signals selected: give default, all, or patterns separated by commas")]
    NoPattern,
    /// A pattern without a signal.
    #[error("no signal matches '{pattern}'; similar names: {similar}")]
    NoMatch {
        /// The pattern.
        pattern: String,
        /// Signals with similar names.
        similar: String,
    },
    /// A window that ends before it begins.
    #[error("the wave window ends in cycle {to}, before it begins in cycle {from}")]
    Window {
        /// First cycle.
        from: u64,
        /// Last cycle.
        to: u64,
    },
    /// The run ended before the window began.
    #[error("nothing recorded: the wave window begins in cycle {from}, the run had {cycles} cycles")]
    Empty {
        /// First cycle of the window.
        from: u64,
        /// Cycles of the run.
        cycles: u64,
    },
}

/// Records a run. The files appear under their names when [`WaveWriter::finish`] is called, also after a run
/// that ended early; otherwise nothing remains.
pub struct WaveWriter {
    wave: PathBuf,
    options: WaveOptions,
    design: String,
    layout: Vec<layout::Group>,
    recorded: Vec<gtkw::Recorded>,
    recorder: Recorder,
    /// Output of the recorder.
    file: AtomicFile,
    /// The save file.
    gtkw: Option<AtomicFile>,
    /// Cycles of the run so far.
    seen: u64,
    /// Recorded cycles.
    cycles: u64,
}

impl WaveWriter {
    /// Checks the options against a design and opens a temporary file in the folder of `path`.
    ///
    /// # Errors
    /// If the configuration, the file name, the window or a pattern is wrong, or no file can be written
    /// there.
    pub fn create(path: &Path, machine: impl Into<Machine>, options: WaveOptions) -> Result<Self, WaveError> {
        let (machine, format) = (machine.into(), options.format);
        let ending = path.extension();
        if file_name(path).is_empty() || ending.is_some_and(|e| !e.eq_ignore_ascii_case(format.ending())) {
            return Err(WaveError::Name { path: path.into(), format });
        }
        if let Some(to) = options.to.filter(|to| *to < options.from) {
            return Err(WaveError::Window { from: options.from, to });
        }
        let name = machine.name();
        let (signals, layout) = signals_and_layout(&machine)?;
        let chosen = complete(options.signals.choose(&signals, &layout)?, &signals);
        let recorded = (0..signals.len()).filter(|i| chosen[*i]).map(|i| recorded(&signals, i)).collect();
        let comment = format!("{name}: one cycle is {PERIOD_NS} ns, cycle n begins at {PERIOD_NS} n ns");
        let io = |source| WaveError::Io { path: path.into(), source };
        let file = AtomicFile::create(path).map_err(io)?;
        let gtkw = path.with_extension("gtkw");
        let gtkw = match file.is_stream() {
            true => None,
            false => Some(
                AtomicFile::create(&gtkw).map_err(|source| WaveError::Io { path: gtkw.clone(), source })?,
            ),
        };
        let sink = file.handle().and_then(|file| format.start(file, &comment)).map_err(io)?;
        let actions = actions::actions(&signals, &layout);
        let recorder = Recorder::new(sink, &signals, &chosen, &actions).map_err(io)?;
        Ok(WaveWriter {
            wave: path.into(),
            options,
            design: name,
            layout,
            recorded,
            recorder,
            file,
            gtkw,
            seen: 0,
            cycles: 0,
        })
    }

    /// A settled cycle of a design.
    fn record(&mut self, running: &Running) -> IoResult<()> {
        let cycle = running.cycle();
        self.seen = cycle + 1;
        if cycle < self.options.from || self.options.to.is_some_and(|to| cycle > to) {
            return Ok(());
        }
        if running.name() != self.design {
            let e = format!("the waves were set up for {}, and {} runs", self.design, running.name());
            return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, e));
        }
        self.recorder.cycle(cycle, |nets, values| running.values(nets, values))?;
        self.cycles += 1;
        Ok(())
    }

    /// Completes the wave and its save file under their names.
    ///
    /// # Errors
    /// If the window has no cycle or a file cannot be written.
    pub fn finish(self) -> Result<WaveFiles, WaveError> {
        let WaveOptions { signals: selection, from, .. } = &self.options;
        if self.cycles == 0 {
            return Err(WaveError::Empty { from: *from, cycles: self.seen });
        }
        let gtkw = self.wave.with_extension("gtkw");
        let io_gtkw = |source| WaveError::Io { path: gtkw.clone(), source };
        let (signals, cycles) = (self.recorded.len(), self.cycles);
        let io = |source| WaveError::Io { path: self.wave.clone(), source };
        let longest = self.recorder.finish(from + cycles).map_err(io)?;
        self.file.commit().map_err(io)?;
        let Some(mut file) = self.gtkw else {
            return Ok(WaveFiles { wave: self.wave, gtkw: None, signals, cycles });
        };
        let text = gtkw::SaveFile {
            dump: file_name(&self.wave),
            save: file_name(&gtkw),
            core: &self.design,
            start: from * PERIOD_NS,
            recorded: &self.recorded,
            layout: &self.layout,
            longest: &longest,
            others: match selection {
                WaveSelection::Default | WaveSelection::All => None,
                WaveSelection::Patterns(_) => Some("Selected"),
            },
        }
        .text();
        file.write_all(text.as_bytes()).and_then(|()| file.commit()).map_err(io_gtkw)?;
        Ok(WaveFiles { wave: self.wave, gtkw: Some(gtkw), signals, cycles })
    }
}

impl Observer for WaveWriter {
    fn cycle(&mut self, cycle: &Cycle) -> IoResult<()> {
        cycle.running.map_or(Ok(()), |running| self.record(running))
    }
}

/// The file's name without its folder; nothing if there is none, or none that a text file can hold.
fn file_name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

/// The signals and the stages of a machine, from a design that is built for this alone: the run's design does not exist yet, and has the
/// same signals in the same order.
fn signals_and_layout(machine: &Machine) -> Result<(Vec<Signal>, Vec<layout::Group>), ConfigError> {
    let design = flashd_hwmodel::build(machine)?;
    let signals = signals::list(&machine.name(), &design);
    let layout = layout::stages(machine, &design, &signals);
    Ok((signals, layout))
}

/// Adds signals that every wave needs: the clock, and buses that the decimal value of another bus depends on.
fn complete(mut chosen: Vec<bool>, signals: &[Signal]) -> Vec<bool> {
    for i in 0..signals.len() {
        if let (true, Some(Reading::Weight(.., w))) = (chosen[i], signals[i].reading) {
            chosen[w] = true;
        }
        chosen[i] |= signals[i].is_top_clock();
    }
    chosen
}

/// Signal `i` as the save file needs it.
fn recorded(signals: &[Signal], i: usize) -> gtkw::Recorded {
    let path = signals[i].below_top();
    let number = signals[i].number_name().map(|name| match path.rsplit_once('.') {
        Some((scope, _)) => format!("{scope}.{name}"),
        None => name,
    });
    gtkw::Recorded { position: i, path: path.to_string(), width: signals[i].width, number }
}
