//! The files that a revision emits, for comparison with another one.

use crate::failure::{Outcome, input, none, with};
use crate::process::{command_in, run};
use crate::selection::DesignSelection;
use crate::selections;
use crate::work::{create, write};
use flashd_simulator::random::{LONGEST, draw};
use flashd_spec::machine::Machine;
use npyz::WriterBuilder;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// Keys of testbenches and waves.
const KEYS: usize = 24;
/// Queries of waves.
const QUERIES: usize = 4;
/// The file of a design's configuration, in the design's folder.
const CONFIGURATION: &str = "configuration.json";
/// Lines that are shown of a difference.
const SHOWN: usize = 12;

/// Everything into a folder.
pub fn emit(flashd: &Path, out: &Path, random: u32, seed: u64) -> Outcome {
    if out.exists() {
        return input(format!("--out {}: it is there already", out.display()));
    }
    let flashd = flashd.canonicalize().map_err(with(format!("--flashd {}", flashd.display())))?;
    let flashd = [flashd.into_os_string()];
    let data = create(&out.join("data"))?;
    for (name, rows, seed) in [("q", QUERIES, 1), ("k", KEYS, 2), ("v", KEYS, 3)] {
        let file = data.join(format!("{name}.npy"));
        write_normal(&file, rows, seed).map_err(with(file.display()))?;
    }
    let designs = selections::compared();
    designs.par_iter().enumerate().try_for_each(|(i, selection)| {
        let folder = create(&out.join("designs").join(format!("{i:03}")))?;
        let mut arguments = selected("generate", selection, &folder)?;
        arguments.extend(["--out", "."].map(String::from));
        // Units and wrappers have no testbench of this kind, and all cores at once none.
        if matches!(selection, DesignSelection::Core(..)) && !selection.is_wrapper() {
            arguments.extend(["--testbench", "--keys", "24"].map(String::from));
        }
        keep(&flashd, &arguments, &folder).map(drop)
    })?;
    let waves: Vec<DesignSelection> =
        selections::with_options().into_iter().filter(|selection| !selection.is_wrapper()).collect();
    waves.par_iter().enumerate().try_for_each(|(i, selection)| {
        let folder = create(&out.join("waves").join(format!("{i:03}")))?;
        let mut arguments = selected("simulate", selection, &folder)?;
        for name in ["q", "k", "v"] {
            arguments.extend([format!("--{name}"), data.join(format!("{name}.npy")).display().to_string()]);
        }
        if selection.has_masks() {
            arguments.push("--causal".into());
        }
        arguments.extend(["--vcd", "wave.vcd", "--signals", "all"].map(String::from));
        keep(&flashd, &arguments, &folder).map(drop)
    })?;
    (seed..seed + u64::from(random)).into_par_iter().try_for_each(|seed| {
        let folder = create(&out.join("random").join(seed.to_string()))?;
        let drawn = draw(&mut ChaCha8Rng::seed_from_u64(seed), LONGEST);
        let arguments = format!("generate {} --out .", flags(&drawn, &folder)?);
        let bench = format!(" --testbench --keys 24 --seed {seed}");
        let bench = if matches!(drawn, Machine::Wrapper(_) | Machine::Unit(_)) { "" } else { &bench };
        let arguments: Vec<String> = (arguments + bench).split(' ').map(String::from).collect();
        keep(&flashd, &arguments, &folder).map(drop)
    })?;
    println!(
        "{} designs, {} waves, {random} random configurations in {}",
        designs.len(),
        waves.len(),
        out.display()
    );
    Ok(())
}

/// Flags for a configuration, which is written to the folder.
fn flags(drawn: &Machine, folder: &Path) -> Outcome<String> {
    // Split keys are a core and a flag.
    let (text, parts) = match drawn {
        Machine::Core(core) => (serde_json::to_string(core), None),
        Machine::Array(array) => (serde_json::to_string(array), None),
        Machine::Wrapper(wrapper) => (serde_json::to_string(wrapper), None),
        Machine::Unit(unit) => (serde_json::to_string(unit), None),
        Machine::Split(split) => (serde_json::to_string(&split.core), Some(split.parts)),
    };
    write(&folder.join(CONFIGURATION), &text.map_err(with(drawn.name()))?)?;
    let parts = parts.map_or(String::new(), |parts| format!(" --parts {parts}"));
    Ok(format!("--config {CONFIGURATION}{parts}"))
}

