//! `flashd generate`.

use crate::cli::GenerateArgs;
use crate::output::{Failure, print, print_json};
use crate::select::{configuration, core_or_block, split};
use flashd_generator::{GeneratedFile, block_files, core_files, split_files, unit_file, write_all};
use flashd_hwmodel::config::CoreConfig;
use flashd_hwmodel::format::Format;
use flashd_hwmodel::units::FormatUnit;

pub fn run(args: &GenerateArgs) -> Result<(), Failure> {
    let files = files(args)?;
    let written = write_all(&args.out, &files)?;
    let names: Vec<String> = written.iter().map(|p| p.display().to_string()).collect();
    match args.json {
        true => print_json(&names),
        false => print(&names.join("\n")),
    }
}

fn files(args: &GenerateArgs) -> Result<Vec<GeneratedFile>, Failure> {
    if let Some(name) = &args.unit {
        let unit = FormatUnit::ALL.into_iter().find(|u| u.name() == name).ok_or_else(|| {
            let known: Vec<&str> = FormatUnit::ALL.iter().map(|u| u.name()).collect();
            Failure::input(format!("--unit: unknown unit '{name}': known units are {}", known.join(", ")))
        })?;
        let segments = args.selection.segments.unwrap_or(8);
        if ![4, 8, 16, 32].contains(&segments) {
            return Err(Failure::input(format!("--segments: {segments} is not one of 4, 8, 16, 32")));
        }
        let format = args.selection.format.unwrap_or(Format::BF16);
        return Ok(vec![unit_file(unit, format, segments)?]);
    }
    if args.all {
        let mut files = Vec::new();
        for config in CoreConfig::shipped() {
            files.extend(core_files(&config)?);
        }
        return Ok(files);
    }
    if let Some(parts) = args.parts {
        return Ok(split_files(&split(&configuration(&args.selection, None)?, parts)?)?);
    }
    Ok(match core_or_block(&args.selection, args.queries, args.key_index_bits, None)? {
        (_, Some(block)) => block_files(&block)?,
        (core, None) => core_files(&core)?,
    })
}
