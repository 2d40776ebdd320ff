//! The fused dot product: products rounded once, to a common fixed-point position, and integer adders.
//!
//! ```text
//!  product  1x.xxxx          significands multiplied
//!  term     s ii..i . ff..f | g       shifted to the common position; the guard bit rounds
//! ```
//!
//! Terms have room for products far beyond the range of scores ([`Numerics::term_bits`]), so that products that cancel do not
//! saturate: only their sum does. A product that is larger still raises `oversize`, and then the score saturates.
//!
//! A term is kept as a one's complement `x` and a carry `c`; its value is `x + c`. Negation and rounding then need no
//! separate adder, because every adder of the tree has a free carry input.

use super::term_sum::TermSum;
use super::{plural, show_sums};
use crate::arith::{canonical, unpack};
use crate::attention::any_flag::AnyFlag;
use crate::attention::delay::delay;
use crate::attention::schedule::{FrontSchedule, dot_stages};
use crate::rtl::{Module, Name, Number, Pins, Stage, Tag, VectorFunction, VectorLeaf, Wire, signed};
use crate::word::{Word, bits_for, ones};
use flashd_spec::numerics::Numerics;
use std::sync::Arc;

/// One term of the fused dot product.
pub struct TermFunction {
    /// Configuration.
    pub numerics: Arc<Numerics>,
}

impl VectorFunction for TermFunction {
    fn header(&self) -> (Tag, Vec<Pins>, Vec<Pins>) {
        let n = &self.numerics;
        let exact = if n.is_exact() { "exact_" } else { "" };
        let bits = n.term_bits() - 1;
        let doc = match n.is_exact() {
            true => "x + c = a * b; a from the query register, b from the key port.".into(),
            false => format!(
                "x + c = a * b * 2^{} rounded to an integer, half away from zero, |x + c| <= 2^{bits};\na from the query register, b from the key port; Inf and NaN count as 0.{}",
                n.term_shift(),
                match n.term_spare() {
                    0 => String::new(),
                    _ => format!(
                        "\noversize: the product does not fit; |x + c| is then at least 2^{}.",
                        bits - 1
                    ),
                }
            ),
        };
        let inputs = vec![Pins::word("a", n.formats.q.width()), Pins::word("b", n.formats.k.width())];
        let mut outputs = vec![Pins::word("x", bits + 1), Pins::word("c", 1)];
        outputs.extend((n.term_spare() > 0).then(|| Pins::word("oversize", 1)));
        (Tag::module(format!("{}_{exact}term", pair_ident(n)), doc), inputs, outputs)
    }

