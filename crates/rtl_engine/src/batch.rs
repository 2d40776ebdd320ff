//! Several runs of one design at once, each with its own inputs.
//!
//! Eight or sixteen runs lie beside each other: what is one word of memory in a single run is a vector here, so that scalar logic, too,
//! takes as many at a time. More runs are several memories, one after another under the same code.

use crate::CompileError;
use crate::engine::{Backend, Engine};
use crate::interpret::Interpreter;
use crate::layout::Layout;
use crate::memory::Memory;
use crate::native::Native;
use crate::network::Network;
use crate::plan::Plan;
use flashd_hwmodel::rtl::{Design, PortPlace, Watched};

/// Runs of one design, in step with each other. Each is what [`Compiled`](crate::Compiled) is alone.
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
/// // The first and the last run get a key, with elements of their own.
/// cores.drive_words(k_valid, &[true, false, true]);
/// let (one, two) = ([0x3F80u16; 4], [0x4000u16; 4]);
/// cores.drive_rows(k, &[Some(&one[..]), None, Some(&two[..])]);
/// cores.settle();
/// assert!(cores.read(2, k).eq([0x4000; 4]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Batch {
    layout: Layout,
    /// Of as many runs each as lie beside each other.
    memories: Vec<Memory>,
    engine: Engine,
    runs: usize,
    beside: usize,
}

impl Batch {
    /// So many runs of a design, as it is before its first cycle.
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
        let plan = Plan::of(design, Network::of(design, &|_, steps| steps))?;
        let mut memory = Vec::new();
        let native = match backend {
            Backend::Native(vectors) => {
                memory = plan.fresh(vectors.beside());
                Native::beside(&plan, &mut memory, vectors)
            }
            Backend::Interpreter => None,
        };
        let beside = native.as_ref().map_or(1, |native| native.vectors().beside());
        if native.is_none() {
            memory = plan.fresh(1);
        }
        let layout = Layout::of(design, &plan, beside);
        let engine = native.map_or_else(|| Engine::Interpreter(Interpreter::new(plan)), Engine::Native);
        let memories = (0..runs.div_ceil(beside)).map(|_| Memory::of(&memory)).collect();
        Ok(Batch { layout, memories, engine, runs, beside })
    }

    /// How many runs there are.
    pub fn runs(&self) -> usize {
        self.runs
    }

    /// The vector instructions with which the design runs, and whether they were made for it.
    pub fn instructions(&self) -> String {
        self.engine.instructions()
    }

    /// The port of a name, if there is one.
    pub fn port(&self, name: &str) -> Option<PortPlace> {
        self.layout.port(name)
    }

    /// [`Compiled::drive`](crate::Compiled::drive) in one of the runs.
    ///
    /// # Panics
    /// If there is no such run; so do the others that name one.
    pub fn drive<T: Copy + Into<u64>>(&mut self, run: usize, port: PortPlace, values: &[T]) {
        assert!(run < self.runs, "run {run} of {}", self.runs);
        let memory = &mut self.memories[run / self.beside];
        self.layout.drive(memory, run % self.beside, port, values);
    }

    /// Drives the words of an input in all runs, a row of words each; no row leaves it as it is. This takes less time than one run after another.
    ///
    /// # Panics
    /// If there are more rows than runs.
    pub fn drive_rows<T: Copy + Into<u64>>(&mut self, port: PortPlace, rows: &[Option<&[T]>]) {
        assert!(rows.len() <= self.runs, "{} rows for {} runs", rows.len(), self.runs);
        for (memory, rows) in self.memories.iter_mut().zip(rows.chunks(self.beside)) {
            self.layout.drive_rows(memory, port, rows);
        }
    }

    /// Drives an input of one word in all runs.
    ///
    /// # Panics
    /// If there are more words than runs.
    pub fn drive_words<T: Copy + Into<u64>>(&mut self, port: PortPlace, words: &[T]) {
        assert!(words.len() <= self.runs, "{} words for {} runs", words.len(), self.runs);
        for (memory, words) in self.memories.iter_mut().zip(words.chunks(self.beside)) {
            self.layout.drive_words(memory, port, words);
        }
    }

    /// The word of a port that has one, in as many runs as there is room for.
    pub fn read_words(&self, port: PortPlace, to: &mut [u64]) {
        for (memory, to) in self.memories.iter().zip(to.chunks_mut(self.beside)) {
            self.layout.read_words(memory, port, to);
        }
    }

    /// [`Compiled::read`](crate::Compiled::read) in one of the runs.
    pub fn read(&self, run: usize, port: PortPlace) -> impl Iterator<Item = u64> + '_ {
        self.layout.read(&self.memories[run / self.beside], run % self.beside, port)
    }

    /// [`Compiled::read_into`](crate::Compiled::read_into) in one of the runs.
    pub fn read_into(&self, run: usize, port: PortPlace, to: &mut Vec<u64>) {
        self.layout.read_into(&self.memories[run / self.beside], run % self.beside, port, to);
    }

    /// [`Compiled::value`](crate::Compiled::value) in one of the runs.
    pub fn value(&self, run: usize, net: u32) -> u64 {
        self.layout.value(&self.memories[run / self.beside], run % self.beside, net)
    }

    /// [`Compiled::seen`](crate::Compiled::seen) in one of the runs.
    pub fn seen(&self, run: usize, watched: &Watched) -> u64 {
        watched.reading.read(self.value(run, watched.net()))
    }

    /// [`Compiled::settle`](crate::Compiled::settle) in all runs.
    pub fn settle(&mut self) {
        for memory in &mut self.memories {
            self.layout.set_clock(memory, false);
            self.engine.settle(memory);
        }
    }

    /// [`Compiled::clock`](crate::Compiled::clock) in all runs.
    pub fn clock(&mut self) {
        for memory in &mut self.memories {
            self.layout.set_clock(memory, true);
            self.engine.capture(memory);
        }
    }
}
