//! Emitted testbenches in Icarus Verilog: they pass, and they fail when vectors or design are wrong.

use std::fs;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

pub fn generate(flags: &str) -> (TempDir, String) {
    generate_comparing("inside", flags)
}

pub fn generate_comparing(what: &str, flags: &str) -> (TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let run = Command::new(env!("CARGO_BIN_EXE_flashd"))
        .args(["generate", "--testbench", what, "--out", folder.path().to_str().unwrap()])
        .args(flags.split_whitespace())
        .output()
        .unwrap();
    assert!(run.status.success(), "{flags}: {}", String::from_utf8_lossy(&run.stderr));
    let names = fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    let name = names.into_iter().find_map(|n| n.strip_suffix("_tb.v").map(String::from)).unwrap();
    (folder, name)
}

/// The last line that the testbench prints.
pub fn verdict(folder: &Path, name: &str) -> String {
    let compile = Command::new("iverilog")
        .current_dir(folder)
        .args(["-g2005", "-Wall", "-s", &format!("{name}_tb"), "-o", "tb.vvp"])
        .args([format!("{name}_tb.v"), format!("{name}.v")])
        .output()
        .expect("iverilog is installed by scripts/test");
    let said = String::from_utf8_lossy(&compile.stderr).into_owned();
    assert!(compile.status.success() && said.is_empty(), "{said}");
    let run = Command::new("vvp").current_dir(folder).args(["-n", "tb.vvp"]).output().unwrap();
    String::from_utf8_lossy(&run.stdout).lines().last().unwrap_or_default().to_string()
}

fn edit(folder: &Path, file: &str, change: impl Fn(&str) -> String) {
    let path = folder.join(file);
    let text = fs::read_to_string(&path).unwrap();
    let changed = change(&text);
    assert_ne!(text, changed, "{file}");
    fs::write(path, changed).unwrap();
}

fn passed(verdict: &str) -> u64 {
    let checks = verdict.strip_prefix("TEST PASSED: ").and_then(|v| v.strip_suffix(" checks"));
    checks.and_then(|n| n.parse().ok()).unwrap_or_else(|| panic!("{verdict}"))
}

#[test]
fn testbenches_of_every_kind_of_design_pass() {
    for flags in [
        "--design flash-d --d 4 --seed 7",
        "--design fa2 --d 3 --format fp8-e4m3 --masks --partial --keys 300",
        "--design flash-d --d 4 --format fp8-e4m3 --masks --partial --keys 300",
        "--design fa2 --d 4 --format fp8-e4m3 --masks --queries 3 --keys 200",
        "--design flash-d --weight paper --d 2 --queries 2 --keys 200",
        "--design fa2 --d 3 --format fp8-e4m3 --parts 2 --keys 200",
        "--design fa2 --d 3 --format int8 --parts 2 --keys 200",
        "--design fa2 --fa2 log-reference --d 3 --format fp8-e4m3 --masks --partial --keys 300",
        "--design flash-d --d 3 --format int8 --masks --partial --queries 2 --keys 200",
        "--design fa2 --fa2 log-reference --d 3 --format fp8-e4m3 --masks --partial --queries 2 --keys 200",
        "--unit sub --format fp8-e5m2",
        "--unit sigmoid --format fp8-e4m3",
    ] {
        let (folder, name) = generate(flags);
        assert!(passed(&verdict(folder.path(), &name)) > 200, "{flags}");
    }
}

/// Icarus finds the names of internal signals in the Verilog of every kind of datapath.
#[test]
fn a_core_of_each_design_is_compared_inside() {
    compared_inside(&["--design flash-d --d 3", "--design fa2 --d 3"]);
}

#[test]
#[ignore = "cargo xtask cosim runs every variant's testbench, which looks inside"]
fn every_variant_is_compared_inside() {
    let list =
        Command::new(env!("CARGO_BIN_EXE_flashd")).args(["list", "--variants", "--d", "3"]).output().unwrap();
    let list = String::from_utf8(list.stdout).unwrap();
    let variants: Vec<&str> = list.lines().filter(|flags| flags.contains("bf16")).collect();
    assert!(variants.len() > 9, "{list}");
    compared_inside(&variants);
}

/// Testbenches look inside the core unless they are asked not to, and then check less.
fn compared_inside(cores: &[&str]) {
    for flags in cores {
        let (folder, name) = generate(&format!("{flags} --keys 40"));
        let inside = passed(&verdict(folder.path(), &name));
        let testbench = fs::read_to_string(folder.path().join(format!("{name}_tb.v"))).unwrap();
        assert!(testbench.contains("inside_score = dut."), "{flags}");
        let (folder, name) = generate_comparing("ports", &format!("{flags} --keys 40"));
        assert!(inside > passed(&verdict(folder.path(), &name)), "{flags}");
    }
}

