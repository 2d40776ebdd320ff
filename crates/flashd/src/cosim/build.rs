//! A design compiled by Verilator with the harness of `testbench/verilator`.

use crate::output::Failure;
use flashd_generator::{GeneratedFile, testbench_files};
use flashd_hwmodel::vectors::Layout;
use std::io::{Read, Result as IoResult};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Instant;

/// The harness, so that an installed program needs no repository.
const HARNESS: &str = include_str!("../../../../testbench/verilator/main.cpp");
/// Written when a simulator is complete.
const COMPLETE: &str = "complete";

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

/// A compiled simulator.
pub struct Simulator {
    executable: PathBuf,
}

impl Simulator {
    /// Compiles, unless the same files have been compiled before; how long that took.
    pub fn build(
        folder: &Path,
        layout: &Layout,
        files: &[GeneratedFile],
    ) -> Result<(Simulator, Option<f64>), Failure> {
        let name = &layout.name;
        let folder = folder.join(name);
        let header = format!("{name}_ports.h");
        let design = format!("{name}.v");
        let mut sources: Vec<(String, String)> =
            files.iter().filter(|f| f.name == design).map(|f| (f.name.clone(), f.text.clone())).collect();
        let about = testbench_files(layout, 0, "").into_iter().filter(|f| f.name == header);
        sources.extend(about.map(|f| (f.name, f.text)));
        sources.push(("main.cpp".into(), HARNESS.into()));
        let simulator = Simulator { executable: folder.join("obj").join("Vdesign") };
        let same = |(name, text): &(String, String)| {
            std::fs::read_to_string(folder.join(name)).is_ok_and(|old| old == *text)
        };
        if folder.join(COMPLETE).exists() && sources.iter().all(same) {
            return Ok((simulator, None));
        }
        let start = Instant::now();
        let io = |path: &Path, e: std::io::Error| Failure::input(format!("--build {}: {e}", path.display()));
        if folder.exists() {
            std::fs::remove_dir_all(&folder).map_err(|e| io(&folder, e))?;
        }
        std::fs::create_dir_all(&folder).map_err(|e| io(&folder, e))?;
        for (name, text) in &sources {
            let path = folder.join(name);
            flashd_files::write(&path, text.as_bytes()).map_err(|e| io(&path, e))?;
        }
        let output = Command::new("verilator")
            .current_dir(&folder)
            .args(["--cc", "--exe", "--build", "-O3", "--x-initial", "unique", "--x-assign", "unique"])
            .args(["--top-module", name, "--prefix", "Vdesign", "-Mdir", "obj", "-MAKEFLAGS", "OPT_FAST=-O1"])
            // Quotes that reach the preprocessor through two shells; the folder above obj has the header.
            .args(["-CFLAGS", &format!("-I.. -DPORTS_H=\\\"{header}\\\""), &design, "main.cpp"])
            .output()
            .map_err(|e| Failure::input(format!("verilator: {e}")))?;
        if !output.status.success() {
            let text = [output.stdout, output.stderr].concat();
            let text = String::from_utf8_lossy(&text);
            let words: Vec<&str> = text.lines().take(20).collect();
            return Err(Failure::input(format!("{name}: verilator failed:\n{}", words.join("\n"))));
        }
        let path = folder.join(COMPLETE);
        flashd_files::write(&path, b"").map_err(|e| io(&path, e))?;
        Ok((simulator, Some(start.elapsed().as_secs_f64())))
    }

    /// Starts it on a pipe.
    pub fn start(&self) -> Result<Running, Failure> {
        let path = std::path::absolute(&self.executable).unwrap_or_else(|_| self.executable.clone());
        let child = Command::new(&path).arg("-").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        child.map(Running).map_err(|e| Failure::input(format!("{}: {e}", path.display())))
    }
}

/// A simulator that reads vectors.
pub struct Running(Child);

impl Running {
    /// Where the vectors go.
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
