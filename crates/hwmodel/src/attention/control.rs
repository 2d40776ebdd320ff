//! Control of a core from the key port to the score stage: the flags that accompany a key.

use super::delay::late_flag;
use super::flags::{Flags, flag_pipe};
use super::group::FlagOrFunction;
use super::masks::{NextFirstFunction, UnmaskedFunction};
use super::partial::StateStepFunction;
use crate::function;
use crate::rtl::{Module, Tag, Wire};

function! {
    /// Whether the next key is a first one, and whether this one makes its query invalid.
    pub struct KeyFlagsFunction {}
    name(this) = "key_flags";
    doc = "The key after k_last (or after reset) is a first key; a key is invalid with its query.";
    inputs { k_valid: 1, k_last: 1, expect_first: 1, k_special: 1, q_special: 1 }
    outputs { next_expect_first: 1, invalid: 1 }
    eval<W> { [k_valid.select(&k_last, &expect_first), k_special.or(&q_special)] }
}

/// The flags at the score stage.
pub struct KeyOutputs {
    /// With partial results: a restore reaches the score stage in the next cycle, and the step at the score stage is a
    /// restore.
    pub state: Option<(Wire, Wire)>,
    /// With masks: the step is valid and not masked, so the scalar path sees it.
    pub live: Option<Wire>,
    /// The flags of the step, masked or not. `first` says that the query has not seen a key before it: masked keys do
    /// not count. A restore is a first step wherever it comes.
    pub flags: Flags,
}

/// Delays the flags of a key by the `stages` cycles from the key port to the score stage.
///
/// `ports` are, by name: a query is loaded (`q_valid`) and has an element that is Inf or NaN (`q_special`); a key is
/// accepted (`k_valid`), is its query's last (`k_last`) and has an element that is Inf or NaN (`k_special`). With
/// masks, `k_mask` says that the key is masked. With partial results, `k_state` says that the step is a restore.
pub fn key_control(
    around: &mut Module,
    stages: usize,
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
        m.reserve(&["expect_first_q"]);
        let expect_first = m.later(1);
        // `seen`: the query sees this key. `next_first`: the key after this one is a first one.
        let seen =
            k_mask.map_or(k_valid, |mask| m.call(("seen", 0), UnmaskedFunction {}, [k_valid, mask])[0]);
        let next_first = match k_mask {
            Some(mask) => m.call(("next_first", 0), NextFirstFunction {}, [k_last, mask, expect_first])[0],
            None => k_last,
        };
        m.reserve(&["flags", "invalid_seen", "pipe", "live_q"]);
        // A restore is a first step wherever it comes, and what the key port carries beside it does not count.
        let mut entering_first = expect_first;
        let mut key_special = k_special;
        let state = k_state.map(|k_state| {
            let [state_step] = m.call(("state_step", 0), StateStepFunction {}, [seen, k_state]);
            entering_first = m.call(("starts", 0), FlagOrFunction {}, [expect_first, state_step])[0];
            key_special = m.call(("key_special", 0), UnmaskedFunction {}, [k_special, k_state])[0];
            let mut way = vec![state_step];
            for i in 0..stages {
                way.push(m.register_reset(("state_q", i), 0, way[i]));
            }
            let (next, now) = (way[stages.saturating_sub(1)], way[stages]);
            (m.outputs("state_next", &[next])[0], m.outputs("state", &[now])[0])
        });
        let flags = [k_valid, next_first, expect_first, key_special, q_special];
        let [next_expect_first, key_invalid] = m.call("flags", KeyFlagsFunction {}, flags);
        let expect_first_q = m.register_reset("expect_first_q", 1, next_expect_first);
        m.drive(expect_first, expect_first_q);
        // A masked key does not make its query invalid, whatever it holds.
        let key_invalid = match k_mask {
            Some(mask) => m.call(("invalid_seen", 0), UnmaskedFunction {}, [key_invalid, mask])[0],
            None => key_invalid,
        };
        let entering = Flags { valid: k_valid, first: entering_first, last: k_last, invalid: key_invalid };
        let (Flags { valid, first, last, invalid }, _) = flag_pipe(m, "pipe", entering, stages);
        let live = k_mask.map(|_| late_flag(m, "live_q", seen, stages));
        let valid = m.output("valid", valid);
        let live = m.optional_output("live", live);
        let [first, last, invalid] = m.output_each([("first", first), ("last", last), ("invalid", invalid)]);
        KeyOutputs { state, live, flags: Flags { valid, first, last, invalid } }
    })
}
