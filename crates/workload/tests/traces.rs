//! Folders of traces: the sample of the repository, folders without a description, and bad ones.

use flashd_workload::ScoreScale;
use flashd_workload::synthetic::attention_like;
use flashd_workload::traces::{list_dir, load_dir};
use std::fs;
use std::path::{Path, PathBuf};

fn sample() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testbench/data")
}

#[test]
fn the_sample_of_the_repository_is_complete() {
    let traces = load_dir(&sample()).unwrap();
    let summary: Vec<_> =
        traces.iter().map(|t| (t.name.as_str(), t.group.as_str(), t.attention.keys, t.causal)).collect();
    assert_eq!(
        summary,
        [
            ("bytes_code-d16-layer02-head05", "bytes-d16", 128, true),
            ("bytes_code-d256-layer02-head00", "bytes-d256", 24, true),
            ("bytes_math-d16-layer04-head03", "bytes-d16", 128, true),
            ("bytes_math-d64-layer02-head02", "bytes-d64", 96, true),
            ("minilm_list-layer02-head03", "minilm-d32", 187, false),
        ]
    );
    for trace in &traces {
        let head = &trace.attention;
        assert_eq!((head.d, head.queries), (trace.d, head.keys), "{}", trace.name);
        let range = (0.1..50.0).contains(&head.max_abs_v());
        assert!(range, "{}: largest value {}", trace.name, head.max_abs_v());
    }
    let bytes: u64 =
        fs::read_dir(sample()).unwrap().map(|file| file.unwrap().metadata().unwrap().len()).sum();
    assert!(bytes < 300_000, "{bytes} bytes");
}

#[test]
fn the_sample_is_the_beginning_of_the_shared_traces() {
    let shared = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    if !shared.is_dir() {
        eprintln!("skipped: {} is not there", shared.display());
        return;
    }
    let whole = list_dir(&shared).unwrap();
    for part in load_dir(&sample()).unwrap() {
        let trace = whole.iter().find(|entry| entry.name == part.name).unwrap().load().unwrap();
        let keys = part.attention.keys;
        assert_eq!(trace.attention.truncated(keys, keys), part.attention);
        assert_eq!((trace.group, trace.causal, trace.d), (part.group, part.causal, part.d));
    }
    for trace in load_dir(&shared.join("adversarial")).unwrap() {
        assert!(!trace.causal && trace.group.starts_with("adv-d"), "{}", trace.name);
    }
}

/// A folder with one head of 6 keys, d = 8.
fn folder(meta: Option<&str>) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    attention_like(1, 6, 6, 8).write_npy(folder.path(), "tiny_text-layer00-head01").unwrap();
    if let Some(meta) = meta {
        fs::write(folder.path().join("meta.json"), meta).unwrap();
    }
    folder
}

fn error(folder: &Path) -> String {
    load_dir(folder).unwrap_err().to_string().replace(&folder.display().to_string(), "DIR")
}

#[test]
fn a_folder_needs_no_description() {
    for meta in
        [None, Some("[]"), Some(r#"[{"stream": "osc6", "N": 256}, {"file": "other", "causal": true}]"#)]
    {
        let folder = folder(meta);
        let traces = load_dir(folder.path()).unwrap();
        assert_eq!(traces.len(), 1);
        let trace = &traces[0];
        assert_eq!((trace.name.as_str(), trace.group.as_str()), ("tiny_text-layer00-head01", "tiny-d8"));
        assert_eq!((trace.d, trace.causal), (8, false));
        assert_eq!(trace.attention, attention_like(1, 6, 6, 8));
    }
}

#[test]
fn a_padded_head_keeps_its_own_dimension() {
    let meta = r#"[{"file": "tiny_text-layer00-head01", "model": "small", "causal": true, "N": 6, "d": 5}]"#;
    let folder = folder(Some(meta));
    let trace = load_dir(folder.path()).unwrap().remove(0);
    assert_eq!((trace.group.as_str(), trace.d, trace.attention.d, trace.causal), ("small-d5", 5, 8, true));
    assert_eq!(trace.score_scale(), ScoreScale::Value(1.0 / 5f64.sqrt()));
}

#[test]
fn listing_reads_no_tensor() {
    let folder = folder(None);
    fs::write(folder.path().join("broken-layer00-head00-q.npy"), "rubbish").unwrap();
    let names: Vec<String> = list_dir(folder.path()).unwrap().into_iter().map(|entry| entry.name).collect();
    assert_eq!(names, ["broken-layer00-head00", "tiny_text-layer00-head01"]);
    assert_eq!(
        error(folder.path()),
        "DIR/broken-layer00-head00-q.npy: is not a .npy file: it does not begin with \\x93NUMPY; write it with \
         numpy.save"
    );
}

#[test]
fn bad_folders_are_described() {
    let with = |meta: &str| error(folder(Some(meta)).path());
    let name = "tiny_text-layer00-head01";
    assert_eq!(
        with(&format!(r#"[{{"file": "{name}", "N": 7}}]"#)),
        format!("DIR/meta.json: {name} has N = 7 here, but 6 in its files")
    );
    assert_eq!(
        with(&format!(r#"[{{"file": "{name}", "d": 16}}]"#)),
        format!("DIR/meta.json: {name} has d = 16 here, but 8 in its files")
    );
    assert!(with("{").starts_with("DIR/meta.json: is not a list of traces: "));
    let empty = tempfile::tempdir().unwrap();
    assert_eq!(
        error(empty.path()),
        "DIR: holds no traces; files <name>-q.npy, <name>-k.npy and <name>-v.npy are needed"
    );
    assert!(error(&empty.path().join("none")).starts_with("DIR: cannot be read: "));
    let partial = folder(None);
    fs::remove_file(partial.path().join("tiny_text-layer00-head01-v.npy")).unwrap();
    assert!(error(partial.path()).starts_with("DIR/tiny_text-layer00-head01-v.npy: cannot be read: "));
}
