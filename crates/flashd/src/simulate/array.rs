//! `flashd simulate --queries B`: an array of cores.

use super::layer::HeadOutcome;
use super::model::gaps;
use super::phases::Phases;
use super::recording::recorded;
use super::remarks::{Remarks, error_table};
use super::scales;
use crate::cli::SimulateArgs;
use crate::output::{Failure, percent, table};
use flashd_golden::{Monitor, QueryResult, VectorModel};
use flashd_hwmodel::catalogue::v_step_latency;
use flashd_simulator::array::{ArrayCounters, ArrayRun, ArrayWorkload, Disturbance, run as run_lockstep};
use flashd_simulator::{Accuracy, Drive, ExactResults, Prepared, RtlEngine, Workload};
use flashd_spec::bits::ones;
use flashd_spec::config::ArrayConfig;
use flashd_workload::Scaling;
use serde::Serialize;
use std::ops::Range;

#[derive(Serialize)]
struct ArrayReport {
    name: String,
    configuration: ArrayConfig,
    scaling: Scaling,
    queries: usize,
    keys: usize,
    latency: u32,
    v_step_latency: u32,
    counters: ArrayCounters,
    /// Mean of the cycles from one block's last key to the next one's; none with a single block.
    cycles_per_block: Option<f64>,
    /// The same by the closed formula, for a block of B queries whose sources do not pause.
    cycles_per_full_block: usize,
    /// With masks, whose blocks differ: cycles of the whole run by the formula.
    #[serde(skip_serializing_if = "Option::is_none")]
    cycles_by_formula: Option<usize>,
    /// With masks: queries times the keys of the whole sequence, the number for a single core without masks.
    #[serde(skip_serializing_if = "Option::is_none")]
    keys_times_queries: Option<usize>,
    keys_per_cycle: f64,
    cycles_per_query: f64,
    /// Values that the queries need, one by one, for each that was read.
    queries_per_value_read: f64,
    mismatches: Option<u64>,
    #[serde(flatten)]
    remarks: Remarks,
    accuracy: Accuracy,
}

/// Refuses options that an array has no meaning for.
pub fn check(args: &SimulateArgs, masks: bool) -> Result<(), Failure> {
    if args.causal && !masks {
        return Err(Failure::input(
            "--causal: all queries of a block meet the same keys; add --masks, or leave --causal or --queries out",
        ));
    }
    Ok(())
}

fn check_key_index(config: &ArrayConfig, workload: &ArrayWorkload) -> Result<(), Failure> {
    let most = workload.blocks.iter().map(|b| b.keys).max().unwrap_or(0);
    let bits = config.key_index_bits();
    match ones(bits) {
        places if most as u64 > places => Err(Failure::input(format!(
            "--key-index-bits: a block has {most} keys, and {bits} bits count {places}; give more bits"
        ))),
        _ => Ok(()),
    }
}

pub fn run(
    args: &SimulateArgs,
    array: &ArrayConfig,
    (prepared, phases): (&Prepared, &Phases),
    reference: &ExactResults,
    ranges: Option<&[Range<usize>]>,
) -> Result<HeadOutcome, Failure> {
    if args.pipeline.is_some() && array.interleave > 1 {
        let problem =
            "--pipeline: the chart has one query in a stage of a core; leave out --interleave or the chart";
        return Err(Failure::input(problem));
    }
    // The core with the score shift that the scaling needs.
    let config = ArrayConfig { core: prepared.config.clone(), ..array.clone() };
    let workload = match ranges {
        Some(ranges) => ArrayWorkload::windows(&prepared.workload, config.queries, ranges),
        None => ArrayWorkload::new(&prepared.workload, config.queries),
    };
    let keys = workload.blocks.first().map_or(0, |b| b.keys);
    let (workload, tiles) = match super::tile(args, &config.core)? {
        Some(tile) => {
            let model = VectorModel::new(&config.core);
            let results = |round: &Workload| round.run_model(&model, Monitor::default()).results;
            let (workload, tiles) = workload.tiled_by(tile, results);
            (workload, Some(tiles))
        }
        None => (workload, None),
    };
    if ranges.is_some() {
        check_key_index(&config, &workload)?;
    }
    let run = match args.rtl() {
        Some(engine) => cycle_run(args, engine, &config, (&workload, phases))?,
        None => super::model::run_array(args, &config, &workload, phases)?,
    };
    let (c, periods) = (run.counters, run.periods);
    let results = match &tiles {
        Some(tiles) => tiles.iter().map(|places| whole(places, &run.results)).collect(),
        None => run.results,
    };
    let report = ArrayReport {
        name: array.name(),
        scaling: prepared.scaling,
        queries: results.len(),
        keys,
        latency: config.latency(),
        v_step_latency: config.interleave as u32 * v_step_latency(&config.core),
        counters: c,
        cycles_per_block: (!periods.is_empty())
            .then(|| periods.iter().sum::<u64>() as f64 / periods.len() as f64),
        cycles_per_full_block: config.block_period(config.queries, keys),
        cycles_by_formula: ranges
            .map(|_| config.cycles(workload.blocks.iter().map(|b| (b.queries.len(), b.steps())))),
        keys_times_queries: ranges.map(|_| results.len() * (workload.k.len() / workload.words.k)),
        keys_per_cycle: c.keys as f64 / c.cycles.max(1) as f64,
        cycles_per_query: c.cycles as f64 / c.queries.max(1) as f64,
        queries_per_value_read: c.v_reads_alone as f64 / c.v_reads.max(1) as f64,
        // A difference would have ended the run.
        mismatches: args.rtl().map(|_| 0),
        remarks: Remarks::new(args, &config.core, prepared, reference, &results),
        accuracy: reference.accuracy(prepared, &results),
        configuration: config,
    };
    HeadOutcome::new(&report, text(&report), prepared, &results)
}

