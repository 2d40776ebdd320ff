//! The registers of a unit, alone: the test is the host, and the control of jobs.

use flashd_hwmodel::rtl::{Circuit, Module};
use flashd_hwmodel::unit::counters::{Event, ReadKind, counters};
use flashd_hwmodel::unit::host::{HostInputs, unit_host};
use flashd_hwmodel::unit::registers::*;
use flashd_hwmodel::wrapper::Access;
use flashd_hwmodel::wrapper::ports::LiteHost;
use flashd_spec::bits::ones;
use flashd_spec::config::{ArrayConfig, CoreConfig, Design};
use flashd_spec::format::Format;
use flashd_spec::unit::UnitConfig;
use flashd_spec::unit::descriptor::{DESCRIPTOR_BYTES, FIELDS};

const OKAY: u64 = 0;
const SLVERR: u64 = 2;
const START: u64 = 1 << START_BIT;
const QUEUE: u64 = 1 << QUEUE_BIT;
const SOFT_RESET: u64 = 1 << SOFT_RESET_BIT;
const IRQ_EN: u64 = 1 << IRQ_EN_BIT;
const DONE: u64 = 1 << DONE_BIT;
const ERROR: u64 = 1 << ERROR_BIT;
const INTERRUPT: u64 = 1 << INTERRUPT_BIT;

fn config(partial: bool) -> UnitConfig {
    let core = CoreConfig { masks: true, partial, ..CoreConfig::new(Design::FlashD, 16, Format::BF16) };
    UnitConfig { revision: 0x1234_abcd, ..UnitConfig::new(ArrayConfig::new(core, 4)) }
}

struct Bench {
    config: UnitConfig,
    table: Vec<UnitRegister>,
    circuit: Circuit,
    /// Pulses of the outputs since the last [`Bench::pulses`].
    pulses: Vec<&'static str>,
}

impl Bench {
    /// The registers after a reset.
    fn new(config: UnitConfig) -> Bench {
        let mut bench = Module::bench();
        let rst = bench.open(1);
        let lite = LiteHost::open(&mut bench, ADDRESS_BITS);
        let [busy, done, raise, failed, load] = [(); 5].map(|()| bench.open(1));
        let (code, fault) = (bench.open(CODE_BITS), bench.open(64));
        let (load_word, load_data) = (bench.open(LOAD_WORD_BITS), bench.open(32));
        let occurs = counters(&config).iter().map(|counter| bench.open(counter.bits)).collect();
        let from = HostInputs { busy, done, raise, failed, code, fault, load, load_word, load_data, occurs };
        unit_host(&mut bench, "host", &config, rst, &lite, &from);
        let table = registers(&config);
        let mut bench = Bench { table, config, circuit: bench.into_circuit(), pulses: Vec::new() };
        bench.circuit.set("rst", 1u64);
        bench.cycle();
        bench.circuit.set("rst", 0u64);
        bench.circuit.set("bready", 1u64);
        bench.circuit.set("rready", 1u64);
        bench.cycle();
        bench.pulses.clear();
        bench
    }

    fn cycle(&mut self) {
        self.circuit.settle();
        let high =
            ["start", "start_queue", "soft_reset"].into_iter().filter(|port| self.circuit.is_high(port));
        self.pulses.extend(high);
        self.circuit.clock();
        self.circuit.settle();
    }

    /// A cycle with these inputs, which are zero before and after.
    fn pulse(&mut self, inputs: &[(&str, u64)]) {
        inputs.iter().for_each(|&(port, value)| self.circuit.set(port, value));
        self.cycle();
        inputs.iter().for_each(|&(port, _)| self.circuit.set(port, 0u64));
        self.circuit.settle();
    }

