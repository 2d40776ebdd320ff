//! A gated register beside one whose clock never stops.

use flashd_hwmodel::circuit;
use flashd_hwmodel::rtl::{Block, Bus, ClockGate, In, Logic, Out, Register, Tag};
use rust_hdl::core::prelude::{ast, hdl_gen, logic};

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
