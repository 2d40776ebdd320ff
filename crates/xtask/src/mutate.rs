//! `cargo xtask mutate`: are single faults in the emitted Verilog found by the emitted testbenches?

mod design;
mod proofs;
mod verdicts;

use crate::failure::{Outcome, check};
use crate::process::{pool, require, target};
use crate::selection::DesignSelection;
use crate::selections::{fa2, flash_d};
use crate::work::{create, write};
use clap::Args;
use design::{MutantVectors, MutatedDesign};
use flashd::parts::whole;
use flashd_hwmodel::units::FormatUnit;
use flashd_spec::format::Format;
use proofs::{ProofMethod, prove};
use std::io::IsTerminal;
use std::path::PathBuf;
use verdicts::Verdicts;

/// Measure mutation coverage: are single faults in the emitted Verilog found by the emitted testbenches?
///
/// Yosys lists N faults of a design: a wire of a cell stuck, inverted, or mixed with another one. All of them are put into one netlist,
/// each under a number, and the emitted testbench runs in Verilator once for every number, with the vectors that
/// `generate --testbench ports` writes: a netlist has no inside to look at. Other faults meet a stream of more keys. The rest
/// is compared with the original, and only a fault that is proved to change nothing is left out of the count: by a SAT solver
/// in its module, registers cut (unit), and in cores, what ten more streams do not find, by ABC (cargo xtask prove-fault) in every
/// reachable state (step, late0 and late1, which are counted as step) or where the results are looked at (outputs), and last in its
/// module again, case by case (counted as unit). The proofs but that by cases are tried on some faults that the vectors found too: it is a
/// failure if they prove one.
///
/// The last table has the proofs of each kind, the share of the other faults that was found, and how many of these the first vectors
/// found; survivors are named, with the answer of the prover: `differs` where it knows inputs that find the fault. They are a
/// failure where less than 99 % (cores) or 100 % (units) were found.
///
/// Results are kept and not computed again: an interrupted run continues.
#[derive(Args)]
pub struct MutateOptions {
    /// 60 faults of each d = 4 core and of two units
    #[arg(long)]
    short: bool,
    /// Faults of a design (default: 500 of a core, 100 of a unit)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    count: Option<u16>,
    /// Keys of each further stream
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..))]
    keys: u64,
    /// Processor time for a proof
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,
    /// Faults that the vectors found which no proof may call the same
    #[arg(long, value_name = "N", default_value_t = 6)]
    check: usize,
    /// How many at the same time (default: one for each processor)
    #[arg(long, value_name = "N", value_parser = whole::<usize>(1, 1024))]
    jobs: Option<usize>,
    /// Where results are kept (default: mutate in cargo's target folder)
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// A core or a unit by flashd's flags, in quotes; can be repeated (default: both d = 4 cores in bf16, all units in fp8-e4m3)
    #[arg(long, value_name = "FLAGS", allow_hyphen_values = true)]
    selection: Vec<String>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Faults of a design with `--short`, of a unit and of a core.
const SHORT: u16 = 60;
const OF_A_UNIT: u16 = 100;
const OF_A_CORE: u16 = 500;
/// Seed of the stream with more keys, and of those after it.
const SECOND: u64 = 2;
const OTHERS: std::ops::RangeInclusive<u64> = 3..=12;
/// Least share found, in per cent.
const LEAST_OF_A_CORE: f64 = 99.0;
const LEAST_OF_A_UNIT: f64 = 100.0;
/// Processor time for a proof that must fail.
const CHECK_SECONDS: u64 = 15;

