//! Runs as a table and as a file.

use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Prints the table of a file of runs, and with `--out` writes them with date and machine.
pub fn run(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let path = arguments.first().ok_or("--report needs a file of runs")?;
    let text = fs::read_to_string(path).map_err(|e| format!("{path}: {e}"))?;
    let runs: Vec<Value> = text
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()
        .map_err(|e| format!("{path}: {e}"))?;
    println!("{}", table(&runs));
    if let [_, flag, out] = arguments {
        if flag != "--out" {
            return Err(format!("unknown option {flag}").into());
        }
        let all = json!({ "date": date(), "machine": machine(), "runs": runs });
        flashd_files::write(Path::new(out), serde_json::to_string_pretty(&all)?.as_bytes())?;
        println!("{out}");
    }
    Ok(())
}

/// Keys per second of a run's engine.
fn rate(run: &Value, engine: &str) -> Option<f64> {
    let engine = &run["engines"][engine];
    Some(engine["keys"].as_f64()? / engine["seconds"].as_f64()?)
}

fn table(runs: &[Value]) -> String {
    let mut text = format!(
        "{:22} {:>7} {:>6} {:>7} {:>10} {:>10} {:>6} {:>11} {:>9} {:>9}\n",
        "core",
        "queries",
        "keys",
        "threads",
        "Mkeys/s",
        "/ 1 thread",
        "(f32)",
        "/ Verilator",
        "/ model",
        "/ f32"
    );
    for run in runs {
        let Some(own) = rate(run, "vector") else { continue };
        let ratio = |engine: &str| rate(run, engine).map(|other| own / other);
        let cell = |x: Option<f64>, digits: usize| x.map_or("-".to_string(), |x| format!("{x:.digits$}"));
        // Against the same stream on one thread, both by the clock.
        let single = runs.iter().find(|r| {
            ["core", "queries", "keys"].iter().all(|field| r[*field] == run[*field]) && r["threads"] == 1
        });
        let clock = |run: &Value, engine: &str| run["engines"][engine]["clock_seconds"].as_f64();
        let threads = |engine: &str| {
            let single = single.filter(|_| run["threads"] != 1)?;
            Some(clock(single, engine)? / clock(run, engine)?)
        };
        text += &format!(
            "{:22} {:>7} {:>6} {:>7} {:>10.2} {:>10} {:>6} {:>11} {:>9} {:>9}\n",
            run["core"].as_str().unwrap_or_default(),
            run["queries"].as_u64().unwrap_or(0),
            run["keys"].as_u64().unwrap_or(0),
            run["threads"].as_u64().unwrap_or(0),
            own * 1e-6,
            cell(threads("vector"), 2),
            cell(threads("plain"), 2),
            cell(ratio("verilator"), 0),
            cell(ratio("model"), 1),
            cell(ratio("plain"), 3),
        );
    }
    let number = |run: &Value, field: &str| run[field].as_f64().unwrap_or(0.0);
    let least = |field: &str| runs.iter().map(|run| number(run, field)).fold(f64::INFINITY, f64::min);
    if !runs.is_empty() {
        text += &format!(
            "\nEach time is the least of {} measurements of at least {} s of runs; Verilator runs once in each.\n",
            least("repeats"),
            least("window_seconds")
        );
    }
    let engine = |run: &Value, field: &str| run["engines"]["vector"][field].as_str().map(String::from);
    for instructions in runs.iter().filter_map(|run| engine(run, "instructions")).collect::<BTreeSet<_>>() {
        text += &format!("Model and f32 in {instructions}.\n");
    }
    text + &rtl_table(runs)
}

/// The engines that run the RTL: keys per second, and their ratios.
fn rtl_table(runs: &[Value]) -> String {
    let mut text = format!(
        "\n{:22} {:>12} {:>9} {:>12} {:>11} {:>10} {:>10} {:>10} {:>9} {:>10}\n",
        "RTL, one thread",
        "Verilator /s",
        "build s",
        "compiled /s",
        "/ Verilator",
        "64 beside",
        "lock-step",
        "reference",
        "start ms",
        "/ reference"
    );
    let mut used = BTreeSet::new();
    for run in runs {
        let (Some(own), Some(verilator)) = (rate(run, "rtl"), rate(run, "verilator")) else { continue };
        let engines = &run["engines"];
        let ratio = |engine: &str| rate(run, engine).map_or("-".into(), |x| format!("{:.2}", x / verilator));
        let number = |engine: &str, field: &str| engines[engine][field].as_f64().unwrap_or(0.0);
        text += &format!(
            "{:22} {verilator:>12.0} {:>9.1} {own:>12.0} {:>11} {:>10} {:>10} {:>10} {:>9.0} {:>10}\n",
            run["core"].as_str().unwrap_or_default(),
            number("verilator", "build_seconds"),
            ratio("rtl"),
            ratio("beside"),
            ratio("lockstep"),
            ratio("reference"),
            1e3 * number("rtl", "start_seconds"),
            rate(run, "reference").map_or("-".into(), |x| format!("{:.1}", own / x)),
        );
        let said =
            |engine: &str, field: &str| engines[engine][field].as_str().unwrap_or_default().to_string();
        used.insert(format!("Compiled engine: {}.", said("rtl", "instructions")));
        used.insert(format!("Fastest Verilator of some core: {}.", said("verilator", "version")));
    }
    used.iter().for_each(|line| text += &format!("{line}\n"));
    text
}

/// The date by the system's clock.
fn date() -> String {
    let output = Command::new("date").args(["-u", "+%Y-%m-%d"]).output();
    output.map(|o| String::from_utf8_lossy(&o.stdout).trim().to_string()).unwrap_or_default()
}

/// Processor and tools; nothing that names the machine.
fn machine() -> Value {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let line = cpu.lines().find(|line| line.split(':').next().is_some_and(|field| field.trim() == name));
        line.and_then(|line| line.split_once(':'))
            .map(|(_, value)| value.trim().to_string())
            .unwrap_or_default()
    };
    let flags = field("flags");
    let features: Vec<&str> =
        flags.split(' ').filter(|f| f.starts_with("avx") || ["fma", "bmi2"].contains(f)).collect();
    let version = |program: &str| {
        let output = Command::new(program).arg("--version").output();
        let text = output.map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_default();
        text.lines().next().unwrap_or_default().to_string()
    };
    json!({
        "cpu": field("model name"), "family": field("cpu family"), "model": field("model"),
        "cores": std::thread::available_parallelism().map_or(1, |n| n.get()), "features": features,
        "verilator": version("verilator"), "compiler": version("g++"), "rustc": version("rustc"),
    })
}
