//! Several runs of one design at once, each with its own inputs.
//!
//! Each run is a lane: a word of memory in a single run is a vector here, so that scalar logic, too, runs on vectors. More runs than lanes
//! are several memories, one after another under the same code.

use crate::CompileError;
use crate::engine::{Backend, SharedProgram};
use crate::memory::Memory;
use crate::native::LANES;
use flashd_hwmodel::rtl::{Design, PortPlace, Watched};

/// Runs of one design, in step. Each behaves as a [`Compiled`](crate::Compiled).
///
/// ```
/// use flashd_rtl_engine::Batch;
/// use flashd_hwmodel::catalogue::build;
/// use flashd_spec::config::{CoreConfig, Design};
/// use flashd_spec::format::Format;
///
/// let circuit = build(&CoreConfig::new(Design::FlashD, 4, Format::BF16))?;
/// let mut cores = Batch::new(&circuit.design(), 3)?;
/// let [rst, k_valid, k] = ["rst", "k_valid", "k"].map(|name| cores.port(name).expect("every core has it"));
/// cores.drive_words(rst, &[false; 3]);
/// // The first and the last run get a key, with different elements.
/// cores.drive_words(k_valid, &[true, false, true]);
/// let (one, two) = ([0x3F80u16; 4], [0x4000u16; 4]);
/// cores.drive_rows(k, &[Some(&one[..]), None, Some(&two[..])]);
/// cores.settle();
/// assert!(cores.read(2, k).eq([0x4000; 4]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Batch {
    program: SharedProgram,
    /// One for each vector of runs.
    memories: Vec<Memory>,
    runs: usize,
    lanes: usize,
}

impl Batch {
    /// `runs` runs of a design before its first cycle.
    ///
    /// # Errors
    /// If logic depends on itself.
    pub fn new(design: &Design, runs: usize) -> Result<Batch, CompileError> {
        Batch::with_backend(design, runs, Backend::best())
    }

    /// The same, run in a certain way.
    ///
    /// # Errors
    /// If logic depends on itself.
    pub fn with_backend(design: &Design, runs: usize, backend: Backend) -> Result<Batch, CompileError> {
        let program = SharedProgram::new(design, backend, LANES, &|_, steps| steps)?;
        let lanes = program.layout.lanes;
        let memories = (0..runs.div_ceil(lanes)).map(|_| Memory::of(&program.content)).collect();
        Ok(Batch { program, memories, runs, lanes })
    }

    /// The number of runs.
    pub fn runs(&self) -> usize {
        self.runs
    }

    /// The vector instructions, and whether they are machine code or interpreted.
    pub fn instructions(&self) -> String {
        self.program.engine.instructions()
    }

    /// The port of a name, if there is one.
    pub fn port(&self, name: &str) -> Option<PortPlace> {
        self.program.layout.port(name)
    }

    /// [`Compiled::drive`](crate::Compiled::drive) in one of the runs.
    ///
    /// # Panics
    /// If there is no such run; so do the other functions of a run.
    pub fn drive<T: Copy + Into<u64>>(&mut self, run: usize, port: PortPlace, values: &[T]) {
        assert!(run < self.runs, "run {run} of {}", self.runs);
        let memory = &mut self.memories[run / self.lanes];
        self.program.layout.drive(memory, run % self.lanes, port, values);
    }

    /// Drives an input in all runs, a row of words each; a run without a row keeps its values. Faster than run by run.
    ///
    /// # Panics
    /// If there are more rows than runs.
    pub fn drive_rows<T: Copy + Into<u64>>(&mut self, port: PortPlace, rows: &[Option<&[T]>]) {
        assert!(rows.len() <= self.runs, "{} rows for {} runs", rows.len(), self.runs);
        for (memory, rows) in self.memories.iter_mut().zip(rows.chunks(self.lanes)) {
            self.program.layout.drive_rows(memory, port, rows);
        }
    }

    /// Drives an input of one word in all runs.
    ///
    /// # Panics
    /// If there are more words than runs.
    pub fn drive_words<T: Copy + Into<u64>>(&mut self, port: PortPlace, words: &[T]) {
        assert!(words.len() <= self.runs, "{} words for {} runs", words.len(), self.runs);
        for (memory, words) in self.memories.iter_mut().zip(words.chunks(self.lanes)) {
            self.program.layout.drive_words(memory, port, words);
        }
    }

    /// The word of a port of one word, in the first runs, until `to` is full.
    pub fn read_words(&self, port: PortPlace, to: &mut [u64]) {
        for (memory, to) in self.memories.iter().zip(to.chunks_mut(self.lanes)) {
            self.program.layout.read_words(memory, port, to);
        }
    }

    /// [`Compiled::read`](crate::Compiled::read) in one of the runs.
    pub fn read(&self, run: usize, port: PortPlace) -> impl Iterator<Item = u64> + '_ {
        self.program.layout.read(&self.memories[run / self.lanes], run % self.lanes, port)
    }

    /// [`Compiled::read_into`](crate::Compiled::read_into) in one of the runs.
    pub fn read_into(&self, run: usize, port: PortPlace, to: &mut Vec<u64>) {
        self.program.layout.read_into(&self.memories[run / self.lanes], run % self.lanes, port, to);
    }

    /// [`Compiled::value`](crate::Compiled::value) in one of the runs.
    pub fn value(&self, run: usize, net: u32) -> u64 {
        self.program.layout.value(&self.memories[run / self.lanes], run % self.lanes, net)
    }

    /// [`Compiled::seen`](crate::Compiled::seen) in one of the runs.
    pub fn seen(&self, run: usize, watched: &Watched) -> u64 {
        watched.reading.read(self.value(run, watched.net()))
    }

    /// [`Compiled::settle`](crate::Compiled::settle) in all runs.
    pub fn settle(&mut self) {
        for memory in &mut self.memories {
            self.program.layout.set_clock(memory, false);
            self.program.engine.settle(memory);
        }
    }

    /// [`Compiled::clock`](crate::Compiled::clock) in all runs.
    pub fn clock(&mut self) {
        for memory in &mut self.memories {
            self.program.layout.set_clock(memory, true);
            self.program.engine.capture(memory);
        }
    }
}
