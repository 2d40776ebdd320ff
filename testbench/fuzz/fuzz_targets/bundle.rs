//! Q, K and V from a `.npz` or `.safetensors` file of any bytes: an error that names the file, or tensors of one vector length.
#![no_main]

use flashd_workload::Attention;
use libfuzzer_sys::fuzz_target;
use std::fs;
use std::sync::LazyLock;
use tempfile::TempDir;

static FOLDER: LazyLock<TempDir> = LazyLock::new(|| TempDir::new().expect("a temporary folder"));

fuzz_target!(|bytes: &[u8]| {
    // The first bytes decide the format.
    let name = if bytes.starts_with(b"PK") { "head.npz" } else { "head.safetensors" };
    let path = FOLDER.path().join(name);
    fs::write(&path, bytes).expect("a file");
    match Attention::heads_from_bundle(&path) {
        Ok(heads) => flashd_fuzz::check(&heads),
        Err(e) => assert!(e.to_string().contains(name), "{e}"),
    }
});
