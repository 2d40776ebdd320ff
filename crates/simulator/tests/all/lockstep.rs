//! Cores in lock-step with the bit-exact model.

use flashd_simulator::{Gaps, Workload, run};
use flashd_spec::config::{CoreConfig, Datapath, Design, Fa2Variant, Hold};
use flashd_spec::format::Format;
use flashd_workload::{Attention, ScoreScale, TensorScale, Visible, choose_scaling, quantise, synthetic};
use rayon::prelude::*;
use std::sync::{Barrier, mpsc};
use std::thread;
use std::time::Duration;

fn workload(config: &mut CoreConfig, attention: &Attention, causal: bool) -> Workload {
    let fmt = config.format;
    let scaling = choose_scaling(fmt, attention, ScoreScale::Auto, TensorScale::Auto).unwrap();
    config.score_shift = Some(scaling.score_shift);
    let q = quantise(fmt, scaling, attention);
    let all = Workload::of_core(config, &q.q, &q.k, &q.v);
    let ranges = Visible::new(causal).ranges(attention);
    all.with_lengths(ranges.into_iter().map(|range| range.end))
}

fn check(config: &CoreConfig, attention: &Attention, causal: bool, gaps: Gaps) -> flashd_simulator::CoreRun {
    let mut config = config.clone();
    let w = workload(&mut config, attention, causal);
    let run = run(&config, &w, gaps, &mut []).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(run.counters.keys as usize, w.steps());
    assert_eq!(run.counters.queries as usize, w.queries.len());
    assert!(run.counters.comparisons > run.counters.keys);
    run
}

#[test]
fn shipped_cores_on_attention_like_streams() {
    for config in CoreConfig::shipped() {
        let keys = if config.d == 256 { 24 } else { 48 };
        let attention = synthetic::attention_like(7, 3, keys, config.d);
        let run = check(&config, &attention, false, Gaps::None);
        // Back-to-back queries without a bubble, the contract's latency.
        assert_eq!(run.counters.bubbles, 0);
        assert_eq!(run.counters.cycles, 3 * keys as u64 + run.counters.latency);
    }
}

/// Every thread of the pool runs a core and waits for its model, which then has to run in another thread.
#[test]
fn cores_run_in_all_threads_of_a_pool() {
    let (done, all_done) = mpsc::channel();
    // In another thread, so that the test fails where the cores wait for ever.
    thread::spawn(move || {
        let threads = rayon::current_num_threads();
        let together = Barrier::new(threads);
        (0..threads).into_par_iter().with_max_len(1).for_each(|_| {
            together.wait();
            let config = CoreConfig::new(Design::FlashD, 3, Format::BF16);
            check(&config, &synthetic::attention_like(7, 64, 2000, 3), false, Gaps::None);
        });
        done.send(()).unwrap();
    });
    all_done.recv_timeout(Duration::from_secs(300)).expect("all cores have run");
}

#[test]
fn every_format_and_odd_vector_lengths() {
    for (_, format) in Format::NAMED {
        for d in [2, 3, 5, 17, 48] {
            let mixed = CoreConfig::mixed_precision(d).into_iter().filter(|config| config.format == format);
            let thresholds = CoreConfig::with_hold(d, format, Hold::Below(12.0));
            for config in CoreConfig::variants(d, format).into_iter().chain(mixed).chain(thresholds) {
                let attention = synthetic::attention_like(11, 4, 9, d);
                check(&config, &attention, true, Gaps::None);
                check(&config, &attention, true, Gaps::Random(d as u64));
            }
        }
    }
}

/// The most bits that a score can have: its product with log2(e) reaches beyond 64 bits with the sign extended.
#[test]
fn the_longest_scores() {
    for format in [Format::BF16, Format::FP8_E4M3] {
        let with = |config: CoreConfig| CoreConfig {
            score_integer_bits: 12,
            score_fraction_bits: Some(20),
            state_fraction_bits: Some(26),
            ..config
        };
        for config in CoreConfig::variants(5, format).into_iter().map(with) {
            let others = [
                config.clone(),
                CoreConfig { softcap: Some(50.0), ..config.clone() },
                CoreConfig { bias: true, masks: true, partial: true, ..config },
            ];
            for config in others.iter().filter(|config| config.validate().is_ok()) {
                check(config, &synthetic::attention_like(13, 3, 9, 5), true, Gaps::Random(5));
            }
        }
    }
}

/// A check that cannot fail is none: every quantity that is compared is falsified once.
#[test]
fn every_comparison_notices_a_fault() {
    use flashd_golden::{Action, Head, Model};
    use flashd_simulator::{RunError, run_against};
    let thresholds = CoreConfig::with_hold(8, Format::BF16, Hold::Below(12.0));
    for config in CoreConfig::variants(8, Format::BF16).into_iter().chain(thresholds) {
        let mut config = config;
        let w = workload(&mut config, &synthetic::attention_like(3, 2, 12, 8), false);
        let good = Model::new(&config).run(Head::new(&w.q(), &w.k, &w.v, &w.lengths()).with_steps());
        let update = good[1].steps.iter().rposition(|s| s.action == Action::Update).unwrap();
        type Fault = fn(&mut flashd_golden::QueryResult, usize);
        let argument: Fault = match config.datapath {
            // The loop adds whole octaves; lock-step compares their number.
            Datapath::Fa2(Fa2Variant::Ranged) => |r, i| r.steps[i].x ^= 1 << 10,
            _ => |r, i| r.steps[i].x ^= 1,
        };
        let faults: [(&str, Fault); 8] = [
            ("score", |r, i| r.steps[i].s ^= 1),
            ("argument", argument),
            ("weight", |r, i| r.steps[i].w ^= 1),
            ("v_ren", |r, i| r.steps[i].action = Action::Hold),
            ("o[7]", |r, _| r.o[7] ^= 1),
            ("o_invalid", |r, _| r.invalid ^= true),
            ("o_saturated", |r, _| r.score_saturated ^= true),
            ("o_overflow", |r, _| r.overflow ^= true),
        ];
        for (signal, fault) in faults {
            let mut bad = good.clone();
            fault(&mut bad[1], update);
            match run_against(&config, &w, Gaps::None, &mut [], &bad) {
                Err(RunError::Divergence(d)) => assert!(d.signal.starts_with(signal), "{d}"),
                other => panic!("{}: a wrong {signal} went unnoticed: {other:?}", config.name()),
            }
        }
    }
}
