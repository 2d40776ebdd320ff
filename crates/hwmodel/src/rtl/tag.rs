//! Names and descriptions of modules, carried through RustHDL's probe as pseudo-atoms.
//!
//! RustHDL names every instance after its path and does not know that two instances are the same module. With the names
//! in tags, the generator emits each distinct module once, under a name that a person would choose.

use rust_hdl::core::prelude::Atom;

/// The kind of module of a scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TagKind {
    /// A separate module.
    Module,
    /// A structural module that is inlined into its parent. It structures the source, not the Verilog.
    Dissolved,
    /// A module of its own that leaves outputs of its parts, or elements of its inputs, unread on purpose.
    Open,
    /// A clock gate; in Verilog, a clock enable of its registers.
    ClockGate,
    /// A register, written into the parent as an `always` block.
    Register {
        /// Value after reset; `None` for a register without reset.
        reset: Option<u64>,
        /// The register has an enable input.
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
    /// The kind of module.
    pub kind: TagKind,
}

const SEPARATOR: char = '\u{1f}';

impl Tag {
    /// A module.
    pub fn module(name: impl Into<String>, doc: impl Into<String>) -> Tag {
        Tag { name: name.into(), doc: doc.into(), kind: TagKind::Module }
    }

    /// This tag for a module that is inlined into its parent.
    #[must_use]
    pub fn dissolved(self) -> Tag {
        Tag { kind: TagKind::Dissolved, ..self }
    }

    /// This tag for a module that leaves outputs of its parts, or elements of its inputs, unread.
    #[must_use]
    pub fn open(self) -> Tag {
        Tag { kind: TagKind::Open, ..self }
    }

    /// The tag of a register.
    pub fn register(reset: Option<u64>, enable: bool) -> Tag {
        Tag { name: "register".into(), doc: String::new(), kind: TagKind::Register { reset, enable } }
    }

    /// The tag that an atom carries, if it is a pseudo-atom.
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

    /// The atom's descriptor, from which [`Tag::of`] reads the tag.
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
