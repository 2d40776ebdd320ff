//! The host's side of a unit: registers on an AXI4-Lite slave, the fields of a job, interrupt and counters.

use super::counters::{Counter, counters};
use super::registers::*;
use super::rules::*;
use crate::rtl::{Module, Tag, VectorLeaf, Wire};
use crate::wrapper::fields::*;
use crate::wrapper::lite::lite_slave;
use crate::wrapper::logic::{BothFunction, EitherFunction};
use crate::wrapper::ports::{LiteHost, LiteSlave};
use crate::wrapper::registers::Access;
use flashd_spec::unit::UnitConfig;
use flashd_spec::unit::descriptor::{DescriptorField, FIELDS};

/// Signals of the control of jobs to the host.
#[derive(Clone)]
pub struct HostInputs {
    /// A job or a reset is under way; high from the cycle after `start`, `queue` or `soft_reset` on.
    pub busy: Wire,
    /// A pulse: a job has ended without error.
    pub done: Wire,
    /// With `done`: the job has INTERRUPT, or was started by START.
    pub raise: Wire,
    /// A pulse: a job has ended with an error.
    pub failed: Wire,
    /// With `failed`: the error's code, [`CODE_BITS`].
    pub code: Wire,
    /// With `failed`: the address of the error, 64 bits.
    pub fault: Wire,
    /// A pulse: a word of a descriptor.
    pub load: Wire,
    /// With `load`: its place in the descriptor, in words, [`LOAD_WORD_BITS`].
    pub load_word: Wire,
    /// With `load`: the word.
    pub load_data: Wire,
    /// The events of [`counters`], with the bits of their rows.
    pub occurs: Vec<Wire>,
}

/// Outputs of the registers.
pub struct HostOutputs {
    /// The outputs of the AXI4-Lite port.
    pub lite: LiteSlave,
    /// A pulse: the job in the registers begins.
    pub start: Wire,
    /// A pulse: the chain of descriptors at `queue_address` begins.
    pub queue: Wire,
    /// Address of a chain, 64 bits.
    pub queue_address: Wire,
    /// A pulse: everything stops. The fields have their reset values from the next cycle on.
    pub soft_reset: Wire,
    /// The interrupt.
    pub irq: Wire,
    /// The fields of the job in the order of [`FIELDS`], each of its bits.
    pub fields: Vec<Wire>,
}

impl HostInputs {
    /// Declares the inputs, the events under the names of their counters.
    fn enter(&self, m: &mut Module, config: &UnitConfig) -> HostInputs {
        let rows = counters(config);
        assert_eq!(rows.len(), self.occurs.len(), "an event for each counter");
        let [busy, done, raise] =
            m.input_each([("busy", self.busy), ("done", self.done), ("raise", self.raise)]);
        let [failed, code, fault] =
            m.input_each([("failed", self.failed), ("code", self.code), ("fault", self.fault)]);
        let [load, load_word, load_data] =
            m.input_each([("load", self.load), ("load_word", self.load_word), ("load_data", self.load_data)]);
        let event = |(row, &event): (&Counter, &Wire)| m.input(&row.name.to_lowercase(), event);
        let occurs = rows.iter().zip(&self.occurs).map(event).collect();
        HostInputs { busy, done, raise, failed, code, fault, load, load_word, load_data, occurs }
    }
}

/// Registers, counters and the job of a unit. `rst` is synchronous, active high; `lite` has the signals that the host drives.
pub fn unit_host(
    around: &mut Module,
    name: &str,
    config: &UnitConfig,
    rst: Wire,
    lite: &LiteHost,
    from: &HostInputs,
) -> HostOutputs {
    let table = registers(config);
    around.part(name, Tag::module("unit_host", "Registers, counters, and the fields of a job."), |m| {
        m.clock();
        let rst = m.input("rst", rst);
        m.reset_by(rst);
        let lite = m.enter("", lite);
        let from = from.enter(m, config);

        let (write_known, read_data, read_known) = (m.later(1), m.later(32), m.later(1));
        let slave = lite_slave(m, "slave", &lite, [write_known, read_data, read_known]);
        let write = Write { data: slave.write_data, mask: slave.write_mask };
        let written = Written::new(m, &table, slave.write_address, slave.write);
        m.drive(write_known, written.known);

        let [start, queue, soft_reset, irq_en] = commands(m, written.of(&Storage::Control), write, from.busy);
        let status = status(m, written.of(&Storage::Status), write, soft_reset, &from);
        let [irq] = m.call("irq_gate", BothFunction {}, [irq_en, status.raised]);
        let irq = m.register_reset("irq_q", 0, irq);
        let mut own = |part, storage: Storage| host_register(m, part, 32, written.of(&storage), write);
        let queue_address =
            [own("queue_lo", Storage::Queue(Half::Low)), own("queue_hi", Storage::Queue(Half::High))];
        let kept = own("neg_large", Storage::Kept);

        let [clears] = m.call("clears_job", EitherFunction {}, [rst, soft_reset]);
        m.reset_by(clears);
        let words = job(m, &written, write, &from);

        // The counters begin with a start.
        let [starts] = m.call("starts", EitherFunction {}, [start, queue]);
        let [clears] = m.call("clears_counters", EitherFunction {}, [rst, starts]);
        m.reset_by(clears);
        let events = [from.busy, from.done].into_iter().chain(from.occurs).enumerate();
        let counts: Vec<Wire> = events.map(|(i, event)| event_counter(m, ("counter", i), event)).collect();

        let [control] = m.call("control_word", ControlWordFunction {}, [irq_en]);
        let contents =
            Contents { control, status: &status, queue: queue_address, kept, words: &words, counts: &counts };
        let read = contents.read(m, &table, slave.read_address);
        m.drive_all(&[read_data, read_known], &read);

        let [queue_address] = m.call("queue_address", HalvesFunction {}, queue_address);
        let fields = fields(m, &words).into_iter().zip(&FIELDS);
        HostOutputs {
            lite: m.hand_out("", &slave.lite),
            start: m.output("start", start),
            queue: m.output("start_queue", queue),
            queue_address: m.output("queue_address", queue_address),
            soft_reset: m.output("soft_reset", soft_reset),
            irq: m.output("irq", irq),
            fields: fields.map(|(wire, field)| m.output(&part_of_job(field.name), wire)).collect(),
        }
    })
}

