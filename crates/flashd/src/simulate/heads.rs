//! `flashd simulate --data`: all heads of a folder through the bit-exact model.

use super::histograms::Histograms;
use super::layer::in_range;
use super::model::{Speed, gaps};
use super::npy;
use crate::accuracy::SMOOTH_CAPPED;
use crate::cli::SimulateArgs;
use crate::digest::{self, hexadecimal, sha256};
use crate::output::{self, Failure, SCORE_OPTIONS, percent, print, print_json, table, warn};
use crate::select::configuration;
use flashd_files::FolderLock;
use flashd_golden::{Monitor, Step, Watch};
use flashd_simulator::{Counters, ExactResults, Prepared, Scenario, prepare, run_model};
use flashd_spec::config::{CoreConfig, Lengths};
use flashd_workload::{Bias, ScaleRule, Scaling, Trace, TraceEntry, Visible, list_dir};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

/// Description of a head's result, in a file next to it.
#[derive(Clone, Serialize, Deserialize)]
struct HeadFile {
    head: String,
    /// SHA-256 of everything that the result depends on: the operands as given, the configuration and the gaps.
    digest: String,
    /// SHA-256 of `<head>-o.npy`, the described result.
    result_digest: String,
    core: String,
    score_shift: i32,
    counters: Counters,
    invalid_queries: usize,
    empty_queries: usize,
    /// Queries with a value beyond the range of the lanes: their results are wrong.
    overflowed_queries: usize,
    /// Queries with a score beyond the core's range.
    saturated_queries: usize,
    /// Roundings in the output lanes that saturated.
    saturated: u64,
}

#[derive(Serialize)]
struct HeadsReport {
    /// With the score shifts that the heads need.
    cores: Vec<String>,
    heads: usize,
    /// Heads whose results were there.
    resumed: usize,
    engine: Speed,
    total: Totals,
    per_head: Vec<HeadFile>,
}

#[derive(Clone, Copy, Default, Serialize)]
struct Totals {
    queries: u64,
    keys: u64,
    cycles: u64,
    bubbles: u64,
    #[serde(rename = "skips")]
    steps_held: u64,
    v_reads: u64,
}

impl HeadsReport {
    /// Sums heads, each with whether its result was there; the simulation of the others took `seconds`.
    fn new(done: Vec<(HeadFile, bool)>, any: &CoreConfig, seconds: f64) -> HeadsReport {
        let mut total = Totals::default();
        for (HeadFile { counters: c, .. }, _) in &done {
            total.queries += c.queries;
            total.keys += c.keys;
            total.cycles += c.cycles;
            total.bubbles += c.bubbles;
            total.steps_held += c.held;
            total.v_reads += c.v_reads;
        }
        let mut cores: Vec<String> = done.iter().map(|(head, _)| head.core.clone()).collect();
        cores.sort();
        cores.dedup();
        HeadsReport {
            cores,
            heads: done.len(),
            resumed: done.iter().filter(|(_, resumed)| *resumed).count(),
            engine: Speed::new(any, keys_run(&done), seconds),
            total,
            per_head: done.into_iter().map(|(head, _)| head).collect(),
        }
    }
}

/// Keys of the heads whose results were not there.
fn keys_run(done: &[(HeadFile, bool)]) -> u64 {
    done.iter().filter(|(_, there)| !there).map(|(head, _)| head.counters.keys).sum()
}

