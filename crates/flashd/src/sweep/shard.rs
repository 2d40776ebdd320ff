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
use crate::digest::sha256;
use crate::output::Failure;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
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
        let problem =
            |path: &Path, e: std::io::Error| Failure::input(format!("--out {}: {e}", path.display()));
        for folder in [RESULTS, FAILED, RUNNING] {
            let path = self.folder.join(folder);
            flashd_files::create_folder(&path).map_err(|e| problem(&path, e))?;
        }
        let json = |e: serde_json::Error| Failure::input(format!("JSON: {e}"));
        let mut lines = Vec::new();
        for shard in &self.shards {
            serde_json::to_writer(&mut lines, shard).map_err(json)?;
            lines.push(b'\n');
        }
        let about = serde_json::to_string_pretty(&self.about).map_err(json)? + "\n";
        // The shards first: a folder without sweep.json is no sweep.
        for (name, bytes) in [(SHARDS, lines), (ABOUT, about.into_bytes())] {
            let path = self.folder.join(name);
            flashd_files::write(&path, &bytes).map_err(|e| problem(&path, e))?;
        }
        Ok(())
    }

    /// Reads the plan.
    ///
    /// # Errors
    /// A folder that is not one of `sweep plan`.
    pub fn read(folder: &Path) -> Result<Sweep, Failure> {
        let file = |name: &str| {
            let path = folder.join(name);
            flashd_files::read_text(&path).map_err(|e| {
                let what = "no folder of a sweep; make one with flashd sweep plan GRID.json --out";
                Failure::input(format!("{}: {e}: {what} {}", path.display(), folder.display()))
            })
        };
        let about = flashd_files::from_json(&file(ABOUT)?);
        let about = about.map_err(|e| Failure::input(format!("{}: {e}", folder.join(ABOUT).display())))?;
        let line = |(i, line): (usize, &str)| {
            serde_json::from_str(line).map_err(|e| {
                Failure::input(format!("{}: line {}: {e}", folder.join(SHARDS).display(), i + 1))
            })
        };
        let shards = file(SHARDS)?.lines().enumerate().map(line).collect::<Result<_, _>>()?;
        Ok(Sweep { folder: folder.to_path_buf(), about, shards })
    }

    /// The file of a shard in one of the folders.
    pub fn file(&self, folder: &str, hash: &str) -> PathBuf {
        self.folder.join(folder).join(format!("{hash}.json"))
    }

    /// Hashes that have a file in a folder.
    pub fn there(&self, folder: &str) -> Result<HashSet<String>, Failure> {
        let path = self.folder.join(folder);
        let problem = |e: std::io::Error| Failure::input(format!("{}: {e}", path.display()));
        let mut all = HashSet::new();
        for entry in std::fs::read_dir(&path).map_err(problem)? {
            let name = entry.map_err(problem)?.file_name();
            all.extend(name.to_str().and_then(|name| name.strip_suffix(".json")).map(String::from));
        }
        Ok(all)
    }

    /// What came of a shard, if it is there.
    pub fn done(&self, hash: &str) -> Result<Option<Done>, Failure> {
        let path = self.file(RESULTS, hash);
        let done: Option<Done> = read(&path)?;
        match done {
            Some(done) if done.shard != hash => {
                Err(Failure::input(format!("{}: is the result of {}; remove it", path.display(), done.shard)))
            }
            done => Ok(done),
        }
    }

    /// Why nothing came of it, if it has failed.
    pub fn failed(&self, hash: &str) -> Result<Option<Failed>, Failure> {
        read(&self.file(FAILED, hash))
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

fn read<T: serde::de::DeserializeOwned>(path: &Path) -> Result<Option<T>, Failure> {
    let problem = |e: String| Failure::input(format!("{}: {e}", path.display()));
    match std::fs::read_to_string(path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(problem(e.to_string())),
        Ok(text) => serde_json::from_str(&text).map(Some).map_err(|e| problem(e.to_string())),
    }
}
