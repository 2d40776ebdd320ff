//! Errors on the bundled sample and on equal scores, against other ways to the same figures.

use flashd_golden::{Head, Model, decode};
use flashd_simulator::{Accuracy, ExactResults, Scenario, model_results, prepare};
use flashd_spec::config::{Accumulator, CoreConfig, Design, Fa2Variant, FlashDVariant};
use flashd_spec::format::Format;
use flashd_study::{Heads, HeadsError, PreparedHeads, equal};
use flashd_workload::synthetic::equal_scores;
use flashd_workload::{round_to, write_npy};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn sample() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testbench/data")
}

fn close(a: f64, b: f64) -> bool {
    // Sums of the same numbers in another order.
    (a - b).abs() <= 1e-12 * b.abs()
}

#[test]
fn errors_agree_with_the_simulator() {
    let heads = Heads::load(&sample(), 1).unwrap();
    for format in [Format::BF16, Format::FP8_E4M3] {
        let prepared = PreparedHeads::new(&heads, format).unwrap();
        for config in CoreConfig::variants(16, format) {
            let mut groups: BTreeMap<&str, Vec<Accuracy>> = BTreeMap::new();
            for head in &heads.heads {
                let trace = &head.trace;
                let scenario = Scenario::from(trace);
                let reference = ExactResults::new(&scenario);
                let config = CoreConfig { d: trace.attention.d, ..config.clone() };
                let prepared = prepare(&config, &scenario, &reference).unwrap();
                let accuracy = reference.accuracy(&prepared, &model_results(&prepared));
                groups.entry(&trace.group).or_default().push(accuracy);
            }
            let errors = prepared.errors(&config).unwrap();
            assert_eq!(errors.groups.len(), groups.len());
            for (found, (name, heads)) in errors.groups.iter().zip(&groups) {
                let mean = heads.iter().map(|a| a.mean).sum::<f64>() / heads.len() as f64;
                let max = heads.iter().map(|a| a.max).fold(0.0, f64::max);
                assert_eq!((found.group.as_str(), found.heads, found.max), (*name, heads.len(), max));
                assert!(
                    mean > 0.0 && close(found.mean, mean),
                    "{}, {name}: {} {mean}",
                    config.name(),
                    found.mean
                );
            }
            let means: Vec<f64> = errors.groups.iter().map(|g| g.mean).collect();
            assert!(close(errors.mean, means.iter().sum::<f64>() / means.len() as f64));
            assert_eq!(errors.max, errors.groups.iter().map(|g| g.max).fold(0.0, f64::max));
        }
    }
}

#[test]
fn a_sample_of_queries_ends_with_the_last() {
    let all = Heads::load(&sample(), 1).unwrap();
    let some = Heads::load(&sample(), 5).unwrap();
    for (all, some) in all.heads.iter().zip(&some.heads) {
        let a = &all.trace.attention;
        assert_eq!(all.queries.len(), a.queries);
        assert_eq!(some.queries.len(), a.queries.div_ceil(5));
        assert_eq!(some.queries[0], a.queries - 1);
        for (row, &query) in some.queries.iter().enumerate() {
            let of_all = all.queries.iter().position(|&q| q == query).unwrap();
            assert_eq!(some.lengths[row], if all.trace.causal { query + 1 } else { a.keys });
            assert_eq!(some.lengths[row], all.lengths[of_all]);
            assert_eq!(some.exact[row * a.d..][..a.d], all.exact[of_all * a.d..][..a.d]);
        }
    }
}

#[test]
fn within_looks_at_every_group() {
    let heads = Heads::load(&sample(), 8).unwrap();
    let prepared = PreparedHeads::new(&heads, Format::BF16).unwrap();
    let core = CoreConfig::with_datapath(Fa2Variant::SharedScale.into(), 16, Format::BF16);
    let good = prepared.errors(&core).unwrap();
    let bad = prepared.errors(&CoreConfig { accumulator: Some(Accumulator::Format), ..core }).unwrap();
    assert!(good.within(&good) && good.within(&bad) && !bad.within(&good));
    // Far better on average, but worse in one group.
    let mut one = good.clone();
    one.mean = 0.0;
    one.groups[1].mean *= 1.001;
    assert!(!one.within(&good));
}

