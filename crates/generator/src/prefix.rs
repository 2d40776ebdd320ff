//! How the names of emitted modules begin.

use flashd_hwmodel::netlist::is_keyword;
use flashd_spec::config::{design_name, encoded_length, with_digest};
use sha2::{Digest as _, Sha256};
use std::fmt::Write;
use std::str::FromStr;

/// How the names of a design's modules begin, so that two designs can be compiled together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Prefix {
    /// With the name of the design's top: no other design has such names.
    #[default]
    Top,
    /// With this one, the top's name included; with nothing if it is empty. The names of inner modules end with a digest of their text:
    /// designs share these names, and equal names mean equal text in every emission.
    Shared(String),
    /// As the design names its modules: for tools that see one design at a time and know modules again by their text.
    Plain,
}

/// The word for an empty prefix.
const NONE: &str = "none";
/// The longest prefix. File names are limited to 255 bytes, and the longest names of modules have about 150.
const LONGEST: usize = 64;
/// The folder of shared modules without a prefix.
const FOLDER: &str = "modules";

/// A prefix that no module may have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{prefix}' {problem}; a prefix has up to {LONGEST} letters, digits and '_', begins with a letter or '_' and is no keyword of Verilog; or none"
)]
pub struct PrefixError {
    prefix: String,
    problem: String,
}

impl FromStr for Prefix {
    type Err = PrefixError;

    fn from_str(text: &str) -> Result<Prefix, PrefixError> {
        let legal = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let problem = match text.chars().next() {
            _ if text == NONE => return Ok(Prefix::Shared(String::new())),
            None => "is empty".into(),
            Some(c) if c.is_ascii_digit() => format!("begins with the digit {c}"),
            _ if text.len() > LONGEST => format!("has {} characters", text.chars().count()),
            _ if encoded_length(text) > LONGEST => {
                format!("has {} characters in Verilator", encoded_length(text))
            }
            _ if is_keyword(text) => "is a keyword".into(),
            _ => match text.chars().find(|&c| !legal(c)) {
                Some(c) => format!("has the character {c:?}"),
                None => return Ok(Prefix::Shared(text.into())),
            },
        };
        Err(PrefixError { prefix: text.into(), problem })
    }
}

impl Prefix {
    /// The name of a top, which is also that of its files.
    pub fn top(&self, design: &str) -> String {
        match self {
            Prefix::Shared(prefix) => design_name(joined(prefix, design)),
            Prefix::Top | Prefix::Plain => design.into(),
        }
    }

    /// The name of a module inside a design, `text` being all that it is but its name.
    pub(crate) fn inner(&self, design: &str, module: &str, text: &str) -> String {
        match self {
            Prefix::Top => joined(design, module),
            Prefix::Shared(prefix) => with_digest(&joined(prefix, module), text),
            Prefix::Plain => module.into(),
        }
    }

    /// What names inside a design begin with.
    pub(crate) fn words(&self, design: &str) -> String {
        match self {
            Prefix::Top => design.into(),
            Prefix::Shared(prefix) => prefix.clone(),
            Prefix::Plain => String::new(),
        }
    }

    /// Folder and list of the modules that several designs share; none if names are of one design.
    pub(crate) fn folder(&self) -> Option<&str> {
        match self {
            Prefix::Shared(prefix) if prefix.is_empty() => Some(FOLDER),
            Prefix::Shared(prefix) => Some(prefix),
            Prefix::Top | Prefix::Plain => None,
        }
    }
}

fn joined(prefix: &str, name: &str) -> String {
    match prefix.is_empty() || prefix.ends_with('_') {
        true => format!("{prefix}{name}"),
        false => format!("{prefix}_{name}"),
    }
}

/// SHA-256 as `sha256sum` prints it.
pub(crate) fn sha256(text: &str) -> String {
    let mut digits = String::new();
    for byte in Sha256::digest(text) {
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashd_spec::config::without_digest;

    #[test]
    fn only_identifiers_are_prefixes() {
        let error = |text: &str| text.parse::<Prefix>().unwrap_err().to_string();
        assert!(error("").starts_with("'' is empty; a prefix has up to 64 letters"));
        assert!(error("8bit").starts_with("'8bit' begins with the digit 8; "));
        assert!(error("module").starts_with("'module' is a keyword; "));
        assert!(error("a-b").starts_with("'a-b' has the character '-'; "));
        assert!(error("a$b").contains("has the character '$'"));
        assert!(error("\u{e9}t\u{e9}").contains("has the character '\u{e9}'"));
        assert!(error("../x").contains("has the character '.'"));
        assert!(error(&"a".repeat(65)).contains("has 65 characters"));
        for good in ["a", "_a", "acme_", "A9"] {
            assert_eq!(good.parse(), Ok(Prefix::Shared(good.into())));
        }
        assert_eq!("none".parse(), Ok(Prefix::Shared(String::new())));
    }

    #[test]
    fn names_begin_with_the_prefix() {
        let inner = |prefix: &Prefix| prefix.inner("fa2_bf16_d4", "bf16_term", "text");
        let top = |prefix: &Prefix| prefix.top("fa2_bf16_d4");
        assert_eq!(inner(&Prefix::Top), "fa2_bf16_d4_bf16_term");
        assert_eq!(top(&Prefix::Top), "fa2_bf16_d4");
        for prefix in ["acme", "acme_"] {
            let prefix = prefix.parse().unwrap();
            assert_eq!(top(&prefix), "acme_fa2_bf16_d4");
            assert_eq!(inner(&prefix), "acme_bf16_term_982d9e3e");
            assert_eq!(without_digest(&inner(&prefix)), "acme_bf16_term");
        }
        assert_eq!(inner(&"none".parse().unwrap()), "bf16_term_982d9e3e");
        let long = Prefix::Shared("acme".into()).inner("fa2_bf16_d4", &"x".repeat(150), "text");
        assert_eq!((long.len(), &long[113..]), (127, "xxxxx_982d9e3e"));
        // The name would be cut after its underscore.
        let long = Prefix::Shared("acm".into()).inner("fa2_bf16_d4", &"x_".repeat(70), "text");
        assert_eq!((long.len(), &long[113..]), (126, "_x_x_982d9e3e"));
        let long = Prefix::Shared("a__b".into()).inner("fa2_bf16_d4", &"x".repeat(150), "text");
        assert_eq!(long.len(), 127 - 4);
        assert_eq!(without_digest("flash_d_group_16"), "flash_d_group_16");
    }
}
