//! The files of an attention unit: Verilog and manifest, and its registers and ports for software and for other flows.

mod blackbox;
mod header;
mod ipxact;
mod manifest;
mod rdl;
mod reference;

use crate::GenerateError;
use crate::emit::emit;
use crate::files::{EmittedDesign, files, manifest, verilog};
use crate::fusesoc::fusesoc_unit;
use crate::verilog::{Emission, GeneratedFile};
use flashd_hwmodel::unit::build;
use flashd_hwmodel::unit::registers::{ADDRESS_BITS, registers};
use flashd_spec::unit::UnitConfig;
use flashd_spec::unit::codes::{CODES, FLAGS};
use flashd_spec::unit::descriptor::FIELDS;
pub use manifest::UnitManifest;
pub use reference::{unit_descriptors, unit_registers};

/// The driver, which is the same for all units.
const DRIVER: [(&str, &str); 2] = [
    ("flashd_unit.h", include_str!("../c/flashd_unit.h")),
    ("flashd_unit.c", include_str!("../c/flashd_unit.c")),
];

pub(crate) fn unit(config: &UnitConfig, emission: &Emission) -> Result<EmittedDesign, GenerateError> {
    let config = &UnitConfig { revision: first_bits(&emission.origin.revision), ..config.clone() };
    let circuit = build(config)?;
    let emitted = emit(&circuit, &emission.prefix)?;
    let mut array = manifest(&config.into(), config.clone(), (&circuit, &emitted), emission);
    let does = format!(
        "attention from memory to memory, {} queries at once, a beat of {} bits",
        config.array.queries, config.beat_bits
    );
    let verilog = verilog(&mut array, &does, &emitted, emission);
    let manifest = UnitManifest {
        address_bits: ADDRESS_BITS,
        registers: registers(config).into_iter().map(|row| row.register).collect(),
        flags: FLAGS.to_vec(),
        codes: CODES.to_vec(),
        descriptor: FIELDS.to_vec(),
        array,
    };
    let mut files = files(&manifest.array, &manifest, verilog, emission);
    files.extend([
        reference::description(&manifest),
        header::header(&manifest),
        rdl::rdl(&manifest),
        ipxact::component(&manifest),
        blackbox::chisel(&manifest),
        blackbox::litex(&manifest),
        fusesoc_unit(&manifest),
    ]);
    files.extend(DRIVER.map(|(name, text)| GeneratedFile { name: name.into(), text: text.into() }));
    Ok(EmittedDesign { emitted, files })
}

/// The first 32 bits of a git revision in hexadecimal; 0 of an unknown one. The digits after those of a short one are 0.
fn first_bits(revision: &str) -> u32 {
    let end = revision.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(revision.len()).min(8);
    u32::from_str_radix(&format!("{:0<8}", &revision[..end]), 16).unwrap_or_default()
}
