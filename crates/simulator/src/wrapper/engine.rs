//! Clocks one stream wrapper.

use flashd_hwmodel::rtl::SimulatedCircuit;
use flashd_hwmodel::wrapper::build;
use flashd_spec::config::{ConfigError, WrapperConfig};

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
pub(super) struct LiteInputs {
    /// `awaddr`, in bytes, where `awvalid`.
    pub aw: Option<u64>,
    /// `wdata`, 32 bits, and `wstrb`, a bit a byte, where `wvalid`.
    pub w: Option<(u64, u64)>,
    /// The host takes the answer to a write.
    pub bready: bool,
    /// `araddr`, in bytes, where `arvalid`.
    pub ar: Option<u64>,
    /// The host takes what it reads.
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

/// Everything that a wrapper's inputs carry in one cycle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct WrapperInputs {
    /// Reset, active low.
    pub aresetn: bool,
    /// The beat of queries that is offered.
    pub q: Option<Beat>,
    /// The beat of keys that is offered.
    pub k: Option<Beat>,
    /// The beat of values that is offered.
    pub v: Option<Beat>,
    /// The memory takes a request.
    pub vreq_ready: bool,
    /// The sink takes a beat of results.
    pub o_ready: bool,
    /// The register port.
    pub lite: LiteInputs,
}

/// Everything that a wrapper's outputs carry in one cycle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WrapperOutputs {
    /// A beat of queries is taken, if one is offered.
    pub q_ready: bool,
    /// A beat of keys is taken, if one is offered.
    pub k_ready: bool,
    /// A beat of values is taken, if one is offered.
    pub v_ready: bool,
    /// The request that is offered: the place in its block of the key whose value is wanted.
    pub vreq: Option<u64>,
    /// The beat of results that is offered.
    pub o: Option<Beat>,
    /// The register port.
    pub lite: LiteOutputs,
}

/// A wrapper, its clock and its cycle count.
pub(super) struct WrapperEngine {
    wrapper: SimulatedCircuit,
    cycle: u64,
    /// What idle data inputs carry.
    noise: u64,
}

impl WrapperEngine {
    /// The wrapper of a configuration, before reset.
    ///
    /// # Errors
    /// If the configuration is not valid.
    pub(super) fn new(config: &WrapperConfig) -> Result<Self, ConfigError> {
        Ok(WrapperEngine { wrapper: SimulatedCircuit::new(build(config)?), cycle: 0, noise: 0 })
    }

    /// Cycles so far.
    pub(super) fn cycle(&self) -> u64 {
        self.cycle
    }

    /// What data, `tlast` and `tuser` carry in the next cycles where there is no beat.
    pub(crate) fn set_noise(&mut self, noise: u64) {
        self.noise = noise;
    }

    /// Drives the inputs of the current cycle and settles; `outputs` are those of this cycle.
    pub(super) fn settle(&mut self, inputs: &WrapperInputs, outputs: &mut WrapperOutputs) {
        let noise = self.noise;
        let wrapper = &mut self.wrapper;
        wrapper.set("aresetn", inputs.aresetn);
        for (stream, beat) in [("s_axis_q", &inputs.q), ("s_axis_k", &inputs.k), ("s_axis_v", &inputs.v)] {
            let port = |name: &str| format!("{stream}_{name}");
            wrapper.set(&port("tvalid"), beat.is_some());
            let (words, width) = wrapper.shape(&port("tdata"));
            let idle = |i: usize| noise.rotate_left(i as u32 % 64) & flashd_spec::bits::ones(width);
            let data: Vec<u64> =
                (0..words).map(|i| beat.as_ref().map_or(idle(i), |beat| beat.data[i])).collect();
            wrapper.set_words(&port("tdata"), &data);
            wrapper.set_optional(&port("tlast"), beat.as_ref().map_or(noise & 1, |beat| beat.last.into()));
            wrapper.set_optional(&port("tuser"), beat.as_ref().map_or(noise >> 1 & 1, |beat| beat.user));
        }
        wrapper.set_optional("m_axis_vreq_tready", inputs.vreq_ready);
        wrapper.set("m_axis_o_tready", inputs.o_ready);
        let i = &inputs.lite;
        let (wdata, wstrb) = i.w.unwrap_or((noise & 0xffff_ffff, noise & 15));
        for (port, value) in [
            ("awvalid", i.aw.is_some().into()),
            ("awaddr", i.aw.unwrap_or(noise & 0xff)),
            ("wvalid", i.w.is_some().into()),
            ("wdata", wdata),
            ("wstrb", wstrb),
            ("bready", i.bready.into()),
            ("arvalid", i.ar.is_some().into()),
            ("araddr", i.ar.unwrap_or(noise & 0xff)),
            ("rready", i.rready.into()),
        ] {
            wrapper.set(&format!("s_axil_{port}"), value);
        }
        wrapper.settle();
        outputs.q_ready = wrapper.is_high("s_axis_q_tready");
        outputs.k_ready = wrapper.is_high("s_axis_k_tready");
        outputs.v_ready = wrapper.is_high("s_axis_v_tready");
        let word = |port: &str| wrapper.words(port).next().unwrap_or(0);
        outputs.vreq = wrapper.is_high("m_axis_vreq_tvalid").then(|| word("m_axis_vreq_tdata"));
        outputs.o = wrapper.is_high("m_axis_o_tvalid").then(|| Beat {
            data: wrapper.words("m_axis_o_tdata").collect(),
            last: wrapper.is_high("m_axis_o_tlast"),
            user: word("m_axis_o_tuser"),
        });
        outputs.lite = LiteOutputs {
            awready: wrapper.is_high("s_axil_awready"),
            wready: wrapper.is_high("s_axil_wready"),
            b: wrapper.is_high("s_axil_bvalid").then(|| word("s_axil_bresp")),
            arready: wrapper.is_high("s_axil_arready"),
            r: wrapper.is_high("s_axil_rvalid").then(|| (word("s_axil_rdata"), word("s_axil_rresp"))),
        };
    }

    /// The rising edge that ends the current cycle: every register captures.
    pub(super) fn clock(&mut self) {
        self.wrapper.clock();
        self.cycle += 1;
    }
}
