//! A design compiled by Verilator with the harness of `testbench/verilator`.

use crate::digest::{self, hexadecimal};
use crate::output::Failure;
use flashd_files::TemporaryFolder;
use flashd_generator::{GeneratedFile, testbench_files};
use flashd_hwmodel::vectors::Layout;
use flashd_spec::config::without_digest;
use sha2::{Digest as _, Sha256};
use std::fs::File;
use std::io::{ErrorKind, Read, Result as IoResult};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Instant;

/// The harness, so that an installed program needs no repository.
const HARNESS: &str = include_str!("../../../../testbench/verilator/main.cpp");
/// Digits of the digest in the name of a compiled design's folder.
const DIGITS: usize = 16;
/// Verilator's own part, the same for every design: compiled for the first one and kept for the others.
const RUNTIME: [&str; 3] = ["verilated.o", "verilated_threads.o", "verilated_dpi.o"];
/// The simulator, as Verilator's makefile calls it.
const EXECUTABLE: &str = "Vdesign";
/// Modules of which a long core has many instances: groups of lanes, and terms of a dot product.
const REPEATED: [&str; 2] = ["_group_16", "_term"];
/// Fewest groups of a core that is compiled in blocks.
const MANY_GROUPS: usize = 8;
/// Control file of a design that is compiled in blocks.
const BLOCKS: &str = "blocks.vlt";

/// How a design is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compile {
    /// All of it as one: the faster simulator.
    Whole,
    /// Compiles each repeated module of a long core once: much less to compile, but slower in every cycle.
    Blocks,
    /// As blocks, and not optimised: for streams that take less time than optimising.
    Short,
    /// All of it as one, not optimised, and able to write waves.
    Traced,
}

/// Keys that run in the extra time of compiling a long core whole.
const MOST_KEYS_IN_BLOCKS: u64 = 100_000;
/// Keys that run in the extra time of optimising a short core.
const MOST_KEYS_UNOPTIMISED: u64 = 20_000;

impl Compile {
    /// The way for a stream of `keys` keys: a long run loses more time than a quick compilation saves.
    pub fn for_keys(keys: u64) -> Compile {
        match keys {
            _ if keys <= MOST_KEYS_UNOPTIMISED => Compile::Short,
            _ if keys <= MOST_KEYS_IN_BLOCKS => Compile::Blocks,
            _ => Compile::Whole,
        }
    }

    /// End of the name of Verilator's own part.
    fn runtime(self) -> &'static str {
        if self == Compile::Traced { "-traced" } else { "" }
    }

    /// g++'s option for the code of the design.
    fn optimisation(self) -> &'static str {
        match self {
            Compile::Whole | Compile::Blocks => "-O1",
            Compile::Short | Compile::Traced => "-O0",
        }
    }
}

/// # Errors
/// Names the program that is missing.
pub fn require_tools() -> Result<(), Failure> {
    for tool in ["verilator", "make", "g++"] {
        let found = Command::new(tool).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        if found.is_err() {
            return Err(Failure::input(format!(
                "{tool} is not on the PATH: co-simulation needs Verilator 5, make and g++ (Debian: apt-get install \
                 verilator make g++)"
            )));
        }
    }
    Ok(())
}

/// A tool's version as part of a file name.
fn version(tool: &str) -> Result<String, Failure> {
    let output = Command::new(tool).arg("--version").output();
    let output = output.map_err(|e| Failure::input(format!("{tool}: {e}")))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let first = text.lines().next().unwrap_or_default();
    Ok(first.chars().map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '_' }).collect())
}

/// Runs a step of a design's compilation.
fn succeed(name: &str, command: &mut Command) -> Result<(), Failure> {
    let tool = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|e| Failure::input(format!("{tool}: {e}")))?;
    if output.status.success() {
        return Ok(());
    }
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let words: Vec<&str> = text.lines().take(20).collect();
    Err(Failure::input(format!("{name}: {tool} failed:\n{}", words.join("\n"))))
}

