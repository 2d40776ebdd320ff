//! The executable of [`flashd`].

use std::process::ExitCode;

fn main() -> ExitCode {
    flashd::main()
}
