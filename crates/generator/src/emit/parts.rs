//! Inputs of leaves are as wide as what the leaf reads, where the module around it has a use for the other bits.
//!
//! A function takes a whole word, as a register or another function has it, and may read some places of it only. Its module's
//! port is that part, `input wire [29:4] x`, and the instance is given it, `.x(x_q[29:4])`. Where nothing else reads the
//! word, the port stays: the bits without a reader would be those of a wire around it instead.

use super::body::Body;
use crate::elaborate::{Child, Module};
use crate::kernel::Path;
use flashd_hwmodel::netlist::UNREAD_MARK;
use flashd_hwmodel::rtl::Verilog;
use std::collections::BTreeMap;

/// The highest and the lowest bit.
pub(super) type Bits = (u32, u32);

/// Inputs that are given in part.
pub(super) type Parts = BTreeMap<String, Bits>;

/// The inputs that a leaf's text does not read completely, with the bits that it does read where they are next to each other; and
/// the rest of the text.
pub(super) fn unread(text: &str) -> (Vec<(&str, Option<Bits>)>, &str) {
    let Some((inputs, body)) = text.strip_prefix(UNREAD_MARK).and_then(|rest| rest.split_once('\n')) else {
        return (Vec::new(), text);
    };
    let input = |word| -> (&str, Option<Bits>) {
        let part = |(name, bits): (_, &str)| {
            let (high, low) = bits.strip_suffix(']')?.split_once(':')?;
            Some((name, Some((high.parse().ok()?, low.parse().ok()?))))
        };
        str::split_once(word, '[').and_then(part).unwrap_or((word, None))
    };
    (inputs.split_whitespace().map(input).collect(), body)
}

fn unread_by(module: &Module) -> Vec<(&str, Option<Bits>)> {
    match &module.code {
        Verilog::Custom(text) => unread(text).0,
        _ => Vec::new(),
    }
}

impl Body<'_> {
    /// The inputs of a child that get only part of a wire.
    pub(super) fn given(&self, child: &Child) -> Parts {
        let port = |name: &str| child.module.ports.iter().find(|port| port.name == name);
        let unread = unread_by(&child.module).into_iter();
        let parts = unread.filter_map(|(name, bits)| Some((name.to_string(), bits?)));
        parts
            // Elements of a vector are packed: what is next to each other there has several meanings.
            .filter(|(name, _)| port(name).is_some_and(|port| port.index.is_none()))
            .filter(|(name, _)| {
                let source = self.sources.get(&input_path(child, name));
                self.sources.iter().any(|(sink, from)| Some(from) == source && self.reads_all(sink))
            })
            .collect()
    }

    /// Whether what takes a signal reads all of it: the module's own outputs, and whatever is no leaf, do.
    fn reads_all(&self, sink: &Path) -> bool {
        let Some((name, index)) = &sink.instance else { return true };
        let child = self.module.children.iter().find(|child| child.name == *name && child.index == *index);
        child.is_some_and(|child| unread_by(&child.module).iter().all(|(input, _)| *input != sink.port))
    }

    /// Some bits of what drives an input of a child.
    pub(super) fn part(&self, child: &Child, port: &str, (high, low): Bits) -> String {
        let source = self.source(&self.sources[&input_path(child, port)]);
        match (source.elements, high - low + 1) {
            (1, 1) => format!("{}[{low}]", source.signal),
            (1, _) => format!("{}[{high}:{low}]", source.signal),
            (_, bits) => format!("{}[{}*{} + {low} +: {bits}]", source.signal, source.width, source.element),
        }
    }
}

fn input_path(child: &Child, port: &str) -> Path {
    Path { instance: Some((child.name.clone(), child.index)), port: port.to_string(), element: None }
}
