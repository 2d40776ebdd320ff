//! Clock gates become clock enables: every module behind one has a port `ce`, every register in it holds while that is
//! low, and the gate is gone. Leaves without a clock stay as they are.

use crate::GenerateError;
use crate::elaborate::{CLOCK, Child, Module, Signal};
use crate::kernel::Path;
use flashd_hwmodel::rtl::TagKind;
use std::collections::HashMap;

/// Name of the enable.
pub(super) const ENABLE: &str = "ce";

/// A flat structural module without its clock gates, and what drives what in it.
pub(super) fn clock_enables(
    module: &Module,
    mut sources: HashMap<Path, Path>,
) -> Result<(Module, HashMap<Path, Path>), GenerateError> {
    let is_gate = |child: &Child| child.module.tag.kind == TagKind::ClockGate;
    let gates: Vec<(String, Option<usize>)> =
        module.children.iter().filter(|c| is_gate(c)).map(|c| (c.name.clone(), c.index)).collect();
    if gates.is_empty() && !module.frozen {
        return Ok((module.clone(), sources));
    }
    let bad = |detail: &str| GenerateError::Kernel {
        module: module.tag.name.clone(),
        detail: format!("clock gate: {detail}"),
    };
    let pin = |instance: &(String, Option<usize>), port: &str| Path {
        instance: Some(instance.clone()),
        port: port.into(),
        element: None,
    };
    if module.frozen && !gates.is_empty() {
        return Err(bad("one behind another"));
    }
    let mut children = Vec::new();
    for child in module.children.iter().filter(|c| !is_gate(c)) {
        let me = (child.name.clone(), child.index);
        let clocked = child.module.ports.iter().any(|port| port.name == CLOCK);
        let clock = sources.get(&pin(&me, CLOCK)).filter(|_| clocked).cloned();
        let gate = clock.as_ref().and_then(|clock| clock.instance.clone()).filter(|i| gates.contains(i));
        let enable = match (&clock, &gate) {
            (None, _) => None,
            (Some(_), Some(gate)) => {
                let of_gate = |port| sources.get(&pin(gate, port)).cloned();
                let (enable, clock) =
                    of_gate("enable").zip(of_gate(CLOCK)).ok_or_else(|| bad("open input"))?;
                sources.insert(pin(&me, CLOCK), clock);
                Some(enable)
            }
            (Some(_), None) => {
                module.frozen.then(|| Path { instance: None, port: ENABLE.into(), element: None })
            }
        };
        children.push(match enable {
            None => child.clone(),
            Some(enable) => {
                sources.insert(pin(&me, ENABLE), enable);
                Child {
                    module: frozen(&child.module).ok_or_else(|| bad("a module behind it has a port ce"))?,
                    ..child.clone()
                }
            }
        });
    }
    let of_gate = |path: &Path| path.instance.as_ref().is_some_and(|i| gates.contains(i));
    sources.retain(|sink, _| !of_gate(sink));
    if sources.values().any(of_gate) {
        return Err(bad("its output is no input but clk"));
    }
    Ok((Module { children, ..module.clone() }, sources))
}

/// A module behind a clock gate: the same with an enable beside the clock, under a name of its own.
fn frozen(module: &Module) -> Option<Module> {
    let mut frozen = module.clone();
    if frozen.ports.iter().any(|port| port.name == ENABLE) {
        return None;
    }
    let clock = frozen.ports.iter().position(|port| port.name == CLOCK)?;
    let enable = Signal { name: ENABLE.into(), index: None, width: 1, output: false, atom: None };
    frozen.ports.insert(clock + 1, enable);
    if !matches!(module.tag.kind, TagKind::Register { .. }) {
        frozen.frozen = true;
        frozen.tag.name += &format!("_{ENABLE}");
        frozen.tag.doc += &format!("\nIts registers hold while {ENABLE} is low.");
    }
    Some(frozen)
}
