//! Modules made by functions: ordinary Rust that declares ports, registers, parts and what connects them.
//!
//! ```
//! use flashd_hwmodel::function;
//! use flashd_hwmodel::rtl::{Module, Tag, Wire};
//!
//! function! {
//!     /// A sum.
//!     pub struct Sum { bits: u32 }
//!     name(this) = format!("sum_{}", this.bits);
//!     doc = "y = a + b.";
//!     inputs { a: this.bits, b: this.bits }
//!     outputs { y: this.bits }
//!     eval<W> { [a.add(&b)] }
//! }
//!
//! /// An accumulator: `total <= total + x` while `enable`.
//! fn accumulator(around: &mut Module, name: &str, x: Wire, enable: Wire) -> Wire {
//!     around.part(name, Tag::module("accumulator", "Adds up x."), |m| {
//!         m.clock();
//!         let (x, enable) = (m.input("x", x), m.input("enable", enable));
//!         let total = m.later(x.width());
//!         let [sum] = m.call("sum", Sum { bits: x.width() }, [x, total]);
//!         let total_q = m.register_if("total_q", enable, sum);
//!         m.drive(total, total_q);
//!         m.output("total", total)
//!     })
//! }
//!
//! let mut bench = Module::bench();
//! let (x, enable) = (bench.open(8), bench.open(1));
//! accumulator(&mut bench, "top", x, enable);
//! let mut circuit = bench.into_circuit();
//! let [x, enable, total] = ["x", "enable", "total"].map(|name| circuit.port(name).unwrap());
//! circuit.set(x, 0, 3);
//! circuit.set(enable, 0, 1);
//! for expected in [0, 3, 6, 9] {
//!     circuit.settle();
//!     assert_eq!(circuit.get(total, 0), expected);
//!     circuit.clock();
//! }
//! ```
//!
//! A [`Wire`] belongs to the module that it was made in. [`Module::input`] brings one in from the module around, by a port of the
//! same width, and [`Module::output`] hands one out; so a port is written once, and its width follows from what drives it. What is
//! optional is an `if`, what there is many of a `for`. The functions yield RustHDL blocks ([`Circuit`]): RustHDL's probes and
//! checks see each module with its ports and its kernel of connections.
//!
//! Why not RustHDL's own way, a struct of ports whose `#[hdl_gen]` kernel is parsed: a kernel reaches parts by the names of fields and
//! knows no `if`, so that each optional port became a vector of none or one and each variant a macro.

use super::circuit::Circuit;
use super::leaf::{Function, FunctionLeaf, Leaf};
use super::probe::pins;
use super::structure::{Kind, Node, Port, Register, Structure};
use super::{Reading, Tag, Watched};
use rust_hdl::core::signal::get_signal_id;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// A word in a module: an input, or what a part or register of it puts out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wire {
    module: u32,
    slot: u32,
    width: u32,
}

impl Wire {
    /// Width in bits.
    pub fn width(self) -> u32 {
        self.width
    }
}

/// Name of a part or register: alone, or one of a vector.
#[derive(Clone, Debug)]
pub struct Name {
    base: String,
    index: Option<usize>,
}

impl From<&str> for Name {
    fn from(base: &str) -> Name {
        Name { base: base.into(), index: None }
    }
}

impl From<String> for Name {
    fn from(base: String) -> Name {
        Name { base, index: None }
    }
}

impl From<(&str, usize)> for Name {
    fn from((base, index): (&str, usize)) -> Name {
        Name { base: base.into(), index: Some(index) }
    }
}

/// A module that is being described.
///
/// Its methods panic where a description cannot be one of hardware: a wire of another module, two drivers or none, widths that
/// differ. Every structure is built by the tests.
pub struct Module {
    id: u32,
    tag: Tag,
    ports: Vec<Port>,
    slots: Vec<Slot>,
    nodes: Vec<Node>,
    names: HashSet<(String, Option<usize>)>,
    /// Of each node, where it stands in the text; and the places that are kept for names.
    places: Vec<usize>,
    kept: HashMap<String, usize>,
    next_place: usize,
    watches: Vec<Watched>,
    clock: Option<usize>,
    reset: Option<Wire>,
    gate: Option<u32>,
    around: Option<Around>,
}