/// The modules of a long core that are there many times; none of a short core.
fn repeated(verilog: &str) -> Vec<String> {
    let is = |name: &str, end: &str| without_digest(name).ends_with(end);
    let first_words = || verilog.lines().filter_map(|line| line.strip_prefix("    ")?.split(' ').next());
    if first_words().filter(|word| is(word, REPEATED[0])).count() < MANY_GROUPS {
        return Vec::new();
    }
    let modules = verilog.lines().filter_map(|line| line.strip_prefix("module ")?.split(' ').next());
    modules.filter(|m| REPEATED.iter().any(|end| is(m, end))).map(String::from).collect()
}

/// The compiled sources, by file name; in blocks with a control file.
fn sources(layout: &Layout, files: &[GeneratedFile], compile: Compile) -> Vec<(String, String)> {
    let name = &layout.name;
    let header = format!("{name}_ports.h");
    let design = format!("{name}.v");
    let mut sources: Vec<(String, String)> =
        files.iter().filter(|f| f.name == design).map(|f| (f.name.clone(), f.text.clone())).collect();
    let blocks = match (compile, sources.first()) {
        (Compile::Blocks | Compile::Short, Some((_, text))) => repeated(text),
        _ => Vec::new(),
    };
    if !blocks.is_empty() {
        let control = blocks.iter().map(|module| format!("hier_block -module \"{module}\"\n"));
        sources.push((BLOCKS.into(), "`verilator_config\n".to_string() + &control.collect::<String>()));
    }
    let about = testbench_files(layout, &[], 0, "").into_iter().filter(|f| f.name == header);
    sources.extend(about.map(|f| (f.name, f.text)));
    // Not as a macro of the command line, whose quotes would have to outlive a number of shells.
    sources.push(("main.cpp".into(), format!("#define PORTS_H \"{header}\"\n{HARNESS}")));
    sources
}

/// Digest of a simulator's sources and tools.
fn digest(versions: &str, sources: &[(String, String)], compile: Compile) -> String {
    let mut hash = Sha256::new();
    let recipe = include_str!("build.rs");
    let optimisation = format!("{}{}", compile.optimisation(), compile.runtime());
    for (name, text) in [("tools", versions), ("recipe", recipe), ("optimisation", &optimisation)]
        .into_iter()
        .chain(sources.iter().map(|(name, text)| (name.as_str(), text.as_str())))
    {
        hash.update(format!("{name} {}\n", text.len()));
        hash.update(text);
    }
    hexadecimal(&hash.finalize())[..DIGITS].to_string()
}

