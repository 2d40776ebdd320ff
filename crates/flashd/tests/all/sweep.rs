//! `flashd sweep` from outside: what shards give, whoever runs them and however often they are killed.

use crate::common::{refusal, root};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

fn flashd() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashd"));
    command.current_dir(root());
    command
}

fn sweep(args: &[&str]) -> Output {
    flashd().arg("sweep").args(args).output().unwrap()
}

/// What a command prints that must succeed.
fn succeeded(args: &[&str]) -> String {
    let out = sweep(args);
    assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A folder, and a sweep in it that was planned from a grid.
struct Planned {
    folder: tempfile::TempDir,
}

impl Planned {
    fn new(grid: &Value) -> Planned {
        let folder = tempfile::tempdir().unwrap();
        let planned = Planned { folder };
        std::fs::write(planned.grid(), grid.to_string()).unwrap();
        succeeded(&["plan", text(&planned.grid()), "--out", text(&planned.path())]);
        planned
    }

    fn grid(&self) -> PathBuf {
        self.folder.path().join("grid.json")
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("sweep")
    }

    fn shards(&self) -> Vec<Value> {
        let lines = std::fs::read_to_string(self.path().join("shards.jsonl")).unwrap();
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn run(&self, more: &[&str]) -> Output {
        sweep(&[&["run", text(&self.path()), "--threads", "1"], more].concat())
    }

    fn start(&self, more: &[&str]) -> std::process::Child {
        let mut command = flashd();
        command.args(["sweep", "run", text(&self.path()), "--threads", "1"]).args(more);
        command.stderr(Stdio::null()).spawn().unwrap()
    }

    fn merged(&self) -> String {
        succeeded(&["merge", text(&self.path())])
    }

    fn status(&self) -> Value {
        serde_json::from_str(&succeeded(&["status", text(&self.path()), "--json"])).unwrap()
    }
}

fn accuracy(seeds: u32) -> Value {
    json!([{
        "kind": "accuracy", "core": {"design": "fa2", "format": "bf16", "fa2": "separate-scale"}, "every": 256, "check": 0,
        "no_lengths": true, "synthetic": {"type": "int", "minmax": [1, seeds], "step": 1},
    }])
}

#[test]
fn killed_shards_and_two_workers_give_the_bytes_of_one_machine() {
    let grid = accuracy(12);
    let one = Planned::new(&grid);
    assert!(one.run(&[]).status.success());
    let expected = one.merged();
    // A result is what the command prints.
    let shard = &one.shards()[4];
    let words = shard["command"].as_array().unwrap().iter().map(|word| word.as_str().unwrap());
    let direct: Value = serde_json::from_slice(&flashd().args(words).output().unwrap().stdout).unwrap();
    let merged: Value = serde_json::from_str(&expected).unwrap();
    assert_eq!(merged["results"].as_array().unwrap().len(), 12);
    assert_eq!((&merged["results"][4]["result"], &shard["seed"]), (&direct, &json!("5")));

    let other = Planned::new(&grid);
    assert_eq!(one.shards(), other.shards());
    let seed = 1;
    println!("seed {seed}");
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut numbers: Vec<usize> = (0..12).collect();
    numbers.shuffle(&mut rng);
    for number in &numbers[..4] {
        let mut run = other.start(&[&number.to_string()]);
        std::thread::sleep(Duration::from_millis(rng.random_range(0..150)));
        // SIGKILL.
        run.kill().unwrap();
        run.wait().unwrap();
    }
    let mut workers = [other.start(&[]), other.start(&[])];
    assert!(workers.iter_mut().all(|worker| worker.wait().unwrap().success()));
    assert_eq!(other.merged(), expected);
    let status = other.status();
    assert_eq!((&status["done"], &status["failed"], &status["left"]), (&json!(12), &json!(0), &json!(0)));
    assert!(status["processor_hours"].as_f64().unwrap() > 0.0);
    assert_eq!(status["processor_hours_left"], 0.0);

    // What is there is not computed again.
    let changed = |sweep: &Planned| {
        let files = std::fs::read_dir(sweep.path().join("results")).unwrap();
        let mut times: Vec<_> = files.map(|f| f.unwrap().metadata().unwrap().modified().unwrap()).collect();
        times.sort();
        times
    };
    let before = changed(&other);
    assert!(other.run(&["3", "0-40"]).status.success());
    assert_eq!(changed(&other), before);
    // A plan of more takes what is there.
    let more = succeeded(&["plan", text(&other.grid()), "--out", text(&other.path())]);
    assert!(more.contains("12 shards (12 accuracy), 12 of them done"), "{more}");
}

#[test]
fn an_exploration_by_shards_is_that_of_explore() {
    let folder = tempfile::tempdir().unwrap();
    let cores = folder.path().join("cores.json");
    // More cores than a part has, and a reference that is none of them.
    let grid = json!([{"design": "flash-d", "update": "rounded", "accumulator": [
        "format", {"fraction": [9, 10, 11, 12]}]}]);
    std::fs::write(&cores, grid.to_string()).unwrap();
    let planned = Planned::new(&json!([{
        "kind": "explore", "errors_only": true, "grid": text(&cores), "format": "bf16", "every": 64, "max_error": 1,
    }]));
    assert_eq!(planned.shards().len(), 4);
    // The last ones first.
    for shard in ["3", "2", "0-1"] {
        let out = planned.run(&[shard]);
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    }
    let merged: Value = serde_json::from_str(&planned.merged()).unwrap();
    let mut explore = flashd();
    explore.args([
        "explore",
        "--errors-only",
        "--grid",
        text(&cores),
        "--format",
        "bf16",
        "--every",
        "64",
        "--json",
    ]);
    let out = explore.args(["--max-error", "1"]).output().unwrap();
    let expected: Value = serde_json::from_slice(&out.stdout).unwrap();
    assert!(!expected["formats"][0]["points"].as_array().unwrap().is_empty());
    assert_eq!(merged["explorations"], json!([expected]));
}

#[test]
fn failures_are_kept_with_their_messages_until_they_succeed() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("heads");
    std::fs::create_dir(&data).unwrap();
    let planned = Planned::new(&json!([
        {"kind": "skips", "data": text(&data), "every": 64},
        {"kind": "skips", "every": 64, "rules": "hold:6"},
    ]));
    let out = planned.run(&[]);
    assert_eq!(out.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&out.stderr).contains("1 of 2 shards failed"));
    let status = planned.status();
    assert_eq!((&status["done"], &status["failed"]), (&json!(1), &json!(1)));
    let message = status["failures"][0]["message"].as_str().unwrap();
    assert!(message.contains("holds no traces"), "{message}");
    assert!(succeeded(&["status", text(&planned.path())]).contains("holds no traces"));
    // A page of what is there.
    let page = folder.path().join("page.html");
    succeeded(&["report", text(&planned.path()), "--html", text(&page)]);
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(
        html.contains("1 of 2 shards are done, 1 failed, 0 are left") && html.contains("holds no traces")
    );
    assert!(html.contains("groups.0.rules.0.core.held"), "{html}");
    // Nothing is merged with something missing, unless that is asked for.
    let out = sweep(&["merge", text(&planned.path())]);
    assert!(String::from_utf8_lossy(&out.stderr).contains("1 of 2 shards have no result"));
    assert_eq!(out.status.code(), Some(1));
    let partial: Value =
        serde_json::from_str(&succeeded(&["merge", text(&planned.path()), "--partial"])).unwrap();
    assert_eq!((&partial["missing"], partial["results"].as_array().unwrap().len()), (&json!(1), 1));
    // Data that were not there when the sweep was planned are other data.
    for file in std::fs::read_dir(root().join("testbench/data")).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), data.join(file.file_name())).unwrap();
    }
    let message = refusal(planned.run(&[]), &["run"]);
    assert!(message.contains("other data"), "{message}");
    succeeded(&["plan", text(&planned.grid()), "--out", text(&planned.path())]);
    assert!(planned.run(&[]).status.success());
    let status = planned.status();
    assert_eq!((&status["done"], &status["failed"]), (&json!(2), &json!(0)));
}

