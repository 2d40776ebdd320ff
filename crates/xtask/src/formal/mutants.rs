//! Designs that are broken in one place of their text, which a proof must find.

use crate::failure::{Outcome, check};

/// A change of the emitted text.
pub struct Mutant {
    /// The broken property.
    pub what: &'static str,
    /// The replaced text, in every line that has it.
    pub from: &'static str,
    /// By what; with `rest`, together with the rest of the line.
    pub to: &'static str,
    pub rest: bool,
}

impl Mutant {
    /// One that replaces a part of a line.
    pub const fn part(what: &'static str, from: &'static str, to: &'static str) -> Mutant {
        Mutant { what, from, to, rest: false }
    }

    /// One that replaces the rest of a line.
    pub const fn rest(what: &'static str, from: &'static str, to: &'static str) -> Mutant {
        Mutant { what, from, to, rest: true }
    }

    /// The text with the change.
    ///
    /// # Errors
    /// If the text stays as it is: the proof of a mutant would be one of the design itself.
    pub fn of(&self, text: &str) -> Outcome<String> {
        let line = |line: &str| match line.find(self.from) {
            Some(at) if self.rest => format!("{}{}\n", &line[..at], self.to),
            Some(_) => format!("{}\n", line.replacen(self.from, self.to, 1)),
            None => format!("{line}\n"),
        };
        let changed: String = text.lines().map(line).collect();
        match changed == text {
            true => check(format!(
                "the mutant \"{}\" changes nothing: the generated text is no longer what it expects",
                self.what
            )),
            false => Ok(changed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mutant_changes_the_text_or_is_refused() {
        let text = "wire a = b ? c : d;\nwire e = f;\n";
        let part = Mutant::part("", "= b ? c :", "=").of(text).unwrap();
        assert_eq!(part, "wire a = d;\nwire e = f;\n");
        let rest = Mutant::rest("", "wire e =", "wire e = 1;").of(text).unwrap();
        assert_eq!(rest, "wire a = b ? c : d;\nwire e = 1;\n");
        assert!(Mutant::part("", "= g", "= h").of(text).is_err());
    }
}
