//! A core from one mapping for each of its modules.

use super::buffers::{self, Effort, Interface};
use super::cache::{Cache, Digest};
use super::candidates::{self, Candidate};
use super::library_file::CellLibrary;
use super::split::SourceModule;
use super::structure::JsonModule;
use super::{Mapped, MappedModule};
use crate::PpaError;
use std::collections::HashMap;

/// Files of a netlist in a cache entry.
const VERILOG: &str = "netlist.v";
const JSON: &str = "netlist.json";

/// The choice for one module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MappingChoice {
    /// Which candidate.
    pub candidate: usize,
    /// How eagerly its nets are buffered.
    pub effort: Effort,
}

/// A core's modules, children first, each with its candidates.
pub(crate) struct CoreModules {
    pub modules: Vec<SourceModule>,
    pub candidates: Vec<Vec<Candidate>>,
    /// Whether a module has its faster mappings.
    pub complete: Vec<bool>,
}

impl CoreModules {
    /// Adds the faster mappings of a module. Its smallest one stays the first.
    pub(super) fn complete(&mut self, module: usize, faster: Vec<Candidate>) {
        let mut known = std::mem::take(&mut self.candidates[module]).into_iter();
        if let Some(smallest) = known.next() {
            self.candidates[module] = candidates::joined(smallest, known.chain(faster));
        }
        self.complete[module] = true;
    }

    /// Chosen netlists, buffered bottom up, written into the cache.
    pub(super) fn assemble(
        &self,
        library: &CellLibrary,
        cache: &Cache,
        choices: &[MappingChoice],
        clock: &str,
    ) -> Result<Mapped, PpaError> {
        let mut interfaces: HashMap<String, Interface> = HashMap::new();
        let mut mapped: Vec<MappedModule> = Vec::new();
        for (index, source) in self.modules.iter().enumerate() {
            let choice = choices[index];
            let candidate = &self.candidates[index][choice.candidate];
            let mut netlist = JsonModule::read(&candidate.json, &source.name)?;
            let own = netlist.cells.len();
            let interface = buffers::insert(&mut netlist, library, &interfaces, choice.effort, clock);
            interfaces.insert(source.name.clone(), interface);
            let buffers = netlist.cells.len() - own;
            let mut module = self.describe(library, source, &netlist)?;
            module.mapping = match buffers {
                0 => candidate.mapping.clone(),
                n => format!("{}; {n} buffers added for nets to cells and submodules", candidate.mapping),
            };
            // Kept by their own contents: timing runs are kept by the names of these files.
            let verilog = netlist.verilog(&source.name, &[]);
            let digest = Digest::new().field("netlist", &verilog).finish();
            let entry = cache.entry("netlists", &digest, |folder| {
                let file = folder.join(VERILOG);
                std::fs::write(&file, &verilog).map_err(PpaError::file("write", &file))?;
                netlist.write(&folder.join(JSON), &source.name)
            })?;
            module.verilog = entry.join(VERILOG);
            module.json = entry.join(JSON);
            mapped.push(module);
        }
        count_instances(&mut mapped);
        let top = mapped.last().map(|m| m.name.clone()).unwrap_or_default();
        Ok(Mapped { top, modules: mapped })
    }

    fn describe(
        &self,
        library: &CellLibrary,
        source: &SourceModule,
        netlist: &JsonModule,
    ) -> Result<MappedModule, PpaError> {
        let mut module = MappedModule {
            name: source.name.clone(),
            verilog: Default::default(),
            json: Default::default(),
            area: 0.0,
            cells: 0,
            flip_flops: 0,
            flip_flop_area: 0.0,
            instances: 0,
            children: Vec::new(),
            mapping: String::new(),
        };
        for (name, cell) in &netlist.cells {
            if source.children.contains(&cell.kind) {
                module.children.push((name.clone(), cell.kind.clone()));
                continue;
            }
            let kind = library.cells.cell(&cell.kind).ok_or_else(|| PpaError::Unexpected {
                what: format!("netlist of {}", source.name),
                detail: format!("{} has no cell {}", library.cells.name, cell.kind),
            })?;
            module.area += kind.area;
            module.cells += 1;
            if library.is_flip_flop(&cell.kind) {
                module.flip_flops += 1;
                module.flip_flop_area += kind.area;
            }
        }
        Ok(module)
    }
}

/// From the top (the last) down.
fn count_instances(modules: &mut [MappedModule]) {
    let index: HashMap<String, usize> =
        modules.iter().enumerate().map(|(i, m)| (m.name.clone(), i)).collect();
    if let Some(top) = modules.last_mut() {
        top.instances = 1;
    }
    for parent in (0..modules.len()).rev() {
        let instances = modules[parent].instances;
        for (_, child) in modules[parent].children.clone() {
            modules[index[&child]].instances += instances;
        }
    }
}

impl Mapped {
    /// Calls `visit` for every instance of the core with its path (empty for the top) and its module.
    pub fn visit<'a>(&'a self, visit: &mut dyn FnMut(&[&'a str], &'a MappedModule)) {
        let index: HashMap<&str, &MappedModule> = self.modules.iter().map(|m| (m.name.as_str(), m)).collect();
        fn walk<'a>(
            module: &'a MappedModule,
            index: &HashMap<&'a str, &'a MappedModule>,
            path: &mut Vec<&'a str>,
            visit: &mut dyn FnMut(&[&'a str], &'a MappedModule),
        ) {
            visit(path, module);
            for (instance, child) in &module.children {
                if let Some(child) = index.get(child.as_str()) {
                    path.push(instance);
                    walk(child, index, path, visit);
                    path.pop();
                }
            }
        }
        if let Some(top) = index.get(self.top.as_str()) {
            walk(top, &index, &mut Vec::new(), visit);
        }
    }
}
