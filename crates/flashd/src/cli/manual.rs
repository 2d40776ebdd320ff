//! Arguments of the commands that describe the command line itself.

use super::OUTPUT;
use clap::Args;
use clap_complete::Shell;
use std::path::PathBuf;

#[derive(Args)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub shell: Shell,
}

#[derive(Args)]
pub struct ManArgs {
    /// Write the pages of all commands, flashd-generate.1 and so on, to a folder
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    pub out: Option<PathBuf>,
}
