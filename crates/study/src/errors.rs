//! Errors of any configuration on recorded heads.

use crate::heads::{HeadSample, Heads, HeadsError};
use crate::parts::KeyParts;
use flashd_golden::{QueryResult, VectorModel};
use flashd_simulator::Accuracy;
use flashd_spec::config::{ConfigError, CoreConfig};
use flashd_spec::format::Encodings;
use flashd_spec::numerics::BIAS;
use flashd_workload::{
    Attention, Channels, Rounded, ScaleRule, Scaling, TensorScale, choose_scaling, round_to, row_encodings,
    v_candidates,
};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A head in the encodings of a format, but for its values, which depend on a power of two.
pub(crate) struct EncodedHead<'a> {
    pub(crate) head: &'a HeadSample,
    pub(crate) encodings: Encodings,
    /// Elements, followed by scales if there are any.
    pub(crate) q: Vec<u64>,
    pub(crate) k: Vec<u64>,
    /// With every power of two worth trying for V, best-filling first.
    pub(crate) scalings: Vec<Scaling>,
    /// Elements of Q and K, in this order, that saturated.
    pub(crate) saturated: [usize; 2],
    /// Divisors of the channels of V.
    pub(crate) channels: Channels,
    /// How the keys reach a core.
    parts: KeyParts,
}

/// Heads in the encodings of one format, shared by all cores of that format.
pub struct PreparedHeads<'a> {
    encodings: Encodings,
    /// Each with its values for every scaling.
    heads: Vec<(EncodedHead<'a>, Vec<Vec<u64>>)>,
}

/// Errors on the heads of one group (model and head dimension), as fractions of max|v|.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupErrors {
    /// Model and head dimension, such as `bytes-d16`.
    pub group: String,
    /// Heads in it.
    pub heads: usize,
    /// Mean over the heads of their mean errors.
    pub mean: f64,
    /// Largest error of an output element.
    pub max: f64,
}

/// Errors of a configuration on all heads, as fractions of max|v|.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraceErrors {
    /// Mean over the groups of their means, so that a group counts the same however many heads it has.
    pub mean: f64,
    /// Largest error of an output element.
    pub max: f64,
    /// By group, sorted by name.
    pub groups: Vec<GroupErrors>,
}

impl<'a> EncodedHead<'a> {
    pub(crate) fn new(
        encodings: impl Into<Encodings>,
        rule: ScaleRule,
        head: &'a HeadSample,
    ) -> Result<Self, HeadsError> {
        let encodings = encodings.into();
        let (trace, a) = (&head.trace, &head.trace.attention);
        let scaling = choose_scaling(encodings, a, trace.score_scale(), TensorScale::Auto)
            .map_err(|error| HeadsError::Scaling { name: trace.name.clone(), error })?
            .with_rule(rule);
        let candidates = v_candidates(a.max_abs_v(), encodings).into_iter();
        let [of_q, of_k, _] = row_encodings(encodings, rule);
        let queries: Vec<f32> = head.queries.iter().flat_map(|&i| a.query(i)).copied().collect();
        let factors = scaling.factors();
        let q = Rounded::rows(of_q, a.d, &queries, |_, x| factors.q(x));
        let k = Rounded::rows(of_k, a.d, &a.k, |_, x| factors.k(x));
        Ok(EncodedHead {
            head,
            encodings,
            saturated: [q.saturated, k.saturated],
            q: q.words,
            k: k.words,
            scalings: candidates.map(|exponent| scaling.with_v_exponent(exponent)).collect(),
            channels: Channels::new(encodings, &a.v, a.dv),
            parts: KeyParts::Whole,
        })
    }

    /// Only with the power of two for V that fills the range most, as in `simulate`.
    pub(crate) fn filling(mut self) -> Self {
        self.scalings.truncate(1);
        self
    }

    /// With keys that reach a core in parts; every query sees all of them, and there is no sink.
    pub(crate) fn in_parts(self, parts: KeyParts) -> Self {
        EncodedHead { parts, ..self }
    }

    /// The number of an element of a result, by its place in the result.
    pub(crate) fn result(&self, scaling: &Scaling, i: usize, o: u64) -> f64 {
        self.channels.result(scaling, self.encodings.formats.o, i, o)
    }

    /// The values in a scaling, followed by their scales.
    pub(crate) fn values(&self, scaling: &Scaling) -> Rounded {
        let Attention { v, dv, .. } = &self.head.trace.attention;
        let [.., encoding] = row_encodings(self.encodings, scaling.rule);
        let factors = scaling.factors();
        let in_channel = |i: usize, v: f32| factors.v(v) / self.channels.scale(i);
        // Rows together: a thread for each alone is more work than the row.
        let pieces = v.par_chunks(dv * 256).map(|rows| Rounded::rows(encoding, *dv, rows, in_channel));
        pieces.reduce(Rounded::default, Rounded::and)
    }

