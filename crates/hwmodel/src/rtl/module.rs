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
//!         let [x, enable] = m.input_each([("x", x), ("enable", enable)]);
//!         let total = m.state_if("total_q", x.width(), enable);
//!         let [sum] = m.call("sum", Sum { bits: x.width() }, [x, total]);
//!         m.next(total, sum);
//!         m.output("total", total)
//!     })
//! }
//!
//! let mut bench = Module::bench();
//! let (x, enable) = (bench.open(8), bench.open(1));
//! accumulator(&mut bench, "top", x, enable);
//! let mut circuit = bench.into_circuit();
//! circuit.set("x", 3u64);
//! circuit.set("enable", true);
//! for expected in [0, 3, 6, 9] {
//!     circuit.settle();
//!     assert_eq!(circuit.get("total"), expected);
//!     circuit.clock();
//! }
//! ```
//!
//! A [`Wire`] belongs to the module that it was made in. [`Module::input`] brings one in from the module around, by a port of the
//! same width, and [`Module::output`] hands one out; so a port is written once, and its width follows from what drives it. What is
//! optional is an `if`, what there is many of a `for`. The functions yield RustHDL blocks ([`Circuit`]): RustHDL's probes and
//! checks see each module with its ports and its kernel of connections.
//!
//! | file | what |
//! | --- | --- |
//! | `ports` | what a module takes in and hands out |
//! | `parts` | leaves, registers, gates and modules in it |
//! | `build` | from what was described to a `Structure` |

mod build;
mod parts;
mod ports;

use super::circuit::Circuit;
use super::structure::{Kind, Node, Port};
use super::{Reading, Tag, Watched};
use std::collections::{HashMap, HashSet};
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
    ports: Vec<Declared>,
    port_places: Places,
    slots: Vec<Slot>,
    nodes: Vec<Node>,
    names: HashSet<(String, Option<usize>)>,
    /// Of each node, where it stands in the text.
    stands: Vec<usize>,
    places: Places,
    /// Of registers that read what they hold before it is known: by their slots, what is to be driven.
    states: HashMap<u32, Wire>,
    watches: Vec<Watched>,
    clock: Option<String>,
    reset: Option<Wire>,
    gate: Option<u32>,
    around: Option<Around>,
}

/// A port, where it stands among the others, and its words' slots in the module around.
struct Declared {
    port: Port,
    stands: usize,
    outside: Vec<u32>,
}

/// Where things stand: one after another, but for those whose places are kept.
#[derive(Default)]
struct Places {
    kept: HashMap<String, usize>,
    last: usize,
}

impl Places {
    fn keep(&mut self, name: &str) {
        self.last += 1;
        let first = self.kept.insert(name.into(), self.last).is_none();
        assert!(first, "two places for {name}");
    }

    fn of(&mut self, name: &str) -> usize {
        self.last += 1;
        self.kept.get(name).copied().unwrap_or(self.last)
    }
}

/// Of a part: what it knows of the module around it.
struct Around {
    id: u32,
    reset: Option<Wire>,
    /// The slot there of the output that is handed out first, and the widths of all of them in the order in which they are.
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
            (Some(Node { kind: Kind::Module(design), .. }), 0) => Circuit::of(*design),
            _ => panic!("a bench has one module in it"),
        }
    }

    fn new(tag: Tag, around: Option<Around>) -> Module {
        Module {
            id: MODULES.fetch_add(1, Ordering::Relaxed),
            tag,
            ports: Vec::new(),
            port_places: Places::default(),
            slots: Vec::new(),
            nodes: Vec::new(),
            names: HashSet::new(),
            stands: Vec::new(),
            places: Places::default(),
            states: HashMap::new(),
            watches: Vec::new(),
            clock: None,
            reset: None,
            gate: None,
            around,
        }
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

    /// Drives as many announced wires.
    pub fn drive_all(&mut self, later: &[Wire], from: &[Wire]) {
        assert_eq!(later.len(), from.len(), "{}: as many drivers as wires", self.tag.name);
        later.iter().zip(from).for_each(|(&later, &from)| self.drive(later, from));
    }

    /// A value that checks look at from outside, by a label.
    pub fn watch(&mut self, label: &'static str, wire: Wire) {
        self.watch_as(label, wire, Reading::Whole);
    }

    /// Several values by their labels.
    pub fn watch_each<const N: usize>(&mut self, values: [(&'static str, Wire); N]) {
        values.into_iter().for_each(|(label, wire)| self.watch(label, wire));
    }

    /// The same of a value that is not the wire's own.
    pub fn watch_as(&mut self, label: &'static str, wire: Wire, reading: Reading) {
        self.check(wire);
        self.watches.push(Watched::new(label, wire.width, wire.slot, reading));
    }

    /// The same of an output, as the module around sees it: in the Verilog it has the name of what it drives there.
    pub fn watch_output(&mut self, label: &'static str, name: &str) {
        self.watch_output_as(label, name, Reading::Whole);
    }

    /// Several outputs by their labels.
    pub fn watch_output_each<const N: usize>(&mut self, outputs: [(&'static str, &str); N]) {
        outputs.into_iter().for_each(|(label, name)| self.watch_output(label, name));
    }

    /// [`Module::watch_output`] of a value that is not the output's own.
    pub fn watch_output_as(&mut self, label: &'static str, name: &str, reading: Reading) {
        let mut ports = self.ports.iter().map(|declared| &declared.port);
        let port = ports.find(|port| port.output && port.name == name);
        let port = port.unwrap_or_else(|| panic!("{}: no output {name}", self.tag.name));
        let (atom, slot) = (port.atoms[0] as usize, port.slots[0]);
        self.watches.push(Watched { atom, ..Watched::new(label, port.width, slot, reading) });
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
