//! Every mapping of one module that is worth choosing.

use super::cache::{Cache, Digest};
use super::clock_gates::GateCell;
use super::compressor;
use super::library_file::CellLibrary;
use super::recipe::{self, ArithmeticStyle, WantedMappings};
use super::split::SourceModule;
use super::structure::JsonModule;
use super::tools::{self, Tools};
use crate::PpaError;
use crate::timing;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// A mapping must be this much faster than the next smaller one to be kept.
const WORTHWHILE: f64 = 0.99;
/// File of the candidates in a cache entry.
const INDEX: &str = "candidates.json";

/// Everything that decides the mappings: a change to it makes new ones.
const RECIPE: &str = concat!(
    include_str!("recipe.rs"),
    include_str!("compressor.rs"),
    include_str!("adders.rs"),
    include_str!("clock_gates.rs"),
    include_str!("structure.rs"),
    include_str!("candidates.rs"),
    include_str!("../timing/script.rs"),
);

/// One mapping of a module.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Candidate {
    /// In words.
    pub mapping: String,
    /// Own cells, um2.
    pub area: f64,
    /// Longest path through the module's own cells, ns: from inputs, submodules or flip-flops to outputs,
    /// submodules or flip-flops, driven by a buffer and loaded by a few inverters.
    pub delay: f64,
    /// Netlist, relative to the entry.
    pub json: PathBuf,
}

/// Candidates of a module, smallest (and slowest) first. From the cache if this module has been mapped so before to this library.
pub(crate) fn candidates(
    tools: &Tools,
    library: &CellLibrary,
    cache: &Cache,
    module: &SourceModule,
    headers: &[&str],
    wanted: WantedMappings,
) -> Result<(Vec<Candidate>, bool), PpaError> {
    let mut digest = Digest::new()
        .field("flow", RECIPE)
        .field("yosys", &tools.yosys_version)
        .field("sta", &tools.sta_version)
        .field("library", &library.digest)
        .field("roles", format!("{:?}", library.roles))
        .field("wanted", format!("{wanted:?}"))
        .field("module", &module.text);
    for header in headers {
        digest = digest.field("child", header);
    }
    let mut fresh = false;
    let entry = cache.entry("modules", &digest.finish(), |folder| {
        fresh = true;
        let all = map(tools, library, folder, module, headers, wanted)?;
        keep(folder, all)
    })?;
    let index = entry.join(INDEX);
    let text = std::fs::read_to_string(&index).map_err(PpaError::file("read", &index))?;
    let mut all: Vec<Candidate> = serde_json::from_str(&text).map_err(|e| PpaError::Unexpected {
        what: index.display().to_string(),
        detail: format!("{e}; delete the folder to have it made again"),
    })?;
    for candidate in &mut all {
        candidate.json = entry.join(&candidate.json);
    }
    Ok((all, fresh))
}

/// Drops the files of mappings that are not worth choosing and writes the index of the others.
fn keep(folder: &Path, all: Vec<Candidate>) -> Result<(), PpaError> {
    let kept = worthwhile(all.clone());
    for dropped in all.iter().filter(|c| kept.iter().all(|k| k.json != c.json)) {
        let path = folder.join(&dropped.json);
        std::fs::remove_file(&path).map_err(PpaError::file("remove", &path))?;
    }
    let text = serde_json::to_string_pretty(&kept).unwrap_or_default();
    let index = folder.join(INDEX);
    std::fs::write(&index, text).map_err(PpaError::file("write", &index))
}

/// Maps a module in every way, netlists into `folder`, and times the results.
pub(super) fn map(
    tools: &Tools,
    library: &CellLibrary,
    folder: &Path,
    module: &SourceModule,
    headers: &[&str],
    wanted: WantedMappings,
) -> Result<Vec<Candidate>, PpaError> {
    let work = tools::work_folder()?;
    let work = work.path();
    tools::provide(work, recipe::LIBRARY, &library.for_tools)?;
    let write = |name: &str, text: &str| {
        let path = work.join(name);
        std::fs::write(&path, text).map_err(PpaError::file("write", &path))
    };
    let black_boxes: String =
        headers.iter().map(|header| format!("(* blackbox *)\n{header}endmodule\n")).collect();
    write("module.v", &(black_boxes + &module.text))?;
    let gate = library.roles.clock_gate.as_ref();
    for (name, text) in gate.into_iter().flat_map(GateCell::files) {
        write(name, &text)?;
    }
    tools.run_yosys(work, &recipe::words_script(&module.name, gate), &module.name)?;
    let words = JsonModule::read(&work.join("words.json"), &module.name)?;
    let stems = map_words(tools, library, work, module, &words, wanted, &write)?;

    let mut candidates = Vec::new();
    let mut estimates = Vec::new();
    for (stem, mapping) in stems {
        let file = format!("{stem}.json");
        let mut netlist = JsonModule::read(&work.join(&file), &module.name)?;
        netlist.name_cells(&module.children, &|cell| library.is_clocked(cell));
        let area = own_area(library, module, &netlist)?;
        write(&format!("{stem}.v"), &netlist.verilog(&stem, &module.children))?;
        netlist.write(&folder.join(&file), &module.name)?;
        candidates.push(Candidate { mapping, area, delay: 0.0, json: file.into() });
        estimates.push(stem);
    }
    let delays = timing::estimate(tools, library, work, &estimates, &module.name)?;
    for (candidate, delay) in candidates.iter_mut().zip(delays) {
        candidate.delay = delay;
    }
    Ok(candidates)
}