/// The name of a part or port for a word or field of the job.
fn part_of_job(name: &str) -> String {
    format!("job_{}", name.to_lowercase())
}

/// The decoded write.
struct Written<'a> {
    table: &'a [UnitRegister],
    /// For each register, whether this cycle writes it; none for a register that can only be read.
    select: Vec<Option<Wire>>,
    /// One of them has this address.
    known: Wire,
}

impl<'a> Written<'a> {
    fn new(m: &mut Module, table: &'a [UnitRegister], address: Wire, write: Wire) -> Self {
        let writable = |row: &UnitRegister| row.register.access != Access::ReadOnly;
        let offsets: Vec<u32> =
            table.iter().filter(|row| writable(row)).map(|row| row.register.offset).collect();
        let decode = WriteDecode { address_bits: ADDRESS_BITS, offsets };
        let mut wires = m.leaf("write_decode", VectorLeaf::new(decode), &[address, write]);
        let known = wires.split_off(wires.len() - 1)[0];
        let mut wires = wires.into_iter();
        let select = table.iter().map(|row| if writable(row) { wires.next() } else { None }).collect();
        Written { table, select, known }
    }

    /// The registers that a host can write, each with the wire that says that it is written.
    fn all(&self) -> impl Iterator<Item = (&'a UnitRegister, Wire)> + '_ {
        self.table.iter().zip(&self.select).filter_map(|(row, select)| Some((row, (*select)?)))
    }

    /// Set if a register with this storage is written.
    fn of(&self, storage: &Storage) -> Wire {
        let found = self.all().find(|(row, _)| row.storage == *storage);
        found.unwrap_or_else(|| panic!("no register can write {storage:?}")).1
    }
}

/// Start, queue, soft reset, and the interrupt enable.
fn commands(m: &mut Module, select: Wire, write: Write, busy: Wire) -> [Wire; 4] {
    let irq_en = m.state("irq_en_q", 1);
    let inputs = [select, write.data, write.mask, busy, irq_en];
    let [start, queue, soft_reset, next] = m.call("commands", CommandFunction {}, inputs);
    m.next(irq_en, next);
    [start, queue, soft_reset, irq_en]
}

/// The state of the unit as it is recorded.
struct Status {
    /// STATUS as it is read.
    word: Wire,
    /// INTERRUPT.
    raised: Wire,
    /// The halves of the faulting address.
    fault: [Wire; 2],
}

fn status(m: &mut Module, select: Wire, write: Write, soft_reset: Wire, from: &HostInputs) -> Status {
    let states @ [done, pending, error] = ["done_q", "pending_q", "error_q"].map(|name| m.state(name, 1));
    let (code, fault) = (m.state("code_q", CODE_BITS), m.state("fault_q", 64));
    let inputs = [select, write.data, write.mask, soft_reset, from.done, from.raise, from.failed];
    let [select, data, mask, soft_reset, ends, raise, failed] = inputs;
    let rules = [select, data, mask, soft_reset, ends, raise, failed, done, pending, error];
    let [next_done, next_pending, next_error, take, forget] = m.call("rules", StatusRulesFunction {}, rules);
    m.next_all(&states, &[next_done, next_pending, next_error]);
    for (name, state, news) in [("record_code", code, from.code), ("record_fault", fault, from.fault)] {
        let [next] = m.call(name, RecordFunction { width: state.width() }, [take, forget, news, state]);
        m.next(state, next);
    }
    let [word, raised] =
        m.call("status_word", StatusWordFunction {}, [from.busy, done, pending, error, code]);
    let half =
        |m: &mut Module, name, low| m.call(name, BitsFunction { from: 64, low, width: 32 }, [fault])[0];
    Status { word, raised, fault: [half(m, "fault_lo", 0), half(m, "fault_hi", 32)] }
}

/// The words of the job, which the host and descriptors write.
fn job(m: &mut Module, written: &Written, write: Write, from: &HostInputs) -> Vec<Wire> {
    let words = job_words();
    let causal = written.of(&Storage::Causal);
    let mut writers = vec![(vec![FLAGS_WORD], causal)];
    writers.extend(written.all().filter_map(|(row, select)| match &row.storage {
        Storage::Job(words) => Some((words.clone(), select)),
        _ => None,
    }));
    let (writes, mut inputs): (Vec<_>, Vec<_>) = writers.into_iter().unzip();
    inputs.extend([from.busy, from.load, from.load_word]);
    let places = words.iter().map(|word| word.offset / 4).collect();
    let select = m.leaf("job_select", VectorLeaf::new(JobSelect { writes, places }), &inputs);

    let inputs = [from.load, from.load_data, write.data, write.mask];
    let [data, mask] = m.call("job_write", JobWriteFunction {}, inputs);
    let write = Write { data, mask };
    let [data, mask] = m.call("flags_write", FlagsWriteFunction {}, [causal, from.load, data, mask]);
    let flags = Write { data, mask };
    let words = words.iter().zip(select).enumerate();
    let register = |(place, (word, select)): (usize, (&JobWord, Wire))| {
        let name = part_of_job(&word.name());
        let write = if place == FLAGS_WORD { flags } else { write };
        host_register_from(word.reset, m, name, word.width, select, write)
    };
    words.map(register).collect()
}

/// The fields of the job, of its words.
fn fields(m: &mut Module, words: &[Wire]) -> Vec<Wire> {
    let table = job_words();
    let field = |(field, row): (usize, &DescriptorField)| {
        let parts = table.iter().zip(words).flat_map(|(word, &wire)| {
            word.parts.iter().filter(|part| part.field == field).map(move |part| (part, wire))
        });
        let parts: Vec<(&FieldPart, Wire)> = parts.collect();
        let name = format!("field_{}", row.name.to_lowercase());
        match parts[..] {
            [(_, low), (_, high)] => m.call(name, HalvesFunction {}, [low, high])[0],
            [(part, word), ..] if part.width < word.width() => {
                let bits = BitsFunction { from: word.width(), low: part.bit, width: part.width };
                m.call(name, bits, [word])[0]
            }
            [(_, word), ..] => word,
            [] => panic!("{} is in no word", row.name),
        }
    };
    FIELDS.iter().enumerate().map(field).collect()
}

/// The contents of all registers.
struct Contents<'a> {
    control: Wire,
    status: &'a Status,
    queue: [Wire; 2],
    kept: Wire,
    words: &'a [Wire],
    counts: &'a [Wire],
}

