//! `flashd sweep status`: progress and cost.

use super::shard::{Cost, Failed, Found, RESULTS, Sweep};
use crate::cli::StatusArgs;
use crate::output::{Failure, print, print_json, table};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Progress and cost of a sweep.
#[derive(Serialize)]
pub(super) struct Status {
    pub shards: usize,
    pub done: usize,
    pub failed: usize,
    /// Neither done nor failed.
    pub left: usize,
    /// Of shards that are done and of failures.
    pub processor_hours: f64,
    /// Of what is not done, if it takes as long on average as what is done of its kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processor_hours_left: Option<f64>,
    pub kinds: Vec<OfKind>,
    pub hosts: BTreeMap<String, usize>,
    pub failures: Vec<Failed>,
    /// Results that are cut off or changed, which a run computes again.
    pub damaged: Vec<String>,
}

#[derive(Serialize)]
pub(super) struct OfKind {
    pub kind: &'static str,
    pub shards: usize,
    pub done: usize,
    pub failed: usize,
    pub processor_hours: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processor_hours_left: Option<f64>,
}

/// What there is so far.
pub(super) fn status(sweep: &Sweep) -> Result<Status, Failure> {
    let mut kinds: BTreeMap<&'static str, OfKind> = BTreeMap::new();
    let mut hosts = BTreeMap::new();
    let mut failures = Vec::new();
    let mut damaged = Vec::new();
    for shard in &sweep.shards {
        let name = shard.work.kind.row().name;
        let of = kinds.entry(name).or_insert(OfKind {
            kind: name,
            shards: 0,
            done: 0,
            failed: 0,
            processor_hours: 0.0,
            processor_hours_left: None,
        });
        of.shards += 1;
        let mut spent = |cost: &Cost| of.processor_hours += cost.processor_seconds / 3600.0;
        match sweep.result(&shard.hash)? {
            Found::Whole(done) => {
                spent(&done.cost);
                of.done += 1;
                *hosts.entry(done.cost.host).or_insert(0) += 1;
                continue;
            }
            Found::Damaged(problem) => {
                let file = sweep.file(RESULTS, &shard.hash);
                damaged.push(format!("{}: {problem}", file.display()));
            }
            Found::Nothing => {}
        }
        if let Some(failure) = sweep.failed(&shard.hash)? {
            spent(&failure.cost);
            of.failed += 1;
            failures.push(failure);
        }
    }
    let mut kinds: Vec<OfKind> = kinds.into_values().collect();
    for of in &mut kinds {
        // Of failures too, which may have ended early: a shard that failed may have to be done again.
        let ended = of.done + of.failed;
        let left = of.shards - of.done;
        of.processor_hours_left = match (left, ended) {
            (0, _) => Some(0.0),
            (_, 0) => None,
            (left, ended) => Some(of.processor_hours / ended as f64 * left as f64),
        };
    }
    let sum = |of: fn(&OfKind) -> usize| kinds.iter().map(of).sum::<usize>();
    let (shards, done, failed) = (sweep.shards.len(), sum(|of| of.done), sum(|of| of.failed));
    Ok(Status {
        shards,
        done,
        failed,
        left: shards - done - failed,
        processor_hours: kinds.iter().map(|of| of.processor_hours).sum(),
        processor_hours_left: kinds.iter().map(|of| of.processor_hours_left).sum(),
        kinds,
        hosts,
        failures,
        damaged,
    })
}

pub fn run(args: &StatusArgs) -> Result<(), Failure> {
    let status = status(&Sweep::read(&args.sweep)?)?;
    if args.json {
        return print_json(&status);
    }
    let mut text = table(&HEADER, rows(&status));
    for damaged in &status.damaged {
        text += &format!("\n{damaged}");
    }
    // Messages that are the same once.
    for (message, shards) in messages(&status.failures) {
        text += &format!("\nfailed, {} shards, {} first:\n{message}", shards.len(), shards[0]);
    }
    print(&text)
}

pub(super) const HEADER: [&str; 7] =
    ["kind", "shards", "done", "failed", "left", "processor hours", "hours left, about"];

/// A row for each kind, and one for all if there are several.
pub(super) fn rows(status: &Status) -> Vec<Vec<String>> {
    let row = |kind: &str, n: [usize; 3], hours: f64, left: Option<f64>| {
        let [shards, done, failed] = n;
        let left_hours = left.map_or("unknown".to_string(), |hours| format!("{hours:.3}"));
        let left = shards - done - failed;
        let mut row = vec![kind.to_string()];
        row.extend([shards, done, failed, left].map(|n| n.to_string()));
        row.extend([format!("{hours:.3}"), left_hours]);
        row
    };
    let of_kind = |of: &OfKind| {
        row(of.kind, [of.shards, of.done, of.failed], of.processor_hours, of.processor_hours_left)
    };
    let mut rows: Vec<_> = status.kinds.iter().map(of_kind).collect();
    if status.kinds.len() > 1 {
        let n = [status.shards, status.done, status.failed];
        rows.push(row("all", n, status.processor_hours, status.processor_hours_left));
    }
    rows
}

/// What failures say, with the shards that say it.
pub(super) fn messages(failures: &[Failed]) -> Vec<(&str, Vec<&str>)> {
    let texts: BTreeSet<&str> = failures.iter().map(|failed| failed.message.as_str()).collect();
    let shards = |text: &str| {
        let same = failures.iter().filter(|failed| failed.message == text);
        same.map(|failed| failed.shard.as_str()).collect::<Vec<_>>()
    };
    texts.into_iter().map(|text| (text, shards(text))).collect()
}
