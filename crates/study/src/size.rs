//! The smallest core that keeps the rule of equal error.
//!
//! Each width of a core is searched a few bits around its default. Two rules keep the search short:
//!
//! - A bit more of a width hardly ever makes an error larger. So a core that fails clearly ([`Ratios::relaxed`]) rules out all cores that have no wider width.
//!   A core that holds rules out all that cost more.
//! - The cost of a bit of a width depends little on the other widths. So costs are estimated as linear, from the costs of cores with one width narrower.

use crate::equal_error::{Judged, Ratios};
use flashd_spec::config::{Accumulator, CoreConfig, Design, LaneBits};
use std::collections::BTreeMap;

/// A width of a core that may be chosen.
pub struct Width {
    /// Its name in reports.
    pub name: &'static str,
    /// The option that sets it.
    pub field: &'static str,
    applies: fn(&CoreConfig) -> bool,
    bits: Bits,
    /// How far below and above its default it is searched.
    around: (u32, u32),
}

/// Where a configuration has a width.
enum Bits {
    /// O, V or W of `lane`.
    Lane(fn(&mut LaneBits) -> &mut u32),
    /// A separate option.
    Option { get: fn(&CoreConfig) -> u32, set: fn(&mut CoreConfig, u32) },
}

impl Width {
    fn get(&self, core: &CoreConfig) -> u32 {
        match self.bits {
            Bits::Lane(of) => *of(&mut core.lane_bits()),
            Bits::Option { get, .. } => get(core),
        }
    }

    fn set(&self, core: &mut CoreConfig, bits: u32) {
        match self.bits {
            Bits::Lane(of) => {
                let mut lane = core.lane_bits();
                *of(&mut lane) = bits;
                core.lane = Some(lane);
            }
            Bits::Option { set, .. } => set(core, bits),
        }
    }
}

/// V and W of FLASH-D alone: FA2 does not round values, and its multiplier, which also scales the result, needs a wide factor anyway.
fn has_factors(core: &CoreConfig) -> bool {
    core.has_fixed_lanes() && core.design() == Design::FlashD
}

/// All widths. The largest saving comes first.
pub static WIDTHS: [Width; 7] = [
    Width {
        name: "O",
        field: "lane",
        applies: CoreConfig::has_fixed_lanes,
        bits: Bits::Lane(|lane| &mut lane.o),
        around: (3, 1),
    },
    Width {
        name: "V",
        field: "lane",
        applies: has_factors,
        bits: Bits::Lane(|lane| &mut lane.v),
        around: (2, 1),
    },
    Width {
        name: "W",
        field: "lane",
        applies: has_factors,
        bits: Bits::Lane(|lane| &mut lane.w),
        around: (2, 1),
    },
    Width {
        name: "accumulator fraction",
        field: "accumulator",
        applies: |core| !core.has_fixed_lanes(),
        bits: Bits::Option {
            get: CoreConfig::accumulator_fraction,
            set: |core, bits| core.accumulator = Some(Accumulator::Fraction(bits)),
        },
        around: (4, 1),
    },
    Width {
        name: "score fraction",
        field: "score_fraction_bits",
        applies: |_| true,
        bits: Bits::Option {
            get: CoreConfig::score_fraction,
            set: |core, bits| core.score_fraction_bits = Some(bits),
        },
        // Biases are rounded too, and few kinds of data have some.
        around: (0, 1),
    },
    Width {
        name: "log2 of segments",
        field: "segments",
        applies: |_| true,
        bits: Bits::Option {
            get: |core| core.segments().ilog2(),
            set: |core, log| core.segments = Some(1 << log),
        },
        around: (1, 1),
    },
    Width {
        name: "state fraction",
        field: "state_fraction_bits",
        applies: |_| true,
        bits: Bits::Option {
            get: CoreConfig::state_fraction,
            set: |core, bits| core.state_fraction_bits = Some(bits),
        },
        around: (5, 1),
    },
];

/// A core of a space.
#[derive(Clone, Debug)]
struct SpacePoint {
    widths: Vec<u32>,
    core: CoreConfig,
    cost: f64,
}

/// Cores with widths near a start's.
pub struct Space {
    start: CoreConfig,
    widths: Vec<&'static Width>,
    points: Vec<SpacePoint>,
}

/// A core that keeps the rule.
#[derive(Clone, Debug)]
pub struct Holding {
    /// The core.
    pub core: CoreConfig,
    /// Its errors.
    pub judged: Judged,
    /// Its estimated cost less the start's: negative if it is smaller.
    pub cost: f64,
}

impl Space {
    /// The cores around one. Widths of a `given` option stay.
    pub fn around(start: &CoreConfig, given: impl Fn(&str) -> bool) -> Space {
        let widths: Vec<&Width> =
            WIDTHS.iter().filter(|width| (width.applies)(start) && !given(width.field)).collect();
        let mut points = vec![Vec::new()];
        for width in &widths {
            let (at, (below, above)) = (width.get(start), width.around);
            let values = at.saturating_sub(below)..=at + above;
            points = points
                .iter()
                .flat_map(|point| values.clone().map(|value| [&point[..], &[value]].concat()))
                .collect();
        }
        let mut space = Space { start: start.clone(), widths, points: Vec::new() };
        let cores = points.into_iter().map(|widths| (space.core(&widths), widths));
        space.points = cores
            .filter(|(core, _)| core.validate().is_ok())
            .map(|(core, widths)| SpacePoint { widths, core, cost: 0.0 })
            .collect();
        space
    }

    fn core(&self, widths: &[u32]) -> CoreConfig {
        let mut core = self.start.clone();
        for (width, &value) in self.widths.iter().zip(widths) {
            if width.get(&core) != value {
                width.set(&mut core, value);
            }
        }
        core
    }

