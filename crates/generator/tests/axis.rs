//! The files of stream wrappers: clock enables, manifest, description.

use flashd_generator::{Emission, Prefix, WrapperManifest, machine_files};
use flashd_hwmodel::netlist::is_keyword;
use flashd_spec::config::{ArrayConfig, Carried, CoreConfig, Design, Values, WrapperConfig};
use flashd_spec::format::Format;
use std::collections::{BTreeMap, BTreeSet};

fn configs() -> Vec<WrapperConfig> {
    let mut configs = Vec::new();
    for (i, core) in CoreConfig::variants(6, Format::BF16).into_iter().enumerate() {
        for (j, queries) in [1, 3].into_iter().enumerate() {
            let core = CoreConfig { masks: (i + j) % 2 == 0, ..core.clone() };
            let values = [Values::Requested, Values::All][(i / 2 + j) % 2];
            let beat_bits = [None, Some(48), Some(8)][(i + 2 * j) % 3];
            configs.push(WrapperConfig {
                beat_bits,
                values,
                ..WrapperConfig::new(ArrayConfig::new(core, queries))
            });
        }
    }
    configs
}

/// Name and text of every module.
fn modules(verilog: &str) -> BTreeMap<&str, &str> {
    let parts = verilog.split("\nmodule ").skip(1);
    parts.map(|part| (part.split(' ').next().unwrap(), part.split("\nendmodule").next().unwrap())).collect()
}

/// A module's text with its clock enable taken out again.
fn without_enable(text: &str) -> String {
    let mut lines = Vec::new();
    let mut frozen = false;
    for line in text.lines() {
        let line = line.replace("_ce (", " (").replace("_ce u_", " u_").replace(", .ce(ce)", "");
        match line.as_str() {
            "    input  wire ce," | "        .ce(ce)," => {}
            "        if (ce) begin" => frozen = true,
            "        end" if frozen => frozen = false,
            line if frozen => lines.push(line.replacen("    ", "", 1)),
            line => lines.push(line.to_string()),
        }
    }
    // An instance that fits on one line without the enable is written on one.
    lines.join(" ").split_whitespace().collect::<Vec<_>>().join(" ").replace("( .", "(.").replace(" );", ");")
}

#[test]
fn an_array_in_a_wrapper_is_the_array_with_a_clock_enable() {
    for config in configs() {
        let plain = Emission::from(Prefix::Plain);
        let wrapped = &machine_files(&config, &plain).unwrap()[0].text;
        let alone = &machine_files(&config.array, &plain).unwrap()[0].text;
        let (wrapped, alone) = (modules(wrapped), modules(alone));
        assert!(!alone.keys().any(|name| name.ends_with("_ce")), "an array alone is not frozen");
        let mut frozen = 0;
        for (name, text) in &alone {
            let clocked = text.contains("input  wire clk");
            let twin = if clocked { format!("{name}_ce") } else { name.to_string() };
            let inside = wrapped.get(twin.as_str()).unwrap_or_else(|| panic!("{}: no {twin}", config.name()));
            if clocked {
                frozen += 1;
                let blocks = inside.matches("always @(posedge clk)").count();
                assert_eq!(inside.matches("        if (ce) begin\n").count(), blocks, "{twin}");
                assert!(inside.contains("    input  wire ce,\n"), "{twin}");
            }
            assert_eq!(without_enable(inside), without_enable(text), "{}: {twin}", config.name());
        }
        assert!(frozen > 3, "{}", config.name());
    }
}

#[test]
fn a_wrapper_has_one_clock_and_no_gate() {
    for config in configs() {
        let files = machine_files(&config, &Emission::default()).unwrap();
        let names: Vec<&str> = files.iter().map(|f| f.name.rsplit('.').next().unwrap()).collect();
        assert_eq!(names, ["v", "json", "sdc", "f", "md", "core"]);
        let verilog = &files[0].text;
        assert!(!verilog.contains("clock_gate") && !verilog.contains("gated"), "{}", config.name());
        for line in verilog.lines().filter(|l| l.contains(".clk(")) {
            assert!(line.contains(".clk(clk)") || line.contains(".clk(aclk)"), "{line}");
        }
        let all: Vec<&str> = verilog.lines().filter_map(|l| l.strip_prefix("module ")).collect();
        let distinct: BTreeSet<&&str> = all.iter().collect();
        assert_eq!(all.len(), distinct.len(), "{}", config.name());
        let ports = verilog.lines().filter(|l| l.starts_with("    input ") || l.starts_with("    output "));
        for name in ports.filter_map(|l| l.trim_end_matches(',').split_whitespace().last()) {
            assert!(!is_keyword(name), "{}: port {name}", config.name());
        }
        assert!(files[2].text.contains("create_clock -name aclk") && !files[2].text.contains("ports clk"));
    }
}

