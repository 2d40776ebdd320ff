//! The bit-exact model of a core. The configuration chooses the recurrence, the dot product unit and the lanes.

use crate::carrier::{Carrier, Carriers};
use crate::head::{Head, PreparedHead};
use crate::lanes::{
    FixedLanes, FloatEnding, FloatLanes, FloatOp, Lanes, RangedLanes, RangedSumLanes, SumLanes,
};
use crate::operand::OperandVectors;
use crate::recurrence::{
    Fa2, FactorWeight, Literal, LogReference, Lse, Paper, Recurrence, RoundedWeight, divide,
};
use crate::result::{PartialState, QueryResult, Take};
use crate::round::{decode, encode, pow2};
use crate::run::RunUnits;
use crate::scalar::Scalar;
use crate::units::reciprocal_value;
use flashd_spec::config::{Arithmetic, CoreConfig, Datapath, FlashDVariant, LaneBits};
use flashd_spec::format::{Format, Subnormals};
use flashd_spec::numerics::Numerics;

/// The bit-exact model of one core: FLASH-D or FA2 in any variant, format and width.
#[derive(Clone, Debug)]
pub struct Model {
    config: CoreConfig,
    pub(crate) numerics: Numerics,
    carriers: Carriers,
    sums: bool,
}

impl Model {
    /// The model of a core. The configuration must be valid.
    pub fn new(config: &CoreConfig) -> Self {
        Model {
            config: config.clone(),
            numerics: Numerics::new(config),
            carriers: Carriers::Fastest,
            sums: false,
        }
    }

    /// Uses other carriers, for tests. They change no bit of a result.
    #[must_use]
    pub fn with_carriers(self, carriers: Carriers) -> Self {
        Model { carriers, ..self }
    }

    /// Records FA2's sum in every step ([`Step::l`](crate::Step::l)).
    #[must_use]
    pub fn with_sums(self) -> Self {
        Model { sums: true, ..self }
    }

    /// The output of FA2's divider for a sum l: the significand of `1/l` and its right shift, which may be negative. In `literal` the
    /// encoding of `1/l`, and 0.
    pub fn reciprocal(&self, l: u64) -> (u64, i32) {
        let n = &self.numerics;
        match self.config.follows_the_paper() {
            true => {
                let reciprocal = reciprocal_value(n.formats.q, &n.reciprocal, decode(n.formats.q, l));
                (encode(n.formats.q, reciprocal), 0)
            }
            false => {
                let (r, exponent) = divide(&n.reciprocal, l, n.state_fraction);
                (r, -exponent - n.reciprocal.table.value_fraction as i32)
            }
        }
    }

    /// Computes the result of every query, on the threads of the current rayon pool.
    ///
    /// # Panics
    /// If the slices of `head` do not fit each other or the core, a query's keys end before they begin or beyond the last key, a
    /// `v_exponent` exceeds the format's field, or there are biases or partial results and the core has none.
    pub fn run(&self, head: Head) -> Vec<QueryResult> {
        head.prepared(&self.config, &self.numerics, |head| {
            self.with_core(Whole { head, take: None }, self.carriers).unwrap_or_default()
        })
    }

    /// [`Model::run`] that passes on the steps as they are computed, and keeps none: `take` gets the next steps of each query for a
    /// range of keys. Queries run in parallel and should see the same keys. Returns `None` after `take` returned false.
    ///
    /// # Panics
    /// As [`Model::run`].
    pub fn run_by_piece(&self, head: Head, take: Take) -> Option<Vec<QueryResult>> {
        let head = Head { record: true, ..head };
        // These carriers need not know all values before.
        head.prepared(&self.config, &self.numerics, |head| {
            self.with_core(Whole { head, take: Some(take) }, Carriers::Widest)
        })
    }

    /// The core's configuration.
    pub fn config(&self) -> &CoreConfig {
        &self.config
    }

    pub(crate) fn numerics(&self) -> &Numerics {
        &self.numerics
    }

