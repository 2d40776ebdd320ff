//! The files of a stream wrapper: what those of an array have, with streams and registers, and a description to read.

use crate::GenerateError;
use crate::emit::emit;
use crate::files::{Design, files, manifest, verilog};
use crate::manifest::Manifest;
use crate::verilog::{Emission, GeneratedFile};
use flashd_hwmodel::wrapper::{self, registers};
use flashd_spec::config::{Carried, STREAM_LATENCY, TRANSFER_CYCLES, WrapperConfig};

mod describe;
mod manifest;
mod streams;

use describe::description;
pub use manifest::WrapperManifest;
pub(crate) use streams::streams;
pub use streams::{Stream, StreamSignal};

/// `<name>.v`, `.json`, `.sdc`, `.f`, `.md` and `.core` of a stream wrapper.
///
/// # Errors
/// If the configuration is not valid.
pub fn axis_files(config: &WrapperConfig) -> Result<Vec<GeneratedFile>, GenerateError> {
    axis_files_in(config, &Emission::default())
}

/// The same with the Verilog in other files or under other names.
///
/// # Errors
/// If the configuration is not valid.
pub fn axis_files_in(
    config: &WrapperConfig,
    emission: &Emission,
) -> Result<Vec<GeneratedFile>, GenerateError> {
    axis(config, emission).map(|design| design.files)
}

pub(crate) fn axis(config: &WrapperConfig, emission: &Emission) -> Result<Design, GenerateError> {
    let wrapper = wrapper::build(config)?;
    let emitted = emit(&wrapper, &emission.prefix)?;
    let mut array = Manifest {
        transfer_cycles: Some(TRANSFER_CYCLES),
        latency: config.latency(),
        ..manifest(&config.array.core, config.clone(), (&wrapper, &emitted), emission)
    };
    let does = format!(
        "AXI4-Stream, {} queries, a beat of {} bits a cycle, {} a key",
        config.array.queries,
        config.beat(),
        config.beats(Carried::Key)
    );
    let verilog = verilog(&mut array, &does, &emitted, emission);
    let manifest = WrapperManifest {
        beats: config.beats(Carried::Key),
        stream_latency: STREAM_LATENCY,
        value_delay: config.value_delay(),
        streams: streams(config),
        address_bits: wrapper::registers::ADDRESS_BITS,
        registers: registers(config),
        array,
    };
    let mut files = files(&manifest.array, &manifest, verilog, emission);
    files.push(GeneratedFile { name: format!("{}.md", emitted.top()), text: description(config, &manifest) });
    files.push(crate::fusesoc::fusesoc_core(&manifest));
    Ok(Design { emitted, files })
}
