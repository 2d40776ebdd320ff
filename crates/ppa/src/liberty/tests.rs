use super::find::GateOutput;
use super::*;

const TINY: &str = r#"
/* Spellings that are found in real libraries. */
library ("tiny") {
  define ("origin", "cell", "string");
  time_unit : 1ns;
  voltage_unit : "1V";
  leakage_power_unit : "10nW";
  capacitive_load_unit (100, ff);
  nom_voltage : 1.5
  operating_conditions (cold) { voltage : 2.0; }
  default_operating_conditions : cold;
  default_wire_load : small;
  wire_load (small) { capacitance : 2; resistance : 1; slope : 5; fanout_length (1, 3); fanout_length (3, 7); }
  wire_load (large) { capacitance : 9; fanout_length (1, 1); }
  power_lut_template (load_first) {
    variable_1 : total_output_net_capacitance; variable_2 : input_transition_time;
    index_1 ("9, 10"); index_2 ("9, 10, 11");
  }
  power_lut_template (own) { variable_1 : input_transition_time; index_1 ("1, 3"); }
  cell (ND2) {
    area : 2.5;
    origin : "x; }";
    cell_leakage_power : 3;
    pg_pin (VSS) { pg_type : primary_ground; }
    leakage_power () { when : "A B'"; value : 4; related_pg_pin : VDD; }
    leakage_power () { when : "A B'"; value : 0; related_pg_pin : VSS; }
    pin (A, B) { direction : input; capacitance : 1; rise_capacitance : 1.5; fall_capacitance : 2.5; }
    pin ("Y") {
      direction : "output"; max_capacitance : 4; function : "(A B)'";
      internal_power () {
        related_pin : "A B"; when : "A&!B";
        rise_power (load_first) { index_1 ("1, 2"); index_2 ("0, 1, 2"); values ("0, 10, 20", \
          "100, 110, 120"); }
        fall_power (scalar) { values ("7"); }
      }
    }
  }
  cell (ND2_BIG) { area : 3; pin (A) { direction : input; } pin (B) { direction : input; }
    pin (Y) { direction : output; function : "!A + !B"; } }
  cell (FA) { area : 9; pin (CI) { direction : input; } pin (A) { direction : input; }
    pin (B) { direction : input; }
    pin (CON) { direction : output; function : "(!A * !B) + (!A * !CI) + (!B * !CI)"; }
    pin (SN) { direction : output; function : "!(A ^ B ^ CI)"; } }
  cell (DFF) { area : 7;
    ff ("IQ", "IQN") { clocked_on : "CK"; next_state : "!D"; clear : "RN'"; }
    pin (CK) { direction : input; clock : true;
      internal_power () { power (own) { values ("2, 6"); } } }
    pin (D) { direction : input; } pin (RN) { direction : input; }
    pin (QN) { direction : output; function : "IQ"; } }
  cell (TIE) { area : 1; pin (H) { direction : output; function : "1"; } }
  cell (RAM) { bus (Q) { bus_type : b4; pin (Q[3:0]) { direction : output; } } }
}
"#;

/// A depth of a million is refused with file and line; it must not overflow the stack.
#[test]
fn excessive_nesting_is_refused() {
    let error = |text: &str| Library::from_text(Path::new("deep.lib"), text).unwrap_err().to_string();
    let groups = "library (x) {\n".to_string() + &"a () {\n".repeat(30_000);
    assert_eq!(error(&groups), "deep.lib:65: a is inside of 64 groups, which is the limit");
    for deep in ["!", "(", "'", "A+", "A*", "A ", "A^", "(A)'"] {
        let function = format!("A{}A", deep.repeat(1_000_000));
        let text = error(&TINY.replace("!A + !B", &function));
        let place = "deep.lib: cell ND2_BIG of line 38: pin Y: function of line 39: \"";
        assert!(text.starts_with(place), "{deep}: {text}");
        assert!(
            text.contains("is not a Boolean function: more than 500 operators around each other"),
            "{text}"
        );
        assert!(text.len() < 250, "{} characters", text.len());
    }
    // Width without depth is accepted: two levels of parentheses around each of many operands.
    let wide = "((A))+".repeat(400) + "B";
    assert!(Library::from_text(Path::new("wide.lib"), &TINY.replace("!A + !B", &wide)).is_ok());
}

