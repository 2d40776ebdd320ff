//! Chains of registers after words, and the modules made with them.

use crate::function;
use crate::rtl::leaf::FunctionLeaf;
use crate::rtl::structure::{Kind, Node, Port, Register, Structure};
use crate::rtl::{Name, Tag};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

function! {
    /// The next value of a register with an enable.
    pub struct HoldFunction { width: u32 }
    name(this) = format!("hold_{}", this.width);
    doc = "next = enable ? d : q.";
    inputs { enable: 1, d: this.width, q: this.width }
    outputs { next: this.width }
    eval<W> { [enable.select(&d, &q)] }
}

/// The modules made so far, each once, and their names.
#[derive(Default)]
pub(super) struct Names {
    made: HashMap<String, Arc<Structure>>,
    taken: HashSet<String>,
    holds: HashMap<u32, Kind>,
}

static PIN_NAMES: Mutex<Option<HashSet<&'static str>>> = Mutex::new(None);

impl Names {
    /// The module with this key, which `make` makes under a name that begins with `base`.
    pub(super) fn module(
        &mut self,
        base: &str,
        key: String,
        make: impl FnOnce(String, &mut Names) -> Structure,
    ) -> Arc<Structure> {
        if let Some(made) = self.made.get(&key) {
            return made.clone();
        }
        let name = self.unique(base);
        let made = Arc::new(make(name, self));
        self.made.insert(key, made.clone());
        made
    }

    fn unique(&mut self, base: &str) -> String {
        let numbered = (2..).map(|n| format!("{base}_{n}"));
        let name = std::iter::once(base.to_string()).chain(numbered).find(|name| !self.taken.contains(name));
        let name = name.unwrap_or_default();
        self.taken.insert(name.clone());
        name
    }

    /// The name of a pin, which lives as long as the program; there are as many as there are names of wires.
    pub(super) fn intern(&self, name: &str) -> &'static str {
        let mut all = PIN_NAMES.lock().unwrap_or_else(|e| e.into_inner());
        let all = all.get_or_insert_default();
        match all.get(name) {
            Some(name) => name,
            None => {
                let name: &'static str = Box::leak(name.to_string().into_boxed_str());
                all.insert(name);
                name
            }
        }
    }

    pub(super) fn hold(&mut self, width: u32) -> Kind {
        let make = || Kind::Leaf(Arc::new(FunctionLeaf::new(HoldFunction { width })));
        self.holds.entry(width).or_insert_with(make).clone()
    }
}

/// The slot of the reset in each module; the clock's is 0.
pub(super) const RESET: u32 = 1;

/// A module while it is made: its parts, and the chains of registers after its words.
pub(super) struct Chains {
    widths: Vec<u32>,
    pub(super) nodes: Vec<Node>,
    names: HashSet<(String, Option<usize>)>,
    /// By word and number of registers: the word after them.
    taps: HashMap<(u32, i32), u32>,
    pub(super) resets: bool,
}

impl Chains {
    pub(super) fn new() -> Chains {
        // The clock and the reset.
        Chains {
            widths: vec![1, 1],
            nodes: Vec::new(),
            names: HashSet::new(),
            taps: HashMap::new(),
            resets: false,
        }
    }

    pub(super) fn slot(&mut self, width: u32) -> u32 {
        self.widths.push(width);
        self.widths.len() as u32 - 1
    }

    /// The word after `delay` registers, reset if the word is known in reset.
    pub(super) fn after(&mut self, slot: u32, delay: i32, name: Name, known: Option<u64>, width: u32) -> u32 {
        assert!(delay >= 0, "{}: a negative number of registers", name.text());
        let mut at = slot;
        for late in 1..=delay {
            at = match self.taps.get(&(slot, late)) {
                Some(&tap) => tap,
                None => {
                    let (kind, inputs) = match known {
                        Some(value) => (Register::Reset(value), vec![RESET, at]),
                        None => (Register::Plain, vec![at]),
                    };
                    self.resets |= known.is_some();
                    let q = self.slot(width);
                    let name = name.late(late);
                    self.part(name, Kind::Register(kind), inputs, vec![q]);
                    self.taps.insert((slot, late), q);
                    q
                }
            };
        }
        at
    }

    pub(super) fn part(&mut self, name: Name, kind: Kind, inputs: Vec<u32>, outputs: Vec<u32>) {
        let (base, index) = name.parts();
        let mut name = base.clone();
        let mut n = 2;
        while !self.names.insert((name.clone(), index)) {
            name = format!("{base}_{n}");
            n += 1;
        }
        self.nodes.push(Node { name, index, kind, inputs, outputs, gate: None });
    }

    /// The module with these ports besides a clock and, if it needs it, a reset.
    pub(super) fn structure(self, tag: Tag, ports: Vec<Port>) -> Structure {
        let port = |name: &str, slot| Port {
            name: name.into(),
            vector: false,
            output: false,
            width: 1,
            slots: vec![slot],
        };
        let clocked = self.nodes.iter().any(|node| match &node.kind {
            Kind::Leaf(_) => false,
            Kind::Register(_) | Kind::Gate => true,
            Kind::Module(inner) => inner.clocked,
        });
        let mut all: Vec<Port> = clocked.then(|| port("clk", 0)).into_iter().collect();
        all.extend(self.resets.then(|| port("rst", RESET)));
        all.extend(ports);
        Structure {
            tag,
            ports: all,
            nodes: self.nodes,
            clock: clocked.then_some(0),
            clocked,
            widths: self.widths,
            numbers: Vec::new(),
            weights: Vec::new(),
        }
    }
}

impl Chains {
    /// All that distinguishes it.
    pub(super) fn content(&self, ports: &[Port]) -> String {
        let kind = |kind: &Kind| match kind {
            Kind::Leaf(leaf) => format!("{:?}", Arc::as_ptr(leaf).cast::<()>()),
            Kind::Module(inner) => format!("{:?}", Arc::as_ptr(inner)),
            Kind::Register(register) => format!("{register:?}"),
            Kind::Gate => String::new(),
        };
        let node = |node: &Node| {
            format!(
                "{} {:?} {} {:?} {:?}",
                node.name,
                node.index,
                kind(&node.kind),
                node.inputs,
                node.outputs
            )
        };
        let nodes: Vec<String> = self.nodes.iter().map(node).collect();
        format!("{nodes:?} {ports:?} {:?}", self.widths)
    }
}
