//! The simulators and tools that a wrapper is put into.

use crate::failure::{Outcome, input, with};
use crate::icarus::icarus;
use crate::process::{Said, command, flashd, root, run, target};
use crate::work::{create, files, name, read};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// The Python tools, in a virtual environment.
pub struct Python {
    folder: PathBuf,
}

impl Python {
    /// Finds or installs them.
    pub fn find(no_install: bool) -> Outcome<Python> {
        let mut venv = command(root().join("scripts/venv"), no_install.then_some("--no-install"));
        // Its progress goes to standard error.
        let output = venv.stderr(std::process::Stdio::inherit()).output().map_err(with("scripts/venv"))?;
        match output.status.success() {
            true => Ok(Python { folder: String::from_utf8_lossy(&output.stdout).trim().into() }),
            false => input("scripts/venv does not find or install the Python tools"),
        }
    }

    /// The interpreter.
    pub fn program(&self) -> PathBuf {
        self.folder.join("bin/python")
    }

    /// Their versions in a line.
    pub fn versions(&self) -> Outcome<String> {
        let freeze = ["-m", "pip", "freeze", "--disable-pip-version-check"];
        let said = run(command(self.program(), freeze))?;
        let tools = ["cocotb==", "cocotbext-axi==", "fusesoc==", "edalize==", "numpy=="];
        let ours = said.text.lines().filter(|line| tools.iter().any(|tool| line.starts_with(tool)));
        Ok(ours.collect::<Vec<_>>().join(" "))
    }
}

/// A wrapper with its bench.
pub struct Bench<'a> {
    /// Verilog and manifest; packets and bench are in `tb` of it.
    pub folder: &'a Path,
    pub name: &'a str,
    pub seed: u64,
    pub python: &'a Python,
}

impl Bench<'_> {
    fn tb(&self) -> PathBuf {
        self.folder.join("tb")
    }

    /// Verilog of the bench and of the wrapper.
    fn sources(&self) -> Outcome<Vec<PathBuf>> {
        Ok([files(&self.tb(), ".v")?, vec![self.folder.join(format!("{}.v", self.name))]].concat())
    }

    fn plus(&self, name: &str, value: impl std::fmt::Display) -> String {
        format!("+{name}={value}")
    }

    /// Once over the sample in Icarus.
    pub fn icarus(&self) -> Outcome<Said> {
        icarus(&self.tb(), "axis_tb", &self.sources()?, &[self.plus("seed", self.seed)])
    }

    /// A number of beats in Verilator.
    pub fn verilator(&self, beats: u64) -> Outcome<Said> {
        let target = target()?.join("verilator");
        let tools =
            run(command("verilator", ["--version"]))?.text + &run(command("g++", ["--version"]))?.text;
        let headers = files(&self.tb(), ".vh")?;
        // Optimising takes longer than few beats do.
        let optimisation = if beats > 20_000 { "OPT_FAST=-O1" } else { "OPT_FAST=-O0" };
        let mut texts = vec![tools.clone(), optimisation.into()];
        for file in self.sources()?.iter().chain(&headers) {
            texts.push(read(file)?);
        }
        let built = create(&target.join(format!("{}-{}", self.name, digest(&texts))))?;
        // Verilator's own part, the same for every wrapper: compiled for the first one and kept for the others.
        let runtime = target.join(format!("runtime-{}", digest(&[tools])));
        let program = built.join("Vaxis_tb");
        if !program.exists() {
            // Widths are checked in the wrapper by scripts/lint; the bench mixes bits and integers.
            let flags = "--cc --exe --main --timing -O3 --x-initial unique --x-assign unique -Wno-WIDTH --top-module axis_tb";
            let mut translate = command("verilator", flags.split(' '));
            translate
                .arg(format!("-I{}", self.tb().display()))
                .arg("--Mdir")
                .arg(&built)
                .args(self.sources()?);
            let said = run(translate)?;
            if !said.ok() {
                return Ok(said);
            }
            if runtime.exists() {
                copy(&files(&runtime, ".o")?, &built)?;
            }
            // One file, not many that each read the same headers.
            let flags = ["-f", "Vaxis_tb.mk", optimisation, "VM_PARALLEL_BUILDS=0", "-C"];
            let mut make = command("make", flags);
            make.arg(&built);
            let said = run(make)?;
            if !said.ok() {
                return Ok(said);
            }
            let objects: Vec<PathBuf> = files(&built, ".o")?;
            let own = objects.into_iter().filter(|file| name(file).starts_with("verilated"));
            copy(&own.collect::<Vec<_>>(), &create(&runtime)?)?;
        }
        let packets = self.plus("packets", self.tb().display());
        let mut simulate =
            command(program, [packets, self.plus("seed", self.seed), self.plus("beats", beats)]);
        simulate.arg(format!("+verilator+seed+{}", self.seed + 1)).arg("+verilator+rand+reset+2");
        run(simulate)
    }

    /// A target of the core description.
    pub fn fusesoc(&self, goal: &str, parameters: &[&str]) -> Outcome<Said> {
        let mut path = vec![self.python.folder.join("bin")];
        path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
        let path = std::env::join_paths(path).map_err(with("PATH"))?;
        let work = self.folder.join(format!("fusesoc-{goal}"));
        let mut fusesoc = command(self.python.folder.join("bin/fusesoc"), ["--cores-root", ".", "run"]);
        fusesoc.args(["--target", goal, "--work-root"]).arg(work).arg(format!("flashd:axis:{}", self.name));
        fusesoc.args(parameters).current_dir(self.folder).env("PATH", path).env("HOME", self.folder);
        for (variable, folder) in
            [("XDG_CONFIG_HOME", "config"), ("XDG_CACHE_HOME", "cache"), ("XDG_DATA_HOME", "data")]
        {
            fusesoc.env(variable, self.folder.join(folder));
        }
        run(fusesoc)
    }

    /// A recorded head through cocotb.
    pub fn cocotb(&self, head: &str, causal: bool) -> Outcome<Said> {
        let tests = root().join("testbench/axis/cocotb_tests/run.py");
        let mut cocotb = command(self.python.program(), [tests]);
        cocotb.arg("--flashd").args(flashd()?);
        cocotb.arg("--manifest").arg(self.folder.join(format!("{}.json", self.name)));
        cocotb.arg("--head").arg(root().join("testbench/data").join(head));
        cocotb.arg("--work").arg(self.folder.join("cocotb")).arg("--seed").arg(self.seed.to_string());
        // Leaves no compiled Python among the sources.
        cocotb.args(causal.then_some("--causal")).env("PYTHONDONTWRITEBYTECODE", "1");
        run(cocotb)
    }
}

/// A name for texts.
fn digest(texts: &[String]) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update(text.len().to_le_bytes());
        hash.update(text);
    }
    hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

fn copy(files: &[PathBuf], folder: &Path) -> Outcome {
    for file in files {
        std::fs::copy(file, folder.join(name(file))).map_err(with(file.display()))?;
    }
    Ok(())
}
