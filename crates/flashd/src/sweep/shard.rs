//! Shards, and the folder of a sweep.
//!
//! ```text
//!  DIR/sweep.json          the grid, and the explorations in it
//!  DIR/shards.jsonl        a shard a line
//!  DIR/results/HASH.json   what came of it
//!  DIR/failed/HASH.json    why nothing came of it
//!  DIR/running/HASH        locked by the run that is at it
//! ```

use super::inputs::{Inputs, Reads};
use super::kind::Kind;
use crate::digest::{self, sha256};
use crate::output::{Failure, unwritable};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// One piece of work, and the hash of all that its result depends on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shard {
    /// SHA-256 of the rest.
    pub hash: String,
    #[serde(flatten)]
    pub work: Work,
}

/// What is computed from what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Work {
    pub kind: Kind,
    /// Words after the program's name.
    pub command: Vec<String>,
    /// The core, by its flags or its configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core: Option<Value>,
    /// What the command reads.
    #[serde(flatten)]
    pub reads: Reads,
    /// The seed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<String>,
    pub inputs: Inputs,
}

impl Shard {
    /// A shard with its hash.
    pub fn new(work: Work) -> Result<Shard, Failure> {
        let text = serde_json::to_vec(&work).map_err(|e| Failure::input(format!("JSON: {e}")))?;
        Ok(Shard { hash: sha256(&text), work })
    }

    /// Checks the hash, and that a sweep may run the command.
    fn check(&self) -> Result<(), String> {
        let again = Shard::new(self.work.clone()).map_err(|e| e.to_string())?;
        if again.hash != self.hash {
            return Err(format!("the hash {} is not that of the shard, which was changed", self.hash));
        }
        self.work.kind.row().check(&self.work.command)
    }
}

/// An exploration that a sweep holds.
#[derive(Debug, Serialize, Deserialize)]
pub struct ExplorationOf {
    /// The arguments of `flashd explore`.
    pub arguments: Vec<String>,
    /// The hashes of its shards.
    pub shards: Vec<String>,
}

/// `sweep.json`.
#[derive(Debug, Serialize, Deserialize)]
pub struct About {
    /// As it was given.
    pub grid: Value,
    #[serde(default)]
    pub explorations: Vec<ExplorationOf>,
    /// How many shards there are.
    pub shards: usize,
    /// SHA-256 of `shards.jsonl`.
    pub shards_digest: String,
}

impl About {
    /// Describes newly planned shards.
    pub fn new(grid: Value, explorations: Vec<ExplorationOf>, shards: &[Shard]) -> Result<About, Failure> {
        let shards_digest = sha256(lines(shards)?.as_bytes());
        Ok(About { grid, explorations, shards: shards.len(), shards_digest })
    }
}

/// `shards.jsonl`.
fn lines(shards: &[Shard]) -> Result<String, Failure> {
    let mut text = String::new();
    for shard in shards {
        text += &serde_json::to_string(shard).map_err(|e| Failure::input(format!("JSON: {e}")))?;
        text.push('\n');
    }
    Ok(text)
}

/// A result file as found.
pub enum Found {
    /// Nothing.
    Nothing,
    /// The result.
    Whole(Box<Done>),
    /// A file that is empty, cut off or changed, and the problem.
    Damaged(String),
}

/// What came of a shard.
#[derive(Debug, Serialize, Deserialize)]
pub struct Done {
    pub shard: String,
    /// The same wherever it is computed.
    pub result: Value,
    /// What a clock measured, or what the machine is.
    #[serde(default)]
    pub measured: Value,
    pub cost: Cost,
}

impl Done {
    /// Whether the command printed nothing that counts.
    pub fn is_empty(&self) -> bool {
        match &self.result {
            Value::Null => true,
            Value::Array(values) => values.is_empty(),
            Value::Object(fields) => fields.is_empty(),
            _ => false,
        }
    }
}

/// Why nothing came of a shard, the last time.
#[derive(Debug, Serialize, Deserialize)]
pub struct Failed {
    pub shard: String,
    pub message: String,
    /// Of the command, unless a signal ended it.
    pub exit_code: Option<i32>,
    pub cost: Cost,
}

/// What a run took.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Cost {
    pub wall_seconds: f64,
    /// Of all processors, the programs that it ran among them.
    pub processor_seconds: f64,
    pub host: String,
}

/// A planned sweep.
pub struct Sweep {
    pub folder: PathBuf,
    pub about: About,
    pub shards: Vec<Shard>,
}

const ABOUT: &str = "sweep.json";
const SHARDS: &str = "shards.jsonl";
pub const RESULTS: &str = "results";
pub const FAILED: &str = "failed";
pub const RUNNING: &str = "running";

impl Sweep {
    /// Writes the plan; results that are there stay, and those of shards that are planned again count.
    pub fn write(&self) -> Result<(), Failure> {
        let problem = |path: &Path, e: std::io::Error| unwritable("--out", path, e);
        for folder in [RESULTS, FAILED, RUNNING] {
            let path = self.folder.join(folder);
            flashd_files::create_folder(&path).map_err(|e| problem(&path, e))?;
        }
        let about = digest::sealed(&self.about).map_err(|e| Failure::input(format!("JSON: {e}")))?;
        // The shards first: a folder without sweep.json is no sweep.
        for (name, text) in [(SHARDS, lines(&self.shards)?), (ABOUT, about)] {
            let path = self.folder.join(name);
            flashd_files::write(&path, text.as_bytes()).map_err(|e| problem(&path, e))?;
        }
        Ok(())
    }