/// A command for a selection, whose configuration is written to the folder and compared with the rest.
pub fn selected(command: &str, selection: &DesignSelection, folder: &Path) -> Outcome<Vec<String>> {
    let flags = match selection {
        // A file has every field, and is compared as well.
        DesignSelection::Core(core, around) => {
            let text = serde_json::to_string_pretty(core).map_err(with(core.name()))?;
            write(&folder.join(CONFIGURATION), &text)?;
            [["--config", CONFIGURATION].map(String::from).to_vec(), around.flags()].concat()
        }
        other => other.flags(),
    };
    Ok([vec![command.to_string()], flags].concat())
}

/// Runs the program in a folder and keeps its output. Returns whether it succeeded.
pub fn keep(flashd: &[OsString], arguments: &[String], folder: &Path) -> Outcome<bool> {
    let mut command = command_in(folder, &flashd[0], &flashd[1..]);
    command.args(arguments).env(flashd_files::REPRODUCIBLE, "1");
    let said = run(command)?;
    let text = format!("{}\n{}\n{}", arguments.join(" "), said.status, said.text);
    // The data's folder is another one each time.
    let text: String =
        text.lines().filter(|line| !line.contains("data/")).map(|line| format!("{line}\n")).collect();
    write(&folder.join("said.txt"), &text)?;
    Ok(said.ok())
}

/// Numbers from a seed, spread evenly over (-2, 2), as a tensor of rows of D.
fn write_normal(path: &Path, rows: usize, seed: u64) -> std::io::Result<()> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let file = fs::File::create(path)?;
    let options =
        npyz::WriteOptions::new().default_dtype().shape(&[rows as u64, selections::D as u64]).writer(file);
    let mut writer = options.begin_nd()?;
    for _ in 0..rows * selections::D {
        writer.push(&(rng.random::<f32>() * 4.0 - 2.0))?;
    }
    writer.finish()
}

/// Compares two folders.
pub fn same(old: &Path, new: &Path, without: &[String]) -> Outcome {
    let (mut files, mut different) = (0, Vec::new());
    let names: BTreeSet<PathBuf> = names(old)?.into_iter().chain(names(new)?).collect();
    for name in &names {
        files += 1;
        let read = |folder: &Path| {
            fs::read(folder.join(name)).map_err(|_| format!("only in one of both: {}", name.display()))
        };
        match (read(old), read(new)) {
            (Ok(a), Ok(b)) if a == b => {}
            (Ok(a), Ok(b)) => different.extend(difference(name, &a, &b, without)),
            (Err(e), _) | (_, Err(e)) => different.push(e),
        }
    }
    different.iter().take(SHOWN).for_each(|text| println!("{text}"));
    println!("{files} files, {} differ", different.len());
    match files {
        0 => input(format!("{} and {} are empty", old.display(), new.display())),
        _ => none(different.len(), "files differ"),
    }
}

/// The first lines that differ, if lines do that count.
pub fn difference(name: &Path, a: &[u8], b: &[u8], without: &[String]) -> Option<String> {
    let lines = |bytes: &[u8]| -> Vec<String> {
        let text = String::from_utf8_lossy(bytes).into_owned();
        text.lines()
            .filter(|line| !without.iter().any(|text| line.contains(text.as_str())))
            .map(String::from)
            .collect()
    };
    let (a, b) = (lines(a), lines(b));
    let place = (0..a.len().max(b.len())).find(|&i| a.get(i) != b.get(i))?;
    let line = |lines: &[String]| lines.get(place).cloned().unwrap_or_else(|| "(end)".into());
    Some(format!("{}, line {}:\n  - {}\n  + {}", name.display(), place + 1, line(&a), line(&b)))
}

/// The files in a folder and in those below it, by their names from there.
pub fn names(folder: &Path) -> Outcome<Vec<PathBuf>> {
    fn walk(root: &Path, folder: &Path, names: &mut Vec<PathBuf>) -> std::io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            match path.is_dir() {
                true => walk(root, &path, names)?,
                false => names.extend(path.strip_prefix(root).map(Path::to_path_buf)),
            }
        }
        Ok(())
    }
    let mut names = Vec::new();
    walk(folder, folder, &mut names).map_err(with(folder.display()))?;
    Ok(names)
}
