//! A cache of finished work, keyed by the digest of its inputs.

use crate::PpaError;
use flashd_files::TemporaryFolder;
use sha2::{Digest as _, Sha256};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

/// Prefix of folders that are being removed.
pub(super) const MAKING: &str = ".making";

/// Digest of named pieces of data.
pub(crate) struct Digest(Sha256);

impl Digest {
    pub(crate) fn new() -> Self {
        Digest(Sha256::new())
    }

    /// Adds a piece. Lengths are added too, so that no two lists of pieces run into the same text.
    pub(crate) fn field(mut self, name: &str, data: impl AsRef<[u8]>) -> Self {
        let data = data.as_ref();
        self.0.update(format!("{name} {}\n", data.len()));
        self.0.update(data);
        self
    }

    /// In hexadecimal.
    pub(crate) fn finish(self) -> String {
        self.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// SHA-256 of data alone, in hexadecimal.
pub(crate) fn sha256(data: &[u8]) -> String {
    Sha256::digest(data).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Marks a file or folder as used now. If the system refuses, it looks older than it is, and at worst is made
/// again.
pub(crate) fn touch(path: &Path) {
    let _ = std::fs::File::open(path).and_then(|file| file.set_modified(SystemTime::now()));
}

/// File of an entry's digests.
pub(super) const DIGESTS: &str = "sha256sums";

/// SHA-256 of each file of a folder, as `sha256sum` prints them.
fn digests_of(folder: &Path) -> std::io::Result<String> {
    let mut lines = Vec::new();
    for file in std::fs::read_dir(folder)? {
        let file = file?;
        let name = file.file_name().to_string_lossy().into_owned();
        if name != DIGESTS {
            lines.push((name, sha256(&std::fs::read(file.path())?)));
        }
    }
    lines.sort();
    Ok(lines.into_iter().map(|(name, digest)| format!("{digest}  {name}\n")).collect())
}

/// A folder of finished work: `modules/<digest>/` with the files of one module's mappings, `netlists/<digest>/`
/// with a chosen and buffered one, `timing/<digest>/` with OpenSTA's report of a core, `libraries` with unpacked
/// Liberty files. An entry holds the digests of its files; one that is damaged is made again. It is touched at each use, so that
/// its modification time is its last use.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
    /// Entries whose digests this process has found right.
    checked: Arc<Mutex<HashSet<PathBuf>>>,
}

impl Cache {
    /// The cache in a folder, by default `flashd/ppa` in the user's cache folder (`XDG_CACHE_HOME`, else
    /// `~/.cache`). The folder is created when something is put into it.
    ///
    /// # Errors
    /// If no folder is given and the user has none.
    pub fn new(folder: Option<&Path>) -> Result<Self, PpaError> {
        if let Some(folder) = folder {
            // Tools work in other folders.
            let folder = std::path::absolute(folder).map_err(PpaError::file("find", folder))?;
            return Ok(Cache { folder, checked: Arc::default() });
        }
        let folder = flashd_files::user_cache("ppa").map_err(|e| PpaError::Unexpected {
            what: "cache folder".to_string(),
            detail: format!("{e}; name a folder"),
        })?;
        Ok(Cache { folder, checked: Arc::default() })
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Folder of finished work, made by `make` if it is not there yet. `make` fills an empty folder that gets
    /// its name when it is complete; of two processes that make the same at the same time the first wins.
    pub(crate) fn entry(
        &self,
        kind: &str,
        digest: &str,
        make: impl FnOnce(&Path) -> Result<(), PpaError>,
    ) -> Result<PathBuf, PpaError> {
        let parent = self.folder.join(kind);
        let entry = parent.join(digest);
        if self.is_whole(&entry) {
            touch(&entry);
            return Ok(entry);
        }
        flashd_files::create_folder(&parent).map_err(PpaError::file("create", &parent))?;
        let making =
            TemporaryFolder::create_in(&parent).map_err(PpaError::file("create a folder in", &parent))?;
        make(making.path())?;
        let digests = making.path().join(DIGESTS);
        let text = digests_of(making.path()).map_err(PpaError::file("read", making.path()))?;
        std::fs::write(&digests, text).map_err(PpaError::file("write", &digests))?;
        // A folder of this name is damaged, or another process has just made it.
        if entry.exists() && !self.is_whole(&entry) {
            flashd_files::discard_folder(&entry);
        }
        match making.commit(&entry) {
            Err(source) if !self.is_whole(&entry) => {
                Err(PpaError::File { action: "create", path: entry, source })
            }
            _ => Ok(entry),
        }
    }

    /// Whether an entry exists and all its files have their digests.
    fn is_whole(&self, entry: &Path) -> bool {
        let mut checked = self.checked.lock().unwrap_or_else(|e| e.into_inner());
        if checked.contains(entry) && entry.is_dir() {
            return true;
        }
        let written = std::fs::read_to_string(entry.join(DIGESTS));
        let whole = written.is_ok_and(|written| digests_of(entry).is_ok_and(|found| found == written));
        if whole {
            checked.insert(entry.to_path_buf());
        }
        whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_done_once_and_failures_leave_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(Some(folder.path())).unwrap();
        let failed = cache.entry("modules", "a", |path| {
            std::fs::write(path.join("half"), "").unwrap();
            Err(PpaError::MissingTool { tool: "t", package: "p" })
        });
        assert!(failed.is_err());
        assert_eq!(std::fs::read_dir(folder.path().join("modules")).unwrap().count(), 0);
        let make = |path: &Path| {
            // Somebody else finishes the same in the meantime.
            let theirs = Cache::new(Some(folder.path())).unwrap();
            let write = |path: &Path| {
                std::fs::write(path.join("file"), "theirs").map_err(PpaError::file("write", path))
            };
            theirs.entry("modules", "a", write).unwrap();
            std::fs::write(path.join("file"), "ours").map_err(PpaError::file("write", path))
        };
        let entry = cache.entry("modules", "a", make).unwrap();
        assert_eq!(std::fs::read_to_string(entry.join("file")).unwrap(), "theirs");
        let again = cache.entry("modules", "a", |_| panic!("made twice")).unwrap();
        assert_eq!(again, entry);
        assert_eq!(std::fs::read_dir(folder.path().join("modules")).unwrap().count(), 1);
    }

    /// An entry appears by one renaming: an interrupted one has another name, and is removed.
    #[test]
    fn interrupted_work_is_done_again() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(Some(folder.path())).unwrap();
        let killed = folder.path().join("modules/.flashd-killed.tmp");
        std::fs::create_dir_all(&killed).unwrap();
        std::fs::write(killed.join("file"), "half").unwrap();
        let make =
            |path: &Path| std::fs::write(path.join("file"), "whole").map_err(PpaError::file("write", path));
        let entry = cache.entry("modules", "a", make).unwrap();
        assert_eq!(std::fs::read_to_string(entry.join("file")).unwrap(), "whole");
        assert!(!killed.exists());
    }

    /// Each kind of damage, and the entry made again: a file that is cut off, emptied, changed, removed, added, or whose digests are gone.
    #[test]
    fn damaged_work_is_done_again() {
        let folder = tempfile::tempdir().unwrap();
        let make =
            |path: &Path| std::fs::write(path.join("file"), "whole").map_err(PpaError::file("write", path));
        type Damage = fn(&Path);
        let damages: [Damage; 7] = [
            |entry| std::fs::write(entry.join("file"), "who").unwrap(),
            |entry| std::fs::write(entry.join("file"), "").unwrap(),
            |entry| std::fs::write(entry.join("file"), "whale").unwrap(),
            |entry| std::fs::remove_file(entry.join("file")).unwrap(),
            |entry| std::fs::write(entry.join("more"), "").unwrap(),
            |entry| std::fs::remove_file(entry.join(DIGESTS)).unwrap(),
            |entry| std::fs::write(entry.join(DIGESTS), "").unwrap(),
        ];
        for damage in damages {
            let entry = Cache::new(Some(folder.path())).unwrap().entry("modules", "a", make).unwrap();
            damage(&entry);
            let again = Cache::new(Some(folder.path())).unwrap().entry("modules", "a", make).unwrap();
            assert_eq!(std::fs::read_to_string(again.join("file")).unwrap(), "whole");
            assert_eq!(std::fs::read_dir(&again).unwrap().count(), 2);
        }
    }

    #[test]
    fn a_relative_folder_holds_wherever_tools_work() {
        let cache = Cache::new(Some(Path::new("some/cache"))).unwrap();
        assert!(cache.folder().is_absolute());
    }

    #[test]
    fn pieces_do_not_run_into_each_other() {
        let digest = |pieces: &[&str]| {
            pieces.iter().fold(Digest::new(), |digest, piece| digest.field("x", piece)).finish()
        };
        assert_ne!(digest(&["ab", "c"]), digest(&["a", "bc"]));
        assert_eq!(digest(&["ab", "c"]).len(), 64);
    }
}
