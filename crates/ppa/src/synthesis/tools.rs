//! The programs that do the work: Yosys with its ABC, and OpenSTA.

use crate::PpaError;
use flashd_files::TemporaryFolder;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Lines of a failed program's output that an error quotes.
const LAST_LINES: usize = 6;

/// Programs found in `PATH`, with their versions.
#[derive(Clone, Debug)]
pub struct Tools {
    /// Yosys.
    pub yosys: PathBuf,
    /// OpenSTA.
    pub sta: PathBuf,
    /// Output of `yosys -V`.
    pub yosys_version: String,
    /// Output of `sta -version`.
    pub sta_version: String,
}

impl Tools {
    /// Looks for the programs in `PATH` and asks them for their versions.
    ///
    /// # Errors
    /// Names a missing program and the Debian package that contains it.
    pub fn discover() -> Result<Self, PpaError> {
        let yosys = find("yosys", "yosys")?;
        // Called by yosys; without it every mapping would fail with an obscure message.
        find("yosys-abc", "yosys")?;
        let sta = find("sta", "opensta")?;
        let yosys_version = run("yosys", Command::new(&yosys).arg("-V"), "its version")?;
        let sta_version = run("sta", Command::new(&sta).arg("-version"), "its version")?;
        Ok(Tools {
            yosys,
            sta,
            yosys_version: yosys_version.trim().to_string(),
            sta_version: format!("OpenSTA {}", sta_version.trim()),
        })
    }

    /// Runs a Yosys script in a folder. Scripts name only files in it, see [`provide`].
    pub(crate) fn run_yosys(&self, folder: &Path, script: &str, task: &str) -> Result<(), PpaError> {
        let file = folder.join("script.ys");
        std::fs::write(&file, script).map_err(PpaError::file("write", &file))?;
        let mut command = Command::new(&self.yosys);
        command.current_dir(folder).args(["-q", "-s", "script.ys"]);
        run("yosys", &mut command, task).map(drop)
    }

    /// Runs a Tcl script of OpenSTA in a folder, likewise, and returns its output.
    pub(crate) fn run_sta(&self, folder: &Path, script: &str, task: &str) -> Result<String, PpaError> {
        let file = folder.join("script.tcl");
        std::fs::write(&file, script).map_err(PpaError::file("write", &file))?;
        let mut command = Command::new(&self.sta);
        command.current_dir(folder).args(["-no_splash", "-no_init", "-exit", "script.tcl"]);
        run("sta", &mut command, task)
    }
}

/// A folder for the tools to work in.
///
/// # Errors
/// A folder for temporary files whose name ABC cannot read, or where nothing can be made.
pub(crate) fn work_folder() -> Result<TemporaryFolder, PpaError> {
    let parent = std::env::temp_dir();
    let parent = std::path::absolute(&parent).map_err(PpaError::file("find", &parent))?;
    // Yosys gives ABC the library by its whole path, in quotes.
    if parent.to_string_lossy().contains(['"', '\'', '\\', '\n']) {
        return Err(PpaError::Unexpected {
            what: format!("TMPDIR {}", parent.display()),
            detail: "Yosys' ABC reads no path with a quote, a backslash or a line end; set another TMPDIR"
                .into(),
        });
    }
    TemporaryFolder::create_in(&parent).map_err(PpaError::file("create a folder in", &parent))
}

/// Puts a file into a working folder under a plain name. A user's path in a script would need quotes, other ones for each
/// tool.
pub(crate) fn provide(folder: &Path, name: &str, file: &Path) -> Result<(), PpaError> {
    let there = folder.join(name);
    let file = std::path::absolute(file).map_err(PpaError::file("find", file))?;
    #[cfg(unix)]
    let made = std::os::unix::fs::symlink(&file, &there);
    #[cfg(not(unix))]
    let made = std::fs::copy(&file, &there).map(drop);
    made.map_err(PpaError::file("create", &there))
}

/// The first executable file of this name in `PATH`.
fn find(tool: &'static str, package: &'static str) -> Result<PathBuf, PpaError> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|folder| folder.join(tool))
        .find(|file| file.is_file())
        .ok_or(PpaError::MissingTool { tool, package })
}

/// Runs a program to its end and returns its standard output.
fn run(tool: &'static str, command: &mut Command, task: &str) -> Result<String, PpaError> {
    let failed = |message: String| PpaError::Tool { tool, task: task.to_string(), message };
    let output = command.stdin(Stdio::null()).output().map_err(|e| failed(e.to_string()))?;
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let stderr = String::from_utf8_lossy(&output.stderr);
    // OpenSTA ends with success after an error in a script, and says so only in words.
    let complaint = stdout.lines().chain(stderr.lines()).find(|line| line.starts_with("Error:"));
    if output.status.success() && complaint.is_none() {
        return Ok(stdout);
    }
    let words = if stderr.trim().is_empty() { stdout.as_str() } else { stderr.as_ref() };
    let lines: Vec<&str> = words.lines().filter(|line| !line.trim().is_empty()).collect();
    let mut message = lines[lines.len().saturating_sub(LAST_LINES)..].join("\n");
    if let Some(line) = complaint.filter(|line| !message.contains(line)) {
        message = format!("{line}\n{message}");
    }
    Err(failed(format!("{}: {message}", output.status)))
}