/// A plan is taken only as it was written.
#[test]
fn a_plan_that_was_changed_is_refused() {
    let planned = Planned::new(&accuracy(3));
    let file = planned.path().join("shards.jsonl");
    let about = planned.path().join("sweep.json");
    let (whole, sealed) = (std::fs::read_to_string(&file).unwrap(), std::fs::read_to_string(&about).unwrap());
    let lines: Vec<&str> = whole.lines().collect();
    let first = |from: &str, to: &str| whole.replacen(from, to, 1);
    // Its hash computed anew, as by somebody who knows how.
    let rehashed = |command: Value| {
        let mut shard: Value = serde_json::from_str(lines[0]).unwrap();
        shard["command"] = command;
        let text = shard.to_string();
        lines[1..].iter().fold(text, |text, line| text + "\n" + line) + "\n"
    };
    for (text, problem) in [
        (first("--synthetic=1", "--synthetic=9"), "line 1: the hash "),
        (first("\"accuracy\",\"--json\"", "\"generate\",\"--json\""), "line 1: the hash "),
        (lines[..2].join("\n") + "\n", "2 shards, and 3 were planned"),
        (String::new(), "0 shards, and 3 were planned"),
        (whole[..whole.len() - 9].to_string(), "line 3: "),
        (whole.clone() + lines[0] + "\n", "4 shards, and 3 were planned"),
        ([lines[1], lines[0], lines[2], ""].join("\n"), "its digest is another one"),
        ([lines[0], lines[0], lines[2], ""].join("\n"), "its digest is another one"),
        (rehashed(json!(["sh", "-c", "true"])), "line 1: "),
    ] {
        std::fs::write(&file, &text).unwrap();
        for command in ["run", "merge", "status"] {
            let args = [command, text_of(&planned)];
            let message = refusal(sweep(&args), &args);
            assert!(
                message.contains(problem)
                    && message.contains("shards.jsonl")
                    && message.contains("plan the sweep"),
                "{message}"
            );
        }
    }
    std::fs::write(&file, &whole).unwrap();
    for text in [sealed.replace("256", "255"), String::new(), sealed[..sealed.len() - 3].to_string()] {
        std::fs::write(&about, &text).unwrap();
        let args = ["run", text_of(&planned)];
        let message = refusal(sweep(&args), &args);
        assert!(message.contains("sweep.json: is ") && message.contains("plan the sweep again"), "{message}");
    }
    std::fs::write(&about, &sealed).unwrap();
    assert!(planned.run(&[]).status.success());
}

