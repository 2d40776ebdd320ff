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
pub mod clock_gate;
pub mod register;
pub mod settle;
pub mod tag;
pub mod unit;

pub use bus::Bus;
pub use clock_gate::ClockGate;
pub use register::{EnabledRegister, Register, ResetRegister};
pub use settle::Part;
pub use tag::{Tag, TagKind};
pub use unit::Function;

pub use rust_hdl::core::prelude::{Block, In, Logic, Out, Probe, Verilog};
pub(crate) use rust_hdl::core::prelude::{ast, hdl_gen, logic};

/// Declares a structural module: `ports`, `parts` (sub-modules, in the order in which data flows through
/// them) and `config` (plain data for the kernel's loop bounds).
///
/// The generated `update_all` runs the kernel before each part, so that combinational data passes through
/// the whole module in one sweep; a module in which nothing is left to do is passed over until an input moves. That is safe at a clock edge because registers release what they captured
/// one sweep later (see [`register`](crate::rtl::register)).
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
            /// Nothing inside is left to do: until an input moves, nothing will.
            quiet: bool,
        }

        impl $crate::rtl::Block for $name {
            fn connect_all(&mut self) {
                use $crate::rtl::Logic;
                self.connect();
                $(self.$port.connect_all();)*
                $(self.$part.connect_all();)*
            }
            fn update_all(&mut self) {
                use $crate::rtl::{Logic, Part, bus::Port};
                if self.quiet $(&& !self.$port.is_pending())* {
                    return;
                }
                // The kernel runs again only after a part whose outputs may have moved.
                let mut stale = true;
                $(
                    if stale {
                        self.update();
                    }
                    self.$part.update_all();
                    stale = self.$part.moved();
                )*
                if stale {
                    self.update();
                }
                $(self.$port.update_all();)*
                self.quiet = !($(self.$part.is_restless() ||)* false);
            }
            fn has_changed(&self) -> bool {
                !self.quiet
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
            fn moved(&self) -> bool {
                use $crate::rtl::bus::Port;
                $(self.$port.has_moved() ||)* false
            }
            fn is_restless(&self) -> bool {
                use $crate::rtl::bus::Port;
                !self.quiet $(|| self.$port.is_pending())*
            }
        }
    };
}
