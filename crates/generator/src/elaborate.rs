//! From a RustHDL design to a plain hierarchy.

use crate::GenerateError;
use flashd_hwmodel::rtl::{Block, Probe, Tag, TagKind, Verilog};
use flashd_hwmodel::vectors::split_index;
use rust_hdl::core::atom::AtomKind;
use rust_hdl::core::check_error::check_all;
use rust_hdl::core::prelude::Atom;

/// The clock port of every module with registers but a stream wrapper.
pub(crate) const CLOCK: &str = "clk";

/// A port or local signal: `name`, or element `index` of the vector `name`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Signal {
    /// Name without index.
    pub name: String,
    /// Element of a vector.
    pub index: Option<usize>,
    /// Width in bits.
    pub width: u32,
    /// Output or input.
    pub output: bool,
    /// The signal as RustHDL's probes number it; none of one that the generator has added.
    pub atom: Option<usize>,
}

/// An instance inside a module.
#[derive(Clone, Debug)]
pub(crate) struct Child {
    /// Name without index.
    pub name: String,
    /// Element of a vector of instances.
    pub index: Option<usize>,
    /// The instantiated module.
    pub module: Module,
}

/// A module of the hierarchy.
#[derive(Clone, Debug)]
pub(crate) struct Module {
    /// Name, description, kind.
    pub tag: Tag,
    /// Ports in order of declaration.
    pub ports: Vec<Signal>,
    /// Instances in order of declaration.
    pub children: Vec<Child>,
    /// RustHDL's description of the behaviour.
    pub code: Verilog,
    /// Clocked through a clock gate.
    pub frozen: bool,
}

/// Walks a connected design.
///
/// # Errors
/// If RustHDL's checks fail.
pub(crate) fn elaborate(design: &dyn Block) -> Result<Module, GenerateError> {
    let mut walk = Walk { stack: Vec::new(), root: None };
    design.accept("top", &mut walk);
    let Some(Child { mut module, .. }) = walk.root else {
        return Err(GenerateError::Check { module: "design".into(), detail: "no module".into() });
    };
    check_all(design)
        .map_err(|e| GenerateError::Check { module: module.tag.name.clone(), detail: format!("{e:?}") })?;
    drop_idle_clocks(&mut module);
    Ok(module)
}

/// Takes the clock port from modules without registers, to which a kernel hands it all the same; whether the module has any.
fn drop_idle_clocks(module: &mut Module) -> bool {
    let is_clock = |port: &Signal| port.name == CLOCK && !port.output;
    let structural = matches!(module.code, Verilog::Combinatorial(_));
    let mut clocked = !structural && module.ports.iter().any(is_clock);
    for child in &mut module.children {
        clocked |= drop_idle_clocks(&mut child.module);
    }
    if !clocked {
        module.ports.retain(|port| !is_clock(port));
    }
    clocked
}

struct Walk {
    stack: Vec<Child>,
    root: Option<Child>,
}

impl Probe for Walk {
    fn visit_start_scope(&mut self, name: &str, node: &dyn Block) {
        let (name, index) = split_index(name);
        let tag = Tag { name: name.clone(), doc: String::new(), kind: TagKind::Module };
        let module = Module { tag, ports: Vec::new(), children: Vec::new(), code: node.hdl(), frozen: false };
        self.stack.push(Child { name, index, module });
    }

    fn visit_atom(&mut self, name: &str, signal: &dyn Atom) {
        let Some(scope) = self.stack.last_mut() else { return };
        if let Some(tag) = Tag::of(signal) {
            scope.module.tag = tag;
            return;
        }
        let (name, index) = split_index(name);
        let output = signal.kind() == AtomKind::OutputParameter;
        scope.module.ports.push(Signal {
            name,
            index,
            width: signal.bits() as u32,
            output,
            atom: Some(signal.id()),
        });
    }

    fn visit_end_scope(&mut self, _name: &str, _node: &dyn Block) {
        if let Some(done) = self.stack.pop() {
            match self.stack.last_mut() {
                Some(parent) => parent.module.children.push(done),
                None => self.root = Some(done),
            }
        }
    }
}
