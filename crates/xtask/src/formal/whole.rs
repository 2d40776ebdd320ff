//! `cargo xtask equivalent --whole`: two texts of a design with its registers.

use super::miter::{EQUIVALENT, miter};
use super::stimuli;
use crate::failure::{Outcome, input, none};
use crate::guard;
use crate::process::{pool, quoted, yosys};
use crate::work::{self, read};
use rayon::prelude::*;
use std::path::{Path, PathBuf};

/// Seed of the stimuli.
const SEED: u32 = 1;

/// What became of a pair.
enum Verdict {
    /// The files are the same.
    Text,
    /// Proved, by which tool.
    Proved(&'static str),
    /// Not proved, and the same in this number of cycles of random stimuli.
    Alike(u32),
    /// Not proved, with the last output.
    Open(String),
}

/// Proves that designs which both folders have, in the folders below them as well, do the same in every cycle. Registers are matched by
/// their names: ABC compares D inputs and outputs as functions of registers and inputs; where some have other names, Yosys
/// looks for pairs by structure and proves the rest by induction; each step takes at most `seconds` of processor time. With `stimuli`, designs that are not proved run side by side for that number of cycles.
pub fn whole(
    old: &Path,
    new: &Path,
    names: &[String],
    jobs: Option<usize>,
    seconds: u64,
    stimuli: Option<u32>,
) -> Outcome {
    let designs: Vec<PathBuf> = (guard::names(new)?.into_iter())
        .filter(|path| {
            let name = work::name(path);
            let design = name.strip_suffix(".v");
            design.is_some_and(|design| {
                !design.ends_with("_tb") && (names.is_empty() || names.iter().any(|name| name == design))
            })
        })
        .collect();
    let (both, alone): (Vec<PathBuf>, Vec<PathBuf>) =
        designs.into_iter().partition(|path| old.join(path).exists());
    for path in &alone {
        println!("only in {}: {}", new.display(), path.display());
    }
    if both.is_empty() {
        return input(format!("{} and {} have no design in common", old.display(), new.display()));
    }
    let verdicts: Vec<Verdict> = pool(jobs)?.install(|| {
        let prove = |path: &PathBuf| -> Outcome<Verdict> {
            let verdict = compare(&old.join(path), &new.join(path), seconds, stimuli)?;
            let name = path.display();
            match &verdict {
                Verdict::Text => println!("same {name} (text)"),
                Verdict::Proved(tool) => println!("same {name} ({tool})"),
                Verdict::Alike(cycles) => println!("alike {name} ({cycles} cycles, no proof)"),
                Verdict::Open(said) => println!("{said}\nFAIL {name}"),
            }
            Ok(verdict)
        };
        both.par_iter().map(prove).collect::<Outcome<_>>()
    })?;
    let count = |kind: fn(&Verdict) -> bool| verdicts.iter().filter(|verdict| kind(verdict)).count();
    let open = count(|verdict| matches!(verdict, Verdict::Open(_)));
    println!(
        "{} designs: {} with one text, {} proved, {} alike under stimuli, {open} open; {} only in one",
        verdicts.len(),
        count(|verdict| matches!(verdict, Verdict::Text)),
        count(|verdict| matches!(verdict, Verdict::Proved(_))),
        count(|verdict| matches!(verdict, Verdict::Alike(_))),
        alone.len()
    );
    none(open, "designs are not shown to be the same")
}

/// Compares two files of a design.
fn compare(old: &Path, new: &Path, seconds: u64, stimuli: Option<u32>) -> Outcome<Verdict> {
    if read(old)? == read(new)? {
        return Ok(Verdict::Text);
    }
    let folder = work::temporary()?;
    let copy = |from: &Path, to: &str| work::write(&folder.path().join(to), &read(from)?);
    copy(old, "old.v")?;
    copy(new, "new.v")?;
    let side = |name: &str| {
        format!(
            "read_verilog {}; hierarchy -auto-top; rename -top {name}; proc -norom; flatten; memory_map; dffunmap; opt_clean
             design -stash {name}\n",
            quoted(Path::new(&format!("{name}.v")))
        )
    };
    let both = format!(
        "{}{}design -copy-from old -as old old; design -copy-from new -as new new\n",
        side("old"),
        side("new")
    );
    let registers_as_ports = format!("{both}expose -evert-dff -shared old new");
    // A register that is left inside has no partner of its name.
    let none_inside = "select -assert-none t:*dff* t:*latch* t:$mem*";
    if miter(folder.path(), &registers_as_ports, none_inside, Some(seconds), seconds)?.has(EQUIVALENT) {
        return Ok(Verdict::Proved("ABC"));
    }
    let script = format!(
        "{both}equiv_make old new equiv; hierarchy -top equiv; clean -purge
         equiv_struct -icells; equiv_simple -undef; equiv_induct; equiv_status -assert"
    );
    let said = yosys(folder.path(), &["-q"], &script, Some(seconds))?;
    if said.ok() {
        return Ok(Verdict::Proved("Yosys"));
    }
    let Some(cycles) = stimuli else { return Ok(Verdict::Open(said.last(3))) };
    let said = stimuli::alike(folder.path(), cycles, SEED)?;
    Ok(if stimuli::is_alike(&said) { Verdict::Alike(cycles) } else { Verdict::Open(said.last(3)) })
}
