//! A library as the tools get it: the cells that may be used, in the plainest syntax.
//!
//! Yosys, its ABC and OpenSTA have different parsers, and each knows another part of Liberty. So they get the output of this program's
//! parser: units in a spelling that all of them read, functions with all parentheses, one attribute on a line.

use super::parse::{Attribute, LibertyGroup, SyntaxError, parse};
use super::{Expression, Library, Units};

/// Attributes that are Boolean functions of pins.
const FUNCTIONS: [&str; 6] = ["function", "next_state", "clocked_on", "clear", "preset", "three_state"];

/// The text of a library without the cells that no tool may use.
///
/// # Errors
/// A text that is not Liberty.
pub(super) fn prepared(text: &str, library: &Library) -> Result<String, SyntaxError> {
    let mut root = parse(text)?;
    root.attributes.retain(|attribute| !UNITS.contains(&attribute.name.as_str()));
    root.groups.retain(|group| group.kind != "cell" || is_shown(group, library));
    let mut out = String::new();
    out += &format!("library ({}) {{\n", name(root.name()));
    out += &units(&library.units);
    body(&mut out, &root, 1);
    out += "}\n";
    Ok(out)
}

/// Whether the tools see a cell. Latches and three-state cells they map nothing to; but ABC chooses between equally good gates by their
/// places among all cells, and without these cells figures would be other ones.
fn is_shown(group: &LibertyGroup, library: &Library) -> bool {
    let Some(cell) = library.cell(group.name()) else { return false };
    let ignored = group.all("latch").next().is_some() || cell.outputs().any(|pin| pin.three_state);
    let plain = group.groups.iter().all(|inner| !["bus", "bundle"].contains(&inner.kind.as_str()));
    cell.is_usable() || !cell.dont_use && ignored && plain
}

/// Units that are rewritten.
const UNITS: [&str; 2] = ["time_unit", "capacitive_load_unit"];

fn units(units: &Units) -> String {
    let picoseconds = (units.time * 1e12).round();
    let time = if picoseconds == 1e3 { "1ns".to_string() } else { format!("{picoseconds}ps") };
    // Nine digits: removes the rounding error of scaling in binary.
    let farads = |unit: f64| format!("{:.9e}", units.capacitance / unit).parse::<f64>().unwrap_or_default();
    let (number, unit) = match farads(1e-12) {
        picofarads if picofarads >= 1.0 => (picofarads, "pf"),
        _ => (farads(1e-15), "ff"),
    };
    format!("  time_unit : \"{time}\";\n  capacitive_load_unit ({number}, {unit});\n")
}

fn body(out: &mut String, group: &LibertyGroup, depth: usize) {
    let indent = "  ".repeat(depth);
    for attribute in &group.attributes {
        *out += &indent;
        *out += &statement(attribute);
    }
    for inner in &group.groups {
        let names: Vec<String> = inner.names.iter().map(|text| name(text)).collect();
        *out += &format!("{indent}{} ({}) {{\n", inner.kind, names.join(", "));
        body(out, inner, depth + 1);
        *out += &format!("{indent}}}\n");
    }
}

fn statement(attribute: &Attribute) -> String {
    let Attribute { name, values, quoted, simple, .. } = attribute;
    let written = |(value, quoted): (&String, &bool)| match quoted {
        true => string(value),
        false => value.clone(),
    };
    if !simple {
        let all: Vec<String> = values.iter().zip(quoted).map(written).collect();
        return format!("{name} ({});\n", all.join(", "));
    }
    let (Some(value), Some(quoted)) = (values.first(), quoted.first()) else { return String::new() };
    let value = match FUNCTIONS.contains(&name.as_str()).then(|| Expression::parse(value)) {
        Some(Ok(function)) => string(&function.to_string()),
        // Without a value an attribute would take the next line.
        _ if value.is_empty() => string(value),
        _ => written((value, quoted)),
    };
    format!("{name} : {value};\n")
}

fn string(value: &str) -> String {
    format!("\"{}\"", value.replace(['\r', '\n'], " "))
}

/// The name of a group, in quotes unless every tool takes it for a word.
fn name(text: &str) -> String {
    let is_word = !text.is_empty() && text.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_');
    if is_word { text.to_string() } else { string(text) }
}
