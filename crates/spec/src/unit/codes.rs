//! Flags of a job, and the codes with which a unit ends one: names and meanings, a row each.

use super::{Flag, JobError};
use serde::Serialize;

/// A bit of FLAGS, or a code in STATUS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Code {
    /// Name.
    pub name: &'static str,
    /// Its bit, or its number.
    pub code: u32,
    /// Its meaning.
    pub meaning: &'static str,
}

const fn code(name: &'static str, code: u32, meaning: &'static str) -> Code {
    Code { name, code, meaning }
}

/// The bits of FLAGS.
pub const FLAGS: [Code; 8] = [
    code("CAUSAL", Flag::Causal as u32, "a query sees the keys up to its own place"),
    code("WINDOW", Flag::Window as u32, "a query sees the last WINDOW keys up to its own place"),
    code("PAGED", Flag::Paged as u32, "keys and values are in pages"),
    code("LSE", Flag::Lse as u32, "log-sum-exps are written"),
    code("STATE_IN", Flag::StateIn as u32, "queries start from states"),
    code("STATE_OUT", Flag::StateOut as u32, "states are written"),
    code("INTERRUPT", Flag::Interrupt as u32, "the end of the job raises the interrupt"),
    code("NEXT", Flag::Next as u32, "another descriptor follows"),
];

/// The memory answered a read with SLVERR.
pub const READ_SLVERR: u32 = 16;
/// The memory answered a read with DECERR.
pub const READ_DECERR: u32 = 17;
/// The memory answered a write with SLVERR.
pub const WRITE_SLVERR: u32 = 18;
/// The memory answered a write with DECERR.
pub const WRITE_DECERR: u32 = 19;
/// The block table names a page beyond PAGES.
pub const PAGE_BEYOND: u32 = 20;

/// The row of a refusal.
const fn refusal(error: JobError) -> Code {
    let (name, meaning) = match error {
        JobError::Heads => ("HEADS", "GROUP or K_HEADS is zero"),
        JobError::Length => {
            ("LENGTH", "more keys than the core is built for, or none for an array without masks")
        }
        JobError::Window => ("WINDOW", "a window without a place, or of no keys"),
        JobError::Page => ("PAGE", "a page of more tokens than 2^16, or no pages"),
        JobError::Stride => ("STRIDE", "a row is shorter than a vector, so that rows overlap"),
        JobError::Address => {
            ("ADDRESS", "an address beyond the port's, or a block table that is not at a multiple of 4")
        }
        JobError::Unsupported => {
            ("UNSUPPORTED", "the unit is built without masks or states, or for another factor of scores")
        }
        JobError::Descriptor => {
            ("DESCRIPTOR", "a descriptor's address is no multiple of its size, or beyond the port's")
        }
    };
    code(name, error as u32, meaning)
}

/// The codes in STATUS, in ascending order. Refused jobs have the first eight; nothing is written for them.
pub const CODES: [Code; 13] = [
    refusal(JobError::Heads),
    refusal(JobError::Length),
    refusal(JobError::Window),
    refusal(JobError::Page),
    refusal(JobError::Stride),
    refusal(JobError::Address),
    refusal(JobError::Unsupported),
    refusal(JobError::Descriptor),
    code("READ_SLVERR", READ_SLVERR, "the memory answered a read with SLVERR"),
    code("READ_DECERR", READ_DECERR, "the memory answered a read with DECERR"),
    code("WRITE_SLVERR", WRITE_SLVERR, "the memory answered a write with SLVERR"),
    code("WRITE_DECERR", WRITE_DECERR, "the memory answered a write with DECERR"),
    code("PAGE_BEYOND", PAGE_BEYOND, "the block table names a page beyond PAGES"),
];
