//! One library of several, as foundries publish cells in a file for each kind.
//!
//! Texts are copied: the first file's, then the other files' cells, with templates that the first file lacks.

use super::parse::{LibertyGroup, SyntaxError, library_statements};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Libraries that cannot be merged.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// A file is not Liberty.
    #[error("{}:{error}", file.display())]
    Syntax {
        /// The file.
        file: PathBuf,
        /// Place and problem.
        error: SyntaxError,
    },
    /// Attributes or templates of two files contradict each other.
    #[error("{}: {what} is not that of {}; only libraries of one corner go together", file.display(), first.display())]
    Different {
        /// The file.
        file: PathBuf,
        /// The one before.
        first: PathBuf,
        /// The attribute or template.
        what: String,
    },
    /// A cell is in two files.
    #[error("{}: cell {cell} is in {}, too; name each file once", file.display(), first.display())]
    Twice {
        /// The file.
        file: PathBuf,
        /// The one before.
        first: PathBuf,
        /// The cell.
        cell: String,
    },
}

/// Units and operating conditions, which must agree in all files.
const SHARED: [&str; 15] = [
    "delay_model",
    "time_unit",
    "voltage_unit",
    "current_unit",
    "capacitive_load_unit",
    "leakage_power_unit",
    "pulling_resistance_unit",
    "nom_process",
    "nom_temperature",
    "nom_voltage",
    "slew_derate_from_library",
    "input_threshold_pct_rise",
    "input_threshold_pct_fall",
    "slew_lower_threshold_pct_rise",
    "slew_upper_threshold_pct_rise",
];

/// Merges libraries, given as files and their texts; none gives an empty text.
///
/// # Errors
/// A text that is not Liberty, units or corners that differ, templates of one name that differ, and a cell that is there twice.
pub fn merge(files: &[(PathBuf, String)]) -> Result<String, MergeError> {
    let Some((first, text)) = files.first() else {
        return Ok(String::new());
    };
    let read = |file: &PathBuf, text: &str| {
        library_statements(text).map_err(|error| MergeError::Syntax { file: file.clone(), error })
    };
    let (statements, end) = read(first, text)?;
    let mut merged = text[..end].trim_end().to_string();
    // By kind and name, with the file of origin.
    let mut groups: BTreeMap<(String, String), (&PathBuf, LibertyGroup)> = BTreeMap::new();
    let mut shared = BTreeMap::new();
    let mut add = |file, statement: LibertyGroup| -> Result<bool, MergeError> {
        for attribute in statement.attributes {
            if SHARED.contains(&attribute.name.as_str()) {
                let values: Vec<String> = attribute.values.iter().map(|value| number(value)).collect();
                let there: &(&PathBuf, Vec<String>) =
                    shared.entry(attribute.name.clone()).or_insert((file, values.clone()));
                if there.1 != values {
                    let what = format!("{} {}", attribute.name, values.join(", "));
                    return Err(MergeError::Different { file: file.clone(), first: there.0.clone(), what });
                }
            }
        }
        let Some(group) = statement.groups.into_iter().next() else {
            return Ok(false);
        };
        let key = (group.kind.clone(), group.name().to_string());
        match groups.get(&key) {
            None => {
                groups.insert(key, (file, group));
                Ok(true)
            }
            Some((there, _)) if key.0 == "cell" => {
                Err(MergeError::Twice { file: file.clone(), first: (*there).clone(), cell: key.1 })
            }
            Some((there, own))
                if key.0.ends_with("_template") && own.without_lines() != group.without_lines() =>
            {
                let what = format!("{} ({})", key.0, key.1);
                Err(MergeError::Different { file: file.clone(), first: (*there).clone(), what })
            }
            // All files have the first one's corner and wire loads.
            Some(_) => Ok(false),
        }
    };
    for (statement, _) in statements {
        add(first, statement)?;
    }
    for (file, text) in &files[1..] {
        for (statement, range) in read(file, text)?.0 {
            if add(file, statement)? {
                merged += "\n  ";
                merged += text[range].trim();
            }
        }
    }
    Ok(merged + "\n}\n")
}

/// A number by its value, `1.0` as `1`; other texts without blanks.
fn number(text: &str) -> String {
    let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    text.parse::<f64>().map_or(text.to_lowercase(), |x| x.to_string())
}
