//! Structural modules that exist only in the description are replaced by their contents.

use crate::GenerateError;
use crate::elaborate::{Child, Module};
use crate::kernel::{Path, connections};
use flashd_hwmodel::rtl::{TagKind, Verilog};
use std::collections::HashMap;

/// A structural module with its dissolved children replaced by their contents, and what drives what in it.
pub(super) fn dissolve(module: &Module) -> Result<(Module, HashMap<Path, Path>), GenerateError> {
    let Verilog::Combinatorial(block) = &module.code else {
        return Ok((module.clone(), HashMap::new()));
    };
    let mut sources: HashMap<Path, Path> = connections(&module.tag.name, block)?.into_iter().collect();
    let mut children = Vec::new();
    for child in &module.children {
        if child.module.tag.kind != TagKind::Dissolved {
            children.push(child.clone());
            continue;
        }
        let (inner, inner_sources) = dissolve(&child.module)?;
        let me = (child.name.clone(), child.index);
        // Contents of one of several of a kind carry its number.
        let several = module.children.iter().filter(|c| c.name == child.name).count() > 1;
        let prefixed = |name: &str| match child.index.filter(|_| several) {
            Some(index) => format!("{}_{index}_{name}", child.name),
            None => format!("{}_{name}", child.name),
        };
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
