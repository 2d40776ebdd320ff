//! Jobs of an attention unit as JSON.
//!
//! A job is an object, several are a list. It has the fields of a descriptor by their names in lower case, as numbers or as text such as
//! `"0x1000"`; `flags`, a list of names in lower case; `states_of`, the number of an earlier job whose states it starts from; and its
//! tensors: `tensors`, files by `q`, `k` and `v`, or `seed` for random ones.
//! Missing fields have defaults: sizes from the tensors, rows without gaps, tensors one after another.

use super::layout::{FIRST_ROW, Layout};
use super::prepare::{FileJob, JobTensors};
use super::workload::{Readable, UnitJob};
use flashd_spec::config::Lengths;
use flashd_spec::unit::codes::FLAGS;
use flashd_spec::unit::descriptor::{Descriptor, DescriptorField, FIELDS};
use flashd_spec::unit::{Flag, UnitConfig};
use flashd_workload::synthetic::attention_like;
use flashd_workload::{Attention, Layer};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde_json::{Map, Value};
use std::path::Path;

/// Fields that are no descriptor's.
const OTHERS: [&str; 4] = ["flags", "tensors", "seed", "states_of"];

/// Where the tensors of a job come from.
enum Source<'a> {
    /// Files in a folder, or a seed.
    Fields(&'a Path),
    /// The caller, with queries, keys, heads of a group and heads of keys.
    Caller(JobTensors, [u64; 4]),
}

/// Reads the jobs of a file.
///
/// # Errors
/// Names the job, the field, the mistake and what would be right; not the file.
pub fn read_jobs(path: &Path, config: &UnitConfig) -> Result<Vec<FileJob>, String> {
    let text = flashd_files::read_text(path).map_err(|e| e.to_string())?;
    let value: Value = flashd_files::from_json(&text).map_err(|e| e.to_string())?;
    let jobs = match value {
        Value::Array(jobs) => jobs,
        one => vec![one],
    };
    if jobs.is_empty() {
        return Err("an empty list; a file has at least one job".into());
    }
    let mut layout = Layout::new(FIRST_ROW, u64::from(config.beat_bits / 8));
    let several = jobs.len() > 1;
    let mut read: Vec<FileJob> = Vec::new();
    for (n, value) in jobs.iter().enumerate() {
        let place = if several { format!("job {n}, ") } else { String::new() };
        let source = Source::Fields(path.parent().unwrap_or(Path::new("")));
        let job = job(value, config, (&mut layout, &read), source);
        read.push(job.map_err(|problem| format!("{place}{problem}"))?);
    }
    apart(&read, config)?;
    Ok(read)
}

/// A job of fields as in a file, with tensors of a caller: `sizes` are queries, keys, heads of a group and heads of keys.
///
/// # Errors
/// As [`read_jobs`].
///
/// # Panics
/// If the tensors do not have these sizes.
pub fn job_of(
    fields: &Value,
    config: &UnitConfig,
    tensors: JobTensors,
    sizes: [u64; 4],
) -> Result<FileJob, String> {
    let mut layout = Layout::new(FIRST_ROW, u64::from(config.beat_bits / 8));
    let job = job(fields, config, (&mut layout, &[]), Source::Caller(tensors, sizes))?;
    apart(std::slice::from_ref(&job), config)?;
    Ok(job)
}

fn job(
    value: &Value,
    config: &UnitConfig,
    (layout, earlier): (&mut Layout, &[FileJob]),
    source: Source,
) -> Result<FileJob, String> {
    let Value::Object(fields) = value else { return Err("a job is an object in braces".into()) };
    let mut descriptor = Descriptor::default();
    for (name, value) in fields.iter().filter(|(name, _)| !OTHERS.contains(&name.as_str())) {
        let field = FIELDS.iter().find(|field| field.name != "FLAGS" && field.name.to_lowercase() == *name);
        let field = field.ok_or_else(|| unknown(name))?;
        descriptor.set(field.name, number(field, value).map_err(|problem| format!("{name}: {problem}"))?);
    }
    flags(fields, &mut descriptor)?;
    let given = |name: &str| fields.contains_key(&name.to_lowercase());
    let lengths = config.array.core.lengths();
    let tensors = match (source, fields.get("tensors"), fields.get("seed")) {
        (Source::Caller(tensors, sizes), ..) => {
            let names = ["QUERIES", "KEYS", "GROUP", "K_HEADS"].into_iter().zip(sizes);
            names.into_iter().try_for_each(|(name, is)| size(&mut descriptor, &given, name, is))?;
            tensors
        }
        (_, Some(_), Some(_)) => return Err("tensors, seed: one of them".into()),
        (Source::Fields(folder), Some(tensors), None) => {
            from_files(tensors, folder, lengths, &mut descriptor, &given)?
        }
        (_, None, seed) => {
            let seed = seed.map_or(Some(1), Value::as_u64).ok_or("seed: takes a whole number")?;
            random(seed, lengths, &descriptor)?
        }
    };
    let states_of =
        fields.get("states_of").map(|value| states_of(value, earlier, &mut descriptor)).transpose()?;
    let left = ["STATE_IN", "STATE_ROW", "STATE_HEAD"];
    let given = |name: &str| given(name) || states_of.is_some() && left.contains(&name);
    layout.complete(config, &mut descriptor, &given);
    let table = table(fields, &descriptor)?;
    let job = descriptor.job();
    job.check(config).map_err(|e| format!("refused: {}", meaning(e as u32)))?;
    Ok(FileJob { descriptor, tensors, table, states_of })
}