/// Maps a module in every way; returns the file stems and names of the mappings. All run in one process. If that
/// fails (ABC has crashed on one module with one script), each mapping gets its own process, and mappings that fail
/// again are left out.
fn map_words(
    tools: &Tools,
    library: &CellLibrary,
    work: &Path,
    module: &SourceModule,
    words: &JsonModule,
    wanted: WantedMappings,
    write: &dyn Fn(&str, &str) -> Result<(), PpaError>,
) -> Result<Vec<(String, String)>, PpaError> {
    let shapes = compressor::shapes(words);
    let any = |kind: &str| words.cells.values().any(|cell| cell.kind == kind);
    let adder = library.roles.full_adder.as_ref();
    let head = recipe::mapping_head();
    let load = library.roles.load * 1e15;
    write("constraints", &format!("set_driving_cell {}\nset_load {load}\n", library.roles.driver))?;
    for goal in wanted.goals() {
        write(&format!("{}.abc", goal.key), &goal.abc_script())?;
    }
    let tried = |key: &str| recipe::tried(key, words.cells.len());
    let mut whole = head.clone();
    let mut stems = Vec::new();
    let mut single = Vec::new();
    for arithmetic in ArithmeticStyle::of(any("$alu"), any("$macc"), adder).iter().filter(|a| tried(a.key)) {
        let files = arithmetic.files(&shapes);
        for (name, text) in &files {
            write(name, text)?;
        }
        let gates = arithmetic.script(&files) + &recipe::flip_flop_script();
        whole += &gates;
        for goal in wanted.goals().iter().filter(|goal| tried(goal.key)) {
            let stem = format!("{}_{}", arithmetic.key, goal.key);
            let cells = recipe::goal_script(goal, &library.roles.constants, &stem);
            whole += &cells;
            single.push(format!("{head}{gates}{cells}"));
            stems.push((stem, format!("{}; {}", arithmetic.words, goal.words)));
        }
    }
    let Err(failure) = tools.run_yosys(work, &whole, &module.name) else { return Ok(stems) };
    let succeeds = |script: &String| tools.run_yosys(work, script, &module.name).is_ok();
    let kept: Vec<(String, String)> =
        stems.into_iter().zip(&single).filter(|(_, script)| succeeds(script)).map(|(stem, _)| stem).collect();
    if kept.is_empty() { Err(failure) } else { Ok(kept) }
}

/// Area of the cells, um2; every cell must be one of the library or a submodule.
fn own_area(library: &CellLibrary, module: &SourceModule, netlist: &JsonModule) -> Result<f64, PpaError> {
    let mut area = 0.0;
    for cell in netlist.cells.values().filter(|cell| !module.children.contains(&cell.kind)) {
        area += library.cells.cell(&cell.kind).map(|c| c.area).ok_or_else(|| PpaError::Unexpected {
            what: format!("mapping of {}", module.name),
            detail: format!("{} has no cell that does the work of {}", library.cells.name, cell.kind),
        })?;
    }
    Ok(area)
}

/// The smallest candidate, which stays the first, and the others that are worth choosing.
pub(crate) fn joined(smallest: Candidate, rest: impl IntoIterator<Item = Candidate>) -> Vec<Candidate> {
    let faster = rest.into_iter().filter(|c| c.delay < smallest.delay * WORTHWHILE).collect();
    std::iter::once(smallest).chain(worthwhile(faster)).collect()
}

/// Removes candidates that another one beats in area and delay.
fn worthwhile(mut candidates: Vec<Candidate>) -> Vec<Candidate> {
    candidates.sort_by(|a, b| a.area.total_cmp(&b.area).then(a.delay.total_cmp(&b.delay)));
    let mut kept: Vec<Candidate> = Vec::new();
    for candidate in candidates {
        if kept.last().is_none_or(|last| candidate.delay < last.delay * WORTHWHILE) {
            kept.push(candidate);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_faster_mappings_may_be_larger() {
        let candidate = |area, delay| Candidate { mapping: String::new(), area, delay, json: PathBuf::new() };
        let all = vec![candidate(3.0, 5.0), candidate(1.0, 9.0), candidate(2.0, 9.5), candidate(4.0, 4.99)];
        let kept: Vec<f64> = worthwhile(all).iter().map(|c| c.area).collect();
        assert_eq!(kept, [1.0, 3.0]);
    }
}
