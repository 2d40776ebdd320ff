//! A design that vectors are made for: a core, an array of cores or cores for parts of the keys.

use crate::cli::ArrayArgs;
use crate::output::Failure;
use crate::select::{configuration, core_or_array, split};
use flashd_generator::{
    Emission, GenerateError, GeneratedFile, Prefix, Top, array_files_in, core_files_in, inside_expressions,
    split_files_in,
};
use flashd_hwmodel::vectors::{Layout, Look};
use flashd_simulator::selftest::{self, Expected, Stream, Streamed};
use flashd_simulator::{RunError, VectorWriter};
use flashd_spec::config::{ArrayConfig, ConfigError, CoreConfig, SplitConfig};
use flashd_spec::machine::Machine;
use std::io::Write;

/// The design.
pub enum Target {
    /// One core.
    Core(CoreConfig),
    /// An array of cores.
    Array(ArrayConfig),
    /// Cores for parts of the keys.
    Split(SplitConfig),
}

impl Target {
    /// The target that the flags select; with `parts`, split keys of that number of parts.
    pub fn new(flags: &ArrayArgs, parts: Option<usize>) -> Result<Target, Failure> {
        if let Some(parts) = parts {
            if flags.key_index_bits.is_some() {
                return Err(Failure::input(
                    "--key-index-bits: only an array counts its keys; leave it out with --parts",
                ));
            }
            return Ok(Target::Split(split(&configuration(&flags.selection, None)?, parts)?));
        }
        let (core, array) = core_or_array(flags, None)?;
        Ok(array.map_or(Target::Core(core), Target::Array))
    }

    /// The name of the module and its files.
    pub fn name(&self) -> String {
        match self {
            Target::Core(config) => config.name(),
            Target::Array(config) => config.name(),
            Target::Split(config) => config.name(),
        }
    }

    /// The core inside, and how many there are.
    pub fn cores(&self) -> (&CoreConfig, usize) {
        match self {
            Target::Core(config) => (config, 1),
            Target::Array(config) => (&config.core, config.queries),
            Target::Split(config) => (&config.core, config.parts),
        }
    }

    /// Verilog, manifest and what else is emitted.
    pub fn files(&self, prefix: &Prefix) -> Result<Vec<GeneratedFile>, GenerateError> {
        let emission = Emission::from(prefix.clone());
        match self {
            Target::Core(config) => core_files_in(config, &emission),
            Target::Array(config) => array_files_in(config, &emission),
            Target::Split(config) => split_files_in(config, &emission),
        }
    }

    /// The same for the generator.
    pub fn top(&self) -> Top<'_> {
        match self {
            Target::Core(config) => Top::Core(config),
            Target::Array(config) => Top::Array(config),
            Target::Split(config) => Top::Split(config),
        }
    }

    /// Its ports in a file of vectors.
    pub fn layout(&self, look: Look, prefix: &Prefix) -> Result<Layout, ConfigError> {
        let layout = Layout::of(self.machine(), look)?;
        Ok(Layout { name: prefix.top(&layout.name), ..layout })
    }

    /// The internal signals that a testbench compares, for each of its cores.
    pub fn inside(&self) -> Result<Vec<Vec<String>>, GenerateError> {
        inside_expressions(&flashd_hwmodel::build(&self.machine())?, self.cores().1)
    }

    fn machine(&self) -> Machine {
        match self {
            Target::Core(config) => config.into(),
            Target::Array(config) => config.into(),
            Target::Split(config) => config.into(),
        }
    }

    /// Writes a stream's vectors to `out`; only a core's can come from the model alone, others are always in lock-step.
    /// `progress` is called after every round. Returns the stream's counts, `out`, and the number of lines.
    pub fn stream<W: Write>(
        &self,
        layout: &Layout,
        stream: &Stream,
        expected: Expected,
        out: W,
        progress: &mut dyn FnMut(&Streamed),
    ) -> Result<(Streamed, W, u64), RunError> {
        let mut out = VectorWriter::new(out, layout.clone())?;
        let streamed = selftest::stream(&self.machine(), stream, expected, &mut out, progress)?;
        let (out, lines) = out.finish()?;
        Ok((streamed, out, lines))
    }
}