#[test]
fn other_formats_and_invalid_cores_are_refused() {
    let heads = Heads::load(&sample(), 64).unwrap();
    let prepared = PreparedHeads::new(&heads, Format::BF16).unwrap();
    let fp8 = CoreConfig::new(Design::Fa2, 16, Format::FP8_E4M3);
    assert_eq!(prepared.errors(&fp8).unwrap_err().field, "format");
    let invalid = CoreConfig { segments: Some(7), ..CoreConfig::new(Design::Fa2, 16, Format::BF16) };
    assert_eq!(prepared.errors(&invalid).unwrap_err().field, "segments");
    for core in [fp8, invalid] {
        assert!(equal::errors(Format::BF16, &[core], &[4], &|| {}).is_err());
    }
}

#[test]
fn heads_that_no_core_takes_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for role in ["q", "k", "v"] {
        write_npy(&folder.path().join(format!("thin-{role}.npy")), &[3, 1], &[1.0, 2.0, 3.0]).unwrap();
    }
    let error = Heads::load(folder.path(), 1).unwrap_err();
    assert!(matches!(error, HeadsError::Unfit { .. }), "{error}");
    assert!(error.to_string().contains("2 to 576"), "{error}");
}

#[test]
fn equal_scores_one_head_and_one_count_at_a_time() {
    let counts = [3, 256, 1024];
    for format in [Format::BF16, Format::FP8_E4M3] {
        let mut configs = CoreConfig::variants(16, format);
        configs.push(CoreConfig {
            datapath: FlashDVariant::Rounded.into(),
            accumulator: Some(Accumulator::Format),
            ..CoreConfig::new(Design::FlashD, 16, format)
        });
        let calls = std::sync::atomic::AtomicUsize::new(0);
        let done = || {
            calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        };
        let errors = equal::errors(format, &configs, &counts, &done).unwrap();
        assert_eq!(calls.into_inner(), configs.len() * equal::SEEDS.count());
        for (config, errors) in configs.iter().zip(&errors) {
            for (&keys, &found) in counts.iter().zip(errors) {
                let mut largest = 0f64;
                for seed in equal::SEEDS {
                    let head = equal_scores(seed, keys, equal::D);
                    let bits =
                        |x: &[f32]| -> Vec<u64> { x.iter().map(|&x| round_to(format, x.into())).collect() };
                    let v = bits(&head.v);
                    let config = CoreConfig { d: equal::D, ..config.clone() };
                    let result =
                        &Model::new(&config).run(Head::new(&bits(&head.q), &bits(&head.k), &v, &[keys]))[0];
                    let value = |i: usize| decode(format, v[i]);
                    let max_v = (0..v.len()).fold(0f64, |m, i| m.max(value(i).abs()));
                    for j in 0..equal::D {
                        let mean = (0..keys).map(|i| value(i * equal::D + j)).sum::<f64>() / keys as f64;
                        largest = largest.max((decode(format, result.o[j]) - mean).abs() / max_v);
                    }
                }
                assert_eq!(found, largest, "{}, {keys} keys", config.name());
            }
        }
    }
}

#[test]
fn a_narrow_accumulator_loses_many_equal_scores() {
    let format = Format::BF16;
    let default =
        CoreConfig { datapath: FlashDVariant::Rounded.into(), ..CoreConfig::new(Design::FlashD, 16, format) };
    let narrow = CoreConfig { accumulator: Some(Accumulator::Format), ..default.clone() };
    let fixed = CoreConfig { datapath: FlashDVariant::Fixed.into(), ..default.clone() };
    let errors = equal::errors(format, &[default, narrow, fixed], &[4096], &|| {}).unwrap();
    assert!(errors[1][0] > 4.0 * errors[0][0], "{errors:?}");
    assert!(errors[1][0] > 4.0 * errors[2][0], "{errors:?}");
}
