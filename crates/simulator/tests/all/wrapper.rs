//! Stream wrappers at their ports: every result, request and counter against the model, whatever sources and sinks do.

use flashd_simulator::wrapper::{Mask, Pace, Paces, WrapperBlock, WrapperWorkload, run, run_against};
use flashd_spec::config::{
    ArrayConfig, Carried, CoreConfig, Design, Fa2Variant, FlashDVariant, Hold, Values, WeightUnit,
    WrapperConfig,
};
use flashd_spec::format::Format;
use flashd_workload::{round_to, synthetic};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Blocks of these numbers of queries and keys. Scores are spread widely, so that some steps hold.
fn workload(core: &CoreConfig, shape: &[(usize, usize)], seed: u64) -> WrapperWorkload {
    let format = core.format;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let encoded = |x: &[f32], factor: f64| -> Vec<u64> {
        x.iter().map(|x| round_to(format, *x as f64 * factor)).collect()
    };
    let block = |(i, (queries, keys)): (usize, &(usize, usize))| {
        let a = synthetic::attention_like(seed * 100 + i as u64, *queries, *keys, core.d);
        let padding = (0..*keys).map(|_| core.masks && rng.random_ratio(1, 5)).collect();
        WrapperBlock {
            q: encoded(&a.q, 16.0),
            k: encoded(&a.k, 1.0),
            v: encoded(&a.v, 1.0),
            padding,
            ..WrapperBlock::default()
        }
    };
    let blocks: Vec<WrapperBlock> = shape.iter().enumerate().map(block).collect();
    // An exponent that some values go beyond, so that the flag is seen.
    let largest =
        blocks.iter().flat_map(|b| &b.v).map(|v| (v >> format.fraction_bits) & format.exponent_mask());
    let v_exponent = largest.max().unwrap_or(0).saturating_sub(seed % 2);
    WrapperWorkload { blocks, v_exponent, ..WrapperWorkload::default() }
}

/// The designs that the tests go through.
fn cores(d: usize) -> Vec<CoreConfig> {
    let flash_d = CoreConfig::new(Design::FlashD, d, Format::BF16);
    let fa2 = CoreConfig::new(Design::Fa2, d, Format::BF16);
    vec![
        CoreConfig { format: Format::FP8_E4M3, hold: Some(Hold::Budget(9)), ..flash_d.clone() },
        flash_d.clone(),
        CoreConfig { masks: true, ..flash_d.clone() },
        CoreConfig { datapath: FlashDVariant::Paper.into(), ..flash_d },
        fa2.clone(),
        CoreConfig { masks: true, ..fa2.clone() },
        CoreConfig { datapath: Fa2Variant::SeparateScale.into(), ..fa2 },
    ]
    .into_iter()
    .map(|core| match core.weight() {
        Some(WeightUnit::Paper) => CoreConfig::variants(d, core.format)
            .into_iter()
            .find(|c| c.weight() == Some(WeightUnit::Paper))
            .unwrap_or(core),
        _ => core,
    })
    .collect()
}

const VALUES: [Values; 2] = [Values::Requested, Values::All];

fn check(
    config: &WrapperConfig,
    w: &WrapperWorkload,
    paces: &Paces,
    seed: u64,
) -> flashd_simulator::wrapper::WrapperRun {
    config.validate().unwrap();
    run(config, w, paces, seed)
        .unwrap_or_else(|e| panic!("{}, seed {seed}, {paces:?}, {:?}: {e}", config.name(), w.mask))
}

/// Every design, number of queries, beat and way of sending values, with paces by chance.
#[test]
fn every_result_and_request_agrees_with_the_model() {
    let mut seed = 0;
    for core in cores(8) {
        let vector = 8 * core.format.width();
        for queries in [1, 3, 8] {
            for beat in [vector, vector / 2, vector / 8] {
                for values in VALUES {
                    seed += 1;
                    let array = ArrayConfig::new(core.clone(), queries);
                    let config = WrapperConfig { beat_bits: Some(beat), values, ..WrapperConfig::new(array) };
                    let shape = [(queries, 9), (1, 1), (queries.div_ceil(2), 3), (queries, 2), (queries, 12)];
                    let mut w = workload(&core, &shape, seed);
                    if core.masks {
                        w.mask = [Mask::None, Mask::Causal, Mask::Window(3)][seed as usize % 3];
                        w.stride = seed / 3 % 2;
                        w.position = seed % 4;
                    }
                    for paces in [Paces::free(0), Paces::random(seed), Paces::random(seed + 1000)] {
                        let run = check(&config, &w, &paces, seed);
                        assert!(run.comparisons as usize >= 9 * run.first_results.len());
                    }
                }
            }
        }
    }
}

