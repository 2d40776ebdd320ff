//! Clocks one attention unit.

use super::signals::{Burst, MasterSide, MemorySide, ReadBeat, WriteAnswer, WriteBeat};
use crate::running::{RtlEngine, Running};
use crate::wrapper::{LiteInputs, LiteOutputs, LitePorts};
use flashd_hwmodel::rtl::PortPlace;
use flashd_spec::bits::ones;
use flashd_spec::config::ConfigError;
use flashd_spec::unit::UnitConfig;
use flashd_spec::unit::ports::MEMORY_PORT;

/// Signals of an address channel, in the order of [`Burst`]'s fields, and its offer.
const ADDRESS: [&str; 8] = ["valid", "id", "addr", "len", "size", "burst", "cache", "prot"];

/// Ports of an address channel.
struct AddressPorts([PortPlace; 8]);

impl AddressPorts {
    fn of(design: &Running, channel: &str) -> AddressPorts {
        AddressPorts(ADDRESS.map(|signal| design.port(&format!("{MEMORY_PORT}{channel}{signal}"))))
    }

    fn offered(&self, design: &Running) -> Option<Burst> {
        let AddressPorts([valid, ..]) = *self;
        design.is_high(valid).then(|| {
            let [_, id, address, len, size, kind, cache, prot] = self.0.map(|port| design.get(port));
            Burst { id, address, len, size, kind, cache, prot }
        })
    }
}

/// A unit, its clock and its cycle count.
pub(super) struct UnitEngine {
    unit: Running,
    aresetn: PortPlace,
    irq: PortPlace,
    lite: LitePorts,
    aw: AddressPorts,
    ar: AddressPorts,
    /// `wvalid`, `wlast`, `wdata`, `wstrb`.
    w: [PortPlace; 4],
    /// `awready`, `wready`, `arready`.
    ready: [PortPlace; 3],
    /// `bvalid`, `bid`, `bresp`.
    b: [PortPlace; 3],
    /// `rvalid`, `rid`, `rresp`, `rlast`.
    r: [PortPlace; 4],
    rdata: PortPlace,
    /// Words of `rdata`.
    words: usize,
    bready: PortPlace,
    rready: PortPlace,
    words_read: Vec<u64>,
}

impl UnitEngine {
    /// The unit of a configuration, before reset.
    ///
    /// # Errors
    /// If the configuration is not valid.
    pub(super) fn new(config: &UnitConfig, engine: RtlEngine) -> Result<UnitEngine, ConfigError> {
        let unit = Running::new(config, engine)?;
        let port = |signal: &str| unit.port(&format!("{MEMORY_PORT}{signal}"));
        Ok(UnitEngine {
            aresetn: unit.port("aresetn"),
            irq: unit.port("irq"),
            lite: LitePorts::of(&unit),
            aw: AddressPorts::of(&unit, "aw"),
            ar: AddressPorts::of(&unit, "ar"),
            w: ["wvalid", "wlast", "wdata", "wstrb"].map(port),
            ready: ["awready", "wready", "arready"].map(port),
            b: ["bvalid", "bid", "bresp"].map(port),
            r: ["rvalid", "rid", "rresp", "rlast"].map(port),
            rdata: port("rdata"),
            words: (config.beat_bits / 64) as usize,
            bready: port("bready"),
            rready: port("rready"),
            unit,
            words_read: Vec::new(),
        })
    }

    /// What runs.
    pub(super) fn running(&self) -> &Running {
        &self.unit
    }

    /// Cycles so far.
    pub(super) fn cycle(&self) -> u64 {
        self.unit.cycle()
    }

    /// Drives the inputs of a cycle and settles, ports alone or all that can be `observed`. Inputs without an offer are noise.
    pub(super) fn settle(
        &mut self,
        aresetn: bool,
        (lite, memory): (&LiteInputs, &MemorySide),
        noise: u64,
        observed: bool,
    ) {
        let unit = &mut self.unit;
        unit.set(self.aresetn, aresetn);
        self.lite.drive(unit, lite, noise);
        let ready = [memory.awready, memory.wready, memory.arready];
        self.ready.into_iter().zip(ready).for_each(|(port, ready)| unit.set(port, ready));
        let idle = |shift: u32, bits: u32| noise >> shift & ones(bits);
        let answer = memory.b.unwrap_or(WriteAnswer { id: idle(0, 3), resp: idle(3, 2) });
        let b = [memory.b.is_some().into(), answer.id, answer.resp];
        self.b.into_iter().zip(b).for_each(|(port, value)| unit.set(port, value));
        let (id, resp, last) = match &memory.r {
            Some(ReadBeat { id, resp, last, data }) => {
                unit.drive(self.rdata, data);
                (*id, *resp, u64::from(*last))
            }
            None => {
                let data: Vec<u64> = (0..self.words as u32).map(|n| noise.rotate_left(7 * n)).collect();
                unit.drive(self.rdata, &data);
                (idle(5, 3), idle(8, 2), idle(10, 1))
            }
        };
        let r = [memory.r.is_some().into(), id, resp, last];
        self.r.into_iter().zip(r).for_each(|(port, value)| unit.set(port, value));
        if observed { unit.settle() } else { unit.settle_ports() }
    }

    /// The outputs of the settled cycle: memory port, register port, interrupt.
    pub(super) fn outputs(&mut self) -> (MasterSide, LiteOutputs, bool) {
        let unit = &self.unit;
        let [wvalid, wlast, wdata, wstrb] = self.w;
        let w = unit.is_high(wvalid).then(|| {
            let mut data = Vec::new();
            unit.read(wdata, &mut data);
            unit.read(wstrb, &mut self.words_read);
            let strobes = self.words_read.iter().enumerate();
            let strobes = strobes.fold(0, |strobes, (lane, &bit)| strobes | u128::from(bit) << lane);
            WriteBeat { data, strobes, last: unit.is_high(wlast) }
        });
        let master = MasterSide {
            aw: self.aw.offered(unit),
            w,
            ar: self.ar.offered(unit),
            bready: unit.is_high(self.bready),
            rready: unit.is_high(self.rready),
        };
        (master, self.lite.outputs(unit), unit.is_high(self.irq))
    }

    /// The rising edge that ends the cycle.
    pub(super) fn clock(&mut self) {
        self.unit.clock();
    }
}
