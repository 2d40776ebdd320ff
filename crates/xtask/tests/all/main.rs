//! The program as it is called: exit codes, messages, and the commands of the documents.

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Exit code and standard error, with a program in place of flashd that does nothing.
fn xtask(arguments: &[&str]) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    let output = command.args(arguments).env("FLASHD", "/bin/false").output().unwrap();
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
    // The program that is checked fails.
    let (code, said) = xtask(&["generate", empty]);
    assert!(code == 1 && said.contains("selections are not generated"), "{code}: {said}");
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
