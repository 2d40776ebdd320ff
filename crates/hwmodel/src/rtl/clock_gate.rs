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
