//! `flashd simulate --wrapper axi4 --job FILE`: an attention unit with its memory and its host.

use super::layer::in_range;
use super::recording::recorded;
use super::remarks::error_table;
use super::{refuse_score_shift, scales};
use crate::cli::{SimulateArgs, WrapperArg};
use crate::output::{Failure, json_text, percent, print, table, unwritable};
use crate::progress::step;
use crate::select::{Around, around, core_or_array};
use flashd_simulator::unit::{
    MemoryTiming, PreparedJobs, UnitDrive, UnitError, UnitReport, UnitRun, read_jobs, run_against,
};
use flashd_spec::config::Carried;
use flashd_spec::unit::UnitConfig;
use flashd_workload::write_npy;

/// The unit that `--wrapper axi4` or the selected file ask for.
pub fn selected(args: &SimulateArgs) -> Result<Option<UnitConfig>, Failure> {
    let unit = match (&args.around.wrapper, &args.array.selection.config) {
        (None, None) | (Some(WrapperArg::Axis), _) => None,
        _ => {
            let (core, array) = core_or_array(&args.array, None)?;
            match around(&args.array.selection, &args.around, array.as_ref())? {
                Some(Around::Unit(unit)) if unit.has_scale() => Some(unit),
                Some(Around::Unit(unit)) => {
                    refuse_score_shift(&core)?;
                    Some(unit)
                }
                _ => None,
            }
        }
    };
    match (&unit, args.job.is_some(), args.memory_gap.is_some()) {
        (None, true, _) => Err(Failure::input("--job: takes --wrapper axi4")),
        (None, _, true) => Err(Failure::input("--memory-gap: takes --wrapper axi4")),
        _ => Ok(unit),
    }
}

/// Cycles of latency of the default memory.
const LATENCY: u64 = 8;

pub fn run(args: &SimulateArgs, unit: &UnitConfig) -> Result<(), Failure> {
    let Some(engine) = args.rtl() else {
        return Err(Failure::input("--engine model: has no memory; take compiled, reference or rusthdl"));
    };
    let Some(path) = &args.job else {
        return Err(Failure::input(
            "--wrapper axi4: takes its tensors and sizes from a file; add --job FILE",
        ));
    };
    let jobs = read_jobs(path, unit)
        .map_err(|problem| Failure::input(format!("--job {}: {problem}", path.display())))?;
    let prepared = PreparedJobs::new(unit, jobs, (args.scale, args.tensor_scale, args.scale_rule))
        .map_err(|e| Failure::input(format!("--scale: {e}")))?;
    let config = &prepared.config;
    step(|| format!("{}: {} jobs by the model", config.name(), prepared.jobs.len()));
    let expected: Vec<_> = prepared.jobs.iter().map(|job| job.expected(config)).collect();
    let drive = UnitDrive { engine, queue: prepared.jobs.len() > 1, ..drive(args) };
    step(|| format!("{}: {} jobs at the ports", config.name(), prepared.jobs.len()));
    let run = recorded(
        args,
        &config.into(),
        None,
        |observers| run_against(config, &prepared.jobs, &drive, observers, &expected),
        |recorder, window, run: &Result<UnitRun, UnitError>| {
            let accesses = run.as_ref().map_or(&[][..], |run| &run.accesses);
            recorder.of_unit(config, (&prepared.jobs, &expected), accesses, window)
        },
    )?;
    let run = run.map_err(failure)?;
    let report = UnitReport::new(&prepared, run, &expected, args.gaps.is_none().then_some(&drive.timing));
    if let Some(path) = &args.o {
        write(path, &prepared, &prepared.values(0, &expected[0]))?;
    }
    print(&if args.json { json_text(&report)? } else { text(&report) })?;
    let results = expected.iter().flatten().flat_map(|block| &block.results);
    in_range(results.filter(|result| result.overflow).count())
}