pub fn run(args: &SimulateArgs, data: &Path, results: &Path) -> Result<(), Failure> {
    let input = |e: String| Failure::input(format!("--data {}: {e}", data.display()));
    let entries = list_dir(data).map_err(|e| input(e.to_string()))?;
    // Each head has a core of its vector length, or --d selects the heads.
    let core = |lengths: Lengths| configuration(&args.array.selection, Some(lengths));
    let any = core(entries[0].read_lengths().map_err(|e| input(e.to_string()))?)?;
    if any.score_shift.is_some() {
        return Err(Failure::input(
            "--score-shift: simulate derives it from the heads and --tensor-scale; leave it out",
        ));
    }
    let unwritable = |e: std::io::Error| output::unwritable("--results", results, e);
    flashd_files::create_folder(results).map_err(unwritable)?;
    // Until the end of the run.
    let _alone = FolderLock::take(results).map_err(unwritable)?.ok_or_else(|| {
        Failure::input(format!(
            "--results {}: another run is writing its results there; wait for its end or name another folder",
            results.display()
        ))
    })?;
    let histograms = args.histograms.as_ref().map(|_| Histograms::new(&any));
    let bar = crate::progress::Work::start(
        entries.len() as u64,
        "{bar:30} {pos} of {len} files, {msg}, {elapsed}, {eta} left",
    );
    let work = HeadsRun { args, results, histograms: histograms.as_ref() };
    let (start, met) = (Instant::now(), AtomicU64::new(0));
    let one = |entry: &TraceEntry| -> Result<Vec<(HeadFile, bool)>, Failure> {
        let heads = entry.load_heads_as(&visible(args, entry.causal)).map_err(|e| input(e.to_string()))?;
        let mut done = Vec::new();
        for head in heads {
            let config = core(head.attention.lengths())?;
            if config.lengths() == head.attention.lengths() {
                done.push(work.head(&config, head)?);
            }
        }
        let keys = keys_run(&done);
        let keys = met.fetch_add(keys, Ordering::Relaxed) + keys;
        bar.set_message(format!(
            "{:.2} million keys a second",
            keys as f64 * 1e-6 / start.elapsed().as_secs_f64()
        ));
        bar.inc(1);
        Ok(done)
    };
    let done = on_all(&entries, one);
    let seconds = start.elapsed().as_secs_f64();
    drop(bar);
    let done: Vec<(HeadFile, bool)> = done?.into_iter().flatten().collect();
    if done.is_empty() {
        return Err(Failure::input(format!("--d: no head in {} has d = {}", data.display(), any.d)));
    }
    if let (Some(path), Some(histograms)) = (&args.histograms, &histograms) {
        histograms.write(path)?;
    }
    let report = HeadsReport::new(done, &any, seconds);
    match args.json {
        true => print_json(&report),
        false => print(&text(&report)),
    }?;
    in_range(report.per_head.iter().map(|head| head.overflowed_queries).sum())
}

/// Runs files on the pool's number of threads, each with one file at a time; their queries share the pool.
/// Results are in the files' order, and after a failure no other file is begun.
fn on_all<T: Send>(
    entries: &[TraceEntry],
    one: impl Fn(&TraceEntry) -> Result<T, Failure> + Sync,
) -> Result<Vec<T>, Failure> {
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let done: Vec<Mutex<Option<Result<T, Failure>>>> = entries.iter().map(|_| Mutex::new(None)).collect();
    let work = || {
        while !failed.load(Ordering::Relaxed) {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(entry) = entries.get(place) else { break };
            let result = one(entry);
            failed.fetch_or(result.is_err(), Ordering::Relaxed);
            *done[place].lock().unwrap_or_else(|e| e.into_inner()) = Some(result);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..rayon::current_num_threads().min(entries.len()) {
            scope.spawn(work);
        }
    });
    // Files after a failure may not have been run.
    done.into_iter().filter_map(|result| result.into_inner().unwrap_or_else(|e| e.into_inner())).collect()
}

/// The keys that a head's queries see, which its folder calls causal or not.
fn visible(args: &SimulateArgs, causal: bool) -> Visible {
    let align = args.causal_align.unwrap_or_default();
    Visible { causal: args.causal || causal, align, ..Visible::default() }
}

/// Data shared by all heads.
struct HeadsRun<'a> {
    args: &'a SimulateArgs,
    results: &'a Path,
    histograms: Option<&'a Histograms>,
}

