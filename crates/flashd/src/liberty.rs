//! `flashd liberty`.

use crate::cli::{LibertyArgs, LibertyCommand};
use crate::output::{Failure, print, print_json, write};
use flashd_ppa::liberty::{Library, merge};
use flashd_ppa::synthesis::library_text;
use serde::Serialize;

#[derive(Serialize)]
struct LibertyReport {
    file: String,
    library: String,
    files: usize,
    cells: usize,
}

pub fn run(args: &LibertyArgs) -> Result<(), Failure> {
    let LibertyCommand::Merge { files, out, json } = &args.command;
    let read = |file: &std::path::PathBuf| {
        let text = library_text(file).map_err(|e| Failure::input(e.to_string()))?;
        Ok::<_, Failure>((file.clone(), text))
    };
    let texts = files.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let merged = merge(&texts).map_err(|e| Failure::input(e.to_string()))?;
    // Checks that the merged library can be read.
    let library = Library::from_text(out, &merged).map_err(|e| Failure::input(e.to_string()))?;
    write("--out", out, merged.as_bytes())?;
    let report = LibertyReport {
        file: out.display().to_string(),
        library: library.name,
        files: files.len(),
        cells: library.cells.len(),
    };
    match json {
        true => print_json(&report),
        false => print(&format!("{}: {} cells of {} files", report.file, report.cells, report.files)),
    }
}