/// Each pace on each stream, the others running freely.
#[test]
fn every_pace_on_every_stream() {
    for (core, beats) in [(cores(8).remove(2), 1), (cores(8).remove(4), 4)] {
        for values in VALUES {
            let array = ArrayConfig::new(core.clone(), 3);
            let beat_bits = Some(8 * core.format.width() / beats);
            let config = WrapperConfig { beat_bits, values, ..WrapperConfig::new(array) };
            let w = WrapperWorkload {
                mask: Mask::Causal,
                stride: 1,
                ..workload(&core, &[(3, 7), (2, 4), (3, 5)], 5)
            };
            for pace in Pace::ALL {
                for stream in 0..6 {
                    let mut paces = Paces::free(2);
                    *[
                        &mut paces.q,
                        &mut paces.k,
                        &mut paces.v,
                        &mut paces.vreq,
                        &mut paces.o,
                        &mut paces.lite,
                    ][stream] = pace;
                    check(&config, &w, &paces, stream as u64);
                }
            }
        }
    }
}

/// Beats of half an element, and of one and a half.
#[test]
fn beats_that_are_no_whole_number_of_elements() {
    let core = CoreConfig::new(Design::FlashD, 6, Format::BF16);
    for beat in [8, 24, 48] {
        for values in VALUES {
            let array = ArrayConfig::new(core.clone(), 2);
            let config = WrapperConfig { beat_bits: Some(beat), values, ..WrapperConfig::new(array) };
            let w = workload(&core, &[(2, 5), (1, 3), (2, 4)], 3);
            check(&config, &w, &Paces::free(0), 1);
            check(&config, &w, &Paces::random(8), 1);
        }
    }
}

/// LENGTH agrees with the packets.
#[test]
fn blocks_of_a_given_length() {
    let core = cores(8).remove(1);
    let config = WrapperConfig::new(ArrayConfig::new(core.clone(), 3));
    let w = WrapperWorkload { length: 6, ..workload(&core, &[(3, 6), (2, 6), (3, 6)], 3) };
    check(&config, &w, &Paces::random(3), 1);
}

/// Cycles per block agree with the formula for beats of whole vectors; smaller beats take at most `2 beats` and the delay
/// of a value more. Long blocks keep their streams busy. The latency is right.
#[test]
fn cycles_agree_with_the_formula() {
    for core in [cores(8).remove(1), cores(8).remove(4)] {
        for queries in [1, 3, 8] {
            for beats in [1, 2, 8] {
                for values in VALUES {
                    for keys in [1, queries - queries / 2, queries, queries + 1, 40] {
                        let beat_bits = Some(8 * core.format.width() / beats);
                        let array = ArrayConfig::new(core.clone(), queries);
                        let config = WrapperConfig { beat_bits, values, ..WrapperConfig::new(array) };
                        let w = workload(&core, &[(queries, keys); 12], 2);
                        for delay in [0, config.value_delay() as u64] {
                            cycles(&config, &w, queries, keys, delay);
                        }
                    }
                }
            }
        }
    }
}

