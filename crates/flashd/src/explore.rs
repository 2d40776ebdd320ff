//! `flashd explore`.

pub(crate) mod chart;
mod points;
mod report;

use crate::cli::{CostArg, ExploreArgs};
use crate::measure::{Cycles, GLITCH_CYCLES, Heartbeat, check_clock, map, power};
use crate::output::{Failure, print, print_json};
use crate::sample;
use flashd_ppa::synthesis::{Cache, CellLibrary, Flow, Tools};
use flashd_spec::config::{CoreConfig, Design};
use flashd_spec::format::Format;
use flashd_study::grid::{GridFile, default_grid, stem};
use flashd_study::{Heads, Prepared, equal};
use indicatif::{ProgressBar, ProgressStyle};
use points::{CorePoint, Exploration, FormatResult, Measured};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The cores of one format.
struct Set {
    format: Format,
    cores: Vec<CoreConfig>,
    /// Index into `cores`, if the reference is one of them, and its configuration.
    reference: (Option<usize>, CoreConfig),
}

pub fn run(args: &ExploreArgs) -> Result<(), Failure> {
    let json_file = args.json.as_deref().filter(|path| *path != Path::new("-"));
    check(args, json_file)?;
    let sets = sets(args)?;
    let flow = if args.errors_only { None } else { Some(flow(args)?) };
    let folder = sample::Heads::new(args.data.as_deref())?;
    let heads = Heads::load(folder.path(), args.every).map_err(|e| Failure::input(format!("--data: {e}")))?;
    let mut results =
        sets.iter().map(|set| with_errors(args, set, &heads)).collect::<Result<Vec<_>, Failure>>()?;
    if let Some(flow) = &flow {
        measure(args, flow, folder.path(), &mut results)?;
    }
    let exploration = Exploration {
        d: args.d,
        cost: flow.as_ref().map(|_| args.cost.into()),
        clock_ns: args.clock,
        library: flow.as_ref().map(|flow| flow.library.cells.name.clone()),
        data: folder.name(),
        heads: heads.heads.len(),
        every: args.every,
        equal_scores: equal_keys(),
        max_error: args.max_error.map(|percent| percent / 100.0),
        formats: results,
    }
    .with_choices();
    let mut written: Vec<PathBuf> = Vec::new();
    let write = |flag: &str, path: &Path, text: String| {
        flashd_files::write(path, text.as_bytes())
            .map_err(|e| Failure::input(format!("{flag} {}: {e}", path.display())))
    };
    if let Some(path) = &args.svg {
        let svg = chart::draw(&exploration).map_err(|e| Failure::input(format!("--svg: {e}")))?;
        written.push(write("--svg", path, svg)?);
    }
    if let Some(path) = json_file {
        let text = serde_json::to_string_pretty(&exploration)
            .map_err(|e| Failure::input(format!("--json {}: {e}", path.display())))?;
        written.push(write("--json", path, text + "\n")?);
    } else if args.json.is_some() {
        return print_json(&exploration);
    }
    print(&report::text(&exploration, &written))
}

/// What can be refused before anything is computed.
fn check(args: &ExploreArgs, json_file: Option<&Path>) -> Result<(), Failure> {
    check_clock(args.clock)?;
    if args.max_error.is_some_and(|percent| !(percent.is_finite() && percent > 0.0)) {
        return Err(Failure::input("--max-error: a percentage of max|v|, above 0, is needed"));
    }
    // The results may come hours later: find out now where they cannot be written.
    for (flag, path) in [("--svg", args.svg.as_deref()), ("--json", json_file)] {
        let Some(path) = path else { continue };
        flashd_files::AtomicFile::create(path)
            .map_err(|e| Failure::input(format!("{flag} {}: {e}", path.display())))?;
    }
    Ok(())
}

fn sets(args: &ExploreArgs) -> Result<Vec<Set>, Failure> {
    let mut formats = Vec::new();
    let default = [Format::BF16, Format::FP8_E4M3];
    for &format in if args.format.is_empty() { &default[..] } else { &args.format[..] } {
        if !formats.contains(&format) {
            formats.push(format);
        }
    }
    let grid_failure = |e| Failure::input(format!("--grid {e}"));
    let grid = args.grid.as_deref().map(GridFile::read).transpose().map_err(grid_failure)?;
    let mut sets = Vec::new();
    for format in formats {
        CoreConfig::new(Design::FlashD, args.d, format)
            .validate()
            .map_err(|e| Failure::input(format!("--{e}")))?;
        let cores = match &grid {
            Some(grid) => grid.cores(args.d, format).map_err(grid_failure)?,
            None => default_grid(args.d, format),
        };
        let variants = CoreConfig::variants(args.d, format);
        let named = |core: &CoreConfig| stem(core) == args.reference;
        let position = cores.iter().position(named);
        let config = position.map(|i| &cores[i]).or_else(|| variants.iter().find(|core| named(core)));
        let config = config.filter(|core| core.validate().is_ok()).ok_or_else(|| {
            let names: Vec<String> = variants.iter().map(stem).collect();
            Failure::input(format!(
                "--reference {}: is neither a core of the grid nor one of {}",
                args.reference,
                names.join(", ")
            ))
        })?;
        sets.push(Set { format, reference: (position, config.clone()), cores });
    }
    if sets.iter().all(|set| set.cores.is_empty()) {
        let path = args.grid.as_deref().unwrap_or(Path::new("")).display().to_string();
        return Err(Failure::input(format!("--grid {path}: has no core in the formats asked for")));
    }
    sets.retain(|set| !set.cores.is_empty());
    Ok(sets)
}

