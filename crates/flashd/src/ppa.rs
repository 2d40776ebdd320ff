//! `flashd ppa`.

mod commands;
mod cores;
mod measure;
mod text;

use crate::cli::PpaArgs;
use crate::output::{Failure, check_writable, print, print_json, unwritable, write, write_all};
use flashd_generator::GeneratedFile;
use flashd_ppa::figures::Measurements;
use flashd_ppa::report;
use std::path::Path;

/// The names of the measured targets.
pub fn selected(args: &PpaArgs) -> Result<Vec<String>, Failure> {
    Ok(cores::targets(args)?.iter().map(|target| target.name()).collect())
}

pub fn run(args: &PpaArgs) -> Result<(), Failure> {
    let figures = match args.from.as_slice() {
        [] => {
            // Before the work rather than after it.
            let plan = measure::MeasurementPlan::new(args)?;
            writable(args)?;
            plan.run()?
        }
        files => {
            let figures = read(files)?;
            writable(args)?;
            figures
        }
    };
    let mut written = Vec::new();
    let drawing = |e: flashd_chart::ChartError| Failure::input(e.to_string());
    if let Some(folder) = &args.svg {
        let charts = report::charts(&figures.cores).map_err(drawing)?;
        let files: Vec<GeneratedFile> =
            charts.into_iter().map(|chart| GeneratedFile { name: chart.name, text: chart.svg }).collect();
        written.extend(write_all("--svg", folder, &files)?);
    }
    if let Some(path) = &args.html {
        let page = report::html(&figures, &commands::commands(&figures.cores)).map_err(drawing)?;
        written.push(write("--html", path, page.as_bytes())?);
    }
    if args.json {
        print_json(&figures)?;
        return failed(args, &figures);
    }
    let mut text = text::figures(&figures, args.breakdown);
    if args.svg.is_some() && report::charts(&figures.cores).map_err(drawing)?.is_empty() {
        text += "\nNo charts: no FLASH-D and FA2 core of one format and vector length were measured alike.\n";
    }
    for path in written {
        text += &format!("\n{}", path.display());
    }
    print(&text)?;
    failed(args, &figures)
}

/// Fails if a core of this run has, after the others have been shown.
fn failed(args: &PpaArgs, all: &Measurements) -> Result<(), Failure> {
    if !args.from.is_empty() {
        return Ok(());
    }
    let [first, ..] = all.failed.as_slice() else { return Ok(()) };
    let of = all.failed.len() + all.cores.len();
    Err(Failure::Check(format!(
        "{} of {of} cores failed; the first, {} in {}: {}",
        all.failed.len(),
        first.core,
        first.library,
        first.error
    )))
}

/// Makes sure that the output files can be written.
fn writable(args: &PpaArgs) -> Result<(), Failure> {
    if let Some(path) = &args.html {
        check_writable("--html", path)?;
    }
    if let Some(folder) = &args.svg {
        flashd_files::create_folder(folder).map_err(|e| unwritable("--svg", folder, e))?;
    }
    Ok(())
}

/// The figures of earlier runs.
fn read(files: &[impl AsRef<Path>]) -> Result<Measurements, Failure> {
    let mut all = Measurements::default();
    for path in files {
        let path = path.as_ref();
        let problem = |e: String| Failure::input(format!("--from {}: {e}", path.display()));
        let text = flashd_files::read_text(path).map_err(|e| problem(e.to_string()))?;
        report::join(&mut all, report::read(&text).map_err(problem)?).map_err(problem)?;
    }
    Ok(all)
}
