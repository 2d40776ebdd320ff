//! A gated register, followed by one whose clock never stops.

use flashd_hwmodel::rtl::{Module, Tag, Wire};

/// A register with a clock gate.
fn gated(around: &mut Module, enable: Wire, d: Wire) -> Wire {
    around.part("inner", Tag::module("gated", ""), |m| {
        m.clock();
        let (enable, d) = (m.input("enable", enable), m.input("d", d));
        let q = m.gated("gate", enable, |m| m.register("register_q", d));
        m.output("q", q)
    })
}

#[test]
fn a_gate_inside_a_part_sees_every_edge() {
    let mut bench = Module::bench();
    let (enable, d) = (bench.open(1), bench.open(8));
    bench.part("top", Tag::module("nested", ""), |m| {
        m.clock();
        let (enable, d) = (m.input("enable", enable), m.input("d", d));
        // The gate is in the part; the register after it has a free clock.
        let gated = gated(m, enable, d);
        let free = m.register("register_q", gated);
        m.output("gated", gated);
        m.output("free", free);
    });
    let mut design = bench.into_circuit();
    let (mut gated, mut free) = (0, 0);
    for (cycle, enable) in [1u64, 0, 0, 1, 1, 0, 1, 0, 0, 0, 1, 1, 1].into_iter().enumerate() {
        design.set("enable", enable);
        design.set("d", cycle as u64 + 1);
        design.settle();
        assert_eq!((design.get("gated"), design.get("free")), (gated, free), "cycle {cycle}");
        design.clock();
        free = gated;
        gated = if enable == 1 { cycle as u64 + 1 } else { gated };
    }
}
