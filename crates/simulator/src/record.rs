//! Test vectors for simulators that are not ours: every input and expected output of every cycle.
//!
//! One line a cycle, hexadecimal, one word of
//! `{rst, q_valid, k_valid, k_last, v_step, v_ren, o_valid, o_invalid, q, k, v, o}` (most significant
//! first; the four vectors are `d * W` bits each, element 0 lowest). The eight flags are the first two
//! digits, so that the file suits `$readmemh` as well as a C++ reader.
//!
//! Cores with fixed-point lanes have three digits more in front: `o_overflow`, and two for `v_exponent`. Arrays have
//! three before those: `{q_last, q_ready, k_ready, o_last}`, and two for `o_index`. Cores with masks have one digit
//! before all that, `{k_mask, o_empty}`, and arrays of them before it eight for each of `q_from` and `q_to`.

use crate::block::{BlockInputs, BlockObserver, BlockOutputs};
use crate::engine::{Engine, Inputs, Outputs};
use crate::lockstep::Observer;
use flashd_files::AtomicFile;
use flashd_hwmodel::config::CoreConfig;
use std::io::Write;
use std::path::Path;

/// Writes vectors while a run goes on; [`VectorFile::finish`] gives the file its name.
pub struct VectorFile {
    file: AtomicFile,
    element_bits: u32,
    fixed_lanes: bool,
    masks: bool,
    lines: u64,
}

impl VectorFile {
    /// Vectors for a core, written beside `path` until finished.
    ///
    /// # Errors
    /// If no file can be created there.
    pub fn create(path: &Path, config: &CoreConfig) -> std::io::Result<Self> {
        Ok(VectorFile {
            file: AtomicFile::create(path)?,
            element_bits: config.format.width(),
            fixed_lanes: config.has_fixed_lanes(),
            masks: config.masks,
            lines: 0,
        })
    }

    /// Completes the file under its name and returns the number of cycles in it.
    ///
    /// # Errors
    /// If writing fails.
    pub fn finish(self) -> std::io::Result<u64> {
        self.file.commit()?;
        Ok(self.lines)
    }

    /// A vector as hexadecimal digits, element d-1 first. `d * W` is a multiple of 4 for every format.
    fn digits(&self, out: &mut String, elements: &[u64]) {
        use std::fmt::Write;
        let digits = (self.element_bits / 4) as usize;
        for e in elements.iter().rev() {
            let _ = write!(out, "{e:0digits$x}");
        }
    }
}

impl VectorFile {
    /// The digit of masks, if there are any.
    fn mask_digit(&self, i: &Inputs, o: &Outputs) -> String {
        match self.masks {
            true => format!("{:x}", (i.k_mask as u8) << 1 | (o.o_empty && o.o_valid) as u8),
            false => String::new(),
        }
    }

    /// A line that starts with the given digits.
    fn line(&mut self, mut line: String, i: &Inputs, o: &Outputs) -> std::io::Result<()> {
        let flags =
            [i.rst, i.q_valid, i.k_valid, i.k_last, o.v_step, o.v_ren, o.o_valid, o.o_invalid && o.o_valid];
        let byte = flags.iter().fold(0u8, |acc, &bit| acc << 1 | bit as u8);
        if self.fixed_lanes {
            line += &format!("{:x}{:02x}", (o.o_overflow && o.o_valid) as u8, i.v_exponent);
        }
        line += &format!("{byte:02x}");
        for vector in [&i.q, &i.k, &i.v] {
            self.digits(&mut line, vector);
        }
        // o means something only while it is valid.
        match o.o_valid {
            true => self.digits(&mut line, &o.o),
            false => self.digits(&mut line, &vec![0; o.o.len()]),
        }
        line.push('\n');
        self.lines += 1;
        self.file.write_all(line.as_bytes())
    }
}

impl Observer for VectorFile {
    fn cycle(&mut self, _engine: &Engine, inputs: &Inputs, outputs: &Outputs) -> std::io::Result<()> {
        self.line(self.mask_digit(inputs, outputs), inputs, outputs)
    }
}

impl BlockObserver for VectorFile {
    fn cycle(&mut self, i: &BlockInputs, o: &BlockOutputs) -> std::io::Result<()> {
        let flags = [i.q_last, o.q_ready, o.k_ready, o.o_last];
        let digit = flags.iter().fold(0u8, |acc, &bit| acc << 1 | bit as u8);
        // The index means something only while a result is there.
        let index = if o.core.o_valid { o.o_index } else { 0 };
        let limits = if self.masks { format!("{:08x}{:08x}", i.q_from, i.q_to) } else { String::new() };
        let masks = self.mask_digit(&i.core, &o.core);
        self.line(format!("{limits}{masks}{digit:x}{index:02x}"), &i.core, &o.core)
    }
}
