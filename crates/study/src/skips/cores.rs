//! Rules on the bit-exact models of the cores that have them.

use super::Rule;
use super::tally::RuleTally;
use crate::heads::{HeadSample, HeadsError};
use flashd_golden::{Action, Model, QueryResult};
use flashd_spec::config::CoreConfig;
use flashd_spec::format::Format;
use flashd_workload::{
    FormatRounding, Quantised, Scaling, TensorScale, choose_scaling, quantise, v_candidates,
};

/// Queries of one run: every step of a run is recorded.
const QUERIES: usize = 64;

/// A head in the encodings of a format.
struct Encoded<'a> {
    head: &'a HeadSample,
    format: Format,
    rounded: Quantised,
    /// The queries that are used.
    q: Vec<u64>,
}

/// Values with a separate power of two.
struct ScaledValues {
    scaling: Scaling,
    v: Vec<u64>,
}

/// The tallies of the rules that a core has. The power of two of V is the one with which the core errs least without
/// the rule, so that both runs have the same.
pub(super) fn on_cores(
    head: &HeadSample,
    rules: &[Rule],
    format: Format,
) -> Result<Vec<Option<RuleTally>>, HeadsError> {
    let (trace, a) = (&head.trace, &head.trace.attention);
    let scaling = choose_scaling(format, a, trace.score_scale(), TensorScale::Auto)
        .map_err(|error| HeadsError::Scaling { name: trace.name.clone(), error })?;
    let rounded = quantise(format, scaling, a);
    let q = head.queries.iter().flat_map(|&i| rounded.query(i).to_vec()).collect();
    let encoded = Encoded { head, format, rounded, q };
    let candidates: Vec<ScaledValues> = v_candidates(a.max_abs_v(), format)
        .into_iter()
        .map(|exponent| {
            let (scaling, rounding) = (scaling.with_v_exponent(exponent), FormatRounding::new(format));
            let factors = scaling.factors();
            ScaledValues { v: a.v.iter().map(|&v| rounding.bits(factors.v(v))).collect(), scaling }
        })
        .collect();
    // Several rules share a core: its results without one are made once.
    let mut without: Vec<(CoreConfig, usize, Vec<f64>)> = Vec::new();
    let mut one = |rule: &Rule| -> Option<RuleTally> {
        let [core, plain] = rule
            .cores(a.d, format)?
            .map(|core| CoreConfig { score_shift: Some(scaling.score_shift), ..core });
        if !without.iter().any(|(core, ..)| *core == plain) {
            let (values, o) = encoded.best(&plain, &candidates)?;
            without.push((plain.clone(), values, o));
        }
        let (_, values, o) = without.iter().find(|(core, ..)| *core == plain)?;
        Some(encoded.tally(&core, &candidates[*values], o))
    };
    Ok(rules.iter().map(&mut one).collect())
}

impl Encoded<'_> {
    /// Results in runs of [`QUERIES`] queries.
    fn runs<'b>(
        &'b self,
        core: &'b CoreConfig,
        values: &'b ScaledValues,
        record: bool,
    ) -> impl Iterator<Item = Vec<QueryResult>> + 'b {
        let model = Model::new(core);
        let queries = self.q.chunks(QUERIES * core.d).zip(self.head.lengths.chunks(QUERIES));
        queries.map(move |(q, lengths)| {
            model.run(flashd_golden::Head {
                record,
                ..flashd_golden::Head::new(q, &self.rounded.k, &values.v, lengths)
            })
        })
    }

    fn decoded(&self, values: &ScaledValues, result: &QueryResult) -> Vec<f64> {
        result.o.iter().map(|&o| values.scaling.result(self.format, o)).collect()
    }

    /// The values with which a core has the smallest mean error, the first of equals, and its results.
    fn best(&self, core: &CoreConfig, candidates: &[ScaledValues]) -> Option<(usize, Vec<f64>)> {
        let run = |(i, values): (usize, &ScaledValues)| {
            let o: Vec<f64> =
                self.runs(core, values, false).flatten().flat_map(|r| self.decoded(values, &r)).collect();
            let error: f64 = o.iter().zip(&self.head.exact).map(|(o, exact)| (o - exact).abs()).sum();
            (i, o, error)
        };
        let best = candidates.iter().enumerate().map(run).min_by(|a, b| a.2.total_cmp(&b.2));
        best.map(|(i, o, _)| (i, o))
    }

    /// Counts of the core's rule, and the distance between its results with and without the rule.
    fn tally(&self, core: &CoreConfig, values: &ScaledValues, without: &[f64]) -> RuleTally {
        let mut tally = RuleTally::default();
        let results = self.runs(core, values, true).flatten();
        for (result, without) in results.zip(without.chunks_exact(core.dv())) {
            let count = |action| result.steps.iter().filter(|step| step.action == action).count() as u64;
            let o = self.decoded(values, &result);
            let errors =
                o.iter().zip(without).map(|(o, without)| (o - without).abs() / self.head.magnitudes.head);
            // A query's first key is loaded by any rule.
            let loaded = count(Action::Load).saturating_sub(1);
            tally.query(result.steps.len() as u64, count(Action::Hold), loaded, errors);
        }
        tally
    }
}
