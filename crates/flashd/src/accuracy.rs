//! `flashd accuracy`.

mod chart;
mod report;

use crate::cli::{AccuracyArgs, Selection};
use crate::output::{self, Failure, SCORE_OPTIONS, print, print_json, warn};
use crate::progress::{Phase, ProgressPlan, on_all_processors, rates};
use crate::sample;
use crate::select::{add_core, configuration, parse_flags};
use flashd_simulator::SaturatedScores;
use flashd_spec::config::{CoreConfig, D_RANGE, Design, too_long};
use flashd_spec::format::{Encodings, Format};
use flashd_study::By;
use flashd_study::accuracy::{AccuracyError, CoreAccuracy, FormatAccuracy, measure};
use flashd_study::channels::{self, FormatChannels};
use flashd_study::lengths::{self, FormatLengths, LENGTHS};
use flashd_study::{Heads, Scores};
use serde::Serialize;
use std::path::PathBuf;

/// Everything that was measured.
#[derive(Serialize)]
struct MeasuredAccuracy {
    /// Heads, unless they were left out.
    traces: Option<Traces>,
    /// Errors over the number of keys, unless they were left out.
    lengths: Option<Vec<FormatLengths>>,
    /// Errors where channels differ in size, if they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    channels: Option<Vec<FormatChannels>>,
}

/// Errors on heads.
#[derive(Serialize)]
struct Traces {
    /// Folders; empty for synthetic heads.
    data: Vec<PathBuf>,
    /// Seed of synthetic heads.
    synthetic_seed: Option<u64>,
    /// One query in this number is used.
    every: usize,
    /// Grouping of heads in a row.
    by: By,
    /// The slope of ALiBi, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    alibi: Option<f32>,
    /// The score of a sink, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    sink: Option<f32>,
    formats: Vec<FormatAccuracy>,
    /// The same with K minus its mean over the keys, where that is asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    smooth_k: Vec<FormatAccuracy>,
}

/// Why there is no smooth K with a cap.
pub const SMOOTH_CAPPED: &str =
    "--smooth-k: with --softcap, which does not let a constant in all scores cancel; leave one of them out";

/// The cores of one format.
type Set = (Encodings, Vec<CoreConfig>);

impl From<AccuracyError> for Failure {
    fn from(e: AccuracyError) -> Failure {
        match e {
            AccuracyError::Hardware(e) => e.into(),
            other => Failure::input(other.to_string()),
        }
    }
}

pub fn run(args: &AccuracyArgs) -> Result<(), Failure> {
    let counts = counts(args)?;
    let sets = sets(args)?;
    // Find out now where the results cannot be written.
    let drawings = [("--svg", &args.svg), ("--svg-rows", &args.svg_rows)];
    for (flag, path) in drawings {
        let Some(path) = path else { continue };
        output::check_writable(flag, path)?;
    }
    let plan = plan(args, &sets, &counts);
    let result = MeasuredAccuracy {
        traces: if args.no_traces || args.channels { None } else { Some(traces(args, &sets, &plan)?) },
        lengths: if args.no_lengths || args.channels { None } else { Some(lengths(&sets, &counts, &plan)?) },
        channels: if args.channels { Some(channels(&sets, &plan)?) } else { None },
    };
    drop(plan);
    warn_of_scores(&result);
    warn_of_lengths(&result, &sets, &counts);
    let mut written = Vec::new();
    for (flag, path) in drawings {
        let Some(path) = path else { continue };
        let chart = match (flag, &result.lengths, &result.traces) {
            ("--svg", Some(lengths), _) => chart::lengths(lengths),
            (_, _, Some(traces)) => chart::rows(&traces.formats),
            _ => continue,
        };
        written.push(output::draw(flag, path, &[chart])?);
    }
    match args.json {
        true => print_json(&result),
        false => print(&report::text(&result, &written)),
    }
}

/// Warns of cores with scores beyond their range.
fn warn_of_scores(result: &MeasuredAccuracy) {
    for format in result.traces.iter().flat_map(|traces| &traces.formats) {
        for row in &format.rows {
            for CoreAccuracy { core, errors, .. } in
                row.cores.iter().filter(|core| core.errors.saturated_queries > 0)
            {
                let scores =
                    SaturatedScores { queries: errors.saturated_queries, enough: errors.enough_score_bits };
                warn(&format!("{core} on {}: {}", row.name, scores.warning(SCORE_OPTIONS)));
            }
        }
    }
}

