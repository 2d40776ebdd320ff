//! Memory of long contexts: bytes that `simulate` keeps for a key, in addition to the tensors of the files.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const D: usize = 64;

/// Writes a float32 tensor `[rows, D]` of random numbers, row by row.
fn write(path: &Path, rows: usize, seed: u32) {
    let mut file = BufWriter::new(File::create(path).unwrap());
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {D}), }}");
    let header = format!("{header:117}\n");
    file.write_all(b"\x93NUMPY\x01\x00").unwrap();
    file.write_all(&(header.len() as u16).to_le_bytes()).unwrap();
    file.write_all(header.as_bytes()).unwrap();
    let mut state = seed;
    for _ in 0..rows * D {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        file.write_all(&(state as i32 as f32 / i32::MAX as f32).to_le_bytes()).unwrap();
    }
}

/// The most memory, in bytes, of a run over `keys` keys, without the bytes of its inputs.
#[cfg(target_os = "linux")]
fn beyond_inputs(keys: usize, queries: usize, more: &[&str]) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let tensors = [("q", queries, 1), ("k", keys, 2), ("v", keys, 3)];
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashd"));
    command.args(["simulate", "--json"]).args(more);
    let mut inputs = 0;
    for (name, rows, seed) in tensors {
        let path = folder.path().join(format!("{name}.npy"));
        write(&path, rows, seed);
        inputs += path.metadata().unwrap().len();
        command.arg(format!("--{name}")).arg(path);
    }
    let mut child = command.stdout(Stdio::null()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    let ended = loop {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
        // A process that has ended has no memory.
        peak = peak.max(kilobytes.unwrap_or(0) * 1024);
        if let Some(ended) = child.try_wait().unwrap() {
            break ended;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    assert!(ended.success(), "{more:?}");
    peak as f64 - inputs as f64
}

/// Four times the keys need a few words more for each key, but not the steps, scores or encodings of all keys.
#[cfg(target_os = "linux")]
#[test]
fn memory_does_not_grow_with_the_keys() {
    // Both have more elements than are rounded once and kept.
    let (short, long) = (40_000, 160_000);
    for (queries, more) in [
        (4, &["--design", "flash-d", "--engine", "model"][..]),
        (4, &["--design", "fa2", "--engine", "model", "--format", "fp8-e4m3", "--tensor-scale", "none"]),
        (1, &["--design", "flash-d"]),
        (1, &["--design", "fa2"]),
        (2, &["--design", "flash-d", "--queries", "2"]),
        (1, &["--design", "flash-d", "--parts", "4"]),
    ] {
        let [less, most] = [short, long].map(|keys| beyond_inputs(keys, queries, more));
        let a_key = (most - less) / (long - short) as f64;
        // The tensors of a key are 512 bytes; its encodings would be 1024, the steps of a query 48.
        assert!(a_key < 200.0, "{more:?}: {a_key} bytes a key, {less} and {most} in all");
        assert!(most < 150e6, "{more:?}: {most} bytes");
    }
}
