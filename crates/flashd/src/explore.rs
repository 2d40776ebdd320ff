//! `flashd explore`.

mod chart;
mod parts;
mod points;
mod report;
mod sets;

use crate::cli::ExploreArgs;
use crate::output::{self, Failure, print, print_json};
use crate::progress::{Phase, ProgressPlan, on_all_processors, rates};
use crate::sample;
use flashd_spec::config::CoreConfig;
use flashd_study::equal;
use parts::HeadsOf;
pub use parts::{FlowOf, Known, WorkPart, Worker};
use points::{CorePoint, Exploration, FormatResult};
pub use points::{Cost, MeasuredCore};
use sets::{CoreSet, Sets, sets};
use std::path::{Path, PathBuf};

/// Cores whose errors one part has: loading heads takes longer than a core on the sample.
const CORES_OF_A_PART: usize = 4;

pub fn run(args: &ExploreArgs) -> Result<(), Failure> {
    let json_file = args.json.as_deref().filter(|path| *path != Path::new("-"));
    check(args, json_file)?;
    let sets = sets(args)?;
    let mut worker = Worker::new(args.cache.as_deref());
    let mut known = Known::default();
    // Missing tools end the run before the work starts.
    if !args.errors_only {
        known.library = Some(worker.flow(&flow_of(args))?.library.cells.name.clone());
    }
    worker.heads(&heads_of(args))?;
    let plan = plan(args, &sets);
    for (place, set) in sets.all.iter().enumerate() {
        let errors = error_parts(args, set, usize::MAX);
        compute(&mut worker, &mut known, &errors, (&plan, 2 * place))?;
        // Cores above the limit are not measured further.
        let left = left(args, set, &known);
        compute(&mut worker, &mut known, &equal_parts(&left, usize::MAX), (&plan, 2 * place + 1))?;
    }
    if !args.errors_only {
        let left: Vec<CoreConfig> = sets.all.iter().flat_map(|set| left(args, set, &known)).collect();
        let parts = measured_parts(args, &left);
        compute(&mut worker, &mut known, &parts, (&plan, 2 * sets.all.len()))?;
    }
    drop(plan);
    let exploration = merge(args, &sets, &known)?;
    let mut written: Vec<PathBuf> = Vec::new();
    let write = |flag: &str, path: &Path, text: String| output::write(flag, path, text.as_bytes());
    if let Some(path) = &args.svg {
        written.push(output::draw("--svg", path, &chart::charts(&exploration))?);
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

/// An exploration's parts for other machines: errors and equal scores of some cores at a time, figures of one. Errors are not known
/// yet, so cores above the limit are measured too; the result leaves them out.
pub fn parts(args: &ExploreArgs) -> Result<Vec<WorkPart>, Failure> {
    check(args, None)?;
    let mut parts = Vec::new();
    for set in sets(args)?.all {
        parts.extend(error_parts(args, &set, CORES_OF_A_PART));
        parts.extend(equal_parts(&set.cores, CORES_OF_A_PART));
        if !args.errors_only {
            parts.extend(measured_parts(args, &set.cores));
        }
    }
    Ok(parts)
}

/// The exploration, from what came of its parts wherever they were computed.
pub fn merged(args: &ExploreArgs, known: &Known) -> Result<Exploration, Failure> {
    merge(args, &sets(args)?, known)
}

/// Steps of a part: cores, and of equal scores cores and seeds.
fn steps(part: &WorkPart) -> u64 {
    let steps = match part {
        WorkPart::Errors { cores, .. } => cores.len(),
        WorkPart::EqualScores { cores } => cores.len() * equal::SEEDS.count(),
        WorkPart::Measured { .. } => 1,
    };
    steps as u64
}

/// All that the exploration does, as one bar: for each set errors and equal scores, then the mapping of all cores.
fn plan(args: &ExploreArgs, sets: &Sets) -> ProgressPlan {
    let on_clock = |seconds: f64| on_all_processors(seconds).as_secs_f64();
    let mut phases = Vec::new();
    for set in &sets.all {
        let units = |parts: &[WorkPart]| parts.iter().map(steps).sum();
        let (errors, equal) = (error_parts(args, set, usize::MAX), equal_parts(&set.cores, usize::MAX));
        let of = format!("in {}", set.encodings);
        phases.push(Phase::new(format!("cores, errors {of}"), units(&errors), on_clock(rates::ERRORS)));
        phases.push(Phase::new(
            format!("runs, equal scores {of}"),
            units(&equal),
            on_clock(rates::EQUAL_SCORES),
        ));
    }
    if !args.errors_only {
        let cores = sets.all.iter().map(|set| set.cores.len() as u64).sum();
        phases.push(Phase::new("cores mapped", cores, on_clock(rates::MAPPING_ELEMENT * args.d as f64)));
    }
    ProgressPlan::start(phases, ", less where modules are in the cache")
}

/// Computes the parts of a phase here, one after another: each is for all processors.
fn compute(
    worker: &mut Worker,
    known: &mut Known,
    parts: &[WorkPart],
    (plan, phase): (&ProgressPlan, usize),
) -> Result<(), Failure> {
    plan.expect(phase, parts.iter().map(steps).sum());
    plan.begin(phase);
    for part in parts {
        let outcome = worker.run(part, plan.bar(), &|| plan.inc(1))?;
        known.add(part, outcome)?;
    }
    plan.bar().set_prefix("");
    plan.bar().set_message("");
    Ok(())
}

fn heads_of(args: &ExploreArgs) -> HeadsOf {
    HeadsOf { data: args.data.clone(), every: args.every }
}

fn flow_of(args: &ExploreArgs) -> FlowOf {
    FlowOf { liberty: args.liberty.clone(), clock_ns: args.clock }
}

/// Errors of all cores of a set, and of the reference where it is none of them.
fn error_parts(args: &ExploreArgs, set: &CoreSet, at_once: usize) -> Vec<WorkPart> {
    let cores: Vec<CoreConfig> = set.cores.iter().chain(set.other_reference()).cloned().collect();
    let part = |cores: &[CoreConfig]| WorkPart::Errors { cores: cores.to_vec(), heads: heads_of(args) };
    cores.chunks(at_once).map(part).collect()
}

fn equal_parts(cores: &[CoreConfig], at_once: usize) -> Vec<WorkPart> {
    cores.chunks(at_once).map(|cores| WorkPart::EqualScores { cores: cores.to_vec() }).collect()
}

/// No core is skipped: only mapping shows the gain of a narrower lane.
fn measured_parts(args: &ExploreArgs, cores: &[CoreConfig]) -> Vec<WorkPart> {
    let part = |core: &CoreConfig| WorkPart::Measured {
        core: Box::new(core.clone()),
        cost: args.cost,
        cycles: args.cycles,
        flow: flow_of(args),
        data: args.data.clone(),
    };
    cores.iter().map(part).collect()
}

/// The cores whose mean error is within the limit.
fn left(args: &ExploreArgs, set: &CoreSet, known: &Known) -> Vec<CoreConfig> {
    let within = |core: &&CoreConfig| {
        let mean = known.errors.get(&core.name()).map(|errors| errors.mean);
        args.max_error.is_none_or(|percent| mean.is_some_and(|mean| 100.0 * mean <= percent))
    };
    set.cores.iter().filter(within).cloned().collect()
}

fn merge(args: &ExploreArgs, sets: &Sets, known: &Known) -> Result<Exploration, Failure> {
    let missing = |what: &str, core: &CoreConfig| {
        Failure::input(format!("{}: {what} are not among the results of the exploration", core.name()))
    };
    let mut formats = Vec::new();
    for set in &sets.all {
        let errors = |core: &CoreConfig| {
            known.errors.get(&core.name()).cloned().ok_or_else(|| missing("errors", core))
        };
        let reference = &set.reference;
        let reference_errors = errors(reference)?;
        let left = left(args, set, known);
        let mut points = Vec::new();
        for core in &left {
            let name = core.name();
            let mut point = CorePoint::new(core, errors(core)?);
            point.equal_scores_error =
                *known.equal.get(&name).ok_or_else(|| missing("errors on equal scores", core))?;
            point.as_accurate_as_reference = point.errors.within(&reference_errors);
            if !args.errors_only {
                point.measured =
                    Some(known.measured.get(&name).cloned().ok_or_else(|| missing("area and timing", core))?);
            }
            points.push(point);
        }
        formats.push(FormatResult {
            format: Some(set.encodings),
            reference: reference.name(),
            reference_errors,
            left_out: set.cores.len() - points.len(),
            points,
            choices: Vec::new(),
        });
    }
    let measured = !args.errors_only;
    let exploration = Exploration {
        d: args.d,
        cost: measured.then_some(args.cost),
        clock_ns: args.clock,
        library: known.library.clone(),
        data: sample::name(args.data.as_deref()),
        heads: known.heads,
        every: args.every,
        equal_scores: equal::KEYS,
        max_error: args.max_error.map(|percent| percent / 100.0),
        all_formats: FormatResult::together(&formats, sets.reference),
        formats,
    };
    Ok(exploration.with_choices())
}

/// Refuses invalid arguments before the computation.
fn check(args: &ExploreArgs, json_file: Option<&Path>) -> Result<(), Failure> {
    // The results may come hours later: find out now where they cannot be written.
    for (flag, path) in [("--svg", args.svg.as_deref()), ("--json", json_file)] {
        let Some(path) = path else { continue };
        output::check_writable(flag, path)?;
    }
    Ok(())
}
