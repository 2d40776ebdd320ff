//! A memory on chip, with a port to write and one to read.
//!
//! It is described by registers, so that simulations and proofs need nothing new. Verilog has the memory itself, which
//! synthesis maps to a macro or to block RAM: `words[write_address] <= write_data; data <= words[read_address]`.

use crate::rtl::{Module, Pins, Tag, VectorFunction, VectorLeaf, Wire};
use crate::word::{Word, index_bits};

/// Enables the place that is written.
struct WriteSelect {
    depth: usize,
}

impl VectorFunction for WriteSelect {
    fn header(&self) -> (Tag, Vec<Pins>, Vec<Pins>) {
        let tag = Tag::module(format!("memory_write_{}", self.depth), "Enables the place that is written.");
        let inputs = vec![Pins::vector("write", 1, 1), Pins::vector("address", 1, index_bits(self.depth))];
        (tag, inputs, vec![Pins::vector("enable", self.depth, 1)])
    }

    fn eval<W: Word>(&self, inputs: &[Vec<W>]) -> Vec<Vec<W>> {
        let (write, address) = (&inputs[0][0], &inputs[1][0]);
        let is = |place: usize| address.eq(&W::constant(address.width(), place as u64)).and(write);
        vec![(0..self.depth).map(is).collect()]
    }
}

/// Selects the word at an address, by halves.
struct ReadSelect {
    depth: usize,
    width: u32,
}

impl VectorFunction for ReadSelect {
    fn header(&self) -> (Tag, Vec<Pins>, Vec<Pins>) {
        let name = format!("memory_read_{}x{}", self.depth, self.width);
        let inputs = vec![
            Pins::vector("address", 1, index_bits(self.depth)),
            Pins::vector("word", self.depth, self.width),
        ];
        (Tag::module(name, "The word at an address."), inputs, vec![Pins::vector("y", 1, self.width)])
    }

    fn eval<W: Word>(&self, inputs: &[Vec<W>]) -> Vec<Vec<W>> {
        let address = &inputs[0][0];
        let mut words = inputs[1].clone();
        for bit in 0..address.width() {
            let odd = address.bit(bit);
            words = words.chunks(2).map(|pair| odd.select(&pair[1], &pair[0])).collect();
        }
        vec![words]
    }
}

/// The write port of a memory.
pub struct WritePort<'a> {
    /// The words are written at the edge.
    pub write: Wire,
    /// Their place.
    pub address: Wire,
    /// The words.
    pub data: &'a [Wire],
}

/// The read port of a memory.
pub struct ReadPort {
    /// A place is read at the edge; its words are there in the next cycle, and until the next read.
    pub read: Wire,
    /// The place.
    pub address: Wire,
}

/// A memory of `2^address` places of some words of one width. A read of the place that is written returns its old words.
///
/// # Panics
/// If the addresses differ in width, or there are no words.
pub fn memory(around: &mut Module, name: &str, write: &WritePort, read: &ReadPort) -> Vec<Wire> {
    assert_eq!(write.address.width(), read.address.width(), "{name}: two widths of addresses");
    let (depth, words, width) = (1 << write.address.width(), write.data.len(), write.data[0].width());
    let tag = Tag::module(
        format!("memory_{depth}x{words}x{width}"),
        format!(
            "{depth} places of {words} words of {width} bits. A read of the place that is written returns its old words."
        ),
    );
    around.part(name, tag.memory(), |m| {
        m.clock();
        let write_address = m.input("write_address", write.address);
        let data = m.inputs("write_data", write.data);
        let write = m.input("write", write.write);
        let read_address = m.input("read_address", read.address);
        let read = m.input("read", read.read);
        let enables = m.leaf("select", VectorLeaf::new(WriteSelect { depth }), &[write, write_address]);
        let outputs = data.iter().enumerate().map(|(word, &data)| {
            let cells = enables
                .iter()
                .enumerate()
                .map(|(place, &enable)| m.register_if(("words", place * words + word), enable, data));
            let read_from: Vec<Wire> = [read_address].into_iter().chain(cells).collect();
            let selected =
                m.leaf(("word", word), VectorLeaf::new(ReadSelect { depth, width }), &read_from)[0];
            m.register_if(("data_q", word), read, selected)
        });
        let outputs: Vec<Wire> = outputs.collect();
        m.outputs("data", &outputs)
    })
}
