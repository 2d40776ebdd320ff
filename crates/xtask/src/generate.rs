//! `cargo xtask generate` and `cargo xtask sample`: what is emitted today.

use crate::failure::{Failure, Outcome, check, input, with};
use crate::flashd::Flashd;
use crate::guard::{difference, names};
use crate::process::pool;
use crate::selection::{Around, Selection};
use crate::selections;
use crate::work::{self, create, files, name, read};
use clap::Args;
use flashd_spec::format::Format;
use rayon::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};

/// Generate all cores and units, and designs of every other kind, into a folder: what is linted
///
/// All shipped cores, the variants that are not shipped, all short d, some arrays, cores with masks, partial results and late values,
/// split keys, stream wrappers, all units, and a design with a file for each module. FLASHD names the flashd executable; by default it
/// is built.
#[derive(Args)]
pub struct GenerateOptions {
    /// Where to
    #[arg(value_name = "DIR")]
    out: PathBuf,
    /// How many at the same time (default: one for each processor)
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
}

/// Generates all of them.
pub fn generate(options: &GenerateOptions) -> Outcome {
    let flashd = Flashd::find()?;
    let out = create(&options.out)?;
    let selections = selections::linted();
    let failures: Vec<Failure> = pool(options.jobs)?.install(|| {
        let one = |selection: &Selection| flashd.generate(selection, &[], &out).err();
        selections.par_iter().filter_map(one).collect()
    });
    for failure in &failures {
        eprintln!("{failure}");
    }
    if !failures.is_empty() {
        return check(format!("{} of {} selections are not generated", failures.len(), selections.len()));
    }
    // One of them again, a file a module.
    let core = selections::masked(selections::flash_d(4, Format::BF16));
    flashd.generate(&Selection::around(core, Around::array(2)), &["--split"], &out)?;
    let written = names(&out)?.iter().filter(|path| name(path).ends_with(".v")).count();
    println!("{written} Verilog files");
    match written > selections.len() {
        true => Ok(()),
        false => check(format!("{written} Verilog files of {} selections", selections.len() + 1)),
    }
}

/// Compare the files of a folder with what is generated today, byte for byte
///
/// A design with a manifest is generated again from the configuration in it, and has the same files; every other file is held
/// against the one of the same name in FRESH. FLASHD names the flashd executable; by default it is built.
#[derive(Args)]
pub struct SampleOptions {
    /// The folder with the files, for example rtl-out/sample
    sample: PathBuf,
    /// A folder of `cargo xtask generate`
    fresh: PathBuf,
}

/// Compares them.
pub fn sample(options: &SampleOptions) -> Outcome {
    let flashd = Flashd::find()?;
    let folder = work::temporary()?;
    let (again, configuration) = (folder.path().join("again"), folder.path().join("configuration.json"));
    create(&again)?;
    let sample = files(&options.sample, "")?;
    let mut cores = 0;
    for manifest in sample.iter().filter(|path| name(path).ends_with(".json")) {
        let value: serde_json::Value =
            serde_json::from_str(&read(manifest)?).map_err(with(manifest.display()))?;
        let Some(core) = value.get("configuration") else { continue };
        work::write(&configuration, &core.to_string())?;
        let flags = vec!["--config".into(), configuration.display().to_string()];
        flashd.generate(&Selection::Flags(flags), &[], &again)?;
        cores += 1;
    }
    if cores == 0 {
        return input(format!("{}: no manifest of a core", options.sample.display()));
    }
    let mut different = Vec::new();
    for file in &sample {
        let name = name(file);
        let today = [&again, &options.fresh].map(|folder| folder.join(&name));
        match today.iter().find(|path| path.exists()) {
            Some(today) => different.extend(compare(file, today)?),
            None => different.push(format!("{}: nothing generates it", file.display())),
        }
    }
    for today in files(&again, "")?.iter().filter(|path| !options.sample.join(name(path)).exists()) {
        different.push(format!("{}: is generated, and not in {}", name(today), options.sample.display()));
    }
    different.iter().for_each(|text| println!("{text}"));
    println!("{} files of {cores} cores and of units, {} differ", sample.len(), different.len());
    match different.len() {
        0 => Ok(()),
        n => check(format!("{n} files are not as generated today")),
    }
}

fn compare(file: &Path, today: &Path) -> Outcome<Option<String>> {
    let bytes = |path: &Path| fs::read(path).map_err(with(path.display()));
    let (old, new) = (bytes(file)?, bytes(today)?);
    let shown = difference(Path::new(&name(file)), &old, &new, &[]);
    // Bytes that are no part of a line differ, too.
    Ok(shown.or((old != new).then(|| format!("{}: the ends of lines differ", file.display()))))
}
