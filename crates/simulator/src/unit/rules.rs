//! The rules of an AXI4 port, checked in every cycle on both sides of it.
//!
//! Signals of a channel without an offer are noise, so that a design which uses them has wrong results.

use super::signals::{BOUNDARY, Burst, INCR, MasterSide, MemorySide, WriteBeat};
use crate::wrapper::{LiteInputs, LiteOutputs};
use std::collections::VecDeque;

/// A rule that was broken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cycle {cycle}, {signal}: {problem}")]
pub struct BrokenRule {
    /// The cycle.
    pub cycle: u64,
    /// The signal, without the prefix of the port.
    pub signal: &'static str,
    /// The rule.
    pub problem: String,
}

/// A port's past, as far as rules need it.
#[derive(Clone, Debug)]
pub struct AxiRules {
    /// Logarithm of the bytes of the bus.
    bus: u64,
    /// Most beats of reads of an ID that have been requested and have not come.
    in_flight: u64,
    /// Offers of the cycle before that were not taken.
    waiting: (MasterSide, MemorySide),
    /// Bursts of reads, in order, with the beats that have come.
    reads: VecDeque<(Burst, u64)>,
    /// Bursts of writes whose data have not all come.
    addresses: VecDeque<Burst>,
    /// Data whose addresses have not come, and the beats of the first of `addresses` that have.
    data: VecDeque<WriteBeat>,
    written: u64,
    /// IDs of writes that have no answer.
    unanswered: Vec<u64>,
}

