//! Benchmarks of the model's units, and of its engine per key and query: `cargo bench -p flashd-golden`.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use flashd_golden::{Head, Isa, Model, VectorModel, plain_attention, units, v_exponent};
use flashd_spec::bits::pack;
use flashd_spec::config::CoreConfig;
use flashd_spec::format::{Format, Scale};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::hint::black_box;

const SEED: u64 = 1;

/// Sums of six uniform numbers, distributed like the elements of attention heads.
fn numbers(rng: &mut ChaCha8Rng, n: usize) -> Vec<f32> {
    (0..n).map(|_| (0..6).map(|_| rng.random_range(-0.7f32..0.7)).sum()).collect()
}

fn encodings(format: Format, numbers: &[f32]) -> Vec<u64> {
    numbers.iter().map(|&x| units::round_from_f64(format, x.into())).collect()
}

fn units_of_a_format(c: &mut Criterion) {
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    for format in [Format::BF16, Format::FP8_E4M3] {
        let operands = encodings(format, &numbers(&mut rng, 1024));
        let mut group = c.benchmark_group(format!("units {format}"));
        group.throughput(Throughput::Elements(operands.len() as u64));
        let pairs = || operands.iter().zip(operands.iter().rev());
        group.bench_function("add", |b| {
            b.iter(|| pairs().map(|(&x, &y)| units::add(format, x, y)).fold(0, |a, x| a ^ x));
        });
        group.bench_function("mul", |b| {
            b.iter(|| pairs().map(|(&x, &y)| units::mul(format, x, y)).fold(0, |a, x| a ^ x));
        });
        group.bench_function("round", |b| {
            b.iter(|| {
                operands.iter().map(|&x| units::round_from_f64(format, x as f64)).fold(0, |a, x| a ^ x)
            });
        });
        group.finish();
    }
}

fn engines(c: &mut Criterion) {
    let (queries, keys) = (64, 256);
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    for config in CoreConfig::shipped() {
        let (d, format) = (config.d, config.format);
        // Integers have row scales of 1 behind elements that fill their range.
        let size = if format.is_integer() { 32.0 } else { 1.0 };
        let mut vectors = |n: usize, scale: Scale| -> Vec<u64> {
            let words = scale.format().map(|of| pack(&[of.one()], of.bits(), format.width()));
            let numbers: Vec<f32> = numbers(&mut rng, n * d).iter().map(|x| x * size).collect();
            let elements = numbers.chunks(d).map(|row| encodings(format, row));
            elements.flat_map(|row| [row, words.clone().unwrap_or_default()].concat()).collect()
        };
        let scales = config.scales();
        let (q, k, v) = (vectors(queries, scales.q), vectors(keys, scales.k), vectors(keys, scales.v));
        let (lengths, v_exponents) = (vec![keys; queries], vec![v_exponent(format, &v); queries]);
        let (lengths, v_exponents) = (&lengths[..], &v_exponents[..]);
        let head = Head::new(&q, &k, &v, lengths).with_exponents(v_exponents);
        let mut group = c.benchmark_group(config.name());
        group.sample_size(10).throughput(Throughput::Elements((queries * keys) as u64));
        for isa in Isa::available() {
            let model = VectorModel::new(&config).with_isa(isa);
            group.bench_with_input(BenchmarkId::new("vector", isa), &model, |b, model| {
                b.iter(|| black_box(model.run(head)));
            });
        }
        let model = Model::new(&config);
        group
            .bench_function("reference", |b| b.iter(|| black_box(model.run(Head::new(&q, &k, &v, lengths)))));
        group.finish();
    }
}

fn plain(c: &mut Criterion) {
    let (queries, keys) = (64, 256);
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    let mut group = c.benchmark_group("plain f32");
    group.throughput(Throughput::Elements((queries * keys) as u64));
    for d in [16, 64, 256] {
        let mut vectors = |n: usize| numbers(&mut rng, n * d);
        let (q, k, v) = (vectors(queries), vectors(keys), vectors(keys));
        group.bench_function(BenchmarkId::from_parameter(d), |b| {
            b.iter(|| black_box(plain_attention(Isa::best(), d, &q, &k, &v, 0.125)));
        });
    }
    group.finish();
}

criterion_group!(benches, units_of_a_format, engines, plain);
criterion_main!(benches);
