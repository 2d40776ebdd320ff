//! Tensors made of the corner cases of a number format.

use super::source::RandomSource;
use crate::tensor::Attention;
use flashd_spec::format::{Format, Subnormals};

/// Tensors in which half of the elements are corner cases of a format, the other half Gaussian.
///
/// The corner cases, of either sign: zero, the smallest positive number and its neighbours, the
/// largest subnormal and the smallest normal number, one and its neighbours, the largest number and more than
/// that, and values half-way between two neighbours (where the lower and where the upper one is even). Only what
/// float32 holds exactly occurs. Meant for tensors that are rounded unscaled
/// ([`TensorScale::None`](crate::quantise::TensorScale::None)).
pub fn interesting(format: Format, seed: u64, queries: usize, keys: usize, d: usize) -> Attention {
    let corners = corner_cases(format);
    let mut source = RandomSource::new(seed);
    let mut tensor = |n: usize| -> Vec<f32> {
        let mut element = || match source.below(4) {
            0 => corners[source.below(corners.len())],
            1 => -corners[source.below(corners.len())],
            _ => source.gaussian() as f32,
        };
        (0..n).map(|_| element()).collect()
    };
    Attention::new(d, tensor(queries * d), tensor(keys * d), tensor(keys * d))
}

/// The corner cases of a format, none negative, as far as float32 holds them exactly.
pub fn corner_cases(format: Format) -> Vec<f32> {
    let value = |bits: u64| format.value(bits);
    let half_way = |bits: u64| (value(bits) + value(bits + 1)) / 2.0;
    let (one, largest, smallest) = (format.one(), format.max_finite(), format.min_positive());
    let smallest_normal = 1 << format.fraction_bits;
    let mut cases = vec![
        0.0,
        value(smallest),
        value(smallest) / 2.0,
        value(smallest) * 0.75,
        value(smallest) * 1.5,
        value(smallest_normal),
        value(smallest_normal + 1),
        value(one - 1),
        half_way(one - 1),
        value(one),
        half_way(one),
        value(one + 1),
        half_way(one + 1),
        value(largest - 1),
        half_way(largest - 1),
        value(largest),
        value(largest) * 1.5,
    ];
    if format.subnormals == Subnormals::Supported {
        cases.extend([
            value(smallest_normal - 1),
            half_way(smallest_normal - 1),
            half_way(smallest_normal - 2),
        ]);
    }
    let exact = |&x: &f64| f64::from(x as f32) == x && x.is_finite();
    cases.into_iter().filter(exact).map(|x| x as f32).collect()
}
