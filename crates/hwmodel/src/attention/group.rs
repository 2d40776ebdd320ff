//! Groups of lanes, each with its own copies of the scalar registers.
//!
//! A scalar feeds all lanes. Each group registers it once, so no register drives more than [`LANES_PER_GROUP`] lanes at
//! any number of lanes.

use super::any_flag::AnyFlag;
use super::masks::UnmaskedFunction;
use crate::function;
use crate::rtl::{Bundle, Module, Name, Row, Tag, Wire, bundle, wires};
use flashd_spec::numerics::Numerics;
use std::sync::Arc;

/// Lanes that one copy of the scalar registers feeds.
pub const LANES_PER_GROUP: usize = 16;

/// The scalars of a family of lanes, from the scalar path to a group, and in it their copies for the lanes.
pub trait LaneScalars: Bundle + Copy {
    /// Registers the scalars for the lanes of a group, and next to `update` the flag that a query ends; both are reset. Returns the
    /// copies.
    fn copies(&self, m: &mut Module, n: &Arc<Numerics>, finish: Option<Wire>) -> (Self, Option<Wire>);

    /// Rows for the copies.
    fn show(&self, m: &mut Module, core: CoreScalars);

    /// Where results are made at the port of an array: the factor that is a quarter of the final scale when a query ends.
    fn scale(&self) -> Option<Wire> {
        None
    }
}

/// Registers the flags of a group: `update`, and the end of a query.
pub fn copy_flags(m: &mut Module, update: Wire, finish: Option<Wire>) -> (Wire, Option<Wire>) {
    let update = m.register_reset("update_q", 0, update);
    (update, finish.map(|finish| m.register_reset("finish_q", 0, finish)))
}

/// Registers words while `enable` is high.
pub fn copy_while<B: Bundle>(m: &mut Module, enable: Wire, words: &B) -> B {
    words.map_named("", &mut |name, wire| m.register_if(format!("{name}_q"), enable, wire))
}

/// The scalars for the lanes that do not come from the scalar path.
#[derive(Clone, Copy)]
pub struct CoreScalars {
    /// Lanes that make results when a query ends: it has ended. Lanes without it hand out accumulators.
    pub finish: Option<Wire>,
    /// Lanes under one exponent, with values that are floats.
    pub exponents: Option<Exponents>,
}

bundle!(CoreScalars { finish, exponents });

/// The largest exponent field of the values.
#[derive(Clone, Copy)]
pub struct Exponents {
    /// With a result.
    pub result_x: Wire,
    /// With a value.
    pub x: Wire,
}

bundle!(Exponents { result_x, x });

impl CoreScalars {
    /// Rows for the exponent of values, and for values beyond it.
    pub fn show_exponent(&self, m: &mut Module, row: Row) {
        if let Some(exponents) = self.exponents {
            m.show_as(row, exponents.x, "x: exponent of the largest |v|");
            m.show_as(row, "outside", "a v is beyond x");
        }
    }
}

/// The order of the scalars' ports: flags, the end of a query, words, and flags that only the group reads.
fn scalar_order(name: &str) -> usize {
    match name {
        "clk" | "rst" | "reads" | "update" => 0,
        "finish" => 1,
        "loads" | "take" => 3,
        _ => 2,
    }
}

/// A kind of lane.
pub struct LaneKind<S> {
    /// Name of the module of a lane with these scalars, and, if set, with a result.
    pub name: fn(&Numerics, &S, bool) -> String,
    /// The function of a lane, with a result if set, for the header of its module.
    pub doc: fn(bool) -> &'static str,
    /// The inside of a lane.
    pub lane: fn(&mut Module, &Arc<Numerics>, &LaneInputs<S>) -> LaneOutputs,
}

/// The inputs of a lane.
pub struct LaneInputs<S> {
    /// An element of the value.
    pub v: Wire,
    /// The copies of the scalars in its group.
    pub scalars: S,
    /// The copies of the core's scalars.
    pub core: CoreScalars,
    /// With partial results: whether the step is a restore, and the accumulator that it loads, which comes like a
    /// value.
    pub restore: Option<(Wire, Wire)>,
}

wires!(LaneInputs<S> { v, scalars, core, restore });

impl<S> LaneInputs<S> {
    /// Declares the clock and the element of the value.
    pub fn enter(&self, m: &mut Module) -> Wire {
        m.clock();
        m.input("v", self.v)
    }

    /// Declares the exponent of the value. For integers it returns the constant and declares nothing.
    pub fn x(&self, m: &mut Module) -> Wire {
        match self.core.exponents {
            Some(exponents) => m.input("x", exponents.x),
            None => m.call("x", IntegerExponentFunction {}, [])[0],
        }
    }

