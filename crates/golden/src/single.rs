//! Single steps of one output lane, for tests.

use crate::base2::Factor;
use crate::lanes::{BlendOp, FixedLanes, FloatLanes, FloatOp, Lanes, RangedLanes, SumLanes, SumOp};
use crate::round::{decode, encode};
use flashd_spec::config::CoreConfig;
use flashd_spec::format::{Format, Subnormals};
use flashd_spec::numerics::difference_format;

/// One step of one lane.
fn step<L: Lanes>(lanes: &L, op: L::Op, o: L::Output, v: u64, v_exponent: u64) -> L::Output {
    let mut lane = [o];
    lanes.step(op, &mut lane, &[lanes.value(v, v_exponent).0]);
    lane[0]
}

/// One lane of FLASH-D's rounded update as a function of `o`, `v`, `w` and `upper`: `o + w (v - o)`; if `upper`,
/// `v + w (o - v)`, where w is one minus the weight. `o` and the result are encodings of the accumulator's format, `v` of the values' with
/// their scales ([`CoreConfig::products`]). `w` is as recorded in [`crate::Step::w`].
pub fn flash_d_lane(config: &CoreConfig) -> Box<dyn Fn(u64, u64, u64, bool) -> u64 + Send + Sync> {
    let (formats, accumulator) = (config.products(), config.accumulator_format());
    let flushes = accumulator.subnormals == Subnormals::Flushed;
    let weight = config.weight_format();
    // The format of `Numerics::difference`, without fitting the core's tables.
    let difference = difference_format(config.value_format(), weight, accumulator);
    let op = move |w, upper| {
        let w = decode(weight, w);
        if upper { FloatOp::Complement(w) } else { FloatOp::Weight(w) }
    };
    match flushes {
        true => lane(FloatLanes::<f64, true>::new(formats, accumulator, difference), accumulator, op),
        false => lane(FloatLanes::<f64, false>::new(formats, accumulator, difference), accumulator, op),
    }
}

/// A lane of floats, with the operation of a recorded factor and its side.
fn lane<L: Lanes<Output = f64>>(
    lanes: L,
    accumulator: Format,
    op: impl Fn(u64, bool) -> L::Op + Send + Sync + 'static,
) -> Box<dyn Fn(u64, u64, u64, bool) -> u64 + Send + Sync> {
    Box::new(move |o, v, w, upper| {
        encode(accumulator, step(&lanes, op(w, upper), decode(accumulator, o), v, 0))
    })
}

/// The operand of a value in FLASH-D's fixed-point lanes, in units of `2^(v_exponent - bias + 1) 2^-(lane.v - 1)`, and whether
/// the value is too large for `v_exponent`. If so, the operand saturates.
pub fn fixed_value(config: &CoreConfig, v_exponent: u64, v: u64) -> (i64, bool) {
    FixedLanes::<i64>::new(config.products(), config.lane_bits()).value(v, v_exponent)
}

/// One lane of FLASH-D's fixed-point update. As [`flash_d_lane`], but `o` and the result are integers in units of
/// `2^(v_exponent - bias + 1) 2^-(lane.o - 1)`. A first key has `upper` and `w = 0`. The low bits of `x`, [`crate::Step::x`], dither the difference.
pub fn flash_d_fixed_lane(
    config: &CoreConfig,
    v_exponent: u64,
    o: i64,
    v: u64,
    (w, upper, x): (u64, bool, i64),
) -> i64 {
    let lane = config.lane_bits();
    let op = BlendOp { u: Factor::from_record(w, lane.w), upper, dither: x as u64 };
    step(&FixedLanes::<i64>::new(config.products(), lane), op, o, v, v_exponent)
}

/// One lane of FLASH-D's ranged update. As [`flash_d_fixed_lane`], but `o` and the result have the lane's exponent field above the
/// `lane.o` bits of a two's complement number.
pub fn flash_d_ranged_lane(config: &CoreConfig, o: u64, v: u64, (w, upper, x): (u64, bool, i64)) -> u64 {
    let lanes = RangedLanes::new(config.products(), config.lane_bits());
    let op = BlendOp { u: Factor::from_record(w, config.lane_bits().w), upper, dither: x as u64 };
    lanes.bits(step(&lanes, op, lanes.accumulator(o), v, 0))
}

/// One lane of FA2 `log-reference`: `o 2^-delta + v e`, in the units of [`flash_d_fixed_lane`]. `w` is the
/// exponential e as a step records it.
pub fn fa2_fixed_lane(config: &CoreConfig, v_exponent: u64, o: i64, v: u64, w: u64, delta: u32) -> i64 {
    let lane = config.lane_bits();
    // The exponential is relative to twice the reference.
    let op = SumOp { delta, e: Factor::from_record(w, lane.w), up: 1 };
    // A step does not use the bits that a result keeps: any will do.
    let lanes = SumLanes::<f64, i64>::new(config.products(), lane, config.sum_guard_bits(), (lane.o, false));
    step(&lanes, op, o, v, v_exponent)
}
