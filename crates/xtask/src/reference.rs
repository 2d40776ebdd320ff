//! `cargo xtask reference`: the parts of `docs/reference` that come from tables of the program. A page has them between two comments; a test
//! compares them with what this writes.

mod ports;

use crate::failure::{Outcome, with};
use crate::work::files;
use clap::Args;
use flashd::command_line;
use flashd::parts::{COMMANDS, formats as rows_of_formats, groups, print, with_range};
use flashd_generator::{unit_descriptors, unit_registers};
use flashd_spec::config::{CoreOption, OptionGroup};
use std::path::PathBuf;

/// Write the parts of docs/reference that come from tables of the program, and print the names of pages that change
#[derive(Args)]
pub struct ReferenceOptions {
    /// Folder of the pages
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// A part by its name.
type Part = (&'static str, fn() -> String);

const PARTS: [Part; 9] = [
    ("options", options),
    ("formats", formats),
    ("commands", commands),
    ("registers at the ports of a core", ports::core),
    ("registers at the ports of an array", ports::array),
    ("registers at the ports of split keys", ports::split),
    ("registers at the ports of a stream wrapper", ports::wrapper),
    ("registers of an attention unit", unit_registers),
    ("descriptors and errors of an attention unit", unit_descriptors),
];

const END: &str = "<!-- end of what the program writes -->";

fn beginning(name: &str) -> String {
    format!("<!-- written by `cargo xtask reference`: {name} -->")
}

/// Writes them.
pub fn reference(options: &ReferenceOptions) -> Outcome {
    let mut names = Vec::new();
    for path in files(&options.folder, ".md")? {
        let text = flashd_files::read_text(&path).map_err(with(path.display()))?;
        let new = with_parts(&text).map_err(with(path.display()))?;
        if new != text {
            flashd_files::write(&path, new.as_bytes()).map_err(with(path.display()))?;
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
    for group in OptionGroup::ALL {
        text += &format!("## {}\n\n", group.heading());
        text +=
            &header(&["option", "default", "what it is, and why one would change it", "where it is refused"]);
        for option in CoreOption::in_order().filter(|option| option.group == group) {
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
    format!("{}. {}", with_range(option), option.why).trim_end().to_string()
}

fn formats() -> String {
    let mut text = header(&["format", "sign, exponent, fraction", "largest", "smallest", "subnormals"]);
    for mut cells in rows_of_formats() {
        cells[0] = format!("`{}`", cells[0]);
        text += &row(&cells);
    }
    text
}

/// Every command with its examples, in groups.
fn commands() -> String {
    let program = command_line();
    let mut text = String::new();
    for (heading, names) in groups() {
        text += &format!("## {heading}\n\n");
        for (_, name, examples) in COMMANDS.iter().filter(|(_, name, _)| names.contains(name)) {
            let about = program.find_subcommand(name).and_then(clap::Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let lines = examples.iter().map(|e| format!("- {}: `flashd {}`\n", e.what, e.words));
            text += &format!("`flashd {name}`: {about}.\n\n{}\n", lines.collect::<String>());
        }
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
