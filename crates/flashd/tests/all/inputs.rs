//! Files that a user names: the same defaults as for flags, errors that name file and field, and no waiting for a pipe.

use crate::common::{data, refusal};
use std::path::Path;
use std::process::{Command, Output};

fn flashd(at: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashd"));
    command.args(args).current_dir(at).output().unwrap()
}

fn refused(at: &Path, args: &[&str]) -> String {
    refusal(flashd(at, args), args)
}

/// The first file of `generate`: it has the name of the configuration.
fn generated(at: &Path, args: &[&str]) -> String {
    let args = [&["generate"], args].concat();
    let out = flashd(at, &args);
    assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap().lines().next().unwrap().to_string()
}

#[test]
fn a_file_and_flags_have_the_same_defaults() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    for (flags, json) in [
        ("--design flash-d --d 4 --format fp32", r#"{"design": "flash-d", "d": 4, "format": "fp32"}"#),
        ("--design flash-d --d 4", r#"{"design": "flash-d", "d": 4}"#),
        (
            "--design fa2 --d 4 --format FP32 --masks",
            r#"{"design": "fa2", "d": 4, "format": "Fp32", "masks": true}"#,
        ),
        (
            "--design flash-d --weight paper --d 4 --format fp32",
            r#"{"design": "flash-d", "d": 4, "format": "fp32", "weight": "paper"}"#,
        ),
        (
            "--design flash-d --d 4 --format fp32 --queries 3",
            r#"{"core": {"design": "flash-d", "d": 4, "format": "fp32"}, "queries": 3}"#,
        ),
    ] {
        std::fs::write(at.join("core.json"), json).unwrap();
        let by_flags = generated(at, &flags.split(' ').collect::<Vec<_>>());
        assert_eq!(generated(at, &["--config", "core.json"]), by_flags, "{json}");
    }
    // A flag decides over the file before defaults do.
    std::fs::write(at.join("core.json"), r#"{"design": "flash-d", "d": 4, "format": "bf16"}"#).unwrap();
    assert!(generated(at, &["--config", "core.json", "--format", "fp32"]).ends_with("/flash_d_fp32_d4.v"));
}

#[test]
fn errors_in_a_configuration_name_the_field_and_the_place() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let error = |json: &str| {
        std::fs::write(at.join("c.json"), json).unwrap();
        refused(at, &["generate", "--config", "c.json", "--out", "out"])
    };
    assert_eq!(
        error("{\"core\": {\"design\": \"fa2\", \"d\": 4, \"format\": \"bf16\"}, \"queries\": 3,}"),
        "error: --config c.json: trailing comma at line 1 column 68\n"
    );
    assert_eq!(
        error("{\"design\": \"fa2\",\n \"d\": \"4\", \"format\": \"bf16\"}"),
        "error: --config c.json: d: invalid type: string \"4\", expected usize at line 2 column 9\n"
    );
    let text = error("{\"core\": {\"design\": \"fa2\", \"d\": 4, \"update\": \"fast\"}, \"queries\": 3}");
    assert!(text.starts_with("error: --config c.json: core.update: unknown variant `fast`"), "{text}");
    let text = error("{\"block\": {\"core\": {\"design\": \"fa2\", \"lane\": {\"o\": -1}}, \"queries\": 3}}");
    assert!(text.starts_with("error: --config c.json: block.core.lane: o: invalid value"), "{text}");
    assert_eq!(error("{\"d\": 4}"), "error: --config c.json: design: is missing: flash-d or fa2\n");
}

#[test]
fn an_error_has_the_path_once_and_no_temporary_name() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::write(at.join("cells.lib"), "library (x) { time_unit : 1ns;").unwrap();
    let text = refused(at, &["ppa", "--d", "16", "--cycles", "0", "--liberty", "cells.lib"]);
    // Where the tools are not installed, they are missed first.
    if !text.contains("was not found in PATH") {
        assert_eq!(text.matches("cells.lib").count(), 1, "{text}");
    }
    let [q, k, v] = ["q", "k", "v"].map(|x| data(&format!("bytes_math-d16-layer04-head03-{x}.npy")));
    let run = ["simulate", "--design", "fa2", "--engine", "model", "--q", &q, "--k", &k, "--v", &v];
    std::fs::create_dir(at.join("o.npy")).unwrap();
    let text = refused(at, &[&run[..], &["--o", "o.npy"]].concat());
    assert_eq!(text.matches("o.npy").count(), 1, "{text}");
}

