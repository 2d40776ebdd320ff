//! Structures that cross the C boundary by value, and the handle of a core.

use crate::error::{input, kept, text};
use flashd_api::{Core, Error, Step, action_number};
use std::ffi::{CString, c_char};

/// A core: a validated configuration and its model. Several threads may use one at the same time.
pub struct FlashdCore {
    pub(crate) core: Core,
    name: CString,
    json: CString,
}

/// Shapes, widths, latencies and options of a core.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlashdInfo {
    /// Elements of a query and of a key.
    pub d: u32,
    /// Elements of a value and of a result.
    pub dv: u32,
    /// Words of a query in encodings: d, and the words of its scales, where queries have any.
    pub query_words: u32,
    /// Words of a key in encodings: d, and the words of its scales, where keys have any.
    pub key_words: u32,
    /// Words of a value in encodings.
    pub value_words: u32,
    /// Bits of an element of q.
    pub q_width: u32,
    /// Bits of an element of k.
    pub k_width: u32,
    /// Bits of an element of v.
    pub v_width: u32,
    /// Bits of an element of o.
    pub o_width: u32,
    /// Bits of an accumulator in a step's state.
    pub accumulator_bits: u32,
    /// Scalars of the state that have a meaning, 0 to 2.
    pub state_scalars: u32,
    /// Cycles from a query's last key to its result.
    pub latency: u32,
    /// Cycles from a key to its v_step.
    pub v_step_latency: u32,
    /// Cycles from v_ren to its value.
    pub value_latency: u32,
    /// Whether keys can be masked.
    pub masks: bool,
    /// Whether a bias is added to scores.
    pub bias: bool,
    /// Whether queries can start from partial results.
    pub partial: bool,
    /// Whether fixed-point lanes take an exponent with the query.
    pub has_v_exponent: bool,
}

/// Counts of a run, and the cycles that the core takes for it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlashdCounts {
    /// From the first key to the last result.
    pub cycles: u64,
    /// Queries that met a key.
    pub queries: u64,
    /// Keys, over all queries.
    pub keys: u64,
    /// Steps that left the output as it was.
    pub held: u64,
    /// Steps whose key the query does not see.
    pub masked: u64,
    /// Values that were read.
    pub values_read: u64,
    /// Queries with an operand that is Inf or NaN.
    pub invalid: u64,
    /// Queries beyond the range of fixed-point lanes: their results are wrong.
    pub overflowed: u64,
    /// Queries that saw no key: their results are zeros.
    pub empty: u64,
    /// Queries with a score beyond the core's range.
    pub saturated: u64,
    /// Queries of more keys than the core is built for: their sums lose more than the formats.
    pub too_long: u64,
}

/// Action of a step, in FlashdStep.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlashdAction {
    /// The output becomes the value, which is read.
    Load = 0,
    /// The output is updated with the value, which is read.
    Update = 1,
    /// The output stays, the value is not read: the step is held.
    Hold = 2,
    /// The query does not see the key: nothing happens.
    Masked = 3,
    /// A partial result is taken over.
    Restore = 5,
}

/// One step, raw: numbers as the core's internal signals carry them.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlashdStep {
    /// The score, in base 2 with the core's score fraction bits; an encoding where the paper is followed to the letter.
    pub score: i64,
    /// The argument of the weight function; 0 for a first key.
    pub x: i64,
    /// The lanes' factor; 0 where the step holds.
    pub w: u64,
    /// FA2's sum after the step; 0 of cores that have none.
    pub sum: u64,
    /// A FlashdAction.
    pub action: u8,
    /// The factor scales the old output, or the reference moved.
    pub upper: bool,
    /// The step is held.
    pub held: bool,
    /// The value of this key has to follow.
    pub value_is_due: bool,
}

/// Flags of a query's result.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlashdResult {
    /// An operand that was read is Inf or NaN.
    pub invalid: bool,
    /// A value is beyond the range of fixed-point lanes.
    pub overflow: bool,
    /// The query saw no key.
    pub empty: bool,
    /// A score is beyond the core's range.
    pub saturated: bool,
}

impl FlashdStep {
    pub(crate) fn of(step: &Step, value_is_due: bool) -> FlashdStep {
        let action = action_number(step.action);
        FlashdStep {
            score: step.s,
            x: step.x,
            w: step.w,
            sum: step.l.unwrap_or(0),
            action,
            upper: step.upper,
            held: action == FlashdAction::Hold as u8,
            value_is_due,
        }
    }
}

impl FlashdCore {
    pub(crate) fn new(core: Core) -> FlashdCore {
        let name = CString::new(core.config().name()).unwrap_or_default();
        let json = CString::new(core.json()).unwrap_or_default();
        FlashdCore { core, name, json }
    }
}

/// The target of a handle.
///
/// # Safety
/// It is null, or comes from this library and was not freed.
pub(crate) unsafe fn handle<'a, T>(handle: *const T) -> Result<&'a T, Error> {
    unsafe { handle.as_ref() }.ok_or_else(|| input("the handle is NULL"))
}

/// The core of a configuration in JSON, as in configs/ of the repository: {"design": "flash-d", "d": 64, "format": "bf16"} and any option.
/// NULL if it is not legal.
///
/// # Safety
/// `json` is null or a string that ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flashd_core_new(json: *const c_char) -> *mut FlashdCore {
    let core = kept(|| Core::from_json(unsafe { text("json", json) }?).map(FlashdCore::new));
    core.map_or(std::ptr::null_mut(), |core| Box::into_raw(Box::new(core)))
}

/// Frees a core. NULL is nothing to free.
///
/// # Safety
/// `core` comes from flashd_core_new and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flashd_core_free(core: *mut FlashdCore) {
    if !core.is_null() {
        drop(unsafe { Box::from_raw(core) });
    }
}

/// The name of the core's module; empty for NULL. Valid as long as the core.
///
/// # Safety
/// `core` is null or comes from flashd_core_new.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flashd_core_name(core: *const FlashdCore) -> *const c_char {
    unsafe { core.as_ref() }.map_or(c"".as_ptr(), |core| core.name.as_ptr())
}

/// The whole configuration as JSON; empty for NULL. Valid as long as the core.
///
/// # Safety
/// `core` is null or comes from flashd_core_new.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flashd_core_json(core: *const FlashdCore) -> *const c_char {
    unsafe { core.as_ref() }.map_or(c"".as_ptr(), |core| core.json.as_ptr())
}

/// Shapes, widths, latencies and options of a core.
///
/// # Safety
/// `core` is null or comes from flashd_core_new; `info` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flashd_core_info(core: *const FlashdCore, info: *mut FlashdInfo) -> bool {
    kept(|| {
        let core = &unsafe { handle(core) }?.core;
        let config = core.config();
        let (lengths, words, formats) = (config.lengths(), config.port_words(), config.formats());
        let told = FlashdInfo {
            d: lengths.k as u32,
            dv: lengths.v as u32,
            query_words: words.q as u32,
            key_words: words.k as u32,
            value_words: words.v as u32,
            q_width: formats.q.width(),
            k_width: formats.k.width(),
            v_width: formats.v.width(),
            o_width: formats.o.width(),
            accumulator_bits: config.accumulator_bits(),
            state_scalars: config.state_scalars().len() as u32,
            latency: core.latency(),
            v_step_latency: core.v_step_latency(),
            value_latency: config.value_latency,
            masks: config.masks,
            bias: config.bias,
            partial: config.partial,
            has_v_exponent: config.has_value_exponent(),
        };
        *unsafe { info.as_mut() }.ok_or_else(|| input("info is NULL"))? = told;
        Ok(())
    })
    .is_some()
}
