//! The vector model against the model: every core, every set of instructions, step by step.

mod blend;
mod operands;
mod plain;
mod ranged;
mod table;

use flashd_golden::units::round_from_f64;
use flashd_golden::{
    Biases, Head, Isa, Masked, Model, Monitor, PartialState, Path, QueryResult, Step, StepCounts,
    VectorModel, decode, encode, v_exponent,
};
use flashd_spec::bits::{ones, signed};
use flashd_spec::config::{Accumulator, CoreConfig, Design, Fa2Variant, Hold, LaneBits};
use flashd_spec::format::Format;
use flashd_spec::numerics::{BIAS, Numerics};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// A workload that owns its operands.
struct Workload {
    q: Vec<u64>,
    k: Vec<u64>,
    v: Vec<u64>,
    lengths: Vec<usize>,
    v_exponents: Vec<u64>,
    masked: Option<Vec<Vec<bool>>>,
    biases: Option<Vec<Vec<u64>>>,
    /// The first key of each query; empty if all start with key 0. `restored` is empty or one for each query, too.
    from: Vec<usize>,
    restored: Vec<Option<PartialState>>,
}

/// Kinds of random operands.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Distributed like attention heads.
    Normal,
    /// Zeros of both signs, subnormals, specials, and exponents far from each other.
    Hostile,
}

fn element(rng: &mut ChaCha8Rng, format: Format, kind: Kind, spread: f64) -> u64 {
    let x: f64 = (0..6).map(|_| rng.random_range(-0.7..0.7)).sum();
    match (kind, rng.random_range(0..40)) {
        (Kind::Hostile, 0) => rng.random::<u64>() & format.sign_bit(),
        (Kind::Hostile, 1) => rng.random::<u64>() & (format.sign_bit() | format.fraction_mask()),
        (Kind::Hostile, 2) if rng.random_range(0..20) == 0 => format.sign_bit() - 1,
        (Kind::Hostile, 3..20) => {
            let scale = (rng.random_range(-spread..1.0f64) as i32).max(-130);
            round_from_f64(format, x * 2f64.powi(scale))
        }
        _ => round_from_f64(format, x),
    }
}

fn workload(rng: &mut ChaCha8Rng, config: &CoreConfig, kind: Kind, queries: usize, keys: usize) -> Workload {
    let (d, format) = (config.d, config.format);
    let spread = rng.random_range(1.0..40.0);
    let vectors = |rng: &mut ChaCha8Rng, n: usize, scale: f64| -> Vec<u64> {
        let one = |rng: &mut ChaCha8Rng| {
            let bits = element(rng, format, kind, spread);
            match format.is_special(bits) {
                true => bits,
                false => round_from_f64(format, decode(format, bits) * scale),
            }
        };
        (0..n * d).map(|_| one(rng)).collect()
    };
    let heat = rng.random_range(0.5..6.0);
    let (q, k) = (vectors(rng, queries, heat), vectors(rng, keys, 1.0));
    let scale = 2f64.powi(rng.random_range(-6..7));
    let v = vectors(rng, keys, scale);
    let all = v_exponent(format, &v);
    let uneven = rng.random_range(0..3) == 0;
    let exponent = |rng: &mut ChaCha8Rng| match uneven {
        true => (all + rng.random_range(0..2))
            .saturating_sub(rng.random_range(0..2))
            .clamp(1, format.exponent_mask()),
        false => all,
    };
    let masked = config.masks.then(|| {
        let share = rng.random_range(0.0..1.1);
        (0..queries).map(|_| (0..keys).map(|_| rng.random_range(0.0..1.0) < share).collect()).collect()
    });
    let biases = config.bias.then(|| {
        let one = |rng: &mut ChaCha8Rng| match (kind, rng.random_range(0..64)) {
            (Kind::Hostile, 0) => rng.random::<u64>() & 0xffff,
            _ => round_from_f64(BIAS, rng.random_range(-6.0..6.0)),
        };
        (0..queries).map(|_| (0..keys).map(|_| one(rng)).collect()).collect()
    });
    let shape = rng.random_range(0..3);
    let length = |rng: &mut ChaCha8Rng, i: usize| match shape {
        0 => keys,
        1 => (i + 1).min(keys),
        _ => rng.random_range(0..=keys),
    };
    let lengths: Vec<usize> = (0..queries).map(|i| length(rng, i)).collect();
    let tiled = config.partial && rng.random();
    Workload {
        v_exponents: (0..queries).map(|_| exponent(rng)).collect(),
        from: if tiled { lengths.iter().map(|&n| rng.random_range(0..=n)).collect() } else { Vec::new() },
        restored: if config.partial {
            (0..queries).map(|_| rng.random_bool(0.6).then(|| state(rng, config))).collect()
        } else {
            Vec::new()
        },
        lengths,
        q,
        k,
        v,
        masked,
        biases,
    }
}

