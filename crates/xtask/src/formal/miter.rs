//! Miters, compared by ABC.

use crate::failure::{Outcome, with};
use crate::process::{Said, command, limited, yosys_command};
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
    let said = limited(yosys_command(folder, &["-q"], &script), yosys_seconds)?;
    if !said.ok() {
        return Ok(said);
    }
    let mut abc = command("yosys-abc", ["-q", "&r miter.aig; &cec -m"]);
    abc.current_dir(folder);
    limited(abc, Some(abc_seconds))
}
