//! Asks git for the revision of the sources.
//!
//! It runs again after a commit, a checkout or a change to sources of the program, and not for tests or documents. What depends on this
//! package is compiled again then: only the command line and the bindings do.

use std::path::Path;
use std::process::Command;

/// What a program is made of, in the repository.
const SOURCES: [&str; 6] =
    ["Cargo.toml", "Cargo.lock", "crates/*/src", "crates/*/Cargo.toml", "python/src", "testbench/verilator"];
/// Set while compiling, it stands for the revision: a packed source tree has no git.
const OVERRIDE: &str = "FLASHD_REVISION";

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim_end().to_string())
}

/// Has Cargo look at a file or folder; one that is missing would run this script every time.
fn watch(path: &str) {
    if Path::new(path).exists() {
        println!("cargo::rerun-if-changed={path}");
    }
}

fn revision() -> Option<String> {
    // In a folder of somebody else's repository, that one's revision says nothing.
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    let revision = git(&["rev-parse", "--short=10", "HEAD"])?;
    for file in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", file]) {
            watch(&path);
        }
    }
    let sources =
        SOURCES.map(|path| format!(":(top,glob){path}{}", if path.ends_with("src") { "/**" } else { "" }));
    let mut status = vec!["status", "--porcelain", "--"];
    status.extend(sources.iter().map(String::as_str));
    let dirty = git(&status)?;
    Some(revision + if dirty.is_empty() { "" } else { "-dirty" })
}

fn main() {
    println!("cargo::rerun-if-env-changed={OVERRIDE}");
    println!("cargo::rerun-if-changed=build.rs");
    let root = "../..";
    for file in ["Cargo.toml", "Cargo.lock", "python/src", "testbench/verilator"] {
        watch(&format!("{root}/{file}"));
    }
    for member in std::fs::read_dir(format!("{root}/crates")).into_iter().flatten().flatten() {
        watch(&member.path().join("src").display().to_string());
        watch(&member.path().join("Cargo.toml").display().to_string());
    }
    let given = std::env::var(OVERRIDE).ok().filter(|text| !text.trim().is_empty());
    let revision = given.or_else(revision).unwrap_or_else(|| "unknown".into());
    println!("cargo::rustc-env=FLASHD_REVISION_OF_SOURCES={}", revision.replace(['\n', '\r'], " "));
}
