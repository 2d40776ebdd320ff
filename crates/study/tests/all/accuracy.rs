//! Errors taken apart: against the errors of `Prepared`, against true bounds, and with cores that are known to be bad.

use flashd_spec::config::{CoreConfig, Design, LaneBits, WeightUnit};
use flashd_spec::format::{Encodings, Format};
use flashd_study::By;
use flashd_study::accuracy::{FormatAccuracy, measure};
use flashd_study::{Heads, PreparedHeads, equal, lengths, weight};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

fn sample() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testbench/data")
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-12 * b.abs()
}

fn designs(format: Format) -> Vec<CoreConfig> {
    [Design::FlashD, Design::Fa2].map(|design| CoreConfig::new(design, 16, format)).to_vec()
}

fn measured(heads: &Heads, cores: &[CoreConfig], by: By) -> FormatAccuracy {
    measure(heads, (cores[0].encodings(), Default::default()), cores, by, 0, &|| {}).unwrap()
}

#[test]
fn means_and_largest_errors_agree_with_prepared() {
    let heads = Heads::load(&sample(), 4).unwrap();
    for format in [Format::BF16, Format::FP8_E4M3, Format::FP16] {
        let cores = CoreConfig::variants(16, format);
        let all = measured(&heads, &cores, By::Model);
        let prepared = PreparedHeads::new(&heads, format).unwrap();
        for (i, core) in cores.iter().enumerate() {
            let errors = prepared.errors(core).unwrap();
            assert_eq!(errors.groups.len(), all.rows.len());
            for (group, row) in errors.groups.iter().zip(&all.rows) {
                let found = &row.cores[i].errors;
                assert_eq!((&group.group, group.heads, group.max), (&row.name, row.heads, found.max));
                assert!(found.mean > 0.0 && close(found.mean, group.mean), "{} {}", core.name(), row.name);
            }
        }
    }
}

#[test]
fn no_result_is_closer_than_the_exact_one_rounded() {
    let heads = Heads::load(&sample(), 4).unwrap();
    for (_, format) in Format::NAMED {
        for row in measured(&heads, &designs(format), By::Head).rows {
            assert_eq!(row.heads, 1);
            let (least, input) = (row.rounding, row.input);
            assert!(least.mean > 0.0 && least.mean <= input.mean && least.max <= input.max, "{}", row.name);
            for core in &row.cores {
                let e = &core.errors;
                assert!(least.mean <= e.mean && least.max <= e.max, "{format} {} {}", row.name, core.core);
                assert!(close(core.over_input.unwrap(), e.mean / input.mean));
                let (cosine, least_cosine) = (e.cosine.unwrap(), e.least_cosine.unwrap());
                assert!(
                    least_cosine <= cosine && cosine <= 1.0 + 1e-12 && least_cosine > 0.5,
                    "{}",
                    row.name
                );
                assert!(e.relative.unwrap() > 0.0 && e.relative.unwrap() < 0.5);
                assert_eq!(e.saturated_inputs, [0; 3]);
            }
            let [flash_d, fa2] = &row.cores[..] else { panic!() };
            assert_eq!(fa2.over_fa2, Some(1.0));
            assert!(close(flash_d.over_fa2.unwrap(), flash_d.errors.mean / fa2.errors.mean));
        }
    }
}

#[test]
fn a_wide_core_has_the_input_error_and_a_narrow_one_far_more() {
    let heads = Heads::load(&sample(), 4).unwrap();
    let format = Format::FP8_E4M3;
    let lane = |o, v, w| Some(LaneBits { o, v, w });
    let flash_d = CoreConfig { lane: lane(28, 20, 12), ..CoreConfig::new(Design::FlashD, 16, format) };
    let wide = CoreConfig {
        score_fraction_bits: Some(16),
        state_fraction_bits: Some(22),
        segments: Some(32),
        ..flash_d.clone()
    };
    let narrow = CoreConfig { lane: lane(8, 4, 3), ..flash_d };
    for row in measured(&heads, &[wide, narrow], By::Model).rows {
        let [wide, narrow] = &row.cores[..] else { panic!() };
        // Scores are right to 2^-16 or so, and a result is off only where it is next to the middle of two numbers.
        assert!((wide.over_input.unwrap() - 1.0).abs() < 0.02, "{} {:?}", row.name, wide.over_input);
        assert!(narrow.over_input.unwrap() > 1.2, "{} {:?}", row.name, narrow.over_input);
        assert!(narrow.errors.relative > wide.errors.relative && narrow.errors.cosine < wide.errors.cosine);
        assert_eq!(wide.over_fa2, None);
    }
}