/// The memory and the host.
fn drive(args: &SimulateArgs) -> UnitDrive {
    let (latency, gap) = (args.memory_latency, args.memory_gap);
    match args.gaps {
        Some(seed) => {
            let drive = UnitDrive::random(seed);
            let timing = MemoryTiming {
                latency: latency.unwrap_or(drive.timing.latency),
                gap: gap.unwrap_or(drive.timing.gap),
                ..drive.timing
            };
            UnitDrive { timing, ..drive }
        }
        None => UnitDrive::fixed(latency.unwrap_or(LATENCY), gap.unwrap_or(1)),
    }
}

fn failure(e: UnitError) -> Failure {
    match e {
        UnitError::Rule(_) | UnitError::Difference(_) => Failure::Check(e.to_string()),
        UnitError::Config(_) | UnitError::Observer(_) => Failure::input(e.to_string()),
    }
}

/// Writes the results of a file's only job.
fn write(path: &std::path::Path, prepared: &PreparedJobs, o: &[f32]) -> Result<(), Failure> {
    let [job] = prepared.jobs.as_slice() else {
        return Err(Failure::input("--o: holds the results of one job, and the file has several"));
    };
    let job = job.job();
    let dv = prepared.config.array.core.dv();
    let shape = [job.query_heads() as usize, job.queries as usize, dv];
    write_npy(path, &shape, o).map_err(|e| unwritable("--o", path, e))
}

fn text(r: &UnitReport) -> String {
    let count = |name: &str| r.run.register(name);
    let kinds = [
        ("queries", "QUERIES"),
        ("keys", "KEYS"),
        ("values", "VALUES"),
        ("states", "STATES"),
        ("descriptors and tables", "CONTROL"),
    ];
    let of = |prefix: &str| {
        let kinds = kinds.map(|(what, name)| (what, count(&format!("{prefix}_{name}"))));
        let read: Vec<String> =
            kinds.into_iter().filter(|(_, n)| *n > 0).map(|(what, n)| format!("{n} of {what}")).collect();
        format!("{}; {} written", read.join(", "), count(&format!("{prefix}_WRITTEN")))
    };
    let lost = [("keys", "KEYS"), ("values", "VALUES"), ("results", "RESULTS"), ("queries", "QUERIES")];
    let lost = lost.map(|(what, name)| format!("{} for {what}", count(&format!("WAIT_{name}"))));
    let busy = count("CYCLES");
    let beat = r.configuration.beat_bits / 8;
    let key = r.configuration.row_bytes(Carried::Key);
    let mut rows = vec![
        ["unit".to_string(), r.name.clone()],
        ["port".into(), format!("beats of {beat} bytes, keys of {key}")],
        ["jobs, queries, keys of blocks".into(), format!("{}, {}, {}", r.jobs, r.queries, r.run.keys)],
        ["cycles".into(), format!("{busy} busy, {} with the host", r.run.cycles)],
        [
            "at least".into(),
            format!("{} for keys, {} for beats; used {}", r.key_roof, r.beat_roof, percent(r.utilisation)),
        ],
        ["beats".into(), of("BEATS")],
        ["bytes".into(), of("BYTES")],
        ["values".into(), format!("{} needed, {} not", count("VALUES_READ"), count("VALUES_SKIPPED"))],
        ["cycles lost".into(), lost.join(", ")],
    ];
    if let (Some(latency), Some(gap)) = (r.memory_latency, r.memory_gap) {
        rows.push(["memory".into(), format!("{latency} cycles to the first beat, a beat in {gap}")]);
    }
    let last =
        r.configuration.has_scale().then(|| format!(", SCALE {:#06x} in the last job", count("SCALE")));
    rows.push(["scales".into(), scales(&r.scaling) + &last.unwrap_or_default()]);
    let mut text = table(&["run", ""], rows.into_iter().map(|r| r.to_vec()).collect());
    text += "\n\n";
    text += &error_table(Some(r.mismatches), r.run.comparisons, &[(r.name.as_str(), &r.accuracy)]);
    text
}