fn flow(args: &ExploreArgs) -> Result<Flow, Failure> {
    let tools = Tools::discover()?;
    let cache = Cache::new(args.cache.as_deref())?;
    let library = CellLibrary::open(args.liberty.as_deref(), cache.folder())?;
    Ok(Flow { tools, library, clock_ns: args.clock, cache, flat: false })
}

/// The number of equal scores of the table's column.
fn equal_keys() -> usize {
    equal::COUNTS[equal::COUNTS.len() - 1]
}

/// Shown on a terminal only.
pub(crate) fn bar(steps: usize) -> ProgressBar {
    let bar = ProgressBar::new(steps as u64);
    bar.set_style(
        ProgressStyle::with_template("{bar:30} {pos} of {len} {prefix} {wide_msg} {elapsed}, {eta} left")
            .unwrap_or_else(|_| ProgressStyle::default_bar()),
    );
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// Errors of all cores of a format; those above the limit are left out.
fn with_errors(args: &ExploreArgs, set: &Set, heads: &Heads) -> Result<FormatResult, Failure> {
    let failure = |core: &CoreConfig, e| Failure::input(format!("{}: {e}", core.name()));
    let prepared = Prepared::new(heads, set.format).map_err(|e| Failure::input(format!("--data: {e}")))?;
    let bar = bar(set.cores.len() * (1 + equal::SEEDS.count()));
    bar.set_prefix(format!("errors in {}", set.format));
    let mut points = Vec::new();
    for core in &set.cores {
        let errors = prepared.errors(core).map_err(|e| failure(core, e))?;
        points.push(CorePoint::new(core, errors));
        bar.inc(1);
    }
    let (position, reference) = &set.reference;
    let reference_errors = match position {
        Some(position) => points[*position].errors.clone(),
        None => prepared.errors(reference).map_err(|e| failure(reference, e))?,
    };
    let all = points.len();
    points.retain(|point| args.max_error.is_none_or(|percent| 100.0 * point.errors.mean <= percent));
    let left: Vec<CoreConfig> = points.iter().map(|point| point.configuration.clone()).collect();
    let equal = equal::errors(set.format, &left, &[equal_keys()], &|| bar.inc(1))
        .map_err(|e| Failure::input(e.to_string()))?;
    for (point, equal) in points.iter_mut().zip(equal) {
        point.equal_scores_error = equal[0];
        point.as_accurate_as_reference = point.errors.within(&reference_errors);
    }
    bar.finish_and_clear();
    Ok(FormatResult {
        format: set.format,
        reference: reference.name(),
        reference_errors,
        left_out: all - points.len(),
        points,
        choices: Vec::new(),
    })
}

/// Area, timing and, if it is the cost, power of every point. No point is skipped: what a narrower lane saves is not
/// known before it is mapped.
fn measure(
    args: &ExploreArgs,
    flow: &Flow,
    data: &Path,
    results: &mut [FormatResult],
) -> Result<(), Failure> {
    let bar = bar(results.iter().map(|result| result.points.len()).sum());
    let _lines = Heartbeat::start(&bar);
    for point in results.iter_mut().flat_map(|result| &mut result.points) {
        bar.set_prefix(point.core.clone());
        let (figures, mapped) = map(flow, &point.configuration.clone().into(), &bar)?;
        let meets_clock = figures.timing.slack >= 0.0;
        // Where they are the cost, whatever it takes.
        let glitches = (args.cost == CostArg::Glitches).then_some(GLITCH_CYCLES);
        let cycles = Cycles { each: args.cycles, glitches };
        let power = match args.cost {
            CostArg::Power | CostArg::Glitches if meets_clock => {
                Some(power(flow, (&figures, &mapped), cycles, data, &bar)?)
            }
            _ => None,
        };
        point.measured = Some(Measured {
            area_um2: figures.area.total,
            nand2_equivalents: figures.area.nand2_equivalents,
            minimum_period_ns: figures.timing.minimum_period,
            meets_clock,
            power_mw: power.as_ref().map(|power| power.total),
            power_with_glitches_mw: power.and_then(|power| Some(power.glitches?.total)),
        });
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(())
}
