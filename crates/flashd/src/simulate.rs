//! `flashd simulate`.

mod array;
mod bias;
mod heads;
mod histograms;
mod layer;
mod model;
mod phases;
mod recording;
mod remarks;
mod split;
mod unit;
mod visible;
mod wrapper;

use crate::accuracy::SMOOTH_CAPPED;
use crate::cli::SimulateArgs;
use crate::output::{self, Failure, percent, table};
use crate::progress::step;
use crate::select::{Around, core_or_array};
use flashd_golden::{Monitor, QueryResult, VectorModel};
use flashd_hwmodel::catalogue::v_step_latency;
use flashd_simulator::{
    Accuracy, Counters, Drive, ExactResults, Prepared, RtlEngine, Scenario, Workload, prepare_watched,
    run as run_lockstep,
};
use flashd_spec::config::{ArrayConfig, Carried, CoreConfig, Datapath, Lengths, SplitConfig};
use flashd_spec::machine::Machine;
use flashd_spec::numerics::Numerics;
use flashd_workload::{Attention, Scaling, npy_bytes};
use layer::HeadOutcome;
pub use layer::read;
use phases::{HeadStage, Phases, RunShape, watched};
use recording::recorded;
use remarks::{Remarks, error_table};
use serde::Serialize;
use std::path::Path;

#[derive(Serialize)]
struct CoreReport {
    name: String,
    configuration: CoreConfig,
    scaling: Scaling,
    queries: usize,
    keys: usize,
    latency: u32,
    v_step_latency: u32,
    counters: Counters,
    keys_per_cycle: f64,
    mismatches: Option<u64>,
    /// How fast the model was, where it ran alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    engine: Option<model::Speed>,
    #[serde(flatten)]
    remarks: Remarks,
    accuracy: Accuracy,
    other_name: String,
    other_accuracy: Accuracy,
}

pub fn run(args: &SimulateArgs) -> Result<(), Failure> {
    model::check(args)?;
    if let Some(unit) = unit::selected(args)? {
        check_writable(args)?;
        return unit::run(args, &unit);
    }
    let of_unit = [("job", args.job.is_some()), ("memory-gap", args.memory_gap.is_some())];
    if let Some((flag, _)) = of_unit.into_iter().find(|(_, given)| *given) {
        return Err(Failure::input(format!("--{flag}: takes --wrapper axi4, or a file with a unit")));
    }
    if let (Some(data), Some(results)) = (&args.data, &args.results) {
        check_writable(args)?;
        return heads::run(args, data, results);
    }
    let layer = layer::load(args)?;
    step(|| format!("{} heads read", layer.heads.len()));
    check_writable(args)?;
    let d = layer.heads[0].dv;
    let heads = layer.heads.len();
    let mut phases = None;
    let one = |(place, head): (usize, Attention)| {
        let sink = bias::sink(args, place, heads)?;
        head_outcome(args, head, sink, (&mut phases, heads))
    };
    let outcomes = layer.heads.into_iter().enumerate().map(one).collect::<Result<Vec<_>, Failure>>()?;
    drop(phases);
    layer::finish(args, &layer.shape, d, &outcomes)
}

/// Attention in f64, with its progress.
fn reference(scenario: &Scenario, phases: &Phases) -> ExactResults {
    let a = &scenario.attention;
    let keys: u64 = scenario.ranges().iter().map(|range| range.len() as u64).sum();
    step(|| format!("attention in f64: {} queries, {keys} keys, d = {}, {}", a.queries, a.d, a.dv));
    ExactResults::watched(scenario, &|keys| phases.inc(keys))
}

/// The core, and the array or split keys of it, for vectors of a length.
fn design(
    args: &SimulateArgs,
    lengths: Lengths,
) -> Result<(CoreConfig, Option<ArrayConfig>, Option<SplitConfig>), Failure> {
    let (config, array) = core_or_array(&args.array, Some(lengths))?;
    for (flag, core, data) in [("d", config.d, lengths.k), ("dv", config.dv(), lengths.v)] {
        if core != data {
            return Err(Failure::input(format!(
                "--{flag}: the core has {flag} = {core}, the data in {} has {flag} = {data}",
                args.q.as_deref().unwrap_or(Path::new("")).display(),
            )));
        }
    }
    refuse_score_shift(&config)?;
    let parts = args.parts.map(|parts| crate::select::split(&config, parts)).transpose()?;
    Ok((config, array, parts))
}