/// Of a part: what it knows of the module around it.
struct Around {
    id: u32,
    reset: Option<Wire>,
    /// Slots there: of what drives each input, and of each output from the first one on.
    inputs: Vec<u32>,
    first_output: u32,
    outputs: Vec<u32>,
}

struct Slot {
    width: u32,
    /// Where it is known only later, what drives it.
    driver: Driver,
}

#[derive(Clone, Copy, PartialEq)]
enum Driver {
    Own,
    Later,
    Other(u32),
}

static MODULES: AtomicU32 = AtomicU32::new(0);

impl Module {
    /// What is around the outermost module: [open](Module::open) wires, a clock and a reset. The one part that is described in it is
    /// the design.
    pub fn bench() -> Module {
        let mut bench = Module::new(Tag::module("bench", ""), None);
        bench.clock();
        bench.reset = Some(bench.open(1));
        bench
    }

    /// A wire that nothing here drives: whoever runs the design does.
    pub fn open(&mut self, width: u32) -> Wire {
        assert!(self.around.is_none(), "{}: only what is around a design is open", self.tag.name);
        let slot = self.slot(width, Driver::Own);
        self.wire(slot)
    }

    /// As many open wires.
    pub fn opens(&mut self, count: usize, width: u32) -> Vec<Wire> {
        (0..count).map(|_| self.open(width)).collect()
    }

    /// The design that was described in a [bench](Module::bench), as a RustHDL block.
    ///
    /// # Panics
    /// If that is not one module.
    pub fn into_circuit(mut self) -> Circuit {
        match (self.nodes.pop(), self.nodes.len()) {
            (Some(Node { kind: Kind::Module(design), .. }), 0) => Circuit::new(*design),
            _ => panic!("a bench has one module in it"),
        }
    }

    fn new(tag: Tag, around: Option<Around>) -> Module {
        Module {
            id: MODULES.fetch_add(1, Ordering::Relaxed),
            tag,
            ports: Vec::new(),
            slots: Vec::new(),
            nodes: Vec::new(),
            names: HashSet::new(),
            places: Vec::new(),
            kept: HashMap::new(),
            next_place: 0,
            watches: Vec::new(),
            clock: None,
            reset: None,
            gate: None,
            around,
        }
    }

    /// The clock port `clk` of all registers and parts here.
    pub fn clock(&mut self) {
        self.clock_port("clk");
    }

    /// A clock port of another name.
    pub fn clock_port(&mut self, name: &str) {
        assert!(self.clock.is_none(), "{}: two clocks", self.tag.name);
        self.clock = Some(self.ports.len());
        let slot = self.slot(1, Driver::Own);
        self.add_port(name, false, false, 1, vec![slot]);
    }

    /// The port `rst` of a synchronous reset, for registers and parts here: that of the module around.
    pub fn reset(&mut self) {
        let from = self.around.as_ref().and_then(|around| around.reset);
        let from = from.unwrap_or_else(|| panic!("{}: the module around has no reset", self.tag.name));
        self.reset = Some(self.input("rst", from));
    }

    /// Another reset for registers and parts from here on.
    pub fn reset_by(&mut self, wire: Wire) {
        self.check(wire);
        self.reset = Some(wire);
    }

    /// An input of a part, driven by a wire of the module around.
    pub fn input(&mut self, name: &str, from: Wire) -> Wire {
        self.bring_in(name, false, &[from])[0]
    }

    /// A vector of inputs of a part.
    pub fn inputs(&mut self, name: &str, from: &[Wire]) -> Vec<Wire> {
        self.bring_in(name, true, from)
    }

