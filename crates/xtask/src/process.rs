//! Other programs: whether they are installed, their output, their time limit.

use crate::failure::{Failure, Outcome, input, with};
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

/// Standard output and standard error of a program in their order, and its status.
pub struct Said {
    pub text: String,
    pub status: ExitStatus,
}

impl Said {
    /// Whether it ended with success.
    pub fn ok(&self) -> bool {
        self.status.success()
    }

    /// Whether it said this somewhere.
    pub fn has(&self, text: &str) -> bool {
        self.text.contains(text)
    }

    /// Whether one of its lines begins with this.
    pub fn has_line(&self, start: &str) -> bool {
        self.text.lines().any(|line| line.starts_with(start))
    }

    /// Its last lines.
    pub fn last(&self, lines: usize) -> String {
        let all: Vec<&str> = self.text.lines().collect();
        all[all.len().saturating_sub(lines)..].join("\n")
    }
}

/// The output of a program, or its failure: bad input if its exit code is 2.
pub fn succeeds(said: Said, what: &str) -> Outcome<Said> {
    let text = format!("{what}: {}", said.last(20));
    match said.status.code() {
        Some(0) => Ok(said),
        Some(2) => Err(Failure::Input(text)),
        _ => Err(Failure::Check(format!("{text} ({})", said.status))),
    }
}

/// `flashd` and its first words: the executable that FLASHD names, or the command line inside this program.
pub fn flashd() -> Outcome<Vec<OsString>> {
    match std::env::var_os("FLASHD") {
        Some(program) => {
            let program = Path::new(&program);
            let found = program.canonicalize().map_err(with(format!("FLASHD={}", program.display())))?;
            Ok(vec![found.into()])
        }
        None => Ok(vec![std::env::current_exe().map_err(with("this program"))?.into(), "flashd".into()]),
    }
}

/// Runs a program to its end.
pub fn run(command: Command) -> Outcome<Said> {
    limited(command, None)
}

/// Runs a program, which the system ends after a number of seconds of processor time. Processor time, so that the answer of a proof
/// does not depend on the load of the machine.
pub fn limited(mut command: Command, seconds: Option<u64>) -> Outcome<Said> {
    let program = command.get_program().to_string_lossy().into_owned();
    let (mut reader, writer) = std::io::pipe().map_err(with(&program))?;
    command.stdin(Stdio::null()).stdout(writer.try_clone().map_err(with(&program))?).stderr(writer);
    let mut child = command.spawn().map_err(with(&program))?;
    // It holds ends of the pipe, which must be closed for the reader to come to an end.
    drop(command);
    if let Some(seconds) = seconds {
        limit(&child, seconds).map_err(with(&program))?;
    }
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).map_err(with(&program))?;
    let status = child.wait().map_err(with(&program))?;
    Ok(Said { text: String::from_utf8_lossy(&bytes).into_owned(), status })
}

fn limit(child: &Child, seconds: u64) -> rustix::io::Result<()> {
    let limit = Rlimit { current: Some(seconds), maximum: Some(seconds) };
    prlimit(Some(Pid::from_child(child)), Resource::Cpu, limit).map(drop)
}

/// A program with its arguments.
pub fn command<A: AsRef<OsStr>>(
    program: impl AsRef<OsStr>,
    arguments: impl IntoIterator<Item = A>,
) -> Command {
    let mut command = Command::new(program);
    command.args(arguments);
    command
}

/// A program with its arguments, in a folder.
pub fn command_in<A: AsRef<OsStr>>(
    folder: &Path,
    program: impl AsRef<OsStr>,
    arguments: impl IntoIterator<Item = A>,
) -> Command {
    let mut command = command(program, arguments);
    command.current_dir(folder);
    command
}

/// Runs a script of Yosys in a folder; `options` go to `yosys`.
pub fn yosys(folder: &Path, options: &[&str], script: &str, seconds: Option<u64>) -> Outcome<Said> {
    limited(command_in(folder, "yosys", options.iter().chain(&["-p", script])), seconds)
}

/// Runs a script of ABC, which comes with Yosys, in a folder.
pub fn abc(folder: &Path, script: &str, seconds: Option<u64>) -> Outcome<Said> {
    limited(command_in(folder, "yosys-abc", ["-q", script]), seconds)
}

/// A file's name as a script of Yosys has it.
pub fn quoted(path: &Path) -> String {
    format!("\"{}\"", path.display())
}

/// Sees to it that programs are installed.
pub fn require(programs: &[&str]) -> Outcome {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let there = |program: &&&str| std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    let missing: Vec<&str> = programs.iter().filter(|program| !there(program)).copied().collect();
    match missing[..] {
        [] => Ok(()),
        [one] => input(format!("{one} is not installed")),
        _ => input(format!("{} are not installed", missing.join(", "))),
    }
}

/// The processors that there are for work in parallel.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Threads for work in parallel, by default one for each processor.
pub fn pool(jobs: Option<usize>) -> Outcome<rayon::ThreadPool> {
    let jobs = jobs.unwrap_or_else(processors);
    rayon::ThreadPoolBuilder::new().num_threads(jobs).build().map_err(with("--jobs"))
}

/// The folder of this repository.
pub fn root() -> PathBuf {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    crates.and_then(Path::parent).unwrap_or(Path::new(".")).to_path_buf()
}

/// The folder of designs that Verilator has compiled.
pub fn simulators() -> Outcome<PathBuf> {
    crate::work::create(&target()?.join("cosim"))
}

/// The folder that cargo builds in.
pub fn target() -> Outcome<PathBuf> {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => std::path::absolute(&folder).map_err(with(folder.to_string_lossy())),
        None => Ok(root().join("target")),
    }
}
