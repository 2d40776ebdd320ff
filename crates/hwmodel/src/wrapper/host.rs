//! The host's side: registers on an AXI4-Lite slave, counters, and the start of blocks.

use super::around::Control;
use super::fields::*;
use super::lite::lite_slave;
use super::logic::{EitherFunction, block_count_bits, credit};
use super::ports::{LiteHost, LiteSlave};
use super::registers::{ADDRESS_BITS, Access, Register, RegisterName, errors, registers};
use crate::rtl::{Module, Tag, VectorLeaf, Wire};
use flashd_spec::config::{Values, WrapperConfig};

/// Events that the registers record. They come from parts that are built after the registers, so their wires are open at first.
pub struct Events {
    /// A block begins.
    pub opens: Wire,
    /// A block's last result leaves.
    pub done: Wire,
    /// Cores with masks: the array takes a query.
    pub taken: Option<Wire>,
    /// Errors of the streams, in the order of their bits in STATUS.
    pub error: Vec<Wire>,
    /// The events of the counters, without cycles and blocks.
    pub occurs: Vec<Wire>,
}

/// Outputs of the registers.
pub struct HostOutputs {
    /// The outputs of the AXI4-Lite port.
    pub lite: LiteSlave,
    /// The start of blocks, and how they run.
    pub control: Control,
}

/// Registers, counters and the start of blocks. `rst` is synchronous, active high; `host` has the signals that the host drives.
pub fn host_control(
    around: &mut Module,
    name: &str,
    config: &WrapperConfig,
    rst: Wire,
    host: &LiteHost,
    events: &Events,
) -> HostOutputs {
    let table = registers(config);
    let error_bits: Vec<u32> = errors(config).iter().map(|error| error.bit).collect();
    let tag = Tag::module("host_control", "Registers, counters, and the start of blocks.");
    around.part(name, tag, |m| {
        m.clock();
        let rst = m.input("rst", rst);
        m.reset_by(rst);
        let host = m.enter("", host);
        let [opens, done] = m.input_each([("opens", events.opens), ("done", events.done)]);
        let taken = m.optional_input("taken", events.taken);
        let (error, occurs) = (m.inputs("error", &events.error), m.inputs("occurs", &events.occurs));

        let (write_known, read_data, read_known) = (m.later(1), m.later(32), m.later(1));
        let slave = lite_slave(m, "slave", &host, [write_known, read_data, read_known]);
        let write = Write { data: slave.write_data, mask: slave.write_mask };
        let written = Written::new(m, &table, slave.write_address, slave.write);
        m.drive(write_known, written.known);
        // Every wrapper has these four, and the table has them first.
        let [control, status, blocks, length] = [0, 1, 2, 3].map(|place| written.select[place]);
        let blocks_to_run = host_register(m, "block_number", 32, blocks, write);
        let length = host_register(m, "key_number", 32, length, write);
        let mut optional = |part: &str, name| {
            let (width, select) = written.find(name)?;
            Some(host_register(m, part, width, select, write))
        };
        let exponent = optional("exponent", RegisterName::VExponent);
        let mode = optional("mask_mode", RegisterName::MaskMode);
        let stride = optional("stride", RegisterName::Stride);
        let window = optional("window", RegisterName::Window);
        let states = optional("states", RegisterName::States);

        let Blocks { run, working, clear } =
            run_blocks(m, config, [control, blocks_to_run], write, [opens, done]);
        let sight = match (taken, mode, stride, window) {
            (Some(taken), Some(mode), Some(stride), Some(window)) => {
                query_sight(m, &written, write, taken, [mode, stride, window])
            }
            _ => None,
        };
        let errors = keep_errors(m, &error_bits, &error, status, write);

        // Counters, which the host can reset as well.
        let [clears] = m.call("clears", EitherFunction {}, [rst, clear]);
        m.reset_by(clears);
        let events = [working, done].into_iter().chain(occurs).enumerate();
        let counts: Vec<Wire> = events.map(|(i, event)| event_counter(m, ("counter", i), event)).collect();

        // The words that a read returns, in the order of the table.
        let [control] = m.call("control_word", WidenFunction { width: 1 }, [run]);
        let status: Vec<Wire> = [working].into_iter().chain(errors).collect();
        let status = m.leaf("status_word", VectorLeaf::new(StatusWord { bits: error_bits.clone() }), &status);
        let [position, from, to] = [0, 1, 2].map(|i| sight.map(|sight| sight[i]));
        let optional = [
            ("exponent_word", exponent),
            ("mask_mode_word", mode),
            ("stride_word", stride),
            ("window_word", window),
            ("position_word", position),
            ("states_word", states),
        ];
        let optional: Vec<Wire> =
            optional.into_iter().filter_map(|(part, value)| optional_word(m, part, value)).collect();
        let words = [vec![control], status, vec![blocks_to_run, length], optional, counts].concat();
        let offsets = table.iter().map(|register| register.offset).collect();
        let read = [vec![slave.read_address], words].concat();
        let read =
            m.leaf("read_decode", VectorLeaf::new(ReadDecode { address_bits: ADDRESS_BITS, offsets }), &read);
        m.drive_all(&[read_data, read_known], &read);

        let requested = config.values == Values::Requested;
        HostOutputs {
            lite: m.hand_out("", &slave.lite),
            control: Control {
                run: m.output("run", run),
                busy: m.optional_output("busy", requested.then_some(working)),
                length: m.output("length", length),
                q_scale: None,
                v_exponent: m.optional_output("v_exponent", exponent),
                q_from: m.optional_output("q_from", from),
                q_to: m.optional_output("q_to", to),
                states: m.optional_output("states", states),
                request: None,
            },
        }
    })
}

