//! The queue of a block's results before the port.
//!
//! The result of a FLASH-D core is its accumulator, which the first step of the next query overwrites. So all results
//! but the first, which leaves at once, are copied when they are complete. The copies move up one place a cycle. That
//! takes a multiplexer for each bit and place, as many as a choice among them would, but no wire spans the array.
//!
//! An FA2 core has a result register, or its accumulators have one in [`port`](super::port), until the next result is complete. By then all results of the block
//! have left, because `sending` in `control` delays the last key. So nothing is copied: `pick` chooses. No core holds
//! its flags, so the queue of FA2 has the flags alone.
//!
//! Accumulators of partial results go the same way: the queue copies FLASH-D's, and FA2's lanes hold theirs. The
//! scalars of a state wait in the queue with the flags.

use crate::function;
use crate::rtl::{Module, Name, Tag, Wire, wires};

function! {
    /// The own result of a place in the queue, or the result of the next place.
    pub struct SelectFunction { width: u32 }
    name(this) = format!("result_select_{}", this.width);
    doc = "y = take ? own : behind.";
    inputs { take: 1, own: this.width, behind: this.width }
    outputs { y: this.width }
    eval<W> { [take.select(&own, &behind)] }
}

function! {
    /// The place of a result in its block, and whether it is the last.
    pub struct OrderFunction { bits: u32 }
    name(this) = format!("result_order_{}", this.bits);
    doc = "last = valid and not more; the index counts while more follow.";
    inputs { valid: 1, more: 1, index: this.bits }
    outputs { last: 1, next_index: this.bits }
    eval<W> {
        let following = index.add(&W::constant(this.bits, 1));
        [valid.and(&more.not()), more.select(&following, &W::zero(this.bits))]
    }
}

/// A result with its flags and, with partial results, its state.
#[derive(Clone)]
pub struct QueryResult {
    /// Its elements; empty if the cores hold them.
    pub o: Vec<Wire>,
    /// With partial results: its accumulators; empty if the cores hold them.
    pub state: Vec<Wire>,
    /// With partial results: the scalars of its state, which no core holds.
    pub scalars: Vec<Wire>,
    /// The result is present.
    pub valid: Wire,
    /// Its flags, in the order of [`CoreOutputs::flags`](crate::attention::ports::CoreOutputs::flags).
    pub flags: Vec<Wire>,
}

wires!(QueryResult { o, state, scalars, valid, flags });

impl QueryResult {
    fn bring_in(&self, m: &mut Module, prefix: &str) -> QueryResult {
        let name = |part: &str| format!("{prefix}_{part}");
        QueryResult {
            o: m.inputs(prefix, &self.o),
            valid: m.input(&name("valid"), self.valid),
            flags: m.inputs(&name("flags"), &self.flags),
            state: m.inputs(&name("state"), &self.state),
            scalars: (self.scalars.iter().enumerate())
                .map(|(i, &scalar)| m.input(&name(&format!("scalar_{i}")), scalar))
                .collect(),
        }
    }

    fn hand_out(&self, m: &mut Module) -> QueryResult {
        QueryResult {
            o: m.outputs("o", &self.o),
            valid: m.output("valid", self.valid),
            flags: m.outputs("flags", &self.flags),
            state: m.outputs("state", &self.state),
            scalars: (self.scalars.iter().enumerate())
                .map(|(i, &scalar)| m.output(&format!("scalar_{i}"), scalar))
                .collect(),
        }
    }

    /// A name for modules: `what[0]` with the number and width of elements and the number of flags, or `what[1]` with
    /// the flags alone; then the widths of the state.
    fn suffix(&self, what: [&str; 2]) -> String {
        let flags = self.flags.len();
        let mut suffix = match self.o.first() {
            Some(o) => format!("{}_{}x{}_{flags}", what[0], self.o.len(), o.width()),
            None => format!("{}_{flags}", what[1]),
        };
        if let Some(state) = self.state.first() {
            suffix += &format!("_state{}", state.width());
        }
        self.scalars.iter().for_each(|scalar| suffix += &format!("_s{}", scalar.width()));
        suffix
    }
}

/// Declares the inputs of a place in the queue: `take`, high when the results of the cores are complete; `own`, the
/// result of the core; `behind`, the result in the next place.
fn place(
    m: &mut Module,
    take: Wire,
    own: &QueryResult,
    behind: &QueryResult,
) -> (Wire, QueryResult, QueryResult) {
    let take = m.input("take", take);
    let own = own.bring_in(m, "own");
    (take, own, behind.bring_in(m, "behind"))
}

/// Chooses a result: `own`, the core's, while `take` is high; otherwise `behind`, the next place's.
pub fn result_select(
    around: &mut Module,
    name: impl Into<Name>,
    take: Wire,
    own: &QueryResult,
    behind: &QueryResult,
) -> QueryResult {
    let tag = Tag::module(
        own.suffix(["result_select", "flags_select"]),
        "What belongs to a core's own result when it is complete, otherwise to the one behind it.",
    );
    around.part(name, tag, |m| {
        let (take, own, behind) = place(m, take, own, behind);
        let choose_all = |m: &mut Module, name: &str, own: &[Wire], behind: &[Wire]| {
            let select = SelectFunction { width: own.first().map_or(1, |own| own.width()) };
            m.call_each(name, select, own.iter().zip(behind).map(|(&own, &behind)| [take, own, behind]))
        };
        let o = choose_all(m, "element", &own.o, &behind.o);
        let [valid] = m.call("validity", SelectFunction { width: 1 }, [take, own.valid, behind.valid]);
        let flags = choose_all(m, "flag", &own.flags, &behind.flags);
        let state = choose_all(m, "state_element", &own.state, &behind.state);
        let scalars = (own.scalars.iter().zip(&behind.scalars).enumerate())
            .map(|(i, (&own, &behind))| {
                // The scalars differ in width, so they are no elements of one vector.
                m.call(
                    format!("chosen_scalar_{i}"),
                    SelectFunction { width: own.width() },
                    [take, own, behind],
                )[0]
            })
            .collect();
        QueryResult { o, state, scalars, valid, flags }.hand_out(m)
    })
}

/// One place of the queue. It registers the result of the core while `take` is high,
/// otherwise the next place's.
pub fn kept_result(
    around: &mut Module,
    name: Name,
    take: Wire,
    own: &QueryResult,
    behind: &QueryResult,
) -> QueryResult {
    let tag = Tag::module(
        own.suffix(["kept_result", "kept_flags"]),
        "What belongs to a result that waits for the port, one place nearer in every cycle.",
    );
    around.part(name, tag, |m| {
        m.clock();
        m.reset();
        let (take, own, behind) = place(m, take, own, behind);
        let next = result_select(m, "select", take, &own, &behind);
        let o = m.registers_if("o_q", next.valid, &next.o);
        let valid = m.register_reset("valid_q", 0, next.valid);
        let flags = m.registers_if("flag_q", next.valid, &next.flags);
        let state = m.registers_if("state_q", next.valid, &next.state);
        let scalars = (next.scalars.iter().enumerate())
            .map(|(i, &scalar)| m.register_if(format!("scalar_{i}_q"), next.valid, scalar))
            .collect();
        QueryResult { o, state, scalars, valid, flags }.hand_out(m)
    })
}