/// The job whose states this one starts from, where that job writes them.
fn states_of(value: &Value, earlier: &[FileJob], descriptor: &mut Descriptor) -> Result<usize, String> {
    let takes = "states_of: takes the number of an earlier job with the flag state_out";
    let number = value.as_u64().and_then(|n| usize::try_from(n).ok());
    let (number, of) = number.and_then(|n| Some((n, earlier.get(n)?))).ok_or(takes)?;
    if !of.descriptor.has(Flag::StateOut) {
        return Err(takes.into());
    }
    let sizes = ["QUERIES", "GROUP", "K_HEADS"];
    if sizes.iter().any(|name| of.descriptor.get(name).max(1) != descriptor.get(name).max(1)) {
        return Err(format!("states_of: job {number} has other queries, group or k_heads"));
    }
    descriptor.add(Flag::StateIn);
    descriptor.set("STATE_IN", of.descriptor.get("STATE_OUT"));
    ["STATE_ROW", "STATE_HEAD"].iter().for_each(|name| descriptor.set(name, of.descriptor.get(name)));
    Ok(number)
}

fn unknown(name: &str) -> String {
    let of_table = FIELDS.iter().map(|field| field.name.to_lowercase()).filter(|name| name != "flags");
    let known: Vec<String> = OTHERS.map(String::from).into_iter().chain(of_table).collect();
    format!("{name}: no field has this name; known are {}", known.join(", "))
}

/// The meaning of a code in STATUS.
fn meaning(code: u32) -> String {
    let row = flashd_spec::unit::codes::CODES.iter().find(|row| row.code == code);
    row.map_or_else(|| format!("code {code}"), |row| format!("{} ({})", row.meaning, row.name))
}

/// A number that its field holds; negative ones in two's complement.
fn number(field: &DescriptorField, value: &Value) -> Result<u64, String> {
    let bits = field.bits;
    let parsed = match value {
        Value::Number(number) => number.as_i128(),
        Value::String(text) => match text.strip_prefix("0x") {
            Some(digits) => i128::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        },
        _ => None,
    };
    let parsed = parsed.ok_or_else(|| format!("{value} is no whole number"))?;
    let least = if field.name == "POSITION" { -(1i128 << (bits - 1)) } else { 0 };
    match (least..1i128 << bits).contains(&parsed) {
        true => Ok(parsed as u64),
        false => Err(format!("{parsed} is beyond the {bits} bits of the field")),
    }
}

fn flags(fields: &Map<String, Value>, descriptor: &mut Descriptor) -> Result<(), String> {
    // Interrupts and links are the run's.
    let taken = [Flag::Causal, Flag::Window, Flag::Paged, Flag::Lse, Flag::StateOut];
    let names = || taken.map(|flag| FLAGS[flag as usize].name.to_lowercase());
    let takes = || format!("flags: takes a list of {}", names().join(", "));
    let list = match fields.get("flags") {
        None => return Ok(()),
        Some(value) => value.as_array().ok_or_else(takes)?,
    };
    for flag in list {
        let place = names().iter().position(|name| flag.as_str() == Some(name)).ok_or_else(takes)?;
        descriptor.add(taken[place]);
    }
    Ok(())
}

/// Sets a size, or compares it.
fn size(
    descriptor: &mut Descriptor,
    given: &dyn Fn(&str) -> bool,
    name: &str,
    tensors: u64,
) -> Result<(), String> {
    if given(name) && descriptor.get(name) != tensors {
        let (is, name) = (descriptor.get(name), name.to_lowercase());
        return Err(format!("{name}: {is}, and the tensors have {tensors}"));
    }
    descriptor.set(name, tensors);
    Ok(())
}

