//! Cells that are no gates for logic, whatever their functions are.

use super::parse::LibertyGroup;
use super::values::is_true;
use std::collections::HashSet;

/// Attributes of cells that are no gates for logic: of other supplies, of pads and macros, or for other programs.
const SPECIAL: [&str; 18] = [
    "dont_use",
    "dont_touch",
    "always_on",
    "is_isolation_cell",
    "is_clock_isolation_cell",
    "is_level_shifter",
    "is_macro_cell",
    "is_memory_cell",
    "is_pad",
    "pad_cell",
    "auxiliary_pad_cell",
    "is_filler_cell",
    "is_decap_cell",
    "is_tap_cell",
    "is_analog",
    "is_pll_cell",
    "is_three_state",
    "use_for_size_only",
];
/// Attributes that name a special kind.
const NAMED: [&str; 3] = ["switch_cell_type", "retention_cell", "power_gating_cell"];
/// Part of the names of SkyWater's cells for second supplies; some differ from gates by their names alone.
const LOW_POWER: &str = "lpflow";

/// Whether a cell is no gate for logic, whatever its functions are.
pub(super) fn is_special(group: &LibertyGroup) -> bool {
    let special = SPECIAL.iter().any(|name| is_true(group, name))
        || NAMED.iter().any(|name| group.attribute(name).is_some())
        || group.name().contains(LOW_POWER);
    special || has_second_supply(group) || group.all("pin").any(is_special_pin)
}

/// Pins of isolation cells, level shifters and pads.
fn is_special_pin(pin: &LibertyGroup) -> bool {
    let roles =
        ["isolation_cell_enable_pin", "isolation_cell_data_pin", "level_shifter_enable_pin", "is_pad"];
    roles.iter().any(|name| is_true(pin, name))
}

/// Whether a cell has more than a supply and a ground, or pins of other ones.
fn has_second_supply(group: &LibertyGroup) -> bool {
    let supplies = |kinds: &[&str]| -> HashSet<&str> {
        let of_kind = |pin: &&LibertyGroup| kinds.contains(&pin.value("pg_type").unwrap_or_default());
        let names = group.all("pg_pin").filter(of_kind);
        names.flat_map(|pin| pin.names.iter().map(String::as_str)).collect()
    };
    let related = |attribute: &str| -> HashSet<&str> {
        group.all("pin").filter_map(|pin| pin.value(attribute)).collect()
    };
    ["power", "ground"].iter().any(|kind| {
        let others = [format!("backup_{kind}"), format!("internal_{kind}")];
        let primary = format!("primary_{kind}");
        supplies(&[&primary]).len() > 1
            || !supplies(&[&others[0], &others[1]]).is_empty()
            || related(&format!("related_{kind}_pin")).len() > 1
    })
}
