//! What the program says: results, tables, failures.

use comfy_table::{ContentArrangement, LineStyle, Table, TableStyle};
use std::io::{ErrorKind, Write};

/// Why a command did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// What the user gave cannot be used.
    #[error("{0}")]
    Input(String),
    /// A check failed.
    #[error("{0}")]
    Check(String),
    /// The user ended it.
    #[error("interrupted: {0}")]
    Interrupted(String),
}

impl Failure {
    pub fn input(message: impl Into<String>) -> Failure {
        Failure::Input(message.into())
    }

    /// One line of JSON for programs: the text, the kind and the exit code.
    pub fn json(&self) -> String {
        let kind = match self {
            Failure::Check(_) => "check",
            Failure::Input(_) => "input",
            Failure::Interrupted(_) => "interrupted",
        };
        serde_json::json!({"error": self.to_string(), "kind": kind, "exit_code": self.exit_code()})
            .to_string()
    }

    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::Check(_) => 1,
            Failure::Input(_) => 2,
            Failure::Interrupted(_) => crate::interrupt::EXIT_CODE,
        }
    }
}

impl From<flashd_generator::GenerateError> for Failure {
    fn from(e: flashd_generator::GenerateError) -> Failure {
        Failure::input(e.to_string())
    }
}

impl From<flashd_ppa::PpaError> for Failure {
    fn from(e: flashd_ppa::PpaError) -> Failure {
        Failure::input(e.to_string())
    }
}

impl From<flashd_ppa::power::PowerError> for Failure {
    fn from(e: flashd_ppa::power::PowerError) -> Failure {
        match e {
            flashd_ppa::power::PowerError::Mismatch { .. } => Failure::Check(e.to_string()),
            other => Failure::input(other.to_string()),
        }
    }
}

impl From<flashd_simulator::RunError> for Failure {
    fn from(e: flashd_simulator::RunError) -> Failure {
        match e {
            flashd_simulator::RunError::Divergence(d) => Failure::Check(d.to_string()),
            other => Failure::input(other.to_string()),
        }
    }
}

/// The first paragraph of what clap says, in one line; the others are about usage.
pub fn first_paragraph(text: &str) -> String {
    let words: Vec<&str> = text.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
    words.join(" ").trim_start_matches("error: ").to_string()
}

/// Prints to standard output. A reader that went away (`| head`) is no failure.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match writeln!(out, "{}", text.trim_end()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => Err(Failure::input(format!("standard output: {e}"))),
        _ => Ok(()),
    }
}

/// A value as JSON.
pub fn json_text(value: &impl serde::Serialize) -> Result<String, Failure> {
    serde_json::to_string_pretty(value).map_err(|e| Failure::input(format!("JSON: {e}")))
}

/// Prints a value as JSON.
pub fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    print(&json_text(value)?)
}

/// Lines above, below the header and below: one line of text a row.
const STYLE: TableStyle = TableStyle::new()
    .top_border(LineStyle::none().fill('─').junction('─'))
    .header_separator(LineStyle::none().fill('─').junction('─'))
    .bottom_border(LineStyle::none().fill('─').junction('─'));

/// A table of text; on a terminal that is narrower, cells are broken into lines.
pub fn table(header: &[&str], rows: Vec<Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(STYLE).set_content_arrangement(ContentArrangement::Dynamic).set_header(header.to_vec());
    for row in rows {
        table.add_row(row);
    }
    table.to_string()
}

/// A fraction as a percentage with three significant digits.
pub fn percent(x: f64) -> String {
    match x {
        0.0 => "0 %".into(),
        x if x >= 0.1 => format!("{:.1} %", 100.0 * x),
        x if x >= 0.01 => format!("{:.2} %", 100.0 * x),
        x if x >= 0.001 => format!("{:.3} %", 100.0 * x),
        x => format!("{:.4} %", 100.0 * x),
    }
}
