//! FA2's scalars of a merge: the larger maximum, one exponential, and the sum of both parts.

use crate::block::{Low, LowFunction};
use crate::cores::factor::FactorForm;
use crate::cores::softmax::{ExpWeight, ExpWeightFunction, ScoreMaximum, ScoreMaximumFunction};
use crate::cores::sum::scaled_sum;
use crate::numerics::Numerics;
use crate::rtl::{Bus, EnabledRegister, In, Logic, Out, Register, Tag, ast, hdl_gen, logic};
use crate::{circuit, function, unit};
use std::sync::Arc;

function! {
    /// The sum of both parts.
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
unit! {
    /// The sum of both parts.
    pub struct MergedSum(MergedSumFunction) { a, b, e, moved, take_b, keep_a } -> { sum }
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
unit! {
    /// The maximum of both parts.
    pub struct MergedMaximum(MergedMaximumFunction) { a, larger, b_empty } -> { y }
}

circuit! {
    /// Scalars of a merge, two stages.
    pub struct Fa2MergeWeight {
        ports {
            /// Clock.
            clk: Bus<In>,
            /// Maximum of part a.
            a_m: Bus<In>,
            /// Of part b.
            b_m: Bus<In>,
            /// Sum of part a.
            a_l: Bus<In>,
            /// Of part b.
            b_l: Bus<In>,
            /// Part a is empty.
            a_empty: Bus<In>,
            /// Part b is empty.
            b_empty: Bus<In>,
            /// A merge is in the second stage.
            valid: Bus<In>,
            /// Maximum of both, two cycles later.
            m: Bus<Out>,
            /// Sum of both.
            l: Bus<Out>,
            /// The exponential, a cycle later: for the lanes' registers.
            w: Bus<Out>,
            /// The maximum of part b is larger.
            upper: Bus<Out>,
        }
        parts {
            /// Maximum and distance.
            maximum: ScoreMaximum,
            /// Or the one that is not empty.
            merged: MergedMaximum,
            /// Second stage.
            distance_q: Register,
            /// Second stage.
            moved_q: Register,
            /// Second stage.
            m_q: Register,
            /// Second stage.
            a_l_q: Register,
            /// Second stage.
            b_l_q: Register,
            /// Second stage.
            a_empty_q: Register,
            /// Second stage.
            b_empty_q: Register,
            /// No merge is a first key.
            low: Low,
            /// 2^-|m_b - m_a|.
            exponential: ExpWeight,
            /// l.
            sum: MergedSum,
            /// Result.
            m_qq: EnabledRegister,
            /// Result.
            l_q: EnabledRegister,
        }
        config {}
    }
}

impl Fa2MergeWeight {
    /// The unit for cores of these numerics.
    pub fn new(n: &Arc<Numerics>, form: FactorForm) -> Self {
        let (score, sum) = (n.score_bits(), n.sum_bits());
        Fa2MergeWeight {
            tag: Tag::module(
                format!("merge_softmax_{}", form.suffix(n)),
                "Scalars of a merge: m = max(m_a, m_b), e = 2^-|m_b - m_a|, l = l_a * e + l_b or l_a + l_b * e.",
            ),
            unrest: Default::default(),
            clk: Bus::new(1),
            a_m: Bus::new(score),
            b_m: Bus::new(score),
            a_l: Bus::new(sum),
            b_l: Bus::new(sum),
            a_empty: Bus::new(1),
            b_empty: Bus::new(1),
            valid: Bus::new(1),
            m: Bus::new(score),
            l: Bus::new(sum),
            w: Bus::new(form.bits(n)),
            upper: Bus::new(1),
            maximum: ScoreMaximum::new(ScoreMaximumFunction { numerics: n.clone() }),
            merged: MergedMaximum::new(MergedMaximumFunction { bits: score }),
            distance_q: Register::new(score),
            moved_q: Register::new(1),
            m_q: Register::new(score),
            a_l_q: Register::new(sum),
            b_l_q: Register::new(sum),
            a_empty_q: Register::new(1),
            b_empty_q: Register::new(1),
            low: Low::new(LowFunction {}),
            exponential: ExpWeight::new(ExpWeightFunction { numerics: n.clone(), form }),
            sum: MergedSum::new(MergedSumFunction { numerics: n.clone(), form }),
            m_qq: EnabledRegister::new(score),
            l_q: EnabledRegister::new(sum),
        }
    }
}

impl Logic for Fa2MergeWeight {
    #[hdl_gen]
    fn update(&mut self) {
        self.maximum.score.next = self.b_m.val();
        self.maximum.maximum.next = self.a_m.val();
        self.maximum.first.next = self.a_empty.val();
        self.merged.a.next = self.a_m.val();
        self.merged.larger.next = self.maximum.maximum_next.val();
        self.merged.b_empty.next = self.b_empty.val();
        self.distance_q.clk.next = self.clk.val();
        self.distance_q.d.next = self.maximum.distance.val();
        self.moved_q.clk.next = self.clk.val();
        self.moved_q.d.next = self.maximum.moved.val();
        self.m_q.clk.next = self.clk.val();
        self.m_q.d.next = self.merged.y.val();
        self.a_l_q.clk.next = self.clk.val();
        self.a_l_q.d.next = self.a_l.val();
        self.b_l_q.clk.next = self.clk.val();
        self.b_l_q.d.next = self.b_l.val();
        self.a_empty_q.clk.next = self.clk.val();
        self.a_empty_q.d.next = self.a_empty.val();
        self.b_empty_q.clk.next = self.clk.val();
        self.b_empty_q.d.next = self.b_empty.val();
        self.exponential.distance.next = self.distance_q.q.val();
        self.exponential.first.next = self.low.y.val();
        self.sum.a.next = self.a_l_q.q.val();
        self.sum.b.next = self.b_l_q.q.val();
        self.sum.e.next = self.exponential.e.val();
        self.sum.moved.next = self.moved_q.q.val();
        self.sum.take_b.next = self.a_empty_q.q.val();
        self.sum.keep_a.next = self.b_empty_q.q.val();
        self.m_qq.clk.next = self.clk.val();
        self.m_qq.enable.next = self.valid.val();
        self.m_qq.d.next = self.m_q.q.val();
        self.l_q.clk.next = self.clk.val();
        self.l_q.enable.next = self.valid.val();
        self.l_q.d.next = self.sum.sum.val();
        self.m.next = self.m_qq.q.val();
        self.l.next = self.l_q.q.val();
        self.w.next = self.exponential.e.val();
        self.upper.next = self.moved_q.q.val();
    }
}
