//! Which ports start or end at registers, and the logic at the others: tables for the pages of ports, computed from the designs.

use super::{header, row};
use flashd_generator::{PortPaths, port_paths};
use flashd_hwmodel::rtl::Circuit;
use flashd_hwmodel::{array, catalogue, split, wrapper};
use flashd_spec::config::{
    ArrayConfig, ConfigError, CoreConfig, Design, Fa2Variant, FlashDVariant, SplitConfig, WrapperConfig,
};
use flashd_spec::format::Format;
use flashd_spec::ports::Port;

/// The vector length of the designs in the tables.
const D: usize = 16;
/// Queries of an array, and parts of a split.
const WIDE: usize = 4;

fn shipped(design: Design) -> CoreConfig {
    CoreConfig::new(design, D, Format::BF16)
}

/// The shipped core, then cores with the ports that it does not have.
pub(super) fn core() -> String {
    let of = |design| {
        let core = shipped(design);
        let optional = CoreConfig { masks: true, partial: true, bias: true, ..core.clone() };
        let fixed = match design {
            Design::FlashD => FlashDVariant::Fixed.into(),
            Design::Fa2 => Fa2Variant::LogReference.into(),
        };
        let cores = [core.clone(), optional, CoreConfig { datapath: fixed, ..core }];
        cores.iter().map(catalogue::build).collect()
    };
    table(of)
}

pub(super) fn array() -> String {
    table(|design| vec![array::build(&ArrayConfig::new(shipped(design), WIDE))])
}

pub(super) fn split() -> String {
    table(|design| vec![split::build(&SplitConfig::new(shipped(design), WIDE))])
}

pub(super) fn wrapper() -> String {
    table(|design| vec![wrapper::build(&WrapperConfig::new(ArrayConfig::new(shipped(design), WIDE)))])
}

/// A port with its paths in a core of each design; none where the design does not have it.
struct PathsRow {
    name: String,
    output: bool,
    paths: [Option<PortPaths>; 2],
}

/// A row for each port of the designs' circuits, where a later circuit adds the ports that those before do not have.
fn table(circuits: impl Fn(Design) -> Vec<Result<Circuit, ConfigError>>) -> String {
    let mut rows: Vec<PathsRow> = Vec::new();
    for (place, design) in Design::ALL.into_iter().enumerate() {
        // The configurations are constants, and a test writes the tables.
        for circuit in circuits(design).into_iter().flatten() {
            for (port, paths) in port_paths(&circuit) {
                let at = rows.iter().position(|row| row.name == port.name).unwrap_or_else(|| {
                    rows.push(PathsRow { name: port.name, output: port.output, paths: [None, None] });
                    rows.len() - 1
                });
                rows[at].paths[place].get_or_insert(paths);
            }
        }
    }
    let meaning = |name: &str| Port::of_name(name).map(|port| port.row().meaning);
    // The streams of a wrapper are described with it.
    let described = rows.iter().all(|row| meaning(&row.name).is_some());
    let columns =
        [Some("port"), Some("direction"), described.then_some("meaning"), Some("FLASH-D"), Some("FA2")];
    let mut text = header(&columns.into_iter().flatten().collect::<Vec<_>>());
    for PathsRow { name, output, paths } in rows {
        let direction = if output { "out" } else { "in" };
        let [flash_d, fa2] =
            paths.map(|paths| paths.map_or_else(|| "-".into(), |paths| words(output, &paths)));
        let meaning = meaning(&name).filter(|_| described).map(str::to_string);
        let cells = [Some(format!("`{name}`")), Some(direction.into()), meaning, Some(flash_d), Some(fa2)];
        text += &row(&cells.into_iter().flatten().collect::<Vec<_>>());
    }
    text
}

fn words(output: bool, paths: &PortPaths) -> String {
    if paths.registered {
        return "register".into();
    }
    let listed = |names: &[String]| -> String {
        names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
    };
    let mut parts = Vec::new();
    if !paths.logic.is_empty() {
        parts.push(listed(&paths.logic));
    }
    if !paths.feedthrough.is_empty() {
        let way = if output { "depends on" } else { "reaches" };
        parts.push(format!("{way} {}", listed(&paths.feedthrough)));
    }
    parts.join("; ")
}
