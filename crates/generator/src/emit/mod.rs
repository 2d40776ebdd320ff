//! Prints each distinct module once.

use crate::GenerateError;
use crate::elaborate::Module;
use crate::kernel::Path;
use crate::prefix::Prefix;
use flashd_hwmodel::netlist::range;
use flashd_hwmodel::rtl::{TagKind, Verilog};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write;

mod body;
mod clock_enable;
mod dissolve;
mod inline;
mod parts;
mod reference;
mod registers;
mod vector;

use body::Body;
use clock_enable::clock_enables;
use dissolve::dissolve;
use parts::{Parts, unread};
pub(crate) use reference::references;
use vector::vectors;

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

/// Prints a hierarchy, the names of its modules with a prefix.
///
/// # Errors
/// If a structural kernel does more than connect.
pub(crate) fn emit(top: &Module, prefix: &Prefix) -> Result<Emitted, GenerateError> {
    let name = prefix.top(&top.tag.name);
    let mut emitter = Emitter {
        prefix,
        top: &top.tag.name,
        modules: Vec::new(),
        children: Vec::new(),
        by_text: HashMap::new(),
        names: HashSet::from([name.clone()]),
    };
    let (key, printed) = emitter.print(top, &Parts::new())?;
    let root = emitter.add(key, name, printed);
    let mut counts = vec![0usize; emitter.modules.len()];
    counts[root] = 1;
    // Children were emitted before their parents, so one pass from the top counts all instances.
    for id in (0..=root).rev() {
        for (&child, &n) in &emitter.children[id] {
            counts[child] += counts[id] * n;
        }
    }
    let mut modules: Vec<EmittedModule> = Vec::new();
    for (id, (name, text)) in emitter.modules.iter().enumerate().rev() {
        modules.push(EmittedModule { name: name.clone(), text: text.clone(), instances: counts[id] });
    }
    let ports = vectors(&top.ports).into_iter().map(|v| (v.name, v.output, v.width, v.elements)).collect();
    Ok(Emitted { modules, ports, prefix: prefix.words(&top.tag.name) })
}

struct Emitter<'a> {
    prefix: &'a Prefix,
    /// Name of the design.
    top: &'a str,
    modules: Vec<(String, String)>,
    children: Vec<BTreeMap<usize, usize>>,
    by_text: HashMap<String, usize>,
    names: HashSet<String>,
}

/// A module but for its name: the text before and after it, and how often it has which children.
struct Printed {
    before: String,
    after: String,
    children: BTreeMap<usize, usize>,
}

impl Emitter<'_> {
    /// Emits a module (its children first), some of whose inputs are given in part, and returns its id; equal text means
    /// equal module.
    fn module(&mut self, module: &Module, given: &Parts) -> Result<usize, GenerateError> {
        let (key, printed) = self.print(module, given)?;
        if let Some(&id) = self.by_text.get(&key) {
            return Ok(id);
        }
        let base = self.prefix.inner(self.top, &module.tag.name, &key);
        let mut name = base.clone();
        let mut n = 2;
        while !self.names.insert(name.clone()) {
            name = format!("{base}_{n}");
            n += 1;
        }
        Ok(self.add(key, name, printed))
    }

    fn add(&mut self, key: String, name: String, printed: Printed) -> usize {
        let id = self.modules.len();
        let text = [&printed.before, name.as_str(), &printed.after].concat();
        self.modules.push((name, text));
        self.children.push(printed.children);
        self.by_text.insert(key, id);
        id
    }

    /// Prints a module, and returns its key: its name and its text.
    fn print(&mut self, module: &Module, given: &Parts) -> Result<(String, Printed), GenerateError> {
        let (flat, sources) = flat(module)?;
        let module = &flat;
        let body = Body::new(module, sources);
        let mut ids = Vec::new();
        for child in &module.children {
            ids.push(match child.module.tag.kind {
                TagKind::Register { .. } => None,
                _ if body.inlined(child).is_some() => None,
                _ => Some(self.module(&child.module, &body.given(child))?),
            });
        }
        let mut children = BTreeMap::new();
        for id in ids.iter().flatten() {
            *children.entry(*id).or_default() += 1;
        }
        let body = match &module.code {
            Verilog::Custom(text) => text.clone(),
            Verilog::Combinatorial(_) => {
                let names: Vec<Option<&str>> =
                    ids.iter().map(|id| id.map(|i| self.modules[i].0.as_str())).collect();
                body.print(&names)
            }
            other => {
                return Err(GenerateError::Kernel {
                    module: module.tag.name.clone(),
                    detail: format!("{other:?}"),
                });
            }
        };
        let (before, after) = print_module(module, &body, given);
        let key = format!("{}\n{before}{after}", module.tag.name);
        Ok((key, Printed { before, after, children }))
    }
}

/// A module as it is printed: without its dissolved children and clock gates; and what drives what in it.
fn flat(module: &Module) -> Result<(Module, HashMap<Path, Path>), GenerateError> {
    match &module.code {
        Verilog::Combinatorial(_) => {
            let (dissolved, sources) = dissolve(module)?;
            clock_enables(&dissolved, sources)
        }
        _ => Ok((module.clone(), HashMap::new())),
    }
}

/// The text of a module before and after its name.
fn print_module(module: &Module, body: &str, given: &Parts) -> (String, String) {
    let (mut before, mut text) = (String::new(), String::new());
    let (unread, body) = unread(body);
    for line in module.tag.doc.lines() {
        let _ = writeln!(before, "// {line}");
    }
    let ports: Vec<(bool, String)> = vectors(&module.ports)
        .iter()
        .map(|v| {
            let direction = if v.output { "output" } else { "input " };
            // Of an input that is given in part, bits keep their places.
            let (unread, range) = match given.get(&v.name) {
                Some((high, low)) => (false, format!("[{high}:{low}] ")),
                None => (unread.iter().any(|(name, _)| *name == v.name), range(v.bits())),
            };
            (unread, format!("    {direction} wire {range}{}", v.name))
        })
        .collect();
    before += "module ";
    text += " (\n";
    for (i, (unread, port)) in ports.iter().enumerate() {
        let comma = if i + 1 < ports.len() { "," } else { "" };
        // Bits that the function drops on purpose are the only ones that may stay unread.
        let _ = match unread {
            true => writeln!(
                text,
                "    /* verilator lint_off UNUSEDSIGNAL */\n{port}{comma}\n    /* verilator lint_on UNUSEDSIGNAL */"
            ),
            false => writeln!(text, "{port}{comma}"),
        };
    }
    let _ = write!(text, ");\n{body}endmodule\n");
    (before, text)
}
