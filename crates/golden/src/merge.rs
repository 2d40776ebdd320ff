//! The bit-exact model of a merge and of a tree of merges, which joins the partial results of P cores into one.

use crate::base2::Base2;
use crate::lanes::{
    BlendOp, FixedLanes, FloatEnding, FloatLanes, FloatOp, Lanes, RangedLanes, RangedSumLanes, SumLanes,
};
use crate::recurrence::{FactorWeight, RoundedWeight, WeightForm, divide, exponential_factor, scaled};
use crate::result::{PartialState, QueryResult};
use crate::round::{encode, given_exponent};
use crate::scalar::Scalar;
use flashd_spec::bits::{ones, signed};
use flashd_spec::config::{Arithmetic, CoreConfig, Design, LaneBits, Reference};
use flashd_spec::format::{Format, Subnormals};
use flashd_spec::numerics::Numerics;
use flashd_spec::numerics::merge_numerics;

/// The merge of a core's partial results. Like [`crate::Model`], it shares no arithmetic with the hardware description.
pub struct Merge {
    config: CoreConfig,
    numerics: Numerics,
    /// Numerics with states in place of scores and accumulators in place of values.
    merge: Numerics,
    base2: Base2,
}

impl Merge {
    /// The merge for a core. The configuration must be valid and have partial results.
    pub fn new(config: &CoreConfig) -> Self {
        let numerics = Numerics::new(config);
        let merge = merge_numerics(&numerics);
        Merge { config: config.clone(), base2: Base2::new(&numerics), merge, numerics }
    }

    /// Merges two partial results. If one is `None` or [empty](PartialState::no_key), the other is returned unchanged.
    pub fn merge(&self, a: Option<&PartialState>, b: Option<&PartialState>) -> Option<PartialState> {
        let with_keys = |state: &&PartialState| !state.is_no_key(&self.config, &self.numerics);
        match (a.filter(with_keys), b.filter(with_keys)) {
            (Some(a), Some(b)) => Some(match (self.config.design(), self.config.kind().arithmetic) {
                (Design::FlashD, _) => self.flash_d(a, b),
                (Design::Fa2, Arithmetic::Fixed | Arithmetic::Ranged) => self.fa2_fixed(a, b),
                (Design::Fa2, _) => self.fa2(a, b),
            }),
            (None, None) => a.or(b).cloned(),
            (one, other) => one.or(other).cloned(),
        }
    }

    /// Merges all parts in a tree, neighbours first. The number of parts must be a power of two.
    pub fn tree(&self, parts: &[Option<PartialState>]) -> Option<PartialState> {
        match parts {
            [] => None,
            [part] => part.clone(),
            parts => {
                let (a, b) = parts.split_at(parts.len() / 2);
                self.merge(self.tree(a).as_ref(), self.tree(b).as_ref())
            }
        }
    }

    /// The results of queries whose keys are split into parts. `parts` has, for each query, the results of its parts, a power of
    /// two of them. `invalid`, `score_saturated` and `overflow` are set if any part set them.
    pub fn results(&self, parts: &[Vec<QueryResult>], v_exponents: &[u64]) -> Vec<QueryResult> {
        let query = |(parts, &v_exponent): (&Vec<QueryResult>, &u64)| {
            let states: Vec<_> = parts.iter().map(|part| part.state.clone()).collect();
            let state = self.tree(&states);
            QueryResult {
                o: match &state {
                    Some(state) => self.result(state, given_exponent(self.numerics.formats.v, v_exponent)),
                    None => vec![0; self.config.dv()],
                },
                invalid: parts.iter().any(|part| part.invalid),
                score_saturated: parts.iter().any(|part| part.score_saturated),
                overflow: parts.iter().any(|part| part.overflow),
                empty: state.is_none(),
                state,
                ..QueryResult::default()
            }
        };
        parts.iter().zip(v_exponents).map(query).collect()
    }

