//! `cargo xtask prove-axis`: the ports of stream wrappers.

use super::packets;
use crate::failure::{Failure, Outcome, none};
use crate::formal::mutants::Mutant;
use crate::process::{Said, quoted, require, root, yosys};
use crate::selection::{DesignSelection, Surroundings};
use crate::selections::{fa2, flash_d, masked};
use crate::work::{self, create, name, only, read, write};
use clap::Args;
use flashd_spec::format::Format;
use std::path::{Path, PathBuf};

/// Prove about the ports of stream wrappers, with Yosys
///
/// Small wrappers of both designs are proved, with and without masks, values requested and all:
///
///   paths      no input but aresetn reaches an output, or the enable of the array, without a register between: structural, for all
///              of the flattened design
///   induction  an offered beat, request or answer stays until it is taken; one answer for one request, in the cycle after the
///              request is complete: temporal induction, so in every cycle after a reset
///   bounded    before RUN is written no stream moves: in the first cycles after reset
///
/// The properties are in testbench/axis/axis_props.v. Yosys' own solver is enough.
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub struct ProofOptions {
    /// Cycles after reset that the bounded proof looks at
    #[arg(long, value_name = "N", default_value_t = DEPTH, value_parser = clap::value_parser!(u32).range(1..))]
    depth: u32,
    /// Also break the wrapper in known ways; each must be found
    #[arg(long)]
    mutants: bool,
    /// Keep scripts and logs in this folder
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

const DEPTH: u32 = 10;
/// Makes designs that are flat and have no memory cells but tables.
const PREPARE: &str = "proc; flatten; memory_map -rom-only; opt -full; dffunmap; opt_clean";
/// Options of an induction.
const INDUCTION: &str = "-maxsteps 4";

/// What finds a mutant.
#[derive(Clone, Copy, PartialEq)]
enum MutantFinder {
    Paths,
    Induction,
}

const MUTANTS: [(MutantFinder, Mutant); 5] = [
    (
        MutantFinder::Paths,
        Mutant::part(
            "tvalid waits for tready",
            "assign tvalid = valid_q;",
            "assign tvalid = valid_q & tready;",
        ),
    ),
    (
        MutantFinder::Induction,
        Mutant::rest("a result is overwritten", "wire rules_moves = ", "wire rules_moves = 1'h1;"),
    ),
    (
        MutantFinder::Induction,
        Mutant::rest("a request is forgotten", "assign rules_next_kept = ", "assign rules_next_kept = 1'h0;"),
    ),
    (
        MutantFinder::Induction,
        Mutant::rest(
            "an answer is dropped",
            "assign writes_next_b_full = ",
            "assign writes_next_b_full = write;",
        ),
    ),
    (
        MutantFinder::Induction,
        Mutant::rest(
            "a write is made twice",
            "assign writes_next_aw_full = ",
            "assign writes_next_aw_full = writes_aw_take | aw_full_q;",
        ),
    ),
];

/// The proofs with a user's options.
pub fn prove_axis(options: &ProofOptions) -> Outcome {
    require(&["yosys", "python3"])?;
    match &options.keep {
        Some(folder) => prove(&create(folder)?, options.depth, options.mutants),
        None => prove(work::temporary()?.path(), options.depth, options.mutants),
    }
}

/// The proofs as they are by default.
pub fn all(mutants: bool) -> Outcome {
    prove(work::temporary()?.path(), DEPTH, mutants)
}

fn prove(folder: &Path, depth: u32, mutants: bool) -> Outcome {
    println!("{:<46} {:<10} {:<42} result", "wrapper", "check", "scope");
    let mut failed = 0;
    for (i, selection) in wrappers().iter().enumerate() {
        let wrapper = Wrapper::generate(selection, &folder.join(i.to_string()))?;
        let mut verdict = |proof: &str, scope: &str, holds: bool, said: &Said| {
            failed += usize::from(!line(&wrapper.name, proof, scope, holds, said));
        };
        let said = wrapper.paths()?;
        verdict("paths", "no input reaches an output or the enable", said.ok(), &said);
        let said = wrapper.properties("induction", "", INDUCTION)?;
        let length = said.text.lines().filter_map(|line| line.strip_prefix("[induction step ")).next_back();
        let length = length.and_then(|rest| rest.split(']').next()).unwrap_or("?");
        verdict("induction", &format!("proven, length {length}"), said.ok(), &said);
        let bounded = format!("-tempinduct-baseonly -maxsteps {depth}");
        let said = wrapper.properties("bounded", "-DQUIET", &bounded)?;
        // Without an induction step sat ends without a verdict when nothing was found: every base case must be there.
        let proven =
            |line: &&str| line.starts_with("Base case for induction length ") && line.ends_with("proven.");
        let cycles = said.text.lines().filter(proven).count();
        verdict("bounded", &format!("{cycles} cycles"), cycles == depth as usize, &said);
    }
    if mutants {
        let core = flash_d(2, Format::FP8_E4M3);
        let around = Surroundings::wrapper(2, Some(8), false);
        let whole = folder.join("whole");
        let whole = Wrapper::generate(&DesignSelection::around(core, around), &whole)?;
        for (i, (kind, mutant)) in MUTANTS.iter().enumerate() {
            match whole.finds(*kind, mutant, &folder.join(format!("mutant{i}"))) {
                Ok(true) => {}
                Ok(false) => failed += 1,
                Err(Failure::Check(text)) => {
                    eprintln!("{text}");
                    failed += 1;
                }
                Err(other) => return Err(other),
            }
        }
    }
    none(failed, "proofs of stream wrappers failed")
}

/// The wrappers that are proved.
fn wrappers() -> [DesignSelection; 3] {
    let flash_d = flash_d(2, Format::FP8_E4M3);
    // Keys are counted in few bits, which a run can reach.
    let four =
        Surroundings::Wrapper { queries: 2, key_index_bits: Some(4), beat: Some(8), all_values: false };
    let counted = DesignSelection::around(masked(flash_d.clone()), four);
    let all = DesignSelection::around(fa2(4, Format::FP8_E4M3), Surroundings::wrapper(2, Some(16), true));
    [counted, all, DesignSelection::around(flash_d, Surroundings::wrapper(1, None, false))]
}

/// Prints what became of a check; `holds` is whether it is as it should be.
fn line(name: &str, proof: &str, scope: &str, holds: bool, said: &Said) -> bool {
    println!("{name:<46} {proof:<10} {scope:<42} {}", if holds { "ok" } else { "FAIL" });
    if !holds {
        eprintln!("{}", said.last(15));
    }
    holds
}

/// A wrapper in its folder, with bench.vh.
struct Wrapper {
    folder: PathBuf,
    name: String,
}

impl Wrapper {
    fn generate(selection: &DesignSelection, folder: &Path) -> Outcome<Wrapper> {
        let folder = create(folder)?;
        selection.generate(&[], &folder)?;
        let name = only(&folder, ".v")?;
        packets(&folder.join(format!("{name}.json")), None, &folder)?;
        Ok(Wrapper { folder, name })
    }

    /// Runs a script and keeps it with the output.
    fn yosys(&self, name: &str, script: &str) -> Outcome<Said> {
        write(&self.folder.join(format!("{name}.ys")), script)?;
        let said = yosys(&self.folder, &[], script, None)?;
        write(&self.folder.join(format!("{name}.log")), &said.text)?;
        Ok(said)
    }

    /// The structural check.
    fn paths(&self) -> Outcome<Said> {
        let script = format!(
            "read_verilog -noautowire {0}.v\nhierarchy -check -top {0}\n\
             {PREPARE}; simplemap; splitnets -ports; opt_clean\n\
             # The sets are not empty, and the method sees a path where there is one.\n\
             select -assert-any o:*\n\
             select -assert-any w:advance %cie* i:aresetn %i\n\
             select -assert-none o:* %cie* i:* i:aresetn %d %i\n\
             select -assert-none w:advance %cie* i:* i:aresetn %d %i\n",
            self.name
        );
        self.yosys("paths", &script)
    }

    /// The properties, with these macros and options of sat.
    fn properties(&self, log: &str, macros: &str, options: &str) -> Outcome<Said> {
        let bench = quoted(&root().join("testbench/axis/axis_props.v"));
        let script = format!(
            "read_verilog -noautowire {}.v\nread_verilog -formal {macros} -I. {bench}\n\
             hierarchy -check -top axis_props\n{PREPARE}\n\
             # Products and shifts may be anything: the proof holds for these, too, and half of the netlist is not looked at.\n\
             delete t:$mul t:$shr t:$shl; opt_clean\nselect -assert-any t:$assert\n\
             sat -tempinduct -prove-asserts -set-assumes -verify {options} axis_props\n",
            self.name
        );
        self.yosys(log, &script)
    }

    /// Whether a fault is found; prints it.
    fn finds(&self, kind: MutantFinder, mutant: &Mutant, folder: &Path) -> Outcome<bool> {
        let folder = create(folder)?;
        let file = format!("{}.v", self.name);
        for path in work::files(&self.folder, ".vh")? {
            write(&folder.join(name(&path)), &read(&path)?)?;
        }
        write(&folder.join(&file), &mutant.of(&read(&self.folder.join(&file))?)?)?;
        let broken = Wrapper { folder, name: self.name.clone() };
        let (proof, said, found) = match kind {
            MutantFinder::Paths => ("paths", broken.paths()?, "Assertion failed"),
            MutantFinder::Induction => {
                ("induction", broken.properties("induction", "", INDUCTION)?, "proof did fail")
            }
        };
        // A tool that breaks off has not found it.
        let found = !said.ok() && said.has(found);
        Ok(line(&format!("mutant: {}", mutant.what), proof, "must be found", found, &said))
    }
}
