//! The files of a machine.

use crate::GenerateError;
use crate::axis::axis;
use crate::files::{EmittedDesign, with_ports};
use crate::unit::unit;
use crate::verilog::{Emission, GeneratedFile};
use flashd_spec::machine::Machine;

/// `<name>.v`, `.json`, `.sdc` and `.f` of a machine; of a stream wrapper `.md` and `.core` too, and of a unit the files
/// for software and for other flows. `emission` says in which files the Verilog is, and under which names.
///
/// # Errors
/// If the configuration is not valid.
pub fn machine_files(
    machine: impl Into<Machine>,
    emission: &Emission,
) -> Result<Vec<GeneratedFile>, GenerateError> {
    Ok(design(&machine.into(), emission)?.files)
}

pub(crate) fn design(machine: &Machine, emission: &Emission) -> Result<EmittedDesign, GenerateError> {
    let latency = machine.latency();
    match machine {
        Machine::Core(config) => {
            let does = format!("one key a cycle, result {latency} cycles after the last key");
            with_ports(machine, config, &does, emission)
        }
        Machine::Array(config) => {
            let keys = match config.interleave {
                1 => "one key a cycle for all".to_string(),
                turns => format!("one key for all in {turns} cycles"),
            };
            let does = format!(
                "{} queries, {keys}, first result {latency} cycles after the last key",
                config.queries
            );
            with_ports(machine, config, &does, emission)
        }
        Machine::Split(config) => {
            let does = format!(
                "{} keys a cycle for one query, result {latency} cycles after the last keys",
                config.parts
            );
            with_ports(machine, config, &does, emission)
        }
        Machine::Wrapper(config) => axis(config, emission),
        Machine::Unit(config) => unit(config, emission),
    }
}
