//! The fused dot product: products rounded once, to a common fixed-point position; integer adders.
//!
//! ```text
//!  product  1x.xxxx          significands multiplied
//!  term     s ii..i . ff..f | g       shifted to the common position; the guard bit rounds
//! ```
//!
//! A term is kept as one's complement `x` and a carry `c`, its value being `x + c`: the sign and the guard bit
//! cost no adder of their own, because every adder of the tree has a free carry input.

use super::delay::Delay;
use super::plural;
use super::schedule::FrontSchedule;
use super::term_sum::TermSum;
use crate::arith::{canonical, unpack};
use crate::config::Dot;
use crate::numerics::Numerics;
use crate::rtl::{Bus, In, Logic, Out, Register, Tag, ast, hdl_gen, logic};
use crate::word::{bits_for, ones};
use crate::{circuit, function, unit};
use std::sync::Arc;

function! {
    /// One term of the fused dot product.
    pub struct TermFunction { numerics: Arc<Numerics> }
    name(this) = format!("{}_term", this.numerics.format.ident());
    doc = {
        let n = &this.numerics;
        format!(
            "x + c = a * b * 2^{} rounded to an integer, half away from zero, |x + c| <= 2^{};\na from the query register, b from the key port; Inf and NaN count as 0.",
            n.score_shift + n.natural_fraction() as i32 + n.dot_guard as i32, n.term_bits() - 1
        )
    };
    inputs { a: this.numerics.format.width(), b: this.numerics.format.width() }
    outputs { x: this.numerics.term_bits(), c: 1 }
    eval<W> {
        let n = &this.numerics;
        let (f, bits) = (n.format, n.term_bits() - 1);
        let ua = unpack(f, &canonical(f, &a).named("a_finite"), "a");
        let ub = unpack(f, &canonical(f, &b).named("b_finite"), "b");
        let product = ua.significand.mul(&ub.significand).named("product");
        let nonzero = ua.significand.any().and(&ub.significand.any()).named("nonzero");
        let exponents = f.exponent_bits + 1;
        let sum = ua.exponent.zext(exponents).add(&ub.exponent.zext(exponents)).named("exponent_sum");
        // The product's last bit weighs 2^(sum - 2 bias - 2F + scale) units. Placed at the top of `room` bits, of
        // which one lies above the largest term and one below the unit, it has to go right by `top - sum`.
        let scale = n.score_shift + (n.natural_fraction() + n.dot_guard) as i32;
        let room = (bits + 2).max(2 * f.precision());
        let top = bits as i32 + 1 + 2 * f.bias + 2 * f.fraction_bits as i32 - scale - 2 * f.precision() as i32;
        let wide = (exponents + 1).max(bits_for(top.unsigned_abs() as u64) + 1) + 1;
        let right = W::constant(wide, top as i64 as u64 & ones(wide)).sub(&sum.zext(wide)).named("right");
        let amount_bits = bits_for(room as u64).min(wide - 1);
        let far = match wide - 1 - amount_bits {
            0 => W::zero(1),
            rest => right.slice(amount_bits, rest).any(),
        };
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
unit! {
    /// One term of the fused dot product.
    pub struct Term(TermFunction) { a, b } -> { x, c }
}

circuit! {
    /// `d` terms and the tree that adds them.
    pub struct FusedDot {
        ports {
            /// Clock.
            clk: Bus<In>,
            /// Query elements, any encoding.
            q: Vec<Bus<In>>,
            /// Key elements, any encoding.
            k: Vec<Bus<In>>,
            /// The sum, but for the last carry.
            total: Bus<Out>,
            /// That carry.
            carry: Bus<Out>,
        }
        parts {
            /// `q[i] k[i]`.
            term: Vec<Term>,
            /// Terms, registered (all or none).
            x_q: Vec<Register>,
            /// Their carries.
            c_q: Vec<Register>,
            /// The adder tree (one).
            tree: Vec<TermTree>,
            /// Delay of the total.
            late_total: Delay,
            /// Delay of its carry.
            late_carry: Delay,
        }
        config {
            d: usize,
            registered: usize,
        }
    }
}

impl FusedDot {
    /// A dot product of `d` elements.
    pub fn new(n: &Arc<Numerics>, d: usize) -> Self {
        let width = n.format.width();
        let schedule = FrontSchedule::new(Dot::Fused, n.tree_levels);
        let registered = if schedule.after_products { d } else { 0 };
        let tree = TermTree::new(n.term_bits(), d, &schedule.stages());
        let total = n.term_bits() + n.tree_levels;
        FusedDot {
            tag: Tag::module(
                format!("{}_fused_dot_product_{d}", n.format.ident()),
                format!("total + carry = sum of q[i] * k[i], d = {d}, every product rounded to fixed point."),
            ),
            unrest: Default::default(),
            clk: Bus::new(1),
            q: Bus::vector(d, width),
            k: Bus::vector(d, width),
            total: Bus::new(total),
            carry: Bus::new(1),
            term: (0..d).map(|_| Term::new(TermFunction { numerics: n.clone() })).collect(),
            x_q: (0..registered).map(|_| Register::new(n.term_bits())).collect(),
            c_q: (0..registered).map(|_| Register::new(1)).collect(),
            // The first stage is a part of the dot product's own module.
            tree: vec![TermTree { tag: tree.tag.clone().dissolved(), ..tree }],
            late_total: Delay::new(total, schedule.delays),
            late_carry: Delay::new(1, schedule.delays),
            d,
            registered,
        }
    }
}

impl Logic for FusedDot {
    #[hdl_gen]
    fn update(&mut self) {
        for i in 0..self.d {
            self.term[i].a.next = self.q[i].val();
            self.term[i].b.next = self.k[i].val();
        }
        for i in 0..self.registered {
            self.x_q[i].clk.next = self.clk.val();
            self.x_q[i].d.next = self.term[i].x.val();
            self.c_q[i].clk.next = self.clk.val();
            self.c_q[i].d.next = self.term[i].c.val();
            self.tree[0].x[i].next = self.x_q[i].q.val();
            self.tree[0].c[i].next = self.c_q[i].q.val();
        }
        for i in self.registered..self.d {
            self.tree[0].x[i].next = self.term[i].x.val();
            self.tree[0].c[i].next = self.term[i].c.val();
        }
        self.tree[0].clk.next = self.clk.val();
        self.late_total.clk.next = self.clk.val();
        self.late_total.x.next = self.tree[0].y.val();
        self.total.next = self.late_total.y.val();
        self.late_carry.clk.next = self.clk.val();
        self.late_carry.x.next = self.tree[0].carry.val();
        self.carry.next = self.late_carry.y.val();
    }
}

circuit! {
    /// Adds `n` terms: each stage adds neighbours, two or four at a time. Nested: one stage and the tree for its
    /// results.
    pub struct TermTree {
        ports {
            /// Clock.
            clk: Bus<In>,
            /// The terms.
            x: Vec<Bus<In>>,
            /// Their carries.
            c: Vec<Bus<In>>,
            /// The sum, but for one carry.
            y: Bus<Out>,
            /// That carry.
            carry: Bus<Out>,
        }
        parts {
            /// Sums of neighbours.
            sum: Vec<TermSum>,
            /// A last sum of fewer terms (none or one).
            last: Vec<TermSum>,
            /// Sums of this stage, registered (all or none).
            sum_q: Vec<Register>,
            /// The carries left over, registered.
            carry_q: Vec<Register>,
            /// The tree over this stage's results, if more than one.
            rest: Vec<TermTree>,
        }
        config {
            radix: usize,
            whole: usize,
            last_terms: usize,
            outputs: usize,
            registered_whole: usize,
            registered: usize,
            deeper: usize,
        }
    }
}

impl TermTree {
    /// A tree for `inputs >= 2` terms of `width` bits; `stages` gives for each stage its levels and whether its
    /// sums are registered.
    pub fn new(width: u32, inputs: usize, stages: &[(u32, bool)]) -> Self {
        let (levels, is_registered) = stages[0];
        let radix = 1 << levels;
        let (whole, last_terms, outputs) = (inputs / radix, inputs % radix, inputs.div_ceil(radix));
        let grown = width + levels;
        let rest: Vec<TermTree> = match outputs {
            1 => vec![],
            _ => vec![TermTree::new(grown, outputs, &stages[1..])],
        };
        let registered = if is_registered { outputs } else { 0 };
        let cycles = stages.iter().filter(|(_, registered)| *registered).count();
        let total: u32 = stages.iter().map(|(levels, _)| levels).sum();
        TermTree {
            tag: Tag::module(
                format!("term_tree_{inputs}_{width}"),
                format!("y + carry = sum of {inputs} terms x + c, {cycles} cycle{} later.", plural(cycles)),
            ),
            unrest: Default::default(),
            clk: Bus::new(1),
            x: Bus::vector(inputs, width),
            c: Bus::vector(inputs, 1),
            y: Bus::new(width + total),
            carry: Bus::new(1),
            sum: (0..whole).map(|_| TermSum::new(radix, width, grown)).collect(),
            last: (0..last_terms.min(1)).map(|_| TermSum::new(last_terms, width, grown)).collect(),
            sum_q: (0..registered).map(|_| Register::new(grown)).collect(),
            carry_q: (0..registered).map(|_| Register::new(1)).collect(),
            deeper: rest.len(),
            rest,
            radix,
            whole,
            last_terms,
            outputs,
            registered_whole: registered.min(whole),
            registered,
        }
    }
}

impl Logic for TermTree {
    #[hdl_gen]
    fn update(&mut self) {
        for r in self.radix..(self.radix + 1) {
            for i in 0..self.whole {
                for j in 0..self.radix {
                    self.sum[i].x[j].next = self.x[r * i + j].val();
                    self.sum[i].c[j].next = self.c[r * i + j].val();
                }
            }
            for i in self.whole..self.outputs {
                for j in 0..self.last_terms {
                    self.last[0].x[j].next = self.x[r * i + j].val();
                    self.last[0].c[j].next = self.c[r * i + j].val();
                }
            }
        }
        for i in 0..self.registered {
            self.sum_q[i].clk.next = self.clk.val();
            self.carry_q[i].clk.next = self.clk.val();
        }
        for i in 0..self.registered_whole {
            self.sum_q[i].d.next = self.sum[i].y.val();
            self.carry_q[i].d.next = self.sum[i].carry.val();
        }
        for i in self.registered_whole..self.registered {
            self.sum_q[i].d.next = self.last[0].y.val();
            self.carry_q[i].d.next = self.last[0].carry.val();
        }
        for r in 0..self.deeper {
            self.rest[r].clk.next = self.clk.val();
            for i in 0..self.registered {
                self.rest[r].x[i].next = self.sum_q[i].q.val();
                self.rest[r].c[i].next = self.carry_q[i].q.val();
            }
            self.y.next = self.rest[r].y.val();
            self.carry.next = self.rest[r].carry.val();
        }
        for i in self.deeper..1 {
            for _r in 0..self.registered {
                self.y.next = self.sum_q[i].q.val();
                self.carry.next = self.carry_q[i].q.val();
            }
            for _unregistered in self.registered..1 {
                for w in 0..self.whole {
                    self.y.next = self.sum[w].y.val();
                    self.carry.next = self.sum[w].carry.val();
                }
                for _w in self.whole..1 {
                    self.y.next = self.last[0].y.val();
                    self.carry.next = self.last[0].carry.val();
                }
            }
        }
    }
}
