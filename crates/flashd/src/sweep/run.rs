//! `flashd sweep run`: shards that are not done yet, one after another.

use super::inputs::Lookup;
use super::kind::{Core, Program, Row};
use super::shard::{Cost, Done, FAILED, Failed, Found, RESULTS, RUNNING, Shard, Sweep};
use crate::cli::RunArgs;
use crate::digest;
use crate::output::Failure;
use crate::progress::{Work, step};
use flashd_files::{FolderLock, TemporaryFolder};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Lines of a failed command's output that are kept.
const LAST_LINES: usize = 20;
/// Between two looks at a shard that another run is at.
const WAIT: Duration = Duration::from_millis(200);

pub fn run(args: &RunArgs) -> Result<(), Failure> {
    let sweep = Sweep::read(&args.sweep)?;
    let mut lookup = Lookup::new(args.cache.as_ref().map(|cache| cache.join("ppa")).as_deref());
    let (mut computed, mut failures) = (0, 0);
    let mut left: Vec<&Shard> = sweep.select(&args.shards)?;
    if args.skip_failed {
        let mut again = Vec::new();
        for shard in left {
            if sweep.failed(&shard.hash)?.is_none() {
                again.push(shard);
            }
        }
        left = again;
    }
    let bar = Work::start(left.len() as u64, "{bar:30} {pos} of {len} shards {elapsed}, {eta} left");
    while !left.is_empty() {
        let mut busy = Vec::new();
        for &shard in &left {
            if is_done(&sweep, shard)? {
                bar.inc(1);
                continue;
            }
            let Some(claim) = Claim::take(&sweep, shard)? else {
                busy.push(shard);
                continue;
            };
            // Whoever had it before may have just finished.
            if is_done(&sweep, shard)? {
                bar.inc(1);
                continue;
            }
            let here = lookup.inputs(shard.work.kind.row(), &shard.work.reads)?;
            if let Some(difference) = shard.work.inputs.difference(&here) {
                return Err(Failure::input(format!(
                    "shard {}: its result would not be that of the plan: {difference}; plan the sweep again, or run it where \
                     nothing differs",
                    shard.hash
                )));
            }
            step(|| format!("shard {}: {}", shard.hash, shard.work.command.join(" ")));
            match compute(args, shard)? {
                Ok(done) => {
                    write(&sweep.file(RESULTS, &shard.hash), &done)?;
                    // What is done has no failure; where it cannot be removed it is not looked at.
                    let _ = std::fs::remove_file(sweep.file(FAILED, &shard.hash));
                    computed += 1;
                }
                Err(failed) => {
                    bar.suspend(|| eprintln!("shard {}: {}", shard.hash, failed.message));
                    write(&sweep.file(FAILED, &shard.hash), &failed)?;
                    failures += 1;
                }
            }
            drop(claim);
            bar.inc(1);
        }
        // Others are at these: they are theirs unless they end without a result.
        if busy.len() == left.len() {
            std::thread::sleep(WAIT);
        }
        left = busy;
    }
    drop(bar);
    match failures {
        0 => Ok(()),
        _ => Err(Failure::Check(format!(
            "{failures} of {} shards failed; flashd sweep status {} has their messages",
            failures + computed,
            sweep.folder.display()
        ))),
    }
}

/// Whether a shard has its result. One that is damaged is computed again.
fn is_done(sweep: &Sweep, shard: &Shard) -> Result<bool, Failure> {
    Ok(match sweep.result(&shard.hash)? {
        Found::Whole(_) => true,
        Found::Nothing => false,
        Found::Damaged(problem) => {
            step(|| format!("{}: {problem}", sweep.file(RESULTS, &shard.hash).display()));
            false
        }
    })
}

/// A shard that this run is at. The lock goes with the process, however it ends.
struct Claim {
    folder: PathBuf,
    _lock: FolderLock,
}

impl Claim {
    /// None where another run is at it.
    fn take(sweep: &Sweep, shard: &Shard) -> Result<Option<Claim>, Failure> {
        let folder = sweep.folder.join(RUNNING).join(&shard.hash);
        let problem = |e: std::io::Error| Failure::input(format!("{}: {e}", folder.display()));
        std::fs::create_dir_all(&folder).map_err(problem)?;
        match FolderLock::take(&folder) {
            Ok(Some(lock)) => Ok(Some(Claim { folder, _lock: lock })),
            Ok(None) => Ok(None),
            // Its owner has just removed it.
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(problem(e)),
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.folder);
    }
}

fn write(path: &Path, value: &impl serde::Serialize) -> Result<(), Failure> {
    let text = digest::sealed(value).map_err(|e| Failure::input(format!("JSON: {e}")))?;
    flashd_files::write(path, text.as_bytes())
        .map_err(|e| Failure::input(format!("{}: {e}", path.display())))
        .map(drop)
}

