//! The wide part of a core: d products, the adder tree, and the update of d output lanes.

use crate::carrier::Carrier;
use crate::round::Rounder;

/// Queries whose dot products are formed together, one array lane each.
pub(crate) const BLOCK: usize = 16;

/// One number for each query of a block.
pub(crate) type Block<C> = [C; BLOCK];

/// Dot products of a block of queries with one key: products, then the adder tree level by level, every
/// result rounded to the format. `queries[j]` holds element j of all queries. `work` has d entries.
#[inline(always)]
pub(crate) fn dot<const FLUSH: bool, C: Carrier>(
    rounder: &Rounder<C>,
    queries: &[Block<C>],
    key: &[C],
    work: &mut [Block<C>],
) -> Block<C> {
    for ((product, query), &k) in work.iter_mut().zip(queries).zip(key) {
        for (p, &q) in product.iter_mut().zip(query) {
            *p = rounder.round_as::<FLUSH>(q * k);
        }
    }
    let mut width = key.len();
    while width > 1 {
        for i in 0..width / 2 {
            let (left, right) = (work[2 * i], work[2 * i + 1]);
            for (y, (a, b)) in work[i].iter_mut().zip(left.into_iter().zip(right)) {
                *y = rounder.round_as::<FLUSH>(a + b);
            }
        }
        if width % 2 == 1 {
            work[width / 2] = work[width - 1];
        }
        width = width.div_ceil(2);
    }
    work[0]
}

/// What a step does to the output lanes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum LaneOp {
    /// `o = v`: first key of `paper` and `literal`, and the paper's static rule.
    Load,
    /// `o` stays, `v` is not read.
    Hold,
    /// First key of FLASH-D `lse` and FA2: `v + 0`, which is `v` but for the sign of a zero.
    First,
    /// FLASH-D, `lse` with a weight below 1/2 and `paper` with any: `o + w (v - o)`.
    Weight(f64),
    /// FLASH-D `lse`, a weight of `1 - u` from 1/2 on: `v + u (o - v)`.
    Complement(f64),
    /// FA2, the maximum moved: `o e + v`.
    ScaleOutput(f64),
    /// FA2, the maximum stayed: `o + v e`.
    ScaleValue(f64),
    /// FA2 literal: `o c + v e`.
    ScaleBoth(f64, f64),
}

/// Roundings of the output lanes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lanes<C> {
    /// The accumulator's format.
    pub(crate) accumulator: Rounder<C>,
    /// The format of differences and products.
    pub(crate) intermediate: Rounder<C>,
}

impl<C: Carrier> Lanes<C> {
    /// One step of all lanes of one query. Returns how many roundings saturated.
    #[inline]
    pub(crate) fn step<const FLUSH: bool>(&self, op: LaneOp, o: &mut [C], v: &[C]) -> u64 {
        let (acc, wide) = (&self.accumulator, &self.intermediate);
        match op {
            LaneOp::Hold => 0,
            LaneOp::Load => {
                o.copy_from_slice(v);
                0
            }
            LaneOp::Weight(w) => {
                let w = C::from_f64(w);
                each_lane(o, v, |o, v| {
                    let (difference, over_d) = wide.round_flag::<FLUSH>(v.add_odd(-o));
                    let (product, over_p) = wide.round_flag::<FLUSH>(w * difference);
                    let (sum, over_s) = acc.round_flag::<FLUSH>(o.add_odd(product));
                    (sum, over_d as u32 + over_p as u32 + over_s as u32)
                })
            }
            LaneOp::First => {
                each_lane(o, v, |_, v| (v + C::from_f64(0.0), 0));
                0
            }
            LaneOp::Complement(u) => {
                let u = C::from_f64(u);
                each_lane(o, v, |o, v| {
                    let (difference, over_d) = wide.round_flag::<FLUSH>(v.add_odd(-o));
                    let (product, over_p) = wide.round_flag::<FLUSH>(u * -difference);
                    let (sum, over_s) = acc.round_flag::<FLUSH>(v.add_odd(product));
                    (sum, over_d as u32 + over_p as u32 + over_s as u32)
                })
            }
            LaneOp::ScaleOutput(e) => {
                let e = C::from_f64(e);
                each_lane(o, v, |o, v| {
                    let (product, over_p) = wide.round_flag::<FLUSH>(o * e);
                    let (sum, over_s) = acc.round_flag::<FLUSH>(product.add_odd(v));
                    (sum, over_p as u32 + over_s as u32)
                })
            }
            LaneOp::ScaleValue(e) => {
                let e = C::from_f64(e);
                each_lane(o, v, |o, v| {
                    let (product, over_p) = wide.round_flag::<FLUSH>(v * e);
                    let (sum, over_s) = acc.round_flag::<FLUSH>(o.add_odd(product));
                    (sum, over_p as u32 + over_s as u32)
                })
            }
            LaneOp::ScaleBoth(c, e) => {
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

/// Applies a step to every lane and adds up its counts.
#[inline(always)]
fn each_lane<C: Carrier>(o: &mut [C], v: &[C], f: impl Fn(C, C) -> (C, u32)) -> u64 {
    let mut count = 0;
    for (o, &v) in o.iter_mut().zip(v) {
        let (new, n) = f(*o, v);
        *o = new;
        count += n;
    }
    count.into()
}
