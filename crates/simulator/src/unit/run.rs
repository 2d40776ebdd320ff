//! A run of jobs, compared with the model.

use super::bench::{Transfers, UnitBench, UnitDrive, UnitError};
use super::memory::Memory;
use super::slave::Access;
use super::workload::{ExpectedJobBlock, Readable, UnitJob, descriptor_at};
use crate::bench::Observer;
use flashd_hwmodel::unit::registers::{DONE_BIT, ERROR_BIT, IRQ_EN_BIT, QUEUE_BIT, START_BIT};
use flashd_spec::config::Carried;
use flashd_spec::unit::{Flag, Job, Place, UnitConfig};
use serde::Serialize;
use std::collections::BTreeMap;

/// A finished run without differences.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct UnitRun {
    /// Cycles of the whole run, with the host's accesses.
    pub cycles: u64,
    /// Keys of all blocks: an array takes one a cycle.
    pub keys: u64,
    /// Values that some query of their block needs.
    pub values: u64,
    /// Bursts of reads and writes.
    pub bursts: u64,
    /// These bursts, in the order of their addresses.
    #[serde(skip)]
    pub accesses: Vec<Access>,
    /// Registers at the end; counters that begin at each start are summed over all starts.
    pub registers: BTreeMap<String, u64>,
    /// Bytes in memory that were compared.
    pub comparisons: u64,
}

impl UnitRun {
    /// A register; 0 where there is none.
    pub fn register(&self, name: &str) -> u64 {
        self.registers.get(name).copied().unwrap_or(0)
    }

    /// The least cycles for the keys, and for the beats: of reads or of writes, whichever are more, because they have separate channels.
    pub fn roofs(&self) -> (u64, u64) {
        let reads =
            self.registers.iter().filter(|(name, _)| name.starts_with("BEATS_") && *name != "BEATS_WRITTEN");
        (self.keys, reads.map(|(_, beats)| beats).sum::<u64>().max(self.register("BEATS_WRITTEN")))
    }

    /// The larger roof over the busy cycles.
    pub fn utilisation(&self) -> f64 {
        let (keys, beats) = self.roofs();
        keys.max(beats) as f64 / self.register("CYCLES").max(1) as f64
    }
}

/// Cycles without a transfer on the memory port after which a run counts as hanging: refused requests and long keys included.
pub const HANG: u64 = 20_000;

/// Cycles after a run in which nothing may move.
const QUIET: u64 = 60;

/// Runs jobs one after another; memory is compared with the model's.
///
/// # Errors
/// The first difference, a broken rule, or a run that hangs, with the cycle.
///
/// # Panics
/// If operands do not fit their jobs.
pub fn run(
    config: &UnitConfig,
    jobs: &[UnitJob],
    drive: &UnitDrive,
    observers: &mut [&mut dyn Observer],
) -> Result<UnitRun, UnitError> {
    let expected: Vec<_> = jobs.iter().map(|job| job.expected(config)).collect();
    run_against(config, jobs, drive, observers, &expected)
}

/// [`run`] against given expectations: the check itself, apart from the model.
///
/// # Errors
/// As [`run`].
pub fn run_against(
    config: &UnitConfig,
    jobs: &[UnitJob],
    drive: &UnitDrive,
    observers: &mut [&mut dyn Observer],
    expected: &[Vec<ExpectedJobBlock>],
) -> Result<UnitRun, UnitError> {
    let mut memory = Memory::default();
    jobs.iter().for_each(|job| job.place(config, &mut memory));
    // States that a job reads and an earlier one writes are not there yet.
    let results = |job: &UnitJob| job.footprint(config)[1].clone();
    jobs.iter().flat_map(results).for_each(|row| memory.spoil(row.start, row.end.wrapping_sub(row.start)));
    let jobs = if drive.queue { queue(jobs, &mut memory) } else { jobs.to_vec() };
    let mut due = memory.clone();
    let readable = |(job, expected): (&UnitJob, &Vec<ExpectedJobBlock>)| job.readable(config, expected);
    let readable: Vec<[Readable; 5]> = jobs.iter().zip(expected).map(readable).collect();
    jobs.iter().zip(expected).for_each(|(job, expected)| job.place_results(config, expected, &mut due));
    let mut bench = UnitBench::new(config, memory, drive, observers)?;
    bench.quiet(20)?;
    let mut run = UnitRun::default();
    let groups = if drive.queue { jobs.len().max(1) } else { 1 };
    for (jobs, expected) in jobs.chunks(groups).zip(expected.chunks(groups)) {
        let before = bench.transfers;
        start(&mut bench, jobs, drive)?;
        let status = bench.wait(drive.interrupt, HANG)?;
        ended(&mut bench, status)?;
        let registers = bench.read_all()?;
        counters(config, jobs, &registers, &before, &bench, expected)?;
        add(&mut run.registers, registers);
    }
    run.cycles = bench.cycles();
    bench.quiet(QUIET)?;
    let blocks = || expected.iter().flatten();
    run.keys = blocks().map(|block| block.block.keys.len() as u64).sum();
    run.values = blocks().map(|block| block.needed.len() as u64).sum();
    run.bursts = bench.port.accesses.len() as u64;
    reads(config, &bench.port.accesses, &readable, drive.queue.then_some(QUEUE))?;
    if let Some(address) = bench.port.memory.difference(&due) {
        return Err(difference(config, &jobs, address, &bench.port.memory, &due));
    }
    let written = |job: &UnitJob| job.footprint(config)[1].iter().map(|row| row.end - row.start).sum::<u64>();
    run.comparisons = jobs.iter().map(written).sum();
    run.accesses = std::mem::take(&mut bench.port.accesses);
    Ok(run)
}