fn tiny() -> Library {
    Library::from_text(Path::new("tiny.lib"), TINY).unwrap()
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

#[test]
fn quantities_come_in_si_units() {
    let library = tiny();
    assert_eq!((library.name.as_str(), library.voltage, library.cells.len()), ("tiny", 2.0, 6));
    let cell = library.cell("ND2").unwrap();
    assert!(close(cell.pin("A").unwrap().capacitance, 2.0 * 100e-15));
    assert!(close(cell.pin("Y").unwrap().max_capacitance.unwrap(), 4.0 * 100e-15));
    assert!(close(cell.leakage.unconditional.unwrap(), 30e-9));
    assert_eq!(cell.leakage.conditional.len(), 1, "the ground's entry does not count");
    assert!(close(cell.leakage.conditional[0].1, 40e-9));
    assert_eq!(library.cell("RAM").unwrap().kind, CellFunction::Other);
}

#[test]
fn tables_are_interpolated_whatever_the_order_of_their_axes() {
    let library = tiny();
    let power = &library.cell("ND2").unwrap().pin("Y").unwrap().internal_power[0];
    assert_eq!(power.related_pins, ["A", "B"]);
    let energy = 100e-15;
    let rise = power.rise.as_ref().unwrap();
    // Load 1.5, transition 0.5: half-way between the rows 0 10 20 and 100 110 120.
    assert!(close(rise.at(0.5e-9, 150e-15), 55.0 * energy));
    assert!(close(rise.at(3e-9, 100e-15), 30.0 * energy), "goes on beyond the last point");
    assert!(close(power.fall.as_ref().unwrap().at(1.0, 1.0), 7.0 * energy));
    let clock = &library.cell("DFF").unwrap().pin("CK").unwrap().internal_power[0];
    assert!(close(clock.rise.as_ref().unwrap().at(2e-9, 0.0), 4.0 * energy));
    assert_eq!(clock.rise, clock.fall);
}

#[test]
fn the_default_wire_load_model_is_read() {
    let model = tiny().default_wire_load.unwrap();
    assert_eq!((model.name.as_str(), model.lengths.len()), ("small", 2));
    // Lengths 3, 5, 7 for one to three pins, then 5 for each; below the first by the slope, but never negative.
    let unit = 2.0 * 100e-15;
    for (pins, length) in [(0, 0.0), (1, 3.0), (2, 5.0), (3, 7.0), (5, 17.0)] {
        assert!((model.at(pins) - length * unit).abs() < 1e-20, "{pins} pins");
    }
    let text = |from: &str, to: &str| Library::from_text(Path::new("x.lib"), &TINY.replace(from, to));
    assert!(
        text("default_wire_load : small", "default_wire_load : none").unwrap().default_wire_load.is_none()
    );
    let error = text("fanout_length (3, 7)", "fanout_length (3)").unwrap_err().to_string();
    assert!(error.contains("wire_load small: fanout_length of line"), "{error}");
}

#[test]
fn clock_gates_for_the_rising_edge_are_known_by_their_pins() {
    let gate = |style: &str, more: &str| {
        let cell = format!(
            "cell (CG) {{ area : 1; clock_gating_integrated_cell : \"{style}\"; statetable (\"CK E\", \"L\") {{ }}\n\
             pin (CK) {{ direction : input; clock_gate_clock_pin : true; }} pin (E) {{ direction : input; \
             clock_gate_enable_pin : true; }} pin (L) {{ direction : internal; }} \
             pin (Q) {{ direction : output; clock_gate_out_pin : true; state_function : \"CK L\"; }} {more} }}\n}}"
        );
        let end = TINY.trim_end().strip_suffix('}').unwrap();
        Library::from_text(Path::new("tiny.lib"), &format!("{end}{cell}")).unwrap()
    };
    let test = "pin (T) { direction : input; clock_gate_test_pin : true; }";
    for (style, more, pins) in [
        ("latch_posedge", "", "E"),
        ("latch_posedge_precontrol", test, "E + T"),
        ("latch_posedge_postcontrol", test, "E + T"),
    ] {
        let library = gate(style, more);
        let (cell, found) = library.clock_gate().unwrap();
        assert_eq!((found.clock.as_str(), found.output.as_str()), ("CK", "Q"));
        let function = cell.pin("Q").unwrap().function.clone();
        assert_eq!(function, Some(Expression::parse(pins).unwrap()), "{style}");
    }
    // For the falling edge, with a second output, and with a pin of no known role.
    let observed = "pin (O) { direction : output; clock_gate_obs_pin : true; function : \"L\"; }";
    for (style, more) in [
        ("latch_negedge", ""),
        ("latch_posedge_precontrol_obs", observed),
        ("latch_posedge", "pin (X) { direction : input; }"),
    ] {
        let library = gate(style, more);
        assert_eq!(library.cell("CG").unwrap().kind, CellFunction::Other, "{style} {more}");
        assert!(library.clock_gate().is_none());
    }
}

#[test]
fn flip_flops_keep_their_functions() {
    let library = tiny();
    let flip_flop = library.cell("DFF").unwrap().flip_flop().unwrap();
    assert_eq!((flip_flop.state.as_str(), flip_flop.inverse.as_str()), ("IQ", "IQN"));
    let not = |name: &str| Expression::Not(Box::new(Expression::Pin(name.into())));
    assert_eq!((flip_flop.next_state.clone(), flip_flop.clear.clone()), (not("D"), Some(not("RN"))));
}

#[test]
fn cells_are_found_by_function() {
    let library = tiny();
    assert_eq!(library.nand2().unwrap().name, "ND2");
    assert_eq!(library.tie(true).map(|(cell, pin)| (cell.name.as_str(), pin)), Some(("TIE", "H")));
    assert!(library.tie(false).is_none() && library.inverters().is_empty());
    let adders = library.full_adders();
    assert_eq!(adders.len(), 1);
    let inverted = |pin: &str| GateOutput { pin: pin.into(), inverted: true };
    assert_eq!((&adders[0].sum, &adders[0].carry), (&inverted("SN"), &inverted("CON")));
}

#[test]
fn functions_follow_the_precedence_of_the_format() {
    let table = |text: &str| {
        let column = |name: &str| "ABC".find(name).map(|j| find::INPUT_COLUMNS[j]);
        Expression::parse(text).unwrap().evaluate(&column).unwrap()
    };
    let [a, b, c, ..] = find::INPUT_COLUMNS;
    assert_eq!(table("A B + C"), (a & b) | c);
    assert_eq!(table("A + B C'"), a | (b & !c));
    assert_eq!(table("A * B ^ C"), a & (b ^ c));
    assert_eq!(table("!(A|B)' & 1"), a | b);
    assert!(Expression::parse("A +").is_err() && Expression::parse("(A").is_err());
    assert!(Expression::parse("A ? B").unwrap_err().to_string().contains("character 3"));
}

#[test]
fn errors_name_the_file_and_the_place() {
    let message = |text: &str| Library::from_text(Path::new("x.lib"), text).unwrap_err().to_string();
    assert_eq!(message("library (a) {\n cell (b) {\n"), "x.lib:3: cell of line 2 has no closing \"}\"");
    assert!(message("library (a) { }").contains("capacitive_load_unit"));
    let bad = "library (a) { capacitive_load_unit (1, pf); nom_voltage : 1; \
               cell (b) { pin (C) { direction : output; function : \"A+\"; } } }";
    assert!(message(bad).contains("cell b of line 1: pin C: function of line 1"), "{}", message(bad));
}

#[test]
fn the_packaged_library_is_read_in_full() {
    let path = Path::new("/usr/share/qflow/tech/osu018/osu018_stdcells.lib");
    if !path.exists() {
        eprintln!("skipped: {} is missing (Debian package qflow-tech-osu018)", path.display());
        return;
    }
    let library = Library::read(path).unwrap();
    assert_eq!((library.cells.len(), library.voltage), (32, 1.8));
    assert_eq!(library.nand2().map(|cell| (cell.name.as_str(), cell.area)), Some(("NAND2X1", 24.0)));
    assert_eq!(library.full_adders()[0].cell, "FAX1");
    let flip_flop = library.cell("DFFPOSX1").unwrap();
    let clock = &flip_flop.pin("CLK").unwrap().internal_power[0];
    assert!(close(clock.fall.as_ref().unwrap().at(0.06e-9, 0.0), 0.11034e-12));
}

/// A library of some of TINY's cells, with a time unit.
fn part(cells: &[&str], time: &str) -> String {
    let head = &TINY[..TINY.find("  cell (").unwrap()];
    let all: Vec<&str> = TINY[TINY.find("  cell (").unwrap()..].split("\n  cell (").collect();
    let body = all.iter().map(|cell| cell.trim_start_matches("  cell (").trim_end().trim_end_matches("\n}"));
    let chosen = body.filter(|cell| cells.iter().any(|name| cell.starts_with(&format!("{name})"))));
    let chosen: String = chosen.map(|cell| format!("\n  cell ({cell}")).collect();
    format!("{}{chosen}\n}}\n", head.replace("1ns", time))
}

#[test]
fn parts_of_a_library_become_one() {
    let whole = Library::from_text(Path::new("tiny.lib"), TINY).unwrap();
    let names: Vec<&str> = whole.cells.iter().map(|cell| cell.name.as_str()).collect();
    assert!(names.len() >= 2);
    let files = |parts: &[String]| -> Vec<(PathBuf, String)> {
        parts.iter().enumerate().map(|(i, text)| (PathBuf::from(format!("{i}.lib")), text.clone())).collect()
    };
    let parts: Vec<String> = names.iter().map(|&name| part(&[name], "1.0 ns")).collect();
    let merged = merge(&files(&parts)).unwrap();
    let merged = Library::from_text(Path::new("merged.lib"), &merged).unwrap();
    assert_eq!(format!("{:?}", merged.cells), format!("{:?}", whole.cells));
    assert_eq!((merged.units, merged.voltage), (whole.units, whole.voltage));
    // One file is itself.
    let one = merge(&files(&[TINY.to_string()])).unwrap();
    assert_eq!(
        format!("{:?}", Library::from_text(Path::new("x"), &one).unwrap().cells),
        format!("{:?}", whole.cells)
    );
    let wrong = |parts: &[String]| merge(&files(parts)).unwrap_err().to_string();
    assert_eq!(
        wrong(&[part(&names[..1], "1ns"), part(&names[1..2], "1ps")]),
        "1.lib: time_unit 1ps is not that of 0.lib; only libraries of one corner go together"
    );
    assert_eq!(
        wrong(&[part(&names[..1], "1ns"), part(&names[..1], "1ns")]),
        format!("1.lib: cell {} is in 0.lib, too; name each file once", names[0])
    );
    let other = part(&names[1..2], "1ns").replace("index_1 (\"1, 3\")", "index_1 (\"1, 4\")");
    assert_eq!(
        wrong(&[part(&names[..1], "1ns"), other]),
        "1.lib: power_lut_template (own) is not that of 0.lib; only libraries of one corner go together"
    );
    assert_eq!(wrong(&["library (a) {".into()]), "0.lib:1: library of line 1 has no closing \"}\"");
}
