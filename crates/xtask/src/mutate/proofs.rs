//! Proofs about a fault.

use super::design::MutatedDesign;
use super::verdicts::Verdicts;
use crate::failure::{Outcome, with};
use crate::formal::fault::{self, Answer, Method};
use crate::process::{Said, command_in, limited, yosys};
use crate::work::write;
use std::fmt::{self, Display, Formatter};
use std::fs;
use std::path::Path;

/// Processor time for one case.
const CASE_SECONDS: u64 = 5;

/// A way to prove that a fault changes nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ProofMethod {
    /// No output and no register of its module changes, whatever inputs and registers are: by SAT.
    Unit,
    /// In the whole core, by ABC.
    Core(Method),
    /// As `Unit`, with two single-bit inputs or registers of the module known, for each of their values: logic that they mask falls away.
    Cases,
}

impl ProofMethod {
    /// What cores are tried with after the streams.
    pub const OF_CORES: [ProofMethod; 5] = [
        ProofMethod::Core(Method::Step),
        ProofMethod::Core(Method::Late(0)),
        ProofMethod::Core(Method::Late(1)),
        ProofMethod::Core(Method::Outputs),
        ProofMethod::Cases,
    ];

    /// The column of the table: unit, step or outputs.
    pub fn column(self) -> usize {
        match self {
            ProofMethod::Unit | ProofMethod::Cases => 0,
            ProofMethod::Core(Method::Step | Method::Late(_)) => 1,
            ProofMethod::Core(Method::Outputs) => 2,
        }
    }

    /// Whether it says `differs` where the fault can be found.
    pub fn knows_differences(self) -> bool {
        matches!(self, ProofMethod::Core(Method::Step | Method::Outputs))
    }
}

impl Display for ProofMethod {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            ProofMethod::Unit => f.write_str("unit"),
            ProofMethod::Core(method) => write!(f, "{method}"),
            ProofMethod::Cases => f.write_str("cases"),
        }
    }
}

/// The answers of a proof about these faults, which a file keeps. Faults that are unknown after another time limit are asked again.
pub fn prove(
    design: &MutatedDesign,
    file: &str,
    proof: ProofMethod,
    seconds: u64,
    numbers: &[u32],
) -> Outcome<Verdicts> {
    let unknown = format!("unknown in {seconds} s");
    let is_good = |verdict: &str| ["same", "differs", unknown.as_str()].contains(&verdict);
    let mut verdicts = Verdicts::read(&design.folder.join(file), is_good)?;
    verdicts.complete(numbers, |number| {
        let answer = match proof {
            ProofMethod::Unit => in_unit(design, number, seconds),
            ProofMethod::Cases => in_cases(design, number),
            ProofMethod::Core(method) => in_core(design, number, method, seconds),
        };
        Ok(match answer {
            Ok(Answer::Unknown) => unknown.clone(),
            Ok(known) => known.to_string(),
            // Nothing is proved of this fault; the others go on.
            Err(failure) => format!("error: {}", failure.to_string().replace(['\t', '\n'], " ")),
        })
    })?;
    Ok(verdicts)
}

fn in_core(design: &MutatedDesign, number: u32, method: Method, seconds: u64) -> Outcome<Answer> {
    let folder = &design.folder;
    let prefix = format!("proof_{number}_{method}");
    let (netlist, ports) = (folder.join("base.il"), folder.join(format!("{}_ports.h", design.name)));
    let proof = fault::Proof { folder, netlist: &netlist, ports: &ports, prefix: &prefix };
    let answer = proof.of(design.mutation(number)?, method, seconds)?;
    // They are large, and made again by the script that stays.
    for ending in ["aig", "map", "v"] {
        let file = folder.join(format!("{prefix}.{ending}"));
        fs::remove_file(&file).map_err(with(file.display()))?;
    }
    Ok(answer)
}

/// The word after an option of a fault.
fn option<'a>(fault: &'a str, name: &str) -> Option<&'a str> {
    fault.split_whitespace().skip_while(|word| *word != name).nth(1)
}

/// A cell's name in its own module: `$flatten\u_weight.\u_tail.$add$file.v:12$3` is `$add$file.v:12$3` there.
fn own_name(cell: &str) -> &str {
    let mut name = cell.strip_prefix("$flatten").unwrap_or(cell);
    while let Some((_, rest)) = name.strip_prefix('\\').and_then(|rest| rest.split_once('.')) {
        name = rest;
    }
    name
}

