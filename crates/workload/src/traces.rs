//! Folders of attention heads, and a `meta.json` that describes them. A head, or the heads of a layer stacked
//! (`[heads, N, d]`), is three files `<name>-q.npy`, `<name>-k.npy` and `<name>-v.npy`, or one file `<name>.npz` or
//! `<name>.safetensors` with entries q, k and v. A name that contains `layerXX` says which layer it is.
//!
//! ```text
//! bytes_code-d16-layer00-head05-q.npy   [N, d]      meta.json: [{"file": "bytes_code-d16-layer00-head05",
//! bytes_code-d16-layer00-head05-k.npy   [N, d]                   "model": "bytes", "causal": true,
//! bytes_code-d16-layer00-head05-v.npy   [N, d]                   "N": 512, "d": 16, ...}, ...]
//! ```

use crate::meta::{Descriptions, META, MetaError};
use crate::quantise::ScoreScale;
use crate::tensor::{Attention, First, Layer, TensorError};
use crate::visible::Visible;
use flashd_spec::config::Lengths;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// One attention head of a folder.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// The name of its files without `-q.npy`, `.npz` or `.safetensors`, and `-headYY` behind it where they hold
    /// several.
    pub name: String,
    /// The heads it is grouped with in reports: model and head dimension, such as `bytes-d16`.
    pub group: String,
    /// The head dimension of the model, which decides the scale 1/sqrt(d). The rows of `attention` are longer
    /// where the files are padded with zeros.
    pub d: usize,
    /// Whether a query sees the keys up to its own position only, see [`Visible`].
    pub causal: bool,
    /// Q, K and V, 1/sqrt(d) not folded in.
    pub attention: Attention,
}

impl Trace {
    /// The keys that its queries see.
    pub fn visible(&self) -> Visible {
        Visible::new(self.causal)
    }

    /// The scale of its scores, 1/sqrt(d) of the model's own head dimension, also where the rows are padded.
    pub fn score_scale(&self) -> ScoreScale {
        ScoreScale::Value(ScoreScale::Auto.factor(self.d))
    }

    /// The number after the last `layer` in its name.
    pub fn layer(&self) -> Option<usize> {
        let (_, rest) = self.name.rsplit_once("layer")?;
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        rest[..digits].parse().ok()
    }
}

/// Where the tensors of an entry are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Files {
    /// `<name>-q.npy` and so on.
    Npy,
    /// `<name>.npz`.
    Npz,
    /// `<name>.safetensors`.
    Safetensors,
}

impl Files {
    const ALL: [Files; 3] = [Files::Npy, Files::Npz, Files::Safetensors];

    /// The suffix after the name, in the file of the entry.
    fn ending(self) -> &'static str {
        match self {
            Files::Npy => "-q.npy",
            Files::Npz => ".npz",
            Files::Safetensors => ".safetensors",
        }
    }
}

