//! The host's registers, in one table: the contest's map, ours, and the fields of a job.
//!
//! | bytes | registers |
//! | --- | --- |
//! | 0x00 to 0x40 | control, and a single job with one stride and one head |
//! | 0x44 to 0x50 | the queue of descriptors, and the address of a fault |
//! | 0x54 to 0x8c | identification and capabilities |
//! | 0xa0 to 0xec | counters |
//! | 0x100 to 0x1ff | the fields of a job at [`JOB_BASE`] and their place in a descriptor |
//!
//! Registers of the contest's map and fields of a job are the same storage.

use super::capabilities::{Constant, capabilities};
use super::counters::counters;
use crate::wrapper::registers::{Access, COUNTER_BITS, Field, Register, field};
use flashd_spec::unit::codes::FLAGS;
use flashd_spec::unit::descriptor::{DescriptorField, FIELDS};
use flashd_spec::unit::ports::REGISTER_ADDRESS_BITS;
use flashd_spec::unit::{Flag, UnitConfig};
use std::borrow::Cow;

/// Width of a register's byte address.
pub const ADDRESS_BITS: u32 = REGISTER_ADDRESS_BITS;
/// Address of the first field of a job.
pub const JOB_BASE: u32 = 0x100;

/// START in CTRL: runs the job in the registers.
pub const START_BIT: u32 = 0;
/// SOFT_RESET in CTRL.
pub const SOFT_RESET_BIT: u32 = 1;
/// IRQ_EN in CTRL.
pub const IRQ_EN_BIT: u32 = 2;
/// QUEUE in CTRL: runs a chain of descriptors.
pub const QUEUE_BIT: u32 = 8;
/// BUSY in STATUS.
pub const BUSY_BIT: u32 = 0;
/// DONE in STATUS.
pub const DONE_BIT: u32 = 1;
/// ERROR in STATUS.
pub const ERROR_BIT: u32 = 2;
/// INTERRUPT in STATUS.
pub const INTERRUPT_BIT: u32 = 3;
/// Lowest bit of CODE in STATUS.
pub const CODE_BIT: u32 = 8;
/// Bits of a word's place in a descriptor, in words.
pub const LOAD_WORD_BITS: u32 = 6;
/// Bits of CODE in STATUS.
pub const CODE_BITS: u32 = 8;

/// The contents of a register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Storage {
    /// The commands; IRQ_EN is kept.
    Control,
    /// The state of the unit.
    Status,
    /// FLAGS of the job, of which only CAUSAL is read and written; a write clears the others.
    Causal,
    /// Words of the job, by their places in [`job_words`]. A write writes all of them, a read returns the first.
    Job(Vec<usize>),
    /// Kept for the host.
    Kept,
    /// The lower or upper half of the address of a chain.
    Queue(Half),
    /// The lower or upper half of the faulting address.
    Fault(Half),
    /// Does not change.
    Constant(u32),
    /// Counts cycles with BUSY.
    Cycles,
    /// Counts jobs.
    Jobs,
    /// Adds up the event at this place among the [`counters`].
    Counter(usize),
}

/// Half of a number of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// Bits 31 to 0.
    Low,
    /// Bits 63 to 32.
    High,
}

/// A register, and its contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitRegister {
    /// Its description.
    pub register: Register<Cow<'static, str>>,
    /// Its contents.
    pub storage: Storage,
}

/// A register without fields.
fn register(
    name: impl Into<Cow<'static, str>>,
    (offset, access, width): (u32, Access, u32),
    storage: Storage,
    meaning: impl Into<Cow<'static, str>>,
) -> UnitRegister {
    let (name, meaning, reset) = (name.into(), meaning.into(), 0);
    UnitRegister {
        register: Register { name, offset, access, width, reset, meaning, fields: Vec::new() },
        storage,
    }
}

impl UnitRegister {
    /// This register with fields.
    fn with(mut self, fields: Vec<Field>) -> Self {
        self.register.fields = fields;
        self
    }
}

/// The part of a field that is in a word of the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldPart {
    /// The field's place among [`FIELDS`].
    pub field: usize,
    /// Its lowest bit in the word.
    pub bit: u32,
    /// Bits in the word.
    pub width: u32,
    /// The half of the field that it is, if it has 64 bits.
    pub half: Option<Half>,
}

/// A word of a job: 32 bits of a descriptor, with at least one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobWord {
    /// Its place in a descriptor, in bytes.
    pub offset: u32,
    /// Bits from its lowest to its highest field.
    pub width: u32,
    /// Contents after reset: one head of queries for each of one head of keys.
    pub reset: u32,
    /// Its fields, from the lowest bit on.
    pub parts: Vec<FieldPart>,
}

