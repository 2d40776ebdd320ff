//! `flashd ppa` from outside; but for the last test without the tools that it runs.

use crate::common::refusal;
use std::path::Path;
use std::process::{Command, Output};

fn flashd(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashd"));
    // No Yosys, no OpenSTA.
    command.current_dir(folder).env("PATH", "").arg("ppa").args(args).output().unwrap()
}

/// Runs a command that must fail with exit code 2.
fn refused(folder: &Path, args: &[&str]) -> String {
    refusal(flashd(folder, args), args)
}

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/artificial_ppa.json");

#[test]
fn figures_of_an_earlier_run_become_table_page_and_charts() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let out = flashd(at, &["--from", SAMPLE, "--breakdown", "--html", "report.html", "--svg", "charts"]);
    let text = String::from_utf8(out.stdout).unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    for shown in ["core a", "core b", "25.0 % less", "core b_module", "9 gates from x to y", "report.html"] {
        assert!(text.contains(shown), "{shown}: {text}");
    }
    let page = std::fs::read_to_string(at.join("report.html")).unwrap();
    for shown in [
        "flashd ppa --design flash-d --d 16 --format bf16 --update rounded --liberty artificial.lib --clock 10 \
         --cycles 1",
        "flashd ppa --core &quot;--design flash-d --d 16 --format bf16 --update rounded&quot; --core \
         &quot;--design fa2 --d 16 --format bf16&quot; --liberty artificial.lib --clock 10 --cycles 1 --html",
        "600.0",
        "25.0 % less",
    ] {
        assert!(page.contains(shown), "{shown}");
    }
    assert!(!page.contains(at.to_str().unwrap()) && !page.contains(env!("CARGO_MANIFEST_DIR")));
    let mut charts: Vec<_> =
        std::fs::read_dir(at.join("charts")).unwrap().map(|e| e.unwrap().file_name()).collect();
    charts.sort();
    assert_eq!(charts, ["area_artificial.svg", "power_artificial.svg"]);
}

#[test]
fn earlier_figures_are_joined_and_printed_again() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let mut second: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(SAMPLE).unwrap()).unwrap();
    for core in second.as_array_mut().unwrap() {
        core["run"]["clock"] = 20.0.into();
    }
    std::fs::write(at.join("second.json"), second.to_string()).unwrap();
    let out = flashd(at, &["--from", SAMPLE, "--from", "second.json", "--from", SAMPLE, "--json"]);
    let all: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(all.as_array().unwrap().len(), 4);
    flashd(at, &["--from", SAMPLE, "--from", "second.json", "--html", "both.html"]);
    let page = std::fs::read_to_string(at.join("both.html")).unwrap();
    // Two clocks are two runs.
    assert!(page.contains("--clock 20 --cycles 1 --json &gt; part2.json\n"));
    assert!(page.contains("flashd ppa --from part1.json --from part2.json --html report.html"));
    // The same core, measured alike, with other figures.
    second[0]["run"]["clock"] = 10.0.into();
    second[0]["area"]["total"] = 1.0.into();
    std::fs::write(at.join("second.json"), second.to_string()).unwrap();
    let text = refused(at, &["--from", SAMPLE, "--from", "second.json"]);
    assert!(text.contains("--from second.json: core a in artificial was there before"), "{text}");
}

#[test]
fn bad_arguments_of_from_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    assert!(refused(at, &["--from", "none.json"]).contains("--from none.json"));
    std::fs::write(at.join("list.json"), "[1]").unwrap();
    assert!(refused(at, &["--from", "list.json", "--html", "a.html"]).contains("not what flashd ppa --json"));
    assert!(!at.join("a.html").exists());
    assert!(refused(at, &["--from", SAMPLE, "--html", "missing/a.html"]).contains("--html missing/a.html"));
    assert!(refused(at, &["--from", SAMPLE, "--svg", "list.json"]).contains("--svg list.json"));
    assert!(refused(at, &["--from", SAMPLE, "--d", "16"]).contains("cannot be used with"));
    assert!(refused(at, &["--from", SAMPLE, "--liberty", "x.lib"]).contains("cannot be used with"));
    assert!(refused(at, &["--from", SAMPLE, "--core", "--design fa2"]).contains("cannot be used with"));
    assert_eq!(std::fs::read_dir(at).unwrap().count(), 1);
}

