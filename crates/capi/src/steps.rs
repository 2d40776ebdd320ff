//! A core one step at a time, in words.

use crate::error::{input, kept, slice, slice_mut};
use crate::types::{FlashdCore, FlashdResult, FlashdStep, handle};
use flashd_api::{Error, PartialState, Stepper};

/// A core's model between two steps.
pub struct FlashdSteps {
    pub(crate) stepper: Stepper,
}

/// The target of a handle, mutable.
///
/// # Safety
/// It is null, or comes from flashd_steps_new, was not freed and has no other user.
unsafe fn steps_mut<'a>(steps: *mut FlashdSteps) -> Result<&'a mut FlashdSteps, Error> {
    unsafe { steps.as_mut() }.ok_or_else(|| input("the handle is NULL"))
}

/// A vector's words from C.
///
/// # Safety
/// `data` is null or points to `words` words.
unsafe fn vector(what: &str, data: *const u32, words: usize) -> Result<Vec<u64>, Error> {
    Ok(unsafe { slice(what, data, words) }?.iter().copied().map(u64::from).collect())
}

/// The core before its first query. NULL for a NULL core.
///
/// # Safety
/// `core` is null or comes from flashd_core_new. It may be freed before the steps are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flashd_steps_new(core: *const FlashdCore) -> *mut FlashdSteps {
    let steps = kept(|| Ok(FlashdSteps { stepper: unsafe { handle(core) }?.core.stepper() }));
    steps.map_or(std::ptr::null_mut(), |steps| Box::into_raw(Box::new(steps)))
}

/// Frees it. NULL is nothing to free.
///
/// # Safety
/// `steps` comes from flashd_steps_new and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flashd_steps_free(steps: *mut FlashdSteps) {
    if !steps.is_null() {
        drop(unsafe { Box::from_raw(steps) });
    }
}

/// Loads a query of query_words encodings and drops the query under way. Fixed-point lanes scale values to v_exponent; other lanes ignore it.
///
/// # Safety
/// `steps` comes from flashd_steps_new; `q` is null or points to query_words words.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flashd_steps_query(steps: *mut FlashdSteps, q: *const u32, v_exponent: u32) -> bool {
    kept(|| {
        let FlashdSteps { stepper } = unsafe { steps_mut(steps) }?;
        let q = unsafe { vector("q", q, stepper.config().port_words().q) }?;
        Ok(stepper.query(&q, v_exponent.into())?)
    })
    .is_some()
}

/// Starts the query from a partial result, before its first key: two scalars, as far as the core has them, and dv accumulators. That of
/// flashd_no_key_state changes nothing.
///
/// # Safety
/// `steps` comes from flashd_steps_new; `scalars` is null or points to 2 words, `o` to dv.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flashd_steps_restore(
    steps: *mut FlashdSteps,
    scalars: *const u64,
    o: *const u64,
) -> bool {
    kept(|| {
        let FlashdSteps { stepper } = unsafe { steps_mut(steps) }?;
        let scalars = unsafe { slice("scalars", scalars, 2) }?;
        let o = unsafe { slice("o", o, stepper.config().dv()) }?.to_vec();
        stepper.restore(&PartialState { scalars: [scalars[0], scalars[1]], o })?;
        Ok(())
    })
    .is_some()
}

/// The query meets a key of key_words encodings; it does not see a masked one. The core's action goes into step before the value is known:
/// if value_is_due, flashd_steps_value has to follow.
///
/// # Safety
/// `steps` comes from flashd_steps_new; `k` is null or points to key_words words, `step` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flashd_steps_key(
    steps: *mut FlashdSteps,
    k: *const u32,
    masked: bool,
    step: *mut FlashdStep,
) -> bool {
    unsafe { flashd_steps_biased_key(steps, k, 0, masked, step) }
}

/// flashd_steps_key with a bias, a bf16 number that is added to the score. Takes a core with a bias.
///
/// # Safety
/// As flashd_steps_key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flashd_steps_biased_key(
    steps: *mut FlashdSteps,
    k: *const u32,
    bias: u32,
    masked: bool,
    step: *mut FlashdStep,
) -> bool {
    kept(|| {
        let FlashdSteps { stepper } = unsafe { steps_mut(steps) }?;
        let k = unsafe { vector("k", k, stepper.config().port_words().k) }?;
        let taken = stepper.biased_key(&k, bias.into(), masked)?;
        if let Some(step) = unsafe { step.as_mut() } {
            *step = FlashdStep::of(&taken, stepper.value_is_due());
        }
        Ok(())
    })
    .is_some()
}

/// The value of the key before, value_words encodings.
///
/// # Safety
/// `steps` comes from flashd_steps_new; `v` is null or points to value_words words.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flashd_steps_value(steps: *mut FlashdSteps, v: *const u32) -> bool {
    kept(|| {
        let FlashdSteps { stepper } = unsafe { steps_mut(steps) }?;
        let v = unsafe { vector("v", v, stepper.config().port_words().v) }?;
        Ok(stepper.value(&v)?)
    })
    .is_some()
}

