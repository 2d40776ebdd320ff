//! Inputs of leaves are as wide as what the leaf reads, where the module around it has a use for the other bits.
//!
//! A function takes a whole word, as a register or another function has it, and may read some places of it only. Its module's
//! port is that part, `input wire [29:4] x`, and the instance is given it, `.x(x_q[29:4])`. Where nothing else reads the
//! word, the port stays: the bits without a reader would be those of a wire around it instead.

use super::body::ModuleBody;

/// The highest and the lowest bit.
pub(super) type Bits = (u32, u32);

/// Inputs that are given in part.
pub(super) type Parts = Vec<(String, Bits)>;

impl ModuleBody<'_> {
    /// The inputs of a part that get only some bits of a wire.
    pub(super) fn given(&self, place: usize) -> Parts {
        let part = &self.flat.parts[place];
        let unread = self.texts[place].iter().flat_map(|text| &text.body.unread);
        let given = unread.filter_map(|(name, bits)| {
            // Elements of a vector are packed: what is next to each other there has several meanings.
            let bus = part.pins(name).filter(|bus| !bus.vector)?;
            self.readers.reads_whole(bus.nets[0]).then_some((name.clone(), (*bits)?))
        });
        given.collect()
    }

    /// Some bits of what carries a net.
    pub(super) fn part(&self, net: u32, (high, low): Bits) -> String {
        let source = self.source(net);
        let signal = self.signal(source);
        let (name, width) = (&signal.name, signal.width);
        match (signal.nets.len(), high - low + 1) {
            (1, 1) => format!("{name}[{low}]"),
            (1, _) => format!("{name}[{high}:{low}]"),
            (_, bits) => format!("{name}[{width}*{} + {low} +: {bits}]", source.element),
        }
    }
}