#[test]
fn rows_are_heads_layers_or_groups() {
    let heads = Heads::load(&sample(), 64).unwrap();
    let cores = &designs(Format::BF16)[..1];
    let names =
        |by| -> Vec<String> { measured(&heads, cores, by).rows.into_iter().map(|r| r.name).collect() };
    assert_eq!(names(By::Head).len(), heads.heads.len());
    assert_eq!(
        names(By::Layer),
        [
            "bytes-d16 layer02",
            "bytes-d16 layer04",
            "bytes-d256 layer02",
            "bytes-d64 layer02",
            "minilm-d32 layer02"
        ]
    );
    assert_eq!(names(By::Model), ["bytes-d16", "bytes-d256", "bytes-d64", "minilm-d32"]);
}

#[test]
fn the_hardware_error_is_measured() {
    let heads = Heads::load(&sample(), 64).unwrap();
    let cores = designs(Format::BF16);
    let calls = AtomicUsize::new(0);
    let done = || {
        calls.fetch_add(1, Ordering::Relaxed);
    };
    let all =
        measure(&heads, (Format::BF16.into(), Default::default()), &cores, By::Model, 1, &done).unwrap();
    assert_eq!(calls.into_inner(), cores.len() * heads.heads.len());
    for check in all.rows.iter().flat_map(|row| &row.cores).map(|core| core.hardware.unwrap()) {
        assert_eq!((check.queries, check.mismatches, check.max_error), (1, 0, 0.0));
        assert!(check.keys > 0 && check.comparisons > check.keys);
    }
}

#[test]
fn other_formats_and_invalid_cores_are_refused() {
    let heads = Heads::load(&sample(), 64).unwrap();
    let refused = |core| {
        measure(&heads, (Format::BF16.into(), Default::default()), &[core], By::Model, 0, &|| {})
            .unwrap_err()
            .to_string()
    };
    let fa2 = CoreConfig::new(Design::Fa2, 16, Format::FP16);
    assert!(refused(fa2.clone()).contains("format: fp16"));
    assert!(refused(CoreConfig { segments: Some(7), format: Format::BF16, ..fa2 }).contains("segments: 7"));
}

#[test]
fn errors_over_the_length() {
    let counts = [16, 256, 2048];
    let sets: Vec<_> =
        [Format::BF16, Format::FP8_E4M3].map(|format| (Encodings::from(format), designs(format))).into();
    let calls = AtomicUsize::new(0);
    let done = || {
        calls.fetch_add(1, Ordering::Relaxed);
    };
    let all = lengths::measure(&sets, &counts, &done).unwrap();
    assert_eq!(calls.into_inner(), lengths::steps(&sets, &counts));
    for ((format, cores), found) in sets.iter().zip(&all) {
        assert_eq!(found.format, *format);
        let largest = equal::errors(*format, cores, &counts, &|| {}).unwrap();
        for (core, largest) in found.cores.iter().zip(largest) {
            let keys =
                |errors: &[lengths::LengthErrors]| -> Vec<usize> { errors.iter().map(|e| e.keys).collect() };
            assert_eq!((keys(&core.equal), keys(&core.spread)), (counts.to_vec(), counts.to_vec()));
            assert_eq!(core.equal.iter().map(|e| e.errors.max).collect::<Vec<_>>(), largest);
            for errors in [&core.equal, &core.spread] {
                assert_eq!(errors[1].over_reference, Some(1.0));
                assert!(errors.iter().all(|e| e.errors.mean > 0.0 && e.errors.mean < e.errors.max));
                assert!(close(
                    errors[0].over_reference.unwrap(),
                    errors[0].errors.mean / errors[1].errors.mean
                ));
            }
        }
    }
}

