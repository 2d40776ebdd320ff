//! Words some cycles later.

use crate::rtl::{Module, Name, Tag, Wire};

/// A word, `stages` cycles later; none gives the word itself.
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

/// A flag, `stages` cycles later, low after reset: registers of a name in the module itself.
pub fn late_flag(m: &mut Module, name: &str, flag: Wire, stages: usize) -> Wire {
    (0..stages).fold(flag, |flag, i| m.register_reset((name, i), 0, flag))
}
