//! A core one step at a time, on encodings.

use crate::raised;
use flashd_api::{Error, PartialState, StepError, Stepper, action_number, guarded};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBool;
use std::sync::Mutex;

/// A core one step at a time. See `flashd.Core.steps`.
#[pyclass(module = "flashd._flashd", frozen)]
pub(crate) struct Steps(Mutex<Stepper>);

impl Steps {
    pub(crate) fn new(stepper: Stepper) -> Steps {
        Steps(Mutex::new(stepper))
    }

    fn with<T>(&self, run: impl FnOnce(&mut Stepper) -> Result<T, StepError>) -> PyResult<T> {
        let mut stepper = self.0.lock().unwrap_or_else(|e| e.into_inner());
        guarded(|| run(&mut stepper).map_err(Error::from)).map_err(raised)
    }
}

/// A word of 64 bits or less: nothing is cut off.
fn word(name: &str, x: &Bound<PyAny>) -> PyResult<u64> {
    let no_number = || PyTypeError::new_err(format!("{name}: {x} is no whole number"));
    if x.is_instance_of::<PyBool>() {
        return Err(no_number());
    }
    let x = x.call_method0("__index__").map_err(|_| no_number())?;
    x.extract().map_err(|_| PyValueError::new_err(format!("{name}: {x} is outside 0 to 2**64 - 1")))
}

/// Words of a vector.
fn words(name: &str, x: &Bound<PyAny>) -> PyResult<Vec<u64>> {
    x.try_iter()
        .map_err(|_| PyTypeError::new_err(format!("{name}: {x} is no sequence of whole numbers")))?
        .map(|x| word(name, &x?))
        .collect()
}

#[pymethods]
impl Steps {
    /// Loads a query, d encodings.
    #[pyo3(signature = (q, v_exponent = None))]
    fn query(&self, q: &Bound<PyAny>, v_exponent: Option<&Bound<PyAny>>) -> PyResult<()> {
        let (q, v_exponent) = (words("q", q)?, v_exponent.map_or(Ok(0), |x| word("v_exponent", x))?);
        self.with(|stepper| stepper.query(&q, v_exponent))
    }

    /// Starts the query from a partial result of `state`, before its first key.
    fn restore(&self, scalars: &Bound<PyAny>, o: &Bound<PyAny>) -> PyResult<()> {
        let (scalars, o) = (words("scalars", scalars)?, words("o", o)?);
        let scalars = <[u64; 2]>::try_from(scalars).map_err(|given| {
            PyValueError::new_err(format!("scalars: {} words, 2 are needed", given.len()))
        })?;
        self.with(|stepper| stepper.restore(&PartialState { scalars, o }).map(drop))
    }

    /// The query meets a key, whose bias is bf16: score, argument, factor and sum, raw; the action's number; whether its value is due.
    #[pyo3(signature = (k, masked = false, bias = None))]
    fn key(
        &self,
        k: &Bound<PyAny>,
        masked: bool,
        bias: Option<&Bound<PyAny>>,
    ) -> PyResult<(i64, i64, u64, Option<u64>, u8, bool)> {
        let (k, bias) = (words("k", k)?, bias.map_or(Ok(0), |x| word("bias", x))?);
        self.with(|stepper| {
            let step = stepper.biased_key(&k, bias, masked)?;
            Ok((step.s, step.x, step.w, step.l, action_number(step.action), stepper.value_is_due()))
        })
    }

    /// The value of the key before.
    fn value(&self, v: &Bound<PyAny>) -> PyResult<()> {
        let v = words("v", v)?;
        self.with(|stepper| stepper.value(&v))
    }

    /// Scalars and accumulators, raw.
    fn state(&self) -> PyResult<(Vec<u64>, Vec<u64>)> {
        self.with(|stepper| {
            let state = stepper.state();
            Ok((state.scalars.to_vec(), state.o))
        })
    }

    /// The result's encodings, and whether it is invalid, overflowed and empty, and has saturated scores.
    fn result(&self) -> PyResult<(Vec<u64>, bool, bool, bool, bool)> {
        self.with(|stepper| {
            let result = stepper.result()?;
            Ok((result.o, result.invalid, result.overflow, result.empty, result.score_saturated))
        })
    }
}
