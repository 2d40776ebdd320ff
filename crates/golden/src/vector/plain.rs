//! Attention in plain f32, the baseline for the speed of the vector model.

use super::TILE;
use crate::block::{BLOCK, Block};
use flashd_spec::isa::{Isa, Kernel};
use rayon::prelude::*;

/// FlashAttention-2 in f32, not bit-exact to any core: every query against all keys, with scores `(q . k) scale`.
/// Returns `[queries, d]`.
///
/// It has the loops of [`crate::VectorModel`]: 16 queries side by side, tiles of keys, the threads of the current rayon
/// pool and the same vector instructions. The difference in time is the cost of bit-exactness.
///
/// # Panics
/// If the slices do not hold whole vectors of d elements.
pub fn plain_attention(isa: Isa, d: usize, q: &[f32], k: &[f32], v: &[f32], scale: f32) -> Vec<f32> {
    assert!(q.len().is_multiple_of(d) && k.len().is_multiple_of(d), "vectors have {d} elements");
    assert_eq!(k.len(), v.len(), "k and v must hold the same number of vectors");
    let blocks = q.par_chunks(BLOCK * d).flat_map_iter(|q| {
        let mut queries = vec![[0.0; BLOCK]; d];
        for (i, q) in q.chunks(d).enumerate() {
            queries.iter_mut().zip(q).for_each(|(row, &q)| row[i] = q * scale * std::f32::consts::LOG2_E);
        }
        let mut block = PlainBlock { m: [f32::MIN; BLOCK], l: [0.0; BLOCK], o: vec![[0.0; BLOCK]; d] };
        for (k, v) in k.chunks(TILE * d).zip(v.chunks(TILE * d)) {
            isa.run(PlainTile { d, queries: &queries, k, v, block: &mut block });
        }
        let PlainBlock { l, o, .. } = block;
        (0..q.len() / d).flat_map(move |i| o.iter().map(move |o| o[i] / l[i]).collect::<Vec<_>>())
    });
    blocks.collect()
}

/// Maximum, sum and output of the queries of a block.
struct PlainBlock {
    m: Block<f32>,
    l: Block<f32>,
    o: Vec<Block<f32>>,
}

struct PlainTile<'a> {
    d: usize,
    queries: &'a [Block<f32>],
    k: &'a [f32],
    v: &'a [f32],
    block: &'a mut PlainBlock,
}

/// Keys whose scores, and elements whose outputs, are in registers together.
const KEYS: usize = 8;
const ELEMENTS: usize = 4;

#[inline(always)]
fn multiply_add<const FMA: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}

/// `2^x` for `x <= 0`, to about f32's precision.
#[inline(always)]
fn exp2<const FMA: bool>(x: f32) -> f32 {
    let x = x.max(-125.0);
    let whole = (x + 12_582_912.0) - 12_582_912.0;
    let f = x - whole;
    let mut y = 1.339_887_4e-3;
    for c in [9.618_437e-3, 5.550_332_6e-2, 2.402_264_7e-1, 6.931_472e-1, 1.0] {
        y = multiply_add::<FMA>(y, f, c);
    }
    f32::from_bits((y.to_bits() as i32 + ((whole as i32) << 23)) as u32)
}

#[inline(always)]
fn scores<const N: usize, const FMA: bool>(
    d: usize,
    queries: &[Block<f32>],
    k: &[f32],
    scores: &mut [Block<f32>],
) {
    let mut rows = [&k[..0]; N];
    for (i, row) in rows.iter_mut().enumerate() {
        *row = &k[i * d..(i + 1) * d];
    }
    let mut sums = [[0.0; BLOCK]; N];
    for (j, query) in queries.iter().enumerate().take(d) {
        for (sum, row) in sums.iter_mut().zip(&rows) {
            for (sum, &q) in sum.iter_mut().zip(query) {
                *sum = multiply_add::<FMA>(q, row[j], *sum);
            }
        }
    }
    scores[..N].copy_from_slice(&sums);
}

#[inline(always)]
fn update<const N: usize, const FMA: bool>(
    steps: &[(Block<f32>, Block<f32>)],
    v: &[f32],
    d: usize,
    start: usize,
    o: &mut [Block<f32>],
) {
    let mut work = [[0.0; BLOCK]; N];
    work.copy_from_slice(o);
    for ((c, e), row) in steps.iter().zip(v.chunks_exact(d)) {
        let row = &row[start..start + N];
        for (o, &v) in work.iter_mut().zip(row) {
            for i in 0..BLOCK {
                o[i] = multiply_add::<FMA>(v, e[i], o[i] * c[i]);
            }
        }
    }
    o.copy_from_slice(&work);
}

impl Kernel for PlainTile<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let PlainTile { d, queries, k, v, block } = self;
        let keys = k.len() / d;
        let mut s = [[0.0; BLOCK]; TILE];
        let mut key = 0;
        while key + KEYS <= keys {
            scores::<KEYS, FMA>(d, queries, &k[key * d..], &mut s[key..]);
            key += KEYS;
        }
        while key < keys {
            scores::<1, FMA>(d, queries, &k[key * d..], &mut s[key..]);
            key += 1;
        }
        let mut steps = [([0.0; BLOCK], [0.0; BLOCK]); TILE];
        let (mut m, mut l) = (block.m, block.l);
        for (s, (c, e)) in s[..keys].iter().zip(&mut steps) {
            for i in 0..BLOCK {
                let top = m[i].max(s[i]);
                c[i] = exp2::<FMA>(m[i] - top);
                e[i] = exp2::<FMA>(s[i] - top);
                l[i] = l[i] * c[i] + e[i];
                m[i] = top;
            }
        }
        (block.m, block.l) = (m, l);
        let mut start = 0;
        let mut chunks = block.o.chunks_exact_mut(ELEMENTS);
        for o in &mut chunks {
            update::<ELEMENTS, FMA>(&steps[..keys], v, d, start, o);
            start += ELEMENTS;
        }
        for o in chunks.into_remainder().chunks_exact_mut(1) {
            update::<1, FMA>(&steps[..keys], v, d, start, o);
            start += 1;
        }
    }
}
