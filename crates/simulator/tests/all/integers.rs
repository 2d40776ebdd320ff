//! Integer cores in lock-step, and their errors on the bundled sample.

use crate::selftest::in_lockstep;
use flashd_simulator::selftest::VectorStream;
use flashd_simulator::{ExactResults, Scenario, model_results, prepare};
use flashd_spec::config::{CoreConfig, Design, FlashDVariant, KINDS, Scale};
use flashd_spec::format::{Format, Formats};
use flashd_workload::load_dir;
use std::path::Path;

/// All cores of a datapath with integers: with scales and without, mixed with floats, with masks and partial results.
fn integer_cores(d: usize) -> Vec<CoreConfig> {
    let (bf16, int8, int4) = (Format::BF16, Format::INT8, Format::INT4);
    let small_units = Format::int8_of_fraction(4);
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
    let small_units = Format::int8_of_fraction(4);
    let v = int8().with_formats(Formats { v: small_units, ..Format::INT8.into() });
    assert!(refused(v).starts_with("--v-format: int8q4 is for results (--o-format)"));
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
