//! Icarus Verilog.

use crate::failure::{Outcome, check};
use crate::process::{Said, command_in, limited, run};
use std::path::{Path, PathBuf};

/// Seconds of processor time of a simulation.
const SECONDS: u64 = 600;

/// Compiles a testbench in a folder and simulates it there with these plus arguments: the output of the compiler if it fails, or the
/// output of the simulation.
pub fn icarus(folder: &Path, top: &str, sources: &[PathBuf], plus: &[String]) -> Outcome<Said> {
    let mut compile = command_in(folder, "iverilog", ["-g2005", "-I.", "-s", top, "-o", "tb.vvp"]);
    compile.args(sources);
    let said = run(compile)?;
    if !said.ok() {
        return Ok(said);
    }
    let mut simulate = command_in(folder, "vvp", ["-n", "tb.vvp"]);
    simulate.args(plus);
    limited(simulate, Some(SECONDS))
}

/// The number of checks that a testbench has passed.
///
/// # Errors
/// If it has not passed, or compared nothing.
pub fn checks(said: &Said) -> Outcome<u64> {
    let verdict = said.text.lines().rfind(|line| line.starts_with("TEST ")).unwrap_or_default();
    let passed = verdict.strip_prefix("TEST PASSED: ").and_then(|rest| rest.strip_suffix(" checks"));
    match passed.and_then(|checks| checks.parse().ok()).filter(|_| said.ok()) {
        Some(checks) if checks > 0 => Ok(checks),
        _ => check(format!("testbench: {}", said.last(20))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_checks_that_were_made_pass() {
        let of = |text: &str| checks(&run(crate::process::command("echo", [text])).unwrap());
        assert_eq!(of("TEST PASSED: 12 checks").unwrap(), 12);
        for verdict in ["TEST PASSED: 0 checks", "TEST PASSED: checks", "TEST FAILED: no verdict", ""] {
            assert!(of(verdict).is_err(), "{verdict}");
        }
    }
}
