//! The score: from a dot product to fixed point in base 2, or to the format.
//!
//! Both designs work with powers of two: `exp(s) = 2^(s log2 e)`. Scores are multiplied by `log2(e)` here, once,
//! instead of in every exponential; maximum, log-sum-exp and thresholds follow in base 2.

use super::dot::DotProduct;
use super::fused_dot::FusedDot;
use crate::arith::to_fixed;
use crate::config::Dot;
use crate::numerics::{LOG2E, LOG2E_FRACTION, NATURAL_SCORE_GUARD_BITS, Numerics};
use crate::rtl::{Bus, In, Logic, Out, Tag, ast, hdl_gen, logic};
use crate::units::{ScoreScale, ScoreScaleFunction};
use crate::word::{Word, bits_for, ones};
use crate::{circuit, function, unit};
use std::sync::Arc;

/// `x`, signed, cut to `1 + bits` bits; saturates at `+-(2^bits - 1)`.
fn saturate<W: Word>(x: &W, bits: u32) -> W {
    let rest = x.drop_low(bits);
    let (negative, low) = (x.msb(), x.slice(0, bits));
    let fits = rest.all().or(&rest.any().not()).named("fits");
    // -2^bits has a magnitude of its own beyond the largest.
    let lowest = negative.and(&low.any().not());
    let limit = negative.concat(&negative.not().repeat(bits - 1)).concat(&W::constant(1, 1));
    fits.and(&lowest.not()).select(&negative.concat(&low), &limit)
}

function! {
    /// The fused dot product's total as the natural score.
    pub struct TotalToScoreFunction { numerics: Arc<Numerics> }
    name(this) = format!("total_to_score_{}", this.numerics.term_bits() + this.numerics.tree_levels);
    doc = {
        let n = &this.numerics;
        let rounded = match n.dot_guard {
            0 => "total + carry".to_string(),
            guard => format!("(total + carry) * 2^-{guard}, rounded half up"),
        };
        format!(
            "natural = {rounded}, {} integer and {} fraction bits, saturating.",
            n.score_integer, n.natural_fraction()
        )
    };
    inputs { total: this.numerics.term_bits() + this.numerics.tree_levels, carry: 1 }
    outputs { natural: this.numerics.natural_bits() }
    eval<W> {
        let n = &this.numerics;
        let wide = total.width() + 1;
        // A one below the last place lets the adder of the rounding constant take the carry.
        let half = W::constant(wide, (1 << n.dot_guard) >> 1);
        let sum = total.sext(wide).concat(&W::constant(1, 1)).add(&half.concat(&carry)).named("sum_halves").drop_low(1);
        [saturate(&sum.named("sum").drop_low(n.dot_guard), n.natural_bits() - 1)]
    }
}
unit! {
    /// The fused dot product's total as the natural score.
    pub struct TotalToScore(TotalToScoreFunction) { total, carry } -> { natural }
}

function! {
    /// The rounded dot product as the natural score.
    pub struct DotToScoreFunction { numerics: Arc<Numerics> }
    name(this) = format!("{}_to_score", this.numerics.format.ident());
    doc = {
        let n = &this.numerics;
        format!(
            "natural = dot * 2^{}, {} integer and {} fraction bits, saturating.",
            n.score_shift, n.score_integer, n.natural_fraction()
        )
    };
    inputs { dot: this.numerics.format.width() }
    outputs { natural: this.numerics.natural_bits() }
    eval<W> {
        let n = &this.numerics;
        let scale = n.score_shift + n.natural_fraction() as i32;
        [to_fixed(n.format, &dot, scale, n.natural_bits() - 1)]
    }
}
unit! {
    /// The rounded dot product as the natural score.
    pub struct DotToScore(DotToScoreFunction) { dot } -> { natural }
}

function! {
    /// The score in base 2.
    pub struct BaseTwoFunction { numerics: Arc<Numerics> }
    name(this) = format!("score_base_2_{}", this.numerics.score_bits());
    doc = {
        let n = &this.numerics;
        format!(
            "score = natural * log2(e), {} integer and {} fraction bits, rounded half up, saturating.",
            n.score_integer, n.score_fraction
        )
    };
    inputs { natural: this.numerics.natural_bits() }
    outputs { score: this.numerics.score_bits() }
    eval<W> {
        let n = &this.numerics;
        let constant = W::constant(bits_for(LOG2E), LOG2E);
        let wide = natural.width() + constant.width();
        let product = natural.sext(wide).mul(&constant).slice(0, wide).named("signed_product");
        let drop = LOG2E_FRACTION + NATURAL_SCORE_GUARD_BITS;
        let rounded = product.add(&W::constant(wide, (1 << (drop - 1)) & ones(wide))).named("rounded");
        [saturate(&rounded.drop_low(drop), n.score_bits() - 1)]
    }
}
unit! {
    /// The score in base 2.
    pub struct BaseTwo(BaseTwoFunction) { natural } -> { score }
}