    /// An input that only some configurations have: as a port, a vector of none or one.
    pub fn optional_input(&mut self, name: &str, from: Option<Wire>) -> Option<Wire> {
        self.bring_in(name, true, from.as_slice()).pop()
    }

    fn bring_in(&mut self, name: &str, vector: bool, from: &[Wire]) -> Vec<Wire> {
        let module = &self.tag.name;
        let Some(around) = &mut self.around else { panic!("{module}: nothing is around it to drive {name}") };
        for wire in from {
            assert!(
                wire.module == around.id,
                "{module}.{name}: driven by a wire that is not of the module around"
            );
            around.inputs.push(wire.slot);
        }
        let slots: Vec<u32> = from.iter().map(|wire| self.slot(wire.width, Driver::Own)).collect();
        let width = from.first().map_or(1, |wire| wire.width);
        assert!(
            from.iter().all(|wire| wire.width == width),
            "{}.{name}: words of several widths",
            self.tag.name
        );
        self.add_port(name, vector, false, width, slots.clone());
        slots.into_iter().map(|slot| self.wire(slot)).collect()
    }

    /// An output; the wire that it is in the module around.
    pub fn output(&mut self, name: &str, from: Wire) -> Wire {
        self.hand_out(name, false, &[from])[0]
    }

    /// A vector of outputs.
    pub fn outputs(&mut self, name: &str, from: &[Wire]) -> Vec<Wire> {
        self.hand_out(name, true, from)
    }

    /// An output that only some configurations have: as a port, a vector of none or one.
    pub fn optional_output(&mut self, name: &str, from: Option<Wire>) -> Option<Wire> {
        self.hand_out(name, true, from.as_slice()).pop()
    }

    fn hand_out(&mut self, name: &str, vector: bool, from: &[Wire]) -> Vec<Wire> {
        from.iter().for_each(|&wire| self.check(wire));
        let width = from.first().map_or(1, |wire| wire.width);
        assert!(
            from.iter().all(|wire| wire.width == width),
            "{}.{name}: words of several widths",
            self.tag.name
        );
        self.add_port(name, vector, true, width, from.iter().map(|wire| wire.slot).collect());
        let Some(around) = &mut self.around else {
            panic!("{}: nothing is around it to read {name}", self.tag.name)
        };
        let mut out = |wire: &Wire| {
            around.outputs.push(wire.width);
            let slot = around.first_output + around.outputs.len() as u32 - 1;
            Wire { module: around.id, slot, width: wire.width }
        };
        from.iter().map(&mut out).collect()
    }

    /// A wire of so many bits whose driver is said [later](Module::drive): a register's data come from logic that reads it.
    pub fn later(&mut self, width: u32) -> Wire {
        let slot = self.slot(width, Driver::Later);
        self.wire(slot)
    }

    /// Drives a wire that was announced by [`Module::later`].
    pub fn drive(&mut self, later: Wire, from: Wire) {
        self.check(later);
        self.check(from);
        assert!(later.width == from.width, "{}: {} bits drive {}", self.tag.name, from.width, later.width);
        let driver = &mut self.slots[later.slot as usize].driver;
        assert!(*driver == Driver::Later, "{}: driven twice", self.tag.name);
        *driver = Driver::Other(from.slot);
    }

    /// Keeps a place in the emitted text for parts or registers of this name that are added later, because they need wires that come
    /// after: parts stand in the order in which data flow through them.
    pub fn reserve(&mut self, name: &str) {
        self.next_place += 1;
        let first = self.kept.insert(name.into(), self.next_place).is_none();
        assert!(first, "{}: two places for {name}", self.tag.name);
    }

    /// [`Module::reserve`] for several, in their order.
    pub fn reserve_all(&mut self, names: &[&str]) {
        names.iter().for_each(|name| self.reserve(name));
    }

    /// A combinational function of words; its outputs.
    pub fn call<F: Function<I, O>, const I: usize, const O: usize>(
        &mut self,
        name: impl Into<Name>,
        function: F,
        inputs: [Wire; I],
    ) -> [Wire; O] {
        let outputs = self.add_leaf(name.into(), Arc::new(FunctionLeaf::new(function)), &inputs);
        std::array::from_fn(|i| outputs[i])
    }

