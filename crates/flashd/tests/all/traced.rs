//! Emitted files name their program, and can be observed: origin, lists, waves, assertions.

use crate::common::printed_json;
use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

const NAME: &str = "flash_d_bf16_d4";

fn flashd(words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashd"));
    command.args(words.split_whitespace()).env_remove("FLASHD_REPRODUCIBLE");
    command
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.as_slice(), &output.stderr].concat()).into_owned()
}

/// The output of a command that must succeed.
fn done(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", said(&output));
    said(&output)
}

/// A small core with its testbench and assertions.
fn generated() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let words = "generate --quiet --design flash-d --d 4 --testbench ports --keys 60 --sva --out .";
    done(flashd(words).current_dir(folder.path()));
    folder
}

fn read(folder: &Path, file: &str) -> String {
    fs::read_to_string(folder.join(file)).unwrap()
}

#[test]
fn a_manifest_names_the_origin_of_its_verilog() {
    let folder = generated();
    let version = done(&mut flashd("--version"));
    let revision = version.trim().rsplit_once('(').unwrap().1.trim_end_matches(')').to_string();
    let manifest: serde_json::Value =
        serde_json::from_str(&read(folder.path(), &format!("{NAME}.json"))).unwrap();
    assert_eq!(manifest["revision"], revision.as_str());
    let command = manifest["command"].as_str().unwrap();
    assert!(command.starts_with("flashd generate --quiet --design flash-d --d 4 "), "{command}");
    let verilog = format!("{NAME}.v");
    assert!(read(folder.path(), &verilog).contains(&format!(" ({revision}).\n")));
    let digest = done(Command::new("sha256sum").current_dir(folder.path()).arg(&verilog));
    assert_eq!(manifest["sha256"][0].as_str(), digest.split(' ').next());
    // The same at every revision and in every folder.
    let again = tempfile::tempdir().unwrap();
    let words = format!("generate --json --design flash-d --d 4 --out {}", again.path().display());
    printed_json(flashd(&words).env("FLASHD_REPRODUCIBLE", "1").output().unwrap());
    let text = read(again.path(), &format!("{NAME}.json"));
    assert!(!text.contains("\"revision\"") && !text.contains("\"command\""), "{text}");
    assert_eq!(read(again.path(), &format!("{NAME}.f")), format!("{verilog}\n"));
    assert!(!read(again.path(), &verilog).contains(&format!("({revision})")));
}

#[test]
fn a_list_of_files_works_from_any_folder() {
    let (folder, elsewhere) = (generated(), tempfile::tempdir().unwrap());
    let list = folder.path().join(format!("{NAME}.f")).display().to_string();
    let at = |program: &str| {
        let mut command = Command::new(program);
        command.current_dir(elsewhere.path());
        command
    };
    done(at("iverilog").args(["-g2005", "-Wall", "-t", "null", "-c", &list]));
    for option in ["-f", "-F"] {
        done(at("verilator").args(["--lint-only", "-Wall", option, &list]));
    }
    done(at("bash").args(["-c", &format!("yosys -q -p \"read_verilog $(cat {list}); hierarchy -check\"")]));
}

/// The signals of a VCD, with their ranges.
fn signals(vcd: &str) -> HashSet<String> {
    let (mut scopes, mut names) = (Vec::new(), HashSet::new());
    for line in vcd.lines().take_while(|line| !line.contains("$enddefinitions")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["$scope", _, name, ..] => scopes.push(name.to_string()),
            ["$upscope", ..] => drop(scopes.pop()),
            ["$var", _, _, _, name, rest @ ..] => {
                let range = rest.first().filter(|word| word.starts_with('[')).copied().unwrap_or_default();
                names.insert(format!("{}.{name}{range}", scopes.join(".")));
            }
            _ => {}
        }
    }
    names
}