#[test]
fn manifest_and_description_agree_with_the_hardware() {
    for config in configs() {
        let files = machine_files(&config, &Emission::default()).unwrap();
        let manifest: WrapperManifest = serde_json::from_str(&files[1].text).unwrap();
        assert_eq!(manifest.array.configuration, config);
        assert_eq!(manifest.array.name, config.name());
        let ports: BTreeMap<&str, u32> =
            manifest.array.ports.iter().map(|p| (p.name.as_str(), p.width)).collect();
        let mut told: BTreeMap<String, u32> = BTreeMap::new();
        for stream in &manifest.streams {
            told.extend(stream.signals.iter().map(|s| (s.port.clone(), s.width)));
            told.extend(["tvalid", "tready"].map(|s| (format!("{}_{s}", stream.name), 1)));
        }
        let streams: BTreeMap<String, u32> = ports
            .iter()
            .filter(|(name, _)| name.contains("_axis_"))
            .map(|(name, width)| (name.to_string(), *width))
            .collect();
        assert_eq!(told, streams, "{}", config.name());
        assert_eq!(ports["s_axil_awaddr"], manifest.address_bits);
        let text = &files[4].text;
        for port in told.keys().filter(|port| !port.ends_with("tvalid") && !port.ends_with("tready")) {
            assert!(text.contains(&format!("`{port}`")), "{port}");
        }
        for register in &manifest.registers {
            let row = format!("| 0x{:02x} | ", register.offset);
            assert_eq!(text.matches(&row).count(), 1, "{:?}", register.name);
        }
        // Offsets ascend, and no two are the same.
        assert!(manifest.registers.windows(2).all(|w| w[0].offset < w[1].offset));
    }
}

#[test]
fn beats_that_do_not_fit_are_refused() {
    let core = CoreConfig::shipped().remove(0);
    let config = |beat| WrapperConfig {
        beat_bits: Some(beat),
        ..WrapperConfig::new(ArrayConfig::new(core.clone(), 2))
    };
    let vector = config(8).bits(flashd_spec::config::Carried::Key);
    for beat in [0, 4, 12, 24, vector - 8, 2 * vector] {
        let e = config(beat).validate().unwrap_err();
        assert_eq!(e.field, "beat");
        assert!(e.to_string().contains(&format!("{beat} bits are no beat")), "{e}");
    }
    for beat in [8, vector / 2, vector] {
        assert!(config(beat).validate().is_ok(), "{beat}");
    }
    assert!(config(vector).name().ends_with("_x2_axis"));
    assert!(config(8).name().ends_with("_x2_axis_b8"));
}

/// A vector that is no whole number of bytes leaves the upper bits of its one beat unread. Verilator warns of bits that nothing reads,
/// so the ports of these beats are marked, and no others: a mark hides a forgotten bit, too.
#[test]
fn beats_with_bits_to_spare_are_marked_and_no_others() {
    let mut seen = BTreeMap::<bool, usize>::new();
    let of_design = |design| (2..=9).map(move |d| CoreConfig::new(design, d, Format::INT4));
    let plain = [Design::FlashD, Design::Fa2].into_iter().flat_map(of_design);
    let cores = plain.flat_map(|core| [false, true].map(|bias| CoreConfig { bias, ..core.clone() }));
    let wrapper = |core: &CoreConfig, beat_bits| WrapperConfig {
        beat_bits,
        ..WrapperConfig::new(ArrayConfig::new(core.clone(), 3))
    };
    let configs = cores.flat_map(|core| [None, Some(8), Some(16)].map(|beat_bits| wrapper(&core, beat_bits)));
    for config in configs.filter(|config| config.validate().is_ok()) {
        // Where there are several beats, the first is read completely.
        let wanted = [Carried::Query, Carried::Key, Carried::Value]
            .map(|carried| (config.beat_of(carried), config.beat_of(carried) > config.bits(carried)));
        let verilog = &machine_files(&config, &Emission::default()).unwrap()[0].text;
        let mut read = Vec::new();
        for text in
            modules(verilog).values().filter(|text| text.contains(" tdata,\n") && text.contains("word_q"))
        {
            let lines: Vec<&str> = text.lines().collect();
            let port = lines.iter().position(|line| line.ends_with("] tdata,")).unwrap();
            let high = lines[port].split(['[', ':']).nth(1).unwrap().parse::<u32>().unwrap();
            let marked = lines[port - 1].contains("lint_off UNUSEDSIGNAL");
            assert_eq!(marked, lines[port + 1].contains("lint_on UNUSEDSIGNAL"), "{}", config.name());
            assert!(wanted.contains(&(high + 1, marked)), "{}: {}", config.name(), lines[port]);
            *seen.entry(marked).or_default() += 1;
            read.push((high + 1, marked));
        }
        assert!(wanted.iter().all(|stream| read.contains(stream)), "{}: {read:?}", config.name());
    }
    assert!(seen.len() == 2 && seen.values().all(|&count| count > 20), "{seen:?}");
}
