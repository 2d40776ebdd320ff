//! Small leaves are written into their parent: a line of logic reads better than an instance.

use super::body::{Body, join};
use super::parts::unread;
use super::vector::{is_register, vectors};
use crate::elaborate::Child;
use crate::kernel::Path;
use flashd_hwmodel::rtl::Verilog;
use std::collections::HashMap;

impl Body<'_> {
    /// The body of a small leaf, written into this module instead of an instance: few lines, and inputs that
    /// are whole signals wherever the leaf takes them apart.
    pub(super) fn inlined(&self, child: &Child) -> Option<String> {
        let Verilog::Custom(text) = &child.module.code else { return None };
        let body = &without_unread_inputs(text)?;
        let wires: Vec<&str> = body
            .lines()
            .filter_map(|l| l.trim().strip_prefix("wire "))
            .filter_map(|l| l.split(" = ").next()?.rsplit(' ').next())
            .collect();
        let plain = body.lines().all(|l| l.starts_with("    wire ") || l.starts_with("    assign "));
        if child.index.is_some() || is_register(child) || !plain || wires.len() > INLINE_WIRES {
            return None;
        }
        let mut names: HashMap<&str, String> = HashMap::new();
        for port in vectors(&child.module.ports) {
            let port_name = child.module.ports.iter().find(|p| p.name == port.name)?;
            // A vector of one element has an element all the same.
            let element = port_name.index;
            let expression = match port.output {
                true => {
                    let path =
                        Path { instance: Some((child.name.clone(), None)), port: port.name.clone(), element };
                    join(&[self.source(&path)])
                }
                false if port.elements > 1 => {
                    let elements: Vec<Option<usize>> = (0..port.elements).map(Some).collect();
                    self.input(child, &port.name, &elements)
                }
                false => self.input(child, &port.name, &[element]),
            };
            let whole = expression.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            let taken_apart = body.contains(&format!("{}[", port.name));
            if port.elements > 1 && (port.output || taken_apart) || !whole && taken_apart {
                return None;
            }
            names.insert(&port_name.name, expression);
        }
        for wire in wires {
            names.insert(wire, format!("{}_{wire}", child.name));
        }
        let doc = child.module.tag.doc.lines().next().unwrap_or_default();
        Some(format!("    // {doc}\n{}", rename(body, &names)))
    }
}

/// The body of a leaf, unless it reads some bits of an input and not others. An input that it does not read at all, as
/// where a configuration leaves a decision out, has no trace in the module around it.
fn without_unread_inputs(text: &str) -> Option<String> {
    let (unread, body) = unread(text);
    let names: HashMap<&str, String> = unread.into_iter().map(|(name, _)| (name, String::new())).collect();
    (rename(body, &names) == body).then(|| body.to_string())
}

/// Most wires that a leaf may have to be written into its parent.
const INLINE_WIRES: usize = 3;

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