/// A disk that is full, as a limit of 512 bytes a file: the name that was given is at fault, not a temporary one.
#[test]
#[cfg(unix)]
fn errors_of_a_full_disk_have_the_final_name() {
    let folder = tempfile::tempdir().unwrap();
    let [q, k, v] = ["q", "k", "v"].map(|x| data(&format!("bytes_math-d16-layer04-head03-{x}.npy")));
    let run = "trap '' XFSZ; ulimit -f 1; exec \"$@\"";
    for write in [["--o", "o.npy"], ["--vcd", "o.vcd"], ["--fst", "o.fst"], ["--histograms", "o.json"]] {
        let engine = if ["--vcd", "--fst"].contains(&write[0]) { "cycle" } else { "model" };
        let args = ["simulate", "--design", "fa2", "--engine", engine, "--q", &q, "--k", &k, "--v", &v];
        let args = [&args[..], &write].concat();
        let mut command = Command::new("sh");
        command.args(["-c", run, "sh", env!("CARGO_BIN_EXE_flashd")]).args(&args).current_dir(folder.path());
        let text = refusal(command.output().unwrap(), &args);
        assert!(text.contains(write[1]) && text.contains("File too large"), "{text}");
        assert!(!text.contains(".tmp") && text.matches(write[1]).count() == 1, "{text}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

/// Every flag that names an input file, with the other flags that it needs.
#[test]
#[cfg(unix)]
fn a_pipe_is_refused_and_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    assert!(Command::new("mkfifo").arg(at.join("pipe")).status().unwrap().success());
    let [q, k] = ["q", "k"].map(|x| data(&format!("bytes_math-d16-layer04-head03-{x}.npy")));
    std::fs::create_dir(at.join("heads")).unwrap();
    for name in ["q", "k", "v"] {
        let to = at.join(format!("heads/a-{name}.npy"));
        std::fs::copy(data(&format!("bytes_math-d16-layer04-head03-{name}.npy")), to).unwrap();
    }
    assert!(Command::new("mkfifo").arg(at.join("heads/meta.json")).status().unwrap().success());
    for file in ["pipe", "/dev/zero"] {
        for args in [
            vec!["generate", "--config", file],
            vec!["simulate", "--config", file, "--q", &q, "--k", &k, "--v", &k],
            vec!["simulate", "--design", "fa2", "--q", file, "--k", &k, "--v", &k],
            vec!["cosim", "--core", file],
            vec!["accuracy", "--core", file],
            vec!["ppa", "--d", "16", "--cycles", "0", "--liberty", file],
            vec!["ppa", "--from", file],
            vec!["explore", "--d", "16", "--grid", file, "--errors-only"],
            vec!["skips", "--data", "heads"],
            vec!["llm", "--checkpoint", file, "--tokenizer", file, "--attention", "f32"],
        ] {
            let text = refused(at, &args);
            assert!(
                text.contains("not a regular file") || text.contains("was not found in PATH"),
                "{args:?}: {text}"
            );
        }
    }
}

/// Standard output is meant by `-` elsewhere; here no file and no folder of this name comes to be.
#[test]
fn a_dash_is_no_place_to_write_to() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let [q, k, v] = ["q", "k", "v"].map(|x| data(&format!("bytes_math-d16-layer04-head03-{x}.npy")));
    let simulate = ["simulate", "--design", "fa2", "--engine", "model", "--q", &q, "--k", &k, "--v", &v];
    for args in [
        vec!["generate", "--design", "fa2", "--d", "4", "--out", "-"],
        vec!["demo", "--out", "-"],
        vec!["pwl", "--out", "-"],
        [&simulate[..], &["--o", "-"]].concat(),
        [&simulate[..], &["--histograms", "-"]].concat(),
        vec!["skips", "--every", "64", "--hold", "12", "--svg", "-"],
        vec!["traffic", "--svg", "-"],
    ] {
        let text = refused(at, &args);
        assert!(text.contains("nothing is written to standard output; give ./-"), "{args:?}: {text}");
    }
    assert_eq!(std::fs::read_dir(at).unwrap().count(), 0);
    generated(at, &["--design", "fa2", "--d", "4", "--out", "./-"]);
}

/// An empty folder, no repository around: the sample is part of the program.
#[test]
fn outside_the_repository_the_bundled_sample_is_measured() {
    let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let at = folder.path();
    let grid = elsewhere.path().join("grid.json");
    std::fs::write(&grid, r#"[{"design": "flash-d"}, {"design": "fa2"}]"#).unwrap();
    let grid = grid.to_str().unwrap();
    for args in [
        &["skips", "--every", "64", "--hold", "12", "--json"][..],
        &["accuracy", "--every", "64", "--format", "bf16", "--check", "0", "--no-lengths", "--json"],
        &[
            "explore",
            "--d",
            "16",
            "--format",
            "bf16",
            "--grid",
            grid,
            "--errors-only",
            "--every",
            "64",
            "--json",
            "-",
        ],
    ] {
        let out = flashd(at, args);
        assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
        let text = String::from_utf8(out.stdout).unwrap();
        assert!(text.contains("the bundled sample"), "{args:?}: {text}");
    }
    assert_eq!(std::fs::read_dir(at).unwrap().count(), 0);
}

/// Heads that are stacked in the files: one run each, and results in the shape of Q.
#[test]
fn stacked_heads_are_run_one_by_one_and_stacked_again() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let head = |name: &str| {
        let [q, k, v] = ["q", "k", "v"].map(|x| data(&format!("{name}-{x}.npy")).into());
        let head: [std::path::PathBuf; 3] = [q, k, v];
        flashd_workload::Attention::from_npy(&head[0], &head[1], &head[2]).unwrap().truncated(5, 9)
    };
    let heads = [head("bytes_math-d16-layer04-head03"), head("bytes_code-d16-layer02-head05")];
    let write = |name: &str, shape: &[usize], data: Vec<f32>| {
        flashd_workload::write_npy(&at.join(name), shape, &data).unwrap();
    };
    let stack =
        |pick: fn(&flashd_workload::Attention) -> &Vec<f32>| heads.iter().flat_map(pick).copied().collect();
    let read = |name: &str| std::fs::read(at.join(name)).unwrap();
    let simulate = |files: [&str; 3], more: &[&str]| {
        let [q, k, v] = files;
        let args = [&["simulate", "--q", q, "--k", k, "--v", v][..], more].concat();
        let out = flashd(at, &args);
        assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).unwrap()
    };
    write("k.npy", &[2, 9, 16], stack(|head| &head.k));
    write("v.npy", &[2, 9, 16], stack(|head| &head.v));
    for (core, n) in [
        ("--design flash-d --engine model", 2),
        ("--design fa2 --masks --causal", 3),
        ("--design fa2 --masks --partial --tile 4", 2),
        ("--design flash-d --masks --partial --parts 2", 2),
        ("--design flash-d --queries 4", 2),
    ] {
        let core: Vec<&str> = core.split(' ').collect();
        let mut alone = Vec::new();
        for head in &heads {
            write("q1.npy", &[5, 16], head.q.clone());
            write("k1.npy", &[9, 16], head.k.clone());
            write("v1.npy", &[9, 16], head.v.clone());
            simulate(["q1.npy", "k1.npy", "v1.npy"], &[&core[..], &["--o", "o1.npy"]].concat());
            // After the header.
            alone.extend_from_slice(&read("o1.npy")[read("o1.npy").len() - 5 * 16 * 4..]);
        }
        let shape = if n == 2 { &[2, 5, 16][..] } else { &[1, 2, 5, 16] };
        write("q.npy", shape, stack(|head| &head.q));
        let text = simulate(["q.npy", "k.npy", "v.npy"], &[&core[..], &["--o", "o.npy"]].concat());
        assert!(text.starts_with("head 0\n") && text.contains("\n\nhead 1\n"), "{text}");
        let stacked = read("o.npy");
        assert!(stacked.ends_with(&alone), "{core:?}");
        let header = String::from_utf8_lossy(&stacked[..128]).replace(", )", ")");
        let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
        assert!(header.contains(&format!("'shape': ({})", sizes.join(", "))), "{header}");
        let json = simulate(["q.npy", "k.npy", "v.npy"], &[&core[..], &["--json"]].concat());
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json.as_array().unwrap().len(), 2);
    }
    // One head of K and V for both of Q.
    write("k.npy", &[1, 9, 16], heads[0].k.clone());
    write("v.npy", &[9, 16], heads[0].v.clone());
    simulate(["q.npy", "k.npy", "v.npy"], &["--design", "fa2", "--engine", "model"]);
    let args =
        ["simulate", "--design", "fa2", "--q", "q.npy", "--k", "k.npy", "--v", "v.npy", "--vcd", "w.vcd"];
    assert!(refused(at, &args).contains("--vcd: is of one head, and there are 2"));
}

