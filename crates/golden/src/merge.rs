//! The bit-exact model of a merge, and of a tree of them: what P cores have made of P parts of the keys as one result.

use crate::base2::Base2;
use crate::lanes::{FixedLanes, FloatEnding, FloatLanes, FloatOp, FusedLanes, Lanes, RangedLanes};
use crate::model::{PartialState, QueryResult};
use crate::recurrence::{FactorWeight, RoundedWeight, WeightForm, exponential_factor, scaled};
use crate::round::{encode, given_exponent};
use crate::scalar::Scalar;
use flashd_spec::bits::{ones, signed};
use flashd_spec::config::{Arithmetic, CoreConfig, Design, LaneBits, Update};
use flashd_spec::format::{Format, Subnormals};
use flashd_spec::numerics::Numerics;
use flashd_spec::numerics::merge_numerics;

/// The merge of a kind of core. Independent of the hardware's arithmetic as [`crate::Model`] is.
pub struct Merge {
    config: CoreConfig,
    numerics: Numerics,
    /// Where states are scores and accumulators are values.
    merge: Numerics,
    base2: Base2,
}

impl Merge {
    /// The merge of partial results of a core, whose configuration must be valid and have partial results.
    pub fn new(config: &CoreConfig) -> Self {
        let numerics = Numerics::new(config);
        let merge = merge_numerics(&numerics);
        Merge { config: config.clone(), base2: Base2::new(&numerics), merge, numerics }
    }

    /// What both parts make; an empty one leaves the other as it is.
    pub fn merge(&self, a: Option<&PartialState>, b: Option<&PartialState>) -> Option<PartialState> {
        match (a, b) {
            (Some(a), Some(b)) => Some(match self.config.design() {
                Design::FlashD => self.flash_d(a, b),
                Design::Fa2 => self.fa2(a, b),
            }),
            (one, other) => one.or(other).cloned(),
        }
    }

    /// A tree of merges, neighbours first. The number of parts is a power of two.
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

    /// The results of queries whose keys are in parts: for each query the results of its parts, a power of two of them.
    /// A flag is set if any part has set it.
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
        let upper = x >= 0;
        let l = la.max(lb) + self.base2.growth(argument, fraction);
        let scalars = [l as u64 & ones(bits), a.scalars[1].min(b.scalars[1])];
        let factor = |bits: u32| FactorWeight(bits).update(&self.base2, argument, upper).1;
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
            _ if self.config.update() == Some(Update::Rounded) => {
                let weight = RoundedWeight(Scalar::new(n.weight, n.exp.clone()));
                let op = weight.update(&self.base2, argument, upper).1;
                self.float(op, self.merge.difference, a, b)
            }
            Arithmetic::Float | Arithmetic::Letter => match n.accumulator.subnormals {
                Subnormals::Flushed => {
                    let lanes = FusedLanes::<f64, true>::new(n.formats, n.accumulator);
                    step(&lanes, factor(n.weight.precision()), a, b, |bits| lanes.accumulator(bits))
                }
                Subnormals::Supported => {
                    let lanes = FusedLanes::<f64, false>::new(n.formats, n.accumulator);
                    step(&lanes, factor(n.weight.precision()), a, b, |bits| lanes.accumulator(bits))
                }
            },
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

    /// The result of a state in the format.
    fn result(&self, state: &PartialState, v_exponent: u64) -> Vec<u64> {
        let n = &self.numerics;
        let ending = match self.config.design() == Design::Fa2 {
            true => FloatEnding::Scale(crate::recurrence::reciprocal_of_sum(n, state.scalars[1])),
            false => FloatEnding::Round,
        };
        let rounded =
            |result: &dyn Fn(u64) -> f64| state.o.iter().map(|&o| encode(n.formats.o, result(o))).collect();
        if self.config.has_ranged_lanes() {
            let lanes = RangedLanes::new(n.formats, self.config.lane_bits());
            return rounded(&|o| lanes.result(FloatEnding::Round, lanes.accumulator(o), v_exponent).0);
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

/// A step of lanes whose values are accumulators.
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
