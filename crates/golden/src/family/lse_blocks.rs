//! The log-sum-exp form over blocks of keys.

use super::monoid::Monoid;
use super::row::{LogSum, PartialAttention};
use super::softmax::{add_mask, safe_softmax};

/// Attention over blocks of keys with an additive mask; the blocks are joined by their log-sum-exps:
///
/// ```text
/// L_b = ln sum_{i in b} e^(s_i + mask_i)        o_b = sum_{i in b} e^(s_i + mask_i - L_b) v_i
/// L   = ln sum_b e^(L_b)                        o   = sum_b e^(L_b - L) o_b
/// ```
///
/// Blocks have `block` keys; the last one may be shorter. A block without a visible key is left out.
///
/// # Panics
/// If `block` is 0 or `mask` and `s` differ in length.
pub fn lse_blocks(s: &[f64], mask: &[f64], v: &[f64], d: usize, block: usize) -> PartialAttention {
    assert_eq!(s.len(), mask.len(), "the mask needs one element for each score");
    let parts: Vec<(LogSum, Vec<f64>)> = s
        .chunks(block)
        .zip(mask.chunks(block))
        .zip(v.chunks(block * d))
        .filter_map(|((s, mask), v)| {
            let row = safe_softmax(&add_mask(s, mask), v, d);
            row.lse.map(|lse| (lse, row.o))
        })
        .collect();
    let Some(lse) = parts.iter().map(|(lse, _)| *lse).reduce(LogSum::join) else {
        return PartialAttention::identity(d);
    };
    let mut o = vec![0.0; d];
    for (part, values) in &parts {
        let weight = part.minus(lse).exp();
        o.iter_mut().zip(values).for_each(|(o, v)| *o += weight * v);
    }
    PartialAttention { o, lse: Some(lse) }
}
