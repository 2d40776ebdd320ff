//! Files that are written under a temporary name and renamed when complete, or then copied to a device or a pipe.

use crate::target::{Destination, folder_of, no_file_in};
use crate::temporary::{self, Live};
use std::fs::File;
use std::io::{BufWriter, ErrorKind, Result, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use tempfile::NamedTempFile;

/// Whether a file has gone to standard output.
static STANDARD_OUTPUT: AtomicBool = AtomicBool::new(false);

/// Whether [`AtomicFile::commit`] has written a file to standard output, which then holds nothing else.
pub fn standard_output_taken() -> bool {
    STANDARD_OUTPUT.load(Ordering::Relaxed)
}

/// A file under way. Dropped without [`AtomicFile::commit`], it disappears.
///
/// A device, a named pipe or `/dev/stdout` is written through, in one go and when the content is complete: writers may
/// seek in any of them. A link stays; the file that it leads to is replaced.
pub struct AtomicFile {
    file: BufWriter<Unnamed>,
    /// As it was given.
    path: PathBuf,
    target: Destination,
    _name: Live,
}

/// A temporary file whose errors omit its name.
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
    /// Starts a file that will be called `path`: in its folder, or where temporary files are if it goes to a device or a
    /// pipe.
    ///
    /// # Errors
    /// If no file can be created there, or `path` is a folder, a socket, a protected file or `-`.
    pub fn create(path: &Path) -> Result<Self> {
        let target = Destination::of(path)?;
        let folder = match &target {
            Destination::Name { path, .. } => folder_of(path).to_path_buf(),
            Destination::Through(_) | Destination::StandardOutput => std::env::temp_dir(),
        };
        let (file, name) = temporary::file(&folder).map_err(|e| no_file_in(&folder, e))?;
        Ok(AtomicFile { file: BufWriter::new(Unnamed(file)), path: path.to_path_buf(), target, _name: name })
    }

    /// Whether the content goes to a device, a pipe or standard output: no file can be put next to it.
    pub fn is_stream(&self) -> bool {
        !matches!(self.target, Destination::Name { .. })
    }

    /// A second handle, for writers that own their output. Contents written through it and through `self` must not be
    /// mixed.
    ///
    /// # Errors
    /// If the system has no handle left.
    pub fn handle(&self) -> Result<std::fs::File> {
        self.file.get_ref().0.as_file().try_clone()
    }

    /// Completes the file and gives it its name, in place of an older file; or copies it to its device or pipe, and waits
    /// for a reader.
    ///
    /// # Errors
    /// If the rest cannot be written or the file cannot be renamed.
    pub fn commit(self) -> Result<PathBuf> {
        let Unnamed(mut file) = self.file.into_inner().map_err(|e| e.into_error())?;
        match self.target {
            Destination::Name { path, permissions } => {
                if let Some(permissions) = permissions {
                    file.as_file().set_permissions(permissions)?;
                }
                match file.persist(&path) {
                    Ok(_) => {}
                    // A file that is mounted by itself, as containers do, has to keep its place.
                    Err(e)
                        if matches!(e.error.kind(), ErrorKind::ResourceBusy | ErrorKind::CrossesDevices) =>
                    {
                        file = e.file;
                        copy(&mut file, File::options().write(true).truncate(true).open(&path)?)?;
                    }
                    Err(e) => return Err(e.error),
                }
            }
            // Appending keeps the earlier output of a descriptor that leads to a file.
            Destination::Through(path) => copy(&mut file, File::options().append(true).open(path)?)?,
            Destination::StandardOutput => {
                STANDARD_OUTPUT.store(true, Ordering::Relaxed);
                copy(&mut file, std::io::stdout().lock())?;
            }
        }
        Ok(self.path)
    }
}

