use super::conditions::Conditions;
use super::*;
use crate::figures::CorePart;
use crate::netlist::{Simulation, testing};
use flashd_simulator::Workload;
use flashd_spec::config::{ArrayConfig, CoreConfig, Design, FlashDVariant};
use flashd_spec::format::Format;
use workload::Feed;

/// 1 pF, V = 2 V: a toggle of a net with one pin is 2 pJ. Energies are constants in pJ.
const LIBRARY: &str = r#"library (small) {
  capacitive_load_unit (1, pf); nom_voltage : 2; leakage_power_unit : 1uW;
  cell (INV) { cell_leakage_power : 1;
    pin (A) { direction : input; capacitance : 1; }
    pin (Y) { direction : output; function : "!A";
      internal_power () { related_pin : "A"; rise_power (scalar) { values ("1"); } fall_power (scalar) { values ("3"); } } } }
  cell (ND) {
    leakage_power () { when : "A B"; value : 8; } leakage_power () { when : "!(A B)"; value : 4; }
    pin (A) { direction : input; capacitance : 1; } pin (B) { direction : input; capacitance : 2; }
    pin (Y) { direction : output; function : "!(A B)";
      internal_power () { related_pin : "A"; power (scalar) { values ("10"); } }
      internal_power () { related_pin : "B"; power (scalar) { values ("20"); } } } }
  cell (DF) { ff (IQ, IQN) { clocked_on : "CK"; next_state : "D"; } cell_leakage_power : 2;
    pin (CK) { direction : input; capacitance : 0.5; clock : true;
      internal_power () { rise_power (scalar) { values ("5"); } fall_power (scalar) { values ("7"); } } }
    pin (D) { direction : input; capacitance : 1;
      internal_power () { when : "!D"; power (scalar) { values ("100"); } }
      internal_power () { power (scalar) { values ("40"); } } }
    pin (Q) { direction : output; function : "IQ";
      internal_power () { related_pin : "CK"; power (scalar) { values ("30"); } } } }
}"#;

/// q <= !(a & !b).
const NETLIST: &str = r#"{"modules": {"top": {
  "ports": {"clk": {"direction": "input", "bits": [2]}, "a": {"direction": "input", "bits": [3]},
            "b": {"direction": "input", "bits": [4]}, "q": {"direction": "output", "bits": [7]}},
  "cells": {"i": {"type": "INV", "connections": {"A": [4], "Y": [5]}},
            "n": {"type": "ND", "connections": {"A": [3], "B": [5], "Y": [6]}},
            "f": {"type": "DF", "connections": {"CK": [2], "D": [6], "Q": [7]}}}}}}"#;

/// A clock gate, to be added to the library.
const CLOCK_GATE: &str = r#"cell (CG) { clock_gating_integrated_cell : "latch_posedge"; statetable ("CK E", "L") {}
    pin (CK) { direction : input; capacitance : 0.25; clock_gate_clock_pin : true;
      internal_power () { rise_power (scalar) { values ("1"); } fall_power (scalar) { values ("2"); } } }
    pin (E) { direction : input; capacitance : 1; clock_gate_enable_pin : true; }
    pin (L) { direction : internal; }
    pin (GCK) { direction : output; clock_gate_out_pin : true; state_function : "CK L";
      internal_power () { related_pin : "CK"; rise_power (scalar) { values ("6"); } fall_power (scalar) { values ("8"); } } } }
}"#;

/// Figures of the three gates, in uW.
fn three_gates(library: &str) -> PowerFigures {
    cells(library, NETLIST)
}

/// Figures of a netlist of these ports, in uW.
fn cells(library: &str, netlist: &str) -> PowerFigures {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("netlist.json");
    std::fs::write(&path, netlist).unwrap();
    let library = Library::from_text(Path::new("small.lib"), library).unwrap();
    let netlist = Netlist::read("top", &[&path], &library).unwrap();
    let mut simulation = Simulation::new(&netlist, 1);
    let mut conditions = Conditions::new(&netlist);
    let net = |name: &str| netlist.port(name).unwrap().nets[0];
    // Before: a = b = 0, !b = 1, the NAND 1, q 0.
    for (a, b) in [(1, 0), (1, 1), (0, 1), (1, 0)] {
        simulation.set(net("a"), a);
        simulation.set(net("b"), b);
        simulation.settle();
        conditions.sample(&netlist, &simulation);
        simulation.clock();
    }
    // a: 1 1 0 1, 3 toggles; b: 0 1 1 0, 2; !b: 1 0 0 1, 2; NAND: 0 1 1 0, 3 (from 1); q: 0 1 1 0, 2.
    let activity = Activity {
        cycles: 4,
        toggles: simulation.toggles().to_vec(),
        conditions,
        outputs_checked: 0,
        steps: (0, 0),
        glitches: None,
    };
    let report = PowerReport::new(&netlist, &library, &activity, 4e6);
    report.figures(&netlist, &|_| CorePart::Control, String::new(), &activity)
}

/// Without the last digits.
fn micro(milli: f64) -> f64 {
    (milli * 1e3 * 1e6).round() / 1e6
}