/// With tools that do nothing: builds are in the user's cache folder, not in the current one.
#[test]
#[cfg(unix)]
fn simulators_are_built_in_the_users_cache_folder() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for name in ["bin", "cache", "here"] {
        std::fs::create_dir(at(name)).unwrap();
    }
    for tool in ["verilator", "make", "g++"] {
        let path = at("bin").join(tool);
        let script = "#!/bin/sh\n[ \"$1\" = --version ] && echo 1 && exit\necho \"$PWD $*\" >>\"$XDG_CACHE_HOME/asked\"\nexit 1\n";
        std::fs::write(&path, script).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let args = ["cosim", "--design", "fa2", "--d", "2", "--keys", "10"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashd"));
    command.args(args).current_dir(at("here"));
    command.env("PATH", at("bin")).env("XDG_CACHE_HOME", at("cache"));
    assert!(refusal(command.output().unwrap(), &args).contains("verilator failed"));
    let asked = std::fs::read_to_string(at("cache/asked")).unwrap();
    let builds = at("cache/flashd/cosim");
    assert!(asked.contains(builds.to_str().unwrap()) && asked.contains("fa2_bf16_d2"), "{asked}");
    assert_eq!(std::fs::read_dir(at("here")).unwrap().count(), 0);
}

/// `--causal` with `--data` overrides `meta.json`; results equal the runs of single heads.
#[test]
fn the_heads_of_a_folder_can_be_made_causal() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::create_dir(at.join("heads")).unwrap();
    let files = ["q", "k", "v"].map(|x| at.join(format!("heads/a-{x}.npy")));
    for (file, x) in files.iter().zip(["q", "k", "v"]) {
        std::fs::copy(data(&format!("bytes_math-d16-layer04-head03-{x}.npy")), file).unwrap();
    }
    let [q, k, v] = ["heads/a-q.npy", "heads/a-k.npy", "heads/a-v.npy"];
    let all = ["simulate", "--design", "fa2", "--engine", "model"];
    let of_folder = |more: &[&str], results: &str| {
        let args = [&all[..], &["--data", "heads", "--results", results], more].concat();
        let out = flashd(at, &args);
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        std::fs::read(at.join(results).join("a-o.npy")).unwrap()
    };
    for more in [&["--causal"][..], &[]] {
        let args = [&all[..], &["--q", q, "--k", k, "--v", v, "--o", "o.npy"], more].concat();
        assert!(flashd(at, &args).status.success());
        // The second run is in the folder of the first, whose results have other positions.
        assert_eq!(of_folder(more, "results"), std::fs::read(at.join("o.npy")).unwrap(), "{more:?}");
    }
}