    fn pulses(&mut self) -> Vec<&'static str> {
        std::mem::take(&mut self.pulses)
    }

    fn write_at(&mut self, address: u64, data: u64, strobe: u64) -> u64 {
        self.pulse(&[("awvalid", 1), ("awaddr", address), ("wvalid", 1), ("wdata", data), ("wstrb", strobe)]);
        for _ in 0..4 {
            if self.circuit.is_high("bvalid") {
                let answer = self.circuit.get("bresp");
                self.cycle();
                return answer;
            }
            self.cycle();
        }
        panic!("no answer to a write");
    }

    fn read_at(&mut self, address: u64) -> (u64, u64) {
        self.pulse(&[("arvalid", 1), ("araddr", address)]);
        for _ in 0..4 {
            if self.circuit.is_high("rvalid") {
                let answer = (self.circuit.get("rdata"), self.circuit.get("rresp"));
                self.cycle();
                return answer;
            }
            self.cycle();
        }
        panic!("no answer to a read");
    }

    fn row(&self, name: &str) -> &UnitRegister {
        self.table.iter().find(|row| row.register.name == name).unwrap_or_else(|| panic!("no {name}"))
    }

    fn address(&self, name: &str) -> u64 {
        self.row(name).register.offset.into()
    }

    fn write(&mut self, name: &str, data: u64) {
        assert_eq!(self.write_at(self.address(name), data, 15), OKAY, "{name}");
    }

    fn read(&mut self, name: &str) -> u64 {
        let (data, answer) = self.read_at(self.address(name));
        assert_eq!(answer, OKAY, "{name}");
        data
    }

    /// A field of the job, as the control sees it.
    fn field(&self, name: &str) -> u64 {
        self.circuit.get(&format!("job_{}", name.to_lowercase()))
    }
}

/// The addresses of the contest's map are the contest's, and no two registers have one.
#[test]
fn the_table_has_the_map_of_the_contest() {
    let map = [
        ("CTRL", 0x00),
        ("STATUS", 0x04),
        ("CFG", 0x08),
        ("LENGTH", 0x0c),
        ("VALID", 0x10),
        ("Q_LO", 0x14),
        ("Q_HI", 0x18),
        ("K_LO", 0x1c),
        ("K_HI", 0x20),
        ("V_LO", 0x24),
        ("V_HI", 0x28),
        ("O_LO", 0x2c),
        ("O_HI", 0x30),
        ("STRIDE", 0x34),
        ("NEG_LARGE", 0x38),
        ("SCALE", 0x3c),
        ("CYCLES", 0x40),
    ];
    for partial in [false, true] {
        let table = registers(&config(partial));
        let begin: Vec<(&str, u32)> =
            table.iter().take(map.len()).map(|row| (&*row.register.name, row.register.offset)).collect();
        assert_eq!(begin, map);
        assert!(table.is_sorted_by(|a, b| a.register.offset < b.register.offset));
        for row in &table {
            let register = &row.register;
            assert!(register.offset < 1 << ADDRESS_BITS && register.offset.is_multiple_of(4));
            assert!(u64::from(register.reset) <= ones(register.width), "{}", register.name);
            let ends = register.fields.iter().map(|field| field.bit + field.width);
            assert!(ends.max().unwrap_or(1) <= register.width, "{}", register.name);
        }
        let names: std::collections::HashSet<_> = table.iter().map(|row| &row.register.name).collect();
        assert_eq!(names.len(), table.len());
    }
}

#[test]
fn registers_have_their_reset_values_and_their_access() {
    let mut bench = Bench::new(config(true));
    let table = bench.table.clone();
    for UnitRegister { register, .. } in &table {
        assert_eq!(bench.read(&register.name), u64::from(register.reset), "{}", register.name);
        let writable = register.access != Access::ReadOnly;
        let answer = bench.write_at(register.offset.into(), 0, 15);
        assert_eq!(answer, if writable { OKAY } else { SLVERR }, "{}", register.name);
    }
    let known = |address: u64| table.iter().any(|row| u64::from(row.register.offset) == address / 4 * 4);
    for address in (0..1 << ADDRESS_BITS).filter(|&address| !known(address)) {
        assert_eq!(bench.read_at(address), (0, SLVERR), "{address:#x}");
        assert_eq!(bench.write_at(address, u64::from(u32::MAX), 15), SLVERR, "{address:#x}");
    }
    assert!(bench.pulses().is_empty());
    assert_eq!(bench.read("ID").to_le_bytes()[..4], *b"FLAU");
    assert_eq!(bench.read("VERSION"), 0x1234_abcd);
    assert_eq!(bench.read("CONFIG"), u64::from(bench.config.digest()));
    assert_eq!(bench.read("LENGTHS"), 16 | 16 << 16);
    assert_eq!(bench.read("ARRAY"), 4 | 16 << 8 | 40 << 16);
    assert_eq!(bench.read("ROWS_QK"), 32 | 32 << 16);
    assert_eq!(bench.read("FORMAT_Q"), 16 | 8 << 8 | 7 << 16 | 1 << 28);
}

