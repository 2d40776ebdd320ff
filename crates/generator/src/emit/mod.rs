//! Prints each distinct module once.

use crate::GenerateError;
use crate::elaborate::Module;
use crate::kernel::Path;
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
}

/// Prints a hierarchy.
///
/// # Errors
/// If a structural kernel does more than connect.
pub(crate) fn emit(top: &Module) -> Result<Emitted, GenerateError> {
    let mut emitter = Emitter::default();
    let root = emitter.module(top, &Parts::new())?;
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
    Ok(Emitted { modules, ports })
}

#[derive(Default)]
struct Emitter {
    modules: Vec<(String, String)>,
    children: Vec<BTreeMap<usize, usize>>,
    by_text: HashMap<String, usize>,
    names: HashSet<String>,
}

impl Emitter {
    /// Emits a module (its children first), some of whose inputs are given in part, and returns its id; equal text means
    /// equal module.
    fn module(&mut self, module: &Module, given: &Parts) -> Result<usize, GenerateError> {
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
        let text = print_module("", module, &body, given);
        let key = format!("{}\n{text}", module.tag.name);
        if let Some(&id) = self.by_text.get(&key) {
            return Ok(id);
        }
        let mut name = module.tag.name.clone();
        let mut n = 2;
        while !self.names.insert(name.clone()) {
            name = format!("{}_{n}", module.tag.name);
            n += 1;
        }
        let id = self.modules.len();
        self.modules.push((name.clone(), print_module(&name, module, &body, given)));
        self.children.push(children);
        self.by_text.insert(key, id);
        Ok(id)
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

fn print_module(name: &str, module: &Module, body: &str, given: &Parts) -> String {
    let mut text = String::new();
    let (unread, body) = unread(body);
    for line in module.tag.doc.lines() {
        let _ = writeln!(text, "// {line}");
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
    let _ = writeln!(text, "module {name} (");
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
    text
}
