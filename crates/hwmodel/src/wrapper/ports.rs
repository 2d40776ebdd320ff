//! The ports of a wrapper, stream by stream, as wires of the module around it.

use super::beat::Shape;
use super::registers::ADDRESS_BITS;
use crate::attention::signals::Signals;
use crate::rtl::{Module, Wire};

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

/// Whether a stream's `tlast` is a port in every configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Last {
    /// Always.
    Always,
    /// Only where the configuration gives the stream packets.
    Optional,
}

impl SinkInputs {
    /// Open wires for a stream whose vectors have `shape`.
    pub fn open(bench: &mut Module, shape: &Shape, has_last: bool, has_flag: bool) -> SinkInputs {
        SinkInputs {
            tvalid: bench.open(1),
            tdata: bench.opens(shape.words, shape.word_bits()),
            tlast: has_last.then(|| bench.open(1)),
            tuser: has_flag.then(|| bench.open(1)),
        }
    }

    /// Declares a stream's input ports `{prefix}tvalid`, `{prefix}tdata` and so on, and reserves the place of `{prefix}tready`.
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

/// The signals of the result stream, except `tready`.
#[derive(Clone, Debug)]
pub struct SourceOutputs {
    /// A beat is offered.
    pub tvalid: Wire,
    /// The beat's words, the lowest first.
    pub tdata: Vec<Wire>,
    /// Flags of the result, `buffer::FLAG_BITS` bits.
    pub tuser: Wire,
    /// The beat ends its packet.
    pub tlast: Wire,
}

impl SourceOutputs {
    /// Declares the output ports `{prefix}tvalid`, `tdata`, `tuser`, `tlast`, in this order unless their places are reserved.
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

/// The signals of the AXI4-Lite port in port order: name, width in bits, and whether the host drives it.
const LITE: [(&str, u32, bool); 17] = [
    ("awaddr", ADDRESS_BITS, true),
    ("awvalid", 1, true),
    ("awready", 1, false),
    ("wdata", 32, true),
    // One bit for each byte of wdata.
    ("wstrb", 4, true),
    ("wvalid", 1, true),
    ("wready", 1, false),
    ("bresp", 2, false),
    ("bvalid", 1, false),
    ("bready", 1, true),
    ("araddr", ADDRESS_BITS, true),
    ("arvalid", 1, true),
    ("arready", 1, false),
    ("rdata", 32, false),
    ("rresp", 2, false),
    ("rvalid", 1, false),
    ("rready", 1, true),
];

/// Open wires for the signals that the host drives.
pub fn open_lite(bench: &mut Module) -> Signals {
    LITE.iter().filter(|signal| signal.2).map(|&(name, width, _)| (name, bench.open(width))).collect()
}

/// Declares the inputs of the AXI4-Lite port, `{prefix}awaddr` and so on, and reserves the places of its outputs.
pub fn enter_lite(m: &mut Module, prefix: &str, host: &Signals) -> Signals {
    let mut inputs = Signals::default();
    for (name, _, driven) in LITE {
        let port = format!("{prefix}{name}");
        match driven {
            true => inputs.set(name, m.input(&port, host[name])),
            false => m.reserve_ports(&[&port]),
        }
    }
    inputs
}

/// Declares the outputs of the AXI4-Lite port.
pub fn answer_lite(m: &mut Module, prefix: &str, answers: &Signals) -> Signals {
    answers.iter().map(|(name, wire)| (name, m.output(&format!("{prefix}{name}"), wire))).collect()
}