fn copy(file: &mut NamedTempFile, mut to: impl Write) -> Result<()> {
    let file = file.as_file_mut();
    file.rewind()?;
    std::io::copy(file, &mut to)?;
    to.flush()
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.file.write(bytes)
    }
    fn flush(&mut self) -> Result<()> {
        self.file.flush()
    }
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

    #[cfg(unix)]
    mod unix {
        use super::*;
        use crate::create_folder;
        use std::fs;
        use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
        use std::process::Command;

        fn made(program: &str, words: &[&str], path: &Path) -> bool {
            Command::new(program).arg(path).args(words).status().is_ok_and(|status| status.success())
        }

        #[test]
        fn a_pipe_gets_the_whole_file_and_stays() {
            let folder = tempfile::tempdir().unwrap();
            let pipe = folder.path().join("pipe");
            assert!(made("mkfifo", &[], &pipe));
            let reader = std::thread::spawn({
                let pipe = pipe.clone();
                move || fs::read(pipe).unwrap()
            });
            // A look at whether it can be written: the reader notices nothing.
            drop(AtomicFile::create(&pipe).unwrap());
            let mut file = AtomicFile::create(&pipe).unwrap();
            assert!(file.is_stream());
            // Formats whose header comes last.
            let mut handle = file.handle().unwrap();
            file.write_all(&vec![7; 300_000]).unwrap();
            file.flush().unwrap();
            handle.rewind().unwrap();
            handle.write_all(b"header").unwrap();
            assert_eq!(file.commit().unwrap(), pipe);
            let read = reader.join().unwrap();
            assert_eq!((read.len(), &read[..8]), (300_000, &b"header\x07\x07"[..]));
            assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        }

        #[test]
        fn a_device_is_written_and_stays() {
            let folder = tempfile::tempdir().unwrap();
            let (device, link) = (folder.path().join("null"), folder.path().join("link"));
            if !made("mknod", &["c", "1", "3"], &device) {
                return; // Not root.
            }
            symlink("null", &link).unwrap();
            for path in [&device, &link] {
                // File systems without devices let nobody write.
                let Err(e) = write(path, b"whole") else { continue };
                assert_eq!(e.kind(), ErrorKind::PermissionDenied);
            }
            assert!(fs::symlink_metadata(&device).unwrap().file_type().is_char_device());
            assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        }

        #[test]
        fn links_stay_and_their_files_are_replaced() {
            let folder = tempfile::tempdir().unwrap();
            let path = |name: &str| folder.path().join(name);
            fs::create_dir(path("below")).unwrap();
            fs::write(path("below/file"), "old").unwrap();
            fs::set_permissions(path("below/file"), fs::Permissions::from_mode(0o640)).unwrap();
            symlink("below/file", path("first")).unwrap();
            symlink(path("first"), path("second")).unwrap();
            write(&path("second"), b"new").unwrap();
            assert_eq!(fs::read(path("below/file")).unwrap(), b"new");
            assert_eq!(fs::metadata(path("below/file")).unwrap().permissions().mode() & 0o777, 0o640);
            // One that leads nowhere yet.
            symlink("below/more", path("dangling")).unwrap();
            write(&path("dangling"), b"new").unwrap();
            assert_eq!(fs::read(path("below/more")).unwrap(), b"new");
            for link in ["first", "second", "dangling"] {
                assert!(fs::symlink_metadata(path(link)).unwrap().is_symlink(), "{link}");
            }
            symlink("b", path("a")).unwrap();
            symlink("a", path("b")).unwrap();
            symlink("nowhere/file", path("lost")).unwrap();
            let error = |name: &str| write(&path(name), b"").unwrap_err().to_string();
            assert!(error("a").contains("circle"));
            assert!(error("lost").ends_with("nowhere does not exist; make it first"), "{}", error("lost"));
            // Folders, too.
            symlink("made", path("to")).unwrap();
            create_folder(&path("to")).unwrap();
            assert!(path("made").is_dir());
        }

        #[test]
        fn errors_say_which_part_is_wrong() {
            let folder = tempfile::tempdir().unwrap();
            let path = |name: &str| folder.path().join(name);
            fs::write(path("file"), "").unwrap();
            fs::create_dir(path("folder")).unwrap();
            let _socket = std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
            let error = |name: &str| write(&path(name), b"").unwrap_err().to_string();
            assert_eq!(error("folder"), "is a folder; a file is needed");
            assert_eq!(error("new/"), "is the name of a folder; a file is needed");
            assert_eq!(error("socket"), "is a socket; a file is needed");
            assert!(error("no/file").ends_with("/no does not exist; make it first"), "{}", error("no/file"));
            assert!(error("file/x").ends_with("/file is not a folder"), "{}", error("file/x"));
            let error = |name: &str| create_folder(&path(name)).unwrap_err().to_string();
            assert_eq!(error("file"), "is not a folder");
            assert!(error("file/x/y").ends_with("/file is not a folder"));
            assert!(create_folder(Path::new("-")).is_err() && write(Path::new(""), b"").is_err());
        }

        #[test]
        fn a_descriptor_is_written_through() {
            let folder = tempfile::tempdir().unwrap();
            let held = File::options().append(true).create(true).open(folder.path().join("held")).unwrap();
            (&held).write_all(b"before ").unwrap();
            let number = std::os::fd::AsRawFd::as_raw_fd(&held);
            write(&PathBuf::from(format!("/proc/self/fd/{number}")), b"whole").unwrap();
            assert_eq!(fs::read(folder.path().join("held")).unwrap(), b"before whole");
        }
    }
}
