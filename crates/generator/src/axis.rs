//! The files of a stream wrapper: what those of an array have, with streams and registers, and a description to read.

use crate::GenerateError;
use crate::emit::emit;
use crate::files::{EmittedDesign, files, manifest, verilog};
use crate::manifest::Manifest;
use crate::verilog::{Emission, GeneratedFile};
use flashd_hwmodel::wrapper::{self, registers};
use flashd_spec::config::{Carried, STREAM_LATENCY, WrapperConfig};

mod describe;
mod manifest;
mod streams;

use describe::description;
pub use manifest::WrapperManifest;
pub(crate) use streams::streams;
pub use streams::{Stream, StreamSignal};

pub(crate) fn axis(config: &WrapperConfig, emission: &Emission) -> Result<EmittedDesign, GenerateError> {
    let wrapper = wrapper::build(config)?;
    let emitted = emit(&wrapper, &emission.prefix)?;
    let mut array = Manifest {
        latency: config.latency(),
        ..manifest(&config.into(), config.clone(), (&wrapper, &emitted), emission)
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
    Ok(EmittedDesign { emitted, files })
}
