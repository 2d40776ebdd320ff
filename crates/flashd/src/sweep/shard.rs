//! Shards, and the folder of a sweep.
//!
//! ```text
//!  DIR/sweep.json          the shards, and the explorations that some of them belong to
//!  DIR/results/HASH.json   the result of a shard
//! ```

use super::inputs::{Inputs, ShardInputs};
use crate::digest::{self, sha256};
use crate::output::{Failure, unwritable};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// One piece of work, and the hash of all that its result depends on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shard {
    /// SHA-256 of the rest.
    pub hash: String,
    #[serde(flatten)]
    pub work: ShardWork,
}

/// A command and its inputs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShardWork {
    pub kind: String,
    /// Words after the program's name.
    pub command: Vec<String>,
    /// The core, by its flags or its configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core: Option<Value>,
    /// Inputs of the command.
    #[serde(flatten)]
    pub reads: ShardInputs,
    pub inputs: Inputs,
}

impl Shard {
    /// A shard with its hash.
    pub fn new(work: ShardWork) -> Result<Shard, Failure> {
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
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct SweepPlan {
    #[serde(default)]
    pub explorations: Vec<ExplorationOf>,
    pub shards: Vec<Shard>,
}

/// A result file as found.
pub enum FoundResult {
    Nothing,
    Whole(Value),
    /// A file that is empty, cut off or changed, and the problem.
    Damaged(String),
}

/// A result file: the hash of the shard, and the output of its command.
#[derive(Serialize, Deserialize)]
struct Done {
    shard: String,
    result: Value,
}

/// A planned sweep.
pub struct Sweep {
    pub folder: PathBuf,
    pub plan: SweepPlan,
}

const PLAN: &str = "sweep.json";
const RESULTS: &str = "results";

impl Sweep {
    /// Writes the plan. Existing results stay, and are valid for shards that are planned again.
    pub fn write(&self) -> Result<(), Failure> {
        let results = self.folder.join(RESULTS);
        flashd_files::create_folder(&results).map_err(|e| unwritable("--out", &results, e))?;
        write(&self.folder.join(PLAN), &self.plan)
    }

    /// Reads the plan.
    ///
    /// # Errors
    /// A folder that is not one of `sweep plan`, and a plan that was cut off or changed.
    pub fn read(folder: &Path) -> Result<Sweep, Failure> {
        let path = folder.join(PLAN);
        let problem = |problem: String| Failure::input(format!("{}: {problem}", path.display()));
        let text = flashd_files::read_text(&path).map_err(|e| {
            problem(format!("{e}: make a sweep with flashd sweep plan GRID.json --out {}", folder.display()))
        })?;
        let plan = digest::unsealed(&text).map_err(|e| problem(format!("{e}; plan the sweep again")))?;
        Ok(Sweep { folder: folder.to_path_buf(), plan })
    }

    /// The file of a shard's result.
    pub fn file(&self, hash: &str) -> PathBuf {
        self.folder.join(RESULTS).join(format!("{hash}.json"))
    }

    /// Stores a shard's result.
    pub fn store(&self, hash: &str, result: Value) -> Result<(), Failure> {
        write(&self.file(hash), &Done { shard: hash.to_string(), result })
    }

    /// Reads a shard's result.
    ///
    /// # Errors
    /// A file that the operating system cannot read.
    pub fn result(&self, hash: &str) -> Result<FoundResult, Failure> {
        let path = self.file(hash);
        let bytes = match flashd_files::read(&path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(FoundResult::Nothing),
            bytes => bytes.map_err(|e| Failure::input(format!("{}: {e}", path.display())))?,
        };
        let damaged = |problem: String| FoundResult::Damaged(format!("{}: {problem}", path.display()));
        // Bytes that are not UTF-8 are replaced: their digest is wrong.
        Ok(match digest::unsealed::<Done>(&String::from_utf8_lossy(&bytes)) {
            Err(problem) => damaged(problem),
            Ok(done) if done.shard != hash => damaged(format!("is the result of {}", done.shard)),
            Ok(done) => FoundResult::Whole(done.result),
        })
    }
}

fn write(path: &Path, value: &impl Serialize) -> Result<(), Failure> {
    let text = digest::sealed(value).map_err(|e| Failure::input(format!("JSON: {e}")))?;
    flashd_files::write(path, text.as_bytes())
        .map(drop)
        .map_err(|e| Failure::input(format!("{}: cannot be written: {e}", path.display())))
}
