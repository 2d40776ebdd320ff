//! Clocks one stream wrapper.

use super::lite::{LiteInputs, LiteOutputs, LitePorts};
use crate::running::{RtlEngine, Running};
use flashd_hwmodel::rtl::PortPlace;
use flashd_spec::bits::ones;
use flashd_spec::config::{ConfigError, WrapperConfig};
use flashd_spec::streams::StreamPort;

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
    /// With partial results: the beat of states that is offered.
    pub s: Option<Beat>,
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
    /// With partial results: a beat of states is taken, if one is offered.
    pub s_ready: bool,
    /// The request that is offered: the place in its block of the key whose value is wanted.
    pub vreq: Option<u64>,
    /// The beat of results that is offered.
    pub o: Option<Beat>,
    /// The register port.
    pub lite: LiteOutputs,
}

/// Ports of a stream that some wrappers do not have, or have without some of its signals.
struct StreamPorts {
    valid: Option<PortPlace>,
    ready: Option<PortPlace>,
    data: Option<PortPlace>,
    last: Option<PortPlace>,
    user: Option<PortPlace>,
    /// Words of the data, and their width.
    shape: (usize, u32),
}

impl StreamPorts {
    fn of(design: &Running, stream: StreamPort) -> StreamPorts {
        let [valid, ready, data, last, user] = ["tvalid", "tready", "tdata", "tlast", "tuser"]
            .map(|signal| design.optional(&stream.port(signal)));
        StreamPorts { valid, ready, data, last, user, shape: design.shape(&stream.port("tdata")) }
    }

    /// Offers a beat, or noise.
    fn offer(&self, design: &mut Running, beat: Option<&Beat>, noise: u64) {
        design.set(self.valid, beat.is_some());
        let (words, width) = self.shape;
        let idle = |i: usize| noise.rotate_left(i as u32 % 64) & ones(width);
        match beat {
            Some(beat) => design.drive(self.data, &beat.data),
            None => design.drive(self.data, &(0..words).map(idle).collect::<Vec<_>>()),
        }
        design.set(self.last, beat.map_or(noise & 1, |beat| beat.last.into()));
        design.set(self.user, beat.map_or(noise >> 1 & 1, |beat| beat.user));
    }

    /// The beat that is offered.
    fn offered(&self, design: &Running) -> Option<Beat> {
        design.is_high(self.valid).then(|| {
            let mut data = Vec::new();
            design.read(self.data, &mut data);
            Beat { data, last: design.is_high(self.last), user: design.get(self.user) }
        })
    }
}

/// A wrapper, its clock and its cycle count.
pub(super) struct WrapperEngine {
    wrapper: Running,
    aresetn: PortPlace,
    /// Queries, keys, values and states.
    sources: [StreamPorts; 4],
    requests: StreamPorts,
    results: StreamPorts,
    lite: LitePorts,
    /// What idle data inputs carry.
    noise: u64,
}

impl WrapperEngine {
    /// The wrapper of a configuration, before reset.
    ///
    /// # Errors
    /// If the configuration is not valid.
    pub(super) fn new(config: &WrapperConfig, engine: RtlEngine) -> Result<Self, ConfigError> {
        let wrapper = Running::new(config, engine)?;
        Ok(WrapperEngine {
            aresetn: wrapper.port("aresetn"),
            sources: [StreamPort::Queries, StreamPort::Keys, StreamPort::Values, StreamPort::States]
                .map(|stream| StreamPorts::of(&wrapper, stream)),
            requests: StreamPorts::of(&wrapper, StreamPort::Requests),
            results: StreamPorts::of(&wrapper, StreamPort::Results),
            lite: LitePorts::of(&wrapper),
            wrapper,
            noise: 0,
        })
    }

    /// What runs.
    pub(super) fn running(&self) -> &Running {
        &self.wrapper
    }

    /// Cycles so far.
    pub(super) fn cycle(&self) -> u64 {
        self.wrapper.cycle()
    }

    /// What data, `tlast` and `tuser` carry in the next cycles where there is no beat.
    pub(crate) fn set_noise(&mut self, noise: u64) {
        self.noise = noise;
    }

    /// Drives the inputs of the current cycle and settles; `outputs` then has the outputs of this cycle.
    pub(super) fn settle(&mut self, inputs: &WrapperInputs, outputs: &mut WrapperOutputs) {
        let (noise, wrapper) = (self.noise, &mut self.wrapper);
        wrapper.set(self.aresetn, inputs.aresetn);
        for (stream, beat) in self.sources.iter().zip([&inputs.q, &inputs.k, &inputs.v, &inputs.s]) {
            stream.offer(wrapper, beat.as_ref(), noise);
        }
        wrapper.set(self.requests.ready, inputs.vreq_ready);
        wrapper.set(self.results.ready, inputs.o_ready);
        self.lite.drive(wrapper, &inputs.lite, noise);
        wrapper.settle();
        [outputs.q_ready, outputs.k_ready, outputs.v_ready, outputs.s_ready] =
            self.sources.each_ref().map(|stream| wrapper.is_high(stream.ready));
        outputs.vreq = wrapper.is_high(self.requests.valid).then(|| wrapper.get(self.requests.data));
        outputs.o = self.results.offered(wrapper);
        outputs.lite = self.lite.outputs(wrapper);
    }

    /// The rising edge that ends the current cycle: every register captures.
    pub(super) fn clock(&mut self) {
        self.wrapper.clock();
    }
}
