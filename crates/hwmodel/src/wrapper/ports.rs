//! The ports of a wrapper as wires of the module around it, by stream.

use super::beat::Shape;
use super::buffer::FLAG_BITS;
use super::later::{announce, drive_all};
use super::registers::ADDRESS_BITS;
use super::requests::INDEX_BITS;
use crate::rtl::{Module, Wire};

/// A stream into a module, as its source drives it.
#[derive(Clone, Debug)]
pub struct SinkInputs {
    /// A beat is offered.
    pub tvalid: Wire,
    /// The beat, in words.
    pub tdata: Vec<Wire>,
    /// Of packets: it is its packet's last.
    pub tlast: Option<Wire>,
    /// With a flag: that of the vector that the beat ends.
    pub tuser: Option<Wire>,
}

/// A stream inside the module that it comes into.
pub struct Sink {
    /// What comes.
    pub stream: SinkInputs,
    /// To be driven: a beat is taken if offered.
    pub tready: Wire,
    /// The same for the module around.
    pub tready_out: Wire,
}

/// Whether a module always has a `tlast`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Last {
    /// Always.
    Always,
    /// Where the stream has packets, in some configurations.
    Optional,
}

impl SinkInputs {
    /// Open wires for a stream in beats of a shape.
    pub fn open(bench: &mut Module, shape: &Shape, has_last: bool, has_flag: bool) -> SinkInputs {
        SinkInputs {
            tvalid: bench.open(1),
            tdata: bench.opens(shape.words, shape.word_bits()),
            tlast: has_last.then(|| bench.open(1)),
            tuser: has_flag.then(|| bench.open(1)),
        }
    }

    /// The ports of a stream in a module: `{prefix}tvalid` and so on.
    pub fn enter(&self, m: &mut Module, prefix: &str, last: Last) -> Sink {
        let name = |signal: &str| format!("{prefix}{signal}");
        let tvalid = m.input(&name("tvalid"), self.tvalid);
        let (tready, tready_out) = announce(m, &name("tready"), 1);
        let tdata = m.inputs(&name("tdata"), &self.tdata);
        let tlast = match last {
            Last::Always => self.tlast.map(|tlast| m.input(&name("tlast"), tlast)),
            Last::Optional => m.optional_input(&name("tlast"), self.tlast),
        };
        let tuser = m.optional_input(&name("tuser"), self.tuser);
        Sink { stream: SinkInputs { tvalid, tdata, tlast, tuser }, tready, tready_out }
    }
}

/// The stream of results.
#[derive(Clone, Debug)]
pub struct SourceOutputs {
    /// A beat is offered.
    pub tvalid: Wire,
    /// The beat, in words.
    pub tdata: Vec<Wire>,
    /// Flags of its result, [`FLAG_BITS`] bits.
    pub tuser: Wire,
    /// It is its packet's last.
    pub tlast: Wire,
}

/// The stream of requests for values.
#[derive(Clone, Copy, Debug)]
pub struct RequestOutputs {
    /// A request is offered.
    pub tvalid: Wire,
    /// Place of the key whose value is asked for, [`INDEX_BITS`] bits.
    pub tdata: Wire,
}

/// What a host drives at a register port.
#[derive(Clone, Copy, Debug)]
pub struct LiteInputs {
    /// Write address, [`ADDRESS_BITS`] bits.
    pub awaddr: Wire,
    /// It is there.
    pub awvalid: Wire,
    /// Write data, 32 bits.
    pub wdata: Wire,
    /// Its bytes, a bit for each.
    pub wstrb: Wire,
    /// It is there.
    pub wvalid: Wire,
    /// The answer to a write is taken.
    pub bready: Wire,
    /// Read address, [`ADDRESS_BITS`] bits.
    pub araddr: Wire,
    /// It is there.
    pub arvalid: Wire,
    /// The answer to a read is taken.
    pub rready: Wire,
}