/// The result of a check.
type Kept = Result<(), (&'static str, String)>;

fn rule(kept: bool, signal: &'static str, problem: impl FnOnce() -> String) -> Kept {
    if kept { Ok(()) } else { Err((signal, problem())) }
}

/// An offer that was not taken stays as it is.
fn stable<T: PartialEq + std::fmt::Debug>(signal: &'static str, before: &Option<T>, now: &Option<T>) -> Kept {
    rule(before.is_none() || before == now, signal, || {
        format!("an offer changed before it was taken: {before:x?}, then {now:x?}")
    })
}

impl AxiRules {
    /// A port of `bits` data bits after reset, whose master has at most `in_flight` beats of reads of an ID under way.
    pub fn new(bits: u32, in_flight: u64) -> AxiRules {
        AxiRules {
            bus: u64::from((bits / 8).ilog2()),
            in_flight,
            waiting: Default::default(),
            reads: VecDeque::new(),
            addresses: VecDeque::new(),
            data: VecDeque::new(),
            written: 0,
            unanswered: Vec::new(),
        }
    }

    /// Forgets all bursts that are under way, as a reset does.
    pub fn reset(&mut self) {
        *self = AxiRules::new(8 << self.bus, self.in_flight);
    }

    /// Checks a settled cycle outside reset.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn check(&mut self, cycle: u64, memory: &MemorySide, master: &MasterSide) -> Result<(), BrokenRule> {
        let checked = self.offers(memory, master).and_then(|()| self.transfers(memory, master));
        checked.map_err(|(signal, problem)| BrokenRule { cycle, signal, problem })
    }

    /// A cycle of reset: no channel has an offer.
    ///
    /// # Errors
    /// The offer.
    pub fn check_reset(&mut self, cycle: u64, master: &MasterSide) -> Result<(), BrokenRule> {
        let quiet = [
            ("awvalid", master.aw.is_none()),
            ("wvalid", master.w.is_none()),
            ("arvalid", master.ar.is_none()),
        ];
        self.reset();
        let problem = || "an offer in reset".to_string();
        let kept = quiet.into_iter().try_for_each(|(signal, quiet)| rule(quiet, signal, problem));
        kept.map_err(|(signal, problem)| BrokenRule { cycle, signal, problem })
    }

    /// Nothing is under way.
    ///
    /// # Errors
    /// The kind of bursts that are.
    pub fn check_idle(&self, cycle: u64) -> Result<(), BrokenRule> {
        let left = [
            ("rvalid", self.reads.len(), "bursts of reads have not come"),
            ("wvalid", self.addresses.len(), "bursts of writes have no data"),
            ("awvalid", self.data.len(), "beats of data have no address"),
            ("bvalid", self.unanswered.len(), "writes have no answer"),
        ];
        match left.into_iter().find(|(_, count, _)| *count > 0) {
            None => Ok(()),
            Some((signal, n, what)) => Err(BrokenRule { cycle, signal, problem: format!("{n} {what}") }),
        }
    }

    /// Beats of reads of an ID that have been requested and have not come.
    pub fn beats_under_way(&self, id: u64) -> u64 {
        let of_id = self.reads.iter().filter(|(burst, _)| burst.id == id);
        of_id.map(|(burst, came)| burst.len + 1 - came).sum()
    }

    fn offers(&mut self, memory: &MemorySide, master: &MasterSide) -> Kept {
        let (master_before, memory_before) = &self.waiting;
        stable("awvalid", &master_before.aw, &master.aw)?;
        stable("wvalid", &master_before.w, &master.w)?;
        stable("arvalid", &master_before.ar, &master.ar)?;
        stable("bvalid", &memory_before.b, &memory.b)?;
        stable("rvalid", &memory_before.r, &memory.r)?;
        self.waiting = (
            MasterSide {
                aw: master.aw.filter(|_| !memory.awready),
                w: master.w.as_ref().filter(|_| !memory.wready).cloned(),
                ar: master.ar.filter(|_| !memory.arready),
                ..MasterSide::default()
            },
            MemorySide {
                b: memory.b.filter(|_| !master.bready),
                r: memory.r.as_ref().filter(|_| !master.rready).cloned(),
                ..MemorySide::default()
            },
        );
        master.aw.map_or(Ok(()), |burst| self.burst(&AW, &burst))?;
        master.ar.map_or(Ok(()), |burst| self.burst(&AR, &burst))
    }

    /// The rules of an address.
    fn burst(&self, names: &AddressNames, burst: &Burst) -> Kept {
        let Burst { address, len, size, kind, .. } = *burst;
        rule(kind == INCR, names.burst, || format!("{kind}, and {INCR} (INCR) is the only one here"))?;
        rule(size <= self.bus, names.size, || format!("{size}, wider than the bus"))?;
        rule(len < 256, names.len, || format!("{len}, more than 255"))?;
        let end = burst.range().end.wrapping_sub(1);
        rule(address / BOUNDARY == end / BOUNDARY, names.addr, || {
            format!("{address:#x} to {end:#x} crosses a boundary of {BOUNDARY} bytes")
        })
    }

    fn transfers(&mut self, memory: &MemorySide, master: &MasterSide) -> Kept {
        // Answers first: they belong to requests of earlier cycles.
        if let (Some(answer), true) = (&memory.b, master.bready) {
            let place = self.unanswered.iter().position(|id| *id == answer.id);
            let place =
                place.ok_or_else(|| ("bid", format!("{} has no write without an answer", answer.id)))?;
            self.unanswered.remove(place);
            rule(answer.resp != 1, "bresp", || "EXOKAY, and nothing is exclusive".into())?;
        }
        if let (Some(beat), true) = (&memory.r, master.rready) {
            let place = self.reads.iter().position(|(burst, _)| burst.id == beat.id);
            let place = place.ok_or_else(|| ("rid", format!("{} has no read under way", beat.id)))?;
            let (burst, came) = &mut self.reads[place];
            let last = *came == burst.len;
            rule(beat.last == last, "rlast", || {
                format!("{} in beat {came} of {}", beat.last, burst.len + 1)
            })?;
            rule(beat.resp != 1, "rresp", || "EXOKAY, and nothing is exclusive".into())?;
            *came += 1;
            if last {
                self.reads.remove(place);
            }
        }
        if let Some(burst) = master.ar.filter(|_| memory.arready) {
            self.reads.push_back((burst, 0));
            let beats = self.beats_under_way(burst.id);
            rule(beats <= self.in_flight, "arvalid", || {
                format!("{beats} beats of ID {} under way, more than {}", burst.id, self.in_flight)
            })?;
        }
        if let Some(burst) = master.aw.filter(|_| memory.awready) {
            self.addresses.push_back(burst);
        }
        if let Some(beat) = master.w.as_ref().filter(|_| memory.wready) {
            self.data.push_back(beat.clone());
        }
        self.data()
    }

    /// Compares data with their addresses.
    fn data(&mut self) -> Kept {
        while let Some(burst) = self.addresses.front().copied() {
            let Some(beat) = self.data.pop_front() else { break };
            let last = self.written == burst.len;
            let (written, beats) = (self.written, burst.len + 1);
            rule(beat.last == last, "wlast", || format!("{} in beat {written} of {beats}", beat.last))?;
            let range = burst.beat(written);
            let base = range.start >> self.bus << self.bus;
            let lanes = (range.start - base)..(range.end - base);
            let outside = (0..128).find(|n| beat.strobes >> n & 1 != 0 && !lanes.contains(n));
            rule(outside.is_none(), "wstrb", || {
                format!("{:#x} in beat {written} of {burst:x?}, whose bytes are {lanes:?}", beat.strobes)
            })?;
            self.written += 1;
            if last {
                self.written = 0;
                self.addresses.pop_front();
                self.unanswered.push(burst.id);
            }
        }
        Ok(())
    }
}

/// Answers of the register port that were not taken stay as they are.
#[derive(Clone, Debug, Default)]
pub(super) struct LiteRules {
    b: Option<u64>,
    r: Option<(u64, u64)>,
}

impl LiteRules {
    /// Checks a settled cycle outside reset.
    pub(super) fn check(&mut self, cycle: u64, i: &LiteInputs, o: &LiteOutputs) -> Result<(), BrokenRule> {
        let kept = stable("s_axil_bvalid", &self.b, &o.b)
            .and_then(|()| stable("s_axil_rvalid", &self.r, &o.r))
            .and_then(|()| rule(o.b.is_none_or(|resp| resp != 1), "s_axil_bresp", || "EXOKAY".into()))
            .and_then(|()| rule(o.r.is_none_or(|(_, resp)| resp != 1), "s_axil_rresp", || "EXOKAY".into()));
        (self.b, self.r) = (o.b.filter(|_| !i.bready), o.r.filter(|_| !i.rready));
        kept.map_err(|(signal, problem)| BrokenRule { cycle, signal, problem })
    }
}

/// The signals of an address channel.
struct AddressNames {
    burst: &'static str,
    size: &'static str,
    len: &'static str,
    addr: &'static str,
}

const AW: AddressNames = AddressNames { burst: "awburst", size: "awsize", len: "awlen", addr: "awaddr" };
const AR: AddressNames = AddressNames { burst: "arburst", size: "arsize", len: "arlen", addr: "araddr" };