/// The place of FLAGS among the words of a job.
pub const FLAGS_WORD: usize = 0;

impl JobWord {
    /// The names of its fields; of half a field `_LO` or `_HI` follows.
    pub fn name(&self) -> String {
        let names: Vec<&str> = self.parts.iter().map(|part| FIELDS[part.field].name).collect();
        let name = names.join("_");
        match self.parts[0].half {
            Some(half) => named(&name, half),
            None => name,
        }
    }
}

/// The parts of a field: where they are in a descriptor.
fn parts(field: usize) -> Vec<(u32, FieldPart)> {
    let DescriptorField { offset, bits, .. } = FIELDS[field];
    let part = |half, width| FieldPart { field, bit: offset % 4 * 8, width, half };
    match bits {
        64 => vec![(offset, part(Some(Half::Low), 32)), (offset + 4, part(Some(Half::High), 32))],
        _ => vec![(offset / 4 * 4, part(None, bits))],
    }
}

/// The words of a job, by place.
pub fn job_words() -> Vec<JobWord> {
    let mut words: Vec<JobWord> = Vec::new();
    for (offset, part) in (0..FIELDS.len()).flat_map(parts) {
        let one = u32::from(["GROUP", "K_HEADS"].contains(&FIELDS[part.field].name)) << part.bit;
        let width = part.bit + part.width;
        if words.last().is_none_or(|word| word.offset != offset) {
            words.push(JobWord { offset, width, reset: 0, parts: Vec::new() });
        }
        if let Some(word) = words.last_mut() {
            (word.width, word.reset) = (width, word.reset | one);
            word.parts.push(part);
        }
    }
    words
}

/// The registers of a unit by ascending address. Accesses to other addresses are answered with SLVERR.
pub fn registers(config: &UnitConfig) -> Vec<UnitRegister> {
    let words = job_words();
    let job = words.iter().enumerate().map(|(place, word)| job_register(place, word));
    let all = [contest(&words), ours(), constants(config), counted(config), job.collect()];
    all.into_iter().flatten().collect()
}

use Access::{ClearByOne, ReadOnly, ReadWrite};

/// The registers of the contest's map.
fn contest(words: &[JobWord]) -> Vec<UnitRegister> {
    let place = |name: &str| {
        let holds = |word: &JobWord| word.parts.iter().any(|part| FIELDS[part.field].name == name);
        words.iter().position(holds).unwrap_or_default()
    };
    let alias = |name, offset, width, places, meaning| {
        register(name, (offset, ReadWrite, width), Storage::Job(places), meaning)
    };
    let field_of = |name, offset, of: &str| {
        let field = FIELDS.iter().find(|field| field.name == of);
        let (bits, meaning) = field.map_or((1, ""), |field| (field.bits, field.meaning));
        alias(name, offset, bits, vec![place(of)], meaning)
    };
    let rows = ["Q_ROW", "K_ROW", "V_ROW", "O_ROW"].map(place).to_vec();
    let mut registers = vec![
        register(
            "CTRL",
            (0x00, ReadWrite, QUEUE_BIT + 1),
            Storage::Control,
            "commands, and the interrupt enable",
        )
        .with(control_fields()),
        register(
            "STATUS",
            (0x04, ClearByOne, CODE_BIT + CODE_BITS),
            Storage::Status,
            "state, and the error's code",
        )
        .with(status_fields()),
        register("CFG", (0x08, ReadWrite, 1), Storage::Causal, CFG).with(vec![field(
            "CAUSAL_EN",
            Flag::Causal as u32,
            FLAGS[0].meaning,
        )]),
        field_of("LENGTH", 0x0c, "QUERIES"),
        field_of("VALID", 0x10, "KEYS"),
    ];
    for (operand, offset, of) in
        [("Q", 0x14, "queries"), ("K", 0x1c, "keys"), ("V", 0x24, "values"), ("O", 0x2c, "results")]
    {
        registers.extend([(Half::Low, 0), (Half::High, 1)].map(|(half, more)| {
            let meaning = format!("address of the {of}, bits {}", bits_of(half));
            let access = (offset + 4 * more as u32, ReadWrite, 32);
            register(named(operand, half), access, Storage::Job(vec![place(operand) + more]), meaning)
        }));
    }
    registers.extend([
        alias("STRIDE", 0x34, 32, rows, "bytes from a token's row to the next token's: of Q, K, V and O"),
        register("NEG_LARGE", (0x38, ReadWrite, 32), Storage::Kept, "kept, without effect: masks are exact"),
        field_of("SCALE", 0x3c, "SCALE"),
        register(
            "CYCLES",
            (0x40, ReadOnly, COUNTER_BITS),
            Storage::Cycles,
            "cycles with BUSY since the last start",
        ),
    ]);
    registers
}

