use super::*;
use crate::netlist::testing;
use flashd_golden::units;
use flashd_hwmodel::units::FormatUnit;
use flashd_spec::format::Format;
use std::fs;

const LIBRARY: &str = r#"library (small) {
  capacitive_load_unit (1, pf); nom_voltage : 2;
  cell (INV) { pin (A) { direction : input; } pin (Y) { direction : output; function : "!A"; } }
  cell (NOR) { pin (A, B) { direction : input; } pin (Y) { direction : output; function : "!(A + B)"; } }
  cell (HIGH) { pin (Y) { direction : output; function : "1"; } }
  cell (HA) { pin (A, B) { direction : input; }
    pin (S) { direction : output; function : "A ^ B"; } pin (CO) { direction : output; function : "A B"; } }
  cell (DFFE) { ff (IQ, IQN) { clocked_on : "CK"; next_state : "E D + E' IQ"; clear : "!RN"; }
    pin (CK) { direction : input; } pin (D) { direction : input; } pin (E) { direction : input; }
    pin (RN) { direction : input; } pin (QN) { direction : output; function : "IQN"; } }
  cell (CG) { clock_gating_integrated_cell : "latch_posedge_precontrol";
    pin (CK) { direction : input; clock_gate_clock_pin : true; } pin (EN) { direction : input; clock_gate_enable_pin : true; }
    pin (TE) { direction : input; clock_gate_test_pin : true; } pin (G) { direction : output; clock_gate_out_pin : true; } }
}"#;

/// A two-bit counter with enable: bit 0 through a module that only passes its input on, and constants.
const COUNTER: &str = r#"{"modules": {
  "pass": {"ports": {"i": {"direction": "input", "bits": [2]}, "o": {"direction": "output", "bits": [2]},
                     "k": {"direction": "output", "bits": ["1"]}}, "cells": {}},
  "bit": {"ports": {"clk": {"direction": "input", "bits": [2]}, "enable": {"direction": "input", "bits": [3]},
                    "one": {"direction": "input", "bits": [4]}, "q": {"direction": "output", "bits": [5]},
                    "carry": {"direction": "output", "bits": [6]}},
    "cells": {
      "ff": {"type": "DFFE", "connections": {"CK": [2], "E": [3], "RN": [4], "D": [7], "QN": [8]}},
      "inv": {"type": "INV", "connections": {"A": [8], "Y": [5]}},
      "add": {"type": "HA", "connections": {"A": [5], "B": [3], "S": [7], "CO": [6]}}}},
  "counter": {"ports": {"clk": {"direction": "input", "bits": [2]}, "enable": {"direction": "input", "bits": [3]},
                        "q": {"direction": "output", "bits": [4, 5]}},
    "cells": {
      "low": {"type": "bit", "connections": {"clk": [2], "enable": [3], "one": [9], "q": [6], "carry": [7]}},
      "mid": {"type": "pass", "connections": {"i": [6], "o": [4], "k": [9]}},
      "high": {"type": "bit", "connections": {"clk": [2], "enable": [7], "one": [9], "q": [5]}}}}
}}"#;

fn read(json: &str, top: &str) -> Result<Netlist, NetlistError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("netlist.json");
    fs::write(&path, json).unwrap();
    let library = Library::from_text(Path::new("small.lib"), LIBRARY).unwrap();
    Netlist::read(top, &[&path], &library)
}

#[test]
fn every_machine_counts_its_own_enables() {
    let netlist = read(COUNTER, "counter").unwrap();
    assert_eq!((netlist.cells.len(), netlist.instances.len()), (6, 4));
    let port = |name: &str| netlist.port(name).unwrap().nets.clone();
    let (enable, q) = (port("enable")[0], port("q"));
    assert_eq!(netlist.clock, Some(port("clk")[0]));
    let mut simulation = Simulation::new(&netlist, 64);
    let mut counts = [0u32; 64];
    for cycle in 0..40u64 {
        let word = 0x9e37_79b9_7f4a_7c15u64.wrapping_mul(cycle + 1);
        simulation.set(enable, word);
        simulation.settle();
        for (machine, count) in counts.iter_mut().enumerate() {
            let bit = |net: Net| (simulation.value(net) >> machine & 1) as u32;
            assert_eq!(bit(q[0]) + 2 * bit(q[1]), *count % 4, "machine {machine}, cycle {cycle}");
            *count += (word >> machine & 1) as u32;
        }
        simulation.clock();
    }
    // Bit 0 changes with every count, bit 1 with every second one. The last edge is not settled, so the
    // inverters after the flip-flops lag by it.
    simulation.settle();
    let toggles = simulation.toggles();
    assert_eq!(toggles[q[0] as usize], counts.iter().sum::<u32>());
    assert_eq!(toggles[q[1] as usize], counts.iter().map(|count| count / 2).sum::<u32>());
}