    /// Declares the exponent of the result. For integers that is `x`.
    pub fn result_x(&self, m: &mut Module, x: Wire) -> Wire {
        self.core.exponents.map_or(x, |exponents| m.input("result_x", exponents.result_x))
    }
}

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
pub struct GroupInputs<S> {
    /// The scalars of the scalar path, a cycle before the lanes see them.
    pub scalars: S,
    /// The scalars that the core adds.
    pub core: CoreScalars,
    /// With masks: the query that ends has not seen a key.
    pub empty: Option<Wire>,
    /// With masks, for lanes whose result does not rest between queries: a query ends.
    pub ends_query: Option<Wire>,
    /// Elements of the value.
    pub v: Vec<Wire>,
    /// With partial results: whether the step is a restore, a cycle before the lanes see it, and the accumulators that
    /// the lanes load.
    pub restore: Option<(Wire, Vec<Wire>)>,
}

wires!(GroupInputs<S> { scalars, core, empty, ends_query, v, restore });

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
/// With masks a query can end without having seen a key. Its result is zero, whatever the lanes hold. For lanes whose result is zero unless
/// a query ends, the group suppresses that flag, which takes one gate. The other lanes show their accumulators,
/// so the group gates every bit of their results.
pub fn group<S: LaneScalars>(
    around: &mut Module,
    name: Name,
    n: &Arc<Numerics>,
    kind: &LaneKind<S>,
    inputs: &GroupInputs<S>,
) -> GroupOutputs {
    let (lanes, rounds) = (inputs.v.len(), inputs.core.finish.is_some());
    let lane_name = (kind.name)(n, &inputs.scalars, rounds);
    let [masks, partial] =
        [(n.masks, "masked_"), (n.partial, "partial_")].map(|(has, name)| if has { name } else { "" });
    let tag = Tag::module(
        format!("{lane_name}_{masks}{partial}group_{lanes}"),
        format!("{lanes} lanes and their copies of the scalar registers."),
    );
    around.part(name, tag, |m| {
        m.clock();
        m.reset();
        let scalars = m.enter("", &inputs.scalars);
        let core = m.enter("", &inputs.core);
        m.order_ports(scalar_order);
        let empty = m.optional_input("empty", inputs.empty);
        let ends_query = m.optional_input("ends_query", inputs.ends_query);
        let v = m.inputs("v", &inputs.v);

        let (scalars, finish) = scalars.copies(m, n, core.finish);
        let exponents = core.exponents.zip(core.finish).map(|(Exponents { result_x, x }, finish)| {
            Exponents { result_x: m.register_if("result_x_q", finish, result_x), x: m.register("x_q", x) }
        });
        let finish = match (finish, empty, ends_query) {
            (Some(finish), Some(empty), None) => {
                let rest = m.register("rest_q", empty);
                Some(m.call("shows", UnmaskedFunction {}, [finish, rest])[0])
            }
            _ => finish,
        };
        let core = CoreScalars { finish, exponents };
        let restore = inputs.restore.as_ref().map(|(restore, state_o)| {
            let restore = m.input("restore", *restore);
            (restore, m.inputs("state_o", state_o))
        });
        let restore = restore.map(|(restore, state_o)| (m.register("restore_q", restore), state_o));
        let lanes_in = v.iter().enumerate().map(|(i, &v)| {
            let restore = restore.as_ref().map(|(restore, state_o)| (*restore, state_o[i]));
            LaneInputs { v, scalars, core, restore }
        });
        let outputs: Vec<LaneOutputs> = m.each("lane", lanes_in, |m, name, inputs| {
            m.part(name, Tag::module(lane_name.clone(), (kind.doc)(rounds)), |m| (kind.lane)(m, n, inputs))
        });
        let states: Vec<Wire> = outputs.iter().filter_map(|lane| lane.o_state).collect();
        let o_state = if states.is_empty() { states } else { m.outputs("o_state", &states) };
        let mut o: Vec<Wire> = outputs.iter().map(|lane| lane.o).collect();
        if let (Some(ends), Some(empty)) = (ends_query, empty) {
            let blank = m.register_if("blank_q", ends, empty);
            o = blanked(m, &o, blank);
        }
        let outside = exponents.map(|_| {
            let flags: Vec<Wire> = outputs.iter().filter_map(|lane| lane.outside).collect();
            let any = AnyFlag { count: lanes, doc: "Some lane's value has an exponent above the largest." };
            let any = m.leaf("any_outside", any, &flags)[0];
            m.output("outside", any)
        });
        scalars.show(m, core);
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
