//! The files that are written for a core or a unit.

use crate::GenerateError;
use crate::emit::{Emitted, emit};
use crate::manifest::{
    Manifest, ManifestPort, ModuleEntry, PortPaths, STREAM_CLOCK, ScalarEntry, StateEntry, port_paths,
};
use crate::prefix::{Prefix, sha256};
use crate::sva::assertions;
use crate::verilog::{Emission, GeneratedFile};
use flashd_hwmodel::build;
use flashd_hwmodel::catalogue::v_step_latency;
use flashd_hwmodel::rtl::Circuit;
use flashd_hwmodel::units::FormatUnit;
use flashd_spec::config::{CoreConfig, TRANSFER_CYCLES};
use flashd_spec::format::Format;
use flashd_spec::machine::Machine;
use flashd_spec::numerics::Numerics;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Clock period of the constraint file in ns: 500 MHz, the paper's clock.
const CLOCK_PERIOD_NS: f64 = 2.0;

/// The external delay of every port but the clock, as a share of the clock period: inputs arrive so long after the edge, outputs are due so
/// long before the next one.
///
/// The ports of the two designs differ. FLASH-D converts its accumulator to the result's format after the last register, FA2 before it.
/// FLASH-D decides in the cycle of `v_ren` whether a step holds. FA2 multiplies a value in the cycle in which it arrives, FLASH-D with a
/// value stage converts it. Keys enter logic in both. A timing analysis that gave ports the whole period would hide these paths, and
/// registers at `o` of FLASH-D would remove only one of them. They would cost d W flip-flops, and a cycle: the schedule of
/// 4 + ceil(log2 d) cycles has none free, since the value comes in the cycle before the update. In the cycle of the update the conversion
/// would add 1.1 ns to the path of 1.6 ns that a lane has (ASAP7, bf16). So both designs get the same external delay, in the constraint
/// file and in `flashd ppa`.
pub const EXTERNAL_SHARE: f64 = 0.3;

/// A design as it is emitted.
pub(crate) struct EmittedDesign {
    pub emitted: Emitted,
    pub files: Vec<GeneratedFile>,
}

/// A machine without streams.
pub(crate) fn with_ports<C: Clone + Serialize>(
    machine: &Machine,
    config: &C,
    does: &str,
    emission: &Emission,
) -> Result<EmittedDesign, GenerateError> {
    let circuit = build(machine)?;
    let emitted = emit(&circuit, &emission.prefix)?;
    let mut manifest = manifest(machine, config.clone(), (&circuit, &emitted), emission);
    let verilog = verilog(&mut manifest, does, &emitted, emission);
    let files = files(&manifest, &manifest, verilog, emission);
    Ok(EmittedDesign { emitted, files })
}

/// The Verilog files of a design, whose digests the manifest gets.
pub(crate) fn verilog<C: Serialize>(
    manifest: &mut Manifest<C>,
    does: &str,
    emitted: &Emitted,
    emission: &Emission,
) -> Vec<GeneratedFile> {
    let configuration = serde_json::to_string(&manifest.configuration).unwrap_or_default();
    let derived = serde_json::Value::Object(manifest.derived.clone());
    let about = [
        format!("{}: {does}.", manifest.name),
        format!("Configuration: {configuration}"),
        format!("Derived from it: {derived}"),
    ];
    let files = emission.files(&about, emitted);
    manifest.sha256 = files.iter().map(|file| sha256(&file.text)).collect();
    files
}

/// The files of a design, the Verilog first; `whole` is its manifest as it is written, with what it has beside `manifest`.
pub(crate) fn files<C: Serialize>(
    manifest: &Manifest<C>,
    whole: &impl Serialize,
    verilog: Vec<GeneratedFile>,
    emission: &Emission,
) -> Vec<GeneratedFile> {
    let name = &manifest.name;
    let json = serde_json::to_string_pretty(whole).unwrap_or_default() + "\n";
    let mut files = verilog;
    files.extend([
        GeneratedFile { name: format!("{name}.json"), text: json },
        GeneratedFile { name: format!("{name}.sdc"), text: constraints(manifest) },
        GeneratedFile { name: format!("{name}.f"), text: list(&manifest.files) },
    ]);
    if emission.assertions {
        files.push(GeneratedFile { name: format!("{name}_sva.sv"), text: assertions(manifest) });
    }
    files
}

/// The end of the names of lists of Verilog files.
const LIST: &str = ".f";

/// A list as it is written into a folder: tools look for files where they run, so it has absolute paths, unless files must not depend
/// on the folder.
fn placed(file: &GeneratedFile, folder: &Path) -> String {
    let absolute = match std::path::absolute(folder) {
        Ok(folder) if file.name.ends_with(LIST) && !flashd_files::reproducible() => folder,
        _ => return file.text.clone(),
    };
    file.text.lines().map(|name| absolute.join(name).display().to_string() + "\n").collect()
}

/// The list of Verilog files that tools take with `-f`.
pub(crate) fn list(files: &[String]) -> String {
    files.join("\n") + "\n"
}

/// `<name>.v` of a unit alone, which is one module.
///
/// # Errors
/// Never for the units of [`FormatUnit`]; the type is that of [`machine_files`](crate::machine_files).
pub fn unit_file(unit: FormatUnit, format: Format, segments: u32) -> Result<GeneratedFile, GenerateError> {
    unit_file_in(unit, format, segments, &Emission::default())
}

