//! Designs as `flashd generate` selects them.

use crate::failure::{Outcome, of};
use crate::work::{create, write};
use flashd_spec::config::CoreConfig;
use flashd_spec::format::Format;
use std::fmt::{self, Display, Formatter};
use std::path::Path;

/// One selection of `flashd generate`.
#[derive(Clone)]
pub enum DesignSelection {
    /// All shipped cores.
    All,
    /// A core and its surroundings.
    Core(Box<CoreConfig>, Surroundings),
    /// A unit by its name.
    Unit(&'static str, Format),
    /// The flags that a user gave.
    Flags(Vec<String>),
}

/// The surroundings of a core.
#[derive(Clone, Copy, PartialEq)]
pub enum Surroundings {
    /// The core itself.
    Nothing,
    /// An array of cores for a block of queries.
    Array { queries: usize, key_index_bits: Option<u32> },
    /// An array whose queries take turns.
    Turns { queries: usize, interleave: usize },
    /// Split keys: cores that share a query.
    Split { parts: usize },
    /// An attention unit around an array.
    Memory { queries: usize, beat: u32, kv_buffer: u32, all_values: bool },
    /// A stream wrapper around an array.
    Wrapper { queries: usize, key_index_bits: Option<u32>, beat: Option<u32>, all_values: bool },
}

impl Surroundings {
    /// An array with the default width of key indices.
    pub fn array(queries: usize) -> Surroundings {
        Surroundings::Array { queries, key_index_bits: None }
    }

    /// A wrapper with the width of a beat, and all values or requested ones.
    pub fn wrapper(queries: usize, beat: Option<u32>, all_values: bool) -> Surroundings {
        Surroundings::Wrapper { queries, key_index_bits: None, beat, all_values }
    }

    /// Its flags of `flashd`.
    pub fn flags(self) -> Vec<String> {
        let mut flags = Vec::new();
        let mut flag = |name: &str, value: String| flags.extend([name.to_string(), value]);
        match self {
            Surroundings::Nothing => {}
            Surroundings::Array { queries, key_index_bits } => {
                flag("--queries", queries.to_string());
                key_index_bits.into_iter().for_each(|bits| flag("--key-index-bits", bits.to_string()));
            }
            Surroundings::Turns { queries, interleave } => {
                flag("--queries", queries.to_string());
                flag("--interleave", interleave.to_string());
            }
            Surroundings::Split { parts } => flag("--parts", parts.to_string()),
            Surroundings::Memory { queries, beat, kv_buffer, all_values } => {
                flag("--wrapper", "axi4".into());
                flag("--queries", queries.to_string());
                flag("--beat", beat.to_string());
                if all_values {
                    flag("--values", "all".into());
                }
                if kv_buffer > 0 {
                    flag("--kv-buffer", kv_buffer.to_string());
                }
            }
            Surroundings::Wrapper { queries, key_index_bits, beat, all_values } => {
                flag("--wrapper", "axis".into());
                flag("--queries", queries.to_string());
                key_index_bits.into_iter().for_each(|bits| flag("--key-index-bits", bits.to_string()));
                beat.into_iter().for_each(|bits| flag("--beat", bits.to_string()));
                if all_values {
                    flag("--values", "all".into());
                }
            }
        }
        flags
    }
}

impl DesignSelection {
    /// A core with nothing around it.
    pub fn core(core: CoreConfig) -> DesignSelection {
        DesignSelection::around(core, Surroundings::Nothing)
    }

    /// A core with something around it.
    pub fn around(core: CoreConfig, around: Surroundings) -> DesignSelection {
        DesignSelection::Core(Box::new(core), around)
    }

    /// The flags in a text, with spaces between.
    pub fn words(flags: &str) -> DesignSelection {
        DesignSelection::Flags(flags.split_whitespace().map(String::from).collect())
    }

    /// Flags of `flashd`.
    pub fn flags(&self) -> Vec<String> {
        let words = |flags: &str| flags.split_whitespace().map(String::from).collect();
        match self {
            DesignSelection::All => vec!["--all".into()],
            DesignSelection::Core(core, around) => [words(&core.flags()), around.flags()].concat(),
            DesignSelection::Unit(unit, format) => words(&format!("--unit {unit} --format {format}")),
            DesignSelection::Flags(flags) => flags.clone(),
        }
    }

    /// Emits it into a folder, as `flashd generate` with these options.
    pub fn generate(&self, options: &[&str], out: &Path) -> Outcome {
        let flags = self.flags();
        let words = flags.iter().map(String::as_str).chain(options.iter().copied());
        let files = flashd::generated(words).map_err(of(self))?;
        files.iter().try_for_each(|file| {
            // Lists of files have relative paths, for comparison.
            let path = out.join(&file.name);
            create(path.parent().unwrap_or(out))?;
            write(&path, &file.text)
        })
    }

    /// Whether it is a unit.
    pub fn is_unit(&self) -> bool {
        match self {
            DesignSelection::Unit(..) => true,
            DesignSelection::Flags(flags) => {
                flags.iter().any(|flag| flag == "--unit" || flag.starts_with("--unit="))
            }
            _ => false,
        }
    }

    /// Whether it is a stream wrapper.
    pub fn is_wrapper(&self) -> bool {
        matches!(self, DesignSelection::Core(_, Surroundings::Wrapper { .. }))
    }

    /// Whether keys can be masked.
    pub fn has_masks(&self) -> bool {
        matches!(self, DesignSelection::Core(core, _) if core.masks)
    }
}

impl Display for DesignSelection {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            DesignSelection::Core(core, around) => {
                write!(f, "{}", [vec![core.name()], around.flags()].concat().join(" "))
            }
            _ => write!(f, "{}", self.flags().join(" ")),
        }
    }
}
