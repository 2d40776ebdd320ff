//! Cycle-accurate simulation of the cores, in lock-step with the bit-exact model.
//!
//! [`prepare`] scales and rounds a head of attention to a [`Workload`], which goes through the core's ports by the port protocol, with
//! or without [`Gaps`]. [`run`] clocks the core and compares every output and the internal score, argument and weight with the model in
//! every cycle; the first difference ends the run with a [`Divergence`]. [`run_model`] runs the model alone, for whole workloads, and
//! counts the cycles that the core would take.
//!
//! ```
//! use flashd_simulator::{Gaps, RunError, Workload, run};
//! use flashd_spec::config::{CoreConfig, Design};
//! use flashd_spec::format::Format;
//!
//! let format = Format::BF16;
//! let config = CoreConfig::new(Design::FlashD, 4, format);
//! // Two queries of ones against three keys; the values are all ones, too.
//! let (q, kv) = ([format.one(); 2 * 4], [format.one(); 3 * 4]);
//! let workload = Workload::new(format, 4, &q, &kv, &kv);
//! let run = run(&config, &workload, Gaps::None, &mut [])?;
//! assert_eq!((run.counters.queries, run.counters.keys), (2, 6));
//! assert_eq!(run.results[0].o, kv[..4]);
//! # Ok::<(), RunError>(())
//! ```

#![warn(unreachable_pub)]

mod accuracy;
pub mod bench;
mod core;
mod evaluate;
mod expected;
mod gaps;
mod inside;
mod pipeline;
mod record;
mod running;
mod wave;

// The bench: frames of words by port, and observers.
pub use bench::{Cycle, Divergence, Frame, Observer, RESET_CYCLES, RunError};
// The workload of a core.
pub use self::core::vectors::Vectors;
pub use self::core::workload::{Query, Workload};
pub use gaps::Gaps;
// The lock-step run, and the model alone.
pub use self::core::protocol::Counters;
pub use self::core::run::{CoreRun, ModelRun, protocol, run, run_against, run_model, run_model_with};
// From a head in f32 to a workload, and errors against attention in f64.
pub use accuracy::{Accuracy, Magnitudes};
pub use evaluate::{
    ExactResults, Prepared, SaturatedScores, Scenario, model_results, prepare, prepare_watched,
};
// Observers that write files: test vectors for other simulators, waves with a save file for GTKWave, and charts of the pipeline.
pub use pipeline::{Pipeline, PipelineFormat, PipelineRecorder, PipelineStep, Span};
pub use record::{VectorError, VectorFile, VectorWriter};
pub use running::{Drive, RtlEngine, Running};
pub use wave::{PERIOD_NS, WaveError, WaveFiles, WaveFormat, WaveOptions, WaveSelection, WaveWriter};

// Lock-step runs of machines made of cores: arrays that share keys and values, split keys with the tree that merges their parts,
// stream wrappers and attention units driven at their ports.
pub mod array;
pub mod split;
pub mod unit;
pub mod wrapper;

// Workloads of these runs: streams that look for faults, for other simulators too, and configurations drawn from a seed.
pub mod random;
pub mod selftest;
