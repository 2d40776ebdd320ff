//! One core on one stream in every engine.

use crate::rtl::{BESIDE, Played, Player, Stream, player};
use flashd_golden::{Head, Isa, Model, QueryResult, VectorModel, plain_attention, v_exponent};
use flashd_simulator::{Gaps, Workload, run as run_lockstep};
use flashd_spec::config::CoreConfig;
use flashd_spec::format::Format;
use flashd_spec::numerics::Numerics;
use flashd_workload::{ScoreScale, TensorScale, choose_scaling, quantise, synthetic};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Map, Value, json};
use std::error::Error;
use std::hint::black_box;
use std::process::Command;
use std::time::Instant;

/// Queries and keys of the run in the reference simulator, which is slow.
const SLOW_STREAM: (usize, usize) = (8, 512);
/// The engines, all of them by default.
const ENGINES: [&str; 7] = ["vector", "model", "plain", "rtl", "beside", "lockstep", "reference"];

/// A bench that Verilator has compiled.
struct Bench {
    program: String,
    /// Verilator's version, and the time of compilation.
    version: String,
    build_seconds: f64,
}

struct Options {
    config: CoreConfig,
    queries: usize,
    keys: usize,
    repeats: usize,
    /// Seconds that a measurement takes at least.
    window: f64,
    seed: u64,
    threads: usize,
    stream: Option<String>,
    benches: Vec<Bench>,
    isa: Isa,
    engines: Vec<String>,
}

impl Options {
    fn from_arguments(arguments: Vec<String>) -> Result<Options, Box<dyn Error>> {
        let mut arguments = arguments.into_iter();
        let path = arguments.next().ok_or("the first argument is a core's configuration, as in configs/")?;
        let text = std::fs::read_to_string(&path).map_err(|e| format!("{path}: {e}"))?;
        let config: CoreConfig = serde_json::from_str(&text).map_err(|e| format!("{path}: {e}"))?;
        config.validate().map_err(|e| format!("{path}: {e}"))?;
        let mut options = Options {
            config,
            queries: 64,
            keys: 1024,
            repeats: 5,
            window: 0.3,
            seed: 1,
            threads: 1,
            stream: None,
            benches: Vec::new(),
            isa: Isa::best(),
            engines: ENGINES.map(String::from).to_vec(),
        };
        while let Some(flag) = arguments.next() {
            let value = arguments.next().ok_or(format!("{flag} needs a value"))?;
            let number = || value.parse::<usize>().map_err(|e| format!("{flag} {value}: {e}"));
            match flag.as_str() {
                "--queries" => options.queries = number()?.max(1),
                "--keys" => options.keys = number()?.max(1),
                "--repeats" => options.repeats = number()?.max(1),
                "--window" => {
                    options.window = value.parse().map_err(|e| format!("{flag} {value}: {e}"))?;
                }
                "--seed" => options.seed = number()? as u64,
                "--threads" => options.threads = number()?.max(1),
                "--stream" => options.stream = Some(value),
                "--verilator" => {
                    let parts: Vec<&str> = value.splitn(3, ',').collect();
                    let [program, seconds, version] = parts[..] else {
                        return Err(format!("{flag} {value}: wants PROGRAM,SECONDS,VERSION").into());
                    };
                    let build_seconds = seconds.parse().map_err(|e| format!("{flag} {value}: {e}"))?;
                    let (program, version) = (program.to_string(), version.to_string());
                    options.benches.push(Bench { program, version, build_seconds });
                }
                "--isa" => {
                    let isa = Isa::available().into_iter().find(|isa| isa.to_string() == value);
                    options.isa = isa.ok_or_else(|| {
                        let there: Vec<String> = Isa::available().iter().map(Isa::to_string).collect();
                        format!("{flag} {value}: this machine has {}", there.join(", "))
                    })?;
                }
                "--engines" => options.engines = value.split(',').map(String::from).collect(),
                _ => return Err(format!("unknown option {flag}").into()),
            }
        }
        Ok(options)
    }
}

/// The run time of an engine.
struct Time {
    /// Seconds of one run: processor time with one thread, else by the clock.
    seconds: f64,
    /// By the clock.
    clock: f64,
    /// Runs of a measurement.
    runs: u32,
}

impl Time {
    /// As JSON, with what else is known of the engine.
    fn with(&self, keys: u64, more: Value) -> Value {
        let mut entry = json!({
            "keys": keys, "seconds": self.seconds, "clock_seconds": self.clock, "runs": self.runs,
        });
        if let (Value::Object(entry), Value::Object(mut more)) = (&mut entry, more) {
            entry.append(&mut more);
        }
        entry
    }
}

