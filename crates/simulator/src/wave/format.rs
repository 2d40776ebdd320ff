//! The formats of wave files, and what writes each.

use super::fst::Fst;
use super::sink::Sink;
use super::vcd::Vcd;
use std::fs::File;
use std::io::Result;

/// The formats of wave files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WaveFormat {
    /// Value change dump: text, which every viewer reads.
    #[default]
    Vcd,
    /// GTKWave's fast signal trace: compressed, about a tenth of the size.
    Fst,
}

impl WaveFormat {
    /// What file names end in.
    pub fn ending(self) -> &'static str {
        match self {
            WaveFormat::Vcd => "vcd",
            WaveFormat::Fst => "fst",
        }
    }

    /// The format as a message names it, with its article.
    pub(super) fn article_and_name(self) -> &'static str {
        match self {
            WaveFormat::Vcd => "a VCD",
            WaveFormat::Fst => "an FST",
        }
    }

    /// An empty file of this format, with `comment` in it.
    pub(super) fn start(self, file: File, comment: &str) -> Result<Box<dyn Sink>> {
        Ok(match self {
            WaveFormat::Vcd => Box::new(Vcd::start(file, comment)?),
            WaveFormat::Fst => Box::new(Fst::start(file, comment)?),
        })
    }
}