/// A random state that a core may be restored from. Few of these result from keys.
fn state(rng: &mut ChaCha8Rng, config: &CoreConfig) -> PartialState {
    let n = Numerics::new(config);
    let mut scalars = [0; 2];
    for (scalar, bits) in scalars.iter_mut().zip(n.scalar_bits(config)) {
        *scalar = rng.random::<u64>() & ones(bits);
    }
    if config.state_scalars()[0] == "lse" {
        // A log-sum-exp is not below the smallest score, and the room is at most the whole budget.
        let least = 1u64 << (n.score_integer + n.state_fraction);
        scalars[0] = rng.random_range(0..3 * least).wrapping_sub(least) & ones(n.state_bits());
        scalars[1] = n.budget.as_ref().map_or(0, |b| scalars[1].min(1 << b.register));
    } else {
        // A sum has at least the key of the maximum, and a reference is a score, or a few octaves above one.
        scalars[1] |= 1 << n.state_fraction;
        let bits = n.scalar_bits(config)[0];
        if bits != n.score_bits() {
            scalars[0] = signed(scalars[0] & ones(bits - 1), bits - 1) as u64 & ones(bits);
        }
    }
    let format = config.accumulator_format();
    let scale = 2f64.powi(rng.random_range(-90..60).clamp(2 - format.bias, format.bias - 2));
    let o = (0..config.d).map(|_| match config.has_fixed_lanes() {
        true => rng.random::<u64>() & ones(config.accumulator_bits()),
        false => round_from_f64(format, rng.random_range(-1.0..1.0) * scale),
    });
    PartialState { scalars, o: o.collect() }
}

impl Workload {
    fn reference(&self, config: &CoreConfig) -> Vec<QueryResult> {
        let model = Model::new(config);
        let results = self.with_head(|head| model.run(head.with_steps()));
        if !self.from.is_empty() {
            // Keys before the first count as masked, but have no steps.
            let from = |query: usize| self.from[query];
            let hides = |query: usize, key: usize| self.masked.as_ref().is_some_and(|m| m[query][key]);
            let masked = |query: usize, key: usize| key < from(query) || hides(query, key);
            let mut all = self
                .with_head(|head| model.run(Head { from: &[], masked: Some(&masked), ..head }.with_steps()));
            for (query, result) in all.iter_mut().enumerate() {
                let start = usize::from(self.is_restored(query));
                result.steps.drain(start..start + from(query));
            }
            assert_eq!(results, all, "{}", config.name());
        }
        results
    }

    fn with_head<T>(&self, run: impl FnOnce(Head) -> T) -> T {
        let masked = |query: usize, key: usize| self.masked.as_ref().is_some_and(|m| m[query][key]);
        let bias = |query: usize, key: usize| self.biases.as_ref().map_or(0, |b| b[query][key]);
        run(Head {
            biases: self.biases.as_ref().map(|_| &bias as Biases),
            from: &self.from,
            masked: self.masked.as_ref().map(|_| &masked as Masked),
            restored: &self.restored,
            ..Head::new(&self.q, &self.k, &self.v, &self.lengths).with_exponents(&self.v_exponents)
        })
    }

    fn is_restored(&self, query: usize) -> bool {
        self.restored.get(query).is_some_and(Option::is_some)
    }

    fn steps(&self) -> usize {
        let restored = self.restored.iter().flatten().count();
        self.lengths.iter().sum::<usize>() - self.from.iter().sum::<usize>() + restored
    }

    /// Results with the steps that `watch` has seen, and counts.
    fn vector(&self, model: &VectorModel) -> (Vec<QueryResult>, Vec<StepCounts>) {
        let steps: Vec<Mutex<Vec<Step>>> = self.lengths.iter().map(|_| Mutex::default()).collect();
        let watch = |query: usize, first: usize, more: &[Step]| {
            let mut steps = steps[query].lock().expect("no panic holds it");
            assert_eq!(steps.len(), first);
            steps.extend_from_slice(more);
        };
        let met = AtomicU64::new(0);
        let progress = |keys: u64| _ = met.fetch_add(keys, Ordering::Relaxed);
        let monitor = Monitor { watch: Some(&watch), progress: Some(&progress) };
        let watched = self.with_head(|head| model.run_monitored(head, monitor));
        assert_eq!(met.into_inner(), self.steps() as u64);
        assert_eq!(self.with_head(|head| model.run(head)), watched, "watching changes results");
        let mut results = watched.results;
        for (result, steps) in results.iter_mut().zip(steps) {
            result.steps = steps.into_inner().expect("no panic holds it");
        }
        (results, watched.counts)
    }
}

