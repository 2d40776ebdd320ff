//! `flashd sweep plan`: from combinations of a grid to commands.

use super::grid;
use super::inputs::{Lookup, Reads};
use super::kind::{Core, Kind, Program, Row};
use super::shard::{About, ExplorationOf, Found, Shard, Sweep, Work};
use crate::cli::{Cli, Command, PlanArgs};
use crate::explore;
use crate::output::{Failure, print, print_json};
use clap::CommandFactory;
use flashd_spec::config::{CoreConfig, D_RANGE};
use flashd_study::grid::ALL;
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;

/// What was planned.
#[derive(Serialize)]
struct Planned {
    sweep: PathBuf,
    shards: usize,
    /// Those that have a result already.
    done: usize,
    kinds: BTreeMap<&'static str, usize>,
}

pub fn run(args: &PlanArgs) -> Result<(), Failure> {
    let given = grid::read(&args.grid)?;
    let problem = |e: String| Failure::input(format!("{}: {e}", args.grid.display()));
    let mut planner = Planner::default();
    for (entry, fields) in grid::combinations(&given).map_err(problem)? {
        planner.add(fields).map_err(|e| problem(format!("entry {entry}: {e}")))?;
    }
    let folder = args.out.clone().unwrap_or_else(|| args.grid.with_extension(""));
    if folder == args.grid {
        return Err(problem("the grid's name has no ending to leave out; name a folder with --out".into()));
    }
    let Planner { shards, explorations, .. } = planner;
    let mut kinds = BTreeMap::new();
    shards.iter().for_each(|shard| *kinds.entry(shard.work.kind.row().name).or_insert(0) += 1);
    let sweep = Sweep { folder, about: About::new(given, explorations, &shards)?, shards };
    sweep.write()?;
    let mut done = 0;
    for shard in &sweep.shards {
        done += usize::from(matches!(sweep.result(&shard.hash)?, Found::Whole(_)));
    }
    let planned = Planned { shards: sweep.shards.len(), done, kinds, sweep: sweep.folder };
    if args.json {
        return print_json(&planned);
    }
    let kinds: Vec<String> = planned.kinds.iter().map(|(kind, n)| format!("{n} {kind}")).collect();
    print(&format!(
        "{}: {} shards ({}), {} of them done",
        planned.sweep.display(),
        planned.shards,
        kinds.join(", "),
        planned.done
    ))
}

/// Makes shards, each once.
#[derive(Default)]
struct Planner {
    lookup: Lookup,
    shards: Vec<Shard>,
    seen: HashSet<String>,
    explorations: Vec<ExplorationOf>,
    /// Flags of cores, by what was given.
    cores: HashMap<String, (String, Value)>,
    /// This program's command line: making it takes longer than reading it.
    cli: Option<clap::Command>,
}

impl Planner {
    fn add(&mut self, mut fields: Map<String, Value>) -> Result<(), String> {
        let kind = match fields.remove("kind") {
            Some(Value::String(name)) => Kind::named(&name)?,
            _ => return Err("kind: a name such as \"accuracy\" is needed".into()),
        };
        let row = kind.row();
        let core = fields.remove("core");
        let mut words: Vec<String> = row.words.iter().map(|word| word.to_string()).collect();
        let core = match (core, row.core) {
            (None, Core::File) => return Err(format!("core: {} needs one", row.name)),
            (Some(_), Core::No) => return Err(format!("core: {} takes none; leave it out", row.name)),
            (core, _) => core.map(|core| self.core(row, &core, &mut words)).transpose()?,
        };
        let mut reads = Reads { data: Vec::new(), library: row.library.then(PathBuf::new) };
        let mut seed = None;
        let mut options = Vec::new();
        for (name, value) in &fields {
            row.check_option(name)?;
            let flag = format!("--{}", name.replace('_', "-"));
            let text = match value {
                Value::Object(fields) => match fields.get(ALL) {
                    Some(Value::Array(values)) => values.iter().map(text).collect::<Result<Vec<_>, _>>(),
                    _ => Err(format!("{value} is no value of an option")),
                },
                value => text(value).map(|text| vec![text]),
            };
            for text in text.map_err(|e| format!("{name}: {e}"))? {
                match text {
                    Word::Switch(false) => continue,
                    Word::Switch(true) => options.push(flag.clone()),
                    Word::Text(text) => {
                        if row.data == Some(&flag) {
                            reads.data.push(text.clone().into());
                        }
                        if row.library && flag == "--liberty" {
                            reads.library = Some(text.clone().into());
                        }
                        if row.seed == Some(&flag) {
                            seed = Some(text.clone());
                        }
                        options.push(match row.program {
                            Program::Throughput => format!("{flag} {text}"),
                            _ => format!("{flag}={text}"),
                        });
                    }
                }
            }
        }
        match kind {
            Kind::Explore => return self.explore(row, options),
            // Its own reader of options takes two words.
            Kind::Throughput => {
                words.extend(
                    options.iter().flat_map(|o| o.split_once(' ')).flat_map(|(a, b)| [a.into(), b.into()]),
                );
            }
            _ => words.extend(options),
        }
        if row.program == Program::Flashd {
            self.check(&words)?;
        }
        self.push(kind, words, core, reads, seed).map(drop)
    }