const CFG: &str = "the job's mask; a write clears all other flags of the job";

fn control_fields() -> Vec<Field> {
    let command = |name, bit, meaning| Field { access: Some(Access::Command), ..field(name, bit, meaning) };
    vec![
        command("START", START_BIT, "runs the job in the registers; without effect while BUSY"),
        command(
            "SOFT_RESET",
            SOFT_RESET_BIT,
            "stops all jobs and clears the fields of the job, DONE and ERROR; BUSY until the memory has answered",
        ),
        field("IRQ_EN", IRQ_EN_BIT, "the port `irq` follows INTERRUPT"),
        command(
            "QUEUE",
            QUEUE_BIT,
            "runs the chain of descriptors from QUEUE_LO and QUEUE_HI on; without effect while BUSY",
        ),
    ]
}

fn status_fields() -> Vec<Field> {
    let read = |field: Field| Field { access: Some(ReadOnly), ..field };
    let interrupt =
        "the last job, or one with the flag INTERRUPT, has ended, which clearing DONE clears; or ERROR";
    let code = field("CODE", CODE_BIT, "the error's code; 0 without ERROR");
    vec![
        read(field("BUSY", BUSY_BIT, "a job, or a reset, is under way")),
        field("DONE", DONE_BIT, "a job has ended without error"),
        field("ERROR", ERROR_BIT, "a job has ended with an error, and the rest of its chain is left out"),
        read(field("INTERRUPT", INTERRUPT_BIT, interrupt)),
        read(Field { width: CODE_BITS, ..code }),
    ]
}

/// Queue and fault.
fn ours() -> Vec<UnitRegister> {
    let queue = |offset, half| {
        let meaning = format!("address of the first descriptor of a chain, bits {}", bits_of(half));
        register(named("QUEUE", half), (offset, ReadWrite, 32), Storage::Queue(half), meaning)
    };
    let fault = |offset, half| {
        let meaning = format!("address of the error, bits {}; 0 without ERROR", bits_of(half));
        register(named("FAULT", half), (offset, ReadOnly, 32), Storage::Fault(half), meaning)
    };
    vec![queue(0x44, Half::Low), queue(0x48, Half::High), fault(0x4c, Half::Low), fault(0x50, Half::High)]
}

fn bits_of(half: Half) -> &'static str {
    match half {
        Half::Low => "31 to 0",
        Half::High => "63 to 32",
    }
}

fn named(name: &str, half: Half) -> String {
    let suffix = match half {
        Half::Low => "LO",
        Half::High => "HI",
    };
    format!("{name}_{suffix}")
}

/// The fields of the job at this place of [`job_words`].
fn job_register(place: usize, word: &JobWord) -> UnitRegister {
    let of = |part: &FieldPart| &FIELDS[part.field];
    let meanings: Vec<&str> = word.parts.iter().map(|part| of(part).meaning).collect();
    let half = word.parts[0].half.map(|half| format!(", bits {}", bits_of(half)));
    let meaning = meanings.join("; ") + &half.unwrap_or_default();
    let part =
        |part: &FieldPart| Field { width: part.width, ..field(of(part).name, part.bit, of(part).meaning) };
    let fields = match word.parts.len() {
        _ if place == FLAGS_WORD => {
            FLAGS.iter().map(|flag| field(flag.name, flag.code, flag.meaning)).collect()
        }
        1 => Vec::new(),
        _ => word.parts.iter().map(part).collect(),
    };
    let access = (JOB_BASE + word.offset, ReadWrite, word.width);
    let mut row =
        register(format!("JOB_{}", word.name()), access, Storage::Job(vec![place]), meaning).with(fields);
    row.register.reset = word.reset;
    row
}

/// The registers that do not change.
fn constants(config: &UnitConfig) -> Vec<UnitRegister> {
    let row = |Constant { name, offset, value, meaning, fields }| {
        let mut row = register(name, (offset, ReadOnly, 32), Storage::Constant(value), meaning).with(fields);
        row.register.reset = value;
        row
    };
    capabilities(config).into_iter().map(row).collect()
}

/// The registers of the counters. All begin at 0 with a start.
fn counted(config: &UnitConfig) -> Vec<UnitRegister> {
    let counter =
        |name, offset, storage, meaning| register(name, (offset, ReadOnly, COUNTER_BITS), storage, meaning);
    let jobs = counter("JOBS", 0xa0, Storage::Jobs, "jobs that have ended without error");
    let events = counters(config).into_iter().enumerate();
    let events = events.map(|(i, row)| counter(row.name, row.offset, Storage::Counter(i), row.meaning));
    [jobs].into_iter().chain(events).collect()
}