fn compare(config: &CoreConfig, model: &VectorModel, workload: &Workload, what: &str) {
    let name = format!("{} {:?} {what}", config.name(), model);
    let expected = workload.reference(config);
    let (results, counts) = workload.vector(model);
    for (i, (expected, actual)) in expected.iter().zip(&results).enumerate() {
        for (key, (expected, actual)) in expected.steps.iter().zip(&actual.steps).enumerate() {
            assert_eq!(expected, actual, "{name}: step {key} of query {i}");
        }
        assert_eq!(expected, actual, "{name}: query {i}");
        assert_eq!(counts[i], StepCounts::of(&expected.steps), "{name}: query {i}");
    }
}

/// All variants, and some with other widths, hold rules and tables than their defaults.
fn cores(d: usize, format: Format) -> Vec<CoreConfig> {
    let flash_d = CoreConfig::new(Design::FlashD, d, format);
    let fa2 = CoreConfig::new(Design::Fa2, d, format);
    let fa2 = |variant: Fa2Variant| CoreConfig { datapath: variant.into(), ..fa2.clone() };
    let mut cores = CoreConfig::variants(d, format);
    cores.extend(CoreConfig::mixed_precision(d).into_iter().filter(|core| core.format == format));
    for hold in [Hold::None, Hold::Below(3.0), Hold::Below(12.0), Hold::Budget(4), Hold::Budget(12)] {
        cores.push(CoreConfig { hold: Some(hold), ..flash_d.clone() });
        if !matches!(hold, Hold::Budget(_)) {
            cores.extend(
                [Fa2Variant::SharedScale, Fa2Variant::SeparateScale]
                    .map(|variant| CoreConfig { hold: Some(hold), ..fa2(variant) }),
            );
        }
    }
    for segments in [4, 16, 32] {
        cores.push(CoreConfig { segments: Some(segments), ..flash_d.clone() });
        cores.push(CoreConfig { segments: Some(segments), ..fa2(Fa2Variant::SharedScale) });
    }
    for fraction in [format.fraction_bits, 12, 16, 23] {
        if fraction >= format.fraction_bits {
            cores.push(CoreConfig {
                accumulator: Some(Accumulator::Fraction(fraction)),
                ..fa2(Fa2Variant::SharedScale)
            });
        }
    }
    for (o, v, w) in [(14, 10, 5), (18, 14, 9), (23, 14, 12), (28, 20, 12), (28, 8, 3), (10, 9, 4)] {
        cores.push(CoreConfig { lane: Some(LaneBits { o, v, w }), ..flash_d.clone() });
    }
    for (integer, fraction, state) in [(6, 8, 14), (12, 14, 24), (9, 10, 20)] {
        for core in [&flash_d, &fa2(Fa2Variant::SharedScale)] {
            cores.push(CoreConfig {
                score_integer_bits: integer,
                score_fraction_bits: Some(fraction),
                state_fraction_bits: Some(state),
                ..core.clone()
            });
        }
    }
    cores.retain(|core| core.validate().is_ok());
    let masked: Vec<_> =
        cores.iter().step_by(3).map(|core| CoreConfig { masks: true, ..core.clone() }).collect();
    let partial: Vec<_> =
        cores.iter().filter(|core| core.can_be_partial() && core.d > 2).step_by(2).collect();
    let partial: Vec<_> =
        partial.into_iter().map(|core| CoreConfig { masks: true, partial: true, ..core.clone() }).collect();
    let biased: Vec<_> = (cores.iter().skip(1).step_by(3))
        .filter(|core| !core.follows_the_paper())
        .map(|core| CoreConfig { bias: true, masks: core.d == 16, ..core.clone() })
        .collect();
    cores.extend(masked);
    cores.extend(biased);
    cores.extend(partial);
    cores
}

fn check(seed: u64, rounds: usize) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    for (_, format) in Format::NAMED {
        for d in [2, 5, 16, 21] {
            for config in cores(d, format) {
                for round in 0..rounds {
                    let kind = [Kind::Normal, Kind::Hostile][rng.random_range(0..2)];
                    let (queries, keys) = (rng.random_range(1..36), rng.random_range(1..90));
                    let workload = workload(&mut rng, &config, kind, queries, keys);
                    let isas = Isa::available();
                    let isa = isas[rng.random_range(0..isas.len())];
                    let model = VectorModel::new(&config).with_isa(isa);
                    let model = if rng.random_range(0..4) == 0 { model.by_query() } else { model };
                    compare(&config, &model, &workload, &format!("{kind:?}, seed {seed}, round {round}"));
                }
            }
        }
    }
}

#[test]
fn every_core_gives_the_models_bits() {
    check(5, 1);
}

#[test]
#[ignore = "takes minutes"]
fn every_core_gives_the_models_bits_at_length() {
    check(6, 25);
}

