//! Measuring: everything that can be wrong is looked at before the first core is mapped.

use super::cores::cores;
use crate::cli::PpaArgs;
use crate::output::Failure;
use flashd_hwmodel::config::CoreConfig;
use flashd_ppa::figures::CoreFigures;
use flashd_ppa::netlist::Simulation;
use flashd_ppa::power::{PowerOptions, STREAMS, check_heads, estimate};
use flashd_ppa::synthesis::{Cache, CellLibrary, Flow, Progress, Tools};
use indicatif::{ProgressBar, ProgressStyle};
use std::path::Path;
use std::time::Duration;

/// What is going to be measured.
pub(super) struct Plan<'a> {
    args: &'a PpaArgs,
    cores: Vec<CoreConfig>,
    tools: Tools,
    cache: Cache,
    libraries: Vec<CellLibrary>,
}

impl<'a> Plan<'a> {
    /// Reads and checks everything that the run needs.
    pub fn new(args: &'a PpaArgs) -> Result<Self, Failure> {
        if args.clock.is_some_and(|ns| !(ns.is_finite() && ns > 0.0)) {
            return Err(Failure::input("--clock: a period in ns, above 0, is needed"));
        }
        let cores = cores(args)?;
        if args.cycles > 0 {
            cores.iter().try_for_each(|core| heads(core, &args.data))?;
        }
        let tools = Tools::discover()?;
        let cache = Cache::new(args.cache.as_deref())?;
        let files: Vec<_> = match args.liberty.as_slice() {
            [] => vec![None],
            files => files.iter().map(|f| Some(f.as_path())).collect(),
        };
        let mut libraries: Vec<CellLibrary> = Vec::new();
        for file in files {
            let library = CellLibrary::open(file, cache.folder())?;
            if libraries.iter().any(|l| l.sha256 == library.sha256) {
                let problem = "has the contents of a library before it; name each library once";
                return Err(Failure::input(format!("--liberty {}: {problem}", library.file)));
            }
            libraries.push(library);
        }
        Ok(Plan { args, cores, tools, cache, libraries })
    }

    /// Measures all cores in all libraries.
    pub fn run(self) -> Result<Vec<CoreFigures>, Failure> {
        // Shown on a terminal only.
        let bar = ProgressBar::new_spinner();
        bar.set_style(
            ProgressStyle::with_template("{spinner} {prefix} {wide_msg} {elapsed}")
                .unwrap_or_else(|_| ProgressStyle::default_spinner()),
        );
        bar.enable_steady_tick(Duration::from_millis(200));
        let of = self.cores.len() * self.libraries.len();
        let mut figures = Vec::new();
        for library in self.libraries {
            let flow = Flow {
                tools: self.tools.clone(),
                library,
                clock_ns: self.args.clock,
                cache: self.cache.clone(),
                flat: self.args.flat,
            };
            for core in &self.cores {
                let number = figures.len() + 1;
                bar.set_prefix(format!("{number} of {of}, {} in {}:", core.name(), flow.library.cells.name));
                figures.push(one(self.args, &flow, core, &bar)?);
            }
        }
        bar.set_message("cleaning the cache");
        self.cache.clean();
        bar.finish_and_clear();
        Ok(figures)
    }
}

/// Whether the folder has heads for a core.
fn heads(core: &CoreConfig, folder: &Path) -> Result<(), Failure> {
    check_heads(core, folder).map_err(|e| {
        Failure::input(format!(
            "--data: {e}; give a folder of attention heads, such as testbench/data of this program's repository, \
             or --cycles 0 to leave power out"
        ))
    })
}

fn one(args: &PpaArgs, flow: &Flow, core: &CoreConfig, bar: &ProgressBar) -> Result<CoreFigures, Failure> {
    let progress = |progress: Progress| {
        bar.set_message(match progress {
            Progress::Module { name, done, of, .. } => format!("module {done} of {of} mapped: {name}"),
            Progress::Timing { round, period, area } => {
                format!("timing run {round}: {period:.3} ns, {area:.0} um2")
            }
        });
    };
    let (mut figures, mapped) = flow.figures(core, &progress)?;
    if args.cycles > 0 {
        let options = PowerOptions {
            clock_mhz: 1000.0 / figures.timing.clock,
            cycles: args.cycles,
            streams: STREAMS,
            data: args.data.clone(),
        };
        let mut observer = |cycle: usize, of: usize, _: &Simulation<'_>| {
            bar.set_message(format!("power: cycle {cycle} of {of}"));
        };
        figures.power = Some(estimate(core, &mapped, &flow.library.cells, &options, &mut observer)?);
        figures.run.cycles = args.cycles;
        figures.run.data = Some(folder_name(&args.data));
    }
    Ok(figures)
}

/// A folder without where it lies on this machine.
fn folder_name(folder: &Path) -> String {
    let name = if folder.is_absolute() { folder.file_name().map(Path::new) } else { None };
    name.unwrap_or(folder).display().to_string()
}
