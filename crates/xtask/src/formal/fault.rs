//! `cargo xtask prove-fault`: a fault in a netlist, for [`crate::mutate`].

use super::prove::formal;
use super::seen;
use crate::failure::{Outcome, input, with};
use crate::process::{abc, command_in, quoted, require, run};
use crate::work::{read, write};
use clap::Args;
use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Prove that a fault in a netlist changes nothing that a user sees, for all times, by ABC, which comes with Yosys
///
/// Prints `same`, `differs` or `unknown`. Original and copy with the fault get the same inputs and begin with a reset and with the
/// same contents of all registers, whatever these are. METHOD:
///
///   step     in every state that the original can reach, the copy gives the same outputs and the same next state: then it never
///            leaves the original's states. After a reset, registers without one hold anything.
///   lateN    the same but for the registers that the fault reaches through less than N others (late1: directly), which are there
///            twice. Products that neither reaches have the same factors in both, and are anything; late1 and on, so are the
///            others, but the same for the same factors. `differs` means nothing.
///   outputs  the outputs are the same wherever the testbench compares them, as long as q_valid keeps to the rules; registers may
///            differ. Registers that the fault cannot reach are there once.
///
/// Equal nodes are found and proved by induction (lcorr, scorr), the others by property-directed reachability (pdr).
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub struct FaultOptions {
    /// A core in RTLIL, flat
    netlist: PathBuf,
    /// Its NAME_ports.h
    ports: PathBuf,
    /// What follows `mutate` in a script of Yosys
    #[arg(allow_hyphen_values = true)]
    fault: String,
    /// step, late0 to late9, or outputs
    method: Method,
    /// Processor time for the proof
    seconds: u64,
    /// First part of the names of written files
    files: PathBuf,
}

/// The proposition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    Step,
    /// Number of registers on the path from the fault to a difference.
    Late(u32),
    Outputs,
}

impl FromStr for Method {
    type Err = String;
    fn from_str(text: &str) -> Result<Method, String> {
        let number = text.strip_prefix("late").filter(|number| number.len() == 1);
        match (text, number.and_then(|number| number.parse().ok())) {
            ("step", _) => Ok(Method::Step),
            ("outputs", _) => Ok(Method::Outputs),
            (_, Some(number)) => Ok(Method::Late(number)),
            _ => Err("step, late0 to late9 or outputs".into()),
        }
    }
}

impl Display for Method {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Method::Step => f.write_str("step"),
            Method::Late(number) => write!(f, "late{number}"),
            Method::Outputs => f.write_str("outputs"),
        }
    }
}

/// The answer about a fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    Same,
    Differs,
    Unknown,
}

impl Display for Answer {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Answer::Same => "same",
            Answer::Differs => "differs",
            Answer::Unknown => "unknown",
        })
    }
}

/// Proves it, and prints the answer.
pub fn prove_fault(options: &FaultOptions) -> Outcome {
    require(&["yosys", "yosys-abc"])?;
    let absolute = |path: &Path| std::path::absolute(path).map_err(with(path.display()));
    let files = absolute(&options.files)?;
    let (Some(folder), Some(prefix)) = (files.parent(), files.file_name()) else {
        return input(format!("{}: the beginning of a file's name is needed", files.display()));
    };
    let netlist = absolute(&options.netlist)?;
    netlist.metadata().map_err(with(netlist.display()))?;
    let prefix = prefix.to_string_lossy();
    let proof = Proof { folder, netlist: &netlist, ports: &absolute(&options.ports)?, prefix: &prefix };
    println!("{}", proof.of(&options.fault, options.method, options.seconds)?);
    Ok(())
}

/// Where a proof is made.
pub struct Proof<'a> {
    pub folder: &'a Path,
    pub netlist: &'a Path,
    pub ports: &'a Path,
    /// First part of the names of files.
    pub prefix: &'a str,
}

