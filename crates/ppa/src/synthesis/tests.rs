//! Mapped netlists against their sources, with the packaged tools and library.

use super::adders::FullAdder;
use super::candidates;
use super::recipe::WantedMappings;
use super::{Cache, CellLibrary, Flow, MappedCore, Progress, Tools};
use crate::PpaError;
use crate::liberty::Library;
use crate::netlist::{Netlist, Simulation};
use flashd_generator::EXTERNAL_SHARE;
use flashd_spec::config::{CoreConfig, Design};
use flashd_spec::format::Format;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The flow with the default library, or `None` (with a message) where tools or library are missing.
pub(crate) fn flow(cache: &Path, clock_ns: Option<f64>) -> Option<Flow> {
    let library = CellLibrary::open(None, cache);
    match (Tools::discover(), library) {
        (Ok(tools), Ok(library)) => {
            let cache = Cache::new(Some(cache)).unwrap();
            Some(Flow { tools, library, clock_ns, cache, flat: false })
        }
        (Err(e @ PpaError::MissingTool { .. }), _) | (_, Err(e @ PpaError::MissingLibrary { .. })) => {
            eprintln!("skipped: {e}");
            None
        }
        (tools, library) => panic!("{:?} {:?}", tools.err(), library.err()),
    }
}

/// Two products and a word, with signs and a difference: all that a compressor tree can meet.
const SUMS: &str = "module sums (\n    input  wire [2:0] a,\n    input  wire signed [2:0] b,\n    \
    input  wire signed [2:0] c,\n    input  wire [3:0] d,\n    output wire [8:0] y,\n    output wire [7:0] p\n);\n    \
    wire signed [8:0] bc = b * c;\n    assign y = d - bc + a * a;\n    assign p = a * d;\nendmodule\n";

/// Two registered multiplications of one register's value, one after the other.
const PAIR: &str = "module pair (\n    input  wire clk,\n    input  wire [5:0] a,\n    output wire [5:0] y\n);\n    \
    reg [5:0] a_q;\n    reg [5:0] y_q;\n    wire [5:0] half;\n    wire [5:0] whole;\n    \
    always @(posedge clk) begin\n        a_q <= a;\n        y_q <= whole;\n    end\n    \
    scale u_lane_0 (.a(a_q), .b(a_q), .y(half));\n    scale u_lane_1 (.a(half), .b(a_q), .y(whole));\n    \
    assign y = y_q;\nendmodule\n\
    module scale (\n    input  wire [5:0] a,\n    input  wire [5:0] b,\n    output wire [5:0] y\n);\n    \
    wire [11:0] product = a * b;\n    assign y = product[11:6];\nendmodule\n";

/// A product between a register and an output.
const PORTED: &str = "module ported (\n    input  wire clk,\n    input  wire [5:0] a,\n    output wire [5:0] y,\n    \
    output wire [5:0] z\n);\n    reg [5:0] a_q;\n    wire [11:0] product = a_q * a_q;\n    \
    always @(posedge clk) a_q <= a;\n    assign y = a_q;\n    assign z = product[11:6];\nendmodule\n";

/// The path to the output has 70 % of the period: the rest is the external delay.
#[test]
fn logic_at_a_port_lengthens_the_period() {
    let cache = tempfile::tempdir().unwrap();
    let Some(mut flow) = flow(cache.path(), None) else { return };
    let fast = flow.map_verilog("ported.v", PORTED, "ported", &|_| {}).unwrap();
    let spent = |core: &MappedCore| core.timing.path.through.iter().map(|(_, delay)| delay).sum::<f64>();
    let shortest = fast.timing.shortest_period.unwrap();
    assert!(fast.timing.path.to.starts_with("z["), "{:?}", fast.timing.path);
    assert!(
        (spent(&fast) / shortest - (1.0 - EXTERNAL_SHARE)).abs() < 1e-3,
        "{} of {shortest}",
        spent(&fast)
    );
    // At a given clock, the slack includes the external delay.
    flow.clock_ns = Some(20.0);
    let slow = flow.map_verilog("ported.v", PORTED, "ported", &|_| {}).unwrap();
    let slack = 20.0 * (1.0 - EXTERNAL_SHARE) - spent(&slow);
    assert!((slow.timing.slack - slack).abs() < 1e-3, "{:?}", slow.timing);
}

