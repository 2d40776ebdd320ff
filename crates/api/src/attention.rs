//! Attention of heads in float32, with the scales, roundings and bits of `flashd simulate`.

use crate::steps::{StepCollector, StepTable};
use crate::{Cancelled, Core, Error, guarded};
use flashd_golden::{Monitor, PartialState, QueryResult, Step, VectorModel, Watch as Look};
use flashd_simulator::{
    Accuracy, Counters, ExactResults, Gaps, SaturatedScores, Scenario, prepare_watched, run_model_with,
};
use flashd_spec::config::{Lengths, too_long};
use flashd_workload::{
    AskedVisible, Attention, Bias, CausalAlign, Origins, Scaling, ScoreScale, TensorScale, Visible,
};
use rayon::prelude::*;
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Steps that take less time than to wake other threads.
const SMALL: usize = 256;

/// Q, K and V of heads, rows of the core's d_k and d_v elements one after another. Where K and V have fewer heads than Q, each serves as many
/// heads of Q in a row.
#[derive(Clone, Copy, Debug)]
pub struct AttentionOperands<'a> {
    /// Heads of Q, heads of K and V, queries of a head, keys of a head.
    pub shape: [usize; 4],
    /// `[heads, queries, d_k]`.
    pub q: &'a [f32],
    /// `[key heads, keys, d_k]`.
    pub k: &'a [f32],
    /// `[key heads, keys, d_v]`.
    pub v: &'a [f32],
}

/// Settings of a run; the defaults are `flashd simulate`'s.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Only keys up to the query's own position.
    pub causal: bool,
    /// Alignment of query positions and key positions.
    pub align: Option<CausalAlign>,
    /// Hides keys at a distance of this many positions or more before the query's own.
    pub window: Option<usize>,
    /// How many keys, from the first: one number for all queries, one for each query of a head, or one for each query of each head.
    pub lengths: Option<Vec<usize>>,
    /// Keys hidden from queries, true for hidden: `[queries, keys]` for all heads or `[heads, queries, keys]`.
    pub hidden: Option<Vec<bool>>,
    /// Numbers to add to scores, in natural units: `[queries, keys]` for all heads or `[heads, queries, keys]`. Takes a core with a bias.
    /// Minus infinity hides the key, in a core with masks. Biases of hidden keys may be anything.
    pub bias: Option<Vec<f32>>,
    /// Factor between `q . k` and the score.
    pub score_scale: ScoreScale,
    /// Powers of two on Q, K and V in narrow formats.
    pub tensor_scale: TensorScale,
    /// K minus its mean over the keys: softmax stays the same, and narrow formats lose less.
    pub smooth_k: bool,
    /// Errors against attention in f64.
    pub errors: bool,
    /// Scores, factors and held steps of every query and key.
    pub steps: bool,
}

/// Progress and cancellation of a run, from another thread.
#[derive(Debug, Default)]
pub struct Watch {
    cancelled: AtomicBool,
    done: AtomicU64,
}

impl Watch {
    /// Ends the run soon, with [`Error::Interrupted`].
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Steps of queries so far, without the steps that choose a power of two.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Adds steps, and unwinds if the run is to end.
    pub(crate) fn progress(&self, steps: u64) {
        self.done.fetch_add(steps, Ordering::Relaxed);
        self.check();
    }

    /// Unwinds if the run is to end.
    pub(crate) fn check(&self) {
        if self.cancelled.load(Ordering::Relaxed) {
            // Not a panic: no message is printed. `guarded` recognises it.
            resume_unwind(Box::new(Cancelled));
        }
    }
}

/// A finished run.
#[derive(Clone, Debug)]
pub struct AttentionRun {
    /// `[heads, queries, d_v]`.
    pub o: Vec<f32>,
    /// The outcome of each head.
    pub heads: Vec<HeadRun>,
    /// The number of keys that the core is built for.
    pub max_keys: usize,
}

