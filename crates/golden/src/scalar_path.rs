//! The scalar path of a core on given dot products, for searches over operands.

use crate::carrier::Carriers;
use crate::dot::dot_unit;
use crate::lanes::Lanes;
use crate::model::{Model, Visit};
use crate::recurrence::Recurrence;
use crate::result::Step;
use crate::rows::{rows, tail_words};
use flashd_spec::numerics::Numerics;

/// Queries, each as the dot products of its keys.
struct DotQueries<'a, Q> {
    queries: &'a [Q],
}

impl<Q: AsRef<[f64]>> Visit for DotQueries<'_, Q> {
    type Output = Vec<Vec<Step>>;

    fn visit<R, L>(self, _: &Model, recurrence: &R, _: &L, _: Carriers) -> Self::Output
    where
        R: Recurrence<Op = L::Op, Ending = L::Ending>,
        L: Lanes,
    {
        let query = |dots: &Q| {
            let mut state = None;
            let steps = dots.as_ref().iter().map(|&dot| {
                let (next, d) = recurrence.step(state, dot.into());
                state = Some(next);
                Step { s: d.s, x: d.x, w: d.w, upper: d.upper, action: d.action, l: recurrence.sum(next) }
            });
            steps.collect()
        };
        self.queries.iter().map(query).collect()
    }
}

/// Arguments of FLASH-D's tables.
struct Arguments<'a>(&'a [i64]);

impl Visit for Arguments<'_> {
    type Output = Option<Vec<(u64, i64)>>;

    fn visit<R, L>(self, _: &Model, recurrence: &R, _: &L, _: Carriers) -> Self::Output
    where
        R: Recurrence<Op = L::Op, Ending = L::Ending>,
        L: Lanes,
    {
        self.0.iter().map(|&x| recurrence.at(x)).collect()
    }
}

impl Model {
    /// Replaces the tables and limits of the configuration, to model a core with a fault.
    #[must_use]
    pub fn with_numerics(mut self, numerics: Numerics) -> Self {
        self.numerics = numerics;
        self
    }

    /// The outputs of the core's dot product unit for one query and each key. `q` and `k` have the words of the core's ports.
    pub fn dots(&self, q: &[u64], k: &[u64]) -> Vec<f64> {
        let [q, k, _] = rows(self.config(), self.numerics(), [q, k, &[]]);
        self.dots_of_rows(&q.words, &k.words)
    }

    /// [`Model::dots`] of operands whose scales are already applied.
    pub(crate) fn dots_of_rows(&self, q: &[u64], k: &[u64]) -> Vec<f64> {
        let (d, n) = (self.config().d, self.numerics());
        let unit = dot_unit(n, d, q, k, Carriers::Fastest);
        let mut block = unit.block(q);
        (0..k.len() / (d + tail_words(n))).map(|key| block.dots(key)[0]).collect()
    }

    /// The steps of queries whose keys have these dot products, without biases and with FA2's sums.
    pub fn scalar_steps<Q: AsRef<[f64]>>(&self, queries: &[Q]) -> Vec<Vec<Step>> {
        self.with_core(DotQueries { queries }, Carriers::Fastest)
    }

    /// FLASH-D's tables at each `x = s - L` with FL fraction bits: the lanes' factor as a step records it, and the growth of L in the
    /// same units. `None` for other cores.
    pub fn at_arguments(&self, x: &[i64]) -> Option<Vec<(u64, i64)>> {
        self.with_core(Arguments(x), Carriers::Fastest)
    }
}
