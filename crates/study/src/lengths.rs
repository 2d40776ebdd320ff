//! Errors over the number of keys: on equal scores, and on scores spread as in real heads.

use crate::accuracy::{AccuracyError, MeanMax, on_head};
use crate::equal;
use crate::errors::EncodedHead;
use crate::grid::stem;
use crate::heads::{HeadSample, softcap_of};
use flashd_simulator::Accuracy;
use flashd_spec::config::CoreConfig;
use flashd_spec::format::Encodings;
use flashd_workload::Trace;
use flashd_workload::synthetic::{attention_like, odd_means};
use serde::Serialize;

/// Numbers of keys, ascending.
pub const LENGTHS: [usize; 7] = [16, 64, 256, 1024, 4096, 16_384, 65_536];
/// The number of keys that the others are compared with.
pub const REFERENCE: usize = 256;
/// Queries of a head with spread scores.
pub const QUERIES: usize = 16;
/// Seeds of these heads: each is `attention_like(seed, QUERIES, N, equal::D)` with [`odd_means`] in V, as equal scores have them.
pub const SEEDS: std::ops::RangeInclusive<u64> = 1..=2;

/// Errors with one number of keys, as fractions of max|v|.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LengthErrors {
    /// Keys that each query sees.
    pub keys: usize,
    /// Mean and largest error of an output element over all heads.
    #[serde(flatten)]
    pub errors: MeanMax,
    /// The mean error over that with [`REFERENCE`] keys; none where these were not measured, or their error is 0.
    pub over_reference: Option<f64>,
}

/// One core.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CoreLengths {
    /// Name without format and vector length.
    pub core: String,
    /// Its configuration; the vector length is [`equal::D`].
    pub configuration: CoreConfig,
    /// On equal scores ([`equal`]): against the mean of the rounded values.
    pub equal: Vec<LengthErrors>,
    /// On [`attention_like`] heads with [`odd_means`]: against f64 attention on the unrounded data.
    pub spread: Vec<LengthErrors>,
}

/// Cores of one format.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FormatLengths {
    /// The format.
    pub format: Encodings,
    /// The input error on the heads with spread scores: f64 attention on the rounded inputs, its results rounded.
    pub input: Vec<LengthErrors>,
    /// Cores, in the order given.
    pub cores: Vec<CoreLengths>,
}

/// Calls of `done` that [`measure`] makes.
pub fn steps(sets: &[(Encodings, Vec<CoreConfig>)], counts: &[usize]) -> usize {
    let cores: usize = sets.iter().map(|(_, cores)| cores.len()).sum();
    cores * (equal::SEEDS.count() + SEEDS.count() * counts.len())
}

/// Errors of the cores of some formats, each with each of `counts` keys. All vectors have [`equal::D`]
/// elements; one head is in memory at a time. `done` is called [`steps`] times.
///
/// # Errors
/// A configuration that is not valid or not of its format.
pub fn measure(
    sets: &[(Encodings, Vec<CoreConfig>)],
    counts: &[usize],
    done: &(dyn Fn() + Sync),
) -> Result<Vec<FormatLengths>, AccuracyError> {
    let mut all = Vec::new();
    for (format, cores) in sets {
        let equal = equal::accuracies(*format, cores, counts, done)
            .map_err(|error| AccuracyError::Config { core: format.to_string(), error })?;
        let of = |(core, equal): (&CoreConfig, Vec<Accuracy>)| CoreLengths {
            core: stem(core),
            configuration: core.clone().with_lengths(equal::D.into()),
            equal: with_ratios(
                counts.iter().copied().zip(equal.into_iter().map(|a| MeanMax::of([a].into_iter()))),
            ),
            spread: Vec::new(),
        };
        let cores = cores.iter().zip(equal).map(of).collect();
        all.push(FormatLengths { format: *format, input: Vec::new(), cores });
    }
    // By format and core, the input first: errors for each count.
    let mut spread: Vec<Vec<Vec<MeanMax>>> =
        sets.iter().map(|(_, cores)| vec![Vec::new(); cores.len() + 1]).collect();
    for &keys in counts {
        let mut heads: Vec<Vec<Vec<Accuracy>>> =
            sets.iter().map(|(_, cores)| vec![Vec::new(); cores.len() + 1]).collect();
        for seed in SEEDS {
            let mut head = spread_head(seed, keys);
            for ((format, cores), heads) in sets.iter().zip(&mut heads) {
                head = head.with_softcap(softcap_of(cores));
                let on = on_head(&EncodedHead::new(*format, Default::default(), &head)?, cores, done)?;
                heads[0].push(on.input);
                for (heads, total) in heads[1..].iter_mut().zip(on.cores) {
                    heads.push(total.accuracy);
                }
            }
        }
        for (spread, heads) in spread.iter_mut().flatten().zip(heads.into_iter().flatten()) {
            spread.push(MeanMax::of(heads.into_iter()));
        }
    }
    for (format, spread) in all.iter_mut().zip(spread) {
        let mut spread = spread.into_iter().map(|errors| with_ratios(counts.iter().copied().zip(errors)));
        format.input = spread.next().unwrap_or_default();
        for (core, spread) in format.cores.iter_mut().zip(spread) {
            core.spread = spread;
        }
    }
    Ok(all)
}

/// [`QUERIES`] queries that all see all keys.
fn spread_head(seed: u64, keys: usize) -> HeadSample {
    let mut attention = attention_like(seed, QUERIES, keys, equal::D);
    odd_means(&mut attention.v, equal::D);
    let (name, group) = (format!("keys{keys}-seed{seed}"), format!("keys{keys}"));
    HeadSample::new(Trace { name, group, d: equal::D, causal: false, attention }, 1)
}

fn with_ratios(errors: impl Iterator<Item = (usize, MeanMax)> + Clone) -> Vec<LengthErrors> {
    let reference = errors.clone().find(|(keys, _)| *keys == REFERENCE).map(|(_, errors)| errors.mean);
    let reference = reference.filter(|&mean| mean > 0.0);
    let with = |(keys, errors): (usize, MeanMax)| LengthErrors {
        keys,
        errors,
        over_reference: reference.map(|reference| errors.mean / reference),
    };
    errors.map(with).collect()
}