/// The outcome of a head, without its results.
#[derive(Clone, Debug)]
pub struct HeadRun {
    /// Counts and cycles of the core.
    pub counters: Counters,
    /// How the tensors were scaled, and the score shift that the core is configured with.
    pub scaling: Scaling,
    /// Queries with something beyond the range of fixed-point lanes: their results are wrong.
    pub overflowed: usize,
    /// The most keys that a query sees.
    pub longest_query: usize,
    /// Queries with a score beyond the core's range, if there are any.
    pub saturated_scores: Option<SaturatedScores>,
    /// Queries that saw no key.
    pub empty: usize,
    /// Elements of q, k and v that saturated when they were rounded.
    pub saturated_inputs: [usize; 3],
    /// Roundings in the lanes that saturated.
    pub saturated: u64,
    /// Against f64, where asked for.
    pub accuracy: Option<Accuracy>,
    /// Steps, where asked for.
    pub steps: Option<StepTable>,
    /// The log-sum-exp of each query in base 2, of a core with partial results: minus infinity of a query that saw no key.
    pub log_sum_exp: Option<Vec<f64>>,
}

impl AttentionRun {
    /// The message with which `flashd simulate` fails where results are wrong.
    pub fn overflow(&self) -> Option<String> {
        let queries = match self.heads.iter().map(|head| head.overflowed).sum() {
            0 => return None,
            1 => "1 query has".to_string(),
            n => format!("{n} queries have"),
        };
        Some(format!("{queries} a value beyond the range of the lanes (o_overflow): the results are wrong"))
    }
}

impl AttentionRun {
    /// The warning where a query has more keys than the core is built for.
    pub fn too_long(&self) -> Option<String> {
        let longest = self.heads.iter().map(|head| head.longest_query).max();
        too_long(longest.unwrap_or(0), self.max_keys)
    }

    /// The warning where scores are beyond the core's range. The options have their names in Python.
    pub fn saturated(&self) -> Option<String> {
        let all = || self.heads.iter().filter_map(|head| head.saturated_scores);
        let queries = all().map(|scores| scores.queries).sum();
        let enough = all().map(|scores| scores.enough).try_fold(0, |most, bits| Some(most.max(bits?)));
        let options = ["smooth_k", "softcap", "score_integer_bits"];
        (queries > 0).then(|| SaturatedScores { queries, enough }.warning(options))
    }
}

impl AttentionOperands<'_> {
    fn check(&self, lengths: Lengths) -> Result<(), Error> {
        let [heads, key_heads, queries, keys] = self.shape;
        if self.shape.contains(&0) {
            return Err(Error::Input(
                "q, k and v: at least one head, one row and one column are needed".into(),
            ));
        }
        if !heads.is_multiple_of(key_heads) {
            return Err(Error::Input(format!(
                "k: {key_heads} heads, but q has {heads}; a number that divides q's is needed"
            )));
        }
        let sizes = [
            ("q", self.q, [heads, queries, lengths.k]),
            ("k", self.k, [key_heads, keys, lengths.k]),
            ("v", self.v, [key_heads, keys, lengths.v]),
        ];
        for (name, data, shape) in sizes {
            let needed = shape.iter().try_fold(1usize, |size, &n| size.checked_mul(n));
            if needed != Some(data.len()) {
                return Err(Error::Input(format!("{name}: {} elements, {shape:?} are needed", data.len())));
            }
        }
        Ok(())
    }
}

/// A head's part of a table over queries and keys, which is for all heads or has one for each.
fn of_head<T: Clone>(name: &str, all: &[T], head: usize, shape: [usize; 4]) -> Result<Vec<T>, Error> {
    let [heads, _, queries, keys] = shape;
    let one = queries * keys;
    match all.len() {
        n if n == heads * one => Ok(all[head * one..][..one].to_vec()),
        n if n == one => Ok(all.to_vec()),
        n => Err(Error::Input(format!("{name}: {n} elements, [{heads}, {queries}, {keys}] are needed"))),
    }
}

