//! Commands of a document, and their documented output.
//!
//! A block of `sh` is commands, a block of `text` after it is the output of the last one. Comments override this:
//!
//! ```text
//! <!-- in rtl-out -->              before commands: the folder in which they run, as a first line `cd rtl-out` does
//! <!-- output of command 2 -->     before a text: of the second command of the block before
//! <!-- not compared: why -->       before a text: of no command
//! ```
//!
//! Commands within the text, between backticks, begin as one of [`INLINE`] and have an argument.

use std::iter::{Enumerate, Peekable};
use std::path::Path;
use std::str::Lines;

/// How commands within the text begin.
const INLINE: [&str; 8] =
    ["cargo run ", "cargo test ", "flashd ", "scripts/", "make ", "verilator ", "iverilog ", "obj_dir/"];
/// Options that the text names together with their command.
const MENTIONS: [&str; 3] =
    ["flashd generate --testbench", "flashd simulate --vectors FILE", "flashd simulate --o"];
/// The heading of sections of commands that take long.
const LONG: &str = "Longer checks";

/// A command of a document.
#[derive(Clone, Debug)]
pub struct Command {
    /// File, and line of its block.
    pub place: String,
    /// Where it runs, relative to the repository.
    pub folder: String,
    /// One line, with all its continuations.
    pub text: String,
    /// Its output, as the document has it, and the line.
    pub output: Option<(usize, String)>,
    /// In a section of commands that take long.
    pub long: bool,
}

/// The value of a comment such as `<!-- name value -->`.
fn marked<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.trim().strip_prefix("<!-- ")?.strip_suffix(" -->")?.strip_prefix(name).map(str::trim)
}

/// The commands of a document in order.
pub fn commands(root: &Path, file: &str) -> Vec<Command> {
    let text = std::fs::read_to_string(root.join(file)).unwrap();
    let mut commands: Vec<Command> = Vec::new();
    let (mut folder, mut long) = (String::new(), false);
    // The commands of the last block of them, and the one whose output comes next.
    let (mut block, mut output) = (0..0, None);
    let mut compared = true;
    // Where the last block was, which holds for the text after it, too.
    let mut around = String::new();
    let mut paragraph: Vec<(String, &str)> = Vec::new();
    let following = |lines: &Peekable<Enumerate<Lines>>| {
        let mut rest = lines.clone();
        rest.peek().is_some_and(|(_, next)| {
            !next.trim().is_empty() && !next.starts_with(['|', '#', '<']) && !next.starts_with("```")
        })
    };
    let mut lines = text.lines().enumerate().peekable();
    while let Some((n, line)) = lines.next() {
        let place = format!("{file}:{}", n + 1);
        if line.starts_with('#') {
            (long, around) = (line.trim_start_matches('#').trim() == LONG, String::new());
        } else if let Some(value) = marked(line, "in ") {
            folder = value.into();
        } else if let Some(value) = marked(line, "output of command ") {
            output = Some(value.parse::<usize>().unwrap_or_else(|e| panic!("{place}: {e}")) - 1);
        } else if let Some(reason) = marked(line, "not compared: ") {
            assert!(!reason.is_empty(), "{place}: give the reason");
            compared = false;
        } else if let Some(language) = line.strip_prefix("```") {
            let inside: Vec<&str> =
                lines.by_ref().map(|(_, line)| line).take_while(|line| !line.starts_with("```")).collect();
            let inside = inside.join("\n");
            match language {
                "sh" => {
                    let before = commands.len();
                    let joined = inside.replace("\\\n", " ");
                    let mut here = std::mem::take(&mut folder);
                    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
                    for line in joined.lines().map(words).filter(|line| !line.is_empty()) {
                        if let Some(to) = line.strip_prefix("cd ") {
                            here = to.into();
                            continue;
                        }
                        let (place, folder) = (place.clone(), here.clone());
                        commands.push(Command { place, folder, text: line, output: None, long });
                    }
                    (block, around) = (before..commands.len(), here);
                }
                "text" if compared => {
                    let command = block.start + output.take().unwrap_or(block.len().saturating_sub(1));
                    assert!(block.contains(&command), "{place}: the output of which command?");
                    commands[command].output = Some((n + 1, inside));
                }
                _ => (),
            }
            compared = true;
        } else if !line.trim().is_empty() {
            paragraph.push((place, line));
            // A row of a table is for itself.
            if !line.starts_with('|') && following(&lines) {
                continue;
            }
        }
        let Some((place, _)) = paragraph.first().cloned() else { continue };
        let text = paragraph.drain(..).map(|(_, line)| line).collect::<Vec<_>>().join(" ");
        for span in text.split('`').skip(1).step_by(2) {
            let begins = INLINE.iter().any(|start| span.starts_with(start));
            let called = span.contains([' ']) && (span.contains(" -") || !span.starts_with("flashd "));
            if begins && called && !MENTIONS.contains(&span) {
                let (place, folder) = (place.clone(), around.clone());
                let text = span.replace("\\|", "|");
                commands.push(Command { place, folder, text, output: None, long });
            }
        }
    }
    commands
}