/// Returns the least time of several measurements, each of enough runs to fill the window, and the last run's
/// result.
fn time<T>(options: &Options, mut run: impl FnMut() -> T) -> (Time, T) {
    let processor = || {
        let now = clock_gettime(ClockId::ThreadCPUTime);
        now.tv_sec as f64 + 1e-9 * now.tv_nsec as f64
    };
    let mut measure = |runs: u32| {
        let (start, wall) = (processor(), Instant::now());
        let mut last = black_box(run());
        for _ in 1..runs {
            last = black_box(run());
        }
        let clock = wall.elapsed().as_secs_f64();
        let seconds = if options.threads == 1 { processor() - start } else { clock };
        (seconds, clock, last)
    };
    // The first run warms up; from the second on, times are about the same.
    measure(1);
    let runs = (options.window / measure(1).0).ceil().clamp(1.0, 1e6) as u32;
    let (mut best, mut clock, mut last) = measure(runs);
    for _ in 1..options.repeats {
        let (seconds, by_clock, result) = measure(runs);
        (best, clock, last) = (best.min(seconds), clock.min(by_clock), result);
    }
    let each = |seconds: f64| seconds / f64::from(runs);
    (Time { seconds: each(best), clock: each(clock), runs }, last)
}

/// A vector as on a port: elements from the lowest bits on, in words of 32 bits.
fn words(format: Format, vector: &[u64]) -> Vec<u32> {
    let width = format.width() as usize;
    let mut words = vec![0u32; (vector.len() * width).div_ceil(32)];
    for (i, &bits) in vector.iter().enumerate() {
        // Widths are powers of two up to 32: no element crosses words.
        words[i * width / 32] |= (bits as u32) << (i * width % 32);
    }
    words
}

/// FNV-1a over the words of all results, as in the bench.
fn hash<'a>(format: Format, results: impl IntoIterator<Item = &'a [u64]>) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for word in results.into_iter().flat_map(|o| words(format, o)) {
        hash = (hash ^ u64::from(word)).wrapping_mul(0x100_0000_01b3);
    }
    format!("{hash:016x}")
}

fn elements(results: &[QueryResult]) -> impl Iterator<Item = &[u64]> {
    results.iter().map(|result| &result.o[..])
}

/// Runs the engines that the arguments name, and gives one JSON object.
pub fn run(arguments: Vec<String>) -> Result<Value, Box<dyn Error>> {
    let options = Options::from_arguments(arguments)?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(options.threads).use_current_thread().build()?;
    Ok(pool.install(|| measure(&options).map_err(|e| e.to_string()))?)
}