impl Settings {
    /// The keys that a head's queries see.
    fn visible(&self, core: &Core, head: usize, shape: [usize; 4]) -> Result<Visible, Error> {
        let [heads, _, queries, keys] = shape;
        let masks = core.config().masks;
        let own = |all: &[usize]| match all.len() == heads * queries && heads > 1 {
            true => all[head * queries..][..queries].to_vec(),
            false => all.to_vec(),
        };
        let asked = AskedVisible {
            causal: self.causal,
            align: self.align,
            window: self.window,
            lengths: self.lengths.as_deref().map(own),
        };
        let mut visible = asked.of(masks, queries, keys).map_err(Error::Input)?;
        if let Some(hidden) = &self.hidden {
            if !masks {
                return Err(Error::Input("mask: takes a core with masks; add --masks".into()));
            }
            visible.hidden = of_head("mask", hidden, head, shape)?;
        }
        Ok(visible)
    }

    /// The numbers to add to a head's scores; keys that they hide are hidden in `visible`.
    fn bias(
        &self,
        core: &Core,
        head: usize,
        shape: [usize; 4],
        ranges: Vec<Range<usize>>,
        visible: &mut Visible,
    ) -> Result<Bias, Error> {
        let Some(biases) = &self.bias else { return Ok(Bias::None) };
        let [_, _, queries, keys] = shape;
        let mut biases = of_head("bias", biases, head, shape)?;
        for (query, range) in ranges.into_iter().enumerate() {
            for (key, added) in biases[query * keys..][..keys].iter_mut().enumerate() {
                if !range.contains(&key) || visible.hides(query, key, keys) {
                    *added = 0.0;
                } else if *added == f32::NEG_INFINITY {
                    if !core.config().masks {
                        let text = format!(
                            "bias: hides key {key} from query {query}, which takes a core with masks; add --masks"
                        );
                        return Err(Error::Input(text));
                    }
                    visible.hidden.resize(queries * keys, false);
                    (visible.hidden[query * keys + key], *added) = (true, 0.0);
                } else if !added.is_finite() {
                    return Err(Error::Input(format!(
                        "bias: adds {added} to the score of query {query} and key {key}; a finite number is needed, or -inf to hide the key"
                    )));
                }
            }
        }
        match biases.iter().position(|&added| added != 0.0) {
            // The core needs no bias for zeros.
            None => Ok(Bias::None),
            Some(at) if !core.config().bias => Err(Error::Input(format!(
                "bias: adds {} to the score of query {} and key {}, which takes a core that adds a bias; add --bias",
                biases[at],
                at / keys,
                at % keys
            ))),
            Some(_) => Ok(Bias::Pairs { biases, keys }),
        }
    }
}

/// The log-sum-exp of a result of a core with partial results.
fn log_sum_exp(model: &VectorModel, result: &QueryResult) -> f64 {
    let of = |state: &PartialState| state.log_sum_exp(model.config(), model.numerics());
    result.state.as_ref().map_or(f64::NEG_INFINITY, of)
}

impl Core {
    /// Attention of all heads, on the threads of the current rayon pool: bit for bit the results of `flashd simulate --o`, which takes one head
    /// after another.
    ///
    /// # Errors
    /// The command line's texts for operands and settings that cannot be used; [`Error::Interrupted`] if `watch` ended it.
    pub fn attention(
        &self,
        operands: &AttentionOperands,
        settings: &Settings,
        watch: &Watch,
    ) -> Result<AttentionRun, Error> {
        guarded(|| {
            if self.config().score_shift.is_some() {
                return Err(Error::Input(
                    "--score-shift: simulate derives it from --scale and --tensor-scale; leave it out".into(),
                ));
            }
            operands.check(self.config().lengths())?;
            let heads = operands.shape[0];
            let one = |head: usize| self.head(operands, head, settings, watch);
            let run: Result<Vec<_>, Error> = match operands.shape {
                // Where it takes longer to wake the threads.
                [heads, _, queries, keys] if heads * queries * keys <= SMALL => (0..heads).map(one).collect(),
                // In the pool from here on: a single head, too, wakes it once and not at every join.
                _ => rayon::scope(|_| (0..heads).into_par_iter().map(one).collect()),
            };
            let (o, heads): (Vec<Vec<f32>>, Vec<HeadRun>) = run?.into_iter().unzip();
            Ok(AttentionRun { o: o.concat(), heads, max_keys: self.config().max_keys })
        })
    }

