//! The ports of a unit.

use super::align::BUS_WORD;
use super::registers::ADDRESS_BITS;
use super::writer::WriteAnswers;
use crate::rtl::{Module, Wire};
use crate::wrapper::ports::LiteHost;
use flashd_spec::streams::REGISTER_PORT;
use flashd_spec::unit::UnitConfig;
pub use flashd_spec::unit::ports::{ID_BITS, MEMORY_PORT};

/// The signals that come from outside.
pub struct Inputs {
    /// Reset, low.
    pub aresetn: Wire,
    /// The host.
    pub host: LiteHost,
    /// An address of a read is taken.
    pub arready: Wire,
    /// A beat of a read comes: its identifier.
    pub rid: Wire,
    /// Its words.
    pub rdata: Vec<Wire>,
    /// Its response.
    pub rresp: Wire,
    /// It ends its burst.
    pub rlast: Wire,
    /// It is there.
    pub rvalid: Wire,
    /// Answers to writes.
    pub writes: WriteAnswers,
    /// The identifier of an answer, which is always 0.
    pub bid: Wire,
}

impl Inputs {
    /// Open wires for them.
    pub fn open(bench: &mut Module, config: &UnitConfig) -> Inputs {
        let host = LiteHost::open(bench, ADDRESS_BITS);
        let [aresetn, arready, rlast, rvalid] = [(); 4].map(|()| bench.open(1));
        let [rid, bid] = [(); 2].map(|()| bench.open(ID_BITS));
        let rdata = bench.opens((config.beat_bits / BUS_WORD) as usize, BUS_WORD);
        let (rresp, bresp) = (bench.open(2), bench.open(2));
        let [awready, wready, bvalid] = [(); 3].map(|()| bench.open(1));
        let writes = WriteAnswers { awready, wready, bvalid, bresp };
        Inputs { aresetn, host, arready, rid, rdata, rresp, rlast, rvalid, writes, bid }
    }

    /// Declares them.
    pub fn enter(&self, m: &mut Module) -> Inputs {
        let name = |signal: &str| format!("{MEMORY_PORT}{signal}");
        Inputs {
            aresetn: m.input("aresetn", self.aresetn),
            host: m.enter(REGISTER_PORT, &self.host),
            arready: m.input(&name("arready"), self.arready),
            rid: m.input(&name("rid"), self.rid),
            rdata: m.inputs(&name("rdata"), &self.rdata),
            rresp: m.input(&name("rresp"), self.rresp),
            rlast: m.input(&name("rlast"), self.rlast),
            rvalid: m.input(&name("rvalid"), self.rvalid),
            writes: m.enter(MEMORY_PORT, &self.writes),
            bid: m.input(&name("bid"), self.bid),
        }
    }
}
