//! Shares and added errors of rules on heads.

use super::Rule;
use super::cores::on_cores;
use super::tally::RuleTally;
use crate::by::By;
use crate::heads::{HeadSample, HeadsError};
use flashd_golden::family::{StaticStep, scores, static_steps, weights_under};
use flashd_spec::config::STATIC_HOLD;
use flashd_spec::format::Format;
use rayon::prelude::*;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// Shares and errors.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// Share of the updates that were held. Each saves the read of its value: this is also the share of reads saved.
    pub held: f64,
    /// Share that loaded the value instead of computing, first keys not counted.
    pub loaded: f64,
    /// The rest.
    pub computed: f64,
    /// Mean added error of an output element, as a fraction of max|v|.
    pub mean_error: f64,
    /// Largest of them.
    pub max_error: f64,
}

impl From<&RuleTally> for Figures {
    fn from(t: &RuleTally) -> Figures {
        let share = |n: u64| n as f64 / t.steps.max(1) as f64;
        Figures {
            held: share(t.held),
            loaded: share(t.loaded),
            computed: share(t.steps - t.held - t.loaded),
            mean_error: t.error_sum / t.outputs.max(1) as f64,
            max_error: t.error_max,
        }
    }
}

/// All rules on one head.
#[derive(Clone, Debug)]
pub struct HeadHolds {
    /// For each rule, in f64.
    pub exact: Vec<RuleTally>,
    /// For each rule that a core has, on its bit-exact model.
    pub core: Vec<Option<RuleTally>>,
}

/// One rule on the heads of a group.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RuleHolds {
    /// As it is written.
    #[serde(serialize_with = "as_written")]
    pub rule: Rule,
    /// In f64.
    pub exact: Figures,
    /// Most keys that it held in one query.
    pub most_held: u64,
    /// Largest error that it can add with this number of keys held, as a fraction of max|v|; none without a bound.
    pub bound: Option<f64>,
    /// Whether that bound holds for any number of keys.
    pub bound_for_any_n: bool,
    /// On the bit-exact model of a core that has the rule.
    pub core: Option<Figures>,
}

fn as_written<S: Serializer>(rule: &Rule, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(rule)
}

/// All rules on the heads of a group.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupHolds {
    /// Its name.
    pub group: String,
    /// Heads in it.
    pub heads: usize,
    /// Updates of each rule: pairs of a query and a key that it sees.
    pub updates: u64,
    /// In the order of the rules.
    pub rules: Vec<RuleHolds>,
}

/// Runs rules on a head in f64, and, given a format, the rules that cores implement on their bit-exact models.
///
/// # Errors
/// A score scale that no core can apply.
pub fn measure(head: &HeadSample, rules: &[Rule], format: Option<Format>) -> Result<HeadHolds, HeadsError> {
    let core = match format {
        Some(format) => on_cores(head, rules, format)?,
        None => vec![None; rules.len()],
    };
    Ok(HeadHolds { exact: in_f64(head, rules), core })
}

fn in_f64(head: &HeadSample, rules: &[Rule]) -> Vec<RuleTally> {
    let a = &head.trace.attention;
    let wide = |x: &[f32]| -> Vec<f64> { x.iter().map(|&x| x.into()).collect() };
    let (q, k, v) = (wide(&a.q), wide(&a.k), wide(&a.v));
    let scale = head.trace.score_scale().factor(a.d);
    let queries = head.queries.par_iter().zip(&head.lengths).zip(head.exact.par_chunks(a.dv));
    let zero = || vec![RuleTally::default(); rules.len()];
    let one = |mut tallies: Vec<RuleTally>, ((&i, &n), exact): ((&usize, &usize), &[f64])| {
        let s = scores(&q[i * a.d..][..a.d], &k[..n * a.d], a.d, scale);
        let top = s.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let softmax: Vec<f64> = s.iter().map(|s| (s - top).exp()).collect();
        for (rule, tally) in rules.iter().zip(&mut tallies) {
            let SkipOutcome { weights, held, loaded } = outcome(rule, &s, &softmax);
            let o = weighted_mean(&weights, &v, a.dv);
            let errors = o.iter().zip(exact).map(|(o, exact)| (o - exact).abs() / head.magnitudes.head);
            tally.query(n as u64, held, loaded, errors);
        }
        tallies
    };
    queries.fold(zero, one).reduce(zero, |mut a, b| {
        a.iter_mut().zip(&b).for_each(|(a, b)| *a += b);
        a
    })
}

