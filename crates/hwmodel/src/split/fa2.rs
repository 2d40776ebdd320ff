//! FA2's scalars of a merge: the larger maximum or reference, one exponential or shift, and the sum of both parts.
//!
//! ```text
//!  kind             m                          m_a - m_b          l, o
//!  Fa2              maximum                    any                l = l_a e + l_b, e = 2^-|m_b - m_a|
//!  LogReference     integer                    whole octaves      l = (l_a >> |m_b - m_a|) + l_b; from 2 on half of it, and m + 1
//!  SharedLog,       score plus integer         any                l = l_a e + l_b; from 2 on half of it, and m + 1
//!  RangedSum
//! ```
//!
//! if b has the larger m; otherwise with a and b exchanged.

use super::lane::MergeKind;
use super::scalars::{MergeScalars, ScalarInputs, ScalarOutputs, SumScalars, scalar_unit};
use crate::arith::fixed::clamp;
use crate::array::LowFunction;
use crate::attention::factor::FactorForm;
use crate::fa2::softmax::{ExpWeightFunction, ScoreMaximumFunction};
use crate::fa2::widths::delta_bits;
use crate::function;
use crate::rtl::{Module, Tag, Wire};
use crate::score::sum::scaled_sum;
use flashd_spec::numerics::Numerics;
use std::sync::Arc;

function! {
    /// The sum l of both parts, relative to the larger maximum.
    pub struct MergedSumFunction { numerics: Arc<Numerics>, form: FactorForm }
    name(this) = format!("merged_sum_{}", this.form.suffix(&this.numerics));
    doc = "The maximum of b is larger: a * e + b.  Otherwise: a + b * e.  One part empty: the other.  Saturating.";
    inputs {
        a: this.numerics.sum_bits(), b: this.numerics.sum_bits(), e: this.form.bits(&this.numerics), moved: 1,
        take_b: 1, keep_a: 1
    }
    outputs { sum: this.numerics.sum_bits() }
    eval<W> {
        let multiplicand = moved.select(&a, &b).named("multiplicand");
        let addend = moved.select(&b, &a).named("addend");
        let sum = scaled_sum(&this.numerics, this.form, &multiplicand, &addend, &e);
        [keep_a.select(&a, &take_b.select(&b, &sum))]
    }
}

function! {
    /// The maximum of both parts.
    pub struct MergedMaximumFunction { bits: u32 }
    name(this) = format!("merged_maximum_{}", this.bits);
    doc = "y = the larger of a and b, or the one that is not empty.";
    inputs { a: this.bits, larger: this.bits, b_empty: 1 }
    outputs { y: this.bits }
    eval<W> { [b_empty.select(&a, &larger)] }
}

function! {
    /// The sum l of both parts relative to the larger reference, which is whole octaves above the smaller one.
    pub struct ShiftedMergedSumFunction { bits: u32, delta: u32 }
    name(this) = format!("shifted_merged_sum_{}_{}", this.bits, this.delta);
    doc = "The reference of b is larger: (a >> delta) + b.  Otherwise: a + (b >> delta).";
    inputs { a: this.bits, b: this.bits, delta: this.delta, moved: 1 }
    outputs { total: this.bits + 1 }
    eval<W> {
        let wide = this.bits + 1;
        let smaller = moved.select(&a, &b).named("smaller");
        let larger = moved.select(&b, &a).named("larger");
        [larger.zext(wide).add(&smaller.shr(&delta).zext(wide))]
    }
}

function! {
    /// The sum l of both parts relative to the larger reference, with an exponential for any distance of the
    /// references.
    pub struct FactorMergedSumFunction { numerics: Arc<Numerics>, form: FactorForm }
    name(this) = format!("factor_merged_sum_{}", this.form.suffix(&this.numerics));
    doc = "The reference of b is larger: a * e + b.  Otherwise: a + b * e.";
    inputs {
        a: this.numerics.log_sum_bits(), b: this.numerics.log_sum_bits(), e: this.form.bits(&this.numerics), moved: 1
    }
    outputs { total: this.numerics.log_sum_bits() + 1 }
    eval<W> {
        let bits = this.numerics.sum_bits();
        let multiplicand = moved.select(&a, &b).zext(bits).named("multiplicand");
        let addend = moved.select(&b, &a).zext(bits).named("addend");
        // a and b are below 2, and e is at most 1, so the sum is below 4.
        let sum = scaled_sum(&this.numerics, this.form, &multiplicand, &addend, &e);
        [sum.slice(0, this.numerics.log_sum_bits() + 1)]
    }
}