    fn flash_d(&self, a: &PartialState, b: &PartialState) -> PartialState {
        let n = &self.numerics;
        let (bits, fraction) = (n.state_bits(), n.state_fraction);
        let [la, lb] = [a, b].map(|part| signed(part.scalars[0], bits));
        let x = lb - la;
        let argument = self.base2.reduce_cut(x, fraction);
        let l = la.max(lb) + self.base2.growth(argument, fraction);
        let scalars = [l as u64 & ones(bits), a.scalars[1].min(b.scalars[1])];
        // The difference of two accumulators is exact, so nothing is dithered.
        let factor =
            |bits: u32| BlendOp { dither: 0, ..FactorWeight(bits).update(&self.base2, x, argument).1 };
        let o = match self.config.kind().arithmetic {
            Arithmetic::Fixed => {
                let lane = self.config.lane_bits();
                let lanes = FixedLanes::<i64>::new(n.formats, LaneBits { v: lane.o, ..lane });
                step(&lanes, factor(lane.w), a, b, |bits| signed(bits, lane.o))
            }
            Arithmetic::Ranged => {
                let lane = self.config.lane_bits();
                let lanes = RangedLanes::new(n.formats, LaneBits { v: lane.o, ..lane });
                a.o.iter().zip(&b.o).map(|(&a, &b)| lanes.merge(factor(lane.w), a, b)).collect()
            }
            Arithmetic::Float | Arithmetic::Letter => {
                let weight = RoundedWeight(Scalar::new(n.weight, n.exp.clone()));
                let op = weight.update(&self.base2, x, argument).1;
                self.float(op, self.merge.difference, a, b)
            }
        };
        PartialState { scalars, o }
    }

    fn fa2(&self, a: &PartialState, b: &PartialState) -> PartialState {
        let n = &self.numerics;
        let bits = n.score_bits();
        let [(ma, la), (mb, lb)] = [a, b].map(|part| (signed(part.scalars[0], bits), part.scalars[1]));
        let moved = mb > ma;
        let argument = self.base2.reduce((mb - ma).unsigned_abs(), n.score_fraction);
        let e = exponential_factor(&self.base2, argument, n.factor_significand);
        let largest = (1u64 << n.sum_bits()) - 1;
        let (l, op) = match moved {
            true => (scaled(la, &e) + lb, FloatOp::ScaleOutput(e.value)),
            false => (la + scaled(lb, &e), FloatOp::ScaleValue(e.value)),
        };
        let scalars = [ma.max(mb) as u64 & ones(bits), l.min(largest)];
        PartialState { scalars, o: self.float(op, n.product, a, b) }
    }

    /// FA2 in fixed point. `logref`, whose reference is an integer, shifts the sum and the accumulators of the smaller
    /// reference right, rounding down. `sharedlog` and `ranged` multiply them: the sum is rounded half up, accumulators half away from zero.
    /// `ranged` first shifts the accumulator of the smaller exponent right, rounding down.
    fn fa2_fixed(&self, a: &PartialState, b: &PartialState) -> PartialState {
        let n = &self.numerics;
        let fraction = match self.config.kind().reference {
            Reference::ScoreAndOctaves => n.score_fraction,
            Reference::Octaves | Reference::Maximum => 0,
        };
        let m_bits = n.score_integer + 2 + fraction;
        let bits = self.config.lane_bits().o + self.config.sum_guard_bits();
        let [ma, mb] = [a, b].map(|part| signed(part.scalars[0], m_bits));
        let (larger, smaller) = if mb > ma { (b, a) } else { (a, b) };
        let distance = (mb - ma).unsigned_abs();
        let (share, moved): (u64, Box<dyn Fn(i64) -> i64>) = match fraction {
            0 => {
                let delta = distance.min(63) as u32;
                (smaller.scalars[1] >> delta, Box::new(move |o| o >> delta))
            }
            _ => {
                let argument = self.base2.reduce(distance, fraction);
                let e = self.base2.exp_factor(argument, n.factor_significand);
                let product = move |o: i64| {
                    // A product has fewer than 100 bits: a longer shift leaves nothing.
                    let shift = e.shift().min(100);
                    let product = u128::from(o.unsigned_abs()) * u128::from(e.m);
                    let half = if shift == 0 { 0 } else { 1u128 << (shift - 1) };
                    ((product + half) >> shift) as i64 * o.signum()
                };
                let e = exponential_factor(&self.base2, argument, n.factor_significand);
                (scaled(smaller.scalars[1], &e), Box::new(product))
            }
        };
        let total = larger.scalars[1] + share;
        let carry = total >> (n.state_fraction + 1) != 0;
        let l = total >> u32::from(carry);
        let m = ma.max(mb) + (i64::from(carry) << fraction);
        let o = larger.o.iter().zip(&smaller.o).map(|(&larger, &smaller)| {
            // Without exponents of lanes, nothing is above the accumulators.
            let [above_larger, above_smaller] = [larger >> bits, smaller >> bits];
            let exponent = above_larger.max(above_smaller);
            let aligned = |o: u64, own: u64| signed(o & ones(bits), bits) >> (exponent - own).min(63);
            let sum = aligned(larger, above_larger) + moved(aligned(smaller, above_smaller));
            exponent << bits | (sum >> u32::from(carry)) as u64 & ones(bits)
        });
        PartialState { scalars: [m as u64 & ones(m_bits), l], o: o.collect() }
    }

