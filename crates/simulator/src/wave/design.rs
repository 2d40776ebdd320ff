//! What waves are of.

use super::layout::{Group, Look, Row, stages};
use super::signals::{CORE, Signal, list, list_with_cores};
use flashd_hwmodel::{array, catalogue, split};
use flashd_spec::config::{ArrayConfig, ConfigError, CoreConfig, SplitConfig};

/// A design whose run is recorded.
#[derive(Clone, Copy, Debug)]
pub enum WaveDesign<'a> {
    /// A core.
    Core(&'a CoreConfig),
    /// Cores that share keys.
    Array(&'a ArrayConfig),
    /// Cores that share a query, and their tree.
    Split(&'a SplitConfig),
}

impl<'a> From<&'a CoreConfig> for WaveDesign<'a> {
    fn from(config: &'a CoreConfig) -> Self {
        WaveDesign::Core(config)
    }
}

impl<'a> From<&'a ArrayConfig> for WaveDesign<'a> {
    fn from(config: &'a ArrayConfig) -> Self {
        WaveDesign::Array(config)
    }
}

impl<'a> From<&'a SplitConfig> for WaveDesign<'a> {
    fn from(config: &'a SplitConfig) -> Self {
        WaveDesign::Split(config)
    }
}

impl WaveDesign<'_> {
    /// Its module's name.
    pub(super) fn name(self) -> String {
        match self {
            WaveDesign::Core(config) => config.name(),
            WaveDesign::Array(config) => config.name(),
            WaveDesign::Split(config) => config.name(),
        }
    }

    /// The core, or each of the cores.
    pub(super) fn core(&self) -> &CoreConfig {
        match self {
            WaveDesign::Core(config) => config,
            WaveDesign::Array(config) => &config.core,
            WaveDesign::Split(config) => &config.core,
        }
    }

    /// All signals. The design is made for this alone: that of the run does not exist yet, and has the same in the same order.
    pub(super) fn signals(self) -> Result<Vec<Signal>, ConfigError> {
        let name = self.name();
        Ok(match self {
            WaveDesign::Core(config) => list(&name, &catalogue::build(config)?),
            WaveDesign::Array(config) => list_with_cores(&name, &array::build(config)?),
            WaveDesign::Split(config) => list_with_cores(&name, &split::build(config)?),
        })
    }

    /// The stages of a core; of several: the ports around them, and the stages of the first.
    pub(super) fn layout(self) -> Vec<Group> {
        let of_core = stages(self.core());
        let ports = match self {
            WaveDesign::Core(_) => return of_core,
            WaveDesign::Array(config) => around("Array: ports", &ARRAY_FLAGS, config.core.port_words().k, 1),
            WaveDesign::Split(config) => {
                around("Split: ports", &SPLIT_FLAGS, config.core.port_words().k, config.parts)
            }
        };
        [ports].into_iter().chain(of_core.into_iter().map(in_first_core)).collect()
    }
}

/// Control at the ports of an array, in the order of its protocol.
const ARRAY_FLAGS: [&str; 14] = [
    "clk",
    "rst",
    "q_valid",
    "q_last",
    "q_ready",
    "k_valid",
    "k_last",
    "k_ready",
    "v_step",
    "v_ren",
    "o_valid",
    "o_index",
    "o_last",
    "o_invalid",
];
/// The same of a split.
const SPLIT_FLAGS: [&str; 8] =
    ["clk", "rst", "q_valid", "k_valid", "k_last", "v_step", "o_valid", "o_invalid"];

/// The ports of something made of cores: flags, then the first element of each vector, of keys in each of `parts`.
fn around(title: &str, flags: &[&str], d: usize, parts: usize) -> Group {
    let row = |look: Look, path: String| Row { label: path.clone(), path, look };
    let mut rows: Vec<Row> =
        flags.iter().chain(&["k_mask_0"]).map(|name| row(Look::Bits, name.to_string())).collect();
    rows.push(row(Look::Number, "q_0".into()));
    rows.extend((0..parts).map(|part| row(Look::Number, format!("k_{}", part * d))));
    rows.push(row(Look::Number, "o_0".into()));
    Group { title: title.into(), rows, folds: Vec::new() }
}

/// A stage of the first of several cores.
fn in_first_core(stage: Group) -> Group {
    let rows = |rows: Vec<Row>| -> Vec<Row> {
        rows.into_iter().map(|row| Row { path: format!("{CORE}0.{}", row.path), ..row }).collect()
    };
    Group {
        title: format!("Core 0: {}", stage.title),
        rows: rows(stage.rows),
        folds: stage.folds.into_iter().map(|(title, folded)| (title, rows(folded))).collect(),
    }
}
