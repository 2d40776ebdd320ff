//! One random configuration.

use crate::cli::RandomArgs;
use crate::cosim::build::{Compile, Simulator};
use crate::generate::testbench::{Plan, testbench};
use crate::target::Target;
use flashd_generator::{Prefix, axis_files, write_all};
use flashd_hwmodel::vectors::{Layout, Look};
use flashd_simulator::array::{self, Disturbance};
use flashd_simulator::random::{Compared, compare, packets};
use flashd_simulator::selftest::{Expected, Stream};
use flashd_simulator::{Gaps, VectorWriter};
use flashd_spec::config::WrapperConfig;
use flashd_spec::machine::Machine;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Every Verilog file in a folder through all tools that read it.
pub const LINT: &str = "scripts/lint";
/// From an array's vectors to a wrapper's testbench.
pub const PACKETS: &str = "testbench/axis/packets.py";
/// Lines of a program's output that are shown of a failure.
const SHOWN: usize = 20;

/// A configuration to check.
pub struct Case<'a> {
    pub args: &'a RandomArgs,
    pub seed: u64,
    pub drawn: Machine,
}

/// What was compared.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Checked {
    /// By the engines.
    pub engines: Compared,
    /// Checks of the emitted testbench in Icarus.
    pub testbench: u64,
    /// Those in Verilator, where it ran.
    pub verilator: Option<u64>,
}

