//! `meta.json`: the description of a folder's heads.

use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// The file's name.
pub(crate) const META: &str = "meta.json";

/// A description of heads that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum MetaError {
    /// The operating system refuses.
    #[error("{}: cannot be read: {error}", path.display())]
    Unreadable {
        /// The `meta.json`.
        path: PathBuf,
        /// Its explanation.
        error: io::Error,
    },
    /// It is no list of descriptions.
    #[error("{}: is not a list of traces: {error}", path.display())]
    NoList {
        /// The `meta.json`.
        path: PathBuf,
        /// The reader's error.
        error: flashd_files::JsonError,
    },
    /// An entry describes no head, or not only one.
    #[error("{}: entry {entry}: {problem}", path.display())]
    Entry {
        /// The `meta.json`.
        path: PathBuf,
        /// Its place in the list, from 1.
        entry: usize,
        /// The problem and the remedy.
        problem: String,
    },
}

/// An entry: fields that are used, and notes on a head.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Meta {
    /// The head's name; absent in entries about streams.
    file: Option<String>,
    pub(crate) model: Option<String>,
    #[serde(default)]
    pub(crate) causal: bool,
    #[serde(rename = "N")]
    pub(crate) keys: Option<usize>,
    pub(crate) d: Option<usize>,
    /// Notes, which nothing reads: the head's place in its model, its text, the length before a cut.
    #[serde(default, rename = "layer")]
    _layer: Note,
    #[serde(default, rename = "head")]
    _head: Note,
    #[serde(default, rename = "prompt")]
    _prompt: Note,
    #[serde(default, rename = "prompt_tokens")]
    _prompt_tokens: Note,
    #[serde(default, rename = "generated")]
    _generated: Note,
    #[serde(default, rename = "text")]
    _text: Note,
    #[serde(default, rename = "recheck")]
    _recheck: Note,
    #[serde(default, rename = "cut_from")]
    _cut_from: Note,
    #[serde(default, rename = "notes")]
    _notes: Note,
}

/// Any JSON.
#[derive(Default)]
struct Note;

impl<'de> Deserialize<'de> for Note {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Note, D::Error> {
        serde::de::IgnoredAny::deserialize(deserializer).map(|_| Note)
    }
}

/// An entry of a list.
enum MetaEntry {
    Head(Box<Meta>),
    /// A stream that heads were made of, by its name: nothing is read from such an entry.
    Stream,
}

impl<'de> Deserialize<'de> for MetaEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<MetaEntry, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        if value.get("stream").is_some_and(|name| name.is_string()) && value.get("file").is_none() {
            return Ok(MetaEntry::Stream);
        }
        // The path inside the entry, which the outer reader does not see.
        let meta = flashd_files::from_value(value).map_err(serde::de::Error::custom)?;
        Ok(MetaEntry::Head(Box::new(meta)))
    }
}

/// The descriptions of a folder's heads that have not found their head yet.
pub(crate) struct Descriptions {
    path: PathBuf,
    /// By the names of heads, with their places in the list.
    by_name: BTreeMap<String, (usize, Meta)>,
}

impl Descriptions {
    /// Reads the `meta.json` of a folder; there need not be one.
    pub(crate) fn read(folder: &Path) -> Result<Descriptions, MetaError> {
        let path = folder.join(META);
        let text = match flashd_files::read_text(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == io::ErrorKind::NotFound => "[]".into(),
            Err(error) => return Err(MetaError::Unreadable { path, error }),
        };
        let entries: Vec<MetaEntry> = match flashd_files::from_json(&text) {
            Ok(entries) => entries,
            Err(error) => return Err(MetaError::NoList { path, error }),
        };
        let mut by_name: BTreeMap<String, (usize, Meta)> = BTreeMap::new();
        for (place, entry) in entries.into_iter().enumerate() {
            let MetaEntry::Head(meta) = entry else { continue };
            let wrong = |problem| MetaError::Entry { path: path.clone(), entry: place + 1, problem };
            let Some(name) = meta.file.clone() else {
                return Err(wrong(
                    "has no file; \"file\": \"NAME\" is needed, the name of the head's files".into(),
                ));
            };
            if let Some((first, _)) = by_name.get(&name) {
                return Err(wrong(format!("describes {name}, as entry {first} does; one entry is needed")));
            }
            by_name.insert(name, (place + 1, *meta));
        }
        Ok(Descriptions { path, by_name })
    }

    /// The description of a head.
    pub(crate) fn take(&mut self, name: &str) -> Option<Meta> {
        self.by_name.remove(name).map(|(_, meta)| meta)
    }

    /// Refuses descriptions without a head; `heads` lists the folder's heads.
    pub(crate) fn all_taken(&self, heads: &[&str]) -> Result<(), MetaError> {
        let Some((name, (entry, _))) = self.by_name.iter().min_by_key(|(_, (entry, _))| *entry) else {
            return Ok(());
        };
        // A file's name in place of a head's.
        let meant = heads
            .iter()
            .find(|head| name.strip_prefix(**head).is_some_and(|rest| rest.starts_with(['-', '.'])));
        let right = match meant {
            Some(head) => format!("the name of the head is {head}"),
            None => format!(
                "files {name}-q.npy, {name}.npz or {name}.safetensors are needed, or leave the entry out"
            ),
        };
        let problem = format!("no head is called {name}; {right}");
        Err(MetaError::Entry { path: self.path.clone(), entry: *entry, problem })
    }
}
