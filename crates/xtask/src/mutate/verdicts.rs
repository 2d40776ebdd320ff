//! Verdicts on faults, kept in a file as they come: an interrupted run continues.

use crate::failure::{Outcome, with};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Verdicts by the numbers of faults; a line of the file is both with a tab between.
pub struct Verdicts {
    path: PathBuf,
    known: BTreeMap<u32, String>,
}

impl Verdicts {
    /// The valid verdicts of a file. An incomplete line is none.
    pub fn read(path: &Path, is_good: impl Fn(&str) -> bool) -> Outcome<Verdicts> {
        let text = if path.exists() { crate::work::read(path)? } else { String::new() };
        let entry = |line: &str| {
            let (number, verdict) = line.strip_suffix('\n')?.split_once('\t')?;
            is_good(verdict).then_some((number.parse().ok()?, verdict.to_string()))
        };
        let known: BTreeMap<u32, String> = text.split_inclusive('\n').filter_map(entry).collect();
        let lines: String = known.iter().map(|(number, verdict)| format!("{number}\t{verdict}\n")).collect();
        if lines != text {
            crate::work::write(path, &lines)?;
        }
        Ok(Verdicts { path: path.to_path_buf(), known })
    }

    /// Asks for the verdicts that are missing of these faults, some at the same time.
    pub fn complete(&mut self, numbers: &[u32], ask: impl Fn(u32) -> Outcome<String> + Sync) -> Outcome {
        let missing: Vec<u32> = numbers.iter().filter(|n| !self.known.contains_key(n)).copied().collect();
        let problem = with(self.path.display().to_string());
        let file = OpenOptions::new().create(true).append(true).open(&self.path).map_err(&problem)?;
        let file: Mutex<File> = Mutex::new(file);
        let one = |number: u32| {
            let verdict = ask(number)?;
            let line = format!("{number}\t{verdict}\n");
            let mut file = file.lock().unwrap_or_else(|e| e.into_inner());
            file.write_all(line.as_bytes()).map_err(&problem)?;
            Ok((number, verdict))
        };
        let new: Vec<(u32, String)> =
            missing.into_par_iter().with_max_len(1).map(one).collect::<Outcome<_>>()?;
        self.known.extend(new);
        Ok(())
    }

    /// The verdict on a fault; nothing where it was not asked for.
    pub fn of(&self, number: u32) -> &str {
        self.known.get(&number).map_or("", String::as_str)
    }

    /// Whether a fault is proved to change nothing.
    pub fn is_same(&self, number: u32) -> bool {
        self.of(number) == "same"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupted_run_continues() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("verdicts.txt");
        // The last line was not finished, and one verdict is to be asked for again.
        std::fs::write(&path, "1\tsame\n2\tunknown\n3\tsa").unwrap();
        let mut verdicts = Verdicts::read(&path, |verdict| verdict == "same").unwrap();
        verdicts.complete(&[1, 2, 3], |number| Ok(format!("asked {number}"))).unwrap();
        assert_eq!([1, 2, 3].map(|n| verdicts.of(n).to_string()), ["same", "asked 2", "asked 3"]);
        let again = Verdicts::read(&path, |_| true).unwrap();
        assert_eq!([1, 2, 3].map(|n| again.of(n).to_string()), ["same", "asked 2", "asked 3"]);
        assert!(again.is_same(1) && !again.is_same(2) && again.of(4).is_empty());
    }
}
