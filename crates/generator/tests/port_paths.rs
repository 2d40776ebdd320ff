//! The combinational paths that a manifest states for each port, against the netlist that Yosys reads from the emitted Verilog.

use flashd_generator::{Emission, PortPaths};
use flashd_generator::{GeneratedFile, ManifestPort, machine_files};
use flashd_spec::config::{ArrayConfig, CoreConfig, Design, SplitConfig, WrapperConfig};
use flashd_spec::format::Format;
use serde_json::Value;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::process::Command;

/// A flat netlist: the cells that read each net, and the nets of the ports.
struct Netlist {
    cells: Vec<Cell>,
    readers: HashMap<u64, Vec<usize>>,
    ports: Vec<(String, bool, Vec<u64>)>,
}

struct Cell {
    is_register: bool,
    outputs: Vec<u64>,
}

fn nets(bits: &Value) -> Vec<u64> {
    bits.as_array().unwrap().iter().filter_map(Value::as_u64).collect()
}

impl Netlist {
    /// The netlist of a design without hierarchy, as Yosys reads it: only wiring is simplified. Multiplexers of always blocks are the
    /// enables and resets of registers. `None` without Yosys.
    fn of(verilog: &str, top: &str) -> Option<Netlist> {
        let folder = tempfile::tempdir().unwrap();
        let (source, json) = (folder.path().join("core.v"), folder.path().join("core.json"));
        std::fs::write(&source, verilog).unwrap();
        let script = format!(
            "read_verilog {}; hierarchy -top {top}; proc; flatten; clean; write_json {}",
            source.display(),
            json.display()
        );
        let Ok(out) = Command::new("yosys").args(["-q", "-p", &script]).output() else {
            eprintln!("no Yosys: nothing is compared");
            return None;
        };
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        let design: Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
        let module = &design["modules"][top];
        let (mut cells, mut readers) = (Vec::new(), HashMap::<u64, Vec<usize>>::new());
        for (name, cell) in module["cells"].as_object().unwrap() {
            let kind = cell["type"].as_str().unwrap();
            let mut outputs = Vec::new();
            for (pin, direction) in cell["port_directions"].as_object().unwrap() {
                let nets = nets(&cell["connections"][pin]);
                match direction == "output" {
                    true => outputs.extend(nets),
                    false => nets.into_iter().for_each(|n| readers.entry(n).or_default().push(cells.len())),
                }
            }
            cells.push(Cell { is_register: kind.contains("dff") || name.contains("$procmux$"), outputs });
        }
        let ports = (module["ports"].as_object().unwrap().iter())
            .map(|(name, port)| (name.clone(), port["direction"] == "output", nets(&port["bits"])))
            .collect();
        Some(Netlist { cells, readers, ports })
    }

    /// The nets that are reached from some nets through cells that are not registers; whether there was such a cell.
    fn cone(&self, from: &[u64]) -> (HashSet<u64>, bool) {
        let (mut reached, mut open, mut logic) = (HashSet::new(), from.to_vec(), false);
        while let Some(net) = open.pop() {
            if !reached.insert(net) {
                continue;
            }
            for &cell in self.readers.get(&net).into_iter().flatten() {
                if !self.cells[cell].is_register {
                    logic = true;
                    open.extend(&self.cells[cell].outputs);
                }
            }
        }
        (reached, logic)
    }

