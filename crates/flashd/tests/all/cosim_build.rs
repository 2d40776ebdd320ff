//! Compiled simulators that are kept: with tools that are scripts, so that it takes no time and fails when it should.

#![cfg(unix)]

use crate::common::printed_json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const VERILATOR: &str = r#"#!/bin/sh
if [ "$1" = --version ]; then echo "Verilator 5.${MINOR:-1}"; exit; fi
mkdir obj
"#;
const MAKE: &str = r#"#!/bin/sh
if [ "$1" = --version ]; then echo "make 1"; exit; fi
if [ -n "$SLOW" ]; then sleep 1; exit 1; fi
cat > obj/Vdesign <<'END'
#!/bin/sh
# Up to the end mark.
while read -r line; do case $line in *[!f]*) ;; *) break ;; esac; done
echo "TEST PASSED: 7 checks"
END
chmod +x obj/Vdesign
"#;
const COMPILER: &str = "#!/bin/sh\necho 'g++ 1'\n";

struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    fn new() -> Bench {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("bin");
        fs::create_dir(&bin).unwrap();
        for (name, text) in [("verilator", VERILATOR), ("make", MAKE), ("g++", COMPILER)] {
            fs::write(bin.join(name), text).unwrap();
            fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        Bench { folder }
    }

    fn build(&self) -> PathBuf {
        self.folder.path().join("build")
    }

    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_flashd"));
        command.args([
            "cosim",
            "--design",
            "flash-d",
            "--d",
            "4",
            "--keys",
            "20",
            "--engine-keys",
            "20",
            "--json",
        ]);
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}/bin:{path}", self.folder.path().display()));
        command.arg("--build").arg(self.build());
        command
    }

    /// Whether a run that has to succeed compiled anything.
    fn compiles(&self, minor: &str) -> bool {
        let rows = printed_json(self.command().env("MINOR", minor).output().unwrap());
        assert_eq!(rows[0]["checks"], 7);
        !rows[0]["compile_seconds"].is_null()
    }

    /// Everything called so.
    fn find(&self, name: &str) -> Vec<PathBuf> {
        fn walk(folder: &Path, name: &str, found: &mut Vec<PathBuf>) {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    walk(&path, name, found);
                }
                if path.file_name().is_some_and(|n| n == name) {
                    found.push(path);
                }
            }
        }
        let mut found = Vec::new();
        walk(&self.build(), name, &mut found);
        found
    }
}

#[test]
fn a_simulator_is_used_again_if_it_is_whole_and_of_the_same_tools() {
    let bench = Bench::new();
    assert!(bench.compiles("1"));
    assert!(!bench.compiles("1"));
    // As a removal that was interrupted leaves it.
    let [simulator] = &bench.find("Vdesign")[..] else { panic!("one simulator is needed") };
    fs::remove_file(simulator).unwrap();
    assert!(bench.compiles("1"));
    // Another Verilator: compiled again, and the old simulator goes.
    assert!(bench.compiles("2"));
    assert_eq!(bench.find("Vdesign").len(), 1);
    assert!(!bench.compiles("2"));
}

/// make cannot build in a folder with blanks in its name; a script here is as strict.
#[test]
fn a_folder_may_have_any_name() {
    let bench = Bench::new();
    let make = bench.folder.path().join("bin/make");
    let strict = "#!/bin/sh\ncase $PWD in *' '*) echo blanks; exit 2;; esac\n";
    fs::write(&make, MAKE.replace("#!/bin/sh\n", strict)).unwrap();
    for folder in ["a b", "relative/c \u{e4}", "-dash", "d$e'\"f"] {
        let command = bench.command();
        let words: Vec<_> = command.get_args().map(std::ffi::OsStr::to_owned).collect();
        let at = words.len() - 1;
        let mut again = Command::new(command.get_program());
        again.args(&words[..at - 1]).arg(format!("--build={folder}")).current_dir(bench.folder.path());
        let path = std::env::var("PATH").unwrap_or_default();
        again.env("PATH", format!("{}/bin:{path}", bench.folder.path().display()));
        let rows = printed_json(again.output().unwrap());
        assert!(!rows[0]["compile_seconds"].is_null(), "{folder}");
        let rows = printed_json(again.output().unwrap());
        assert!(rows[0]["compile_seconds"].is_null(), "{folder}");
    }
}

/// A simulator that was cut off or changed is compiled again.
#[test]
fn a_damaged_simulator_is_compiled_again() {
    let bench = Bench::new();
    assert!(bench.compiles("1") && !bench.compiles("1"));
    let path = bench.find("Vdesign")[0].clone();
    let whole = fs::read(&path).unwrap();
    for bytes in [&whole[..whole.len() / 2], b"", b"#!/bin/sh\necho 'TEST PASSED: 7 checks'\n"] {
        fs::write(&path, bytes).unwrap();
        assert!(bench.compiles("1") && !bench.compiles("1"));
        assert!(fs::read(&path).unwrap() == whole);
    }
}

#[test]
fn a_compilation_that_is_killed_leaves_nothing_that_is_used() {
    let bench = Bench::new();
    let mut run = bench.command().env("SLOW", "1").stdout(Stdio::null()).spawn().unwrap();
    while bench.find("obj").is_empty() {
        std::thread::sleep(Duration::from_millis(5));
    }
    run.kill().unwrap();
    run.wait().unwrap();
    assert!(bench.find("Vdesign").is_empty());
    assert!(bench.compiles("1"));
    let left: Vec<_> = fs::read_dir(bench.build()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    let left: Vec<_> = left.iter().filter(|name| !name.to_string_lossy().starts_with("runtime-")).collect();
    assert_eq!(left.len(), 1, "{left:?}");
}
