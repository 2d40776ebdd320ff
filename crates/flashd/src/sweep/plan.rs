//! `flashd sweep plan`: from the combinations of a grid to commands.

use super::inputs::{InputLookup, ShardInputs};
use super::kind::{CoreArgument, SweepCommand, check_option};
use super::merge::arguments;
use super::shard::{ExplorationOf, FoundResult, Shard, ShardWork, Sweep, SweepPlan};
use crate::cli::PlanArgs;
use crate::explore;
use crate::output::{Failure, first_paragraph, print, print_json};
use flashd_spec::config::{CoreConfig, D_RANGE};
use flashd_study::grid::{ALL, GridError, GridFile};
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

/// Most shards of a sweep.
const MOST: usize = 1_000_000;

/// Summary of a plan.
#[derive(Serialize)]
struct Planned {
    sweep: PathBuf,
    shards: usize,
    /// Shards with a result.
    done: usize,
    kinds: BTreeMap<String, usize>,
    /// Results that were cut off or changed, and have been removed.
    damaged: Vec<String>,
}

pub fn run(args: &PlanArgs) -> Result<(), Failure> {
    let problem = |e: GridError| Failure::input(e.to_string());
    let grid = GridFile::read(&args.grid).map_err(problem)?;
    let folder = args.out.clone().unwrap_or_else(|| args.grid.with_extension(""));
    if folder == args.grid {
        let grid = args.grid.display();
        return Err(Failure::input(format!("{grid}: has no ending to leave out; name a folder with --out")));
    }
    let mut planner = ShardPlanner::default();
    for (entry, fields) in grid.combinations(MOST, |_| Ok(())).map_err(problem)? {
        planner.add(fields).map_err(|e| problem(grid.wrong(entry, e)))?;
    }
    let sweep = Sweep { folder, plan: planner.plan };
    sweep.write()?;
    let (mut done, mut damaged, mut kinds) = (0, Vec::new(), BTreeMap::new());
    for Shard { hash, work } in &sweep.plan.shards {
        *kinds.entry(work.kind.clone()).or_insert(0) += 1;
        match sweep.result(hash)? {
            FoundResult::Nothing => {}
            FoundResult::Whole(_) => done += 1,
            FoundResult::Damaged(problem) => {
                let removed = std::fs::remove_file(sweep.file(hash));
                removed.map_err(|e| Failure::input(format!("{problem}, and cannot be removed: {e}")))?;
                damaged.push(problem);
            }
        }
    }
    let planned = Planned { shards: sweep.plan.shards.len(), done, kinds, damaged, sweep: sweep.folder };
    if args.json {
        return print_json(&planned);
    }
    let Planned { sweep, shards, done, kinds, damaged } = &planned;
    let kinds: Vec<String> = kinds.iter().map(|(kind, n)| format!("{n} {kind}")).collect();
    let removed: String = damaged.iter().map(|problem| format!("\nremoved: {problem}")).collect();
    let (sweep, kinds) = (sweep.display(), kinds.join(", "));
    print(&format!("{sweep}: {shards} shards ({kinds}), {done} of them done{removed}"))
}

/// Makes shards, each once.
#[derive(Default)]
struct ShardPlanner {
    lookup: InputLookup,
    plan: SweepPlan,
    seen: HashSet<String>,
}

