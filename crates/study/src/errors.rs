//! Errors of any configuration on recorded heads.

use crate::heads::{Head, Heads, HeadsError};
use flashd_golden::{Model, QueryResult};
use flashd_hwmodel::config::{ConfigError, CoreConfig};
use flashd_hwmodel::format::Format;
use flashd_simulator::evaluate::Accuracy;
use flashd_workload::quantise::{round_to, round_value};
use flashd_workload::{Scaling, TensorScale, choose_scaling, quantise, v_candidates};
use rayon::prelude::*;
use serde::Serialize;
use std::collections::BTreeMap;

/// A head in the encodings of a format, its values with every power of two worth trying.
struct Encoded<'a> {
    head: &'a Head,
    q: Vec<u64>,
    k: Vec<u64>,
    v: Vec<(Scaling, Vec<u64>)>,
    score_shift: i32,
}

/// Heads in the encodings of one format, shared by all cores of that format.
pub struct Prepared<'a> {
    format: Format,
    heads: Vec<Encoded<'a>>,
}

/// Errors on the heads of one group (model and head dimension), as fractions of max|v|.
#[derive(Clone, Debug, PartialEq, Serialize)]
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
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TraceErrors {
    /// Mean over the groups of their means, so that a group counts the same however many heads it has.
    pub mean: f64,
    /// Largest error of an output element.
    pub max: f64,
    /// By group, sorted by name.
    pub groups: Vec<GroupErrors>,
}

impl<'a> Encoded<'a> {
    fn new(format: Format, head: &'a Head) -> Result<Self, HeadsError> {
        let (trace, a) = (&head.trace, &head.trace.attention);
        let round = |x: f64| round_value(format, x);
        let scaling = choose_scaling(format, a, trace.score_scale(), TensorScale::Auto, &round)
            .map_err(|error| HeadsError::Scaling { name: trace.name.clone(), error })?;
        let rounded = quantise(format, scaling, a);
        let candidates = v_candidates(a.max_abs_v(), format).into_iter().map(|exponent| {
            let scaling = scaling.with_v_exponent(exponent);
            (scaling, a.v.iter().map(|&v| round_to(format, scaling.scale_v(v))).collect())
        });
        Ok(Encoded {
            head,
            q: head.queries.iter().flat_map(|&i| rounded.query(i).to_vec()).collect(),
            v: candidates.collect(),
            k: rounded.k,
            score_shift: scaling.score_shift,
        })
    }

    /// Errors with the power of two of V that suits the configuration best: FLASH-D can fill the range of a narrow
    /// format, an unnormalised accumulator cannot.
    fn errors(&self, config: &CoreConfig) -> Result<Accuracy, ConfigError> {
        let d = self.head.trace.attention.d;
        let config = CoreConfig { d, score_shift: Some(self.score_shift), ..config.clone() };
        config.validate()?;
        let model = Model::new(&config);
        let candidates: Vec<Accuracy> = self
            .v
            .par_iter()
            .map(|(scaling, v)| {
                let results = model.run(&self.q, &self.k, v, &self.head.lengths, false);
                self.accuracy(config.format, scaling, &results)
            })
            .collect();
        // The first of equals: the one that fills the range most.
        Ok(candidates.into_iter().min_by(|a, b| a.mean.total_cmp(&b.mean)).unwrap_or_default())
    }

    fn accuracy(&self, format: Format, scaling: &Scaling, results: &[QueryResult]) -> Accuracy {
        let outputs = results.iter().flat_map(|result| &result.o);
        let mut accuracy = Accuracy::default();
        for (&o, exact) in outputs.zip(&self.head.exact) {
            let error = (scaling.result(format, o) - exact).abs() / self.head.max_v;
            accuracy.mean += error;
            accuracy.max = accuracy.max.max(error);
            accuracy.elements += 1;
        }
        accuracy.mean /= accuracy.elements.max(1) as f64;
        accuracy
    }
}

impl<'a> Prepared<'a> {
    /// Scales and rounds all heads.
    ///
    /// # Errors
    /// If a head's score scale is beyond what a core can apply.
    pub fn new(heads: &'a Heads, format: Format) -> Result<Self, HeadsError> {
        let heads = heads.heads.par_iter().map(|head| Encoded::new(format, head));
        Ok(Prepared { format, heads: heads.collect::<Result<_, _>>()? })
    }

    /// Errors of a configuration. Its vector length and score shift are replaced by each head's.
    ///
    /// # Errors
    /// A configuration that is not valid, or not of the format of the heads.
    pub fn errors(&self, config: &CoreConfig) -> Result<TraceErrors, ConfigError> {
        if config.format != self.format {
            let problem = format!("{} on heads that were rounded to {}", config.format, self.format);
            return Err(ConfigError { field: "format", problem });
        }
        let heads: Vec<Accuracy> =
            self.heads.par_iter().map(|head| head.errors(config)).collect::<Result<_, _>>()?;
        let mut groups: BTreeMap<&str, Vec<&Accuracy>> = BTreeMap::new();
        for (encoded, accuracy) in self.heads.iter().zip(&heads) {
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
