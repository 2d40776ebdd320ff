//! Lanes in groups that share copies of the scalar registers: a scalar that feeds d lanes leaves from one
//! register for each group, so that no register drives more than [`LANES_PER_GROUP`] lanes at any d.

use super::any_flag::AnyFlag;
use super::masks::UnmaskedFunction;
use super::signals::Signals;
use crate::function;
use crate::rtl::{Module, Name, Tag, Wire};
use flashd_spec::numerics::Numerics;
use std::sync::Arc;

/// Lanes that one copy of the scalar registers feeds.
pub const LANES_PER_GROUP: usize = 16;

/// Makes a group's factor of the core's.
pub type FactorOf = fn(&mut Module, &Arc<Numerics>, Wire) -> Wire;

/// A kind of lane, and what its group does for it.
pub struct LaneKind {
    /// Name of the lane's module.
    pub name: fn(&Numerics) -> String,
    /// The lane.
    pub lane: fn(&mut Module, Name, &Arc<Numerics>, &LaneInputs) -> LaneOutputs,
    /// One-bit scalars whose copies are reset: the group's port and the lanes'.
    pub flags: &'static [(&'static str, &'static str)],
    /// The flag of a query's end, and the lanes' port for it, where lanes show zero without it.
    pub finish: Option<(&'static str, &'static str)>,
    /// Words that are copied while a port of the group is high, its name beside theirs.
    pub words: &'static [(&'static str, &'static str)],
    /// Words that are copied in every cycle.
    pub free: &'static [&'static str],
    /// An enable of words that is no flag.
    pub takes: Option<&'static str>,
    /// What the group makes of the factor `w` before its copies.
    pub factor: Option<FactorOf>,
}

/// What a lane gets.
pub struct LaneInputs {
    /// An element of the value.
    pub v: Wire,
    /// Its group's copies of the scalars.
    pub scalars: Signals,
    /// With partial results: the accumulator takes that of one over, and this one, with the value.
    pub restore: Option<(Wire, Wire)>,
}

