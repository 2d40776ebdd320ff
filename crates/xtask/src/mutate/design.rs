//! A design with all its faults in one netlist, compiled with its testbench.

use crate::failure::{Failure, Outcome, check, with};
use crate::process::{command_in, limited, run, succeeds, yosys};
use crate::selection::DesignSelection;
use crate::work::{self, create, only, read, write};
use std::fs;
use std::path::{Path, PathBuf};

/// Processor time for a simulation.
const SECONDS: u64 = 600;
/// What names the run that the results in a folder are of; written last.
const COMPLETE: &str = "complete";

/// Which vectors a simulation reads.
pub enum MutantVectors {
    /// The vectors of the emitted testbench.
    First,
    /// A stream of this seed.
    Stream(u64),
}

/// A design with its faults.
pub struct MutatedDesign {
    pub name: String,
    /// Where everything of it is.
    pub folder: PathBuf,
    pub unit: bool,
    /// The faults, as they follow `mutate` in a script of Yosys.
    faults: Vec<String>,
    keys: u64,
    selection: DesignSelection,
}

impl MutatedDesign {
    /// Makes the netlist and the simulator, if they are not there yet: another design, other vectors or another count begin
    /// from the start.
    pub fn prepare(selection: DesignSelection, folder: &Path, count: u16, keys: u64) -> Outcome<Self> {
        let work = work::temporary()?;
        selection.generate(&["--testbench", "ports"], work.path())?;
        let name = only(work.path(), "_tb.v")?;
        let unit = selection.is_unit();
        let mut design =
            MutatedDesign { name, folder: folder.to_path_buf(), unit, faults: vec![], keys, selection };
        let run = format!("{count} faults, {keys} keys\n");
        if !design.is_complete(work.path(), &run) {
            super::progress(&format!("{}: {count} faults into a netlist", design.name));
            fs::remove_dir_all(folder).map_err(with(folder.display()))?;
            create(folder)?;
            for file in work::files(work.path(), "")? {
                fs::copy(&file, folder.join(work::name(&file))).map_err(with(file.display()))?;
            }
            design.build(count)?;
            write(&folder.join(COMPLETE), &run)?;
        }
        design.faults = lines(&read(&folder.join("faults.txt"))?);
        Ok(design)
    }

    /// Whether the results in the folder belong to this run.
    fn is_complete(&self, generated: &Path, run: &str) -> bool {
        let name = &self.name;
        let same = |file: String| match (fs::read(self.folder.join(&file)), fs::read(generated.join(file))) {
            (Ok(kept), Ok(new)) => kept == new,
            _ => false,
        };
        read(&self.folder.join(COMPLETE)).is_ok_and(|kept| kept == run)
            && same(format!("{name}.v"))
            && same(format!("{name}_tb.v"))
            && same(format!("{name}_tb.vec"))
    }

    fn build(&self, count: u16) -> Outcome {
        let MutatedDesign { name, folder, .. } = self;
        // A $pmux says nothing about two selects at a time, which a fault brings about: simulator and solver would differ.
        let script = format!(
            "read_verilog {name}.v; hierarchy -top {name}; proc -norom; pmuxtree; write_rtlil modules.il
             flatten; opt_clean; write_rtlil base.il; mutate -list {count} -seed 1 -o faults.txt"
        );
        succeeds(yosys(folder, &["-q"], &script, None)?, name)?;
        let faults = lines(&read(&folder.join("faults.txt"))?);
        if faults.len() != usize::from(count) {
            return check(format!("{name}: Yosys lists {} faults of {count}", faults.len()));
        }
        let mut script = String::from("read_rtlil base.il\n");
        for (i, fault) in faults.iter().enumerate() {
            script += &format!("mutate -ctrl fault 16 {} {fault}\n", i + 1);
        }
        script += &format!("rename {name} {name}_faults\nwrite_verilog -noattr faults.v\n");
        write(&folder.join("apply.ys"), &script)?;
        succeeds(run(command_in(folder, "yosys", ["-q", "apply.ys"]))?, name)?;
        let mut depth = vectors(&folder.join(format!("{name}_tb.vec")))?;
        if !self.unit {
            let stream = self.generate_stream(super::SECOND)?;
            // Other streams are a little longer.
            depth = 2 * vectors(&stream)?;
        }
        write(&folder.join("faults_tb.v"), &numbered(name, &read(&folder.join(format!("{name}_tb.v")))?)?)?;
        let mut verilator =
            command_in(folder, "verilator", ["--binary", "--timing", "-O3", "-Wno-fatal", "--top-module"]);
        verilator.arg(format!("{name}_tb")).arg(format!("-GDEPTH={depth}"));
        verilator.args(["-Mdir", "obj", "faults_tb.v", "faults.v"]);
        succeeds(run(verilator)?, name)?;
        self.passes(&MutantVectors::First)?;
        if !self.unit {
            self.stream(super::SECOND)?;
        }
        Ok(())
    }