    fn push(
        &mut self,
        kind: Kind,
        command: Vec<String>,
        core: Option<Value>,
        reads: Reads,
        seed: Option<String>,
    ) -> Result<String, String> {
        let inputs = self.lookup.inputs(kind.row(), &reads).map_err(|e| e.to_string())?;
        let shard =
            Shard::new(Work { kind, command, core, reads, seed, inputs }).map_err(|e| e.to_string())?;
        let hash = shard.hash.clone();
        if self.seen.insert(hash.clone()) {
            self.shards.push(shard);
        }
        Ok(hash)
    }

    /// The words that select a core, and the core as it is kept.
    fn core(&mut self, row: &Row, given: &Value, words: &mut Vec<String>) -> Result<Value, String> {
        let key = format!("{} {given}", row.name);
        if !self.cores.contains_key(&key) {
            self.cores.insert(key.clone(), self.new_core(row, given)?);
        }
        let (flags, core) = &self.cores[&key];
        match row.core {
            Core::No | Core::File => {}
            Core::Flags(option) | Core::AnyLength(option) => words.push(format!("{option}={flags}")),
        }
        Ok(core.clone())
    }

    fn new_core(&self, row: &Row, given: &Value) -> Result<(String, Value), String> {
        let wrong = |e: String| format!("core: {e}");
        match given {
            Value::String(flags) if row.core == Core::File => {
                Err(wrong(format!("{flags}: {} needs the fields of a configuration", row.name)))
            }
            Value::String(flags) => {
                if row.program == Program::Flashd {
                    let (Core::Flags(option) | Core::AnyLength(option)) = row.core else {
                        return Err(wrong("takes no flags".into()));
                    };
                    // All that can be wrong with it, as the command itself would say.
                    crate::selected([row.words[0], &format!("{option}={flags}")])
                        .map_err(|e| wrong(one_line(&e)))?;
                }
                Ok((flags.clone(), given.clone()))
            }
            Value::Object(fields) => {
                let mut fields = fields.clone();
                let any = matches!(row.core, Core::AnyLength(_));
                let length = ["d", "dk", "dv"].into_iter().find(|field| fields.contains_key(*field));
                match (any, length) {
                    (true, Some(d)) => {
                        return Err(wrong(format!("{d}: each head has its own; leave it out")));
                    }
                    (true, None) => drop(fields.insert("d".into(), D_RANGE.0.into())),
                    _ => {}
                }
                let core: CoreConfig =
                    flashd_files::from_value(Value::Object(fields)).map_err(|e| wrong(e.to_string()))?;
                core.validate().map_err(|e| wrong(e.to_string()))?;
                let length = format!("--d {} ", core.d);
                let flags = if any { core.flags().replacen(&length, "", 1) } else { core.flags() };
                let mut kept = serde_json::to_value(&core).map_err(|e| wrong(e.to_string()))?;
                if let (true, Some(kept)) = (any, kept.as_object_mut()) {
                    kept.remove("d");
                }
                Ok((flags, kept))
            }
            other => Err(wrong(format!("{other} is neither flags nor the fields of a configuration"))),
        }
    }

    /// Refuses what this program would refuse.
    fn check(&mut self, words: &[String]) -> Result<(), String> {
        let cli = self.cli.get_or_insert_with(Cli::command);
        let all = std::iter::once("flashd").chain(words.iter().map(String::as_str));
        let matches = cli.try_get_matches_from_mut(all).map_err(|e| one_line(&e.to_string()))?;
        crate::cli::needs::check(&matches).map_err(|e| e.to_string())
    }

    /// The parts of an exploration.
    fn explore(&mut self, row: &Row, options: Vec<String>) -> Result<(), String> {
        let words = std::iter::once("explore".to_string()).chain(options.iter().cloned());
        let args =
            match crate::parse(std::iter::once("flashd".to_string()).chain(words)).map(|cli| cli.command) {
                Ok(Command::Explore(args)) => args,
                Ok(_) => return Err("explore: is another command".into()),
                Err(e) => return Err(one_line(&e.to_string())),
            };
        let mut hashes = Vec::new();
        for part in explore::parts(&args).map_err(|e| e.to_string())? {
            let reads = match &part {
                explore::Part::Errors { heads, .. } => {
                    Reads { data: heads.data.iter().cloned().collect(), library: None }
                }
                explore::Part::EqualScores { .. } => Reads::default(),
                explore::Part::Measured { flow, data, .. } => Reads {
                    data: data.iter().cloned().collect(),
                    library: Some(flow.liberty.clone().unwrap_or_default()),
                },
            };
            let text = serde_json::to_string(&part).map_err(|e| e.to_string())?;
            let mut words: Vec<String> = row.words.iter().map(|word| word.to_string()).collect();
            words.push(text);
            hashes.push(self.push(Kind::Explore, words, None, reads, None)?);
        }
        self.explorations.push(ExplorationOf { arguments: options, shards: hashes });
        Ok(())
    }
}

/// An option's value on a command line.
enum Word {
    Switch(bool),
    Text(String),
}

fn text(value: &Value) -> Result<Word, String> {
    match value {
        Value::Bool(on) => Ok(Word::Switch(*on)),
        Value::String(text) => Ok(Word::Text(text.clone())),
        Value::Number(number) => Ok(Word::Text(number.to_string())),
        other => Err(format!("{other} is no value of an option")),
    }
}

/// clap's message without its hints.
fn one_line(message: &str) -> String {
    let words: Vec<&str> =
        message.lines().take_while(|line| !line.trim().is_empty()).map(str::trim).collect();
    words.join(" ").trim_start_matches("error: ").to_string()
}