/// All designs.
pub fn mutate(options: &MutateOptions) -> Outcome {
    require(&["yosys", "yosys-abc", "verilator", "make", "g++"])?;
    let out = match &options.out {
        Some(out) => create(out)?,
        None => create(&target()?.join("mutate"))?,
    };
    if !options.json {
        println!(
            "{:<20} {:>7} {:>5} {:>5} {:>8} {:>7} {:>9} {:>8} {:>8}",
            "design", "faults", "unit", "step", "outputs", "found", "at first", "share", "survive"
        );
    }
    let pool = pool(options.jobs)?;
    let mut failed = Vec::new();
    let mut rows = Vec::new();
    for selection in selections(options) {
        let folder = out.join(folder_name(&selection, options.short));
        let of = if selection.is_unit() { OF_A_UNIT } else { OF_A_CORE };
        let faults = if options.short { SHORT } else { options.count.unwrap_or(of) };
        let design = MutatedDesign::prepare(selection, &create(&folder)?, faults, options.keys)?;
        let count = pool.install(|| measure(&design, options))?;
        let (share, enough) = count.share(&design)?;
        match options.json {
            true => rows.push(count.json(&design, share)),
            false => count.print(&design, share),
        }
        if !enough {
            failed.push(design.name.clone());
        }
    }
    if options.json {
        println!("{}", serde_json::Value::Array(rows));
    }
    match failed.is_empty() {
        true => Ok(()),
        false => {
            check(format!("too few faults found, or a proof of one that was found: {}", failed.join(", ")))
        }
    }
}

fn selections(options: &MutateOptions) -> Vec<DesignSelection> {
    if !options.selection.is_empty() {
        return options.selection.iter().map(|flags| DesignSelection::words(flags)).collect();
    }
    let cores = [flash_d(4, Format::BF16), fa2(4, Format::BF16)].map(DesignSelection::core);
    let units = FormatUnit::ALL
        .into_iter()
        .filter(|unit| !options.short || [FormatUnit::Add, FormatUnit::Exp].contains(unit));
    cores.into_iter().chain(units.map(|unit| DesignSelection::Unit(unit.name(), Format::FP8_E4M3))).collect()
}

fn folder_name(selection: &DesignSelection, short: bool) -> String {
    let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let text = selection.to_string();
    let words: Vec<&str> = text.split(|c| !is_word(c)).filter(|word| !word.is_empty()).collect();
    words.join("_") + if short { "_short" } else { "" }
}

/// Prints the step under way.
fn progress(text: &str) {
    match std::io::stderr().is_terminal() {
        true => eprint!("\r{text:<70}\r"),
        false if text.is_empty() => {}
        false => eprintln!("{text}"),
    }
}

/// What became of the faults of a design.
struct FaultCounts {
    faults: usize,
    in_unit: usize,
    in_step: usize,
    at_outputs: usize,
    at_first: usize,
    /// Undetected faults, with the answer of a prover.
    survivors: Vec<(u32, String)>,
    /// Faults that were found and that a proof calls the same.
    wrong: usize,
}

/// Simulates and proves.
fn measure(design: &MutatedDesign, options: &MutateOptions) -> Outcome<FaultCounts> {
    let MutatedDesign { name, folder, unit, .. } = design;
    let all = design.numbers();
    progress(&format!("{name}: {} faults", all.len()));
    let is_found = |verdict: &str| verdict.contains("TEST FAILED");
    let simulate = |file: &str, left: &mut Vec<u32>, vectors: &MutantVectors| -> Outcome {
        let mut verdicts = Verdicts::read(&folder.join(file), |_| true)?;
        verdicts.complete(left, |number| design.simulate(vectors, number))?;
        left.retain(|number| !is_found(verdicts.of(*number)));
        Ok(())
    };
    let mut left = all.clone();
    simulate("first.txt", &mut left, &MutantVectors::First)?;
    let at_first = all.len() - left.len();
    if !left.is_empty() && !unit {
        progress(&format!("{name}: {} of them with {} keys", left.len(), options.keys));
        simulate("second.txt", &mut left, &design.stream(SECOND)?)?;
    }
    let not_found = left.clone();
    let mut counts = [0; 3];
    let mut says: Vec<(u32, String)> = Vec::new();
    let mut prove_all = |proof: ProofMethod, seconds: u64, left: &mut Vec<u32>| -> Outcome {
        progress(&format!("{name}: {} proofs, {proof}", left.len()));
        let verdicts = prove(design, &format!("{proof}.txt"), proof, seconds, left)?;
        let before = left.len();
        left.retain(|number| !verdicts.is_same(*number));
        counts[proof.column()] += before - left.len();
        if proof.knows_differences() {
            says.extend(left.iter().map(|number| (*number, verdicts.of(*number).to_string())));
        }
        Ok(())
    };
    // Modules are small: longer proofs are left to the methods below, which know more.
    let in_unit = if *unit { options.seconds } else { (options.seconds / 5).max(1) };
    prove_all(ProofMethod::Unit, in_unit, &mut left)?;
    if !unit {
        for seed in OTHERS {
            if !left.is_empty() {
                progress(&format!("{name}: {} of them with other keys, seed {seed}", left.len()));
                simulate(&format!("other_{seed}.txt"), &mut left, &design.stream(seed)?)?;
            }
        }
        for proof in ProofMethod::OF_CORES {
            prove_all(proof, options.seconds, &mut left)?;
        }
    }
    let of = |number: u32| says.iter().rev().find(|(n, _)| *n == number).map_or("unknown", |(_, says)| says);
    let survivors: Vec<(u32, String)> = left.iter().map(|n| (*n, of(*n).to_string())).collect();
    let names: String = left.iter().map(|number| format!("{number}\n")).collect();
    write(&folder.join("survivors"), &names)?;
    let found: Vec<u32> = all.iter().filter(|number| !not_found.contains(number)).copied().collect();
    let wrong = if *unit { 0 } else { proved_of_found(design, &found, options.check)? };
    progress("");
    let [in_unit, in_step, at_outputs] = counts;
    Ok(FaultCounts { faults: all.len(), in_unit, in_step, at_outputs, at_first, survivors, wrong })
}