/// Every mapping of a module with products, proved equal to the source by SAT.
fn every_mapping_equals_its_source(flow: &Flow) {
    let module = super::split::split("sums.v", SUMS).unwrap().remove(0);
    let folder = tempfile::tempdir().unwrap();
    let map =
        |wanted| candidates::map(&flow.tools, &flow.library, folder.path(), &module, &[], wanted).unwrap();
    let candidates = [WantedMappings::Smallest, WantedMappings::Faster].map(map).concat();
    // Prefix adders, trees and chains of gates, trees and chains of cells; each for every goal.
    assert_eq!(candidates.len(), 25);
    std::fs::write(folder.path().join("gold.v"), SUMS).unwrap();
    let mut adders = 0;
    let mut script = String::new();
    for candidate in &candidates {
        let json = std::fs::read_to_string(folder.path().join(&candidate.json)).unwrap();
        adders += json.matches("\"FAX1\"").count();
        script += &format!(
            "design -reset\nread_verilog gold.v\nprep -flatten -top sums\nrename sums gold\ndesign -stash gold\n\
             read_liberty -ignore_miss_func {0}\nread_json {1}\nhierarchy -top sums\nprep -flatten -top sums\n\
             rename sums gate\ndesign -stash gate\n\
             design -copy-from gold -as gold gold\ndesign -copy-from gate -as gate gate\n\
             miter -equiv -make_assert -flatten gold gate miter\nhierarchy -top miter\n\
             sat -verify -prove-asserts miter\n",
            flow.library.path.display(),
            candidate.json.display(),
        );
    }
    assert!(adders > 0);
    flow.tools.run_yosys(folder.path(), &script, "proof of mappings").unwrap();
}

#[test]
fn every_mapping_is_equivalent_to_its_source() {
    let cache = tempfile::tempdir().unwrap();
    let Some(flow) = flow(cache.path(), None) else { return };
    every_mapping_equals_its_source(&flow);
}

#[test]
fn a_design_is_mapped_timed_and_kept() {
    let cache = tempfile::tempdir().unwrap();
    let Some(mut flow) = flow(cache.path(), Some(60.0)) else { return };
    let slow = flow.map_verilog("pair.v", PAIR, "pair", &|_| {}).unwrap();
    assert!(slow.timing.slack >= 0.0);
    let scale = slow.mapped.module("scale").unwrap();
    assert_eq!((scale.instances, scale.flip_flops), (2, 0));
    assert_eq!(slow.mapped.module("pair").unwrap().flip_flops, 12);
    let path = &slow.timing.path;
    assert!(path.from.starts_with("a_q_") && path.to.starts_with("y_"), "{path:?}");
    let through: Vec<&str> = path.through.iter().map(|(instance, _)| instance.as_str()).collect();
    assert_eq!(through, ["pair", "u_lane_0", "u_lane_1"]);
    // The parts of the path are the path, but for setup of the last flip-flop.
    let sum: f64 = path.through.iter().map(|(_, delay)| delay).sum();
    let needed = slow.timing.clock - slow.timing.slack;
    assert!(sum > 0.8 * needed && sum <= needed);
    assert!(slow.timing.shortest_period.is_none());

    // The second run reuses the first one's mappings and adds faster ones; the faster design is larger.
    flow.clock_ns = None;
    let fresh = AtomicUsize::new(0);
    let count = |progress| {
        if matches!(progress, Progress::Module { cached: false, .. }) {
            fresh.fetch_add(1, Ordering::Relaxed);
        }
    };
    let fast = flow.map_verilog("pair.v", PAIR, "pair", &count).unwrap();
    let shortest = fast.timing.shortest_period.unwrap();
    assert!(shortest < needed && fast.timing.clock == shortest && fast.timing.slack == 0.0);
    assert!(fast.mapped.area() > slow.mapped.area());
    assert_eq!(fresh.swap(0, Ordering::Relaxed), 2);
    // Then everything is cached, and the result is the same.
    let again = flow.map_verilog("pair.v", PAIR, "pair", &count).unwrap();
    assert_eq!((fresh.load(Ordering::Relaxed), again.mapped.area()), (0, fast.mapped.area()));
    let missing = flow.map_verilog("pair.v", PAIR, "core", &|_| {}).unwrap_err().to_string();
    assert!(missing.contains("core is not the top module"), "{missing}");
}

#[test]
#[ignore = "a minute: cargo test -p flashd-ppa -- --ignored"]
fn a_core_has_figures() {
    let cache = tempfile::tempdir().unwrap();
    let Some(flow) = flow(cache.path(), None) else { return };
    let config = CoreConfig::new(Design::Fa2, 4, Format::FP8_E4M3);
    let (figures, mapped) = flow.figures(&config.clone().into(), &|_| {}).unwrap();
    assert_eq!(mapped.top, config.name());
    assert!((mapped.area() - figures.area.total).abs() < 1e-6 * figures.area.total);
    let sum: f64 = figures.area.by_part.iter().map(|(_, area)| area).sum();
    assert!((sum - figures.area.total).abs() < 1e-6 * sum);
    assert_eq!(figures.area.by_part.len(), 5);
    assert_eq!(figures.area.nand2, "NAND2X1");
    assert!(figures.timing.slack >= 0.0);
}

