//! Groups of lanes, each with its own copies of the scalar registers.
//!
//! A scalar feeds all lanes. Each group registers it once, so no register drives more than [`LANES_PER_GROUP`] lanes at
//! any number of lanes.

use super::any_flag::AnyFlag;
use super::masks::UnmaskedFunction;
use super::signals::Signals;
use crate::function;
use crate::rtl::{Module, Name, Role, Row, Stage, Tag, Wire, wires};
use flashd_spec::numerics::Numerics;
use std::sync::Arc;

/// Lanes that one copy of the scalar registers feeds.
pub const LANES_PER_GROUP: usize = 16;

/// Converts the factor of the scalar path to the lanes' form.
pub type FactorOf = fn(&mut Module, &Arc<Numerics>, Wire) -> Wire;

/// A kind of lane, and how its group registers the scalars for it.
pub struct LaneKind {
    /// Name of the module of the lane.
    pub name: fn(&Numerics) -> String,
    /// Builds a lane.
    pub lane: fn(&mut Module, Name, &Arc<Numerics>, &LaneInputs) -> LaneOutputs,
    /// Flags whose copies are reset: the group's port, and the lanes'.
    pub flags: &'static [(&'static str, &'static str)],
    /// For lanes whose result is zero unless a query ends: the flag of the end, as the port of the group and that of
    /// the lanes.
    pub finish: Option<(&'static str, &'static str)>,
    /// Words, each with the port of the group that enables its copy.
    pub words: &'static [(&'static str, &'static str)],
    /// Words whose copies load in every cycle.
    pub free: &'static [&'static str],
    /// A further port that may enable copies, and that the lanes do not get.
    pub takes: Option<&'static str>,
    /// Converts the factor `w` before it is registered.
    pub factor: Option<FactorOf>,
    /// Rows for the copies in the group. Kinds that share rows may lack some of the scalars.
    pub rows: &'static [GroupRow],
}

/// A row for the copy of a scalar in a group, or for the output `outside`.
pub struct GroupRow {
    /// Stages after the score.
    after: usize,
    name: &'static str,
    row: Row,
    /// The text next to it.
    pub label: &'static str,
}

/// A row for a stage this many stages after the score.
pub const fn row(after: usize, name: &'static str, label: &'static str) -> GroupRow {
    GroupRow { after, name, row: Row::Plain, label }
}

/// The same after the stage's numbers.
pub const fn late(after: usize, name: &'static str, label: &'static str) -> GroupRow {
    GroupRow { row: Row::Late, ..row(after, name, label) }
}

impl GroupRow {
    fn show(&self, m: &mut Module, outside: bool) {
        let Self { after, name, row, label } = *self;
        m.stage(Stage::Score(after));
        let copy = copy(name);
        match name {
            "outside" if outside => m.show_as(row, name, label),
            "update" => m.show_role(Role::Update, (copy.as_str(), "q"), label),
            _ if m.has_part(&copy) => m.show_as(row, (copy.as_str(), "q"), label),
            _ => {}
        }
    }
}

/// The name of the register that copies a scalar.
fn copy(scalar: &str) -> String {
    format!("{scalar}_q")
}

/// The inputs of a lane.
pub struct LaneInputs {
    /// An element of the value.
    pub v: Wire,
    /// The copies of the scalars in its group.
    pub scalars: Signals,
    /// With partial results: whether the step is a restore, and the accumulator that it loads, which comes like a
    /// value.
    pub restore: Option<(Wire, Wire)>,
}

wires!(LaneInputs { v, scalars, restore });

