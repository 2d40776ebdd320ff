//! Modules made by functions: ordinary Rust that declares ports, registers, parts and connections.
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
//! A [`Wire`] belongs to the module that made it. [`Module::input`] brings a wire in from the module around, through a port of the
//! same width, and [`Module::output`] hands one out. So each port is written once, and its width is that of its driver. An optional
//! part is an `if`, a vector of parts a `for`. The result is a [`Circuit`].
//!
//! | file | what |
//! | --- | --- |
//! | `ports` | inputs and outputs of a module |
//! | `parts` | its leaves, registers, clock gates and inner modules |
//! | `each` | a vector of instances of one description |
//! | `signals` | its signals: numbers on wires, and the rows that show them |
//! | `build` | makes a `Structure` from the description |

mod build;
mod each;
mod parts;
mod ports;
mod signals;

pub use each::{Bundle, Wires};
pub(crate) use each::{bundle, wires};
pub use signals::Pin;

use super::circuit::Circuit;
use super::signal::{Number, Place, Signal};
use super::structure::{Kind, Node, Port};
use super::{Quantity, Reading, Tag, Watched};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU32, Ordering};

/// A word in a module: an input, or the output of a part or register.
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

/// Name of a part or register, with its place if it belongs to a vector.
#[derive(Clone, Debug)]
pub struct Name {
    base: String,
    index: Option<usize>,
}

impl Name {
    pub(super) fn new(base: String, index: Option<usize>) -> Name {
        Name { base, index }
    }

    /// Its base and its place.
    pub(super) fn parts(self) -> (String, Option<usize>) {
        (self.base, self.index)
    }

    /// As one word.
    pub(super) fn text(&self) -> String {
        self.index.map_or(self.base.clone(), |index| format!("{}_{index}", self.base))
    }

    /// The name of the register with its word `cycles` cycles later.
    pub(super) fn late(&self, cycles: i32) -> Name {
        Name { base: format!("{}_d{cycles}", self.base), index: self.index }
    }
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

/// The description of a module, while it is being written.
///
/// Its methods panic on a description that is not hardware: a wire of another module, no driver or two, widths that differ. The tests
/// build every structure.
pub struct Module {
    id: u32,
    tag: Tag,
    ports: Vec<Declared>,
    slots: Vec<Slot>,
    nodes: Vec<Node>,
    names: HashSet<(String, Option<usize>)>,
    /// Registers whose input is not driven yet: from the slot of the output to the open input.
    states: HashMap<u32, Wire>,
    watches: Vec<Watched>,
    /// Formats of numbers by slot, outputs with a weight in two parts, rows, and the place of rows that follow.
    numbers: Vec<(u32, Number)>,
    weights: Vec<[String; 2]>,
    signals: Vec<Signal>,
    place: Place,
    clock: Option<String>,
    reset: Option<Wire>,
    gate: Option<u32>,
    around: Option<Around>,
}

/// A port, and the slots of its words in the module around.
struct Declared {
    port: Port,
    outside: Vec<u32>,
}

/// The part's view of the module around it.
struct Around {
    id: u32,
    reset: Option<Wire>,
    /// The slot in the module around of the first output, and the widths of all outputs in the order in which they were handed out.
    first_output: u32,
    outputs: Vec<u32>,
}

struct Slot {
    width: u32,
    /// Its own part or port, a driver that is given later, or the slot that drives it.
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
    /// The surroundings of the top module: [open](Module::open) wires, a clock and a reset. The one part described in it is the design.
    pub fn bench() -> Module {
        let mut bench = Module::new(Tag::module("bench", ""), None);
        bench.clock();
        bench.reset = Some(bench.open(1));
        bench
    }

    /// An input of the design, which the simulation drives.
    pub fn open(&mut self, width: u32) -> Wire {
        assert!(self.around.is_none(), "{}: only what is around a design is open", self.tag.name);
        let slot = self.slot(width, Driver::Own);
        self.wire(slot)
    }

    /// `count` open wires.
    pub fn opens(&mut self, count: usize, width: u32) -> Vec<Wire> {
        (0..count).map(|_| self.open(width)).collect()
    }

