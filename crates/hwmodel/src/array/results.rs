//! Results of a block on their way to the port.
//!
//! A FLASH-D core's result is its accumulator, which the next query's first step overwrites. So all but the first
//! result, which leaves at once, are copied when they are complete. The copies move up by one place a cycle, which takes
//! one multiplexer a bit and place, as choosing among them would, but no wire that spans the array.
//!
//! An FA2 core has a register for its result and holds it until its next one is complete. By then all of a block have
//! left (`sending` in `control` sees to that), so that no copy is needed: `pick` chooses. Flags are held by no core; there
//! the queue has no elements, only flags.
//!
//! With partial results the same holds of accumulators: FLASH-D's are copied, and FA2's lanes hold theirs. The scalars of a state are in the
//! queue with the flags.

use crate::function;
use crate::rtl::{Module, Name, Tag, Wire};

function! {
    /// A place's own result, or the one behind it.
    pub struct SelectFunction { width: u32 }
    name(this) = format!("result_select_{}", this.width);
    doc = "y = take ? own : behind.";
    inputs { take: 1, own: this.width, behind: this.width }
    outputs { y: this.width }
    eval<W> { [take.select(&own, &behind)] }
}

function! {
    /// Position of a result in its block.
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

/// A result and what belongs to it.
#[derive(Clone)]
pub struct QueryResult {
    /// Its elements; none if the cores hold them.
    pub o: Vec<Wire>,
    /// With partial results: its accumulators; none if the cores hold them.
    pub state: Vec<Wire>,
    /// With partial results: the scalars of its state, which no core holds.
    pub scalars: Vec<Wire>,
    /// High while the result is on `o`.
    pub valid: Wire,
    /// Its flags: `o_invalid` and, with fixed-point lanes, `o_overflow`; with masks, `o_empty`.
    pub flags: Vec<Wire>,
}

impl QueryResult {
    fn bring_in(&self, m: &mut Module, prefix: &str) -> QueryResult {
        let name = |part: &str| format!("{prefix}_{part}");
        QueryResult {
            o: m.inputs(prefix, &self.o),
            valid: m.input(&name("valid"), self.valid),
            flags: m.inputs(&name("flags"), &self.flags),
            state: m.inputs(&name("state"), &self.state),
            scalars: (self.scalars.iter().enumerate())
                .map(|(i, &scalar)| m.inputs(&name(&format!("scalar_{i}")), &[scalar])[0])
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
                .map(|(i, &scalar)| m.outputs(&format!("scalar_{i}"), &[scalar])[0])
                .collect(),
        }
    }

    /// For module names: elements, their width and flags, or flags alone.
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

/// The ports of a result that is a core's `own` when the cores' results are complete (`take`), otherwise the one in the place behind.
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

/// Chooses between a core's result and the one that waits behind it.
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
                // Of widths of their own: no elements of one vector.
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

/// One place of the queue to the port, that of core `index + 1`: the kept result.
pub fn kept_result(
    around: &mut Module,
    index: usize,
    take: Wire,
    own: &QueryResult,
    behind: &QueryResult,
) -> QueryResult {
    let tag = Tag::module(
        own.suffix(["kept_result", "kept_flags"]),
        "What belongs to a result that waits for the port, one place nearer in every cycle.",
    );
    around.part(("kept", index), tag, |m| {
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
