//! The description of a stream wrapper for programs.

use super::streams::Stream;
use crate::manifest::Manifest;
use flashd_hwmodel::wrapper::Register;
use flashd_spec::config::WrapperConfig;
use serde::{Deserialize, Serialize};

/// The description of an emitted stream wrapper for programs. `latency` counts from the last beat of a block's last
/// key to the first beat of its first result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WrapperManifest {
    /// The fields of an array's manifest.
    #[serde(flatten)]
    pub array: Manifest<WrapperConfig>,
    /// Beats of a key.
    pub beats: u32,
    /// Cycles that the streams add to the array's latency.
    pub stream_latency: u32,
    /// Most cycles from a request to the first beat of its value that cost no time.
    pub value_delay: u32,
    /// The streams.
    pub streams: Vec<Stream>,
    /// Bits of a register's address.
    pub address_bits: u32,
    /// The registers.
    pub registers: Vec<Register>,
}