#[test]
fn full_adders_are_found_by_their_function() {
    let library = |sum: &str, carry: &str| {
        let text = format!(
            "library (tiny) {{ time_unit : \"1ns\"; voltage_unit : \"1V\"; leakage_power_unit : \"1nW\"; \
             capacitive_load_unit (1, pf); nom_voltage : 1.0;\n\
             cell (ADD) {{ area : 5; pin (P) {{ direction : input; capacitance : 1; }} \
             pin (Q) {{ direction : input; capacitance : 1; }} pin (R) {{ direction : input; capacitance : 1; }} \
             pin (T) {{ direction : output; function : \"{sum}\"; }} \
             pin (U) {{ direction : output; function : \"{carry}\"; }} }} }}"
        );
        Library::from_text(Path::new("tiny.lib"), &text).unwrap()
    };
    let plain = FullAdder::of(&library("P^Q^R", "(P Q)+(R P)+(Q R)")).unwrap();
    assert!(!plain.sum_inverted && !plain.carry_inverted);
    assert!(plain.cell_techmap().contains("ADD _TECHMAP_REPLACE_"));
    let inverted = FullAdder::of(&library("!(P^Q^R)", "!((P Q)+(R P)+(Q R))")).unwrap();
    assert!(inverted.complements_both());
    assert_eq!(FullAdder::of(&library("P^Q^R", "P Q R")), None);
}

/// A library with more cells at its end.
fn with_cells(mut library: String, cells: &str) -> String {
    let end = library.rfind('}').unwrap();
    library.insert_str(end, cells);
    library
}

/// The netlist of a mapped design.
fn netlist(core: &MappedCore, flow: &Flow) -> Netlist {
    let files: Vec<&Path> = core.mapped.modules.iter().map(|module| module.json.as_path()).collect();
    Netlist::read(&core.mapped.top, &files, &flow.library.cells).unwrap()
}

/// osu018 with its flip-flop with set and reset alone, and with tie cells, as open process kits have them.
fn with_resets_only(osu018: &str) -> String {
    let mut text = osu018.to_string();
    for cell in ["DFFPOSX1", "DFFNEGX1", "LATCH"] {
        let start = text.find(&format!("cell ({cell})")).unwrap();
        let mut depth = 0;
        let end = text[start..]
            .find(|c| {
                depth += i32::from(c == '{') - i32::from(c == '}');
                c == '}' && depth == 0
            })
            .unwrap();
        text.replace_range(start..=start + end, "");
    }
    with_cells(
        text,
        "cell (TIEHI) { area : 16; pin (Y) { direction : output; function : \"1\"; } }\n\
         cell (TIELO) { area : 16; pin (Y) { direction : output; function : \"0\"; } }\n",
    )
}

#[test]
fn a_library_with_resets_and_tie_cells_only_is_mapped_timed_and_simulated() {
    let cache = tempfile::tempdir().unwrap();
    let Some(mut flow) = flow(cache.path(), Some(60.0)) else { return };
    let file = cache.path().join("resets_only.lib");
    std::fs::write(&file, with_resets_only(&std::fs::read_to_string(&flow.library.path).unwrap())).unwrap();
    flow.library = CellLibrary::open(Some(&file), cache.path()).unwrap();
    let core = flow.map_verilog("pair.v", PAIR, "pair", &|_| {}).unwrap();
    assert!(core.timing.slack >= 0.0);
    let netlist = netlist(&core, &flow);
    let kinds: Vec<&str> = netlist.kinds.iter().map(|kind| kind.cell.name.as_str()).collect();
    assert!(kinds.contains(&"DFFSR") && kinds.contains(&"TIEHI"), "{kinds:?}");
    let port = |name: &str| netlist.port(name).unwrap().nets.clone();
    let (a, y) = (port("a"), port("y"));
    let mut simulation = Simulation::new(&netlist, 64);
    for machine in 0..64u64 {
        (0..6).for_each(|bit| {
            let word = simulation.value(a[bit]) | (machine >> bit & 1) << machine;
            simulation.set(a[bit], word);
        });
    }
    for _ in 0..2 {
        simulation.settle();
        simulation.clock();
    }
    for machine in 0..64u64 {
        let scale = |x: u64, z: u64| ((x * z) >> 6) & 63;
        let result: u64 = (0..6).map(|bit| (simulation.value(y[bit]) >> machine & 1) << bit).sum();
        assert_eq!(result, scale(scale(machine, machine), machine), "{machine}");
    }
}

