//! Hierarchical names: where in the Verilog a wire of a design is.

use super::Bodies;
use super::body::instance_name;
use super::flat::Of;
use crate::GenerateError;
use flashd_hwmodel::rtl::Watched;
use flashd_hwmodel::rtl::structure::{Kind, Structure};

/// The Verilog expressions of watched wires, seen from `top`, the name of an instance of the design.
///
/// # Errors
/// If a wire has no name inside the design, or a clock gate feeds another one.
pub(crate) fn references(
    design: &Structure,
    top: &str,
    watched: &[Watched],
) -> Result<Vec<String>, GenerateError> {
    let mut bodies = Bodies::default();
    let of = |watched: &Watched| {
        reference(&mut bodies, design, top, (watched.quantity.name(), &watched.path, watched.slot))
    };
    watched.iter().map(of).collect()
}

/// The Verilog expressions of the Q outputs of all registers, seen from `top`, in the order of the description.
///
/// # Errors
/// As [`references`].
pub(crate) fn registers(design: &Structure, top: &str) -> Result<Vec<String>, GenerateError> {
    let (mut paths, mut bodies) = (Vec::new(), Bodies::default());
    outputs(design, &mut Vec::new(), &mut paths);
    paths
        .iter()
        .map(|(path, slot)| reference(&mut bodies, design, top, ("a register", path, *slot)))
        .collect()
}

fn outputs(module: &Structure, path: &mut Vec<u32>, found: &mut Vec<(Vec<u32>, u32)>) {
    for (place, node) in module.nodes.iter().enumerate() {
        match &node.kind {
            Kind::Register(_) => found.push((path.clone(), node.outputs[0])),
            Kind::Module(inner) => {
                path.push(place as u32);
                outputs(inner, path, found);
                path.pop();
            }
            Kind::Leaf(_) | Kind::Gate => {}
        }
    }
}

fn reference<'a>(
    bodies: &mut Bodies<'a>,
    design: &'a Structure,
    top: &str,
    (label, path, slot): (&str, &[u32], u32),
) -> Result<String, GenerateError> {
    let lost = || GenerateError::Description {
        module: design.tag.name.clone(),
        detail: format!("{label} has no name in the Verilog"),
    };
    let (path, slot) = in_sight(design, path, slot).ok_or_else(lost)?;
    let (mut module, mut path, mut frozen) = (design, path, false);
    let mut names = vec![top.to_string()];
    loop {
        let body = bodies.body(module, frozen)?;
        match body.flat.find(path, slot) {
            Ok(net) => {
                names.push(body.expression(&[net]));
                return Ok(names.join("."));
            }
            Err((part, rest)) => {
                names.push(instance_name(part));
                let Of::Module(inner, behind_gate) = part.of else { return Err(lost()) };
                (module, path, frozen) = (&**inner, rest, behind_gate);
            }
        }
    }
}

/// The wire that a slot has in Verilog: an input is known by what drives it in the module around.
fn in_sight<'p>(design: &Structure, path: &'p [u32], slot: u32) -> Option<(&'p [u32], u32)> {
    let (mut around, mut module) = (None, design);
    for &place in path {
        let node = &module.nodes[place as usize];
        let Kind::Module(inner) = &node.kind else { return None };
        (around, module) = (Some(node), inner);
    }
    match module.input_slots().position(|input| input == slot) {
        Some(place) => Some((&path[..path.len().checked_sub(1)?], around?.inputs[place])),
        None => Some((path, slot)),
    }
}
