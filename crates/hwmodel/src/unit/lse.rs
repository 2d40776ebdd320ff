//! The log-sum-exp of a result, base 2, as a binary32 number: L of FLASH-D; `m + log2 l` of FA2.
//!
//! The logarithm takes a digit a cycle and no multiplier: `x` in [1, 2) is multiplied by `1 + 2^-k`, k = 1, 2, .., where the product stays
//! below 2, and `log2 x = 1 - sum log2(1 + 2^-k)` over them (multiplicative normalisation, as in Muller, Elementary Functions, 2016, ch. 8).
//! A row of results takes longer than these cycles, unless it is short.

use crate::arith::convert::from_fixed;
use crate::array::results::SelectFunction;
use crate::function;
use crate::rtl::{Function, Module, Tag, Wire};
use crate::word::{Num, bits_for};
use crate::wrapper::logic::IsZeroFunction;
use crate::wrapper::parts::{LeastFunction, no_key};
use flashd_spec::config::{CoreConfig, Design};
use flashd_spec::format::Format;
use flashd_spec::numerics::Numerics;

/// Fraction bits of x.
const X_FRACTION: u32 = 30;
/// Fraction bits of the sum of logarithms.
const SUM_FRACTION: u32 = 28;
/// Factors `1 + 2^-k`.
const DIGITS: u64 = 26;
const COUNT_BITS: u32 = bits_for(DIGITS + 1);
/// Minus infinity in binary32.
const MINUS_INFINITY: u64 = 0xff80_0000;

/// `log2(1 + 2^-k)`, rounded to [`SUM_FRACTION`] bits, for k from 0 on.
fn digits() -> Vec<u64> {
    let units = f64::from(SUM_FRACTION).exp2();
    let digit = |k: u64| (((-(k as f64)).exp2().ln_1p() * std::f64::consts::LOG2_E) * units).round() as u64;
    (0..=DIGITS).map(digit).collect()
}

function! {
    /// m and l as the begin of a sum: `m + log2 l = sum + log2(x / 2)`, x in [1, 2).
    pub struct LseBeginFunction { m_bits: u32, m_fraction: u32, l_bits: u32, l_fraction: u32 }
    name(this) = format!("lse_begin_{}_{}", this.m_bits, this.l_bits);
    doc = "l = x 2^e, x in [1, 2); sum = m + e + 1.";
    inputs { m: this.m_bits, l: this.l_bits }
    outputs { x: X_FRACTION + 1, sum: this.sum_bits() }
    eval<W> {
        let (normal, zeros) = l.normalise();
        let bits = X_FRACTION + 1;
        let normal = normal.named("normalised");
        let x = match normal.width() < bits {
            true => normal.append_zeros(bits - normal.width()),
            false => normal.top(bits),
        };
        let integer = this.sum_bits() - SUM_FRACTION;
        let most = W::constant(integer, u64::from(this.l_bits - this.l_fraction));
        let octaves = most.sub(&zeros.zext(integer)).named("octaves");
        let m = m.append_zeros(SUM_FRACTION - this.m_fraction).sext(this.sum_bits()).named("aligned_m");
        [x, m.add(&octaves.append_zeros(SUM_FRACTION))]
    }
}

impl LseBeginFunction {
    /// Bits of the sum: the bits of m and of l's octaves, and a carry.
    fn sum_bits(&self) -> u32 {
        (self.m_bits - self.m_fraction).max(bits_for(self.l_bits.into()) + 1) + 1 + SUM_FRACTION
    }
}

function! {
    /// A digit of the logarithm.
    pub struct LseDigitFunction { sum_bits: u32 }
    name(this) = format!("lse_digit_{}", this.sum_bits);
    doc = "x (1 + 2^-k), if it is below 2; then log2(1 + 2^-k) is subtracted from the sum.";
    inputs { k: COUNT_BITS, x: X_FRACTION + 1, sum: this.sum_bits }
    outputs { next_x: X_FRACTION + 1, next_sum: this.sum_bits }
    eval<W> {
        let wide = X_FRACTION + 2;
        let product = x.zext(wide).add(&x.shr(&k).zext(wide)).named("product");
        let below = product.msb().not().named("below_2");
        let digit = k.lookup(&digits(), SUM_FRACTION + 1).named("digit");
        let subtracted = below.repeat(digit.width()).and(&digit).zext(this.sum_bits).named("subtracted");
        [below.select(&product.slice(0, X_FRACTION + 1), &x), sum.sub(&subtracted)]
    }
}

function! {
    /// A number in fixed point as binary32.
    pub struct LseFloatFunction { bits: u32, fraction: u32 }
    name(this) = format!("lse_float_{}_{}", this.bits, this.fraction);
    doc = "The nearest number of binary32, ties to even; minus infinity without a key.";
    inputs { x: this.bits, none: 1 }
    outputs { y: 32 }
    eval<W> {
        let sign = x.msb();
        let magnitude = sign.select(&x.negate(), &x).named("magnitude");
        let y = from_fixed(Format::FP32, &sign, &magnitude, this.fraction as i32, &W::zero(1));
        [none.select(&W::constant(32, MINUS_INFINITY), &y)]
    }
}

