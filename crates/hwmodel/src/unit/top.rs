//! The top of a unit: host, control, readers and writer around an array and its streams.

use super::check::job_check;
use super::counters::{ReadKind, counters};
use super::descriptors::{ControlInputs, ControlReader, control_reader};
use super::fields::{Fields, Flags};
use super::host::{HostInputs, unit_host};
use super::job::{JobInputs, JobStates, job_states};
use super::ports::{Inputs, MEMORY_PORT};
use super::registers::{CODE_BITS, LOAD_WORD_BITS};
use super::requests::{ReadAddress, read_requests};
use super::sequence::{SequenceInputs, segments};
use super::streams::{Streams, streams};
use crate::function;
use crate::rtl::{Circuit, Module, Role, Stage, Tag, Wire};
use crate::wrapper::advance::ResetFunction;
use crate::wrapper::logic::EitherFunction;
use flashd_spec::config::ConfigError;
use flashd_spec::streams::REGISTER_PORT;
use flashd_spec::unit::UnitConfig;

/// Builds the unit of a configuration. Its clock is `aclk`.
///
/// # Errors
/// If the configuration is not valid.
pub fn build(config: &UnitConfig) -> Result<Circuit, ConfigError> {
    config.validate()?;
    let mut bench = Module::bench();
    let open = Inputs::open(&mut bench, config);
    let tag =
        Tag::module(config.name(), "An array that fetches its operands from memory and writes its results.");
    bench.part("top", tag, |m| {
        m.clock_port("aclk");
        let inputs = open.enter(m);
        unit(m, config, &inputs);
    });
    Ok(bench.into_circuit())
}

function! {
    /// The product of two words, for addresses.
    pub struct AddressProductFunction {}
    name(this) = "address_product";
    doc = "y = a b.";
    inputs { a: 32, b: 32 }
    outputs { y: 64 }
    eval<W> { [a.mul(&b)] }
}

function! {
    /// Factors of the product: of the check while it runs, else of the segments.
    pub struct ChooseFactorsFunction {}
    name(this) = "choose_factors";
    doc = "While a job is checked, its factors; then those of the segments.";
    inputs { checks: 1, check_a: 32, check_b: 32, run_a: 32, run_b: 32 }
    outputs { a: 32, b: 32 }
    eval<W> { [checks.select(&check_a, &run_a), checks.select(&check_b, &run_b)] }
}

function! {
    /// What never changes on the memory port.
    pub struct PortConstantsFunction { size: u32 }
    name(this) = format!("port_constants_{}", this.size);
    doc = "Beats as wide as the bus in ascending order; normal memory, not cached, data, secure; identifier 0 of writes.";
    inputs {}
    outputs { size: 3, burst: 2, cache: 4, prot: 3, id: 3, high: 1 }
    eval<W> {
        [
            W::constant(3, this.size.into()),
            W::constant(2, 1),
            W::constant(4, 0b0011),
            W::constant(3, 0),
            W::constant(3, 0),
            W::constant(1, 1),
        ]
    }
}

/// Inputs of the host that later parts drive.
fn open_host(m: &mut Module, config: &UnitConfig) -> HostInputs {
    let [busy, done, raise, failed, load] = [(); 5].map(|()| m.later(1));
    HostInputs {
        busy,
        done,
        raise,
        failed,
        code: m.later(CODE_BITS),
        fault: m.later(64),
        load,
        load_word: m.later(LOAD_WORD_BITS),
        load_data: m.later(32),
        occurs: counters(config).iter().map(|counter| m.later(counter.bits)).collect(),
    }
}

