//! `flashd liberty merge` on files of ASAP7's structure: five kinds of cells, four of them packed, no semicolon after an area, driver waveforms of one
//! name, templates that other files do not have.

use crate::common::{printed_json, refusal};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output};

/// The published files of the typical corner with regular thresholds, and a cell of each.
const FILES: [(&str, &str); 5] = [
    ("asap7sc7p5t_SIMPLE_RVT_TT_nldm_211120.lib.gz", "NAND2x1_ASAP7_75t_R"),
    ("asap7sc7p5t_INVBUF_RVT_TT_nldm_220122.lib.gz", "INVx1_ASAP7_75t_R"),
    ("asap7sc7p5t_AO_RVT_TT_nldm_211120.lib.gz", "AO21x1_ASAP7_75t_R"),
    ("asap7sc7p5t_OA_RVT_TT_nldm_211120.lib.gz", "OA21x2_ASAP7_75t_R"),
    ("asap7sc7p5t_SEQ_RVT_TT_nldm_220123.lib", "DFFHQNx1_ASAP7_75t_R"),
];

/// A library of one cell; its numbers are made up.
const LIBRARY: &str = r#"/*
BSD 3-Clause License
*/

library (NAME) {
  comment : "";
  date : "$Date: NAME $";
  delay_model : table_lookup;
  capacitive_load_unit (1,ff);
  current_unit : "1mA";
  leakage_power_unit : "1pW";
  pulling_resistance_unit : "1kohm";
  time_unit : "1ps";
  voltage_unit : "1V";
  voltage_map (VDD, 0.7);
  voltage_map (VSS, 0);
  default_max_transition : TRANSITION;
  nom_process : 1;
  nom_temperature : 25;
  nom_voltage : 0.7;
  operating_conditions (PVT_0P7V_25C) {
    process : 1;
    temperature : 25;
    voltage : 0.7;
  }
  default_operating_conditions : PVT_0P7V_25C;
  lu_table_template (delay_template_2x2SUFFIX) {
    variable_1 : input_net_transition;
    variable_2 : total_output_net_capacitance;
    index_1 ("5, 10");
    index_2 ("0.72, 1.44");
  }
  normalized_driver_waveform (waveform_template_name) {
    driver_waveform_name : "PreDriver20.5:rise";
    values ( \
      "0, 6", \
      "0, 12" \
    );
  }
  normalized_driver_waveform (waveform_template_name) {
    driver_waveform_name : "PreDriver20.5:fall";
    values ( \
      "0, 5", \
      "0, 11" \
    );
  }
  cell (CELL) {
area : 0.08748END
    pg_pin (VDD) {
      pg_type : primary_power;
      voltage_name : "VDD";
    }
PINS  }
}
"#;
const TIMING: &str = r#"timing () {
        related_pin : "PIN";
        timing_type : KIND;
        cell_rise (delay_template_2x2SUFFIX) { values ("1, 2", "3, 4"); }
        cell_fall (delay_template_2x2SUFFIX) { values ("1, 2", "3, 4"); }
        rise_transition (delay_template_2x2SUFFIX) { values ("1, 2", "3, 4"); }
        fall_transition (delay_template_2x2SUFFIX) { values ("1, 2", "3, 4"); }
      }"#;
const FLIP_FLOP: &str = r#"    ff (IQN,IQNN) {
      clocked_on : "CLK";
      next_state : "!D";
    }
    pin (D) { direction : input; capacitance : 0.6; }
    pin (CLK) { direction : input; clock : true; capacitance : 0.5; }
    pin (QN) { direction : output; function : "IQN"; TIMING }
"#;
const GATE: &str = r#"    pin (A) { direction : input; capacitance : 0.6; }
    pin (B) { direction : input; capacitance : 0.7; }
    pin (Y) { direction : output; function : "!(A * B)"; TIMING }
"#;

fn library(file: &str, cell: &str) -> String {
    let name = file.split('.').next().unwrap();
    // Sequential cells have separate templates, and INVBUF has areas without semicolons.
    let (pins, suffix, pin, kind, transition) = match name.contains("SEQ") {
        true => (FLIP_FLOP, "", "CLK", "rising_edge", "320"),
        false => (GATE, "_x1", "A", "combinational", "4000"),
    };
    let end = if name.contains("INVBUF") { "" } else { ";" };
    [
        ("PINS", pins),
        ("TIMING", TIMING),
        ("NAME", name),
        ("CELL", cell),
        ("TRANSITION", transition),
        ("SUFFIX", suffix),
        ("END", end),
        ("PIN", pin),
        ("KIND", kind),
    ]
    .iter()
    .fold(LIBRARY.to_string(), |text, (from, to)| text.replace(from, to))
}

fn write(folder: &Path) {
    for (file, cell) in FILES {
        let text = library(file, cell);
        let bytes = match file.ends_with(".gz") {
            true => {
                let mut packed = GzEncoder::new(Vec::new(), Compression::default());
                packed.write_all(text.as_bytes()).unwrap();
                packed.finish().unwrap()
            }
            false => text.into_bytes(),
        };
        fs::write(folder.join(file), bytes).unwrap();
    }
}

fn merge(folder: &Path, words: &[&str]) -> Output {
    let files = FILES.map(|(file, _)| file);
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashd"));
    command.current_dir(folder).args(["liberty", "merge"]).args(files).args(words).output().unwrap()
}

#[test]
fn the_published_files_become_one() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path());
    let report = printed_json(merge(folder.path(), &["--out", "asap7.lib", "--json"]));
    assert_eq!((&report["files"], &report["cells"]), (&5.into(), &5.into()));
    let merged = fs::read_to_string(folder.path().join("asap7.lib")).unwrap();
    for (file, cell) in FILES {
        // Each cell as its file has it, and the templates that only the sequential ones need.
        let text = library(file, cell);
        let own = &text[text.find("cell (").unwrap()..text.rfind('}').unwrap()];
        assert_eq!(merged.matches(own.trim()).count(), 1, "{cell}");
    }
    for template in ["(delay_template_2x2) {", "(delay_template_2x2_x1) {"] {
        assert_eq!(merged.matches(&format!("lu_table_template {template}")).count(), 1, "{template}");
    }
    assert_eq!(merged.matches("normalized_driver_waveform").count(), 2);
}

#[test]
fn a_plain_file_with_a_packed_name_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path());
    let (file, cell) = FILES[2];
    fs::write(folder.path().join(file), library(file, cell)).unwrap();
    let text = refusal(merge(folder.path(), &["--out", "asap7.lib"]), &["liberty", "merge"]);
    assert!(text.contains(file) && text.contains("expected a gzip file"), "{text}");
    assert!(!folder.path().join("asap7.lib").exists());
}
