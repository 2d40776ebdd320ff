//! The emitted text: sizes, names, determinism, and a small module that a person can read in a diff.

use flashd_generator::{
    Emission, GeneratedFile, Manifest, Prefix, Sources, WrapperManifest, machine_files, unit_file, write_all,
};
use flashd_hwmodel::catalogue;
use flashd_hwmodel::netlist::is_keyword;
use flashd_hwmodel::units::FormatUnit;
use flashd_spec::config::{
    ArrayConfig, CoreConfig, Design, Fa2Variant, FlashDVariant, Hold, KINDS, SplitConfig, WrapperConfig,
};
use flashd_spec::format::Format;
use flashd_spec::numerics::{Numerics, fixed_result_bits};
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
    // The shipped ones have up to 256 elements. The others have the same modules at any length.
    let variants = [Format::BF16, Format::FP8_E4M3].map(|format| CoreConfig::variants(32, format));
    for config in CoreConfig::shipped().into_iter().chain(variants.into_iter().flatten()) {
        let files = machine_files(&config, &Emission::default()).unwrap();
        let verilog = &files[0].text;
        let names = modules(verilog);
        let distinct: BTreeSet<_> = names.iter().collect();
        assert_eq!(names.len(), distinct.len(), "{}", config.name());
        assert!(names.len() <= 28, "{}: {} modules", config.name(), names.len());
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
            modules(&machine_files(&config, &Emission::default()).unwrap()[0].text).len()
        };
        // Fused: two stages more, each with its adder and its tree. Rounded (paper): four stages more, each with its
        // tree, and one adder for all.
        assert_eq!(count(256), count(16) + 4);
    }
}

#[test]
fn output_is_deterministic() {
    for config in CoreConfig::shipped().into_iter().take(3) {
        assert_eq!(
            machine_files(&config, &Emission::default()).unwrap(),
            machine_files(&config, &Emission::default()).unwrap()
        );
    }
}

#[test]
fn manifest_states_the_contract() {
    let config = CoreConfig::shipped().remove(3);
    let json = &machine_files(&config, &Emission::default()).unwrap()[1].text;
    let manifest: flashd_generator::Manifest = serde_json::from_str(json).unwrap();
    assert_eq!(
        (manifest.name.as_str(), manifest.latency, manifest.v_step_latency),
        ("flash_d_bf16_d64", 10, 7)
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
        "k",
        "k_valid",
        "k_last",
        "v_step",
        "v_ren",
        "v",
        "o",
        "o_valid",
        "o_invalid",
        "o_saturated",
    ];
    assert_eq!(names, contract);
    let fixed = CoreConfig { datapath: FlashDVariant::Fixed.into(), ..config.clone() };
    let json = &machine_files(&fixed, &Emission::default()).unwrap()[1].text;
    let manifest_of_fixed: flashd_generator::Manifest = serde_json::from_str(json).unwrap();
    let ports = manifest_of_fixed.ports.iter().map(|p| p.name.as_str());
    let others: Vec<&str> = ports.filter(|name| !contract.contains(name)).collect();
    assert_eq!(others, ["v_exponent", "o_overflow"]);
    let lanes: usize = manifest
        .modules
        .iter()
        .filter(|m| {
            m.name.starts_with("flash_d_bf16_d64_flash_d_staged_ranged_lane_bf16")
                && !m.name.contains("group")
        })
        .map(|m| m.instances)
        .sum();
    assert_eq!(lanes, 64);
    assert_eq!(manifest.configuration, config);
}

