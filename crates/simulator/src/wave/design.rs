//! The machines that waves show: their signals, and the groups of the save file.

use super::layout::{Group, Look, Row, stages};
use super::signals::{ARRAY, CORE, MOVES, Signal, list, list_with_cores};
use flashd_spec::config::ConfigError;
use flashd_spec::machine::Machine;

/// All signals, from a design that is built for this alone: the run's design does not exist yet, and has the same signals in the
/// same order.
pub(super) fn signals(machine: &Machine) -> Result<Vec<Signal>, ConfigError> {
    let (name, design) = (machine.name(), flashd_hwmodel::build(machine)?);
    Ok(match machine {
        Machine::Core(_) => list(&name, &design),
        _ => list_with_cores(&name, &design),
    })
}

/// The stages of a core; of several: the ports around them, and the stages of the first; of a wrapper its streams before those.
pub(super) fn layout(machine: &Machine) -> Vec<Group> {
    let of_core = stages(machine.core());
    let d = machine.core().port_words().k;
    let ports = match machine {
        Machine::Core(_) => return of_core,
        Machine::Wrapper(config) => {
            let array = layout(&(&config.array).into()).into_iter().map(in_array);
            return [streams()].into_iter().chain(array).collect();
        }
        Machine::Array(_) => around("Array: ports", &ARRAY_FLAGS, d, 1),
        Machine::Split(config) => around("Split: ports", &SPLIT_FLAGS, d, config.parts),
    };
    [ports].into_iter().chain(of_core.into_iter().map(in_first_core)).collect()
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

/// A wrapper's streams; absent ones are left out.
fn streams() -> Group {
    let row = |path: &str, label: &str| Row { label: label.into(), path: path.into(), look: Look::Bits };
    let rows = STREAMS.iter().map(|&name| row(name, if name == MOVES { "the array moves" } else { name }));
    let data = ["m_axis_vreq_tdata_0", "m_axis_o_tuser"].into_iter().map(|name| row(name, name));
    Group { title: "Wrapper: streams".into(), rows: rows.chain(data).collect(), folds: Vec::new() }
}

/// Rows of an array inside a wrapper.
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