/// Tries the proofs on some of the faults that the vectors found, spread over all of them: none may be proved.
fn proved_of_found(design: &MutatedDesign, found: &[u32], check: usize) -> Outcome<usize> {
    let (all, wanted) = (found.len(), check.min(found.len()));
    let some: Vec<u32> = (0..all).filter(|i| (i + 1) * wanted % all < wanted).map(|i| found[i]).collect();
    progress(&format!("{}: {} faults that were found to the prover", design.name, some.len()));
    let mut wrong = 0;
    for proof in ProofMethod::OF_CORES.into_iter().filter(|proof| *proof != ProofMethod::Cases) {
        let verdicts = prove(design, &format!("check_{proof}.txt"), proof, CHECK_SECONDS, &some)?;
        for number in some.iter().filter(|number| verdicts.is_same(**number)) {
            let fault = design.fault(*number);
            eprintln!(
                "{}: the prover ({proof}) calls this the same, which the vectors found: {fault}",
                design.name
            );
            wrong += 1;
        }
    }
    Ok(wrong)
}

impl FaultCounts {
    /// Faults that the vectors found.
    fn found(&self) -> usize {
        self.faults - self.survivors.len() - self.in_unit - self.in_step - self.at_outputs
    }

    /// The share found of the faults that change something, in per cent, and whether that is enough.
    fn share(&self, design: &MutatedDesign) -> Outcome<(f64, bool)> {
        let (found, survive) = (self.found(), self.survivors.len());
        if found + survive == 0 {
            return check(format!(
                "{}: all faults are proved to change nothing: nothing was measured",
                design.name
            ));
        }
        let share = 100.0 * found as f64 / (found + survive) as f64;
        let least = if design.unit { LEAST_OF_A_UNIT } else { LEAST_OF_A_CORE };
        Ok((share, share >= least && self.wrong == 0))
    }

    /// Prints the line of a design and its survivors.
    fn print(&self, design: &MutatedDesign, share: f64) {
        let (found, survive) = (self.found(), self.survivors.len());
        println!(
            "{:<20} {:>7} {:>5} {:>5} {:>8} {found:>7} {:>9} {share:>7.2}% {survive:>8}",
            design.name, self.faults, self.in_unit, self.in_step, self.at_outputs, self.at_first
        );
        for (number, says) in &self.survivors {
            println!("    survives ({says}): {}", design.fault(*number));
        }
    }

    /// The same as JSON.
    fn json(&self, design: &MutatedDesign, share: f64) -> serde_json::Value {
        let survivor = |(number, says): &(u32, String)| serde_json::json!({"prover": says, "fault": design.fault(*number).to_string()});
        serde_json::json!({
            "design": design.name,
            "faults": self.faults,
            "proved_in_unit": self.in_unit,
            "proved_in_step": self.in_step,
            "proved_at_outputs": self.at_outputs,
            "found": self.found(),
            "found_at_first": self.at_first,
            "share_percent": share,
            "survivors": self.survivors.iter().map(survivor).collect::<Vec<_>>(),
        })
    }
}
