//! The compiled part of the Python package `flashd`: arrays in, arrays out. `flashd/core.py` checks shapes and types of elements, and
//! has the conveniences.

mod process;
mod steps;
mod unit;

use flashd_api::{
    AttentionOperands, AttentionRun, CausalAlign, Error, HeadRun, PartialState, RawHead, ScoreScale,
    Settings, StepTable, TensorScale, Watch,
};
use numpy::{IntoPyArray, PyArray1, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray3};
use process::{in_python, with_threads};
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;
use steps::Steps;

/// Steps of queries beyond which a run watches for Ctrl-C and reports progress, in a thread: some milliseconds of work.
const WATCHED_STEPS: usize = 1 << 19;
/// How often it looks.
const LOOK_EVERY: Duration = Duration::from_millis(50);

fn raised(error: Error) -> PyErr {
    match error {
        Error::Input(text) => PyValueError::new_err(in_python(&text)),
        Error::Interrupted => PyKeyboardInterrupt::new_err("interrupted"),
        Error::Internal(_) => PyRuntimeError::new_err(error.to_string()),
    }
}

/// Runs without the interpreter's lock; long runs are watched.
fn watched<T: Send>(
    py: Python,
    steps: usize,
    progress: Option<Py<PyAny>>,
    run: impl FnOnce(&Watch) -> Result<T, Error> + Send,
) -> PyResult<T> {
    let watch = Watch::default();
    if steps < WATCHED_STEPS && progress.is_none() {
        return py.detach(|| with_threads(|| run(&watch))).map_err(raised);
    }
    py.detach(|| {
        std::thread::scope(|scope| {
            let (done, finished) = channel();
            let watch = &watch;
            let worker = scope.spawn(move || {
                let result = with_threads(|| run(watch));
                // Nobody listens any more after an exception.
                let _ = done.send(());
                result
            });
            let mut exception = None;
            while let Err(RecvTimeoutError::Timeout) = finished.recv_timeout(LOOK_EVERY) {
                let look = Python::attach(|py| {
                    py.check_signals()?;
                    match &progress {
                        Some(progress) => progress.call1(py, (watch.done(), steps)).map(drop),
                        None => Ok(()),
                    }
                });
                if let (Err(e), None) = (look, &exception) {
                    watch.cancel();
                    exception = Some(e);
                }
            }
            let result =
                worker.join().unwrap_or_else(|_| Err(Error::Internal("a run's thread panicked".into())));
            match exception {
                Some(e) => Err(e),
                None => result.map_err(raised),
            }
        })
    })
}

/// Scalars and accumulators.
type State = ([u64; 2], Vec<u64>);

/// A core. See `flashd.Core`.
#[pyclass(module = "flashd._flashd", name = "Core", frozen)]
pub(crate) struct Core(flashd_api::Core);

/// The arguments `scale` and `tensor_scale`.
fn scales(score: Option<Bound<PyAny>>, tensor: Option<Bound<PyAny>>) -> PyResult<(ScoreScale, TensorScale)> {
    let bad = |name: &str, text: &str| PyValueError::new_err(format!("{name}: {text}"));
    let score_scale = match score {
        None => ScoreScale::Auto,
        Some(value) => match value.extract::<f64>() {
            Ok(factor) => ScoreScale::Value(factor),
            Err(_) => match value.extract::<String>()?.as_str() {
                "auto" => ScoreScale::Auto,
                "none" => ScoreScale::None,
                _ => return Err(bad("scale", "neither auto nor none nor a number")),
            },
        },
    };
    let tensor_scale = match tensor.map(|value| value.extract::<String>()).transpose()?.as_deref() {
        None | Some("auto") => TensorScale::Auto,
        Some("none") => TensorScale::None,
        Some(_) => return Err(bad("tensor_scale", "neither auto nor none")),
    };
    Ok((score_scale, tensor_scale))
}

