//! Small leaves as lines of their parent module: a line of logic reads better than an instance.

use super::body::ModuleBody;
use super::leaf::{LeafText, wires};
use flashd_hwmodel::netlist::rename;
use std::collections::HashMap;

impl ModuleBody<'_> {
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