impl LaneInputs {
    /// Declares the clock and the inputs of a lane: the element of the value, and the scalars of these names.
    pub fn enter<const N: usize>(&self, m: &mut Module, scalars: [&'static str; N]) -> (Wire, [Wire; N]) {
        m.clock();
        let v = m.input("v", self.v);
        let asks = scalars.iter().any(|name| EXPONENTS.contains(name));
        let exponent = if asks { self.integer_exponent(m) } else { None };
        (v, scalars.map(|name| self.scalar(m, name, exponent)))
    }

    /// The exponent field of values that are integers: a constant, where there is no input for it.
    pub fn integer_exponent(&self, m: &mut Module) -> Option<Wire> {
        (!self.has_exponent()).then(|| m.call("x", IntegerExponentFunction {}, [])[0])
    }

    /// Declares the input of a scalar. For an exponent of integers it returns the constant and declares nothing.
    pub fn scalar(&self, m: &mut Module, name: &'static str, integer_exponent: Option<Wire>) -> Wire {
        match integer_exponent.filter(|_| EXPONENTS.contains(&name)) {
            Some(exponent) => exponent,
            None => m.input(name, self.scalars[name]),
        }
    }

    /// Whether a lane has an input for the largest exponent of the values, and an output that flags a value beyond it.
    pub fn has_exponent(&self) -> bool {
        self.scalars.get(EXPONENTS[0]).is_some()
    }
}

/// The scalars that carry the largest exponent field of the values: with a value, and with a result.
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

/// The outputs of a lane.
pub struct LaneOutputs {
    /// The element of the result; of lanes whose results are made at the port, the accumulator.
    pub o: Wire,
    /// Fixed-point lanes with an exponent port: the exponent of the value is above it.
    pub outside: Option<Wire>,
    /// With partial results: the accumulator, before it is rounded.
    pub o_state: Option<Wire>,
}

wires!(LaneOutputs { o, outside, o_state });

/// The inputs of a group.
pub struct GroupInputs {
    /// The scalars, a cycle before the lanes see them.
    pub scalars: Signals,
    /// With masks: the query that ends has not seen a key.
    pub empty: Option<Wire>,
    /// With masks, for lanes without [`LaneKind::finish`]: a query ends.
    pub ends_query: Option<Wire>,
    /// Elements of the value.
    pub v: Vec<Wire>,
    /// With partial results: whether the step is a restore, a cycle before the lanes see it, and the accumulators that
    /// the lanes load.
    pub restore: Option<(Wire, Vec<Wire>)>,
}

wires!(GroupInputs { scalars, empty, ends_query, v, restore });

/// The outputs of a group.
pub struct GroupOutputs {
    /// Elements of the result.
    pub o: Vec<Wire>,
    /// Fixed-point lanes with an exponent port: an element of the value is outside the range of the lanes.
    pub outside: Option<Wire>,
    /// With partial results: the accumulators, before they are rounded.
    pub o_state: Vec<Wire>,
}

wires!(GroupOutputs { o, outside, o_state });

/// Up to [`LANES_PER_GROUP`] lanes and their copies of the scalar registers.
///
/// With masks a query can end without having seen a key. Its result is zero, whatever the lanes hold. For lanes with
/// [`LaneKind::finish`] the group suppresses that flag, which takes one gate. The other lanes show their accumulators,
/// so the group gates every bit of their results.
pub fn group(
    around: &mut Module,
    name: Name,
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
    around.part(name, tag, |m| {
        m.clock();
        m.reset();
        let port = |m: &mut Module, name: &'static str| (name, m.input(name, inputs.scalars[name]));
        let flags: Vec<_> = kind.flags.iter().map(|&(name, lane)| (port(m, name), lane)).collect();
        let finish = kind.finish.map(|(name, lane)| (port(m, name), lane));
        // Integers have a constant exponent and no port for it.
        let given = |name: &&str| !EXPONENTS.contains(name) || inputs.scalars.get(name).is_some();
        let mut words: Vec<_> = (kind.words.iter().filter(|(name, _)| given(name)))
            .map(|&(name, enable)| (port(m, name), enable))
            .collect();
        let free: Vec<_> = kind.free.iter().filter(|name| given(name)).map(|name| port(m, name)).collect();
        let takes = kind.takes.map(|name| port(m, name));
        let empty = m.optional_input("empty", inputs.empty);
        let ends_query = m.optional_input("ends_query", inputs.ends_query);
        let v = m.inputs("v", &inputs.v);
        if let Some(factor) = kind.factor {
            for ((_, w), _) in words.iter_mut().filter(|((name, _), _)| *name == "w") {
                *w = factor(m, n, *w);
            }
        }

        let enables: Signals =
            flags.iter().map(|(port, _)| *port).chain(finish.map(|(port, _)| port)).chain(takes).collect();
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
                    let rest = m.register("rest_q", empty);
                    m.call("shows", UnmaskedFunction {}, [finish, rest])[0]
                }
                None => finish,
            };
            scalars.set(lane, done);
        }
        let restore = inputs.restore.as_ref().map(|(restore, state_o)| {
            let restore = m.input("restore", *restore);
            (restore, m.inputs("state_o", state_o))
        });
        let restore = restore.map(|(restore, state_o)| (m.register("restore_q", restore), state_o));
        let lanes_in = v.iter().enumerate().map(|(i, &v)| {
            let restore = restore.as_ref().map(|(restore, state_o)| (*restore, state_o[i]));
            LaneInputs { v, scalars: scalars.clone(), restore }
        });
        let outputs: Vec<LaneOutputs> =
            m.each("lane", lanes_in, |m, name, inputs| (kind.lane)(m, name, n, inputs));
        let states: Vec<Wire> = outputs.iter().filter_map(|lane| lane.o_state).collect();
        let o_state = if states.is_empty() { states } else { m.outputs("o_state", &states) };
        let mut o: Vec<Wire> = outputs.iter().map(|lane| lane.o).collect();
        if let (Some(ends), Some(empty)) = (ends_query, empty) {
            let blank = m.register_if("blank_q", ends, empty);
            o = blanked(m, &o, blank);
        }
        let outside = free.iter().any(|(name, _)| *name == "x").then(|| {
            let flags: Vec<Wire> = outputs.iter().filter_map(|lane| lane.outside).collect();
            let any = AnyFlag { count: lanes, doc: "Some lane's value has an exponent above the largest." };
            let any = m.leaf("any_outside", any, &flags)[0];
            m.output("outside", any)
        });
        kind.rows.iter().for_each(|row| row.show(m, outside.is_some()));
        GroupOutputs { o: m.outputs("o", &o), outside, o_state }
    })
}

function! {
    /// A result, or zero if the query has not seen a key.
    pub struct BlankFunction { width: u32 }
    name(this) = format!("result_or_zero_{}", this.width);
    doc = "y = empty ? +0 : o.";
    inputs { o: this.width, empty: 1 }
    outputs { y: this.width }
    eval<W> { [empty.not().repeat(this.width).and(&o)] }
}

/// The results, or zeros while `blank` is high.
pub fn blanked(m: &mut Module, o: &[Wire], blank: Wire) -> Vec<Wire> {
    m.call_each("blank", BlankFunction { width: o[0].width() }, o.iter().map(|&o| [o, blank]))
}

function! {
    /// The or of two flags.
    pub struct FlagOrFunction {}
    name(this) = "flag_or";
    doc = "y = a or b.";
    inputs { a: 1, b: 1 }
    outputs { y: 1 }
    eval<W> { [a.or(&b)] }
}
