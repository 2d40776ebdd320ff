//! `flashd reference`: the parts of `docs/reference` that come from the program's own tables. A page has them between two comments; a test
//! compares what is there with what this writes.

mod ports;

use crate::cli::examples::EXAMPLES;
use crate::cli::{self, ReferenceArgs};
use crate::list;
use crate::output::{Failure, print};
use flashd_spec::config::{CoreOption, Group};
use std::path::Path;

/// A part by its name.
type Part = (&'static str, fn() -> String);

const PARTS: [Part; 7] = [
    ("options", options),
    ("formats", formats),
    ("commands", commands),
    ("registers at the ports of a core", ports::core),
    ("registers at the ports of an array", ports::array),
    ("registers at the ports of split keys", ports::split),
    ("registers at the ports of a stream wrapper", ports::wrapper),
];

const END: &str = "<!-- end of what the program writes -->";

fn beginning(name: &str) -> String {
    format!("<!-- written by `flashd reference`: {name} -->")
}

pub fn run(args: &ReferenceArgs) -> Result<(), Failure> {
    let folder = &args.folder;
    let problem = |path: &Path, e: &dyn std::fmt::Display| Failure::input(format!("{}: {e}", path.display()));
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|e| problem(folder, &e))? {
        let path = entry.map_err(|e| problem(folder, &e))?.path();
        if path.extension().is_none_or(|end| end != "md") {
            continue;
        }
        let text = flashd_files::read_text(&path).map_err(|e| problem(&path, &e))?;
        let new = with_parts(&text).map_err(|e| problem(&path, &e))?;
        if new != text {
            flashd_files::write(&path, new.as_bytes()).map_err(|e| problem(&path, &e))?;
            names.push(path.display().to_string());
        }
    }
    print(&names.join("\n"))
}

/// A page with its parts written anew.
fn with_parts(text: &str) -> Result<String, String> {
    let mut text = text.to_string();
    for (name, part) in PARTS {
        let beginning = beginning(name);
        let Some(at) = text.find(&beginning).map(|at| at + beginning.len()) else { continue };
        let length = text[at..].find(END).ok_or_else(|| format!("no `{END}` after `{beginning}`"))?;
        text.replace_range(at..at + length, &format!("\n\n{}\n\n", part().trim_end()));
    }
    Ok(text)
}

/// A row of a table in Markdown.
fn row(cells: &[String]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    format!("| {} |\n", cells.join(" | "))
}

fn header(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| name.to_string()).collect();
    row(&names) + &row(&vec!["---".to_string(); names.len()])
}

/// Every option of a core under its heading, then the words that options take.
fn options() -> String {
    let mut text = String::new();
    for group in Group::ALL {
        text += &format!("## {}\n\n", group.heading());
        text +=
            &header(&["option", "default", "what it is, and why one would change it", "where it is refused"]);
        for option in CoreOption::in_order().filter(|option| option.about().group == group) {
            text += &row(&[flag(option), option.default_words(), meaning(option), refused(option)]);
        }
        text += "\n";
    }
    text += "## Words\n\n";
    text += &header(&["option", "word", "meaning"]);
    for option in CoreOption::in_order() {
        for (word, meaning) in option.words() {
            text += &row(&[format!("`--{}`", option.flag()), format!("`{word}`"), meaning.to_string()]);
        }
    }
    text
}

fn flag(option: &CoreOption) -> String {
    match option.is_switch() {
        true => format!("`--{}`", option.flag()),
        // A code span has no way to keep a bar out of a table but an escape.
        false => format!("`--{} {}`", option.flag(), option.value_name),
    }
}

/// Why a core may not have it; nothing where every core has.
fn refused(option: &CoreOption) -> String {
    let everywhere = CoreOption::of("format").map_or("", |option| option.applies.1);
    if option.applies.1 == everywhere { String::new() } else { option.applies.1.to_string() }
}

fn meaning(option: &CoreOption) -> String {
    format!("{}. {}", cli::with_range(option), option.about().why).trim_end().to_string()
}

fn formats() -> String {
    let mut text = header(&["format", "sign, exponent, fraction", "largest", "smallest", "subnormals"]);
    for mut cells in list::formats() {
        cells[0] = format!("`{}`", cells[0]);
        text += &row(&cells);
    }
    text
}

/// Every command with its examples.
fn commands() -> String {
    let program = cli::command();
    let mut text = String::new();
    for command in program.get_subcommands().filter(|command| !command.is_hide_set()) {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        text += &format!("`flashd {}`: {about}.\n\n", command.get_name());
        let examples =
            EXAMPLES.iter().filter(|(name, _)| *name == command.get_name()).flat_map(|(_, all)| all);
        let lines: Vec<String> = examples.map(|e| format!("- {}: `flashd {}`", e.what, e.words)).collect();
        text += &(lines.join("\n") + "\n\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_replace_what_stands_between_the_comments() {
        let page = format!("# Page\n\n{}\nold\n{END}\nrest\n", beginning("formats"));
        let new = with_parts(&page).unwrap();
        assert!(new.starts_with("# Page\n") && new.ends_with("\nrest\n"), "{new}");
        assert!(new.contains("| `bf16` | 1-8-7 |") && !new.contains("old"), "{new}");
        assert_eq!(with_parts(&new).unwrap(), new);
        assert!(with_parts(&beginning("options")).is_err());
        assert_eq!(with_parts("nothing\n").unwrap(), "nothing\n");
    }
}
