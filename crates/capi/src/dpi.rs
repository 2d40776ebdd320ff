//! The functions that `sv/flashd_dpi.sv` imports: DPI has no structures here, but plain arguments, and vectors are packed as on the core's
//! ports, in the words of `svBitVecVal`.
//!
//! A scoreboard ends a simulation on the first error, so these functions return 1 for success and 0 for an error, whose text is
//! `flashd_error()`. SystemVerilog's `int` is C's, `longint` `long long`.

use crate::error::{input, kept, slice, slice_mut};
use crate::steps::FlashdSteps;
use crate::types::{FlashdCore, FlashdStep, flashd_core_free, flashd_core_new, handle};
use crate::{flashd_steps_free, flashd_steps_new};
use flashd_api::{Error, Format, Formats, Stepper, Words, pack, unpack};
use std::ffi::{c_char, c_int, c_longlong};

/// Words of the widest vector: 576 elements of 32 bits.
const VECTOR_WORDS: usize = 576;
/// Words of the widest state: 576 accumulators of 64 bits.
const STATE_WORDS: usize = 1152;

/// The target of a handle, mutable.
///
/// # Safety
/// It is null, or comes from flashd_dpi_new and was not freed.
unsafe fn model<'a>(handle: *mut FlashdSteps) -> Result<&'a mut Stepper, Error> {
    let steps = unsafe { handle.as_mut() }.ok_or_else(|| input("the handle is null"))?;
    Ok(&mut steps.stepper)
}

/// A vector from a port: its elements, and the words of its scale where it has one.
///
/// # Safety
/// `words` is null or points to a flashd_vector_t.
unsafe fn elements(
    model: &Stepper,
    what: &str,
    words: *const u32,
    operand: fn(Formats, Words) -> (Format, usize),
) -> Result<Vec<u64>, Error> {
    let config = model.config();
    let (format, elements) = operand(config.formats(), config.port_words());
    Ok(unpack(unsafe { slice(what, words, VECTOR_WORDS) }?, format.width(), elements))
}

/// The model of the core that JSON describes; null if it is not legal.
///
/// # Safety
/// `json` is null or a string that ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flashd_dpi_new(json: *const c_char) -> *mut FlashdSteps {
    let core: *mut FlashdCore = unsafe { flashd_core_new(json) };
    if core.is_null() {
        return std::ptr::null_mut();
    }
    let steps = unsafe { flashd_steps_new(core) };
    unsafe { flashd_core_free(core) };
    steps
}

/// Frees it.
///
/// # Safety
/// `steps` comes from flashd_dpi_new and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flashd_dpi_free(steps: *mut FlashdSteps) {
    unsafe { flashd_steps_free(steps) }
}

/// Loads a query.
///
/// # Safety
/// `steps` comes from flashd_dpi_new; `q` is a flashd_vector_t.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flashd_dpi_query(
    steps: *mut FlashdSteps,
    q: *const u32,
    v_exponent: c_int,
) -> c_int {
    let run = || {
        let model = unsafe { model(steps) }?;
        let exponent = u64::try_from(v_exponent).map_err(|_| input("v_exponent is negative"))?;
        let q = unsafe { elements(model, "q", q, |formats, words| (formats.q, words.q)) }?;
        Ok(model.query(&q, exponent)?)
    };
    kept(run).is_some().into()
}

/// The query meets a key. The step's numbers go to the other arguments: see FlashdStep.
///
/// # Safety
/// `steps` comes from flashd_dpi_new; `k` is a flashd_vector_t, the others can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flashd_dpi_key(
    steps: *mut FlashdSteps,
    k: *const u32,
    masked: c_int,
    score: *mut c_longlong,
    x: *mut c_longlong,
    w: *mut c_longlong,
    sum: *mut c_longlong,
    action: *mut c_int,
    upper: *mut c_int,
) -> c_int {
    unsafe { flashd_dpi_biased_key(steps, k, 0, masked, score, x, w, sum, action, upper) }
}

/// flashd_dpi_key with a bias, a bf16 number that is added to the score.
///
/// # Safety
/// As flashd_dpi_key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flashd_dpi_biased_key(
    steps: *mut FlashdSteps,
    k: *const u32,
    bias: c_int,
    masked: c_int,
    score: *mut c_longlong,
    x: *mut c_longlong,
    w: *mut c_longlong,
    sum: *mut c_longlong,
    action: *mut c_int,
    upper: *mut c_int,
) -> c_int {
    let run = || {
        let model = unsafe { model(steps) }?;
        let bias = u64::try_from(bias).map_err(|_| input("bias is negative"))?;
        let k = unsafe { elements(model, "k", k, |formats, words| (formats.k, words.k)) }?;
        let step = FlashdStep::of(&model.biased_key(&k, bias, masked != 0)?, false);
        for (to, value) in
            [(score, step.score), (x, step.x), (w, step.w as c_longlong), (sum, step.sum as c_longlong)]
        {
            *unsafe { to.as_mut() }.ok_or_else(|| input("an argument is null"))? = value;
        }
        for (to, value) in [(action, c_int::from(step.action)), (upper, c_int::from(step.upper))] {
            *unsafe { to.as_mut() }.ok_or_else(|| input("an argument is null"))? = value;
        }
        Ok(())
    };
    kept(run).is_some().into()
}

/// The value of the key before.
///
/// # Safety
/// `steps` comes from flashd_dpi_new; `v` is a flashd_vector_t.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flashd_dpi_value(steps: *mut FlashdSteps, v: *const u32) -> c_int {
    let run = || {
        let model = unsafe { model(steps) }?;
        let v = unsafe { elements(model, "v", v, |formats, words| (formats.v, words.v)) }?;
        Ok(model.value(&v)?)
    };
    kept(run).is_some().into()
}

/// The result after the last key, and its flags: bit 0 invalid, bit 1 overflow, bit 2 empty, bit 3
/// saturated.
///
/// # Safety
/// `steps` comes from flashd_dpi_new; `o` is a flashd_vector_t, `flags` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flashd_dpi_result(
    steps: *const FlashdSteps,
    o: *mut u32,
    flags: *mut c_int,
) -> c_int {
    let run = || {
        let model = &unsafe { handle(steps) }?.stepper;
        let result = model.result()?;
        pack(&result.o, model.config().formats().o.width(), unsafe { slice_mut("o", o, VECTOR_WORDS) }?);
        let bits = [result.invalid, result.overflow, result.empty, result.score_saturated];
        let bits = bits.iter().enumerate().map(|(place, &flag)| c_int::from(flag) << place).sum();
        *unsafe { flags.as_mut() }.ok_or_else(|| input("flags is null"))? = bits;
        Ok(())
    };
    kept(run).is_some().into()
}

/// The state after the last step: its scalars, and the accumulators as the core holds them, packed.
///
/// # Safety
/// `steps` comes from flashd_dpi_new; `o` is a flashd_state_t, the others can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flashd_dpi_state(
    steps: *const FlashdSteps,
    first: *mut c_longlong,
    second: *mut c_longlong,
    o: *mut u32,
) -> c_int {
    let run = || {
        let model = &unsafe { handle(steps) }?.stepper;
        let state = model.state();
        for (to, value) in [first, second].into_iter().zip(state.scalars) {
            *unsafe { to.as_mut() }.ok_or_else(|| input("an argument is null"))? = value as c_longlong;
        }
        pack(&state.o, model.config().accumulator_bits(), unsafe { slice_mut("o", o, STATE_WORDS) }?);
        Ok(())
    };
    kept(run).is_some().into()
}