impl Contents<'_> {
    /// The word at an address, and whether there is one.
    fn read(&self, m: &mut Module, table: &[UnitRegister], address: Wire) -> Vec<Wire> {
        let constants = table.iter().filter_map(|row| match row.storage {
            Storage::Constant(word) => Some(word),
            _ => None,
        });
        let constants = Constants { words: constants.collect() };
        let mut constants = m.leaf("capabilities", VectorLeaf::new(constants), &[]).into_iter();
        let flags = self.words[FLAGS_WORD];
        let [causal] = m.call("causal_word", CausalWordFunction { width: flags.width() }, [flags]);
        let widen = |(place, &word): (usize, &Wire)| match word.width() {
            32 => word,
            width => m.call(("job_word", place), WidenFunction { width }, [word])[0],
        };
        let words: Vec<Wire> = self.words.iter().enumerate().map(widen).collect();
        let of = |half: &Half, [low, high]: [Wire; 2]| match half {
            Half::Low => low,
            Half::High => high,
        };
        let word = |row: &UnitRegister| match &row.storage {
            Storage::Control => self.control,
            Storage::Status => self.status.word,
            Storage::Causal => causal,
            Storage::Job(places) => words[places[0]],
            Storage::Kept => self.kept,
            Storage::Queue(half) => of(half, self.queue),
            Storage::Fault(half) => of(half, self.status.fault),
            Storage::Constant(_) => constants.next().unwrap_or(self.kept),
            Storage::Cycles => self.counts[0],
            Storage::Jobs => self.counts[1],
            Storage::Counter(place) => self.counts[2 + place],
        };
        let words = table.iter().map(word);
        let inputs: Vec<Wire> = [address].into_iter().chain(words).collect();
        let offsets = table.iter().map(|row| row.register.offset).collect();
        m.leaf("read_decode", VectorLeaf::new(ReadDecode { address_bits: ADDRESS_BITS, offsets }), &inputs)
    }
}
