//! The streams of a wrapper.

use flashd_hwmodel::wrapper::{FLAG_BITS, INDEX_BITS};
use flashd_spec::config::{Carried, Values, WrapperConfig};
use serde::{Deserialize, Serialize};

/// A signal of a stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamSignal {
    /// Name of the port.
    pub port: String,
    /// Width in bits.
    pub width: u32,
    /// Its contents.
    pub meaning: String,
}

/// A stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stream {
    /// Prefix of the names of its ports.
    pub name: String,
    /// Into the wrapper.
    pub input: bool,
    /// Its contents.
    pub meaning: String,
    /// The meaning of a packet; absent where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet: Option<String>,
    /// Beats of an item.
    pub beats: u32,
    /// Signals apart from `tvalid` and `tready`.
    pub signals: Vec<StreamSignal>,
}

/// A stream with its data and what else it has.
fn stream(
    name: &str,
    meaning: String,
    packet: Option<&str>,
    (beats, bits, data): (u32, u32, &str),
    others: &[(&str, u32, &str)],
) -> Stream {
    let signal = |signal: &str, width, meaning: &str| StreamSignal {
        port: format!("{name}_{signal}"),
        width,
        meaning: meaning.into(),
    };
    let mut signals = vec![signal("tdata", bits, data)];
    signals.extend(packet.map(|_| signal("tlast", 1, "the packet's last beat")));
    signals.extend(others.iter().map(|(suffix, width, meaning)| signal(suffix, *width, meaning)));
    Stream {
        name: name.into(),
        input: name.starts_with("s_"),
        meaning,
        packet: packet.map(str::to_string),
        beats,
        signals,
    }
}

/// The beats of a vector, their bits and contents.
fn vector(config: &WrapperConfig, carried: Carried) -> (u32, u32, &'static str) {
    let data = "a beat of the vector; element 0 is in the low bits of the first one";
    (config.beats(carried), config.beat_of(carried), data)
}

/// The stream of values, after that of their requests if there is one.
fn value_streams(config: &WrapperConfig) -> Vec<Stream> {
    let values = |meaning: &str, packet| {
        stream("s_axis_v", meaning.into(), packet, vector(config, Carried::Value), &[])
    };
    match config.values {
        Values::Requested => {
            let index = (1, INDEX_BITS, "the key's place in its block, from 0 on");
            let meaning = "requests: the keys whose value some query needs, in order";
            vec![
                stream("m_axis_vreq", meaning.into(), None, index, &[]),
                values("the values that were asked for, in the order of the requests", None),
            ]
        }
        Values::All => {
            let meaning = "a value for each key of the block; those that no query needs are dropped";
            vec![values(meaning, Some("the values of a block"))]
        }
    }
}

/// The streams of a wrapper, in the order of its ports.
pub(crate) fn streams(config: &WrapperConfig) -> Vec<Stream> {
    let core = &config.array.core;
    let queries = config.array.queries;
    let vector = |carried| vector(config, carried);
    let mask = [("tuser", 1, "bit 0, on a key's last beat: no query sees the key")];
    let masks = if core.masks { &mask[..] } else { &[] };
    let flags = [(
        "tuser",
        FLAG_BITS,
        "bit 0: an operand was Inf or NaN; bit 1, fixed-point lanes: a value was beyond V_EXPONENT; bit 2, masks: the \
         query has seen no key; bit 3: a score was beyond its range. The same on all beats of a result",
    )];
    let mut streams = vec![
        stream(
            "s_axis_q",
            format!("queries, 1 to {queries} a block"),
            Some("the queries of a block"),
            vector(Carried::Query),
            &[],
        ),
        stream(
            "s_axis_k",
            match core.bias {
                true => "keys, each for all queries of the block, and behind each what every query adds to its score".into(),
                false => "keys, each for all queries of the block".into(),
            },
            Some("the keys of a block"),
            vector(Carried::Key),
            masks,
        ),
    ];
    streams.extend(value_streams(config));
    if core.partial {
        let none =
            [("tuser", 1, "bit 0, on a state's last beat: there is none, and its query starts without one")];
        streams.push(stream(
            "s_axis_s",
            "with STATES: the states that the queries of a block start from, in order".into(),
            Some("the states of a block"),
            vector(Carried::State),
            &none,
        ));
    }
    streams.push(stream(
        "m_axis_o",
        match core.partial {
            true => "results, in the order of the queries, and behind each its state".into(),
            false => "results, in the order of the queries".into(),
        },
        Some("the results of a block"),
        vector(Carried::Result),
        &flags,
    ));
    streams
}
