//! Cycle-accurate simulation of the RustHDL cores, in lock-step with the bit-exact model.
//!
//! * [`engine::Engine`] clocks one core: its own clock loop, no threads.
//! * [`stream`] turns queries, keys and values into port activity by the port protocol, with or without gaps.
//! * [`evaluate`] scales and rounds a head of attention for a core and measures errors against f64.
//! * [`lockstep::run`] does both and compares every output and the internal score, argument and weight with
//!   the model in every cycle; the first difference ends the run with a [`lockstep::Divergence`].
//! * [`split`] does the same for split keys, cores and the tree that merges their parts.
//! * [`axis`] drives stream wrappers at their ports.
//! * [`block`] does the same for arrays of cores that share keys and values.
//! * [`throughput`] runs the model alone, for whole workloads, and counts the cycles that the core would take.
//! * [`record`] writes test vectors for other simulators, [`selftest`] makes streams for them, [`schedule`] says what is due when.
//! * [`random`] draws legal configurations and compares all engines on them.
//! * [`wave`] writes waves, with a save file that shows them stage by stage in GTKWave.

pub mod axis;
pub mod block;
pub mod engine;
pub mod evaluate;
mod inside;
pub mod lockstep;
pub mod random;
pub mod record;
pub mod schedule;
pub mod selftest;
pub mod split;
pub mod stream;
pub mod throughput;
pub mod wave;

pub use engine::{Engine, Inputs, Outputs};
pub use lockstep::{Counters, Divergence, Observer, Run, RunError, run, run_against};
pub use stream::{Gaps, Query, Workload};
pub use throughput::{ModelRun, run_model};