#[test]
fn an_array_instantiates_its_core_and_emits_it_once() {
    for (i, core) in CoreConfig::variants(6, Format::BF16).into_iter().enumerate() {
        let plain = Emission::from(Prefix::Plain);
        let alone = &machine_files(&core, &plain).unwrap()[0].text;
        // One query, and an even, an odd or a large number of queries in turn.
        for queries in [1, [2, 3, 8][i % 3]] {
            let config = ArrayConfig::new(core.clone(), queries);
            let files = machine_files(&config, &plain).unwrap();
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
            let manifest: Manifest<ArrayConfig> = serde_json::from_str(&files[1].text).unwrap();
            assert_eq!((&manifest.name, &manifest.configuration), (&config.name(), &config));
            assert_eq!(manifest.transfer_cycles, Some(1));
            // Several cores leave their results to the port where it can make them.
            let at_port = queries > 1 && catalogue::at_port(&core, &Numerics::new(&core)).is_some();
            let name = if at_port { format!("{}_accumulators", core.name()) } else { core.name() };
            let cores = manifest.modules.iter().find(|m| m.name == name).unwrap();
            assert_eq!(cores.instances, queries);
            let results =
                manifest.modules.iter().filter(|m| m.name.ends_with("_result")).map(|m| m.instances);
            assert_eq!(results.sum::<usize>(), if at_port { core.dv() } else { 0 }, "{}", config.name());
            // The core's text equals its own file.
            let own = |text: &str| -> String {
                let start = text.find(&format!("module {} (", core.name())).unwrap();
                text[start..].split("endmodule").next().unwrap().to_string()
            };
            if !at_port {
                assert_eq!(own(verilog), own(alone));
            }
            let width = |name: &str| manifest.ports.iter().find(|p| p.name == name).map(|p| p.width);
            assert_eq!(width("o"), width("q"));
            assert_eq!(width("o_index"), Some(config.index_bits()));
            assert_eq!(width("v_exponent").is_some(), core.has_value_exponent());
        }
    }
}

