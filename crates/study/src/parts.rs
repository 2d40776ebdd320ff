//! Keys that reach a core in parts: the results through states.

use flashd_golden::{Head, Merge, QueryResult, VectorModel, values_exponent};

/// How the keys of a query reach the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyParts {
    /// All to one core, without a break.
    Whole,
    /// An equal share to each of P cores, P a power of two; a tree merges their states.
    Split(usize),
    /// P runs of one core; each starts from the state of the run before.
    Continued(usize),
}

impl KeyParts {
    /// Results of a head whose queries see all keys; the model has partial results unless the keys stay whole.
    pub(crate) fn results(self, model: &VectorModel, head: Head) -> Vec<QueryResult> {
        let (queries, keys) = (head.lengths.len(), head.lengths.iter().copied().max().unwrap_or(0));
        let run = |part: usize, parts: usize, restored: &[_]| {
            let [from, to] = [part, part + 1].map(|end| vec![end * keys / parts; queries]);
            model.run(Head { from: &from, lengths: &to, restored, ..head }).results
        };
        match self {
            KeyParts::Whole => model.run(head).results,
            KeyParts::Continued(parts) => (0..parts).fold(Vec::new(), |before: Vec<QueryResult>, part| {
                let states: Vec<_> = before.into_iter().map(|result| result.state).collect();
                run(part, parts, &states)
            }),
            KeyParts::Split(parts) => {
                let of_parts: Vec<Vec<QueryResult>> = (0..parts).map(|part| run(part, parts, &[])).collect();
                let of_query = |i: usize| of_parts.iter().map(|results| results[i].clone()).collect();
                let of_queries: Vec<Vec<QueryResult>> = (0..queries).map(of_query).collect();
                let exponent = values_exponent(model.config(), head.v);
                Merge::new(model.config()).results(&of_queries, &vec![exponent; queries])
            }
        }
    }
}
