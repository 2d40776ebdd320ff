//! The streams of a stream wrapper: a row each. Hardware, simulation and the generator's descriptions follow it.

use crate::config::{Carried, Values, WrapperConfig};
use StreamPort::*;

/// A stream, by its place in [`STREAMS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)] // Their meanings are in the table.
pub enum StreamPort {
    Queries,
    Keys,
    Requests,
    Values,
    States,
    Results,
}

/// The prefix of the AXI4-Lite port, which comes after the streams.
pub const REGISTER_PORT: &str = "s_axil_";

/// Bits of a request: the place of a key in its block.
pub const INDEX_BITS: u32 = 32;

/// Bits of a result's `tuser`: invalid, overflow, empty, saturated.
pub const FLAG_BITS: u32 = 4;

/// A stream.
#[derive(Clone, Copy)]
pub struct StreamRow {
    /// Its place in the table.
    pub stream: StreamPort,
    /// The prefix of the names of its ports, without the underscore that follows.
    pub name: &'static str,
    /// The vectors in it; none in the stream of requests.
    pub carried: Option<Carried>,
    exists: fn(&WrapperConfig) -> bool,
    meaning: fn(&WrapperConfig) -> String,
    packet: fn(&WrapperConfig) -> Option<&'static str>,
    user: fn(&WrapperConfig) -> Option<(u32, &'static str)>,
}

impl StreamRow {
    /// Whether it goes into the wrapper.
    pub fn is_input(&self) -> bool {
        self.name.starts_with("s_")
    }

    /// Whether a wrapper has it.
    pub fn exists(&self, config: &WrapperConfig) -> bool {
        (self.exists)(config)
    }

    /// Its contents.
    pub fn meaning(&self, config: &WrapperConfig) -> String {
        (self.meaning)(config)
    }

    /// The contents of a packet; none in a stream without `tlast`.
    pub fn packet(&self, config: &WrapperConfig) -> Option<&'static str> {
        (self.packet)(config)
    }

    /// The bits of `tuser` and their meaning, if the stream has it.
    pub fn user(&self, config: &WrapperConfig) -> Option<(u32, &'static str)> {
        (self.user)(config)
    }

    /// Beats of an item, and bits of a beat.
    pub fn beats(&self, config: &WrapperConfig) -> (u32, u32) {
        match self.carried {
            Some(carried) => (config.beats(carried), config.beat_of(carried)),
            None => (1, INDEX_BITS),
        }
    }
}

impl StreamPort {
    /// Its row.
    pub fn row(self) -> &'static StreamRow {
        &STREAMS[self as usize]
    }

    /// The name of one of its ports: `s_axis_q_tvalid`.
    pub fn port(self, signal: &str) -> String {
        format!("{}_{signal}", self.row().name)
    }
}

/// All streams, in the order of their ports.
pub static STREAMS: [StreamRow; 6] = [
    StreamRow {
        stream: Queries,
        name: "s_axis_q",
        carried: Some(Carried::Query),
        exists: |_| true,
        meaning: |config| format!("queries, 1 to {} a block", config.array.queries),
        packet: |_| Some("the queries of a block"),
        user: |_| None,
    },
    StreamRow {
        stream: Keys,
        name: "s_axis_k",
        carried: Some(Carried::Key),
        exists: |_| true,
        meaning: |config| {
            let biases = if config.array.core.bias {
                ", and behind each what every query adds to its score"
            } else {
                ""
            };
            format!("keys, each for all queries of the block{biases}")
        },
        packet: |_| Some("the keys of a block"),
        user: |config| {
            config.array.core.masks.then_some((1, "bit 0, on a key's last beat: no query sees the key"))
        },
    },
    StreamRow {
        stream: Requests,
        name: "m_axis_vreq",
        carried: None,
        exists: |config| config.values == Values::Requested,
        meaning: |_| "requests: the keys whose value some query needs, in order".into(),
        packet: |_| None,
        user: |_| None,
    },
    StreamRow {
        stream: StreamPort::Values,
        name: "s_axis_v",
        carried: Some(Carried::Value),
        exists: |_| true,
        meaning: |config| match config.values {
            Values::Requested => "the values that were asked for, in the order of the requests".into(),
            Values::All => "a value for each key of the block; those that no query needs are dropped".into(),
        },
        packet: |config| (config.values == Values::All).then_some("the values of a block"),
        user: |_| None,
    },
    StreamRow {
        stream: States,
        name: "s_axis_s",
        carried: Some(Carried::State),
        exists: |config| config.array.core.partial,
        meaning: |_| "with STATES: the states that the queries of a block start from, in order".into(),
        packet: |_| Some("the states of a block"),
        user: |_| Some((1, "bit 0, on a state's last beat: there is none, and its query starts without one")),
    },
    StreamRow {
        stream: Results,
        name: "m_axis_o",
        carried: Some(Carried::Result),
        exists: |_| true,
        meaning: |config| {
            let states = if config.array.core.partial { ", and behind each its state" } else { "" };
            format!("results, in the order of the queries{states}")
        },
        packet: |_| Some("the results of a block"),
        user: |_| {
            Some((
                FLAG_BITS,
                "bit 0: an operand was Inf or NaN; bit 1, fixed-point lanes: a value was beyond V_EXPONENT; bit 2, masks: the \
                 query has seen no key; bit 3: a score was beyond its range. The same on all beats of a result",
            ))
        },
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_is_at_its_place() {
        assert!(STREAMS.iter().enumerate().all(|(place, row)| row.stream as usize == place));
    }
}
