//! From a configuration to a mapped core.

use super::assemble::{CoreModules, MappingChoice};
use super::buffers::Effort;
use super::candidates;
use super::recipe::WantedMappings;
use super::select::{self, Hierarchy};
use super::split::{self, SourceModule};
use super::{Cache, Candidate, CellLibrary, Mapped, Tools};
use crate::figures::{AreaFigures, ArrayShape, CoreFigures, CorePart, FiguresRun, ModuleArea, TimingFigures};
use crate::timing::{self, Analysis, CLOCK, TimedPath};
use crate::{PpaError, Target};
use flashd_generator::EXTERNAL_SHARE;
use rayon::prelude::*;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Modules mapped at a time.
const MODULES_AT_A_TIME: usize = 2;
/// Timing runs at most; the choice converges in a few.
const MAX_ROUNDS: usize = 24;

/// Clock of the first timing run where none is asked for, ns.
const FIRST_CLOCK: f64 = 1.0;
/// Without a clock asked for, area is saved as far as this costs: a part of the shortest period.
const NEARLY_FASTEST: f64 = 1.001;
/// In search of that period, paths that take this part of the present one are made faster together with the worst.
const NEARLY_WORST: f64 = 0.85;

/// A step of the mapping.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress {
    /// A module has been mapped.
    Module {
        /// Its name.
        name: String,
        /// Modules mapped so far.
        done: usize,
        /// Modules of the core.
        of: usize,
        /// It had been mapped before.
        cached: bool,
    },
    /// The core has been timed.
    Timing {
        /// Timing runs so far.
        round: usize,
        /// The clock period that the present mappings need, ns.
        period: f64,
        /// Their area, um2.
        area: f64,
    },
}

/// Everything that mapping needs.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Programs.
    pub tools: Tools,
    /// Cells.
    pub library: CellLibrary,
    /// Clock period to meet, ns; `None`: the shortest possible, within 0.1 %.
    pub clock_ns: Option<f64>,
    /// Finished work.
    pub cache: Cache,
    /// Dissolve the hierarchy: smaller, but takes very long and nothing is shared between cores.
    pub flat: bool,
}

/// A mapped core and its timing.
#[derive(Clone, Debug)]
pub struct MappedCore {
    /// Netlists.
    pub mapped: Mapped,
    /// Timing at the clock asked for; at the shortest period if none was.
    pub timing: TimingFigures,
}

/// Timing runs of a search.
struct Rounds<'a> {
    done: usize,
    progress: &'a (dyn Fn(Progress) + Sync),
}

fn no_run() -> PpaError {
    PpaError::Unexpected { what: "timing".to_string(), detail: "no run".to_string() }
}

/// One point of the search.
struct Trial {
    mapped: Mapped,
    analysis: Analysis,
    /// The shortest period at which this mapping has time enough, ns.
    period: f64,
    /// Its slack at the clock of the analysis, ns.
    slack: f64,
}

impl Flow {
    /// Maps a core. Every distinct module gets all missing mappings of least area; modules on paths that are too slow also get faster
    /// ones. Chooses for each module the smallest mapping with which the core meets its clock. If the clock cannot be met, returns the
    /// fastest core found, with negative slack.
    ///
    /// # Errors
    /// An invalid configuration, a tool that fails, files that cannot be written.
    pub fn map(&self, target: &Target, progress: &(dyn Fn(Progress) + Sync)) -> Result<MappedCore, PpaError> {
        let (file, text) = target.verilog()?;
        self.map_verilog(&file, &text, &target.name(), progress)
    }

