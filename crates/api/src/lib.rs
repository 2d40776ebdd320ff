//! A core for other languages: made from JSON or from options, run on float32 or on encodings by the vectorised model, or driven step by
//! step. The C library (`capi`) and the Python package (`python`) are thin layers around this one, so that they cannot differ.
//!
//! No input of a caller leads to a panic: operands are checked, with the command line's texts. [`guarded`] turns panics, mistakes of
//! ours, into errors.
//!
//! ```
//! use flashd_api::{AttentionOperands, Core, Error, Settings, Watch};
//!
//! let core = Core::from_options([("design", "flash-d"), ("d", "4"), ("format", "bf16")])?;
//! // Two heads of one query and two keys; the second head's query sees equal keys.
//! let (q, k) = ([1.0; 8], [1.0; 16]);
//! let v: Vec<f32> = (0..16).map(|i| i as f32).collect();
//! let operands = AttentionOperands { shape: [2, 2, 1, 2], q: &q, k: &k, v: &v };
//! let run = core.attention(&operands, &Settings::default(), &Watch::default())?;
//! assert_eq!(run.o, [2.0, 3.0, 4.0, 5.0, 10.0, 11.0, 12.0, 13.0]);
//! # Ok::<(), Error>(())
//! ```

#![warn(unreachable_pub)]

mod attention;
mod core;
mod raw;
mod steps;
mod unit;

// A core.
pub use self::core::Core;
// All queries of all heads in float32.
pub use attention::{AttentionOperands, AttentionRun, HeadRun, Settings, Watch};
// The same in encodings.
pub use raw::{RawHead, RawRun, RowFormat, pack, unpack};
// An attention unit with its memory.
pub use unit::{Unit, UnitOperands, UnitOptions, UnitResult, UnitSurroundings};
// Steps of a run.
pub use steps::{StepTable, action_number};

// One step at a time.
pub use flashd_golden::{Action, PartialState, QueryResult, Step, StepError, Stepper};
pub use flashd_spec::config::Lengths;
pub use flashd_spec::format::{Format, Formats, Words};
pub use flashd_workload::{CausalAlign, ScoreScale, TensorScale};

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Errors of all calls.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The caller's input cannot be used.
    #[error("{0}")]
    Input(String),
    /// The caller ended it.
    #[error("interrupted")]
    Interrupted,
    /// A mistake of ours.
    #[error("internal error, please report it: {0}")]
    Internal(String),
}

impl Error {
    fn input(text: impl std::fmt::Display) -> Error {
        Error::Input(text.to_string())
    }
}

impl From<StepError> for Error {
    fn from(e: StepError) -> Error {
        Error::input(e)
    }
}

/// The payload that unwinds through a run when its [`Watch`] ends it.
struct Cancelled;

/// Runs a function whose panics must not cross a border between languages.
///
/// # Errors
/// Its own; [`Error::Internal`] for a panic, and [`Error::Interrupted`] for a run that was ended.
pub fn guarded<T>(run: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    // State at the panic is dropped with its error, or protected by poisoned locks, which are taken over.
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|payload| Err(told(payload.as_ref())))
}

fn told(payload: &(dyn Any + Send)) -> Error {
    if payload.is::<Cancelled>() {
        return Error::Interrupted;
    }
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or(payload.downcast_ref::<&str>().copied());
    Error::Internal(text.unwrap_or("a panic without words").to_string())
}
