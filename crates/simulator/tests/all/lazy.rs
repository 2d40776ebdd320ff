//! FA2 with a reference that moves rarely: scores around the slack in lock-step, and what it does on the bundled sample.

use flashd_golden::{Head, Model, encode};
use flashd_simulator::{Gaps, Reference, Scenario, Workload, model_results, prepare, run};
use flashd_spec::config::{CoreConfig, Design, Fa2Variant, Hold, LAZY_SLACK};
use flashd_spec::format::Format;
use flashd_workload::{load_dir, round_value};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::path::Path;

fn lazy(d: usize, format: Format) -> CoreConfig {
    CoreConfig::with_datapath(Fa2Variant::LazyReference.into(), d, format)
}

/// Queries whose scores are near the reference, near the slack above it, or far above: `octaves` at most, from -half of them on.
fn around_the_slack(rng: &mut ChaCha8Rng, format: Format, d: usize, octaves: f64) -> Workload {
    let (queries, keys) = (6, 12);
    let (q, mut k, mut v) = (vec![format.one(); d * queries], Vec::new(), Vec::new());
    let (unit, slack) = (2f64.powi(-10), f64::from(LAZY_SLACK));
    let mut score = -octaves / 2.0;
    for _ in 0..keys {
        let jump =
            [0.0, slack, slack + 1.0, -2.0, rng.random_range(0.0..octaves / 2.0)][rng.random_range(0..5)];
        score = (score + jump + unit * f64::from(rng.random_range(-2..=2))).min(octaves / 2.0);
        let mut rest = score / std::f64::consts::LOG2_E;
        // As much as the format holds in an element, and the next one what is left.
        k.extend((0..d).map(|_| {
            let bits = encode(format, round_value(format, rest));
            rest -= format.value(bits);
            bits
        }));
        v.extend((0..d).map(|_| encode(format, round_value(format, rng.random_range(-3.0..3.0)))));
    }
    let lengths = (0..queries).map(|i| [keys, 1, 2, keys / 2, keys, 3][i]);
    Workload::new(format, d, &q, &k, &v).with_lengths(lengths)
}

#[test]
fn scores_around_the_slack_in_lockstep() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let mut moves = 0;
    for (_, format) in Format::NAMED {
        for d in [4, 7] {
            let core = CoreConfig { score_shift: Some(0), ..lazy(d, format) };
            let cores = [
                core.clone(),
                CoreConfig { hold: Some(Hold::None), ..core.clone() },
                CoreConfig { masks: true, hold: Some(Hold::Below(2.0)), ..core.clone() },
                CoreConfig { value_latency: 3, score_integer_bits: 5, ..core },
            ];
            for core in cores {
                for octaves in [20.0, 60.0, 300.0, 1000.0] {
                    let mut w = around_the_slack(&mut rng, format, d, octaves);
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

/// Beside the shared scale, whose lanes it has: as accurate, and it rescales far less often.
#[test]
fn on_the_bundled_sample_it_is_accurate_and_rarely_rescales() {
    let traces = load_dir(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testbench/data")).unwrap();
    for format in [Format::BF16, Format::FP16, Format::FP8_E4M3, Format::FP8_E5M2] {
        let (mut mean, mut moves, mut steps, mut saturated) = ([0.0; 2], [0; 2], 0, 0);
        for trace in &traces {
            let scenario = Scenario::from(trace);
            let reference = Reference::new(&scenario);
            let cores = [lazy(trace.d, format), CoreConfig::new(Design::Fa2, trace.d, format)];
            for (i, core) in cores.iter().enumerate() {
                let prepared = prepare(core, &scenario, &reference).unwrap();
                mean[i] += reference.accuracy(&prepared, &model_results(&prepared)).mean;
                let w = &prepared.workload;
                let (q, lengths) = (w.q(), w.lengths());
                let head = Head::new(&q, &w.k, &w.v, &lengths).with_steps();
                for result in Model::new(&prepared.config).run(head) {
                    moves[i] += result.steps.iter().filter(|step| step.upper).count();
                    steps += (1 - i) * result.steps.len();
                    saturated += (1 - i) as u64 * result.saturated;
                }
            }
        }
        let [of_lazy, of_fa2] = mean;
        println!(
            "{format}: error {:.4} of FA2's, {} of {steps} steps rescale, FA2: {}",
            of_lazy / of_fa2,
            moves[0],
            moves[1]
        );
        assert!(of_lazy <= 1.02 * of_fa2, "{format}: {of_lazy} and {of_fa2}");
        assert!(10 * moves[0] < moves[1], "{format}: {moves:?}");
        assert_eq!(saturated, 0, "{format}");
    }
}