    /// Maps Verilog as the generator emits it, with `top` as the top module.
    ///
    /// # Errors
    /// As [`Flow::map`].
    pub(crate) fn map_verilog(
        &self,
        file: &str,
        text: &str,
        top: &str,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<MappedCore, PpaError> {
        let mut modules = split::split(file, text)?;
        if modules.last().is_none_or(|last| last.name != top) {
            let detail = format!("{top} is not the top module");
            return Err(PpaError::Unexpected { what: file.to_string(), detail });
        }
        if self.flat {
            modules = vec![SourceModule::flattened(modules)];
        }
        let trial = self.choose(self.parts(modules, progress)?, progress)?;
        let unit = self.library.time_unit_ns();
        let timing = TimingFigures {
            clock: self.clock_ns.unwrap_or(trial.period),
            slack: if self.clock_ns.is_some() { trial.slack } else { 0.0 },
            shortest_period: self.clock_ns.is_none().then_some(trial.period),
            wires: self.library.wires(),
            path: trial.analysis.worst.describe(top, unit),
        };
        Ok(MappedCore { mapped: trial.mapped, timing })
    }

    /// The modules with their smallest mappings.
    fn parts(
        &self,
        modules: Vec<SourceModule>,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<CoreModules, PpaError> {
        let all: Vec<usize> = (0..modules.len()).collect();
        let complete = vec![false; modules.len()];
        let candidates = self.candidates(&modules, &all, WantedMappings::Smallest, progress)?;
        Ok(CoreModules { candidates, complete, modules })
    }

    /// Mappings of some modules, two modules at a time.
    fn candidates(
        &self,
        modules: &[SourceModule],
        which: &[usize],
        wanted: WantedMappings,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Vec<Vec<Candidate>>, PpaError> {
        let headers: HashMap<&str, &str> =
            modules.iter().map(|m| (m.name.as_str(), m.header.as_str())).collect();
        let done = AtomicUsize::new(0);
        let of = which.len();
        let map = |&index: &usize| {
            let module = &modules[index];
            let children: Vec<&str> = module.children.iter().map(|c| headers[c.as_str()]).collect();
            let (tools, library, cache) = (&self.tools, &self.library, &self.cache);
            let (candidates, fresh) =
                candidates::candidates(tools, library, cache, module, &children, wanted)?;
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            progress(Progress::Module { name: module.name.clone(), done, of, cached: !fresh });
            Ok(candidates)
        };
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(MODULES_AT_A_TIME)
            .build()
            .map_err(|e| PpaError::Unexpected { what: "thread pool".to_string(), detail: e.to_string() })?;
        pool.install(|| which.par_iter().map(map).collect())
    }

    /// Gives the modules on some paths their faster mappings, too.
    fn complete(
        &self,
        parts: &mut CoreModules,
        hierarchy: &Hierarchy,
        paths: &[&TimedPath],
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<(), PpaError> {
        let mut which: Vec<usize> = paths.iter().flat_map(|path| hierarchy.modules(path)).collect();
        which.sort_unstable();
        which.dedup();
        which.retain(|&module| !parts.complete[module]);
        let faster = self.candidates(&parts.modules, &which, WantedMappings::Faster, progress)?;
        for (module, faster) in which.into_iter().zip(faster) {
            parts.complete(module, faster);
        }
        Ok(())
    }

    /// The shortest period that can be had: whatever is on the slowest paths gets its fastest mapping, until nothing on the worst path
    /// has a faster one.
    fn fastest(
        &self,
        parts: &mut CoreModules,
        rounds: &mut Rounds,
        choices: &mut Vec<MappingChoice>,
    ) -> Result<Trial, PpaError> {
        let mut best: Option<Trial> = None;
        let unit = self.library.time_unit_ns();
        // External delays follow the clock. So paths are compared at the period of the mapping before, which is near the final one.
        let mut clock = self.time(parts, choices, FIRST_CLOCK, rounds)?.period;
        for _ in 0..MAX_ROUNDS {
            let trial = self.time(parts, choices, clock, rounds)?;
            let hierarchy = hierarchy(&trial.mapped);
            let needed = |path: &TimedPath| path.needed_period(clock / unit, EXTERNAL_SHARE) * unit;
            let slow: Vec<&TimedPath> = trial
                .analysis
                .paths
                .iter()
                .filter(|path| needed(path) >= NEARLY_WORST * trial.period)
                .collect();
            self.complete(parts, &hierarchy, &slow, rounds.progress)?;
            let before = choices.clone();
            for path in slow {
                let (on, around) = (hierarchy.modules(path), hierarchy.around(path));
                on.into_iter()
                    .for_each(|module| choices[module].candidate = parts.candidates[module].len() - 1);
                around.into_iter().for_each(|module| choices[module].effort = Effort::Quick);
            }
            clock = trial.period;
            if best.as_ref().is_none_or(|best| trial.period < best.period) {
                best = Some(trial);
            }
            if *choices == before {
                break;
            }
        }
        best.ok_or_else(no_run)
    }

    fn choose(
        &self,
        mut parts: CoreModules,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Trial, PpaError> {
        let mut choices = vec![MappingChoice { candidate: 0, effort: Effort::Legal }; parts.modules.len()];
        let mut rounds = Rounds { done: 0, progress };
        let mut best: Option<Trial> = None;
        let clock = match self.clock_ns {
            Some(clock) => clock,
            None => {
                let trial = self.fastest(&mut parts, &mut rounds, &mut choices.clone())?;
                let period = trial.period;
                best = Some(trial);
                period * NEARLY_FASTEST
            }
        };
        for _ in 0..MAX_ROUNDS {
            let trial = self.time(&parts, &choices, clock, &mut rounds)?;
            let met = trial.slack >= 0.0;
            let hierarchy = hierarchy(&trial.mapped);
            let unit = self.library.time_unit_ns();
            let mut changed = false;
            if !met {
                let slow: Vec<&TimedPath> =
                    trial.analysis.paths.iter().filter(|path| path.slack < 0.0).collect();
                self.complete(&mut parts, &hierarchy, &slow, progress)?;
                changed =
                    select::improve(&parts, &hierarchy, &mut choices, &trial.analysis.paths, clock / unit);
            }
            if met || best.as_ref().is_none_or(|best| trial.period < best.period) {
                best = Some(trial);
            }
            if !changed {
                break;
            }
        }
        // The loop has run at least once.
        best.ok_or_else(no_run)
    }

    fn time(
        &self,
        parts: &CoreModules,
        choices: &[MappingChoice],
        clock: f64,
        rounds: &mut Rounds,
    ) -> Result<Trial, PpaError> {
        let mapped = parts.assemble(&self.library, &self.cache, choices, CLOCK)?;
        let registered = registered(&mapped);
        let analysis = timing::analyse(&self.tools, &self.library, &self.cache, &mapped, &registered, clock)?;
        let unit = self.library.time_unit_ns();
        let (period, slack) = (analysis.period * unit, analysis.worst.slack * unit);
        rounds.done += 1;
        (rounds.progress)(Progress::Timing { round: rounds.done, period, area: mapped.area() });
        Ok(Trial { mapped, analysis, period, slack })
    }

    /// Adds up a mapped core.
    pub fn area(&self, mapped: &Mapped) -> AreaFigures {
        let mut by_part: BTreeMap<CorePart, f64> = BTreeMap::new();
        // A dissolved hierarchy has no instances that identify functions.
        if !self.flat {
            mapped.visit(&mut |path, module| *by_part.entry(super::part(path)).or_default() += module.area);
        }
        let sum = |value: &dyn Fn(&super::MappedModule) -> u64| -> u64 {
            mapped.modules.iter().map(|m| m.instances * value(m)).sum()
        };
        let total = mapped.area();
        let (nand2_area, nand2) = self.library.nand2();
        let mut by_module: Vec<ModuleArea> = mapped
            .modules
            .iter()
            .map(|m| ModuleArea {
                name: m.name.clone(),
                instances: m.instances,
                own: m.area,
                cells: m.cells,
                mapping: m.mapping.clone(),
            })
            .collect();
        by_module.sort_by(|a, b| (b.own * b.instances as f64).total_cmp(&(a.own * a.instances as f64)));
        AreaFigures {
            total,
            nand2_equivalents: total / nand2_area,
            nand2,
            cells: sum(&|m| m.cells),
            flip_flops: sum(&|m| m.flip_flops),
            flip_flop_area: mapped.modules.iter().map(|m| m.instances as f64 * m.flip_flop_area).sum(),
            by_part: by_part.into_iter().collect(),
            by_module,
        }
    }

    /// Tools, library and options of this flow, without power's.
    pub fn run(&self) -> FiguresRun {
        FiguresRun {
            flashd: env!("CARGO_PKG_VERSION").to_string(),
            yosys: without_compiler(&self.tools.yosys_version),
            opensta: self.tools.sta_version.clone(),
            library_file: self.library.file.clone(),
            library_sha256: self.library.sha256.clone(),
            default_library: self.library.is_default,
            dont_use: self.library.dont_use.clone(),
            clock: self.clock_ns,
            external_share: EXTERNAL_SHARE,
            flat: self.flat,
            clock_gates: self.library.roles.clock_gate.is_some(),
            cycles: 0,
            glitches: None,
            data: None,
        }
    }

    /// Area and timing of a core or an array; power is for the caller to fill in, from the netlists that come with them, and
    /// `cycles` and `data` of the run with it.
    ///
    /// # Errors
    /// As [`Flow::map`].
    pub fn figures(
        &self,
        target: &Target,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<(CoreFigures, Mapped), PpaError> {
        let core = self.map(target, progress)?;
        let figures = CoreFigures {
            core: target.name(),
            configuration: target.core().clone(),
            array: ArrayShape::of(target),
            library: self.library.cells.name.clone(),
            area: self.area(&core.mapped),
            timing: core.timing,
            power: None,
            run: self.run(),
        };
        Ok((figures, core.mapped))
    }
}

/// A version of Yosys without its compiler and flags, which may hold folders of the machine that built it:
/// `Yosys 0.48 (git sha1 7a362f1f7, g++ 11.4.0 -O3)`.
fn without_compiler(version: &str) -> String {
    match version.split_once(", ") {
        Some((head, _)) if head.contains('(') => format!("{head})"),
        Some((head, _)) => head.to_string(),
        None => version.to_string(),
    }
}

/// Instance paths of every module that has flip-flops.
fn registered(mapped: &Mapped) -> Vec<Vec<String>> {
    let mut paths: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    mapped.visit(&mut |path, module| {
        if module.flip_flops > 0 {
            paths.entry(&module.name).or_default().push(path.join("/"));
        }
    });
    paths.into_values().collect()
}

fn hierarchy(mapped: &Mapped) -> Hierarchy {
    let index: HashMap<&str, usize> =
        mapped.modules.iter().enumerate().map(|(i, m)| (m.name.as_str(), i)).collect();
    let mut module_of = HashMap::new();
    mapped.visit(&mut |path, module| {
        module_of.insert(path.join("/"), index[module.name.as_str()]);
    });
    Hierarchy { module_of, instances: mapped.modules.iter().map(|m| m.instances).collect() }
}

#[cfg(test)]
mod tests {
    use super::without_compiler;

    #[test]
    fn versions_name_no_folder() {
        let long = "Yosys 0.48 (git sha1 7a362f1f7, g++ 11 -ffile-prefix-map=/build/yosys=.)";
        assert_eq!(without_compiler(long), "Yosys 0.48 (git sha1 7a362f1f7)");
        assert_eq!(
            without_compiler("Yosys 0.23 (git sha1 7ce5011c24b)"),
            "Yosys 0.23 (git sha1 7ce5011c24b)"
        );
    }
}
