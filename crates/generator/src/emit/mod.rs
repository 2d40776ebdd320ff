//! Prints each distinct module once.

use crate::GenerateError;
use crate::prefix::Prefix;
use flashd_hwmodel::netlist::{is_keyword, range};
use flashd_hwmodel::rtl::structure::Structure;
use flashd_hwmodel::rtl::{Circuit, Leaf, Loop, Tag, TagKind, combinational_loop};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write;
use std::rc::Rc;
use std::sync::Arc;

mod body;
mod flat;
mod inline;
mod leaf;
mod memory;
mod parts;
mod reference;
mod registers;

use body::{ModuleBody, Readers};
use flat::{Bus, ENABLE, FlatModule, Of};
use leaf::LeafText;
use parts::Parts;
pub(crate) use reference::{references, registers};

/// One emitted module.
#[derive(Clone, Debug)]
pub(crate) struct EmittedModule {
    /// Unique name.
    pub name: String,
    /// Verilog text, from header comment to `endmodule`.
    pub text: String,
    /// Instances in the whole design.
    pub instances: usize,
}

/// All distinct modules of a design, the top first.
#[derive(Clone, Debug)]
pub(crate) struct Emitted {
    /// The modules.
    pub modules: Vec<EmittedModule>,
    /// Ports of the top: (name, output, element width, elements).
    pub ports: Vec<(String, bool, u32, usize)>,
    /// Prefix of the names of its modules.
    pub prefix: String,
}

impl Emitted {
    /// Name of the top module.
    pub(crate) fn top(&self) -> &str {
        &self.modules[0].name
    }
}

/// Prints a design, the names of its modules with a prefix.
///
/// # Errors
/// If there is a combinational loop, or a clock gate feeds another one.
pub(crate) fn emit(design: &Circuit, prefix: &Prefix) -> Result<Emitted, GenerateError> {
    if let Some(Loop { module, parts }) = combinational_loop(design.structure()) {
        let detail = format!("a combinational loop through {}", parts.join(", "));
        return Err(GenerateError::Description { module, detail });
    }
    let top = match design.single_leaf() {
        Some(leaf) => Of::Leaf(leaf),
        None => Of::Module(design.structure(), false),
    };
    let mut emitter = Emitter {
        prefix,
        top: String::new(),
        bodies: Bodies::default(),
        modules: Vec::new(),
        by_text: HashMap::new(),
        printed: HashMap::new(),
        names: HashSet::new(),
    };
    let printed = emitter.print_top(top)?;
    let mut counts = vec![0usize; emitter.modules.len()];
    counts[printed] = 1;
    // Children were emitted before their parents, so one pass from the top counts all instances.
    for id in (0..=printed).rev() {
        for (&child, &n) in &emitter.modules[id].children {
            counts[child] += counts[id] * n;
        }
    }
    let ports = emitter.ports(top)?;
    let modules = emitter.modules.into_iter().zip(counts).rev();
    let modules =
        modules.map(|(Printed { name, text, .. }, instances)| EmittedModule { name, text, instances });
    Ok(Emitted { modules: modules.collect(), ports, prefix: prefix.words(&emitter.top) })
}

/// The insides of modules and the texts of leaves, each made once.
#[derive(Default)]
struct Bodies<'a> {
    bodies: HashMap<(usize, bool), Rc<ModuleBody<'a>>>,
    leaves: HashMap<usize, Rc<LeafText>>,
}

impl<'a> Bodies<'a> {
    /// The inside of a module, with a gated clock or not. The passes, in this order, each over one module:
    ///
    /// | pass | needs | leaves |
    /// | --- | --- | --- |
    /// | [`FlatModule::of`] | a description | no dissolved parts, no clock gates; parts between nets |
    /// | [`LeafText::of`] | a leaf, wherever it is used | its text, and which bits of its inputs it reads |
    /// | [`Readers::of`] | both | the bits of each net that are read |
    /// | [`ModuleBody::named`] | all three | names for wires, a signal for each net |
    /// | [`Emitter::structural`] | named wires, printed children | the text |
    fn body(&mut self, module: &'a Structure, frozen: bool) -> Result<Rc<ModuleBody<'a>>, GenerateError> {
        let key = (std::ptr::from_ref(module).addr(), frozen);
        if let Some(body) = self.bodies.get(&key) {
            return Ok(body.clone());
        }
        let flat = FlatModule::of(module, frozen)?;
        let texts = flat.parts.iter().map(|part| match part.of {
            Of::Leaf(leaf) => Some(self.leaf(leaf)),
            _ => None,
        });
        let texts: Vec<_> = texts.collect();
        let readers = Readers::of(&flat, &texts);
        let body = Rc::new(ModuleBody::named(flat, module.tag.kind, texts, readers));
        Ok(self.bodies.entry(key).or_insert(body).clone())
    }

    fn leaf(&mut self, leaf: &Arc<dyn Leaf>) -> Rc<LeafText> {
        let text = self.leaves.entry(address(leaf));
        text.or_insert_with(|| Rc::new(LeafText::of(&**leaf))).clone()
    }
}

fn address(leaf: &Arc<dyn Leaf>) -> usize {
    Arc::as_ptr(leaf).cast::<()>().addr()
}

struct Emitter<'a> {
    prefix: &'a Prefix,
    /// Name of the design.
    top: String,
    bodies: Bodies<'a>,
    modules: Vec<Printed>,
    by_text: HashMap<String, usize>,
    /// The modules that were printed, by where they are described.
    printed: HashMap<(usize, bool, Parts), usize>,
    names: HashSet<String>,
}