#[test]
fn the_testbench_writes_waves_whose_names_gtkwave_finds() {
    let folder = generated();
    let at = |program: &str| {
        let mut command = Command::new(program);
        command.current_dir(folder.path());
        command
    };
    let [bench, list] = [format!("{NAME}_tb"), format!("{NAME}.f")];
    done(at("iverilog").args([
        "-g2005",
        "-Wall",
        "-s",
        &bench,
        "-o",
        "tb.vvp",
        &format!("{bench}.v"),
        "-c",
        &list,
    ]));
    assert!(done(at("vvp").args(["-n", "tb.vvp"])).contains("TEST PASSED"));
    assert!(!folder.path().join(format!("{NAME}.vcd")).exists());
    assert!(done(at("vvp").args(["-n", "tb.vvp", "+waves"])).contains("TEST PASSED"));
    let known = signals(&read(folder.path(), &format!("{NAME}.vcd")));
    let save = read(folder.path(), &format!("{bench}.gtkw"));
    let shown: Vec<&str> = save.lines().filter(|line| !line.starts_with(['@', '[', '-', '*'])).collect();
    assert!(shown.len() > 15, "{save}");
    for name in shown {
        assert!(known.contains(name), "{name}");
    }
}

/// Runs a driver of the core with its assertions in Verilator; returns its output for each argument.
fn with_assertions(folder: &Path, arguments: &[&str]) -> Vec<String> {
    let driver = "`timescale 1ns/1ps\nmodule driver;
    reg clk = 0, rst = 1, q_valid = 0, k_valid = 0, k_last = 0;
    wire v_step, v_ren, o_valid, o_invalid;
    wire [63:0] o;
    flash_d_bf16_d4 dut (.clk(clk), .rst(rst), .q(64'd0), .q_valid(q_valid), .k(64'd0), .k_valid(k_valid),
        .k_last(k_last), .v_step(v_step), .v_ren(v_ren), .v(64'd0), .o(o), .o_valid(o_valid), .o_invalid(o_invalid));
    always #5 clk = ~clk;
    initial begin
        #22 rst = 0; q_valid = 1;
        #10 q_valid = 0; k_valid = 1;
        #10 if ($test$plusargs(\"bad\")) q_valid = 1;
        #10 q_valid = 0; k_last = 1;
        #10 k_valid = 0; k_last = 0;
        #200 $display(\"done\"); $finish;
    end
endmodule\n";
    fs::write(folder.join("driver.v"), driver).unwrap();
    let mut verilator = Command::new("verilator");
    verilator.current_dir(folder).args([
        "--binary",
        "--timing",
        "--assert",
        "-Wno-fatal",
        "--top-module",
        "driver",
    ]);
    verilator.args(["-MAKEFLAGS", "OPT_FAST=-O0", "-Mdir", "obj", "driver.v"]);
    done(verilator.args([format!("{NAME}.v"), format!("{NAME}_sva.sv")]));
    let run =
        |argument: &&str| said(&Command::new(folder.join("obj/Vdriver")).arg(argument).output().unwrap());
    arguments.iter().map(run).collect()
}

#[test]
fn assertions_find_a_bad_host_and_a_late_core() {
    let folder = generated();
    let [good, bad] = &with_assertions(folder.path(), &["+good", "+bad"])[..] else { panic!() };
    assert!(good.contains("done") && !good.contains("Assertion"), "{good}");
    assert!(bad.contains("flash_d_bf16_d4: q_valid after a query's first key"), "{bad}");
    let path = folder.path().join(format!("{NAME}.v"));
    let text = fs::read_to_string(&path).unwrap();
    let late = "reg late; always @(posedge clk) late <= result_done_q; assign o_valid = late;";
    let mutant = text.replacen("assign o_valid = result_done_q;", late, 1);
    assert_ne!(text, mutant);
    fs::write(&path, mutant).unwrap();
    let said = &with_assertions(folder.path(), &["+good"])[0];
    assert!(said.contains("o_valid is not 6 cycles after a last key"), "{said}");
}
