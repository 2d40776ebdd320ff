//! `flashd completions` and `flashd man`: the command line for a shell and for `man`.

use crate::cli::{self, CompletionsArgs, ManArgs};
use crate::output::{Failure, print, unwritable, write};
use clap_mangen::Man;

pub fn completions(args: &CompletionsArgs) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut cli::command(), "flashd", &mut script);
    print(&String::from_utf8_lossy(&script))
}

pub fn man(args: &ManArgs) -> Result<(), Failure> {
    let Some(folder) = &args.out else {
        return print(&page(cli::command())?);
    };
    flashd_files::create_folder(folder).map_err(|e| unwritable("--out", folder, e))?;
    let mut names = Vec::new();
    for command in all() {
        let path = folder.join(format!("{}.1", command.get_name()));
        write("--out", &path, page(command)?.as_bytes())?;
        names.push(path.display().to_string());
    }
    print(&names.join("\n"))
}

/// The program and each command, under the names of their pages: `flashd`, `flashd-generate`, `flashd-sweep-plan`.
fn all() -> Vec<clap::Command> {
    fn below(command: &clap::Command, name: &str, found: &mut Vec<clap::Command>) {
        for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help") {
            let name = format!("{name}-{}", sub.get_name());
            found.push(sub.clone().name(name.clone()));
            below(sub, &name, found);
        }
    }
    // Options that hold for every command reach the pages of all.
    let mut program = cli::command();
    program.build();
    let mut found = vec![program.clone()];
    below(&program, "flashd", &mut found);
    found
}

fn page(command: clap::Command) -> Result<String, Failure> {
    let mut text = Vec::new();
    Man::new(command).render(&mut text).map_err(|e| Failure::input(format!("standard output: {e}")))?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}
