//! `flashd skips`.

mod chart;
mod report;

use crate::cli::SkipsArgs;
use crate::output::{Failure, check_writable, draw, print, print_json};
use crate::progress::Work;
use crate::sample;
use flashd_study::By;
use flashd_study::skips::worst::{COUNTS, StreamHolds, WorstCase, on_streams, worst_case};
use flashd_study::skips::{GroupHolds, PAPER_HELD, Rule, default_rules, default_worst_rules, group, measure};
use flashd_study::{HeadSample, Heads};
use rayon::prelude::*;
use serde::Serialize;
use std::path::PathBuf;

/// Figures of recorded heads.
#[derive(Serialize)]
struct Skips {
    data: PathBuf,
    every: usize,
    /// Format of the cores.
    format: String,
    /// Added error below which the best rules are looked for, a fraction of max|v|.
    limit: f64,
    /// Shares that the paper reports as skipped.
    paper_skipped: (f64, f64),
    groups: Vec<GroupHolds>,
}

/// Figures of constructed streams.
#[derive(Serialize)]
struct Worst {
    format: String,
    streams: Vec<StreamHolds>,
    worst_cases: Vec<WorstCase>,
}

pub fn run(args: &SkipsArgs) -> Result<(), Failure> {
    let rules = match (args.rules.is_empty(), args.worst_case) {
        (true, false) => default_rules(&args.hold, args.format),
        (true, true) => default_worst_rules(&args.hold),
        (false, _) => args.rules.clone(),
    };
    for (i, rule) in rules.iter().enumerate() {
        if rules[..i].contains(rule) {
            let flag = if args.rules.is_empty() { "--hold" } else { "--rules" };
            return Err(Failure::input(format!("{flag}: {rule} is there twice; name each once")));
        }
    }
    if args.worst_case {
        return worst(args, &rules);
    }
    if !(args.limit.is_finite() && args.limit > 0.0) {
        return Err(Failure::input("--limit: a percentage of max|v|, above 0, is needed"));
    }
    // The results come later: find out now where they cannot be written.
    if let Some(path) = &args.svg {
        check_writable("--svg", path)?;
    }
    let skips = on_heads(args, &rules)?;
    if let Some(path) = &args.svg {
        draw("--svg", path, &[chart::chart(&skips, &rules)])?;
    }
    match args.json {
        true => print_json(&skips),
        false => print(&report::text(&skips, args.svg.as_deref())),
    }
}

fn on_heads(args: &SkipsArgs, rules: &[Rule]) -> Result<Skips, Failure> {
    let data = |e: String| Failure::input(format!("--data: {e}"));
    let folder = sample::HeadsFolder::new(args.data.as_deref())?;
    let heads = Heads::load(folder.path(), args.every).map_err(|e| data(e.to_string()))?;
    let by = By::from(args.by);
    // Before anything is computed.
    for head in &heads.heads {
        by.of(&head.trace).map_err(|e| Failure::input(format!("--by: {e}")))?;
    }
    // A long head takes longer than a short one.
    let pairs = |head: &HeadSample| head.trace.attention.queries * head.trace.attention.keys;
    let bar = bar(heads.heads.iter().map(pairs).sum());
    let one = |head: &HeadSample| {
        let skips = measure(head, rules, Some(args.format));
        bar.inc(pairs(head) as u64);
        skips
    };
    let skips =
        heads.heads.par_iter().map(one).collect::<Result<Vec<_>, _>>().map_err(|e| data(e.to_string()))?;
    drop(bar);
    let groups = group(&heads.heads, &skips, rules, by).map_err(|e| Failure::input(format!("--by: {e}")))?;
    Ok(Skips {
        data: folder.name(),
        every: args.every,
        format: args.format.to_string(),
        limit: args.limit / 100.0,
        paper_skipped: PAPER_HELD,
        groups,
    })
}

fn worst(args: &SkipsArgs, rules: &[Rule]) -> Result<(), Failure> {
    let pairs: Vec<(&Rule, usize)> = rules.iter().flat_map(|rule| COUNTS.map(|keys| (rule, keys))).collect();
    let bar = bar(pairs.len() + 1);
    let streams = on_streams(rules, args.format);
    bar.inc(1);
    let one = |&(rule, keys): &(&Rule, usize)| {
        let worst = worst_case(rule, keys, args.format);
        bar.inc(1);
        worst
    };
    let worst_cases = pairs.iter().map(one).collect();
    drop(bar);
    let worst = Worst { format: args.format.to_string(), streams, worst_cases };
    match args.json {
        true => print_json(&worst),
        false => print(&report::worst(&worst)),
    }
}

fn bar(steps: usize) -> Work {
    Work::start(steps as u64, "{bar:30} {pos} of {len} {elapsed}, {eta} left")
}
