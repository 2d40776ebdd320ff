//! The streams of a wrapper.

use flashd_spec::config::WrapperConfig;
use flashd_spec::streams::{STREAMS, StreamRow};
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

/// The streams of a wrapper, in the order of its ports.
pub(crate) fn streams(config: &WrapperConfig) -> Vec<Stream> {
    STREAMS.iter().filter(|row| row.exists(config)).map(|row| stream(row, config)).collect()
}

fn stream(row: &StreamRow, config: &WrapperConfig) -> Stream {
    let signal = |name: &str, width, meaning: &str| StreamSignal {
        port: row.stream.port(name),
        width,
        meaning: meaning.into(),
    };
    let (beats, bits) = row.beats(config);
    let data = match row.carried {
        Some(_) => "a beat of the vector; element 0 is in the low bits of the first one",
        None => "the key's place in its block, from 0 on",
    };
    let packet = row.packet(config);
    let mut signals = vec![signal("tdata", bits, data)];
    signals.extend(packet.map(|_| signal("tlast", 1, "the packet's last beat")));
    signals.extend(row.user(config).map(|(bits, meaning)| signal("tuser", bits, meaning)));
    Stream {
        name: row.name.into(),
        input: row.is_input(),
        meaning: row.meaning(config),
        packet: packet.map(str::to_string),
        beats,
        signals,
    }
}
