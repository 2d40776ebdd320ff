//! The texts of leaves.

use super::flat::Bus;
use flashd_hwmodel::netlist::{Body as LeafBody, rename};
use flashd_hwmodel::rtl::{Leaf, Pins, Tag};

/// Most wires that a leaf may have to be written into its parent.
const INLINE_WIRES: usize = 3;

/// The text of a leaf, which all its instances share.
pub(super) struct LeafText {
    pub(super) tag: Tag,
    pub(super) body: LeafBody,
    /// Whether it may be inlined into the parent module: few lines, and no input that it reads in part. An input that it does not read at
    /// all, as in a configuration without a decision, does not appear in the parent.
    pub(super) small: bool,
}

impl LeafText {
    /// Needs a leaf. Leaves its text, which all that instantiate it share.
    pub(super) fn of(leaf: &dyn Leaf) -> LeafText {
        let body = leaf.verilog();
        let names = body.unread.iter().map(|(name, _)| (name.as_str(), String::new())).collect();
        let plain = body.text.lines().all(|l| l.starts_with("    wire ") || l.starts_with("    assign "));
        let small =
            plain && wires(&body.text).count() <= INLINE_WIRES && rename(&body.text, &names) == body.text;
        LeafText { tag: leaf.tag(), small, body }
    }

    /// Whether it reads all bits of an input.
    pub(super) fn reads_all(&self, input: &str) -> bool {
        self.body.unread.iter().all(|(name, _)| name != input)
    }
}

/// The ports of a leaf.
pub(super) fn ports(leaf: &dyn Leaf) -> Vec<Bus<'static>> {
    let bus = |pins: Pins, output| Bus {
        name: pins.name,
        vector: pins.elements.is_some(),
        output,
        width: pins.width,
        nets: vec![0; pins.count()],
    };
    let inputs = leaf.inputs().into_iter().map(|pins| bus(pins, false));
    let all = inputs.chain(leaf.outputs().into_iter().map(|pins| bus(pins, true)));
    all.filter(|bus| !bus.nets.is_empty()).collect()
}

/// The names of the wires that a text declares.
pub(super) fn wires(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .filter_map(|l| l.trim().strip_prefix("wire "))
        .filter_map(|l| l.split(" = ").next()?.rsplit(' ').next())
}
