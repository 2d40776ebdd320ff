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
//! [`CoreConfig::partial`]: flashd_spec::config::CoreConfig::partial

use crate::function;
use crate::rtl::{Module, Wire};
use flashd_spec::numerics::Numerics;
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

function! {
    /// A register's next contents, or those of a partial result.
    pub struct RestoreFunction { width: u32 }
    name(this) = format!("restore_{}", this.width);
    doc = "y = restore ? state : x.";
    inputs { x: this.width, state: this.width, restore: 1 }
    outputs { y: this.width }
    eval<W> { [restore.select(&state, &x)] }
}

/// The ports of a part by which a register takes a partial result over: a flag, and its own contents.
pub fn restore_ports(m: &mut Module, name: &str, restore: Option<(Wire, Wire)>) -> Option<(Wire, Wire)> {
    restore.map(|(restore, state)| (m.inputs("restore", &[restore])[0], m.inputs(name, &[state])[0]))
}

/// A register's next contents; where a partial result can take their place, a flag that it does, and its own.
pub fn restored(m: &mut Module, x: Wire, restore: Option<(Wire, Wire)>) -> Wire {
    match restore {
        Some((restore, state)) => {
            m.call(("restored", 0), RestoreFunction { width: x.width() }, [x, state, restore])[0]
        }
        None => x,
    }
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

function! {
    /// The log-sum-exp of the keys so far, (8).
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