/// Warns of queries with more keys than a core is built for.
fn warn_of_lengths(result: &MeasuredAccuracy, sets: &[Set], counts: &[usize]) {
    let rows = result.traces.iter().flat_map(|traces| &traces.formats).flat_map(|format| &format.rows);
    let of_heads = rows.map(|row| row.longest_query).max();
    let of_lengths = result.lengths.as_ref().and_then(|_| counts.last().copied());
    let longest = of_heads.max(of_lengths).unwrap_or(0);
    for core in sets.iter().flat_map(|(_, cores)| cores) {
        if let Some(warning) = too_long(longest, core.max_keys) {
            warn(&format!("{}: {warning}", core.name()));
        }
    }
}

/// Numbers of keys, ascending, each once.
fn counts(args: &AccuracyArgs) -> Result<Vec<usize>, Failure> {
    let longest = LENGTHS[LENGTHS.len() - 1];
    if let Some(n) = args.n.iter().find(|n| !(1..=longest).contains(*n)) {
        return Err(Failure::input(format!(
            "--n: {n} is outside 1 to {longest}, the longest that cores are for"
        )));
    }
    let mut counts = args.n.clone();
    counts.sort_unstable();
    counts.dedup();
    Ok(counts)
}

/// The names of the cores that the arguments select; each head sets the vector length.
pub fn selected(args: &AccuracyArgs) -> Result<Vec<String>, Failure> {
    Ok(sets(args)?.iter().flat_map(|(_, cores)| cores).map(CoreConfig::name).collect())
}

/// Any valid length: each head has its own.
const ANY_D: usize = D_RANGE.0;

/// The cores that the texts of `--core` select, each once; one without a format is selected in each of `formats`.
fn given_cores(texts: &[String], formats: &[Format]) -> Result<Vec<CoreConfig>, Failure> {
    let lengths = Some(ANY_D.into());
    let mut cores: Vec<CoreConfig> = Vec::new();
    for text in texts {
        let mut add = |core: Result<CoreConfig, Failure>| {
            // The heads decide on both: cores that differ in nothing else are one.
            let core = core.map(|core| CoreConfig { score_shift: None, ..core.with_lengths(ANY_D.into()) });
            add_core(&mut cores, text, core)
        };
        let selection: Selection =
            parse_flags(text).map_err(|e| Failure::input(format!("--core \"{text}\": {e}")))?;
        let own = "each head has its own";
        let scale = ("score_shift", "it follows from each head's scale");
        for (field, why) in [("d", own), ("dk", own), ("dv", own), scale] {
            if selection.fields.has(field) {
                let flag = field.replace('_', "-");
                return Err(Failure::input(format!("--core \"{text}\": --{flag}: {why}; leave it out")));
            }
        }
        if selection.fields.has("format") || selection.config.is_some() {
            add(configuration(&selection, lengths))?;
            continue;
        }
        for &format in formats {
            let selection = parse_flags(&format!("{text} --format {format}"));
            add(selection.and_then(|selection| configuration(&selection, lengths)))?;
        }
    }
    Ok(cores)
}

/// The cores asked for, by format.
fn sets(args: &AccuracyArgs) -> Result<Vec<Set>, Failure> {
    let mut formats: Vec<Format> = Vec::new();
    let all = Format::NAMED.map(|(_, format)| format);
    let default = if args.core.is_empty() { &all[..] } else { &[Format::BF16] };
    for &format in if args.format.is_empty() { default } else { &args.format } {
        if !formats.contains(&format) {
            formats.push(format);
        }
    }
    let adds = [("--alibi", args.alibi.is_some()), ("--sink", args.sink.is_some())];
    let adds = adds.into_iter().find(|(_, given)| *given);
    if args.core.is_empty() {
        let designs = [Design::FlashD, Design::Fa2];
        let core =
            |design, format| CoreConfig { bias: adds.is_some(), ..CoreConfig::new(design, ANY_D, format) };
        let cores = |format| designs.map(|design| core(design, format)).to_vec();
        return Ok(formats.into_iter().map(|format| (format.into(), cores(format))).collect());
    }
    let cores = given_cores(&args.core, &formats)?;
    // Errors are against exact results, which belong to one model.
    if let Some(other) = cores.iter().find(|core| core.softcap != cores[0].softcap) {
        return Err(Failure::input(format!(
            "--core: --softcap is not the same in {} and {}; measure models with other caps one after another",
            cores[0].name(),
            other.name()
        )));
    }
    if let (Some((flag, _)), Some(core)) = (adds, cores.iter().find(|core| !core.bias)) {
        let name = core.name();
        return Err(Failure::input(format!("{flag}: takes cores that add a bias; add --bias to {name}")));
    }
    if args.smooth_k && cores.iter().any(|core| core.softcap.is_some()) {
        return Err(Failure::input(SMOOTH_CAPPED));
    }
    let mut sets: Vec<Set> = Vec::new();
    for core in cores {
        match sets.iter_mut().find(|(encodings, _)| *encodings == core.encodings()) {
            Some((_, cores)) => cores.push(core),
            None => sets.push((core.encodings(), vec![core])),
        }
    }
    Ok(sets)
}