    fn eval<W: Word>(&self, inputs: &[Vec<W>]) -> Vec<Vec<W>> {
        let n = &self.numerics;
        let (a, b) = (&inputs[0][0], &inputs[1][0]);
        let (fa, fb, bits) = (n.formats.q, n.formats.k, n.term_bits() - 1);
        let ua = unpack(fa, &canonical(fa, a).named("a_finite"), "a");
        let ub = unpack(fb, &canonical(fb, b).named("b_finite"), "b");
        let product = ua.significand.mul(&ub.significand).named("product");
        if n.is_exact() {
            let sign = ua.sign.xor(&ub.sign).named("negative");
            return vec![vec![W::zero(1).concat(&product).xor(&sign.repeat(bits + 1))], vec![sign]];
        }
        let nonzero = ua.significand.any().and(&ub.significand.any()).named("nonzero");
        let exponents = fa.exponent_bits.max(fb.exponent_bits) + 1;
        let sum = ua.exponent.zext(exponents).add(&ub.exponent.zext(exponents)).named("exponent_sum");
        // The product is placed at the top of `room` bits, `spare` of them above the largest term and one below the unit, and
        // shifted right by `top - sum`.
        let spare = n.term_spare();
        let room = (spare + bits + 1).max(product.width());
        let top = n.term_top(spare);
        let wide = (exponents + 1).max(bits_for(top.unsigned_abs() as u64) + 1) + 1;
        let right = W::constant(wide, top as i64 as u64 & ones(wide)).sub(&sum.zext(wide)).named("right");
        let amount_bits = bits_for(room as u64).min(wide - 1);
        // A shift by the largest amount leaves nothing. With an exponent above `top` the product stays where it is placed.
        let far = right.slice(0, wide - 1).any_above(amount_bits).named("far");
        let amount = far.repeat(amount_bits).or(&right.slice(0, amount_bits));
        let amount = right.msb().not().repeat(amount_bits).and(&amount).named("amount");
        let placed = product.append_zeros(room - product.width());
        let kept = placed.shr(&amount).named("shifted").top(spare + bits + 1);
        let sign = ua.sign.xor(&ub.sign).and(&nonzero).named("negative");
        let coded = |magnitude: &W| vec![W::zero(1).concat(magnitude).xor(&sign.repeat(bits + 1))];
        let carry = vec![kept.bit(0).xor(&sign)];
        if spare == 0 {
            return vec![coded(&kept.slice(1, bits)), carry];
        }
        let above = kept.any_above(bits + 1);
        let large = right.msb().and(&nonzero).or(&above).named("too_large");
        // Keeps the sign of the sum that of its largest products.
        let highest = kept.bit(bits).or(&large);
        let magnitude = highest.concat(&kept.slice(1, bits - 1)).named("magnitude");
        vec![coded(&magnitude), carry, vec![large]]
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
    /// Some product is too large for its term; absent in formats that have no such products.
    pub large: Option<Wire>,
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
    let schedule = FrontSchedule::new(false, n.tree_levels);
    around.part(name, tag, |m| {
        m.clock();
        let (q, k) = (m.inputs("q", q), m.inputs("k", k));
        let (mut x, mut c, mut large) = (Vec::new(), Vec::new(), Vec::new());
        let operands = q.iter().zip(&k).map(|(&q, &k)| [q, k]);
        for term in m.leaf_each("term", VectorLeaf::new(TermFunction { numerics: n.clone() }), operands) {
            x.push(term[0]);
            c.push(term[1]);
            large.extend(term.get(2));
        }
        m.stage(Stage::QueryAndKey);
        m.signals(&x, term_number(n), "q[#] k[#] scale");
        let any = AnyFlag { count: large.len(), doc: "Some product of the dot product is too large." };
        let large = (!large.is_empty()).then(|| m.leaf("any_oversize", any, &large)[0]);
        let large = large.map(|large| delay(m, "late_oversize", large, dot_stages(n.tree_levels) as usize));
        if schedule.after_products {
            x = m.registers("x_q", &x);
            c = m.registers("c_q", &c);
        }
        // The first stage stays in the dot product's module.
        let at = [schedule.after_products.into(), 0];
        let (total, carry) = term_tree(m, "tree", term_number(n), [&x, &c], &schedule.stages(), false, at);
        let total = delay(m, "late_total", total, schedule.delays);
        let carry = delay(m, "late_carry", carry, schedule.delays);
        CarrySum {
            total: m.output("total", total),
            carry: m.output("carry", carry),
            large: m.optional_output("oversize", large),
        }
    })
}

/// The format of a term or of a sum of terms.
fn term_number(n: &Numerics) -> Number {
    signed(if n.is_exact() { 0 } else { n.natural_fraction() + n.dot_guard })
}

/// Adds two terms `x + c` or more: each stage adds neighbours, two or four at a time. Builds one stage, and calls
/// itself for the sums.
///
/// `stages` gives for each stage its number of levels and whether its sums are registered. `own_module`: this stage is
/// a module. `number` is the format of `x`; the last argument gives the numbers of its stage and of the level before.
fn term_tree(
    around: &mut Module,
    name: &str,
    number: Number,
    [x, c]: [&[Wire]; 2],
    stages: &[(u32, bool)],
    own_module: bool,
    [stage, level]: [usize; 2],
) -> (Wire, Wire) {
    let (inputs, width) = (x.len(), x[0].width());
    let (levels, is_registered) = stages[0];
    let (radix, grown) = (1 << levels, width + levels);
    let cycles = stages.iter().filter(|(_, registered)| *registered).count();
    let tag = Tag::module(
        format!("term_tree_{inputs}_{width}"),
        format!("y + carry = sum of {inputs} terms x + c, {cycles} cycle{} later.", plural(cycles)),
    );
    let tag = if own_module { tag } else { tag.dissolved() };
    around.part(name, tag, |m| {
        m.clock();
        let (x, c) = (m.inputs("x", x), m.inputs("c", c));
        let terms: Vec<Vec<Wire>> =
            x.chunks(radix).zip(c.chunks(radix)).map(|terms| [terms.0, terms.1].concat()).collect();
        // The last sum may have fewer terms.
        let (full, last) = terms.split_at(inputs / radix);
        let mut added = m.leaf_each("sum", TermSum::new(radix, width, grown), full);
        let last = last.iter().map(|x| m.leaf("last", TermSum::new(inputs % radix, width, grown), x));
        added.extend(last);
        let [mut sums, mut carries] = [0, 1].map(|i| added.iter().map(|sum| sum[i]).collect::<Vec<Wire>>());
        let at = [stage, level + levels as usize];
        show_sums(m, &sums[..inputs / radix], number, at);
        m.number_each(&sums, number);
        if is_registered {
            sums = m.registers("sum_q", &sums);
            carries = m.registers("carry_q", &carries);
        }
        let (total, carry) = match (&sums[..], &carries[..]) {
            (&[total], &[carry]) => (total, carry),
            _ => {
                let at = [stage + usize::from(is_registered), at[1]];
                term_tree(m, "rest", number, [&sums, &carries], &stages[1..], true, at)
            }
        };
        (m.output("y", total), m.output("carry", carry))
    })
}
