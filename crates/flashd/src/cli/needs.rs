//! Flags that depend on another one.

use crate::output::Failure;
use clap::ArgMatches;
use clap::parser::ValueSource;
use std::path::{Path, PathBuf};

/// Command, flag, and the flags of which it needs one. clap's `requires` does not hold where the needed flag conflicts with a third one that
/// is given: then it could not be added, and the flag would be ignored.
const NEEDS: [(&str, &str, &[&str]); 26] = [
    ("accuracy", "alibi", &["no_lengths"]),
    ("accuracy", "sink", &["no_lengths"]),
    ("generate", "beat", &WRAPPED),
    ("generate", "values", &WRAPPED),
    ("generate", "address_bits", &WRAPPED),
    ("generate", "in_flight", &WRAPPED),
    ("generate", "kv_buffer", &WRAPPED),
    ("generate", "seed", &["testbench"]),
    ("generate", "keys", &["testbench"]),
    ("simulate", "beat", &WRAPPED),
    ("simulate", "values", &WRAPPED),
    ("simulate", "address_bits", &WRAPPED),
    ("simulate", "in_flight", &WRAPPED),
    ("simulate", "kv_buffer", &WRAPPED),
    ("simulate", "memory_latency", &WRAPPED),
    ("simulate", "memory_gap", &WRAPPED),
    ("simulate", "job", &WRAPPED),
    ("simulate", "data", &["results"]),
    ("simulate", "results", &["data"]),
    ("simulate", "signals", &WAVES),
    ("simulate", "from", &WINDOWS),
    ("simulate", "to", &WINDOWS),
    ("list", "d", &["variants"]),
    ("llm", "tokens", &["text"]),
    ("traffic", "br", &["bc"]),
    ("traffic", "bc", &["br"]),
];

/// The flags that put something around an array: a file may have it, which `select::around` checks.
const WRAPPED: [&str; 2] = ["wrapper", "config"];

/// The flags that write waves, and the flags that record a window of cycles.
const WAVES: [&str; 2] = ["vcd", "fst"];
const WINDOWS: [&str; 3] = ["vcd", "fst", "pipeline"];

/// Flags that name a file to write.
const OUTPUTS: [&str; 9] =
    ["o", "vcd", "fst", "pipeline", "vectors", "histograms", "svg", "svg_rows", "html"];

/// Refuses a flag whose other flag is missing, and two outputs in one file.
pub fn check(matches: &ArgMatches) -> Result<(), Failure> {
    let Some((command, matches)) = matches.subcommand() else { return Ok(()) };
    one_output_each(matches)?;
    let given = |flag: &str| matches.value_source(flag) == Some(ValueSource::CommandLine);
    let missing = |(of, flag, needed): &&(&str, &str, &[&str])| {
        *of == command && given(flag) && !needed.iter().any(|flag| given(flag))
    };
    NEEDS.iter().find(missing).map_or(Ok(()), |(_, flag, needed)| {
        let name = |flag: &str| format!("--{}", flag.replace('_', "-"));
        let (flag, all) = (name(flag), needed.iter().map(|flag| name(flag)).collect::<Vec<_>>().join(" or "));
        let it = if needed.len() > 1 { "one of them" } else { "it" };
        Err(Failure::input(format!("{flag}: means nothing without {all}; add {it}, or leave {flag} out")))
    })
}

/// Refuses two outputs in one file, of which the second would replace the first. A device or a pipe takes both.
fn one_output_each(matches: &ArgMatches) -> Result<(), Failure> {
    let mut seen: Vec<(&str, PathBuf)> = Vec::new();
    for flag in OUTPUTS {
        let Ok(Some(path)) = matches.try_get_one::<PathBuf>(flag) else { continue };
        if path.exists() && !path.is_file() {
            continue;
        }
        let place = place(path);
        if let Some((other, _)) = seen.iter().find(|(_, other)| *other == place) {
            let name = |flag: &str| format!("--{}", flag.replace('_', "-"));
            return Err(Failure::input(format!(
                "{} {}: is the file of {}, too; name another",
                name(flag),
                path.display(),
                name(other)
            )));
        }
        seen.push((flag, place));
    }
    Ok(())
}

/// The canonical form of a path, if its folder exists.
fn place(path: &Path) -> PathBuf {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let whole = path.canonicalize().ok();
    whole
        .or_else(|| Some(folder.canonicalize().ok()?.join(path.file_name()?)))
        .unwrap_or_else(|| path.to_path_buf())
}
