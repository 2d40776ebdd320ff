//! Helpers of all targets.

use flashd_workload::Attention;

/// Heads that a reader accepts have whole vectors and a value for each key.
///
/// # Panics
/// If one has not.
pub fn check(heads: &[Attention]) {
    for head in heads {
        assert!(head.d > 0 && head.q.len().is_multiple_of(head.d) && head.k.len().is_multiple_of(head.d));
        assert_eq!(head.k.len(), head.v.len());
    }
}
