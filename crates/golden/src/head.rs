//! The input of a run: the operands, and the keys that each query sees.

use crate::operand::OperandVectors;
use crate::result::PartialState;
use crate::round::{given_exponent, v_exponent};
use crate::rows::{Special, layouts};
use flashd_spec::config::CoreConfig;
use flashd_spec::format::Format;
use flashd_spec::numerics::Numerics;
use std::ops::Range;

/// The operands of a run of [`crate::Model`] or [`crate::VectorModel`]: queries, keys and values as encodings of their formats.
///
/// [`Head::new`] sets the fields that every run needs. Set the other fields by name: `Head { restored, ..Head::new(q, k, v, lengths) }`.
#[derive(Clone, Copy, Default)]
pub struct Head<'a> {
    /// Queries, `[queries, d_k]`. With scales, the words of a query's scales follow its elements ([`CoreConfig::port_words`]).
    pub q: &'a [u64],
    /// Keys, `[keys, d_k]`, likewise.
    pub k: OperandVectors<'a>,
    /// Values, `[keys, d_v]`, likewise.
    pub v: OperandVectors<'a>,
    /// The first key that each query meets; if empty, 0 for all. Keys before it make no steps.
    pub from: &'a [usize],
    /// One past the last key that each query meets; causal attention has `lengths[i] = i + 1`. A query that sees no key returns
    /// zeros and sets [`crate::QueryResult::empty`].
    pub lengths: &'a [usize],
    /// For each query, the exponent field to which fixed-point lanes scale the values, in the format of values with their scales
    /// ([`CoreConfig::products`]). Larger values set [`crate::QueryResult::overflow`]. If empty, every query takes the largest
    /// field in `v` ([`crate::v_exponent`]). Other lanes ignore it.
    pub v_exponents: &'a [u64],
    /// The mask, if any. A masked key changes nothing, and its step is [`crate::Action::Masked`].
    pub masked: Option<Masked<'a>>,
    /// The biases, if any; only for cores with a bias.
    pub biases: Option<Biases<'a>>,
    /// The partial result that each query starts from, only for cores with partial results; if empty, no query has one. Restoring
    /// is a step, [`crate::Action::Restore`], before the first key. The result's flags do not cover the restored keys.
    pub restored: &'a [Option<PartialState>],
    /// Keep every step in [`crate::QueryResult::steps`]. [`crate::VectorModel`] refuses this: it shows steps to a
    /// [`crate::Monitor`] and keeps none.
    pub record: bool,
}

/// A head with scales applied to its elements and an exponent for each query.
pub(crate) struct PreparedHead<'a> {
    pub(crate) head: Head<'a>,
    /// For queries, keys and values: the vectors that make a query invalid.
    pub(crate) special: [Special; 3],
}

/// Whether a key is hidden from a query: `masked(query, key)`, both by index.
pub type Masked<'a> = &'a (dyn Fn(usize, usize) -> bool + Sync);

/// The bias of a score: `biases(query, key)`, both by index, as an encoding of [`BIAS`](flashd_spec::numerics::BIAS).
pub type Biases<'a> = &'a (dyn Fn(usize, usize) -> u64 + Sync);

impl<'a> Head<'a> {
    /// A head in which query i sees keys `0..lengths[i]`. All queries scale to the largest exponent in `v`; steps are not recorded.
    pub fn new(
        q: &'a [u64],
        k: impl Into<OperandVectors<'a>>,
        v: impl Into<OperandVectors<'a>>,
        lengths: &'a [usize],
    ) -> Self {
        Head { q, k: k.into(), v: v.into(), lengths, ..Head::default() }
    }

    /// Sets [`Head::v_exponents`].
    #[must_use]
    pub fn with_exponents(self, v_exponents: &'a [u64]) -> Self {
        Head { v_exponents, ..self }
    }

    /// Sets [`Head::record`].
    #[must_use]
    pub fn with_steps(self) -> Self {
        Head { record: true, ..self }
    }

    /// The keys that a query meets.
    pub(crate) fn keys(&self, query: usize) -> Range<usize> {
        self.from.get(query).copied().unwrap_or(0)..self.lengths[query]
    }

    pub(crate) fn restored(&self, query: usize) -> Option<&'a PartialState> {
        self.restored.get(query)?.as_ref()
    }

    /// An exponent field for each query; `format` is that of `v`.
    fn exponents(&self, format: Format, v: OperandVectors) -> Vec<u64> {
        let largest = || {
            let mut largest = 0;
            v.pieces(|v| largest = largest.max(v_exponent(format, v)));
            largest
        };
        match self.v_exponents.is_empty() {
            true => vec![largest(); self.lengths.len()],
            false => self.v_exponents.iter().map(|&exponent| given_exponent(format, exponent)).collect(),
        }
    }

    /// Checks the operands, applies the scales and calls `run`.
    ///
    /// # Panics
    /// If they do not fit each other or the core.
    pub(crate) fn prepared<T>(
        self,
        config: &CoreConfig,
        n: &Numerics,
        run: impl FnOnce(PreparedHead) -> T,
    ) -> T {
        self.check(config);
        let [of_q, of_k, of_v] = layouts(config, n);
        let q = of_q.rows(self.q);
        let (k, v) = (of_k.operand(self.k), of_v.operand(self.v));
        let (k_operand, v_operand) = (k.form.operand(), v.form.operand());
        let exponents = self.exponents(n.formats.v, v_operand);
        let head = Head { q: &q.words, k: k_operand, v: v_operand, v_exponents: &exponents, ..self };
        run(PreparedHead { head, special: [q.special, k.special, v.special] })
    }

    /// # Panics
    /// If the operands do not fit each other or the core.
    fn check(&self, config: &CoreConfig) {
        let Head { q, k, v, from, lengths, v_exponents, restored, .. } = self;
        let (words, queries) = (config.port_words(), lengths.len());
        let all = |given: usize| given == 0 || given == queries;
        assert_eq!(q.len(), queries * words.q, "q must hold one query for each length");
        assert_eq!(k.len() % words.k, 0, "k must hold whole vectors");
        let keys = k.len() / words.k;
        assert_eq!(v.len(), keys * words.v, "k and v must hold the same number of vectors");
        assert!(lengths.iter().all(|&n| n <= keys), "a query has more keys than there are");
        assert!(all(from.len()), "there must be one first key for each query");
        assert!(
            from.iter().zip(*lengths).all(|(from, to)| from <= to),
            "a query's keys end before the first"
        );
        assert!(all(v_exponents.len()), "there must be one v_exponent for each query");
        let format = config.products().v;
        let field = format.exponent_mask();
        assert!(v_exponents.iter().all(|&x| x <= field), "a v_exponent is beyond {format}'s field");
        assert!(config.bias || self.biases.is_none(), "the core adds nothing to scores");
        assert!(all(restored.len()), "there must be one partial result for each query");
        assert!(config.partial || restored.iter().all(Option::is_none), "a query starts from a state");
        assert!(
            restored.iter().flatten().all(|state| state.o.len() == config.dv()),
            "a partial result must have d_v accumulators"
        );
    }
}
