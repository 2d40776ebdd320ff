//! Where an output goes: a file that gets its name when it is complete, or a device, a pipe, an open descriptor, whose
//! readers have it open and would never see a file of its name.

use std::fs::{self, File, Metadata, Permissions};
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};

/// Symbolic links that are followed, as many as Linux follows.
const MOST_LINKS: usize = 40;

/// Where the content goes at the end.
pub(crate) enum Destination {
    /// To this name, which no link has.
    Name {
        /// With links followed.
        path: PathBuf,
        /// The permissions of the replaced file.
        permissions: Option<Permissions>,
    },
    /// Into a device or a named pipe, or by a link to an open descriptor.
    Through(PathBuf),
    /// Into this process's standard output.
    StandardOutput,
}

impl Destination {
    /// The target of a path. Nothing is opened that could wait or that a reader would notice.
    ///
    /// # Errors
    /// `-`, folders, sockets, files and devices that may not be written, and links in a circle.
    pub(crate) fn of(path: &Path) -> Result<Destination> {
        named(path)?;
        if path
            .as_os_str()
            .as_encoded_bytes()
            .last()
            .is_some_and(|&byte| std::path::is_separator(byte.into()))
        {
            return Err(Error::new(ErrorKind::InvalidInput, "is the name of a folder; a file is needed"));
        }
        let (place, metadata) = follow(path)?;
        let Some(metadata) = metadata else {
            return Ok(Destination::Name { path: place, permissions: None });
        };
        if let Some(descriptor) = descriptor(&place) {
            let standard = descriptor == Descriptor::Own(1);
            return Ok(if standard { Destination::StandardOutput } else { Destination::Through(place) });
        }
        match kind(&metadata) {
            EntryKind::Folder => Err(Error::new(ErrorKind::IsADirectory, "is a folder; a file is needed")),
            EntryKind::Socket => Err(Error::new(ErrorKind::InvalidInput, "is a socket; a file is needed")),
            EntryKind::File => {
                // A file that its owner has protected is not replaced.
                File::options().write(true).open(&place)?;
                Ok(Destination::Name { path: place, permissions: Some(metadata.permissions()) })
            }
            EntryKind::Other => {
                writable(&place)?;
                Ok(Destination::Through(place))
            }
        }
    }
}

/// The kinds of directory entries.
#[derive(PartialEq, Eq)]
enum EntryKind {
    File,
    Folder,
    Socket,
    /// A device or a named pipe.
    Other,
}

fn kind(metadata: &Metadata) -> EntryKind {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if metadata.file_type().is_socket() {
            return EntryKind::Socket;
        }
    }
    match metadata {
        m if m.is_dir() => EntryKind::Folder,
        m if m.is_file() => EntryKind::File,
        _ => EntryKind::Other,
    }
}

/// Follows the links of a path's last name, to one that is no link or does not exist yet. A link to an open descriptor is
/// not followed: its text need not be a path.
fn follow(path: &Path) -> Result<(PathBuf, Option<Metadata>)> {
    let mut place = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        let metadata = match fs::symlink_metadata(&place) {
            Ok(metadata) => metadata,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok((place, None)),
            Err(e) if e.kind() == ErrorKind::NotADirectory => return Err(not_a_folder(&place)),
            Err(e) => return Err(e),
        };
        if !metadata.is_symlink() || descriptor(&place).is_some() {
            return Ok((place, Some(metadata)));
        }
        place = folder_of(&place).join(fs::read_link(&place)?);
    }
    Err(Error::new(ErrorKind::InvalidInput, "is a link that leads in a circle"))
}

/// The folder of a file.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[derive(PartialEq, Eq)]
enum Descriptor {
    /// A descriptor of this process.
    Own(u32),
    Other,
}

/// The open descriptor that a path names: `/proc/self/fd/1`, to which `/dev/stdout` leads.
fn descriptor(path: &Path) -> Option<Descriptor> {
    let number: u32 = path.file_name()?.to_str()?.parse().ok()?;
    let folder = folder_of(path).canonicalize().ok()?;
    let inside = folder.strip_prefix("/proc").ok().filter(|inside| inside.ends_with("fd"))?;
    let own = std::process::id().to_string();
    let is_own = inside.iter().next().is_some_and(|process| process == own.as_str());
    Some(if is_own { Descriptor::Own(number) } else { Descriptor::Other })
}

/// Whether a device or pipe may be written, without opening it: the reader of a pipe would take the closing for its end.
fn writable(path: &Path) -> Result<()> {
    #[cfg(unix)]
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK)?;
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// Refuses an empty name and `-`, which means standard output elsewhere and would be a name here.
fn named(path: &Path) -> Result<()> {
    let wrong = match path.as_os_str() {
        name if name == "-" => {
            "a file or folder is needed, nothing is written to standard output; give ./- for one of this name, or \
             /dev/stdout"
        }
        name if name.is_empty() => "a file or folder is needed; the name is empty",
        _ => return Ok(()),
    };
    Err(Error::new(ErrorKind::InvalidInput, wrong))
}

/// Makes a folder to write to, with its parents; of a link that leads nowhere, the folder that it names.
///
/// # Errors
/// Errors of the operating system, a file of this name, and `-` for a name.
pub fn create_folder(path: &Path) -> Result<()> {
    named(path)?;
    let no_folder = |e: Error| match e.kind() {
        ErrorKind::NotADirectory | ErrorKind::AlreadyExists => not_a_folder(path),
        _ => e,
    };
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        Ok(_) => Err(not_a_folder(path)),
        Err(e) if e.kind() == ErrorKind::NotFound => fs::create_dir_all(follow(path)?.0).map_err(no_folder),
        Err(e) => Err(no_folder(e)),
    }
}

/// Which part of a path is no folder.
fn not_a_folder(path: &Path) -> Error {
    let whole = path.ancestors().find(|part| fs::metadata(part).is_ok_and(|metadata| !metadata.is_dir()));
    let what = match whole {
        Some(part) if part != path => format!("{} is not a folder", part.display()),
        _ => "is not a folder".to_string(),
    };
    Error::new(ErrorKind::NotADirectory, what)
}

/// Why no file can be created in a folder, in words that name the folder.
pub(crate) fn no_file_in(folder: &Path, e: Error) -> Error {
    let name = folder.display();
    match (e.kind(), fs::metadata(folder)) {
        (ErrorKind::NotFound, _) => {
            Error::new(e.kind(), format!("the folder {name} does not exist; make it first"))
        }
        (ErrorKind::NotADirectory, _) => not_a_folder(folder),
        _ => Error::new(e.kind(), format!("no file can be made in the folder {name}: {e}")),
    }
}
