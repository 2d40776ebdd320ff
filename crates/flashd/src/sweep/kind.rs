//! The kinds of shards: a row each.

use crate::explore::Part;
use crate::output::Failure;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::PathBuf;

/// What a shard computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Accuracy,
    Cosim,
    Explore,
    Mutate,
    Ppa,
    Skips,
    Throughput,
    Units,
}

/// The executable that computes it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// This one.
    Flashd,
    /// The project's checks.
    Xtask,
    /// The speeds of the engines.
    Throughput,
}

/// How a shard's core gets to its command.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Core {
    /// There is none.
    No,
    /// By its flags in this option.
    Flags(&'static str),
    /// The same without a vector length: each head has its own.
    AnyLength(&'static str),
    /// By a configuration file, the first argument.
    File,
}

/// What is known of a kind.
pub struct Row {
    pub kind: Kind,
    pub name: &'static str,
    pub program: Program,
    /// Words between the program and the options.
    pub words: &'static [&'static str],
    pub core: Core,
    /// Options that an entry may set, where no other part of this program can tell.
    pub options: Option<&'static [&'static str]>,
    /// The option that names folders of heads.
    pub data: Option<&'static str>,
    /// The option with a seed.
    pub seed: Option<&'static str>,
    /// Whether a cell library is read.
    pub library: bool,
    /// Tools whose versions the result depends on, with the flag that prints them.
    pub tools: &'static [(&'static str, &'static str)],
    /// Fields of the result that a clock or the machine decides.
    pub measured: &'static [&'static str],
    /// The option of the folder for finished work, and its name in a shared one.
    pub cache: Option<(&'static str, &'static str)>,
}

const VERILATOR: [(&str, &str); 2] = [("verilator", "--version"), ("g++", "--version")];
const MUTATION: [(&str, &str); 3] = [("yosys", "-V"), VERILATOR[0], VERILATOR[1]];
const SYNTHESIS: [(&str, &str); 2] = [("yosys", "-V"), ("sta", "-version")];

/// A command of this program without a core, data, tools or anything measured; a row says what it has beyond that.
const PLAIN: Row = Row {
    kind: Kind::Skips,
    name: "",
    program: Program::Flashd,
    words: &[],
    core: Core::No,
    options: None,
    data: None,
    seed: None,
    library: false,
    tools: &[],
    measured: &[],
    cache: None,
};

/// All kinds.
pub const KINDS: [Row; 8] = [
    Row {
        kind: Kind::Accuracy,
        name: "accuracy",
        words: &["accuracy", "--json"],
        core: Core::AnyLength("--core"),
        data: Some("--data"),
        seed: Some("--synthetic"),
        ..PLAIN
    },
    Row {
        kind: Kind::Cosim,
        name: "cosim",
        words: &["cosim", "--json"],
        core: Core::Flags("--core"),
        seed: Some("--seed"),
        tools: &VERILATOR,
        measured: &["compile_seconds", "run_seconds"],
        cache: Some(("--build", "cosim")),
        ..PLAIN
    },
    Row {
        kind: Kind::Explore,
        name: "explore",
        words: &["sweep", "part"],
        options: Some(&[]),
        library: true,
        tools: &SYNTHESIS,
        cache: Some(("--cache", "ppa")),
        ..PLAIN
    },
    Row {
        kind: Kind::Mutate,
        name: "mutate",
        program: Program::Xtask,
        words: &["mutate", "--json"],
        core: Core::Flags("--selection"),
        options: Some(&["short", "count", "keys", "seconds", "check", "selection"]),
        tools: &MUTATION,
        cache: Some(("--out", "mutate")),
        ..PLAIN
    },
    Row {
        kind: Kind::Ppa,
        name: "ppa",
        words: &["ppa", "--json"],
        core: Core::Flags("--core"),
        data: Some("--data"),
        library: true,
        tools: &SYNTHESIS,
        cache: Some(("--cache", "ppa")),
        ..PLAIN
    },
    Row { kind: Kind::Skips, name: "skips", words: &["skips", "--json"], data: Some("--data"), ..PLAIN },
    Row {
        kind: Kind::Throughput,
        name: "throughput",
        program: Program::Throughput,
        words: &[],
        core: Core::File,
        options: Some(&["queries", "keys", "repeats", "window", "seed", "threads", "engines"]),
        seed: Some("--seed"),
        measured: &["seconds", "clock_seconds", "start_seconds", "runs", "instructions", "path"],
        ..PLAIN
    },
    Row {
        kind: Kind::Units,
        name: "units",
        words: &["units", "--json"],
        tools: &VERILATOR,
        measured: &["seconds"],
        cache: Some(("--build", "cosim")),
        ..PLAIN
    },
];

/// Options that say where to write, or for people: a shard's result is what `--json` prints.
pub const REFUSED: [&str; 11] =
    ["json", "svg", "svg_rows", "html", "out", "cache", "build", "from", "jobs", "breakdown", "shipped"];

