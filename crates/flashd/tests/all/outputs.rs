//! Outputs to devices, pipes and links, for every flag that names a file.
#![cfg(unix)]

use crate::common::{data, refusal};
use std::os::unix::fs::{FileTypeExt, symlink};
use std::path::Path;
use std::process::{Command, Output};

fn flashd(at: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_flashd")).current_dir(at).args(args).output().unwrap()
}

fn succeeded(at: &Path, args: &[&str]) -> Output {
    let out = flashd(at, args);
    assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
    out
}

const LIBRARY: &str = r#"library (one) { time_unit : "1ns"; voltage_unit : "1V"; capacitive_load_unit (1, pf);
  leakage_power_unit : "1nW"; nom_voltage : 1;
  cell (INV) { area : 1; pin (A) { direction : input; } pin (Y) { direction : output; function : "!A"; } } }
"#;

/// Commands whose last flag names a file to write, and the ending of that file.
fn commands(at: &Path) -> Vec<(Vec<String>, &'static str)> {
    let [q, k, v] = ["q", "k", "v"].map(|x| data(&format!("bytes_math-d16-layer04-head03-{x}.npy")));
    let head = format!("simulate --design fa2 --first-queries 2 --first-keys 3 --q {q} --k {k} --v {v}");
    let heads = data("");
    std::fs::write(at.join("one.lib"), LIBRARY).unwrap();
    std::fs::write(at.join("grid.json"), r#"[{"kind": "skips", "every": 64, "hold": [12]}]"#).unwrap();
    succeeded(at, &["sweep", "plan", "grid.json", "--out", "sweep"]);
    succeeded(at, &["sweep", "run", "sweep", "--shard", "0"]);
    [
        (format!("{head} --engine model --o"), "npy"),
        (format!("{head} --engine model --histograms"), "json"),
        (format!("{head} --vcd"), "vcd"),
        (format!("{head} --fst"), "fst"),
        (format!("{head} --vectors"), "vec"),
        (format!("{head} --pipeline"), "html"),
        (format!("skips --data {heads} --every 64 --hold 12 --svg"), "svg"),
        ("traffic --n 8 --d 4 --svg".into(), "svg"),
        ("figure weight --svg".into(), "svg"),
        ("accuracy --format bf16 --n 4 --no-traces --svg".into(), "svg"),
        (
            format!("accuracy --format bf16 --check 0 --data {heads} --every 64 --no-lengths --svg-rows"),
            "svg",
        ),
        ("sweep merge sweep --out".into(), "json"),
        ("liberty merge one.lib --out".into(), "lib"),
    ]
    .map(|(words, ending)| (words.split(' ').map(String::from).collect(), ending))
    .into()
}

#[test]
fn devices_pipes_and_links_are_written_through_by_every_flag() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let made = |program: &str, path: &Path, words: &[&str]| {
        Command::new(program).arg(path).args(words).status().is_ok_and(|status| status.success())
    };
    for (words, ending) in commands(at) {
        let with = |name: &str| [&words[..], &[name.to_string()]].concat();
        let run = |name: &str| {
            let args = with(name);
            flashd(at, &args.iter().map(String::as_str).collect::<Vec<_>>())
        };
        let path = |name: &str| at.join(format!("{name}.{ending}"));
        let [plain, pipe, device, link, dangling, target] =
            ["plain", "pipe", "device", "link", "dangling", "target"].map(path);
        let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_string();
        let out = run(&name(&plain));
        assert!(out.status.success(), "{words:?}: {}", String::from_utf8_lossy(&out.stderr));
        let whole = std::fs::read(&plain).unwrap();
        assert!(!whole.is_empty());
        // A pipe's reader gets all of it.
        assert!(made("mkfifo", &pipe, &[]));
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || std::fs::read(pipe).unwrap()
        });
        let out = run(&name(&pipe));
        assert!(out.status.success(), "{words:?}: {}", String::from_utf8_lossy(&out.stderr));
        // The date of a wave may differ.
        assert_eq!(reader.join().unwrap().len(), whole.len(), "{words:?}");
        assert!(std::fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo(), "{words:?}");
        assert!(!at.join("pipe.gtkw").exists());
        // A device of this test's own; only root can make one.
        if made("mknod", &device, &["c", "1", "3"]) {
            let out = run(&name(&device));
            let text = String::from_utf8_lossy(&out.stderr);
            assert!(out.status.success() || text.contains("Permission denied"), "{words:?}: {text}");
            let kind = std::fs::symlink_metadata(&device).unwrap().file_type();
            assert!(kind.is_char_device(), "{words:?}");
        }
        // Links stay, also one that leads nowhere yet.
        std::fs::write(&target, "old").unwrap();
        symlink(name(&target), &link).unwrap();
        symlink(format!("made-{}", name(&target)), &dangling).unwrap();
        for (link, target) in [(&link, &target), (&dangling, &at.join(format!("made-{}", name(&target))))] {
            assert!(run(&name(link)).status.success(), "{words:?}");
            assert!(std::fs::symlink_metadata(link).unwrap().is_symlink(), "{words:?}");
            assert_eq!(std::fs::read(target).unwrap().len(), whole.len(), "{words:?}");
        }
        // Paths that cannot be a file are refused by flag and path.
        std::fs::create_dir(path("folder")).unwrap();
        for (name, problem) in [
            (name(&path("folder")), "is a folder; a file is needed"),
            (format!("no/{}", name(&plain)), "the folder no does not exist; make it first"),
            (format!("{}/{}", name(&plain), name(&plain)), "is not a folder"),
        ] {
            let args = with(&name);
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            let text = refusal(flashd(at, &args), &args);
            let flag = words.last().unwrap();
            assert!(
                text.contains(flag) && text.contains(&name) && text.contains(problem),
                "{args:?}: {text}"
            );
        }
        for entry in std::fs::read_dir(at).unwrap() {
            let entry = entry.unwrap();
            let left = entry.file_name().to_str().unwrap().starts_with(".flashd-");
            assert!(!left, "{words:?} left {:?}", entry.path());
            match entry.file_name().to_str().unwrap() {
                "sweep" | "grid.json" | "one.lib" => {}
                _ if entry.file_type().unwrap().is_dir() => std::fs::remove_dir_all(entry.path()).unwrap(),
                _ => std::fs::remove_file(entry.path()).unwrap(),
            }
        }
    }
}

