//! The words at a machine's ports in one cycle.

use flashd_spec::machine::Machine;
use flashd_spec::ports::{PORTS, Port};
use std::ops::{Index, IndexMut, Range};
use std::sync::Arc;

/// Where a port's words are in a frame, and their width.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct FramePlace {
    words: Range<usize>,
    width: u32,
}

/// Words by port: inputs and outputs of a core, an array or split keys in one cycle. Absent ports have no words: they read as 0, and
/// writes have no effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    places: Arc<[FramePlace; PORTS.len()]>,
    words: Vec<u64>,
}

impl Frame {
    /// All zeros.
    pub fn new(machine: &Machine) -> Frame {
        let mut end = 0;
        let places = PORTS.each_ref().map(|row| {
            let (count, width) = row.words(machine);
            end += count;
            FramePlace { words: end - count..end, width }
        });
        Frame { places: Arc::new(places), words: vec![0; end] }
    }

    /// Bits of a port's words.
    pub fn width(&self, port: Port) -> u32 {
        self.places[port as usize].width
    }

    /// The first word of a port.
    pub fn get(&self, port: Port) -> u64 {
        self[port].first().copied().unwrap_or(0)
    }

    /// Whether a port of one word is not 0.
    pub fn is_high(&self, port: Port) -> bool {
        self.get(port) != 0
    }

    /// Sets a port of one word.
    pub fn set(&mut self, port: Port, word: impl Into<u64>) {
        if let Some(first) = self[port].first_mut() {
            *first = word.into();
        }
    }

    /// Sets all words of some ports to 0.
    pub(crate) fn clear(&mut self, ports: &[Port]) {
        ports.iter().for_each(|&port| self[port].fill(0));
    }

    /// Copies the outputs of another frame of the same machine.
    pub(crate) fn copy_outputs(&mut self, from: &Frame) {
        for row in PORTS.iter().filter(|row| row.is_output()) {
            self[row.port].copy_from_slice(&from[row.port]);
        }
    }
}

impl Index<Port> for Frame {
    type Output = [u64];

    fn index(&self, port: Port) -> &[u64] {
        &self.words[self.places[port as usize].words.clone()]
    }
}

impl IndexMut<Port> for Frame {
    fn index_mut(&mut self, port: Port) -> &mut [u64] {
        &mut self.words[self.places[port as usize].words.clone()]
    }
}
