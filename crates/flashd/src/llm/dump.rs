//! `flashd llm --dump`: the heads of a run as a folder that other commands read.

use crate::output::{Failure, unwritable};
use flashd_llm::RecordHeads;
use serde::Serialize;
use std::path::Path;

/// What `meta.json` says of a head.
#[derive(Serialize)]
struct Dumped {
    file: String,
    model: String,
    layer: usize,
    head: usize,
    causal: bool,
    #[serde(rename = "N")]
    keys: usize,
    d: usize,
}

/// Writes the heads, and `meta.json` last: a folder with it is whole.
pub fn write(folder: &Path, checkpoint: &Path, heads: &RecordHeads) -> Result<(), Failure> {
    let failure = |path: &Path, e: std::io::Error| unwritable("--dump", path, e);
    // Names of models end at the first dash.
    let stem = checkpoint.file_stem().map_or_else(|| "model".into(), |stem| stem.to_string_lossy());
    let model = stem.replace('-', "_");
    let mut meta = Vec::new();
    for (layer, heads) in
        (0..).map(|layer| (layer, heads.layer(layer))).take_while(|(_, heads)| !heads.is_empty())
    {
        for (number, head) in heads.iter().enumerate() {
            let file = format!("{model}-layer{layer:02}-head{number:02}");
            head.write_npy(folder, &file).map_err(|e| failure(folder, e))?;
            let model = model.clone();
            meta.push(Dumped { file, model, layer, head: number, causal: true, keys: head.keys, d: head.d });
        }
    }
    let path = folder.join("meta.json");
    let text = serde_json::to_string_pretty(&meta).map_err(|e| failure(&path, e.into()))?;
    flashd_files::write(&path, text.as_bytes()).map(drop).map_err(|e| failure(&path, e))
}
