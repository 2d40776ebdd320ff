//! The flags of a step, from the ports to the results.

use crate::rtl::{Module, Tag, Wire};

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

impl Flags {
    /// Declares an input port of a part for each flag, under its name. Returns the wires inside.
    pub fn enter(self, m: &mut Module) -> Flags {
        Flags {
            valid: m.input("valid", self.valid),
            first: m.input("first", self.first),
            last: m.input("last", self.last),
            invalid: m.input("invalid", self.invalid),
        }
    }
}

/// Delays the flags by `stages` cycles, 0 or more. Also returns `valid` of one cycle less. Only `valid` is reset.
pub fn flag_pipe(around: &mut Module, name: &str, flags: Flags, stages: usize) -> (Flags, Wire) {
    let tag = Tag::module(format!("flag_pipe_{stages}"), format!("Flags of a step, {stages} cycles later."));
    around.part(name, tag.dissolved(), |m| {
        m.clock();
        m.reset();
        let Flags { valid, first, last, invalid } = flags.enter(m);
        let mut valids = vec![valid];
        for i in 0..stages {
            valids.push(m.register_reset(("valid_q", i), 0, valids[i]));
        }
        let pipe = |m: &mut Module, name: &str, x: Wire| (0..stages).fold(x, |x, i| m.register((name, i), x));
        let (first, last) = (pipe(m, "first_q", first), pipe(m, "last_q", last));
        let invalid = pipe(m, "invalid_q", invalid);
        let valid_before = m.output("valid_before", valids[stages.saturating_sub(1)]);
        let late = Flags {
            valid: m.output("valid_out", valids[stages]),
            first: m.output("first_out", first),
            last: m.output("last_out", last),
            invalid: m.output("invalid_out", invalid),
        };
        (late, valid_before)
    })
}
