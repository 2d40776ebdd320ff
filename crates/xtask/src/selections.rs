//! Designs of every kind, as flags of `flashd generate`.

use std::path::Path;
use std::process::Command;

/// Vector length of variants and options.
const D: usize = 8;
/// The format of what differs by options and not by arithmetic.
const FORMAT: &str = "fp8-e4m3";

/// Cores by their variants; what the options below are put to.
const CORES: [&str; 10] = [
    "flash-d",
    "flash-d --value-stage true",
    "flash-d --update rounded",
    "flash-d --update fused",
    "flash-d --weight paper",
    "fa2",
    "fa2 --fa2 separate-scale",
    "fa2 --fa2 fixed",
    "fa2 --fa2 log-reference",
    "fa2 --fa2 literal",
];

/// Options of every kind of design; those that a core does not have are refused, which is kept, too.
const OPTIONS: [&str; 14] = [
    "",
    "--masks",
    "--masks --value-latency 3",
    "--masks --partial",
    "--masks --partial --value-latency 3",
    "--queries 1",
    "--queries 3",
    "--queries 8 --masks",
    "--queries 4 --masks --key-index-bits 12",
    "--parts 2",
    "--parts 4 --value-latency 2",
    "--wrapper axis --queries 2 --beat 8 --values all",
    "--wrapper axis --queries 3 --beat 32 --masks",
    "--wrapper axis --queries 2",
];

const UNITS: [&str; 9] = ["add", "sub", "mul", "max", "sigmoid", "softplus", "ln", "exp", "reciprocal"];
const FORMATS: [&str; 5] = ["bf16", "fp8-e4m3", "fp8-e5m2", "fp16", "fp32"];

/// All selections: flags of `generate`, a line each.
///
/// # Errors
/// If the program does not list its cores.
pub fn all(flashd: &Path) -> Result<Vec<String>, String> {
    let mut lines = vec!["--all".to_string()];
    lines.extend(list(flashd, &["list", "--variants", "--d", &D.to_string()])?);
    for d in (2..=17).chain([32, 40]) {
        for design in ["flash-d", "fa2"] {
            lines.push(format!("--design {design} --d {d} --format {FORMAT}"));
        }
    }
    lines.extend(with_options());
    for unit in UNITS {
        lines.extend(FORMATS.map(|format| format!("--unit {unit} --format {format}")));
    }
    Ok(lines)
}

/// Every core with every kind of option: what waves are recorded of, too.
pub fn with_options() -> Vec<String> {
    let of =
        |core: &str| OPTIONS.map(|options| format!("--design {core} --d {D} --format {FORMAT} {options}"));
    CORES.iter().flat_map(|core| of(core)).collect()
}

fn list(flashd: &Path, arguments: &[&str]) -> Result<Vec<String>, String> {
    let output =
        Command::new(flashd).args(arguments).output().map_err(|e| format!("{}: {e}", flashd.display()))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).lines().map(String::from).collect()),
        false => Err(format!("{}: {}", flashd.display(), String::from_utf8_lossy(&output.stderr))),
    }
}
