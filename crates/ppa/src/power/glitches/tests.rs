use super::*;
use crate::netlist::Simulation;
use std::path::Path;

/// An inverter of 10 ps, a slow one of 100 ps, a NAND of 5 ps, an exclusive or whose rising edge takes 20 ps, a falling
/// one 30 ps, and another 7 ps if the other input is 1; a flip-flop of 50 ps. Loads and transitions do not matter.
const LIBRARY: &str = r#"library (timed) {
  time_unit : 1ps; capacitive_load_unit (1, pf); nom_voltage : 1;
  cell (INV) { pin (A) { direction : input; } pin (Y) { direction : output; function : "!A";
    timing () { related_pin : "A"; timing_sense : negative_unate;
      cell_rise (scalar) { values ("10"); } cell_fall (scalar) { values ("10"); } } } }
  cell (SLOW) { pin (A) { direction : input; } pin (Y) { direction : output; function : "!A";
    timing () { related_pin : "A"; timing_sense : negative_unate;
      cell_rise (scalar) { values ("100"); } cell_fall (scalar) { values ("100"); } } } }
  cell (ND) { pin (A, B) { direction : input; } pin (Y) { direction : output; function : "!(A B)";
    timing () { related_pin : "A B"; timing_sense : negative_unate;
      cell_rise (scalar) { values ("5"); } cell_fall (scalar) { values ("5"); } } } }
  cell (XR) { pin (A, B) { direction : input; } pin (Y) { direction : output; function : "A ^ B";
    timing () { related_pin : "A B"; timing_sense : non_unate;
      cell_rise (scalar) { values ("20"); } cell_fall (scalar) { values ("30"); } }
    timing () { related_pin : "A"; when : "B"; timing_sense : negative_unate;
      cell_rise (scalar) { values ("7"); } cell_fall (scalar) { values ("7"); } } } }
  cell (DF) { ff (IQ, IQN) { clocked_on : "CK"; next_state : "D"; }
    pin (CK) { direction : input; clock : true; } pin (D) { direction : input; }
    pin (Q) { direction : output; function : "IQ";
      timing () { related_pin : "CK"; timing_type : rising_edge;
        cell_rise (scalar) { values ("50"); } cell_fall (scalar) { values ("50"); } } } }
}"#;

/// q <= d; y = gate(q, inverter(q)).
fn netlist(inverter: &str, gate: &str) -> Netlist {
    let json = format!(
        r#"{{"modules": {{"top": {{
          "ports": {{"clk": {{"direction": "input", "bits": [2]}}, "d": {{"direction": "input", "bits": [3]}},
                    "y": {{"direction": "output", "bits": [6]}}}},
          "cells": {{"f": {{"type": "DF", "connections": {{"CK": [2], "D": [3], "Q": [4]}}}},
                    "i": {{"type": "{inverter}", "connections": {{"A": [4], "Y": [5]}}}},
                    "g": {{"type": "{gate}", "connections": {{"A": [4], "B": [5], "Y": [6]}}}}}}}}}}}}"#
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("netlist.json");
    std::fs::write(&path, json).unwrap();
    Netlist::read("top", &[&path], &library()).unwrap()
}

fn library() -> Library {
    Library::from_text(Path::new("timed.lib"), LIBRARY).unwrap()
}

/// Toggles of y in each of the cycles after d was 1, 0, 1, and when everything was at rest.
fn toggles_of_y(inverter: &str, gate: &str) -> (Vec<u32>, Vec<u32>) {
    let netlist = netlist(inverter, gate);
    let timed = Timed::new(&netlist, &library()).unwrap();
    let (d, y) = (netlist.port("d").unwrap().nets[0], netlist.port("y").unwrap().nets[0]);
    let mut simulation = Simulation::new(&netlist, 1);
    let (mut toggles, mut settled) = (Vec::new(), Vec::new());
    for value in [1, 0, 1] {
        simulation.set(d, value);
        simulation.settle();
        let mut counter = GlitchCounter::new(&timed, &netlist, &["head".to_string()], 1);
        counter.before(simulation.values());
        simulation.clock();
        simulation.settle();
        assert_eq!(counter.after(simulation.values()), None);
        let activity = counter.finish(netlist.nets);
        toggles.push(activity.heads[0].toggles[y as usize]);
        settled.push(activity.settled);
        // Whatever the delays, q and its inverse toggle once, y not at all.
        assert_eq!(activity.heads[0].zero_delay.iter().sum::<u32>(), 2);
    }
    (toggles, settled)
}

#[test]
fn a_pulse_longer_than_the_gate_takes_comes_out() {
    // q rises at 50, its inverse falls at 60: both are 1 for 10 ps, and the NAND takes 5. q falls first: never both.
    assert_eq!(toggles_of_y("INV", "ND"), (vec![2, 0, 2], vec![65, 60, 65]));
    assert_eq!(toggles_of_y("SLOW", "ND"), (vec![2, 0, 2], vec![155, 150, 155]));
}

#[test]
fn a_pulse_shorter_than_the_gate_takes_is_swallowed() {
    // q rises while its inverse is 1: the exclusive or falls, by the arc with the condition, after 7 ps, and rises
    // again 20 ps after the inverse has fallen at 60. When q falls, B is 0: 30 ps, taken back after 10.
    assert_eq!(toggles_of_y("INV", "XR"), (vec![2, 0, 2], vec![80, 60, 80]));
    // The slow inverse comes 100 ps later, when the exclusive or has fallen at 80.
    assert_eq!(toggles_of_y("SLOW", "XR"), (vec![2, 2, 2], vec![170, 170, 170]));
}

#[test]
fn a_sample_is_spread_over_the_cycles() {
    let sample = |wanted, cycles| {
        let sample = CycleSample::new(wanted, 64, cycles, 10);
        (0..10 + cycles).filter(|&cycle| sample.contains(cycle)).collect::<Vec<_>>()
    };
    assert_eq!(sample(1000, 300).len(), 16);
    assert_eq!(sample(1, 300), [10]);
    assert_eq!(sample(192, 9), [10, 13, 16]);
    assert_eq!(sample(1_000_000, 4), [10, 11, 12, 13]);
}
