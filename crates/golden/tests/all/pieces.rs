//! Runs a piece of the keys at a time, and keys and values that are made when they are read: the same bits as at once.

use crate::common::{Rng, rng};
use flashd_golden::{Head, Model, OperandVectors, QueryResult, VectorModel, VectorSource, values_exponent};
use flashd_spec::bits::ones;
use flashd_spec::config::{CoreConfig, Design};
use flashd_spec::format::{Format, Scale};
use rand::RngExt;
use std::ops::Range;

/// Stored vectors that pretend to be made.
struct Made<'a> {
    words: usize,
    all: &'a [u64],
}

impl Made<'_> {
    fn operand(&self) -> OperandVectors<'_> {
        OperandVectors::Source { words: self.words, source: self }
    }
}

impl VectorSource for Made<'_> {
    fn vectors(&self) -> usize {
        self.all.len() / self.words
    }

    fn read(&self, vectors: Range<usize>, words: &mut Vec<u64>) {
        words.extend_from_slice(&self.all[vectors.start * self.words..vectors.end * self.words]);
    }
}

/// Cores of every kind, format and scale.
fn cores(d: usize) -> Vec<CoreConfig> {
    let mut all: Vec<CoreConfig> =
        Format::named().flat_map(|(_, format)| CoreConfig::variants(d, format)).collect();
    for design in [Design::FlashD, Design::Fa2] {
        for (format, scale) in [
            (Format::FP8_E4M3, Scale::Mx),
            (Format::FP4_E2M1, Scale::Nvfp4),
            (Format::BF16, Scale::Row),
            (Format::INT8, Scale::RowE8m0),
        ] {
            all.push(CoreConfig { scales: Some(scale), ..CoreConfig::new(design, d, format) });
        }
        for format in [Format::BF16, Format::INT8, Format::fixed(16, 8)] {
            all.push(CoreConfig { q_scales: Some(Scale::RowQ16), ..CoreConfig::new(design, d, format) });
        }
    }
    all.retain(|core| core.validate().is_ok());
    all
}

fn vectors(rng: &mut Rng, format: Format, words: usize, n: usize) -> Vec<u64> {
    (0..n * words).map(|_| rng.random::<u64>() & ones(format.width())).collect()
}

#[test]
fn pieces_and_made_vectors_change_no_bit() {
    let mut rng = rng(49);
    let keys = 600;
    for core in cores(16) {
        let (words, formats) = (core.port_words(), core.formats());
        // One block of queries, and more blocks than convert keys for themselves.
        for queries in [1, 3, 70] {
            let q = vectors(&mut rng, formats.q, words.q, queries);
            let k = vectors(&mut rng, formats.k, words.k, keys);
            let v = vectors(&mut rng, formats.v, words.v, keys);
            let lengths: Vec<usize> = (0..queries).map(|_| rng.random_range(0..=keys)).collect();
            let exponents = vec![values_exponent(&core, &v); queries];
            let (made_k, made_v) = (Made { words: words.k, all: &k }, Made { words: words.v, all: &v });
            assert_eq!(values_exponent(&core, made_v.operand()), exponents[0]);
            let stored = Head::new(&q, &k, &v, &lengths).with_exponents(&exponents);
            let made = Head { k: made_k.operand(), v: made_v.operand(), ..stored };
            let name = core.name();

            let model = Model::new(&core).with_sums();
            let expected = model.run(stored.with_steps());
            let without = |results: &[QueryResult]| -> Vec<QueryResult> {
                results.iter().map(|r| QueryResult { steps: Vec::new(), ..r.clone() }).collect()
            };
            assert_eq!(without(&model.run(made)), without(&expected), "{name}");
            let mut steps = vec![Vec::new(); queries];
            let results = model.run_by_piece(made, &mut |more| {
                steps.iter_mut().zip(more).for_each(|(all, more)| all.extend(more));
                true
            });
            assert_eq!(results.unwrap(), without(&expected), "{name}");
            for (i, (steps, expected)) in steps.iter().zip(&expected).enumerate() {
                assert!(steps == &expected.steps, "{name}: query {i}");
            }
            // It ends when the receiver is dropped.
            let mut pieces = 0;
            let ended = model.run_by_piece(stored, &mut |_| {
                pieces += 1;
                false
            });
            assert!(ended.is_none() && pieces == 1, "{name}");

            let vector = VectorModel::new(&core);
            assert_eq!(vector.run(made), vector.run(stored), "{name}");
        }
    }
}
