//! Which cores are explored, and which ones they are held against.

use crate::cli::ExploreArgs;
use crate::output::Failure;
use flashd_spec::config::{CoreConfig, Design};
use flashd_spec::format::{Encodings, Format};
use flashd_study::grid::{self, GridFile, default_grid, stem, stem_without_scales, variants_like};
use std::path::Path;

/// The cores of one combination of formats and scales.
pub struct CoreSet {
    pub encodings: Encodings,
    /// One at least.
    pub cores: Vec<CoreConfig>,
    /// The core whose accuracy is to be reached, one of `cores` or not.
    pub reference: CoreConfig,
}

impl CoreSet {
    /// The reference, if it is none of the cores.
    pub fn other_reference(&self) -> Option<&CoreConfig> {
        let name = self.reference.name();
        (!self.cores.iter().any(|core| core.name() == name)).then_some(&self.reference)
    }
}

/// All cores.
pub struct Sets {
    /// By formats and scales.
    pub all: Vec<CoreSet>,
    /// The set whose reference is that of all formats together.
    pub reference: usize,
}

/// The sets that arguments ask for.
///
/// # Errors
/// Formats, lengths or grids that are not valid, and a reference that a format does not have.
pub fn sets(args: &ExploreArgs) -> Result<Sets, Failure> {
    let asked = asked(&args.format);
    for &format in &asked {
        CoreConfig::new(Design::FlashD, args.d, format)
            .validate()
            .map_err(|e| Failure::input(format!("--{e}")))?;
    }
    let groups = by_encodings(cores(args, &asked)?, &asked);
    if groups.is_empty() {
        let path = args.grid.as_deref().unwrap_or(Path::new("")).display().to_string();
        return Err(Failure::input(format!("--grid {path}: has no core in the formats asked for")));
    }
    let candidates = |cores: &[CoreConfig]| [cores, &variants_like(&cores[0])].concat();
    // A name with formats and length is one core. In other formats its name without these counts.
    let in_full = |core: &CoreConfig| core.name() == args.reference;
    let found = groups.iter().enumerate().find_map(|(i, (_, cores))| {
        let core = candidates(cores).into_iter().find(in_full)?;
        Some((i, stem_without_scales(&core)))
    });
    let (reference, name) = found.unwrap_or((0, args.reference.clone()));
    let mut all = Vec::new();
    for (encodings, cores) in groups {
        let candidates = candidates(&cores);
        let named = |core: &&CoreConfig| stem(core) == name || stem_without_scales(core) == name;
        let found = candidates.iter().find(|core| in_full(core)).or_else(|| candidates.iter().find(named));
        let Some(found) = found.cloned() else {
            let names: Vec<String> = variants_like(&cores[0]).iter().map(stem_without_scales).collect();
            return Err(Failure::input(format!(
                "--reference {}: is neither a core of the grid in {encodings} nor one of {}",
                args.reference,
                names.join(", ")
            )));
        };
        all.push(CoreSet { encodings, cores, reference: found });
    }
    Ok(Sets { all, reference })
}

/// The formats of entries that name none, each once.
fn asked(formats: &[Format]) -> Vec<Format> {
    let default = [Format::BF16, Format::FP8_E4M3];
    let mut asked = Vec::new();
    for &format in if formats.is_empty() { &default[..] } else { formats } {
        if !asked.contains(&format) {
            asked.push(format);
        }
    }
    asked
}

/// The cores of the grid. `--format` leaves those whose queries are in one of its formats.
fn cores(args: &ExploreArgs, asked: &[Format]) -> Result<Vec<CoreConfig>, Failure> {
    let Some(path) = &args.grid else {
        return Ok(asked.iter().flat_map(|&format| default_grid(args.d, format)).collect());
    };
    let cores = GridFile::read(path).and_then(|grid| grid::cores(&grid, args.d, asked));
    let mut cores = cores.map_err(|e| Failure::input(format!("--grid {e}")))?;
    cores.retain(|core| args.format.is_empty() || asked.contains(&core.format));
    Ok(cores)
}

/// Groups cores by formats and scales: in the order of the formats in `asked`, then in the order of the grid.
fn by_encodings(cores: Vec<CoreConfig>, asked: &[Format]) -> Vec<(Encodings, Vec<CoreConfig>)> {
    let mut groups: Vec<(Encodings, Vec<CoreConfig>)> = Vec::new();
    for core in cores {
        let encodings = core.encodings();
        match groups.iter_mut().find(|(found, _)| *found == encodings) {
            Some((_, cores)) => cores.push(core),
            None => groups.push((encodings, vec![core])),
        }
    }
    let place = |format: Format| asked.iter().position(|&other| other == format).unwrap_or(asked.len());
    groups.sort_by_key(|(encodings, _)| place(encodings.formats.q));
    groups
}
