//! The FuseSoC core description of a stream wrapper (CAPI2).

use crate::{GeneratedFile, WrapperManifest};

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
    let version = &manifest.array.version;
    let packets: String = PACKETS
        .iter()
        .map(|file| format!("      - {BENCH_FOLDER}/{file}: {{file_type: user, copyto: {file}}}\n"))
        .collect();
    let sources: String = manifest.array.files.iter().map(|file| format!("      - {file}\n")).collect();
    let text = format!(
        "CAPI=2:
# For the target sim, `packets.py {name}.json VECTORS --out {BENCH_FOLDER}` writes the folder {BENCH_FOLDER}.
name: flashd:axis:{name}:{version}
description: {description}

filesets:
  rtl:
    files:
{sources}    file_type: verilogSource-2005
  bench:
    files:
      - {BENCH_FOLDER}/bench.vh: {{is_include_file: true}}
      - {BENCH_FOLDER}/axis_host.vh: {{is_include_file: true}}
      - {BENCH_FOLDER}/axis_tb.v
      - {BENCH_FOLDER}/axis_pace.v
{packets}    file_type: verilogSource-2005

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
",
        description = description(manifest),
    );
    GeneratedFile { name: format!("{name}.core"), text }
}

/// One line on what the wrapper is, without a character that YAML reads as its own.
fn description(manifest: &WrapperManifest) -> String {
    let array = &manifest.array.configuration.array;
    format!(
        "Attention with AXI4-Stream ports, {} elements of {}, {} queries at once",
        array.core.d, array.core.format, array.queries
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Emission, machine_files};
    use flashd_spec::config::{ArrayConfig, CoreConfig, Design, WrapperConfig};
    use flashd_spec::format::Format;

    /// Each file of the wrapper that the description names is one that the generator writes, and its top is the
    /// manifest's.
    #[test]
    fn names_what_is_generated() {
        let core = CoreConfig::new(Design::FlashD, 4, Format::FP8_E4M3);
        let files =
            machine_files(WrapperConfig::new(ArrayConfig::new(core, 2)), &Emission::default()).unwrap();
        let manifest = files.iter().find(|f| f.name.ends_with(".json")).unwrap();
        let manifest: WrapperManifest = serde_json::from_str(&manifest.text).unwrap();
        let core = fusesoc_core(&manifest);
        assert_eq!(core.name, format!("{}.core", manifest.array.name));
        let rtl = core.text.split("  bench:\n").next().unwrap();
        let named: Vec<&str> = rtl.lines().filter_map(|line| line.strip_prefix("      - ")).collect();
        assert_eq!(named.len(), 1);
        for file in named {
            assert!(files.iter().any(|f| f.name == file), "{file} is not generated");
        }
        assert!(core.text.starts_with("CAPI=2:\n"), "FuseSoC wants this in the first line");
        assert!(core.text.contains(&format!("    toplevel: {}\n", manifest.array.name)));
        assert!(!core.text.contains('\t'), "YAML has no tabs");
    }
}