impl Case<'_> {
    /// All checks, the quick ones first; `checked` is filled on the way.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self, rng: &mut ChaCha8Rng, checked: &mut Checked) -> Result<(), String> {
        let keys = self.args.keys as usize;
        let seed = rng.random();
        let only = self.args.generate_only;
        if !only {
            checked.engines = compare(&self.drawn, seed, keys).map_err(|e| format!("engines: {e}"))?;
        }
        let temporary;
        let folder = match &self.args.out {
            // Programs that get it may work elsewhere, and take a dash for an option.
            Some(out) => std::path::absolute(out.join(self.seed.to_string()))
                .map_err(|e| format!("--out {}: {e}", out.display()))?,
            None => {
                temporary = flashd_files::TemporaryFolder::create_in(&std::env::temp_dir())
                    .map_err(|e| format!("temporary folder: {e}"))?;
                temporary.path().to_path_buf()
            }
        };
        let target = match &self.drawn {
            Machine::Core(config) => Target::Core(config.clone()),
            Machine::Array(config) => Target::Array(config.clone()),
            Machine::Split(config) => Target::Split(config.clone()),
            Machine::Wrapper(config) => {
                let files = axis_files(config).map_err(|e| format!("generate: {e}"))?;
                let design = self.write(&folder.join("rtl"), &files)?;
                if only {
                    return Ok(());
                }
                self.lint(&folder.join("rtl"))?;
                checked.testbench = self.packets(config, &design, &folder.join("tb"), rng)?;
                return Ok(());
            }
        };
        let files = target.files(&Prefix::Top).map_err(|e| format!("generate: {e}"))?;
        let design = self.write(&folder.join("rtl"), &files)?;
        if !only {
            self.lint(&folder.join("rtl"))?;
        }
        let plan = Plan { seed: rng.random(), keys: Some(self.args.keys), look: Look::Inside };
        let bench = testbench(&target, &plan, &Prefix::Top).map_err(|e| format!("testbench: {e}"))?;
        write_all(&folder.join("tb"), &bench).map_err(|e| format!("testbench: {e}"))?;
        if only {
            return Ok(());
        }
        let top = format!("{}_tb", target.name());
        let sources = [PathBuf::from(format!("{top}.v")), design];
        checked.testbench = self.icarus(&folder.join("tb"), &top, &sources, &[])?;
        if self.args.verilator > 0 && self.seed.is_multiple_of(self.args.verilator) {
            checked.verilator = Some(self.verilator(&target, &folder.join("verilator"), rng)?);
        }
        Ok(())
    }

    /// Writes what was generated; the Verilog file.
    fn write(&self, folder: &Path, files: &[flashd_generator::GeneratedFile]) -> Result<PathBuf, String> {
        let written = write_all(folder, files).map_err(|e| format!("generate: {e}"))?;
        let design = written.into_iter().find(|path| path.extension().is_some_and(|e| e == "v"));
        // The simulators run in folders of their own.
        let design = design.ok_or("generate: there is no Verilog")?;
        design.canonicalize().map_err(|e| format!("{}: {e}", design.display()))
    }

    /// A script of the repository.
    fn script(&self, name: &str) -> Result<PathBuf, String> {
        let path = self.args.repository.join(name);
        std::path::absolute(&path).map_err(|e| format!("--repository {}: {e}", path.display()))
    }

    fn lint(&self, folder: &Path) -> Result<(), String> {
        let script = self.script(LINT)?;
        said("lint", Command::new("bash").arg(script).arg(folder).args(["--jobs", "1"])).map(drop)
    }

    /// The testbench in Icarus: how much it has compared.
    fn icarus(&self, folder: &Path, top: &str, sources: &[PathBuf], plus: &[String]) -> Result<u64, String> {
        let mut compile = Command::new("iverilog");
        compile.current_dir(folder).args(["-g2005", "-I.", "-s", top, "-o", "tb.vvp"]).args(sources);
        said("iverilog", &mut compile)?;
        let text = said("vvp", Command::new("vvp").current_dir(folder).args(["-n", "tb.vvp"]).args(plus))?;
        let verdict = text.lines().rfind(|line| line.starts_with("TEST ")).unwrap_or_default();
        let passed = verdict.strip_prefix("TEST PASSED: ").and_then(|rest| rest.strip_suffix(" checks"));
        match passed.and_then(|checks| checks.parse().ok()) {
            Some(checks) if checks > 0 => Ok(checks),
            _ => Err(format!("testbench in Icarus: {}", last_lines(&text))),
        }
    }

    /// The same kinds of rounds in Verilator, with other data.
    fn verilator(&self, target: &Target, folder: &Path, rng: &mut ChaCha8Rng) -> Result<u64, String> {
        let problem = |e: &dyn Display| format!("Verilator: {e}");
        let layout = target.layout(Look::Ports, &Prefix::Top).map_err(|e| problem(&e))?;
        let files = target.files(&Prefix::Top).map_err(|e| problem(&e))?;
        let (simulator, _) =
            Simulator::build(Some(folder), &layout, &files, Compile::for_keys(self.args.keys))
                .map_err(|e| problem(&e))?;
        let mut process = simulator.start(None).map_err(|e| problem(&e))?;
        let pipe = std::io::BufWriter::new(process.input().map_err(|e| problem(&e))?);
        let stream = Stream::of(rng.random(), self.args.keys);
        let sent = target.stream(&layout, &stream, Expected::Lockstep, pipe, &mut |_| ());
        match process.verdict().map_err(|e| problem(&e))? {
            // A simulator that has found a difference closes its end, which is an error here, too: its own words count.
            Err(difference) => Err(problem(&difference)),
            Ok(checks) => sent.map(|_| checks).map_err(|e| problem(&e)),
        }
    }

    /// A wrapper's testbench in Icarus, with pauses on every stream.
    fn packets(
        &self,
        config: &WrapperConfig,
        design: &Path,
        folder: &Path,
        rng: &mut ChaCha8Rng,
    ) -> Result<u64, String> {
        let problem = |e: &dyn Display| format!("testbench: {e}");
        let w = packets(config, self.args.keys as usize, rng);
        let layout = Layout::of(&config.array, Look::Ports).map_err(|e| problem(&e))?;
        let mut out = VectorWriter::new(Vec::new(), layout).map_err(|e| problem(&e))?;
        let gaps = Disturbance::gaps(Gaps::Random(rng.random()));
        array::run(&config.array, &w, &gaps, &mut [&mut out]).map_err(|e| problem(&e))?;
        let (vectors, _) = out.finish().map_err(|e| problem(&e))?;
        fs::create_dir_all(folder).map_err(|e| problem(&e))?;
        let array = folder.join("array.vec");
        fs::write(&array, vectors).map_err(|e| problem(&e))?;
        let manifest = design.with_extension("json");
        let script = self.script(PACKETS)?;
        let mut packets = Command::new("python3");
        // No compiled Python beside the sources.
        packets.arg("-B").arg(script).arg(manifest).arg(array).arg("--out").arg(folder);
        said("packets.py", &mut packets)?;
        let sources = ["axis_tb.v", "axis_pace.v"].map(PathBuf::from);
        let sources: Vec<PathBuf> = sources.into_iter().chain([design.to_path_buf()]).collect();
        self.icarus(folder, "axis_tb", &sources, &[format!("+seed={}", rng.random_range(1..1_000_000))])
    }
}

/// What a program printed.
///
/// # Errors
/// If it cannot be run or does not succeed, with the end of what it said.
fn said(name: &str, command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|e| format!("{name}: {e}"))?;
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    if output.status.success() { Ok(text) } else { Err(format!("{name}: {}", last_lines(&text))) }
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(SHOWN)..].join("\n")
}
