//! Finished work, kept by what it was made from.

use crate::PpaError;
use flashd_files::TemporaryFolder;
use sha2::{Digest as _, Sha256};
use std::path::{Path, PathBuf};
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

/// Marks a file or folder as used now. Where the system refuses, it is taken for older than it is, and at worst
/// made again.
pub(crate) fn touch(path: &Path) {
    let _ = std::fs::File::open(path).and_then(|file| file.set_modified(SystemTime::now()));
}

/// A folder of finished work: `modules/<digest>/` with the files of one module's mappings, `netlists/<digest>/`
/// with a chosen and buffered one, `timing/<digest>/` with OpenSTA's report of a core, `libraries` with unpacked
/// Liberty files. An entry is touched at each use, so that its modification time is its last use.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// The cache in a folder, by default `flashd/ppa` in the user's cache folder (`XDG_CACHE_HOME`, else
    /// `~/.cache`). The folder is created when something is put into it.
    ///
    /// # Errors
    /// If no folder is given and the user has none.
    pub fn new(folder: Option<&Path>) -> Result<Self, PpaError> {
        if let Some(folder) = folder {
            return Ok(Cache { folder: folder.to_path_buf() });
        }
        let folder = flashd_files::user_cache("ppa").map_err(|e| PpaError::Unexpected {
            what: "cache folder".to_string(),
            detail: format!("{e}; name a folder"),
        })?;
        Ok(Cache { folder })
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
        if entry.is_dir() {
            touch(&entry);
            return Ok(entry);
        }
        std::fs::create_dir_all(&parent).map_err(PpaError::file("create", &parent))?;
        let making =
            TemporaryFolder::create_in(&parent).map_err(PpaError::file("create a folder in", &parent))?;
        make(making.path())?;
        match making.commit(&entry) {
            Err(source) if !entry.is_dir() => Err(PpaError::File { action: "create", path: entry, source }),
            _ => Ok(entry),
        }
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
            std::fs::create_dir_all(folder.path().join("modules/a")).unwrap();
            std::fs::write(folder.path().join("modules/a/file"), "theirs").unwrap();
            std::fs::write(path.join("file"), "ours").map_err(PpaError::file("write", path))
        };
        let entry = cache.entry("modules", "a", make).unwrap();
        assert_eq!(std::fs::read_to_string(entry.join("file")).unwrap(), "theirs");
        let again = cache.entry("modules", "a", |_| panic!("made twice")).unwrap();
        assert_eq!(again, entry);
        assert_eq!(std::fs::read_dir(folder.path().join("modules")).unwrap().count(), 1);
    }

    /// A folder appears by one renaming: what was killed before has another name, and goes.
    #[test]
    fn what_was_killed_is_made_again() {
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

    #[test]
    fn pieces_do_not_run_into_each_other() {
        let digest = |pieces: &[&str]| {
            pieces.iter().fold(Digest::new(), |digest, piece| digest.field("x", piece)).finish()
        };
        assert_ne!(digest(&["ab", "c"]), digest(&["a", "bc"]));
        assert_eq!(digest(&["ab", "c"]).len(), 64);
    }
}