    /// Reads the plan.
    ///
    /// # Errors
    /// A folder that is not one of `sweep plan`, and a plan that is not as it was written: a shard whose hash is not that of its work, a
    /// command that no sweep runs, shards that are missing.
    pub fn read(folder: &Path) -> Result<Sweep, Failure> {
        let file = |name: &str| {
            let path = folder.join(name);
            flashd_files::read_text(&path).map_err(|e| {
                let what = "no folder of a sweep; make one with flashd sweep plan GRID.json --out";
                Failure::input(format!("{}: {e}: {what} {}", path.display(), folder.display()))
            })
        };
        let wrong = |name: &str, problem: &str| {
            Failure::input(format!("{}: {problem}; plan the sweep again", folder.join(name).display()))
        };
        let about: About = digest::unsealed(&file(ABOUT)?).map_err(|e| wrong(ABOUT, &e))?;
        let text = file(SHARDS)?;
        let line = |(i, line): (usize, &str)| {
            let shard = serde_json::from_str(line).map_err(|e| e.to_string());
            let checked = shard.and_then(|shard: Shard| shard.check().map(|()| shard));
            checked.map_err(|e| wrong(SHARDS, &format!("line {}: {e}", i + 1)))
        };
        let shards: Vec<Shard> = text.lines().enumerate().map(line).collect::<Result<_, _>>()?;
        if shards.len() != about.shards {
            return Err(wrong(
                SHARDS,
                &format!("{} shards, and {} were planned", shards.len(), about.shards),
            ));
        }
        if sha256(text.as_bytes()) != about.shards_digest {
            return Err(wrong(SHARDS, "it was changed after it was written: its digest is another one"));
        }
        Ok(Sweep { folder: folder.to_path_buf(), about, shards })
    }

    /// The file of a shard in one of the folders.
    pub fn file(&self, folder: &str, hash: &str) -> PathBuf {
        self.folder.join(folder).join(format!("{hash}.json"))
    }

    /// What came of a shard.
    ///
    /// # Errors
    /// A file that the operating system does not give.
    pub fn result(&self, hash: &str) -> Result<Found, Failure> {
        let Some(text) = read(&self.file(RESULTS, hash))? else { return Ok(Found::Nothing) };
        Ok(match digest::unsealed::<Done>(&text) {
            Err(problem) => Found::Damaged(problem),
            Ok(done) if done.shard != hash => Found::Damaged(format!("is the result of {}", done.shard)),
            Ok(done) if done.is_empty() => Found::Damaged("holds an empty result".into()),
            Ok(done) => Found::Whole(Box::new(done)),
        })
    }

    /// What came of a shard, if it is there.
    ///
    /// # Errors
    /// Names a result that is damaged.
    pub fn done(&self, hash: &str) -> Result<Option<Box<Done>>, Failure> {
        match self.result(hash)? {
            Found::Nothing => Ok(None),
            Found::Whole(done) => Ok(Some(done)),
            Found::Damaged(problem) => Err(Failure::input(format!(
                "{}: {problem}; flashd sweep run {} computes it again",
                self.file(RESULTS, hash).display(),
                self.folder.display()
            ))),
        }
    }

    /// Why nothing came of it, if it has failed. A record that is damaged counts as none: the shard is run again.
    pub fn failed(&self, hash: &str) -> Result<Option<Failed>, Failure> {
        let failed = read(&self.file(FAILED, hash))?.and_then(|text| digest::unsealed::<Failed>(&text).ok());
        Ok(failed.filter(|failed| failed.shard == hash))
    }

    /// The shards that words on the command line name: numbers from 0, ranges of them, hashes. All if there are none.
    pub fn select(&self, words: &[String]) -> Result<Vec<&Shard>, Failure> {
        if words.is_empty() {
            return Ok(self.shards.iter().collect());
        }
        let by_hash: HashMap<&str, &Shard> = self.shards.iter().map(|s| (s.hash.as_str(), s)).collect();
        let mut all = Vec::new();
        for word in words {
            if let Some(shard) = by_hash.get(word.as_str()) {
                all.push(*shard);
                continue;
            }
            let (first, last) = word.split_once('-').unwrap_or((word, word));
            let none = || {
                let most = self.shards.len();
                Failure::input(format!(
                    "{word}: is no shard; give a number below {most}, a range such as 0-9, or a hash"
                ))
            };
            let (Ok(first), Ok(last)) = (first.parse::<usize>(), last.parse::<usize>()) else {
                return Err(none());
            };
            // The last part of an array of jobs may be shorter.
            let last = last.min(self.shards.len().saturating_sub(1));
            all.extend(self.shards.get(first..=last).filter(|found| !found.is_empty()).ok_or_else(none)?);
        }
        Ok(all)
    }
}

/// The text of a file that may be missing. Bytes that are not UTF-8 are replaced: their digest is wrong.
fn read(path: &Path) -> Result<Option<String>, Failure> {
    match flashd_files::read(path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(Failure::input(format!("{}: {e}", path.display()))),
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
    }
}
