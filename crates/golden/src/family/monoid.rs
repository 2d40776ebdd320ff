//! Attention as a monoid: partial results that combine in any bracketing.

use crate::parallel;

/// Partial results of one query over disjoint sets of keys. `combine` is associative and commutative in exact arithmetic; the identity is the result over no
/// keys.
pub trait Monoid: Clone + Send + Sync {
    /// The result over no keys; values have length d.
    fn identity(d: usize) -> Self;

    /// The result over the keys of both.
    #[must_use]
    fn combine(&self, other: &Self) -> Self;
}

/// Combines all items from left to right.
pub fn fold<M: Monoid>(items: &[M], d: usize) -> M {
    items.iter().fold(M::identity(d), |all, item| all.combine(item))
}

/// Combines all items in any bracketing: for every run of two or more items, `split` gets the length and returns the length of the left part, which is clamped
/// to 1 .. length - 1.
pub fn fold_bracketed<M: Monoid>(items: &[M], d: usize, split: &mut dyn FnMut(usize) -> usize) -> M {
    match items {
        [] => M::identity(d),
        [item] => item.clone(),
        _ => {
            let (left, right) = items.split_at(split(items.len()).clamp(1, items.len() - 1));
            fold_bracketed(left, d, split).combine(&fold_bracketed(right, d, split))
        }
    }
}

/// Combines all items in halves, on the threads of the current rayon pool. The bracketing depends only on the number of items, so the result is the same, bit
/// for bit, on any number of threads.
pub fn fold_parallel<M: Monoid>(items: &[M], d: usize) -> M {
    match items {
        [] => M::identity(d),
        [item] => item.clone(),
        _ => {
            let (left, right) = items.split_at(items.len() / 2);
            let (left, right) = parallel::join(|| fold_parallel(left, d), || fold_parallel(right, d));
            left.combine(&right)
        }
    }
}

/// Combines all items as in an adder tree: padded with the identity to a power of two, then neighbours level by level.
pub fn fold_padded<M: Monoid>(items: &[M], d: usize) -> M {
    let mut level = items.to_vec();
    level.resize(items.len().next_power_of_two(), M::identity(d));
    while level.len() > 1 {
        level = level.chunks(2).map(|pair| pair[0].combine(&pair[1])).collect();
    }
    level.swap_remove(0)
}

/// The results over the first 1, 2, .. items, from left to right: causal attention of one query at every length.
pub fn prefixes<M: Monoid>(items: &[M], d: usize) -> Vec<M> {
    let mut all = M::identity(d);
    let step = |item| {
        all = all.combine(item);
        all.clone()
    };
    items.iter().map(step).collect()
}

/// [`prefixes`] in `ceil(log2 N)` parallel passes: pass p combines each item with the one `2^p` places before it (Hillis and Steele).
pub fn prefixes_parallel<M: Monoid>(items: &[M]) -> Vec<M> {
    let mut results = items.to_vec();
    let mut distance = 1;
    while distance < results.len() {
        let pass = |i: usize| match i.checked_sub(distance) {
            Some(before) => results[before].combine(&results[i]),
            None => results[i].clone(),
        };
        results = parallel::collect(results.len(), &pass);
        distance *= 2;
    }
    results
}