impl ShardPlanner {
    fn add(&mut self, mut fields: Map<String, Value>) -> Result<(), String> {
        let kind = match fields.remove("kind") {
            Some(Value::String(name)) => SweepCommand::named(&name)?,
            _ => return Err("kind: a name such as \"accuracy\" is needed".into()),
        };
        let mut words = kind.words.map(String::from).to_vec();
        let mut core = None;
        if let Some(given) = fields.remove("core") {
            let (flags, kept) = core_of(kind, given).map_err(|e| format!("core: {e}"))?;
            words.push(format!("--core={flags}"));
            core = Some(kept);
        }
        let mut reads = ShardInputs { data: Vec::new(), library: kind.library.then(PathBuf::new) };
        let mut options = Vec::new();
        for (name, value) in &fields {
            let flag = format!("--{}", name.replace('_', "-"));
            check_option(&flag)?;
            let values = match value {
                Value::Object(fields) => fields.get(ALL).and_then(Value::as_array).map(Vec::as_slice),
                value => Some(std::slice::from_ref(value)),
            };
            for value in values.ok_or_else(|| format!("{name}: {value} is no value of an option"))? {
                let text = match value {
                    Value::Bool(false) => continue,
                    Value::Bool(true) => {
                        options.push(flag.clone());
                        continue;
                    }
                    Value::String(text) => text.clone(),
                    Value::Number(number) => number.to_string(),
                    other => return Err(format!("{name}: {other} is no value of an option")),
                };
                options.push(format!("{flag}={text}"));
                match flag.as_str() {
                    "--data" => reads.data.push(text.into()),
                    "--liberty" => reads.library = Some(text.into()),
                    _ => {}
                }
            }
        }
        if kind.name == "explore" {
            return self.explore(kind, options);
        }
        words.extend(options);
        // All that can be wrong with it, as the command itself would say.
        crate::selected(words.iter().map(String::as_str)).map_err(|e| first_paragraph(&e))?;
        self.push(kind, words, core, reads).map(drop)
    }

    /// Adds a shard unless it is there; returns its hash.
    fn push(
        &mut self,
        kind: &SweepCommand,
        command: Vec<String>,
        core: Option<Value>,
        reads: ShardInputs,
    ) -> Result<String, String> {
        let inputs = self.lookup.inputs(kind, &reads).map_err(|e| e.to_string())?;
        let work = ShardWork { kind: kind.name.into(), command, core, reads, inputs };
        let shard = Shard::new(work).map_err(|e| e.to_string())?;
        let hash = shard.hash.clone();
        if self.seen.insert(hash.clone()) {
            self.plan.shards.push(shard);
        }
        Ok(hash)
    }

    /// The parts of an exploration.
    fn explore(&mut self, kind: &SweepCommand, options: Vec<String>) -> Result<(), String> {
        let parts = arguments(&options).and_then(|args| explore::parts(&args)).map_err(|e| e.to_string())?;
        let mut shards = Vec::new();
        for part in parts {
            let (data, library) = match &part {
                explore::WorkPart::Errors { heads, .. } => (heads.data.clone(), None),
                explore::WorkPart::EqualScores { .. } => (None, None),
                explore::WorkPart::Measured { flow, data, .. } => {
                    (data.clone(), Some(flow.liberty.clone().unwrap_or_default()))
                }
            };
            let reads = ShardInputs { data: data.into_iter().collect(), library };
            let mut words = kind.words.map(String::from).to_vec();
            words.push(serde_json::to_string(&part).map_err(|e| e.to_string())?);
            shards.push(self.push(kind, words, None, reads)?);
        }
        self.plan.explorations.push(ExplorationOf { arguments: options, shards });
        Ok(())
    }
}

/// The flags of a core, and the core as a shard keeps it.
fn core_of(kind: &SweepCommand, given: Value) -> Result<(String, Value), String> {
    let any = match kind.core {
        CoreArgument::No => return Err(format!("{} takes none; leave it out", kind.name)),
        of => of == CoreArgument::AnyLength,
    };
    let mut fields = match given {
        Value::String(flags) => return Ok((flags.clone(), flags.into())),
        Value::Object(fields) => fields,
        other => return Err(format!("{other} is neither flags nor the fields of a configuration")),
    };
    if any {
        if let Some(d) = ["d", "dk", "dv"].into_iter().find(|field| fields.contains_key(*field)) {
            return Err(format!("{d}: each head has its own; leave it out"));
        }
        fields.insert("d".into(), D_RANGE.0.into());
    }
    let core: CoreConfig = flashd_files::from_value(Value::Object(fields)).map_err(|e| e.to_string())?;
    core.validate().map_err(|e| e.to_string())?;
    let mut flags = core.flags();
    let mut kept = serde_json::to_value(&core).map_err(|e| e.to_string())?;
    if let (true, Some(kept)) = (any, kept.as_object_mut()) {
        flags = flags.replacen(&format!("--d {} ", core.d), "", 1);
        kept.remove("d");
    }
    Ok((flags, kept))
}
