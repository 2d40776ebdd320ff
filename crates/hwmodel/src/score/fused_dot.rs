//! The fused dot product: products rounded once, to a common fixed-point position, and integer adders.
//!
//! ```text
//!  product  1x.xxxx          significands multiplied
//!  term     s ii..i . ff..f | g       shifted to the common position; the guard bit rounds
//! ```
//!
//! A term is kept as a one's complement `x` and a carry `c`; its value is `x + c`. Negation and rounding then need no
//! adder of their own, because every adder of the tree has a free carry input.

use super::plural;
use super::term_sum::TermSum;
use crate::arith::{canonical, unpack};
use crate::attention::delay::delay;
use crate::attention::schedule::FrontSchedule;
use crate::function;
use crate::rtl::{Module, Name, Tag, Wire};
use crate::word::{bits_for, ones};
use flashd_spec::config::Dot;
use flashd_spec::numerics::Numerics;
use std::sync::Arc;

function! {
    /// One term of the fused dot product.
    pub struct TermFunction { numerics: Arc<Numerics> }
    name(this) = format!("{}_{}term", pair_ident(&this.numerics), if this.numerics.is_exact() { "exact_" } else { "" });
    doc = {
        let n = &this.numerics;
        if n.is_exact() {
            return "x + c = a * b; a from the query register, b from the key port.".into();
        }
        format!(
            "x + c = a * b * 2^{} rounded to an integer, half away from zero, |x + c| <= 2^{};\na from the query register, b from the key port; Inf and NaN count as 0.",
            n.score_shift + n.natural_fraction() as i32 + n.dot_guard as i32, n.term_bits() - 1
        )
    };
    inputs { a: this.numerics.formats.q.width(), b: this.numerics.formats.k.width() }
    outputs { x: this.numerics.term_bits(), c: 1 }
    eval<W> {
        let n = &this.numerics;
        let (fa, fb, bits) = (n.formats.q, n.formats.k, n.term_bits() - 1);
        let ua = unpack(fa, &canonical(fa, &a).named("a_finite"), "a");
        let ub = unpack(fb, &canonical(fb, &b).named("b_finite"), "b");
        let product = ua.significand.mul(&ub.significand).named("product");
        let nonzero = ua.significand.any().and(&ub.significand.any()).named("nonzero");
        if n.is_exact() {
            let sign = ua.sign.xor(&ub.sign).named("negative");
            return [W::zero(1).concat(&product).xor(&sign.repeat(bits + 1)), sign];
        }
        let exponents = fa.exponent_bits.max(fb.exponent_bits) + 1;
        let sum = ua.exponent.zext(exponents).add(&ub.exponent.zext(exponents)).named("exponent_sum");
        // The product's last bit weighs 2^(sum - biases - fractions + scale) units. The product is placed at the top of
        // `room` bits, one of them above the largest term and one below the unit, and shifted right by `top - sum`.
        let scale = n.score_shift + (n.natural_fraction() + n.dot_guard) as i32;
        let (precisions, fractions) = (fa.precision() + fb.precision(), fa.fraction_bits + fb.fraction_bits);
        let room = (bits + 2).max(precisions);
        let top = bits as i32 + 1 + fa.bias + fb.bias + fractions as i32 - scale - precisions as i32;
        let wide = (exponents + 1).max(bits_for(top.unsigned_abs() as u64) + 1) + 1;
        let right = W::constant(wide, top as i64 as u64 & ones(wide)).sub(&sum.zext(wide)).named("right");
        let amount_bits = bits_for(room as u64).min(wide - 1);
        let far = right.slice(0, wide - 1).any_above(amount_bits);
        let placed = product.append_zeros(room - product.width());
        let shifted = placed.shr(&right.slice(0, amount_bits)).named("shifted");
        let inside = far.or(&right.msb()).not().named("in_range");
        let kept = shifted.top(bits + 2).and(&inside.repeat(bits + 2)).named("kept");
        let too_large = right.msb().and(&nonzero).or(&kept.msb()).named("too_large");
        let magnitude = too_large.repeat(bits).or(&kept.slice(1, bits)).named("magnitude");
        let sign = ua.sign.xor(&ub.sign).and(&nonzero).named("negative");
        let x = W::zero(1).concat(&magnitude).xor(&sign.repeat(bits + 1));
        [x, kept.bit(0).and(&too_large.not()).xor(&sign)]
    }
}