impl Proof<'_> {
    /// Proves it of a fault.
    ///
    /// # Errors
    /// If Yosys does not make the problem that ABC solves.
    pub fn of(&self, fault: &str, method: Method, seconds: u64) -> Outcome<Answer> {
        let Proof { folder, prefix, .. } = self;
        let file = |ending: &str| folder.join(format!("{prefix}.{ending}"));
        write(&file("v"), &seen::module(&read(self.ports)?)?)?;
        let script = self.script(fault, method);
        write(&file("ys"), &script)?;
        let mut log = run(command_in(folder, "yosys", ["-q", "-s", &format!("{prefix}.ys")]))?;
        if !log.ok() {
            write(&file("log"), &log.text)?;
            return input(format!("{}: Yosys: {}", file("ys").display(), log.last(3)));
        }
        let equal = "strash; scleanup; lcorr -C 10000; &get -n; &scorr -C 2000; &put; print_stats; dc2; scorr; print_stats";
        let solve = format!("read_aiger {prefix}.aig; {equal}; pdr; print_status; write_cex -n {prefix}.cex");
        let said = abc(folder, &solve, Some(seconds))?;
        log.text += &said.text;
        write(&file("log"), &log.text)?;
        let status = |value: u32| said.has_line(&format!("Status = {value} "));
        Ok(match (said.has_line("Property proved"), status(1), status(0)) {
            (true, true, _) => Answer::Same,
            (_, _, true) => Answer::Differs,
            _ => Answer::Unknown,
        })
    }

    /// The script that makes original and copy, and one problem of both.
    fn script(&self, fault: &str, method: Method) -> String {
        let late = match method {
            Method::Late(number) => number,
            _ => 0,
        };
        let mut lines = vec![
            format!("read_rtlil {}", quoted(self.netlist)),
            format!("mutate -ctrl fault 1 1 {fault}"),
            format!("read_verilog -icells {}.v", self.prefix),
        ];
        let mut add = |text: &str| lines.extend(text.split("; ").map(String::from));
        add("hierarchy -top seen; proc -norom; flatten; opt_clean");
        if let Method::Late(_) = method {
            add(&reached("seen", late));
            add("delete seen/t:$mul @reached %d");
            if late > 0 {
                add("chtype -set reached_product seen/t:$mul");
            }
        }
        // The D input of a register with a reset is a multiplexer that the reset switches.
        if method != Method::Outputs {
            add(
                "select -set reset seen/w:core.rst %co1:+$mux[S] %co1:+$mux[Y] seen/w:* %i %co1:+$dff[D] seen/t:$dff %i",
            );
            add("select -assert-min 1 @reset; chtype -set resetless seen/t:$dff @reset %d");
        }
        for file in ["registers.v", "products.v"] {
            add(&format!("techmap -max_iter 1 -map {}", quoted(&formal(file))));
        }
        add("rename -enumerate -pattern factor_% seen/w:*.factor_a seen/w:*.factor_b");
        add("rename -enumerate -pattern state_q_% seen/w:*.state_q");
        add("rename -enumerate -pattern state_d_% seen/w:*.state_d");
        add("opt_clean; setundef -zero; setundef -undriven -expose; copy seen gold; rename seen gate");
        if method == Method::Outputs {
            for copy in ["gold", "gate"] {
                add(&format!("select -set {copy} {copy}/w:state_q_* {copy}/w:fault %co* %d"));
            }
            add("expose @gold; expose -input @gate");
        } else {
            for copy in ["gold", "gate"] {
                add(&reached(copy, late));
                add(&format!("select -set late_q {copy}/w:state_q_* @reached %i"));
                add("select -set late_d @late_q %ci1:+$dff[Q] %ci1:+$dff[D]");
                add(&format!("select -set now_{copy} {copy}/w:state_q_* @late_q %d"));
                add(&format!("select -set next_{copy} {copy}/w:state_d_* @late_d %d"));
            }
            add("expose @now_gold @next_gold gold/w:factor_*; expose -input @now_gate gate/w:factor_*");
            add("expose @next_gate");
        }
        add("delete -port gold/fault gate/fault");
        add("cd gold; connect -set fault 1'0; cd ..; cd gate; connect -set fault 1'1; cd ..");
        add("miter -equiv -cross -flatten gold gate miter; hierarchy -top miter");
        add("opt_merge; opt_clean -purge; techmap; setundef -zero -init; aigmap");
        add(&format!("write_aiger -zinit -map {0}.map {0}.aig", self.prefix));
        lines.join("\n") + "\n"
    }
}

/// Selects the cells of a module that the fault reaches through this number of registers, all of type $dff.
fn reached(module: &str, registers: u32) -> String {
    let first = format!("select -set reached {module}/w:fault %coe*");
    let further = "select -set reached @reached %co1:+$dff[D] %co1:+$dff[Q] %coe* @reached %u";
    [vec![first], vec![further.to_string(); registers as usize]].concat().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_known_by_their_names() {
        for method in [Method::Step, Method::Late(0), Method::Late(1), Method::Outputs] {
            assert_eq!(method.to_string().parse(), Ok(method));
        }
        for wrong in ["late", "late10", "late-1", "Step", ""] {
            assert!(wrong.parse::<Method>().is_err(), "{wrong}");
        }
    }
}