/// The settings of `flashd.Core.run`, by the same names.
fn settings(given: &Bound<PyDict>) -> PyResult<Settings> {
    let get = |name: &str| Ok::<_, PyErr>(given.get_item(name)?.filter(|value| !value.is_none()));
    let flag = |name: &str| get(name)?.map_or(Ok(false), |value| value.extract());
    let bad = |name: &str, text: &str| PyValueError::new_err(format!("{name}: {text}"));
    let align = match get("causal_align")? {
        None => None,
        Some(value) => {
            let name: String = value.extract()?;
            let known = CausalAlign::NAMED.into_iter().find(|(known, _)| *known == name);
            Some(
                known
                    .ok_or_else(|| {
                        bad("causal_align", &format!("'{name}' is neither top-left nor bottom-right"))
                    })?
                    .1,
            )
        }
    };
    let (score_scale, tensor_scale) = scales(get("scale")?, get("tensor_scale")?)?;
    let hidden = match get("hidden")? {
        None => None,
        Some(value) => Some(value.cast_into::<PyArray1<bool>>()?.try_readonly()?.as_slice()?.to_vec()),
    };
    let bias = match get("bias")? {
        None => None,
        Some(value) => Some(value.cast_into::<PyArray1<f32>>()?.try_readonly()?.as_slice()?.to_vec()),
    };
    Ok(Settings {
        causal: flag("causal")?,
        align,
        window: get("window")?.map(|value| value.extract()).transpose()?,
        lengths: get("lengths")?.map(|value| value.extract()).transpose()?,
        hidden,
        bias,
        score_scale,
        tensor_scale,
        smooth_k: flag("smooth_k")?,
        errors: flag("errors")?,
        steps: flag("steps")?,
    })
}

/// A head's counts as a dictionary.
fn told<'py>(py: Python<'py>, head: HeadRun, shape: [usize; 2]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let c = &head.counters;
    for (name, count) in [
        ("cycles", c.cycles),
        ("queries", c.queries),
        ("keys", c.keys),
        ("held", c.held),
        ("masked", c.masked),
        ("loads", c.loads),
        ("values_read", c.v_reads),
        ("latency", c.latency),
        ("saturated_roundings", head.saturated),
    ] {
        dict.set_item(name, count)?;
    }
    dict.set_item("overflowed_queries", head.overflowed)?;
    dict.set_item("empty_queries", head.empty)?;
    dict.set_item("longest_query", head.longest_query)?;
    dict.set_item("saturated_queries", head.saturated_scores.map_or(0, |scores| scores.queries))?;
    dict.set_item("saturated_inputs", head.saturated_inputs.to_vec())?;
    dict.set_item("score_shift", head.scaling.score_shift)?;
    for (name, exponent) in [
        ("q_exponent", head.scaling.q_exponent),
        ("k_exponent", head.scaling.k_exponent),
        ("v_exponent", head.scaling.v_exponent),
    ] {
        dict.set_item(name, exponent)?;
    }
    if let Some(accuracy) = head.accuracy {
        for (name, error) in [
            ("max_error", accuracy.max),
            ("mean_error", accuracy.mean),
            ("channel_mean_error", accuracy.channel_mean),
            ("channel_worst_error", accuracy.channel_worst),
        ] {
            dict.set_item(name, error)?;
        }
    }
    if let Some(log_sum_exp) = head.log_sum_exp {
        dict.set_item("log_sum_exp", log_sum_exp.into_pyarray(py))?;
    }
    if let Some(StepTable { scores, factors, actions }) = head.steps {
        dict.set_item("scores", scores.into_pyarray(py).reshape(shape)?)?;
        dict.set_item("weights", factors.into_pyarray(py).reshape(shape)?)?;
        dict.set_item("actions", actions.into_pyarray(py).reshape(shape)?)?;
    }
    Ok(dict)
}

/// Results, a report on each head, and warnings.
type Told<'py> =
    (Bound<'py, PyArray1<f32>>, Bound<'py, PyList>, Option<String>, Option<String>, Option<String>);

#[pymethods]
impl Core {
    #[staticmethod]
    fn from_json(py: Python, text: &str) -> PyResult<Core> {
        py.detach(|| with_threads(|| flashd_api::Core::from_json(text))).map(Core).map_err(raised)
    }

    #[staticmethod]
    fn from_options(py: Python, options: Vec<(String, String)>) -> PyResult<Core> {
        let pairs = options.iter().map(|(name, text)| (name.as_str(), text.as_str()));
        py.detach(|| with_threads(|| flashd_api::Core::from_options(pairs))).map(Core).map_err(raised)
    }

