//! `cargo xtask prove`: the inputs that a core's outputs depend on, and their latency.

use super::mutants::Mutant;
use crate::failure::{Failure, Outcome, check, input, none, with};
use crate::process::{abc, command_in, quoted, require, root, run, yosys};
use crate::selection::DesignSelection;
use crate::selections::{fa2, flash_d};
use crate::work::{self, create, only, read, write};
use clap::Args;
use flashd_spec::format::Format;
use std::path::{Path, PathBuf};

/// Prove, for all times, the latency of emitted cores and the inputs that their outputs depend on
///
/// For each core:
///
///   data       no data input (q, k, v, v_exponent) is in the logic before o_valid and v_step, through any number of registers: by
///              the structure of the netlist
///   latency    after a reset o_valid is high exactly `latency` cycles after an accepted k_last, and v_step `v_step_latency`
///              cycles after an accepted key, and never otherwise: by induction
///   start      from a reset on o_valid and v_step depend on no data, and v_ren and the results of the queries on nothing but
///              their own q, k and v: not on what registers held, on q, k and v where they are not valid, or on v in a cycle
///              after one in which v_ren was low
///   before     the same of all queries from one on, which is any one: they do not depend on a query, key or value before either
///
/// The last two are information flow tracking: every bit gets a taint (taint.py, taint.v), whatever may depend on a tainted one is
/// tainted, and no state that can be reached taints a promised output (independent.v), by property-directed reachability with ABC, which
/// comes with Yosys. Arithmetic may give anything in these, so they hold for any tables and widths. Each proof has a counter-proof
/// that must fail: a latency off by one, a v that is never there, results of queries before.
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub struct ProveOptions {
    /// Also break the default cores in known ways; each must be found
    #[arg(long)]
    mutants: bool,
    /// flashd's flags of one core without masks, arrays and partial results (default: both designs in fp8-e4m3 with d = 2)
    #[arg(value_name = "FLAGS", trailing_var_arg = true, allow_hyphen_values = true)]
    flags: Vec<String>,
}

/// Mutants of both designs.
const BOTH: [Mutant; 2] = [
    Mutant::part("flags look at values that were not asked for", "reads_v_q <= v_ren;", "reads_v_q <= 1;"),
    Mutant::part(
        "the invalid flag is not cleared",
        "(~late_flags_first_q & result_sticky_q)",
        "result_sticky_q",
    ),
];
/// Mutants of FLASH-D.
const FLASH_D: [Mutant; 2] = [
    Mutant::part("the budget is not refilled", "= first ? 17'h10000 : (negative", "= (negative"),
    Mutant::part(
        "no first key after k_last",
        "control_flags_next_expect_first = k_valid ? k_last",
        "control_flags_next_expect_first = k_valid ? 1'b0",
    ),
];
/// Mutants of FA2.
const FA2: [Mutant; 2] = [
    Mutant::part("the sum goes on", "= first ? 35'h40000 : saturated", "= saturated"),
    Mutant::part(
        "the maximum stays",
        "(first | maximum_maximum_moves) ? score",
        "maximum_maximum_moves ? score",
    ),
];

