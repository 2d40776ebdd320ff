//! What `flashd` is asked to generate.

use crate::failure::{Outcome, with};
use flashd_spec::config::CoreConfig;
use flashd_spec::format::Format;
use std::fmt::{self, Display, Formatter};

/// One selection of `flashd generate`.
#[derive(Clone)]
pub enum Selection {
    /// All shipped cores.
    All,
    /// A core, and what is around it.
    Core(Box<CoreConfig>, Around),
    /// A unit by its name.
    Unit(&'static str, Format),
    /// The flags that a user gave.
    Flags(Vec<String>),
}

/// What is around a core.
#[derive(Clone, Copy, PartialEq)]
pub enum Around {
    /// The core itself.
    Nothing,
    /// An array of cores for a block of queries.
    Array { queries: usize, key_index_bits: Option<u32> },
    /// Split keys: cores that share a query.
    Split { parts: usize },
    /// A stream wrapper around an array.
    Wrapper { queries: usize, key_index_bits: Option<u32>, beat: Option<u32>, all_values: bool },
}

impl Around {
    /// An array that counts as many keys as it does by default.
    pub fn array(queries: usize) -> Around {
        Around::Array { queries, key_index_bits: None }
    }

    /// A wrapper with a beat of so many bits, and all values or those that are asked for.
    pub fn wrapper(queries: usize, beat: Option<u32>, all_values: bool) -> Around {
        Around::Wrapper { queries, key_index_bits: None, beat, all_values }
    }

    fn flags(self) -> Vec<String> {
        let mut flags = Vec::new();
        let mut flag = |name: &str, value: String| flags.extend([name.to_string(), value]);
        match self {
            Around::Nothing => {}
            Around::Array { queries, key_index_bits } => {
                flag("--queries", queries.to_string());
                key_index_bits.into_iter().for_each(|bits| flag("--key-index-bits", bits.to_string()));
            }
            Around::Split { parts } => flag("--parts", parts.to_string()),
            Around::Wrapper { queries, key_index_bits, beat, all_values } => {
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

impl Selection {
    /// A core with nothing around it.
    pub fn core(core: CoreConfig) -> Selection {
        Selection::around(core, Around::Nothing)
    }

    /// A core with something around it.
    pub fn around(core: CoreConfig, around: Around) -> Selection {
        Selection::Core(Box::new(core), around)
    }

    /// The flags in a text, with spaces between.
    pub fn words(flags: &str) -> Selection {
        Selection::Flags(flags.split_whitespace().map(String::from).collect())
    }

    /// The text of the configuration file that [`Selection::flags`] names. A core is told by a file, not by flags: it has
    /// every field, and the same names as here.
    pub fn configuration(&self) -> Outcome<Option<String>> {
        match self {
            Selection::Core(core, _) => {
                serde_json::to_string_pretty(core).map(Some).map_err(with(core.name()))
            }
            _ => Ok(None),
        }
    }

    /// Flags of `flashd`, with the name of the configuration file if there is one.
    pub fn flags(&self, file: &str) -> Vec<String> {
        match self {
            Selection::All => vec!["--all".into()],
            Selection::Core(_, around) => {
                [vec!["--config".into(), file.to_string()], around.flags()].concat()
            }
            Selection::Unit(unit, format) => {
                ["--unit", unit, "--format", &format.to_string()].map(String::from).to_vec()
            }
            Selection::Flags(flags) => flags.clone(),
        }
    }

    /// Whether it is a unit.
    pub fn is_unit(&self) -> bool {
        match self {
            Selection::Unit(..) => true,
            Selection::Flags(flags) => {
                flags.iter().any(|flag| flag == "--unit" || flag.starts_with("--unit="))
            }
            _ => false,
        }
    }

    /// Whether it is a stream wrapper.
    pub fn is_wrapper(&self) -> bool {
        matches!(self, Selection::Core(_, Around::Wrapper { .. }))
    }

    /// Whether keys can be masked.
    pub fn has_masks(&self) -> bool {
        matches!(self, Selection::Core(core, _) if core.masks)
    }
}

impl Display for Selection {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Selection::Core(core, around) => {
                write!(f, "{}", [vec![core.name()], around.flags()].concat().join(" "))
            }
            _ => write!(f, "{}", self.flags("").join(" ")),
        }
    }
}