/// A printed module, and how often it has which children.
struct Printed {
    name: String,
    text: String,
    children: BTreeMap<usize, usize>,
}

/// A module but for its name: the text before and after it.
struct Text {
    tag: Tag,
    before: String,
    after: String,
    children: BTreeMap<usize, usize>,
}

impl Text {
    /// All that a module is but the name that it gets.
    fn key(&self) -> String {
        format!("{}\n{}{}", self.tag.name, self.before, self.after)
    }
}

impl<'a> Emitter<'a> {
    fn print_top(&mut self, top: Of<'a>) -> Result<usize, GenerateError> {
        self.top = match top {
            Of::Leaf(leaf) => leaf.tag().name,
            Of::Module(module, _) => module.tag.name.clone(),
            Of::Register(_) => unreachable!("a design is a module or a leaf"),
        };
        let name = self.prefix.top(&self.top);
        self.names.insert(name.clone());
        let text = self.text(top, &Parts::new())?;
        Ok(self.add(name, text))
    }

    /// Emits a module (its children first), some of whose inputs are given in part, and returns its id; equal text means
    /// equal module.
    fn module(&mut self, module: Of<'a>, given: Parts) -> Result<usize, GenerateError> {
        let place = match module {
            Of::Leaf(leaf) => (address(leaf), false, given),
            Of::Module(module, frozen) => (Arc::as_ptr(module).addr(), frozen, given),
            Of::Register(_) => unreachable!("registers are no modules"),
        };
        if let Some(&id) = self.printed.get(&place) {
            return Ok(id);
        }
        let text = self.text(module, &place.2)?;
        let key = text.key();
        let id = match self.by_text.get(&key) {
            Some(&id) => id,
            None => {
                let base = self.prefix.inner(&self.top, &text.tag.name, &key);
                let mut name = base.clone();
                let mut n = 2;
                while !self.names.insert(name.clone()) {
                    name = format!("{base}_{n}");
                    n += 1;
                }
                let id = self.add(name, text);
                self.by_text.insert(key, id);
                id
            }
        };
        self.printed.insert(place, id);
        Ok(id)
    }

    fn add(&mut self, name: String, Text { before, after, children, .. }: Text) -> usize {
        let text = [&before, name.as_str(), &after].concat();
        self.modules.push(Printed { name, text, children });
        self.modules.len() - 1
    }

    fn text(&mut self, module: Of<'a>, given: &Parts) -> Result<Text, GenerateError> {
        match module {
            Of::Leaf(leaf) => {
                let text = self.bodies.leaf(leaf);
                let unread = |bus: &Bus| !text.reads_all(bus.name);
                let (before, after) =
                    print_module(&text.tag, &leaf::ports(&**leaf), &text.body.text, given, unread)?;
                Ok(Text { tag: text.tag.clone(), before, after, children: BTreeMap::new() })
            }
            Of::Module(module, frozen) => self.structural(module, frozen),
            Of::Register(_) => unreachable!("registers are no modules"),
        }
    }

    fn structural(&mut self, module: &'a Structure, frozen: bool) -> Result<Text, GenerateError> {
        let body = self.bodies.body(module, frozen)?;
        if module.tag.kind == TagKind::Memory {
            let (before, after) = print_module(
                &module.tag,
                &body.flat.ports,
                &memory::text(&body.flat.ports),
                &Parts::new(),
                |_| false,
            )?;
            return Ok(Text { tag: module.tag.clone(), before, after, children: BTreeMap::new() });
        }
        let inlined: Vec<Option<String>> =
            (0..body.flat.parts.len()).map(|place| body.inlined(place)).collect();
        let mut ids = Vec::new();
        for (place, part) in body.flat.parts.iter().enumerate() {
            ids.push(match part.of {
                Of::Register(_) => None,
                _ if inlined[place].is_some() => None,
                of => Some(self.module(of, body.given(place))?),
            });
        }
        let mut children = BTreeMap::new();
        for id in ids.iter().flatten() {
            *children.entry(*id).or_default() += 1;
        }
        let names: Vec<Option<&str>> =
            ids.iter().map(|id| id.map(|i| self.modules[i].name.as_str())).collect();
        let mut tag = module.tag.clone();
        if frozen {
            tag.name += &format!("_{ENABLE}");
            tag.doc += &format!("\nIts registers hold while {ENABLE} is low.");
        }
        let unread = |port: &Bus| body.is_unread_in_part(port);
        let text = body.print(&names, &inlined);
        let (before, after) = print_module(&tag, &body.flat.ports, &text, &Parts::new(), unread)?;
        Ok(Text { tag, before, after, children })
    }