/// Half a pF on every net that drives a pin.
#[test]
fn the_wires_of_a_default_wire_load_model_are_charged() {
    let library = LIBRARY.replacen(
        "nom_voltage : 2;",
        "nom_voltage : 2; default_wire_load : w; wire_load (w) { capacitance : 1; fanout_length (1, 0.5); }",
        1,
    );
    let (with, without) = (three_gates(&library), three_gates(LIBRARY));
    assert_eq!(micro(with.switching), 2.0 * 5.0 + 3.0 * 3.0);
    assert_eq!(micro(with.internal), micro(without.internal));
}

#[test]
fn three_gates_as_computed_by_hand() {
    let figures = three_gates(LIBRARY);
    // 4 cycles at 4 MHz take 1 us: 1 pJ is 1 uW.
    // !b has a load of 2 pF, the NAND of 1 pF, q none.
    assert_eq!(micro(figures.switching), 2.0 * 4.0 + 3.0 * 2.0);
    // Inverter: (1 + 3) / 2 at 2 toggles. NAND: 3 toggles of A with 10, 2 of B with 20: 14 at 3 toggles. Flip-flop:
    // q 30 at 2 toggles; D is 0 in half of the samples: (100 + 40) / 2 at 3 toggles; clock 5 + 7 in 4 cycles.
    let internal = 2.0 * 2.0 + 14.0 * 3.0 + 30.0 * 2.0 + 70.0 * 3.0 + 12.0 * 4.0;
    assert_eq!(micro(figures.internal), internal);
    assert_eq!(micro(figures.clock_net), 4.0 * 0.5 * 4.0);
    // The NAND's inputs are both 1 in two of four cycles.
    assert_eq!(micro(figures.leakage), 1.0 + (8.0 + 4.0) / 2.0 + 2.0);
    assert_eq!(figures.by_part, [(CorePart::Control, figures.total)]);
    let sum = figures.switching + figures.internal + figures.clock_net + figures.leakage;
    assert!((figures.total - sum).abs() < 1e-9);
    assert_eq!(figures.activity, 7.0 / 3.0 / 4.0);
}

