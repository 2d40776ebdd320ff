//! The program from outside: its files, and its errors.

use crate::common::{data, refusal};
use std::path::Path;
use std::process::{Command, Output};

fn flashd(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_flashd")).args(args).output().unwrap()
}

/// Runs a command whose files do not depend on the command and its folder.
fn reproducible(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashd"));
    command.args(args).env("FLASHD_REPRODUCIBLE", "1").output().unwrap()
}

/// Runs a command that must fail with exit code 2 and one clear line.
fn refused(args: &[&str]) -> String {
    // Files of a command that wrongly succeeds do not stay in the repository.
    let folder = tempfile::tempdir().unwrap();
    refusal(
        Command::new(env!("CARGO_BIN_EXE_flashd")).args(args).current_dir(folder.path()).output().unwrap(),
        args,
    )
}

fn sample(flag: &str) -> String {
    data(&format!("bytes_math-d16-layer04-head03-{flag}.npy"))
}

#[test]
fn generate_writes_four_files_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let run = flashd(&["generate", "--design", "fa2", "--d", "16", "--format", "fp8-e4m3", "--out", out]);
    assert!(run.status.success());
    let mut names: Vec<String> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["f", "json", "sdc", "v"].map(|e| format!("fa2_fp8_e4m3_d16.{e}")));
}

#[test]
fn a_manifests_configuration_generates_the_same_core() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (folder.path().join("a"), folder.path().join("b"));
    let a_text = a.to_str().unwrap();
    assert!(
        flashd(&[
            "generate",
            "--design",
            "flash-d",
            "--update",
            "rounded",
            "--d",
            "5",
            "--accumulator",
            "12",
            "--hold",
            "9.5",
            "--out",
            a_text
        ])
        .status
        .success()
    );
    let name = "flash_d_rounded_hold9p5_acc12_bf16_d5";
    let manifest: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(a.join(format!("{name}.json"))).unwrap()).unwrap();
    let config = folder.path().join("config.json");
    std::fs::write(&config, manifest["configuration"].to_string()).unwrap();
    assert!(
        flashd(&["generate", "--config", config.to_str().unwrap(), "--out", b.to_str().unwrap()])
            .status
            .success()
    );
    let read = |p: &Path| std::fs::read_to_string(p.join(format!("{name}.v"))).unwrap();
    assert_eq!(read(&a), read(&b));
}

#[test]
fn simulate_reports_latency_and_errors() {
    let folder = tempfile::tempdir().unwrap();
    let o = folder.path().join("o.npy");
    let vcd = folder.path().join("wave.vcd");
    let run = flashd(&[
        "simulate",
        "--design",
        "flash-d",
        "--d",
        "16",
        "--format",
        "bf16",
        "--q",
        &sample("q"),
        "--k",
        &sample("k"),
        "--v",
        &sample("v"),
        "--causal",
        "--first-queries",
        "6",
        "--first-keys",
        "20",
        "--gaps",
        "3",
        "--json",
        "--o",
        o.to_str().unwrap(),
        "--vcd",
        vcd.to_str().unwrap(),
    ]);
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let report: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    assert_eq!(report["latency"], 8);
    assert_eq!(report["mismatches"], 0);
    // The first six queries of 128 have the positions of the first six keys of 128, however many of these are used.
    assert_eq!(report["counters"]["keys"], 1 + 2 + 3 + 4 + 5 + 6);
    assert!(report["accuracy"]["mean"].as_f64().unwrap() < 0.01);
    assert!(o.exists() && vcd.exists() && folder.path().join("wave.gtkw").exists());
}

#[test]
fn an_array_is_generated_and_its_manifest_generates_it_again() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (folder.path().join("a"), folder.path().join("b"));
    let text = |p: &Path| p.to_str().unwrap().to_string();
    let run =
        reproducible(&["generate", "--design", "fa2", "--d", "5", "--queries", "3", "--out", &text(&a)]);
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let name = "fa2_bf16_d5_x3";
    let manifest: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(a.join(format!("{name}.json"))).unwrap()).unwrap();
    assert_eq!(manifest["configuration"]["queries"], 3);
    let config = folder.path().join("config.json");
    std::fs::write(&config, manifest["configuration"].to_string()).unwrap();
    assert!(reproducible(&["generate", "--config", &text(&config), "--out", &text(&b)]).status.success());
    for ending in ["v", "json", "sdc", "f"] {
        let read = |p: &Path| std::fs::read_to_string(p.join(format!("{name}.{ending}"))).unwrap();
        assert_eq!(read(&a), read(&b));
    }
    // A command that takes a core reports it; another number on the command line counts.
    let refusal = refused(&["ppa", "--config", &text(&config)]);
    assert!(refusal.contains("an array of 3 cores, where a core is needed"), "{refusal}");
    let more = flashd(&["generate", "--config", &text(&config), "--queries", "4", "--out", &text(&b)]);
    assert!(more.status.success() && b.join("fa2_bf16_d5_x4.v").exists());
    std::fs::write(&config, manifest["configuration"].to_string().replace("\"queries\":3", "\"queries\":65"))
        .unwrap();
    assert!(
        refused(&["generate", "--config", &text(&config)])
            .contains("config.json: queries: 65 is outside 1 to 64")
    );
}

