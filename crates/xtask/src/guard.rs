//! What a revision emits, for comparison with another one.

use crate::selections;
use npyz::WriterBuilder;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Keys of testbenches and waves.
const KEYS: usize = 24;
/// Queries of waves.
const QUERIES: usize = 4;
/// Vector length of waves, that of the selections.
const D: usize = 8;
/// Lines that are shown of a difference.
const SHOWN: usize = 12;

/// Everything into a folder.
pub fn emit(flashd: &Path, out: &Path, random: u32, seed: u64) -> Result<(), String> {
    if out.exists() {
        return Err(format!("--out {}: it is there already", out.display()));
    }
    let flashd = flashd.canonicalize().map_err(|e| format!("--flashd {}: {e}", flashd.display()))?;
    let data = out.join("data");
    create(&data)?;
    let data = data.canonicalize().map_err(|e| format!("{}: {e}", data.display()))?;
    for (name, rows, seed) in [("q", QUERIES, 1), ("k", KEYS, 2), ("v", KEYS, 3)] {
        write_normal(&data.join(format!("{name}.npy")), rows, seed)?;
    }
    let designs = selections::all(&flashd)?;
    designs.par_iter().enumerate().try_for_each(|(i, flags)| {
        let folder = out.join("designs").join(format!("{i:03}"));
        create(&folder)?;
        let mut arguments: Vec<&str> = vec!["generate"];
        arguments.extend(flags.split_whitespace());
        arguments.extend(["--out", "."]);
        // Units and wrappers have no testbench of this kind, and all cores at once none.
        if !["--unit", "--all", "--wrapper"].iter().any(|flag| flags.contains(flag)) {
            arguments.extend(["--testbench", "--keys", "24"]);
        }
        run(&flashd, &arguments, &folder)
    })?;
    let waves: Vec<String> =
        selections::with_options().into_iter().filter(|flags| !flags.contains("--wrapper")).collect();
    waves.par_iter().enumerate().try_for_each(|(i, flags)| {
        let folder = out.join("waves").join(format!("{i:03}"));
        create(&folder)?;
        let mut arguments: Vec<String> = vec!["simulate".into()];
        arguments.extend(flags.split_whitespace().map(String::from));
        for name in ["q", "k", "v"] {
            arguments.extend([format!("--{name}"), data.join(format!("{name}.npy")).display().to_string()]);
        }
        if flags.contains("--masks") {
            arguments.push("--causal".into());
        }
        arguments.extend(["--vcd", "wave.vcd", "--signals", "all"].map(String::from));
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        run(&flashd, &arguments, &folder)
    })?;
    let folder = out.join("random");
    create(&folder)?;
    let (count, seed) = (random.to_string(), seed.to_string());
    let drawn =
        ["check-random", "--generate-only", "--count", &count, "--seed", &seed, "--keys", "24", "--out", "."];
    run(&flashd, &drawn, &folder)?;
    println!(
        "{} designs, {} waves, {random} random configurations in {}",
        designs.len(),
        waves.len(),
        out.display()
    );
    Ok(())
}

/// Runs the program in a folder and keeps what it says.
fn run(flashd: &Path, arguments: &[&str], folder: &Path) -> Result<(), String> {
    let output = Command::new(flashd).args(arguments).current_dir(folder).output();
    let output = output.map_err(|e| format!("{}: {e}", flashd.display()))?;
    let said = [&output.stdout[..], &output.stderr[..]].concat();
    let text = format!("{}\n{}\n{}", arguments.join(" "), output.status, String::from_utf8_lossy(&said));
    // The data's folder is another one each time.
    let text: String =
        text.lines().filter(|line| !line.contains("data/")).map(|line| format!("{line}\n")).collect();
    fs::write(folder.join("said.txt"), text).map_err(|e| format!("{}: {e}", folder.display()))
}

fn create(folder: &Path) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))
}

/// Numbers from a seed, spread evenly over (-2, 2), as a tensor of rows of D.
fn write_normal(path: &Path, rows: usize, seed: u64) -> Result<(), String> {
    let problem = |e: std::io::Error| format!("{}: {e}", path.display());
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
    let file = fs::File::create(path).map_err(problem)?;
    let options = npyz::WriteOptions::new().default_dtype().shape(&[rows as u64, D as u64]).writer(file);
    let mut writer = options.begin_nd().map_err(problem)?;
    for _ in 0..rows * D {
        writer.push(&(rng.random::<f32>() * 4.0 - 2.0)).map_err(problem)?;
    }
    writer.finish().map_err(problem)
}

/// Compares two folders.
pub fn same(old: &Path, new: &Path, without: &[String]) -> Result<(), String> {
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
    if different.is_empty() && files > 0 { Ok(()) } else { Err(format!("{} files differ", different.len())) }
}

/// The first lines that differ, if lines do that count.
fn difference(name: &Path, a: &[u8], b: &[u8], without: &[String]) -> Option<String> {
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

fn names(folder: &Path) -> Result<Vec<PathBuf>, String> {
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
    walk(folder, folder, &mut names).map_err(|e| format!("{}: {e}", folder.display()))?;
    Ok(names)
}
