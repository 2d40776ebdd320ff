//! An attention unit.

use crate::process::with_threads;
use crate::{Core, raised, scales};
use flashd_api::{UnitOperands, UnitOptions, UnitResult, UnitSurroundings};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray3};
use pyo3::prelude::*;

/// Numbers of all queries.
type Numbers<'py> = Bound<'py, PyArray1<f32>>;

/// A unit. See `flashd.Unit`.
#[pyclass(module = "flashd._flashd", name = "Unit", frozen)]
pub(crate) struct Unit(flashd_api::Unit);

#[pymethods]
impl Unit {
    #[new]
    #[pyo3(signature = (core, queries, beat = None, address_bits = None, in_flight = None, all_values = false, kv_buffer = None))]
    fn new(
        core: &Core,
        queries: usize,
        beat: Option<u32>,
        address_bits: Option<u32>,
        in_flight: Option<u32>,
        all_values: bool,
        kv_buffer: Option<u32>,
    ) -> PyResult<Unit> {
        let options = UnitOptions { queries, beat, address_bits, in_flight, all_values, kv_buffer };
        flashd_api::Unit::new(&core.0, options).map(Unit).map_err(raised)
    }

    #[getter]
    fn name(&self) -> String {
        self.0.config().name()
    }

    /// A job in float32, contiguous, `[heads, rows, elements]`: results, log-sum-exps if the job has them, and the report as JSON.
    #[pyo3(signature = (q, k, v, fields, latency, gap, random = None, scale = None, tensor_scale = None))]
    #[allow(clippy::too_many_arguments)]
    fn run<'py>(
        &self,
        py: Python<'py>,
        q: PyReadonlyArray3<f32>,
        k: PyReadonlyArray3<f32>,
        v: PyReadonlyArray3<f32>,
        fields: &str,
        latency: u64,
        gap: u64,
        random: Option<u64>,
        scale: Option<Bound<PyAny>>,
        tensor_scale: Option<Bound<PyAny>>,
    ) -> PyResult<(Numbers<'py>, Option<Numbers<'py>>, String)> {
        let (score_scale, tensor_scale) = scales(scale, tensor_scale)?;
        let (queries, keys) = (q.as_array().dim(), k.as_array().dim());
        let shape = [queries.0, keys.0, queries.1, keys.1];
        let operands = UnitOperands { shape, q: q.as_slice()?, k: k.as_slice()?, v: v.as_slice()? };
        let around = UnitSurroundings { latency, gap, random, score_scale, tensor_scale };
        let run = py.detach(|| with_threads(|| self.0.run(&operands, fields, &around)));
        let UnitResult { o, log_sum_exps, report } = run.map_err(raised)?;
        Ok((o.into_pyarray(py), log_sum_exps.map(|all| all.into_pyarray(py)), report))
    }

    /// Names and texts of the files that `flashd generate` writes.
    fn files(&self, py: Python) -> PyResult<Vec<(String, String)>> {
        let files = py.detach(|| with_threads(|| flashd_api::guarded(|| self.0.files()))).map_err(raised)?;
        Ok(files.into_iter().map(|file| (file.name, file.text)).collect())
    }
}
