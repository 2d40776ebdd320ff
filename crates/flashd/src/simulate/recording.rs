//! The files that show what a run did, cycle by cycle.

use crate::cli::SimulateArgs;
use crate::interrupt::Interruptible;
use crate::output::Failure;
use flashd_simulator::{WaveDesign, WaveError, WaveFormat, WaveOptions, WaveSelection, WaveWriter};
use std::path::{Path, PathBuf};

/// What observes a run and is kept also if that ends early.
pub struct Recording {
    /// The waves.
    pub waves: Vec<WaveWriter>,
    /// Ends the run when that is asked for. Without a recording there is nothing to keep.
    pub interruptible: Option<Interruptible>,
    /// The waves' flags and names.
    files: Vec<(&'static str, PathBuf)>,
}

impl Recording {
    /// Begins the files that are asked for.
    pub fn create<'a>(args: &SimulateArgs, design: impl Into<WaveDesign<'a>>) -> Result<Recording, Failure> {
        let design = design.into();
        let asked = [("--vcd", &args.vcd, WaveFormat::Vcd), ("--fst", &args.fst, WaveFormat::Fst)];
        let (mut waves, mut files) = (Vec::new(), Vec::new());
        for (flag, path, format) in asked {
            let Some(path) = path else { continue };
            let signals =
                WaveSelection::parse(&args.signals).map_err(|e| Failure::input(format!("--signals: {e}")))?;
            let options = WaveOptions { format, signals, from: args.from, to: args.to };
            waves.push(WaveWriter::create(path, design, options).map_err(|e| wave_failure(flag, path, &e))?);
            files.push((flag, path.clone()));
        }
        let interruptible = (!files.is_empty()).then(Interruptible::default);
        Ok(Recording { waves, interruptible, files })
    }

    /// Completes the files. After a divergence too: the wave is what one looks at then.
    pub fn finish(self) -> Result<(), Failure> {
        for (wave, (flag, path)) in self.waves.into_iter().zip(&self.files) {
            wave.finish().map_err(|e| wave_failure(flag, path, &e))?;
        }
        match self.interruptible.as_ref().and_then(Interruptible::ended_after) {
            None => Ok(()),
            Some(cycles) => {
                let names: Vec<String> =
                    self.files.iter().map(|(_, path)| path.display().to_string()).collect();
                let have = if names.len() > 1 { "have" } else { "has" };
                let names = names.join(" and ");
                Err(Failure::Interrupted(format!(
                    "{names} {have} what was recorded in the {cycles} cycles of the run"
                )))
            }
        }
    }
}

/// A wave's error with the flag that is at fault.
fn wave_failure(flag: &str, path: &Path, e: &WaveError) -> Failure {
    match e {
        WaveError::NoPattern | WaveError::NoMatch { .. } => Failure::input(format!("--signals: {e}")),
        WaveError::Window { .. } | WaveError::Empty { .. } => Failure::input(format!("--from, --to: {e}")),
        // These name the file.
        WaveError::Name { .. } | WaveError::Io { .. } => Failure::input(format!("{flag}: {e}")),
        WaveError::Config(_) => Failure::input(format!("{flag} {}: {e}", path.display())),
    }
}
