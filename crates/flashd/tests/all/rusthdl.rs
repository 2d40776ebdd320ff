//! Emitted testbenches pass on RustHDL's Verilog of the same designs, in Icarus.

use crate::common::root;
use crate::testbench::generate_comparing;
use flashd_spec::config::{ArrayConfig, CoreConfig, Design, FlashDVariant, SplitConfig};
use flashd_spec::format::Format;
use flashd_spec::machine::Machine;
use std::fs;
use std::process::Command;

fn passes(flags: &str, machine: impl Into<Machine>) {
    let (folder, name) = generate_comparing("ports", flags);
    let circuit = flashd_hwmodel::build(&machine.into()).unwrap();
    assert_eq!(circuit.name(), name);
    fs::write(folder.path().join(format!("{name}.v")), flashd_rusthdl::verilog(&circuit).unwrap()).unwrap();
    let run = |tool: &str, arguments: &[&str]| {
        let done = Command::new(tool).current_dir(folder.path()).args(arguments).output().unwrap();
        assert!(done.status.success(), "{flags}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8_lossy(&done.stdout).into_owned()
    };
    let [bench, design, top] = [format!("{name}_tb.v"), format!("{name}.v"), format!("{name}_tb")];
    run("iverilog", &["-g2005", "-s", &top, "-o", "tb.vvp", &bench, &design]);
    let said = run("vvp", &["-n", "tb.vvp"]);
    let verdict = said.lines().last().unwrap_or_default();
    let checks =
        verdict.strip_prefix("TEST PASSED: ").and_then(|v| v.strip_suffix(" checks")?.parse::<u32>().ok());
    assert!(checks.is_some_and(|checks| checks > 100), "{flags}: {verdict}");
}

#[test]
fn emitted_testbenches_pass_on_rusthdl_s_verilog() {
    for (word, format) in [("bf16", Format::BF16), ("fp8-e4m3", Format::FP8_E4M3), ("int8", Format::INT8)] {
        for (design, config) in [("flash-d", Design::FlashD), ("fa2", Design::Fa2)] {
            let config = CoreConfig::new(config, 4, format);
            passes(&format!("--design {design} --d 4 --format {word} --keys 200"), &config);
        }
    }
    let paper = CoreConfig {
        datapath: FlashDVariant::Paper.into(),
        ..CoreConfig::new(Design::FlashD, 4, Format::BF16)
    };
    passes("--design flash-d --weight paper --d 4 --keys 200", &paper);
    let fa2 = CoreConfig { masks: true, partial: true, ..CoreConfig::new(Design::Fa2, 3, Format::FP8_E4M3) };
    passes(
        "--design fa2 --d 3 --format fp8-e4m3 --masks --partial --queries 2 --keys 200",
        ArrayConfig::new(fa2, 2),
    );
    let flash_d = CoreConfig::new(Design::FlashD, 3, Format::BF16);
    passes("--design flash-d --d 3 --parts 2 --keys 200", SplitConfig::new(flash_d, 2));
}

#[test]
#[ignore = "minutes"]
fn testbenches_of_shipped_cores_pass_on_rusthdl_s_verilog() {
    for config in CoreConfig::shipped().iter().filter(|config| [16, 64].contains(&config.d)) {
        let file = root().join("configs").join(format!("{}.json", config.name()));
        passes(&format!("--config {} --keys 200", file.display()), config);
    }
}
