//! Test vectors for simulators that are not ours: every input and expected output of every cycle.
//!
//! A line is a cycle; which digits belong to which port, and what is compared when, says
//! [`Layout`], which is made from the design's port list.

use crate::array::{ArrayInputs, ArrayObserver, ArrayOutputs};
use crate::core::engine::{Engine, Inputs, Outputs};
use crate::core::lockstep::Observer;
use crate::running::Running;
use crate::split::{SplitInputs, SplitObserver, SplitOutputs};
use flashd_files::AtomicFile;
use flashd_hwmodel::vectors::{Field, Layout, Look};
use flashd_spec::config::{ArrayConfig, ConfigError, CoreConfig, SplitConfig};
use std::io::{Error, Result, Write};
use std::path::Path;

/// Writes vectors while a run goes on.
pub struct VectorWriter<W: Write> {
    out: W,
    layout: Layout,
    /// The scalars of a partial result, as ports name them.
    scalars: &'static [&'static str],
    lines: u64,
    line: String,
    /// Lines that are written at most; what comes later is left out.
    limit: u64,
}

impl<W: Write> VectorWriter<W> {
    /// Vectors of a layout; `config` is the configuration of the core, or of an array's cores.
    ///
    /// # Errors
    /// If writing fails.
    pub fn new(mut out: W, layout: Layout, config: &CoreConfig) -> Result<Self> {
        out.write_all(layout.header().as_bytes())?;
        let scalars = if config.partial { config.state_scalars() } else { &[] };
        Ok(VectorWriter { out, layout, scalars, lines: 0, line: String::new(), limit: u64::MAX })
    }

    /// From now on writes `lines` more lines at most: the run breaks off there, in the middle of what it was about.
    pub(crate) fn stop_after(&mut self, lines: u64) {
        self.limit = self.lines.saturating_add(lines);
    }

    /// Writes without a limit again.
    pub fn resume(&mut self) {
        self.limit = u64::MAX;
    }

    /// Lines so far.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// Writes the end mark and returns what was written to, and the number of cycles.
    ///
    /// # Errors
    /// If writing fails.
    pub fn finish(mut self) -> Result<(W, u64)> {
        self.out.write_all(self.layout.end_mark().as_bytes())?;
        self.out.flush()?;
        Ok((self.out, self.lines))
    }

    /// Writes a core's cycle.
    ///
    /// # Errors
    /// If writing fails, or the core has a port that no simulation knows.
    pub(crate) fn core_cycle(&mut self, i: &Inputs, o: &Outputs) -> Result<()> {
        let scalars = self.scalars;
        self.write(&o.inside, |field, elements| core_value(scalars, field, i, o, elements))
    }

    fn write(&mut self, inside: &[Option<u64>], value: impl Fn(&Field, &mut Vec<u64>) -> bool) -> Result<()> {
        if self.lines >= self.limit {
            return Ok(());
        }
        self.line.clear();
        let mut unknown = None;
        self.layout.line(&mut self.line, inside, |field, elements| {
            if !value(field, elements) {
                unknown = Some(field.port.name.clone());
            }
        });
        if let Some(port) = unknown {
            let text = format!("{}: no vectors for the port {port}", self.layout.name);
            return Err(Error::other(text));
        }
        self.lines += 1;
        self.out.write_all(self.line.as_bytes())
    }
}

/// What a core's port carries; false for a port that is not there.
fn core_value(scalars: &[&str], field: &Field, i: &Inputs, o: &Outputs, elements: &mut Vec<u64>) -> bool {
    let name = field.port.name.as_str();
    let flag = match name {
        "rst" => i.rst,
        "q_valid" => i.q_valid,
        "k_valid" => i.k_valid,
        "k_last" => i.k_last,
        "k_mask" => i.k_mask,
        "k_state" => i.k_state,
        "v_step" => o.v_step,
        "v_ren" => o.v_ren,
        "state_ren" => o.state_ren,
        "v_state" => o.v_state,
        "o_valid" => o.o_valid,
        "o_invalid" => o.o_invalid,
        "o_saturated" => o.o_saturated,
        "o_overflow" => o.o_overflow,
        "o_empty" => o.o_empty,
        _ => {
            let vector = match name {
                "q" => &i.q,
                "k" => &i.k,
                "k_bias" => &i.k_bias,
                "v" => &i.v,
                "state_o" => &i.state_o,
                "o" => &o.o,
                "o_state" => &o.o_state,
                "v_exponent" => {
                    elements.push(i.v_exponent);
                    return true;
                }
                _ => return scalar_value(scalars, name, i, o, elements),
            };
            elements.extend_from_slice(vector);
            return true;
        }
    };
    elements.push(flag.into());
    true
}

