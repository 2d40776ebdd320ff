//! The ports of a wrapper as wires of the module around it, by stream.

use super::beat::Shape;
use super::registers::ADDRESS_BITS;
use crate::attention::signals::Signals;
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
    /// Flags of its result, `buffer::FLAG_BITS` bits.
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

/// The signals of a register port in the order of its ports: their names, their widths, and whether the host drives them.
const LITE: [(&str, u32, bool); 17] = [
    ("awaddr", ADDRESS_BITS, true),
    ("awvalid", 1, true),
    ("awready", 1, false),
    ("wdata", 32, true),
    // A bit for each byte.
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

/// Open wires for what a host drives at a register port.
pub fn open_lite(bench: &mut Module) -> Signals {
    LITE.iter().filter(|signal| signal.2).map(|&(name, width, _)| (name, bench.open(width))).collect()
}

/// The inputs of a register port in a module, `{prefix}awaddr` and so on, with places for its answers.
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

/// Hands out what a register port answers.
pub fn answer_lite(m: &mut Module, prefix: &str, answers: &Signals) -> Signals {
    answers.iter().map(|(name, wire)| (name, m.output(&format!("{prefix}{name}"), wire))).collect()
}
