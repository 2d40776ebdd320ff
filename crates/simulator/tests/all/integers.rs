//! Integer cores in lock-step, and their errors on the bundled sample.

use crate::selftest::in_lockstep;
use flashd_simulator::selftest::VectorStream;
use flashd_simulator::{ExactResults, Scenario, model_results, prepare};
use flashd_spec::config::{CoreConfig, Design, FlashDVariant, KINDS, Scale};
use flashd_spec::format::{Format, Formats};
use flashd_workload::{Bias, ScoreScale, TensorScale, Visible, load_dir, synthetic};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::path::Path;

/// All cores of a datapath with integers: with scales and without, mixed with floats, with masks and partial results.
fn integer_cores(d: usize) -> Vec<CoreConfig> {
    let (bf16, int8, int4) = (Format::BF16, Format::INT8, Format::INT4);
    let small_units = Format::fixed(8, 4);
    let formats: [Formats; 10] = [
        int8.into(),
        int4.into(),
        Formats { q: bf16, k: int8, v: int8, o: bf16 },
        Formats { q: int8, k: int8, v: bf16, o: bf16 },
        Formats { q: int8, k: int4, v: int4, o: Format::FP16 },
        Formats { q: Format::FP8_E4M3, k: int4, v: int8, o: Format::FP32 },
        Formats { o: int8, ..int8.into() },
        Formats { o: small_units, ..int4.into() },
        Formats { o: int8, ..bf16.into() },
        Formats { q: bf16, k: int8, v: Format::FP8_E4M3, o: small_units },
    ];
    let mut cores = Vec::new();
    for kind in KINDS {
        for formats in formats {
            let plain = CoreConfig::with_datapath(kind.datapath, d, formats.q).with_formats(formats);
            let none = Some(Scale::None);
            cores.push(CoreConfig { scales: none, ..plain.clone() });
            cores.push(CoreConfig { masks: true, partial: plain.can_be_partial() && d > 2, ..plain });
        }
    }
    cores.retain(|core| core.validate().is_ok());
    cores
}

#[test]
fn all_of_them_in_lockstep() {
    for d in [2, 5, 16] {
        let cores = integer_cores(d);
        assert!(cores.len() > 60, "{}", cores.len());
        for config in cores {
            in_lockstep(&config, &VectorStream { round: 24, ..VectorStream::of(7, 200) });
        }
    }
}

/// Cores of a datapath with 16-bit or fixed-point operands: alone and mixed, plain, and with masks, states and biases; with the default
/// scales and with others.
fn fixed_point_cores(d: usize) -> Vec<CoreConfig> {
    let (bf16, int16, q8_8, q4_4) = (Format::BF16, Format::INT16, Format::fixed(16, 8), Format::fixed(8, 4));
    let formats: [Formats; 10] = [
        q8_8.into(),
        int16.into(),
        q4_4.into(),
        Formats { q: q8_8, k: q4_4, v: int16, o: Format::fixed(16, 12) },
        Formats { q: int16, k: Format::INT8, v: q8_8, o: bf16 },
        Formats { q: bf16, k: q8_8, v: q8_8, o: Format::FP32 },
        Formats { o: q8_8, ..bf16.into() },
        Formats { o: int16, ..Format::INT4.into() },
        Formats { o: q4_4, ..Format::FP16.into() },
        Formats { v: Format::FP8_E4M3, ..q8_8.into() },
    ];
    let mut cores = Vec::new();
    for (kind, formats) in KINDS.into_iter().flat_map(|kind| formats.map(|formats| (kind, formats))) {
        let plain = CoreConfig::with_datapath(kind.datapath, d, formats.q).with_formats(formats);
        let with_states =
            CoreConfig { masks: true, partial: plain.can_be_partial(), bias: true, ..plain.clone() };
        let row = Some(if formats.q == int16 { Scale::None } else { Scale::Row });
        cores.extend([CoreConfig { scales: row, ..plain.clone() }, plain, with_states]);
    }
    cores.retain(|core| core.validate().is_ok());
    cores
}

#[test]
fn fixed_point_in_lockstep() {
    for (d, steps) in [(4, 200), (16, 100), (64, 40)] {
        let cores = fixed_point_cores(d);
        assert!(cores.len() > 180, "{}", cores.len());
        for config in cores {
            in_lockstep(&config, &VectorStream { round: 24, ..VectorStream::of(11, steps) });
        }
    }
}

