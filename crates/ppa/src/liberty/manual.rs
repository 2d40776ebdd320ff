//! The Liberty manual's spellings: each is used, harmless, or refused with its line. The libraries are made for these tests.

use super::*;

/// A library with a NAND and an inverter; `UNITS` and `MORE` are replaced.
const PLAIN: &str = r#"library (plain) {
  UNITS
  nom_voltage : 1.2;
  lu_table_template (two) { variable_1 : input_net_transition; variable_2 : total_output_net_capacitance;
    index_1 ("1, 2"); index_2 ("1, 3"); }
  cell (NAND) { area : 4; pin (A, B) { direction : input; capacitance : 2; }
    pin (Y) { direction : output; function : "!(A B)"; max_capacitance : 8;
      timing () { related_pin : "A B"; timing_sense : negative_unate;
        cell_rise (two) { values ("1, 2", "3, 4"); } cell_fall (scalar) { values ("5"); } } } }
  cell (INV) { area : 3; pin (A) { direction : input; } pin (Y) { direction : output; function : "A'"; } }
  MORE
}
"#;
const NANOSECONDS: &str = "time_unit : \"1ns\"; capacitive_load_unit (1, pf);";

fn text(units: &str, more: &str) -> String {
    PLAIN.replace("UNITS", units).replace("MORE", more)
}

fn read(text: &str) -> Result<Library, String> {
    Library::from_text(Path::new("x.lib"), text).map_err(|e| e.to_string())
}

fn with(units: &str, more: &str) -> Result<Library, String> {
    read(&text(units, more))
}

fn usable(library: &Library) -> Vec<&str> {
    library.cells.iter().filter(|cell| cell.is_usable()).map(|cell| cell.name.as_str()).collect()
}

fn close(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < 1e-9
}

#[test]
fn every_spelling_of_a_unit_is_read() {
    for (time, seconds) in [
        ("\"1ns\"", 1e-9),
        ("1ns", 1e-9),
        ("\"100ps\"", 1e-10),
        ("10ps", 1e-11),
        ("\"1.0 ps\"", 1e-12),
        ("\"0.1ns\"", 1e-10),
    ] {
        for (load, farads, spelled) in [
            ("1, pf", 1e-12, "(1, pf)"),
            ("1.000000, \"pf\"", 1e-12, "(1, pf)"),
            ("1, ff", 1e-15, "(1, ff)"),
            ("1000, ff", 1e-12, "(1, pf)"),
            ("0.1, PF", 1e-13, "(100, ff)"),
            ("1e2,fF", 1e-13, "(100, ff)"),
        ] {
            let text = text(&format!("time_unit : {time}; capacitive_load_unit ({load});"), "");
            let library = read(&text).unwrap();
            let is_right = |units: Units| close(units.time, seconds) && close(units.capacitance, farads);
            assert!(is_right(library.units), "{time} {load}");
            let text = library.prepared(Path::new("x.lib"), &text).unwrap();
            assert!(text.contains(&format!("capacitive_load_unit {spelled};")), "{text}");
            assert!(is_right(read(&text).unwrap().units), "{text}");
        }
    }
    for (units, problem) in [
        ("time_unit : \"1us\"; capacitive_load_unit (1, pf);", "line 2: time_unit: Liberty has 1ps"),
        ("time_unit : \"0ns\"; capacitive_load_unit (1, pf);", "line 2: time_unit is \"0ns\"; a unit above"),
        ("time_unit : \"1\"; capacitive_load_unit (1, pf);", "line 2: time_unit is \"1\", which has no unit"),
        ("capacitive_load_unit (-1, pf);", "line 2: capacitive_load_unit"),
        ("capacitive_load_unit (1);", "line 2: capacitive_load_unit"),
        ("leakage_power_unit : \"infnW\"; capacitive_load_unit (1, pf);", "line 2: leakage_power_unit"),
        ("", "has no capacitive_load_unit"),
    ] {
        let e = with(units, "").unwrap_err();
        assert!(e.contains(problem), "{units}: {e}");
    }
}