fn refuse_score_shift(config: &CoreConfig) -> Result<(), Failure> {
    match config.score_shift {
        None => Ok(()),
        Some(_) => Err(Failure::input(
            "--score-shift: simulate derives it from --scale and --tensor-scale; leave it out",
        )),
    }
}

/// The name of the design that the arguments select, with vectors of the length that they name.
pub fn selected(args: &SimulateArgs) -> Result<Vec<String>, Failure> {
    let lengths = args.array.selection.fields.lengths().unwrap_or(8.into());
    let (core, array, parts) = design(args, lengths)?;
    if parts.is_none()
        && let Some(around) = crate::select::around(&args.array.selection, &args.around, array.as_ref())?
    {
        return Ok(vec![Machine::from(around).name()]);
    }
    let array = array.map(|array| array.name());
    let parts = parts.map(|split| split.name());
    Ok(vec![array.or(parts).unwrap_or_else(|| core.name())])
}

/// The run of one of `heads`; the first begins the phases of all.
fn head_outcome(
    args: &SimulateArgs,
    attention: Attention,
    sink: Option<f32>,
    (phases, heads): (&mut Option<Phases>, usize),
) -> Result<HeadOutcome, Failure> {
    let (config, array, parts) = design(args, attention.lengths())?;
    if array.is_some() {
        array::check(args, config.masks)?;
    }
    let scenario = scenario(args, &config, attention, sink)?;
    let around = match parts {
        None => crate::select::around(&args.array.selection, &args.around, array.as_ref())?,
        Some(_) => None,
    };
    let wrapper = around.and_then(|around| match around {
        Around::Wrapper(wrapper) => Some(wrapper),
        Around::Unit(_) => None,
    });
    if wrapper.is_none() && args.memory_latency.is_some() {
        return Err(Failure::input("--memory-latency: takes --wrapper, or a file with one"));
    }
    let other = other_design(&config);
    let phases = match phases {
        Some(phases) => {
            phases.next_head();
            phases
        }
        None => {
            let around = match (&wrapper, &array, &parts) {
                (Some(wrapper), ..) => RunShape::Wrapper(wrapper.array.queries, wrapper.beats(Carried::Key)),
                (_, Some(array), _) => RunShape::Array(array.queries),
                (.., Some(split)) => RunShape::Parts(split.parts),
                _ => RunShape::Core,
            };
            phases.insert(Phases::start(args, around, &config, &other, &scenario, heads))
        }
    };
    let phases: &Phases = phases;
    phases.begin(HeadStage::Reference);
    let reference = reference(&scenario, phases);
    let smooth = args.smooth_k.then(|| scenario.smooth_k());
    let prepared_for = |config: &CoreConfig| {
        let scenario = smooth.as_ref().unwrap_or(&scenario);
        let prepared = watched(phases, |monitor| prepare_watched(config, scenario, &reference, monitor));
        prepared.map_err(|e| Failure::input(format!("--scale: {e}")))
    };
    phases.begin(HeadStage::Scale);
    let prepared = prepared_for(&config)?;
    phases.begin(HeadStage::Run);
    if let Some(wrapper) = wrapper {
        let ranges = bias::ranges(args, &scenario)?;
        return wrapper::run(args, &wrapper, (&prepared, phases), &reference, &ranges);
    }
    if let Some(array) = array {
        let ranges = config.masks.then(|| bias::ranges_with_sink(args, &scenario)).transpose()?;
        return array::run(args, &array, (&prepared, phases), &reference, ranges.as_deref());
    }
    if let Some(split) = parts {
        return split::run(args, &split, (&prepared, phases), &reference);
    }
    let this = (&config, &prepared);
    core_outcome(args, this, &other, &scenario, (&reference, phases), &prepared_for)
}

