//! The ports of a wrapper as wires of the module around it, by stream.

use super::beat::Shape;
use super::registers::ADDRESS_BITS;
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

    /// The ports of a stream in a module: `{prefix}tvalid` and so on, with a place for `{prefix}tready`.
    pub fn enter(&self, m: &mut Module, prefix: &str, last: Last) -> SinkInputs {
        let name = |signal: &str| format!("{prefix}{signal}");
        let tvalid = m.input(&name("tvalid"), self.tvalid);
        m.reserve_ports(&[&name("tready")]);
        let tdata = m.inputs(&name("tdata"), &self.tdata);
        let tlast = match last {
            Last::Always => self.tlast.map(|tlast| m.input(&name("tlast"), tlast)),
            Last::Optional => m.optional_input(&name("tlast"), self.tlast),
        };
        let tuser = m.optional_input(&name("tuser"), self.tuser);
        SinkInputs { tvalid, tdata, tlast, tuser }
    }
}

/// The stream of results.
#[derive(Clone, Debug)]
pub struct SourceOutputs {
    /// A beat is offered.
    pub tvalid: Wire,
    /// The beat, in words.
    pub tdata: Vec<Wire>,
    /// Flags of its result, [`FLAG_BITS`](super::buffer::FLAG_BITS) bits.
    pub tuser: Wire,
    /// It is its packet's last.
    pub tlast: Wire,
}

impl SourceOutputs {
    /// Hands the stream out: `{prefix}tvalid` and so on, in this order but for ports that have their places.
    pub fn hand_out(&self, m: &mut Module, prefix: &str) -> SourceOutputs {
        let name = |signal: &str| format!("{prefix}{signal}");
        SourceOutputs {
            tvalid: m.output(&name("tvalid"), self.tvalid),
            tdata: m.outputs(&name("tdata"), &self.tdata),
            tuser: m.output(&name("tuser"), self.tuser),
            tlast: m.output(&name("tlast"), self.tlast),
        }
    }
}

/// The stream of requests for values.
#[derive(Clone, Copy, Debug)]
pub struct RequestOutputs {
    /// A request is offered.
    pub tvalid: Wire,
    /// Place of the key whose value is asked for, [`INDEX_BITS`](super::requests::INDEX_BITS) bits.
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

    /// The inputs of a register port in a module, `{prefix}awaddr` and so on, with places for its outputs.
    pub fn enter(&self, m: &mut Module, prefix: &str) -> LiteInputs {
        let writes = [
            "awaddr", "awvalid", "awready", "wdata", "wstrb", "wvalid", "wready", "bresp", "bvalid", "bready",
        ];
        let reads = ["araddr", "arvalid", "arready", "rdata", "rresp", "rvalid", "rready"];
        for signal in writes.iter().chain(&reads) {
            m.reserve_ports(&[&format!("{prefix}{signal}")]);
        }
        let mut input = |signal: &str, from: Wire| m.input(&format!("{prefix}{signal}"), from);
        LiteInputs {
            awaddr: input("awaddr", self.awaddr),
            awvalid: input("awvalid", self.awvalid),
            wdata: input("wdata", self.wdata),
            wstrb: input("wstrb", self.wstrb),
            wvalid: input("wvalid", self.wvalid),
            bready: input("bready", self.bready),
            araddr: input("araddr", self.araddr),
            arvalid: input("arvalid", self.arvalid),
            rready: input("rready", self.rready),
        }
    }
}

impl LiteOutputs {
    /// Hands the answers out, by ports whose places [`LiteInputs::enter`] has kept.
    pub fn hand_out(&self, m: &mut Module, prefix: &str) -> LiteOutputs {
        let mut output = |signal: &str, from: Wire| m.output(&format!("{prefix}{signal}"), from);
        LiteOutputs {
            awready: output("awready", self.awready),
            wready: output("wready", self.wready),
            bresp: output("bresp", self.bresp),
            bvalid: output("bvalid", self.bvalid),
            arready: output("arready", self.arready),
            rdata: output("rdata", self.rdata),
            rresp: output("rresp", self.rresp),
            rvalid: output("rvalid", self.rvalid),
        }
    }
}