    /// Whether each port is registered, and the ports that it is connected to without a register, by its name.
    fn paths(&self) -> HashMap<String, (bool, BTreeSet<String>)> {
        let mut paths: HashMap<String, (bool, BTreeSet<String>)> = HashMap::new();
        let driven = |cell: &&Cell| !cell.is_register;
        let by_logic: HashSet<u64> =
            self.cells.iter().filter(driven).flat_map(|cell| cell.outputs.iter().copied()).collect();
        for (name, _, nets) in self.ports.iter().filter(|(_, output, _)| *output) {
            let registered = !nets.iter().any(|net| by_logic.contains(net));
            paths.insert(name.clone(), (registered, BTreeSet::new()));
        }
        for (input, _, nets) in self.ports.iter().filter(|(_, output, _)| !output) {
            let (reached, logic) = self.cone(nets);
            let mut through = BTreeSet::new();
            for (output, _, nets) in self.ports.iter().filter(|(_, output, _)| *output) {
                if nets.iter().any(|net| reached.contains(net)) {
                    through.insert(output.clone());
                    let (registered, inputs) = paths.get_mut(output).unwrap();
                    *registered = false;
                    inputs.insert(input.clone());
                }
            }
            paths.insert(input.clone(), (!logic && through.is_empty(), through));
        }
        paths
    }
}

fn ports(files: &[GeneratedFile]) -> (String, Vec<ManifestPort>) {
    let manifest = files.iter().find(|file| file.name.ends_with(".json")).unwrap();
    let manifest: Value = serde_json::from_str(&manifest.text).unwrap();
    let name = manifest["name"].as_str().unwrap().to_string();
    (name, serde_json::from_value(manifest["ports"].clone()).unwrap())
}

/// Compares the manifest with the Verilog, both of `files`; returns the paths of a port.
fn compare(files: &[GeneratedFile], clock: &str) -> HashMap<String, PortPaths> {
    let (name, ports) = ports(files);
    let paths: HashMap<String, PortPaths> =
        ports.iter().filter_map(|port| Some((port.name.clone(), port.paths.clone()?))).collect();
    assert!(ports.iter().all(|port| paths.contains_key(&port.name) != (port.name == clock)), "{name}");
    let verilog = files.iter().find(|file| file.name.ends_with(".v")).unwrap();
    let Some(netlist) = Netlist::of(&verilog.text, &name) else { return paths };
    let found = netlist.paths();
    for (port, stated) in &paths {
        let (registered, through) = &found[port];
        assert_eq!(stated.registered, *registered, "{name}.{port}: {stated:?}");
        assert_eq!(&stated.feedthrough.iter().cloned().collect::<BTreeSet<_>>(), through, "{name}.{port}");
        assert_eq!(
            stated.registered,
            stated.logic.is_empty() && stated.feedthrough.is_empty(),
            "{name}.{port}"
        );
    }
    paths
}

#[test]
fn ports_of_cores_are_as_the_manifest_says() {
    for design in Design::ALL {
        for format in [Format::BF16, Format::FP8_E4M3, Format::INT8] {
            let config = CoreConfig::new(design, 16, format);
            let paths = compare(&machine_files(&config, &Emission::default()).unwrap(), "clk");
            assert!(paths["o_valid"].registered && paths["v_ren"].feedthrough.is_empty());
            assert!(!paths["k"].registered && !paths["k"].logic.is_empty());
        }
    }
    for config in CoreConfig::variants(3, Format::BF16) {
        compare(&machine_files(&config, &Emission::default()).unwrap(), "clk");
        if !config.follows_the_paper() {
            let config = CoreConfig { masks: true, partial: true, bias: true, ..config };
            compare(&machine_files(&config, &Emission::default()).unwrap(), "clk");
        }
    }
}

#[test]
fn ports_of_arrays_splits_and_wrappers_are_as_the_manifest_says() {
    for design in Design::ALL {
        let core = CoreConfig::new(design, 4, Format::BF16);
        let array = ArrayConfig::new(core.clone(), 2);
        let paths = compare(&machine_files(&array, &Emission::default()).unwrap(), "clk");
        // As documented on the page of arrays.
        assert_eq!(paths["k_ready"].feedthrough, ["k_last"], "{}", array.name());
        assert!(paths["q_ready"].feedthrough.is_empty());
        compare(&machine_files(WrapperConfig::new(array), &Emission::default()).unwrap(), "aclk");
        compare(&machine_files(SplitConfig::new(core, 2), &Emission::default()).unwrap(), "clk");
    }
}