function! {
    /// The sum l after the merge. A sum of 2 or more is halved, because the reference rises by an octave. If one part is
    /// empty, the sum of the other.
    pub struct MergedTotalFunction { bits: u32 }
    name(this) = format!("merged_octave_{}", this.bits);
    doc = "l = carry ? total >> 1 : total, carry = total >= 2; one part empty: the other's.";
    inputs { total: this.bits + 1, a: this.bits, b: this.bits, take_b: 1, keep_a: 1 }
    outputs { l: this.bits, carry: 1 }
    eval<W> {
        let carry = total.msb();
        let l = carry.select(&total.drop_low(1), &total.slice(0, this.bits));
        let both = take_b.or(&keep_a).not().named("both");
        [keep_a.select(&a, &take_b.select(&b, &l)), both.and(&carry)]
    }
}

function! {
    /// The reference of both parts, raised by an octave with a carry.
    pub struct RaisedReferenceFunction { bits: u32, fraction: u32 }
    name(this) = format!("raised_reference_{}_{}", this.bits, this.fraction);
    doc = "y = x + (carry ? an octave : 0).";
    inputs { x: this.bits, carry: 1 }
    outputs { y: this.bits }
    eval<W> {
        let whole = x.drop_low(this.fraction);
        let raised = whole.add(&carry.zext(whole.width())).named("raised");
        [if this.fraction == 0 { raised } else { raised.concat(&x.slice(0, this.fraction)) }]
    }
}

function! {
    /// The lanes' word: a shift or a factor, and above it a bit that says whether the reference rises by an octave.
    pub struct LaneShiftFunction { bits: u32 }
    name(this) = format!("lane_shift_{}", this.bits);
    doc = "w = {carry, x}.";
    inputs { x: this.bits, carry: 1 }
    outputs { w: this.bits + 1 }
    eval<W> { [carry.concat(&x)] }
}

function! {
    /// Converts a distance in octaves to a shift.
    pub struct OctavesFunction { octaves: u32, delta: u32 }
    name(this) = format!("octaves_{}_{}", this.octaves, this.delta);
    doc = "delta = octaves, all ones where they are more.";
    inputs { octaves: this.octaves }
    outputs { delta: this.delta }
    eval<W> {
        let delta = clamp(&octaves, this.delta);
        [delta.zext(this.delta)]
    }
}

/// Name and equations of the unit.
fn tag(kind: MergeKind, n: &Numerics) -> Tag {
    let form = kind.factor(n);
    let (name, doc) = match kind {
        MergeKind::LogReference => (
            "merge_logref".to_string(),
            "Scalars of a merge: m = max(m_a, m_b), l = (l_a >> m - m_a) + (l_b >> m - m_b); from 2 on half of it, and m + 1.",
        ),
        MergeKind::SharedLog | MergeKind::RangedSum => (
            format!("merge_sharedlog_{}", form.suffix(n)),
            "Scalars of a merge: m = max(m_a, m_b), e = 2^-|m_b - m_a|, l = l_a * e + l_b or l_a + l_b * e; from 2 on half of it,\nand m + 1.",
        ),
        _ => (
            format!("merge_softmax_{}", form.suffix(n)),
            "Scalars of a merge: m = max(m_a, m_b), e = 2^-|m_b - m_a|, l = l_a * e + l_b or l_a + l_b * e.",
        ),
    };
    Tag::module(name, doc)
}