/// Links jobs in memory; the last raises the interrupt. The first descriptor is at the lowest address.
fn queue(jobs: &[UnitJob], memory: &mut Memory) -> Vec<UnitJob> {
    let mut jobs = jobs.to_vec();
    let last = jobs.len().saturating_sub(1);
    for (n, job) in jobs.iter_mut().enumerate() {
        if n == last {
            job.descriptor.add(Flag::Interrupt);
        } else {
            job.descriptor.add(Flag::Next);
            job.descriptor.set("NEXT", QUEUE + (n as u64 + 1) * 256);
        }
        memory.write(QUEUE + n as u64 * 256, &job.descriptor.bytes());
    }
    jobs
}

/// The address of the queue: jobs lie above it.
const QUEUE: u64 = 0x1000;

/// Writes a job, or the address of a queue, and starts.
fn start(bench: &mut UnitBench, jobs: &[UnitJob], drive: &UnitDrive) -> Result<(), UnitError> {
    let Some(job) = jobs.first() else { return Ok(()) };
    let interrupt = u32::from(drive.interrupt) << IRQ_EN_BIT;
    if drive.queue {
        bench.write("QUEUE_LO", QUEUE as u32)?;
        bench.write("QUEUE_HI", (QUEUE >> 32) as u32)?;
        return bench.write("CTRL", 1 << QUEUE_BIT | interrupt);
    }
    bench.write_job(&job.descriptor)?;
    bench.write("CTRL", 1 << START_BIT | interrupt)
}

/// Checks STATUS after a job, and clears DONE and with it the interrupt.
fn ended(bench: &mut UnitBench, status: u32) -> Result<(), UnitError> {
    let cycle = bench.cycles();
    let wrong = |problem: String| Err(UnitError::Difference(format!("cycle {cycle}: {problem}")));
    if status & (1 << DONE_BIT | 1 << ERROR_BIT) != 1 << DONE_BIT {
        let (low, high) = (bench.read("FAULT_LO")?, bench.read("FAULT_HI")?);
        let address = u64::from(high) << 32 | u64::from(low);
        return wrong(format!("STATUS is {status:#x}, expected DONE; FAULT {address:#x}"));
    }
    bench.write("STATUS", 1 << DONE_BIT)?;
    let status = bench.read("STATUS")?;
    match (status >> DONE_BIT & 1, bench.irq) {
        (0, false) => Ok(()),
        (_, irq) => wrong(format!("DONE was cleared: STATUS is {status:#x}, irq {irq}")),
    }
}