/// A scalar of a partial result: `state_` in front of its name, or `o_`.
fn scalar_value(scalars: &[&str], port: &str, i: &Inputs, o: &Outputs, elements: &mut Vec<u64>) -> bool {
    let (values, name) = match (port.strip_prefix("state_"), port.strip_prefix("o_")) {
        (Some(name), _) => (&i.state, name),
        (_, Some(name)) => (&o.o_scalars, name),
        _ => return false,
    };
    let Some(place) = scalars.iter().position(|scalar| *scalar == name) else {
        return false;
    };
    // Nothing is driven before the first partial result.
    elements.push(values.get(place).copied().unwrap_or(0));
    true
}

impl<W: Write> Observer for VectorWriter<W> {
    fn cycle(&mut self, _engine: &Engine, inputs: &Inputs, outputs: &Outputs) -> Result<()> {
        self.core_cycle(inputs, outputs)
    }
}

impl<W: Write> ArrayObserver for VectorWriter<W> {
    fn cycle(&mut self, _: &Running, i: &ArrayInputs, o: &ArrayOutputs) -> Result<()> {
        let scalars = self.scalars;
        self.write(&o.core.inside, |field, elements| {
            elements.push(match field.port.name.as_str() {
                "q_last" => i.q_last.into(),
                "q_ready" => o.q_ready.into(),
                "q_from" => i.q_from,
                "q_to" => i.q_to,
                "k_ready" => o.k_ready.into(),
                "k_index" => i.k_index,
                "o_index" => o.o_index,
                "o_last" => o.o_last.into(),
                _ => return core_value(scalars, field, &i.core, &o.core, elements),
            });
            true
        })
    }
}

impl<W: Write> SplitObserver for VectorWriter<W> {
    fn cycle(&mut self, _: &Running, i: &SplitInputs, o: &SplitOutputs) -> Result<()> {
        let scalars = self.scalars;
        self.write(&o.core.inside, |field, elements| {
            let flags = match field.port.name.as_str() {
                "k_mask" => &i.k_mask,
                "v_ren" => &o.v_ren,
                _ => return core_value(scalars, field, &i.core, &o.core, elements),
            };
            elements.extend(flags.iter().map(|&flag| u64::from(flag)));
            true
        })
    }
}

/// Vectors in a file; [`VectorFile::finish`] gives it its name.
pub type VectorFile = VectorWriter<AtomicFile>;

/// What keeps vectors from being written.
#[derive(Debug, thiserror::Error)]
pub enum VectorError {
    /// The configuration is not valid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The file cannot be written.
    #[error(transparent)]
    Write(#[from] Error),
}

impl VectorFile {
    /// Vectors for a core, written beside `path` until finished.
    ///
    /// # Errors
    /// If the configuration is not valid or no file can be created there.
    pub fn for_core(path: &Path, config: &CoreConfig) -> std::result::Result<Self, VectorError> {
        Ok(VectorWriter::new(AtomicFile::create(path)?, Layout::of_core(config, Look::Inside)?, config)?)
    }

    /// Vectors for an array, likewise.
    ///
    /// # Errors
    /// As [`VectorFile::for_core`].
    pub fn for_array(path: &Path, config: &ArrayConfig) -> std::result::Result<Self, VectorError> {
        Ok(VectorWriter::new(
            AtomicFile::create(path)?,
            Layout::of_array(config, Look::Inside)?,
            &config.core,
        )?)
    }

    /// Vectors for split keys, likewise.
    ///
    /// # Errors
    /// As [`VectorFile::for_core`].
    pub fn for_split(path: &Path, config: &SplitConfig) -> std::result::Result<Self, VectorError> {
        Ok(VectorWriter::new(
            AtomicFile::create(path)?,
            Layout::of_split(config, Look::Inside)?,
            &config.core,
        )?)
    }

    /// Completes the file under its name and returns the number of cycles in it.
    ///
    /// # Errors
    /// If writing fails.
    pub fn commit(self) -> Result<u64> {
        let (file, lines) = self.finish()?;
        file.commit()?;
        Ok(lines)
    }
}
