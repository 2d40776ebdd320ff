//! FA2 `shared-log-reference`: one multiplier for update and final scale in lock-step, and its error on the bundled sample.

use flashd_golden::{Model, encode};
use flashd_simulator::{ExactResults, Gaps, Scenario, Workload, model_results, prepare, run};
use flashd_spec::config::{CoreConfig, Fa2Variant, Hold, LaneBits};
use flashd_spec::format::Format;
use flashd_workload::{load_dir, round_value};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::path::Path;

/// The variants whose reference is the first score plus whole octaves.
const BOTH: [Fa2Variant; 2] = [Fa2Variant::SharedLogReference, Fa2Variant::Ranged];

fn core(variant: Fa2Variant, d: usize, format: Format) -> CoreConfig {
    CoreConfig::with_datapath(variant.into(), d, format)
}

/// Queries whose scores rise by fractions of an octave and by many, fall, and stay: with rises, carries and neither.
fn rises_and_carries(rng: &mut ChaCha8Rng, format: Format, d: usize, octaves: f64) -> Workload {
    // The multiplier scales one query's result while the next one's first key is there, again and again.
    let lengths = [1, 1, 12, 1, 2, 1, 5, 12, 1, 1];
    let keys = 12;
    let (q, mut k, mut v) = (vec![format.one(); d * lengths.len()], Vec::new(), Vec::new());
    let mut score = -octaves / 2.0;
    for _ in 0..keys {
        let jump = [0.0, 0.0, 1.0, -0.3, 2f64.powi(-10), rng.random_range(0.0..octaves / 2.0)]
            [rng.random_range(0..6)];
        score = (score + jump).min(octaves / 2.0);
        let mut rest = score / std::f64::consts::LOG2_E;
        // An element holds the rest of the score, rounded to the format; the next one holds the remainder.
        k.extend((0..d).map(|_| {
            let bits = encode(format, round_value(format, rest));
            rest -= format.value(bits);
            bits
        }));
        v.extend((0..d).map(|_| encode(format, round_value(format, rng.random_range(-3.0..3.0)))));
    }
    Workload::new(format, d, &q, &k, &v).with_lengths(lengths)
}

#[test]
fn rises_carries_and_queries_of_one_key_in_lockstep() {
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    let mut moves = 0;
    for (_, format) in Format::NAMED {
        for (d, variant) in BOTH.into_iter().flat_map(|variant| [(4, variant), (7, variant)]) {
            let core = CoreConfig { score_shift: Some(0), ..core(variant, d, format) };
            let cores = [
                core.clone(),
                CoreConfig { hold: Some(Hold::None), segments: Some(32), ..core.clone() },
                CoreConfig { masks: true, hold: Some(Hold::Below(2.0)), ..core.clone() },
                CoreConfig { value_latency: 3, score_integer_bits: 5, segments: Some(4), ..core },
            ];
            for core in cores {
                for octaves in [4.0, 20.0, 60.0, 1000.0] {
                    let mut w = rises_and_carries(&mut rng, format, d, octaves);
                    if core.masks {
                        for query in &mut w.queries {
                            query.masked = (0..query.keys).map(|_| rng.random_range(0..3) == 0).collect();
                        }
                    }
                    for gaps in [Gaps::None, Gaps::Random(9)] {
                        run(&core, &w, gaps, &mut []).unwrap_or_else(|e| panic!("{}: {e}", core.name()));
                        let results = w.results(&Model::new(&core), true);
                        let steps = results.iter().flat_map(|result| &result.steps);
                        moves += steps.filter(|step| step.upper).count();
                    }
                }
            }
        }
    }
    assert!(moves > 1000, "{moves}");
}

/// The reciprocal of a sum next to 2 is below 1/2 by the error of its table, which a factor much wider than the result does not round
/// away: 2^4 too large a result once.
#[test]
fn a_reciprocal_below_one_half_under_a_wide_factor() {
    let formats = [Format::FP8_E4M3, Format::FP8_E5M2];
    for (format, variant) in formats.into_iter().flat_map(|format| BOTH.map(|variant| (format, variant))) {
        let lane = Some(LaneBits { o: 20, v: 10, w: 12 });
        let core = CoreConfig { lane, ..core(variant, 2, format) };
        let mut rng = ChaCha8Rng::seed_from_u64(11);
        for round in 0..150 {
            // Scores within two octaves of each other: sums of any size below 2.
            let row = |rng: &mut ChaCha8Rng, most: f64| -> Vec<u64> {
                (0..12).map(|_| encode(format, round_value(format, rng.random_range(-most..most)))).collect()
            };
            let (q, k, v) = (vec![format.one(); 2], row(&mut rng, 0.7), row(&mut rng, 3.0));
            let w = Workload::new(format, 2, &q.repeat(6), &k, &v).with_lengths(1..=6);
            run(&core, &w, Gaps::None, &mut []).unwrap_or_else(|e| panic!("round {round}: {e}"));
        }
    }
}

/// The log-reference has a separate, wider multiplier for the final scale.
#[test]
fn on_the_bundled_sample_the_error_is_no_larger_than_the_log_references() {
    let traces = load_dir(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testbench/data")).unwrap();
    for format in [Format::BF16, Format::FP16, Format::FP8_E4M3, Format::FP8_E5M2] {
        let mut mean = [0.0; 3];
        for trace in &traces {
            let scenario = Scenario::from(trace);
            let reference = ExactResults::new(&scenario);
            let variants = [Fa2Variant::LogReference].into_iter().chain(BOTH);
            for (mean, variant) in mean.iter_mut().zip(variants) {
                let prepared = prepare(&core(variant, trace.d, format), &scenario, &reference).unwrap();
                *mean += reference.accuracy(&prepared, &model_results(&prepared)).mean;
            }
        }
        let [log, shared, ranged] = mean;
        println!("{format}: {:.4} and {:.4} of the log-reference's error", shared / log, ranged / log);
        assert!(shared <= log && ranged <= log, "{format}: {shared}, {ranged} and {log}");
    }
}
