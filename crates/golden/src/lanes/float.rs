//! Float lanes that round every operation: FLASH-D's rounded update and the paper's, (12), and FA2 in the format.

use super::{Lanes, each_lane};
use crate::carrier::Carrier;
use crate::round::{Rounder, decode, encode};
use flashd_spec::format::{Format, Formats};

/// A step of float lanes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum FloatOp {
    /// `o = v`: first key of `paper`, `literal` and FA2 with a shared scale, and the paper's static rule.
    Load,
    /// First key of FLASH-D `lse` and FA2 with a separate scale: `v + 0`, which turns -0 into +0.
    First,
    /// FLASH-D, `lse` for `x < 0` and `paper` always: `o + w (v - o)`.
    Weight(f64),
    /// FLASH-D `lse` for `x >= 0`, with `u = 1 - w`: `v + u (o - v)`.
    Complement(f64),
    /// FA2, the maximum moved: `o e + v`.
    ScaleOutput(f64),
    /// FA2, the maximum stayed: `o + v e`.
    ScaleValue(f64),
    /// FA2 literal: `o c + v e`.
    ScaleBoth(f64, f64),
}

/// How an accumulator becomes the result after the last key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FloatEnding {
    /// Round it to the format.
    Round,
    /// Multiply it and round the product to the format.
    Scale(f64),
    /// Multiply it in a lane, round the product to the lanes' product format and then to the output's.
    ScaleInLane(f64),
}

/// The roundings of one step.
#[derive(Clone, Copy, Debug)]
struct Rounders<C> {
    accumulator: Rounder<C>,
    /// For differences and products.
    intermediate: Rounder<C>,
}

/// Float lanes in a carrier. `FLUSH`: the accumulator flushes subnormals.
#[derive(Clone)]
pub(crate) struct FloatLanes<C, const FLUSH: bool> {
    /// Format of the values.
    format: Format,
    accumulator: Format,
    output: Rounder<f64>,
    own: Rounders<C>,
    wide: Rounders<f64>,
}

impl<C: Carrier, const FLUSH: bool> FloatLanes<C, FLUSH> {
    pub(crate) fn new(formats: Formats, accumulator: Format, intermediate: Format) -> Self {
        FloatLanes {
            format: formats.v,
            accumulator,
            output: Rounder::new(formats.o),
            own: Rounders {
                accumulator: Rounder::new(accumulator),
                intermediate: Rounder::new(intermediate),
            },
            wide: Rounders {
                accumulator: Rounder::new(accumulator),
                intermediate: Rounder::new(intermediate),
            },
        }
    }
}

impl<C: Carrier + 'static, const FLUSH: bool> Lanes for FloatLanes<C, FLUSH> {
    type Op = FloatOp;
    type Ending = FloatEnding;
    type Output = C;
    type Value = C;

    #[inline(always)]
    fn value(&self, bits: u64, _: u64) -> (C, bool) {
        (C::from_f64(decode(self.format, bits)), false)
    }

    #[inline(always)]
    fn step(&self, op: FloatOp, o: &mut [C], v: &[C]) -> u64 {
        match op {
            // With a shared scale the factor is not rounded to the format, and f32 may not hold it.
            FloatOp::ScaleOutput(e) | FloatOp::ScaleValue(e) if C::from_f64(e).to_f64() != e => {
                let mut wide: Vec<f64> = o.iter().map(|o| o.to_f64()).collect();
                let v: Vec<f64> = v.iter().map(|v| v.to_f64()).collect();
                let count = self.wide.step::<FLUSH>(op, &mut wide, &v);
                o.iter_mut().zip(wide).for_each(|(o, wide)| *o = C::from_f64(wide));
                count
            }
            _ => self.own.step::<FLUSH>(op, o, v),
        }
    }

    fn bits(&self, o: C) -> u64 {
        encode(self.accumulator, o.to_f64())
    }

    fn accumulator(&self, bits: u64) -> C {
        C::from_f64(decode(self.accumulator, bits))
    }

    fn result(&self, ending: FloatEnding, o: C, _: u64) -> (f64, bool) {
        let o = o.to_f64();
        let exact = match ending {
            FloatEnding::Round => o,
            FloatEnding::Scale(scale) => o * scale,
            FloatEnding::ScaleInLane(scale) => self.wide.intermediate.round_as::<FLUSH>(o * scale),
        };
        self.output.round_by_format(exact)
    }
}

impl<C: Carrier> Rounders<C> {
    #[inline(always)]
    fn step<const FLUSH: bool>(&self, op: FloatOp, o: &mut [C], v: &[C]) -> u64 {
        let (acc, wide) = (&self.accumulator, &self.intermediate);
        match op {
            FloatOp::Load => {
                o.copy_from_slice(v);
                0
            }
            FloatOp::Weight(w) => {
                let w = C::from_f64(w);
                each_lane(o, v, |o, v| {
                    let (difference, over_d) = wide.round_flag::<FLUSH>(v.add_odd(-o));
                    let (product, over_p) = wide.round_flag::<FLUSH>(w * difference);
                    let (sum, over_s) = acc.round_flag::<FLUSH>(o.add_odd(product));
                    (sum, over_d as u32 + over_p as u32 + over_s as u32)
                })
            }
            FloatOp::First => each_lane(o, v, |_, v| (v + C::default(), 0)),
            FloatOp::Complement(u) => {
                let u = C::from_f64(u);
                each_lane(o, v, |o, v| {
                    let (difference, over_d) = wide.round_flag::<FLUSH>(v.add_odd(-o));
                    let (product, over_p) = wide.round_flag::<FLUSH>(u * -difference);
                    let (sum, over_s) = acc.round_flag::<FLUSH>(v.add_odd(product));
                    (sum, over_d as u32 + over_p as u32 + over_s as u32)
                })
            }
            FloatOp::ScaleOutput(e) => {
                let e = C::from_f64(e);
                each_lane(o, v, |o, v| {
                    let (product, over_p) = wide.round_flag::<FLUSH>(o * e);
                    let (sum, over_s) = acc.round_flag::<FLUSH>(product.add_odd(v));
                    (sum, over_p as u32 + over_s as u32)
                })
            }
            FloatOp::ScaleValue(e) => {
                let e = C::from_f64(e);
                each_lane(o, v, |o, v| {
                    let (product, over_p) = wide.round_flag::<FLUSH>(v * e);
                    let (sum, over_s) = acc.round_flag::<FLUSH>(o.add_odd(product));
                    (sum, over_p as u32 + over_s as u32)
                })
            }
            // `FloatLanes::step` shifts the output before it comes here.
            FloatOp::ScaleBoth(c, e) => {
                let (c, e) = (C::from_f64(c), C::from_f64(e));
                each_lane(o, v, |o, v| {
                    let (old, over_o) = wide.round_flag::<FLUSH>(o * c);
                    let (new, over_n) = wide.round_flag::<FLUSH>(v * e);
                    let (sum, over_s) = acc.round_flag::<FLUSH>(old.add_odd(new));
                    (sum, over_o as u32 + over_n as u32 + over_s as u32)
                })
            }
        }
    }
}
