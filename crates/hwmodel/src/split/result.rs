//! Converts the last merge's accumulators to results in the format.

use crate::attention::group::{IntegerExponentFunction, blanked};
use crate::attention::masks::UnmaskedFunction;
use crate::fa2::fixed_lane::FixedScaleFunction;
use crate::fa2::separate_lane::ScaleFunction;
use crate::flash_d::fixed_lane::{integers_to_integers, lane_result};
use crate::flash_d::ranged_lane::unpacked;
use crate::rtl::{Module, Tag, Wire};
use crate::score::sum::{SumReciprocalFunction, sum_exponent_bits};
use crate::units::ConvertFunction;
use flashd_spec::numerics::Numerics;
use std::sync::Arc;

/// The results of a query, zeros if it is empty.
///
/// The last merge gives its accumulators `o`, in the cycle of `done`. `empty`, in the cycle of the results, says that
/// there was no key. Fixed-point lanes with floats have `x`, the exponent field of max|v|, in the cycle of the
/// accumulators. FA2 has `sum`, a cycle before the accumulators: the sum, and whether it belongs to a result.
pub fn result(
    around: &mut Module,
    n: &Arc<Numerics>,
    o: &[Wire],
    [done, empty]: [Wire; 2],
    x: Option<Wire>,
    sum: Option<(Wire, Wire)>,
) -> Vec<Wire> {
    let d = o.len();
    let (name, doc) = match (x, sum) {
        _ if n.ranged && sum.is_some() => (
            "ranged_scaled",
            "o / l by the reciprocal of l, in fixed point, each with its exponent; zero for an empty query.",
        ),
        _ if n.lane.is_some() && sum.is_some() => {
            ("fixed_scaled", "o / l by the reciprocal of l, in fixed point; zero for an empty query.")
        }
        _ if n.ranged => {
            ("ranged", "Accumulators in the format, each with its exponent; zero for an empty query.")
        }
        _ if n.lane.is_some() => ("fixed", "Accumulators in the format; zero for an empty query."),
        (_, None) => ("float", "Accumulators in the format; zero for an empty query."),
        (_, Some(_)) => ("scaled", "o / l by the reciprocal of l; zero for an empty query."),
    };
    let tag = Tag::module(format!("{name}_result_{d}"), doc).dissolved();
    around.part("result", tag, |m| {
        let y = match (x, sum) {
            (x, Some((l, finish))) if n.lane.is_some() => {
                fixed_scaled(m, n, o, x, [l, finish], [done, empty])
            }
            _ if n.ranged => ranged(m, n, o, [done, empty]),
            _ if n.lane.is_some() => fixed(m, n, o, x, [done, empty]),
            (_, None) => float(m, n, o, empty),
            (_, Some((l, finish))) => scaled(m, n, o, [l, finish], [done, empty]),
        };
        m.outputs("y", &y)
    })
}

/// FLASH-D in fixed point: the accumulators in the format.
fn fixed(
    m: &mut Module,
    n: &Arc<Numerics>,
    o: &[Wire],
    x: Option<Wire>,
    [done, empty]: [Wire; 2],
) -> Vec<Wire> {
    let o = m.inputs("o", o);
    let x = x.map(|x| m.input("x", x));
    let [done, empty] = m.input_each([("done", done), ("empty", empty)]);
    let [shows] = m.call("shows", UnmaskedFunction {}, [done, empty]);
    // Integers of integers need no exponent.
    let x = match integers_to_integers(n) {
        true => None,
        false => Some(x.unwrap_or_else(|| m.call("x", IntegerExponentFunction {}, [])[0])),
    };
    o.into_iter().enumerate().map(|(i, o)| lane_result(m, n, ("convert", i), o, x, shows)).collect()
}

