//! Figures of a core after synthesis, timing and power.

use crate::Target;
use flashd_spec::config::{ArrayConfig, CoreConfig};
use flashd_spec::machine::Machine;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

/// Function of a part of a core, by which area and power are added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CorePart {
    /// Products and adder tree.
    DotProduct,
    /// FLASH-D's weight unit; FA2's maximum, exponential and running sum.
    Weight,
    /// The lanes without their final scale: `o <- ...`.
    OutputUpdate,
    /// FA2's reciprocal and final scale.
    Division,
    /// Query register, flags, special values.
    Control,
}

impl CorePart {
    /// All of them, in the order of a report.
    pub const ALL: [CorePart; 5] = [
        CorePart::DotProduct,
        CorePart::Weight,
        CorePart::OutputUpdate,
        CorePart::Division,
        CorePart::Control,
    ];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            CorePart::DotProduct => "dot product",
            CorePart::Weight => "score, weight, sum",
            CorePart::OutputUpdate => "output update",
            CorePart::Division => "division",
            CorePart::Control => "query register, control",
        }
    }

    /// This part's share of figures by function, 0 if it has none.
    pub fn of(self, values: &[(CorePart, f64)]) -> f64 {
        // Not `sum`, which is -0 of nothing.
        values.iter().filter(|(part, _)| *part == self).fold(0.0, |sum, (_, value)| sum + value)
    }
}

/// Area of one core in one library.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AreaFigures {
    /// Whole core, um2.
    pub total: f64,
    /// `total` in areas of the library's smallest two-input NAND.
    pub nand2_equivalents: f64,
    /// That NAND's cell name.
    pub nand2: String,
    /// Cells in the whole core.
    pub cells: u64,
    /// Flip-flops among them.
    pub flip_flops: u64,
    /// Area of the flip-flops, um2.
    pub flip_flop_area: f64,
    /// By function, um2; adds up to `total`. Empty for a core whose hierarchy was dissolved.
    pub by_part: Vec<(CorePart, f64)>,
    /// Distinct modules, largest total first.
    pub by_module: Vec<ModuleArea>,
}

/// Area of one distinct module.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ModuleArea {
    /// Name of the module.
    pub name: String,
    /// Instances in the core.
    pub instances: u64,
    /// One instance without its submodules, um2.
    pub own: f64,
    /// Cells of one instance without its submodules.
    pub cells: u64,
    /// Which mapping was chosen, in words.
    pub mapping: String,
}

/// Timing of one core in one library.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TimingFigures {
    /// Clock asked for, ns; the shortest period if none was.
    pub clock: f64,
    /// Worst slack at that clock, ns: negative if the mapping misses it. The clock is ideal.
    pub slack: f64,
    /// The shortest period, ns: only of a core that was mapped for speed, without a clock asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shortest_period: Option<f64>,
    /// Wire capacitance of nets, in words.
    pub wires: String,
    /// Start and end of the worst path.
    pub path: WorstPath,
}

/// The worst path in words.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WorstPath {
    /// Register or port where it starts.
    pub from: String,
    /// Register or port where it ends.
    pub to: String,
    /// Module instances that it crosses, in order, with the delay spent in each, ns; the top under the core's
    /// name.
    pub through: Vec<(String, f64)>,
    /// Gates on it.
    pub gates: usize,
}

/// Power of one core in one library by a simulation without delays, so without glitches; optionally also with them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PowerFigures {
    /// Clock, MHz.
    pub clock: f64,
    /// Cycles simulated, over all parallel streams.
    pub cycles: u64,
    /// The simulated workload, in words.
    pub workload: String,
    /// Charging of nets, mW.
    pub switching: f64,
    /// Inside cells, mW, clock pins included.
    pub internal: f64,
    /// Charging of the clock net's pins, mW.
    pub clock_net: f64,
    /// Leakage, mW.
    pub leakage: f64,
    /// Sum of the above, mW.
    pub total: f64,
    /// By function, mW; adds up to `total`.
    pub by_part: Vec<(CorePart, f64)>,
    /// Toggles per net and cycle.
    pub activity: f64,
    /// The netlist's outputs agreed with the bit-exact model in this many comparisons.
    pub outputs_checked: u64,
    /// Part of the steps that read no value, 0 to 1.
    #[serde(default)]
    pub held: f64,
    /// The same with glitches, if they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub glitches: Option<GlitchFigures>,
}