/// However few keys: a query is whole, and its result is compared.
#[test]
fn one_key_is_enough_for_a_testbench() {
    for flags in
        ["--design fa2 --d 4", "--design flash-d --d 127 --format fp8-e4m3", "--design fa2 --d 2 --queries 2"]
    {
        for seed in 1..=3 {
            let (folder, name) = generate(&format!("{flags} --keys 1 --seed {seed}"));
            passed(&verdict(folder.path(), &name));
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_files() {
    let read = |flags: &str| {
        let (folder, name) = generate(flags);
        fs::read_to_string(folder.path().join(format!("{name}_tb.vec"))).unwrap()
    };
    let flags = "--design fa2 --d 2 --format fp8-e4m3 --keys 100";
    assert_eq!(read(flags), read(flags));
    assert_ne!(read(flags), read(&format!("{flags} --seed 2")));
}

#[test]
fn a_wrong_design_fails_with_the_first_difference() {
    let (folder, name) = generate("--design flash-d --d 2 --format fp8-e4m3 --keys 200");
    // The largest finite number becomes another one, in the modules that saturate.
    edit(folder.path(), &format!("{name}.v"), |text| text.replacen("assign y = ", "assign y = ~", 1));
    let verdict = verdict(folder.path(), &name);
    assert!(verdict.starts_with("TEST FAILED: cycle ") && verdict.contains(": expected "), "{verdict}");
}

#[test]
fn wrong_vectors_fail() {
    let (folder, name) = generate_comparing("ports", "--design fa2 --d 2 --format fp8-e4m3 --keys 60");
    let vectors = format!("{name}_tb.vec");
    let good = fs::read_to_string(folder.path().join(&vectors)).unwrap();
    let with = |text: String| {
        fs::write(folder.path().join(&vectors), text).unwrap();
        verdict(folder.path(), &name)
    };
    // One wrong expected bit: o_saturated is the last digit; its line is one with a result.
    let lines: Vec<&str> = good.lines().collect();
    let result = lines.iter().position(|l| l.ends_with("100")).unwrap();
    let mut wrong: Vec<String> = lines.iter().map(|l| l.to_string()).collect();
    let end = wrong[result].len() - 1;
    wrong[result].replace_range(end.., "1");
    let cycle = result - 1;
    assert_eq!(
        with(wrong.join("\n") + "\n"),
        format!("TEST FAILED: cycle {cycle}: o_saturated: expected 1, got 0")
    );
    // Cut off: no end mark. Missing: the same. Without a result: no check counts.
    assert!(with(lines[..result].join("\n") + "\n").starts_with("TEST FAILED: no end mark"));
    fs::remove_file(folder.path().join(&vectors)).unwrap();
    assert!(verdict(folder.path(), &name).starts_with("TEST FAILED: no end mark"));
    let nothing = [lines[0], lines[1], lines[2], lines[lines.len() - 1]].join("\n") + "\n";
    assert_eq!(with(nothing), "TEST FAILED: no result was compared");
    assert!(passed(&with(good)) > 0);
}

fn refused(args: &[&str], path: Option<&str>) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashd"));
    command.args(args);
    if let Some(path) = path {
        command.env("PATH", path);
    }
    let out = command.output().unwrap();
    assert_eq!(out.status.code(), Some(2), "{args:?}");
    String::from_utf8(out.stderr).unwrap()
}

#[test]
fn cosim_names_missing_tools_and_cores() {
    let core = ["cosim", "--design", "fa2", "--d", "4"];
    let folder = tempfile::tempdir().unwrap();
    let text = refused(&core, folder.path().to_str());
    assert!(text.contains("verilator is not on the PATH"), "{text}");
    assert!(refused(&["cosim"], None).contains("no core: give"));
    let text = refused(&["cosim", "--core", "--design fa2 --d 1"], None);
    assert!(text.contains("--core \"--design fa2 --d 1\": ") && text.contains("outside 2 to 576"), "{text}");
    let text = refused(&["cosim", "--core", "--design fa2 --d 4", "--core", "--design fa2 --d 4"], None);
    assert!(text.contains("fa2_bf16_d4 is there twice"), "{text}");
}

/// The same file, compiled: its comments, Verilator's own included, must not stop it.
#[test]
fn the_testbench_runs_in_verilator() {
    let (folder, name) = generate("--design flash-d --d 3 --format fp8-e4m3 --masks --partial --keys 200");
    let build = Command::new("verilator")
        .current_dir(folder.path())
        .args(["--binary", "--timing", "--top-module", &format!("{name}_tb")])
        // The fastest to compile: the run takes a moment.
        .args(["-CFLAGS", "-O0", "-MAKEFLAGS", "OPT_FAST=-O0 OPT_GLOBAL=-O0 VM_PARALLEL_BUILDS=0"])
        .args([format!("{name}_tb.v"), format!("{name}.v")])
        .output()
        .expect("verilator is installed by scripts/test");
    assert!(build.status.success(), "{}", String::from_utf8_lossy(&build.stderr));
    let run = Command::new(folder.path().join(format!("obj_dir/V{name}_tb")))
        .current_dir(folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    let last = said.lines().rfind(|line| line.starts_with("TEST ")).unwrap_or_default();
    assert_eq!(passed(last), passed(&verdict(folder.path(), &name)));
}
