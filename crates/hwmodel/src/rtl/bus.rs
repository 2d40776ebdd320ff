//! A RustHDL signal whose width is a field, not a type parameter.

use rust_hdl::core::ast::VerilogLiteral;
use rust_hdl::core::constraint::PinConstraint;
use rust_hdl::core::direction::Direction;
use rust_hdl::core::prelude::{
    Atom, AtomKind, Block, Logic, Probe, Synth, TypeDescriptor, TypeKind, VCDValue,
};
use rust_hdl::core::signal::get_signal_id;
use std::marker::PhantomData;

/// A bus of 1 to 64 wires. `next` is driven by the kernel of the module that owns the wire's source;
/// [`Bus::val`] reads it.
///
/// Unlike RustHDL's own `Signal<In, _>`, an input is visible as soon as it is driven, not one sweep later:
/// values travel down the hierarchy in one sweep. Registers do not rely on the delay.
#[derive(Clone, Debug)]
pub struct Bus<D: Direction> {
    /// The driven value; must fit the width.
    pub next: u64,
    settled: u64,
    // Packed: a core has thousands of buses, and a cycle meets most of them.
    id: u32,
    width: u8,
    changed: bool,
    driven: bool,
    direction: PhantomData<D>,
}

impl<D: Direction> Bus<D> {
    /// A bus of `width` bits.
    pub fn new(width: u32) -> Self {
        assert!((1..=64).contains(&width), "a bus of {width} bits");
        Bus {
            next: 0,
            settled: 0,
            id: get_signal_id() as u32,
            width: width as u8,
            changed: false,
            driven: false,
            direction: PhantomData,
        }
    }

    /// `count` buses of `width` bits.
    pub fn vector(count: usize, width: u32) -> Vec<Self> {
        (0..count).map(|_| Bus::new(width)).collect()
    }

    /// Current value.
    #[inline]
    pub fn val(&self) -> u64 {
        self.next
    }

    /// Width in bits.
    #[inline]
    pub fn width(&self) -> u32 {
        self.width.into()
    }
}

/// A port: one bus or a vector of them.
pub trait Port {
    /// Driven to a value that the last sweep has not seen.
    fn is_pending(&self) -> bool;

    /// Some wire is high.
    fn is_high(&self) -> bool;

    /// Ends a sweep. Whether an output moved since the last one.
    fn take(&mut self) -> bool;

    /// The same for outputs; inputs stay as they are, pending or not.
    fn show(&mut self) -> bool;

    /// Drives every bus to a value.
    fn drive(&mut self, value: u64);
}

impl<D: Direction> Port for Bus<D> {
    #[inline]
    fn is_pending(&self) -> bool {
        self.next != self.settled
    }

    #[inline]
    fn is_high(&self) -> bool {
        self.next != 0
    }

    #[inline]
    fn take(&mut self) -> bool {
        self.update_all();
        self.changed && matches!(D::KIND, AtomKind::OutputParameter)
    }

    #[inline]
    fn show(&mut self) -> bool {
        matches!(D::KIND, AtomKind::OutputParameter) && self.take()
    }

    #[inline]
    fn drive(&mut self, value: u64) {
        self.next = value;
    }
}

impl<D: Direction> Port for Vec<Bus<D>> {
    #[inline]
    fn is_pending(&self) -> bool {
        self.iter().any(Bus::is_pending)
    }

    #[inline]
    fn is_high(&self) -> bool {
        self.iter().any(Bus::is_high)
    }

    #[inline]
    fn take(&mut self) -> bool {
        self.iter_mut().fold(false, |moved, bus| bus.take() | moved)
    }

    #[inline]
    fn show(&mut self) -> bool {
        self.iter_mut().fold(false, |moved, bus| bus.show() | moved)
    }

    #[inline]
    fn drive(&mut self, value: u64) {
        self.iter_mut().for_each(|bus| bus.drive(value));
    }
}

impl<D: Direction> Logic for Bus<D> {
    fn update(&mut self) {}
    fn connect(&mut self) {
        self.driven = true;
    }
}

impl<D: Direction> Block for Bus<D> {
    fn connect_all(&mut self) {}
    #[inline]
    fn update_all(&mut self) {
        self.changed = self.settled != self.next;
        self.settled = self.next;
    }
    #[inline]
    fn has_changed(&self) -> bool {
        self.changed
    }
    fn accept(&self, name: &str, probe: &mut dyn Probe) {
        probe.visit_atom(name, self);
    }
}

impl<D: Direction> Atom for Bus<D> {
    fn bits(&self) -> usize {
        self.width.into()
    }
    fn connected(&self) -> bool {
        self.driven
    }
    fn changed(&self) -> bool {
        self.changed
    }
    fn kind(&self) -> AtomKind {
        D::KIND
    }
    fn descriptor(&self) -> TypeDescriptor {
        TypeDescriptor { name: format!("Bus{}", self.width), kind: TypeKind::Bits(self.bits()) }
    }
    fn vcd(&self) -> VCDValue {
        // The probe's only door to a value: 64 bits, most significant first, cut by the reader to `bits()`.
        rust_hdl::core::prelude::Bits::<64>::from(self.next).vcd()
    }
    fn id(&self) -> usize {
        self.id as usize
    }
    fn verilog(&self) -> VerilogLiteral {
        self.next.into()
    }
    fn constraints(&self) -> Vec<PinConstraint> {
        Vec::new()
    }
}