/// What a register port answers.
#[derive(Clone, Copy, Debug)]
pub struct LiteOutputs {
    /// The write address is taken.
    pub awready: Wire,
    /// Write data are taken.
    pub wready: Wire,
    /// Answer to a write, 2 bits.
    pub bresp: Wire,
    /// It is there.
    pub bvalid: Wire,
    /// The read address is taken.
    pub arready: Wire,
    /// Answer to a read, 32 bits.
    pub rdata: Wire,
    /// Its response, 2 bits.
    pub rresp: Wire,
    /// It is there.
    pub rvalid: Wire,
}

/// A register port inside the module that it belongs to.
pub struct LitePort {
    /// What comes.
    pub inputs: LiteInputs,
    /// The answers for the module around.
    pub outputs: LiteOutputs,
    /// The answers here, to be driven.
    answers: LiteOutputs,
}

impl LiteInputs {
    /// Open wires for a register port.
    pub fn open(bench: &mut Module) -> LiteInputs {
        LiteInputs {
            awaddr: bench.open(ADDRESS_BITS),
            awvalid: bench.open(1),
            wdata: bench.open(32),
            wstrb: bench.open(4),
            wvalid: bench.open(1),
            bready: bench.open(1),
            araddr: bench.open(ADDRESS_BITS),
            arvalid: bench.open(1),
            rready: bench.open(1),
        }
    }

    /// The ports of a register port in a module: `{prefix}awaddr` and so on.
    pub fn enter(&self, m: &mut Module, prefix: &str) -> LitePort {
        let name = |signal: &str| format!("{prefix}{signal}");
        let awaddr = m.input(&name("awaddr"), self.awaddr);
        let awvalid = m.input(&name("awvalid"), self.awvalid);
        let awready = announce(m, &name("awready"), 1);
        let wdata = m.input(&name("wdata"), self.wdata);
        let wstrb = m.input(&name("wstrb"), self.wstrb);
        let wvalid = m.input(&name("wvalid"), self.wvalid);
        let wready = announce(m, &name("wready"), 1);
        let bresp = announce(m, &name("bresp"), 2);
        let bvalid = announce(m, &name("bvalid"), 1);
        let bready = m.input(&name("bready"), self.bready);
        let araddr = m.input(&name("araddr"), self.araddr);
        let arvalid = m.input(&name("arvalid"), self.arvalid);
        let arready = announce(m, &name("arready"), 1);
        let rdata = announce(m, &name("rdata"), 32);
        let rresp = announce(m, &name("rresp"), 2);
        let rvalid = announce(m, &name("rvalid"), 1);
        let rready = m.input(&name("rready"), self.rready);
        let side = |pick: fn((Wire, Wire)) -> Wire| LiteOutputs {
            awready: pick(awready),
            wready: pick(wready),
            bresp: pick(bresp),
            bvalid: pick(bvalid),
            arready: pick(arready),
            rdata: pick(rdata),
            rresp: pick(rresp),
            rvalid: pick(rvalid),
        };
        LitePort {
            inputs: LiteInputs { awaddr, awvalid, wdata, wstrb, wvalid, bready, araddr, arvalid, rready },
            outputs: side(|(_, outside)| outside),
            answers: side(|(inside, _)| inside),
        }
    }
}

impl LitePort {
    /// Drives the answers.
    pub fn answer(&self, m: &mut Module, from: &LiteOutputs) {
        drive_all(m, &self.answers.wires(), &from.wires());
    }
}

impl LiteOutputs {
    fn wires(&self) -> [Wire; 8] {
        let LiteOutputs { awready, wready, bresp, bvalid, arready, rdata, rresp, rvalid } = *self;
        [awready, wready, bresp, bvalid, arready, rdata, rresp, rvalid]
    }
}

