//! Measuring: everything that can be wrong is looked at before the first core is mapped.

use super::cores::targets;
use crate::cli::PpaArgs;
use crate::measure::{SimulatedCycles, map, power};
use crate::output::Failure;
use crate::progress::{self, Phase, on_all_processors, rates};
use crate::sample::HeadsFolder;
use flashd_ppa::Target;
use flashd_ppa::figures::{ArrayShape, CoreFigures, FailedCore, FiguresRun, Measurements};
use flashd_ppa::power::check_heads;
use flashd_ppa::synthesis::{Cache, CellLibrary, Flow, Tools};
use indicatif::ProgressBar;
use std::path::Path;

/// Measurements to come.
pub(super) struct MeasurementPlan<'a> {
    args: &'a PpaArgs,
    targets: Vec<Target>,
    tools: Tools,
    cache: Cache,
    libraries: Vec<CellLibrary>,
    data: HeadsFolder,
}

impl<'a> MeasurementPlan<'a> {
    /// Reads and checks everything that the run needs.
    pub fn new(args: &'a PpaArgs) -> Result<Self, Failure> {
        let targets = targets(args)?;
        let data = HeadsFolder::new(args.data.as_deref())?;
        if args.cycles > 0 {
            targets.iter().try_for_each(|target| heads(target, data.path()))?;
        }
        let tools = Tools::discover()?;
        let cache = Cache::new(args.cache.as_deref())?;
        let files: Vec<_> = match args.liberty.as_slice() {
            [] => vec![None],
            files => files.iter().map(|f| Some(f.as_path())).collect(),
        };
        let mut libraries: Vec<CellLibrary> = Vec::new();
        for file in files {
            let library = CellLibrary::without(file, cache.folder(), &args.dont_use)?;
            let library = if args.clock_gates { library.with_clock_gates()? } else { library };
            if libraries.iter().any(|l| l.sha256 == library.sha256) {
                let problem = "has the contents of a library before it; name each library once";
                return Err(Failure::input(format!("--liberty {}: {problem}", library.file)));
            }
            libraries.push(library);
        }
        Ok(MeasurementPlan { args, targets, tools, cache, libraries, data })
    }

    /// Measures all cores in all libraries; what fails on one does not keep the others from being measured.
    pub fn run(self) -> Result<Measurements, Failure> {
        let elements: usize = self.targets.iter().map(|target| target.core().d).sum();
        let element = on_all_processors(rates::MAPPING_ELEMENT).as_secs_f64();
        let all = Phase::new("elements of vectors", (elements * self.libraries.len()) as u64, element);
        let progress = progress::ProgressPlan::start([all], ", less where modules are in the cache");
        let bar = progress.bar();
        let of = self.targets.len() * self.libraries.len();
        let mut all = Measurements::default();
        for library in self.libraries {
            let flow = Flow {
                tools: self.tools.clone(),
                library,
                clock_ns: self.args.clock,
                cache: self.cache.clone(),
                flat: self.args.flat,
            };
            for target in &self.targets {
                let number = all.cores.len() + all.failed.len() + 1;
                bar.set_prefix(format!(
                    "{number} of {of}, {} in {}:",
                    target.name(),
                    flow.library.cells.name
                ));
                let measured = one(self.args, &flow, target, &self.data, bar);
                progress.inc(target.core().d as u64);
                match measured {
                    Ok(figures) => all.cores.push(figures),
                    Err(failure @ Failure::Interrupted(_)) => return Err(failure),
                    Err(failure) => all.failed.push(FailedCore {
                        core: target.name(),
                        configuration: target.core().clone(),
                        array: ArrayShape::of(target),
                        library: flow.library.cells.name.clone(),
                        error: failure.to_string(),
                        run: described(self.args, flow.run()),
                    }),
                }
            }
        }
        bar.set_message("cleaning the cache");
        self.cache.clean();
        drop(progress);
        Ok(all)
    }
}

/// Whether the folder has heads for a core.
fn heads(target: &Target, folder: &Path) -> Result<(), Failure> {
    check_heads(target, folder).map_err(|e| {
        Failure::input(format!(
            "--data: {e}; give a folder of attention heads, leave it out for the bundled sample, or give --cycles 0 to \
             leave power out"
        ))
    })
}

fn one(
    args: &PpaArgs,
    flow: &Flow,
    target: &Target,
    data: &HeadsFolder,
    bar: &ProgressBar,
) -> Result<CoreFigures, Failure> {
    let (mut figures, mapped) = map(flow, target, bar)?;
    if args.cycles > 0 {
        let cycles = SimulatedCycles { each: args.cycles, glitches: args.glitches };
        figures.power = Some(power(flow, (&figures, &mapped), cycles, data.path(), bar)?);
    }
    figures.run = described(args, figures.run);
    Ok(figures)
}

/// Adds the parameters of the power figures to a run.
fn described(args: &PpaArgs, run: FiguresRun) -> FiguresRun {
    match args.cycles {
        0 => run,
        cycles => {
            FiguresRun { cycles, glitches: args.glitches, data: args.data.as_deref().map(folder_name), ..run }
        }
    }
}

/// A folder without its location on this machine.
fn folder_name(folder: &Path) -> String {
    let name = if folder.is_absolute() { folder.file_name().map(Path::new) } else { None };
    name.unwrap_or(folder).display().to_string()
}
