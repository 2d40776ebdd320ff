//! A clock that stops: everything behind it is frozen while its enable is low.
//!
//! In the simulation the gate is what it is in silicon: the enable is latched while the clock is low, and the gated
//! clock is the clock and the latch. It has to stand before the parts that it clocks: a `circuit!` runs its kernel
//! again after a part that changed, so that the gated registers see their edge in the same sweep as all others.
//!
//! In Verilog there is no gated clock. The generator turns the gate into a clock enable `ce` of every register behind
//! it, from which synthesis tools make one gate again where a library has one.

use super::{Block, Bus, In, Logic, Out, Part, Probe, Tag, TagKind, Verilog};

/// Lets rising edges of `clk` through while `enable` is high.
pub struct ClockGate {
    tag: Tag,
    /// Clock.
    pub clk: Bus<In>,
    /// The next rising edge passes. Must not depend on anything that changes while the clock is high.
    pub enable: Bus<In>,
    /// The clock of what is frozen while `enable` is low.
    pub gated: Bus<Out>,
    latched: bool,
    /// Clock and enable in the last sweep.
    seen: Option<(u64, u64)>,
}

impl Default for ClockGate {
    fn default() -> Self {
        ClockGate::new()
    }
}

impl ClockGate {
    /// A gate, closed until the clock is low for the first time.
    pub fn new() -> Self {
        let tag = Tag { name: "clock_gate".into(), doc: String::new(), kind: TagKind::ClockGate };
        ClockGate {
            tag,
            clk: Bus::new(1),
            enable: Bus::new(1),
            gated: Bus::new(1),
            latched: false,
            seen: None,
        }
    }
}

impl Logic for ClockGate {
    fn update(&mut self) {
        let clock = self.clk.val() != 0;
        if !clock {
            self.latched = self.enable.val() != 0;
        }
        self.gated.next = (clock && self.latched) as u64;
        self.seen = Some((self.clk.val(), self.enable.val()));
    }
    fn connect(&mut self) {
        self.gated.connect();
    }
    fn hdl(&self) -> Verilog {
        // Never printed: the generator puts clock enables in its place.
        Verilog::Custom(String::new())
    }
}

impl Block for ClockGate {
    fn connect_all(&mut self) {
        self.connect();
    }
    fn update_all(&mut self) {
        self.update();
        self.gated.update_all();
    }
    fn has_changed(&self) -> bool {
        self.gated.has_changed()
    }
    fn accept(&self, name: &str, probe: &mut dyn Probe) {
        probe.visit_start_scope(name, self);
        self.tag.accept("tag", probe);
        self.clk.accept("clk", probe);
        self.enable.accept("enable", probe);
        self.gated.accept("gated", probe);
        probe.visit_end_scope(name, self);
    }
}

impl Part for ClockGate {
    const DRIVES_CLOCKS: bool = true;

    fn settle(&mut self) -> bool {
        self.update_all();
        self.gated.has_changed()
    }
    fn is_restless(&self) -> bool {
        self.seen != Some((self.clk.val(), self.enable.val()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuit;
    use crate::rtl::{Register, ast, hdl_gen, logic};

    circuit! {
        /// A register behind a gate.
        pub struct Gated {
            ports {
                clk: Bus<In>,
                enable: Bus<In>,
                d: Bus<In>,
                q: Bus<Out>,
            }
            parts {
                gate: ClockGate,
                register_q: Register,
            }
            config {}
        }
    }

    impl Logic for Gated {
        #[hdl_gen]
        fn update(&mut self) {
            self.gate.clk.next = self.clk.val();
            self.gate.enable.next = self.enable.val();
            self.register_q.clk.next = self.gate.gated.val();
            self.register_q.d.next = self.d.val();
            self.q.next = self.register_q.q.val();
        }
    }

    circuit! {
        /// The gate is in a part; the register after it is not behind it.
        pub struct Nested {
            ports {
                clk: Bus<In>,
                enable: Bus<In>,
                d: Bus<In>,
                gated: Bus<Out>,
                free: Bus<Out>,
            }
            parts {
                inner: Gated,
                register_q: Register,
            }
            config {}
        }
    }

    impl Logic for Nested {
        #[hdl_gen]
        fn update(&mut self) {
            self.inner.clk.next = self.clk.val();
            self.inner.enable.next = self.enable.val();
            self.inner.d.next = self.d.val();
            self.register_q.clk.next = self.clk.val();
            self.register_q.d.next = self.inner.q.val();
            self.gated.next = self.inner.q.val();
            self.free.next = self.register_q.q.val();
        }
    }

    #[test]
    fn a_gate_inside_a_part_sees_every_edge() {
        let inner = Gated {
            tag: Tag::module("gated", ""),
            unrest: Default::default(),
            clk: Bus::new(1),
            enable: Bus::new(1),
            d: Bus::new(8),
            q: Bus::new(8),
            gate: ClockGate::new(),
            register_q: Register::new(8),
        };
        let mut design = Nested {
            tag: Tag::module("nested", ""),
            unrest: Default::default(),
            clk: Bus::new(1),
            enable: Bus::new(1),
            d: Bus::new(8),
            gated: Bus::new(8),
            free: Bus::new(8),
            inner,
            register_q: Register::new(8),
        };
        design.connect_all();
        let (mut gated, mut free) = (0, 0);
        for (cycle, enable) in [1, 0, 0, 1, 1, 0, 1, 0, 0, 0, 1, 1, 1].into_iter().enumerate() {
            (design.clk.next, design.enable.next, design.d.next) = (0, enable, cycle as u64 + 1);
            for _ in 0..4 {
                design.update_all();
            }
            assert_eq!((design.gated.val(), design.free.val()), (gated, free), "cycle {cycle}");
            assert!(!design.has_changed(), "cycle {cycle}");
            design.clk.next = 1;
            design.update_all();
            free = gated;
            gated = if enable == 1 { cycle as u64 + 1 } else { gated };
        }
    }
}