/// A head's attention, with the keys that queries see and their biases.
fn scenario(
    args: &SimulateArgs,
    config: &CoreConfig,
    attention: Attention,
    sink: Option<f32>,
) -> Result<Scenario, Failure> {
    let mut visible = visible::visible(args, config.masks, &attention)?;
    if args.smooth_k && config.softcap.is_some() {
        return Err(Failure::input(SMOOTH_CAPPED));
    }
    if args.smooth_k && sink.is_some() {
        return Err(Failure::input(
            "--smooth-k: with --sink, whose score has no constant that cancels; leave one of them out",
        ));
    }
    let bias = bias::bias(args, config, &attention, &mut visible)?;
    let attention = visible.only_seen(attention).map_err(|e| Failure::input(e.to_string()))?;
    Ok(Scenario {
        attention: attention.into(),
        visible,
        softcap: config.softcap,
        bias,
        sink,
        score_scale: args.scale,
        tensor_scale: args.tensor_scale,
        scale_rule: args.scale_rule,
    })
}

/// The run of a core, compared with the default core of the other design.
fn core_outcome(
    args: &SimulateArgs,
    (config, prepared): (&CoreConfig, &Prepared),
    other: &CoreConfig,
    scenario: &Scenario,
    (reference, phases): (&ExactResults, &Phases),
    prepared_for: &dyn Fn(&CoreConfig) -> Result<Prepared, Failure>,
) -> Result<HeadOutcome, Failure> {
    let tiles = tiles(args, prepared)?;
    let streamed = tiles.as_ref().unwrap_or(prepared);
    let (counters, results, engine) = match args.rtl() {
        Some(engine) => {
            let (counters, results) = cycle_run(args, engine, streamed, phases)?;
            (counters, results, None)
        }
        None => {
            let run = model::run(args, streamed, phases)?;
            (run.counters, run.results, Some(run.engine))
        }
    };
    let results = match args.tile {
        Some(tile) => whole_queries(&prepared.workload.last_tiles(tile), results),
        None => results,
    };
    phases.begin(HeadStage::ScaleOther);
    let other_prepared = prepared_for(other)?;
    phases.begin(HeadStage::Other);
    let other_results = model::compared(&other_prepared, phases);
    let other_accuracy = reference.accuracy(&other_prepared, &other_results);
    let report = CoreReport {
        name: config.name(),
        latency: Numerics::new(config).latency(),
        v_step_latency: v_step_latency(config),
        scaling: prepared.scaling,
        queries: prepared.workload.queries.len(),
        keys: scenario.attention.keys,
        keys_per_cycle: counters.keys as f64 / counters.cycles.max(1) as f64,
        counters,
        // A difference would have ended the run.
        mismatches: engine.is_none().then_some(0),
        engine,
        remarks: Remarks::new(args, config, prepared, reference, &results),
        accuracy: reference.accuracy(prepared, &results),
        other_name: other.name(),
        other_accuracy,
        configuration: prepared.config.clone(),
    };
    HeadOutcome::new(&report, text(&report), prepared, &results)
}

/// Keys of a tile, if there are to be tiles.
fn tile(args: &SimulateArgs, config: &CoreConfig) -> Result<Option<usize>, Failure> {
    match args.tile {
        Some(_) if !config.partial => {
            Err(Failure::input("--tile: takes a core with partial results; add --partial --masks"))
        }
        Some(0) => Err(Failure::input("--tile: 0 is no number of keys, give 1 or more")),
        tile => Ok(tile),
    }
}

/// The workload in tiles of keys, if that is asked for.
fn tiles(args: &SimulateArgs, prepared: &Prepared) -> Result<Option<Prepared>, Failure> {
    let Some(tile) = tile(args, &prepared.config)? else {
        return Ok(None);
    };
    let model = VectorModel::new(&prepared.config);
    let results = |round: &Workload| round.run_model(&model, Monitor::default()).results;
    let workload = prepared.workload.tiled_by(tile, results);
    Ok(Some(Prepared { workload, ..prepared.clone() }))
}

