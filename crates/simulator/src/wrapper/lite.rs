//! A host at the register port.

use super::pace::{Pace, Side};
use crate::running::Running;
use flashd_hwmodel::rtl::PortPlace;
use flashd_spec::bits::ones;
use flashd_spec::streams::REGISTER_PORT;
use std::collections::VecDeque;

/// Inputs of the register port in one cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LiteInputs {
    /// `awaddr`, in bytes, where `awvalid`.
    pub aw: Option<u64>,
    /// `wdata`, 32 bits, and `wstrb`, a bit a byte, where `wvalid`.
    pub w: Option<(u64, u64)>,
    /// The host takes the answer to a write.
    pub bready: bool,
    /// `araddr`, in bytes, where `arvalid`.
    pub ar: Option<u64>,
    /// The host accepts read data.
    pub rready: bool,
}

/// Outputs of the register port in one cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LiteOutputs {
    /// The address of a write is taken, if one is offered.
    pub awready: bool,
    /// The data of a write are taken, if some are offered.
    pub wready: bool,
    /// `bresp` where `bvalid`: 0 for OKAY, 2 for SLVERR.
    pub b: Option<u64>,
    /// The address of a read is taken, if one is offered.
    pub arready: bool,
    /// `rdata`, 32 bits, and `rresp`, as `bresp`, where `rvalid`.
    pub r: Option<(u64, u64)>,
}

/// Inputs of the register port, in the order in which they are driven.
const LITE_INPUTS: [&str; 9] =
    ["awvalid", "awaddr", "wvalid", "wdata", "wstrb", "bready", "arvalid", "araddr", "rready"];
/// Its outputs.
const LITE_OUTPUTS: [&str; 8] =
    ["awready", "wready", "bvalid", "bresp", "arready", "rvalid", "rdata", "rresp"];

/// The register port of a design.
pub(crate) struct LitePorts {
    inputs: [PortPlace; 9],
    outputs: [PortPlace; 8],
    /// Bits of an address.
    address_bits: u32,
}

impl LitePorts {
    /// The places of its ports.
    pub(crate) fn of(design: &Running) -> LitePorts {
        let name = |signal: &str| format!("{REGISTER_PORT}{signal}");
        let place = |signal| design.port(&name(signal));
        let (_, address_bits) = design.shape(&name("araddr"));
        LitePorts { inputs: LITE_INPUTS.map(place), outputs: LITE_OUTPUTS.map(place), address_bits }
    }

    /// Drives the inputs of a cycle; noise where there is no offer.
    pub(crate) fn drive(&self, design: &mut Running, i: &LiteInputs, noise: u64) {
        let (wdata, wstrb) = i.w.unwrap_or((noise & 0xffff_ffff, noise & 15));
        let idle = noise & ones(self.address_bits);
        let values = [
            i.aw.is_some().into(),
            i.aw.unwrap_or(idle),
            i.w.is_some().into(),
            wdata,
            wstrb,
            i.bready.into(),
            i.ar.is_some().into(),
            i.ar.unwrap_or(idle),
            i.rready.into(),
        ];
        self.inputs.into_iter().zip(values).for_each(|(port, value)| design.set(port, value));
    }

    /// The outputs of the settled cycle.
    pub(crate) fn outputs(&self, design: &Running) -> LiteOutputs {
        let [awready, wready, bvalid, bresp, arready, rvalid, rdata, rresp] =
            self.outputs.map(|port| design.get(port));
        LiteOutputs {
            awready: awready != 0,
            wready: wready != 0,
            b: (bvalid != 0).then_some(bresp),
            arready: arready != 0,
            r: (rvalid != 0).then_some((rdata, rresp)),
        }
    }
}

/// An access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiteAccess {
    /// Write data to an address, with byte strobes.
    Write(u64, u64, u64),
    /// Read an address.
    Read(u64),
}