    /// The numbers of all faults.
    pub fn numbers(&self) -> Vec<u32> {
        (1..).take(self.faults.len()).collect()
    }

    /// A fault as it follows `mutate`.
    pub fn mutation(&self, number: u32) -> Outcome<&str> {
        let fault = self.faults.get((number as usize).wrapping_sub(1));
        fault
            .map(String::as_str)
            .ok_or_else(|| Failure::Input(format!("{} has no fault {number}", self.name)))
    }

    /// A fault for a reader: without its source line and the module, which is always the same.
    pub fn fault(&self, number: u32) -> String {
        let text = self.mutation(number).unwrap_or("?");
        let text = text.split(" -src").next().unwrap_or(text);
        let words: Vec<&str> = text.split(' ').collect();
        let module = words.iter().position(|word| *word == "-module");
        let shown = |i: usize| module.is_none_or(|at| i != at && i != at + 1);
        words
            .iter()
            .enumerate()
            .filter(|(i, _)| shown(*i))
            .map(|(_, word)| *word)
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// The last line of the testbench about a fault; 0 is none.
    pub fn simulate(&self, vectors: &MutantVectors, number: u32) -> Outcome<String> {
        let name = &self.name;
        let file = match vectors {
            MutantVectors::First => format!("{name}_tb.vec"),
            MutantVectors::Stream(seed) => format!("other_{seed}/{name}_tb.vec"),
        };
        let program = self.folder.join(format!("obj/V{name}_tb"));
        let arguments = [format!("+vectors={file}"), format!("+fault={number}")];
        let simulate = command_in(&self.folder, program, arguments);
        let said = limited(simulate, Some(SECONDS))?;
        let verdict = said.text.lines().rfind(|line| line.starts_with("TEST "));
        Ok(verdict.unwrap_or("no verdict").replace('\t', " "))
    }

    /// Sees to it that the netlist without a fault passes.
    fn passes(&self, vectors: &MutantVectors) -> Outcome {
        match self.simulate(vectors, 0)?.contains("TEST PASSED") {
            true => Ok(()),
            false => check(format!("{}: the netlist without a fault fails", self.name)),
        }
    }

    /// The vectors of a stream, which the netlist without a fault passes.
    pub fn stream(&self, seed: u64) -> Outcome<MutantVectors> {
        let complete = self.stream_folder(seed).join(COMPLETE);
        if !complete.exists() {
            self.generate_stream(seed)?;
            self.passes(&MutantVectors::Stream(seed))?;
            write(&complete, "")?;
        }
        Ok(MutantVectors::Stream(seed))
    }

    fn stream_folder(&self, seed: u64) -> PathBuf {
        self.folder.join(format!("other_{seed}"))
    }

    fn generate_stream(&self, seed: u64) -> Outcome<PathBuf> {
        let folder = create(&self.stream_folder(seed))?;
        let (keys, seed) = (self.keys.to_string(), seed.to_string());
        let options = ["--testbench", "ports", "--keys", &keys, "--seed", &seed];
        self.selection.generate(&options, &folder)?;
        Ok(folder.join(format!("{}_tb.vec", self.name)))
    }
}

/// The faults of a list of Yosys, without the command.
fn lines(text: &str) -> Vec<String> {
    text.lines().map(|line| line.strip_prefix("mutate ").unwrap_or(line).to_string()).collect()
}

/// Lines of a file with vectors.
fn vectors(path: &Path) -> Outcome<usize> {
    Ok(read(path)?.lines().filter(|line| !line.is_empty()).count())
}

/// The testbench with a number for the fault.
fn numbered(name: &str, testbench: &str) -> Outcome<String> {
    let instance = format!("    {name} dut (");
    let with_number = format!(
        "    reg [15:0] fault;\n    initial if (!$value$plusargs(\"fault=%d\", fault)) fault = 0;\n\n    \
         {name}_faults dut (\n        .fault(fault),"
    );
    let code = testbench.lines().filter(|line| !line.starts_with("//"));
    let text: String = code.map(|line| line.replace(&instance, &with_number) + "\n").collect();
    match text.contains(&with_number) {
        true => Ok(text),
        false => check(format!("{name}_tb.v has no instance of {name}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_testbench_gets_a_number() {
        let text = numbered("core", "// Testbench\nmodule core_tb;\n    core dut (\n        .a(a)\n    );\n")
            .unwrap();
        assert!(text.starts_with("module core_tb;\n    reg [15:0] fault;\n"), "{text}");
        assert!(text.contains("    core_faults dut (\n        .fault(fault),\n        .a(a)\n"), "{text}");
        assert!(numbered("core", "module other_tb;\n").is_err());
    }
}
