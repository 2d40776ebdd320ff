//! Folders of traces: the sample of the repository, folders without a description, and bad ones.

use crate::common::written;
use flashd_workload::synthetic::attention_like;
use flashd_workload::{Attention, ScoreScale, list_dir, load_dir, write_npy};
use std::fs;
use std::io::Write;
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
        let cut = trace.attention.truncated(keys, keys);
        assert_eq!(Attention { cut_from: None, ..cut }, part.attention);
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
    for meta in [None, Some("[]"), Some(r#"[{"stream": "osc6", "N": 256, "anything": [1]}]"#)] {
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
    for (meta, problem) in [
        (
            r#"[{"file": "NAME"}, {"file": "other", "causal": true}]"#,
            "entry 2: no head is called other; files other-q.npy, other.npz or other.safetensors are needed, or leave the entry out",
        ),
        (
            r#"[{"file": "NAME-q.npy", "causal": true}]"#,
            "entry 1: no head is called NAME-q.npy; the name of the head is NAME",
        ),
        (
            r#"[{"file": "NAME", "causal": true}, {"file": "NAME", "causal": false}]"#,
            "entry 2: describes NAME, as entry 1 does; one entry is needed",
        ),
        (r#"[{"causal": true}]"#, "entry 1: has no file; "),
        (
            r#"[{"file": "NAME", "casual": true}]"#,
            "is not a list of traces: [0]: casual: unknown field `casual`, expected one of `file`, `model`, `causal`, `N`, `d`, `layer`, `head`, `prompt`, `prompt_tokens`, `generated`, `text`, `recheck`, `cut_from`, `notes`",
        ),
        (
            r#"[{"file": "NAME", "causal": "yes"}]"#,
            "is not a list of traces: [0]: causal: invalid type: string \"yes\", expected a boolean",
        ),
        (
            r#"[{"file": "NAME", "N": 6.5}]"#,
            "is not a list of traces: [0]: N: invalid type: floating point `6.5`, expected usize",
        ),
        (
            r#"[{"file": "NAME", "causal": true, "causal": false}]"#,
            "is not a list of traces: [0]: field `causal` is there twice; one is needed at line 1 column",
        ),
        (r#"[7]"#, "is not a list of traces: [0]: invalid type: integer `7`, expected struct Meta"),
    ] {
        let told = with(&meta.replace("NAME", name));
        assert!(
            told.starts_with(&format!("DIR/meta.json: {}", problem.replace("NAME", name))),
            "{meta}: {told}"
        );
    }
    let empty = tempfile::tempdir().unwrap();
    assert_eq!(
        error(empty.path()),
        "DIR: holds no traces; files <name>-q.npy, <name>-k.npy and <name>-v.npy are needed, or <name>.npz or \
         <name>.safetensors with q, k and v"
    );
    assert!(error(&empty.path().join("none")).starts_with("DIR: cannot be read: "));
    let partial = folder(None);
    fs::remove_file(partial.path().join("tiny_text-layer00-head01-v.npy")).unwrap();
    assert!(error(partial.path()).starts_with("DIR/tiny_text-layer00-head01-v.npy: cannot be read: "));
}

/// Heads one after another, `[heads, N, d]`.
fn stacked(folder: &Path, name: &str, heads: &[&Attention], kv: &[&Attention]) {
    let (a, d) = (heads[0], heads[0].d);
    let join = |heads: &[&Attention], of: fn(&Attention) -> &[f32]| -> Vec<f32> {
        heads.iter().flat_map(|head| of(head).to_vec()).collect()
    };
    for (role, count, rows, data) in [
        ("q", heads.len(), a.queries, join(heads, |a| &a.q)),
        ("k", kv.len(), a.keys, join(kv, |a| &a.k)),
        ("v", kv.len(), a.keys, join(kv, |a| &a.v)),
    ] {
        write_npy(&folder.join(format!("{name}-{role}.npy")), &[count, rows, d], &data).unwrap();
    }
}

#[test]
fn a_layer_is_several_heads() {
    let folder = tempfile::tempdir().unwrap();
    let all: Vec<Attention> = (0..4).map(|seed| attention_like(seed, 5, 6, 8)).collect();
    let all: Vec<&Attention> = all.iter().collect();
    stacked(folder.path(), "m-layer03", &all, &all);
    fs::write(folder.path().join("meta.json"), r#"[{"file": "m-layer03", "causal": true, "N": 6}]"#).unwrap();
    let traces = load_dir(folder.path()).unwrap();
    assert_eq!(traces.len(), 4);
    for (i, (trace, head)) in traces.iter().zip(&all).enumerate() {
        assert_eq!(trace.name, format!("m-layer03-head{i:02}"));
        assert_eq!((trace.layer(), trace.causal, &trace.attention), (Some(3), true, *head));
    }
    assert_eq!(list_dir(folder.path()).unwrap()[0].load().unwrap(), traces[0]);
    // Grouped queries: the first half of the heads has the first keys and values.
    stacked(folder.path(), "m-layer03", &all, &all[..2]);
    let grouped = load_dir(folder.path()).unwrap();
    for (i, (trace, head)) in grouped.iter().zip(&all).enumerate() {
        assert_eq!((&trace.attention.q, &trace.attention.k), (&head.q, &all[i / 2].k));
        assert_eq!(trace.attention.v, all[i / 2].v);
    }
    stacked(folder.path(), "m-layer03", &all, &all[..3]);
    assert_eq!(
        error(folder.path()),
        "DIR/m-layer03-q.npy: has 4 heads, but DIR/m-layer03-k.npy has 3; K and V need the same number, Q that number \
         or a multiple"
    );
    let mut spoilt = all[1].clone();
    spoilt.q[9] = f32::NAN;
    stacked(folder.path(), "m-layer03", &[all[0], &spoilt], &all[..2]);
    assert_eq!(
        error(folder.path()),
        "DIR/m-layer03-q.npy: head 1, row 1, column 1 is NaN; every element must be a finite float32"
    );
    write_npy(&folder.path().join("m-layer03-q.npy"), &[2, 1, 5, 8], &[0.0; 80]).unwrap();
    assert_eq!(
        error(folder.path()),
        "DIR/m-layer03-q.npy: has shape [2, 1, 5, 8]; [queries, d], [d], [heads, queries, d] or [1, heads, queries, d] is needed"
    );
}

#[test]
fn bundles_and_triples_are_read() {
    let folder = folder(None);
    let path = folder.path().join("big-layer12.npz");
    let heads = [attention_like(2, 3, 3, 4), attention_like(3, 3, 3, 4)];
    let mut archive = zip::ZipWriter::new(std::fs::File::create(&path).unwrap());
    for (name, of) in [("q", (|a| &a.q) as fn(&Attention) -> &Vec<f32>), ("k", |a| &a.k), ("v", |a| &a.v)] {
        let array = written(&[1, 2, 3, 4], heads.iter().flat_map(|head| of(head).iter().copied()));
        archive.start_file(format!("{name}.npy"), zip::write::SimpleFileOptions::default()).unwrap();
        archive.write_all(&array).unwrap();
    }
    archive.finish().unwrap();
    // A single head, and bfloat16.
    let header = br#"{"q":{"dtype":"BF16","shape":[1,2],"data_offsets":[0,4]},"k":{"dtype":"BF16","shape":[1,2],"data_offsets":[4,8]},"v":{"dtype":"BF16","shape":[1,2],"data_offsets":[8,12]}}"#;
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header);
    file.extend([0x3f80u16, 0xc000, 0x3f80, 0x4000, 0x4040, 0x4080].iter().flat_map(|x| x.to_le_bytes()));
    fs::write(folder.path().join("small.safetensors"), file).unwrap();
    let traces = load_dir(folder.path()).unwrap();
    let names: Vec<&str> = traces.iter().map(|trace| trace.name.as_str()).collect();
    assert_eq!(names, ["big-layer12-head00", "big-layer12-head01", "small", "tiny_text-layer00-head01"]);
    assert_eq!((&traces[0].attention, &traces[1].attention), (&heads[0], &heads[1]));
    assert_eq!((traces[0].layer(), traces[2].layer()), (Some(12), None));
    assert_eq!((&traces[2].attention.q, &traces[2].attention.v), (&vec![1.0, -2.0], &vec![3.0, 4.0]));
    fs::copy(&path, folder.path().join("small.npz")).unwrap();
    assert_eq!(error(folder.path()), "DIR: small is there as more than one kind of file; one is needed");
}

/// The results of a layer's head and of a head's own file would overwrite each other.
#[test]
fn two_heads_of_one_name_are_refused() {
    let head = attention_like(1, 6, 6, 8);
    let two = [&head, &head];
    for (alone, refused) in
        [("foo-head00", true), ("foo-head01", true), ("foo-head02", false), ("foo-head1", false)]
    {
        let folder = tempfile::tempdir().unwrap();
        stacked(folder.path(), "foo", &two, &two);
        head.write_npy(folder.path(), alone).unwrap();
        match refused {
            true => assert_eq!(
                error(folder.path()),
                format!(
                    "DIR: foo-q.npy and {alone}-q.npy both hold a head called {alone}; another name is needed for one of them"
                )
            ),
            false => assert_eq!(load_dir(folder.path()).unwrap().len(), 3),
        }
    }
    // A file of one head has its own name.
    let folder = tempfile::tempdir().unwrap();
    head.write_npy(folder.path(), "foo").unwrap();
    head.write_npy(folder.path(), "foo-head00").unwrap();
    assert_eq!(load_dir(folder.path()).unwrap().len(), 2);
}
