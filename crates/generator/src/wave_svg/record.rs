//! A block on its way through a wrapper, recorded at its streams.

use crate::GenerateError;
use crate::axis::streams;
use flashd_hwmodel::rtl::Circuit;
use flashd_hwmodel::wrapper::registers::RUN_BIT;
use flashd_hwmodel::wrapper::{RegisterName, build, registers};
use flashd_spec::config::{Carried, Values, WrapperConfig};
use std::collections::VecDeque;

/// Queries and keys of the recorded block; a smaller array takes as many queries as it has.
const QUERIES: usize = 2;
const KEYS: usize = 3;

/// Cycles of reset, and from the write of RUN to the block: the write is taken, made, and the register holds it.
const RESET: u64 = 2;
const START: u64 = 3;

/// A beat that is offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Beat {
    /// The item: `q`, `k`, `v` or `o` and its place in the block, or the place that is asked for.
    pub item: String,
    /// Which of the item's beats, of how many.
    pub place: (u32, u32),
    /// `tlast`, where the stream has one.
    pub last: bool,
}

/// A stream in one cycle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lane {
    /// The beat, while `tvalid` is high.
    pub beat: Option<Beat>,
    /// `tready`.
    pub ready: bool,
}

impl Lane {
    /// The beat passes.
    fn passes(&self) -> bool {
        self.ready && self.beat.is_some()
    }
}

/// The streams of a wrapper over some cycles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Recording {
    /// Names of the streams, and whether they have `tlast`.
    pub streams: Vec<(String, bool)>,
    /// The streams in each cycle, in the order of the names.
    pub cycles: Vec<Vec<Lane>>,
}

/// Beats of vectors in order.
fn vectors(
    letter: char,
    places: impl Iterator<Item = usize>,
    beats: u32,
    packet: Option<usize>,
) -> VecDeque<Beat> {
    let beat = move |place: usize| {
        (0..beats).map(move |b| Beat {
            item: format!("{letter}{place}"),
            place: (b, beats),
            last: b + 1 == beats && packet == Some(place + 1),
        })
    };
    places.flat_map(beat).collect()
}

/// Drives the valid side of a stream; all data are zero.
fn offer(wrapper: &mut Circuit, stream: &str, beat: Option<&Beat>) {
    wrapper.set(&format!("{stream}_tvalid"), beat.is_some());
    wrapper.set_optional(&format!("{stream}_tlast"), beat.is_some_and(|beat| beat.last));
}

/// The block's beats to send, and the results that have left.
struct Pending {
    q: VecDeque<Beat>,
    k: VecDeque<Beat>,
    v: VecDeque<Beat>,
    /// Cycle from which the first beat of each value that was asked for is offered.
    answers: VecDeque<(u64, usize)>,
    o: VecDeque<Beat>,
    o_ready: bool,
    started: bool,
}

/// Records a block from its first query's first beat to its last result's last one. All sources offer their data at once; a
/// value that is asked for comes as late as it may without costing time; the sink of the results takes its first beat
/// one cycle late.
///
/// # Errors
/// If the configuration is not valid, or the block does not end.
pub(crate) fn record(config: &WrapperConfig) -> Result<Recording, GenerateError> {
    let mut wrapper = build(config)?;
    let beats = |carried| config.beats(carried);
    let queries = QUERIES.min(config.array.queries);
    let all = config.values == Values::All;
    let mut block = Pending {
        q: vectors('q', 0..queries, beats(Carried::Query), Some(queries)),
        k: vectors('k', 0..KEYS, beats(Carried::Key), Some(KEYS)),
        v: vectors('v', 0..if all { KEYS } else { 0 }, beats(Carried::Value), Some(KEYS)),
        answers: VecDeque::new(),
        o: vectors('o', 0..queries, beats(Carried::Result), Some(queries)),
        o_ready: false,
        started: false,
    };
    let names = streams(config);
    let recorded = names.iter().map(|s| (s.name.clone(), s.packet.is_some())).collect();
    let mut cycles = Vec::new();
    // Every step waits for its value at most.
    let step = u64::from(config.value_delay() + beats(Carried::Value) + 2);
    let limit = 64
        + u64::from(config.latency()) * step
        + (queries + KEYS) as u64 * step
        + (queries as u64 * u64::from(beats(Carried::Result)));
    for cycle in 0..limit {
        let lanes = step_once(&mut wrapper, config, &mut block, cycle);
        if block.started {
            cycles.push(lanes);
        }
        if block.o.is_empty() {
            return Ok(Recording { streams: recorded, cycles });
        }
    }
    Err(GenerateError::Check {
        module: config.name(),
        detail: format!("a block of {queries} queries and {KEYS} keys has not ended in {limit} cycles"),
    })
}