/// Compares the counter whose low bit has a clock gate in place of the enable with the one with enables.
#[test]
fn a_clock_gate_is_equivalent_to_an_enable() {
    let gate =
        r#""gate": {"type": "CG", "connections": {"CK": [2], "EN": [3], "TE": ["0"], "G": [9]}}, "ff""#;
    let gated = COUNTER
        .replace("\"ff\"", gate)
        .replace(r#""CK": [2], "E": [3], "RN": [4]"#, r#""CK": [9], "E": ["1"], "RN": [4]"#);
    let (gated, plain) = (read(&gated, "counter").unwrap(), read(COUNTER, "counter").unwrap());
    assert_eq!(gated.clock, Some(gated.port("clk").unwrap().nets[0]));
    let net = |netlist: &Netlist, name: &str| netlist.port(name).unwrap().nets.clone();
    let mut both = [Simulation::new(&gated, 64), Simulation::new(&plain, 64)];
    let mut counts = [0u32; 64];
    for cycle in 0..40u64 {
        let word = 0x9e37_79b9_7f4a_7c15u64.wrapping_mul(cycle + 1);
        let [q, expected] = [(&gated, 0), (&plain, 1)].map(|(netlist, index)| {
            both[index].set(net(netlist, "enable")[0], word);
            both[index].settle();
            let q = net(netlist, "q").iter().map(|&q| both[index].value(q)).collect::<Vec<_>>();
            both[index].clock();
            q
        });
        assert_eq!(q, expected, "cycle {cycle}");
        counts.iter_mut().enumerate().for_each(|(machine, count)| *count += (word >> machine & 1) as u32);
    }
    // A pulse where the low bit counts, and one where the high one does.
    let pulses: u32 = gated.gated_clocks().map(|clock| both[0].toggles()[clock as usize]).sum();
    assert_eq!(pulses / 2, counts.iter().map(|count| count + count / 2).sum::<u32>());
}

#[test]
fn only_the_machines_asked_for_are_counted() {
    let netlist = read(COUNTER, "counter").unwrap();
    let enable = netlist.port("enable").unwrap().nets[0];
    let mut simulation = Simulation::new(&netlist, 3);
    simulation.set(enable, u64::MAX);
    assert_eq!(simulation.toggles()[enable as usize], 3);
}

#[test]
fn cells_are_in_topological_order_and_know_their_place() {
    let netlist = read(COUNTER, "counter").unwrap();
    let mut driven: Vec<Net> =
        netlist.ports.iter().filter(|port| port.is_input).flat_map(|port| port.nets.clone()).collect();
    driven.extend([0, 1]);
    for cell in &netlist.cells {
        let kind = &netlist.kinds[cell.kind as usize].cell;
        for (pin, net) in kind.pins.iter().zip(netlist.pins(cell)) {
            let late = kind.flip_flop().is_some() || pin.direction == Direction::Output;
            assert!(late || driven.contains(net), "{} of {}", pin.name, netlist.cell_name(cell));
        }
        let outputs = kind.pins.iter().zip(netlist.pins(cell));
        driven.extend(outputs.filter(|(pin, _)| pin.direction == Direction::Output).map(|(_, net)| net));
    }
    let paths: Vec<_> = (0..4).map(|instance| netlist.path(instance).join(".")).collect();
    assert_eq!(paths, ["", "high", "low", "mid"]);
    assert!(netlist.cells.iter().any(|cell| netlist.cell_name(cell) == "add"));
}

/// The reset of the counter's flip-flops by a tie cell, and by logic that the tie cell decides.
#[test]
fn a_reset_that_is_tied_inactive_is_not_in_use() {
    let tied = |cells: &str| {
        assert!(COUNTER.contains(r#""k": {"direction": "output", "bits": ["1"]}}, "cells": {}"#));
        COUNTER
            .replace(r#""bits": ["1"]}}, "cells": {}"#, &format!(r#""bits": [9]}}}}, "cells": {{{cells}}}"#))
    };
    let tie = r#""t": {"type": "HIGH", "connections": {"Y": [9]}}"#;
    // !(i + high) is 0 whatever i is, !(0 + 0) is 1.
    let logic = r#""t": {"type": "HIGH", "connections": {"Y": [10]}},
        "n": {"type": "NOR", "connections": {"A": [2], "B": [10], "Y": [11]}},
        "m": {"type": "NOR", "connections": {"A": [11], "B": [11], "Y": [9]}}"#;
    for cells in [tie, logic] {
        let netlist = read(&tied(cells), "counter").unwrap();
        let (enable, q) = (netlist.port("enable").unwrap().nets[0], netlist.port("q").unwrap().nets[0]);
        let mut simulation = Simulation::new(&netlist, 1);
        simulation.set(enable, u64::MAX);
        for cycle in 0..5 {
            simulation.settle();
            assert_eq!(simulation.value(q) & 1, cycle % 2);
            simulation.clock();
        }
    }
    for cells in [
        r#""m": {"type": "NOR", "connections": {"A": [2], "B": ["0"], "Y": [9]}}"#,
        r#""t": {"type": "HIGH", "connections": {"Y": [10]}},
           "m": {"type": "NOR", "connections": {"A": [2], "B": [10], "Y": [9]}}"#,
    ] {
        let error = read(&tied(cells), "counter").unwrap_err().to_string();
        assert!(error.contains("asynchronous set or reset is in use"), "{error}");
    }
}

#[test]
fn netlists_that_cannot_be_simulated_are_refused() {
    let refused = |from: &str, to: &str, expected: &str| {
        assert!(COUNTER.contains(from));
        let error = read(&COUNTER.replacen(from, to, 1), "counter").unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    refused(r#""A": [8], "Y": [5]"#, r#""A": [5], "Y": [5]"#, "combinational loop");
    refused(r#""A": [8], "Y": [5]"#, r#""A": [8], "Y": [7]"#, "second driver");
    refused(r#""A": [8], "Y": [5]"#, r#""A": [11], "Y": [5]"#, "no driver");
    refused(r#""bits": ["1"]"#, r#""bits": ["0"]"#, "asynchronous set or reset is in use");
    refused(r#""bits": ["1"]"#, r#""bits": ["z"]"#, "constant \"z\"");
    refused(r#""type": "INV""#, r#""type": "BUF""#, "neither a module nor a cell of small");
    refused(r#""CK": [2]"#, r#""CK": [3]"#, "clocked on another net");
    refused(r#""q": [6], "carry""#, r#""q": [6, 10], "carry""#, "has no port q of 2 bits");
    assert!(read(COUNTER, "top").unwrap_err().to_string().contains("no module of this name"));
}

#[test]
fn a_mapped_adder_adds() {
    let Some(mapped) = testing::map_unit(FormatUnit::Add, Format::BF16) else { return };
    let netlist = mapped.netlist();
    let port = |name: &str| netlist.port(name).unwrap().nets.clone();
    let (a, b, y) = (port("a"), port("b"), port("y"));
    let mut simulation = Simulation::new(&netlist, 64);
    let mut seed = 1u64;
    let mut random = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        seed ^ seed >> 29
    };
    for _ in 0..100 {
        let (mut words_a, mut words_b) = ([0u64; 16], [0u64; 16]);
        for bit in 0..16 {
            words_a[bit] = random();
            // Mostly equal exponents, so that sums cancel and carry.
            words_b[bit] =
                if bit < 7 || bit == 15 { random() } else { words_a[bit] ^ (random() & random() & random()) };
        }
        (0..16).for_each(|bit| simulation.set(a[bit], words_a[bit]));
        (0..16).for_each(|bit| simulation.set(b[bit], words_b[bit]));
        simulation.settle();
        for machine in 0..64 {
            let number =
                |bit: &dyn Fn(usize) -> u64| (0..16).map(|i| (bit(i) >> machine & 1) << i).sum::<u64>();
            let (x, z) = (number(&|i| words_a[i]), number(&|i| words_b[i]));
            let special = |v: u64| if Format::BF16.is_special(v) { 0 } else { v };
            let expected = units::add(Format::BF16, special(x), special(z));
            assert_eq!(number(&|i| simulation.value(y[i])), expected, "{x:#x} + {z:#x}");
        }
    }
}