/// Two registers of six bits and one of two bits share an enable; another of six bits has a reset and the inverted enable.
const KEPT: &str = "module kept (\n    input  wire clk,\n    input  wire en,\n    input  wire [5:0] a,\n    \
    output wire [5:0] x,\n    output wire [5:0] y,\n    output wire [5:0] z\n);\n    \
    reg [5:0] x_q;\n    reg [5:0] y_q;\n    reg [5:0] z_q;\n    reg [1:0] w_q;\n    \
    always @(posedge clk) begin\n        if (en) begin\n            x_q <= a;\n            y_q <= x_q + a;\n            w_q <= a[1:0] + a[3:2];\n        end\n        \
    if (!en) z_q <= a[5] ? 6'h0 : y_q ^ {w_q, 4'h0};\n    end\n    \
    assign x = x_q;\n    assign y = y_q;\n    assign z = z_q;\nendmodule\n";

/// osu018 with a clock gate: the pins, area and setup time of a larger cell of that kind.
fn with_clock_gate(osu018: &str) -> String {
    with_cells(
        osu018.to_string(),
        "cell (CLKGATE) { area : 120; clock_gating_integrated_cell : \"latch_posedge\"; statetable (\"CLK EN\", \"L\") { \
         table : \"L L : - : L, L H : - : H, H - : - : N\"; }\n\
         pin (CLK) { direction : input; capacitance : 0.02; clock : true; clock_gate_clock_pin : true; }\n\
         pin (EN) { direction : input; capacitance : 0.01; clock_gate_enable_pin : true; \
         timing () { related_pin : \"CLK\"; timing_type : setup_rising; \
         rise_constraint (scalar) { values (\"0.4\"); } fall_constraint (scalar) { values (\"0.4\"); } } }\n\
         pin (L) { direction : internal; internal_node : \"L\"; }\n\
         pin (GCLK) { direction : output; clock_gate_out_pin : true; state_function : \"CLK * L\"; max_capacitance : 1; \
         timing () { related_pin : \"CLK\"; timing_sense : positive_unate; \
         cell_rise (scalar) { values (\"0.3\"); } cell_fall (scalar) { values (\"0.3\"); } \
         rise_transition (scalar) { values (\"0.1\"); } fall_transition (scalar) { values (\"0.1\"); } } } }\n",
    )
}

#[test]
fn enables_become_clock_gates_where_they_are_asked_for() {
    let cache = tempfile::tempdir().unwrap();
    let Some(mut flow) = flow(cache.path(), Some(60.0)) else { return };
    let refused = flow.library.clone().with_clock_gates().unwrap_err().to_string();
    assert!(refused.contains("osu018_stdcells.lib: has no clock gate for the rising edge"), "{refused}");
    let plain = flow.map_verilog("kept.v", KEPT, "kept", &|_| {}).unwrap();

    let file = cache.path().join("gates.lib");
    std::fs::write(&file, with_clock_gate(&std::fs::read_to_string(&flow.library.path).unwrap())).unwrap();
    flow.library = CellLibrary::open(Some(&file), cache.path()).unwrap().with_clock_gates().unwrap();
    let core = flow.map_verilog("kept.v", KEPT, "kept", &|_| {}).unwrap();
    let (module, before) = (core.mapped.module("kept").unwrap(), plain.mapped.module("kept").unwrap());
    assert_eq!((module.flip_flops, before.flip_flops), (20, 20));
    assert!(module.area < before.area, "{} {}", module.area, before.area);
    // The clock is ideal, also after the gates, and the enable must be stable before the edge.
    let needed = |core: &MappedCore| core.timing.clock - core.timing.slack;
    assert!(core.timing.slack > 0.0 && needed(&core) < 1.1 * needed(&plain));

    let (gated, enabled) = (netlist(&core, &flow), netlist(&plain, &flow));
    // One for x and y, one for z; two bits of w are not worth one.
    assert_eq!((gated.gated_clocks().count(), enabled.gated_clocks().count()), (2, 0));
    let mut both = [Simulation::new(&gated, 64), Simulation::new(&enabled, 64)];
    for cycle in 1..50u64 {
        let [ours, theirs] = [(&gated, 0), (&enabled, 1)].map(|(netlist, index)| {
            let nets = |name: &str| netlist.port(name).unwrap().nets.clone();
            for (bit, net) in nets("a").into_iter().chain(nets("en")).enumerate() {
                both[index].set(net, 0x9e37_79b9_7f4a_7c15u64.wrapping_mul(7 * cycle + bit as u64));
            }
            both[index].settle();
            let values: Vec<u64> = ["x", "y", "z"]
                .iter()
                .flat_map(|name| nets(name))
                .map(|net| both[index].value(net))
                .collect();
            both[index].clock();
            values
        });
        assert_eq!(ours, theirs, "cycle {cycle}");
    }
}