/// Power with glitches: every net's toggles with the delays of the library, in a sample of the cycles.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GlitchFigures {
    /// Cycles simulated with delays, evenly over all streams.
    pub cycles: u64,
    /// Charging of nets, mW.
    pub switching: f64,
    /// Inside cells, mW, clock pins included.
    pub internal: f64,
    /// Charging of the clock net's pins, mW.
    pub clock_net: f64,
    /// Leakage, mW.
    pub leakage: f64,
    /// Sum of the above, mW.
    pub total: f64,
    /// By function, mW; adds up to `total`.
    pub by_part: Vec<(CorePart, f64)>,
    /// Toggles per net and cycle.
    pub activity: f64,
    /// `total` of the same cycles without delays, mW.
    pub zero_delay: f64,
    /// Longest time from a clock edge until everything was at rest, ns.
    pub settled: f64,
    /// Energy with each head.
    pub heads: Vec<HeadEnergy>,
}

/// Energy of a clock cycle with one head on the inputs, pJ.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HeadEnergy {
    /// Name of the head.
    pub name: String,
    /// Cycles simulated.
    pub cycles: u64,
    /// Without delays.
    pub zero_delay: f64,
    /// With delays.
    pub glitches: f64,
}

impl GlitchFigures {
    /// Ratio to the power without glitches, in the same cycles.
    pub fn factor(&self) -> f64 {
        self.total / self.zero_delay
    }

    /// Mean and standard deviation of the energy with each head, pJ.
    pub fn spread(&self) -> (f64, f64) {
        let heads = self.heads.len().max(1) as f64;
        let mean = self.heads.iter().map(|head| head.glitches).sum::<f64>() / heads;
        let squares: f64 = self.heads.iter().map(|head| (head.glitches - mean).powi(2)).sum();
        (mean, (squares / (heads - 1.0).max(1.0)).sqrt())
    }
}

impl PowerFigures {
    /// As [`PowerFigures::energy`], with glitches; `None` if they were not asked for.
    pub fn glitch_energy(&self) -> Option<f64> {
        self.glitches.as_ref().map(|glitches| 1e3 * glitches.total / self.clock)
    }

    /// Energy of a clock cycle, in which the core takes one key, pJ: power times period. Unlike power it can be
    /// compared between cores at different clocks.
    pub fn energy(&self) -> f64 {
        // mW / MHz = nJ.
        1e3 * self.total / self.clock
    }
}

/// Tools, library and options of the figures. Cores are compared only if all of them agree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FiguresRun {
    /// Version of this program.
    pub flashd: String,
    /// Version of Yosys.
    pub yosys: String,
    /// Version of OpenSTA.
    pub opensta: String,
    /// Name of the Liberty file, without its folder.
    pub library_file: String,
    /// SHA-256 of that file as it is on the disk, packed or not, in hexadecimal.
    pub library_sha256: String,
    /// Whether the library was the default.
    pub default_library: bool,
    /// Patterns of the excluded cells.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dont_use: Vec<String>,
    /// Clock period asked for, ns; the shortest possible if none was.
    pub clock: Option<f64>,
    /// External delay of every port but the clock, as a share of the period.
    #[serde(default)]
    pub external_share: f64,
    /// Whether the hierarchy was dissolved.
    pub flat: bool,
    /// Whether clock gates took the place of enables.
    #[serde(default)]
    pub clock_gates: bool,
    /// Cycles that each of the streams was simulated for; 0 without power figures.
    pub cycles: usize,
    /// Cycles asked to be simulated with delays; `None`: the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub glitches: Option<usize>,
    /// Folder of the heads of the power figures: as given if relative, else its last part.
    pub data: Option<String>,
}