impl Row {
    /// Checks the name of an option that a shard may have.
    ///
    /// # Errors
    /// One that writes files or is for people, or that the kind does not have.
    pub fn check_option(&self, name: &str) -> Result<(), String> {
        let name = name.replace('-', "_");
        if REFUSED.contains(&name.as_str()) {
            return Err(format!("{name}: a shard writes its result and nothing else; leave it out"));
        }
        match self.options.filter(|known| !known.is_empty() && !known.contains(&name.as_str())) {
            Some(known) => Err(format!("{name}: {} takes {}", self.name, known.join(", "))),
            None => Ok(()),
        }
    }

    /// Checks that a command is one of this kind: its words, then options that a shard may have.
    ///
    /// # Errors
    /// Says which word is wrong.
    pub fn check(&self, command: &[String]) -> Result<(), String> {
        let rest = command.get(..self.words.len()).filter(|words| *words == self.words);
        let rest = rest.map(|_| &command[self.words.len()..]).ok_or_else(|| {
            format!("command: {} does not begin with {}", command.join(" "), self.words.join(" "))
        })?;
        let option = |word: &str| {
            let name = word.strip_prefix("--").and_then(|word| word.split('=').next());
            let name = name.filter(|name| !name.is_empty());
            self.check_option(name.ok_or_else(|| format!("command: {word} is no option"))?)
        };
        match self.kind {
            Kind::Explore => match rest {
                [part] => serde_json::from_str::<Part>(part).map(drop).map_err(|e| format!("command: {e}")),
                _ => Err("command: one part of an exploration is needed".into()),
            },
            Kind::Throughput => rest.chunks(2).try_for_each(|pair| option(&pair[0])),
            _ => rest.iter().try_for_each(|word| option(word)),
        }
    }
}

impl Kind {
    /// Its row.
    pub fn row(self) -> &'static Row {
        // Every kind has one, which a test sees to.
        KINDS.iter().find(|row| row.kind == self).unwrap_or(&KINDS[0])
    }

    /// The kind of this name.
    pub fn named(name: &str) -> Result<Kind, String> {
        let names: Vec<&str> = KINDS.iter().map(|row| row.name).collect();
        let kind = KINDS.iter().find(|row| row.name == name).map(|row| row.kind);
        kind.ok_or_else(|| format!("kind: {name} is not one of {}", names.join(", ")))
    }
}

impl Program {
    /// Where it is. Those that are not this one lie beside it, or in the `PATH`; `FLASHD_XTASK` and `FLASHD_THROUGHPUT` name others.
    pub fn path(self) -> Result<PathBuf, Failure> {
        let own = std::env::current_exe().map_err(|e| Failure::input(format!("this program: {e}")))?;
        let (name, beside, variable, made) = match self {
            Program::Flashd => return Ok(own),
            Program::Xtask => ("xtask", "xtask", "FLASHD_XTASK", "cargo build --release -p flashd-xtask"),
            Program::Throughput => (
                "throughput",
                "examples/throughput",
                "FLASHD_THROUGHPUT",
                "cargo build --release -p flashd-simulator --example throughput",
            ),
        };
        let named: Option<OsString> = std::env::var_os(variable);
        let folder = own.parent().map(|folder| folder.join(beside));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let others = std::env::split_paths(&path).map(|folder| folder.join(name));
        let all = named.map(PathBuf::from).into_iter().chain(folder).chain(others);
        all.into_iter().find(|file| file.is_file()).ok_or_else(|| {
            Failure::input(format!(
                "{name}: is neither beside {} nor in the PATH; make it with {made}, or name it in {variable}",
                own.display()
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_commands_of_a_sweep_are_let_through() {
        let check = |kind: Kind, command: &str| {
            let words: Vec<String> = command.split(' ').map(String::from).collect();
            kind.row().check(&words)
        };
        assert_eq!(check(Kind::Skips, "skips --json --every=64 --hold=12"), Ok(()));
        assert_eq!(check(Kind::Throughput, "--keys 16 --engines vector,model"), Ok(()));
        for (kind, command) in [
            (Kind::Skips, "generate --out=/somewhere"),
            (Kind::Skips, "sh -c x"),
            (Kind::Skips, "skips"),
            (Kind::Skips, "skips --json --svg=x.svg"),
            (Kind::Skips, "skips --json --svg x.svg"),
            (Kind::Skips, "skips --json -q"),
            (Kind::Skips, "skips --json -- --svg=x.svg"),
            (Kind::Accuracy, "accuracy --json --svg-rows=x.svg"),
            (Kind::Ppa, "ppa --json --cache=x"),
            (Kind::Mutate, "mutate --json --out=x"),
            (Kind::Mutate, "axis --json"),
            (Kind::Throughput, "--out x"),
            (Kind::Explore, "sweep part {}"),
            (Kind::Explore, "sweep run x"),
        ] {
            assert!(check(kind, command).is_err(), "{command}");
        }
    }

    #[test]
    fn every_kind_has_a_row_under_its_name() {
        for row in &KINDS {
            assert!(row.kind.row().name == row.name && Kind::named(row.name) == Ok(row.kind));
            assert_eq!(serde_json::to_value(row.kind).unwrap(), row.name);
        }
        assert!(Kind::named("dse").unwrap_err().contains("accuracy, cosim"));
    }
}
