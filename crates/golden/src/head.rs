//! What a run of a model takes: the operands, and what each query sees of them.

use crate::result::PartialState;
use crate::round::{given_exponent, v_exponent};
use crate::rows::{Special, rows};
use flashd_spec::config::CoreConfig;
use flashd_spec::format::Format;
use flashd_spec::numerics::Numerics;
use std::ops::Range;

/// The operands of a run, of [`crate::Model`] and of [`crate::VectorModel`]: queries against keys and values, as encodings of
/// their formats.
///
/// [`Head::new`] has what every run needs. The rest is for some runs, and is set by name:
/// `Head { restored, ..Head::new(q, k, v, lengths) }`.
#[derive(Clone, Copy, Default)]
pub struct Head<'a> {
    /// Queries, `[queries, d_k]`, each with the words of its scales behind its elements where there are scales
    /// ([`CoreConfig::port_words`]).
    pub q: &'a [u64],
    /// Keys, `[keys, d_k]`, likewise.
    pub k: &'a [u64],
    /// Values, `[keys, d_v]`, likewise.
    pub v: &'a [u64],
    /// The first key that each query meets; 0 for all when empty. Keys before it are no steps.
    pub from: &'a [usize],
    /// One past the last key that each query meets: causal attention is `lengths[i] = i + 1`. One that sees no key gives zeros
    /// and is [`crate::QueryResult::empty`].
    pub lengths: &'a [usize],
    /// What fixed-point lanes scale the values to, for each query: an exponent field of what v's elements are with their
    /// scales ([`CoreConfig::products`]). Larger values set
    /// [`crate::QueryResult::overflow`]. Empty stands for that of all of `v`. Other lanes ignore it.
    pub v_exponents: &'a [u64],
    /// Which keys are hidden from which queries; none where there is no mask. A hidden key changes nothing, and its step is
    /// [`crate::Action::Masked`].
    pub masked: Option<Masked<'a>>,
    /// What is added to the scores of keys, where the core has a bias; nothing where there is none.
    pub biases: Option<Biases<'a>>,
    /// The partial result that each query starts from, where the core has partial results; none for all when empty. It is a step,
    /// [`crate::Action::Restore`], before those of the keys. The flags of a result are those of the query's own keys.
    pub restored: &'a [Option<PartialState>],
    /// Keep every step in [`crate::QueryResult::steps`]. [`crate::VectorModel`] refuses this: it shows steps to a
    /// [`crate::Monitor`] and keeps none.
    pub record: bool,
}

/// A head as units take it, with an exponent for each query.
pub(crate) struct Prepared<'a> {
    pub(crate) head: Head<'a>,
    /// Which queries, keys and values make a query invalid.
    pub(crate) special: [Special; 3],
}

/// Whether a query, by its index, does not see a key, by its index.
pub type Masked<'a> = &'a (dyn Fn(usize, usize) -> bool + Sync);

/// What a query, by its index, has added to the score of a key, by its index: an encoding of [`BIAS`](flashd_spec::numerics::BIAS).
pub type Biases<'a> = &'a (dyn Fn(usize, usize) -> u64 + Sync);

impl<'a> Head<'a> {
    /// Queries that see the keys from the first up to their lengths, scaled to all values, without steps.
    pub fn new(q: &'a [u64], k: &'a [u64], v: &'a [u64], lengths: &'a [usize]) -> Self {
        Head { q, k, v, lengths, ..Head::default() }
    }

    /// The same, scaled to an exponent for each query.
    #[must_use]
    pub fn with_exponents(self, v_exponents: &'a [u64]) -> Self {
        Head { v_exponents, ..self }
    }

    /// The same, and every step is kept.
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

    /// An exponent for each query, `v` being in a format.
    fn exponents(&self, format: Format, v: &[u64]) -> Vec<u64> {
        match self.v_exponents.is_empty() {
            true => vec![v_exponent(format, v); self.lengths.len()],
            false => self.v_exponents.iter().map(|&exponent| given_exponent(format, exponent)).collect(),
        }
    }

    /// Shows the operands as units take them.
    ///
    /// # Panics
    /// If they do not fit each other or the core.
    pub(crate) fn prepared<T>(self, config: &CoreConfig, n: &Numerics, run: impl FnOnce(Prepared) -> T) -> T {
        self.check(config);
        let [q, k, v] = rows(config, n, [self.q, self.k, self.v]);
        let exponents = self.exponents(n.formats.v, &v.words);
        let head = Head { q: &q.words, k: &k.words, v: &v.words, v_exponents: &exponents, ..self };
        run(Prepared { head, special: [q.special, k.special, v.special] })
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