    fn float(&self, op: FloatOp, intermediate: Format, a: &PartialState, b: &PartialState) -> Vec<u64> {
        let n = &self.numerics;
        match n.accumulator.subnormals {
            Subnormals::Flushed => {
                let lanes = FloatLanes::<f64, true>::new(n.formats, n.accumulator, intermediate);
                step(&lanes, op, a, b, |bits| lanes.accumulator(bits))
            }
            Subnormals::Supported => {
                let lanes = FloatLanes::<f64, false>::new(n.formats, n.accumulator, intermediate);
                step(&lanes, op, a, b, |bits| lanes.accumulator(bits))
            }
        }
    }

    /// The output encodings of a state.
    fn result(&self, state: &PartialState, v_exponent: u64) -> Vec<u64> {
        let n = &self.numerics;
        let ending = match self.config.design() == Design::Fa2 {
            true => FloatEnding::Scale(crate::recurrence::reciprocal_of_sum(n, state.scalars[1])),
            false => FloatEnding::Round,
        };
        let rounded =
            |result: &dyn Fn(u64) -> f64| state.o.iter().map(|&o| encode(n.formats.o, result(o))).collect();
        // The merge has its own last multiplier, whose operand does not end in a one for the middle of the dropped bits.
        let kept = n.formats.o.precision() + 4;
        let guard = self.config.sum_guard_bits();
        let division = || Some(divide(&n.reciprocal, state.scalars[1], n.state_fraction));
        if let (Design::Fa2, Arithmetic::Ranged) = (self.config.design(), self.config.kind().arithmetic) {
            let lanes = RangedSumLanes::new(n.formats, self.config.lane_bits().o, guard, kept, false);
            let division = division();
            return rounded(&|o| lanes.result(division, lanes.accumulator(o), v_exponent).0);
        }
        if self.config.has_ranged_lanes() {
            let lanes = RangedLanes::new(n.formats, self.config.lane_bits());
            return rounded(&|o| lanes.result(FloatEnding::Round, lanes.accumulator(o), v_exponent).0);
        }
        if let (Design::Fa2, Arithmetic::Fixed) = (self.config.design(), self.config.kind().arithmetic) {
            let lanes = SumLanes::<f64, i64>::new(n.formats, self.config.lane_bits(), guard, (kept, false));
            let division = division();
            return rounded(&|o| lanes.result(division, lanes.accumulator(o), v_exponent).0);
        }
        if self.config.has_fixed_lanes() {
            let lanes = FixedLanes::<i64>::new(n.formats, self.config.lane_bits());
            return rounded(&|o| lanes.result(ending, lanes.accumulator(o), v_exponent).0);
        }
        match n.accumulator.subnormals {
            Subnormals::Flushed => {
                let lanes = FloatLanes::<f64, true>::new(n.formats, n.accumulator, n.product);
                rounded(&|o| lanes.result(ending, lanes.accumulator(o), v_exponent).0)
            }
            Subnormals::Supported => {
                let lanes = FloatLanes::<f64, false>::new(n.formats, n.accumulator, n.product);
                rounded(&|o| lanes.result(ending, lanes.accumulator(o), v_exponent).0)
            }
        }
    }
}

/// One step of the lanes, with `a`'s accumulators as the old output and `b`'s as the values.
fn step<L: Lanes>(
    lanes: &L,
    op: L::Op,
    a: &PartialState,
    b: &PartialState,
    value: impl Fn(u64) -> L::Value,
) -> Vec<u64> {
    let mut o: Vec<L::Output> = a.o.iter().map(|&bits| lanes.accumulator(bits)).collect();
    let v: Vec<L::Value> = b.o.iter().map(|&bits| value(bits)).collect();
    lanes.step(op, &mut o, &v);
    o.into_iter().map(|o| lanes.bits(o)).collect()
}
