//! Hierarchical names: where in the Verilog a signal of the RustHDL design is.

use super::body::{Body, instance_name, join};
use super::clock_enable::clock_enables;
use super::dissolve::{Watched, dissolve_watched, prefixed, take_watched};
use crate::GenerateError;
use crate::elaborate::{Child, Module, Signal};
use flashd_hwmodel::rtl::TagKind;

/// The Verilog expressions of signals, by the numbers that RustHDL's probes give them, seen from `top`, the name of an instance of
/// the design.
///
/// # Errors
/// If a signal is not the port of a module inside the design.
pub(crate) fn references(module: &Module, top: &str, atoms: &[usize]) -> Result<Vec<String>, GenerateError> {
    atoms.iter().map(|&atom| reference(module, top, atom)).collect()
}

fn reference(design: &Module, top: &str, atom: usize) -> Result<String, GenerateError> {
    let lost = || GenerateError::Kernel {
        module: design.tag.name.clone(),
        detail: format!("signal {atom} has no name in the Verilog"),
    };
    let mut chain = Vec::new();
    let port = find(design, atom, &mut chain).ok_or_else(lost)?;
    let (mut module, mut chain, mut path) = (design, chain.as_slice(), vec![top.to_string()]);
    // Down the instances, as long as the owner of the port is below one.
    while let Some((name, depth)) = instance(module, chain) {
        path.push(name);
        module = &chain[depth].module;
        chain = &chain[depth + 1..];
    }
    let (dissolved, sources) = dissolve_watched(module, Some(Watched { chain, port }))?;
    let (flat, mut sources) = clock_enables(&dissolved, sources)?;
    let source = take_watched(&mut sources).ok_or_else(lost)?;
    path.push(join(&[Body::new(&flat, sources).source(&source)]));
    Ok(path.join("."))
}

/// The children from a module to the one that has the signal as a port, and that port.
fn find<'a>(module: &'a Module, atom: usize, chain: &mut Vec<&'a Child>) -> Option<&'a Signal> {
    for child in &module.children {
        chain.push(child);
        let port = child.module.ports.iter().find(|port| port.atom == Some(atom));
        if let Some(port) = port.or_else(|| find(&child.module, atom, chain)) {
            return Some(port);
        }
        chain.pop();
    }
    None
}

/// The first instance on a chain that does not end with it, by its name in the module that is printed, and its place: names of
/// dissolved modules become part of it.
fn instance(module: &Module, chain: &[&Child]) -> Option<(String, usize)> {
    let depth = chain.iter().position(|child| child.module.tag.kind != TagKind::Dissolved)?;
    if depth + 1 == chain.len() {
        return None;
    }
    let mut name = chain[depth].name.clone();
    for i in (0..depth).rev() {
        let parent = if i == 0 { module } else { &chain[i - 1].module };
        name = prefixed(parent, chain[i], &name);
    }
    Some((instance_name(&name, chain[depth].index), depth))
}
