//! Vectors of instances: what is alike is described once.

use super::signals::part_name;
use super::{Driver, Module, Name, Wire};
use crate::rtl::signal::Signal;
use crate::rtl::structure::{Kind, Node, Structure};
use crate::rtl::{Tag, Watched};
use std::sync::Arc;

/// The wires that a part is given or hands out.
pub trait Wires {
    /// The same with each wire replaced by `to` of it, in a fixed order.
    #[must_use]
    fn map(&self, to: &mut dyn FnMut(Wire) -> Wire) -> Self;
}

impl Wires for Wire {
    fn map(&self, to: &mut dyn FnMut(Wire) -> Wire) -> Wire {
        to(*self)
    }
}

impl Wires for () {
    fn map(&self, _: &mut dyn FnMut(Wire) -> Wire) {}
}

impl<T: Wires> Wires for Option<T> {
    fn map(&self, to: &mut dyn FnMut(Wire) -> Wire) -> Self {
        self.as_ref().map(|wires| wires.map(to))
    }
}

impl<T: Wires> Wires for Vec<T> {
    fn map(&self, to: &mut dyn FnMut(Wire) -> Wire) -> Self {
        self.iter().map(|wires| wires.map(to)).collect()
    }
}

impl<T: Wires, const N: usize> Wires for [T; N] {
    fn map(&self, to: &mut dyn FnMut(Wire) -> Wire) -> Self {
        std::array::from_fn(|i| self[i].map(to))
    }
}

impl<A: Wires, B: Wires> Wires for (A, B) {
    fn map(&self, to: &mut dyn FnMut(Wire) -> Wire) -> Self {
        (self.0.map(to), self.1.map(to))
    }
}

/// Implements [`Wires`] for a structure of wires, whose parameters are wires, too.
macro_rules! wires {
    ($type:ident $(<$part:ident>)? { $($field:ident),* $(,)? }) => {
        impl$(<$part: $crate::rtl::Wires>)? $crate::rtl::Wires for $type$(<$part>)? {
            fn map(&self, to: &mut dyn FnMut($crate::rtl::Wire) -> $crate::rtl::Wire) -> Self {
                Self { $($field: $crate::rtl::Wires::map(&self.$field, to)),* }
            }
        }
    };
}
pub(crate) use wires;

/// Wires that are named after their ports, an interface between units: a field for each. Fields may also be optional, or bundles
/// themselves.
pub trait Bundle: Wires {
    /// The same with each wire replaced by `to` of its name and it, in the order of the fields. `field` is the name of a bundle of one
    /// wire.
    #[must_use]
    fn map_named(&self, field: &'static str, to: &mut dyn FnMut(&'static str, Wire) -> Wire) -> Self;
}

impl Bundle for Wire {
    fn map_named(&self, field: &'static str, to: &mut dyn FnMut(&'static str, Wire) -> Wire) -> Wire {
        to(field, *self)
    }
}

impl Bundle for () {
    fn map_named(&self, _: &'static str, _: &mut dyn FnMut(&'static str, Wire) -> Wire) {}
}

impl<T: Bundle> Bundle for Option<T> {
    fn map_named(&self, field: &'static str, to: &mut dyn FnMut(&'static str, Wire) -> Wire) -> Self {
        self.as_ref().map(|bundle| bundle.map_named(field, to))
    }
}