/// The result of a query from its tiles: the last tile's, with the flags of all.
fn whole(places: &[usize], tiles: &[QueryResult]) -> QueryResult {
    let of = |flag: fn(&QueryResult) -> bool| places.iter().any(|&place| flag(&tiles[place]));
    let last = places.last().map(|&place| tiles[place].clone()).unwrap_or_default();
    QueryResult {
        invalid: of(|tile| tile.invalid),
        score_saturated: of(|tile| tile.score_saturated),
        overflow: of(|tile| tile.overflow),
        ..last
    }
}

fn cycle_run(
    args: &SimulateArgs,
    engine: RtlEngine,
    config: &ArrayConfig,
    (workload, phases): (&ArrayWorkload, &Phases),
) -> Result<ArrayRun, Failure> {
    let disturbance = Disturbance::gaps(Drive { gaps: gaps(args), engine });
    let run = recorded(
        args,
        &config.into(),
        Some(phases),
        |observers| run_lockstep(config, workload, &disturbance, observers),
        |keys, window, _| keys.of_array(config, workload, window),
    )?;
    Ok(run?)
}

fn text(r: &ArrayReport) -> String {
    let c = &r.counters;
    let mut cycles = format!("{} ({:.4} keys per cycle)", c.cycles, r.keys_per_cycle);
    if let Some(formula) = r.cycles_by_formula {
        cycles += &format!("; {formula} by the formula without pauses");
    }
    let full = match r.cycles_by_formula {
        Some(_) => String::new(),
        None => format!(", {} by the formula", r.cycles_per_full_block),
    };
    let per_block = match r.cycles_per_block {
        Some(cycles) => format!("{cycles:.2} measured{full}"),
        None => format!("one block only{full}"),
    };
    let mut rows = vec![
        ["array", &r.name].map(String::from),
        ["latency".into(), format!("{} cycles from a block's last key to its first result", r.latency)],
        ["blocks, queries, keys".into(), format!("{}, {}, {}", c.blocks, c.queries, c.keys)],
        ["cycles".into(), cycles],
        ["cycles per block".into(), per_block],
        ["cycles per query".into(), format!("{:.2}", r.cycles_per_query)],
        [
            "values read".into(),
            format!(
                "{}, each for {:.2} queries; one by one {}",
                c.v_reads, r.queries_per_value_read, c.v_reads_alone
            ),
        ],
        ["scales".into(), scales(&r.scaling)],
    ];
    if let Some(all) = r.keys_times_queries {
        let share = percent(c.masked as f64 / c.steps.max(1) as f64);
        rows.push([
            "steps masked".into(),
            format!("{} of {} ({share}); keys times queries {all}", c.masked, c.steps),
        ]);
        rows.push(["keys that no query saw".into(), c.unseen.to_string()]);
    }
    if c.restored > 0 {
        rows.push(["partial results taken over".into(), c.restored.to_string()]);
    }
    rows.extend(r.remarks.rows());
    let mut text = table(&["run", ""], rows.into_iter().map(|r| r.to_vec()).collect());
    text += "\n\n";
    text += &error_table(r.mismatches, c.comparisons, &[(r.name.as_str(), &r.accuracy)]);
    text
}