/// Heads that are expected in a folder, until they are counted.
const HEADS: u64 = 60;

/// All that is measured, as one bar: heads, lengths, channels.
fn plan(args: &AccuracyArgs, sets: &[Set], counts: &[usize]) -> ProgressPlan {
    let cores: usize = sets.iter().map(|(_, cores)| cores.len()).sum();
    let phase = |what: &str, asked: bool, units: u64, seconds: f64| {
        let seconds = on_all_processors(seconds).as_secs_f64();
        Phase::new(what, if asked { units } else { 0 }, seconds)
    };
    let (heads, streams) = (!args.no_traces && !args.channels, !args.no_lengths && !args.channels);
    let all = [
        phase("cores on heads", heads, cores as u64 * HEADS, rates::CORE_ON_HEAD),
        phase("cores on streams", streams, lengths::steps(sets, counts) as u64, rates::CORE_ON_STREAM),
        phase(
            "cores on channels of other sizes",
            args.channels,
            channels::steps(sets) as u64,
            rates::CORE_ON_STREAM,
        ),
    ];
    ProgressPlan::start(all, "")
}

fn traces(args: &AccuracyArgs, sets: &[Set], plan: &ProgressPlan) -> Result<Traces, Failure> {
    let (mut heads, mut data) = (Heads { heads: Vec::new() }, Vec::new());
    match args.synthetic {
        Some(seed) => heads = Heads::synthetic(seed, args.every),
        None => {
            let folders = match args.data.as_slice() {
                [] => vec![sample::HeadsFolder::new(None)?],
                folders => folders
                    .iter()
                    .map(|f| sample::HeadsFolder::new(Some(f)))
                    .collect::<Result<_, Failure>>()?,
            };
            for folder in folders {
                let more = Heads::load(folder.path(), args.every);
                heads.heads.extend(more.map_err(|e| Failure::input(format!("--data: {e}")))?.heads);
                data.push(folder.name());
            }
        }
    }
    let softcap = sets.iter().find_map(|(_, cores)| cores.first()).and_then(|core| core.softcap);
    let heads = heads.with_scores(Scores { softcap, alibi: args.alibi, sink: args.sink });
    let cores: usize = sets.iter().map(|(_, cores)| cores.len()).sum();
    plan.expect(0, (cores * heads.heads.len() * if args.smooth_k { 2 } else { 1 }) as u64);
    plan.begin(0);
    let by = args.by.into();
    let mut formats = Vec::new();
    for (format, cores) in sets {
        plan.bar().set_message(format!("in {format}"));
        formats.push(measure(&heads, (*format, args.scale_rule), cores, by, args.check, &|| plan.inc(1))?);
    }
    let mut smooth_k = Vec::new();
    if args.smooth_k {
        let heads = heads.smooth_k();
        for (format, cores) in sets {
            plan.bar().set_message(format!("with smooth K, in {format}"));
            smooth_k.push(measure(&heads, (*format, args.scale_rule), cores, by, 0, &|| plan.inc(1))?);
        }
    }
    plan.bar().set_message("");
    Ok(Traces {
        data,
        synthetic_seed: args.synthetic,
        every: args.every,
        by,
        alibi: args.alibi,
        sink: args.sink,
        formats,
        smooth_k,
    })
}

fn lengths(sets: &[Set], counts: &[usize], plan: &ProgressPlan) -> Result<Vec<FormatLengths>, Failure> {
    plan.begin(1);
    let all = lengths::measure(sets, counts, &|| plan.inc(1))?;
    Ok(all)
}

fn channels(sets: &[Set], plan: &ProgressPlan) -> Result<Vec<FormatChannels>, Failure> {
    plan.begin(2);
    let all = channels::measure(sets, &|| plan.inc(1))?;
    Ok(all)
}
