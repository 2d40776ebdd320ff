//! Counts of a run, and the record of its steps on request.

use super::TILE;
use crate::base2::Factor;
use crate::block::{BLOCK, Block};
use crate::result::Action;
pub(crate) use crate::result::Step;
use crate::round::{decode, pow2};
use flashd_spec::config::{Arithmetic, CoreConfig, WeightUnit};
use flashd_spec::format::Format;
use std::ops::Range;

/// Counts of the steps of one query, by action.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepCounts {
    /// Keys, seen or not.
    pub keys: u64,
    /// Steps that held; see [`Action::Hold`].
    pub held: u64,
    /// Steps whose key the query does not see.
    pub masked: u64,
    /// Steps that loaded the value; see [`Action::Load`].
    pub loads: u64,
    /// Partial results from which the query was restored; see [`Action::Restore`].
    pub restored: u64,
}

impl StepCounts {
    /// Keys whose value was read.
    pub fn value_reads(&self) -> u64 {
        self.keys - self.held - self.masked
    }

    /// Counts recorded steps.
    pub fn of(steps: &[Step]) -> StepCounts {
        let count = |action| steps.iter().filter(|step| step.action == action).count() as u64;
        let restored = count(Action::Restore);
        StepCounts {
            keys: steps.len() as u64 - restored,
            held: count(Action::Hold),
            masked: count(Action::Masked),
            loads: count(Action::Load),
            restored,
        }
    }

    /// Adds another query's counts.
    pub fn add(&mut self, other: &StepCounts) {
        self.keys += other.keys;
        self.held += other.held;
        self.masked += other.masked;
        self.loads += other.loads;
        self.restored += other.restored;
    }
}

/// Counts of a tile, for each query of a block.
#[derive(Clone, Copy, Default)]
pub(crate) struct TileTally {
    pub(crate) held: Block<i32>,
    pub(crate) loads: Block<i32>,
}

/// Is called with a query, the index of a step, and steps of that query from that index on. The calls of a query come
/// in order. A restore is the step before the first key. Many threads call it.
pub type Watch<'a> = &'a (dyn Fn(usize, usize, &[Step]) + Sync);

/// Functions that a run calls while it goes on.
#[derive(Clone, Copy, Default)]
pub struct Monitor<'a> {
    /// Is called with every step.
    pub watch: Option<Watch<'a>>,
    /// Is called from time to time with the number of steps taken since the last call. Many threads call it.
    pub progress: Option<&'a (dyn Fn(u64) + Sync)>,
}

/// The recorded steps of a tile, query by query.
pub(crate) struct TileSteps {
    lanes: Box<[[Step; TILE]; BLOCK]>,
}

/// The step of a masked key.
const NOTHING: Step = Step { s: 0, x: 0, w: 0, upper: false, action: Action::Masked, l: None };

/// The step of a restore.
pub(crate) const RESTORE: Step = Step { action: Action::Restore, ..NOTHING };

impl TileSteps {
    pub(crate) fn new() -> TileSteps {
        TileSteps { lanes: Box::new([[NOTHING; TILE]; BLOCK]) }
    }

    #[inline(always)]
    pub(crate) fn set(&mut self, key: usize, query: usize, step: Step) {
        self.lanes[query][key] = step;
    }

    /// The steps of a query on the keys at these places of the tile.
    pub(crate) fn of(&self, query: usize, keys: Range<usize>) -> &[Step] {
        &self.lanes[query][keys]
    }

    /// Records a step; `masks` has its action, and `first` is the factor of first keys.
    #[inline(always)]
    pub(crate) fn record(&mut self, key: usize, query: usize, step: Step, masks: Masks, first: u64) {
        let Step { s, x, w, upper, .. } = step;
        self.lanes[query][key] = match masks {
            Masks { seen: 0, .. } => NOTHING,
            Masks { first: -1, .. } => Step { s, w: first, action: Action::Load, ..NOTHING },
            Masks { held: 0, .. } => Step { s, x, w, upper, action: Action::Update, l: None },
            _ => Step { s, x, action: Action::Hold, ..NOTHING },
        };
    }
}

/// The action of a step, each 0 or -1.
#[derive(Clone, Copy)]
pub(crate) struct Masks {
    pub(crate) seen: i32,
    pub(crate) first: i32,
    pub(crate) held: i32,
}

/// Units of the numbers in a core's recorded steps.
#[derive(Clone, Debug)]
pub struct StepUnits {
    /// Format of scores and arguments, if they are encodings.
    encoded: Option<Format>,
    score_unit: f64,
    argument_unit: f64,
    /// The format of factors if they are encodings, otherwise their significand bits.
    weight: Result<Format, u32>,
}

impl StepUnits {
    /// The units of a core; the configuration must be valid.
    pub fn new(config: &CoreConfig) -> StepUnits {
        let lse = config.weight() == Some(WeightUnit::Lse);
        let argument = if lse { config.state_fraction() } else { config.score_fraction() };
        let float = config.kind().arithmetic == Arithmetic::Float;
        let rounded = config.follows_the_paper() || float && !config.kind().scales_in_lane;
        let weight = if rounded { Ok(config.weight_format()) } else { Err(config.factor_significand()) };
        StepUnits {
            encoded: config.follows_the_paper().then_some(config.format),
            score_unit: pow2(-(config.score_fraction() as i32)),
            argument_unit: pow2(-(argument as i32)),
            weight,
        }
    }

    /// The score: natural for `paper` and `literal`, otherwise in base 2.
    pub fn score(&self, step: &Step) -> f64 {
        self.encoded.map_or(step.s as f64 * self.score_unit, |format| decode(format, step.s as u64))
    }

    /// The argument of the weight function: natural for `paper` and `literal`, otherwise in base 2.
    pub fn argument(&self, step: &Step) -> f64 {
        self.encoded.map_or(step.x as f64 * self.argument_unit, |format| decode(format, step.x as u64))
    }

    /// The lanes' factor, see [`Step::w`].
    pub fn factor(&self, step: &Step) -> f64 {
        match self.weight {
            Ok(format) => decode(format, step.w),
            Err(bits) => Factor::from_record(step.w, bits).value(),
        }
    }
}