/// FLASH-D with ranged lanes: the accumulators in the format.
fn ranged(m: &mut Module, n: &Arc<Numerics>, o: &[Wire], [done, empty]: [Wire; 2]) -> Vec<Wire> {
    let o = m.inputs("o", o);
    let [done, empty] = m.input_each([("done", done), ("empty", empty)]);
    let [shows] = m.call("shows", UnmaskedFunction {}, [done, empty]);
    let lane = |(i, o)| {
        let [o, x] = unpacked(m, ("parts", i), n, o);
        lane_result(m, n, ("convert", i), o, Some(x), shows)
    };
    o.into_iter().enumerate().map(lane).collect()
}

/// FLASH-D with float lanes: the accumulators, rounded to the format if they are wider.
fn float(m: &mut Module, n: &Numerics, o: &[Wire], empty: Wire) -> Vec<Wire> {
    let mut o = m.inputs("o", o);
    let empty = m.input("empty", empty);
    if n.accumulator != n.formats.o {
        let convert = ConvertFunction { from: n.accumulator, to: n.formats.o };
        o = m.call_each("convert", convert, o.into_iter().map(|o| [o]));
    }
    blanked(m, &o, empty)
}

/// FA2: the accumulators times the reciprocal of the sum, a cycle later.
fn scaled(
    m: &mut Module,
    n: &Arc<Numerics>,
    o: &[Wire],
    [l, finish]: [Wire; 2],
    [done, empty]: [Wire; 2],
) -> Vec<Wire> {
    m.clock();
    let [l, finish] = m.input_each([("l", l), ("finish", finish)]);
    let o = m.inputs("o", o);
    let [done, empty] = m.input_each([("done", done), ("empty", empty)]);
    let reciprocal = SumReciprocalFunction { numerics: n.clone(), bits: l.width() };
    let [r, right] = m.call("reciprocal", reciprocal, [l, finish]);
    let (r, right) = (m.register_if("r_q", finish, r), m.register_if("right_q", finish, right));
    let r_fraction = n.reciprocal.table.value_fraction;
    let scale = ScaleFunction {
        accumulator: n.accumulator,
        format: n.formats.o,
        r_fraction,
        right_bits: sum_exponent_bits(n),
    };
    let y = m.call_each("scale", scale, o.into_iter().map(|o| [o, r, right]));
    let y = m.registers_if("result_q", done, &y);
    blanked(m, &y, empty)
}

/// FA2 in fixed point: the accumulators times the reciprocal of the sum, a cycle later. The multiplier is separate,
/// even if the cores' lanes scale with their own.
fn fixed_scaled(
    m: &mut Module,
    n: &Arc<Numerics>,
    o: &[Wire],
    x: Option<Wire>,
    [l, finish]: [Wire; 2],
    [done, empty]: [Wire; 2],
) -> Vec<Wire> {
    m.clock();
    let [l, finish] = m.input_each([("l", l), ("finish", finish)]);
    let o = m.inputs("o", o);
    let lanes: Vec<[Wire; 2]> = if n.ranged {
        o.into_iter().enumerate().map(|(i, o)| unpacked(m, ("parts", i), n, o)).collect()
    } else {
        let x = match x {
            Some(x) => m.input("x", x),
            None => m.call("x", IntegerExponentFunction {}, [])[0],
        };
        o.into_iter().map(|o| [o, x]).collect()
    };
    let [done, empty] = m.input_each([("done", done), ("empty", empty)]);
    let separate = Arc::new(Numerics { scales_in_lane: false, ..(**n).clone() });
    let reciprocal = SumReciprocalFunction { numerics: n.clone(), bits: l.width() };
    let [r, right] = m.call("reciprocal", reciprocal, [l, finish]);
    let (r, right) = (m.register_if("r_q", finish, r), m.register_if("right_q", finish, right));
    let scale = FixedScaleFunction { numerics: separate };
    let y = m.call_each("scale", scale, lanes.into_iter().map(|[o, x]| [o, r, right, x, done]));
    let y = m.registers_if("result_q", done, &y);
    blanked(m, &y, empty)
}
