//! The attention unit at its ports: random jobs against the model, bus errors, resets, refused jobs.

use flashd_hwmodel::unit::registers::{CODE_BIT, DONE_BIT, ERROR_BIT, IRQ_EN_BIT, SOFT_RESET_BIT, START_BIT};
use flashd_simulator::RtlEngine;
use flashd_simulator::random::jobs;
use flashd_simulator::unit::{
    DECERR, ErrorRange, ExpectedJobBlock, FIRST_ROW, Layout, Memory, SLVERR, UnitBench, UnitDrive, UnitError,
    UnitJob, UnitRun, run, run_against,
};
use flashd_spec::config::{ArrayConfig, CoreConfig, Design, Values};
use flashd_spec::format::{Format, Scale};
use flashd_spec::unit::codes::{READ_DECERR, READ_SLVERR, WRITE_DECERR, WRITE_SLVERR};
use flashd_spec::unit::descriptor::Descriptor;
use flashd_spec::unit::{Flag, Job, UnitConfig};
use flashd_workload::round_to;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Units of both designs, with and without masks, of several widths and formats.
pub(super) fn units() -> Vec<UnitConfig> {
    let core = |design, d, format, masks| CoreConfig { masks, ..CoreConfig::new(design, d, format) };
    let unit = |core, queries, beat_bits| UnitConfig {
        beat_bits,
        ..UnitConfig::new(ArrayConfig::new(core, queries))
    };
    let all = |unit: UnitConfig| UnitConfig { values: Values::All, ..unit };
    let partial = |core: CoreConfig| CoreConfig { partial: true, ..core };
    let scaled = |core| CoreConfig { q_scales: Some(Scale::RowQ16), ..core };
    vec![
        unit(core(Design::FlashD, 4, Format::BF16, true), 2, 64),
        unit(core(Design::Fa2, 8, Format::BF16, true), 3, 128),
        all(unit(core(Design::FlashD, 8, Format::FP8_E4M3, true), 8, 64)),
        unit(core(Design::Fa2, 5, Format::FP8_E4M3, false), 1, 256),
        UnitConfig { kv_buffer: 16, ..all(unit(core(Design::Fa2, 16, Format::INT8, true), 4, 128)) },
        UnitConfig {
            address_bits: 64,
            in_flight: 16,
            ..unit(core(Design::FlashD, 16, Format::INT8, true), 2, 1024)
        },
        unit(partial(core(Design::FlashD, 8, Format::BF16, true)), 2, 64),
        all(unit(CoreConfig { bias: true, ..partial(core(Design::Fa2, 8, Format::BF16, true)) }, 3, 128)),
        unit(partial(core(Design::Fa2, 4, Format::INT8, true)), 2, 512),
        UnitConfig {
            in_flight: 16,
            ..unit(CoreConfig { value_latency: 16, ..core(Design::FlashD, 16, Format::BF16, true) }, 2, 64)
        },
        unit(scaled(core(Design::FlashD, 8, Format::fixed(16, 8), true)), 3, 64),
        all(unit(scaled(core(Design::Fa2, 6, Format::INT8, true)), 4, 128)),
    ]
}

/// Runs random jobs of a unit until so many beats have been read; returns the beats.
fn random_jobs(config: &UnitConfig, seed: u64, beats: u64) -> u64 {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut moved = 0;
    while moved < beats {
        let jobs = jobs(config, rng.random_range(4..60), &mut rng);
        let drive = UnitDrive::random(rng.random());
        let run = run(config, &jobs, &drive, &mut []);
        let run = run.unwrap_or_else(|e| panic!("{}, seed {seed}: {e}\n{drive:?}", config.name()));
        moved += run.roofs().1;
    }
    moved
}

#[test]
fn random_jobs_of_10_000_beats() {
    let beats: u64 = units().iter().zip(1..).map(|(unit, seed)| random_jobs(unit, seed, 1000)).sum();
    assert!(beats >= 10_000);
}

#[test]
#[ignore = "minutes"]
fn random_jobs_of_1_000_000_beats() {
    let seeds = std::env::var("FLASHD_SEED").map_or(100, |seed| seed.parse().unwrap());
    for (unit, seed) in units().iter().zip(seeds..) {
        random_jobs(unit, seed, 1_000_000 / 12 + 1);
    }
}

