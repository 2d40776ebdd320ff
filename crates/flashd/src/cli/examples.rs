//! The table of commands: their groups, and two examples for each, at the end of its help and on its page of the manual. A test parses
//! all examples and runs the quick ones.

use clap::Command;

/// A command as one would type it, and its purpose.
pub struct Example {
    /// The words after `flashd`.
    pub words: &'static str,
    /// Its purpose.
    pub what: &'static str,
    /// Whether it takes no more than seconds, no tool and no file that the repository does not have.
    pub quick: bool,
}

const fn quick(words: &'static str, what: &'static str) -> Example {
    Example { words, what, quick: true }
}

const fn long(words: &'static str, what: &'static str) -> Example {
    Example { words, what, quick: false }
}

const MAKE: &str = "Generate and simulate";
const VERIFY: &str = "Verify";
const MEASURE: &str = "Measure";
const STUDY: &str = "Study the papers' figures and counts";
const SWEEP: &str = "Sweep";
const SHELL: &str = "Set up a shell";

/// The group, the name and the examples of each command, in the order of help.
pub const COMMANDS: &[(&str, &str, [Example; 2])] = &[
    (
        MAKE,
        "generate",
        [
            quick("generate --design flash-d --d 64", "FLASH-D for heads of 64 elements, in bf16"),
            quick(
                "generate --design fa2 --d 64 --format fp8-e4m3 --queries 8 --testbench",
                "eight FA2 cores that share keys, with a testbench",
            ),
        ],
    ),
    (
        MAKE,
        "simulate",
        [
            quick(
                "simulate --design fa2 --engine model --data testbench/data --results rtl-out/results",
                "every head of a folder through the bit-exact model",
            ),
            long(
                "simulate --design flash-d --q q.npy --k k.npy --v v.npy --fst head.fst",
                "one head through the RTL, with a wave",
            ),
        ],
    ),
    (
        MAKE,
        "demo",
        [
            long("demo", "all shipped cores, into rtl-out"),
            long("demo --out demo --json", "the same into another folder, with its table as JSON"),
        ],
    ),
    (
        MAKE,
        "list",
        [
            quick("list", "designs, formats, units and cores"),
            quick("list --variants --d 8", "the flags of all variants"),
        ],
    ),
    (
        VERIFY,
        "cosim",
        [
            long(
                "cosim --design flash-d --d 16",
                "the Verilog of one core in Verilator, against model and engine",
            ),
            long("cosim --shipped --keys 100000", "every shipped core"),
        ],
    ),
    (
        MEASURE,
        "ppa",
        [
            long(
                "ppa --d 16 --clock 30 --core \"--design flash-d\" --core \"--design fa2\"",
                "both designs at 30 ns, side by side",
            ),
            long(
                "ppa --design fa2 --d 16 --liberty asap7.lib --html fa2.html",
                "the fastest clock in your library",
            ),
        ],
    ),
    (
        MEASURE,
        "size",
        [
            long("size --design flash-d --d 16 --clock 30", "the smallest FLASH-D for 65,536 keys in bf16"),
            long(
                "size --design fa2 --d 16 --format fp8-e4m3 --max-keys 4096 --clock 4 --liberty asap7.lib --limit 1.05,1.1,1.25",
                "FA2 for short contexts, under three limits",
            ),
        ],
    ),
    (
        MEASURE,
        "explore",
        [
            long("explore --clock 4 --liberty asap7.lib --svg explore.svg", "error over area at 4 ns"),
            long(
                "explore --errors-only --grid configs/grids/formats.json",
                "errors of int8, fp8-e4m3 and bf16 without synthesis",
            ),
        ],
    ),
    (
        MEASURE,
        "accuracy",
        [
            long("accuracy --format bf16 --no-lengths", "both designs on the bundled heads"),
            long(
                "accuracy --channels --core \"--design flash-d --update fixed\" --core \"--design fa2\"",
                "errors of the other channels next to a large one of V",
            ),
        ],
    ),
    (
        MEASURE,
        "liberty",
        [
            long("liberty merge *_RVT_TT_nldm_*.lib --out asap7.lib", "ASAP7 as published, as one file"),
            long(
                "liberty merge simple.lib seq.lib --out both.lib --json",
                "two files, with the result as JSON",
            ),
        ],
    ),
    (
        STUDY,
        "pwl",
        [
            quick("pwl", "the tables of the shipped cores, with errors and drawings"),
            quick("pwl --segments 16 --coefficients", "other tables, with every coefficient"),
        ],
    ),
    (
        STUDY,
        "figure",
        [
            quick("figure weight", "the weight over the difference of scores, into rtl-out"),
            quick("figure weight --weight paper --format fp8-e4m3", "the same of the paper's weight unit"),
        ],
    ),
    (
        STUDY,
        "traffic",
        [
            quick("traffic --n 256 --d 16", "a head of 256 queries and keys, for four sizes of SRAM"),
            quick("traffic --n 256 --d 16 --queries 8", "the same for an array of eight cores"),
        ],
    ),
    (
        STUDY,
        "golden",
        [
            quick(
                "golden --n 256 --d 64 --br 64 --bc 32",
                "every algorithm on a synthetic head, in blocks of 64 and 32",
            ),
            quick(
                "golden --algorithm running-lse --data testbench/data",
                "one of them on the heads of a folder, with every count",
            ),
        ],
    ),
    (
        STUDY,
        "skips",
        [
            quick("skips --hold 8,10,12", "three thresholds on the bundled heads"),
            long("skips --worst-case", "the worst case of each rule"),
        ],
    ),
    (
        STUDY,
        "llm",
        [
            long(
                "llm --checkpoint stories15M.bin --tokenizer tokenizer.bin --prompt \"Once upon a time\"",
                "a story, in f32 and with FLASH-D",
            ),
            long(
                "llm --checkpoint stories15M.bin --tokenizer tokenizer.bin --attention fa2 --format fp8-e4m3 --text story.txt",
                "perplexity with FA2 in fp8",
            ),
        ],
    ),
    (
        SWEEP,
        "sweep",
        [
            long("sweep plan grid.json", "the shards of a grid, into the folder grid"),
            long("sweep run grid --shard 0", "compute the first of them, unless its result is there"),
        ],
    ),
    (
        SHELL,
        "completions",
        [
            quick("completions bash", "for ~/.local/share/bash-completion/completions/flashd"),
            quick("completions fish", "for ~/.config/fish/completions/flashd.fish"),
        ],
    ),
    (
        SHELL,
        "man",
        [
            quick("man", "the page of flashd itself"),
            quick(
                "man --out rtl-out/man",
                "a page for each command; man -l rtl-out/man/flashd-generate.1 shows one",
            ),
        ],
    ),
];

