//! A key's flags, from its ports to the score stage.

use super::delay::late_flag;
use super::flags::{Flags, flag_pipe};
use super::group::FlagOrFunction;
use super::masks::{NextFirstFunction, UnmaskedFunction};
use super::partial::StateStepFunction;
use crate::function;
use crate::rtl::{Module, Stage, Tag, Wire};

function! {
    /// Whether the next key is a first one, and the invalid bit of this key.
    pub struct KeyFlagsFunction {}
    name(this) = "key_flags";
    doc = "The key after k_last (or after reset) is a first key; a key is invalid with its query.";
    inputs { k_valid: 1, k_last: 1, expect_first: 1, k_special: 1, q_special: 1 }
    outputs { next_expect_first: 1, invalid: 1 }
    eval<W> { [k_valid.select(&k_last, &expect_first), k_special.or(&q_special)] }
}

/// The flags at the score stage.
pub struct KeyOutputs {
    /// With partial results: a restore reaches the score stage in the next cycle; the step at the score stage is a
    /// restore.
    pub state: Option<(Wire, Wire)>,
    /// With masks: the step at the score stage is not masked. The scalar path takes no other step.
    pub live: Option<Wire>,
    /// The flags of the step. `first` is high for a restore, and for a key before which the query has seen none: masked
    /// keys do not count.
    pub flags: Flags,
}

/// Control of a core whose score stage is `stages` cycles after the acceptance of a key.
///
/// `ports` are, in this order: `q_valid`, a query is loaded; `q_special`, an element of it is Inf or NaN; `k_valid`, a
/// key is accepted; `k_last`, it is its query's last; `k_special`, an element of it is Inf or NaN. With masks `k_mask`
/// says that the query does not see the key; with partial results `k_state` says that the step is a restore. The adder tree takes the
/// first `tree` of the stages.
pub fn key_control(
    around: &mut Module,
    [stages, tree]: [usize; 2],
    ports: [(&str, Wire); 5],
    k_mask: Option<Wire>,
    k_state: Option<Wire>,
) -> KeyOutputs {
    let (masks, partial) = (k_mask.is_some(), k_state.is_some());
    let tag = Tag::module(
        format!(
            "key_control_{}{}{stages}",
            if masks { "masked_" } else { "" },
            if partial { "partial_" } else { "" }
        ),
        "Key handshake and the flags that follow a key.",
    );
    around.part("control", tag.dissolved(), |m| {
        m.clock();
        m.reset();
        let [q_valid, q_special, k_valid, k_last, k_special] = m.input_each(ports);
        let k_mask = m.optional_input("k_mask", k_mask);
        let k_state = m.optional_input("k_state", k_state);

        let q_special = m.register_if("q_special_q", q_valid, q_special);
        let expect_first = m.later(1);
        // `seen`: there is a step and it is not masked. `next_first`: the key after this one is a first one.
        let seen = k_mask.map_or(k_valid, |mask| m.call("seen", UnmaskedFunction {}, [k_valid, mask])[0]);
        let next_first = match k_mask {
            Some(mask) => m.call("next_first", NextFirstFunction {}, [k_last, mask, expect_first])[0],
            None => k_last,
        };
        // A restore is a first step, wherever in the query it comes. The key of its cycle does not count.
        let mut entering_first = expect_first;
        let mut key_special = k_special;
        let state = k_state.map(|k_state| {
            let [state_step] = m.call("state_step", StateStepFunction {}, [seen, k_state]);
            entering_first = m.call("starts", FlagOrFunction {}, [expect_first, state_step])[0];
            key_special = m.call("key_special", UnmaskedFunction {}, [k_special, k_state])[0];
            let mut way = vec![state_step];
            for i in 0..stages {
                way.push(m.register_reset(("state_q", i), 0, way[i]));
            }
            let (next, now) = (way[stages.saturating_sub(1)], way[stages]);
            (m.output("state_next", next), m.output("state", now))
        });
        let flags = [k_valid, next_first, expect_first, key_special, q_special];
        let [next_expect_first, key_invalid] = m.call("flags", KeyFlagsFunction {}, flags);
        let expect_first_q = m.register_reset("expect_first_q", 1, next_expect_first);
        m.drive(expect_first, expect_first_q);
        m.stage(Stage::QueryAndKey);
        m.show(expect_first_q, "first key");
        m.show(key_invalid, "q or k is Inf or NaN");
        // Inf and NaN do not count at a masked key, neither in the key nor in q.
        let key_invalid = match k_mask {
            Some(mask) => m.call("invalid_seen", UnmaskedFunction {}, [key_invalid, mask])[0],
            None => key_invalid,
        };
        let entering = Flags { valid: k_valid, first: entering_first, last: k_last, invalid: key_invalid };
        let (Flags { valid, first, last, invalid }, _) =
            flag_pipe(m, "pipe", entering, stages, |m, stage, flags| {
                if stage < tree {
                    show_tree_flags(m, stage, flags);
                }
            });
        let live = k_mask.map(|_| late_flag(m, "live_q", seen, stages));
        let valid = m.output("valid", valid);
        let live = m.optional_output("live", live);
        let [first, last, invalid] = m.output_each([("first", first), ("last", last), ("invalid", invalid)]);
        KeyOutputs { state, live, flags: Flags { valid, first, last, invalid } }
    })
}

/// Rows for the flags of a step in the adder tree: `valid`, and folded away the others.
fn show_tree_flags(m: &mut Module, stage: usize, flags: Flags) {
    m.stage(Stage::AdderTree);
    m.show(flags.valid, &format!("valid, stage {stage}"));
    m.fold(Some("First, last, invalid"));
    for (wire, name) in [(flags.first, "first"), (flags.last, "last"), (flags.invalid, "invalid")] {
        m.show(wire, &format!("{name}, stage {stage}"));
    }
    m.fold(None);
}
