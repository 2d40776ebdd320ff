//! RustHDL building blocks: buses of run-time width, registers, and modules made from Word functions.
//!
//! RustHDL's own `Signal<D, Bits<N>>` has its width in its type, so every width a user can configure would
//! need its own compiled copy of every module. [`Bus`] is a RustHDL atom whose width is a field instead; it
//! takes part in RustHDL's kernels, checks and probes like any signal.
//!
//! * [`unit!`](crate::unit) makes a combinational leaf module from a [`Function`]: `update()` evaluates it
//!   on numbers, `hdl()` prints the same function as Verilog.
//! * [`circuit!`](crate::circuit) makes a structural module: its `#[hdl_gen]` kernel only connects.
//! * [`register`] has the three kinds of flip-flop.
//! * [`clock_gate`] stops the clock of a part.

pub mod bus;
mod circuit;
pub mod clock_gate;
mod leaf;
mod module;
mod order;
mod probe;
pub mod register;
pub mod settle;
pub mod tag;
pub mod unit;
mod watch;

pub use bus::Bus;
pub use circuit::{Circuit, PortRef};
pub use clock_gate::ClockGate;
pub use leaf::{Function, Leaf, Pins, VectorFunction, VectorLeaf};
pub use module::{Module, Name, Wire};
pub use register::{EnabledRegister, Register, ResetRegister};
pub use settle::Part;
pub use tag::{Tag, TagKind};
pub use watch::{Reading, Watched};

pub use rust_hdl::core::prelude::{Block, In, Logic, Out, Probe, Verilog};
pub(crate) use rust_hdl::core::prelude::{ast, hdl_gen, logic};

/// Declares a structural module: `ports`, `parts` (sub-modules, in the order in which data flows through
/// them) and `config` (plain data for the kernel's loop bounds).
///
/// The kernel runs again only after a part whose outputs moved, so that combinational data passes through the whole
/// module in one sweep; a module in which nothing is left to do is passed over until an input moves. That is safe at a
/// clock edge because registers show what they captured one sweep later (see [`settle`]).
///
/// A port called `clk` is the clock of all parts, unless one of them [drives clocks](Part::DRIVES_CLOCKS).
#[macro_export]
macro_rules! circuit {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            ports { $($(#[$port_meta:meta])* $port:ident: $port_type:ty,)* }
            parts { $($(#[$part_meta:meta])* $part:ident: $part_type:ty,)* }
            config { $($(#[$config_meta:meta])* $config:ident: $config_type:ty,)* }
        }
    ) => {
        $(#[$meta])*
        pub struct $name {
            /// Name and description of the emitted module.
            pub tag: $crate::rtl::Tag,
            $($(#[$port_meta])* pub $port: $port_type,)*
            $($(#[$part_meta])* pub $part: $part_type,)*
            $($(#[$config_meta])* $config: $config_type,)*
            /// Of the parts.
            unrest: $crate::rtl::settle::Unrest,
        }

        impl $crate::rtl::Block for $name {
            fn connect_all(&mut self) {
                use $crate::rtl::Logic;
                self.connect();
                $(self.$port.connect_all();)*
                $(self.$part.connect_all();)*
            }
            fn update_all(&mut self) {
                $crate::rtl::Part::settle(self);
            }
            fn has_changed(&self) -> bool {
                !self.unrest.quiet
            }
            fn accept(&self, name: &str, probe: &mut dyn $crate::rtl::Probe) {
                probe.visit_start_scope(name, self);
                self.tag.accept("tag", probe);
                $(self.$port.accept(stringify!($port), probe);)*
                $(self.$part.accept(stringify!($part), probe);)*
                probe.visit_end_scope(name, self);
            }
        }

        impl $crate::rtl::Part for $name {
            fn settle(&mut self) -> bool {
                use $crate::rtl::{Logic, bus::Port, settle::is_clock};
                let data = $((!const { is_clock(stringify!($port)) } && self.$port.is_pending()) ||)* false;
                let clock = $((const { is_clock(stringify!($port)) } && self.$port.is_pending()) ||)* false;
                let high = $((const { is_clock(stringify!($port)) } && self.$port.is_high()) ||)* false;
                if self.unrest.quiet && !data && !(clock && Self::GATES) {
                    if clock {
                        self.clock(high);
                    }
                    return false;
                }
                // The kernel that carries on what was captured has also brought in what is pending.
                let mut stale = !self.show_captured() && (data || clock);
                let mut restless = true;
                for _ in 0..$crate::rtl::settle::PASSES {
                    $(
                        if stale {
                            self.update();
                        }
                        stale = self.$part.settle();
                    )*
                    if std::mem::take(&mut stale) {
                        self.update();
                    }
                    restless = $(self.$part.is_restless() ||)* false;
                    // What is captured in this sweep waits for the next one.
                    if !restless || high || Self::GATES {
                        break;
                    }
                }
                self.unrest = $crate::rtl::settle::Unrest::after(restless);
                $(self.$port.take() |)* false
            }
            fn is_restless(&self) -> bool {
                use $crate::rtl::bus::Port;
                !self.unrest.quiet $(|| self.$port.is_pending())*
            }
            fn clock(&mut self, high: bool) -> bool {
                use $crate::rtl::{bus::Port, settle::is_clock};
                $(
                    if const { is_clock(stringify!($port)) } {
                        self.$port.drive(high as u64);
                    }
                )*
                if Self::GATES {
                    self.settle();
                    return !self.unrest.quiet;
                }
                $(
                    if const { is_clock(stringify!($port)) } {
                        self.$port.take();
                    }
                )*
                let holds = $(self.$part.clock(high) |)* false;
                self.unrest = $crate::rtl::settle::Unrest::after(holds);
                holds
            }
            fn release(&mut self) -> bool {
                use $crate::rtl::bus::Port;
                self.show_captured() && ($(self.$port.show() |)* false)
            }
        }

        impl $name {
            /// A part drives the clock of others: only a sweep can tell which registers see an edge.
            const GATES: bool = false $(|| <$part_type as $crate::rtl::Part>::DRIVES_CLOCKS)*;

            /// Releases what the registers hold, and carries it on if it moves anything here.
            #[inline]
            fn show_captured(&mut self) -> bool {
                use $crate::rtl::{Logic, Part};
                if !std::mem::take(&mut self.unrest.holding) {
                    return false;
                }
                let moved = $(self.$part.release() |)* false;
                if moved {
                    self.update();
                }
                moved
            }
        }
    };
}