    /// Calls a visitor with the recurrence and the lanes of the core.
    pub(crate) fn with_core<I: Visit>(&self, input: I, carriers: Carriers) -> I::Output {
        let (n, config) = (&self.numerics, &self.config);
        let p = n.weight.precision();
        match config.datapath {
            Datapath::FlashD(FlashDVariant::Paper) => self.float_lanes(
                input,
                &Paper::new(n),
                n.accumulator,
                p + n.accumulator.precision(),
                carriers,
            ),
            Datapath::FlashD(FlashDVariant::Rounded) => {
                let form = RoundedWeight(Scalar::new(n.weight, n.exp.clone()));
                self.float_lanes(
                    input,
                    &Lse::new(n, form),
                    n.difference,
                    p + n.difference.precision(),
                    carriers,
                )
            }
            Datapath::FlashD(FlashDVariant::Fixed) => {
                let bits = config.lane_bits();
                let recurrence = Lse::new(n, FactorWeight(bits.w));
                if carriers == Carriers::Fastest && FixedLanes::<i32>::fits(bits) {
                    input.visit(self, &recurrence, &FixedLanes::<i32>::new(n.formats, bits), carriers)
                } else {
                    input.visit(self, &recurrence, &FixedLanes::<i64>::new(n.formats, bits), carriers)
                }
            }
            Datapath::FlashD(FlashDVariant::Ranged) => {
                let bits = config.lane_bits();
                let recurrence = Lse::new(n, FactorWeight(bits.w));
                input.visit(self, &recurrence, &RangedLanes::new(n.formats, bits), carriers)
            }
            Datapath::Fa2(_) => match config.kind().arithmetic {
                Arithmetic::Letter => {
                    let longest = p + n.accumulator.precision();
                    self.float_lanes(input, &Literal::new(n), n.accumulator, longest, carriers)
                }
                Arithmetic::Float => {
                    let recurrence = Fa2::new(n, config.kind().scales_in_lane);
                    let longest = recurrence.factor_bits() + n.accumulator.precision();
                    self.float_lanes(input, &recurrence, n.product, longest, carriers)
                }
                Arithmetic::Fixed => self.sum_lanes(input, &LogReference::new(n), carriers),
                Arithmetic::Ranged => {
                    input.visit(self, &LogReference::new(n), &RangedSumLanes::of(config, n), carriers)
                }
            },
        }
    }

    /// Calls the visitor with lanes that round every operation. The longest exact product has `longest` bits.
    fn float_lanes<R, I: Visit>(
        &self,
        input: I,
        recurrence: &R,
        intermediate: Format,
        longest: u32,
        carriers: Carriers,
    ) -> I::Output
    where
        R: Recurrence<Op = FloatOp, Ending = FloatEnding>,
    {
        let n = &self.numerics;
        let (formats, accumulator) = (n.formats, n.accumulator);
        // A rounding needs two bits more than its result has.
        let longest = longest.max(intermediate.precision().max(accumulator.precision()) + 2);
        let narrow = carriers == Carriers::Fastest
            && fits_f32(
                formats.v,
                accumulator,
                longest,
                || largest_of(formats.v, input.v()),
                input.restored(),
            );
        match (narrow, accumulator.subnormals) {
            (true, Subnormals::Flushed) => {
                let lanes = FloatLanes::<f32, true>::new(formats, accumulator, intermediate);
                input.visit(self, recurrence, &lanes, carriers)
            }
            (true, Subnormals::Supported) => {
                let lanes = FloatLanes::<f32, false>::new(formats, accumulator, intermediate);
                input.visit(self, recurrence, &lanes, carriers)
            }
            (false, Subnormals::Flushed) => {
                let lanes = FloatLanes::<f64, true>::new(formats, accumulator, intermediate);
                input.visit(self, recurrence, &lanes, carriers)
            }
            (false, Subnormals::Supported) => {
                let lanes = FloatLanes::<f64, false>::new(formats, accumulator, intermediate);
                input.visit(self, recurrence, &lanes, carriers)
            }
        }
    }

