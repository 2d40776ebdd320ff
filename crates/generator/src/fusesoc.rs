//! The FuseSoC core descriptions of stream wrappers and attention units (CAPI2).

use crate::{GeneratedFile, Manifest, UnitManifest, WrapperManifest};
use flashd_spec::config::ArrayConfig;

/// Folder next to the wrapper that holds the bench and its packets, which `testbench/axis/packets.py` writes.
pub(crate) const BENCH_FOLDER: &str = "tb";

/// The files that the bench reads, in [`BENCH_FOLDER`].
const PACKETS: [&str; 6] = ["q.hex", "k.hex", "v.hex", "o.hex", "r.hex", "s.hex"];

/// `<name>.core`: the wrapper as a FuseSoC core, `flashd:axis:<name>:<version>`.
///
/// | target | does |
/// | --- | --- |
/// | `default` | the Verilog alone, for cores that depend on this one |
/// | `lint` | Verilator, all warnings |
/// | `sim` | Icarus, the bench of [`BENCH_FOLDER`] with random stalls; its parameters `seed` and `beats` |
pub(crate) fn fusesoc_core(manifest: &WrapperManifest) -> GeneratedFile {
    let name = &manifest.array.name;
    let packets: String = PACKETS
        .iter()
        .map(|file| format!("      - {BENCH_FOLDER}/{file}: {{file_type: user, copyto: {file}}}\n"))
        .collect();
    let note = format!(
        "# For the target sim, `packets.py {name}.json VECTORS --out {BENCH_FOLDER}` writes the folder {BENCH_FOLDER}.\n"
    );
    let bench = format!(
        "  bench:
    files:
      - {BENCH_FOLDER}/bench.vh: {{is_include_file: true}}
      - {BENCH_FOLDER}/axis_host.vh: {{is_include_file: true}}
      - {BENCH_FOLDER}/axis_tb.v
      - {BENCH_FOLDER}/axis_pace.v
{packets}    file_type: verilogSource-2005
"
    );
    let array = &manifest.array.configuration.array;
    core(&manifest.array, "axis", &description("AXI4-Stream ports", array), [&note, &bench, SIMULATION])
}

/// `<name>.core`: the unit as a FuseSoC core, `flashd:axi4:<name>:<version>`, with the targets `default` and `lint`.
pub(crate) fn fusesoc_unit(manifest: &UnitManifest) -> GeneratedFile {
    let array = &manifest.array.configuration.array;
    core(&manifest.array, "axi4", &description("an AXI4 memory port", array), [""; 3])
}

/// A core of the Verilog of a design, with a note, another set of files and another target.
fn core<C>(
    manifest: &Manifest<C>,
    library: &str,
    description: &str,
    [note, files, target]: [&str; 3],
) -> GeneratedFile {
    let Manifest { name, version, .. } = manifest;
    let sources: String = manifest.files.iter().map(|file| format!("      - {file}\n")).collect();
    let text = format!(
        "CAPI=2:
{note}name: flashd:{library}:{name}:{version}
description: {description}

filesets:
  rtl:
    files:
{sources}    file_type: verilogSource-2005
{files}
targets:
  default: &default
    filesets: [rtl]
    toplevel: {name}

  lint:
    <<: *default
    description: Verilator, all warnings
    flow: lint
    flow_options:
      tool: verilator
      verilator_options: [-Wall]
{target}"
    );
    GeneratedFile { name: format!("{name}.core"), text }
}

/// The target that simulates a wrapper.
const SIMULATION: &str = "
  sim:
    <<: *default
    description: Icarus, random stalls on every stream
    filesets: [rtl, bench]
    toplevel: axis_tb
    flow: sim
    flow_options:
      tool: icarus
      iverilog_options: [-g2005]
    parameters: [seed, beats]

parameters:
  seed:
    datatype: int
    default: 1
    paramtype: plusarg
    description: Seed of the stalls
  beats:
    datatype: int
    default: 1
    paramtype: plusarg
    description: The blocks are repeated until so many beats have passed
";

/// One line about the design, without a character that YAML reads as its own.
fn description(ports: &str, array: &ArrayConfig) -> String {
    format!(
        "Attention with {ports}, {} elements of {}, {} queries at once",
        array.core.d, array.core.format, array.queries
    )
}

#[cfg(test)]
mod tests {
    use crate::{Emission, machine_files};
    use flashd_spec::config::{ArrayConfig, CoreConfig, Design, WrapperConfig};
    use flashd_spec::format::Format;
    use flashd_spec::machine::Machine;
    use flashd_spec::unit::UnitConfig;

    /// Each file of the design that the description names is one that the generator writes, and its top is the design.
    #[test]
    fn names_what_is_generated() {
        let array = ArrayConfig::new(CoreConfig::new(Design::FlashD, 4, Format::FP8_E4M3), 2);
        let unit = UnitConfig::new(array.clone());
        for machine in [Machine::Wrapper(WrapperConfig::new(array)), Machine::Unit(unit)] {
            let files = machine_files(&machine, &Emission::default()).unwrap();
            let core = format!("{}.core", machine.name());
            let core = &files.iter().find(|file| file.name == core).unwrap().text;
            let rtl = core.split("  bench:\n").next().unwrap();
            let named: Vec<&str> = rtl.lines().filter_map(|line| line.strip_prefix("      - ")).collect();
            assert_eq!(named.len(), 1);
            for file in named {
                assert!(files.iter().any(|f| f.name == file), "{file} is not generated");
            }
            assert!(core.starts_with("CAPI=2:\n"), "FuseSoC wants this in the first line");
            assert!(core.contains(&format!("    toplevel: {}\n", machine.name())));
            assert!(!core.contains('\t'), "YAML has no tabs");
        }
    }
}
