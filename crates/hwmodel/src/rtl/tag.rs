//! Names and descriptions of modules.
//!
//! With the names in tags, the generator emits each distinct module once, under a name that a person would choose.

/// The kind of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TagKind {
    /// A separate module.
    Module,
    /// A structural module that is inlined into its parent. It structures the source, not the Verilog.
    Dissolved,
    /// A module of its own that leaves outputs of its parts, or elements of its inputs, unread on purpose.
    Open,
    /// A module whose Verilog is a memory: ports `write`, `write_address`, `write_data`, `read`, `read_address` and `data`.
    Memory,
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

    /// This tag for a module whose Verilog is a memory.
    #[must_use]
    pub fn memory(self) -> Tag {
        Tag { kind: TagKind::Memory, ..self }
    }

    /// This tag for a module that leaves outputs of its parts, or elements of its inputs, unread.
    #[must_use]
    pub fn open(self) -> Tag {
        Tag { kind: TagKind::Open, ..self }
    }
}