/// Compiles into `obj` in a folder. `kept` has Verilator's own objects.
fn compile_in(
    folder: &Path,
    name: &str,
    sources: &[(String, String)],
    compile: Compile,
    kept: &Path,
) -> Result<(), Failure> {
    let io = |path: &Path, e: std::io::Error| Failure::input(format!("--build {}: {e}", path.display()));
    for (name, text) in sources {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(|e| io(&path, e))?;
    }
    let in_blocks = sources.iter().any(|(name, _)| name == BLOCKS);
    let mut verilator = Command::new("verilator");
    verilator
        // With -O3 Verilator puts much into few long functions. g++ takes longer for them, and at its own -O1 they run half as fast:
        // FLASH-D in bf16, d = 16: 71 thousand cycles a second for 143. (At g++'s -O3, which takes longer for all, the two are alike.)
        .args(["--cc", "--exe", "-O1", "--x-initial", "unique", "--x-assign", "unique"])
        .args(["--top-module", name, "--prefix", "Vdesign", "-Mdir", "obj"])
        // The folder above obj has the header.
        .args(["-CFLAGS", "-I..", &format!("{name}.v"), "main.cpp"])
        .args(if in_blocks { &["--hierarchical", BLOCKS][..] } else { &[] })
        .args(if compile == Compile::Traced { &["--trace"][..] } else { &[] });
    succeed(name, verilator.current_dir(folder))?;
    let objects = folder.join("obj");
    let mut missing = Vec::new();
    for object in RUNTIME {
        match digest::kept(&kept.join(object)) {
            Some(bytes) => std::fs::write(objects.join(object), bytes).map_err(|e| io(&objects, e))?,
            None => missing.push(object),
        }
    }
    let mut make = Command::new("make");
    // All in one file, which Verilator does only for small designs. In many, half of the time goes into the same headers.
    let optimisation = format!("OPT_FAST={}", compile.optimisation());
    make.args(["-C", "obj", "VM_PARALLEL_BUILDS=0", &optimisation]).args(match in_blocks {
        true => ["-f", "Vdesign_hier.mk", "hier_build"],
        false => ["-f", "Vdesign.mk", "Vdesign"],
    });
    succeed(name, make.current_dir(folder))?;
    flashd_files::create_folder(kept).map_err(|e| io(kept, e))?;
    for object in missing.into_iter().filter(|o| objects.join(o).exists()) {
        let bytes = std::fs::read(objects.join(object)).map_err(|e| io(&objects, e))?;
        digest::keep(&kept.join(object), &bytes).map_err(|e| io(kept, e))?;
    }
    let executable = objects.join(EXECUTABLE);
    let bytes = std::fs::read(&executable).map_err(|e| io(&executable, e))?;
    digest::seal_file(&executable, &bytes).map_err(|e| io(&executable, e))
}

/// Where to compile instead, if make cannot build in a folder: it takes no names with blanks.
fn elsewhere(folder: &Path) -> Result<Option<TemporaryFolder>, Failure> {
    let has_blanks = |path: &Path| {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        path.to_string_lossy().contains(char::is_whitespace)
    };
    if !has_blanks(folder) {
        return Ok(None);
    }
    let parent = std::env::temp_dir();
    if has_blanks(&parent) {
        return Err(Failure::input(format!(
            "--build {}: make cannot build in a folder with blanks in its name, and TMPDIR {} has some, too; name another folder",
            folder.display(),
            parent.display()
        )));
    }
    let work = TemporaryFolder::create_in(&parent);
    work.map(Some).map_err(|e| Failure::input(format!("TMPDIR {}: {e}", parent.display())))
}

/// Takes the simulator and its digest from where it was compiled.
fn move_executable(from: &Path, to: &Path) -> IoResult<()> {
    std::fs::create_dir(to.join("obj"))?;
    for name in [EXECUTABLE.to_string(), format!("{EXECUTABLE}.sha256")] {
        std::fs::copy(from.join("obj").join(&name), to.join("obj").join(&name))?;
    }
    Ok(())
}

/// Removes simulators of earlier versions of the design, unless they are in use.
fn discard_others(folder: &Path, name: &str, place: &Path) {
    let of_design = |path: &Path| {
        let digest = path.file_name()?.to_str()?.strip_prefix(name)?.strip_prefix('-')?;
        Some(digest.len() == DIGITS && digest.bytes().all(|b| b.is_ascii_hexdigit()))
    };
    for other in std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        if other == place || of_design(&other) != Some(true) {
            continue;
        }
        let Ok(lock) = File::open(&other) else { continue };
        if lock.try_lock().is_ok() {
            flashd_files::discard_folder(&other);
        }
    }
}

/// A compiled simulator. Its folder is named by the digest of its sources, and appears when it is complete.
pub struct Simulator {
    executable: PathBuf,
    /// A shared lock, which prevents other processes from removing it.
    _used: File,
}

