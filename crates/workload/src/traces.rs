//! Folders of attention heads: `<stem>-layerXX-headYY-{q,k,v}.npy` and a `meta.json` that says what they are.
//!
//! ```text
//! bytes_code-d16-layer00-head05-q.npy   [N, d]      meta.json: [{"file": "bytes_code-d16-layer00-head05",
//! bytes_code-d16-layer00-head05-k.npy   [N, d]                   "model": "bytes", "causal": true,
//! bytes_code-d16-layer00-head05-v.npy   [N, d]                   "N": 512, "d": 16, ...}, ...]
//! ```

use crate::quantise::ScoreScale;
use crate::tensor::{Attention, TensorError};
use serde::Deserialize;
use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// One attention head of a folder.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// The name of its files without `-q.npy`.
    pub name: String,
    /// The heads it is grouped with in reports: model and head dimension, such as `bytes-d16`.
    pub group: String,
    /// The head dimension of the model, which decides the scale 1/sqrt(d). The rows of `attention` are longer
    /// where the files are padded with zeros.
    pub d: usize,
    /// Whether query i sees keys 0 to i only.
    pub causal: bool,
    /// Q, K and V, 1/sqrt(d) not folded in.
    pub attention: Attention,
}

impl Trace {
    /// The scale of its scores, 1/sqrt(d) of the model's own head dimension, also where the rows are padded.
    pub fn score_scale(&self) -> ScoreScale {
        ScoreScale::Value(ScoreScale::Auto.factor(self.d))
    }
}

/// A head that is listed but not read yet.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceEntry {
    /// The name of its files without `-q.npy`.
    pub name: String,
    /// The model, as the description or else the name says.
    pub model: String,
    /// Whether query i sees keys 0 to i only.
    pub causal: bool,
    /// The number of keys that the description promises.
    pub keys: Option<usize>,
    /// The head dimension that the description promises.
    pub d: Option<usize>,
    folder: PathBuf,
}

/// A folder that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The operating system refuses.
    #[error("{}: cannot be read: {error}", path.display())]
    Unreadable {
        /// Folder or file.
        path: PathBuf,
        /// Its explanation.
        error: io::Error,
    },
    /// No file of the folder looks like a trace.
    #[error("{}: holds no traces; files <name>-q.npy, <name>-k.npy and <name>-v.npy are needed", .0.display())]
    Empty(PathBuf),
    /// The description is there, but is not one.
    #[error("{}: is not a list of traces: {error}", path.display())]
    BadMeta {
        /// The `meta.json`.
        path: PathBuf,
        /// What the reader stumbled over.
        error: serde_json::Error,
    },
    /// Description and files disagree.
    #[error("{}: {name} has {field} = {described} here, but {found} in its files", path.display())]
    Mismatch {
        /// The `meta.json`.
        path: PathBuf,
        /// The trace.
        name: String,
        /// `N` or `d`.
        field: &'static str,
        /// As described.
        described: usize,
        /// As found.
        found: usize,
    },
    /// A file cannot be used.
    #[error(transparent)]
    Tensor(#[from] TensorError),
}

/// What is used of an entry of `meta.json`. Everything may be missing: other tools write other fields.
#[derive(Deserialize)]
struct Meta {
    file: Option<String>,
    model: Option<String>,
    #[serde(default)]
    causal: bool,
    #[serde(rename = "N")]
    keys: Option<usize>,
    d: Option<usize>,
}

const META: &str = "meta.json";

fn read_meta(folder: &Path) -> Result<HashMap<String, Meta>, TraceError> {
    let path = folder.join(META);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(HashMap::new()),
        Err(error) => return Err(TraceError::Unreadable { path, error }),
    };
    let entries: Vec<Meta> =
        serde_json::from_str(&text).map_err(|error| TraceError::BadMeta { path, error })?;
    Ok(entries.into_iter().filter_map(|meta| Some((meta.file.clone()?, meta))).collect())
}

/// Lists the traces of a folder, sorted by name. A trace that `meta.json` does not describe counts as not causal.
///
/// # Errors
/// A folder that cannot be read or holds no trace, and a `meta.json` that is not a list of objects.
pub fn list_dir(folder: &Path) -> Result<Vec<TraceEntry>, TraceError> {
    let unreadable = |error| TraceError::Unreadable { path: folder.to_path_buf(), error };
    let mut meta = read_meta(folder)?;
    let mut entries = Vec::new();
    for file in fs::read_dir(folder).map_err(unreadable)? {
        let file = file.map_err(unreadable)?.file_name();
        let Some(name) = file.to_str().and_then(|file| file.strip_suffix("-q.npy")) else {
            continue;
        };
        let meta = meta.remove(name);
        let by_name = || name.split(['_', '-']).next().unwrap_or(name).to_string();
        entries.push(TraceEntry {
            name: name.to_string(),
            model: meta.as_ref().and_then(|m| m.model.clone()).unwrap_or_else(by_name),
            causal: meta.as_ref().is_some_and(|m| m.causal),
            keys: meta.as_ref().and_then(|m| m.keys),
            d: meta.as_ref().and_then(|m| m.d),
            folder: folder.to_path_buf(),
        });
    }
    if entries.is_empty() {
        return Err(TraceError::Empty(folder.to_path_buf()));
    }
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(entries)
}

impl TraceEntry {
    /// Reads the tensors.
    ///
    /// # Errors
    /// A file that cannot be used, or that is not what `meta.json` promises. Rows may be longer than described
    /// (padded with zeros), not shorter.
    pub fn load(&self) -> Result<Trace, TraceError> {
        let file = |role: &str| self.folder.join(format!("{}-{role}.npy", self.name));
        let attention = Attention::from_npy(&file("q"), &file("k"), &file("v"))?;
        let mismatch = |field, described, found| {
            Err(TraceError::Mismatch {
                path: self.folder.join(META),
                name: self.name.clone(),
                field,
                described,
                found,
            })
        };
        if let Some(keys) = self.keys.filter(|&keys| keys != attention.keys) {
            return mismatch("N", keys, attention.keys);
        }
        let d = self.d.unwrap_or(attention.d);
        if d == 0 || d > attention.d {
            return mismatch("d", d, attention.d);
        }
        let group = format!("{}-d{d}", self.model);
        Ok(Trace { name: self.name.clone(), group, d, causal: self.causal, attention })
    }
}

/// Lists and loads all traces of a folder, sorted by name.
///
/// # Errors
/// Those of [`list_dir`] and [`TraceEntry::load`].
pub fn load_dir(folder: &Path) -> Result<Vec<Trace>, TraceError> {
    list_dir(folder)?.iter().map(TraceEntry::load).collect()
}
