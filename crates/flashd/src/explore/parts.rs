//! Parts of an exploration, which can be computed anywhere, and their results.

use super::points::{Cost, MeasuredCore};
use crate::measure::{GLITCH_CYCLES, SimulatedCycles, map, power};
use crate::output::Failure;
use crate::sample;
use flashd_ppa::synthesis::{Cache, CellLibrary, Flow, Tools};
use flashd_spec::config::CoreConfig;
use flashd_study::{Heads, PreparedHeads, TraceErrors, equal};
use indicatif::ProgressBar;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A piece of work. Cores of one part are of the same formats and scales.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum WorkPart {
    /// Errors on heads.
    Errors { cores: Vec<CoreConfig>, heads: HeadsOf },
    /// Errors on equal scores.
    EqualScores { cores: Vec<CoreConfig> },
    /// Area, timing and, if it is the cost, power.
    Measured { core: Box<CoreConfig>, cost: Cost, cycles: usize, flow: FlowOf, data: Option<PathBuf> },
}

/// Heads that are measured on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeadsOf {
    /// The folder; none for the sample.
    pub data: Option<PathBuf>,
    /// Every n-th query.
    pub every: usize,
}

/// What cores are mapped to, and for which clock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowOf {
    /// The library; none for the default.
    pub liberty: Option<PathBuf>,
    /// The clock, ns.
    pub clock_ns: Option<f64>,
}

/// What came of a part, in the order of its cores.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PartOutcome {
    Errors { heads: usize, errors: Vec<TraceErrors> },
    EqualScores { errors: Vec<f64> },
    Measured { library: String, measured: MeasuredCore },
}

/// Computes parts, and keeps what several of them need.
#[derive(Default)]
pub struct Worker {
    cache: Option<PathBuf>,
    folder: Option<(Option<PathBuf>, sample::HeadsFolder)>,
    heads: Option<(HeadsOf, Heads)>,
    flow: Option<(FlowOf, Flow)>,
}

impl Worker {
    /// With a folder for finished work.
    pub fn new(cache: Option<&Path>) -> Worker {
        Worker { cache: cache.map(Path::to_path_buf), ..Worker::default() }
    }

    /// Opens tools and library.
    pub fn flow(&mut self, of: &FlowOf) -> Result<&Flow, Failure> {
        let cache = self.cache.as_deref();
        kept(&mut self.flow, of, || {
            let tools = Tools::discover()?;
            let cache = Cache::new(cache)?;
            let library = CellLibrary::open(of.liberty.as_deref(), cache.folder())?;
            Ok(Flow { tools, library, clock_ns: of.clock_ns, cache, flat: false })
        })
    }

    /// The folder of heads.
    fn folder(&mut self, data: Option<&Path>) -> Result<&Path, Failure> {
        let data = data.map(Path::to_path_buf);
        Ok(kept(&mut self.folder, &data, || sample::HeadsFolder::new(data.as_deref()))?.path())
    }

    /// Loads heads.
    pub fn heads(&mut self, of: &HeadsOf) -> Result<&Heads, Failure> {
        let folder = self.folder(of.data.as_deref())?.to_path_buf();
        kept(&mut self.heads, of, || {
            Heads::load(&folder, of.every).map_err(|e| Failure::input(format!("--data: {e}")))
        })
    }

    /// Area, timing and, if it is the cost, power of a core, mapped by a flow and running on heads of a folder.
    pub fn measured(
        &mut self,
        core: &CoreConfig,
        cost: Cost,
        cycles: usize,
        (flow, data): (&FlowOf, Option<&Path>),
        bar: &ProgressBar,
    ) -> Result<MeasuredCore, Failure> {
        let data = self.folder(data)?.to_path_buf();
        let flow = self.flow(flow)?;
        bar.set_prefix(core.name());
        let (figures, mapped) = map(flow, &core.clone().into(), bar)?;
        let meets_clock = figures.timing.slack >= 0.0;
        // Where they are the cost, whatever it takes.
        let glitches = (cost == Cost::Glitches).then_some(GLITCH_CYCLES);
        let cycles = SimulatedCycles { each: cycles, glitches };
        let power = match cost {
            Cost::Power | Cost::Glitches if meets_clock => {
                Some(power(flow, (&figures, &mapped), cycles, &data, bar)?)
            }
            _ => None,
        };
        Ok(MeasuredCore {
            area_um2: figures.area.total,
            nand2_equivalents: figures.area.nand2_equivalents,
            slack_ns: figures.timing.slack,
            meets_clock,
            power_mw: power.as_ref().map(|power| power.total),
            power_with_glitches_mw: power.and_then(|power| Some(power.glitches?.total)),
        })
    }