#[test]
fn simulate_reports_the_cycles_of_blocks() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let (q, k, v) = (sample("q"), sample("k"), sample("v"));
    let simulate = |more: &[&str]| {
        let mut args = vec!["simulate", "--design", "flash-d", "--q", &q, "--k", &k, "--v", &v, "--json"];
        args.extend(["--first-queries", "10", "--first-keys", "12"]);
        args.extend(more);
        let run = flashd(&args);
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        serde_json::from_slice::<serde_json::Value>(&run.stdout).unwrap()
    };
    let (o_array, o_core) = (path("array.npy"), path("core.npy"));
    let report = simulate(&["--queries", "4", "--vectors", &path("array.vec"), "--o", &o_array]);
    assert_eq!(report["name"], "flash_d_bf16_d16_x4");
    assert_eq!(report["counters"]["blocks"], 3);
    assert_eq!(report["counters"]["queries"], 10);
    assert_eq!(report["counters"]["keys"], 36);
    assert_eq!(report["cycles_per_block"], 12.0);
    assert_eq!(report["cycles_per_full_block"], 12);
    assert!(report["queries_per_value_read"].as_f64().unwrap() > 1.0);
    assert!(Path::new(&path("array.vec")).exists());
    // The core alone gives the same results.
    simulate(&["--o", &o_core]);
    assert_eq!(std::fs::read(o_array).unwrap(), std::fs::read(o_core).unwrap());
}