/// Runs a shard's command.
fn compute(args: &RunArgs, shard: &Shard) -> Result<Result<Done, Failed>, Failure> {
    let row = shard.work.kind.row();
    // Of the folder, what no option names: a configuration.
    let temporary = TemporaryFolder::create_in(&std::env::temp_dir())
        .map_err(|e| Failure::input(format!("{}: {e}", std::env::temp_dir().display())))?;
    let mut command = Command::new(row.program.path()?);
    if let (Core::File, Some(core)) = (row.core, &shard.work.core) {
        let file = temporary.path().join("core.json");
        std::fs::write(&file, core.to_string())
            .map_err(|e| Failure::input(format!("{}: {e}", file.display())))?;
        command.arg(&file);
    }
    command.args(&shard.work.command).stdin(Stdio::null());
    if row.program == Program::Xtask {
        command.env("FLASHD", Program::Flashd.path()?);
    }
    if let (Some((option, name)), Some(cache)) = (row.cache, &args.cache) {
        let folder = std::path::absolute(cache.join(name))
            .map_err(|e| Failure::input(format!("--cache {}: {e}", cache.display())))?;
        command.arg(option).arg(folder);
    }
    if let Some(threads) = args.threads {
        command.env("RAYON_NUM_THREADS", threads.to_string());
        if row.program == Program::Xtask {
            command.args(["--jobs", &threads.to_string()]);
        }
    }
    let (start, before) = (Instant::now(), processor_seconds());
    let output = command.output();
    let cost = Cost {
        wall_seconds: start.elapsed().as_secs_f64(),
        processor_seconds: processor_seconds() - before,
        host: host(),
    };
    let shard = shard.hash.clone();
    let output = match output {
        Ok(output) => output,
        Err(e) => {
            return Ok(Err(Failed { shard, message: format!("{}: {e}", row.name), exit_code: None, cost }));
        }
    };
    if !output.status.success() {
        let said = if output.stderr.is_empty() { &output.stdout } else { &output.stderr };
        let text = String::from_utf8_lossy(said);
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let last = lines[lines.len().saturating_sub(LAST_LINES)..].join("\n");
        let message = if last.is_empty() { output.status.to_string() } else { last };
        return Ok(Err(Failed { shard, message, exit_code: output.status.code(), cost }));
    }
    let mut result: Value = match serde_json::from_slice(&output.stdout) {
        Ok(result) => result,
        Err(e) => {
            let message = format!("{}: prints no JSON: {e}", row.name);
            return Ok(Err(Failed { shard, message, exit_code: Some(0), cost }));
        }
    };
    let measured = taken(&mut result, row).unwrap_or_default();
    let done = Done { shard, result, measured, cost };
    Ok(match done.is_empty() {
        true => {
            let message = format!("{}: prints an empty result", row.name);
            Err(Failed { shard: done.shard, message, exit_code: Some(0), cost: done.cost })
        }
        false => Ok(done),
    })
}

/// Takes what a clock measured out of a result: the same objects and lists with those fields alone.
fn taken(value: &mut Value, row: &Row) -> Option<Value> {
    match value {
        Value::Object(fields) => {
            let mut all = Map::new();
            let names: Vec<String> = fields.keys().cloned().collect();
            for name in names {
                let value = match row.measured.contains(&name.as_str()) {
                    true => fields.remove(&name),
                    false => fields.get_mut(&name).and_then(|value| taken(value, row)),
                };
                all.extend(value.map(|value| (name, value)));
            }
            (!all.is_empty()).then_some(Value::Object(all))
        }
        Value::Array(values) => {
            let all: Vec<Option<Value>> = values.iter_mut().map(|value| taken(value, row)).collect();
            let any = all.iter().any(Option::is_some);
            any.then(|| Value::Array(all.into_iter().map(Option::unwrap_or_default).collect()))
        }
        _ => None,
    }
}

/// Processor time of all programs that this one ran and that have ended.
fn processor_seconds() -> f64 {
    #[cfg(unix)]
    {
        use nix::sys::resource::{UsageWho, getrusage};
        use nix::sys::time::TimeValLike;
        let usage = getrusage(UsageWho::RUSAGE_CHILDREN);
        usage.map_or(0.0, |u| 1e-6 * (u.user_time() + u.system_time()).num_microseconds() as f64)
    }
    #[cfg(not(unix))]
    0.0
}

fn host() -> String {
    #[cfg(unix)]
    let name = nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok());
    #[cfg(not(unix))]
    let name = std::env::var("COMPUTERNAME").ok();
    // Several nodes of Slurm may be one host.
    std::env::var("SLURMD_NODENAME").ok().or(name).unwrap_or_else(|| "unknown".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::kind::Kind;
    use serde_json::json;

    #[test]
    fn what_a_clock_measured_leaves_the_result() {
        let mut result = json!([{"unit": "add", "seconds": 2.5}, {"unit": "mul", "more": {"seconds": 3}}, 4]);
        let measured = taken(&mut result, Kind::Units.row()).unwrap();
        assert_eq!(result, json!([{"unit": "add"}, {"unit": "mul", "more": {}}, 4]));
        assert_eq!(measured, json!([{"seconds": 2.5}, {"more": {"seconds": 3}}, null]));
        assert_eq!(taken(&mut json!({"seconds": 1}), Kind::Skips.row()), None);
    }
}