/// Numerics in which a score has the integer and fraction bits of m.
fn numerics_of_reference(kind: MergeKind, n: &Numerics) -> Arc<Numerics> {
    Arc::new(match kind {
        MergeKind::LogReference => {
            Numerics { score_integer: n.score_integer + 1, score_fraction: 0, ..n.clone() }
        }
        MergeKind::SharedLog | MergeKind::RangedSum => {
            Numerics { score_integer: n.score_integer + 1, ..n.clone() }
        }
        _ => n.clone(),
    })
}

impl MergeScalars for SumScalars {
    fn of(scalars: &[Wire]) -> SumScalars {
        SumScalars { m: scalars[0], l: scalars[1] }
    }

    /// FA2's scalars of a merge, in two stages. `w` is the exponential or the shift, for the kinds in fixed point with the
    /// carry above it; `upper` says that the maximum of part b is larger.
    fn merge(
        around: &mut Module,
        kind: MergeKind,
        n: &Arc<Numerics>,
        inputs: &ScalarInputs<SumScalars>,
    ) -> ScalarOutputs<SumScalars> {
        let (form, of_m) = (kind.factor(n), numerics_of_reference(kind, n));
        scalar_unit(around, tag(kind, n), inputs, |m, inputs| {
            let numerics = || of_m.clone();
            let ScalarInputs { a, b, a_empty, b_empty, valid } = inputs;
            let maximum = ScoreMaximumFunction { numerics: numerics() };
            let [larger, moved, distance] = m.call("maximum", maximum, [b.m, a.m, a_empty]);
            let merged = MergedMaximumFunction { bits: of_m.score_bits() };
            let [maximum] = m.call("merged", merged, [a.m, larger, b_empty]);
            // The second stage.
            let [distance, moved, maximum, a_l, b_l, a_empty, b_empty] = [
                ("distance_q", distance),
                ("moved_q", moved),
                ("m_q", maximum),
                ("a_l_q", a.l),
                ("b_l_q", b.l),
                ("a_empty_q", a_empty),
                ("b_empty_q", b_empty),
            ]
            .map(|(name, wire)| m.register(name, wire));
            // A shift, or an exponential; `low`, because no merge is a first key.
            let e = match kind {
                MergeKind::LogReference => {
                    let function = OctavesFunction { octaves: distance.width(), delta: delta_bits(n) };
                    m.call("octaves", function, [distance])[0]
                }
                _ => {
                    let [low] = m.call("low", LowFunction {}, []);
                    let exponential = ExpWeightFunction { numerics: numerics(), form };
                    m.call("exponential", exponential, [distance, low])[0]
                }
            };
            let total = match kind {
                MergeKind::LogReference => {
                    let function = ShiftedMergedSumFunction { bits: a_l.width(), delta: e.width() };
                    Some(m.call("total", function, [a_l, b_l, e, moved])[0])
                }
                MergeKind::SharedLog | MergeKind::RangedSum => {
                    let function = FactorMergedSumFunction { numerics: n.clone(), form };
                    Some(m.call("total", function, [a_l, b_l, e, moved])[0])
                }
                _ => None,
            };
            let (maximum, sum, w) = match total {
                None => {
                    let sum = MergedSumFunction { numerics: n.clone(), form };
                    let [sum] = m.call("sum", sum, [a_l, b_l, e, moved, a_empty, b_empty]);
                    (maximum, sum, e)
                }
                Some(total) => {
                    let function = MergedTotalFunction { bits: a_l.width() };
                    let [sum, carry] = m.call("sum", function, [total, a_l, b_l, a_empty, b_empty]);
                    let (bits, fraction) = (of_m.score_bits(), of_m.score_fraction);
                    let [maximum] =
                        m.call("raised", RaisedReferenceFunction { bits, fraction }, [maximum, carry]);
                    let [w] = m.call("lane_shift", LaneShiftFunction { bits: e.width() }, [e, carry]);
                    (maximum, sum, w)
                }
            };
            let maximum = m.register_if("m_qq", valid, maximum);
            let scalars = SumScalars { m: maximum, l: m.register_if("l_q", valid, sum) };
            ScalarOutputs { scalars, w, upper: moved }
        })
    }

    fn sum(&self) -> Option<Wire> {
        Some(self.l)
    }
}
