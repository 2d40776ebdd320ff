//! The program as it is called: exit codes, messages, and the commands of the documents.

mod random;

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Exit code and standard error.
fn xtask(arguments: &[&str]) -> (i32, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask")).args(arguments).output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn bad_input_is_told_from_a_failed_check() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().to_str().unwrap();
    for (arguments, message) in [
        (&["same", empty, empty][..], "are empty"),
        (&["emit", "--flashd", "/bin/false", "--out", empty], "it is there already"),
        (&["emit", "--flashd", "no-flashd", "--out", "no-folder"], "--flashd no-flashd: No such file"),
        (&["sample", empty, empty], "no manifest of a core"),
        (&["equivalent", empty, empty], "no combinational module that both have"),
        (&["mutate", "--seconds", "0"], "--seconds"),
        (&["mutate", "--design", "fa2"], "--design"),
        (&["prove-axis", "--depth", "none"], "--depth"),
        (&["units", "--format", "fp32"], "only formats of up to 16 bits"),
        (&["units", "--count", "5"], "--pairs"),
        (&["check-random", "--longest", "1"], "--longest"),
        (&["prove-fault", "a", "b", "-mode inv", "later", "1", "f"], "late0 to late9"),
        (&["prove-fault", "a", "b", "-mode inv", "step", "1", "f"], "a: No such file"),
        (&["cosim", "--only", "nothing"], "no design has this in its name"),
        (&["axis", "--only", "nothing"], "no wrapper has this in its name"),
        // Nothing of it is checked without --long.
        (&["axis", "--only", "flash_d_masked_bf16"], "--long has more wrappers"),
    ] {
        let (code, said) = xtask(arguments);
        assert!(code == 2 && said.contains(message), "{arguments:?}: {code}: {said}");
    }
    std::fs::create_dir(folder.path().join("old")).unwrap();
    std::fs::create_dir(folder.path().join("new")).unwrap();
    for (name, text) in [("old", "module a;\nwire b;\n"), ("new", "module a;\nwire c;\n")] {
        std::fs::write(folder.path().join(name).join("a.v"), text).unwrap();
    }
    let folders = ["old", "new"].map(|name| format!("{empty}/{name}"));
    let (code, said) = xtask(&["same", &folders[0], &folders[1]]);
    assert!(code == 1 && said.contains("1 files differ"), "{code}: {said}");
    assert_eq!(xtask(&["same", &folders[0], &folders[1], "--without", "wire"]).0, 0);
}

/// The rest of a text after each `cargo xtask`, up to the end of the line or of the quotation.
fn commands(text: &str) -> impl Iterator<Item = &str> {
    text.split("cargo xtask ").skip(1).map(|rest| rest.split(['`', '\n']).next().unwrap_or(rest))
}

#[test]
fn the_commands_of_the_documents_are_known() {
    let mut known = 0;
    for document in [
        "docs/develop/architecture.md",
        "docs/guide/verify.md",
        "docs/reference/wrapper.md",
        "testbench/README.md",
        "testbench/axis/README.md",
    ] {
        let text = std::fs::read_to_string(root().join(document)).unwrap();
        for line in commands(&text) {
            let name = line.split_whitespace().next().unwrap_or_default();
            if name.starts_with('-') {
                continue;
            }
            // Without its operands: help comes before anything is done.
            let options = line.split_whitespace().skip(1).take_while(|word| word.starts_with("--"));
            let mut arguments: Vec<&str> = vec![name, "--help"];
            arguments.extend(options.filter(|_| name != "prove"));
            let (code, said) = xtask(&arguments);
            assert!(code == 0, "{document}: cargo xtask {line}: {said}");
            known += 1;
        }
    }
    assert!(known >= 8, "{known}");
}

/// The checked-in reference agrees with the tables.
#[test]
fn the_reference_is_as_written() {
    let folder = tempfile::tempdir().unwrap();
    let pages = root().join("docs/reference");
    let mut written = 0;
    for entry in std::fs::read_dir(&pages).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
        let text = std::fs::read_to_string(path).unwrap();
        written += text.matches("<!-- written by `cargo xtask reference`: ").count();
    }
    assert_eq!(written, 9);
    let output = Command::new(env!("CARGO_BIN_EXE_xtask")).arg("reference").arg(folder.path()).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let changed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(changed.trim(), "", "run `cargo xtask reference docs/reference`");
}