    fn at(&self) -> Vec<u32> {
        self.widths.iter().map(|width| width.get(&self.start)).collect()
    }

    /// The core in the middle.
    pub fn start(&self) -> &CoreConfig {
        &self.start
    }

    /// The widths that are searched.
    pub fn widths(&self) -> &[&'static Width] {
        &self.widths
    }

    /// All cores.
    pub fn cores(&self) -> impl Iterator<Item = &CoreConfig> {
        self.points.iter().map(|point| &point.core)
    }

    /// Number of cores.
    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// Set if there is none.
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    /// The start with one width at a time narrower by a bit, or wider where it cannot be narrower. [`Space::price`] takes their costs.
    pub fn probes(&self) -> Vec<CoreConfig> {
        (0..self.widths.len()).map(|i| self.core(&self.probe(i))).collect()
    }

    fn probe(&self, i: usize) -> Vec<u32> {
        let step = |by: i32| {
            let mut widths = self.at();
            widths[i] = widths[i].saturating_add_signed(by);
            widths
        };
        let narrower = step(-1);
        if self.core(&narrower).validate().is_ok() { narrower } else { step(1) }
    }

    /// Sets the estimated costs, from the costs of the start and of its probes.
    pub fn price(&mut self, start: f64, probes: &[f64]) {
        /// A share of the start's cost: of two cores of the same cost the narrower one is taken.
        const LEAST: f64 = 1e-5;
        let at = self.at();
        let price = |(i, &probe): (usize, &f64)| {
            let narrower = self.probe(i)[i] < at[i];
            let saved = if narrower { start - probe } else { probe - start };
            saved.max(LEAST * start)
        };
        let prices: Vec<f64> = probes.iter().enumerate().map(price).collect();
        for point in &mut self.points {
            let cost = |(i, &width): (usize, &u32)| prices[i] * (f64::from(width) - f64::from(at[i]));
            point.cost = point.widths.iter().enumerate().map(cost).sum();
        }
    }

    /// All cores that keep the rule and were judged on the way to the cheapest, which is the first.
    ///
    /// # Errors
    /// Errors of `judge`, which is called for some cores at a time and caches its judgements.
    pub fn search<E>(
        &self,
        rule: Ratios,
        mut judge: impl FnMut(&[CoreConfig]) -> Result<Vec<Judged>, E>,
    ) -> Result<Vec<Holding>, E> {
        let mut holding: Vec<Holding> = Vec::new();
        let mut open: Vec<&SpacePoint> = self.points.iter().collect();
        while !open.is_empty() {
            let batch = batch(&open);
            let cores: Vec<CoreConfig> = batch.iter().map(|point| point.core.clone()).collect();
            for (&point, judged) in batch.iter().zip(judge(&cores)?) {
                if judged.holds(rule) {
                    open.retain(|other| other.cost < point.cost);
                    holding.push(Holding { core: point.core.clone(), judged, cost: point.cost });
                } else if judged.holds(rule.relaxed()) {
                    open.retain(|other| other.widths != point.widths);
                } else {
                    open.retain(|other| !narrower(other, point));
                }
            }
        }
        holding.sort_by(|a, b| a.cost.total_cmp(&b.cost));
        Ok(holding)
    }
}

/// In no width wider.
fn narrower(a: &SpacePoint, b: &SpacePoint) -> bool {
    a.widths.iter().zip(&b.widths).all(|(a, b)| a <= b)
}

/// Cores that are judged together: the ones that rule out most, whether they hold or fail. None rules out another.
fn batch<'a>(open: &[&'a SpacePoint]) -> Vec<&'a SpacePoint> {
    /// Making the heads takes as long as judging some cores on them.
    const MOST: usize = 6;
    let rank: BTreeMap<_, _> = {
        let mut costs: Vec<f64> = open.iter().map(|point| point.cost).collect();
        costs.sort_by(f64::total_cmp);
        open.iter().map(|point| (&point.widths, costs.partition_point(|&cost| cost < point.cost))).collect()
    };
    let ruled_out = |point: &SpacePoint| {
        let fails = open.iter().filter(|other| narrower(other, point)).count();
        let holds = open.len() - rank[&point.widths];
        fails.min(holds)
    };
    let mut best: Vec<(usize, &SpacePoint)> = open.iter().map(|&point| (ruled_out(point), point)).collect();
    best.sort_by_key(|&(count, _)| std::cmp::Reverse(count));
    let mut batch: Vec<&SpacePoint> = Vec::new();
    for (_, point) in best {
        if batch.len() < MOST && batch.iter().all(|other| !narrower(point, other) && !narrower(other, point))
        {
            batch.push(point);
        }
    }
    batch
}

/// Judged cores, by name.
#[derive(Default)]
pub struct Judgements(BTreeMap<String, Judged>);

impl Judgements {
    /// Number of cores that are known.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Set if none is known.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The judgements of some cores; `judge` is asked for the unknown ones.
    ///
    /// # Errors
    /// Errors of `judge`.
    pub fn of<E>(
        &mut self,
        cores: &[CoreConfig],
        judge: impl FnOnce(&[CoreConfig]) -> Result<Vec<Judged>, E>,
    ) -> Result<Vec<Judged>, E> {
        let unknown: Vec<CoreConfig> =
            cores.iter().filter(|core| !self.0.contains_key(&core.name())).cloned().collect();
        if !unknown.is_empty() {
            let judged = judge(&unknown)?;
            self.0.extend(unknown.iter().map(CoreConfig::name).zip(judged));
        }
        Ok(cores.iter().filter_map(|core| self.0.get(&core.name()).cloned()).collect())
    }
}
