//! A core one step at a time, on encodings.

use crate::raised;
use flashd_api::{Error, PartialState, StepError, Stepper, action_number, guarded};
use pyo3::prelude::*;
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

#[pymethods]
impl Steps {
    /// Loads a query, d encodings.
    #[pyo3(signature = (q, v_exponent = 0))]
    fn query(&self, q: Vec<u64>, v_exponent: u64) -> PyResult<()> {
        self.with(|stepper| stepper.query(&q, v_exponent))
    }

    /// Starts the query from a partial result, before its first key: what `state` gave.
    fn restore(&self, scalars: [u64; 2], o: Vec<u64>) -> PyResult<()> {
        self.with(|stepper| stepper.restore(&PartialState { scalars, o }).map(drop))
    }

    /// The query meets a key, whose bias is bf16: score, argument, factor and sum, raw; the action's number; whether its value is due.
    #[pyo3(signature = (k, masked = false, bias = 0))]
    fn key(&self, k: Vec<u64>, masked: bool, bias: u64) -> PyResult<(i64, i64, u64, Option<u64>, u8, bool)> {
        self.with(|stepper| {
            let step = stepper.biased_key(&k, bias, masked)?;
            Ok((step.s, step.x, step.w, step.l, action_number(step.action), stepper.value_is_due()))
        })
    }

    /// The value of the key before.
    fn value(&self, v: Vec<u64>) -> PyResult<()> {
        self.with(|stepper| stepper.value(&v))
    }

    /// Scalars and accumulators, raw.
    fn state(&self) -> PyResult<(Vec<u64>, Vec<u64>)> {
        self.with(|stepper| {
            let state = stepper.state();
            Ok((state.scalars.to_vec(), state.o))
        })
    }

    /// The result's encodings, and whether it is invalid, overflowed and empty.
    fn result(&self) -> PyResult<(Vec<u64>, bool, bool, bool)> {
        self.with(|stepper| {
            let result = stepper.result()?;
            Ok((result.o, result.invalid, result.overflow, result.empty))
        })
    }
}
