//! `flashd sweep` from outside: what shards give, whoever runs them and however often they are killed.

use crate::common::{refusal, root};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
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

/// A sweep that was planned from a grid.
struct Planned {
    _folder: tempfile::TempDir,
    grid: String,
    path: String,
}

impl Planned {
    fn new(grid: &Value) -> Planned {
        let folder = tempfile::tempdir().unwrap();
        let [file, path] = ["grid.json", "sweep"].map(|name| text(&folder.path().join(name)).to_string());
        std::fs::write(&file, grid.to_string()).unwrap();
        let planned = Planned { _folder: folder, grid: file, path };
        planned.again();
        planned
    }

    fn again(&self) -> String {
        succeeded(&["plan", &self.grid, "--out", &self.path])
    }

    fn plan(&self) -> PathBuf {
        Path::new(&self.path).join("sweep.json")
    }

    fn shards(&self) -> Vec<Value> {
        let plan = std::fs::read_to_string(self.plan()).unwrap();
        serde_json::from_str::<Value>(&plan).unwrap()["shards"].as_array().unwrap().clone()
    }

    fn start(&self, shard: usize) -> Child {
        let mut command = flashd();
        command.args(["sweep", "run", &self.path, "--shard", &shard.to_string()]);
        command.env("RAYON_NUM_THREADS", "1").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    fn run(&self, shard: usize) -> Output {
        self.start(shard).wait_with_output().unwrap()
    }

    fn run_all(&self) {
        for shard in 0..self.shards().len() {
            let out = self.run(shard);
            assert!(out.status.success(), "{shard}: {}", String::from_utf8_lossy(&out.stderr));
        }
    }

    fn merged(&self) -> String {
        succeeded(&["merge", &self.path])
    }

    /// The message of a merge or a run that is refused.
    fn refused(&self, words: &[&str]) -> String {
        let args = [&words[..1], &[self.path.as_str()], &words[1..]].concat();
        refusal(sweep(&args), &args)
    }

    fn result(&self, shard: usize) -> PathBuf {
        let hash = self.shards()[shard]["hash"].as_str().unwrap().to_string();
        Path::new(&self.path).join("results").join(hash + ".json")
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
    one.run_all();
    let expected = one.merged();
    // A result is the command's output.
    let shard = &one.shards()[4];
    let words = shard["command"].as_array().unwrap().iter().map(|word| word.as_str().unwrap());
    let direct: Value = serde_json::from_slice(&flashd().args(words).output().unwrap().stdout).unwrap();
    let merged: Value = serde_json::from_str(&expected).unwrap();
    assert_eq!(merged["results"].as_array().unwrap().len(), 12);
    assert_eq!(merged["results"][4]["result"], direct);

    let other = Planned::new(&grid);
    assert_eq!(one.shards(), other.shards());
    let seed = 1;
    println!("seed {seed}");
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut numbers: Vec<usize> = (0..12).collect();
    numbers.shuffle(&mut rng);
    for &number in &numbers[..4] {
        let mut run = other.start(number);
        std::thread::sleep(Duration::from_millis(rng.random_range(0..150)));
        // SIGKILL.
        run.kill().unwrap();
        run.wait().unwrap();
    }
    std::thread::scope(|scope| {
        [(); 2].map(|()| scope.spawn(|| other.run_all())).map(|run| run.join().unwrap())
    });
    assert_eq!(other.merged(), expected);

    // Results are not computed again, and count for a plan.
    let changed = |shard: usize| other.result(shard).metadata().unwrap().modified().unwrap();
    let before: Vec<_> = (0..12).map(changed).collect();
    other.run_all();
    assert_eq!((0..12).map(changed).collect::<Vec<_>>(), before);
    let planned = other.again();
    assert!(planned.contains("12 shards (12 accuracy), 12 of them done"), "{planned}");
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
    for shard in [3, 2, 0, 1] {
        let out = planned.run(shard);
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
fn a_shard_that_fails_leaves_no_result() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("heads");
    std::fs::create_dir(&data).unwrap();
    let planned = Planned::new(&json!([
        {"kind": "skips", "data": text(&data), "every": 64},
        {"kind": "skips", "every": 64, "rules": "hold:6"},
    ]));
    let out = planned.run(0);
    let message = String::from_utf8_lossy(&out.stderr);
    assert!(
        message.contains("holds no traces") && message.contains("shard 0: skips: exit status: 2"),
        "{message}"
    );
    assert_eq!(out.status.code(), Some(1));
    assert!(planned.run(1).status.success());
    assert!(!planned.result(0).exists() && planned.result(1).exists());
    // Nothing is merged with something missing, unless that is asked for.
    let out = sweep(&["merge", &planned.path]);
    let message = String::from_utf8_lossy(&out.stderr);
    assert!(
        message.contains("1 of 2 shards have no result") && message.contains("sweep --shard 0"),
        "{message}"
    );
    assert_eq!(out.status.code(), Some(1));
    let partial: Value = serde_json::from_str(&succeeded(&["merge", &planned.path, "--partial"])).unwrap();
    assert_eq!((&partial["missing"], partial["results"].as_array().unwrap().len()), (&json!(1), 1));
    // Data that were not there when the sweep was planned are other data.
    for file in std::fs::read_dir(root().join("testbench/data")).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), data.join(file.file_name())).unwrap();
    }
    let message = planned.refused(&["run", "--shard", "0"]);
    assert!(message.contains("not be that of the plan: data: "), "{message}");
    planned.again();
    planned.run_all();
    planned.merged();
}