#[test]
fn every_set_of_instructions_gives_the_models_bits() {
    let seed = 12;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    for isa in Isa::available() {
        for format in [Format::BF16, Format::FP8_E4M3] {
            for config in CoreConfig::variants(19, format) {
                let partial = config.can_be_partial();
                let config = CoreConfig { masks: partial, partial, ..config };
                for kind in [Kind::Normal, Kind::Hostile] {
                    let workload = workload(&mut rng, &config, kind, 40, 70);
                    let model = VectorModel::new(&config).with_isa(isa);
                    compare(&config, &model, &workload, &format!("{kind:?}, seed {seed}"));
                    compare(&config, &model.by_query(), &workload, &format!("{kind:?}, seed {seed}"));
                }
            }
        }
    }
}

#[test]
fn long_sequences_give_the_models_bits() {
    let seed = 8;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    for format in [Format::BF16, Format::FP8_E4M3, Format::FP16] {
        for config in CoreConfig::variants(24, format) {
            let workload = workload(&mut rng, &config, Kind::Normal, 32, 700);
            compare(&config, &VectorModel::new(&config), &workload, &format!("seed {seed}"));
        }
    }
}

#[test]
fn few_queries_give_the_models_bits() {
    let seed = 21;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    for format in [Format::BF16, Format::FP8_E4M3, Format::FP16] {
        // A single query whose elements fill whole vectors or do not, less than a block, and several blocks.
        for (queries, d) in [(1, 16), (1, 96), (1, 37), (3, 24), (17, 19), (52, 16)] {
            for config in CoreConfig::variants(d, format) {
                let partial = config.can_be_partial();
                let parts = CoreConfig { masks: partial, partial, ..config.clone() };
                for isa in Isa::available() {
                    for (config, kind) in
                        [(&config, Kind::Normal), (&config, Kind::Hostile), (&parts, Kind::Normal)]
                    {
                        let workload = workload(&mut rng, config, kind, queries, 150);
                        let model = VectorModel::new(config).with_isa(isa);
                        compare(
                            config,
                            &model,
                            &workload,
                            &format!("{queries} queries, {kind:?}, seed {seed}"),
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn small_values_and_far_scores_give_the_models_bits() {
    // Numbers around the limits below which underflow must be checked.
    let (seed, keys) = (22, 96);
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    for (fraction, d, queries) in [(7, 8, 20), (11, 8, 20), (7, 16, 1), (11, 80, 1)] {
        let config = CoreConfig {
            accumulator: Some(Accumulator::Fraction(fraction)),
            ..CoreConfig::new(Design::Fa2, d, Format::BF16)
        };
        for scale in [-20, -30, -38, -60, -110] {
            for heat in [1, 16, 40] {
                let mut workload = workload(&mut rng, &config, Kind::Normal, queries, keys);
                let by = |bits: &mut u64, factor: f64| {
                    *bits = round_from_f64(Format::BF16, decode(Format::BF16, *bits) * factor);
                };
                workload.v.iter_mut().for_each(|bits| by(bits, 2f64.powi(scale)));
                workload.q.iter_mut().for_each(|bits| by(bits, heat.into()));
                let model = VectorModel::new(&config);
                compare(&config, &model, &workload, &format!("2^{scale}, {heat}, seed {seed}"));
            }
        }
    }
}

#[test]
fn shipped_cores_are_side_by_side() {
    for config in CoreConfig::shipped() {
        // FA2's sums under one exponent have no kernels.
        let by_query = config.follows_the_paper() || config.fa2() == Some(Fa2Variant::SharedLogReference);
        let expected = if by_query { Path::ByQuery } else { Path::SideBySide };
        assert_eq!(VectorModel::new(&config).path(), expected, "{}", config.name());
    }
}

#[test]
fn dot_products_beyond_the_narrow_form() {
    let (seed, queries, keys) = (17, 20, 40);
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    for shift in [-20, 0, 6, 30] {
        for design in [Design::FlashD, Design::Fa2] {
            let config = CoreConfig { score_shift: Some(shift), ..CoreConfig::new(design, 9, Format::BF16) };
            let workload = workload(&mut rng, &config, Kind::Hostile, queries, keys);
            compare(&config, &VectorModel::new(&config), &workload, &format!("{shift}, seed {seed}"));
        }
    }
}

#[test]
fn a_query_without_keys_is_empty() {
    let config = CoreConfig::new(Design::FlashD, 4, Format::BF16);
    let one = encode(Format::BF16, 1.0);
    let run = VectorModel::new(&config).run(Head::new(&[one; 8], &[one; 4], &[one; 4], &[0, 1]));
    assert!(run.results[0].empty && !run.results[1].empty);
    assert_eq!((run.results[0].o.as_slice(), run.counts[0].keys), (&[0; 4][..], 0));
    assert_eq!((run.results[1].o.as_slice(), run.counts[1].value_reads()), (&[one; 4][..], 1));
}