    /// The configuration for this head: its vector length and score shift.
    ///
    /// # Errors
    /// If the result is not valid.
    pub(crate) fn fitted(&self, config: &CoreConfig) -> Result<CoreConfig, ConfigError> {
        // All scalings have the same shift: they differ in V.
        let score_shift = self.scalings.first().map(|scaling| scaling.score_shift);
        let lengths = self.head.trace.attention.lengths();
        // A core with partial results has masks too.
        let [partial, masks] = [config.partial, config.masks].map(|has| has || self.parts != KeyParts::Whole);
        let fitted = CoreConfig { score_shift, partial, masks, ..config.clone() }.with_lengths(lengths);
        fitted.validate().map(|()| fitted)
    }

    /// The bit-exact model's results.
    pub(crate) fn run(&self, model: &VectorModel, v: &[u64]) -> Vec<QueryResult> {
        let (head, k) = (self.head, &self.k);
        let lengths = &head.lengths;
        let bias = |place: usize, key: usize| head.bias(place, key);
        let run = |k, v, lengths, biases| {
            let rows = flashd_golden::Head { biases, ..flashd_golden::Head::new(&self.q, k, v, lengths) };
            self.parts.results(model, rows)
        };
        let Some(sink) = head.scores.sink else {
            return run(k, v, lengths, if head.adds() { Some(&bias) } else { None });
        };
        // The sink is a key and a value of zeros in front of all others.
        let words = self.encodings.words(head.trace.attention.d, head.trace.attention.dv);
        let behind = |rows: &[u64], words: usize| [vec![0; words], rows.to_vec()].concat();
        let sink = round_to(BIAS, sink.into());
        let bias = |place: usize, key: usize| key.checked_sub(1).map_or(sink, |key| head.bias(place, key));
        let lengths: Vec<usize> = lengths.iter().map(|n| n + 1).collect();
        run(&behind(k, words.k), &behind(v, words.v), &lengths, Some(&bias))
    }

    /// Errors with the power of two of V that suits the configuration best: FLASH-D can fill the range of a narrow
    /// format, an unnormalised accumulator cannot.
    fn errors(&self, config: &CoreConfig, values: &[Vec<u64>]) -> Result<Accuracy, ConfigError> {
        let model = VectorModel::new(&self.fitted(config)?);
        let candidates: Vec<Accuracy> = self
            .scalings
            .par_iter()
            .zip(values)
            .map(|(scaling, v)| self.accuracy(scaling, &self.run(&model, v)))
            .collect();
        // The first of equals fills the range most.
        Ok(candidates.into_iter().min_by(|a, b| a.mean.total_cmp(&b.mean)).unwrap_or_default())
    }

    fn accuracy(&self, scaling: &Scaling, results: &[QueryResult]) -> Accuracy {
        let outputs = results.iter().flat_map(|result| result.o.iter().enumerate());
        self.head.accuracy(outputs.map(|(i, &o)| self.result(scaling, i, o)))
    }
}

impl<'a> PreparedHeads<'a> {
    /// Scales and rounds all heads.
    ///
    /// # Errors
    /// If no core can apply a head's score scale.
    pub fn new(heads: &'a Heads, encodings: impl Into<Encodings>) -> Result<Self, HeadsError> {
        let encodings = encodings.into();
        let encode = |head| {
            let encoded = EncodedHead::new(encodings, ScaleRule::default(), head)?;
            let values = encoded.scalings.iter().map(|scaling| encoded.values(scaling).words).collect();
            Ok::<_, HeadsError>((encoded, values))
        };
        let heads = heads.heads.par_iter().map(encode);
        Ok(PreparedHeads { encodings, heads: heads.collect::<Result<_, _>>()? })
    }

    /// Errors of a configuration. Its vector length and score shift are replaced by each head's.
    ///
    /// # Errors
    /// A configuration that is not valid, or not of the format of the heads.
    pub fn errors(&self, config: &CoreConfig) -> Result<TraceErrors, ConfigError> {
        if config.encodings() != self.encodings {
            let problem = format!("{} on heads that were rounded to {}", config.encodings(), self.encodings);
            return Err(ConfigError { field: "format", problem });
        }
        let heads: Vec<Accuracy> =
            self.heads.par_iter().map(|(head, v)| head.errors(config, v)).collect::<Result<_, _>>()?;
        let mut groups: BTreeMap<&str, Vec<&Accuracy>> = BTreeMap::new();
        for ((encoded, _), accuracy) in self.heads.iter().zip(&heads) {
            groups.entry(&encoded.head.trace.group).or_default().push(accuracy);
        }
        let groups: Vec<GroupErrors> = groups
            .into_iter()
            .map(|(group, heads)| GroupErrors {
                group: group.to_string(),
                heads: heads.len(),
                mean: heads.iter().map(|a| a.mean).sum::<f64>() / heads.len() as f64,
                max: heads.iter().map(|a| a.max).fold(0.0, f64::max),
            })
            .collect();
        Ok(TraceErrors {
            mean: groups.iter().map(|g| g.mean).sum::<f64>() / groups.len().max(1) as f64,
            max: groups.iter().map(|g| g.max).fold(0.0, f64::max),
            groups,
        })
    }
}

impl TraceErrors {
    /// Whether the mean error is no larger than another configuration's in every group. Both are of the same heads.
    pub fn within(&self, reference: &TraceErrors) -> bool {
        self.groups.len() == reference.groups.len()
            && self.groups.iter().zip(&reference.groups).all(|(a, b)| a.group == b.group && a.mean <= b.mean)
    }
}
