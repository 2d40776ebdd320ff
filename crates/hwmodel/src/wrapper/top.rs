//! The top of the wrapper: streams and registers around an array.

use super::advance::ResetFunction;
use super::around::{Shapes, Sinks, Sources, around_array};
use super::host::{Events, host_control};
use super::ports::*;
use super::registers::{ADDRESS_BITS, counters, errors};
use crate::rtl::{Circuit, Module, Role, Stage, Tag, Wire};
use flashd_spec::config::{ConfigError, WrapperConfig};
use flashd_spec::numerics::Numerics;
use flashd_spec::streams::{REGISTER_PORT, STREAMS, StreamPort};
use std::sync::Arc;

/// Builds the wrapper of a configuration. Its clock is `aclk`.
///
/// # Errors
/// If the configuration is not valid.
pub fn build(config: &WrapperConfig) -> Result<Circuit, ConfigError> {
    config.validate()?;
    let n = Arc::new(Numerics::new(&config.array.core));
    let shapes = Shapes::of(config);
    let mut bench = Module::bench();
    let open = Ports::open(&mut bench, config, &shapes);
    let tag = Tag::module(config.name(), "Streams and registers around the array.");
    bench.part("top", tag, |m| {
        m.clock_port("aclk");
        let ports = open.enter(m);
        wrapper(m, config, &n, &shapes, &ports);
        m.order_ports(interface_order);
    });
    Ok(bench.into_circuit())
}

/// The order of ports: clock and reset, the streams as in their table, and the registers.
fn interface_order(name: &str) -> usize {
    let stream = STREAMS.iter().position(|row| name.starts_with(row.name));
    stream.map_or(if name.starts_with(REGISTER_PORT) { STREAMS.len() + 1 } else { 0 }, |place| place + 1)
}

/// The input ports.
struct Ports {
    aresetn: Wire,
    streams: Sinks,
    host: LiteHost,
}

impl Ports {
    /// Open wires for them.
    fn open(bench: &mut Module, config: &WrapperConfig, shapes: &Shapes) -> Ports {
        let mut sink = |stream, shape| SinkInputs::open(bench, config, stream, shape);
        let q = sink(StreamPort::Queries, &shapes.q);
        let k = sink(StreamPort::Keys, &shapes.k);
        let v = sink(StreamPort::Values, &shapes.v);
        let s = shapes.s.as_ref().map(|shape| sink(StreamPort::States, shape));
        let vreq_tready = StreamPort::Requests.row().exists(config).then(|| bench.open(1));
        let [aresetn, o_tready] = [(); 2].map(|()| bench.open(1));
        let host = LiteHost::open(bench, ADDRESS_BITS);
        Ports { aresetn, streams: Sinks { q, k, v, s, vreq_tready, o_tready }, host }
    }

    /// Declares them.
    fn enter(&self, m: &mut Module) -> Ports {
        let aresetn = m.input("aresetn", self.aresetn);
        let sink = |m: &mut Module, stream: StreamPort, sink: &SinkInputs| sink.enter(m, &stream.port(""));
        let own = &self.streams;
        let q = sink(m, StreamPort::Queries, &own.q);
        let k = sink(m, StreamPort::Keys, &own.k);
        let v = sink(m, StreamPort::Values, &own.v);
        let s = own.s.as_ref().map(|s| sink(m, StreamPort::States, s));
        let vreq_tready = m.optional_input(&StreamPort::Requests.port("tready"), own.vreq_tready);
        let o_tready = m.input(&StreamPort::Results.port("tready"), own.o_tready);
        let host = m.enter(REGISTER_PORT, &self.host);
        Ports { aresetn, streams: Sinks { q, k, v, s, vreq_tready, o_tready }, host }
    }
}

fn wrapper(m: &mut Module, config: &WrapperConfig, n: &Arc<Numerics>, shapes: &Shapes, ports: &Ports) {
    let [rst] = m.call("reset", ResetFunction {}, [ports.aresetn]);
    m.reset_by(rst);
    let events = Events::new(m, config);
    let host = host_control(m, "host", config, rst, &ports.host, &events);
    m.hand_out(REGISTER_PORT, &host.lite);
    let sources = around_array(m, config, n, shapes, (&ports.streams, &host.control), rst);
    hand_out(m, &sources);
    let happens = &sources.events;
    m.drive_all(&[events.opens, events.done], &[happens.opens, happens.done]);
    if let Some(taken) = events.taken {
        m.drive(taken, happens.taken);
    }
    m.drive_all(&events.error, &happens.error);
    let occurs: Vec<Wire> =
        [happens.key].into_iter().chain(happens.counted).chain(happens.request_stall).collect();
    m.drive_all(&events.occurs, &occurs);
    show_streams(m, config);
}

/// The output ports.
fn hand_out(m: &mut Module, sources: &Sources) {
    m.output(&StreamPort::Queries.port("tready"), sources.q_tready);
    m.output(&StreamPort::Keys.port("tready"), sources.k_tready);
    m.output(&StreamPort::Values.port("tready"), sources.v_tready);
    m.optional_output(&StreamPort::States.port("tready"), sources.s_tready);
    if let Some([tvalid, tdata]) = sources.vreq {
        m.output(&StreamPort::Requests.port("tvalid"), tvalid);
        m.output(&StreamPort::Requests.port("tdata"), tdata);
    }
    sources.o.hand_out(m, &StreamPort::Results.port(""));
}

/// Rows for the handshakes in the order of the packets, and for the array's clock enable.
fn show_streams(m: &mut Module, config: &WrapperConfig) {
    m.stage(Stage::Streams);
    m.show_port("aclk", 0);
    m.show_role(Role::NoReset, "aresetn", "aresetn");
    for row in STREAMS.iter().filter(|row| row.exists(config)) {
        let last = row.packet(config).map(|_| "tlast");
        let signals = ["tvalid", "tready"].into_iter().chain(last);
        signals.for_each(|signal| m.show_port(&row.stream.port(signal), 0));
    }
    m.show_role(Role::Moves, ("gate", "enable"), "the array moves");
    if StreamPort::Requests.row().exists(config) {
        m.show_port(&StreamPort::Requests.port("tdata"), 0);
    }
    m.show_port(&StreamPort::Results.port("tuser"), 0);
}

impl Events {
    fn new(m: &mut Module, config: &WrapperConfig) -> Events {
        // The first two, cycles and blocks, count `working` and `done`.
        let counted = counters(config).into_iter().skip(2);
        Events {
            opens: m.later(1),
            done: m.later(1),
            taken: config.array.core.masks.then(|| m.later(1)),
            error: errors(config).iter().map(|_| m.later(1)).collect(),
            occurs: counted.map(|_| m.later(1)).collect(),
        }
    }
}