/// The empty state, of a query that has seen no key: two scalars and dv accumulators. It is neutral in flashd_merge_states and
/// flashd_steps_restore. FLASH-D: the least log-sum-exp; FA2: the least maximum and a sum of 0. Either may be NULL.
///
/// # Safety
/// `core` is null or comes from flashd_core_new; `scalars` is null or points to 2 words, `o` to dv.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flashd_no_key_state(
    core: *const FlashdCore,
    scalars: *mut u64,
    o: *mut u64,
) -> bool {
    kept(|| unsafe { write_state(&handle(core)?.core.no_key()?, scalars, o) }).is_some()
}

/// Merges two states, as the tree of split keys does, into scalars and o, which may alias the states of a or b.
///
/// # Safety
/// `core` is null or comes from flashd_core_new; scalars are null or point to 2 words, accumulators to dv.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flashd_merge_states(
    core: *const FlashdCore,
    scalars_a: *const u64,
    o_a: *const u64,
    scalars_b: *const u64,
    o_b: *const u64,
    scalars: *mut u64,
    o: *mut u64,
) -> bool {
    kept(|| {
        let core = &unsafe { handle(core) }?.core;
        let read = |scalars, o| -> Result<PartialState, Error> {
            let scalars = unsafe { slice("scalars", scalars, 2) }?;
            let o = unsafe { slice("o", o, core.config().dv()) }?.to_vec();
            Ok(PartialState { scalars: [scalars[0], scalars[1]], o })
        };
        let merged = core.merge(&read(scalars_a, o_a)?, &read(scalars_b, o_b)?)?;
        unsafe { write_state(&merged, scalars, o) }
    })
    .is_some()
}

/// The log-sum-exp of a state's two scalars in base 2, into result: ln 2 times it is the natural one. Minus infinity for no key.
///
/// # Safety
/// `core` is null or comes from flashd_core_new; `scalars` is null or points to 2 words, `result` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flashd_log_sum_exp(
    core: *const FlashdCore,
    scalars: *const u64,
    result: *mut f64,
) -> bool {
    kept(|| {
        let scalars = unsafe { slice("scalars", scalars, 2) }?;
        let told = unsafe { handle(core) }?.core.log_sum_exp([scalars[0], scalars[1]])?;
        *unsafe { result.as_mut() }.ok_or_else(|| input("result is NULL"))? = told;
        Ok(())
    })
    .is_some()
}

/// Writes the parts of a state whose pointers are not NULL.
///
/// # Safety
/// `scalars` is null or points to 2 words, `o` to as many as the state has.
unsafe fn write_state(state: &PartialState, scalars: *mut u64, o: *mut u64) -> Result<(), Error> {
    if !scalars.is_null() {
        unsafe { slice_mut("scalars", scalars, 2) }?.copy_from_slice(&state.scalars);
    }
    if !o.is_null() {
        unsafe { slice_mut("o", o, state.o.len()) }?.copy_from_slice(&state.o);
    }
    Ok(())
}

/// The state after the last step: two scalars and dv accumulators as the core holds them. The scalars are, all in base 2, log-sum-exp and
/// remaining budget of the hold rule in FLASH-D, maximum and sum in FA2, and zeros in a core without partial results. Before the first
/// visible key the state is flashd_no_key_state. Either may be NULL.
///
/// # Safety
/// `steps` comes from flashd_steps_new; `scalars` is null or points to 2 words, `o` to dv.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flashd_steps_state(
    steps: *const FlashdSteps,
    scalars: *mut u64,
    o: *mut u64,
) -> bool {
    kept(|| {
        let FlashdSteps { stepper } = unsafe { handle(steps) }?;
        unsafe { write_state(&stepper.state(), scalars, o) }
    })
    .is_some()
}

/// The result as if the last key were the query's last: dv encodings, and its flags, which may be NULL.
///
/// # Safety
/// `steps` comes from flashd_steps_new; `o` is null or points to dv words, `flags` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flashd_steps_result(
    steps: *const FlashdSteps,
    o: *mut u32,
    flags: *mut FlashdResult,
) -> bool {
    kept(|| {
        let FlashdSteps { stepper } = unsafe { handle(steps) }?;
        let result = stepper.result()?;
        let o = unsafe { slice_mut("o", o, result.o.len()) }?;
        for (to, word) in o.iter_mut().zip(result.o) {
            *to = word as u32;
        }
        if let Some(flags) = unsafe { flags.as_mut() } {
            *flags = FlashdResult {
                invalid: result.invalid,
                overflow: result.overflow,
                empty: result.empty,
                saturated: result.score_saturated,
            };
        }
        Ok(())
    })
    .is_some()
}