/// Both engines give every cycle alike.
#[test]
fn the_reference_simulator_gives_the_same_run() {
    for config in &units()[..2] {
        let jobs = jobs(config, 30, &mut ChaCha8Rng::seed_from_u64(11));
        let [compiled, reference] = [RtlEngine::Compiled, RtlEngine::Reference].map(|engine| {
            let drive = UnitDrive { engine, ..UnitDrive::random(12) };
            run(config, &jobs, &drive, &mut []).unwrap()
        });
        assert_eq!(compiled, reference);
    }
}

/// A job with random operands.
pub(super) fn job(config: &UnitConfig, fields: &[(&str, u64)], flags: &[Flag], seed: u64) -> UnitJob {
    let mut descriptor = Descriptor::default();
    fields.iter().for_each(|&(name, value)| descriptor.set(name, value));
    flags.iter().for_each(|&flag| descriptor.add(flag));
    let given = |name: &str| fields.iter().any(|(field, _)| *field == name);
    Layout::new(FIRST_ROW, 16).complete(config, &mut descriptor, &given);
    let job = descriptor.job();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let core = &config.array.core;
    let mut words = |format: Format, count: usize| -> Vec<u64> {
        (0..count).map(|_| round_to(format, rng.random_range(-1.0..1.0))).collect()
    };
    let (formats, of) = (core.formats(), config.words());
    let queries = (job.queries * job.query_heads()) as usize;
    let keys = (job.keys * job.key_heads) as usize;
    let table = job.pages.map_or(Vec::new(), |pages| {
        let used = job.keys.div_ceil(1 << pages.tokens);
        (0..used).map(|page| (page * 5 + 3) % pages.count).collect()
    });
    UnitJob {
        q: words(formats.q, queries * of.q),
        k: words(formats.k, keys * of.k),
        v: words(formats.v, keys * of.v),
        descriptor,
        table,
        ..UnitJob::default()
    }
}

/// Keys and values in pages give what they give in rows: pages of a whole number of blocks of keys, and a last page with room left.
#[test]
fn paged_equals_dense() {
    let config = &units()[0];
    for tokens in [4, 5, 6] {
        let keys = 3 * (1 << tokens) + 7;
        let fields = [("QUERIES", 3), ("KEYS", keys), ("GROUP", 2), ("K_HEADS", 2), ("POSITION", keys - 3)];
        let paged = [&fields[..], &[("PAGE", tokens), ("PAGES", 7)]].concat();
        let dense = job(config, &fields, &[Flag::Causal], tokens);
        let paged = job(config, &paged, &[Flag::Causal, Flag::Paged], tokens);
        assert_eq!(dense.expected(config), paged.expected(config));
        let drive = UnitDrive::random(tokens);
        let [dense, paged] = [dense, paged].map(|job| run(config, &[job], &drive, &mut []).unwrap());
        assert_eq!(dense.values, paged.values);
        assert!(paged.register("BEATS_CONTROL") > 0 && dense.register("BEATS_CONTROL") == 0);
    }
}

/// A queue gives what single jobs give.
#[test]
fn queues_and_registers_run_the_same_jobs() {
    let config = &units()[1];
    let jobs = jobs(config, 60, &mut ChaCha8Rng::seed_from_u64(5));
    let of = |queue, interrupt| {
        let drive = UnitDrive { queue, interrupt, ..UnitDrive::fixed(5, 1) };
        run(config, &jobs, &drive, &mut []).unwrap()
    };
    let (single, chained) = (of(false, true), of(true, false));
    let counts =
        |run: &UnitRun| ["JOBS", "BYTES_KEYS", "VALUES_READ", "BYTES_WRITTEN"].map(|name| run.register(name));
    assert_eq!(counts(&single), counts(&chained));
    assert_eq!(single.register("JOBS"), jobs.len() as u64);
    assert!(jobs.len() > 2);
}

/// The check finds a wrong result and a byte that nobody may write.
#[test]
fn differences_are_found() {
    let config = &units()[0];
    let job = job(config, &[("QUERIES", 3), ("KEYS", 5)], &[], 1);
    let drive = UnitDrive::fixed(3, 1);
    let right = vec![job.expected(config)];
    run_against(config, std::slice::from_ref(&job), &drive, &mut [], &right).unwrap();
    let mut wrong = right.clone();
    wrong[0][1].results[0].o[2] ^= 1;
    let error =
        run_against(config, std::slice::from_ref(&job), &drive, &mut [], &wrong).unwrap_err().to_string();
    assert!(error.contains("job 0, head 0, query 2"), "{error}");
    let mut fewer = right;
    fewer[0].pop();
    assert!(run_against(config, &[job], &drive, &mut [], &fewer).is_err());
}

