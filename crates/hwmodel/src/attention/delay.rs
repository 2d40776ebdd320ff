//! Chains of registers that delay words and flags.

use crate::rtl::{Module, Name, Tag, Wire};

/// Delays a word by `stages` cycles, 0 for the word itself. The registers are not reset.
pub fn delay(around: &mut Module, name: impl Into<Name>, x: Wire, stages: usize) -> Wire {
    let tag = Tag::module(format!("delay_{}_{stages}", x.width()), format!("y = x, {stages} cycles later."));
    around.part(name, tag.dissolved(), |m| {
        m.clock();
        let mut x = m.input("x", x);
        for i in 0..stages {
            x = m.register(("stage_q", i), x);
        }
        m.output("y", x)
    })
}

/// Delays a flag by `stages` cycles; it is low after reset. The registers, elements of `name`, belong to `m` itself.
pub fn late_flag(m: &mut Module, name: &str, flag: Wire, stages: usize) -> Wire {
    (0..stages).fold(flag, |flag, i| m.register_reset((name, i), 0, flag))
}