/// Results of queries, from the results of their tiles and the indices of the last tiles. A query has the flags of all its tiles.
fn whole_queries(last: &[usize], tiles: Vec<QueryResult>) -> Vec<QueryResult> {
    let mut queries = Vec::new();
    let (mut invalid, mut overflow, mut saturated) = (false, false, false);
    for (i, mut tile) in tiles.into_iter().enumerate() {
        invalid |= tile.invalid;
        overflow |= tile.overflow;
        saturated |= tile.score_saturated;
        if last.get(queries.len()) == Some(&i) {
            (tile.invalid, tile.overflow, tile.score_saturated) = (invalid, overflow, saturated);
            (invalid, overflow, saturated) = (false, false, false);
            queries.push(tile);
        }
    }
    queries
}

/// Long runs should not end in a file that cannot be written.
fn check_writable(args: &SimulateArgs) -> Result<(), Failure> {
    let others = [("--o", &args.o), ("--histograms", &args.histograms)];
    let others = others.into_iter().filter_map(|(flag, path)| Some((flag, path.as_ref()?)));
    for (flag, path) in args.recordings().chain(others) {
        output::check_writable(flag, path)?;
    }
    Ok(())
}

fn cycle_run(
    args: &SimulateArgs,
    engine: RtlEngine,
    prepared: &Prepared,
    phases: &Phases,
) -> Result<(Counters, Vec<QueryResult>), Failure> {
    step(|| {
        format!("{}: {} steps in lock-step with the model", prepared.config.name(), prepared.workload.steps())
    });
    let drive = Drive { gaps: model::gaps(args), engine };
    let run = recorded(
        args,
        &(&prepared.config).into(),
        Some(phases),
        |observers| run_lockstep(&prepared.config, &prepared.workload, drive, observers),
        |keys, window, _| keys.of_core(&prepared.config, &prepared.workload, window),
    )??;
    Ok((run.counters, run.results))
}

/// Results as a `.npy` file of shape `[queries, d_v]`.
fn npy(prepared: &Prepared, results: &[QueryResult]) -> std::io::Result<Vec<u8>> {
    npy_bytes(&[results.len(), prepared.config.dv()], &prepared.values(results))
}

/// The default core of the other design: the same encodings, `max_keys` and range of scores.
pub fn other_design(config: &CoreConfig) -> CoreConfig {
    CoreConfig {
        max_keys: config.max_keys,
        score_integer_bits: config.score_integer_bits,
        scales: config.scales,
        q_scales: config.q_scales,
        k_scales: config.k_scales,
        v_scales: config.v_scales,
        segments: config.segments,
        softcap: config.softcap,
        bias: config.bias,
        ..CoreConfig {
            datapath: Datapath::shipped(config.design().other(), config.encodings()),
            ..config.plain()
        }
    }
}

fn scales(s: &Scaling) -> String {
    format!(
        "score_shift {}, Q * 2^{} * {:.4}, K * 2^{}, V * 2^{}",
        s.score_shift, s.q_exponent, s.q_factor, s.k_exponent, s.v_exponent
    )
}

fn text(r: &CoreReport) -> String {
    let mut rows = vec![
        ["core".to_string(), r.name.clone()],
        ["latency".into(), format!("{} cycles after the last key", r.latency)],
    ];
    let c = &r.counters;
    rows.push(["queries, keys".into(), format!("{}, {}", c.queries, c.keys)]);
    rows.push([
        "cycles".into(),
        format!("{} ({:.4} keys per cycle, {} bubbles)", c.cycles, r.keys_per_cycle, c.bubbles),
    ]);
    let held = percent(c.held as f64 / c.keys.max(1) as f64);
    rows.push(["steps held".into(), format!("{} ({held}), {} values read", c.held, c.v_reads)]);
    if c.restored > 0 {
        rows.push(["partial results taken over".into(), c.restored.to_string()]);
    }
    if r.configuration.masks {
        let share = percent(c.masked as f64 / c.keys.max(1) as f64);
        rows.push(["steps masked".into(), format!("{} ({share})", c.masked)]);
    }
    rows.extend(r.engine.iter().flat_map(model::Speed::rows));
    rows.push(["scales".into(), scales(&r.scaling)]);
    rows.extend(r.remarks.rows());
    let mut text = table(&["run", ""], rows.into_iter().map(|r| r.to_vec()).collect());
    text += "\n\n";
    let rows = [(r.name.as_str(), &r.accuracy), (&r.other_name, &r.other_accuracy)];
    text += &error_table(r.mismatches, c.comparisons, &rows);
    text
}
