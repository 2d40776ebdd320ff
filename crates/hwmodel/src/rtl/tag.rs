//! What a module is called and what it computes, carried through RustHDL's probe as a pseudo-atom.
//!
//! RustHDL names modules after instance paths and knows no module of its own accord; the generator needs
//! the name a person would have chosen, to emit each distinct module once.

use rust_hdl::core::prelude::Atom;

/// The kind of module behind a scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TagKind {
    /// A module of its own.
    Module,
    /// A structural module that is dissolved into its parent: a way to write, not a way to read.
    Dissolved,
    /// A module of its own that leaves outputs of its parts, or elements of its inputs, unread on purpose.
    Open,
    /// A clock gate, in Verilog a clock enable of the registers behind it.
    ClockGate,
    /// A flip-flop, written into the parent as an `always` block.
    Register {
        /// Value after reset; `None` without reset.
        reset: Option<u64>,
        /// Has an enable input.
        enable: bool,
    },
}

/// Name, description and kind of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tag {
    /// Module name.
    pub name: String,
    /// One or more lines for the module's header comment.
    pub doc: String,
    /// Module, register or clock gate.
    pub kind: TagKind,
}

const SEPARATOR: char = '\u{1f}';

impl Tag {
    /// A module.
    pub fn module(name: impl Into<String>, doc: impl Into<String>) -> Tag {
        Tag { name: name.into(), doc: doc.into(), kind: TagKind::Module }
    }

    /// The same, dissolved into its parent.
    #[must_use]
    pub fn dissolved(self) -> Tag {
        Tag { kind: TagKind::Dissolved, ..self }
    }

    /// The same, with outputs of its parts, or elements of its inputs, that nothing reads.
    #[must_use]
    pub fn open(self) -> Tag {
        Tag { kind: TagKind::Open, ..self }
    }

    /// A register.
    pub fn register(reset: Option<u64>, enable: bool) -> Tag {
        Tag { name: "register".into(), doc: String::new(), kind: TagKind::Register { reset, enable } }
    }

    /// The tag behind an atom, if it is one.
    pub fn of(atom: &dyn Atom) -> Option<Tag> {
        if atom.bits() != 0 {
            return None;
        }
        let descriptor = atom.descriptor().name;
        let mut fields = descriptor.split(SEPARATOR);
        let (name, doc) = (fields.next()?.to_string(), fields.next()?.to_string());
        let kind = match (fields.next(), fields.next()) {
            (Some("dissolved"), _) => TagKind::Dissolved,
            (Some("open"), _) => TagKind::Open,
            (Some("clock_gate"), _) => TagKind::ClockGate,
            (Some(reset), Some(enable)) => {
                TagKind::Register { reset: reset.parse().ok(), enable: enable == "enable" }
            }
            _ => TagKind::Module,
        };
        Some(Tag { name, doc, kind })
    }

    /// What an atom's descriptor says, for [`Tag::of`].
    pub(super) fn text(&self) -> String {
        let kind = match &self.kind {
            TagKind::Module => String::new(),
            TagKind::Dissolved => format!("{SEPARATOR}dissolved"),
            TagKind::Open => format!("{SEPARATOR}open"),
            TagKind::ClockGate => format!("{SEPARATOR}clock_gate"),
            TagKind::Register { reset, enable } => {
                let reset = reset.map_or("none".to_string(), |r| r.to_string());
                format!("{SEPARATOR}{reset}{SEPARATOR}{}", if *enable { "enable" } else { "always" })
            }
        };
        format!("{}{SEPARATOR}{}{kind}", self.name, self.doc)
    }
}
