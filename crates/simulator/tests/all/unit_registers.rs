//! The attention unit's registers: refused jobs, and starts while it is busy.

use super::unit::{STATED, job, start, units};
use flashd_hwmodel::unit::registers::{
    BUSY_BIT, CODE_BIT, DONE_BIT, ERROR_BIT, IRQ_EN_BIT, QUEUE_BIT, START_BIT,
};
use flashd_simulator::unit::{DECERR, ErrorRange, Memory, UnitBench, UnitDrive, UnitJob};
use flashd_spec::unit::codes::READ_DECERR;
use flashd_spec::unit::descriptor::Descriptor;
use flashd_spec::unit::{Flag, JobError};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The unit and the table refuse the same jobs with the same code, and nothing is read or written.
#[test]
fn illegal_jobs_are_refused() {
    let config = &units()[0];
    let legal = job(config, &[("QUERIES", 3), ("KEYS", 5), ("K_HEADS", 2)], &[], 1).descriptor;
    let with = |fields: &[(&str, u64)], flags: &[Flag]| {
        let mut descriptor = legal.clone();
        fields.iter().for_each(|&(name, value)| descriptor.set(name, value));
        flags.iter().for_each(|&flag| descriptor.add(flag));
        descriptor
    };
    let paged = [("PAGE", 4), ("PAGES", 3), ("TABLE", 0x8000)];
    let pages = |fields: &[(&str, u64)]| with(&[&paged, fields].concat(), &[Flag::Paged]);
    let refused = [
        (with(&[("GROUP", 0)], &[]), JobError::Heads),
        (with(&[("K_HEADS", 0)], &[]), JobError::Heads),
        (with(&[("KEYS", 65_537)], &[]), JobError::Length),
        (with(&[("WINDOW", 4)], &[Flag::Window]), JobError::Window),
        (with(&[], &[Flag::Causal, Flag::Window]), JobError::Window),
        (pages(&[("PAGE", 17)]), JobError::Page),
        (pages(&[("PAGES", 0)]), JobError::Page),
        (with(&[("Q_ROW", 7)], &[]), JobError::Stride),
        (with(&[("V_ROW", 0)], &[]), JobError::Stride),
        (with(&[], &[Flag::Lse]), JobError::Unsupported),
        (with(&[], &[Flag::StateIn]), JobError::Unsupported),
        (with(&[("K", 1 << 40)], &[]), JobError::Address),
        (with(&[("O", (1 << 40) - 8)], &[]), JobError::Address),
        (with(&[("Q", u64::MAX - 4)], &[]), JobError::Address),
        (pages(&[("TABLE", 0x8002)]), JobError::Address),
        (pages(&[("TABLE", 1 << 41)]), JobError::Address),
        (pages(&[("V_PAGE", u32::MAX.into()), ("PAGES", u32::MAX.into())]), JobError::Address),
    ];
    let mut bench = UnitBench::new(config, Memory::default(), &UnitDrive::random(3), &mut []).unwrap();
    for (descriptor, error) in refused {
        let states = [Flag::Lse, Flag::StateIn].iter().any(|&flag| descriptor.has(flag));
        if !states {
            assert_eq!(descriptor.job().check(config), Err(error), "{descriptor:?}");
        }
        start(&mut bench, &UnitJob { descriptor: descriptor.clone(), ..UnitJob::default() }).unwrap();
        let status = bench.wait(true, STATED).unwrap();
        assert_eq!(status >> CODE_BIT & 0xff, error as u32, "{descriptor:?}");
        assert_eq!(status & (1 << DONE_BIT | 1 << ERROR_BIT), 1 << ERROR_BIT);
        bench.write("STATUS", 1 << ERROR_BIT).unwrap();
    }
    assert!(bench.port.accesses.is_empty());
}

/// A number of a random number of bits, fewer than `bits`.
fn below(bits: u32, rng: &mut ChaCha8Rng) -> u64 {
    let bits = rng.random_range(1..bits);
    rng.random_range(0..1 << bits)
}

