//! Flip-flops. RustHDL's `DFF` has no reset and relies on an `initial` block; these have neither latches
//! nor initial values.
//!
//! A register captures in the sweep in which it sees the clock rise and shows the captured value in the
//! next one. Every register of a design sees the edge in the same sweep, so none can race another.

use super::{Block, Bus, In, Logic, Out, Part, Probe, Tag, Verilog};

macro_rules! register {
    (
        $(#[$meta:meta])* $name:ident { $($control:ident),* }
        |$this:ident| $captured:expr; $verilog:expr
    ) => {
        $(#[$meta])*
        pub struct $name {
            tag: Tag,
            /// Clock; the register acts on its rising edge.
            pub clk: Bus<In>,
            $(
                /// Control input, one bit.
                pub $control: Bus<In>,
            )*
            /// Data in.
            pub d: Bus<In>,
            /// Data out.
            pub q: Bus<Out>,
            clock_was_high: bool,
            captured: Option<u64>,
        }

        impl Logic for $name {
            #[inline]
            fn update(&mut self) {
                let clock = self.clk.val() != 0;
                if clock && !self.clock_was_high {
                    let $this = &*self;
                    let captured: u64 = $captured;
                    self.captured = (captured != self.q.val()).then_some(captured);
                } else if let Some(value) = self.captured.take() {
                    self.q.next = value;
                }
                self.clock_was_high = clock;
            }
            fn connect(&mut self) {
                self.q.connect();
            }
            fn hdl(&self) -> Verilog {
                Verilog::Custom($verilog.to_string())
            }
        }

        impl Block for $name {
            fn connect_all(&mut self) {
                self.connect();
            }
            #[inline]
            fn update_all(&mut self) {
                self.update();
                self.q.update_all();
            }
            #[inline]
            fn has_changed(&self) -> bool {
                self.captured.is_some() || self.q.has_changed()
            }
            fn accept(&self, name: &str, probe: &mut dyn Probe) {
                probe.visit_start_scope(name, self);
                self.tag.accept("tag", probe);
                self.clk.accept("clk", probe);
                $(self.$control.accept(stringify!($control), probe);)*
                self.d.accept("d", probe);
                self.q.accept("q", probe);
                probe.visit_end_scope(name, self);
            }
        }

        impl Part for $name {
            #[inline]
            fn moved(&self) -> bool {
                self.q.has_changed()
            }
            #[inline]
            fn is_restless(&self) -> bool {
                self.captured.is_some() || (self.clk.val() != 0) != self.clock_was_high
            }
        }
    };
}

register! {
    /// `q <= d`.
    Register {}
    |r| r.d.val();
    "always @(posedge clk) q <= d;"
}

register! {
    /// `if (enable) q <= d`.
    EnabledRegister { enable }
    |r| if r.enable.val() != 0 { r.d.val() } else { r.q.val() };
    "always @(posedge clk) if (enable) q <= d;"
}

register! {
    /// `q <= rst ? reset value : d`.
    ResetRegister { rst }
    |r| if r.rst.val() != 0 { r.reset_value() } else { r.d.val() };
    "always @(posedge clk) q <= rst ? reset : d;"
}

impl Register {
    /// A register of `width` bits.
    pub fn new(width: u32) -> Self {
        Register {
            tag: Tag::register(None, false),
            clk: Bus::new(1),
            d: Bus::new(width),
            q: Bus::new(width),
            clock_was_high: false,
            captured: None,
        }
    }
}

impl EnabledRegister {
    /// A register of `width` bits.
    pub fn new(width: u32) -> Self {
        EnabledRegister {
            tag: Tag::register(None, true),
            clk: Bus::new(1),
            enable: Bus::new(1),
            d: Bus::new(width),
            q: Bus::new(width),
            clock_was_high: false,
            captured: None,
        }
    }
}

impl ResetRegister {
    /// A register of `width` bits that holds `reset` after reset.
    pub fn new(width: u32, reset: u64) -> Self {
        ResetRegister {
            tag: Tag::register(Some(reset), false),
            clk: Bus::new(1),
            rst: Bus::new(1),
            d: Bus::new(width),
            q: Bus::new(width),
            clock_was_high: false,
            captured: None,
        }
    }

    fn reset_value(&self) -> u64 {
        match self.tag.kind {
            super::TagKind::Register { reset: Some(value), .. } => value,
            _ => 0,
        }
    }
}
