//! Biases: cores, arrays and split keys in lock-step with the model, the meaning of a bias, and its accuracy.

use crate::selftest::machines_in_lockstep;
use flashd_simulator::selftest::VectorStream;
use flashd_simulator::{ExactResults, Gaps, Scenario, Workload, model_results, prepare, run};
use flashd_spec::config::{CoreConfig, Design, KINDS};
use flashd_spec::format::Format;
use flashd_spec::numerics::BIAS;
use flashd_workload::{Bias, CausalAlign, load_dir, round_to};
use std::path::Path;

/// Every datapath that can have a bias, with masks and partial results in turn, and integers with scales.
fn cores(d: usize) -> Vec<CoreConfig> {
    let mut cores = Vec::new();
    for format in [Format::BF16, Format::FP8_E4M3, Format::INT8] {
        for kind in KINDS {
            let plain = CoreConfig { bias: true, ..CoreConfig::with_datapath(kind.datapath, d, format) };
            cores.push(CoreConfig { masks: true, partial: plain.can_be_partial() && d > 2, ..plain.clone() });
            cores.push(CoreConfig { value_latency: 3, ..plain.clone() });
            cores.push(plain);
        }
    }
    cores.retain(|core| core.validate().is_ok());
    cores
}

const STREAM: VectorStream = VectorStream { seed: 11, keys: 220, round: 24, directed: 0 };

#[test]
fn cores_arrays_and_split_keys_in_lockstep() {
    machines_in_lockstep(cores, &STREAM);
}

/// Two keys of the same score, values 8 and 0: the first has the share `sigmoid(bias)`.
fn two_keys(core: &CoreConfig, biases: [u64; 2], masked: [bool; 2]) -> (f64, bool) {
    let one = core.format.one();
    let v: Vec<u64> = [8.0, 0.0].iter().flat_map(|&v| vec![round_to(core.format, v); core.d]).collect();
    let mut w = Workload::new(core.format, core.d, &vec![one; core.d], &vec![one; 2 * core.d], &v);
    (w.queries[0].biases, w.queries[0].masked) = (biases.to_vec(), masked.to_vec());
    let result = &run(core, &w, Gaps::None, &mut []).unwrap().results[0];
    (core.formats().o.value(result.o[0]), result.invalid)
}

#[test]
fn a_bias_is_added_in_natural_units() {
    for kind in KINDS {
        let core = CoreConfig {
            bias: true,
            masks: true,
            ..CoreConfig::with_datapath(kind.datapath, 4, Format::BF16)
        };
        if core.validate().is_err() {
            assert!(core.follows_the_paper());
            continue;
        }
        for bias in [0.0, 1.0, -1.0, 3.0f64.ln(), 4.25, -300.0, 300.0, 3e38] {
            let bits = round_to(BIAS, bias);
            let own = BIAS.value(bits);
            let share = 1.0 / (1.0 + (-own).exp());
            for (biases, share) in [([bits, 0], share), ([0, bits], 1.0 - share)] {
                let (o, invalid) = two_keys(&core, biases, [false; 2]);
                assert!(!invalid && (o - 8.0 * share).abs() < 0.05, "{}: {own}: {o}", core.name());
            }
        }
        // Inf and NaN count as zero and are flagged; a subnormal number is zero; nothing of a masked key counts.
        for (bits, special) in
            [(0x7f80, true), (0xff80, true), (0x7fc0, true), (0x7f, false), (0x8000, false)]
        {
            assert_eq!(two_keys(&core, [0, bits], [false; 2]), (4.0, special), "{}: {bits:#x}", core.name());
            assert_eq!(two_keys(&core, [0, bits], [false, true]), (8.0, false), "{}: {bits:#x}", core.name());
        }
    }
}

#[test]
fn a_slope_at_most_doubles_errors() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testbench/data");
    let traces = load_dir(&folder).unwrap();
    let mut means = [0.0; 2];
    for trace in traces.iter().take(2) {
        let plain = Scenario::from(trace);
        let positions = trace.attention.positions(CausalAlign::BottomRight);
        let with = Scenario { bias: Bias::Alibi { slope: 0.25, positions }, ..plain.clone() };
        for (mean, scenario) in means.iter_mut().zip([plain, with]) {
            for design in Design::ALL {
                let core = CoreConfig::new(design, trace.attention.d, Format::BF16);
                let core = CoreConfig { bias: scenario.bias != Bias::None, ..core };
                let reference = ExactResults::new(&scenario);
                let prepared = prepare(&core, &scenario, &reference).unwrap();
                *mean += reference.accuracy(&prepared, &model_results(&prepared)).mean;
            }
        }
    }
    // A slope leaves fewer keys that count, and so less of a mean.
    assert!(means[1] < 2.0 * means[0], "{means:?}");
}

#[test]
fn illegal_configurations_are_refused() {
    let core = CoreConfig { bias: true, ..CoreConfig::new(Design::FlashD, 8, Format::BF16) };
    let mut w = Workload::new(Format::BF16, 8, &[0; 8], &[0; 8], &[0; 8]);
    w.queries[0].biases = vec![0];
    let error = run(&CoreConfig { bias: false, ..core }, &w, Gaps::None, &mut []).unwrap_err();
    assert_eq!(error.to_string(), "bias: scores have biases, but the core has no bias port");
}
