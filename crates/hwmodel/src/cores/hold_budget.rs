//! The hold rule with a budget: FLASH-D's threshold as a register that follows what is left to be held.
//!
//! The rule, and its letters, are those of [`BudgetNumerics`]. The state is what is left, `r = 2^R - h`. As a charge is a
//! power of two, it fits if it lies c places below the leading one of r: with z zeros above that one,
//!
//! ```text
//! hold  <=>  -F - 1 >= b + c + z   and   r >= 2^c
//! ```
//!
//! `-F - 1` is the complement of the integer part of x, and the right side a register beside r.

use super::partial::{BudgetRestore, BudgetRestoreFunction, Restore, restores};
use crate::numerics::{BudgetNumerics, Numerics};
use crate::rtl::{Bus, EnabledRegister, In, Logic, Out, Tag, ast, hdl_gen, logic};
use crate::word::{Word, bits_for, ones};
use crate::{circuit, function, unit};
use std::sync::Arc;

/// What `-floor(x) - 1` has to reach with this much left, and whether less is left than any key may take.
pub(crate) fn limits<W: Word>(budget: &BudgetNumerics, room: &W) -> (W, W) {
    let bits = budget.limit_bits();
    let (_, zeros) = room.normalise();
    let zeros = zeros.named("leading_zeros");
    let limit = W::constant(bits, (budget.exponent + budget.reserve).into()).add(&zeros.zext(bits));
    (limit, room.drop_low(budget.reserve).any().not())
}

/// Width of what is left of the budget; 1 where there is none.
pub(crate) fn room_bits(n: &Numerics) -> u32 {
    n.budget.as_ref().map_or(1, BudgetNumerics::room_bits)
}

/// Width of the limit; 1 where there is none.
pub(crate) fn limit_bits(n: &Numerics) -> u32 {
    n.budget.as_ref().map_or(1, BudgetNumerics::limit_bits)
}

function! {
    /// Whether a key is too heavy for the budget, and what is left of it afterwards.
    pub struct BudgetNextFunction { numerics: Arc<Numerics>, budget: BudgetNumerics }
    name(this) = "budget_next";
    doc = {
        let BudgetNumerics { exponent: b, register: r, reserve: c } = this.budget;
        format!(
            "above = not (-floor(x) - 1 >= limit), and always when closed.\nWhat is left of 2^{r} units, a unit being 2^-{}; F = floor(x).  first: all.\nheld: room - 2^max(0, F + {}).  kept, F < 0: room + (2^{r} - room) / 2^(1 - F), rounded down.\nkept, F >= 0: 2^{r} - (2^{r} - room) / 2^max(1, F), rounded down.\nlimit_next = {} + leading zeros of room_next; closed_next = room_next < {}.",
            b + r, 1 + b + r, b + c, 1u32 << c
        )
    };
    inputs { x: this.numerics.state_bits() + 1, room: this.budget.room_bits(),
        limit: this.budget.limit_bits(), closed: 1, first: 1
    }
    outputs { above: 1, room_next: this.budget.room_bits(), limit_next: this.budget.limit_bits(), closed_next: 1 }
    eval<W> {
        let BudgetNumerics { exponent, register, reserve } = this.budget;
        let floor = x.drop_low(this.numerics.state_fraction).named("floor");
        // Negative for an x that is not: always below the limit.
        let below = floor.not().named("below");
        let near = below.slt(&limit.zext(below.width())).named("near");
        let above = closed.or(&near).named("too_heavy");
        let all = W::constant(register + 1, 1 << register);
        let negative = floor.msb().named("negative");
        // F or -F - 1.
        let places = floor.slice(0, floor.width() - 1);
        let places = places.xor(&negative.repeat(places.width())).named("places");

        // Kept: h / 2^(-F - 1) / 4, or (h - 1) / 2^F, which is one below the quotient rounded up.
        let spent = all.sub(&room).named("spent");
        let spent_less_one = room.slice(0, register).not().named("spent_less_one");
        let operand = negative.select(&spent.drop_low(2).zext(register), &spent_less_one).named("dividend");
        let count = bits_for(register.into()).min(places.width() - 1);
        let at_least_one = negative.or(&places.any()).not().zext(count);
        let amount = places.slice(0, count).or(&at_least_one).named("amount");
        let within = places.drop_low(count).any().not().repeat(register);
        let quotient = within.and(&operand).shr(&amount).named("quotient");
        let untouched = room.msb();
        let jumped = untouched.not().repeat(register).and(&quotient.not());
        let jumped = untouched.concat(&jumped).named("jumped");

        // Held: 2^(R - c) / 2^(-F - 1 - b - c), one unit at least.
        let largest = register - reserve;
        let charge_bits = bits_for(largest.into());
        let lightest = W::constant(charge_bits, u64::from(exponent + reserve) & ones(charge_bits));
        let index = places.slice(0, charge_bits).sub(&lightest).named("lighter_by");
        let tiny = places.at_least((exponent + register).into()).named("tiny");
        let charge = W::constant(largest + 1, 1 << largest).shr(&index);
        let charge = tiny.select(&W::constant(largest + 1, 1), &charge).named("charge");

        // One adder: room + quotient or room + ~charge + 1.
        let held = above.not().named("held");
        let addend = above.select(&quotient.zext(register + 1), &charge.zext(register + 1).not()).named("addend");
        let sum = room.concat(&held).add(&addend.concat(&held)).named("sum_halves").drop_low(1).named("sum");
        let next = first.select(&all, &negative.select(&sum, &jumped)).named("next");
        let (limit, closed) = limits(&this.budget, &next);
        [above, next, limit, closed]
    }
}
unit! {
    /// Whether a key is too heavy, and what is left.
    pub struct BudgetNext(BudgetNextFunction) { x, room, limit, closed, first } -> { above, room_next, limit_next, closed_next }
}

