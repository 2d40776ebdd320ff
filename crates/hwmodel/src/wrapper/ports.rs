//! The ports of a wrapper, stream by stream, as wires of the module around it.

use super::beat::Shape;
use crate::rtl::{Module, Wire, bundle};
use flashd_spec::config::WrapperConfig;
use flashd_spec::streams::StreamPort;

/// The signals that the source of an AXI4 stream drives.
#[derive(Clone, Debug)]
pub struct SinkInputs {
    /// A beat is offered.
    pub tvalid: Wire,
    /// The beat's words, the lowest first.
    pub tdata: Vec<Wire>,
    /// Streams with packets: the beat ends its packet.
    pub tlast: Option<Wire>,
    /// Streams with a flag for each vector: the flag, valid with the vector's last beat.
    pub tuser: Option<Wire>,
}

impl SinkInputs {
    /// Open wires for a stream of a wrapper, whose vectors have `shape`.
    pub fn open(bench: &mut Module, config: &WrapperConfig, stream: StreamPort, shape: &Shape) -> SinkInputs {
        let row = stream.row();
        SinkInputs {
            tvalid: bench.open(1),
            tdata: bench.opens(shape.words, shape.word_bits()),
            tlast: row.packet(config).map(|_| bench.open(1)),
            tuser: row.user(config).map(|(bits, _)| bench.open(bits)),
        }
    }

    /// Declares the input ports `{prefix}tvalid`, `{prefix}tdata` and so on.
    pub fn enter(&self, m: &mut Module, prefix: &str) -> SinkInputs {
        let name = |signal: &str| format!("{prefix}{signal}");
        SinkInputs {
            tvalid: m.input(&name("tvalid"), self.tvalid),
            tdata: m.inputs(&name("tdata"), &self.tdata),
            tlast: m.optional_input(&name("tlast"), self.tlast),
            tuser: m.optional_input(&name("tuser"), self.tuser),
        }
    }
}

/// The signals of the result stream, except `tready`.
#[derive(Clone, Debug)]
pub struct SourceOutputs {
    /// A beat is offered.
    pub tvalid: Wire,
    /// The beat's words, the lowest first.
    pub tdata: Vec<Wire>,
    /// Flags of the result, [`FLAG_BITS`](flashd_spec::streams::FLAG_BITS) bits.
    pub tuser: Wire,
    /// The beat ends its packet.
    pub tlast: Wire,
}

impl SourceOutputs {
    /// Declares the output ports `{prefix}tvalid`, `tdata`, `tuser`, `tlast`.
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

/// The signals of the AXI4-Lite port that the host drives.
pub struct LiteHost {
    /// Byte address of a write.
    pub awaddr: Wire,
    /// The address is valid.
    pub awvalid: Wire,
    /// Data of a write, 32 bits.
    pub wdata: Wire,
    /// One bit for each byte of `wdata`.
    pub wstrb: Wire,
    /// The data are valid.
    pub wvalid: Wire,
    /// The host accepts a response to a write.
    pub bready: Wire,
    /// Byte address of a read.
    pub araddr: Wire,
    /// The address is valid.
    pub arvalid: Wire,
    /// The host accepts the data of a read.
    pub rready: Wire,
}

bundle!(LiteHost { awaddr, awvalid, wdata, wstrb, wvalid, bready, araddr, arvalid, rready });

/// The answers of the AXI4-Lite port.
pub struct LiteSlave {
    /// The address of a write is accepted.
    pub awready: Wire,
    /// The data of a write are accepted.
    pub wready: Wire,
    /// Response to a write, 2 bits.
    pub bresp: Wire,
    /// The response is valid.
    pub bvalid: Wire,
    /// The address of a read is accepted.
    pub arready: Wire,
    /// Data of a read, 32 bits.
    pub rdata: Wire,
    /// Response to a read, 2 bits.
    pub rresp: Wire,
    /// Data and response are valid.
    pub rvalid: Wire,
}

bundle!(LiteSlave { awready, wready, bresp, bvalid, arready, rdata, rresp, rvalid });

impl LiteHost {
    /// Open wires; addresses have `address_bits`.
    pub fn open(bench: &mut Module, address_bits: u32) -> LiteHost {
        let [awvalid, wvalid, bready, arvalid, rready] = [(); 5].map(|()| bench.open(1));
        let [awaddr, araddr] = [(); 2].map(|()| bench.open(address_bits));
        let (wdata, wstrb) = (bench.open(32), bench.open(4));
        LiteHost { awaddr, awvalid, wdata, wstrb, wvalid, bready, araddr, arvalid, rready }
    }
}