/// Start and stop of blocks.
struct Blocks {
    /// Blocks may begin.
    run: Wire,
    /// One is under way, or may begin.
    working: Wire,
    /// The host resets the counters.
    clear: Wire,
}

/// Whether blocks may begin, how many are left to begin, and whether one is under way. `control` is the write of CONTROL, and the number of blocks to run.
fn run_blocks(
    m: &mut Module,
    config: &WrapperConfig,
    [control, blocks]: [Wire; 2],
    write: Write,
    [opens, done]: [Wire; 2],
) -> Blocks {
    let (run, left) = (m.state("run_q", 1), m.state("left_q", 32));
    let rules = [control, write.data, write.mask, run, opens, blocks, left];
    let [next_run, next_left, clear] = m.call("rules", RunRulesFunction {}, rules);
    m.next_all(&[run, left], &[next_run, next_left]);
    let underway = credit(m, "blocks", block_count_bits(&config.array), opens, done);
    let [working] = m.call("working", EitherFunction {}, [run, underway]);
    Blocks { run, working, clear }
}

/// A register's 32-bit word, if the configuration has it.
fn optional_word(m: &mut Module, part: &'static str, value: Option<Wire>) -> Option<Wire> {
    value.map(|x| m.call(part, WidenFunction { width: x.width() }, [x])[0])
}

/// The next query's place, the first key that it sees, and the one after the last key that it sees.
fn query_sight(
    m: &mut Module,
    written: &Written,
    write: Write,
    taken: Wire,
    [mode, stride, window]: [Wire; 3],
) -> Option<[Wire; 3]> {
    let (width, select) = written.find(RegisterName::Position)?;
    let position = m.state("position_q", width);
    let next = [select, write.data, write.mask, position, stride, taken];
    let [next] = m.call("next_position", NextPositionFunction { width }, next);
    m.next(position, next);
    let [from, to] = m.call("limits", QueryLimitsFunction { width }, [mode, position, window]);
    Some([position, from, to])
}

/// The decoded write.
struct Written<'a> {
    /// The registers that a host can write.
    registers: Vec<&'a Register>,
    /// For each of them, whether this cycle writes it.
    select: Vec<Wire>,
    /// One of them has this address.
    known: Wire,
}

impl<'a> Written<'a> {
    fn new(m: &mut Module, table: &'a [Register], address: Wire, write: Wire) -> Self {
        let registers: Vec<&Register> =
            table.iter().filter(|register| register.access != Access::ReadOnly).collect();
        let offsets = registers.iter().map(|register| register.offset).collect();
        let mut select = m.leaf(
            "write_decode",
            VectorLeaf::new(WriteDecode { address_bits: ADDRESS_BITS, offsets }),
            &[address, write],
        );
        let known = select.split_off(registers.len())[0];
        Written { registers, select, known }
    }

    /// The width of a register, and the wire that says that it is written; none if the configuration does not have it.
    fn find(&self, name: RegisterName) -> Option<(u32, Wire)> {
        let place = self.registers.iter().position(|register| register.name == name)?;
        Some((self.registers[place].width, self.select[place]))
    }
}

/// The error bits of STATUS: set by an event, cleared by writing a one.
fn keep_errors(m: &mut Module, bits: &[u32], occurs: &[Wire], select: Wire, write: Write) -> Vec<Wire> {
    let errors: Vec<Wire> = (0..bits.len()).map(|i| m.state(("error_q", i), 1)).collect();
    let inputs = [occurs, &errors, &[select, write.data, write.mask]].concat();
    let next = m.leaf("errors", VectorLeaf::new(ErrorRules { bits: bits.to_vec() }), &inputs);
    m.next_all(&errors, &next);
    errors
}