/// Nothing else is printed to standard output if a file goes there.
#[test]
fn a_file_on_standard_output_is_alone() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    succeeded(at, &["traffic", "--n", "8", "--d", "4", "--svg", "plain.svg"]);
    let plain = std::fs::read(at.join("plain.svg")).unwrap();
    let args = ["traffic", "--n", "8", "--d", "4", "--svg", "/dev/stdout"];
    let out = succeeded(at, &args);
    assert!(out.stdout == plain && String::from_utf8_lossy(&out.stderr).contains("queries"));
    // To a file by the shell's redirection, after earlier output.
    let line = format!("{{ echo before; {} {}; }} > all", env!("CARGO_BIN_EXE_flashd"), args.join(" "));
    assert!(Command::new("sh").current_dir(at).args(["-c", &line]).output().unwrap().status.success());
    assert_eq!(std::fs::read(at.join("all")).unwrap(), [b"before\n", &plain[..]].concat());
}

#[test]
fn two_outputs_in_one_file_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let [q, k, v] = ["q", "k", "v"].map(|x| data(&format!("bytes_math-d16-layer04-head03-{x}.npy")));
    let simulate = ["simulate", "--design", "fa2", "--q", &q, "--k", &k, "--v", &v];
    let args = [&simulate[..], &["--vcd", "wave", "--fst", "./wave"]].concat();
    let text = refusal(flashd(folder.path(), &args), &args);
    assert!(text.contains("--fst ./wave: is the file of --vcd, too"), "{text}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// Links to folders stay; files are refused by flag and path.
#[test]
fn folders_to_write_to_may_be_links() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::write(at.join("file"), "mine").unwrap();
    symlink("made", at.join("link")).unwrap();
    for (command, flag) in [("generate --design fa2 --d 4", "--out"), ("pwl", "--out"), ("man", "--out")] {
        let args: Vec<&str> = command.split(' ').chain([flag, "link"]).collect();
        succeeded(at, &args);
        assert!(std::fs::read_dir(at.join("made")).unwrap().count() > 0, "{args:?}");
        std::fs::remove_dir_all(at.join("made")).unwrap();
        assert!(std::fs::symlink_metadata(at.join("link")).unwrap().is_symlink());
        for path in ["file", "file/below"] {
            let args: Vec<&str> = command.split(' ').chain([flag, path]).collect();
            let text = refusal(flashd(at, &args), &args);
            assert!(
                text.contains(&format!("{flag} {path}")) && text.contains("is not a folder"),
                "{args:?}: {text}"
            );
        }
    }
    assert_eq!(std::fs::read(at.join("file")).unwrap(), b"mine");
}
