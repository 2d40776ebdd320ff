//! `flashd sweep merge`: all results in the order of the plan.

use super::shard::{Done, ExplorationOf, Shard, Sweep};
use crate::cli::{Command, ExploreArgs, MergeArgs};
use crate::explore::{self, Known, Part};
use crate::output::{Failure, json_text, print, write};
use serde::Serialize;
use serde_json::Value;
use std::collections::HashMap;

/// The merged results. They hold nothing of where, when and how often shards ran.
#[derive(Serialize)]
struct Merged<'a> {
    shards: usize,
    /// Shards without a result, if that is allowed.
    missing: usize,
    results: Vec<Entry<'a>>,
    /// As `flashd explore --json` has them, of explorations that are complete.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    explorations: Vec<Value>,
}

#[derive(Serialize)]
struct Entry<'a> {
    #[serde(flatten)]
    shard: &'a Shard,
    result: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    measured: Option<Value>,
}

pub fn run(args: &MergeArgs) -> Result<(), Failure> {
    let sweep = Sweep::read(&args.sweep)?;
    let mut results = Vec::new();
    let mut missing = Vec::new();
    for shard in &sweep.shards {
        match sweep.done(&shard.hash)? {
            Some(done) => {
                let Done { result, measured, .. } = *done;
                let measured = Some(measured).filter(|value| args.measured && !value.is_null());
                results.push(Entry { shard, result, measured });
            }
            None => missing.push(shard.hash.as_str()),
        }
    }
    if let (false, [first, ..]) = (args.partial, &missing[..]) {
        return Err(Failure::Check(format!(
            "{} of {} shards have no result, {first} first; run them, or merge what is there with --partial",
            missing.len(),
            sweep.shards.len()
        )));
    }
    let explorations = {
        let by_hash = results.iter().map(|entry| (entry.shard.hash.as_str(), entry)).collect();
        let all = sweep.about.explorations.iter().map(|of| exploration(of, &by_hash));
        all.filter_map(Result::transpose).collect::<Result<Vec<Value>, Failure>>()?
    };
    let merged = Merged { shards: sweep.shards.len(), missing: missing.len(), results, explorations };
    let text = json_text(&merged)?;
    match &args.out {
        None => print(&text),
        Some(path) if path.as_os_str() == "-" => print(&text),
        Some(path) => write("--out", path, (text + "\n").as_bytes()).map(drop),
    }
}

/// An exploration from its parts, if all are there.
fn exploration(of: &ExplorationOf, results: &HashMap<&str, &Entry>) -> Result<Option<Value>, Failure> {
    let mut known = Known::default();
    for hash in &of.shards {
        let Some(entry) = results.get(hash.as_str()) else { return Ok(None) };
        let text = entry.shard.work.command.last().map_or("", String::as_str);
        let part: Part =
            serde_json::from_str(text).map_err(|e| Failure::input(format!("shard {hash}: {e}")))?;
        let outcome = serde_json::from_value(entry.result.clone())
            .map_err(|e| Failure::input(format!("shard {hash}: {e}")))?;
        known.add(&part, outcome)?;
    }
    let exploration = explore::merged(&arguments(of)?, &known)?;
    serde_json::to_value(&exploration).map(Some).map_err(|e| Failure::input(format!("JSON: {e}")))
}

/// The arguments of an exploration.
fn arguments(of: &ExplorationOf) -> Result<ExploreArgs, Failure> {
    let words = ["flashd", "explore"].into_iter().chain(of.arguments.iter().map(String::as_str));
    match crate::parse(words).map(|cli| cli.command) {
        Ok(Command::Explore(args)) => Ok(args),
        _ => Err(Failure::input(format!("sweep.json: {}: no arguments of explore", of.arguments.join(" ")))),
    }
}
