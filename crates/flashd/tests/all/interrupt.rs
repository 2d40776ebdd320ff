//! Ctrl-C and SIGTERM: the recorded part of the wave is kept, and no other file.

#![cfg(unix)]

use crate::npy::Rows;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

fn sample(folder: &Path) -> Vec<PathBuf> {
    let role = |(place, role): (usize, &str)| {
        let path = folder.join(format!("{role}.npy"));
        Rows::random(place as u64, 600, 16).write(&path);
        path
    };
    ["q", "k", "v"].into_iter().enumerate().map(role).collect()
}

fn simulate(files: &[PathBuf], flags: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashd"));
    command.args(["simulate", "--design", "flash-d"]).args(flags);
    for (flag, file) in ["--q", "--k", "--v"].iter().zip(files) {
        command.arg(flag).arg(file);
    }
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits until a temporary file of the folder has `bytes` bytes.
fn wait_for(folder: &Path, bytes: u64) {
    let begun = Instant::now();
    let long = |entry: fs::DirEntry| {
        let temporary = entry.file_name().to_string_lossy().starts_with('.');
        temporary && entry.metadata().is_ok_and(|m| m.len() >= bytes)
    };
    while !fs::read_dir(folder).unwrap().any(|entry| entry.is_ok_and(long)) {
        assert!(begun.elapsed() < Duration::from_secs(120), "nothing is written");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

#[test]
fn the_recorded_part_of_a_wave_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let files = sample(folder.path());
    for name in ["-INT", "-TERM"] {
        let out = folder.path().join(name);
        fs::create_dir(&out).unwrap();
        let (wave, trace, o) = (out.join("wave.vcd"), out.join("trace.fst"), out.join("o.npy"));
        let vectors = out.join("vectors.vec");
        let child = simulate(
            &files,
            &[
                "--vcd",
                wave.to_str().unwrap(),
                "--fst",
                trace.to_str().unwrap(),
                "--o",
                o.to_str().unwrap(),
                "--vectors",
                vectors.to_str().unwrap(),
            ],
        );
        wait_for(&out, 200_000);
        signal(&child, name);
        let ended = child.wait_with_output().unwrap();
        let text = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(130), "{text}");
        assert!(["interrupted: ", "wave.vcd", "trace.fst"].iter().all(|part| text.contains(part)), "{text}");
        let times = [wave, trace].map(|path| wellen::simple::read(&path).unwrap().time_table().to_vec());
        assert!(times[0].len() > 100 && times[0] == times[1]);
        let mut left: Vec<_> = fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["trace.fst", "trace.gtkw", "wave.gtkw", "wave.vcd"]);
    }
}

#[test]
fn without_a_wave_nothing_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let files = sample(folder.path());
    let out = folder.path().join("out");
    fs::create_dir(&out).unwrap();
    let child = simulate(&files, &["--vectors", out.join("vectors.vec").to_str().unwrap()]);
    wait_for(&out, 20_000);
    signal(&child, "-INT");
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
    assert_eq!(fs::read_dir(&out).unwrap().count(), 0);
}

/// SIGKILL leaves a temporary file; the next run in the folder removes it, but not the file of a live run.
#[test]
fn the_next_run_removes_a_killed_ones_files() {
    let folder = tempfile::tempdir().unwrap();
    let files = sample(folder.path());
    let out = folder.path().join("out");
    fs::create_dir(&out).unwrap();
    let path = |name: &str| out.join(name).to_str().unwrap().to_string();
    let files_in = || fs::read_dir(&out).unwrap().count();
    let mut killed = simulate(&files, &["--vectors", &path("killed.vec")]);
    wait_for(&out, 20_000);
    killed.kill().unwrap();
    killed.wait().unwrap();
    let left = fs::read_dir(&out).unwrap().next().unwrap().unwrap().path();
    assert_eq!(files_in(), 1);
    let mut going_on = simulate(&files, &["--vectors", &path("going-on.vec")]);
    // Its own file, and no longer the other one.
    while left.exists() {
        std::thread::sleep(Duration::from_millis(2));
    }
    wait_for(&out, 20_000);
    let short = ["--first-queries", "2", "--first-keys", "4", "--o", &path("o.npy")];
    assert!(simulate(&files, &short).wait().unwrap().success());
    assert_eq!(files_in(), 2);
    going_on.kill().unwrap();
    going_on.wait().unwrap();
    assert!(simulate(&files, &short).wait().unwrap().success());
    assert_eq!(files_in(), 1);
}