/// Writes a job, and starts it.
pub(super) fn start(bench: &mut UnitBench, job: &UnitJob) -> Result<(), UnitError> {
    bench.write_job(&job.descriptor)?;
    bench.write("CTRL", 1 << START_BIT | 1 << IRQ_EN_BIT)
}

/// Cycles without a transfer within which a unit ends a job, or gives up: docs/reference/unit.md.
pub(super) const STATED: u64 = 2000;

/// Cycles of a job without queries: docs/reference/unit.md.
const EMPTY: [u32; 2] = [32, 44];

#[test]
fn a_job_without_queries_ends_at_once() {
    for config in units() {
        let empty = job(&config, &[("QUERIES", 0), ("KEYS", 3)], &[], 1);
        let memory = Memory::default();
        let mut bench = UnitBench::new(&config, memory.clone(), &UnitDrive::random(2), &mut []).unwrap();
        start(&mut bench, &empty).unwrap();
        let status = bench.wait(true, STATED).unwrap();
        assert_eq!(
            status & (1 << DONE_BIT | 1 << ERROR_BIT),
            1 << DONE_BIT,
            "{}: STATUS {status:#x}",
            config.name()
        );
        let cycles = bench.read("CYCLES").unwrap();
        assert!(
            (1..=EMPTY[usize::from(config.array.core.partial)]).contains(&cycles),
            "{}: {cycles} cycles",
            config.name()
        );
        assert!(bench.port.accesses.is_empty() && bench.port.memory.difference(&memory).is_none());
    }
}

/// A job runs and leaves its results and nothing else, whatever was before.
fn runs_right(config: &UnitConfig, bench: &mut UnitBench, job: &UnitJob) -> Result<(), UnitError> {
    let expected = job.expected(config);
    job.place(config, &mut bench.port.memory);
    let mut due = bench.port.memory.clone();
    job.place_results(config, &expected, &mut due);
    start(bench, job)?;
    let status = bench.wait(true, STATED)?;
    assert_eq!(status >> DONE_BIT & 1, 1, "STATUS {status:#x}");
    assert_eq!(bench.port.memory.difference(&due), None);
    bench.write("STATUS", 1 << DONE_BIT | 1 << ERROR_BIT)?;
    bench.quiet(30)
}

/// Nothing but results has changed.
fn only_results_changed(config: &UnitConfig, before: &Memory, after: &Memory, job: &Job) {
    let mut due = before.clone();
    for block in job.blocks(config.array.queries as u32) {
        for place in block.places {
            for (rows, bytes) in job.results(config) {
                let row = Job::row(&rows, place.head, place.token);
                due.write(row, &after.bytes(row, bytes as usize));
            }
        }
    }
    assert_eq!(due.difference(after), None);
}

/// A unit with some job in memory, and another job that has to run after a disturbance.
fn disturbed(
    config: &UnitConfig,
    seed: u64,
    disturb: impl FnOnce(&mut UnitBench, &UnitJob, &mut ChaCha8Rng) -> Result<(), UnitError>,
) -> Result<(), UnitError> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let two = jobs(config, 400, &mut rng);
    let largest = two.iter().max_by_key(|job| job.q.len() * job.k.len()).unwrap();
    let after = two.iter().find(|job| *job != largest && !job.q.is_empty()).unwrap_or(largest);
    let mut memory = Memory::default();
    largest.place(config, &mut memory);
    let drive = UnitDrive::random(seed);
    let mut bench = UnitBench::new(config, memory, &drive, &mut [])?;
    disturb(&mut bench, largest, &mut rng)?;
    bench.port.errors.clear();
    runs_right(config, &mut bench, after)
}

/// Runs disturbances of every unit, `rounds` in all.
fn each(rounds: u64, disturb: impl Fn(&UnitConfig, u64) -> Result<(), UnitError>) {
    let units = units();
    for seed in 0..rounds {
        let config = &units[(seed % units.len() as u64) as usize];
        disturb(config, seed).unwrap_or_else(|e| panic!("{}, seed {seed}: {e}", config.name()));
    }
}

