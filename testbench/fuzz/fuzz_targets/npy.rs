//! Q, K and V from one `.npy` file of any bytes: an error that names it, or tensors of one vector length.
#![no_main]

use flashd_workload::Attention;
use libfuzzer_sys::fuzz_target;
use std::fs;
use std::sync::LazyLock;
use tempfile::TempDir;

static FOLDER: LazyLock<TempDir> = LazyLock::new(|| TempDir::new().expect("a temporary folder"));

fuzz_target!(|bytes: &[u8]| {
    let path = FOLDER.path().join("head.npy");
    fs::write(&path, bytes).expect("a file");
    match Attention::heads_from_npy(&path, &path, &path) {
        Ok(heads) => flashd_fuzz::check(&heads),
        Err(e) => assert!(e.to_string().contains("head.npy"), "{e}"),
    }
});