/// The same with an origin.
///
/// # Errors
/// As [`unit_file`].
pub fn unit_file_in(
    unit: FormatUnit,
    format: Format,
    segments: u32,
    emission: &Emission,
) -> Result<GeneratedFile, GenerateError> {
    let emitted = emit(&unit.module(format, segments), &Prefix::Top)?;
    let name = emitted.top();
    let about = [format!("{name}: combinational, {} in and out.", format)];
    Ok(emission.files(&about, &emitted).remove(0))
}

pub(crate) fn manifest<C>(
    machine: &Machine,
    configuration: C,
    (circuit, emitted): (&Circuit, &Emitted),
    emission: &Emission,
) -> Manifest<C> {
    let config = machine.core();
    let mut paths: BTreeMap<String, PortPaths> =
        port_paths(circuit).into_iter().map(|(port, paths)| (port.name, paths)).collect();
    let n = Numerics::new(config);
    let elements = n.encodings.formats;
    let mut widths = match elements.uniform() {
        Some(format) => vec![("element", format.width())],
        None => elements.by_operand().map(|(operand, format)| (operand, format.width())).to_vec(),
    };
    widths.push(match &n.lane {
        Some(lane) => ("accumulator", lane.o),
        None => ("accumulator", n.accumulator.width()),
    });
    if config.follows_the_paper() {
        widths.extend([("score", n.formats.q.width()), ("exp_argument", n.exp.argument_bits())]);
    } else {
        widths.extend([("score", n.score_bits()), ("exp_argument", n.octave_argument_bits())]);
        let scalar = config.kind().scalar;
        widths.push((scalar.name(), n.widest_scalar_bits(scalar)));
    }
    let turns = machine.turns() as u32;
    Manifest {
        name: emitted.top().to_string(),
        revision: emission.origin.revision.clone(),
        command: emission.origin.command.clone(),
        sha256: Vec::new(),
        prefix: emitted.prefix.clone(),
        files: emission.names(emitted),
        version: env!("CARGO_PKG_VERSION").to_string(),
        configuration,
        derived: config.derived(),
        ports: emitted
            .ports
            .iter()
            .map(|(name, output, width, elements)| ManifestPort {
                name: name.clone(),
                direction: if *output { "output" } else { "input" }.to_string(),
                width: width * *elements as u32,
                elements: *elements,
                paths: paths.remove(name),
            })
            .collect(),
        latency: machine.latency(),
        v_step_latency: turns * v_step_latency(config),
        value_latency: match machine {
            Machine::Array(array) => array.value_latency(),
            _ => n.value_latency,
        },
        initiation_interval: turns,
        transfer_cycles: matches!(machine, Machine::Array(_) | Machine::Wrapper(_))
            .then_some(TRANSFER_CYCLES),
        widths: widths.into_iter().map(|(k, v)| (k.to_string(), v)).collect(),
        state: config.partial.then(|| state(config, &n)),
        modules: emitted
            .modules
            .iter()
            .map(|m| ModuleEntry { name: m.name.clone(), instances: m.instances })
            .collect(),
    }
}

/// The state of a core with partial results.
fn state(config: &CoreConfig, n: &Numerics) -> StateEntry {
    let no_key = n.no_key(config).unwrap_or_default();
    let scalars = config.state_scalars().iter().zip(n.scalar_bits(config)).zip(n.scalar_fractions(config));
    let scalar = |(((name, width), fraction_bits), no_key): (((&&str, u32), u32), u64)| ScalarEntry {
        name: name.to_string(),
        width,
        fraction_bits,
        no_key,
    };
    StateEntry { logarithm_base: 2, scalars: scalars.zip(no_key).map(scalar).collect() }
}

/// Clock and I/O constraints. Ports are listed one by one: every tool understands that alike.
fn constraints<C>(manifest: &Manifest<C>) -> String {
    let io = CLOCK_PERIOD_NS * EXTERNAL_SHARE;
    let clock = if manifest.ports.iter().any(|p| p.name == STREAM_CLOCK) { STREAM_CLOCK } else { "clk" };
    let ports = |direction: &str| -> String {
        let of_direction = manifest.ports.iter().filter(|p| p.direction == direction && p.name != clock);
        let names = of_direction.map(|p| match p.width {
            1 => p.name.clone(),
            _ => format!("{}[*]", p.name),
        });
        names.collect::<Vec<_>>().join(" ")
    };
    format!(
        "# Timing constraints for {}. Periods in ns; scale to your library's unit if it differs.\n\
         create_clock -name {clock} -period {CLOCK_PERIOD_NS} [get_ports {clock}]\n\
         set_input_delay {io} -clock {clock} [get_ports {{{}}}]\n\
         set_output_delay {io} -clock {clock} [get_ports {{{}}}]\n",
        manifest.name,
        ports("input"),
        ports("output")
    )
}

/// Writes files into a folder, each to a temporary name first: a file is either complete or absent.
///
/// # Errors
/// Names the file or folder that could not be written.
pub fn write_all(folder: &Path, files: &[GeneratedFile]) -> Result<Vec<PathBuf>, GenerateError> {
    let error = |path: &Path, source| GenerateError::Write { path: path.display().to_string(), source };
    flashd_files::create_folder(folder).map_err(|e| error(folder, e))?;
    let mut written = Vec::new();
    let root = folder;
    for file in files {
        let path = folder.join(&file.name);
        let folder = path.parent().unwrap_or(folder);
        flashd_files::create_folder(folder).map_err(|e| error(folder, e))?;
        written.push(flashd_files::write(&path, placed(file, root).as_bytes()).map_err(|e| error(&path, e))?);
    }
    Ok(written)
}