/// The formats of q and k, for names of modules.
fn pair_ident(n: &Numerics) -> String {
    n.formats.q.ident_with("", n.formats.k)
}

/// A sum whose last carry is not yet added: its value is `total + carry`.
pub struct CarrySum {
    /// The sum without the last carry, signed.
    pub total: Wire,
    /// The last carry, one bit.
    pub carry: Wire,
}

/// The sum of the products of `q` and `k`, with elements of any encoding: terms and the tree that adds them.
pub fn fused_dot(
    around: &mut Module,
    name: impl Into<Name>,
    n: &Arc<Numerics>,
    q: &[Wire],
    k: &[Wire],
) -> CarrySum {
    let d = q.len();
    let tag = Tag::module(
        format!("{}_fused_dot_product_{d}", pair_ident(n)),
        format!("total + carry = sum of q[i] * k[i], d = {d}, every product rounded to fixed point."),
    );
    let schedule = FrontSchedule::new(Dot::Fused, n.tree_levels);
    around.part(name, tag, |m| {
        m.clock();
        let (q, k) = (m.inputs("q", q), m.inputs("k", k));
        let (mut x, mut c) = (Vec::new(), Vec::new());
        for (i, (&q, &k)) in q.iter().zip(&k).enumerate() {
            let [term, carry] = m.call(("term", i), TermFunction { numerics: n.clone() }, [q, k]);
            x.push(term);
            c.push(carry);
        }
        if schedule.after_products {
            x = m.registers("x_q", &x);
            c = m.registers("c_q", &c);
        }
        // The first stage stays in the dot product's module.
        let sum = term_tree(m, "tree", &x, &c, &schedule.stages(), false);
        let total = delay(m, "late_total", sum.total, schedule.delays);
        let carry = delay(m, "late_carry", sum.carry, schedule.delays);
        CarrySum { total: m.output("total", total), carry: m.output("carry", carry) }
    })
}

/// Adds two terms `x + c` or more: each stage adds neighbours, two or four at a time. Builds one stage, and calls
/// itself for the sums.
///
/// `stages` gives for each stage its number of levels and whether its sums are registered. `own_module`: this stage is
/// a module.
fn term_tree(
    around: &mut Module,
    name: &str,
    x: &[Wire],
    c: &[Wire],
    stages: &[(u32, bool)],
    own_module: bool,
) -> CarrySum {
    let (inputs, width) = (x.len(), x[0].width());
    let (levels, is_registered) = stages[0];
    let (radix, grown) = (1 << levels, width + levels);
    let cycles = stages.iter().filter(|(_, registered)| *registered).count();
    let tag = Tag::module(
        format!("term_tree_{inputs}_{width}"),
        format!("y + carry = sum of {inputs} terms x + c, {cycles} cycle{} later.", plural(cycles)),
    );
    let tag = if own_module { tag } else { tag.dissolved() };
    around.part((name, 0), tag, |m| {
        m.clock();
        let (x, c) = (m.inputs("x", x), m.inputs("c", c));
        let (mut sums, mut carries) = (Vec::new(), Vec::new());
        for (i, (x, c)) in x.chunks(radix).zip(c.chunks(radix)).enumerate() {
            // The last sum may have fewer terms.
            let name: Name = if x.len() == radix { ("sum", i).into() } else { ("last", 0).into() };
            let sum = m.leaf(name, TermSum::new(x.len(), width, grown), &[x, c].concat());
            sums.push(sum[0]);
            carries.push(sum[1]);
        }
        if is_registered {
            sums = m.registers("sum_q", &sums);
            carries = m.registers("carry_q", &carries);
        }
        let sum = match (&sums[..], &carries[..]) {
            (&[total], &[carry]) => CarrySum { total, carry },
            _ => term_tree(m, "rest", &sums, &carries, &stages[1..], true),
        };
        CarrySum { total: m.output("y", sum.total), carry: m.output("carry", sum.carry) }
    })
}
