//! Soft caps: cores, arrays and split keys in lock-step with the model, the meaning of a cap, and its accuracy.

use crate::selftest::machines_in_lockstep;
use flashd_simulator::selftest::VectorStream;
use flashd_simulator::{ExactResults, Gaps, Scenario, Workload, model_results, prepare, run};
use flashd_spec::config::{CoreConfig, Design, KINDS};
use flashd_spec::format::Format;
use flashd_spec::numerics::Numerics;
use flashd_workload::{load_dir, round_to};
use std::path::Path;

/// Every datapath that can have a cap: alone, with a bias, and with masks and partial results.
fn cores(d: usize) -> Vec<CoreConfig> {
    let mut cores = Vec::new();
    for (format, cap) in [(Format::BF16, 50.0), (Format::FP8_E4M3, 2.5), (Format::INT8, 30.0)] {
        for kind in KINDS {
            let plain = CoreConfig::with_datapath(kind.datapath, d, format);
            let plain = CoreConfig { softcap: Some(cap), ..plain };
            cores.push(CoreConfig { masks: true, partial: plain.can_be_partial() && d > 2, ..plain.clone() });
            cores.push(CoreConfig { bias: true, value_latency: 2, ..plain.clone() });
            cores.push(plain);
        }
    }
    // The fewest cells that a table has.
    let coarse = CoreConfig {
        softcap: Some(1.0),
        score_fraction_bits: Some(2),
        ..CoreConfig::new(Design::Fa2, d, Format::INT8)
    };
    cores.push(coarse);
    cores.retain(|core| core.validate().is_ok());
    cores
}

const STREAM: VectorStream = VectorStream { seed: 12, keys: 220, round: 24, directed: 0 };

#[test]
fn cores_arrays_and_split_keys_in_lockstep() {
    machines_in_lockstep(cores, &STREAM);
}

/// A key that scores far more than the other one wins by twice the cap and no more; with a bias, by that and the bias.
#[test]
fn scores_are_capped_before_the_bias() {
    for design in Design::ALL {
        let plain = CoreConfig { softcap: Some(1.0), ..CoreConfig::new(design, 4, Format::BF16) };
        for (score, bias) in [(0.0, 0.0), (0.5, 0.0), (-2.0, 0.0), (40.0, 0.0), (300.0, 1.5), (-300.0, -1.5)]
        {
            let core = CoreConfig { bias: bias != 0.0, ..plain.clone() };
            // q . k 2^shift is the score of the first key; the second key's is its negative.
            let shift = f64::from(core.score_shift()).exp2();
            let row = |x: f64| [x, 0.0, 0.0, 0.0].map(|x| round_to(Format::BF16, x));
            let k = [row(score / shift), row(-score / shift)].concat();
            let v =
                [[8.0; 4], [0.0; 4]].concat().iter().map(|&v| round_to(Format::BF16, v)).collect::<Vec<_>>();
            let mut w = Workload::new(Format::BF16, 4, &row(1.0), &k, &v);
            if core.bias {
                w.queries[0].biases = vec![round_to(Format::BF16, bias), 0];
            }
            let result = run(&core, &w, Gaps::None, &mut []).unwrap();
            let difference = 2.0 * score.tanh() + bias;
            let share = 1.0 / (1.0 + (-difference).exp());
            let o = Format::BF16.value(result.results[0].o[0]);
            assert!((o - 8.0 * share).abs() < 0.04, "{}: {score}, {bias}: {o}, {}", core.name(), 8.0 * share);
            let own = result.counters.latency;
            let without = Numerics::new(&CoreConfig { softcap: None, ..core }).latency();
            assert_eq!(own, u64::from(without) + 1);
        }
    }
}

#[test]
fn a_cap_hardly_increases_errors() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testbench/data");
    let traces = load_dir(&folder).unwrap();
    for design in Design::ALL {
        let mut means = [0.0; 2];
        for trace in traces.iter().take(3) {
            let plain = Scenario::from(trace);
            let capped = Scenario { softcap: Some(10.0), ..plain.clone() };
            for (mean, scenario) in means.iter_mut().zip([plain, capped]) {
                let core = CoreConfig::new(design, trace.attention.d, Format::BF16);
                let core = CoreConfig { softcap: scenario.softcap, ..core };
                let reference = ExactResults::new(&scenario);
                let prepared = prepare(&core, &scenario, &reference).unwrap();
                *mean += reference.accuracy(&prepared, &model_results(&prepared)).mean;
            }
        }
        assert!(means[1] < 1.2 * means[0], "{design:?} {means:?}");
    }
}