/// All proofs, and with `--mutants` all mutants.
pub fn prove(options: &ProveOptions) -> Outcome {
    require(&["yosys", "yosys-abc", "python3"])?;
    let work = work::temporary()?;
    let [flash_d, fa2] = [flash_d(2, Format::FP8_E4M3), fa2(2, Format::FP8_E4M3)].map(DesignSelection::core);
    let cores = match options.flags.is_empty() {
        true => vec![flash_d.clone(), fa2.clone()],
        false => vec![DesignSelection::Flags(options.flags.clone())],
    };
    let mut failed = 0;
    println!("{:<24} {:<8} {:<12} result", "core", "proof", "range");
    for (i, selection) in cores.iter().enumerate() {
        let core = ProvenCore::generate(selection, &work.path().join(i.to_string()))?;
        let mut line = |proof: &str, proved: bool| {
            let result = if proved { "proved" } else { "FAILED" };
            println!("{:<24} {proof:<8} {:<12} {result}", core.name, "all times");
            failed += usize::from(!proved);
        };
        line("data", core.no_data_before_valid()?);
        line("latency", core.has_its_latency()?);
        core.taint()?;
        line("start", core.is_independent("")?);
        line("before", core.is_independent("-DBEFORE")?);
    }
    if options.mutants {
        let of =
            |selection, mutants: [Mutant; 2]| BOTH.into_iter().chain(mutants).map(move |m| (selection, m));
        for (i, (selection, mutant)) in of(&flash_d, FLASH_D).chain(of(&fa2, FA2)).enumerate() {
            let core = ProvenCore::generate(selection, &work.path().join(format!("mutant{i}")))?;
            let found = match core.finds(&mutant) {
                Err(Failure::Check(text)) => {
                    eprintln!("{text}");
                    false
                }
                found => found?,
            };
            let result = if found { "found" } else { "FAILED" };
            println!("{:<24} mutant: {:<50} {result}", core.name, mutant.what);
            failed += usize::from(!found);
        }
    }
    none(failed, "proofs failed")
}

/// The answer of an engine about a property.
#[derive(PartialEq)]
enum Says {
    Holds,
    Fails,
    /// Neither: its last words are shown.
    Nothing,
}

/// A core in its folder, and properties from its manifest.
struct ProvenCore {
    folder: PathBuf,
    name: String,
    latency: u64,
    v_step_latency: u64,
    /// Width of q, k and v.
    bus: u64,
    /// Width of v_exponent, which cores with a fixed-point lane have.
    exponent: Option<u64>,
    /// There is an o_saturated.
    saturates: bool,
}

impl ProvenCore {
    fn generate(selection: &DesignSelection, folder: &Path) -> Outcome<ProvenCore> {
        let folder = create(folder)?;
        selection.generate(&[], &folder)?;
        let name = only(&folder, ".v")?;
        if selection.is_unit() {
            return input(format!("{name} is a unit, which has no latency: select a core"));
        }
        let manifest = folder.join(format!("{name}.json"));
        let manifest: serde_json::Value = serde_json::from_str(&read(&manifest)?).map_err(with(&name))?;
        let number = |field: &str| {
            let number = manifest[field].as_u64();
            number.ok_or_else(|| {
                Failure::Input(format!("{name}: a core is needed, whose manifest has {field}"))
            })
        };
        let width = |port: &str| {
            let ports = manifest["ports"].as_array()?;
            ports.iter().find(|entry| entry["name"] == port)?["width"].as_u64()
        };
        let (latency, v_step_latency) = (number("latency")?, number("v_step_latency")?);
        let bus = width("q").ok_or_else(|| Failure::Input(format!("{name} has no port q")))?;
        let exponent = width("v_exponent");
        let saturates = width("o_saturated").is_some();
        Ok(ProvenCore { latency, v_step_latency, bus, exponent, saturates, folder, name })
    }

    /// The beginning of every script: the flat netlist below a top module.
    fn flat(&self, top: &str) -> String {
        format!("read_verilog {}.v; hierarchy -top {top}; proc -norom; flatten; opt_clean", self.name)
    }

    /// Whether no data input is in the logic before o_valid and v_step; before o they are, which must be seen.
    fn no_data_before_valid(&self) -> Outcome<bool> {
        let inputs = match self.exponent {
            Some(_) => "i:q i:k i:v i:v_exponent %u %u %u",
            None => "i:q i:k i:v %u %u",
        };
        let cone = |assertion: &str, outputs: &str| {
            let script = format!("{}; select {assertion} {outputs} %ci* {inputs} %i", self.flat(&self.name));
            yosys(&self.folder, &["-q"], &script, None)
        };
        let none = cone("-assert-none", "o:o_valid o:v_step %u")?;
        let any = cone("-assert-any", "o:o")?;
        for said in [&none, &any] {
            if !said.ok() {
                eprintln!("{}", said.last(5));
            }
        }
        Ok(none.ok() && any.ok())
    }

