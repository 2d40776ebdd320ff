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
    changed: bool,
    driven: bool,
    width: u32,
    id: usize,
    direction: PhantomData<D>,
}

impl<D: Direction> Bus<D> {
    /// A bus of `width` bits.
    pub fn new(width: u32) -> Self {
        assert!((1..=64).contains(&width), "a bus of {width} bits");
        Bus {
            next: 0,
            settled: 0,
            changed: false,
            driven: false,
            width,
            id: get_signal_id(),
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
    pub fn width(&self) -> u32 {
        self.width
    }
}

/// A port: one bus or a vector of them.
pub trait Port {
    /// Driven to a value that the last sweep has not seen.
    fn is_pending(&self) -> bool;

    /// An output that moved in the last sweep.
    fn has_moved(&self) -> bool;
}

impl<D: Direction> Port for Bus<D> {
    #[inline]
    fn is_pending(&self) -> bool {
        self.next != self.settled
    }

    #[inline]
    fn has_moved(&self) -> bool {
        self.changed && matches!(D::KIND, AtomKind::OutputParameter)
    }
}

impl<D: Direction> Port for Vec<Bus<D>> {
    #[inline]
    fn is_pending(&self) -> bool {
        self.iter().any(|bus| bus.is_pending())
    }

    #[inline]
    fn has_moved(&self) -> bool {
        self.iter().any(|bus| bus.has_moved())
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
        self.width as usize
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
        self.id
    }
    fn verilog(&self) -> VerilogLiteral {
        self.next.into()
    }
    fn constraints(&self) -> Vec<PinConstraint> {
        Vec::new()
    }
}