impl HeadsRun<'_> {
    /// One head: its file, and whether it was there already.
    fn head(&self, config: &CoreConfig, head: Trace) -> Result<(HeadFile, bool), Failure> {
        let name = head.name.clone();
        let digest = self.digest(config, &head);
        let (o, json) =
            (self.results.join(format!("{name}-o.npy")), self.results.join(format!("{name}.json")));
        let there = std::fs::read_to_string(&json).ok();
        let there = there.and_then(|text| digest::unsealed::<HeadFile>(&text).ok());
        let there = there.filter(|file| {
            file.digest == digest && std::fs::read(&o).is_ok_and(|bytes| file.result_digest == sha256(&bytes))
        });
        // Histograms need the steps again.
        if let Some(file) = there.filter(|_| self.histograms.is_none()) {
            return Ok((file, true));
        }
        let (prepared, scaling) = self.prepare(config, head)?;
        let watch = |_: usize, _: usize, steps: &[Step]| {
            if let Some(histograms) = self.histograms {
                histograms.add(steps);
            }
        };
        let monitor = Monitor { watch: self.histograms.map(|_| &watch as Watch), progress: None };
        let run = run_model(&prepared.config, &prepared.workload, gaps(self.args), monitor)
            .map_err(|e| Failure::input(format!("--data: {name}: {e}")))?;
        let failure = |path: &Path, e: std::io::Error| output::unwritable("--results", path, e);
        let saturated_scores = prepared.saturated_scores(&run.results);
        if let Some(scores) = saturated_scores {
            warn(&format!("{name}: {}", scores.warning(SCORE_OPTIONS)));
        }
        let result = npy(&prepared, &run.results).map_err(|e| failure(&o, e))?;
        let file = HeadFile {
            head: name,
            digest,
            result_digest: sha256(&result),
            core: prepared.config.name(),
            score_shift: scaling.score_shift,
            counters: run.counters,
            invalid_queries: run.results.iter().filter(|r| r.invalid).count(),
            empty_queries: run.results.iter().filter(|r| r.empty).count(),
            overflowed_queries: run.results.iter().filter(|r| r.overflow).count(),
            saturated_queries: saturated_scores.map_or(0, |scores| scores.queries),
            saturated: run.results.iter().map(|r| r.saturated).sum(),
        };
        let text = digest::sealed(&file).map_err(|e| failure(&json, e.into()))?;
        // A run can be killed at any time, and a description must never be next to another result: so the old one is removed
        // first, and the new one is written last.
        match std::fs::remove_file(&json) {
            Err(e) if e.kind() != ErrorKind::NotFound => return Err(failure(&json, e)),
            _ => {}
        }
        flashd_files::write(&o, &result).map_err(|e| failure(&o, e))?;
        flashd_files::write(&json, text.as_bytes()).map_err(|e| failure(&json, e))?;
        Ok((file, false))
    }

    /// Scales and rounds a head.
    fn prepare(&self, config: &CoreConfig, head: Trace) -> Result<(Prepared, Scaling), Failure> {
        let name = head.name.clone();
        if self.args.smooth_k && config.softcap.is_some() {
            return Err(Failure::input(SMOOTH_CAPPED));
        }
        let scenario = Scenario {
            visible: visible(self.args, head.causal),
            softcap: config.softcap,
            bias: Bias::None,
            sink: None,
            score_scale: head.score_scale(),
            tensor_scale: self.args.tensor_scale,
            scale_rule: self.args.scale_rule,
            attention: head.attention.into(),
        };
        // Only the choice of a power of two for V looks at the exact results.
        let chooses = scenario.v_exponents(config).len() > 1;
        let reference = if chooses { ExactResults::new(&scenario) } else { ExactResults::none() };
        let scenario = if self.args.smooth_k { scenario.smooth_k() } else { scenario };
        let prepared = prepare(config, &scenario, &reference)
            .map_err(|e| Failure::input(format!("--data: {name}: {e}")))?;
        let scaling = prepared.scaling;
        Ok((prepared, scaling))
    }

    /// Digest of everything that a head's result depends on.
    fn digest(&self, config: &CoreConfig, head: &Trace) -> String {
        let a = &head.attention;
        let (visible, gaps, scale) =
            (visible(self.args, head.causal), gaps(self.args), self.args.tensor_scale);
        let sizes = (a.queries, a.keys, a.lengths(), head.d);
        let mut hash = Sha256::new();
        hash.update(format!(
            "{} {sizes:?} {visible:?} {config:?} {gaps:?} {scale:?}\n",
            env!("CARGO_PKG_VERSION")
        ));
        if self.args.scale_rule != ScaleRule::default() {
            hash.update(format!("{:?}\n", self.args.scale_rule));
        }
        if self.args.smooth_k {
            hash.update("smooth k\n");
        }
        for x in [&a.q, &a.k, &a.v] {
            let bytes: Vec<u8> = x.iter().flat_map(|x| x.to_le_bytes()).collect();
            hash.update(bytes);
        }
        hexadecimal(&hash.finalize())
    }
}

fn text(r: &HeadsReport) -> String {
    let t = &r.total;
    let held = percent(t.steps_held as f64 / t.keys.max(1) as f64);
    let mut rows = vec![
        [if r.cores.len() == 1 { "core" } else { "cores" }.to_string(), r.cores.join(", ")],
        ["heads".into(), format!("{}, {} of them were there", r.heads, r.resumed)],
        ["queries, keys".into(), format!("{}, {}", t.queries, t.keys)],
        ["cycles".into(), format!("{} ({} bubbles)", t.cycles, t.bubbles)],
        ["steps held".into(), format!("{} ({held}), {} values read", t.steps_held, t.v_reads)],
    ];
    rows.extend(r.engine.rows());
    table(&["run", ""], rows.into_iter().map(|row| row.to_vec()).collect())
}
