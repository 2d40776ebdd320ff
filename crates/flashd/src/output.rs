//! Output of the program: results, tables, failures.

use comfy_table::{ContentArrangement, LineStyle, Table, TableStyle};
use flashd_chart::Chart;
use flashd_files::AtomicFile;
use flashd_generator::{GenerateError, GeneratedFile};
use std::fmt::Display;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Why a command did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The user's input cannot be used.
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
    /// [`Failure::Input`] with this message.
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

    /// The exit code of the process: 1, 2 or 130.
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

/// The options against saturated scores, as [`flashd_simulator::SaturatedScores::warning`] takes them.
pub const SCORE_OPTIONS: [&str; 3] = ["--smooth-k", "--softcap C", "--score-integer-bits"];

/// Prints a warning to standard error.
pub fn warn(text: &str) {
    eprintln!("warning: {text}");
}

/// An output that cannot be written.
pub fn unwritable(flag: &str, path: &Path, e: impl Display) -> Failure {
    Failure::input(format!("{flag} {}: cannot be written: {e}", path.display()))
}

/// Finds out before the work where its result cannot be written.
pub fn check_writable(flag: &str, path: &Path) -> Result<(), Failure> {
    // Started and dropped: nothing is left.
    AtomicFile::create(path).map(drop).map_err(|e| unwritable(flag, path, e))
}

/// Writes a file that a flag names.
pub fn write(flag: &str, path: &Path, contents: &[u8]) -> Result<PathBuf, Failure> {
    flashd_files::write(path, contents).map_err(|e| unwritable(flag, path, e))
}

/// Draws charts into the file that a flag names.
pub fn draw(flag: &str, path: &Path, charts: &[Chart]) -> Result<PathBuf, Failure> {
    let drawing = flashd_chart::svg(charts).map_err(|e| Failure::input(format!("{flag}: {e}")))?;
    write(flag, path, drawing.as_bytes())
}

/// Writes files into the folder that a flag names.
pub fn write_all(flag: &str, folder: &Path, files: &[GeneratedFile]) -> Result<Vec<PathBuf>, Failure> {
    flashd_generator::write_all(folder, files).map_err(|e| match e {
        GenerateError::Write { path, source } => unwritable(flag, Path::new(&path), source),
        e => e.into(),
    })
}

/// Prints to standard output, or to standard error if a file has gone to standard output. A reader that went away (`| head`) is no failure.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out: Box<dyn Write> = match flashd_files::standard_output_taken() {
        true => Box::new(std::io::stderr().lock()),
        false => Box::new(std::io::stdout().lock()),
    };
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
