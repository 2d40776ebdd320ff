//! Partial results: a core can start from one and output its own, so that keys can come in tiles.
//!
//! A restore is the first step of a query, in place of a key ([`CoreConfig::partial`]). To the recurrence it is a first
//! key whose score is the log-sum-exp L (FA2: the maximum m, with a sum l that is not 1) and whose value is the
//! accumulator. So queries still follow each other without a gap, and the state registers only get a multiplexer before
//! them.
//!
//! FLASH-D's weight unit keeps the score s and `x = s - L`. A restore sets s to min, the smallest score, and x to
//! `min - L`, which is never above 0. The next x is then `s' - min + x = s' - L`, because a first step adds no
//! softplus. It equals the result of a core that never stopped, bit for bit.
//!
//! [`CoreConfig::partial`]: flashd_spec::config::CoreConfig::partial

use crate::function;
use crate::rtl::{Module, Wire};
use flashd_spec::numerics::Numerics;
use std::sync::Arc;

function! {
    /// Whether a step is a restore.
    pub struct StateStepFunction {}
    name(this) = "state_step";
    doc = "y = x and state.";
    inputs { x: 1, state: 1 }
    outputs { y: 1 }
    eval<W> { [x.and(&state)] }
}

function! {
    /// The next value of a state register: the partial result's on a restore.
    pub struct RestoreFunction { width: u32 }
    name(this) = format!("restore_{}", this.width);
    doc = "y = restore ? state : x.";
    inputs { x: this.width, state: this.width, restore: 1 }
    outputs { y: this.width }
    eval<W> { [restore.select(&state, &x)] }
}

/// Declares the ports of a part through which a restore sets a state register: a flag `restore`, and the value `name`.
pub fn restore_ports(m: &mut Module, name: &str, restore: Option<(Wire, Wire)>) -> Option<(Wire, Wire)> {
    restore.map(|(restore, state)| (m.input("restore", restore), m.input(name, state)))
}

/// The next value of a state register: `x`, or on a restore the value of the partial result. `restore` is the flag and
/// that value.
pub fn restored(m: &mut Module, x: Wire, restore: Option<(Wire, Wire)>) -> Wire {
    restored_as(m, "restored", x, restore)
}

/// [`restored`] by a function of this name.
pub fn restored_as(m: &mut Module, name: &str, x: Wire, restore: Option<(Wire, Wire)>) -> Wire {
    restore.map_or(x, |(restore, state)| {
        m.call(name, RestoreFunction { width: x.width() }, [x, state, restore])[0]
    })
}

function! {
    /// The next state of FLASH-D's weight unit; a restore sets it from a log-sum-exp.
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

function! {
    /// The log-sum-exp of the keys so far, from (5): `L = s - min(x, 0) + softplus(-|x|)`, without the softplus where it
    /// does not grow.
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
        // floor((gain + 1) / 2): gain has one fraction bit more than L.
        let gain = grows.repeat(tail.width()).and(&tail).zext(tail.width() + 1).named("gain");
        let rounded = gain.add(&W::constant(gain.width(), 1)).drop_low(1).named("rounded_gain");
        [larger.add(&rounded.zext(wide)).slice(0, n.state_bits())]
    }
}