/// Compares the counters with their expectations.
fn counters(
    config: &UnitConfig,
    jobs: &[UnitJob],
    registers: &BTreeMap<String, u32>,
    before: &Transfers,
    bench: &UnitBench,
    expected: &[Vec<ExpectedJobBlock>],
) -> Result<(), UnitError> {
    let blocks = || expected.iter().flatten();
    let count = |of: fn(&ExpectedJobBlock) -> usize| blocks().map(of).sum::<usize>() as u64;
    let bytes = |carried, rows: u64| u64::from(config.row_bytes(carried)) * rows;
    let (keys, values) = (count(|block| block.block.keys.len()), count(|block| block.needed.len()));
    let queries = count(|block| block.results.len());
    let of_queries = |bytes: fn(&UnitConfig, &Job) -> u32| -> u64 {
        let of = |job: Job| u64::from(job.queries * job.query_heads()) * u64::from(bytes(config, &job));
        jobs.iter().map(|job| of(job.job())).sum()
    };
    let moved = bench.transfers;
    let read = |id: usize| moved.read[id] - before.read[id];
    let due = [
        ("BEATS_CONTROL", read(0)),
        ("BEATS_QUERIES", read(1)),
        ("BEATS_KEYS", read(2)),
        ("BEATS_VALUES", read(3)),
        ("BEATS_STATES", read(4)),
        ("BEATS_WRITTEN", moved.written - before.written),
        ("BYTES_QUERIES", bytes(Carried::Query, queries)),
        (
            "BYTES_STATES",
            of_queries(|config, job| job.state_in.map_or(0, |_| config.row_bytes(Carried::State))),
        ),
        ("BYTES_WRITTEN", of_queries(|config, job| job.results(config).iter().map(|(_, bytes)| bytes).sum())),
        ("BYTES_KEYS", bytes(Carried::Key, expected.iter().map(|job| fetched(config, job)).sum())),
        ("VALUES_READ", values),
        // A block without keys has one that no query sees.
        ("VALUES_SKIPPED", keys - values + count(|block| block.block.keys.is_empty().into())),
        ("JOBS", expected.len() as u64),
    ];
    let cycle = bench.cycles();
    let wrong =
        due.into_iter().find(|(name, due)| registers.get(*name).is_some_and(|&is| u64::from(is) != *due));
    match wrong {
        None => Ok(()),
        Some((name, due)) => Err(UnitError::Difference(format!(
            "cycle {cycle}: {name} is {}, expected {due}",
            registers[name]
        ))),
    }
}

/// Keys of a job that are fetched: those in the buffer are not. It fills with the first tokens of a head, one after another.
fn fetched(config: &UnitConfig, blocks: &[ExpectedJobBlock]) -> u64 {
    let (mut head, mut held, mut fetched) = (None, 0, 0);
    for block in blocks.iter().map(|block| &block.block) {
        if head.replace(block.key_head) != Some(block.key_head) {
            held = 0;
        }
        for key in block.keys.clone() {
            fetched += u64::from(key >= held);
            held += u32::from(key == held && held < config.kv_buffer);
        }
    }
    fetched
}

/// Sums registers.
fn add(sum: &mut BTreeMap<String, u64>, registers: BTreeMap<String, u32>) {
    let since_start = |name: &str| {
        ["BEATS_", "BYTES_", "WAIT_", "VALUES_"].iter().any(|prefix| name.starts_with(prefix))
            || ["CYCLES", "JOBS"].contains(&name)
    };
    for (name, value) in registers {
        let counts = since_start(&name);
        let of_all = sum.entry(name).or_default();
        *of_all = if counts { *of_all + u64::from(value) } else { value.into() };
    }
}

/// Every beat that is read has a byte of a row of its kind.
fn reads(
    config: &UnitConfig,
    accesses: &[Access],
    readable: &[[Readable; 5]],
    queue: Option<u64>,
) -> Result<(), UnitError> {
    let bus = u64::from(config.beat_bits / 8);
    let first = queue.map(descriptor_at);
    for Access { burst, cycle, .. } in accesses.iter().filter(|access| !access.writes) {
        for beat in 0..=burst.len {
            let start = burst.beat(beat).start & !(bus - 1);
            let beat = start..start + bus;
            let may = readable.iter().any(|ids| ids[burst.id as usize].has_some(&beat));
            let first = first.as_ref().is_some_and(|first| first.start < beat.end && beat.start < first.end);
            if !(may || burst.id == 0 && first) {
                return Err(UnitError::Difference(format!(
                    "cycle {cycle}: ID {} reads {beat:x?}, and its rows have none of these bytes",
                    burst.id
                )));
            }
        }
    }
    Ok(())
}

/// The row that an address belongs to, for a message.
fn difference(config: &UnitConfig, jobs: &[UnitJob], address: u64, is: &Memory, due: &Memory) -> UnitError {
    let width = config.array.queries as u32;
    let row_of = |(n, unit_job): (usize, &UnitJob)| {
        let job = unit_job.job();
        let places = job.blocks(width).flat_map(|block| block.places).collect::<Vec<_>>();
        job.results(config).into_iter().find_map(|(rows, bytes)| {
            let start = |place: &Place| Job::row(&rows, place.head, place.token);
            let place = places.iter().find(|place| {
                let row = start(place);
                (row..row + u64::from(bytes)).contains(&address)
            })?;
            let of = if rows == job.o { "" } else { ", its state or log-sum-exp" };
            let what = format!("job {n}, head {}, query {}{of}", place.head, place.token);
            Some((what, start(place), bytes as usize))
        })
    };
    let row = jobs.iter().enumerate().find_map(row_of);
    let (what, row, bytes) = row.unwrap_or(("outside of all results".into(), address, 1));
    let bytes = |memory: &Memory| memory.bytes(row, bytes);
    UnitError::Difference(format!(
        "{what}, address {address:#x}: {:02x?}; expected {:02x?}",
        bytes(is),
        bytes(due)
    ))
}