/// Implements [`Bundle`] for a structure of wires, whose parameters are bundles.
macro_rules! bundle {
    ($type:ident $(<$($part:ident),+>)? { $($field:ident),* $(,)? }) => {
        impl$(<$($part: $crate::rtl::Bundle),+>)? $crate::rtl::Wires for $type$(<$($part),+>)? {
            fn map(&self, to: &mut dyn FnMut($crate::rtl::Wire) -> $crate::rtl::Wire) -> Self {
                $crate::rtl::Bundle::map_named(self, "", &mut |_, wire| to(wire))
            }
        }
        impl$(<$($part: $crate::rtl::Bundle),+>)? $crate::rtl::Bundle for $type$(<$($part),+>)? {
            fn map_named(
                &self,
                _: &'static str,
                to: &mut dyn FnMut(&'static str, $crate::rtl::Wire) -> $crate::rtl::Wire,
            ) -> Self {
                Self { $($field: $crate::rtl::Bundle::map_named(&self.$field, stringify!($field), to)),* }
            }
        }
    };
}
pub(crate) use bundle;

impl Module {
    /// Declares an input for each wire of an interface, the prefix before its name. Returns their wires inside.
    pub fn enter<B: Bundle>(&mut self, prefix: &str, bundle: &B) -> B {
        bundle.map_named("", &mut |name, wire| self.input(&format!("{prefix}{name}"), wire))
    }

    /// Declares an output for each wire of an interface, the prefix before its name. Returns their wires in the module around.
    pub fn hand_out<B: Bundle>(&mut self, prefix: &str, bundle: &B) -> B {
        bundle.map_named("", &mut |name, wire| self.output(&format!("{prefix}{name}"), wire))
    }
}

/// A described part in a bench of its own, from which instances are made.
struct Pattern<O> {
    /// The width of each wire that it is given.
    widths: Vec<u32>,
    /// The part in the bench, whose slots are those of the clock and the reset, of the wires that it is given, and of its outputs.
    node: Node,
    structure: Arc<Structure>,
    watches: Vec<Watched>,
    signals: Vec<Signal>,
    /// The slot of the reset.
    reset: u32,
    /// The widths of the outputs in the order of their slots.
    handed_out: Vec<u32>,
    /// What it hands out in the bench.
    result: O,
}

impl Module {
    /// Adds a vector of parts, a module each; part i is given `inputs[i]`. `body` describes a part as it would in this module: it adds one
    /// part of the name it gets. It runs once for all parts whose wires have the same widths, and these share the description. The first part
    /// has its rows; of the next few only those whose text has the number of the part, `#`.
    ///
    /// # Panics
    /// If `body` adds anything but one module.
    pub fn each<I: Wires, O: Wires>(
        &mut self,
        name: &str,
        inputs: impl IntoIterator<Item = I>,
        body: impl FnMut(&mut Module, Name, &I) -> O,
    ) -> Vec<O> {
        self.each_from(0, name, inputs, body)
    }

    /// [`Module::each`] with other numbers: those of the parts are `first` and up.
    pub fn each_from<I: Wires, O: Wires>(
        &mut self,
        first: usize,
        name: &str,
        inputs: impl IntoIterator<Item = I>,
        mut body: impl FnMut(&mut Module, Name, &I) -> O,
    ) -> Vec<O> {
        let mut pattern: Option<Pattern<O>> = None;
        let mut instances = Vec::new();
        for (i, inputs) in (first..).zip(inputs) {
            let mut given = Vec::new();
            let _ = inputs.map(&mut |wire| {
                self.check(wire);
                given.push(wire);
                wire
            });
            let widths: Vec<u32> = given.iter().map(|wire| wire.width).collect();
            let pattern = match pattern.take().filter(|pattern| pattern.widths == widths) {
                Some(same) => pattern.insert(same),
                None => pattern.insert(self.pattern(name, i, &inputs, widths, &mut body)),
            };
            instances.push(self.instance((name, i).into(), i == first, pattern, &given));
        }
        instances
    }

    fn pattern<I: Wires, O>(
        &self,
        name: &str,
        index: usize,
        inputs: &I,
        widths: Vec<u32>,
        body: &mut impl FnMut(&mut Module, Name, &I) -> O,
    ) -> Pattern<O> {
        let mut bench = Module::new(Tag::module(self.tag.name.clone(), ""), None);
        bench.place = self.place;
        if self.clock.is_some() {
            bench.clock();
        }
        let reset = bench.open(1);
        bench.reset = self.reset.map(|_| reset);
        let inputs = inputs.map(&mut |wire| bench.open(wire.width));
        let result = body(&mut bench, (name, index).into(), &inputs);
        let (reset, first) = (reset.slot, reset.slot + 1 + widths.len() as u32);
        let handed_out: Vec<u32> = bench.slots[first as usize..].iter().map(|slot| slot.width).collect();
        match (bench.nodes.pop(), bench.nodes.len()) {
            (Some(node), 0) if node.outputs.len() == handed_out.len() => match &node.kind {
                Kind::Module(structure) => {
                    let structure = structure.clone();
                    let (watches, signals) = (bench.watches, bench.signals);
                    Pattern { widths, node, structure, watches, signals, reset, handed_out, result }
                }
                _ => panic!("{}: {name} is no module", self.tag.name),
            },
            _ => panic!("{}: {name} is not one module each", self.tag.name),
        }
    }

    fn instance<O: Wires>(&mut self, name: Name, first: bool, pattern: &Pattern<O>, given: &[Wire]) -> O {
        let Pattern { node, structure, watches, signals, reset, handed_out, result, .. } = pattern;
        // From slots of the bench to those of this module. Nothing reads the bench's clock.
        let mut slots = vec![u32::MAX; *reset as usize];
        slots.push(self.reset.map_or(u32::MAX, |reset| reset.slot));
        slots.extend(given.iter().map(|wire| wire.slot));
        slots.extend(handed_out.iter().map(|&width| self.slot(width, Driver::Own)));
        let here = |slot: u32| slots[slot as usize];
        let place = self.nodes.len() as u32;
        self.watches.extend(watches.iter().cloned().map(|mut watched| {
            match watched.path.first_mut() {
                Some(first) => *first = place,
                None => watched.slot = here(watched.slot),
            }
            watched
        }));
        let described = part_name(&Name { base: node.name.clone(), index: node.index });
        let (part, index) = (part_name(&name), name.index.unwrap_or(0));
        let of_instance = |signal: Signal| signal.of_instance([&described, &part], first, index);
        self.signals.extend(signals.iter().cloned().filter_map(of_instance));
        let all = |slots: &[u32]| slots.iter().map(|&slot| here(slot)).collect();
        self.add_node(name, Kind::Module(structure.clone()), all(&node.inputs), all(&node.outputs));
        result.map(&mut |wire| Wire { module: self.id, slot: here(wire.slot), ..wire })
    }
}