/// Shape of an array of cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArrayShape {
    /// Cores, which share keys and values.
    pub queries: usize,
    /// Width of a key's place in its block, where it is not the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_index_bits: Option<u32>,
    /// Queries that take turns in a core.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub interleave: usize,
}

fn one() -> usize {
    1
}

fn is_one(interleave: &usize) -> bool {
    *interleave == 1
}

impl ArrayShape {
    /// The array of this shape of a core.
    pub fn array(self, core: CoreConfig) -> ArrayConfig {
        let ArrayShape { queries, key_index_bits, interleave } = self;
        ArrayConfig { core, queries, key_index_bits, interleave }
    }

    /// Shape of a target; none for a core.
    pub fn of(target: &Target) -> Option<ArrayShape> {
        match **target {
            Machine::Array(ArrayConfig { queries, key_index_bits, interleave, .. }) => {
                Some(ArrayShape { queries, key_index_bits, interleave })
            }
            _ => None,
        }
    }
}

/// A core or an array without figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FailedCore {
    /// Name of the core or array.
    pub core: String,
    /// Its configuration; for an array, its cores' configuration.
    pub configuration: CoreConfig,
    /// Shape of an array; none for a core.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<ArrayShape>,
    /// Name of the library, as its file gives it.
    pub library: String,
    /// Why there are no figures.
    pub error: String,
    /// Tools, library and options.
    pub run: FiguresRun,
}

/// Results of one run, or of several joined: in JSON one list, in which a core without figures has an `error`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Vec<FiguresEntry>", into = "Vec<FiguresEntry>")]
pub struct Measurements {
    /// Cores with figures.
    pub cores: Vec<CoreFigures>,
    /// Cores without.
    pub failed: Vec<FailedCore>,
}

/// One element of the list.
#[derive(Serialize)]
#[serde(untagged)]
enum FiguresEntry {
    Core(Box<CoreFigures>),
    Failed(Box<FailedCore>),
}

impl<'de> Deserialize<'de> for FiguresEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        let entry = match value.get("error") {
            Some(_) => serde_json::from_value(value).map(|failed| FiguresEntry::Failed(Box::new(failed))),
            None => serde_json::from_value(value).map(|core| FiguresEntry::Core(Box::new(core))),
        };
        entry.map_err(D::Error::custom)
    }
}

impl From<Vec<FiguresEntry>> for Measurements {
    fn from(entries: Vec<FiguresEntry>) -> Self {
        let mut all = Measurements::default();
        for entry in entries {
            match entry {
                FiguresEntry::Core(core) => all.cores.push(*core),
                FiguresEntry::Failed(failed) => all.failed.push(*failed),
            }
        }
        all
    }
}

impl From<Measurements> for Vec<FiguresEntry> {
    fn from(all: Measurements) -> Self {
        let cores = all.cores.into_iter().map(|core| FiguresEntry::Core(Box::new(core)));
        cores.chain(all.failed.into_iter().map(|failed| FiguresEntry::Failed(Box::new(failed)))).collect()
    }
}

/// Everything about one core, or one array, in one library.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CoreFigures {
    /// Name of the core or array.
    pub core: String,
    /// Its configuration; for an array, its cores' configuration.
    pub configuration: CoreConfig,
    /// Shape of an array; none for a core.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<ArrayShape>,
    /// Name of the library, as its file gives it.
    pub library: String,
    /// Area after mapping.
    pub area: AreaFigures,
    /// Timing of the mapped netlist.
    pub timing: TimingFigures,
    /// Power, if asked for.
    pub power: Option<PowerFigures>,
    /// Tools, library and options.
    pub run: FiguresRun,
}

impl CoreFigures {
    /// The measured core or array.
    pub fn target(&self) -> Target {
        let core = self.configuration.clone();
        match self.array {
            None => core.into(),
            Some(shape) => shape.array(core).into(),
        }
    }
}