fn text_of(planned: &Planned) -> &'static str {
    text(&planned.path()).to_string().leak()
}

/// Results that are cut off, empty, changed or another shard's are no results: a run computes them again, a merge names them.
#[test]
fn results_that_were_changed_are_computed_again() {
    let planned = Planned::new(&accuracy(2));
    assert!(planned.run(&[]).status.success());
    let expected = planned.merged();
    let file = |i: usize| {
        let hash = planned.shards()[i]["hash"].as_str().unwrap().to_string();
        planned.path().join("results").join(hash + ".json")
    };
    let (path, whole) = (file(0), std::fs::read_to_string(file(0)).unwrap());
    let damaged = [
        (String::new(), "is empty"),
        ("{}\n".into(), "is cut off"),
        (whole[..whole.len() / 2].to_string(), "is cut off"),
        (whole.replacen("wall_seconds\": ", "wall_seconds\": 9", 1), "was changed"),
        (std::fs::read_to_string(file(1)).unwrap(), "is the result of"),
    ];
    for (content, problem) in damaged {
        std::fs::write(&path, &content).unwrap();
        let args = ["merge", text_of(&planned)];
        let message = refusal(sweep(&args), &args);
        assert!(message.contains(text(&path)) && message.contains(problem), "{message}");
        let status = planned.status();
        assert_eq!((&status["done"], &status["left"]), (&json!(1), &json!(1)), "{status}");
        assert!(status["damaged"][0].as_str().unwrap().contains(problem), "{status}");
        let more = succeeded(&["plan", text(&planned.grid()), "--out", text(&planned.path())]);
        assert!(more.contains("2 shards (2 accuracy), 1 of them done"), "{more}");
        assert!(planned.run(&[]).status.success());
        assert_eq!(planned.merged(), expected);
    }
    std::fs::write(&path, b"\xff\xfe").unwrap();
    assert!(planned.run(&[]).status.success());
    assert_eq!(planned.merged(), expected);
}

