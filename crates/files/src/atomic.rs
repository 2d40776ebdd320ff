//! Files that are written beside their place and renamed when done.

use crate::temporary::{self, Live};
use std::io::{BufWriter, Result, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A file under way. Dropped without [`AtomicFile::commit`], it disappears.
pub struct AtomicFile {
    file: BufWriter<Unnamed>,
    path: PathBuf,
    _name: Live,
}

/// A temporary file whose errors do not tell its name.
struct Unnamed(NamedTempFile);

impl Write for Unnamed {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.0.as_file_mut().write(bytes)
    }
    fn flush(&mut self) -> Result<()> {
        self.0.as_file_mut().flush()
    }
}

impl AtomicFile {
    /// Starts a file that will be called `path`, in its folder.
    ///
    /// # Errors
    /// If no file can be created there, or `path` is a folder or `-`.
    pub fn create(path: &Path) -> Result<Self> {
        named(path)?;
        if path.is_dir() {
            return Err(std::io::Error::new(std::io::ErrorKind::IsADirectory, "is a folder"));
        }
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let (file, name) = temporary::file(folder)?;
        Ok(AtomicFile { file: BufWriter::new(Unnamed(file)), path: path.to_path_buf(), _name: name })
    }

    /// A second handle to write by, for writers that own what they write to; the content written through it
    /// and through `self` must not be mixed.
    ///
    /// # Errors
    /// If the system has no handle left.
    pub fn handle(&self) -> Result<std::fs::File> {
        self.file.get_ref().0.as_file().try_clone()
    }

    /// Completes the file and gives it its name, replacing what was there.
    ///
    /// # Errors
    /// If the rest cannot be written or the file cannot be renamed.
    pub fn commit(self) -> Result<PathBuf> {
        let Unnamed(file) = self.file.into_inner().map_err(|e| e.into_error())?;
        file.persist(&self.path).map_err(|e| e.error)?;
        Ok(self.path)
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.file.write(bytes)
    }
    fn flush(&mut self) -> Result<()> {
        self.file.flush()
    }
}

/// Refuses `-`, which elsewhere stands for standard output and would be a name here.
fn named(path: &Path) -> Result<()> {
    match path.as_os_str() == "-" {
        true => Err(std::io::Error::new(
            std::io::ErrorKind::InvalidInput,
            "a file or folder is needed, nothing is written to standard output; give ./- for one of this name",
        )),
        false => Ok(()),
    }
}

/// Makes a folder to write to, with its parents.
///
/// # Errors
/// Whatever the operating system reports, and `-` for a name.
pub fn create_folder(path: &Path) -> Result<()> {
    named(path)?;
    std::fs::create_dir_all(path)
}

/// Writes a whole file.
///
/// # Errors
/// As [`AtomicFile::create`] and [`AtomicFile::commit`].
pub fn write(path: &Path, contents: &[u8]) -> Result<PathBuf> {
    let mut file = AtomicFile::create(path)?;
    file.write_all(contents)?;
    file.commit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_appears_when_it_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let mut file = AtomicFile::create(&path).unwrap();
        file.write_all(b"half").unwrap();
        assert!(!path.exists());
        drop(file);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        write(&path, b"whole").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"whole");
        assert!(AtomicFile::create(folder.path()).is_err());
    }
}
