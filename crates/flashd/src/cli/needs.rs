//! Flags that mean something only beside another one.

use crate::output::Failure;
use clap::ArgMatches;
use clap::parser::ValueSource;

/// Command, flag, and the flags of which it needs one. clap's `requires` does not hold where the needed flag conflicts with a third one that
/// is given: then it could not be added, and the flag would be ignored.
const NEEDS: [(&str, &str, &[&str]); 21] = [
    ("accuracy", "alibi", &["no_lengths"]),
    ("accuracy", "sink", &["no_lengths"]),
    ("generate", "beat", &["wrapper"]),
    ("generate", "values", &["wrapper"]),
    ("generate", "seed", &["testbench"]),
    ("generate", "keys", &["testbench"]),
    ("simulate", "beat", &["wrapper"]),
    ("simulate", "values", &["wrapper"]),
    ("simulate", "memory", &["wrapper"]),
    ("simulate", "data", &["results"]),
    ("simulate", "results", &["data"]),
    ("simulate", "signals", &WAVES),
    ("simulate", "from", &WINDOWS),
    ("simulate", "to", &WINDOWS),
    ("units", "first", &["pairs"]),
    ("units", "count", &["pairs"]),
    ("check-random", "generate_only", &["out"]),
    ("list", "d", &["variants"]),
    ("llm", "tokens", &["text"]),
    ("traffic", "br", &["bc"]),
    ("traffic", "bc", &["br"]),
];

/// The flags that write waves, and those that write what happens in a window of cycles.
const WAVES: [&str; 2] = ["vcd", "fst"];
const WINDOWS: [&str; 3] = ["vcd", "fst", "pipeline"];

/// Refuses a flag whose other flag is missing.
pub fn check(matches: &ArgMatches) -> Result<(), Failure> {
    let Some((command, matches)) = matches.subcommand() else { return Ok(()) };
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