#[test]
fn the_manifest_of_a_core_speaks_of_no_blocks() {
    let files = machine_files(&CoreConfig::shipped()[0], &Emission::default()).unwrap();
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

/// All kinds of designs: core, array, split keys, stream wrapper.
fn kinds(sources: Sources) -> Vec<Vec<GeneratedFile>> {
    let emission = Emission::from(sources);
    let core = CoreConfig::shipped().remove(0);
    let array = ArrayConfig::new(core.clone(), 2);
    let split = SplitConfig::new(core, 2);
    vec![
        machine_files(&split.core, &emission).unwrap(),
        machine_files(&array, &emission).unwrap(),
        machine_files(&split, &emission).unwrap(),
        machine_files(WrapperConfig::new(array), &emission).unwrap(),
    ]
}

/// Several tools refuse `line where it is legal, and messages then name files that are not there.
#[test]
fn no_file_has_line_directives() {
    for files in [Sources::Together, Sources::PerModule].into_iter().flat_map(kinds) {
        for file in files {
            assert!(!file.text.contains("`line"), "{}", file.name);
        }
    }
}

/// One module a file, named after it, with the same text as in the one file; list and manifest name all of them.
#[test]
fn a_file_a_module() {
    for (together, apart) in kinds(Sources::Together).into_iter().zip(kinds(Sources::PerModule)) {
        let verilog = |files: &[GeneratedFile]| -> Vec<GeneratedFile> {
            files.iter().filter(|f| f.name.ends_with(".v")).cloned().collect()
        };
        let (one, many) = (verilog(&together), verilog(&apart));
        let [one] = &one[..] else { panic!("{} files", one.len()) };
        let name = one.name.strip_suffix(".v").unwrap();
        assert!(one.text.contains("\n/* verilator lint_off DECLFILENAME */\n"), "{name}");
        let body = |text: &str| {
            let start = text.find("`default_nettype none\n\n").unwrap() + "`default_nettype none\n\n".len();
            text[start..].strip_suffix("`default_nettype wire\n").unwrap().to_string()
        };
        let joined: String = many.iter().map(|f| body(&f.text)).collect();
        assert_eq!(joined, body(&one.text), "{name}");
        for file in &many {
            let module = file.name.strip_prefix(&format!("{name}/")).unwrap().strip_suffix(".v").unwrap();
            assert_eq!(modules(&file.text), [module]);
            assert!(!file.text.contains("DECLFILENAME"));
        }
        let names: Vec<String> = many.iter().map(|f| f.name.clone()).collect();
        let text_of = |end: &str| &apart.iter().find(|f| f.name == format!("{name}.{end}")).unwrap().text;
        let list: Vec<&str> = text_of("f").lines().collect();
        assert_eq!(list, names, "{name}");
        let manifest: serde_json::Value = serde_json::from_str(text_of("json")).unwrap();
        assert_eq!(manifest["files"], serde_json::json!(names), "{name}");
    }
}

/// A module without registers has no clock, at any d: with two elements nothing of a dot product is registered.
#[test]
fn no_module_has_a_clock_that_it_does_not_use() {
    let variants = || CoreConfig::variants(2, Format::FP8_E4M3).into_iter();
    let shipped = |d| CoreConfig::shipped().into_iter().take(3).map(move |core| CoreConfig { d, ..core });
    let mut texts: Vec<String> = variants()
        .chain((3..=17).flat_map(shipped))
        .map(|core| machine_files(&core, &Emission::default()).unwrap().remove(0).text)
        .collect();
    for core in variants() {
        let array = ArrayConfig::new(CoreConfig { masks: true, ..core }, 2);
        texts.push(machine_files(WrapperConfig::new(array), &Emission::default()).unwrap().remove(0).text);
    }
    for text in texts {
        for module in text.split("\nmodule ").skip(1) {
            let (ports, body) = module.split_once(");\n").unwrap();
            let name = ports.split(' ').next().unwrap();
            let clocked = body.contains("posedge clk") || body.contains(".clk(clk)");
            assert_eq!(ports.contains("input  wire clk"), clocked, "{name}");
        }
    }
}

/// Wires are named by their values, flags of lanes are reduced by one operator, and a comment lists the weights of a paper
/// core.
#[test]
fn a_core_reads_as_expected() {
    let formats = [Format::BF16, Format::FP8_E4M3];
    for (design, format) in [Design::FlashD, Design::Fa2].into_iter().flat_map(|d| formats.map(|f| (d, f))) {
        let core = CoreConfig::new(design, 16, format);
        let text = machine_files(&core, &Emission::default()).unwrap().remove(0).text;
        for line in text.lines().filter_map(|line| line.trim_start().strip_prefix("wire ")) {
            let name = line.split(" = ").next().unwrap().rsplit(' ').next().unwrap();
            let stem = name.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('_');
            assert!(
                !["term", "joined", "selected", "condition", "entry", "any_of"].contains(&stem),
                "{line}"
            );
            assert!(stem != "sum" || name == "sum", "{line}");
        }
        assert!(!text.contains("flag_or"));
    }
    let fixed = CoreConfig::with_datapath(FlashDVariant::Fixed.into(), 16, Format::BF16);
    let text = machine_files(&fixed, &Emission::default()).unwrap().remove(0).text;
    assert!(text.contains("assign outside = |lane_outside;"));
    let paper = CoreConfig {
        datapath: FlashDVariant::Paper.into(),
        ..CoreConfig::new(Design::FlashD, 16, Format::BF16)
    };
    let text = machine_files(&paper, &Emission::default()).unwrap().remove(0).text;
    assert!(text.contains("// w = first ? 1 : keeps ? 2^-14 : loads ? 1 : sigmoid.\n"));
}

/// FuseSoC's description names every file.
#[test]
fn a_core_description_names_every_file() {
    let config = WrapperConfig::new(ArrayConfig::new(CoreConfig::shipped().remove(0), 2));
    let files = machine_files(&config, &Sources::PerModule.into()).unwrap();
    let text_of = |end: &str| &files.iter().find(|f| f.name.ends_with(end)).unwrap().text;
    let manifest: WrapperManifest = serde_json::from_str(text_of(".json")).unwrap();
    assert!(manifest.array.files.len() > 10);
    for file in &manifest.array.files {
        assert!(text_of(".core").contains(&format!("      - {file}\n")), "{file}");
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
    let files = machine_files(&CoreConfig::shipped()[0], &Emission::default()).unwrap();
    let written = write_all(folder.path(), &files).unwrap();
    assert_eq!(written.len(), 4);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 4);
    let blocked = folder.path().join("file");
    std::fs::write(&blocked, "").unwrap();
    let error = write_all(&blocked.join("below"), &files).unwrap_err().to_string();
    assert!(error.starts_with("cannot write ") && error.contains("below"), "{error}");
}

/// A leaf whose decision the configuration leaves out becomes a line in its parent, so that there are no unused ports.
#[test]
fn omitted_decisions_have_no_ports() {
    for datapath in [FlashDVariant::Ranged.into(), Fa2Variant::SharedScale.into()] {
        let core =
            CoreConfig { hold: Some(Hold::None), ..CoreConfig::with_datapath(datapath, 8, Format::FP8_E4M3) };
        let text = machine_files(&core, &Emission::default()).unwrap().remove(0).text;
        for module in ["hold_decision", "distance_hold"] {
            assert!(!text.contains(&format!("_{module} (")), "{datapath:?}: {module}");
        }
        assert!(text.contains("// update = valid"), "{datapath:?}");
    }
}

/// A leaf that reads some bits of a register has a port for these only. The only unread input bits are fractions of a vector that is
/// searched for Inf and NaN.
#[test]
fn inputs_have_the_width_of_the_read_bits() {
    let core = &CoreConfig::shipped()[0];
    let verilog = &machine_files(core, &Emission::default()).unwrap()[0].text;
    let lane = core.lane_bits();
    // The integer part of x, and the bits of o that the result is rounded from.
    let x = format!("[{}:{}]", core.state_fraction() + core.score_integer_bits + 2, core.state_fraction());
    let o = format!("[{}:{}]", lane.o - 1, lane.o - fixed_result_bits(lane));
    let parts = [
        format!("    input  wire {x} x,\n"),
        format!(".x(x_q{x})"),
        format!("    input  wire {o} o,\n"),
        format!("u_result (.o(o_q{o}), .x(e_q),"),
    ];
    for part in parts {
        assert!(verilog.contains(&part), "{part}");
    }
    let mut lines = verilog.lines();
    while let Some(line) = lines.next() {
        if line.contains("lint_off UNUSEDSIGNAL") {
            let signal = lines.next().unwrap();
            assert!(!signal.contains("input") || signal == "    input  wire [255:0] x,", "{signal}");
        }
    }
}

/// Integer values with integer results need no exponent, in any datapath: modules read all their inputs.
#[test]
fn modules_read_every_input_of_integers() {
    let int8 = Format::INT8;
    for kind in KINDS {
        for v in [int8, Format::INT4] {
            let core = CoreConfig {
                v_format: Some(v),
                o_format: Some(int8),
                ..CoreConfig::with_datapath(kind.datapath, 4, int8)
            };
            if core.validate().is_err() {
                continue;
            }
            let mut files = machine_files(&core, &Emission::default()).unwrap();
            let split = SplitConfig::new(core, 2);
            if split.validate().is_ok() {
                files.append(&mut machine_files(&split, &Emission::default()).unwrap());
            }
            for file in files.iter().filter(|file| file.text.contains("\nmodule ")) {
                for module in file.text.split("\nmodule ").skip(1) {
                    let name = module.split_whitespace().next().unwrap();
                    for line in module.lines().filter(|line| line.starts_with("    input  wire")) {
                        let port = line.trim_end_matches([',', '\n']).split_whitespace().last().unwrap();
                        let word = |c: char| !(c.is_alphanumeric() || c == '_');
                        let times = module.split(word).filter(|&word| word == port).count();
                        assert!(times > 1, "{}: {name} does not read {port}", split.core.name());
                    }
                }
            }
        }
    }
}