impl LaneInputs {
    /// Clock and inputs of a lane: the element of the value, and scalars by their names.
    pub fn enter<const N: usize>(&self, m: &mut Module, scalars: [&'static str; N]) -> (Wire, [Wire; N]) {
        m.clock();
        let v = m.input("v", self.v);
        let asks = scalars.iter().any(|name| EXPONENTS.contains(name));
        let exponent = if asks { self.integer_exponent(m) } else { None };
        (v, scalars.map(|name| self.scalar(m, name, exponent)))
    }

    /// The exponent of values that are integers, which is always the same and no input.
    pub fn integer_exponent(&self, m: &mut Module) -> Option<Wire> {
        (!self.has_exponent()).then(|| m.call("x", IntegerExponentFunction {}, [])[0])
    }

    /// The input of a scalar, or the exponent of integers.
    pub fn scalar(&self, m: &mut Module, name: &'static str, integer_exponent: Option<Wire>) -> Wire {
        match integer_exponent.filter(|_| EXPONENTS.contains(&name)) {
            Some(exponent) => exponent,
            None => m.input(name, self.scalars[name]),
        }
    }

    /// Whether a lane is told the largest exponent of the values, and tells of one beyond it.
    pub fn has_exponent(&self) -> bool {
        self.scalars.get(EXPONENTS[0]).is_some()
    }
}

/// The largest exponent field of the values, where they enter a lane and where its result leaves.
const EXPONENTS: [&str; 2] = ["x", "result_x"];

function! {
    /// The exponent field of integers.
    pub struct IntegerExponentFunction {}
    name(this) = "integer_exponent";
    doc = "x = 1, the exponent field of all integers.";
    inputs { }
    outputs { x: 1 }
    eval<W> { [W::constant(1, 1)] }
}

/// What a lane hands out.
pub struct LaneOutputs {
    /// The element of the result.
    pub o: Wire,
    /// The value's exponent is above the largest, in fixed point.
    pub outside: Option<Wire>,
    /// With partial results: the accumulator.
    pub o_state: Option<Wire>,
}

/// What a group gets.
pub struct GroupInputs<'a> {
    /// The scalars, a cycle before the lanes see them.
    pub scalars: &'a Signals,
    /// With masks: the query that ends has seen no key.
    pub empty: Option<Wire>,
    /// With masks, for lanes without a flag of the end: a query ends.
    pub ends_query: Option<Wire>,
    /// Elements of the value.
    pub v: &'a [Wire],
    /// With partial results: the accumulators take those of one over, and these, with the value.
    pub restore: Option<(Wire, &'a [Wire])>,
}

/// What a group hands out.
pub struct GroupOutputs {
    /// Elements of the result.
    pub o: Vec<Wire>,
    /// Some value that was read lies outside the range of the lanes.
    pub outside: Option<Wire>,
    /// With partial results: the accumulators.
    pub o_state: Vec<Wire>,
}

/// Up to 16 lanes and their copies of the scalar registers.
///
/// With masks a query can end without having seen a key, and its result is zero whatever the lanes hold. Lanes with
/// `finish` get no such flag then, which takes one gate a group; behind the others there is a gate for each bit, because
/// what they hold before a query's first key reaches their results.
pub fn group(
    around: &mut Module,
    index: usize,
    n: &Arc<Numerics>,
    kind: &LaneKind,
    inputs: &GroupInputs,
) -> GroupOutputs {
    let lanes = inputs.v.len();
    let tag = Tag::module(
        format!(
            "{}_{}{}group_{lanes}",
            (kind.name)(n),
            if n.masks { "masked_" } else { "" },
            if n.partial { "partial_" } else { "" }
        ),
        format!("{lanes} lanes and their copies of the scalar registers."),
    );
    around.part(("group", index), tag, |m| {
        m.clock();
        m.reset();
        let port = |m: &mut Module, name: &'static str| (name, m.input(name, inputs.scalars[name]));
        let flags: Vec<_> = kind.flags.iter().map(|&(name, lane)| (port(m, name), lane)).collect();
        let finish = kind.finish.map(|(name, lane)| (port(m, name), lane));
        // Values that are integers have no exponent.
        let given = |name: &&str| !EXPONENTS.contains(name) || inputs.scalars.get(name).is_some();
        let mut words: Vec<_> = (kind.words.iter().filter(|(name, _)| given(name)))
            .map(|&(name, enable)| (port(m, name), enable))
            .collect();
        let free: Vec<_> = kind.free.iter().filter(|name| given(name)).map(|name| port(m, name)).collect();
        let takes = kind.takes.map(|name| port(m, name));
        let empty = m.optional_input("empty", inputs.empty);
        let ends_query = m.optional_input("ends_query", inputs.ends_query);
        let v = m.inputs("v", inputs.v);
        m.reserve_ports(&["o", "outside"]);
        if let Some(factor) = kind.factor {
            for ((_, w), _) in words.iter_mut().filter(|((name, _), _)| *name == "w") {
                *w = factor(m, n, *w);
            }
        }

        let enables: Signals =
            flags.iter().map(|(port, _)| *port).chain(finish.map(|(port, _)| port)).chain(takes).collect();
        let copy = |name: &str| format!("{name}_q");
        let mut scalars = Signals::default();
        for &((name, wire), lane) in &flags {
            scalars.set(lane, m.register_reset(copy(name), 0, wire));
        }
        let finish = finish.map(|((name, wire), lane)| (m.register_reset(copy(name), 0, wire), lane));
        for &((name, wire), enable) in &words {
            scalars.set(name, m.register_if(copy(name), enables[enable], wire));
        }
        for &(name, wire) in &free {
            scalars.set(name, m.register(copy(name), wire));
        }
        if let Some((finish, lane)) = finish {
            let done = match empty {
                Some(empty) => {
                    let rest = m.register(("rest_q", 0), empty);
                    m.call(("shows", 0), UnmaskedFunction {}, [finish, rest])[0]
                }
                None => finish,
            };
            scalars.set(lane, done);
        }
        let restore = inputs.restore.map(|(restore, state_o)| {
            let restore = m.inputs("restore", &[restore])[0];
            (restore, m.inputs("state_o", state_o))
        });
        m.reserve(&["lane"]);
        let restore = restore.map(|(restore, state_o)| (m.register(("restore_q", 0), restore), state_o));
        let outputs: Vec<LaneOutputs> = (v.iter().enumerate())
            .map(|(i, &v)| {
                let restore = restore.as_ref().map(|(restore, state_o)| (*restore, state_o[i]));
                let inputs = LaneInputs { v, scalars: scalars.clone(), restore };
                (kind.lane)(m, ("lane", i).into(), n, &inputs)
            })
            .collect();
        let states: Vec<Wire> = outputs.iter().filter_map(|lane| lane.o_state).collect();
        let o_state = if restore.is_some() { m.outputs("o_state", &states) } else { Vec::new() };
        let mut o: Vec<Wire> = outputs.iter().map(|lane| lane.o).collect();
        if let (Some(ends), Some(empty)) = (ends_query, empty) {
            let blank = m.register_if(("blank_q", 0), ends, empty);
            o = blanked(m, &o, blank);
        }
        let outside = free.iter().any(|(name, _)| *name == "x").then(|| {
            let flags: Vec<Wire> = outputs.iter().filter_map(|lane| lane.outside).collect();
            let any = AnyFlag { count: lanes, doc: "Some lane's value has an exponent above the largest." };
            let any = m.leaf("any_outside", any, &flags)[0];
            m.output("outside", any)
        });
        GroupOutputs { o: m.outputs("o", &o), outside, o_state }
    })
}

function! {
    /// A result, or the zero of a query without keys.
    pub struct BlankFunction { width: u32 }
    name(this) = format!("result_or_zero_{}", this.width);
    doc = "y = empty ? +0 : o.";
    inputs { o: this.width, empty: 1 }
    outputs { y: this.width }
    eval<W> { [empty.not().repeat(this.width).and(&o)] }
}

/// Results, or zeros.
pub fn blanked(m: &mut Module, o: &[Wire], blank: Wire) -> Vec<Wire> {
    m.call_each("blank", BlankFunction { width: o[0].width() }, o.iter().map(|&o| [o, blank]))
}

function! {
    /// Either flag.
    pub struct FlagOrFunction {}
    name(this) = "flag_or";
    doc = "y = a or b.";
    inputs { a: 1, b: 1 }
    outputs { y: 1 }
    eval<W> { [a.or(&b)] }
}
