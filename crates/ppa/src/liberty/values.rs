//! Numbers and units as Liberty spells them.

use super::Units;
use super::parse::LibertyGroup;

/// A problem with the content, in words.
pub(super) type Problem = String;

/// A number with a unit in one text (`1ns`, `100pW`) or in two (`1`, `pf`), in SI units.
fn unit(attribute: &str, text: &[String]) -> Result<f64, Problem> {
    let joined = text.concat().replace(char::is_whitespace, "");
    let digits = joined
        .find(|c: char| c.is_ascii_alphabetic() && c != 'e' && c != 'E')
        .ok_or_else(|| format!("{attribute} is \"{joined}\", which has no unit"))?;
    let number: f64 = match &joined[..digits] {
        "" => 1.0,
        number => number.parse().map_err(|_| format!("{attribute}: \"{number}\" is not a number"))?,
    };
    let letters = &joined[digits..];
    let scale = match (letters.len(), letters.as_bytes()[0]) {
        (1, _) => 1.0,
        (_, b'f' | b'F') => 1e-15,
        (_, b'p' | b'P') => 1e-12,
        (_, b'n' | b'N') => 1e-9,
        (_, b'u' | b'U') => 1e-6,
        (_, b'm') => 1e-3,
        _ => return Err(format!("{attribute}: \"{letters}\" is not a unit with prefix f, p, n, u or m")),
    };
    match number * scale {
        unit if unit > 0.0 && unit.is_finite() => Ok(unit),
        _ => Err(format!("{attribute} is \"{joined}\"; a unit above 0 is needed")),
    }
}

/// Units of time, s.
const TIMES: [f64; 4] = [1e-12, 1e-11, 1e-10, 1e-9];

pub(super) fn units(root: &LibertyGroup) -> Result<Units, Problem> {
    // The defaults of the format.
    let or_default = |name: &'static str, default: f64| match root.attribute(name) {
        Some(a) => unit(name, &a.values).map_err(|problem| format!("line {}: {problem}", a.line)),
        None => Ok(default),
    };
    let capacitance = match root.attribute("capacitive_load_unit") {
        Some(_) => or_default("capacitive_load_unit", 0.0)?,
        None => return Err("has no capacitive_load_unit, without which capacitances mean nothing".into()),
    };
    let time = or_default("time_unit", 1e-9)?;
    if !TIMES.iter().any(|known| (time / known - 1.0).abs() < 1e-9) {
        let line = root.attribute("time_unit").map_or(1, |a| a.line);
        return Err(format!("line {line}: time_unit: Liberty has 1ps, 10ps, 100ps and 1ns"));
    }
    Ok(Units {
        time,
        voltage: or_default("voltage_unit", 1.0)?,
        capacitance,
        leakage: or_default("leakage_power_unit", 1e-9)?,
    })
}

pub(super) fn number(name: &str, text: &str) -> Result<f64, Problem> {
    let number = text.trim().parse().ok().filter(|number: &f64| number.is_finite());
    number.ok_or_else(|| format!("{name}: \"{text}\" is not a number"))
}

pub(super) fn numbers(name: &str, texts: &[String]) -> Result<Vec<f64>, Problem> {
    texts
        .iter()
        .flat_map(|text| text.split([',', ' ', '\t', '\n', '\r']))
        .filter(|text| !text.is_empty())
        .map(|text| number(name, text))
        .collect()
}

pub(super) fn optional(group: &LibertyGroup, name: &str) -> Result<Option<f64>, Problem> {
    let Some(attribute) = group.attribute(name) else { return Ok(None) };
    let text = attribute.values.first().map_or("", String::as_str);
    number(name, text).map(Some).map_err(|problem| format!("line {}: {problem}", attribute.line))
}

/// Whether an attribute is true, with quotes or without.
pub(super) fn is_true(group: &LibertyGroup, name: &str) -> bool {
    group.value(name).is_some_and(|text| text.trim().eq_ignore_ascii_case("true"))
}
