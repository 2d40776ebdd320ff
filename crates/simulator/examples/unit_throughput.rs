//! Speed of a unit with its memory and its host, in the compiled engine: one thread, for scripts/bench-unit.
//!
//!     unit_throughput UNIT.json JOB.json LATENCY REPEATS STREAM
//!
//! Runs a job from its start to its interrupt, and compares memory with the model. STREAM is what testbench/bench/unit.cpp needs for the same
//! run, little-endian words of 64 bits: beat bytes, latency, address and size of the operands, of the results, number of writes of registers,
//! the writes as address and data, and the operands' bytes. The last line is JSON: cycles, seconds of processor time of the run, of the
//! fastest repeat, and a hash of all results.

use flashd_hwmodel::unit::registers::{IRQ_EN_BIT, JOB_BASE, START_BIT};
use flashd_simulator::unit::{HANG, Memory, PreparedJobs, UnitBench, UnitDrive, UnitJob, read_jobs};
use flashd_spec::unit::UnitConfig;
use flashd_workload::{ScaleRule, ScoreScale, TensorScale};
use std::error::Error;
use std::io::Write;
use std::path::Path;

/// The address of CTRL, and its value that starts a job.
const CTRL: (u64, u64) = (0x00, 1 << START_BIT | 1 << IRQ_EN_BIT);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, unit, job, latency, repeats, stream] = &arguments[..] else {
        return Err("usage: unit_throughput UNIT.json JOB.json LATENCY REPEATS STREAM".into());
    };
    let config: UnitConfig = serde_json::from_str(&std::fs::read_to_string(unit)?)?;
    let jobs = read_jobs(Path::new(job), &config)?;
    let rules = (ScoreScale::default(), TensorScale::default(), ScaleRule::default());
    let prepared = PreparedJobs::new(&config, jobs, rules)?;
    let (config, job) = (&prepared.config, prepared.jobs.first().ok_or("no job")?);
    let latency: u64 = latency.parse()?;
    let mut memory = Memory::default();
    job.place(config, &mut memory);
    let [operands, results] = job.footprint(config).map(|ranges| {
        let ends = ranges.iter().map(|range| range.end).max().unwrap_or(0);
        ranges.iter().map(|range| range.start).min().unwrap_or(0)..ends
    });
    let read =
        |memory: &Memory, of: &std::ops::Range<u64>| memory.bytes(of.start, (of.end - of.start) as usize);
    write_stream(stream, config, job, latency, [&operands, &results], &read(&memory, &operands))?;
    let mut due = memory.clone();
    job.place_results(config, &job.expected(config), &mut due);
    let (mut best, mut cycles) = (f64::INFINITY, 0);
    for _ in 0..repeats.parse()? {
        let drive = UnitDrive::fixed(latency, 1);
        let mut bench = UnitBench::new(config, memory.clone(), &drive, &mut [])?;
        let start = processor_time();
        bench.write_job(&job.descriptor)?;
        bench.write("CTRL", CTRL.1 as u32)?;
        while !bench.irq {
            bench.cycle()?;
        }
        best = best.min(processor_time() - start);
        bench.wait(true, HANG)?;
        cycles = bench.read("CYCLES")?;
        if let Some(address) = bench.port.memory.difference(&due) {
            return Err(format!("another byte than the model's at {address:#x}").into());
        }
    }
    let hash = hash(&read(&due, &results));
    println!("{{\"cycles\": {cycles}, \"seconds\": {best:.6}, \"hash\": \"{hash:016x}\"}}");
    Ok(())
}

fn write_stream(
    path: &str,
    config: &UnitConfig,
    job: &UnitJob,
    latency: u64,
    [operands, results]: [&std::ops::Range<u64>; 2],
    bytes: &[u8],
) -> std::io::Result<()> {
    let fields = job
        .descriptor
        .words()
        .into_iter()
        .map(|(place, word)| [u64::from(JOB_BASE + place), u64::from(word)]);
    let writes: Vec<[u64; 2]> = fields.chain([[CTRL.0, CTRL.1]]).collect();
    let head = [
        u64::from(config.beat_bits / 8),
        latency,
        operands.start,
        operands.end - operands.start,
        results.start,
        results.end - results.start,
        writes.len() as u64,
    ];
    let mut file = std::io::BufWriter::new(std::fs::File::create(path)?);
    for word in head.iter().chain(writes.as_flattened()) {
        file.write_all(&word.to_le_bytes())?;
    }
    file.write_all(bytes)?;
    file.flush()
}

/// FNV-1a.
fn hash(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Seconds of processor time of this thread.
fn processor_time() -> f64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    now.tv_sec as f64 + 1e-9 * now.tv_nsec as f64
}