    #[getter]
    fn name(&self) -> String {
        self.0.config().name()
    }

    #[getter]
    fn json(&self) -> String {
        self.0.json()
    }

    #[getter]
    fn flags(&self) -> String {
        self.0.config().flags()
    }

    #[getter]
    fn d(&self) -> usize {
        self.0.config().d
    }

    #[getter]
    fn dv(&self) -> usize {
        self.0.config().dv()
    }

    /// The formats of q, k, v and o.
    #[getter]
    fn formats(&self) -> [String; 4] {
        self.0.config().formats().by_operand().map(|(_, format)| format.to_string())
    }

    /// Bits of an operand's word, words of a row, the exponent's bias and its largest field.
    fn row(&self, operand: &str) -> PyResult<(u32, usize, i32, u64)> {
        let rows = self.0.rows(operand).map_err(raised)?;
        Ok((rows.format.width(), rows.words, rows.format.bias, rows.format.exponent_mask()))
    }

    /// Rows of numbers as an operand's encodings.
    fn encode<'py>(
        &self,
        py: Python<'py>,
        operand: &str,
        numbers: PyReadonlyArray1<f32>,
    ) -> PyResult<Bound<'py, PyArray1<u64>>> {
        Ok(self.0.encode(operand, numbers.as_slice()?).map_err(raised)?.into_pyarray(py))
    }

    /// The numbers of an operand's encodings.
    fn decode<'py>(
        &self,
        py: Python<'py>,
        operand: &str,
        encodings: PyReadonlyArray1<u64>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(self.0.decode(operand, encodings.as_slice()?).map_err(raised)?.into_pyarray(py))
    }

    #[getter]
    fn masks(&self) -> bool {
        self.0.config().masks
    }

    #[getter]
    fn bias(&self) -> bool {
        self.0.config().bias
    }

    #[getter]
    fn has_v_exponent(&self) -> bool {
        self.0.config().has_value_exponent()
    }

    /// Widths of the words of a state by their names: an accumulator, then the scalars.
    #[getter]
    fn state_widths(&self) -> Vec<(&'static str, u32)> {
        self.0.state_widths()
    }

    /// The state of a query that has seen no key: scalars and accumulators.
    #[getter]
    fn no_key(&self) -> PyResult<State> {
        let state = self.0.no_key().map_err(raised)?;
        Ok((state.scalars, state.o))
    }

    /// The state of the keys of two.
    fn merge(&self, a: State, b: State) -> PyResult<State> {
        let [a, b] = [a, b].map(|(scalars, o)| PartialState { scalars, o });
        let state = self.0.merge(&a, &b).map_err(raised)?;
        Ok((state.scalars, state.o))
    }

    /// The log-sum-exp of a state's scalars, in base 2.
    fn log_sum_exp(&self, scalars: [u64; 2]) -> PyResult<f64> {
        self.0.log_sum_exp(scalars).map_err(raised)
    }

    #[getter]
    fn latency(&self) -> u32 {
        self.0.latency()
    }

    #[getter]
    fn v_step_latency(&self) -> u32 {
        self.0.v_step_latency()
    }

    /// Heads in float32, contiguous, `[heads, rows, elements]`. With `tells`, the result includes a report on each head.
    #[pyo3(signature = (q, k, v, progress = None, tells = true, **given))]
    #[allow(clippy::too_many_arguments)]
    fn attention<'py>(
        &self,
        py: Python<'py>,
        q: PyReadonlyArray3<f32>,
        k: PyReadonlyArray3<f32>,
        v: PyReadonlyArray3<f32>,
        progress: Option<Py<PyAny>>,
        tells: bool,
        given: Option<&Bound<PyDict>>,
    ) -> PyResult<Told<'py>> {
        let settings = given.map(settings).transpose()?.unwrap_or_default();
        let (queries, keys) = (q.as_array().dim(), k.as_array().dim());
        let shape = [queries.0, keys.0, queries.1, keys.1];
        let operands = AttentionOperands { shape, q: q.as_slice()?, k: k.as_slice()?, v: v.as_slice()? };
        let steps = queries.0.saturating_mul(queries.1).saturating_mul(keys.1);
        let run = watched(py, steps, progress, |watch| self.0.attention(&operands, &settings, watch))?;
        let overflow = run.overflow().map(|text| in_python(&text));
        let saturated = run.saturated();
        let too_long = run.too_long().map(|text| in_python(&text));
        let AttentionRun { o, heads, .. } = run;
        let told_of = if tells { heads } else { Vec::new() };
        let heads = told_of.into_iter().map(|head| told(py, head, [shape[2], shape[3]]));
        let heads = PyList::new(py, heads.collect::<PyResult<Vec<_>>>()?)?;
        Ok((o.into_pyarray(py), heads, overflow, saturated, too_long))
    }

    /// One head in encodings: rows of integers.
    #[pyo3(signature = (q, k, v, lengths = None, hidden = None, bias = None, v_exponent = None))]
    #[allow(clippy::too_many_arguments)]
    fn attention_raw<'py>(
        &self,
        py: Python<'py>,
        q: PyReadonlyArray3<u64>,
        k: PyReadonlyArray3<u64>,
        v: PyReadonlyArray3<u64>,
        lengths: Option<Vec<usize>>,
        hidden: Option<Vec<bool>>,
        bias: Option<Vec<u64>>,
        v_exponent: Option<u64>,
    ) -> PyResult<(Bound<'py, PyArray1<u64>>, Bound<'py, PyDict>)> {
        let (q, k, v) = (q.as_slice()?, k.as_slice()?, v.as_slice()?);
        let (lengths, hidden, bias) = (lengths.as_deref(), hidden.as_deref(), bias.as_deref());
        let head = RawHead { q, k, v, lengths, hidden, bias, v_exponent };
        let words = self.0.config().port_words();
        let steps = q.len() / words.q * (k.len() / words.k);
        let run = watched(py, steps, None, |watch| self.0.attention_raw(&head, watch))?;
        let dict = PyDict::new(py);
        let flags =
            |has: fn(&flashd_api::QueryResult) -> bool| run.results.iter().map(has).collect::<Vec<bool>>();
        dict.set_item("cycles", run.counters.cycles)?;
        dict.set_item("held", run.counters.held)?;
        dict.set_item("values_read", run.counters.v_reads)?;
        dict.set_item("invalid", flags(|result| result.invalid))?;
        dict.set_item("overflow", flags(|result| result.overflow))?;
        dict.set_item("empty", flags(|result| result.empty))?;
        dict.set_item("saturated", flags(|result| result.score_saturated))?;
        let o: Vec<u64> = run.results.into_iter().flat_map(|result| result.o).collect();
        Ok((o.into_pyarray(py), dict))
    }

    /// Names and texts of the files that `flashd generate` writes.
    #[pyo3(signature = (prefix=None))]
    fn files(&self, py: Python, prefix: Option<&str>) -> PyResult<Vec<(String, String)>> {
        let files =
            py.detach(|| with_threads(|| flashd_api::guarded(|| self.0.files(prefix)))).map_err(raised)?;
        Ok(files.into_iter().map(|file| (file.name, file.text)).collect())
    }

    #[pyo3(signature = (folder, prefix=None))]
    fn write(&self, py: Python, folder: PathBuf, prefix: Option<&str>) -> PyResult<Vec<String>> {
        py.detach(|| with_threads(|| flashd_api::guarded(|| self.0.write(&folder, prefix)))).map_err(raised)
    }

    fn steps(&self) -> Steps {
        Steps::new(self.0.stepper())
    }
}

/// The command line: the arguments are the process's own, without the interpreter's. Returns the exit code.
#[pyfunction]
fn main(py: Python, arguments: Vec<String>) -> u8 {
    py.detach(|| with_threads(|| flashd::run(arguments)))
}

#[pymodule]
fn _flashd(module: &Bound<PyModule>) -> PyResult<()> {
    module.add_class::<Core>()?;
    module.add_class::<Steps>()?;
    module.add_class::<unit::Unit>()?;
    module.add_function(wrap_pyfunction!(main, module)?)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}
