//! What waves are of.

use super::layout::{Group, Look, Row, stages};
use super::signals::{ARRAY, CORE, MOVES, Signal, list, list_with_cores};
use flashd_hwmodel::{array, catalogue, split, wrapper};
use flashd_spec::config::{ArrayConfig, ConfigError, CoreConfig, SplitConfig, WrapperConfig};

/// A design whose run is recorded.
#[derive(Clone, Copy, Debug)]
pub enum WaveDesign<'a> {
    /// A core.
    Core(&'a CoreConfig),
    /// Cores that share keys.
    Array(&'a ArrayConfig),
    /// Cores that share a query, and their tree.
    Split(&'a SplitConfig),
    /// An array behind streams.
    Wrapper(&'a WrapperConfig),
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

impl<'a> From<&'a WrapperConfig> for WaveDesign<'a> {
    fn from(config: &'a WrapperConfig) -> Self {
        WaveDesign::Wrapper(config)
    }
}

impl WaveDesign<'_> {
    /// Its module's name.
    pub(super) fn name(self) -> String {
        match self {
            WaveDesign::Core(config) => config.name(),
            WaveDesign::Array(config) => config.name(),
            WaveDesign::Split(config) => config.name(),
            WaveDesign::Wrapper(config) => config.name(),
        }
    }

    /// The core, or each of the cores.
    pub(super) fn core(&self) -> &CoreConfig {
        match self {
            WaveDesign::Core(config) => config,
            WaveDesign::Array(config) => &config.core,
            WaveDesign::Split(config) => &config.core,
            WaveDesign::Wrapper(config) => &config.array.core,
        }
    }

    /// All signals. The design is made for this alone: that of the run does not exist yet, and has the same in the same order.
    pub(super) fn signals(self) -> Result<Vec<Signal>, ConfigError> {
        let name = self.name();
        Ok(match self {
            WaveDesign::Core(config) => list(&name, &catalogue::build(config)?),
            WaveDesign::Array(config) => list_with_cores(&name, &array::build(config)?),
            WaveDesign::Split(config) => list_with_cores(&name, &split::build(config)?),
            WaveDesign::Wrapper(config) => list_with_cores(&name, &wrapper::build(config)?),
        })
    }

    /// The stages of a core; of several: the ports around them, and the stages of the first; of a wrapper its streams before those.
    pub(super) fn layout(self) -> Vec<Group> {
        let of_core = stages(self.core());
        let ports = match self {
            WaveDesign::Core(_) => return of_core,
            WaveDesign::Wrapper(config) => {
                let array = WaveDesign::Array(&config.array).layout().into_iter().map(in_array);
                return [streams()].into_iter().chain(array).collect();
            }
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

/// Handshakes at the ports of a wrapper, in the order of its packets, and when its array moves.
const STREAMS: [&str; 16] = [
    "aclk",
    "aresetn",
    "s_axis_q_tvalid",
    "s_axis_q_tready",
    "s_axis_q_tlast",
    "s_axis_k_tvalid",
    "s_axis_k_tready",
    "s_axis_k_tlast",
    "m_axis_vreq_tvalid_0",
    "m_axis_vreq_tready_0",
    "s_axis_v_tvalid",
    "s_axis_v_tready",
    "m_axis_o_tvalid",
    "m_axis_o_tready",
    "m_axis_o_tlast",
    MOVES,
];

/// A wrapper's streams; those that it does not have are left out.
fn streams() -> Group {
    let row = |path: &str, label: &str| Row { label: label.into(), path: path.into(), look: Look::Bits };
    let rows = STREAMS.iter().map(|&name| row(name, if name == MOVES { "the array moves" } else { name }));
    let data = ["m_axis_vreq_tdata_0", "m_axis_o_tuser"].into_iter().map(|name| row(name, name));
    Group { title: "Wrapper: streams".into(), rows: rows.chain(data).collect(), folds: Vec::new() }
}

/// What is shown of an array, in a wrapper.
fn in_array(group: Group) -> Group {
    let rows = |rows: Vec<Row>| -> Vec<Row> {
        rows.into_iter().map(|row| Row { path: format!("{ARRAY}{}", row.path), ..row }).collect()
    };
    Group {
        rows: rows(group.rows),
        folds: group.folds.into_iter().map(|(title, folded)| (title, rows(folded))).collect(),
        ..group
    }
}

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