    /// A head with its settings.
    fn scenario(
        &self,
        operands: &AttentionOperands,
        head: usize,
        settings: &Settings,
    ) -> Result<Scenario, Error> {
        let [heads, key_heads, queries, keys] = operands.shape;
        let Lengths { k: d, v: dv } = self.config().lengths();
        let mut visible = settings.visible(self, head, operands.shape)?;
        let part = |x: &[f32], i: usize, size: usize| x[i * size..][..size].to_vec();
        let key_head = head / (heads / key_heads);
        let several = |count: usize, head: usize| (count > 1).then_some(head);
        let own = several(key_heads, key_head);
        let attention = Attention {
            source: Origins::in_memory([several(heads, head), own, own]),
            ..Attention::new(
                d,
                part(operands.q, head, queries * d),
                part(operands.k, key_head, keys * d),
                part(operands.v, key_head, keys * dv),
            )
        };
        let bias = settings.bias(self, head, operands.shape, visible.ranges(&attention), &mut visible)?;
        Ok(Scenario {
            attention: visible.only_seen(attention).map_err(Error::input)?.into(),
            visible,
            softcap: self.config().softcap,
            bias,
            sink: None,
            score_scale: settings.score_scale,
            tensor_scale: settings.tensor_scale,
            scale_rule: Default::default(),
        })
    }

    fn head(
        &self,
        operands: &AttentionOperands,
        head: usize,
        settings: &Settings,
        watch: &Watch,
    ) -> Result<(Vec<f32>, HeadRun), Error> {
        let [_, _, queries, keys] = operands.shape;
        let scenario = self.scenario(operands, head, settings)?;
        let reference = if settings.errors || scenario.v_exponents(self.config()).len() > 1 {
            ExactResults::watched(&scenario, &|_| watch.check())
        } else {
            ExactResults::none()
        };
        let scenario = if settings.smooth_k { scenario.smooth_k() } else { scenario };
        let check = |_: u64| watch.check();
        let choosing = Monitor { watch: None, progress: Some(&check) };
        let prepared = prepare_watched(self.config(), &scenario, &reference, choosing)
            .map_err(|e| Error::Input(format!("--scale: {e}")))?;
        let model = self.model(prepared.scaling.score_shift);
        let trace = settings.steps.then(|| StepCollector::new(model.config(), queries, keys));
        let progress = |steps: u64| watch.progress(steps);
        let look = |query: usize, first: usize, steps: &[Step]| {
            if let Some(trace) = &trace {
                trace.add(query, first, steps);
            }
        };
        let monitor = Monitor { watch: trace.is_some().then_some(&look as Look), progress: Some(&progress) };
        let run = run_model_with(&model, &prepared.workload, Gaps::None, monitor)
            .map_err(|e| Error::Input(e.by_flag()))?;
        let accuracy = settings.errors.then(|| reference.accuracy(&prepared, &run.results));
        let count = |has: fn(&QueryResult) -> bool| run.results.iter().filter(|result| has(result)).count();
        let head = HeadRun {
            counters: run.counters,
            scaling: prepared.scaling,
            overflowed: count(|result| result.overflow),
            longest_query: prepared.workload.longest(),
            saturated_scores: prepared.saturated_scores(&run.results),
            empty: count(|result| result.empty),
            saturated_inputs: prepared.saturated_inputs,
            saturated: run.results.iter().map(|result| result.saturated).sum(),
            accuracy,
            steps: trace.map(StepCollector::table),
            log_sum_exp: self
                .config()
                .partial
                .then(|| run.results.iter().map(|o| log_sum_exp(&model, o)).collect()),
        };
        Ok((prepared.values(&run.results), head))
    }
}
