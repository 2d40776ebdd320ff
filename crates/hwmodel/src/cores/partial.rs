//! Partial results: a core that starts from one and hands one out, so that keys can come in tiles.
//!
//! A partial result enters as the first step of a query, in place of a key ([`CoreConfig::partial`]): it is to the
//! recurrence what a first key is, whose score is the log-sum-exp L (FA2: the maximum m, with a sum l that is not 1) and
//! whose value is the accumulator. So nothing has to wait between queries, and nothing but multiplexers before the
//! registers of the state is added.
//!
//! FLASH-D's weight unit keeps `x = s - L` and the score s. From `s = min`, the smallest score, and `x = min - L`, which is
//! never above 0, the next x is `s' - min + x = s' - L`, bit for bit that of a core that never stopped: L enters the next
//! x by the same sum.
//!
//! [`CoreConfig::partial`]: crate::config::CoreConfig::partial

use crate::numerics::Numerics;
use crate::{function, unit};
use std::sync::Arc;

function! {
    /// Whether a step is a partial result.
    pub struct StateStepFunction {}
    name(this) = "state_step";
    doc = "y = x and state.";
    inputs { x: 1, state: 1 }
    outputs { y: 1 }
    eval<W> { [x.and(&state)] }
}
unit! {
    /// Whether a step is a partial result.
    pub struct StateStep(StateStepFunction) { x, state } -> { y }
}

function! {
    /// A register's next contents, or those of a partial result.
    pub struct RestoreFunction { width: u32 }
    name(this) = format!("restore_{}", this.width);
    doc = "y = restore ? state : x.";
    inputs { x: this.width, state: this.width, restore: 1 }
    outputs { y: this.width }
    eval<W> { [restore.select(&state, &x)] }
}
unit! {
    /// A register's next contents, or those of a partial result.
    pub struct Restore(RestoreFunction) { x, state, restore } -> { y }
}

/// [`Restore`] for as many registers as a core with or without partial results has.
pub fn restores(n: &Numerics, width: u32) -> Vec<Restore> {
    (0..n.partial as usize).map(|_| Restore::new(RestoreFunction { width })).collect()
}

function! {
    /// FLASH-D's state after a log-sum-exp was taken over.
    pub struct LseRestoreFunction { numerics: Arc<Numerics> }
    name(this) = "lse_restore";
    doc = "From a log-sum-exp L: x = min - L beside the score min, the smallest there is.";
    inputs {
        x: this.numerics.state_bits() + 1, score: this.numerics.score_bits(), lse: this.numerics.state_bits(), restore: 1
    }
    outputs { x_next: this.numerics.state_bits() + 1, score_next: this.numerics.score_bits() }
    eval<W> {
        let n = &this.numerics;
        let least = W::constant(n.score_bits(), 1 << (n.score_bits() - 1));
        let wide = n.state_bits() + 1;
        let aligned = least.append_zeros(n.state_fraction - n.score_fraction).sext(wide);
        let below = aligned.sub(&lse.sext(wide)).named("least_less_lse");
        [restore.select(&below, &x), restore.select(&least, &score)]
    }
}
unit! {
    /// FLASH-D's state after a log-sum-exp was taken over.
    pub struct LseRestore(LseRestoreFunction) { x, score, lse, restore } -> { x_next, score_next }
}

function! {
    /// The log-sum-exp of the keys so far.
    pub struct LogSumExpFunction { numerics: Arc<Numerics> }
    name(this) = "log_sum_exp";
    doc = "L = score - min(x, 0) + (grows ? tail : 0), rounded half up: what the next x is relative to.";
    inputs {
        score: this.numerics.score_bits(), x: this.numerics.state_bits() + 1, tail: this.numerics.state_fraction + 2,
        grows: 1
    }
    outputs { lse: this.numerics.state_bits() }
    eval<W> {
        let n = &this.numerics;
        let wide = n.state_bits() + 1;
        let negative_x = x.msb().repeat(wide).and(&x).named("negative_x");
        let aligned = score.append_zeros(n.state_fraction - n.score_fraction).sext(wide);
        let larger = aligned.sub(&negative_x).named("larger");
        // floor((gain + 1) / 2): gain has one bit more than L.
        let gain = grows.repeat(tail.width()).and(&tail).zext(tail.width() + 1).named("gain");
        let rounded = gain.add(&W::constant(gain.width(), 1)).drop_low(1).named("rounded_gain");
        [larger.add(&rounded.zext(wide)).slice(0, n.state_bits())]
    }
}
unit! {
    /// The log-sum-exp of the keys so far.
    pub struct LogSumExp(LogSumExpFunction) { score, x, tail, grows } -> { lse }
}

function! {
    /// The hold rule's registers for what is left of its budget.
    pub struct BudgetRestoreFunction { numerics: Arc<Numerics> }
    name(this) = "budget_restore";
    doc = "The registers beside a room that was taken over: limit = base + leading zeros of room, closed = room < least.";
    inputs { room: super::hold_budget::room_bits(&this.numerics) }
    outputs { limit: super::hold_budget::limit_bits(&this.numerics), closed: 1 }
    eval<W> {
        match &this.numerics.budget {
            Some(budget) => {
                let (limit, closed) = super::hold_budget::limits(budget, &room);
                [limit, closed]
            }
            None => [W::zero(1), W::zero(1)],
        }
    }
}
unit! {
    /// The hold rule's registers for what is left of its budget.
    pub struct BudgetRestore(BudgetRestoreFunction) { room } -> { limit, closed }
}