#[test]
fn a_hold_rule_costs_accuracy_on_long_sequences() {
    use flashd_spec::config::Hold;
    let flash_d = CoreConfig::new(Design::FlashD, 16, Format::BF16);
    let early = CoreConfig { hold: Some(Hold::Below(5.0)), ..flash_d.clone() };
    let found = lengths::measure(&[(Format::BF16.into(), vec![flash_d, early])], &[1024], &|| {}).unwrap();
    let mean = |core: usize| found[0].cores[core].spread[0].errors.mean;
    assert!(mean(1) > 2.0 * mean(0), "{} {}", mean(1), mean(0));
    assert_eq!(found[0].cores[0].spread[0].over_reference, None);
}

#[test]
fn synthetic_heads_depend_on_their_seed() {
    let [a, b, c] = [(1, 64), (1, 64), (2, 64)].map(|(seed, every)| Heads::synthetic(seed, every));
    assert_eq!(a.heads.len(), b.heads.len());
    assert!(a.heads.iter().zip(&b.heads).all(|(a, b)| a.exact == b.exact));
    assert!(a.heads.iter().zip(&c.heads).all(|(a, c)| a.exact != c.exact));
}

#[test]
fn weights_of_the_hardware_follow_the_exact_ones() {
    let of = |unit, format, segments| weight::curves(unit, format, segments, &weight::PREVIOUS).unwrap();
    for (_, format) in Format::NAMED {
        let p = format.precision().min(12) as i32;
        let fraction = CoreConfig::new(Design::FlashD, 16, format).score_fraction() as i32;
        for curve in of(WeightUnit::Lse, format, 8) {
            assert!((curve.previous - curve.asked).abs() < 2e-3, "{format}");
            // Half a unit of a factor up to 1/2, half a unit of the score where the sigmoid is steepest, and the error of the tables.
            let score = std::f64::consts::LN_2 / 4.0 * 2f64.powi(-fraction - 1);
            let limit = 2f64.powi(-p - 2) + score + 6e-4;
            assert!(curve.hardware.absolute > 0.0 && curve.hardware.absolute < limit, "{format} {curve:?}");
            assert!(curve.pwl.absolute > 0.0 && curve.pwl.absolute < 1e-4 && curve.pwl.relative < 2e-3);
            assert_eq!(curve.points.len(), weight::POINTS);
            assert!(curve.points.windows(2).all(|p| p[0].difference < p[1].difference));
        }
    }
    let largest = |curves: Vec<weight::Curve>| curves.iter().map(|c| c.pwl.absolute).fold(0.0, f64::max);
    for unit in [WeightUnit::Lse, WeightUnit::Paper] {
        let (coarse, fine) = (of(unit, Format::BF16, 4), of(unit, Format::BF16, 32));
        assert!(largest(coarse) > 4.0 * largest(fine));
    }
    // The paper's table ends at -6, which is its smallest weight; the shipped unit holds below its threshold.
    let first = |unit| of(unit, Format::BF16, 8)[0].points[0];
    assert!(first(WeightUnit::Paper).hardware > 5.0 * first(WeightUnit::Paper).exact);
    assert_eq!(first(WeightUnit::Lse).hardware, 0.0);
}

#[test]
fn weights_that_cannot_be_drawn_are_refused() {
    for (unit, format, segments, previous, field) in [
        (WeightUnit::Lse, Format::BF16, 7, 0.5, "segments"),
        (WeightUnit::Lse, Format::BF16, 8, 0.0, "previous"),
        (WeightUnit::Lse, Format::BF16, 8, 1.0, "previous"),
        (WeightUnit::Lse, Format::BF16, 8, f64::NAN, "previous"),
        (WeightUnit::Paper, Format::FP8_E4M3, 8, 0.99, "previous"),
    ] {
        assert_eq!(weight::curves(unit, format, segments, &[previous]).unwrap_err().field, field);
    }
}
