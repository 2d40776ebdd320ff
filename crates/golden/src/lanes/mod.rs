//! The output lanes: d_v accumulators, which a step updates with the elements of one value.

mod fixed;
mod float;
mod ranged;
mod ranged_sum;
mod sum;

pub(crate) use fixed::FixedLanes;
pub(crate) use float::{FloatEnding, FloatLanes, FloatOp};
pub(crate) use ranged::{Ranged, RangedLanes};
pub(crate) use ranged_sum::RangedSumLanes;
pub(crate) use sum::{Division, SumLanes, SumOp};

use crate::base2::Factor;

/// The lanes of one kind of core.
pub(crate) trait Lanes: Clone + Send + Sync + 'static {
    /// The operation of a step that reads its value.
    type Op: Copy + Send;
    /// The operation after a query's last key.
    type Ending: Copy;
    /// An accumulator; the default before the first key.
    type Output: Copy + Default + Send;
    /// An element of a value, as a lane's operand.
    type Value: Copy + Default + Send + Sync;

    /// Converts an encoding to an operand, and returns whether it is too large for `v_exponent`, to which fixed-point
    /// lanes scale it.
    fn value(&self, bits: u64, v_exponent: u64) -> (Self::Value, bool);

    /// One step of all lanes of one query. Returns the number of roundings that saturated.
    fn step(&self, op: Self::Op, o: &mut [Self::Output], v: &[Self::Value]) -> u64;

    /// The bits of an accumulator in the core.
    fn bits(&self, o: Self::Output) -> u64;

    /// The inverse of [`Lanes::bits`].
    fn accumulator(&self, bits: u64) -> Self::Output;

    /// The result, a value of the output's format, and whether its rounding saturated.
    fn result(&self, ending: Self::Ending, o: Self::Output, v_exponent: u64) -> (f64, bool);
}

/// A step of FLASH-D with a factor u: `o + u (v - o)`, or `v + u (o - v)` if `upper`. The first step has `upper`
/// and `u = 0`. In fixed point the low bits of `dither` round the difference.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlendOp {
    pub(crate) u: Factor,
    pub(crate) upper: bool,
    pub(crate) dither: u64,
}

/// Applies `f` to every lane and adds up its counts.
#[inline(always)]
fn each_lane<O: Copy, V: Copy>(o: &mut [O], v: &[V], f: impl Fn(O, V) -> (O, u32)) -> u64 {
    let mut count = 0;
    for (o, &v) in o.iter_mut().zip(v) {
        let (new, n) = f(*o, v);
        *o = new;
        count += n;
    }
    count.into()
}