fn cycles(config: &WrapperConfig, w: &WrapperWorkload, queries: usize, keys: usize, delay: u64) {
    let run = check(config, w, &Paces::free(delay), 1);
    // Without the first blocks, before which the array is empty, and the last one, after which no key comes.
    // With several beats the time of a block's result depends on the values that its last keys need, so keys are measured.
    let ends =
        if config.beats(Carried::Key) == 1 { &run.first_results[3..11] } else { &run.last_keys[3..11] };
    let periods: Vec<u64> = ends.windows(2).map(|w| w[1] - w[0]).collect();
    let expected = config.cycles_per_block(queries, keys) as u64;
    let beats = u64::from(config.beats(Carried::Key));
    let mean = (ends[7] - ends[0]) as f64 / 7.0;
    let told = format!("{}, {keys} keys, delay {delay}: {periods:?}, expected {expected}", config.name());
    if beats == 1 {
        assert!(periods.iter().all(|p| *p == expected), "{told}");
        let bubbles = expected.saturating_sub(keys as u64);
        assert!(keys < queries || bubbles <= 2, "{told}: {bubbles} bubbles");
    } else {
        assert!(mean <= (expected + 2 * beats + delay) as f64, "{told}");
        assert!(keys < 40 || mean <= 1.03 * expected as f64, "{told}");
    }
    let latency = run.first_results[11] - run.last_keys[11];
    assert!(latency >= u64::from(config.latency()), "{told}: latency {latency}");
    if beats == 1 && config.values == Values::All && keys > queries {
        assert_eq!(latency, u64::from(config.latency()), "{told}");
    }
}

/// A value that comes later than `value_delay` costs the documented cycles.
#[test]
fn late_values_cost_the_documented_cycles() {
    let core = CoreConfig { hold: Some(Hold::None), ..cores(8).remove(1) };
    for beats in [1, 4] {
        let beat_bits = Some(8 * core.format.width() / beats);
        let config = WrapperConfig { beat_bits, ..WrapperConfig::new(ArrayConfig::new(core.clone(), 2)) };
        let w = workload(&core, &[(2, 200)], 2);
        let latency = u64::from(config.array.value_latency());
        for delay in [config.value_delay() as u64 + 1, config.value_delay() as u64 + 8] {
            let run = check(&config, &w, &Paces::free(delay), 1);
            let step = |run: &flashd_simulator::wrapper::WrapperRun| run.registers["Cycles"] as f64 / 200.0;
            let expected = (delay + u64::from(beats) + 1) as f64 / (latency + 1) as f64;
            let measured = step(&run);
            assert!((measured - expected).abs() < 0.15 * expected, "{measured}, expected {expected}");
            assert!(run.registers["StallValue"] > 0);
        }
    }
}

/// The check notices a wrong result, a value too many and one too few.
#[test]
fn the_check_can_fail() {
    let core = cores(8).remove(0);
    let config = WrapperConfig::new(ArrayConfig::new(core.clone(), 2));
    let w = workload(&core, &[(2, 6), (2, 5)], 4);
    let right = w.expected(&config);
    let against = |expected| run_against(&config, &w, &Paces::free(1), 1, expected);
    assert!(against(&right).is_ok());
    let mut wrong = right.clone();
    wrong[1].results[1].o[3] ^= 1;
    assert!(against(&wrong).unwrap_err().contains("result 1 of block 1"));
    let mut wrong = right.clone();
    wrong[0].results[0].invalid = true;
    assert!(against(&wrong).unwrap_err().contains("tuser"));
    let mut wrong = right.clone();
    wrong[0].needed[0] += 1;
    assert!(against(&wrong).is_err());
    let mut wrong = right.clone();
    wrong[1].needed.pop();
    assert!(against(&wrong).is_err());
}

/// A number that a register would truncate is refused: the model would use the whole number.
#[test]
fn a_workload_beyond_the_registers_is_refused() {
    let core = CoreConfig { masks: true, ..CoreConfig::new(Design::FlashD, 4, Format::BF16) };
    let config = WrapperConfig::new(ArrayConfig { key_index_bits: Some(3), ..ArrayConfig::new(core, 2) });
    let mut w = WrapperWorkload { mask: Mask::Window(8), ..workload(&config.array.core, &[(2, 9)], 1) };
    let refused = run(&config, &w, &Paces::free(3), 1).unwrap_err();
    assert_eq!(refused, "Window has 3 bits, which hold 0 to 7, not 8");
    w.mask = Mask::Window(7);
    run(&config, &w, &Paces::free(3), 1).unwrap();
}