/// Two plans and two builds of the program do not mix.
#[test]
fn a_plan_that_was_changed_is_refused() {
    let planned = Planned::new(&accuracy(3));
    let file = planned.plan();
    let whole = std::fs::read_to_string(&file).unwrap();
    let program = planned.shards()[0]["inputs"]["program"].as_str().unwrap().to_string();
    for text in [
        whole.replacen("--synthetic=1", "--synthetic=9", 1),
        whole.replacen("\"accuracy\",", "\"generate\",", 1),
        whole.replace(&program, &program.replace('1', "2")),
        whole[..whole.len() - 3].to_string(),
        "{}".into(),
        String::new(),
    ] {
        std::fs::write(&file, &text).unwrap();
        for words in [&["run", "--shard", "0"][..], &["merge"]] {
            let message = planned.refused(words);
            assert!(
                message.contains("sweep.json: is ") && message.contains("plan the sweep again"),
                "{message}"
            );
        }
    }
    // Whole, but of another build.
    let other = file.with_file_name("other");
    std::fs::copy(env!("CARGO_BIN_EXE_flashd"), &other).unwrap();
    std::fs::OpenOptions::new().append(true).open(&other).unwrap().write_all(b"x").unwrap();
    std::fs::write(&file, &whole).unwrap();
    let out = Command::new(&other).args(["sweep", "run", &planned.path, "--shard", "0"]).output().unwrap();
    let message = refusal(out, &["other"]);
    assert!(message.contains("not be that of the plan: program: "), "{message}");
    planned.run_all();
}

/// Results that are cut off, empty, changed or another shard's are no results: a run computes them again, a merge names them, a plan removes
/// them.
#[test]
fn results_that_were_changed_are_computed_again() {
    let planned = Planned::new(&accuracy(2));
    planned.run_all();
    let expected = planned.merged();
    let path = planned.result(0);
    let whole = std::fs::read_to_string(&path).unwrap();
    let damaged = [
        (Vec::new(), "is empty"),
        (b"{}\n".to_vec(), "is cut off"),
        (b"\xff\xfe".to_vec(), "is cut off"),
        (whole[..whole.len() / 2].into(), "is cut off"),
        (whole.replacen("\"every\": 256", "\"every\": 255", 1).into(), "was changed"),
        (std::fs::read(planned.result(1)).unwrap(), "is the result of"),
    ];
    for (content, problem) in damaged {
        std::fs::write(&path, &content).unwrap();
        let message = planned.refused(&["merge"]);
        assert!(message.contains(text(&path)) && message.contains(problem), "{message}");
        assert!(planned.run(0).status.success());
        assert_eq!(planned.merged(), expected);
        std::fs::write(&path, content).unwrap();
        let again = planned.again();
        assert!(again.contains("2 shards (2 accuracy), 1 of them done"), "{again}");
        assert!(
            again.contains(&format!("removed: {}: ", path.display())) && again.contains(problem),
            "{again}"
        );
        assert!(!path.exists());
        planned.run_all();
        assert_eq!(planned.merged(), expected);
    }
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
        (json!({"kind": "mutate", "count": 5}), "mutate is not one of accuracy, cosim"),
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
    for args in [&["plan", "/nowhere.json"][..], &["run", text(&out), "--shard", "0"], &["merge", "/nowhere"]]
    {
        let message = refusal(sweep(args), args);
        assert!(message.contains(args[1]), "{message}");
    }
    let planned = Planned::new(&accuracy(2));
    let message = planned.refused(&["run", "--shard", "2"]);
    assert!(message.contains("--shard 2: there are 2"), "{message}");
}

#[test]
#[ignore = "a minute or two"]
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
        {"kind": "ppa", "core": core, "clock": [30, 40], "cycles": 0},
        {"kind": "skips", "every": 256, "rules": "hold:6"},
    ]));
    planned.run_all();
    let merged: Value = serde_json::from_str(&planned.merged()).unwrap();
    let kinds: std::collections::BTreeSet<&str> =
        merged["results"].as_array().unwrap().iter().map(|entry| entry["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds.len(), 5);
    assert!(!merged.to_string().contains("seconds"));
}
