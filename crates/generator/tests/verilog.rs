//! The emitted text: sizes, names, determinism, and a small module that a person can read in a diff.

use flashd_generator::{Manifest, block_files, core_files, unit_file, write_all};
use flashd_hwmodel::block::BlockConfig;
use flashd_hwmodel::config::CoreConfig;
use flashd_hwmodel::format::Format;
use flashd_hwmodel::netlist::is_keyword;
use flashd_hwmodel::units::FormatUnit;
use std::collections::{BTreeMap, BTreeSet};

fn modules(verilog: &str) -> Vec<&str> {
    verilog
        .lines()
        .filter_map(|l| l.strip_prefix("module "))
        .filter_map(|l| l.split_whitespace().next())
        .collect()
}

#[test]
fn cores_are_small_and_every_module_is_emitted_once() {
    let variants = [Format::BF16, Format::FP8_E4M3].map(|format| CoreConfig::variants(256, format));
    for config in CoreConfig::shipped().into_iter().chain(variants.into_iter().flatten()) {
        let files = core_files(&config).unwrap();
        let verilog = &files[0].text;
        let names = modules(verilog);
        let distinct: BTreeSet<_> = names.iter().collect();
        assert_eq!(names.len(), distinct.len(), "{}", config.name());
        assert!(names.len() <= 25, "{}: {} modules", config.name(), names.len());
        assert!(verilog.lines().count() <= 15_000 && verilog.len() <= 1 << 20, "{}", config.name());
        assert_eq!(names[0], config.name());
        assert!(!verilog.contains("initial"), "{}", config.name());
        // No two modules with the same body under different names.
        let mut bodies: BTreeMap<&str, &str> = BTreeMap::new();
        for part in verilog.split("\nmodule ").skip(1) {
            let (name, body) = part.split_once(" (").unwrap();
            let body = body.split("\nendmodule").next().unwrap();
            if let Some(twin) = bodies.insert(body, name) {
                panic!("{}: {name} and {twin} are the same module", config.name());
            }
        }
    }
}

#[test]
fn d_256_has_no_more_modules_than_d_16_but_for_the_tree_stages() {
    for design in 0..3 {
        let count = |d| {
            let config = CoreConfig { d, ..CoreConfig::shipped()[design].clone() };
            modules(&core_files(&config).unwrap()[0].text).len()
        };
        // Fused: two stages more, each with its adder and its tree. Rounded (paper): four stages more, each with its
        // tree, and one adder for all.
        assert_eq!(count(256), count(16) + 4);
    }
}

#[test]
fn output_is_deterministic() {
    for config in CoreConfig::shipped().into_iter().take(3) {
        assert_eq!(core_files(&config).unwrap(), core_files(&config).unwrap());
    }
}

#[test]
fn manifest_states_the_contract() {
    let config = CoreConfig::shipped().remove(3);
    let json = &core_files(&config).unwrap()[1].text;
    let manifest: flashd_generator::Manifest = serde_json::from_str(json).unwrap();
    assert_eq!(
        (manifest.name.as_str(), manifest.latency, manifest.v_step_latency),
        ("flash_d_bf16_d64", 10, 8)
    );
    let port = |name: &str| {
        let p = manifest.ports.iter().find(|p| p.name == name).unwrap();
        (p.direction.as_str(), p.width, p.elements)
    };
    assert_eq!(port("q"), ("input", 1024, 64));
    assert_eq!(port("o"), ("output", 1024, 64));
    assert_eq!(port("v_ren"), ("output", 1, 1));
    let names: Vec<&str> = manifest.ports.iter().map(|p| p.name.as_str()).collect();
    let contract = [
        "clk",
        "rst",
        "q",
        "q_valid",
        "v_exponent",
        "k",
        "k_valid",
        "k_last",
        "v_step",
        "v_ren",
        "v",
        "o",
        "o_valid",
        "o_invalid",
        "o_overflow",
    ];
    assert_eq!(names, contract);
    let lanes: usize = manifest
        .modules
        .iter()
        .filter(|m| m.name.starts_with("flash_d_fixed_lane_bf16") && !m.name.contains("group"))
        .map(|m| m.instances)
        .sum();
    assert_eq!(lanes, 64);
    assert_eq!(manifest.configuration, config);
}

#[test]
fn an_array_instantiates_its_core_and_emits_it_once() {
    for core in CoreConfig::variants(6, Format::BF16) {
        for queries in [1, 2, 3, 8] {
            let config = BlockConfig::new(core.clone(), queries);
            let files = block_files(&config).unwrap();
            let verilog = &files[0].text;
            let names = modules(verilog);
            assert_eq!(names[0], config.name());
            let distinct: BTreeSet<_> = names.iter().collect();
            assert_eq!(names.len(), distinct.len(), "{}", config.name());
            let ports =
                verilog.lines().filter(|l| l.starts_with("    input ") || l.starts_with("    output "));
            for name in ports.filter_map(|l| l.trim_end_matches(',').split_whitespace().last()) {
                assert!(!is_keyword(name), "{}: port {name}", config.name());
            }
            let manifest: Manifest<BlockConfig> = serde_json::from_str(&files[1].text).unwrap();
            assert_eq!((&manifest.name, &manifest.configuration), (&config.name(), &config));
            assert_eq!(manifest.transfer_cycles, Some(1));
            let cores = manifest.modules.iter().find(|m| m.name == core.name()).unwrap();
            assert_eq!(cores.instances, queries);
            // The core's text is that of its own file.
            let alone = &core_files(&core).unwrap()[0].text;
            let own = |text: &str| -> String {
                let start = text.find(&format!("module {} (", core.name())).unwrap();
                text[start..].split("endmodule").next().unwrap().to_string()
            };
            assert_eq!(own(verilog), own(alone));
            let width = |name: &str| manifest.ports.iter().find(|p| p.name == name).map(|p| p.width);
            assert_eq!(width("o"), width("q"));
            assert_eq!(width("o_index"), Some(config.index_bits()));
            assert_eq!(width("v_exponent").is_some(), core.has_fixed_lanes());
        }
    }
}

#[test]
fn the_manifest_of_a_core_speaks_of_no_blocks() {
    let files = core_files(&CoreConfig::shipped()[0]).unwrap();
    assert!(!files[1].text.contains("transfer_cycles"));
}

#[test]
fn every_format_and_unit_is_emitted() {
    for (_, format) in Format::NAMED {
        for unit in FormatUnit::ALL {
            let file = unit_file(unit, format, 8).unwrap();
            assert_eq!(file.name, format!("{}_{}.v", format.ident(), unit.name()));
            assert!(file.text.contains(&format!("module {}_{} (", format.ident(), unit.name())));
        }
    }
}

#[test]
fn a_small_unit_reads_as_expected() {
    let text = unit_file(FormatUnit::Max, Format::FP8_E4M3, 8).unwrap().text;
    let expected = "\
// y = max(a, b)  (fp8-e4m3, round to nearest even, saturating).
// Inf and NaN operands count as +0.
module fp8_e4m3_max (
    input  wire [7:0] a,
    input  wire [7:0] b,
    output wire [7:0] y
);
";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn files_are_written_completely_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let files = core_files(&CoreConfig::shipped()[0]).unwrap();
    let written = write_all(folder.path(), &files).unwrap();
    assert_eq!(written.len(), 4);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 4);
    let blocked = folder.path().join("file");
    std::fs::write(&blocked, "").unwrap();
    let error = write_all(&blocked.join("below"), &files).unwrap_err().to_string();
    assert!(error.starts_with("cannot write ") && error.contains("below"), "{error}");
}
