//! Reading bundles, and files of every kind that are damaged.

use crate::common::{good, npy, written};
use flashd_workload::Attention;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::fs;
use std::io::Write;
use std::path::Path;

/// An archive of `.npy` entries.
fn npz(path: &Path, entries: &[(&str, Vec<u8>)]) {
    let mut archive = zip::ZipWriter::new(std::fs::File::create(path).unwrap());
    for (name, bytes) in entries {
        archive.start_file(format!("{name}.npy"), zip::write::SimpleFileOptions::default()).unwrap();
        archive.write_all(bytes).unwrap();
    }
    archive.finish().unwrap();
}

fn floats(shape: &str, n: usize) -> Vec<u8> {
    let data: Vec<u8> = (0..n).flat_map(|i| (i as f32).to_le_bytes()).collect();
    npy("'<f4'", false, shape, &data)
}

#[test]
fn an_npz_file_is_one_head_in_either_case_of_letter() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("head.npz");
    npz(
        &path,
        &[("Q", floats("(4,)", 4)), ("k", floats("(3, 4)", 12)), ("V", floats("(3, 4)", 12)), ("x", vec![])],
    );
    let head = Attention::from_bundle(&path).unwrap();
    assert_eq!((head.d, head.queries, head.keys), (4, 1, 3));
    assert_eq!(head.key(2), [8.0, 9.0, 10.0, 11.0]);
    // As numpy.savez writes it: entries in any order, deflated or not.
    let array = |name| (name, written(&[3, 4], (0..12).map(|i| i as f64)));
    npz(&path, &["v", "k", "q"].map(array));
    assert_eq!(Attention::from_bundle(&path).unwrap().q, head.k);
}

#[test]
fn errors_of_bundles_name_the_entry() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("head.npz");
    let error = |entries: &[(&str, Vec<u8>)]| {
        npz(&path, entries);
        let error = Attention::from_bundle(&path).unwrap_err().to_string();
        error.replace(&path.display().to_string(), "head.npz")
    };
    let good = |name: &'static str| (name, floats("(3, 4)", 12));
    assert_eq!(
        error(&[good("q"), good("keys"), good("v")]),
        "head.npz: has no entry 'k'; it holds 'keys', 'q', 'v'"
    );
    assert_eq!(error(&[]), "head.npz: has no entry 'q'; it holds nothing");
    assert_eq!(
        error(&[good("q"), good("Q"), good("k"), good("v")]),
        "head.npz: has more than one entry 'q': 'Q', 'q'; one is needed"
    );
    assert_eq!(
        error(&[good("q"), ("K", floats("(3, 5)", 15)), good("v")]),
        "head.npz, entry 'K': has d = 5, but head.npz, entry 'q' has d = 4; Q and K need the same number of columns"
    );
    assert_eq!(
        error(&[("q", floats("(100000000000, 4)", 12)), good("k"), good("v")]),
        "head.npz, entry 'q': announces shape [100000000000, 4], 1600000000000 bytes, but holds 48 bytes of data; \
         it is damaged"
    );
    fs::write(&path, b"not a zip file at all").unwrap();
    let error = Attention::from_bundle(&path).unwrap_err().to_string();
    assert!(error.contains("head.npz: is not a readable .npz file: "), "{error}");
    let other = folder.path().join("head.pt");
    let error = Attention::from_bundle(&other).unwrap_err().to_string();
    assert_eq!(
        error,
        format!("{}: is neither a .npz nor a .safetensors file (judged by its name)", other.display())
    );
}

fn safetensors(entries: &[(&str, &str, &[usize], &[u8])]) -> Vec<u8> {
    let mut data = Vec::new();
    let mut header = serde_json::Map::new();
    for (name, dtype, shape, bytes) in entries {
        let offsets = [data.len(), data.len() + bytes.len()];
        header.insert(
            name.to_string(),
            serde_json::json!({"dtype": dtype, "shape": shape, "data_offsets": offsets}),
        );
        data.extend_from_slice(bytes);
    }
    let header = serde_json::Value::Object(header).to_string();
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.as_bytes());
    file.extend(data);
    file
}

#[test]
fn a_safetensors_file_is_one_head() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("head.safetensors");
    let single: Vec<u8> = [1.0f32, 2.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    let brain: Vec<u8> = [0x3f80u16, 0xc000].iter().flat_map(|x| x.to_le_bytes()).collect();
    let half: Vec<u8> = [0x3c00u16, 0xc000].iter().flat_map(|x| x.to_le_bytes()).collect();
    let (q, k, v) = (
        ("q", "F32", [2].as_slice(), single.as_slice()),
        ("K", "BF16", [1, 2].as_slice(), &brain[..]),
        ("v", "F16", [1, 2].as_slice(), &half[..]),
    );
    fs::write(&path, safetensors(&[q, k, v])).unwrap();
    let head = Attention::from_bundle(&path).unwrap();
    assert_eq!((head.q, head.k, head.v), (vec![1.0, 2.0], vec![1.0, -2.0], vec![1.0, -2.0]));
    let error = |entries: &[_]| {
        fs::write(&path, safetensors(entries)).unwrap();
        Attention::from_bundle(&path).unwrap_err().to_string().replace(&path.display().to_string(), "head")
    };
    assert_eq!(
        error(&[q, ("k", "I32", [1, 2].as_slice(), single.as_slice()), v]),
        "head, entry 'k': holds elements of type I32; these are read: F32, F16, F64, BF16, F8_E5M2, F8_E4M3"
    );
    assert_eq!(error(&[q, v]), "head: has no entry 'k'; it holds 'q', 'v'");
    assert!(
        error(&[("q", "F32", [3].as_slice(), single.as_slice()), k, v])
            .starts_with("head: is not a readable ")
    );
}

/// Cuts a file at every length and flips bytes at random: reading it may fail, but never panic.
fn survives(path: &Path, read: impl Fn() -> bool) {
    let bytes = fs::read(path).unwrap();
    assert!(read(), "the undamaged file is fine");
    for length in 0..bytes.len() {
        fs::write(path, &bytes[..length]).unwrap();
        assert!(!read(), "cut at {length}");
    }
    let mut random = ChaCha8Rng::seed_from_u64(1);
    for _ in 0..1000 {
        let mut damaged = bytes.clone();
        for _ in 0..=random.next_u32() % 3 {
            let at = random.next_u32() as usize % damaged.len();
            damaged[at] = random.next_u32() as u8;
        }
        fs::write(path, damaged).unwrap();
        read();
    }
}

#[test]
fn damaged_files_never_panic() {
    let (folder, [q, k, v]) = good();
    survives(&q, || Attention::from_npy(&q, &k, &v).is_ok());
    let path = folder.path().join("head.npz");
    npz(&path, &[("q", floats("(4,)", 4)), ("k", floats("(3, 4)", 12)), ("v", floats("(3, 4)", 12))]);
    survives(&path, || Attention::from_bundle(&path).is_ok());
    let path = folder.path().join("head.safetensors");
    let row = [0u8; 8];
    let entry = |name| (name, "F32", [1, 2].as_slice(), row.as_slice());
    fs::write(&path, safetensors(&[entry("q"), entry("k"), entry("v")])).unwrap();
    survives(&path, || Attention::from_bundle(&path).is_ok());
}
