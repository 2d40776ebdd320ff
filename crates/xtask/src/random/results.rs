//! Outcomes on their way, in a file.

use crate::failure::{Failure, Outcome};
use crate::random::{RandomOptions, RandomRow};
use flashd::parts::{check_writable, sealed_line, sha256, unsealed_line};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The first line: with the seeds, it determines the outcomes.
#[derive(PartialEq, Eq, Serialize, Deserialize)]
struct RandomRun {
    /// SHA-256 of the program: another build has to pass again.
    program: String,
    /// Options that change the checks.
    options: String,
}

/// Lines of JSON, each with its digest: a [`RandomRun`], then a [`RandomRow`] each.
pub struct ResultLines {
    path: PathBuf,
    file: Mutex<File>,
    passed: BTreeMap<u64, RandomRow>,
}

impl ResultLines {
    /// Begins a file, or continues one. A last line that was not completed is cut off.
    ///
    /// # Errors
    /// If it cannot be written, holds something else, or is another program's or of other options.
    pub fn open(path: &Path, args: &RandomOptions) -> Outcome<ResultLines> {
        let refused = |e: &dyn Display| Failure::Input(format!("--results {}: {e}", path.display()));
        // Opened for reading first, which refuses folders and devices.
        match path.exists() {
            true => drop(flashd_files::open(path).map_err(|e| refused(&e))?),
            false => check_writable("--results", path)?,
        }
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let mut file = file.map_err(|e| refused(&e))?;
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(|e| refused(&e))?;
        let complete = text.rfind('\n').map_or(0, |end| end + 1);
        let run = RandomRun { program: program().map_err(|e| refused(&e))?, options: args.not_default() };
        let mut passed = BTreeMap::new();
        // The first line was written in one piece, too: a file without it is another program's.
        if !text.is_empty() {
            let mut lines = text[..complete].lines();
            let found: RandomRun = unsealed_line(lines.next().unwrap_or_default())
                .map_err(|_| refused(&"these are not results of check-random; name another file"))?;
            if found != run {
                let what = if found.program != run.program { "another program" } else { "other options" };
                return Err(refused(&format!(
                    "these are results of {what}; name another file, or remove this one"
                )));
            }
            for (n, line) in lines.enumerate() {
                let row: RandomRow = unsealed_line(line)
                    .map_err(|e| refused(&format!("line {} {e}; remove the line", n + 2)))?;
                if row.failure.is_none() {
                    passed.insert(row.seed, row);
                }
            }
        }
        file.set_len(complete as u64)
            .and_then(|()| file.seek(std::io::SeekFrom::End(0)))
            .map_err(|e| refused(&e))?;
        let results = ResultLines { path: path.to_path_buf(), file: Mutex::new(file), passed };
        if complete == 0 {
            results.add(&run)?;
        }
        Ok(results)
    }

    /// The outcome of an earlier run that passed.
    pub fn passed(&self, seed: u64) -> Option<RandomRow> {
        self.passed.get(&seed).cloned()
    }

    /// Adds a line: the run or an outcome.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn add(&self, value: &impl Serialize) -> Outcome {
        let refused = |e: &dyn Display| Failure::Input(format!("--results {}: {e}", self.path.display()));
        let line = sealed_line(value).map_err(|e| refused(&e))? + "\n";
        let mut file = self.file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        // In one call, so that a run that is ended leaves whole lines.
        file.write_all(line.as_bytes()).map_err(|e| refused(&e))
    }
}

fn program() -> std::io::Result<String> {
    Ok(sha256(&std::fs::read(std::env::current_exe()?)?))
}