/// Each of these is smaller than the gate that it could replace.
#[test]
fn special_cells_are_no_gates() {
    let pins = "pin (A, B) { direction : input; } pin (Y) { direction : output; function : \"!(A B)\"; }";
    let supplies = |kinds: &[&str]| -> String {
        let pin = |(i, kind)| format!("pg_pin (P{i}) {{ pg_type : {kind}; }} ");
        kinds.iter().enumerate().map(pin).collect()
    };
    let other = |from: &str, to: &str| pins.replace(from, to);
    let of_state = other("!(A B)", "Q");
    for (name, body) in [
        ("USE", format!("dont_use : true; {pins}")),
        ("QUOTED", format!("dont_use : \"TRUE\"\n {pins}")),
        ("TOUCH", format!("dont_touch : true; {pins}")),
        ("SHIFTER", format!("is_level_shifter : true; {pins}")),
        ("ISOLATION", format!("is_isolation_cell : true; {pins}")),
        ("ENABLED", other("input;", "input; isolation_cell_enable_pin : true;")),
        ("ON", format!("always_on : true; {pins}")),
        ("MACRO", format!("is_macro_cell : true; {pins}")),
        ("PAD", format!("pad_cell : true; {pins}")),
        ("SWITCH", format!("switch_cell_type : coarse_grain; {pins}")),
        ("TWO", supplies(&["primary_power", "primary_power", "primary_ground"]) + pins),
        ("BACKUP", supplies(&["primary_power", "backup_power", "primary_ground"]) + pins),
        ("GROUND", supplies(&["primary_power", "primary_ground", "internal_ground"]) + pins),
        (
            "RELATED",
            other("input;", "input; related_power_pin : V;")
                .replace("output;", "output; related_power_pin : W;"),
        ),
        ("sky130_fd_sc_hd__lpflow_inputiso0n_1", pins.to_string()),
        ("ZERO", format!("area : 0; {pins}")),
        ("OFF", other("function", "three_state : \"A\"; function")),
        ("BOTH", format!("{pins} pin (Z) {{ direction : inout; function : \"A\"; }}")),
        ("LATCH", format!("latch (Q, QN) {{ enable : \"A\"; data_in : \"B\"; }} {of_state}")),
        ("STATES", format!("statetable (\"A\", \"S\") {{ table : \"L : - : N\"; }} {pins}")),
        ("BUS", format!("bus (D) {{ bus_type : b; direction : input; }} {pins}")),
        ("BUNDLE", format!("bundle (D) {{ members (D1, D2); direction : input; }} {pins}")),
        ("ODD", format!("{pins} pin (Z) {{ capacitance : 1; }}")),
        (
            "MASTER",
            format!("ff (Q, QN) {{ clocked_on : A; clocked_on_also : B; next_state : B; }} {of_state}"),
        ),
        ("BARE", format!("ff (Q, QN) {{ clear : A; }} {of_state}")),
        ("BANK", format!("ff_bank (Q, QN, 4) {{ clocked_on : A; next_state : B; }} {of_state}")),
        ("NOTHING", pins.to_string()),
    ] {
        let area = if name == "NOTHING" || name == "ZERO" { "" } else { "area : 1;" };
        let text = text(NANOSECONDS, &format!("cell ({name}) {{ {area} {body} }}"));
        let library = read(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(library.cells.len(), 3, "{name}");
        assert_eq!(usable(&library), ["NAND", "INV"], "{name}");
        assert_eq!(library.nand2().unwrap().name, "NAND", "{name}");
        // Kinds that no tool maps to stay in the text.
        let shown = library.prepared(Path::new("x"), &text).unwrap().contains(&format!("({name})"));
        assert_eq!(shown, name == "OFF" || name == "LATCH", "{name}");
    }
    // No reasons: the usual supplies and wells, several outputs, asynchronous pins of both kinds.
    let more = format!(
        "cell (WELLS) {{ area : 5; {} {pins} }} \
         cell (HALF) {{ area : 9; pin (A, B) {{ direction : input; }} \
           pin (S) {{ direction : output; function : \"A^B\"; }} \
           pin (C) {{ direction : output; function : \"A&B\"; }} }} \
         cell (DFF) {{ area : 9; ff (Q, QN) {{ clocked_on : \"C\"; next_state : \"D\"; clear : \"R'\"; \
           preset : \"S'\"; clear_preset_var1 : L; }} pin (C, D, R, S) {{ direction : input; }} \
           pin (O) {{ direction : output; function : \"Q\"; }} }}",
        supplies(&["primary_power", "primary_ground", "pwell", "nwell"])
    );
    let library = with(NANOSECONDS, &more).unwrap();
    assert_eq!(usable(&library), ["NAND", "INV", "WELLS", "HALF", "DFF"]);
    let mut without = library.clone();
    assert_eq!(without.leave_out(&glob::Pattern::new("[HW]*").unwrap()), 2);
    assert_eq!(usable(&without), ["NAND", "INV", "DFF"]);
}

#[test]
fn errors_name_the_line() {
    let table = |table: &str| {
        format!("cell (C) {{ pin (A) {{ direction : output; timing () {{\n cell_rise {table} }} }} }}")
    };
    let pin = |pin: &str| format!("cell (C) {{ pin (A) {{ {pin} }} }}");
    for (more, problem) in [
        ("\ninclude_file (\"other.lib\");".into(), "x.lib:12: include_file (other.lib)"),
        ("cell (C) {\n area : nan; }".into(), "line 12: area: \"nan\" is not a number"),
        ("cell (C) {\n area : 1e400; }".into(), "line 12: area"),
        ("cell (C) {\n area : inf; }".into(), "line 12: area"),
        ("cell (C) { area : -3; }".into(), "cell C of line 11: area: -3 is below 0"),
        ("cell (C) {\n area : ; }".into(), "line 12: area"),
        ("cell (INV) { area : 1; }".into(), "cell INV of line 11 is there twice, first on line 10"),
        (
            "cell (C) { pin (A) { direction : input; }\n pin (A) { direction : input; } }".into(),
            "pin A of line 12 is there twice",
        ),
        (pin("direction : input;\n capacitance : 1pf;"), "line 12: capacitance: \"1pf\""),
        (pin("direction : output;\n function : \"A ? B\";"), "function of line 12"),
        (table("(two) { values (\"1, 2, 3\"); }"), "cell_rise (two) of line 12: 3 values for 4 points"),
        (table("(two) { index_1 (\"2, 1\"); values (\"1, 2, 3, 4\"); }"), "of line 12: the points [2"),
        (table("(scalar) { values (\"nan\"); }"), "of line 12: values: \"nan\""),
        (table("(scalar) { }"), "of line 12: no values"),
        ("}\nlibrary (second) { ".into(), "x.lib:12: a second library, second"),
        ("comment : \"no end;\n".into(), "without closing quotes"),
        ("/* no end\n".into(), "x.lib:11: a comment without end"),
    ] {
        let e = with(NANOSECONDS, &more).unwrap_err();
        assert!(e.contains(problem) && e.starts_with("x.lib"), "{more}: {e}");
    }
    assert!(with(NANOSECONDS, "cell (C) { area : 1 ; pin (Y) { direction : output; } };").is_ok());
}

/// The same library with each blank, comment, quote and line end that the manual has a use for.
#[test]
fn every_spelling_is_the_same_library() {
    let plain = text(NANOSECONDS, "");
    let expected = read(&plain).unwrap();
    let after = |from: &str, more: &str| plain.replace(from, &format!("{from} {more}"));
    let spellings = [
        plain.replace('\n', "\r\n"),
        format!("\u{feff}{plain}"),
        plain.replace("area : 4;", "area\n :\n /* unit */ 4.0e0 /* um2\n */\n"),
        plain.replace("area : 4;", "area : 4/*um2*/;// end"),
        plain.replace("\"1, 2\", \"3, 4\"", "\\\n \"1,2\", \\  \n \"3  4\" \\\n"),
        plain.replace("\"1, 2\", \"3, 4\"", "\"1, 2, \\\n 3, \\ \t\r\n 4\""),
        plain.replace("cell (NAND) {", "cell\n(\n\"NAND\"\n)\n/* a gate */\n{"),
        plain.replace("direction : input;", "direction : \"input\"\n"),
        plain.replace("index_2 (\"1, 3\"); }", "index_2 (\"1, 3\") }"),
        plain.replace("(A B)", "(A&B)").replace("A'", "(!(A))"),
        after("nom_voltage : 1.2;", "comment : \"quoted \\\"cell (X) {\\\" ; }\"; date : ;"),
        after(
            "nom_voltage : 1.2;",
            "define (a, cell, string); define_group (g, cell); k_process_cell_rise : 0.1; nom_process : 1; \
             nom_temperature : 25; voltage_map (VDD, 1.2); library_features (report_delay_calculation); \
             technology (cmos); unknown (1, \"2\") { deep () { deeper : 1; } list (1, 2) } \
             slew_derate_from_library : 0.5; input_voltage (i) { vil : 0.3 * VDD ; vih : VDD + 0.3; } \
             type (b) { base_type : array; bit_width : 4; }",
        ),
        after(
            "cell (NAND) {",
            "a : \"x\"; g () { x : 1; } pin_opposite (\"A\", \"B\"); pg_pin (V) { pg_type : primary_power; }",
        ),
        plain.replace(
            "timing_sense :",
            "sdf_cond : \"A == 1'b0\"; timing_type : combinational; timing_sense :",
        ),
    ];
    for spelling in spellings {
        let library = read(&spelling).unwrap_or_else(|e| panic!("{e}: {spelling}"));
        let delay = |library: &Library| {
            let cell = library.cell("NAND").unwrap();
            let arc = &cell.pin("Y").unwrap().arcs[0];
            assert_eq!((cell.area, arc.sense, arc.related_pins.len()), (4.0, Sense::Negative, 2));
            arc.rise.delay.clone().unwrap()
        };
        assert_eq!(delay(&library), delay(&expected), "{spelling}");
        assert_eq!(usable(&library), ["NAND", "INV"], "{spelling}");
        let text = library.prepared(Path::new("x.lib"), &spelling).unwrap();
        let again = read(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
        let column = |name: &str| "AB".find(name).map(|j| INPUT_COLUMNS[j]);
        for name in ["NAND", "INV"] {
            let [a, b] = [&again, &library].map(|library| {
                let function = library.cell(name).unwrap().pin("Y").unwrap().function.clone();
                function.unwrap().evaluate(&column)
            });
            assert!(a.is_some() && a == b, "{text}");
        }
        assert_eq!(delay(&again), delay(&expected), "{text}");
    }
}

#[test]
fn tables_of_any_shape_are_read_or_left_out() {
    const TEMPLATES: &str = r#"
        lu_table_template (swapped) { variable_1 : total_output_net_capacitance; variable_2 : input_net_transition;
          index_1 ("1, 2, 3"); index_2 ("1, 2"); }
        lu_table_template (one) { variable_1 : input_net_transition; index_1 ("1, 2"); }
        power_lut_template (both) { variable_1 : input_transition_time; index_1 ("1, 2"); }
        lu_table_template (both) { variable_1 : total_output_net_capacitance; index_1 ("1, 2"); }
        lu_table_template (three) { variable_1 : input_net_transition; variable_2 : total_output_net_capacitance;
          variable_3 : related_out_total_output_net_capacitance;
          index_1 ("1, 2"); index_2 ("1, 2"); index_3 ("1, 2"); }"#;
    let pin = |tables: &str| {
        let cell = format!(
            "{TEMPLATES} cell (C) {{ area : 1; pin (A) {{ direction : input; }} \
             pin (Y) {{ direction : output; function : \"A\"; {tables} }} }}"
        );
        let library = with(NANOSECONDS, &cell).unwrap();
        (library.cell("C").unwrap().pin("Y").unwrap().clone(), library.ignored_tables)
    };
    let delay = |table: &str| {
        let (pin, ignored) = pin(&format!("timing () {{ related_pin : \"A\"; cell_rise {table} }}"));
        (pin.arcs.first().and_then(|arc| arc.rise.delay.clone()), ignored)
    };
    let (ns, pf) = (1e-9, 1e-12);
    let at = |table: &str, transition: f64, load: f64| {
        (delay(table).0.unwrap().at(transition * ns, load * pf) / ns * 1e6).round() / 1e6
    };
    let swapped = "(swapped) { values (\"1, 2\", \"3, 4\", \"5, 6\"); }";
    assert_eq!([at(swapped, 1.0, 1.0), at(swapped, 2.0, 1.0), at(swapped, 1.0, 3.0)], [1.0, 2.0, 5.0]);
    assert_eq!(at("(one) { values (\"1, 3\"); }", 1.5, 7.0), 2.0);
    assert_eq!(at("(one) { index_1 (\"10, 20\"); values (\"1, 3\"); }", 15.0, 7.0), 2.0);
    assert_eq!(at("(scalar) { values (\"7\"); }", 1.0, 1.0), 7.0);
    assert_eq!(at("(\"scalar\") { values (7.0e0); }", 1.0, 1.0), 7.0);
    // Timing and power templates may share a name.
    assert_eq!(at("(both) { values (\"1, 3\"); }", 9.0, 1.5), 2.0);
    let (power, _) = pin("internal_power () { rise_power (both) { values (\"1, 3\"); } }");
    let rise = power.internal_power[0].rise.as_ref().unwrap();
    assert!(close(rise.at(1.5 * ns, 9.0 * pf), 2.0 * pf));
    for unknown in [
        "(three) { values (\"1, 2, 3, 4\", \"5, 6, 7, 8\"); }",
        "(nowhere) { index_1 (\"1, 2\"); values (\"1, 2\"); }",
    ] {
        assert_eq!(delay(unknown), (None, 1), "{unknown}");
    }
}