/// Configurations have different digests; revisions of one have the same.
#[test]
fn the_digest_is_of_the_configuration() {
    let digest = config(true).digest();
    assert_ne!(digest, config(false).digest());
    assert_eq!(digest, UnitConfig { revision: 1, ..config(true) }.digest());
}

/// The order of a program for the contest's map, up to the interrupt.
#[test]
fn a_program_of_the_contest_runs_a_job() {
    let mut bench = Bench::new(config(false));
    let program = [
        ("CFG", 1),
        ("LENGTH", 256),
        ("VALID", 200),
        ("Q_LO", 0x1000_0000),
        ("Q_HI", 0x01),
        ("K_LO", 0x2000_0000),
        ("K_HI", 0x02),
        ("V_LO", 0x3000_0000),
        ("V_HI", 0x03),
        ("O_LO", 0x4000_0000),
        ("O_HI", 0x04),
        ("STRIDE", 128),
        ("NEG_LARGE", 0x8000),
        ("SCALE", 0x2000),
    ];
    for (name, data) in program {
        bench.write(name, data);
    }
    for (name, data) in program {
        assert_eq!(bench.read(name), data, "{name}");
    }
    bench.write("CTRL", IRQ_EN | START);
    assert_eq!(bench.pulses(), ["start"]);
    assert_eq!(bench.read("CTRL"), IRQ_EN);
    let fields = [
        ("FLAGS", 1),
        ("QUERIES", 256),
        ("KEYS", 200),
        ("Q", 0x1_1000_0000),
        ("K", 0x2_2000_0000),
        ("V", 0x3_3000_0000),
        ("O", 0x4_4000_0000),
        ("Q_ROW", 128),
        ("K_ROW", 128),
        ("V_ROW", 128),
        ("O_ROW", 128),
        ("SCALE", 0x2000),
        ("GROUP", 1),
        ("K_HEADS", 1),
    ];
    for field in &FIELDS {
        let expected = fields.iter().find(|(name, _)| *name == field.name).map_or(0, |(_, value)| *value);
        assert_eq!(bench.field(field.name), expected, "{}", field.name);
    }
    bench.circuit.set("busy", 1u64);
    assert_eq!(bench.read("STATUS"), 1);
    assert!(!bench.circuit.is_high("irq"));
    (0..100).for_each(|_| bench.cycle());
    bench.circuit.set("busy", 0u64);
    bench.pulse(&[("done", 1), ("raise", 1)]);
    let cycles = bench.read("CYCLES");
    assert!((100..110).contains(&cycles), "{cycles}");
    assert_eq!(bench.read("STATUS"), DONE | INTERRUPT);
    assert!(bench.circuit.is_high("irq"));
    bench.write("STATUS", DONE);
    bench.cycle();
    assert!(!bench.circuit.is_high("irq"));
    assert_eq!((bench.read("STATUS"), bench.read("CYCLES")), (0, cycles));
}