circuit! {
    /// The budget beside x. What is left before a key stays beside the key's x, until the next key replaces both.
    pub struct HoldBudget {
        ports {
            /// Clock.
            clk: Bus<In>,
            /// x at the weight stage.
            x: Bus<In>,
            /// The key at the weight stage is a first one.
            first: Bus<In>,
            /// Its x is replaced with the next clock edge.
            replaced: Bus<In>,
            /// The key is kept, but for a first one, which always is.
            above: Bus<Out>,
            /// With partial results: the step at the weight stage is one.
            restore: Vec<Bus<In>>,
            /// What it has left.
            room_in: Vec<Bus<In>>,
            /// What is left after the key at the weight stage.
            room_out: Vec<Bus<Out>>,
        }
        parts {
            /// What is left, `2^R - h`.
            room_q: EnabledRegister,
            /// What `-floor(x) - 1` has to reach.
            limit_q: EnabledRegister,
            /// Less is left than any key may take.
            closed_q: EnabledRegister,
            /// Kept or held, and what is left for the next key.
            next: BudgetNext,
            /// Registers for what a partial result has left.
            limits: Vec<BudgetRestore>,
            /// What is left, or what a partial result has.
            room: Vec<Restore>,
            /// The same of the limit.
            limit: Vec<Restore>,
            /// And of closed.
            closed: Vec<Restore>,
        }
        config {
            partials: usize,
        }
    }
}

impl HoldBudget {
    /// The unit for a budget.
    pub fn new(n: &Arc<Numerics>, budget: BudgetNumerics) -> Self {
        HoldBudget {
            tag: Tag::module(
                "hold_budget",
                "What may still be held: a bound of what was held, relative to what was kept, stays below the budget.",
            )
            .dissolved(),
            unrest: Default::default(),
            clk: Bus::new(1),
            x: Bus::new(n.state_bits() + 1),
            first: Bus::new(1),
            replaced: Bus::new(1),
            above: Bus::new(1),
            restore: Bus::vector(n.partial as usize, 1),
            room_in: Bus::vector(n.partial as usize, budget.room_bits()),
            room_out: Bus::vector(n.partial as usize, budget.room_bits()),
            room_q: EnabledRegister::new(budget.room_bits()),
            limit_q: EnabledRegister::new(budget.limit_bits()),
            closed_q: EnabledRegister::new(1),
            next: BudgetNext::new(BudgetNextFunction { numerics: n.clone(), budget }),
            limits: (0..n.partial as usize)
                .map(|_| BudgetRestore::new(BudgetRestoreFunction { numerics: n.clone() }))
                .collect(),
            room: restores(n, budget.room_bits()),
            limit: restores(n, budget.limit_bits()),
            closed: restores(n, 1),
            partials: n.partial as usize,
        }
    }
}

impl Logic for HoldBudget {
    #[hdl_gen]
    fn update(&mut self) {
        self.next.x.next = self.x.val();
        self.next.room.next = self.room_q.q.val();
        self.next.limit.next = self.limit_q.q.val();
        self.next.closed.next = self.closed_q.q.val();
        self.next.first.next = self.first.val();
        self.room_q.clk.next = self.clk.val();
        self.room_q.enable.next = self.replaced.val();
        self.limit_q.clk.next = self.clk.val();
        self.limit_q.enable.next = self.replaced.val();
        self.closed_q.clk.next = self.clk.val();
        self.closed_q.enable.next = self.replaced.val();
        for _keys in self.partials..1 {
            self.room_q.d.next = self.next.room_next.val();
            self.limit_q.d.next = self.next.limit_next.val();
            self.closed_q.d.next = self.next.closed_next.val();
        }
        for p in 0..self.partials {
            self.limits[p].room.next = self.room_in[p].val();
            self.room[p].x.next = self.next.room_next.val();
            self.room[p].state.next = self.room_in[p].val();
            self.room[p].restore.next = self.restore[p].val();
            self.limit[p].x.next = self.next.limit_next.val();
            self.limit[p].state.next = self.limits[p].limit.val();
            self.limit[p].restore.next = self.restore[p].val();
            self.closed[p].x.next = self.next.closed_next.val();
            self.closed[p].state.next = self.limits[p].closed.val();
            self.closed[p].restore.next = self.restore[p].val();
            self.room_q.d.next = self.room[p].y.val();
            self.limit_q.d.next = self.limit[p].y.val();
            self.closed_q.d.next = self.closed[p].y.val();
            self.room_out[p].next = self.room[p].y.val();
        }
        self.above.next = self.next.above.val();
    }
}
