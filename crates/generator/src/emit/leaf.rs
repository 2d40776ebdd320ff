//! The texts of leaves, and small leaves as lines of the module around them: a line of logic reads better than an instance.

use super::body::Body;
use super::flat::Bus;
use flashd_hwmodel::netlist::Body as LeafBody;
use flashd_hwmodel::rtl::{Leaf, Pins, Tag};
use std::collections::HashMap;

/// Most wires that a leaf may have to be written into its parent.
const INLINE_WIRES: usize = 3;

/// What is printed of a leaf, and of all instances that share it.
pub(super) struct LeafText {
    pub(super) tag: Tag,
    pub(super) body: LeafBody,
    /// Whether it is so small that it may be written into the module around it: few lines, and no input of which it reads some bits and not
    /// others. An input that it does not read at all, as where a configuration leaves a decision out, has no trace in the module around it.
    small: bool,
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
fn wires(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .filter_map(|l| l.trim().strip_prefix("wire "))
        .filter_map(|l| l.split(" = ").next()?.rsplit(' ').next())
}

impl Body<'_> {
    /// The body of a small leaf, written into this module instead of an instance, if its inputs are whole signals wherever the leaf takes
    /// them apart.
    pub(super) fn inlined(&self, place: usize) -> Option<String> {
        let part = &self.flat.parts[place];
        let LeafText { tag, body, small } = &**self.texts[place].as_ref()?;
        if part.index.is_some() || !small {
            return None;
        }
        let text = &body.text;
        let mut names: HashMap<&str, String> = HashMap::new();
        for bus in &part.pins {
            let nets = if bus.output { &bus.nets[..1] } else { &bus.nets };
            let expression = self.expression(nets);
            let whole = expression.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            let taken_apart = text.contains(&format!("{}[", bus.name));
            if bus.nets.len() > 1 && (bus.output || taken_apart) || !whole && taken_apart {
                return None;
            }
            names.insert(bus.name, expression);
        }
        for wire in wires(text) {
            names.insert(wire, format!("{}_{wire}", part.name));
        }
        let doc = tag.doc.lines().next().unwrap_or_default();
        Some(format!("    // {doc}\n{}", rename(text, &names)))
    }
}

/// Replaces identifiers; constants like `4'hf` and system functions like `$signed` are none.
fn rename(text: &str, names: &HashMap<&str, String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$' || c == '\'';
        let end = rest.find(|c: char| !word(c)).unwrap_or(rest.len()).max(c.len_utf8());
        let token = &rest[..end];
        match names.get(token) {
            Some(new) => out.push_str(new),
            None => out.push_str(token),
        }
        rest = &rest[end..];
    }
    out
}
