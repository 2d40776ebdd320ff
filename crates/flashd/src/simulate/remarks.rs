//! Anomalies of a run's results and inputs, and its errors: the same for cores, arrays and split keys.

use crate::cli::SimulateArgs;
use crate::output::{SCORE_OPTIONS, percent, table, warn};
use flashd_golden::QueryResult;
use flashd_simulator::{Accuracy, ExactResults, Prepared, SaturatedScores};
use flashd_spec::config::{CoreConfig, too_long};
use flashd_spec::format::{Format, Formats};
use flashd_workload::channel_limit;
use serde::Serialize;

/// Anomalies of a run.
#[derive(Serialize)]
pub(super) struct Remarks {
    /// Queries with an operand that is Inf or NaN.
    pub invalid_queries: usize,
    /// Queries that saw no key.
    pub empty_queries: usize,
    /// Queries with a value beyond the range of fixed-point lanes: their results are wrong.
    pub overflowed_queries: usize,
    /// Queries with a score, or a product of its sum, beyond the core's range.
    pub saturated_queries: usize,
    /// The integer bits of the score that hold them, if any do.
    #[serde(skip)]
    saturated_scores: Option<SaturatedScores>,
    /// Elements of q, k and v that saturated when they were rounded.
    pub saturated_inputs: [usize; 3],
    /// The most keys that a query sees.
    pub longest_query: usize,
    /// The number of keys that the core is built for.
    pub max_keys: usize,
    /// Elements of results that are the largest number of their format, where values can be beyond it. `None` where they cannot.
    pub results_at_limit: Option<usize>,
    /// The format of results.
    #[serde(skip)]
    o: Format,
    /// The core had K minus its mean over the keys.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub smooth_k: bool,
    /// The largest channel of V over the smallest.
    pub channel_spread: f64,
    /// The part of it that lanes under one exponent for all channels hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel_spread_held: Option<f64>,
}

impl Remarks {
    pub(super) fn new(
        args: &SimulateArgs,
        core: &CoreConfig,
        prepared: &Prepared,
        reference: &ExactResults,
        results: &[QueryResult],
    ) -> Remarks {
        let count = |has: fn(&QueryResult) -> bool| results.iter().filter(|result| has(result)).count();
        let Formats { v, o, .. } = core.formats();
        let at_limit = |&&bits: &&u64| o.magnitude(bits) == o.max_finite();
        let largest = |format: Format| format.value(format.max_finite());
        let of_values = channel_limit(core.encodings()).or(v.is_fixed_point().then(|| largest(v)));
        let can_saturate = of_values.is_some_and(|limit| limit > largest(o));
        let saturated_scores = prepared.saturated_scores(results);
        if let Some(scores) = saturated_scores {
            warn(&scores.warning(SCORE_OPTIONS));
        }
        let elements = || results.iter().flat_map(|result| &result.o);
        Remarks {
            results_at_limit: can_saturate.then(|| elements().filter(at_limit).count()),
            o,
            invalid_queries: count(|result| result.invalid),
            empty_queries: count(|result| result.empty),
            overflowed_queries: count(|result| result.overflow),
            saturated_queries: saturated_scores.map_or(0, |scores| scores.queries),
            saturated_scores,
            saturated_inputs: prepared.saturated_inputs,
            longest_query: prepared.workload.longest(),
            max_keys: core.max_keys,
            smooth_k: args.smooth_k,
            channel_spread: reference.magnitudes.spread(),
            channel_spread_held: core.channel_spread(),
        }
    }

    /// A row for each.
    pub(super) fn rows(&self) -> Vec<[String; 2]> {
        let mut rows = Vec::new();
        for (what, queries) in
            [("queries without keys", self.empty_queries), ("invalid queries", self.invalid_queries)]
        {
            if queries > 0 {
                rows.push([what.into(), queries.to_string()]);
            }
        }
        if self.smooth_k {
            rows.push(["smooth K".into(), "the core had K minus its mean over the keys".into()]);
        }
        if self.overflowed_queries > 0 {
            let error = format!("{} queries beyond the range of the lanes", self.overflowed_queries);
            rows.push(["error".into(), error]);
        }
        if let Some(warning) = too_long(self.longest_query, self.max_keys) {
            warn(&warning);
            rows.push(["warning".into(), warning]);
        }
        if let Some(scores) = self.saturated_scores {
            rows.push(["warning".into(), scores.warning(SCORE_OPTIONS)]);
        }
        if self.saturated_inputs.iter().any(|&n| n > 0) {
            let [q, k, v] = self.saturated_inputs;
            let warning = format!("inputs beyond the format's range: {q} in q, {k} in k, {v} in v");
            rows.push(["warning".into(), warning]);
        }
        if let Some(at_limit) = self.results_at_limit.filter(|&n| n > 0) {
            let (largest, o) = (self.o.value(self.o.max_finite()), self.o);
            let warning =
                format!("{at_limit} results are ±{largest}, the largest of {o}, or saturated to it");
            rows.push(["warning".into(), warning]);
        }
        if let Some(held) = self.channel_spread_held.filter(|&held| self.channel_spread > held) {
            let spread = self.channel_spread;
            let warning = format!(
                "channels of V differ by a factor of {spread:.0}, the lanes hold {held} under one exponent"
            );
            rows.push(["warning".into(), warning]);
        }
        rows
    }
}

/// Comparisons of hardware and model, if there was hardware, and errors against f64.
pub(super) fn error_table(mismatches: Option<u64>, comparisons: u64, rows: &[(&str, &Accuracy)]) -> String {
    let hardware = match mismatches {
        Some(mismatches) => [format!("{mismatches} mismatches"), format!("{comparisons} comparisons")],
        None => ["not run".into(), "take --engine compiled".into()],
    };
    let hardware = [vec!["hardware against bit-exact model".to_string()], hardware.to_vec()].concat();
    let mut cells = vec![[hardware, vec![String::new(); 2]].concat()];
    cells.extend(rows.iter().map(|(name, a)| {
        let errors =
            [("max", a.max), ("mean", a.mean), ("mean", a.channel_mean), ("worst channel", a.channel_worst)];
        let errors = errors.map(|(what, error)| format!("{what} {}", percent(error)));
        [vec![format!("{name} against f64")], errors.to_vec()].concat()
    }));
    table(&["errors", "", "fractions of max|v|", "", "of each channel's max|v|"], cells)
}