/// Every field is written at its place after 0x100, byte by byte, and read back there and by its alias.
#[test]
fn fields_are_written_at_their_place() {
    let mut bench = Bench::new(config(true));
    for (place, field) in FIELDS.iter().enumerate() {
        let value = 0x9e37_79b9_7f4a_7c15u64.wrapping_mul(place as u64 + 1) & ones(field.bits);
        for byte in 0..field.bits.div_ceil(8) {
            let address = JOB_BASE + field.offset + byte;
            let (shift, lane) = (8 * byte, address % 4);
            let data = (value >> shift & 0xff) << (8 * lane);
            assert_eq!(bench.write_at(address.into(), data, 1 << lane), OKAY);
        }
        assert_eq!(bench.field(field.name), value, "{}", field.name);
        for word in 0..field.bits.div_ceil(32) {
            let (data, _) = bench.read_at(u64::from(JOB_BASE + field.offset + 4 * word));
            let expected = value >> (32 * word) & ones(field.bits.min(32));
            assert_eq!(data >> (field.offset % 4 * 8) & ones(field.bits.min(32)), expected);
        }
    }
    assert_eq!(bench.read("LENGTH"), bench.field("QUERIES"));
    assert_eq!(bench.read("VALID"), bench.field("KEYS"));
    assert_eq!(bench.read("Q_LO") | bench.read("Q_HI") << 32, bench.field("Q"));
    assert_eq!(bench.read("O_LO") | bench.read("O_HI") << 32, bench.field("O"));
    assert_eq!(bench.read("STRIDE"), bench.field("Q_ROW"));
    assert_eq!(bench.read("SCALE"), bench.field("SCALE"));
    assert_eq!(bench.read("CFG"), bench.field("FLAGS") & 1);
    // CFG clears the other flags, unless its byte is not written.
    let flags = bench.field("FLAGS");
    assert_eq!(bench.write_at(bench.address("CFG"), 1, 0b1110), OKAY);
    assert_eq!(bench.field("FLAGS"), flags);
    bench.write("CFG", 0xff);
    assert_eq!(bench.field("FLAGS"), 1);
    bench.write("STRIDE", 77);
    assert_eq!(["Q_ROW", "K_ROW", "V_ROW", "O_ROW"].map(|row| bench.field(row)), [77; 4]);
}

#[test]
fn a_busy_unit_ignores_starts_and_writes_of_the_job() {
    let mut bench = Bench::new(config(false));
    bench.circuit.set("busy", 1u64);
    bench.write("CTRL", START | QUEUE | IRQ_EN);
    assert!(bench.pulses().is_empty());
    assert_eq!(bench.read("CTRL"), IRQ_EN);
    for name in ["LENGTH", "CFG", "STRIDE", "SCALE", "JOB_QUERIES", "JOB_FLAGS", "JOB_NEXT_HI"] {
        bench.write(name, 1);
    }
    let words = job_words();
    for (word, row) in words.iter().zip(bench.table.clone().into_iter().rev().take(words.len()).rev()) {
        assert_eq!(bench.read(&row.register.name), u64::from(word.reset), "{}", row.register.name);
    }
    // Not of the job.
    bench.write("QUEUE_HI", 3);
    bench.write("QUEUE_LO", 0x100);
    bench.circuit.set("busy", 0u64);
    bench.write("CTRL", QUEUE);
    assert_eq!(bench.pulses(), ["start_queue"]);
    assert_eq!(bench.circuit.get("queue_address"), 0x3_0000_0100);
    bench.write("CTRL", START | QUEUE);
    assert_eq!(bench.pulses(), ["start"]);
    bench.write("CTRL", START | QUEUE | SOFT_RESET);
    assert_eq!(bench.pulses(), ["soft_reset"]);
    // The bytes of the commands are not written.
    assert_eq!(bench.write_at(bench.address("CTRL"), START | QUEUE, 0b1100), OKAY);
    assert!(bench.pulses().is_empty());
}

/// A descriptor's words are loaded while the unit is busy, even in the cycle in which the host writes CFG.
#[test]
fn a_descriptor_is_loaded() {
    let mut bench = Bench::new(config(true));
    bench.circuit.set("busy", 1u64);
    let word = |place: u64| (0x0101_0101 * (place + 1)) & ones(32);
    for place in 0..u64::from(DESCRIPTOR_BYTES) / 4 {
        bench.pulse(&[("load", 1), ("load_word", place), ("load_data", word(place))]);
    }
    for field in &FIELDS {
        let place = u64::from(field.offset / 4);
        let whole = word(place) | word(place + 1) << 32;
        let expected = whole >> (field.offset % 4 * 8) & ones(field.bits);
        assert_eq!(bench.field(field.name), expected, "{}", field.name);
    }
    // The cycle of the write is the one after its address and data.
    bench.pulse(&[("awvalid", 1), ("awaddr", 0x08), ("wvalid", 1), ("wdata", 0), ("wstrb", 1)]);
    bench.pulse(&[("load", 1), ("load_word", 0), ("load_data", 0xffff_fff6)]);
    assert_eq!(bench.field("FLAGS"), 0xfff6);
    (0..3).for_each(|_| bench.cycle());
    assert_eq!(bench.field("FLAGS"), 0xfff6);
    bench.circuit.set("busy", 0u64);
    bench.write("CTRL", SOFT_RESET);
    assert_eq!(["FLAGS", "QUERIES", "GROUP", "K_HEADS"].map(|name| bench.field(name)), [0, 0, 1, 1]);
}

