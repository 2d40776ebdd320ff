//! A word at the border of a block.

use rust_hdl::core::constraint::PinConstraint;
use rust_hdl::core::signal::get_signal_id;
use rust_hdl::prelude::{Atom, AtomKind, Bits, Synth, TypeDescriptor, TypeKind, VCDValue, VerilogLiteral};

/// A word of up to 64 bits at the border of a block. RustHDL's own `Signal<D, Bits<N>>` has its width in its type; widths of a
/// described design are data.
pub struct Pin {
    pub(crate) name: String,
    pub(crate) width: u32,
    kind: AtomKind,
    /// The value from the next `latch` on.
    pub next: u64,
    value: u64,
    changed: bool,
    connected: bool,
    id: usize,
}

impl Pin {
    pub(crate) fn new(name: String, width: u32, kind: AtomKind) -> Pin {
        Pin { name, width, kind, next: 0, value: 0, changed: false, connected: false, id: get_signal_id() }
    }

    /// Its name in probes and in RustHDL's Verilog.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its value.
    pub fn value(&self) -> u64 {
        self.value
    }

    /// Set if the block drives it.
    pub fn is_output(&self) -> bool {
        self.kind == AtomKind::OutputParameter
    }

    /// Takes the next value; returns whether it is another one.
    pub(crate) fn latch(&mut self) -> bool {
        self.changed = self.value != self.next;
        self.value = self.next;
        self.changed
    }

    /// Set if the last `latch` was a rising edge of a clock.
    pub(crate) fn rose(&self) -> bool {
        self.changed && self.value != 0
    }

    /// Set if a latch would change its value.
    pub(crate) fn moves(&self) -> bool {
        self.value != self.next
    }

    pub(crate) fn connect(&mut self) {
        self.connected = true;
    }
}

impl Atom for Pin {
    fn bits(&self) -> usize {
        self.width as usize
    }

    fn connected(&self) -> bool {
        self.connected
    }

    fn changed(&self) -> bool {
        self.changed
    }

    fn kind(&self) -> AtomKind {
        self.kind
    }

    fn descriptor(&self) -> TypeDescriptor {
        TypeDescriptor { name: format!("Bits::<{}>", self.width), kind: TypeKind::Bits(self.bits()) }
    }

    fn vcd(&self) -> VCDValue {
        match Bits::<64>::from(self.value).vcd() {
            // The most significant bit is first.
            VCDValue::Vector(bits) => VCDValue::Vector(bits[64 - self.bits()..].to_vec()),
            other => other,
        }
    }

    fn id(&self) -> usize {
        self.id
    }

    fn verilog(&self) -> VerilogLiteral {
        self.value.into()
    }

    fn constraints(&self) -> Vec<PinConstraint> {
        Vec::new()
    }
}