    /// The design described in a [bench](Module::bench).
    ///
    /// # Panics
    /// If the bench does not have exactly one part, a module.
    pub fn into_circuit(mut self) -> Circuit {
        // Paths begin at the design, not at the bench.
        self.watches.iter_mut().for_each(|watched| _ = watched.path.remove(0));
        match (self.nodes.pop(), self.nodes.len()) {
            (Some(Node { kind: Kind::Module(design), name, .. }), 0) => {
                self.signals.iter_mut().for_each(|signal| signal.leave(&name));
                Circuit::of(design, self.watches, self.signals)
            }
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
            states: HashMap::new(),
            watches: Vec::new(),
            numbers: Vec::new(),
            weights: Vec::new(),
            signals: Vec::new(),
            place: Place::default(),
            clock: None,
            reset: None,
            gate: None,
            around,
        }
    }

    /// A wire of `width` bits whose driver is given [later](Module::drive), for circular dependencies such as the input of a state register.
    pub fn later(&mut self, width: u32) -> Wire {
        let slot = self.slot(width, Driver::Later);
        self.wire(slot)
    }

    /// Drives a wire made by [`Module::later`].
    pub fn drive(&mut self, later: Wire, from: Wire) {
        self.check(later);
        self.check(from);
        assert!(later.width == from.width, "{}: {} bits drive {}", self.tag.name, from.width, later.width);
        let driver = &mut self.slots[later.slot as usize].driver;
        assert!(*driver == Driver::Later, "{}: driven twice", self.tag.name);
        *driver = Driver::Other(from.slot);
    }

    /// [`Module::drive`] for several wires.
    pub fn drive_all(&mut self, later: &[Wire], from: &[Wire]) {
        assert_eq!(later.len(), from.len(), "{}: as many drivers as wires", self.tag.name);
        later.iter().zip(from).for_each(|(&later, &from)| self.drive(later, from));
    }

    /// [`Module::drive`] for structures of wires.
    pub fn drive_wires<W: Wires>(&mut self, later: &W, from: &W) {
        let [mut laters, mut froms] = [Vec::new(), Vec::new()];
        for (wires, list) in [(later, &mut laters), (from, &mut froms)] {
            let _ = wires.map(&mut |wire| {
                list.push(wire);
                wire
            });
        }
        self.drive_all(&laters, &froms);
    }

    /// Marks the wire of a quantity, for the lock-step check.
    pub fn watch(&mut self, quantity: Quantity, wire: Wire) {
        self.watch_as(quantity, wire, Reading::Whole);
    }

    /// [`Module::watch`] for several wires.
    pub fn watch_each<const N: usize>(&mut self, values: [(Quantity, Wire); N]) {
        values.into_iter().for_each(|(quantity, wire)| self.watch(quantity, wire));
    }

    /// [`Module::watch`] for a value that is derived from the wire by `reading`.
    pub fn watch_as(&mut self, quantity: Quantity, wire: Wire, reading: Reading) {
        self.check(wire);
        self.watches.push(Watched::new(quantity, wire.width, wire.slot, reading));
    }

    /// [`Module::watch`] for an output, as the module around sees it: in Verilog it has the name of the net that it drives there.
    pub fn watch_output(&mut self, quantity: Quantity, name: &str) {
        self.watch_output_as(quantity, name, Reading::Whole);
    }

    /// [`Module::watch_output`] for several outputs.
    pub fn watch_output_each<const N: usize>(&mut self, outputs: [(Quantity, &str); N]) {
        outputs.into_iter().for_each(|(quantity, name)| self.watch_output(quantity, name));
    }

    /// [`Module::watch_output`] for a value that is derived from the output by `reading`.
    pub fn watch_output_as(&mut self, quantity: Quantity, name: &str, reading: Reading) {
        let declared = self.ports.iter().find(|declared| declared.port.output && declared.port.name == name);
        let Declared { port, outside, .. } =
            declared.unwrap_or_else(|| panic!("{}: no output {name}", self.tag.name));
        let watched = Watched::new(quantity, port.width, port.slots[0], reading);
        self.watches.push(Watched { outside: Some(outside[0]), ..watched });
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