#[test]
fn errors_stay_until_they_are_cleared() {
    let mut bench = Bench::new(config(false));
    bench.write("CTRL", IRQ_EN);
    bench.pulse(&[("failed", 1), ("code", 17), ("fault", 0xdead_beef_0bad_cafe)]);
    bench.pulse(&[("failed", 1), ("code", 3), ("fault", 1)]);
    bench.cycle();
    assert!(bench.circuit.is_high("irq"));
    let error = ERROR | INTERRUPT | 17 << CODE_BIT;
    assert_eq!(bench.read("STATUS"), error);
    assert_eq!((bench.read("FAULT_LO"), bench.read("FAULT_HI")), (0x0bad_cafe, 0xdead_beef));
    // A job of a chain without INTERRUPT.
    bench.pulse(&[("done", 1)]);
    for (data, strobe, left) in [(0, 15, error | DONE), (ERROR, 0b1110, error | DONE), (DONE, 15, error)] {
        assert_eq!(bench.write_at(bench.address("STATUS"), data, strobe), OKAY);
        assert_eq!(bench.read("STATUS"), left, "{data:#x}");
    }
    bench.write("STATUS", ERROR);
    assert_eq!(["STATUS", "FAULT_LO", "FAULT_HI"].map(|name| bench.read(name)), [0; 3]);
    assert!(!bench.circuit.is_high("irq"));
    bench.pulse(&[("done", 1)]);
    bench.cycle();
    assert!(!bench.circuit.is_high("irq"));
    assert_eq!(bench.read("STATUS"), DONE);
    bench.pulse(&[("failed", 1), ("code", 3), ("fault", 1)]);
    assert_eq!(bench.read("STATUS"), DONE | ERROR | INTERRUPT | 3 << CODE_BIT);
    bench.write("CTRL", SOFT_RESET);
    assert_eq!(["STATUS", "FAULT_LO", "CTRL"].map(|name| bench.read(name)), [0; 3]);
    // The event goes before the clear, in the cycle after address and data.
    bench.pulse(&[("done", 1), ("raise", 1)]);
    bench.pulse(&[("awvalid", 1), ("awaddr", 0x04), ("wvalid", 1), ("wdata", DONE), ("wstrb", 1)]);
    bench.pulse(&[("done", 1), ("raise", 1)]);
    bench.cycle();
    assert_eq!(bench.read("STATUS"), DONE | INTERRUPT);
}

#[test]
fn counters_add_up_their_events() {
    for partial in [false, true] {
        let mut bench = Bench::new(config(partial));
        let rows = counters(&bench.config);
        let states = rows.iter().filter(|row| row.event == Event::BeatRead(ReadKind::States));
        assert_eq!(states.count(), usize::from(partial));
        let mut sums = vec![0; rows.len()];
        for cycle in 0..20u64 {
            let inputs: Vec<(String, u64)> = (rows.iter().enumerate())
                .map(|(i, row)| (row.name.to_lowercase(), (cycle + i as u64) * 7 % 17 % (1 << row.bits)))
                .collect();
            sums.iter_mut().zip(&inputs).for_each(|(sum, (_, value))| *sum += value);
            let inputs: Vec<(&str, u64)> = inputs.iter().map(|(name, value)| (&**name, *value)).collect();
            bench.pulse(&inputs);
        }
        bench.pulse(&[("done", 1)]);
        for (row, sum) in rows.iter().zip(sums) {
            assert!(sum > 0);
            assert_eq!(bench.read(row.name), sum, "{}", row.name);
        }
        assert_eq!(bench.read("JOBS"), 1);
        bench.write("CTRL", QUEUE);
        assert!(rows.iter().all(|row| bench.read(row.name) == 0));
        assert_eq!(bench.read("JOBS"), 0);
    }
}
