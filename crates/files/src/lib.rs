//! Files that are either complete or absent: written next to their place under a temporary name, renamed
//! when done. Devices, pipes and standard output receive the complete content in one copy. A run that is interrupted or
//! fails leaves nothing half-written. After a kill, the next run that writes to the same folder removes its temporary
//! files. And reading the files that a user names.
//!
//! ```
//! use flashd_files::AtomicFile;
//! use std::io::Write;
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("result.txt");
//! let mut file = AtomicFile::create(&path)?;
//! file.write_all(b"whole")?;
//! assert!(!path.exists());
//! file.commit()?;
//! assert_eq!(flashd_files::read_text(&path)?, "whole");
//! # Ok::<(), std::io::Error>(())
//! ```

#![warn(unreachable_pub)]

mod atomic;
mod input;
mod place;
mod reproducible;
mod target;
mod temporary;

// Files that are complete or absent.
pub use atomic::{AtomicFile, standard_output_taken, write};
// Reading a user's files, with errors that name them.
pub use input::{JsonError, from_json, from_value, open, read, read_text};
// Folders to write to.
pub use target::create_folder;
// Where a user's cache is.
pub use place::user_cache;
pub use reproducible::{REPRODUCIBLE, reproducible};
// Folders of the same kind, and who still writes to one.
pub use temporary::{FolderLock, TemporaryFolder, discard_folder, remove_temporaries};