#[test]
fn a_run_that_cannot_end_well_does_not_begin() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let text = refused(at, &["--d", "16", "--data", "none"]);
    assert!(text.contains("--data: none") && text.contains("--cycles 0"), "{text}");
    std::fs::create_dir(at.join("empty")).unwrap();
    assert!(refused(at, &["--d", "16", "--data", "empty"]).contains("--data: empty: holds no traces"));
    // With heads, given or bundled, or without power, the next thing that is missing is Yosys.
    let heads = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testbench/data");
    assert!(refused(at, &["--d", "16", "--data", heads]).contains("yosys was not found"));
    assert!(refused(at, &["--d", "16"]).contains("yosys was not found"));
    assert!(refused(at, &["--d", "16", "--cycles", "0"]).contains("yosys was not found"));
}

#[test]
fn cores_are_named_by_flags_or_file() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let core = |args: &[&str]| refused(at, &[&["--cycles", "0"], args].concat());
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../configs/fa2_bf16_d16.json");
    // Good ones come as far as the tools.
    assert!(
        core(&["--d", "16", "--core", "--design fa2", "--core", "--design flash-d --d 8"])
            .contains("yosys was")
    );
    assert!(core(&["--core", file, "--core", "--design flash-d --d 16"]).contains("yosys was"));
    assert!(
        core(&["--core", file, "--core", "--design fa2 --d 16"]).contains("fa2_bf16_d16 is there already")
    );
    assert!(core(&["--core", "--design fa2"]).contains("--core \"--design fa2\": --d is missing"));
    assert!(core(&["--core", "--design fa3"]).contains("invalid value 'fa3'"));
    assert!(core(&["--core", "--help"]).contains("--core \"--help\": unexpected argument"));
    assert!(core(&["--core", "--design fa2 --d 16 --hold static"]).contains("fa2 takes a threshold"));
    assert!(core(&["--core", "none.json"]).contains("none.json"));
    assert!(
        core(&["--core", "--design fa2", "--design", "fa2"])
            .contains("--design: --core takes --d and --format alone")
    );
}

/// Cores that cannot be mapped, for want of a flip-flop that the tools understand: rows with their errors, and exit code 1.
#[test]
fn cores_that_fail_are_rows_with_their_errors() {
    let osu018 = Path::new("/usr/share/qflow/tech/osu018/osu018_stdcells.lib");
    let installed = |tool: &str| Command::new(tool).arg("-V").output().is_ok();
    if !osu018.exists() || !installed("yosys") || !installed("sta") {
        eprintln!("skipped: it needs yosys, opensta and qflow-tech-osu018");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let text = std::fs::read_to_string(osu018).unwrap();
    assert!(text.contains("next_state : \"D\""));
    std::fs::write(at.join("broken.lib"), text.replace("next_state : \"D\"", "next_state : \"D * S\""))
        .unwrap();
    let run = |json: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_flashd"));
        let args = [
            "ppa",
            "--core",
            "--design flash-d",
            "--core",
            "--design fa2",
            "--d",
            "2",
            "--format",
            "fp8-e4m3",
        ];
        command.current_dir(at).args(args).args(["--liberty", "broken.lib", "--cache", "cache"]).args(json);
        let out = command.output().unwrap();
        let words = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(1), "{words}");
        assert!(words.contains("2 of 2 cores failed") && words.contains(" failed on "), "{words}");
        String::from_utf8(out.stdout).unwrap()
    };
    let table = run(&["--html", "report.html"]);
    for core in ["flash_d_fp8_e4m3_d2", "fa2_fp8_e4m3_d2"] {
        assert!(table.contains(&format!("{core} in osu018_stdcells failed: ")), "{table}");
    }
    assert!(std::fs::read_to_string(at.join("report.html")).unwrap().contains("Cores without figures"));
    let json: serde_json::Value = serde_json::from_str(&run(&["--json"])).unwrap();
    let errors = json.as_array().unwrap().iter().filter(|core| core["error"].is_string()).count();
    assert_eq!(errors, 2);
}