fn unit(m: &mut Module, config: &UnitConfig, inputs: &Inputs) {
    let [rst] = m.call("reset", ResetFunction {}, [inputs.aresetn]);
    m.reset_by(rst);
    let to_host = open_host(m, config);
    let host = unit_host(m, "host", config, rst, &inputs.host, &to_host);
    m.hand_out(REGISTER_PORT, &host.lite);
    m.output("irq", host.irq);
    let whole = Fields::new(m, &host.fields, 64);
    let job = Fields::new(m, &host.fields, config.address_bits);
    let flags = Flags::of(m, job.get("FLAGS"), config.array.core.partial);

    // Inputs that later parts drive.
    let [check_begins, begin, stop, clear, all_written, reads, writes] = [(); 7].map(|()| m.later(1));
    let product = m.later(64);
    let checked = job_check(m, "check", config, &whole, check_begins, product);

    // Everything from here on is reset before each job, and after an error.
    let clears = m.register_reset("clear_q", 0, clear);
    let [reset] = m.call("datapath_reset", EitherFunction {}, [rst, clears]);
    m.reset_by(reset);
    let [entry, from, to] = [(); 3].map(|()| m.later(32));
    let [entry_valid, take_entry, range, room] = [(); 4].map(|()| m.later(1));
    let sequence = SequenceInputs { begin, entry: [entry, entry_valid], ready: room, product };
    let buffer = (config.kv_buffer > 0).then(|| config.kv_buffer.ilog2());
    let shape = (config.array.queries, config.address_bits, buffer);
    let rows = segments(m, "segments", shape, &job, [flags.causal, flags.windowed, flags.paged], &sequence);
    m.drive_all(&[range, from, to, take_entry], &[&rows.range[..], &[rows.take_entry]].concat());
    let factors = [checked.running, checked.factors[0], checked.factors[1], rows.factors[0], rows.factors[1]];
    let factors: [Wire; 2] = m.call("factors", ChooseFactorsFunction {}, factors);
    let [now] = m.call("multiply", AddressProductFunction {}, factors);
    let multiplied = m.register("product_q", now);
    m.drive(product, multiplied);

    let grants: Vec<Wire> = (0..4 + usize::from(config.array.core.partial)).map(|_| m.later(1)).collect();
    let fetch = [m.later(1), m.later(config.address_bits)];
    let control = ControlInputs {
        fetch,
        range: [range, from, to],
        paged: flags.paged,
        take: take_entry,
        grant: grants[0],
    };
    let table = [job.get("PAGE"), job.get("PAGES"), job.get("TABLE")];
    let beat = (config.beat_bits / 8).ilog2();
    let returned = inputs.returned(m, ReadKind::Control);
    let control = control_reader(m, "control", beat, table, &control, &returned);
    m.drive_all(&[entry, entry_valid], &control.entry);
    let streams =
        streams(m, config, (&job, &flags), [begin, stop, to_host.busy, reset], inputs, (&rows, &grants[1..]));
    m.drive(room, streams.room);

    let offers = [(ReadKind::Control, control.burst)]
        .into_iter()
        .chain(streams.bursts.iter().copied())
        .collect::<Vec<_>>();
    let ends = [inputs.rvalid, inputs.rlast];
    let (ar, granted, reading) = read_requests(m, "read_requests", &offers, [inputs.arready, stop], ends);
    m.drive_all(&grants, &granted);
    m.drive_all(&[reads, writes, all_written], &[reading, streams.writer.busy, streams.all_written]);

    m.reset_by(rst);
    let faults = [control.fault].into_iter().chain(streams.faults.iter().copied()).collect();
    let states = JobInputs {
        start: host.start,
        queue: host.queue,
        soft_reset: host.soft_reset,
        queue_address: host.queue_address,
        next: whole.get("NEXT"),
        queries: job.get("QUERIES"),
        flags: [flags.interrupts, flags.follows],
        loaded: control.loaded,
        checked: [checked.done, checked.code],
        all_written,
        unanswered: [reads, writes],
        faults,
        beyond: control.beyond,
    };
    let states = job_states(m, "job", config.address_bits, &states);
    m.drive_all(
        &[check_begins, begin, stop, clear],
        &[states.check, states.begin, states.stop, states.clear],
    );
    m.drive_all(&fetch, &states.fetch);
    tell_host(m, config, &to_host, &states, &control, &streams);
    hand_out(m, config, &ar, &streams);
    show_ports(m);
}

/// Rows for the handshakes of the memory port, the interrupt, and the array's clock enable.
fn show_ports(m: &mut Module) {
    m.stage(Stage::Streams);
    m.show_port("aclk", 0);
    m.show_role(Role::NoReset, "aresetn", "aresetn");
    m.show_port("irq", 0);
    let of_reads = ["arvalid", "arready", "arid", "araddr", "rvalid", "rid", "rlast"];
    let of_writes = ["awvalid", "awready", "awaddr", "wvalid", "wready", "wlast", "bvalid"];
    of_reads.iter().chain(&of_writes).for_each(|signal| m.show_port(&format!("{MEMORY_PORT}{signal}"), 0));
    m.show_role(Role::Moves, ("gate", "enable"), "the array moves");
}

/// Drives the inputs of the host.
fn tell_host(
    m: &mut Module,
    config: &UnitConfig,
    host: &HostInputs,
    states: &JobStates,
    control: &ControlReader,
    streams: &Streams,
) {
    let flags = [host.busy, host.done, host.raise, host.failed, host.code, host.fault];
    m.drive_all(&flags, &[states.busy, states.done, states.raise, states.failed, states.code, states.fault]);
    m.drive_all(&[host.load, host.load_word, host.load_data], &control.load);
    for (counter, &later) in counters(config).iter().zip(&host.occurs) {
        let wire = streams.event(m, counter, control);
        m.drive(later, wire);
    }
}

/// The ports to the memory.
fn hand_out(m: &mut Module, config: &UnitConfig, ar: &ReadAddress, streams: &Streams) {
    let size = (config.beat_bits / 8).ilog2();
    let [size, burst, cache, prot, id, high] = m.call("constants", PortConstantsFunction { size }, []);
    let port = |signal: &str| format!("{MEMORY_PORT}{signal}");
    let w = &streams.writer.channels;
    let outputs = [
        ("awid", id),
        ("awaddr", w.awaddr),
        ("awlen", w.awlen),
        ("awsize", size),
        ("awburst", burst),
        ("awcache", cache),
        ("awprot", prot),
        ("awvalid", w.awvalid),
        ("wlast", w.wlast),
        ("wvalid", w.wvalid),
        ("bready", high),
        ("arid", ar.id),
        ("araddr", ar.address),
        ("arlen", ar.len),
        ("arsize", size),
        ("arburst", burst),
        ("arcache", cache),
        ("arprot", prot),
        ("arvalid", ar.valid),
        ("rready", high),
    ];
    outputs.into_iter().for_each(|(signal, wire)| _ = m.output(&port(signal), wire));
    m.outputs(&port("wdata"), &w.wdata);
    m.outputs(&port("wstrb"), &w.wstrb);
}