    /// Computes a part. Calls `done` after each core (for equal scores, after each core and seed); `bar` shows the current module.
    pub fn run(
        &mut self,
        part: &WorkPart,
        bar: &ProgressBar,
        done: &(dyn Fn() + Sync),
    ) -> Result<PartOutcome, Failure> {
        match part {
            WorkPart::Errors { cores, heads } => {
                let heads = self.heads(heads)?;
                let Some(first) = cores.first() else {
                    return Ok(PartOutcome::Errors { heads: heads.heads.len(), errors: Vec::new() });
                };
                let prepared = PreparedHeads::new(heads, first.encodings())
                    .map_err(|e| Failure::input(format!("--data: {e}")))?;
                let one = |core: &CoreConfig| {
                    let errors = prepared.errors(core);
                    done();
                    errors.map_err(|e| Failure::input(format!("{}: {e}", core.name())))
                };
                let errors = cores.iter().map(one).collect::<Result<_, _>>()?;
                Ok(PartOutcome::Errors { heads: heads.heads.len(), errors })
            }
            WorkPart::EqualScores { cores } => {
                let Some(first) = cores.first() else {
                    return Ok(PartOutcome::EqualScores { errors: Vec::new() });
                };
                let all = equal::errors(first.encodings(), cores, &[equal::KEYS], &|| done())
                    .map_err(|e| Failure::input(e.to_string()))?;
                Ok(PartOutcome::EqualScores { errors: all.into_iter().map(|of_core| of_core[0]).collect() })
            }
            WorkPart::Measured { core, cost, cycles, flow, data } => {
                let measured = self.measured(core, *cost, *cycles, (flow, data.as_deref()), bar)?;
                done();
                Ok(PartOutcome::Measured { library: self.flow(flow)?.library.cells.name.clone(), measured })
            }
        }
    }
}

/// A value that was made for a key, made again for another key.
fn kept<'a, K: PartialEq + Clone, T>(
    place: &'a mut Option<(K, T)>,
    key: &K,
    make: impl FnOnce() -> Result<T, Failure>,
) -> Result<&'a T, Failure> {
    let value = match place.take() {
        Some((found, value)) if found == *key => value,
        _ => make()?,
    };
    Ok(&place.insert((key.clone(), value)).1)
}

/// Results of cores, by their names.
#[derive(Default)]
pub struct Known {
    pub heads: usize,
    pub library: Option<String>,
    pub errors: BTreeMap<String, TraceErrors>,
    pub equal: BTreeMap<String, f64>,
    pub measured: BTreeMap<String, MeasuredCore>,
}

impl Known {
    /// Takes what came of a part; in whatever order parts are done, the same is known in the end.
    ///
    /// # Errors
    /// An outcome of another part.
    pub fn add(&mut self, part: &WorkPart, outcome: PartOutcome) -> Result<(), Failure> {
        let names = |cores: &[CoreConfig]| cores.iter().map(CoreConfig::name).collect::<Vec<_>>();
        match (part, outcome) {
            (WorkPart::Errors { cores, .. }, PartOutcome::Errors { heads, errors })
                if cores.len() == errors.len() =>
            {
                self.heads = heads;
                self.errors.extend(names(cores).into_iter().zip(errors));
            }
            (WorkPart::EqualScores { cores }, PartOutcome::EqualScores { errors })
                if cores.len() == errors.len() =>
            {
                self.equal.extend(names(cores).into_iter().zip(errors));
            }
            (WorkPart::Measured { core, .. }, PartOutcome::Measured { library, measured }) => {
                self.library = Some(library);
                self.measured.insert(core.name(), measured);
            }
            _ => return Err(Failure::input("a result of an exploration is that of another part")),
        }
        Ok(())
    }
}
