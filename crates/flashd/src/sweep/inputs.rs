//! The inputs of a shard besides its command: program, data, library, tools and container, by their digests and versions.

use super::kind::SweepCommand;
use crate::digest::{hexadecimal, sha256};
use crate::output::Failure;
use flashd_ppa::synthesis::{Cache, CellLibrary};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The file in which an image made from the recipes in `container` has their hash.
const CONTAINER: &str = "/etc/flashd-container";

/// By name: SHA-256 of the `program`, of names and contents of the `data`, of the `library`; versions of tools; the `container`'s recipe.
pub type Inputs = BTreeMap<String, String>;

/// Inputs of a shard, as its command names them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ShardInputs {
    /// Folders of heads; the bundled heads are part of the program.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub data: Vec<PathBuf>,
    /// The cell library: none is read, the default one (empty), or a file. Tools run only where one is read, or the kind has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub library: Option<PathBuf>,
}

/// Looks each thing up once.
#[derive(Default)]
pub struct InputLookup(Inputs);

impl InputLookup {
    /// Versions of everything that a shard of a kind depends on, on this machine.
    ///
    /// # Errors
    /// Names a tool, a folder or a library that is missing.
    pub fn inputs(&mut self, kind: &SweepCommand, reads: &ShardInputs) -> Result<Inputs, Failure> {
        let mut all = Inputs::new();
        all.insert("program".into(), self.once("program".into(), program)?);
        let mut data = String::new();
        for folder in &reads.data {
            data += &self.once(format!("data {}", folder.display()), || folder_digest(folder))?;
        }
        if !data.is_empty() {
            all.insert("data".into(), sha256(data.as_bytes()));
        }
        if let Some(path) = &reads.library {
            let digest = self.once(format!("library {}", path.display()), || {
                let file = Some(path.as_path()).filter(|path| !path.as_os_str().is_empty());
                Ok(CellLibrary::open(file, Cache::new(None)?.folder())?.sha256)
            })?;
            all.insert("library".into(), digest);
        }
        if !kind.library || reads.library.is_some() {
            for (tool, flag) in kind.tools {
                all.insert(tool.to_string(), self.once(format!("tool {tool}"), || version(tool, flag))?);
            }
        }
        all.extend(container(Path::new(CONTAINER))?.map(|recipe| ("container".to_string(), recipe)));
        Ok(all)
    }

    fn once(
        &mut self,
        key: String,
        look: impl FnOnce() -> Result<String, Failure>,
    ) -> Result<String, Failure> {
        if let Some(known) = self.0.get(&key) {
            return Ok(known.clone());
        }
        let found = look()?;
        self.0.insert(key, found.clone());
        Ok(found)
    }
}

/// The first input that differs, in words; none if nothing does.
pub fn difference(plan: &Inputs, here: &Inputs) -> Option<String> {
    let none = "none".to_string();
    let names = plan.keys().chain(here.keys());
    let both = names.map(|name| (name, plan.get(name).unwrap_or(&none), here.get(name).unwrap_or(&none)));
    let mut different = both.filter(|(_, planned, found)| planned != found);
    different.next().map(|(name, planned, found)| format!("{name}: {planned} in the plan, {found} here"))
}

fn file_problem(path: &Path, e: impl Display) -> Failure {
    Failure::input(format!("{}: {e}", path.display()))
}

/// The digest of this executable.
fn program() -> Result<String, Failure> {
    let path = std::env::current_exe().map_err(|e| Failure::input(format!("this program: {e}")))?;
    std::fs::read(&path).map(|bytes| sha256(&bytes)).map_err(|e| file_problem(&path, e))
}

/// The image's recipe, a line.
fn container(path: &Path) -> Result<Option<String>, Failure> {
    if !path.exists() {
        return Ok(None);
    }
    let text = flashd_files::read_text(path);
    text.map(|text| Some(text.trim().to_string())).map_err(|e| file_problem(path, e))
}

/// The files of a folder of heads, in the order of their names; folders in it are not read by any command.
fn folder_digest(folder: &Path) -> Result<String, Failure> {
    let problem = |path: &Path, e: std::io::Error| Failure::input(format!("data: {}: {e}", path.display()));
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|e| problem(folder, e))? {
        let path = entry.map_err(|e| problem(folder, e))?.path();
        if path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    let mut digest = Sha256::new();
    for path in files {
        let (mut file, length) = flashd_files::open(&path).map_err(|e| problem(&path, e))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        digest.update(format!("{} {name} {length}\n", name.len()));
        std::io::copy(&mut file, &mut digest).map_err(|e| problem(&path, e))?;
    }
    Ok(hexadecimal(&digest.finalize()))
}

/// The first line of a tool's output.
fn version(tool: &str, flag: &str) -> Result<String, Failure> {
    let output = Command::new(tool).arg(flag).stdin(Stdio::null()).output();
    let output =
        output.map_err(|e| Failure::input(format!("{tool}: {e}; install it, or run in the container")))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find(|line| !line.trim().is_empty());
    line.map(|line| line.trim().to_string())
        .ok_or_else(|| Failure::input(format!("{tool} {flag}: says nothing ({})", output.status)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_told_by_names_and_contents() {
        let folder = tempfile::tempdir().unwrap();
        let digest = || folder_digest(folder.path()).unwrap();
        std::fs::write(folder.path().join("a"), "x").unwrap();
        let first = digest();
        assert_eq!(first, digest());
        std::fs::write(folder.path().join("a"), "y").unwrap();
        let other = digest();
        std::fs::rename(folder.path().join("a"), folder.path().join("b")).unwrap();
        let renamed = digest();
        std::fs::write(folder.path().join("a"), "").unwrap();
        let more = digest();
        let mut all = [first, other, renamed, more];
        all.sort();
        assert!(all.windows(2).all(|pair| pair[0] != pair[1]));
        assert!(folder_digest(Path::new("/nowhere")).unwrap_err().to_string().contains("/nowhere"));
    }

    #[test]
    fn the_container_is_its_own_words() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("container");
        assert_eq!(container(&file).unwrap(), None);
        std::fs::write(&file, "sha256:12\n").unwrap();
        assert_eq!(container(&file).unwrap(), Some("sha256:12".into()));
    }

    #[test]
    fn every_input_counts_in_both_directions() {
        let inputs = |words: &[(&str, &str)]| -> Inputs {
            words.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
        };
        let plan = inputs(&[("program", "1"), ("yosys", "0.23")]);
        assert_eq!(difference(&plan, &plan), None);
        for (here, text) in [
            (inputs(&[("program", "2"), ("yosys", "0.23")]), "program: 1 in the plan, 2 here"),
            (inputs(&[("program", "1")]), "yosys: 0.23 in the plan, none here"),
            (
                inputs(&[("program", "1"), ("yosys", "0.23"), ("container", "c")]),
                "container: none in the plan, c here",
            ),
        ] {
            assert_eq!(difference(&plan, &here).as_deref(), Some(text));
        }
    }
}