/// The module that has a cell.
fn module_of(folder: &Path, number: u32, cell: &str) -> Outcome<Option<String>> {
    let list = format!("proof_{number}.cell");
    let script = format!("read_rtlil modules.il; tee -q -o {list} select -list */c:{cell}");
    let said = yosys(folder, &["-q"], &script, None)?;
    let text = fs::read_to_string(folder.join(list)).unwrap_or_default();
    let module = text.lines().next().and_then(|line| line.split_once('/'));
    Ok(module.filter(|_| said.ok()).map(|(module, _)| module.to_string()))
}

fn proved(said: &Said) -> Answer {
    if said.ok() { Answer::Same } else { Answer::Unknown }
}

fn in_unit(design: &MutatedDesign, number: u32, seconds: u64) -> Outcome<Answer> {
    let fault = design.mutation(number)?;
    let cell = option(fault, "-cell").map(own_name).unwrap_or_default();
    let Some(module) = module_of(&design.folder, number, cell)? else { return Ok(Answer::Unknown) };
    let mut change = String::new();
    for name in ["-mode", "-port", "-portbit", "-ctrlbit"] {
        if let Some(value) = option(fault, name) {
            change += &format!(" {name} {value}");
        }
    }
    let script = format!(
        "read_rtlil modules.il
hierarchy -top {module}
flatten
rename {module} gold
design -stash gold
read_rtlil modules.il
mutate -module {module} -cell {cell}{change}
hierarchy -top {module}
flatten
rename {module} gate
design -stash gate
design -copy-from gold -as gold gold
design -copy-from gate -as gate gate
expose -dff -evert-dff gold gate
miter -equiv -flatten gold gate miter
hierarchy -top miter
write_rtlil proof_{number}.il
tee -q -o proof_{number}.bits select -list miter/i:* miter/s:1 %i
opt -full
sat -verify -prove trigger 0 miter
"
    );
    let file = format!("proof_{number}.ys");
    write(&design.folder.join(&file), &script)?;
    let said = limited(command_in(&design.folder, "yosys", ["-q", "-s", &file]), Some(seconds))?;
    write(&design.folder.join(format!("proof_{number}.log")), &said.text)?;
    Ok(proved(&said))
}

fn in_cases(design: &MutatedDesign, number: u32) -> Outcome<Answer> {
    // Only what Unit has begun has a miter.
    let bits = fs::read_to_string(design.folder.join(format!("proof_{number}.bits"))).unwrap_or_default();
    let mut bits: Vec<&str> =
        bits.lines().filter_map(|line| line.rsplit('/').next()).filter(|bit| *bit != "in_clk").collect();
    bits.sort_unstable();
    for (i, one) in bits.iter().enumerate() {
        for other in &bits[i + 1..] {
            if all_cases(design, number, one, other)? {
                return Ok(Answer::Same);
            }
        }
    }
    Ok(Answer::Unknown)
}

/// Whether the outputs are the same for each of the four values of two bits.
fn all_cases(design: &MutatedDesign, number: u32, one: &str, other: &str) -> Outcome<bool> {
    for (a, b) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        let script = format!(
            "read_rtlil proof_{number}.il; cd miter
             delete -port w:{one}; connect -set {one} 1'{a}; delete -port w:{other}; connect -set {other} 1'{b}; cd ..
             opt -full; sat -verify -prove trigger 0 miter"
        );
        let said = yosys(&design.folder, &["-q"], &script, Some(CASE_SECONDS))?;
        if !said.ok() {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_have_their_names_in_their_modules() {
        for (flat, own) in [
            ("$flatten\\u_weight.\\u_tail.$add$file.v:12$3", "$add$file.v:12$3"),
            ("$add$file.v:12$3", "$add$file.v:12$3"),
        ] {
            assert_eq!(own_name(flat), own);
        }
        let fault = "-mode cnot0 -module top -cell $x -port A -portbit 3 -ctrlbit 2 -src file.v:1";
        assert_eq!(option(fault, "-cell"), Some("$x"));
        assert_eq!(option(fault, "-wire"), None);
    }
}