    /// Whether the latencies agree with the manifest; with another latency this must fail.
    fn has_its_latency(&self) -> Outcome<bool> {
        let proof = |latency: u64| -> Outcome<Says> {
            let bench = quoted(&formal("latency.v"));
            let script = format!(
                "read_verilog -DTOP={} -DLATENCY={latency} -DV_STEP_LATENCY={} {bench}; {}
                 opt -full; sat -tempinduct -verify -set-init started 0 -prove ok 1 -maxsteps 20",
                self.name,
                self.v_step_latency,
                self.flat("latency")
            );
            let said = yosys(&self.folder, &[], &script, None)?;
            if said.has("Induction step proven: SUCCESS") {
                return Ok(Says::Holds);
            }
            if said.has("model found for base case: FAIL") {
                return Ok(Says::Fails);
            }
            eprintln!("{}", said.last(5));
            Ok(Says::Nothing)
        };
        Ok(proof(self.latency)? == Says::Holds && proof(self.latency.saturating_sub(1))? == Says::Fails)
    }

    /// Makes its netlist with taints.
    fn taint(&self) -> Outcome {
        let flat = yosys(
            &self.folder,
            &["-q"],
            &format!("{}; opt_merge; opt_clean; write_json flat.json", self.flat(&self.name)),
            None,
        )?;
        let mut taint = command_in(&self.folder, "python3", [formal("taint.py")]);
        taint.args(["flat.json", "tainted.json", &self.name]);
        let tainted = run(taint)?;
        match flat.ok() && tainted.ok() {
            true => Ok(()),
            false => check(format!("{}: no taints: {}{}", self.name, flat.last(5), tainted.last(5))),
        }
    }

    /// Whether nothing wrong can be reached in independent.v, with these macros.
    fn independence(&self, more: &str) -> Outcome<Says> {
        let macros = format!(
            "-DTOP={} -DBUS={} -DEXPONENT={} -DLATENCY={} -DV_STEP_LATENCY={}{}{}",
            self.name,
            self.bus,
            self.exponent.unwrap_or(1),
            self.latency,
            self.v_step_latency,
            if self.exponent.is_some() { " -DHAS_FIXED" } else { "" },
            if self.saturates { " -DHAS_SATURATED" } else { "" }
        );
        let (cells, bench) = (quoted(&formal("taint.v")), quoted(&formal("independent.v")));
        let script = format!(
            "read_json tainted.json; read_verilog -icells {cells}; read_verilog -icells {macros} {more} {bench}
             hierarchy -top independent; proc; flatten; opt_clean -purge; setundef -undriven -expose
             techmap; opt_clean; setundef -zero -init; setundef -zero; aigmap; write_aiger -zinit wrong.aig"
        );
        let made = yosys(&self.folder, &["-q"], &script, None)?;
        if !made.ok() {
            eprintln!("{}", made.last(5));
            return Ok(Says::Nothing);
        }
        let said = abc(&self.folder, "read_aiger wrong.aig; strash; scleanup; pdr; print_status", None)?;
        if said.has_line("Property proved") && said.has_line("Status = 1 ") {
            return Ok(Says::Holds);
        }
        if said.has_line("Status = 0 ") {
            return Ok(Says::Fails);
        }
        eprintln!("{}", said.last(5));
        Ok(Says::Nothing)
    }

    /// The proof, and what must fail in its place.
    fn is_independent(&self, more: &str) -> Outcome<bool> {
        Ok(self.independence(more)? == Says::Holds
            && self.independence(&format!("{more} -DV_NEVER"))? == Says::Fails
            && self.independence(&format!("{more} -DALL_RESULTS"))? == Says::Fails)
    }

    /// Whether a fault in its text is found.
    fn finds(&self, mutant: &Mutant) -> Outcome<bool> {
        let file = self.folder.join(format!("{}.v", self.name));
        write(&file, &mutant.of(&read(&file)?)?)?;
        self.taint()?;
        Ok(self.independence("-DBEFORE")? == Says::Fails)
    }
}

/// A file that the proofs need.
pub fn formal(name: &str) -> PathBuf {
    root().join("scripts/formal").join(name)
}
