//! Errors where channels of V differ in size: some channels of trained models are hundreds of times the others. Errors as a fraction of
//! the head's max|v| hide the errors of the small channels.

use crate::accuracy::{AccuracyError, on_head};
use crate::errors::EncodedHead;
use crate::grid::stem;
use crate::heads::{HeadSample, softcap_of};
use flashd_spec::config::{CoreConfig, Design};
use flashd_spec::format::Encodings;
use flashd_workload::Trace;
use flashd_workload::synthetic::with_outlier_channels;
use rayon::prelude::*;
use serde::Serialize;

/// Factors of the large channels.
pub const FACTORS: [u32; 7] = [1, 4, 16, 64, 256, 1024, 4096];
/// Vector length of the heads.
pub const D: usize = 64;
/// Queries and keys of a head.
pub const KEYS: usize = 256;
/// Seeds of the heads: each is [`with_outlier_channels`] of `attention_like(seed, KEYS, KEYS, D)`, causal.
pub const SEEDS: std::ops::RangeInclusive<u64> = 1..=2;
/// One query in this number is used.
const EVERY: usize = 4;

/// How many channels are large.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LargeChannels {
    /// One.
    One,
    /// A tenth of them.
    Tenth,
}

impl LargeChannels {
    /// Both.
    pub const ALL: [LargeChannels; 2] = [LargeChannels::One, LargeChannels::Tenth];

    /// Channels of vectors of length [`D`].
    pub fn channels(self) -> usize {
        match self {
            LargeChannels::One => 1,
            LargeChannels::Tenth => D / 10,
        }
    }
}

/// One core on heads with one size of large channels. Errors are means over the small channels, each as a fraction of the channel's max|v|.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChannelErrors {
    /// Large channels.
    pub large: LargeChannels,
    /// How many times the others they are.
    pub factor: u32,
    /// Mean over the small channels, and over the heads.
    pub mean: f64,
    /// The worst small channel of all heads.
    pub worst: f64,
    /// The mean over the first FA2 core's; none where there is none, or its error is 0.
    pub over_fa2: Option<f64>,
}

/// One core.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CoreChannels {
    /// Name without format and vector length.
    pub core: String,
    /// Its configuration; the vector length is [`D`].
    pub configuration: CoreConfig,
    /// Errors, by the number of large channels and by their factor.
    pub errors: Vec<ChannelErrors>,
}

/// Cores of one format.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FormatChannels {
    /// The format.
    pub format: Encodings,
    /// Cores, in the order given.
    pub cores: Vec<CoreChannels>,
}

/// Calls of `done` that [`measure`] makes.
pub fn steps(sets: &[(Encodings, Vec<CoreConfig>)]) -> usize {
    let cores: usize = sets.iter().map(|(_, cores)| cores.len()).sum();
    cores * SEEDS.count() * FACTORS.len() * LargeChannels::ALL.len()
}

/// Errors of the cores of some formats. `done` is called [`steps`] times.
///
/// # Errors
/// A configuration that is not valid or not of its format.
pub fn measure(
    sets: &[(Encodings, Vec<CoreConfig>)],
    done: &(dyn Fn() + Sync),
) -> Result<Vec<FormatChannels>, AccuracyError> {
    let grid: Vec<(LargeChannels, u32)> =
        LargeChannels::ALL.into_iter().flat_map(|large| FACTORS.map(|factor| (large, factor))).collect();
    let of_set = |(format, cores): &(Encodings, Vec<CoreConfig>)| {
        let points = grid.par_iter().map(|&(large, factor)| point(*format, cores, large, factor, done));
        let points: Vec<Vec<ChannelErrors>> = points.collect::<Result<_, _>>()?;
        let core = |(i, core): (usize, &CoreConfig)| CoreChannels {
            core: stem(core),
            configuration: core.clone().with_lengths(D.into()),
            errors: points.iter().map(|point| point[i].clone()).collect(),
        };
        Ok(FormatChannels { format: *format, cores: cores.iter().enumerate().map(core).collect() })
    };
    sets.iter().map(of_set).collect()
}

/// All cores with one size of large channels.
fn point(
    format: Encodings,
    cores: &[CoreConfig],
    large: LargeChannels,
    factor: u32,
    done: &(dyn Fn() + Sync),
) -> Result<Vec<ChannelErrors>, AccuracyError> {
    let mut all: Vec<(f64, f64)> = vec![(0.0, 0.0); cores.len()];
    for seed in SEEDS {
        let attention = with_outlier_channels(seed, KEYS, D, large.channels(), f64::from(factor));
        let name = format!("factor{factor}-seed{seed}");
        let trace = Trace { name, group: "channels".into(), d: D, causal: true, attention };
        let head = HeadSample::new(trace, EVERY).with_softcap(softcap_of(cores));
        let on = on_head(&EncodedHead::new(format, Default::default(), &head)?, cores, done)?;
        for ((mean, worst), total) in all.iter_mut().zip(on.cores) {
            // The first channels are the large ones.
            let small = &total.channels[large.channels()..];
            *mean += small.iter().sum::<f64>() / small.len() as f64 / SEEDS.count() as f64;
            *worst = small.iter().copied().fold(*worst, f64::max);
        }
    }
    let fa2 = cores.iter().position(|core| core.design() == Design::Fa2).map(|i| all[i].0);
    let fa2 = fa2.filter(|&mean| mean > 0.0);
    let errors =
        |(mean, worst)| ChannelErrors { large, factor, mean, worst, over_fa2: fa2.map(|fa2| mean / fa2) };
    Ok(all.into_iter().map(errors).collect())
}
