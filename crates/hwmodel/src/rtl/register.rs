//! Flip-flops. RustHDL's `DFF` has no reset and relies on an `initial` block; these have neither latches
//! nor initial values.
//!
//! A register captures in the sweep in which it sees the clock rise and shows the captured value in the
//! next one. Every register of a design sees the edge in the same sweep, so none can race another.

use super::bus::Port;
use super::{Block, Bus, In, Logic, Out, Part, Probe, Tag, Verilog};

macro_rules! register {
    (
        $(#[$meta:meta])* $name:ident { $($control:ident),* } $($constant:ident)?
        |$this:ident| $captured:expr; $tag:expr; $verilog:expr
    ) => {
        $(#[$meta])*
        pub struct $name {
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
            $($constant: u64,)?
            clock_was_high: bool,
            captured: Option<u64>,
        }

        impl Logic for $name {
            #[inline]
            fn update(&mut self) {
                let high = self.clk.val() != 0;
                if high && !self.clock_was_high {
                    self.capture();
                }
                self.clock_was_high = high;
            }
            fn connect(&mut self) {
                self.q.connect();
            }
            fn hdl(&self) -> Verilog {
                Verilog::Custom($verilog.to_string())
            }
        }

        impl $name {
            #[inline]
            fn capture(&mut self) {
                let $this = &*self;
                let captured: u64 = $captured;
                self.captured = (captured != self.q.val()).then_some(captured);
            }
        }

        impl Block for $name {
            fn connect_all(&mut self) {
                self.connect();
            }
            #[inline]
            fn update_all(&mut self) {
                if !self.release() {
                    self.q.update_all();
                }
                self.update();
            }
            #[inline]
            fn has_changed(&self) -> bool {
                self.captured.is_some() || self.q.has_changed()
            }
            fn accept(&self, name: &str, probe: &mut dyn Probe) {
                probe.visit_start_scope(name, self);
                let $this = self;
                let tag: Tag = $tag;
                tag.accept("tag", probe);
                self.clk.accept("clk", probe);
                $(self.$control.accept(stringify!($control), probe);)*
                self.d.accept("d", probe);
                self.q.accept("q", probe);
                probe.visit_end_scope(name, self);
            }
        }

        impl Part for $name {
            #[inline]
            fn settle(&mut self) -> bool {
                // What it shows has been released before.
                self.update();
                false
            }
            #[inline]
            fn is_restless(&self) -> bool {
                self.captured.is_some() || (self.clk.val() != 0) != self.clock_was_high
            }
            #[inline]
            fn clock(&mut self, high: bool) -> bool {
                self.clk.next = high as u64;
                self.clock_was_high = high;
                if high {
                    self.capture();
                }
                self.captured.is_some()
            }
            #[inline]
            fn release(&mut self) -> bool {
                match self.captured.take() {
                    Some(value) => {
                        self.q.next = value;
                        self.q.take()
                    }
                    None => false,
                }
            }
        }
    };
}

register! {
    /// `q <= d`.
    Register {}
    |r| r.d.val();
    { let _ = r; Tag::register(None, false) };
    "always @(posedge clk) q <= d;"
}

register! {
    /// `if (enable) q <= d`.
    EnabledRegister { enable }
    |r| if r.enable.val() != 0 { r.d.val() } else { r.q.val() };
    { let _ = r; Tag::register(None, true) };
    "always @(posedge clk) if (enable) q <= d;"
}

register! {
    /// `q <= rst ? reset value : d`.
    ResetRegister { rst } reset
    |r| if r.rst.val() != 0 { r.reset } else { r.d.val() };
    Tag::register(Some(r.reset), false);
    "always @(posedge clk) q <= rst ? reset : d;"
}

impl Register {
    /// A register of `width` bits.
    pub fn new(width: u32) -> Self {
        Register {
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
            clk: Bus::new(1),
            reset,
            rst: Bus::new(1),
            d: Bus::new(width),
            q: Bus::new(width),
            clock_was_high: false,
            captured: None,
        }
    }
}