/// A head, or the heads of a layer in one file, listed but not read yet.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceEntry {
    /// The name of its files without `-q.npy`, `.npz` or `.safetensors`.
    pub name: String,
    /// The model, as the description or else the name says.
    pub model: String,
    /// Whether a query sees the keys up to its own position only.
    pub causal: bool,
    /// The number of keys that the description promises.
    pub keys: Option<usize>,
    /// The head dimension that the description promises.
    pub d: Option<usize>,
    folder: PathBuf,
    files: Files,
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
    #[error(
        "{}: holds no traces; files <name>-q.npy, <name>-k.npy and <name>-v.npy are needed, or <name>.npz or \
         <name>.safetensors with q, k and v",
        .0.display()
    )]
    Empty(PathBuf),
    /// Two kinds of file have one name.
    #[error("{}: {name} is there as more than one kind of file; one is needed", folder.display())]
    Ambiguous {
        /// The folder.
        folder: PathBuf,
        /// The trace.
        name: String,
    },
    /// Two heads have one name.
    #[error(
        "{}: {stacked} and {alone} both hold a head called {name}; another name is needed for one of them",
        folder.display()
    )]
    SameHead {
        /// The folder.
        folder: PathBuf,
        /// The head.
        name: String,
        /// A file of those with several heads.
        stacked: String,
        /// A file of the other.
        alone: String,
    },
    /// The description is there, but is none of these heads.
    #[error(transparent)]
    Meta(#[from] MetaError),
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

/// The text before the number of a head in its name.
const HEAD: &str = "-head";

/// Lists the traces of a folder, sorted by name. A trace that `meta.json` does not describe counts as not causal.
///
/// # Errors
/// A folder that cannot be read, holds no trace, two kinds of file of one name or two heads of one name, and a `meta.json` that is not a list of objects.
pub fn list_dir(folder: &Path) -> Result<Vec<TraceEntry>, TraceError> {
    let unreadable = |error| TraceError::Unreadable { path: folder.to_path_buf(), error };
    let mut meta = Descriptions::read(folder)?;
    let mut entries = Vec::new();
    for file in fs::read_dir(folder).map_err(unreadable)? {
        let file = file.map_err(unreadable)?.file_name();
        let named = |files: Files| Some((file.to_str()?.strip_suffix(files.ending())?, files));
        let Some((name, files)) = Files::ALL.into_iter().find_map(named) else {
            continue;
        };
        let meta = meta.take(name);
        let by_name = || name.split(['_', '-']).next().unwrap_or(name).to_string();
        entries.push(TraceEntry {
            name: name.to_string(),
            causal: meta.as_ref().is_some_and(|m| m.causal),
            keys: meta.as_ref().and_then(|m| m.keys),
            d: meta.as_ref().and_then(|m| m.d),
            model: meta.and_then(|m| m.model).unwrap_or_else(by_name),
            folder: folder.to_path_buf(),
            files,
        });
    }
    if entries.is_empty() {
        return Err(TraceError::Empty(folder.to_path_buf()));
    }
    meta.all_taken(&entries.iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>())?;
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    if let Some(same) = entries.windows(2).find(|pair| pair[0].name == pair[1].name) {
        return Err(TraceError::Ambiguous { folder: folder.to_path_buf(), name: same[0].name.clone() });
    }
    different_heads(folder, &entries)?;
    Ok(entries)
}

/// The name of a head of several in one file.
fn head_name(name: &str, head: usize) -> String {
    format!("{name}{HEAD}{head:02}")
}

/// Refuses entries whose heads would have the same name: one that is called as a head of another one.
fn different_heads(folder: &Path, entries: &[TraceEntry]) -> Result<(), TraceError> {
    for alone in entries {
        let Some((name, head)) = alone.name.rsplit_once(HEAD) else { continue };
        let Some(head) = head.parse().ok().filter(|&head| head_name(name, head) == alone.name) else {
            continue;
        };
        let Ok(place) = entries.binary_search_by(|entry| entry.name.as_str().cmp(name)) else { continue };
        let stacked = &entries[place];
        // Loading reports tensors that cannot be read.
        let heads = stacked.count_heads().unwrap_or(0);
        if heads > 1 && head < heads {
            return Err(TraceError::SameHead {
                folder: folder.to_path_buf(),
                name: alone.name.clone(),
                stacked: stacked.name.clone() + stacked.files.ending(),
                alone: alone.name.clone() + alone.files.ending(),
            });
        }
    }
    Ok(())
}

impl TraceEntry {
    /// The keys that its queries see.
    pub fn visible(&self) -> Visible {
        Visible::new(self.causal)
    }

    /// Reads the tensors, of several heads the first.
    ///
    /// # Errors
    /// As [`TraceEntry::load_heads`].
    pub fn load(&self) -> Result<Trace, TraceError> {
        // There is at least one.
        Ok(self.load_heads()?.swap_remove(0))
    }

    /// Reads the tensors of all its heads. What no query sees may be anything, and is zeros here.
    ///
    /// # Errors
    /// A file that cannot be used, or that is not what `meta.json` promises. Rows may be longer than described
    /// (padded with zeros), not shorter.
    pub fn load_heads(&self) -> Result<Vec<Trace>, TraceError> {
        self.load_heads_as(&self.visible())
    }

    /// The same for queries that see these keys.
    ///
    /// # Errors
    /// As there.
    pub fn load_heads_as(&self, visible: &Visible) -> Result<Vec<Trace>, TraceError> {
        let mut traces = self.read(First::default())?;
        for trace in &mut traces {
            let head = std::mem::replace(&mut trace.attention, Attention::new(1, vec![], vec![], vec![]));
            trace.attention = visible.only_seen(head)?;
        }
        Ok(traces)
    }

    /// The head dimension of the model, from the beginnings of the files.
    ///
    /// # Errors
    /// As [`TraceEntry::load_heads`], but for the elements.
    pub fn read_d(&self) -> Result<usize, TraceError> {
        Ok(self.read(First { queries: Some(0), keys: Some(0) })?[0].d)
    }

    /// d_k and d_v of the rows, likewise.
    ///
    /// # Errors
    /// As there.
    pub fn read_lengths(&self) -> Result<Lengths, TraceError> {
        Ok(self.read(First { queries: Some(0), keys: Some(0) })?[0].attention.lengths())
    }

    fn count_heads(&self) -> Result<usize, TraceError> {
        Ok(self.read(First { queries: Some(0), keys: Some(0) })?.len())
    }

    /// The first rows of all heads, as they are in the files.
    fn read(&self, first: First) -> Result<Vec<Trace>, TraceError> {
        let file = |ending: &str| self.folder.join(format!("{}{ending}", self.name));
        let heads = match self.files {
            Files::Npy => Layer::npy_rows([&file("-q.npy"), &file("-k.npy"), &file("-v.npy")], first)?.heads,
            bundle => Layer::bundle_rows(&file(bundle.ending()), first)?.heads,
        };
        let mismatch = |field, described, found| {
            Err(TraceError::Mismatch {
                path: self.folder.join(META),
                name: self.name.clone(),
                field,
                described,
                found,
            })
        };
        let (several, keys, columns) = (heads.len() > 1, heads[0].uncut().keys, heads[0].d);
        if let Some(described) = self.keys.filter(|&described| described != keys) {
            return mismatch("N", described, keys);
        }
        let d = self.d.unwrap_or(columns);
        if d == 0 || d > columns {
            return mismatch("d", d, columns);
        }
        let trace = |(head, attention): (usize, Attention)| Trace {
            name: if several { head_name(&self.name, head) } else { self.name.clone() },
            group: format!("{}-d{d}", self.model),
            d,
            causal: self.causal,
            attention,
        };
        Ok(heads.into_iter().enumerate().map(trace).collect())
    }
}

/// Lists and loads all traces of a folder, sorted by name.
///
/// # Errors
/// Errors of [`list_dir`] and [`TraceEntry::load_heads`].
pub fn load_dir(folder: &Path) -> Result<Vec<Trace>, TraceError> {
    load_dir_as(folder, TraceEntry::visible)
}

/// The same for queries that see the keys that `visible` says of each entry.
///
/// # Errors
/// As there.
pub fn load_dir_as(
    folder: &Path,
    visible: impl Fn(&TraceEntry) -> Visible,
) -> Result<Vec<Trace>, TraceError> {
    let mut traces = Vec::new();
    for entry in list_dir(folder)? {
        traces.extend(entry.load_heads_as(&visible(&entry))?);
    }
    Ok(traces)
}