/// Errors of the memory, in a row of every kind: the job ends with the code and the address, and the next one runs.
fn bus_errors(rounds: u64) {
    each(rounds, |config, seed| {
        disturbed(config, seed, |bench, unit_job, rng| {
            let job = unit_job.job();
            let expected = unit_job.expected(config);
            let ExpectedJobBlock { block, needed, .. } = &expected[rng.random_range(0..expected.len())];
            let place = &block.places[rng.random_range(0..block.places.len())];
            let resp = if rng.random() { SLVERR } else { DECERR };
            let head = block.key_head;
            let (writes, row) = match (rng.random_range(0..5), needed.first(), job.pages) {
                (0, ..) => (false, Job::row(&job.q, place.head, place.token)),
                (1, Some(_), _) => (false, unit_job.key_row(head, block.keys.start)),
                (2, Some(&key), _) => (false, unit_job.value_row(head, key)),
                (3, Some(_), Some(pages)) => {
                    (false, pages.table + 4 * u64::from(block.keys.start >> pages.tokens))
                }
                _ => (true, Job::row(&job.o, place.head, place.token)),
            };
            // A beat that has operands and results fails as one or the other.
            let beat = row & !(u64::from(config.beat_bits / 8) - 1);
            let beat = beat..beat + u64::from(config.beat_bits / 8);
            let [operands, results] = unit_job.footprint(config);
            let in_beat = |rows: &[std::ops::Range<u64>]| {
                rows.iter().any(|row| row.start < beat.end && beat.start < row.end)
            };
            if in_beat(&operands) && in_beat(&results) {
                return Ok(());
            }
            bench.port.errors = vec![ErrorRange { addresses: row..row + 1, resp }];
            let before = bench.port.memory.clone();
            start(bench, unit_job)?;
            let status = bench.wait(true, STATED)?;
            let code = match (writes, resp == SLVERR) {
                (false, true) => READ_SLVERR,
                (false, false) => READ_DECERR,
                (true, true) => WRITE_SLVERR,
                (true, false) => WRITE_DECERR,
            };
            assert_eq!(status >> CODE_BIT & 0xff, code, "STATUS {status:#x}, {job:?}, {row:#x}");
            assert_eq!(status >> ERROR_BIT & 1, 1);
            let [low, high] = ["FAULT_LO", "FAULT_HI"].map(|name| bench.read(name));
            let fault = u64::from(high?) << 32 | u64::from(low?);
            // A row or a burst whose beats have the error: its first beat may have the end of another row.
            let first = fault & !(u64::from(config.beat_bits / 8) - 1);
            assert!(first <= row && row < fault + 4096, "FAULT {fault:#x}, {row:#x}");
            only_results_changed(config, &before, &bench.port.memory, &job);
            bench.write("STATUS", 1 << ERROR_BIT)?;
            assert_eq!(bench.read("STATUS")? >> ERROR_BIT, 0);
            assert!(!bench.irq);
            bench.quiet(30)
        })
    });
}

/// Resets in the middle of bursts, after which a job runs as if nothing had been.
fn resets(rounds: u64) {
    each(rounds, |config, seed| {
        disturbed(config, seed, |bench, job, rng| {
            start(bench, job)?;
            for _ in 0..rng.random_range(0..400) {
                bench.cycle()?;
            }
            bench.reset()
        })
    });
}

/// Soft resets, which wait for the memory: no rule of the port is broken.
fn soft_resets(rounds: u64) {
    each(rounds, |config, seed| {
        disturbed(config, seed, |bench, job, rng| {
            let before = bench.port.memory.clone();
            start(bench, job)?;
            for _ in 0..rng.random_range(0..400) {
                bench.cycle()?;
            }
            bench.write("CTRL", 1 << SOFT_RESET_BIT)?;
            let status = bench.wait(false, STATED)?;
            assert_eq!(status >> ERROR_BIT & 1, 0, "STATUS {status:#x}");
            only_results_changed(config, &before, &bench.port.memory, &job.job());
            bench.quiet(30)
        })
    });
}

#[test]
fn errors_of_the_memory_end_a_job() {
    bus_errors(60);
}

#[test]
fn resets_end_a_job() {
    resets(30);
    soft_resets(30);
}

#[test]
#[ignore = "minutes"]
fn many_errors_and_resets_end_jobs() {
    bus_errors(1000);
    resets(200);
    soft_resets(200);
}