/// A complete core of one fixed-point format ships with fixed-point lanes and has no scales.
#[test]
fn a_fixed_point_format_is_a_complete_core() {
    for (format, design) in
        [Format::fixed(16, 8), Format::fixed(8, 4)].into_iter().flat_map(|f| Design::ALL.map(|d| (f, d)))
    {
        let core = CoreConfig::new(design, 64, format);
        assert_eq!(core.formats().uniform(), Some(format));
        assert!(
            core.has_one_shape() && core.has_fixed_lanes() && !core.has_value_exponent(),
            "{}",
            core.name()
        );
    }
    let int16 = CoreConfig::new(Design::FlashD, 64, Format::INT16);
    assert_eq!((int16.scales().q, int16.formats().o), (Scale::Row, Format::FP16));
}

/// 256 keys of normal numbers in Q8.8, causal, d = 64: the mean and the largest error of results whose rounding alone errs by up to half a unit,
/// 0.00195, and by 0.00098 on average.
#[test]
fn q8_8_errs_by_little_more_than_its_rounding() {
    let (size, d) = (256, 64);
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    let mut attention = synthetic::attention_like(1, size, size, d);
    for tensor in [&mut attention.q, &mut attention.k, &mut attention.v] {
        for x in tensor.iter_mut() {
            let normal = (0..12).map(|_| rng.random::<f32>()).sum::<f32>() - 6.0;
            *x = (normal * 256.0).round() / 256.0;
        }
    }
    let scenario = Scenario {
        softcap: None,
        bias: Bias::None,
        sink: None,
        attention: attention.into(),
        visible: Visible::new(true),
        score_scale: ScoreScale::Auto,
        tensor_scale: TensorScale::Auto,
        scale_rule: Default::default(),
    };
    let reference = ExactResults::new(&scenario);
    for design in Design::ALL {
        let core = CoreConfig::new(design, d, Format::fixed(16, 8));
        let prepared = prepare(&core, &scenario, &reference).unwrap();
        let accuracy = reference.accuracy(&prepared, &model_results(&prepared));
        let [mean, max] = [accuracy.mean, accuracy.max].map(|error| error * reference.magnitudes.head);
        println!("{}: mean {mean:.6}, max {max:.6}", core.name());
        assert!(
            (0.0009..0.0011).contains(&mean) && (0.0019..0.004).contains(&max),
            "{design:?}: {mean} {max}"
        );
    }
}

#[test]
fn illegal_pairs_are_refused_by_both_names() {
    let int8 = || CoreConfig::new(Design::FlashD, 8, Format::INT8);
    let refused = |core: CoreConfig| core.validate().unwrap_err().by_flag();
    let paper = CoreConfig { datapath: FlashDVariant::Paper.into(), ..int8() };
    assert_eq!(
        refused(paper),
        "--format: int8 for q with --weight paper, which has every operation in one format of floats"
    );
    let o = int8().with_formats(Formats { o: Format::INT4, ..Format::INT8.into() });
    assert!(refused(o).starts_with("--o-format: int4 is of fewer than 8 bits; results are bf16"));
    let mx =
        CoreConfig { scales: Some(Scale::Mx), ..CoreConfig::new(Design::FlashD, 8, Format::fixed(8, 4)) };
    assert!(refused(mx).starts_with("--scales: mx with --q-format int8q4: its blocks are of fp8-e4m3"));
    let paper = FlashDVariant::Paper.into();
    let o = CoreConfig { datapath: paper, ..CoreConfig::new(Design::FlashD, 8, Format::BF16) };
    let o = o.with_formats(Formats { o: Format::INT8, ..Format::BF16.into() });
    assert!(refused(o).starts_with("--o-format: int8 for o with --weight paper"));
}

#[test]
fn eight_bits_of_integers_have_a_third_of_e4m3s_error() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testbench/data");
    let traces = load_dir(&folder).unwrap();
    let mut means = [[0.0; 2]; 2];
    for trace in traces.iter().take(3) {
        let scenario = Scenario::from(trace);
        let reference = ExactResults::new(&scenario);
        for (means, format) in means.iter_mut().zip([Format::INT8, Format::FP8_E4M3]) {
            for (mean, design) in means.iter_mut().zip(Design::ALL) {
                let core = CoreConfig::new(design, trace.attention.d, format);
                let prepared = prepare(&core, &scenario, &reference).unwrap();
                *mean += reference.accuracy(&prepared, &model_results(&prepared)).mean;
            }
        }
    }
    let [integers, floats] = means;
    assert!(integers.iter().zip(floats).all(|(int8, e4m3)| 3.0 * int8 < e4m3), "{means:?}");
}
