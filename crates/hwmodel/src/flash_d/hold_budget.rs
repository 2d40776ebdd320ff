//! The hold rule with a budget: the threshold follows the rest of the budget.
//!
//! [`BudgetNumerics`] defines the rule and its letters. The state is the rest, `r = 2^R - h`. A charge is a
//! power of two, so it fits if it is c places below the leading one of r. With z zeros above that one:
//!
//! ```text
//! hold  <=>  -F - 1 >= b + c + z   and   r >= 2^c
//! ```
//!
//! `-F - 1` is the complement of `F = floor(x)`. A second register holds the right side, `b + c + z`.

use crate::attention::partial::{restore_ports, restored_as};
use crate::function;
use crate::rtl::{Module, Tag, Wire, unsigned};
use crate::word::{Word, bits_for, ones};
use flashd_spec::numerics::{BudgetNumerics, Numerics};
use std::sync::Arc;

/// The limit `b + c + z` that `-floor(x) - 1` has to reach when `room` is left, and whether the rule is closed: `room < 2^c`.
pub(crate) fn limits<W: Word>(budget: &BudgetNumerics, room: &W) -> (W, W) {
    let bits = budget.limit_bits();
    let (_, zeros) = room.normalise();
    let zeros = zeros.named("leading_zeros");
    let limit = W::constant(bits, (budget.exponent + budget.reserve).into()).add(&zeros.zext(bits));
    (limit, room.drop_low(budget.reserve).any().not())
}

/// Width of `room`, the rest of the budget; 1 without a budget.
pub(crate) fn room_bits(n: &Numerics) -> u32 {
    n.budget.as_ref().map_or(1, BudgetNumerics::room_bits)
}

/// Width of the limit; 1 without a budget.
pub(crate) fn limit_bits(n: &Numerics) -> u32 {
    n.budget.as_ref().map_or(1, BudgetNumerics::limit_bits)
}

function! {
    /// Whether a key is too heavy for the budget, and the rest of the budget after it.
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
        // Negative where x >= 0, and so always below the limit.
        let below = floor.not().named("below");
        let near = below.slt(&limit.zext(below.width())).named("near");
        let above = closed.or(&near).named("too_heavy");
        let all = W::constant(register + 1, 1 << register);
        let negative = floor.msb().named("negative");
        // F or -F - 1.
        let places = floor.slice(0, floor.width() - 1);
        let places = places.xor(&negative.repeat(places.width())).named("places");

        // Kept: F < 0: h / 2^(-F - 1) / 4. F >= 0: (h - 1) / 2^max(1, F), one less than h / 2^max(1, F) rounded up.
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

        // Held: the charge is 2^(R - c) / 2^(-F - 1 - b - c), at least one unit.
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

/// The budget's registers at the weight stage. They hold the rest before the key whose x is there, until the next key replaces both.
///
/// `step` gives by port name: `x`; `first`, the key is a query's first; `replaced`, the next clock edge replaces x. `restore`, with partial
/// results: the step is a restore, and the room that it brings.
///
/// Returns whether the key is kept (a first key always is, and is not covered here) and, with partial results, the rest after it.
pub fn hold_budget(
    around: &mut Module,
    n: &Arc<Numerics>,
    budget: BudgetNumerics,
    step: [(&str, Wire); 3],
    restore: Option<(Wire, Wire)>,
) -> (Wire, Option<Wire>) {
    let tag = Tag::module(
        "hold_budget",
        "What may still be held: a bound of what was held, relative to what was kept, stays below the budget.",
    );
    around.part("budget", tag.dissolved(), |m| {
        m.clock();
        let [x, first, replaced] = m.input_each(step);
        let restore = restore_ports(m, "room_in", restore);

        let [room, limit, closed] =
            [("room_q", budget.room_bits()), ("limit_q", budget.limit_bits()), ("closed_q", 1)]
                .map(|(name, bits)| m.state_if(name, bits, replaced));
        let function = BudgetNextFunction { numerics: n.clone(), budget };
        let [above, mut room_next, mut limit_next, mut closed_next] =
            m.call("next", function, [x, room, limit, closed, first]);
        m.number_each(&[room, room_next], unsigned(budget.register));
        m.number_each(&[limit, limit_next], unsigned(0));
        let mut room_out = None;
        if let Some((restore, room_in)) = restore {
            let [limit_in, closed_in] =
                m.call("limits", BudgetRestoreFunction { numerics: n.clone() }, [room_in]);
            room_next = restored_as(m, "room", room_next, Some((restore, room_in)));
            limit_next = restored_as(m, "limit", limit_next, Some((restore, limit_in)));
            closed_next = restored_as(m, "closed", closed_next, Some((restore, closed_in)));
            room_out = Some(m.output("room_out", room_next));
        }
        m.next_all(&[room, limit, closed], &[room_next, limit_next, closed_next]);
        (m.output("above", above), room_out)
    })
}

function! {
    /// Limit and closed flag of a restored room.
    pub struct BudgetRestoreFunction { numerics: Arc<Numerics> }
    name(this) = "budget_restore";
    doc = "The registers beside a room that was taken over: limit = base + leading zeros of room, closed = room < least.";
    inputs { room: room_bits(&this.numerics) }
    outputs { limit: limit_bits(&this.numerics), closed: 1 }
    eval<W> {
        match &this.numerics.budget {
            Some(budget) => {
                let (limit, closed) = limits(budget, &room);
                [limit, closed]
            }
            None => [W::zero(1), W::zero(1)],
        }
    }
}
