//! Temporary files and folders with names unlike those of other programs. A lock distinguishes files in
//! use from leftovers of killed runs.
//!
//! The lock is the system's, on the open file or folder: it goes when the process ends, however it ends. Where a file
//! system has no locks nothing is cleaned up.

use std::collections::BTreeSet;
use std::fs::{File, TryLockError};
use std::io::Result;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};
use tempfile::{NamedTempFile, TempDir};

/// Prefix of the names of all temporary files and folders.
pub(crate) const PREFIX: &str = ".flashd-";
/// Their suffix.
pub(crate) const SUFFIX: &str = ".tmp";

/// What this process has begun and not ended.
static LIVE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
/// Folders in which this process has looked for left-overs.
static CLEANED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn entered<T>(mutex: &'static Mutex<T>) -> MutexGuard<'static, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

/// A name in [`LIVE`].
pub(crate) struct Live(PathBuf);

impl Drop for Live {
    fn drop(&mut self) {
        entered(&LIVE).remove(&self.0);
    }
}

/// A file of this process in a folder, locked, with the permissions of an ordinary file.
pub(crate) fn file(folder: &Path) -> Result<(NamedTempFile, Live)> {
    clean(folder);
    // tempfile's are private, and its errors name files that no user gave.
    let ordinary = |name: &Path| File::options().read(true).write(true).create_new(true).open(name);
    loop {
        let mut live = entered(&LIVE);
        let file = tempfile::Builder::new().prefix(PREFIX).suffix(SUFFIX).make_in(folder, ordinary)?;
        if holds(file.as_file(), file.path()) {
            live.insert(file.path().to_path_buf());
            let name = Live(file.path().to_path_buf());
            return Ok((file, name));
        }
    }
}

/// A folder under way, with everything in it. Dropped without [`TemporaryFolder::commit`], it disappears.
pub struct TemporaryFolder {
    folder: TempDir,
    lock: Option<File>,
    _name: Live,
}

impl TemporaryFolder {
    /// An empty folder in `parent`.
    ///
    /// # Errors
    /// If no folder can be created there.
    pub fn create_in(parent: &Path) -> Result<TemporaryFolder> {
        clean(parent);
        loop {
            let mut live = entered(&LIVE);
            let folder = tempfile::Builder::new().prefix(PREFIX).suffix(SUFFIX).tempdir_in(parent)?;
            let lock = File::open(folder.path()).ok();
            if lock.as_ref().is_none_or(|lock| holds(lock, folder.path())) {
                let name = folder.path().to_path_buf();
                live.insert(name.clone());
                return Ok(TemporaryFolder { folder, lock, _name: Live(name) });
            }
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Gives it its name, which no file and no folder that holds anything may have.
    ///
    /// # Errors
    /// If it cannot be renamed.
    pub fn commit(self, path: &Path) -> Result<()> {
        std::fs::rename(self.folder.path(), path)?;
        // A renamed file is not removed.
        let _ = self.folder.keep();
        // Closing the file would not do: a program that another thread is starting has the lock too until it runs.
        if let Some(lock) = &self.lock {
            let _ = lock.unlock();
        }
        Ok(())
    }
}

/// Removes a folder that others take for complete as long as it has its name: all of it, or, if the removal is
/// interrupted, so that nobody sees a part. What cannot be removed stays.
pub fn discard_folder(path: &Path) {
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if let Ok(aside) = TemporaryFolder::create_in(parent) {
        let _ = std::fs::rename(path, aside.path().join("discarded"));
    }
}

/// Locks a newly created file. False if another process is cleaning up, and has removed it or is about to.
fn holds(file: &File, path: &Path) -> bool {
    match file.try_lock() {
        Ok(()) => path.exists(),
        Err(TryLockError::WouldBlock) => false,
        // No locks here, and nobody who cleans up.
        Err(TryLockError::Error(_)) => true,
    }
}

/// Removes what killed runs have left in a folder; once in a process.
fn clean(folder: &Path) {
    let name = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
    if !entered(&CLEANED).insert(name) {
        return;
    }
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let ours = entry.file_name().to_str().is_some_and(|n| n.starts_with(PREFIX) && n.ends_with(SUFFIX));
        let Some(kind) = entry.file_type().ok().filter(|kind| ours && !kind.is_symlink()) else { continue };
        let path = entry.path();
        let Ok(file) = File::open(&path) else { continue };
        // The lock is held until the file is gone.
        if file.try_lock().is_ok() {
            remove(&path, kind.is_dir());
        }
    }
}

/// What cannot be removed stays.
fn remove(path: &Path, folder: bool) {
    let _ = if folder { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
}

/// Removes every temporary file and folder of this process, before it ends early. Later attempts to create one wait forever.
pub fn remove_temporaries() {
    let live = entered(&LIVE);
    for path in live.iter() {
        remove(path, path.is_dir());
    }
    std::mem::forget(live);
}

/// A folder that this process alone writes to, as far as others ask.
pub struct FolderLock {
    _folder: Option<File>,
}

impl FolderLock {
    /// Takes the lock, and removes what killed runs have left. None where another process, or another part of this one, has the lock. Where the system or the file system has
    /// no locks for folders, everybody gets it.
    ///
    /// # Errors
    /// If the folder cannot be opened.
    pub fn take(folder: &Path) -> Result<Option<FolderLock>> {
        clean(folder);
        if !cfg!(unix) {
            return Ok(Some(FolderLock { _folder: None }));
        }
        let file = File::open(folder)?;
        Ok(match file.try_lock() {
            Err(TryLockError::WouldBlock) => None,
            _ => Some(FolderLock { _folder: Some(file) }),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn what_nobody_holds_goes_and_what_somebody_holds_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        // Files of killed runs: nobody holds a lock.
        std::fs::write(path(".flashd-dead01.tmp"), "half").unwrap();
        std::fs::create_dir(path(".flashd-dead02.tmp")).unwrap();
        std::fs::write(path(".flashd-dead02.tmp/half"), "half").unwrap();
        // Files of a live run, and of other programs.
        std::fs::write(path(".flashd-live01.tmp"), "half").unwrap();
        let held = File::open(path(".flashd-live01.tmp")).unwrap();
        held.try_lock().unwrap();
        std::fs::write(path(".tmpAbCdEf"), "another program's").unwrap();
        std::fs::write(path("result"), "whole").unwrap();
        crate::write(&path("next"), b"whole").unwrap();
        assert_eq!(names(folder.path()), [".flashd-live01.tmp", ".tmpAbCdEf", "next", "result"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_not_followed() {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::write(other.path().join("mine"), "").unwrap();
        std::os::unix::fs::symlink(other.path(), folder.path().join(".flashd-linked.tmp")).unwrap();
        crate::write(&folder.path().join("next"), b"whole").unwrap();
        assert!(other.path().join("mine").exists());
    }

    #[test]
    fn a_folder_appears_when_it_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("made");
        let making = TemporaryFolder::create_in(folder.path()).unwrap();
        std::fs::write(making.path().join("file"), "").unwrap();
        drop(making);
        assert_eq!(names(folder.path()), [""; 0]);
        let making = TemporaryFolder::create_in(folder.path()).unwrap();
        std::fs::write(making.path().join("file"), "").unwrap();
        making.commit(&target).unwrap();
        assert_eq!(
            (names(folder.path()), names(&target)),
            (vec!["made".to_string()], vec!["file".to_string()])
        );
        // Existing files are not overwritten.
        let making = TemporaryFolder::create_in(folder.path()).unwrap();
        assert!(making.commit(&target).is_err());
        assert_eq!(names(folder.path()), ["made"]);
    }

    /// A child process inherits open files until it runs, and locks belong to open files.
    #[test]
    fn what_is_complete_is_not_locked_though_a_program_is_being_started() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("made");
        let making = TemporaryFolder::create_in(folder.path()).unwrap();
        let of_a_program = making.lock.as_ref().unwrap().try_clone().unwrap();
        making.commit(&target).unwrap();
        File::open(&target).unwrap().try_lock_shared().unwrap();
        drop(of_a_program);
    }

    #[test]
    fn a_discarded_folder_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let made = folder.path().join("made");
        std::fs::create_dir(&made).unwrap();
        std::fs::write(made.join("file"), "").unwrap();
        discard_folder(&made);
        assert_eq!(names(folder.path()), [""; 0]);
        discard_folder(&made);
    }

    #[cfg(unix)]
    #[test]
    fn one_at_a_time_has_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        let lock = FolderLock::take(folder.path()).unwrap();
        assert!(lock.is_some() && FolderLock::take(folder.path()).unwrap().is_none());
        drop(lock);
        assert!(FolderLock::take(folder.path()).unwrap().is_some());
    }
}
