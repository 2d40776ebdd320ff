//! The flags of a step, from the ports to the results.

use crate::rtl::{Module, Role, Row, Stage, Tag, Wire, bundle};

/// The flags of a step. The others mean something only while `valid` is high.
#[derive(Clone, Copy, Debug)]
pub struct Flags {
    /// A step is present.
    pub valid: Wire,
    /// It is the first step of its query.
    pub first: Wire,
    /// It is the last step of its query.
    pub last: Wire,
    /// Its key or its query has an element that is Inf or NaN.
    pub invalid: Wire,
}

bundle!(Flags { valid, first, last, invalid });

/// Rows for the flags of the step that is this many stages after the score.
pub(super) fn show_flags(m: &mut Module, after: usize, flags: Flags) {
    m.stage(Stage::Score(after));
    m.show_role(Role::Valid, flags.valid, "valid");
    m.show_role(Role::First, flags.first, "first key");
    m.show_as(Row::Flag, flags.last, "last key");
    m.show_as(Row::Flag, flags.invalid, "invalid");
}

/// Delays the flags by `stages` cycles, 0 or more. Also returns `valid` of one cycle less. Only `valid` is reset. `show` adds rows for
/// the flags after each cycle but the last.
pub fn flag_pipe(
    around: &mut Module,
    name: &str,
    flags: Flags,
    stages: usize,
    show: impl Fn(&mut Module, usize, Flags),
) -> (Flags, Wire) {
    let tag = Tag::module(format!("flag_pipe_{stages}"), format!("Flags of a step, {stages} cycles later."));
    around.part(name, tag.dissolved(), |m| {
        m.clock();
        m.reset();
        let Flags { valid, first, last, invalid } = m.enter("", &flags);
        let mut valids = vec![valid];
        for i in 0..stages {
            valids.push(m.register_reset(("valid_q", i), 0, valids[i]));
        }
        let pipe = |m: &mut Module, name: &str, x: Wire| {
            let mut all = vec![x];
            (0..stages).for_each(|i| all.push(m.register((name, i), all[i])));
            all
        };
        let [first, last, invalid] =
            [("first_q", first), ("last_q", last), ("invalid_q", invalid)].map(|(name, x)| pipe(m, name, x));
        let at = |i: usize| Flags { valid: valids[i], first: first[i], last: last[i], invalid: invalid[i] };
        (1..stages).for_each(|i| show(m, i, at(i)));
        let valid_before = m.output("valid_before", valids[stages.saturating_sub(1)]);
        let late = Flags {
            valid: m.output("valid_out", valids[stages]),
            first: m.output("first_out", first[stages]),
            last: m.output("last_out", last[stages]),
            invalid: m.output("invalid_out", invalid[stages]),
        };
        (late, valid_before)
    })
}