/// A row for each key that a core meets, whatever is made of the cores.
#[test]
fn runs_write_charts_of_the_pipeline() {
    let folder = tempfile::tempdir().unwrap();
    let (q, k, v) = (sample("q"), sample("k"), sample("v"));
    for around in [&[][..], &["--queries", "3"], &["--parts", "2"], &["--masks", "--partial", "--tile", "8"]]
    {
        for (name, begins, row) in
            [("chart.log", "Kanata\t0004\n", "\nI\t"), ("chart.html", "<!DOCTYPE html>", "\n[")]
        {
            let path = folder.path().join(name);
            let fixed = ["simulate", "--design", "flash-d", "--q", &q, "--k", &k, "--v", &v];
            let chart = ["--first-queries", "4", "--first-keys", "8", "--pipeline", path.to_str().unwrap()];
            let run = flashd(&[&fixed[..], around, &chart].concat());
            assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(text.starts_with(begins) && text.matches(row).count() == 4 * 8, "{around:?} {name}");
            std::fs::remove_file(&path).unwrap();
        }
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn blocks_are_refused_where_they_have_no_meaning() {
    let (q, k, v) = (sample("q"), sample("k"), sample("v"));
    for (more, words) in [
        (vec!["--queries", "0"], "--queries: 0 is outside 1 to 64"),
        (vec!["--queries", "65"], "--queries: 65 is outside 1 to 64"),
        (vec!["--queries", "4", "--causal"], "--causal: all queries of a block meet the same keys"),
        (vec!["--queries", "4", "--pipeline", "p.txt"], "--pipeline: p.txt: not a name for a pipeline chart"),
        (vec!["--pipeline", "p.log", "--from", "9", "--to", "8"], "--from, --to: the window ends in cycle 8"),
        (vec!["--pipeline", "p.log", "--from", "1000000"], "--from, --to: no key was taken"),
        (vec!["--pipeline", "p.log", "--signals", "all"], "--signals: means nothing without --vcd or --fst"),
        (vec!["--queries", "4", "--fst", "wave.vcd"], "--fst: wave.vcd: not a name for a wave file"),
    ] {
        let mut args = vec!["simulate", "--design", "fa2", "--q", &q, "--k", &k, "--v", &v];
        args.extend(more);
        assert!(refused(&args).contains(words), "{args:?}");
    }
    assert!(
        refused(&["generate", "--design", "fa2", "--d", "16", "--queries", "0"]).contains("outside 1 to 64")
    );
}

#[test]
fn bad_selections_are_refused() {
    assert_eq!(
        refused(&["generate", "--d", "16"]),
        "error: --design is missing: flash-d or fa2 (or --config FILE)\n"
    );
    assert_eq!(
        refused(&["generate", "--design", "fa2"]),
        "error: --d is missing: a vector length, 2 to 576\n"
    );
    assert_eq!(
        refused(&["generate", "--design", "fa2", "--d", "577"]),
        "error: --d: 577 is outside 2 to 576\n"
    );
    assert_eq!(
        refused(&["generate", "--design", "fa2", "--fa2", "literal", "--d", "16", "--hold", "12"]),
        "error: --hold: literal has no hold rule; leave it out (with --fa2 literal)\n"
    );
    assert_eq!(
        refused(&["generate", "--design", "fa2", "--d", "16", "--hold", "static"]),
        "error: --hold: fa2 takes a threshold T or none\n"
    );
    assert!(
        refused(&[
            "generate", "--design", "flash-d", "--update", "rounded", "--d", "16", "--lane", "18,11,7"
        ])
        .contains("--lane: only fixed-point lanes have these widths")
    );
    assert!(
        refused(&["generate", "--design", "flash-d", "--update", "fixed", "--d", "16", "--lane", "18,11"])
            .contains("not three widths")
    );
    assert!(refused(&["ppa", "--variants"]).contains("--d is missing"));
    assert!(refused(&["ppa", "--d", "20"]).contains("no shipped core"));
    assert!(refused(&["ppa", "--d", "16", "--clock", "0"]).contains("--clock"));
    assert!(
        refused(&["generate", "--design", "fa2", "--d", "16", "--format", "bf17"])
            .contains("known formats are bf16")
    );
    assert!(refused(&["generate", "--unit", "divide"]).contains("known units are add, sub"));
    assert!(
        refused(&["generate", "--design", "fa2", "--d", "16", "--segments", "5"]).contains("4, 8, 16, 32")
    );
}

#[test]
fn bad_files_are_refused_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let (q, k, v) = (sample("q"), sample("k"), sample("v"));
    let o = path("o.npy");
    let simulate = |q: &str, k: &str, v: &str, more: &[&str]| {
        let mut args = vec!["simulate", "--design", "fa2", "--q", q, "--k", k, "--v", v];
        args.extend(more);
        refused(&args)
    };
    assert!(simulate(&path("none.npy"), &k, &v, &[]).contains("none.npy"));
    std::fs::write(path("text.npy"), "hello").unwrap();
    assert!(simulate(&path("text.npy"), &k, &v, &[]).contains("text.npy"));
    let other = data("bytes_math-d64-layer02-head02-k.npy");
    assert!(simulate(&q, &other, &v, &[]).contains("d64"));
    let text = simulate(&q, &k, &v, &["--d", "64", "--o", &o]);
    assert!(text.contains("d = 64") && text.contains("d = 16"), "{text}");
    assert!(simulate(&q, &k, &v, &["--scale", "0"]).contains("--scale"));
    assert!(
        simulate(&q, &k, &v, &["--first-queries", "0"]).contains("--first-queries: 0 is outside 1 to 128")
    );
    assert!(simulate(&q, &k, &v, &["--o", &path("missing/o.npy")]).contains("--o"));
    assert!(
        simulate(&q, &k, &v, &["--vcd", &path("w.vcd"), "--signals", "nonsense*"])
            .starts_with("error: --signals: no signal")
    );
    assert!(!Path::new(&o).exists() && !Path::new(&path("w.vcd")).exists());
    std::fs::write(path("c.json"), "{\"design\": \"fa2\", \"d\": 16, \"format\": \"bf16\", \"colour\": 1}")
        .unwrap();
    assert!(refused(&["generate", "--config", &path("c.json")]).contains("colour"));
    let file = path("file");
    std::fs::write(&file, "").unwrap();
    assert!(
        refused(&["generate", "--design", "fa2", "--d", "16", "--out", &file]).contains("cannot be written")
    );
}

#[test]
fn list_and_pwl_speak_json() {
    let list: serde_json::Value = serde_json::from_slice(&flashd(&["list", "--json"]).stdout).unwrap();
    assert_eq!(list["configurations"].as_array().unwrap().len(), 24);
    let folder = tempfile::tempdir().unwrap();
    let out = flashd(&["pwl", "--json", "--out", folder.path().to_str().unwrap()]);
    let tables: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    // One for each tabulated function.
    let functions = flashd_spec::pwl::Function::ALL.len();
    assert_eq!(tables.as_array().unwrap().len(), functions);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), functions);
}
