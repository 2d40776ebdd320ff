//! Structural modules that exist only in the description are replaced by their contents.

use crate::GenerateError;
use crate::elaborate::{Child, Module, Signal};
use crate::kernel::{Path, connections};
use flashd_hwmodel::rtl::{TagKind, Verilog};
use std::collections::HashMap;

/// The name that one of the contents of a dissolved child has in its place; those of one of several of a kind carry its number.
pub(super) fn prefixed(module: &Module, child: &Child, name: &str) -> String {
    let several = module.children.iter().filter(|c| c.name == child.name).count() > 1;
    match child.index.filter(|_| several) {
        Some(index) => format!("{}_{index}_{name}", child.name),
        None => format!("{}_{name}", child.name),
    }
}

/// A structural module with its dissolved children replaced by their contents, and what drives what in it.
pub(super) fn dissolve(module: &Module) -> Result<(Module, HashMap<Path, Path>), GenerateError> {
    dissolve_watched(module, None)
}

/// The port of a module inside another one: the children on the way to it, its name and element, and whether it is an output.
#[derive(Clone, Copy)]
pub(super) struct Watched<'a> {
    pub(super) chain: &'a [&'a Child],
    pub(super) port: &'a Signal,
}

/// Name of the instance that is said to read what is watched.
const WATCHER: &str = "\0";

/// What drives a watched port, taken out of what drives what.
pub(super) fn take_watched(sources: &mut HashMap<Path, Path>) -> Option<Path> {
    let reads = |sink: &&Path| sink.instance.as_ref().is_some_and(|(name, _)| name.ends_with(WATCHER));
    let sink = sources.keys().find(reads)?.clone();
    sources.remove(&sink)
}

/// [`dissolve`], with something watched: wherever its module goes, [`take_watched`] tells what it is.
pub(super) fn dissolve_watched(
    module: &Module,
    watched: Option<Watched>,
) -> Result<(Module, HashMap<Path, Path>), GenerateError> {
    let Verilog::Combinatorial(block) = &module.code else {
        return Ok((module.clone(), HashMap::new()));
    };
    let mut sources: HashMap<Path, Path> = connections(&module.tag.name, block)?.into_iter().collect();
    if let Some(Watched { chain: [owner], port }) = watched {
        let instance = Some((owner.name.clone(), owner.index));
        let own = Path { instance, port: port.name.clone(), element: port.index };
        let source = if port.output { Some(own) } else { sources.get(&own).cloned() };
        let instance = Some((WATCHER.to_string(), None));
        sources
            .extend(source.map(|source| (Path { instance, port: port.name.clone(), element: None }, source)));
    }
    let mut children = Vec::new();
    for child in &module.children {
        if child.module.tag.kind != TagKind::Dissolved {
            children.push(child.clone());
            continue;
        }
        let inside = watched.and_then(|Watched { chain, port }| match chain {
            [first, rest @ ..]
                if !rest.is_empty() && first.name == child.name && first.index == child.index =>
            {
                Some(Watched { chain: rest, port })
            }
            _ => None,
        });
        let (inner, inner_sources) = dissolve_watched(&child.module, inside)?;
        let me = (child.name.clone(), child.index);
        let prefixed = |name: &str| prefixed(module, child, name);
        // A path inside the child, seen from here: its ports become what drives them.
        let outward = |path: &Path, sources: &HashMap<Path, Path>| match &path.instance {
            Some((name, index)) => Some(Path { instance: Some((prefixed(name), *index)), ..path.clone() }),
            None => sources.get(&Path { instance: Some(me.clone()), ..path.clone() }).cloned(),
        };
        let mut added = Vec::new();
        for (sink, source) in &inner_sources {
            if let (Some((name, index)), Some(source)) = (&sink.instance, outward(source, &sources)) {
                added.push((Path { instance: Some((prefixed(name), *index)), ..sink.clone() }, source));
            }
        }
        // Readers of the child's outputs read what drives those: something inside, or, where the child only
        // passes an input on, what drives that.
        let resolved: Vec<(Path, Path)> = sources
            .iter()
            .filter(|(_, source)| source.instance.as_ref() == Some(&me))
            .filter_map(|(sink, source)| {
                let own = Path { instance: None, ..source.clone() };
                Some((sink.clone(), outward(inner_sources.get(&own)?, &sources)?))
            })
            .collect();
        sources.extend(resolved);
        sources.retain(|sink, _| sink.instance.as_ref() != Some(&me));
        sources.extend(added);
        children.extend(inner.children.into_iter().map(|c| Child { name: prefixed(&c.name), ..c }));
    }
    Ok((Module { children, ..module.clone() }, sources))
}
