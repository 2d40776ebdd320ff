//! Output and exit codes of the program, whatever the command; paths of its data.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Output;

/// The repository, to which the default data folder is relative.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A file of the sample data.
pub fn data(name: &str) -> String {
    format!("{}/../../testbench/data/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// The message of a command that must have failed with exit code 2, without a panic and without any other output.
pub fn refusal(out: Output, args: &[&str]) -> String {
    let text = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(2), "{args:?}: {text}");
    assert!(out.stdout.is_empty() && !text.contains("panicked"), "{args:?}: {text}");
    text
}

/// The JSON that a command must have printed, and nothing else.
pub fn printed_json(out: Output) -> Value {
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    // The bar is for terminals.
    assert!(out.stderr.is_empty());
    serde_json::from_slice(&out.stdout).unwrap()
}

/// The words of a command, as far as quotes go.
pub fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for c in line.chars() {
        match (c, quote) {
            ('\'' | '"', None) => quote = Some(c),
            (c, Some(q)) if c == q => quote = None,
            (' ', None) => words.push(String::new()),
            _ => words.last_mut().unwrap().push(c),
        }
    }
    words.retain(|w| !w.is_empty());
    words
}