#[test]
fn bad_grids_and_folders_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let grid = folder.path().join("grid.json");
    let out = folder.path().join("out");
    for (entry, part) in [
        (json!({"every": 1}), "entry 1: kind"),
        (json!({"kind": "dse"}), "dse is not one of accuracy, cosim"),
        (json!({"kind": "accuracy", "evry": 1}), "--evry"),
        (json!({"kind": "accuracy", "every": 0}), "--every"),
        (json!({"kind": "accuracy", "every": {"type": "int", "minmax": [1, 3]}}), "every: step: 0"),
        (json!({"kind": "accuracy", "core": {"design": "fa2", "colour": 1}}), "core: "),
        (json!({"kind": "accuracy", "core": {"design": "fa2", "d": 16}}), "core: d: each head has its own"),
        (json!({"kind": "accuracy", "core": "--design fa3"}), "fa3"),
        (json!({"kind": "accuracy", "data": "/nowhere"}), "/nowhere"),
        (json!({"kind": "skips", "core": "--design fa2"}), "core: skips takes none"),
        (json!({"kind": "skips", "svg": "x.svg"}), "svg: a shard writes its result"),
        (json!({"kind": "explore", "errors_only": true, "clock": 3}), "--clock"),
        (json!({"kind": "explore", "errors_only": true, "reference": "fa3"}), "fa3"),
    ] {
        std::fs::write(&grid, json!([entry]).to_string()).unwrap();
        let args = ["plan", text(&grid), "--out", text(&out)];
        let message = refusal(sweep(&args), &args);
        assert!(message.contains(part), "{entry}: {message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
    assert!(!out.exists());
    for args in [&["plan", "/nowhere.json"][..], &["run", text(&out)], &["status", "/nowhere"]] {
        let message = refusal(sweep(args), args);
        assert!(message.contains(args[1]), "{message}");
    }
    let planned = Planned::new(&accuracy(2));
    for shard in ["2", "1-0", "x", "-1"] {
        let message = refusal(planned.run(&["--", shard]), &[shard]);
        assert!(message.contains("is no shard"), "{message}");
    }
}

/// Tools and other executables have to be there: `cargo build --release --workspace --bins --examples`.
#[test]
#[ignore = "a minute or two, with xtask and the throughput example beside flashd"]
fn every_kind_of_shard_runs() {
    let folder = tempfile::tempdir().unwrap();
    let cores = folder.path().join("cores.json");
    let grid =
        json!([{"design": "fa2", "fa2": "shared-scale", "accumulator": [{"fraction": 6}, {"fraction": 7}]}]);
    std::fs::write(&cores, grid.to_string()).unwrap();
    let core = json!({"design": "fa2", "d": 2, "format": "fp8-e4m3"});
    let planned = Planned::new(&json!([
        {"kind": "accuracy", "every": 256, "check": 0, "no_lengths": true, "format": "bf16"},
        {"kind": "cosim", "core": core, "keys": 500, "engine_keys": 100},
        {"kind": "explore", "d": 2, "format": "fp8-e4m3", "clock": 40, "every": 256, "grid": text(&cores)},
        {"kind": "mutate", "selection": "--unit max --format fp8-e4m3", "count": 5},
        {"kind": "ppa", "core": core, "clock": [30, 40], "cycles": 0},
        {"kind": "skips", "every": 256, "rules": "hold:6"},
        {"kind": "throughput", "core": core, "queries": 4, "keys": 16, "repeats": 1, "window": 0.01, "engines": "vector,model"},
        {"kind": "units", "format": "fp8-e4m3"},
    ]));
    let out = planned.run(&[]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let merged: Value = serde_json::from_str(&planned.merged()).unwrap();
    let kinds: std::collections::BTreeSet<&str> =
        merged["results"].as_array().unwrap().iter().map(|entry| entry["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds.len(), 8);
    let speed = succeeded(&["merge", text(&planned.path()), "--measured"]);
    assert!(speed.contains("clock_seconds") && !merged.to_string().contains("clock_seconds"));
}