/// A random job at the limits of the addresses is refused by the unit exactly where it is by the table.
#[test]
fn random_addresses_are_refused_alike() {
    let config = &units()[0];
    let mut bench = UnitBench::new(config, Memory::default(), &UnitDrive::fixed(2, 1), &mut []).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    let mut counts = [0; 2];
    for _ in 0..300 {
        let mut descriptor = Descriptor::default();
        // No queries: an accepted job ends at once.
        let sizes = [("KEYS", 40), ("GROUP", 3), ("K_HEADS", 5), ("PAGE", 3), ("PAGES", 9), ("TABLE", 64)];
        sizes.into_iter().for_each(|(name, value)| descriptor.set(name, value));
        if rng.random() {
            descriptor.add(Flag::Paged);
        }
        let near = rng.random_range(0..4);
        for (place, name) in ["Q", "K", "V", "O"].into_iter().enumerate() {
            descriptor.set(&format!("{name}_ROW"), 8 << rng.random_range(0..12));
            descriptor.set(&format!("{name}_HEAD"), below(20, &mut rng));
            // One of the tensors is at the end of the port's addresses.
            let distance = if place == near { below(32, &mut rng) } else { 1 << 39 };
            descriptor.set(name, (1 << 40) - distance);
        }
        for name in ["K_PAGE", "V_PAGE"] {
            descriptor.set(name, below(24, &mut rng));
        }
        let check = descriptor.job().check(config);
        start(&mut bench, &UnitJob { descriptor: descriptor.clone(), ..UnitJob::default() }).unwrap();
        let status = bench.wait(true, STATED).unwrap();
        let code = check.err().map_or(0, |error| error as u32);
        assert_eq!(status >> CODE_BIT & 0xff, code, "{descriptor:?}");
        counts[usize::from(check.is_err())] += 1;
        bench.write("STATUS", 1 << DONE_BIT | 1 << ERROR_BIT).unwrap();
    }
    assert!(counts.iter().all(|&count| count > 30), "{counts:?}");
}

/// START and writes to the job have no effect while BUSY.
#[test]
fn a_busy_unit_keeps_its_job() {
    let config = &units()[0];
    let job = job(config, &[("QUERIES", 4), ("KEYS", 40)], &[], 2);
    let expected = job.expected(config);
    let mut memory = Memory::default();
    job.place(config, &mut memory);
    let mut due = memory.clone();
    job.place_results(config, &expected, &mut due);
    let mut bench = UnitBench::new(config, memory, &UnitDrive::fixed(20, 2), &mut []).unwrap();
    start(&mut bench, &job).unwrap();
    bench.write_job(&Descriptor::default()).unwrap();
    bench.write("CTRL", 1 << START_BIT | 1 << IRQ_EN_BIT).unwrap();
    assert_eq!(bench.read("STATUS").unwrap() >> BUSY_BIT & 1, 1);
    bench.wait(true, STATED).unwrap();
    assert_eq!(bench.port.memory.difference(&due), None);
    assert_eq!(bench.read("JOBS").unwrap(), 1);
}

/// A queue ends with an error where a descriptor cannot be, or cannot be read. What came before it has run.
#[test]
fn queues_end_at_bad_descriptors() {
    let config = &units()[0];
    let mut first = job(config, &[("QUERIES", 2), ("KEYS", 3)], &[], 4);
    first.descriptor.add(Flag::Next);
    let errors = vec![ErrorRange { addresses: 0x3000..0x3001, resp: DECERR }];
    let bad = [
        (0x3000, READ_DECERR),
        (0x2080, JobError::Descriptor as u32),
        (1 << 40, JobError::Descriptor as u32),
        (u64::MAX - 255, JobError::Descriptor as u32),
    ];
    for (next, code) in bad {
        first.descriptor.set("NEXT", next);
        let mut memory = Memory::default();
        first.place(config, &mut memory);
        memory.write(0x1000, &first.descriptor.bytes());
        let mut due = memory.clone();
        first.place_results(config, &first.expected(config), &mut due);
        let mut bench = UnitBench::new(config, memory, &UnitDrive::random(next), &mut []).unwrap();
        bench.port.errors = errors.clone();
        for (address, jobs) in [(0x1000, 1), (next, 0)] {
            bench.write("QUEUE_LO", address as u32).unwrap();
            bench.write("QUEUE_HI", (address >> 32) as u32).unwrap();
            bench.write("CTRL", 1 << QUEUE_BIT | 1 << IRQ_EN_BIT).unwrap();
            // The end of a job in the middle of a queue is no interrupt.
            let status = bench.wait(true, STATED).unwrap();
            assert_eq!((status >> ERROR_BIT & 1, status >> CODE_BIT & 0xff), (1, code), "{next:#x}");
            assert_eq!(bench.read("JOBS").unwrap(), jobs);
            assert_eq!(bench.read("FAULT_LO").unwrap(), next as u32);
            bench.write("STATUS", 1 << DONE_BIT | 1 << ERROR_BIT).unwrap();
            bench.quiet(30).unwrap();
        }
        assert_eq!(bench.port.memory.difference(&due), None);
    }
}
