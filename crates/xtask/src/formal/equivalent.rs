//! `cargo xtask equivalent`: two texts of a design.

use super::miter::{EQUIVALENT, miter};
use crate::failure::{Outcome, check, input};
use crate::process::{Said, quoted, require};
use crate::work::{self, files, name, read, write};
use clap::Args;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Processor time for a pair of texts.
const SECONDS: u64 = 60;
/// Prove that the combinational modules of two emitted texts of a design compute the same: for a change of the text alone
///
/// Modules without registers and instances that have different texts are proved equal for all inputs by Yosys and ABC, each pair of
/// texts once, in at most 60 s of processor time. Prints `same MODULE (NAME)` or `FAIL MODULE (NAME)`, and `only in ...` for a module
/// that one of both does not have: these are not compared. With --whole, designs are proved to do the same in every cycle, with their
/// registers, as `cargo xtask emit` writes them: in the folders and in those below.
#[derive(Args)]
pub struct EquivalentOptions {
    /// The folder of one
    old: PathBuf,
    /// The folder of the other
    new: PathBuf,
    /// Names of designs that both have, NAME.v (default: all of NEW)
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Whole designs
    #[arg(long)]
    whole: bool,
    /// Processor time for each step of the proof of a whole design
    #[arg(long, value_name = "S", default_value_t = 300, requires = "whole", value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,
    /// Designs at a time (default: one for each processor)
    #[arg(long, value_name = "N", requires = "whole")]
    jobs: Option<usize>,
    /// With --whole: run designs that are not proved side by side, for CYCLES cycles of random stimuli in Icarus. `alike` is then
    /// evidence and no proof
    #[arg(long, value_name = "CYCLES", requires = "whole")]
    stimuli: Option<u32>,
}

/// Proves it.
pub fn equivalent(options: &EquivalentOptions) -> Outcome {
    require(&["yosys", "yosys-abc"])?;
    if options.stimuli.is_some() {
        require(&["iverilog", "vvp"])?;
    }
    if options.whole {
        return super::whole::whole(
            &options.old,
            &options.new,
            &options.names,
            options.jobs,
            options.seconds,
            options.stimuli,
        );
    }
    let folder = work::temporary()?;
    let names = match options.names.is_empty() {
        true => files(&options.new, ".v")?.iter().map(|path| stem(path)).collect(),
        false => options.names.clone(),
    };
    let (mut done, mut equal_texts, mut alone, mut failed) = (BTreeSet::new(), 0, 0, 0);
    for design in &names {
        let file = format!("{design}.v");
        let old = leaves(&read(&options.old.join(&file))?);
        let new = leaves(&read(&options.new.join(&file))?);
        let modules: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        for module in modules {
            let (before, after) = match (old.get(module), new.get(module)) {
                (Some(before), Some(after)) => (before, after),
                (before, _) => {
                    let folder = if before.is_some() { &options.old } else { &options.new };
                    println!("only in {}: {module} ({design})", folder.display());
                    alone += 1;
                    continue;
                }
            };
            if before == after {
                equal_texts += 1;
            } else if done.insert((before.clone(), after.clone())) {
                let said = compare(folder.path(), module, before, after)?;
                let same = said.has(EQUIVALENT);
                if !same {
                    println!("{}", said.last(3));
                    failed += 1;
                }
                println!("{} {module} ({design})", if same { "same" } else { "FAIL" });
            }
        }
    }
    println!("{} pairs of texts, {equal_texts} modules with one text, {alone} only in one", done.len());
    match failed {
        0 if done.is_empty() && equal_texts == 0 => input("no combinational module that both have"),
        0 => Ok(()),
        n => check(format!("{n} of {} pairs of texts are not proved to be the same", done.len())),
    }
}

fn stem(path: &Path) -> String {
    name(path).trim_end_matches(".v").to_string()
}

/// The modules of a text that are combinational and have no instances, by their names.
fn leaves(text: &str) -> BTreeMap<String, String> {
    let mut leaves = BTreeMap::new();
    let mut module: Option<(String, String)> = None;
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("module ") {
            let name = rest.split([' ', '(', ';']).next().unwrap_or(rest);
            module = Some((name.to_string(), String::new()));
        }
        let Some((_, text)) = &mut module else { continue };
        text.push_str(line);
        text.push('\n');
        if line.starts_with("endmodule")
            && let Some((name, text)) = module.take()
            && !text.contains("posedge")
            && !text.lines().any(is_instance)
        {
            leaves.insert(name, text);
        }
    }
    leaves
}

/// Whether a line begins an instance: `    MODULE u_NAME (`.
fn is_instance(line: &str) -> bool {
    let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let Some((module, rest)) = line.strip_prefix("    ").and_then(|line| line.split_once(' ')) else {
        return false;
    };
    let Some(name) = rest.strip_prefix("u_").and_then(|rest| rest.split_once(" (")) else { return false };
    !module.is_empty() && module.chars().all(word) && name.0.chars().all(word)
}

/// What Yosys and ABC say of two texts.
fn compare(folder: &Path, module: &str, old: &str, new: &str) -> Outcome<Said> {
    let file = |text: &str, file: &str| -> Outcome<String> {
        write(&folder.join(file), text)?;
        Ok(quoted(Path::new(file)))
    };
    let (old, new) = (file(old, "old.v")?, file(new, "new.v")?);
    let both = format!(
        "read_verilog {old}; rename {module} old
         read_verilog {new}; rename {module} new
         proc -norom"
    );
    miter(folder, &both, "", None, SECONDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_are_modules_without_registers_and_instances() {
        let text = "`default_nettype none\n\nmodule leaf (\n);\n    assign y = a;\nendmodule\n\
                    module clocked (\n);\n    always @(posedge clk)\nendmodule\n\
                    module parent (\n);\n    leaf u_leaf (\n    );\nendmodule\n";
        let leaves = leaves(text);
        assert_eq!(leaves.keys().collect::<Vec<_>>(), ["leaf"]);
        assert_eq!(leaves["leaf"], "module leaf (\n);\n    assign y = a;\nendmodule\n");
    }
}