/// Cells that would be taken first if they were gates: each has a part of the area of the smallest one of its function.
const TRAPS: &str = r#"
  cell (lpflow_nand) { area : 1; pin (A, B) { direction : input; } pin (Y) { direction : output; function : "!(A B)"; } }
  cell (SUPPLY) { area : 1; pg_pin (V) { pg_type : primary_power; } pg_pin (W) { pg_type : backup_power; }
    pin (A) { direction : input; } pin (Y) { direction : output; function : "!A"; } }
  cell (KEPT) { area : 1; dont_touch : true; pin (A) { direction : input; } pin (Y) { direction : output; function : "!A"; } }
  cell (FREE) { pin (A, B) { direction : input; } pin (Y) { direction : output; function : "!(A + B)"; } }
  cell (MINE) { area : 1; pin (A, B) { direction : input; } pin (Y) { direction : output; function : "A * B"; } }
  cell (SCAN) { area : 1; dont_use : true; ff ("Q", "QN") { clocked_on : "C"; next_state : "D"; }
    pin (C, D) { direction : input; } pin (O) { direction : output; function : "Q"; } }
  cell (RAM) { area : 1; bus (D) { bus_type : b; direction : input; } pin (Y) { direction : output; function : "D[0]"; } }
"#;

/// A library with traps, comments, odd quotes and other units, packed, under a path that no script could name plainly, and a
/// cache of a similar name.
#[test]
fn tools_get_the_same_gates_however_a_library_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut flow) = flow(folder.path(), Some(60.0)) else { return };
    let plain = flow.map_verilog("pair.v", PAIR, "pair", &|_| {}).unwrap();
    let text = with_cells(std::fs::read_to_string(&flow.library.path).unwrap(), TRAPS);
    assert!(text.contains("capacitive_load_unit (1,pf)") && text.contains("time_unit : \"1ns\""));
    let text = text
        .replace("capacitive_load_unit (1,pf)", "capacitive_load_unit\n(1000.0,\n\"ff\")")
        .replace("time_unit : \"1ns\";", "time_unit\n: 1.0ns /* a\n comment */")
        .replace("direction : input;", "direction : \"input\"\n")
        .replace('\n', "\r\n");
    let odd = folder.path().join("a b 'c' \"d\" $e [f] \u{e4} {g}");
    std::fs::create_dir(&odd).unwrap();
    let file = odd.join("-lib;x.lib.gz");
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, text.as_bytes()).unwrap();
    std::fs::write(&file, packed.finish().unwrap()).unwrap();
    let patterns = ["MI?E".to_string()];
    flow.cache = Cache::new(Some(&odd)).unwrap();
    flow.library = CellLibrary::without(Some(&file), flow.cache.folder(), &patterns).unwrap();
    let core = flow.map_verilog("pair.v", PAIR, "pair", &|_| {}).unwrap();
    assert_eq!(core.mapped.area(), plain.mapped.area());
    assert_eq!(format!("{:?}", core.timing.path), format!("{:?}", plain.timing.path));
    assert_eq!(core.timing.slack, plain.timing.slack);
    assert_eq!(core.timing.shortest_period, plain.timing.shortest_period);
    let error = |patterns: &[&str]| {
        let patterns: Vec<String> = patterns.iter().map(|pattern| pattern.to_string()).collect();
        CellLibrary::without(Some(&file), flow.cache.folder(), &patterns)
            .err()
            .map(|e| e.to_string())
            .unwrap()
    };
    assert!(error(&["Z*"]).contains("-lib;x.lib.gz: --dont-use Z*: matches none of"), "{}", error(&["Z*"]));
    assert!(error(&["A", "[", "B"]).contains("--dont-use A: matches none"), "{}", error(&["A"]));
    assert!(error(&["["]).contains("--dont-use [: is no pattern"), "{}", error(&["["]));
    assert!(error(&["INV*"]).contains("has no inverter") && error(&["INV*"]).contains("cells are left out"));
    // Errors name the user's packed file.
    std::fs::write(&file, b"\x1f\x8b").unwrap();
    assert!(error(&[]).contains("-lib;x.lib.gz: cannot be unpacked"), "{}", error(&[]));
}
