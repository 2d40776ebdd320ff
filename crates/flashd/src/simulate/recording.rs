//! Recordings of a run, cycle by cycle.

use super::phases::{Phases, SentCounter};
use crate::cli::SimulateArgs;
use crate::interrupt::Interruptible;
use crate::output::{Failure, unwritable};
use flashd_files::AtomicFile;
use flashd_simulator::{
    Observer, Pipeline, PipelineFormat, PipelineRecorder, VectorFile, WaveError, WaveFormat, WaveOptions,
    WaveSelection, WaveWriter,
};
use flashd_spec::machine::Machine;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

/// Runs with the observers that the flags select: vectors, waves, pipeline chart, and the bar. `pipeline` makes the chart of a range of
/// cycles, from the run's result too. The files are completed after a divergence, too.
pub fn recorded<R>(
    args: &SimulateArgs,
    machine: &Machine,
    phases: Option<&Phases>,
    run: impl FnOnce(&mut [&mut dyn Observer]) -> R,
    pipeline: impl FnOnce(&PipelineRecorder, RangeInclusive<u64>, &R) -> Pipeline,
) -> Result<R, Failure> {
    let mut recording = Recording::create(args, machine)?;
    let mut vectors = match &args.vectors {
        Some(path) => {
            Some((path, VectorFile::create(path, machine).map_err(|e| unwritable("--vectors", path, e))?))
        }
        None => None,
    };
    let mut progress = phases.map(SentCounter::of);
    let mut observers: Vec<&mut dyn Observer> = Vec::new();
    progress.iter_mut().for_each(|progress| observers.push(progress));
    if let Some((_, vectors)) = &mut vectors {
        observers.push(vectors);
    }
    recording.waves.iter_mut().for_each(|wave| observers.push(wave));
    recording.keys.iter_mut().for_each(|keys| observers.push(keys));
    recording.interruptible.iter_mut().for_each(|end| observers.push(end));
    let result = run(&mut observers);
    recording.finish(|keys, window| pipeline(keys, window, &result))?;
    if let Some((path, vectors)) = vectors {
        vectors.commit().map_err(|e| unwritable("--vectors", path, e))?;
    }
    Ok(result)
}

/// Observers of a run whose files are kept also if it ends early.
struct Recording {
    /// The waves.
    waves: Vec<WaveWriter>,
    /// When keys are taken, for the pipeline chart.
    keys: Option<PipelineRecorder>,
    /// Ends the run when that is asked for. Without a recording there is nothing to keep.
    interruptible: Option<Interruptible>,
    /// The waves' flags and names.
    files: Vec<(&'static str, PathBuf)>,
    chart: Option<ChartRecorder>,
}

/// A pipeline chart under way.
struct ChartRecorder {
    path: PathBuf,
    format: PipelineFormat,
    window: RangeInclusive<u64>,
}

impl Recording {
    /// Begins the files that are asked for.
    fn create(args: &SimulateArgs, machine: &Machine) -> Result<Recording, Failure> {
        let asked = [("--vcd", &args.vcd, WaveFormat::Vcd), ("--fst", &args.fst, WaveFormat::Fst)];
        let (mut waves, mut files) = (Vec::new(), Vec::new());
        for (flag, path, format) in asked {
            let Some(path) = path else { continue };
            let signals =
                WaveSelection::parse(&args.signals).map_err(|e| Failure::input(format!("--signals: {e}")))?;
            let options = WaveOptions { format, signals, from: args.from, to: args.to };
            waves.push(WaveWriter::create(path, machine, options).map_err(|e| wave_failure(flag, path, &e))?);
            files.push((flag, path.clone()));
        }
        let chart = args.pipeline.as_ref().map(|path| chart(args, path)).transpose()?;
        let interruptible = (!files.is_empty() || chart.is_some()).then(Interruptible::default);
        let keys = match (&chart, machine) {
            (None, _) => None,
            (Some(_), Machine::Wrapper(config)) => Some(
                PipelineRecorder::for_wrapper(config)
                    .map_err(|e| Failure::input(format!("--pipeline: {e}")))?,
            ),
            (Some(_), Machine::Unit(config)) => Some(
                PipelineRecorder::for_unit(config).map_err(|e| Failure::input(format!("--pipeline: {e}")))?,
            ),
            (Some(_), _) => Some(PipelineRecorder::default()),
        };
        Ok(Recording { waves, keys, interruptible, files, chart })
    }

    /// Completes the files, also after a divergence, when the wave is needed most; `pipeline` makes the chart of a range of cycles.
    fn finish(
        mut self,
        pipeline: impl FnOnce(&PipelineRecorder, RangeInclusive<u64>) -> Pipeline,
    ) -> Result<(), Failure> {
        for (wave, (flag, path)) in self.waves.into_iter().zip(&self.files) {
            wave.finish().map_err(|e| wave_failure(flag, path, &e))?;
        }
        if let (Some(ChartRecorder { path, format, window }), Some(keys)) = (self.chart, &self.keys) {
            let problem = |e: std::io::Error| unwritable("--pipeline", &path, e);
            let chart = pipeline(keys, window);
            if chart.steps.is_empty() {
                return Err(Failure::input("--from, --to: no key was taken in these cycles"));
            }
            let mut file = AtomicFile::create(&path).map_err(problem)?;
            chart.write(format, &mut file).map_err(problem)?;
            file.commit().map_err(problem)?;
            self.files.push(("--pipeline", path));
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

/// The chart that is asked for.
fn chart(args: &SimulateArgs, path: &Path) -> Result<ChartRecorder, Failure> {
    let format = PipelineFormat::of(path).map_err(|e| Failure::input(format!("--pipeline: {e}")))?;
    let window = args.from..=args.to.unwrap_or(u64::MAX);
    match window.is_empty() {
        true => Err(Failure::input(format!(
            "--from, --to: the window ends in cycle {}, before it begins in cycle {}",
            window.end(),
            window.start()
        ))),
        false => Ok(ChartRecorder { path: path.to_path_buf(), format, window }),
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