    /// A combinational module with vector ports, its inputs one after another; its outputs likewise.
    pub fn leaf(&mut self, name: impl Into<Name>, leaf: impl Leaf + 'static, inputs: &[Wire]) -> Vec<Wire> {
        self.add_leaf(name.into(), Arc::new(leaf), inputs)
    }

    fn add_leaf(&mut self, name: Name, leaf: Arc<dyn Leaf>, inputs: &[Wire]) -> Vec<Wire> {
        let widths =
            |list: Vec<super::Pins>| list.into_iter().flat_map(|p| vec![(p.name, p.width); p.count()]);
        let wanted: Vec<(&str, u32)> = widths(leaf.inputs()).collect();
        let what = || format!("{}.{}, a {}", self.tag.name, name.base, leaf.tag().name);
        assert!(
            wanted.len() == inputs.len(),
            "{}: {} inputs instead of {}",
            what(),
            inputs.len(),
            wanted.len()
        );
        for (wire, (port, width)) in inputs.iter().zip(wanted) {
            assert!(
                wire.width == width,
                "{}: {port} has {width} bits, what drives it {}",
                what(),
                wire.width
            );
        }
        let outputs: Vec<u32> = widths(leaf.outputs()).map(|(_, width)| width).collect();
        self.add(name, Kind::Leaf(leaf), inputs, &outputs)
    }

    /// `q <= d`.
    pub fn register(&mut self, name: impl Into<Name>, d: Wire) -> Wire {
        self.add_register(name.into(), Register::Plain, &[d])
    }

    /// `if (enable) q <= d`.
    pub fn register_if(&mut self, name: impl Into<Name>, enable: Wire, d: Wire) -> Wire {
        self.add_register(name.into(), Register::Enabled, &[enable, d])
    }

    /// `q <= rst ? value : d`.
    pub fn register_reset(&mut self, name: impl Into<Name>, value: u64, d: Wire) -> Wire {
        let reset =
            self.reset.unwrap_or_else(|| panic!("{}: a register with reset, and no reset", self.tag.name));
        self.add_register(name.into(), Register::Reset(value), &[reset, d])
    }

    /// [`Module::register`] for a vector of words.
    pub fn registers(&mut self, name: &str, d: &[Wire]) -> Vec<Wire> {
        d.iter().enumerate().map(|(i, &d)| self.register((name, i), d)).collect()
    }

    /// [`Module::register_if`] for a vector of words.
    pub fn registers_if(&mut self, name: &str, enable: Wire, d: &[Wire]) -> Vec<Wire> {
        d.iter().enumerate().map(|(i, &d)| self.register_if((name, i), enable, d)).collect()
    }

    fn add_register(&mut self, name: Name, register: Register, inputs: &[Wire]) -> Wire {
        assert!(self.clock.is_some(), "{}: {} has no clock", self.tag.name, name.base);
        let (control, d) = inputs.split_at(inputs.len() - 1);
        assert!(
            control.iter().all(|wire| wire.width == 1),
            "{}.{}: a control of several bits",
            self.tag.name,
            name.base
        );
        self.add(name, Kind::Register(register), inputs, &[d[0].width])[0]
    }

    /// A clock gate: what `behind` adds holds while `enable` is low. In Verilog it is a clock enable of the registers.
    ///
    /// `enable` must not depend on anything that changes while the clock is high; nothing here does.
    pub fn gated<R>(&mut self, name: &str, enable: Wire, behind: impl FnOnce(&mut Module) -> R) -> R {
        assert!(
            self.clock.is_some() && self.gate.is_none(),
            "{}: a gate needs a clock that has none",
            self.tag.name
        );
        let gate = self.nodes.len() as u32;
        self.add(name.into(), Kind::Gate, &[enable], &[]);
        self.gate = Some(gate);
        let result = behind(self);
        self.gate = None;
        result
    }

