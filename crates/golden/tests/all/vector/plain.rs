//! Attention in f32 against attention in f64.

use flashd_golden::f64_attention::safe_softmax;
use flashd_golden::{Isa, plain_attention};
use rand::{RngExt, SeedableRng};

#[test]
fn it_is_attention() {
    let (seed, d, queries, keys) = (3, 10, 19, 77);
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
    let mut vectors = |n: usize| -> Vec<f32> { (0..n * d).map(|_| rng.random_range(-2.0..2.0)).collect() };
    let (q, k, v) = (vectors(queries), vectors(keys), vectors(keys));
    let wide = |x: &[f32]| -> Vec<f64> { x.iter().map(|&x| x.into()).collect() };
    for isa in Isa::available() {
        let o = plain_attention(isa, d, &q, &k, &v, 0.5);
        assert_eq!(o.len(), q.len());
        for (q, o) in q.chunks(d).zip(o.chunks(d)) {
            let exact = safe_softmax(&wide(q), &wide(&k), &wide(&v), d, 0.5);
            for (o, exact) in o.iter().zip(exact) {
                assert!((f64::from(*o) - exact).abs() < 2e-5, "{isa}, seed {seed}: {o} {exact}");
            }
        }
    }
}
