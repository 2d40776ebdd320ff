//! Invalid numbers for every numeric option of every command. The options come from the command line's own description, so that new ones
//! are tried too.

use clap::{Arg, Command};
use flashd::number_options;

/// Tried for every option.
const NO_NUMBERS: [&str; 12] =
    ["nan", "NaN", "-nan", "inf", "-inf", "infinity", "1e400", "-1e400", "", "0x10", "1_000", "5x"];

/// All commands with their words.
fn commands(words: &[String], command: &Command, all: &mut Vec<(Vec<String>, Command)>) {
    all.push((words.to_vec(), command.clone()));
    for sub in command.get_subcommands() {
        commands(&[words, &[sub.get_name().to_string()]].concat(), sub, all);
    }
}

/// The program's refusal of an option's value; `None` if it accepts the value.
fn refusal(words: &[String], arg: &Arg, value: &str) -> Option<String> {
    let flag = arg.get_long().unwrap();
    let words = words.iter().cloned().chain([format!("--{flag}={value}")]);
    flashd::refusal(words).filter(|text| text.starts_with(&format!("--{flag}: ")))
}

#[test]
fn every_option_refuses_text_that_is_no_number() {
    let mut all = Vec::new();
    commands(&["flashd".into()], &flashd::command_line(), &mut all);
    let mut tried = 0;
    for (words, command) in &all {
        for arg in number_options(command) {
            tried += 1;
            for value in NO_NUMBERS {
                let what = format!("{words:?} --{}={value}", arg.get_long().unwrap());
                let text = refusal(words, arg, value).unwrap_or_else(|| panic!("{what} is taken"));
                assert!(text.len() < 300, "{what}: {text}");
                assert!(text.contains(value), "{what}: {text}");
            }
            // Numbers that nothing needs may be taken or refused, but briefly.
            for value in ["1e300", "-1e300", "1e-320", "-0", "-1", "0", "99999999999999999999", "1e3"] {
                let text = refusal(words, arg, value).unwrap_or_default();
                assert!(text.len() < 300, "{words:?} {arg:?}: {text}");
            }
        }
    }
    assert!(tried > 150, "{tried}");
}

/// Options of whole numbers take digits alone, and their errors name the range.
#[test]
fn whole_numbers_are_digits() {
    let mut all = Vec::new();
    commands(&["flashd".into()], &flashd::command_line(), &mut all);
    for (words, command) in &all {
        for arg in
            number_options(command).filter(|arg| arg.get_value_names().is_some_and(|names| names[0] == "N"))
        {
            for value in ["1e3", "1.5", "-1", "99999999999999999999"] {
                let what = format!("{words:?} --{}={value}", arg.get_long().unwrap());
                // A score's shift may be negative.
                if arg.get_id() == "score_shift" && value == "-1" {
                    continue;
                }
                let text = refusal(words, arg, value).unwrap_or_else(|| panic!("{what} is taken"));
                assert!(text.contains(" to ") || text.contains("one of"), "{what}: {text}");
            }
        }
    }
}