    /// A part that is a module itself, described by `body`, which takes inputs in and hands outputs out.
    pub fn part<R>(&mut self, name: impl Into<Name>, tag: Tag, body: impl FnOnce(&mut Module) -> R) -> R {
        let name = name.into();
        let around = Around {
            id: self.id,
            reset: self.reset,
            inputs: Vec::new(),
            first_output: self.slots.len() as u32,
            outputs: Vec::new(),
        };
        let mut part = Module::new(tag, Some(around));
        let result = body(&mut part);
        let (circuit, around) = part.build();
        let Some(Around { inputs, outputs, .. }) = around else {
            unreachable!("a part has a module around it")
        };
        assert!(
            circuit.clock.is_none() || self.clock.is_some(),
            "{}: {} needs a clock, and there is none",
            self.tag.name,
            name.base
        );
        let inputs: Vec<Wire> = inputs.into_iter().map(|slot| self.wire(slot)).collect();
        let node = self.nodes.len() as u32;
        for watched in &circuit.watches {
            let mut path = vec![node];
            path.extend(&watched.path);
            self.watches.push(Watched { path, ..watched.clone() });
        }
        self.add(name, Kind::Module(Box::new(circuit)), &inputs, &outputs);
        result
    }

    /// A value that checks look at from outside, by a label.
    pub fn watch(&mut self, label: &'static str, wire: Wire) {
        self.watch_as(label, wire, Reading::Whole);
    }

    /// The same of a value that is not the wire's own.
    pub fn watch_as(&mut self, label: &'static str, wire: Wire, reading: Reading) {
        self.check(wire);
        self.watches.push(Watched::new(label, wire.width, wire.slot, reading));
    }

    /// The same of an output, as the module around sees it: its name in the Verilog is that of what it drives there.
    pub fn watch_output(&mut self, label: &'static str, name: &str) {
        self.watch_output_as(label, name, Reading::Whole);
    }

    /// [`Module::watch_output`] of a value that is not the output's own.
    pub fn watch_output_as(&mut self, label: &'static str, name: &str, reading: Reading) {
        let port = self.ports.iter().find(|port| port.output && port.name == name);
        let port = port.unwrap_or_else(|| panic!("{}: no output {name}", self.tag.name));
        let (atom, slot) = (port.atoms[0] as usize, port.slots[0]);
        self.watches.push(Watched { atom, ..Watched::new(label, port.width, slot, reading) });
    }

    /// The bench itself.
    pub(super) fn into_parts(self) -> Circuit {
        Circuit::new(self.build().0)
    }

    fn build(mut self) -> (Structure, Option<Around>) {
        let resolved: Vec<u32> = (0..self.slots.len() as u32).map(|slot| self.resolve(slot)).collect();
        let to = |slot: &mut u32| *slot = resolved[*slot as usize];
        self.ports.iter_mut().flat_map(|port| &mut port.slots).for_each(to);
        self.nodes.iter_mut().flat_map(|node| node.inputs.iter_mut()).for_each(to);
        for watched in self.watches.iter_mut().filter(|watched| watched.path.is_empty()) {
            to(&mut watched.slot);
            // Numbers of pins start at one.
            if watched.atom == 0 {
                watched.atom = source(&self.ports, &self.nodes, watched.slot) as usize;
            }
        }
        self.put_in_place();
        let structure = Structure {
            tag: self.tag,
            ports: self.ports,
            nodes: self.nodes,
            clock: self.clock,
            widths: self.slots.iter().map(|slot| slot.width).collect(),
            watches: self.watches,
            nets: Vec::new(),
        };
        (structure, self.around)
    }