/// An answer: `resp`, and of a read the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiteAnswer {
    /// The access.
    pub access: LiteAccess,
    /// 0: OKAY, 2: SLVERR.
    pub resp: u64,
    /// Data of a read.
    pub data: u64,
    /// Cycle in which the answer was taken.
    pub cycle: u64,
}

/// Makes accesses one after another.
#[derive(Clone, Debug)]
pub(crate) struct LiteHost {
    queue: VecDeque<LiteAccess>,
    /// Address and data of the current access have been taken.
    taken: (bool, bool),
    /// They are offered.
    offered: (bool, bool),
    address: Side,
    data: Side,
    ready: Side,
    /// The answers so far.
    pub answers: Vec<LiteAnswer>,
}

impl LiteHost {
    /// A host with a pace on each channel.
    pub(crate) fn new(pace: Pace, seed: u64) -> Self {
        let side = |n| Side::new(pace, seed ^ n);
        LiteHost {
            queue: VecDeque::new(),
            taken: (false, false),
            offered: (false, false),
            address: side(0x11),
            data: side(0x22),
            ready: side(0x33),
            answers: Vec::new(),
        }
    }

    /// Adds accesses.
    pub(crate) fn push(&mut self, accesses: impl IntoIterator<Item = LiteAccess>) {
        self.queue.extend(accesses);
    }

    /// Drops what is left to do, as at a reset.
    pub(crate) fn drop_all(&mut self) {
        self.queue.clear();
        (self.taken, self.offered) = ((false, false), (false, false));
    }

    /// Nothing is left to do.
    pub(crate) fn is_idle(&self) -> bool {
        self.queue.is_empty()
    }

    /// The inputs of a cycle.
    pub(crate) fn offer(&mut self) -> LiteInputs {
        let (address, data, ready) = (self.address.acts(), self.data.acts(), self.ready.acts());
        let Some(access) = self.queue.front() else { return LiteInputs::default() };
        self.offered.0 |= address && !self.taken.0;
        self.offered.1 |= data && !self.taken.1;
        let mut inputs = LiteInputs::default();
        match *access {
            LiteAccess::Write(address, data, strobes) => {
                inputs.aw = self.offered.0.then_some(address);
                inputs.w = self.offered.1.then_some((data, strobes));
                inputs.bready = ready;
            }
            LiteAccess::Read(address) => {
                inputs.ar = self.offered.0.then_some(address);
                inputs.rready = ready;
            }
        }
        inputs
    }

    /// What came of them.
    ///
    /// # Errors
    /// An answer that nothing asked for.
    pub(crate) fn advance(&mut self, cycle: u64, i: &LiteInputs, o: &LiteOutputs) -> Result<(), String> {
        self.address.saw(o.awready || o.arready);
        self.data.saw(o.wready);
        self.ready.saw(o.b.is_some() || o.r.is_some());
        for (offered, taken, fires) in [
            (
                &mut self.offered.0,
                &mut self.taken.0,
                i.aw.is_some() && o.awready || i.ar.is_some() && o.arready,
            ),
            (&mut self.offered.1, &mut self.taken.1, i.w.is_some() && o.wready),
        ] {
            if fires {
                (*offered, *taken) = (false, true);
            }
        }
        let write = matches!(self.queue.front(), Some(LiteAccess::Write(..)));
        let read = matches!(self.queue.front(), Some(LiteAccess::Read(..)));
        if o.b.is_some() && !(write && self.taken == (true, true)) || o.r.is_some() && !(read && self.taken.0)
        {
            return Err(format!("cycle {cycle}: an answer on the register port that nothing asked for"));
        }
        let answer = match (o.b, o.r) {
            (Some(resp), _) if i.bready => Some((resp, 0)),
            (_, Some((data, resp))) if i.rready => Some((resp, data)),
            _ => None,
        };
        if let (Some((resp, data)), Some(access)) = (answer, self.queue.front().copied()) {
            self.queue.pop_front();
            self.taken = (false, false);
            self.offered = (false, false);
            self.answers.push(LiteAnswer { access, resp, data, cycle });
        }
        Ok(())
    }
}
