//! Miters, compared by ABC.

use crate::failure::{Outcome, with};
use crate::process::{Said, abc, yosys};
use std::path::Path;

/// What ABC says of a miter that is never true.
pub(super) const EQUIVALENT: &str = "Networks are equivalent";

/// Whether modules `old` and `new`, which a script of Yosys leaves, have the same outputs for all inputs: [`EQUIVALENT`] is then what
/// ABC says. `check` is a script that fails where their miter cannot be compared so; the seconds are of
/// processor time.
pub(super) fn miter(
    folder: &Path,
    both: &str,
    check: &str,
    yosys_seconds: Option<u64>,
    abc_seconds: u64,
) -> Outcome<Said> {
    let script = format!(
        "{both}; miter -equiv -flatten old new miter; hierarchy -top miter
         opt_clean -purge; {check}; techmap; aigmap; write_aiger miter.aig"
    );
    let miter = folder.join("miter.aig");
    if miter.exists() {
        std::fs::remove_file(&miter).map_err(with(miter.display()))?;
    }
    let said = yosys(folder, &["-q"], &script, yosys_seconds)?;
    if !said.ok() {
        return Ok(said);
    }
    abc(folder, "&r miter.aig; &cec -m", Some(abc_seconds))
}
