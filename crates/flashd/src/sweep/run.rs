//! `flashd sweep run`: one shard.

use super::inputs::{InputLookup, difference};
use super::kind::SweepCommand;
use super::shard::{FoundResult, Sweep};
use crate::cli::RunArgs;
use crate::output::Failure;
use crate::progress::step;
use serde_json::Value;
use std::process::{Command, Stdio};

pub fn run(args: &RunArgs) -> Result<(), Failure> {
    let sweep = Sweep::read(&args.sweep)?;
    let problem = |problem: String| Failure::input(format!("--shard {}: {problem}", args.shard));
    let shards = &sweep.plan.shards;
    let shard = shards
        .get(args.shard)
        .ok_or_else(|| problem(format!("there are {}; give a number below that", shards.len())))?;
    match sweep.result(&shard.hash)? {
        FoundResult::Whole(_) => return Ok(()),
        FoundResult::Damaged(problem) => step(|| problem),
        FoundResult::Nothing => {}
    }
    let kind = SweepCommand::named(&shard.work.kind).map_err(problem)?;
    kind.check(&shard.work.command).map_err(problem)?;
    let here = InputLookup::default().inputs(kind, &shard.work.reads)?;
    if let Some(difference) = difference(&shard.work.inputs, &here) {
        return Err(problem(format!(
            "its result would not be that of the plan: {difference}; plan the sweep again, or run it where nothing differs"
        )));
    }
    let failed = |why: String| Failure::Check(format!("shard {}: {}: {why}", args.shard, kind.name));
    let program = std::env::current_exe().map_err(|e| problem(e.to_string()))?;
    let command = Command::new(program)
        .args(&shard.work.command)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output();
    let output = command.map_err(|e| failed(e.to_string()))?;
    if !output.status.success() {
        return Err(failed(output.status.to_string()));
    }
    let result: Value =
        serde_json::from_slice(&output.stdout).map_err(|e| failed(format!("prints no JSON: {e}")))?;
    if [Value::Null, Value::Array(Vec::new()), Value::Object(Default::default())].contains(&result) {
        return Err(failed("prints an empty result".into()));
    }
    sweep.store(&shard.hash, result)
}