/// Runs the bench that Verilator has compiled; its last line is JSON.
fn verilator(program: &str, stream: &str, repeats: usize) -> Result<Value, Box<dyn Error>> {
    let run = Command::new(program).args([stream, &repeats.to_string()]).output();
    let output = run.map_err(|e| format!("--verilator {program}: {e}"))?;
    if !output.status.success() {
        return Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    let text = String::from_utf8(output.stdout)?;
    Ok(serde_json::from_str(text.lines().last().unwrap_or_default())?)
}

fn measure(options: &Options) -> Result<Value, Box<dyn Error>> {
    let &Options { queries, keys, seed, .. } = options;
    let (format, d) = (options.config.format, options.config.d);
    let a = synthetic::attention_like(seed, queries, keys, d);
    let scaling = choose_scaling(format, &a, ScoreScale::Auto, TensorScale::None)?;
    let config = options.config.clone();
    if config.score_shift() != scaling.score_shift {
        return Err(format!("the stream needs a score shift of {}", scaling.score_shift).into());
    }
    let rounded = quantise(format, scaling, &a);
    let (q, k, v) = (&rounded.q, &rounded.k, &rounded.v);
    let exponent = v_exponent(format, v);
    if let Some(path) = &options.stream {
        let head = [d as u64, format.width().into(), queries as u64, keys as u64, exponent];
        let vectors = [q, k, v].into_iter().flat_map(|x| x.chunks(d)).flat_map(|x| words(format, x));
        let bytes = head.iter().flat_map(|x| x.to_le_bytes());
        let bytes: Vec<u8> = bytes.chain(vectors.flat_map(u32::to_le_bytes)).collect();
        flashd_files::write(std::path::Path::new(path), &bytes)?;
    }
    let (lengths, exponents) = (vec![keys; queries], vec![exponent; queries]);
    let latency = u64::from(Numerics::new(&config).latency());
    let mut all = Map::new();
    let steps = (queries * keys) as u64;
    for engine in &options.engines {
        let entry = match engine.as_str() {
            "vector" => {
                let model = VectorModel::new(&config).with_isa(options.isa);
                let head = Head::new(q, k, v, &lengths).with_exponents(&exponents);
                let (time, run) = time(options, || model.run(head));
                let reads: u64 = run.counts.iter().map(|c| c.value_reads()).sum();
                let more = json!({
                    "v_reads": reads, "cycles": steps + latency, "hash": hash(format, elements(&run.results)),
                    "instructions": model.isa().to_string(), "path": format!("{:?}", model.path()),
                });
                time.with(steps, more)
            }
            "model" => {
                let model = Model::new(&config);
                let (time, results) = time(options, || model.run(Head::new(q, k, v, &lengths)));
                time.with(steps, json!({ "hash": hash(format, elements(&results)) }))
            }
            "plain" => {
                let scale = ScoreScale::Auto.factor(d) as f32;
                let run = || plain_attention(options.isa, d, &a.q, &a.k, &a.v, scale);
                time(options, run).0.with(steps, Value::Null)
            }
            "lockstep" => {
                let workload = Workload::new(format, d, q, k, v);
                let (time, run) = time(options, || run_lockstep(&config, &workload, Gaps::None, &mut []));
                let counters = run?.counters;
                time.with(counters.keys, json!({ "cycles": counters.cycles }))
            }
            "rtl" | "beside" | "reference" => {
                let (queries, keys) = match engine.as_str() {
                    "reference" => (queries.min(SLOW_STREAM.0), keys.min(SLOW_STREAM.1)),
                    _ => (queries, keys),
                };
                let cut = [&q[..queries * d], &k[..keys * d], &v[..keys * d]];
                if format.width() <= 16 {
                    rtl(options, engine, &Stream::<u16>::new(d, cut, exponent)?)?
                } else {
                    rtl(options, engine, &Stream::<u32>::new(d, cut, exponent)?)?
                }
            }
            _ => return Err(format!("--engines: unknown engine {engine}").into()),
        };
        all.insert(engine.clone(), entry);
    }
    let mut fastest: Option<Value> = None;
    for bench in &options.benches {
        let stream = options.stream.as_deref().ok_or("--verilator needs --stream")?;
        let mut entry = verilator(&bench.program, stream, options.repeats)?;
        entry["build_seconds"] = bench.build_seconds.into();
        entry["version"] = bench.version.clone().into();
        let seconds = |entry: &Value| entry["seconds"].as_f64().unwrap_or(f64::INFINITY);
        if fastest.as_ref().is_none_or(|other| seconds(&entry) < seconds(other)) {
            fastest = Some(entry.clone());
        }
        all.insert(format!("verilator {}", bench.version), entry);
    }
    all.extend(fastest.map(|entry| ("verilator".to_string(), entry)));
    same(&config, &all)?;
    Ok(json!({
        "core": config.name(), "queries": queries, "keys": keys, "seed": seed, "threads": options.threads,
        "repeats": options.repeats, "window_seconds": options.window,
        "engines": all,
    }))
}

/// A stream in one of the engines that run the RTL.
fn rtl<T: Copy + Into<u64>>(
    options: &Options,
    engine: &str,
    stream: &Stream<T>,
) -> Result<Value, Box<dyn Error>> {
    let Player { start, instructions, mut play } =
        player(engine, &options.config, stream, &options.isa.to_string())?;
    let (time, Played { o, cycles, reads }) = time(options, &mut play);
    let steps = (stream.queries() * stream.keys()) as u64;
    let mut more = json!({ "start_seconds": start, "instructions": instructions });
    match engine {
        // Counts of a shorter stream are left out.
        "reference" => {}
        "beside" => more["runs_beside"] = BESIDE.into(),
        _ => more["cycles"] = cycles.into(),
    }
    if engine != "reference" {
        more["v_reads"] = reads.into();
        more["hash"] = hash(options.config.format, o.chunks(stream.d)).into();
    }
    Ok(time.with(steps, more))
}

/// Whether what engines say of the whole stream is the same.
fn same(config: &CoreConfig, engines: &Map<String, Value>) -> Result<(), String> {
    for what in ["hash", "v_reads", "cycles"] {
        let mut said = engines.iter().filter_map(|(name, entry)| Some((name, entry.get(what)?)));
        let Some((first, expected)) = said.next() else { continue };
        if let Some((name, other)) = said.find(|(_, value)| *value != expected) {
            return Err(format!("{}: {what} is {expected} in {first}, {other} in {name}", config.name()));
        }
    }
    Ok(())
}
