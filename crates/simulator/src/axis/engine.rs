//! Clocks one stream wrapper.

use crate::engine::SWEEP_LIMIT;
use flashd_hwmodel::axis::{AxisConfig, AxisWrapper, build};
use flashd_hwmodel::config::ConfigError;

/// A beat on a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Beat {
    /// The data, in the wrapper's words.
    pub data: Vec<u64>,
    /// `tlast`, where there is one.
    pub last: bool,
    /// `tuser`, where there is one.
    pub user: u64,
}

/// Inputs of the register port in one cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct LiteInputs {
    pub aw: Option<u64>,
    /// Data and strobes.
    pub w: Option<(u64, u64)>,
    pub bready: bool,
    pub ar: Option<u64>,
    pub rready: bool,
}

/// Outputs of the register port in one cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct LiteOutputs {
    pub awready: bool,
    pub wready: bool,
    /// `bresp`.
    pub b: Option<u64>,
    pub arready: bool,
    /// `rdata` and `rresp`.
    pub r: Option<(u64, u64)>,
}

/// Everything that a wrapper's inputs carry in one cycle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct AxisInputs {
    pub aresetn: bool,
    pub q: Option<Beat>,
    pub k: Option<Beat>,
    pub v: Option<Beat>,
    pub vreq_ready: bool,
    pub o_ready: bool,
    pub lite: LiteInputs,
}

/// Everything that a wrapper's outputs carry in one cycle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct AxisOutputs {
    pub q_ready: bool,
    pub k_ready: bool,
    pub v_ready: bool,
    /// The place of the key whose value is asked for.
    pub vreq: Option<u64>,
    pub o: Option<Beat>,
    pub lite: LiteOutputs,
}

/// A wrapper, its clock and its cycle count.
pub struct AxisEngine {
    wrapper: Box<dyn AxisWrapper>,
    cycle: u64,
    /// What idle data inputs carry.
    noise: u64,
}

impl AxisEngine {
    /// The wrapper of a configuration, before reset.
    ///
    /// # Errors
    /// If the configuration is not valid.
    pub fn new(config: &AxisConfig) -> Result<Self, ConfigError> {
        Ok(AxisEngine { wrapper: build(config)?, cycle: 0, noise: 0 })
    }

    /// Cycles so far.
    pub fn cycle(&self) -> u64 {
        self.cycle
    }

    /// What data, `tlast` and `tuser` carry in the next cycles where there is no beat.
    pub fn set_noise(&mut self, noise: u64) {
        self.noise = noise;
    }

    /// Drives the inputs of the current cycle and settles; `outputs` are those of this cycle.
    pub fn settle(&mut self, inputs: &AxisInputs, outputs: &mut AxisOutputs) {
        let noise = self.noise;
        let ports = self.wrapper.ports();
        ports.aclk.next = 0;
        ports.aresetn.next = inputs.aresetn as u64;
        for (port, beat) in [(ports.q, &inputs.q), (ports.k, &inputs.k), (ports.v, &inputs.v)] {
            port.tvalid.next = beat.is_some() as u64;
            for (i, bus) in port.tdata.iter_mut().enumerate() {
                let idle = noise.rotate_left(i as u32 % 64) & flashd_hwmodel::word::ones(bus.width());
                bus.next = beat.as_ref().map_or(idle, |beat| beat.data[i]);
            }
            if let Some(bus) = port.tlast {
                bus.next = beat.as_ref().map_or(noise & 1, |beat| beat.last as u64);
            }
            if let Some(bus) = port.tuser {
                bus.next = beat.as_ref().map_or(noise >> 1 & 1, |beat| beat.user);
            }
        }
        if let Some(port) = ports.vreq {
            port.tready.next = inputs.vreq_ready as u64;
        }
        ports.o.tready.next = inputs.o_ready as u64;
        let (lite, i) = (ports.lite, &inputs.lite);
        lite.awvalid.next = i.aw.is_some() as u64;
        lite.awaddr.next = i.aw.unwrap_or(noise & 0xff);
        lite.wvalid.next = i.w.is_some() as u64;
        (lite.wdata.next, lite.wstrb.next) = i.w.unwrap_or((noise & 0xffff_ffff, noise & 15));
        lite.bready.next = i.bready as u64;
        lite.arvalid.next = i.ar.is_some() as u64;
        lite.araddr.next = i.ar.unwrap_or(noise & 0xff);
        lite.rready.next = i.rready as u64;
        for sweep in 0.. {
            assert!(
                sweep < SWEEP_LIMIT,
                "a wrapper has no combinational loops, RustHDL's check has seen to that"
            );
            self.wrapper.update_all();
            if !self.wrapper.has_changed() {
                break;
            }
        }
        let ports = self.wrapper.ports();
        outputs.q_ready = ports.q.tready.val() != 0;
        outputs.k_ready = ports.k.tready.val() != 0;
        outputs.v_ready = ports.v.tready.val() != 0;
        outputs.vreq = ports.vreq.filter(|port| port.tvalid.val() != 0).map(|port| port.tdata[0].val());
        outputs.o = (ports.o.tvalid.val() != 0).then(|| Beat {
            data: ports.o.tdata.iter().map(|bus| bus.val()).collect(),
            last: ports.o.tlast.is_some_and(|bus| bus.val() != 0),
            user: ports.o.tuser.map_or(0, |bus| bus.val()),
        });
        let lite = ports.lite;
        outputs.lite = LiteOutputs {
            awready: lite.awready.val() != 0,
            wready: lite.wready.val() != 0,
            b: (lite.bvalid.val() != 0).then(|| lite.bresp.val()),
            arready: lite.arready.val() != 0,
            r: (lite.rvalid.val() != 0).then(|| (lite.rdata.val(), lite.rresp.val())),
        };
    }

    /// The rising edge that ends the current cycle: every register captures.
    pub fn clock(&mut self) {
        self.wrapper.ports().aclk.next = 1;
        self.wrapper.update_all();
        self.cycle += 1;
    }
}