/// One cycle: drives, samples and clocks. The wrapper is in reset in the first one, and RUN is written in the next ones.
fn step_once(wrapper: &mut Circuit, config: &WrapperConfig, block: &mut Pending, cycle: u64) -> Vec<Lane> {
    let control =
        registers(config).into_iter().find(|r| r.name == RegisterName::Control).map_or(0, |r| r.offset);
    while block.answers.front().is_some_and(|(at, _)| *at <= cycle) {
        if let Some((_, place)) = block.answers.pop_front() {
            block.v.extend(vectors('v', place..place + 1, config.beats(Carried::Value), None));
        }
    }
    let writes = cycle == RESET;
    let (q, k, v) = match block.started {
        true => (block.q.front().cloned(), block.k.front().cloned(), block.v.front().cloned()),
        false => (None, None, None),
    };
    wrapper.set("aresetn", cycle >= RESET);
    for (stream, beat) in [("s_axis_q", &q), ("s_axis_k", &k), ("s_axis_v", &v)] {
        offer(wrapper, stream, beat.as_ref());
    }
    wrapper.set_optional("s_axis_s_tvalid", false);
    wrapper.set_optional("m_axis_vreq_tready", true);
    wrapper.set("m_axis_o_tready", block.o_ready);
    for (port, value) in [
        ("awvalid", writes.into()),
        ("awaddr", control.into()),
        ("wvalid", writes.into()),
        ("wdata", 1 << RUN_BIT),
        ("wstrb", 15),
        ("bready", 1u64),
    ] {
        wrapper.set(&format!("s_axil_{port}"), value);
    }
    wrapper.settle();

    let [q_ready, k_ready, v_ready] = ["q", "k", "v"].map(|s| wrapper.is_high(&format!("s_axis_{s}_tready")));
    let request = wrapper.has("m_axis_vreq_tvalid").then(|| {
        let place = wrapper.words("m_axis_vreq_tdata").next().unwrap_or(0) as usize;
        wrapper.is_high("m_axis_vreq_tvalid").then_some(place)
    });
    let offered = wrapper.is_high("m_axis_o_tvalid");
    let o_last = wrapper.is_high("m_axis_o_tlast");
    let result = block.o.front().filter(|_| offered).map(|beat| Beat { last: o_last, ..beat.clone() });
    let mut lanes = vec![Lane { beat: q, ready: q_ready }, Lane { beat: k, ready: k_ready }];
    if let Some(request) = request {
        let beat = request.map(|place| Beat { item: place.to_string(), place: (0, 1), last: false });
        lanes.push(Lane { beat, ready: true });
        block.answers.extend(request.map(|place| (cycle + u64::from(config.value_delay()), place)));
    }
    let of_values = lanes.len();
    lanes.push(Lane { beat: v, ready: v_ready });
    // No query starts from a state.
    if wrapper.has("s_axis_s_tready") {
        lanes.push(Lane { beat: None, ready: wrapper.is_high("s_axis_s_tready") });
    }
    lanes.push(Lane { beat: result, ready: block.o_ready });
    // The sink is ready from the cycle on after the first one with a result.
    block.o_ready |= offered;
    let places = lanes.len();
    for (queue, lane) in
        [(&mut block.q, 0), (&mut block.k, 1), (&mut block.v, of_values), (&mut block.o, places - 1)]
    {
        if lanes[lane].passes() {
            queue.pop_front();
        }
    }
    block.started |= cycle == RESET + START;
    wrapper.clock();
    lanes
}