/// What a wrapper gets.
pub struct WrapperInputs {
    /// Reset, active low.
    pub aresetn: Wire,
    /// Queries, a packet for each block.
    pub q: SinkInputs,
    /// Keys, a packet for each block; with masks `tuser`: no query sees the key.
    pub k: SinkInputs,
    /// Values, one by one where they are asked for, otherwise a packet for each block.
    pub v: SinkInputs,
    /// Where values are asked for: a request is taken.
    pub vreq_tready: Option<Wire>,
    /// A beat of a result is taken.
    pub o_tready: Wire,
    /// Registers.
    pub lite: LiteInputs,
}

/// What a wrapper hands out.
pub struct WrapperOutputs {
    /// A beat of a query is taken if offered.
    pub q_tready: Wire,
    /// A beat of a key is taken if offered.
    pub k_tready: Wire,
    /// A beat of a value is taken if offered.
    pub v_tready: Wire,
    /// Where values are asked for: requests.
    pub vreq: Option<RequestOutputs>,
    /// Results, a packet for each block.
    pub o: SourceOutputs,
    /// Registers.
    pub lite: LiteOutputs,
}

/// The stream of results in a wrapper.
pub struct Source {
    /// A beat is taken.
    pub tready: Wire,
    /// The stream for the module around.
    pub stream: SourceOutputs,
    /// The same here, to be driven.
    beat: SourceOutputs,
}

impl Source {
    /// The ports of the results in a wrapper, in beats of so many words and bits: `{prefix}tvalid` and so on.
    pub fn enter(m: &mut Module, prefix: &str, tready: Wire, words: usize, bits: u32) -> Source {
        let name = |signal: &str| format!("{prefix}{signal}");
        let tvalid = announce(m, &name("tvalid"), 1);
        let tready = m.input(&name("tready"), tready);
        let data: Vec<Wire> = (0..words).map(|_| m.later(bits)).collect();
        let tdata = m.outputs(&name("tdata"), &data);
        let tlast = announce(m, &name("tlast"), 1);
        let tuser = announce(m, &name("tuser"), FLAG_BITS);
        Source {
            tready,
            stream: SourceOutputs { tvalid: tvalid.1, tdata, tuser: tuser.1, tlast: tlast.1 },
            beat: SourceOutputs { tvalid: tvalid.0, tdata: data, tuser: tuser.0, tlast: tlast.0 },
        }
    }

    /// Drives the stream.
    pub fn send(&self, m: &mut Module, from: &SourceOutputs) {
        m.drive(self.beat.tvalid, from.tvalid);
        drive_all(m, &self.beat.tdata, &from.tdata);
        m.drive(self.beat.tuser, from.tuser);
        m.drive(self.beat.tlast, from.tlast);
    }
}

/// The stream of requests in a wrapper, which only some have: its ports are vectors of one.
pub struct RequestPort {
    /// A request is taken.
    pub tready: Wire,
    /// The stream for the module around.
    pub stream: RequestOutputs,
    /// The same here, to be driven.
    request: RequestOutputs,
}

impl RequestPort {
    /// The ports of the requests in a wrapper: `{prefix}tvalid` and so on.
    pub fn enter(m: &mut Module, prefix: &str, tready: Wire) -> RequestPort {
        let name = |signal: &str| format!("{prefix}{signal}");
        let request = RequestOutputs { tvalid: m.later(1), tdata: m.later(INDEX_BITS) };
        let tvalid = m.outputs(&name("tvalid"), &[request.tvalid])[0];
        let tready = m.inputs(&name("tready"), &[tready])[0];
        let tdata = m.outputs(&name("tdata"), &[request.tdata])[0];
        RequestPort { tready, stream: RequestOutputs { tvalid, tdata }, request }
    }

    /// Drives the stream.
    pub fn send(&self, m: &mut Module, from: &RequestOutputs) {
        m.drive(self.request.tvalid, from.tvalid);
        m.drive(self.request.tdata, from.tdata);
    }
}