circuit! {
    /// From query and key to the score in base 2, after the dot product's registers.
    pub struct ScoreUnit {
        ports {
            /// Clock.
            clk: Bus<In>,
            /// Query elements.
            q: Vec<Bus<In>>,
            /// Key elements.
            k: Vec<Bus<In>>,
            /// Score.
            score: Bus<Out>,
        }
        parts {
            /// The dot product, if every operation is rounded.
            dot: Vec<DotProduct>,
            /// The dot product, if fused.
            fused: Vec<FusedDot>,
            /// Natural score.
            rounded: Vec<DotToScore>,
            /// Natural score.
            exact: Vec<TotalToScore>,
            /// Score.
            base_2: BaseTwo,
        }
        config {
            d: usize,
            is_fused: usize,
        }
    }
}

impl ScoreUnit {
    /// The unit for `d` elements.
    pub fn new(n: &Arc<Numerics>, d: usize) -> Self {
        let width = n.format.width();
        let is_fused = (n.dot == Dot::Fused) as usize;
        ScoreUnit {
            tag: Tag::module("score_unit", "Score s = q . k * scale * log2(e).").dissolved(),
            unrest: Default::default(),
            clk: Bus::new(1),
            q: Bus::vector(d, width),
            k: Bus::vector(d, width),
            score: Bus::new(n.score_bits()),
            dot: (is_fused..1).map(|_| DotProduct::new(n, d)).collect(),
            fused: (0..is_fused).map(|_| FusedDot::new(n, d)).collect(),
            rounded: (is_fused..1)
                .map(|_| DotToScore::new(DotToScoreFunction { numerics: n.clone() }))
                .collect(),
            exact: (0..is_fused)
                .map(|_| TotalToScore::new(TotalToScoreFunction { numerics: n.clone() }))
                .collect(),
            base_2: BaseTwo::new(BaseTwoFunction { numerics: n.clone() }),
            d,
            is_fused,
        }
    }
}

impl Logic for ScoreUnit {
    #[hdl_gen]
    fn update(&mut self) {
        for f in 0..self.is_fused {
            self.fused[f].clk.next = self.clk.val();
            for i in 0..self.d {
                self.fused[f].q[i].next = self.q[i].val();
                self.fused[f].k[i].next = self.k[i].val();
            }
            self.exact[f].total.next = self.fused[f].total.val();
            self.exact[f].carry.next = self.fused[f].carry.val();
            self.base_2.natural.next = self.exact[f].natural.val();
        }
        for _rounded in self.is_fused..1 {
            self.dot[0].clk.next = self.clk.val();
            for i in 0..self.d {
                self.dot[0].q[i].next = self.q[i].val();
                self.dot[0].k[i].next = self.k[i].val();
            }
            self.rounded[0].dot.next = self.dot[0].dot.val();
            self.base_2.natural.next = self.rounded[0].natural.val();
        }
        self.score.next = self.base_2.score.val();
    }
}

circuit! {
    /// From query and key to the score in the format: the variants that follow the paper to the letter.
    pub struct FormatScoreUnit {
        ports {
            /// Clock.
            clk: Bus<In>,
            /// Query elements.
            q: Vec<Bus<In>>,
            /// Key elements.
            k: Vec<Bus<In>>,
            /// Score.
            score: Bus<Out>,
        }
        parts {
            /// The dot product.
            dot: DotProduct,
            /// Its power of two.
            scale: ScoreScale,
        }
        config {
            d: usize,
        }
    }
}

impl FormatScoreUnit {
    /// The unit for `d` elements.
    pub fn new(n: &Arc<Numerics>, d: usize) -> Self {
        let width = n.format.width();
        FormatScoreUnit {
            tag: Tag::module("format_score_unit", "Score s = q . k * scale in the format.").dissolved(),
            unrest: Default::default(),
            clk: Bus::new(1),
            q: Bus::vector(d, width),
            k: Bus::vector(d, width),
            score: Bus::new(width),
            dot: DotProduct::new(n, d),
            scale: ScoreScale::new(ScoreScaleFunction { numerics: n.clone() }),
            d,
        }
    }
}

impl Logic for FormatScoreUnit {
    #[hdl_gen]
    fn update(&mut self) {
        self.dot.clk.next = self.clk.val();
        for i in 0..self.d {
            self.dot.q[i].next = self.q[i].val();
            self.dot.k[i].next = self.k[i].val();
        }
        self.scale.dot.next = self.dot.dot.val();
        self.score.next = self.scale.score.val();
    }
}
