//! The attention unit, driven at its ports: a memory with AXI4 timing, a host at the registers, and the rules of both ports.
//!
//! A [run](run()) places queries, keys and values in memory, starts jobs and compares all of memory with the model's: results,
//! and every byte that is none. [`MemoryPort`] and [`AxiRules`] know nothing of a unit.

mod bench;
mod engine;
mod file;
mod layout;
mod memory;
mod prepare;
mod report;
mod rows;
mod rules;
mod run;
mod signals;
mod slave;
mod workload;

pub use bench::{Transfers, UnitBench, UnitDrive, UnitError};
pub use file::{job_of, read_jobs};
pub use layout::{FIRST_ROW, Layout};
pub use memory::{ErrorRange, Memory};
pub use prepare::{FileJob, JobTensors, PreparedJobs};
pub use report::UnitReport;
pub use rules::{AxiRules, BrokenRule};
pub use run::{HANG, UnitRun, run, run_against};
pub use signals::*;
pub use slave::{Access, MemoryPort, MemoryTiming};
pub use workload::{ExpectedJobBlock, Readable, UnitJob};