/// The flip-flop with a clock gate that lets an edge pass if a is 1: three of four.
#[test]
fn a_gated_clock_takes_power_in_the_cycles_in_which_it_runs() {
    let library = format!("{}{CLOCK_GATE}", LIBRARY.strip_suffix('}').unwrap());
    let gate = r#""g": {"type": "CG", "connections": {"CK": [2], "E": [3], "GCK": [8]}}, "f""#;
    let netlist = NETLIST.replace("\"f\"", gate).replace(r#""CK": [2], "D""#, r#""CK": [8], "D""#);
    let (with, without) = (cells(&library, &netlist), three_gates(LIBRARY));
    // q is 0 1 1 0 with the gate, too: it keeps its 1 at the third edge. The clock pin's 5 + 7 come three times.
    let gate_itself = 4.0 * (1.0 + 2.0) + 3.0 * (6.0 + 8.0);
    assert_eq!(micro(with.internal), micro(without.internal) - 12.0 + gate_itself);
    assert_eq!(micro(with.clock_net), 3.0 * 0.5 * 4.0 + 4.0 * 0.25 * 4.0);
    assert_eq!(micro(with.switching), micro(without.switching));
}

fn options(cycles: usize) -> PowerOptions {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testbench/data");
    PowerOptions { clock_mhz: 100.0, cycles, glitches: 0, streams: STREAMS, data }
}

#[test]
fn streams_carry_rows_of_the_right_or_the_nearest_width() {
    for (d, words) in
        [(16, "bytes_math-d16"), (128, "2 heads of d = 64"), (10, "the first 10 of 16"), (256, "d256")]
    {
        let config = CoreConfig::new(Design::FlashD, d, Format::BF16);
        let streams = workload::streams(&config.clone().into(), &options(50)).unwrap();
        assert!(streams.description.contains(words), "{}", streams.description);
        let workloads: Vec<&Workload> = streams
            .feeds
            .iter()
            .map(|feed| match feed {
                Feed::Core(workload) => workload,
                Feed::Array(_) => panic!("a core gets no blocks"),
            })
            .collect();
        assert_eq!(workloads.len(), STREAMS);
        for workload in &workloads {
            assert!(workload.steps() >= 50 + warm_up(&config.clone().into()));
            assert!(
                workload.queries.iter().all(|query| query.q.len() == d && query.keys * d <= workload.k.len())
            );
            assert_eq!((workload.words.k, workload.v.len()), (d, workload.k.len()));
        }
        let first_rows: std::collections::HashSet<_> =
            workloads.iter().map(|workload| &workload.queries[0].q).collect();
        let different = if d == 256 { 24 } else { STREAMS };
        assert_eq!(first_rows.len(), different, "d = {d}: every stream starts at another row");
    }
}

#[test]
fn options_that_make_no_sense_are_named() {
    let config = CoreConfig::new(Design::FlashD, 4, Format::FP8_E4M3);
    let folder = tempfile::tempdir().unwrap();
    let library = Library::from_text(Path::new("small.lib"), LIBRARY).unwrap();
    let path = folder.path().join("netlist.json");
    std::fs::write(&path, NETLIST).unwrap();
    let netlist = Netlist::read("top", &[&path], &library).unwrap();
    let message = |change: &dyn Fn(&mut PowerOptions)| {
        let mut options = options(10);
        change(&mut options);
        simulate(&config.clone().into(), &netlist, &library, &options, &mut |_, _, _| {})
            .unwrap_err()
            .to_string()
    };
    assert!(message(&|o| o.clock_mhz = 0.0).starts_with("clock: 0 MHz"));
    assert!(message(&|o| o.cycles = 0).starts_with("cycles: "));
    assert!(message(&|o| o.streams = 65).starts_with("streams: 65 is outside 1 to 64"));
    assert!(message(&|o| o.data = folder.path().into()).contains("holds no traces"));
    assert!(message(&|_| ()).contains("port rst: is missing"));
}

#[test]
fn a_mapped_core_agrees_with_the_model_and_a_wrong_one_does_not() {
    let config = CoreConfig {
        datapath: FlashDVariant::Rounded.into(),
        ..CoreConfig::new(Design::FlashD, 4, Format::FP8_E4M3)
    };
    let Some(mapped) = testing::map_core(&config) else { return };
    let netlist = mapped.netlist();
    // With delays every one of these cycles ends as without, or the simulation fails.
    let options = PowerOptions { glitches: 20 * STREAMS, ..options(60) };
    let mut cycles = 0;
    let (activity, _) =
        simulate(&config.clone().into(), &netlist, &mapped.library, &options, &mut |_, _, _| cycles += 1)
            .unwrap();
    assert_eq!(cycles, 60 + warm_up(&config.clone().into()));
    // One comparison of o_valid for each cycle and stream, and more for results.
    assert!(activity.outputs_checked > 60 * 64);
    let report = PowerReport::new(&netlist, &mapped.library, &activity, 100e6);
    let figures = report.figures(&netlist, &crate::synthesis::part, String::new(), &activity);
    let parts: f64 = figures.by_part.iter().map(|(_, power)| power).sum();
    assert!((parts / figures.total - 1.0).abs() < 1e-9);
    assert!(figures.switching > 0.0 && figures.internal > 0.0 && figures.leakage > 0.0);
    let part = crate::synthesis::part;
    let glitches = PowerReport::with_glitches(&netlist, &mapped.library, &activity, 100e6, &part).unwrap();
    assert_eq!(glitches.cycles, 20 * STREAMS as u64);
    // A third of the cycles is a sample of all, and adders glitch.
    assert!(
        (glitches.zero_delay / figures.total - 1.0).abs() < 0.05,
        "{} {}",
        glitches.zero_delay,
        figures.total
    );
    assert!(glitches.factor() > 1.2 && glitches.activity > figures.activity, "{}", glitches.factor());
    assert_eq!(glitches.heads.iter().map(|head| head.cycles).sum::<u64>(), glitches.cycles);
    // Only nearly equal: each head's toggles weight its energy tables.
    let mean = glitches.heads.iter().map(|head| head.glitches * head.cycles as f64).sum::<f64>();
    assert!((mean / glitches.cycles as f64 / (1e3 * glitches.total / 100.0) - 1.0).abs() < 0.01);
    // One wrong gate in the adder of a lane.
    let text = std::fs::read_to_string(&mapped.json).unwrap();
    let lane = text.find("_sub_finite\": {").unwrap();
    let wrong = text[lane..].replacen("\"XOR2X1\"", "\"XNOR2X1\"", 1);
    std::fs::write(&mapped.json, format!("{}{wrong}", &text[..lane])).unwrap();
    let error =
        simulate(&config.clone().into(), &mapped.netlist(), &mapped.library, &options, &mut |_, _, _| {})
            .unwrap_err();
    assert!(matches!(error, PowerError::Mismatch { .. }), "{error}");
}

#[test]
#[ignore = "a quarter of a minute: cargo test -p flashd-ppa -- --ignored"]
fn a_mapped_array_agrees_with_the_model() {
    for masks in [false, true] {
        let core = CoreConfig { masks, ..CoreConfig::new(Design::FlashD, 3, Format::FP8_E4M3) };
        let array = ArrayConfig { key_index_bits: masks.then_some(9), ..ArrayConfig::new(core, 3) };
        let Some(mapped) = testing::map_array(&array) else { return };
        let target = array.into();
        let mut cycles = 0;
        let (activity, words) =
            simulate(&target, &mapped.netlist(), &mapped.library, &options(90), &mut |_, _, _| cycles += 1)
                .unwrap();
        assert_eq!(cycles, 90 + warm_up(&target));
        // q_ready, k_ready and o_valid for each cycle and stream, and more for results.
        assert!(activity.outputs_checked > 3 * 90 * 64, "{}", activity.outputs_checked);
        assert!(words.contains("blocks of 3 queries"), "{words}");
    }
}
