//! What a result depends on beside its command: the program, data, library, tools and container, by their hashes and versions.

use super::kind::{Program, Row};
use crate::digest::{hexadecimal, sha256};
use crate::output::Failure;
use flashd_ppa::synthesis::{Cache, CellLibrary};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where an image made from the recipes in `container` says what it was made from.
const CONTAINER: &str = "/etc/flashd-container";

/// All of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inputs {
    /// This program's version.
    pub version: String,
    /// SHA-256 of the executables.
    pub program: BTreeMap<String, String>,
    /// SHA-256 of the names and contents of all files in the folders of data; what is bundled is part of the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// SHA-256 of the cell library.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub library: Option<String>,
    /// What the tools say of their versions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<String, String>,
    /// The container's recipe, if this runs in one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
}

/// What a shard reads, as its command names it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Reads {
    /// Folders of heads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub data: Vec<PathBuf>,
    /// The cell library: none is read, the default one (empty), or a file. Tools run only where one is read, or the kind has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub library: Option<PathBuf>,
}

/// Looks each thing up once.
#[derive(Default)]
pub struct Lookup {
    cache: Option<PathBuf>,
    programs: BTreeMap<PathBuf, String>,
    folders: BTreeMap<PathBuf, String>,
    libraries: BTreeMap<PathBuf, String>,
    tools: BTreeMap<&'static str, String>,
}

impl Lookup {
    /// With a folder for finished work, where packed libraries are unpacked.
    pub fn new(cache: Option<&Path>) -> Lookup {
        Lookup { cache: cache.map(Path::to_path_buf), ..Lookup::default() }
    }

    /// What a shard of a kind depends on, here and now.
    ///
    /// # Errors
    /// Names a tool, a folder or a library that is not there.
    pub fn inputs(&mut self, row: &Row, reads: &Reads) -> Result<Inputs, Failure> {
        let mut program = BTreeMap::new();
        for one in [Program::Flashd, row.program] {
            let path = one.path()?;
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            program.insert(
                name,
                remembered(&mut self.programs, path, |path| {
                    let bytes = std::fs::read(path);
                    bytes
                        .map(|bytes| sha256(&bytes))
                        .map_err(|e| Failure::input(format!("{}: {e}", path.display())))
                })?,
            );
        }
        let mut data = Sha256::new();
        for folder in &reads.data {
            data.update(remembered(&mut self.folders, folder.clone(), digest_of_folder)?);
        }
        let cache = self.cache.as_deref();
        let library = reads.library.clone().map(|path| {
            remembered(&mut self.libraries, path, |path| {
                let cache = Cache::new(cache)?;
                let file = Some(path).filter(|path| !path.as_os_str().is_empty());
                Ok(CellLibrary::open(file, cache.folder())?.sha256)
            })
        });
        let mut tools = BTreeMap::new();
        if !row.library || reads.library.is_some() {
            for (tool, flag) in row.tools {
                let known = self.tools.get(tool).cloned();
                let version = known.map_or_else(|| version(tool, flag), Ok)?;
                self.tools.insert(tool, version.clone());
                tools.insert(tool.to_string(), version);
            }
        }
        Ok(Inputs {
            version: env!("CARGO_PKG_VERSION").to_string(),
            program,
            data: (!reads.data.is_empty()).then(|| hexadecimal(&data.finalize())),
            library: library.transpose()?,
            tools,
            container: container(Path::new(CONTAINER))?,
        })
    }
}

fn remembered(
    known: &mut BTreeMap<PathBuf, String>,
    path: PathBuf,
    look: impl FnOnce(&Path) -> Result<String, Failure>,
) -> Result<String, Failure> {
    if let Some(digest) = known.get(&path) {
        return Ok(digest.clone());
    }
    let digest = look(&path)?;
    known.insert(path, digest.clone());
    Ok(digest)
}

/// The image's own words, a line.
fn container(path: &Path) -> Result<Option<String>, Failure> {
    if !path.exists() {
        return Ok(None);
    }
    let text = flashd_files::read_text(path);
    text.map(|text| Some(text.trim().to_string()))
        .map_err(|e| Failure::input(format!("{}: {e}", path.display())))
}

/// The files of a folder of heads, in the order of their names; folders in it are not read by any command.
fn digest_of_folder(folder: &Path) -> Result<String, Failure> {
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
        let mut of_file = Sha256::new();
        let (mut file, length) = flashd_files::open(&path).map_err(|e| problem(&path, e))?;
        std::io::copy(&mut file, &mut of_file).map_err(|e| problem(&path, e))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        digest.update(format!("{} {name} {length} {}\n", name.len(), hexadecimal(&of_file.finalize())));
    }
    Ok(hexadecimal(&digest.finalize()))
}

/// The first line of what a tool says.
fn version(tool: &str, flag: &str) -> Result<String, Failure> {
    let output = Command::new(tool).arg(flag).stdin(Stdio::null()).output();
    let output =
        output.map_err(|e| Failure::input(format!("{tool}: {e}; install it, or run in the container")))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find(|line| !line.trim().is_empty());
    line.map(|line| line.trim().to_string())
        .ok_or_else(|| Failure::input(format!("{tool} {flag}: says nothing ({})", output.status)))
}

impl Inputs {
    /// What differs from those of another place, in words; none if nothing does.
    pub fn difference(&self, here: &Inputs) -> Option<String> {
        let text = |x: &Option<String>| x.clone().unwrap_or_else(|| "none".into());
        if self.program != here.program || self.version != here.version {
            return Some("another build of the program".into());
        }
        if self.data != here.data {
            return Some("other data".into());
        }
        if self.library != here.library {
            return Some("another cell library".into());
        }
        for (tool, version) in &self.tools {
            let found = here.tools.get(tool).map_or("none", String::as_str);
            if found != version {
                return Some(format!("{tool}: {version} in the plan, {found} here"));
            }
        }
        (self != here).then(|| {
            format!("container: {} in the plan, {} here", text(&self.container), text(&here.container))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_told_by_names_and_contents() {
        let folder = tempfile::tempdir().unwrap();
        let digest = || digest_of_folder(folder.path()).unwrap();
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
        assert!(digest_of_folder(Path::new("/nowhere")).unwrap_err().to_string().contains("/nowhere"));
    }

    #[test]
    fn the_container_is_its_own_words() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("container");
        assert_eq!(container(&file).unwrap(), None);
        std::fs::write(&file, "sha256:12\n").unwrap();
        assert_eq!(container(&file).unwrap(), Some("sha256:12".into()));
    }
}
