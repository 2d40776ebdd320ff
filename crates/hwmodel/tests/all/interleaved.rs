//! Interleaved designs: C copies that take turns give what C separate designs give.

use flashd_hwmodel::catalogue::build;
use flashd_hwmodel::rtl::{Circuit, Interleaving};
use flashd_spec::config::{CoreConfig, Design};
use flashd_spec::format::Format;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Inputs of a cycle by port, and outputs.
type Words = Vec<Vec<u64>>;

/// A stream of random keys, values and queries into a core, with a reset at the start and in cycle `reset`; its inputs and outputs by cycle.
fn stream(
    core: &mut Circuit,
    names: [&[&str]; 2],
    cycles: usize,
    reset: usize,
    seed: u64,
) -> Vec<[Words; 2]> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let [inputs, outputs] = names;
    let mut cycle = |at: usize| {
        let words = |name: &&str| -> Vec<u64> {
            let (count, width) = core.shape(name);
            let mut word = |_| match (*name, width) {
                ("rst", _) => (at == 0 || at == reset).into(),
                ("k_valid", _) => (at % reset > 1 && rng.random_ratio(3, 4)).into(),
                ("k_last", _) => rng.random_ratio(1, 8).into(),
                // After a reset the query register holds anything.
                ("q_valid", _) => (at % reset == 1 || rng.random_ratio(1, 9)).into(),
                (_, 1) => rng.random_ratio(3, 4).into(),
                // Numbers of size 1 to 4.
                (_, 8) => (0x38 + rng.random_range(0..0x10)) | (rng.random_range(0..2) << 7),
                _ => (0x3f80 + rng.random_range(0..0x100)) | (rng.random_range(0..2) << 15),
            };
            (0..count).map(&mut word).collect()
        };
        let given: Words = inputs.iter().map(words).collect();
        inputs.iter().zip(&given).for_each(|(name, words)| core.set_words(name, words));
        core.settle();
        let made = outputs.iter().map(|name| core.words(name).collect()).collect();
        core.clock();
        [given, made]
    };
    (0..cycles).map(&mut cycle).collect()
}

/// Compares the interleaved core with its copies; returns the number of words compared.
fn compare(config: &CoreConfig, factor: usize, period: Option<f64>, seed: u64) -> usize {
    let one = build(config).unwrap();
    let interleaving =
        Interleaving { factor: factor as u32, period, low: &|name| name.ends_with("_valid"), late: &|_| 0 };
    let mut all = one.interleaved(&interleaving).expect("the period is long enough");
    let inputs = ["rst", "q", "q_valid", "k", "k_valid", "k_last", "v"];
    let outputs = ["v_step", "v_ren", "o_valid", "o_invalid", "o"];
    let (cycles, reset) = (600, 301);
    let mut core = build(config).unwrap();
    let streams: Vec<_> = (0..factor as u64)
        .map(|copy| stream(&mut core, [&inputs, &outputs], cycles, reset, seed + copy))
        .collect();
    let mut compared = 0;
    for cycle in 0..cycles {
        for (copy, stream) in streams.iter().enumerate() {
            let [given, made] = &stream[cycle];
            for (name, words) in inputs.iter().zip(given) {
                all.set_words(name, words);
            }
            all.settle();
            // A reset reaches all copies at once; steps under way are lost a round earlier or later.
            let settled = cycle % reset > 20;
            let result = made[2][0] == 1;
            for (name, words) in outputs.iter().zip(made).filter(|_| settled) {
                if result || !name.starts_with("o") || *name == "o_valid" {
                    let found: Vec<u64> = all.words(name).collect();
                    assert_eq!(
                        &found,
                        words,
                        "{} x {factor}, {name} of copy {copy}, cycle {cycle}",
                        config.name()
                    );
                    compared += words.len();
                }
            }
            all.clock();
        }
    }
    compared
}

#[test]
fn copies_that_take_turns_equal_separate_cores() {
    for design in [Design::FlashD, Design::Fa2] {
        for (format, d) in [(Format::BF16, 4), (Format::FP8_E4M3, 3)] {
            for factor in [2, 3, 5] {
                let config = CoreConfig::new(design, d, format);
                if format == Format::BF16 {
                    assert!(compare(&config, factor, None, 17 * factor as u64) > 1000);
                }
                assert!(compare(&config, factor, Some(2500.0), 18 * factor as u64) > 1000);
            }
        }
    }
}

#[test]
fn a_period_below_that_of_the_loops_is_refused() {
    let one = build(&CoreConfig::new(Design::FlashD, 4, Format::BF16)).unwrap();
    let of = |factor, period| {
        let low = &|name: &str| name.ends_with("_valid");
        one.interleaved(&Interleaving { factor, period: Some(period), low, late: &|_| 0 })
    };
    assert!(of(2, 1500.0).is_some());
    assert!(of(2, 1000.0).is_none());
    assert!(of(4, 1000.0).is_some());
}
