//! States in memory: the state of no key, and a result followed by its state and the scalars of its log-sum-exp.

use super::logic::IsZeroFunction;
use crate::array::ZeroFunction;
use crate::attention::ports::CoreOutputs;
use crate::function;
use crate::rtl::{Module, Wire};
use flashd_spec::config::{CoreConfig, Design};
use flashd_spec::numerics::Numerics;

function! {
    /// Whether L is that of no key.
    pub struct LeastFunction { bits: u32 }
    name(this) = format!("least_{}", this.bits);
    doc = "Whether x is the least number in two's complement.";
    inputs { x: this.bits }
    outputs { y: 1 }
    eval<W> { [x.eq(&W::constant(this.bits, 1 << (this.bits - 1)))] }
}

/// Whether scalars belong to the state of [no key](Numerics::no_key): the least L, or an l of 0.
pub fn no_key(m: &mut Module, design: Design, scalars: &[Wire]) -> Wire {
    let [none] = match design {
        Design::FlashD => m.call("no_key", LeastFunction { bits: scalars[0].width() }, [scalars[0]]),
        Design::Fa2 => m.call("no_key", IsZeroFunction { bits: scalars[1].width() }, [scalars[1]]),
    };
    none
}

function! {
    /// A word of a state, or of the state of no key.
    pub struct EmptyWordFunction { width: u32, value: u64 }
    name(this) = format!("empty_word_{}_{:x}", this.width, this.value);
    doc = format!("y = empty ? {:#x} : x.", this.value);
    inputs { x: this.width, empty: 1 }
    outputs { y: this.width }
    eval<W> { [empty.select(&W::constant(this.width, this.value), &x)] }
}

/// The words of a result, its state and the scalars of its log-sum-exp; `fills` zeros of `word` bits follow each part. The state of an
/// empty result is that of no key.
pub fn parts_of(
    m: &mut Module,
    (config, n): (&CoreConfig, &Numerics),
    core: &CoreOutputs,
    fills: &[usize],
    word: u32,
) -> Vec<Wire> {
    let none = n.no_key(config).unwrap_or_default();
    let mut of_state = |name: &str, x: &Wire, value: u64| match core.o_empty {
        Some(empty) => m.call(name, EmptyWordFunction { width: x.width(), value }, [*x, empty])[0],
        None => *x,
    };
    let mut state: Vec<Wire> =
        core.o_state.iter().enumerate().map(|(i, x)| of_state(&format!("state_o_{i}"), x, 0)).collect();
    let scalars: Vec<Wire> = (core.state_scalars.iter().zip(none).enumerate())
        .map(|(i, (x, value))| of_state(&format!("state_scalar_{i}"), x, value))
        .collect();
    state.extend(&scalars);
    let of_lse = scalars.iter().map(|&scalar| vec![scalar]);
    let [zero] = m.call("fill", ZeroFunction { width: word }, []);
    let parts = [core.o.clone(), state].into_iter().chain(of_lse).zip(fills);
    parts.flat_map(|(part, &fill)| part.into_iter().chain(std::iter::repeat_n(zero, fill))).collect()
}
