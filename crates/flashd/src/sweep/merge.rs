//! `flashd sweep merge`: all results in the order of the plan.

use super::shard::{ExplorationOf, FoundResult, Shard, Sweep};
use crate::cli::{Command, ExploreArgs, MergeArgs};
use crate::explore::{self, Known, WorkPart};
use crate::output::{Failure, first_paragraph, json_text, print, write};
use serde::Serialize;
use serde_json::Value;
use std::collections::HashMap;

/// The merged results. They hold nothing of where, when and how often shards ran.
#[derive(Serialize)]
struct MergedResults<'a> {
    shards: usize,
    /// Shards without a result, if that is allowed.
    missing: usize,
    results: Vec<ShardEntry<'a>>,
    /// As `flashd explore --json` has them, of explorations that are complete.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    explorations: Vec<Value>,
}

#[derive(Serialize)]
struct ShardEntry<'a> {
    #[serde(flatten)]
    shard: &'a Shard,
    result: Value,
}

pub fn run(args: &MergeArgs) -> Result<(), Failure> {
    let sweep = Sweep::read(&args.sweep)?;
    let shards = &sweep.plan.shards;
    let run = |i: usize| format!("flashd sweep run {} --shard {i}", sweep.folder.display());
    let mut results = Vec::new();
    let mut missing = Vec::new();
    for (i, shard) in shards.iter().enumerate() {
        match sweep.result(&shard.hash)? {
            FoundResult::Whole(mut result) => {
                drop_seconds(&mut result);
                results.push(ShardEntry { shard, result });
            }
            FoundResult::Nothing => missing.push(i),
            FoundResult::Damaged(problem) => {
                return Err(Failure::input(format!("{problem}; {} computes it again", run(i))));
            }
        }
    }
    if let (false, [first, ..]) = (args.partial, &missing[..]) {
        return Err(Failure::Check(format!(
            "{} of {} shards have no result; compute them, first with {}, or merge the others with --partial",
            missing.len(),
            shards.len(),
            run(*first)
        )));
    }
    let explorations = {
        let by_hash = results.iter().map(|entry| (entry.shard.hash.as_str(), entry)).collect();
        let all = sweep.plan.explorations.iter().map(|of| exploration(of, &by_hash));
        all.filter_map(Result::transpose).collect::<Result<Vec<Value>, Failure>>()?
    };
    let merged = MergedResults { shards: shards.len(), missing: missing.len(), results, explorations };
    let text = json_text(&merged)?;
    match args.out.as_deref().filter(|path| path.as_os_str() != "-") {
        None => print(&text),
        Some(path) => write("--out", path, (text + "\n").as_bytes()).map(drop),
    }
}

/// Removes the fields that a clock measured, `seconds` and `..._seconds`.
fn drop_seconds(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| name.rsplit('_').next() != Some("seconds"));
            fields.values_mut().for_each(drop_seconds);
        }
        Value::Array(values) => values.iter_mut().for_each(drop_seconds),
        _ => {}
    }
}

/// An exploration from its parts, if all are there.
fn exploration(of: &ExplorationOf, results: &HashMap<&str, &ShardEntry>) -> Result<Option<Value>, Failure> {
    let mut known = Known::default();
    for hash in &of.shards {
        let Some(entry) = results.get(hash.as_str()) else { return Ok(None) };
        let text = entry.shard.work.command.last().map_or("", String::as_str);
        let part: WorkPart =
            serde_json::from_str(text).map_err(|e| Failure::input(format!("shard {hash}: {e}")))?;
        let outcome = serde_json::from_value(entry.result.clone())
            .map_err(|e| Failure::input(format!("shard {hash}: {e}")))?;
        known.add(&part, outcome)?;
    }
    let exploration = explore::merged(&arguments(&of.arguments)?, &known)?;
    serde_json::to_value(&exploration).map(Some).map_err(|e| Failure::input(format!("JSON: {e}")))
}

/// The arguments of an exploration.
pub fn arguments(options: &[String]) -> Result<ExploreArgs, Failure> {
    let words = ["flashd", "explore"].into_iter().chain(options.iter().map(String::as_str));
    match crate::parse(words).map(|cli| cli.command) {
        Ok(Command::Explore(args)) => Ok(args),
        Ok(_) => Err(Failure::input(format!("{}: no options of explore", options.join(" ")))),
        Err(e) => Err(Failure::input(first_paragraph(&e.to_string()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_that_a_clock_measured_are_dropped() {
        let mut result = json!([{"unit": "add", "seconds": 2.5}, {"more": {"run_seconds": 3, "n": 1}}, 4]);
        drop_seconds(&mut result);
        assert_eq!(result, json!([{"unit": "add"}, {"more": {"n": 1}}, 4]));
    }
}