    /// Sorts the parts by their places.
    fn put_in_place(&mut self) {
        let mut order: Vec<usize> = (0..self.nodes.len()).collect();
        order.sort_by_key(|&node| self.places[node]);
        let mut now = vec![0; order.len()];
        order.iter().enumerate().for_each(|(place, &node)| now[node] = place as u32);
        let mut nodes: Vec<Option<Node>> = std::mem::take(&mut self.nodes).into_iter().map(Some).collect();
        self.nodes = order.into_iter().filter_map(|node| nodes[node].take()).collect();
        self.nodes.iter_mut().flat_map(|node| &mut node.gate).for_each(|gate| *gate = now[*gate as usize]);
        for first in self.watches.iter_mut().filter_map(|watched| watched.path.first_mut()) {
            *first = now[*first as usize];
        }
    }

    /// What drives a slot in the end.
    fn resolve(&self, slot: u32) -> u32 {
        let mut at = slot;
        for _ in 0..=self.slots.len() {
            match self.slots[at as usize].driver {
                Driver::Own => return at,
                Driver::Other(next) => at = next,
                Driver::Later => panic!(
                    "{}: nothing drives a wire of {} bits",
                    self.tag.name, self.slots[slot as usize].width
                ),
            }
        }
        panic!("{}: wires that drive each other", self.tag.name)
    }

    fn add(&mut self, name: Name, kind: Kind, inputs: &[Wire], outputs: &[u32]) -> Vec<Wire> {
        inputs.iter().for_each(|&wire| self.check(wire));
        let outputs: Vec<u32> = outputs.iter().map(|&width| self.slot(width, Driver::Own)).collect();
        let mut node = Node {
            name: name.base,
            index: name.index,
            inputs: inputs.iter().map(|wire| wire.slot).collect(),
            width: outputs.first().map_or(1, |&slot| self.slots[slot as usize].width),
            gate: self.gate,
            atoms: Vec::new(),
            outputs,
            kind,
        };
        if !matches!(node.kind, Kind::Module(_)) {
            node.atoms = pins(&node).iter().map(|_| get_signal_id() as u32).collect();
        }
        let wires = node.outputs.iter().map(|&slot| self.wire(slot)).collect();
        let first = self.names.insert((node.name.clone(), node.index));
        assert!(first, "{}: two parts {}", self.tag.name, node.name);
        self.places.push(self.kept.get(&node.name).copied().unwrap_or(self.next_place + 1));
        self.next_place += 1;
        self.nodes.push(node);
        wires
    }

    fn add_port(&mut self, name: &str, vector: bool, output: bool, width: u32, slots: Vec<u32>) {
        assert!(self.ports.iter().all(|port| port.name != name), "{}: two ports {name}", self.tag.name);
        let atoms = slots.iter().map(|_| get_signal_id() as u32).collect();
        self.ports.push(Port { name: name.into(), vector, output, width, slots, atoms });
    }

    fn slot(&mut self, width: u32, driver: Driver) -> u32 {
        assert!((1..=64).contains(&width), "{}: a word of {width} bits", self.tag.name);
        self.slots.push(Slot { width, driver });
        self.slots.len() as u32 - 1
    }

    fn wire(&self, slot: u32) -> Wire {
        Wire { module: self.id, slot, width: self.slots[slot as usize].width }
    }

    fn check(&self, wire: Wire) {
        assert!(wire.module == self.id, "{}: a wire of another module", self.tag.name);
    }
}

/// The pin that puts out what is at a slot, as probes number it.
fn source(ports: &[Port], nodes: &[Node], slot: u32) -> u32 {
    let own = ports.iter().filter(|port| !port.output);
    let own = own.flat_map(|port| port.slots.iter().zip(&port.atoms)).find(|(s, _)| **s == slot);
    let of_node = |node: &Node| {
        let place = node.outputs.iter().position(|&output| output == slot)?;
        match &node.kind {
            Kind::Module(part) => part.output_atoms().nth(place),
            _ => pins(node)
                .iter()
                .zip(&node.atoms)
                .filter(|(pin, _)| pin.output)
                .map(|(_, &atom)| atom)
                .nth(place),
        }
    };
    own.map(|(_, &atom)| atom).or_else(|| nodes.iter().find_map(of_node)).unwrap_or_default()
}
