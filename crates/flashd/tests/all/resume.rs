//! `flashd simulate --data --results` again into a folder with results of other runs, of killed ones too.

use crate::common::{printed_json, refusal};
use crate::npy::Rows;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

const A: &str = "--design flash-d";
const B: &str = "--design fa2 --hold none";

/// A folder of heads of 24 queries and keys, d = 16.
fn heads(folder: &Path, count: u64) {
    for head in 0..count {
        for (place, role) in ["q", "k", "v"].iter().enumerate() {
            let rows = Rows::random(head * 3 + place as u64 + 1, 24, 16);
            rows.write(&folder.join(format!("head{head:03}-{role}.npy")));
        }
    }
}

fn command(core: &str, data: &Path, results: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashd"));
    command.args(["simulate", "--engine", "model", "--json"]).args(core.split(' '));
    command.arg("--data").arg(data).arg("--results").arg(results);
    command
}

fn complete(core: &str, data: &Path, results: &Path) -> Value {
    printed_json(command(core, data, results).output().unwrap())
}

/// Every file of a folder.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    files.map(|path| (path.file_name().unwrap().into(), fs::read(&path).unwrap())).collect()
}

/// An existing result is used again only if its description matches.
#[test]
fn a_result_that_is_not_the_described_one_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let [data, a, b] = ["data", "a", "b"].map(|name| folder.path().join(name));
    fs::create_dir(&data).unwrap();
    heads(&data, 3);
    assert_eq!(complete(A, &data, &a)["resumed"], 0);
    assert_eq!(complete(A, &data, &a)["resumed"], 3);
    complete(B, &data, &b);
    let right = contents(&a);
    let (o, other) = (a.join("head001-o.npy"), a.join("head002-o.npy"));
    let whole = fs::read(&o).unwrap();
    let mut edited = whole.clone();
    edited[200] ^= 1;
    let found = [
        ("another core's", fs::read(b.join("head001-o.npy")).unwrap()),
        ("another head's", fs::read(&other).unwrap()),
        ("cut off", whole[..whole.len() - 4].to_vec()),
        ("empty", Vec::new()),
        ("edited", edited),
    ];
    for (what, bytes) in found {
        fs::write(&o, bytes).unwrap();
        assert_eq!(complete(A, &data, &a)["resumed"], 2, "{what}");
        assert!(contents(&a) == right, "{what}");
    }
    // A description without a result, and one of another run.
    for bytes in [None, Some(fs::read(b.join("head001.json")).unwrap())] {
        match bytes {
            Some(bytes) => fs::write(a.join("head001.json"), bytes).unwrap(),
            None => fs::remove_file(&o).unwrap(),
        }
        assert_eq!(complete(A, &data, &a)["resumed"], 2);
        assert!(contents(&a) == right);
    }
}

#[cfg(unix)]
#[test]
fn two_runs_do_not_share_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let [data, results] = ["data", "results"].map(|name| folder.path().join(name));
    fs::create_dir(&data).unwrap();
    heads(&data, 1);
    fs::create_dir(&results).unwrap();
    // As the other run holds it.
    let lock = flashd_files::FolderLock::take(&results).unwrap();
    assert!(lock.is_some());
    let message = refusal(command(A, &data, &results).output().unwrap(), &[]);
    assert!(message.contains("--results ") && message.contains("another run"), "{message}");
    assert!(contents(&results).is_empty());
    drop(lock);
    assert_eq!(complete(A, &data, &results)["heads"], 1);
}

/// A complete, B killed at a random moment, A again: the heads that are not A's, and kills that met B at work.
fn killed(seed: u64, kills: u32, count: u64) -> (usize, u32) {
    let folder = tempfile::tempdir().unwrap();
    let [data, clean, results] = ["data", "clean", "results"].map(|name| folder.path().join(name));
    fs::create_dir(&data).unwrap();
    heads(&data, count);
    complete(A, &data, &clean);
    let right = contents(&clean);
    complete(A, &data, &results);
    let start = Instant::now();
    complete(B, &data, &folder.path().join("b"));
    let whole = start.elapsed();
    let mut state = seed;
    let (mut wrong, mut met) = (0, 0);
    for _ in 0..kills {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let moment = whole * (state >> 44) as u32 / (1 << 20);
        let mut run = command(B, &data, &results).stdout(Stdio::null()).spawn().unwrap();
        std::thread::sleep(moment.max(Duration::from_millis(1)));
        run.kill().unwrap();
        run.wait().unwrap();
        met += u32::from(contents(&results) != right);
        complete(A, &data, &results);
        let found = contents(&results);
        // Nothing else is left either.
        assert_eq!(found.keys().collect::<Vec<_>>(), right.keys().collect::<Vec<_>>(), "seed {seed}");
        wrong += right.iter().filter(|(name, bytes)| found[*name] != **bytes).count();
    }
    println!("seed {seed}: {kills} kills, {met} of them changed something, {wrong} wrong files");
    (wrong, met)
}

#[test]
fn no_kill_leaves_a_wrong_head() {
    // On a busy machine all kills may come before there is something to damage, or too late.
    let met = (1..=8).any(|seed| {
        let (wrong, met) = killed(seed, 8, 12);
        assert_eq!(wrong, 0, "seed {seed}");
        met > 0
    });
    assert!(met, "no kill met a run at work");
}

/// `cargo test -p flashd --test all -- --ignored --nocapture two_hundred_kills`
#[test]
#[ignore = "takes minutes"]
fn two_hundred_kills() {
    let seed = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis() as u64;
    let (wrong, met) = killed(seed, 200, 100);
    assert_eq!(wrong, 0, "seed {seed}");
    assert!(met > 20, "seed {seed}: {met} kills met a run at work");
}