/// The groups in the order of help, each with the names of its commands.
pub fn groups() -> Vec<(&'static str, Vec<&'static str>)> {
    let of = |all: &[(&'static str, &'static str, [Example; 2])]| {
        (all[0].0, all.iter().map(|(_, name, _)| *name).collect())
    };
    COMMANDS.chunk_by(|(one, ..), (next, ..)| one == next).map(of).collect()
}

/// The command with its examples and its place in help, and its subcommands with theirs. clap has no headings for subcommands.
pub fn with_examples(command: Command) -> Command {
    let command = COMMANDS.iter().fold(command, |command, (_, name, examples)| {
        let short: String = examples.iter().map(|example| format!("\n  flashd {}", example.words)).collect();
        let long =
            examples.iter().map(|e| format!("\n  # {}\n  flashd {}\n", e.what, e.words)).collect::<String>();
        command.mut_subcommand(name, |command| {
            command
                .after_help(format!("Examples:{short}"))
                .after_long_help(format!("Examples:{}", long.trim_end()))
        })
    });
    let line = |name: &&str| {
        let about = command.find_subcommand(name).and_then(Command::get_about).cloned().unwrap_or_default();
        format!("  {name:<13}{about}\n")
    };
    let group = |(heading, names): (&str, Vec<&str>)| -> String {
        format!("{heading}:\n{}\n", names.iter().map(line).collect::<String>())
    };
    let groups: String = groups().into_iter().map(group).collect();
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}Options:\n{{options}}"
    ))
}