fn from_files(
    tensors: &Value,
    folder: &Path,
    lengths: Lengths,
    descriptor: &mut Descriptor,
    given: &dyn Fn(&str) -> bool,
) -> Result<JobTensors, String> {
    let takes = || "tensors: takes the files of \"q\", \"k\" and \"v\"".to_string();
    let map = tensors.as_object().filter(|map| map.len() == 3).ok_or_else(takes)?;
    let file =
        |name: &str| map.get(name).and_then(Value::as_str).map(|path| folder.join(path)).ok_or_else(takes);
    let layer =
        Layer::from_npy(&file("q")?, &file("k")?, &file("v")?).map_err(|e| format!("tensors: {e}"))?;
    let heads = layer.heads.into_iter().map(Attention::finite).collect::<Result<Vec<_>, _>>();
    let heads = heads.map_err(|e| format!("tensors: {e}"))?;
    let own = heads[0].lengths();
    if own != lengths {
        return Err(format!(
            "tensors: rows of {} and {}, and the core has {} and {}",
            own.k, own.v, lengths.k, lengths.v
        ));
    }
    size(descriptor, given, "QUERIES", heads[0].queries as u64)?;
    size(descriptor, given, "KEYS", heads[0].keys as u64)?;
    // Heads of a group have the keys of one head.
    let group = match given("GROUP") {
        true => descriptor.get("GROUP").max(1) as usize,
        false => heads.iter().take_while(|head| (&head.k, &head.v) == (&heads[0].k, &heads[0].v)).count(),
    };
    let of_group =
        |heads: &[Attention]| heads.iter().all(|head| (&head.k, &head.v) == (&heads[0].k, &heads[0].v));
    if !heads.len().is_multiple_of(group) || !heads.chunks(group).all(of_group) {
        return Err(format!("group: {group}, and the tensors have no groups of so many heads"));
    }
    size(descriptor, given, "GROUP", group as u64)?;
    size(descriptor, given, "K_HEADS", (heads.len() / group) as u64)?;
    let first = || heads.iter().step_by(group);
    Ok(JobTensors {
        k: first().flat_map(|head| head.k.iter().copied()).collect(),
        v: first().flat_map(|head| head.v.iter().copied()).collect(),
        q: heads.iter().flat_map(|head| head.q.iter().copied()).collect(),
    })
}

/// Random tensors, with scores as in trained models.
fn random(seed: u64, lengths: Lengths, descriptor: &Descriptor) -> Result<JobTensors, String> {
    if lengths.k != lengths.v {
        return Err("seed: random tensors have values as long as keys; give tensors".into());
    }
    let size = |name: &str| descriptor.get(name) as usize;
    let (queries, keys) = (size("QUERIES"), size("KEYS"));
    let (group, heads) = (size("GROUP").max(1), size("K_HEADS").max(1));
    if (queries * group * heads).max(keys * heads) > 1 << 22 {
        return Err("queries, keys: more than 2^22 rows".into());
    }
    let mut tensors = JobTensors { q: Vec::new(), k: Vec::new(), v: Vec::new() };
    for head in 0..heads as u64 {
        let drawn = attention_like(seed.wrapping_add(head), (queries * group).max(1), keys.max(1), lengths.k);
        tensors.q.extend(&drawn.q[..queries * group * lengths.k]);
        tensors.k.extend(&drawn.k[..keys * lengths.k]);
        tensors.v.extend(&drawn.v[..keys * lengths.v]);
    }
    Ok(tensors)
}

/// With pages: which page each piece of keys is in, in an order drawn from the seed.
fn table(fields: &Map<String, Value>, descriptor: &Descriptor) -> Result<Vec<u32>, String> {
    let Some(pages) = descriptor.job().pages else { return Ok(Vec::new()) };
    let used = descriptor.get("KEYS").div_ceil(1 << pages.tokens.min(16)) as usize;
    if used > pages.count as usize {
        return Err(format!("pages: {}, and the keys need {used}", pages.count));
    }
    let seed = fields.get("seed").and_then(Value::as_u64).unwrap_or(1);
    let mut table: Vec<u32> = (0..pages.count).collect();
    table.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
    table.truncate(used);
    Ok(table)
}

/// Refuses results that overlap operands, other results or the descriptors of a queue: a run compares all of memory with results that are
/// known before it starts.
fn apart(jobs: &[FileJob], config: &UnitConfig) -> Result<(), String> {
    let footprint = |job: &FileJob| {
        let FileJob { mut descriptor, table, .. } = job.clone();
        if job.states_of.is_some() {
            // They are results of another job.
            descriptor.set("FLAGS", descriptor.get("FLAGS") & !(1 << Flag::StateIn as u32));
        }
        UnitJob { descriptor, table, ..UnitJob::default() }.footprint(config)
    };
    let all: Vec<_> = jobs.iter().map(footprint).collect();
    let mut operands: Vec<_> = all.iter().flat_map(|[operands, _]| operands.iter().cloned()).collect();
    if jobs.len() > 1 {
        operands.push(0..FIRST_ROW);
    }
    let operands = Readable::new(operands);
    let mut results: Vec<_> = all.iter().flat_map(|[_, results]| results.iter().cloned()).collect();
    results.sort_by_key(|row| row.start);
    if results.iter().any(|row| operands.has_some(row)) {
        return Err("o: results lie on operands, or below 0x10000 on the descriptors of a list".into());
    }
    match results.windows(2).any(|pair| pair[1].start < pair[0].end) {
        true => Err("o: results lie on each other".into()),
        false => Ok(()),
    }
}