impl Simulator {
    /// Compiles in a folder, by default `flashd/cosim` of the user's cache, unless the same files have been compiled by
    /// the same tools before; how long that took.
    pub fn build(
        folder: Option<&Path>,
        layout: &Layout,
        files: &[GeneratedFile],
        compile: Compile,
    ) -> Result<(Simulator, Option<f64>), Failure> {
        let name = &layout.name;
        let folder = match folder {
            Some(folder) => folder.to_path_buf(),
            None => flashd_files::user_cache("cosim").map_err(|e| Failure::input(format!("--build: {e}")))?,
        };
        let folder = folder.as_path();
        let versions = version("verilator")? + "-" + &version("g++")?;
        let sources = sources(layout, files, compile);
        let place = folder.join(format!("{name}-{}", digest(&versions, &sources, compile)));
        if let Some(simulator) = Simulator::at(&place) {
            return Ok((simulator, None));
        }
        let start = Instant::now();
        let io = |path: &Path, e: std::io::Error| Failure::input(format!("--build {}: {e}", path.display()));
        flashd_files::create_folder(folder).map_err(|e| io(folder, e))?;
        let making = TemporaryFolder::create_in(folder).map_err(|e| io(folder, e))?;
        let kept = folder.join(format!("runtime-{versions}{}", compile.runtime()));
        match elsewhere(folder)? {
            None => compile_in(making.path(), name, &sources, compile, &kept)?,
            Some(work) => {
                compile_in(work.path(), name, &sources, compile, &kept)?;
                move_executable(work.path(), making.path()).map_err(|e| io(folder, e))?;
            }
        }
        // A folder of this name has no simulator, or one that another run has just made of the same.
        if place.exists() && Simulator::at(&place).is_none() {
            flashd_files::discard_folder(&place);
        }
        let made = making.commit(&place);
        let Some(simulator) = Simulator::at(&place) else {
            let e = made.err().unwrap_or_else(|| ErrorKind::NotFound.into());
            return Err(io(&place, e));
        };
        discard_others(folder, name, &place);
        Ok((simulator, Some(start.elapsed().as_secs_f64())))
    }

    /// The simulator in a folder, if there is one.
    fn at(place: &Path) -> Option<Simulator> {
        let used = File::open(place).ok()?;
        // A process that has just made it, or is removing it, holds the lock for a moment. On systems without locks nothing is removed.
        let _ = used.lock_shared();
        let executable = place.join("obj").join(EXECUTABLE);
        digest::kept(&executable).map(|_| Simulator { executable, _used: used })
    }

    /// Starts it on a pipe; one that is compiled for waves writes them.
    pub fn start(&self, waves: Option<&Path>) -> Result<RunningSimulator, Failure> {
        let path = std::path::absolute(&self.executable).unwrap_or_else(|_| self.executable.clone());
        let waves = waves.map(|file| format!("+waves={}", file.display()));
        let child =
            Command::new(&path).arg("-").args(waves).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        child.map(RunningSimulator).map_err(|e| Failure::input(format!("{}: {e}", path.display())))
    }
}

/// A simulator that reads vectors.
pub struct RunningSimulator(Child);

impl RunningSimulator {
    /// Input of the vectors.
    pub fn input(&mut self) -> Result<ChildStdin, Failure> {
        self.0.stdin.take().ok_or_else(|| Failure::input("the simulator has no standard input"))
    }

    /// After the vectors: the number of checks, or the first difference.
    pub fn verdict(mut self) -> IoResult<Result<u64, String>> {
        let mut text = String::new();
        if let Some(out) = &mut self.0.stdout {
            out.read_to_string(&mut text)?;
        }
        let status = self.0.wait()?;
        let last = text.lines().rfind(|line| line.starts_with("TEST ")).unwrap_or_default();
        let passed = last.strip_prefix("TEST PASSED: ").and_then(|rest| rest.strip_suffix(" checks"));
        Ok(match (passed.and_then(|n| n.parse().ok()), status.success()) {
            (Some(checks), true) if checks > 0 => Ok(checks),
            _ => Err(match last.strip_prefix("TEST FAILED: ") {
                Some(difference) => difference.to_string(),
                None => format!("the simulator gave no verdict ({status})"),
            }),
        })
    }
}
