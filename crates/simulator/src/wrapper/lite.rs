//! A host at the register port.

use super::engine::{LiteInputs, LiteOutputs};
use super::pace::{Pace, Side};
use std::collections::VecDeque;

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
pub(super) struct LiteHost {
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
    pub(super) fn new(pace: Pace, seed: u64) -> Self {
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
    pub(super) fn push(&mut self, accesses: impl IntoIterator<Item = LiteAccess>) {
        self.queue.extend(accesses);
    }

    /// Nothing is left to do.
    pub(crate) fn is_idle(&self) -> bool {
        self.queue.is_empty()
    }

    /// The inputs of a cycle.
    pub(super) fn offer(&mut self) -> LiteInputs {
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
    pub(super) fn advance(&mut self, cycle: u64, i: &LiteInputs, o: &LiteOutputs) -> Result<(), String> {
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