/// The result of a query under a rule.
pub(super) struct SkipOutcome {
    /// Weight of every key in the result, up to a common factor.
    pub(super) weights: Vec<f64>,
    pub(super) held: u64,
    pub(super) loaded: u64,
}

/// The outcome of a rule on scores, all visible, whose exponentials relative to the largest are given.
pub(super) fn outcome(rule: &Rule, s: &[f64], softmax: &[f64]) -> SkipOutcome {
    let count = |n: usize| n as u64;
    let Some(mut rule) = rule.hold_rule() else {
        let steps = static_steps(s, STATIC_HOLD);
        let how_many = |step| count(steps.iter().filter(|s| **s == step).count());
        return SkipOutcome {
            held: how_many(StaticStep::Hold),
            loaded: how_many(StaticStep::Load).saturating_sub(1),
            weights: remaining(&steps),
        };
    };
    // The result is the softmax over the kept keys.
    let kept = weights_under(s, &mut *rule);
    SkipOutcome {
        held: count(kept.iter().filter(|w| w.is_none()).count()),
        loaded: 0,
        weights: kept.iter().zip(softmax).map(|(w, p)| if w.is_some() { *p } else { 0.0 }).collect(),
    }
}

/// The share of each step's value in the result: `w_i` times `1 - w_j` of all later ones.
fn remaining(steps: &[StaticStep]) -> Vec<f64> {
    let mut left = 1.0;
    let mut weights = vec![0.0; steps.len()];
    for (weight, w) in weights.iter_mut().zip(steps).rev().filter_map(|(x, step)| Some((x, step.weight()?))) {
        *weight = left * w;
        left *= 1.0 - w;
    }
    weights
}

/// `sum_j weight_j v_j / sum_j weight_j`.
pub(super) fn weighted_mean(weights: &[f64], v: &[f64], d: usize) -> Vec<f64> {
    let sum: f64 = weights.iter().sum();
    let mut o = vec![0.0; d];
    for (w, v) in weights.iter().zip(v.chunks_exact(d)).filter(|(w, _)| **w > 0.0) {
        o.iter_mut().zip(v).for_each(|(o, v)| *o += w / sum * v);
    }
    o
}

/// Figures of the heads by group, sorted by name.
///
/// # Errors
/// A head whose name does not contain its group.
pub fn group(
    heads: &[HeadSample],
    skips: &[HeadHolds],
    rules: &[Rule],
    by: By,
) -> Result<Vec<GroupHolds>, String> {
    let mut groups: BTreeMap<String, Vec<&HeadHolds>> = BTreeMap::new();
    for (head, skips) in heads.iter().zip(skips) {
        groups.entry(by.of(&head.trace)?).or_default().push(skips);
    }
    let sum = |tallies: &mut dyn Iterator<Item = &RuleTally>| {
        let mut sum = RuleTally::default();
        tallies.for_each(|tally| sum += tally);
        sum
    };
    let one = |(group, heads): (String, Vec<&HeadHolds>)| {
        let of_rule = |(i, rule): (usize, &Rule)| {
            let exact = sum(&mut heads.iter().map(|h| &h.exact[i]));
            let core = sum(&mut heads.iter().filter_map(|h| h.core[i].as_ref()));
            RuleHolds {
                rule: *rule,
                exact: Figures::from(&exact),
                most_held: exact.most_held,
                bound: rule.bound(exact.most_held),
                bound_for_any_n: rule.is_bounded(),
                core: heads.iter().all(|h| h.core[i].is_some()).then(|| Figures::from(&core)),
            }
        };
        let rules: Vec<RuleHolds> = rules.iter().enumerate().map(of_rule).collect();
        let updates = heads.iter().filter_map(|h| h.exact.first()).map(|t| t.steps).sum();
        GroupHolds { group, heads: heads.len(), updates, rules }
    };
    Ok(groups.into_iter().map(one).collect())
}