    /// Calls the visitor with lanes of fixed-point sums.
    fn sum_lanes<I: Visit>(&self, input: I, recurrence: &LogReference, carriers: Carriers) -> I::Output {
        let guard = self.config.sum_guard_bits();
        let formats = self.numerics.formats;
        let kept = (self.numerics.kept_significand(), self.numerics.scales_in_lane);
        let lane = LaneBits { w: self.numerics.factor_significand, ..self.config.lane_bits() };
        let fastest = carriers == Carriers::Fastest;
        if fastest && SumLanes::<f32, i32>::fits(formats.v, lane, guard) {
            input.visit(self, recurrence, &SumLanes::<f32, i32>::new(formats, lane, guard, kept), carriers)
        } else if fastest && SumLanes::<f32, i64>::fits(formats.v, lane, guard) {
            input.visit(self, recurrence, &SumLanes::<f32, i64>::new(formats, lane, guard, kept), carriers)
        } else {
            input.visit(self, recurrence, &SumLanes::<f64, i64>::new(formats, lane, guard, kept), carriers)
        }
    }
}

/// A computation that is generic over the recurrence and the lanes of a core.
pub(crate) trait Visit {
    type Output;

    /// The values that the lanes will read, if known.
    fn v(&self) -> OperandVectors<'_> {
        OperandVectors::default()
    }

    /// The partial results that queries start from.
    fn restored(&self) -> &[Option<PartialState>] {
        &[]
    }

    fn visit<R, L>(self, model: &Model, recurrence: &R, lanes: &L, carriers: Carriers) -> Self::Output
    where
        R: Recurrence<Op = L::Op, Ending = L::Ending>,
        L: Lanes;
}

/// A visitor that runs a head.
struct Whole<'a, 't> {
    head: PreparedHead<'a>,
    take: Option<Take<'t>>,
}

impl Visit for Whole<'_, '_> {
    type Output = Option<Vec<QueryResult>>;

    fn v(&self) -> OperandVectors<'_> {
        self.head.head.v
    }

    fn restored(&self) -> &[Option<PartialState>] {
        self.head.head.restored
    }

    fn visit<R, L>(self, model: &Model, recurrence: &R, lanes: &L, _: Carriers) -> Self::Output
    where
        R: Recurrence<Op = L::Op, Ending = L::Ending>,
        L: Lanes,
    {
        let Whole { head: PreparedHead { head, special }, take } = self;
        let Model { config, numerics, sums, carriers } = model;
        let (sums, carriers) = (*sums, *carriers);
        RunUnits { config, numerics, sums, carriers, recurrence, lanes, head, special }.results(take)
    }
}

/// Whether f32 carries float lanes exactly (see [`Carrier`]). The lanes need `longest` bits, read values of `format` up to the
/// encoding `largest` (called only if it matters), and start from the accumulators of `restored`.
pub fn fits_f32(
    format: Format,
    accumulator: Format,
    longest: u32,
    largest: impl FnOnce() -> u64,
    restored: &[Option<PartialState>],
) -> bool {
    // Elements times their scales reach below f32's range.
    if format.min_exponent() < f32::MIN_EXP - 1 {
        return false;
    }
    if accumulator.exponent_bits <= 5 {
        return longest <= f32::PRECISION;
    }
    // One bit less, so that a product next to the smallest normal number is still exact. Values must be so small that neither a
    // difference nor FA2's sum leaves f32; the sum stops growing at 2^(p+1) addends, each at most a value.
    if format.exponent_bits <= 5 {
        return longest < f32::PRECISION;
    }
    let mut outputs = restored.iter().flatten().flat_map(|state| &state.o);
    longest < f32::PRECISION && below(format, 100, largest()) && outputs.all(|&o| below(accumulator, 117, o))
}

/// The largest magnitude, as an encoding, of encodings that are neither Inf nor NaN.
pub fn largest_finite(format: Format, bits: &[u64]) -> u64 {
    let finite = bits.iter().filter(|&&bits| !format.is_special(bits));
    finite.map(|&bits| format.magnitude(bits)).max().unwrap_or(0)
}

/// [`largest_finite`] of stored or made vectors.
fn largest_of(format: Format, v: OperandVectors) -> u64 {
    let mut largest = 0;
    v.pieces(|v| largest = largest.max(largest_finite(format, v)));
    largest
}

/// Whether the magnitude of an encoding is below `2^exponent`.
fn below(format: Format, exponent: i32, bits: u64) -> bool {
    format.magnitude(bits) < encode(format, pow2(exponent))
}
