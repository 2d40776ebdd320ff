//! The kinds of shards: a row each.

use crate::explore::WorkPart;

/// How a shard's core gets to its command.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum CoreArgument {
    /// There is none.
    No,
    /// By its flags in `--core`.
    Flags,
    /// The same without a vector length: each head has its own.
    AnyLength,
}

/// A command that a sweep can run.
pub struct SweepCommand {
    pub name: &'static str,
    /// The first words of the command.
    pub words: [&'static str; 2],
    pub core: CoreArgument,
    /// Whether a cell library is read.
    pub library: bool,
    /// Tools whose versions the result depends on, with the flag that prints them.
    pub tools: &'static [(&'static str, &'static str)],
}

const VERILATOR: &[(&str, &str)] = &[("verilator", "--version"), ("g++", "--version")];
const SYNTHESIS: &[(&str, &str)] = &[("yosys", "-V"), ("sta", "-version")];

/// All kinds.
pub const KINDS: [SweepCommand; 5] = [
    SweepCommand { core: CoreArgument::AnyLength, ..plain("accuracy") },
    SweepCommand { core: CoreArgument::Flags, tools: VERILATOR, ..plain("cosim") },
    SweepCommand { words: ["sweep", "part"], library: true, tools: SYNTHESIS, ..plain("explore") },
    SweepCommand { core: CoreArgument::Flags, library: true, tools: SYNTHESIS, ..plain("ppa") },
    plain("skips"),
];

/// A command without a core or tools.
const fn plain(name: &'static str) -> SweepCommand {
    SweepCommand { name, words: [name, "--json"], core: CoreArgument::No, library: false, tools: &[] }
}

/// Options that say where to write, or for people: a shard's result is what `--json` prints.
const REFUSED: [&str; 12] = [
    "json",
    "svg",
    "svg-rows",
    "html",
    "out",
    "cache",
    "build",
    "waves",
    "from",
    "jobs",
    "breakdown",
    "shipped",
];

impl SweepCommand {
    /// The kind of this name.
    pub fn named(name: &str) -> Result<&'static SweepCommand, String> {
        let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
        let kind = KINDS.iter().find(|kind| kind.name == name);
        kind.ok_or_else(|| format!("kind: {name} is not one of {}", names.join(", ")))
    }

    /// Checks that a command is one of this kind: its words, then options that a shard may have.
    ///
    /// # Errors
    /// Says which word is wrong.
    pub fn check(&self, command: &[String]) -> Result<(), String> {
        let (words, rest) = command.split_at_checked(self.words.len()).unwrap_or_default();
        if words != self.words {
            return Err(format!(
                "command: {} does not begin with {}",
                command.join(" "),
                self.words.join(" ")
            ));
        }
        match rest {
            [part] if self.name == "explore" => {
                serde_json::from_str::<WorkPart>(part).map(drop).map_err(|e| format!("command: {e}"))
            }
            _ if self.name == "explore" => Err("command: one part of an exploration is needed".into()),
            _ => rest.iter().try_for_each(|word| check_option(word)),
        }
    }
}

/// Checks a word of a command that has to be an option, `--name` or `--name=value`.
///
/// # Errors
/// One that writes files or is for people.
pub fn check_option(word: &str) -> Result<(), String> {
    let name = word.strip_prefix("--").and_then(|word| word.split('=').next());
    match name.filter(|name| !name.is_empty()) {
        None => Err(format!("command: {word} is no option")),
        Some(name) if REFUSED.contains(&name) => {
            Err(format!("{name}: a shard writes its result and nothing else; leave it out"))
        }
        Some(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_commands_of_a_sweep_are_let_through() {
        let check = |kind: &str, command: &str| {
            let words: Vec<String> = command.split(' ').map(String::from).collect();
            SweepCommand::named(kind).unwrap().check(&words)
        };
        assert_eq!(check("skips", "skips --json --every=64 --hold=12"), Ok(()));
        for (kind, command) in [
            ("skips", "generate --out=/somewhere"),
            ("skips", "sh -c x"),
            ("skips", "skips"),
            ("skips", "skips --json --svg=x.svg"),
            ("skips", "skips --json --svg x.svg"),
            ("skips", "skips --json -q"),
            ("skips", "skips --json -- --svg=x.svg"),
            ("accuracy", "accuracy --json --svg-rows=x.svg"),
            ("cosim", "cosim --json --waves=x"),
            ("ppa", "ppa --json --cache=x"),
            ("explore", "sweep part {}"),
            ("explore", "sweep run x"),
        ] {
            assert!(check(kind, command).is_err(), "{command}");
        }
        assert!(SweepCommand::named("dse").err().unwrap().contains("accuracy, cosim"));
    }
}
