//! Unread data must not matter: Inf and NaN in masked keys and in values that are not read.

use crate::core::workload::Workload;
use flashd_golden::{Action, QueryResult, Step};
use flashd_spec::config::CoreConfig;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Which rows of a workload are of no use.
pub(super) struct Unread {
    /// Keys that are sent, but masked for every query that meets them.
    pub(super) keys: Vec<usize>,
    /// Values of keys that are sent, but read for no query.
    pub(super) values: Vec<usize>,
}

/// Effects of a key on the steps of queries.
#[derive(Clone, Copy, Default)]
struct Use {
    met: bool,
    seen: bool,
    read: bool,
}

impl Unread {
    /// Finds unread rows among `keys` keys, from the steps of all queries with their keys.
    fn of<'a>(keys: usize, steps: impl Iterator<Item = (usize, &'a Step)>) -> Unread {
        let mut uses = vec![Use::default(); keys];
        for (key, step) in steps {
            let this = &mut uses[key];
            this.met = true;
            this.seen |= step.action != Action::Masked;
            this.read |= !matches!(step.action, Action::Masked | Action::Hold);
        }
        let rows = |of: fn(&Use) -> bool| (0..keys).filter(|&key| of(&uses[key])).collect();
        Unread { keys: rows(|of| of.met && !of.seen), values: rows(|of| of.met && !of.read) }
    }

    /// Finds them in a workload, given the model's results with their steps.
    pub(super) fn in_workload(w: &Workload, results: &[QueryResult]) -> Unread {
        let steps = w.queries.iter().zip(results).flat_map(|(query, result)| {
            let key = |(n, step)| Some((query.key(n)?, step));
            result.steps.iter().enumerate().filter_map(key)
        });
        Unread::of(w.k.len() / w.words.k, steps)
    }

    /// Finds them for queries that all meet the same keys, the first ones.
    pub(super) fn in_array(keys: usize, results: &[QueryResult]) -> Unread {
        // A state is a step, but no key.
        let is_key = |step: &&Step| step.action != Action::Restore;
        Unread::of(keys, results.iter().flat_map(|result| result.steps.iter().filter(is_key).enumerate()))
    }

    /// Puts Inf and NaN into these rows of keys and values, where their formats have such.
    pub(super) fn fill(&self, config: &CoreConfig, k: &mut [u64], v: &mut [u64], rng: &mut ChaCha8Rng) {
        let formats = config.formats();
        let words = config.port_words();
        let keys = (&self.keys, formats.k, config.d, words.k, k);
        for (rows, format, d, words, vectors) in [keys, (&self.values, formats.v, config.dv(), words.v, v)] {
            let specials = format.sign_bit() - 1 - format.max_finite();
            if specials == 0 {
                continue;
            }
            for &row in rows {
                let all = rng.random();
                let one = rng.random_range(0..d);
                for (place, x) in vectors[row * words..][..d].iter_mut().enumerate() {
                    if all || place == one {
                        let sign = if rng.random() { format.sign_bit() } else { 0 };
                        *x = (format.max_finite() + rng.random_range(1..=specials)) | sign;
                    }
                }
            }
        }
    }
}