function! {
    /// The cycles of a logarithm.
    pub struct LseCountFunction {}
    name(this) = "lse_count";
    doc = format!("{} with l, then down to 0; k counts up from 0, at which the sum begins.", DIGITS + 1);
    inputs { load: 1, count: COUNT_BITS }
    outputs { ready: 1, runs: 1, begins: 1, k: COUNT_BITS, next: COUNT_BITS }
    eval<W> {
        let all = W::constant(COUNT_BITS, DIGITS + 1);
        let runs = count.any();
        let less = count.sub(&W::constant(COUNT_BITS, 1)).named("less");
        let next = load.select(&all, &runs.repeat(COUNT_BITS).and(&less));
        [runs.not(), runs, count.eq(&all), all.sub(&count), next]
    }
}

/// Widths and fraction bits of the scalars of a core.
fn begin(config: &CoreConfig, n: &Numerics) -> LseBeginFunction {
    let (bits, fractions) = (n.scalar_bits(config), n.scalar_fractions(config));
    LseBeginFunction { m_bits: bits[0], m_fraction: fractions[0], l_bits: bits[1], l_fraction: fractions[1] }
}

fn float_of_l(config: &CoreConfig, n: &Numerics) -> LseFloatFunction {
    LseFloatFunction { bits: n.scalar_bits(config)[0], fraction: n.scalar_fractions(config)[0] }
}

fn float_of_sum(bits: u32) -> LseFloatFunction {
    LseFloatFunction { bits, fraction: SUM_FRACTION }
}

/// The log-sum-exp of a state's scalars in binary32, as the hardware has it: L, or within 2^-24 of `m + log2 l`, rounded to nearest even; minus infinity for the state of no key.
pub fn log_sum_exp(config: &CoreConfig, n: &Numerics, scalars: [u64; 2]) -> u32 {
    let bits = n.scalar_bits(config);
    let word = |i: usize| Num::new(bits[i], scalars[i]);
    let [y] = match config.design() {
        Design::FlashD => {
            let [none] = LeastFunction { bits: bits[0] }.eval([word(0)]);
            float_of_l(config, n).eval([word(0), none])
        }
        Design::Fa2 => {
            let [none] = IsZeroFunction { bits: bits[1] }.eval([word(1)]);
            let begin = begin(config, n);
            let digit = LseDigitFunction { sum_bits: begin.sum_bits() };
            let [mut x, mut sum] = begin.eval([word(0), word(1)]);
            for k in 1..=DIGITS {
                [x, sum] = digit.eval([Num::new(COUNT_BITS, k), x, sum]);
            }
            float_of_sum(begin.sum_bits()).eval([sum, none])
        }
    };
    y.value() as u32
}

/// A log-sum-exp.
pub struct LogSumExp {
    /// The number in binary32, once it is there.
    pub y: Wire,
    /// It is there.
    pub ready: Wire,
}

/// The log-sum-exp of the scalars that were loaded last. `scalars`: L, or m and l; `loads`: each of them comes, the last one last.
pub fn lse_unit(
    around: &mut Module,
    name: &str,
    (config, n): (&CoreConfig, &Numerics),
    scalars: &[Wire],
    loads: &[Wire],
) -> LogSumExp {
    let doc = "The log-sum-exp of a result to base 2, in binary32.";
    around.part(name, Tag::module("log_sum_exp_unit", doc), |m| {
        m.clock();
        if loads.len() > 1 {
            m.reset();
        }
        let enter = |m: &mut Module, name: &str, wires: &[Wire]| -> Vec<Wire> {
            wires.iter().enumerate().map(|(i, &wire)| m.input(&format!("{name}_{i}"), wire)).collect()
        };
        let (scalars, loads) = (enter(m, "scalar", scalars), enter(m, "load", loads));
        let kept: Vec<Wire> = (scalars.iter().zip(&loads).enumerate())
            .map(|(i, (&scalar, &load))| m.register_if(format!("scalar_{i}_q"), load, scalar))
            .collect();
        if let [l] = kept[..] {
            let none = no_key(m, config.design(), &kept);
            let [y] = m.call("float", float_of_l(config, n), [l, none]);
            let [ready] = m.call("high", crate::wrapper::logic::HighFunction {}, []);
            return LogSumExp { y: m.output("y", y), ready: m.output("ready", ready) };
        }
        let count = m.state("count_q", COUNT_BITS);
        let [ready, runs, begins, k, next] = m.call("count", LseCountFunction {}, [loads[1], count]);
        m.next(count, next);
        let begin = begin(config, n);
        let sum_bits = begin.sum_bits();
        let (x, sum) = (m.state_if("x_q", X_FRACTION + 1, runs), m.state_if("sum_q", sum_bits, runs));
        let first: [Wire; 2] = m.call("begin", begin, [kept[0], kept[1]]);
        let digit: [Wire; 2] = m.call("digit", LseDigitFunction { sum_bits }, [k, x, sum]);
        for (state, name, i) in [(x, "next_x", 0), (sum, "next_sum", 1)] {
            let select = SelectFunction { width: state.width() };
            let [next] = m.call(name, select, [begins, first[i], digit[i]]);
            m.next(state, next);
        }
        let none = no_key(m, config.design(), &kept);
        let [y] = m.call("float", float_of_sum(sum_bits), [sum, none]);
        LogSumExp { y: m.output("y", y), ready: m.output("ready", ready) }
    })
}