    /// Ports of the top: (name, output, element width, elements).
    fn ports(&mut self, top: Of<'a>) -> Result<Vec<(String, bool, u32, usize)>, GenerateError> {
        let shape = |bus: &Bus| (bus.name.to_string(), bus.output, bus.width, bus.nets.len());
        Ok(match top {
            Of::Module(module, _) => self.bodies.body(module, false)?.flat.ports.iter().map(shape).collect(),
            Of::Leaf(leaf) => leaf::ports(&**leaf).iter().map(shape).collect(),
            Of::Register(_) => Vec::new(),
        })
    }
}

/// The text of a module before and after its name; an error if a port has the name of a keyword. Bits that `unread` inputs drop on purpose are the only ones that may stay unread.
fn print_module(
    tag: &Tag,
    ports: &[Bus],
    body: &str,
    given: &Parts,
    unread: impl Fn(&Bus) -> bool,
) -> Result<(String, String), GenerateError> {
    if let Some(port) = ports.iter().find(|port| is_keyword(port.name)) {
        let detail = format!("the name of its port {} is a keyword", port.name);
        return Err(GenerateError::Description { module: tag.name.clone(), detail });
    }
    let (mut before, mut text) = (String::new(), String::from(" (\n"));
    for line in tag.doc.lines() {
        let _ = writeln!(before, "// {line}");
    }
    before += "module ";
    for (i, port) in ports.iter().enumerate() {
        let direction = if port.output { "output" } else { "input " };
        // Bits of a partly connected input keep their places.
        let (unread, range) = match given.iter().find(|(name, _)| name == port.name) {
            Some((_, (high, low))) => (false, format!("[{high}:{low}] ")),
            None => (!port.output && unread(port), range(port.bits())),
        };
        let comma = if i + 1 < ports.len() { "," } else { "" };
        let port = format!("    {direction} wire {range}{}{comma}", port.name);
        let _ = match unread {
            true => writeln!(
                text,
                "    /* verilator lint_off UNUSEDSIGNAL */\n{port}\n    /* verilator lint_on UNUSEDSIGNAL */"
            ),
            false => writeln!(text, "{port}"),
        };
    }
    let _ = write!(text, ");\n{body}endmodule\n");
    Ok((before, text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashd_hwmodel::function;
    use flashd_hwmodel::rtl::{Module, Wire};

    function! {
        /// Two bits, the second of which does not depend on `b`.
        pub struct Pair {}
        name(_this) = "pair".to_string();
        doc = "y = a and b, z = a.";
        inputs { a: 1, b: 1 }
        outputs { y: 1, z: 1 }
        eval<W> { [a.and(&b), a] }
    }

    fn inner(around: &mut Module, a: Wire, b: Wire) -> [Wire; 2] {
        around.part("inner", Tag::module("inner", "Both."), |m| {
            let [a, b] = m.input_each([("a", a), ("b", b)]);
            let [y, z] = m.call("pair", Pair {}, [a, b]);
            m.output_each([("y", y), ("z", z)])
        })
    }

    /// A design that feeds an output of a part, of this number, back to its second input.
    fn fed_back(output: usize) -> Circuit {
        let mut bench = Module::bench();
        let a = bench.open(1);
        bench.part("top", Tag::module("top", "Feeds back."), |m| {
            let a = m.input("a", a);
            let b = m.later(1);
            let outputs = inner(m, a, b);
            m.drive(b, outputs[output]);
            m.output_each([("y", outputs[0]), ("z", outputs[1])])
        });
        bench.into_circuit()
    }

    #[test]
    fn ports_named_by_keywords_are_errors() {
        let mut bench = Module::bench();
        let x = bench.open(1);
        bench.part("top", Tag::module("top", "Hands on."), |m| {
            let x = m.input("x", x);
            m.output("table", x)
        });
        let error = emit(&bench.into_circuit(), &Prefix::default()).unwrap_err();
        assert_eq!(error.to_string(), "top: the name of its port table is a keyword");
    }

    #[test]
    fn combinational_loops_are_errors() {
        let error = emit(&fed_back(0), &Prefix::default()).unwrap_err();
        assert_eq!(error.to_string(), "top: a combinational loop through inner");
        // The other output does not depend on that input.
        let emitted = emit(&fed_back(1), &Prefix::default()).unwrap();
        assert_eq!(emitted.top(), "top");
    }
}
