//! Temporary folders, which go in the end: of a check that passes, of one that fails, and of one that is interrupted.

use crate::failure::{Outcome, with};
use flashd_files::TemporaryFolder;
use std::fs;
use std::path::{Path, PathBuf};

/// As shells have it: 128 and the number of SIGINT.
const INTERRUPTED: i32 = 130;

/// Removes temporary folders when the check is interrupted or asked to end, from now on.
pub fn remove_when_interrupted() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    // Where signals cannot be handled they end the program at once, and the next run cleans up.
    if let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGHUP, SIGINT, SIGTERM]) {
        std::thread::spawn(move || {
            if signals.forever().next().is_some() {
                flashd_files::remove_temporaries();
                std::process::exit(INTERRUPTED);
            }
        });
    }
}

/// A temporary folder, which goes when it is dropped.
pub fn temporary() -> Outcome<TemporaryFolder> {
    let parent = std::env::temp_dir();
    let parent = std::path::absolute(&parent).map_err(with(parent.display()))?;
    TemporaryFolder::create_in(&parent).map_err(with(parent.display()))
}

/// Makes a folder with its parents.
pub fn create(folder: &Path) -> Outcome<PathBuf> {
    flashd_files::create_folder(folder).map_err(with(folder.display()))?;
    folder.canonicalize().map_err(with(folder.display()))
}

pub fn read(path: &Path) -> Outcome<String> {
    fs::read_to_string(path).map_err(with(path.display()))
}

pub fn write(path: &Path, text: &str) -> Outcome {
    fs::write(path, text).map_err(with(path.display()))
}

/// The files in a folder whose names end so, in the order of their names. An ending is as in `.v`.
pub fn files(folder: &Path, ending: &str) -> Outcome<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(with(folder.display()))? {
        let path = entry.map_err(with(folder.display()))?.path();
        if path.is_file() && name(&path).ends_with(ending) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// A file's name without its folder.
pub fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The name of the only file in a folder with this ending, without the ending.
pub fn only(folder: &Path, ending: &str) -> Outcome<String> {
    let files = files(folder, ending)?;
    match &files[..] {
        [one] => Ok(name(one).trim_end_matches(ending).to_string()),
        _ => crate::failure::input(format!(
            "{}: {} files NAME{ending} where one is needed: select one design",
            folder.display(),
            files.len()
        )),
    }
}
