//! `flashd sweep report`: a page of what is there so far.

use super::shard::{Done, Shard, Sweep};
use super::status::{self, HEADER, messages};
use crate::cli::ReportArgs;
use crate::output::{Failure, print, write};
use flashd_ppa::report::page;
use flashd_ppa::report::tables::ReportTable;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Columns of figures of a table; more are left to the merged JSON.
const COLUMNS: usize = 16;
/// Rows of a table.
const ROWS: usize = 2000;

/// Figures of a result by where they are in it.
type Figures = BTreeMap<String, String>;

pub fn run(args: &ReportArgs) -> Result<(), Failure> {
    let sweep = Sweep::read(&args.sweep)?;
    let status = status::status(&sweep)?;
    let mut body = format!(
        "<p>{} of {} shards are done, {} failed, {} are left; {:.3} processor hours.</p>\n",
        status.done, status.shards, status.failed, status.left, status.processor_hours
    );
    body += &format!(
        "<p><progress max=\"{}\" value=\"{}\">{} of {}</progress></p>\n",
        status.shards, status.done, status.done, status.shards
    );
    body +=
        &page::table(&ReportTable { header: HEADER.map(String::from).to_vec(), rows: status::rows(&status) });
    if !status.hosts.is_empty() {
        body += &page::element("h2", "Machines");
        let rows = status.hosts.iter().map(|(host, n)| vec![host.clone(), n.to_string()]).collect();
        body += &page::table(&ReportTable { header: vec!["machine".into(), "shards done".into()], rows });
    }
    if !status.failures.is_empty() {
        body += &page::element("h2", "Failures");
        for (message, shards) in messages(&status.failures) {
            body += &page::details(
                &format!("{} shards: {}", shards.len(), message.lines().last().unwrap_or_default()),
                &format!("{}{}", page::element("pre", message), page::element("pre", &shards.join("\n"))),
            );
        }
    }
    for of in &status.kinds {
        body += &page::element("h2", of.kind);
        body += &results(&sweep, of.kind)?;
    }
    let title = format!("Sweep {}", sweep.folder.file_name().unwrap_or_default().to_string_lossy());
    let written = write("--html", &args.html, page::page(&title, &body).as_bytes())?;
    print(&written.display().to_string())
}

/// The results of a kind: options that differ, and figures.
fn results(sweep: &Sweep, kind: &str) -> Result<String, Failure> {
    let of_kind = sweep.shards.iter().filter(|shard| shard.work.kind.row().name == kind);
    let mut rows: Vec<(&Shard, Figures)> = Vec::new();
    for shard in of_kind.clone() {
        if let Some(done) = sweep.done(&shard.hash)? {
            let Done { result, measured, .. } = *done;
            let mut figures = Figures::new();
            flatten(&result, String::new(), &mut figures);
            flatten(&measured, String::new(), &mut figures);
            rows.push((shard, figures));
        }
    }
    if rows.is_empty() {
        return Ok(page::element("p", "Nothing yet."));
    }
    // What is the same in all rows is no column. Of few rows all is shown: there is nothing to compare.
    let mut values: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, value) in rows.iter().flat_map(|(_, figures)| figures) {
        values.entry(name).or_default().insert(value);
    }
    let names: Vec<&str> =
        values.iter().filter(|(_, all)| rows.len() == 1 || all.len() > 1).map(|(n, _)| *n).collect();
    let shown = &names[..names.len().min(COLUMNS)];
    let options: BTreeSet<String> = of_kind.flat_map(words).collect();
    let everywhere = |word: &String| rows.iter().all(|(shard, _)| words(shard).contains(word));
    let common: Vec<String> = options.iter().filter(|word| everywhere(word)).cloned().collect();
    let mut header = vec!["shard".to_string(), "options".to_string()];
    header.extend(shown.iter().map(|name| name.to_string()));
    let row = |(shard, figures): &(&Shard, Figures)| {
        let own: Vec<String> = words(shard).into_iter().filter(|word| !common.contains(word)).collect();
        let mut row = vec![shard.hash[..12].to_string(), own.join(" ")];
        row.extend(shown.iter().map(|name| figures.get(*name).cloned().unwrap_or("-".into())));
        row
    };
    let table = ReportTable { header, rows: rows.iter().take(ROWS).map(row).collect() };
    let mut text = page::element("p", &format!("All with: {}", common.join(" "))) + &page::table(&table);
    if names.len() > shown.len() || rows.len() > ROWS {
        let more = format!(
            "{} more figures and {} more shards are in what flashd sweep merge writes.",
            names.len() - shown.len(),
            rows.len().saturating_sub(ROWS)
        );
        text += &page::element("p", &more);
    }
    Ok(text)
}

/// The words of a shard's command; of a core that is given by a file, its name.
fn words(shard: &Shard) -> Vec<String> {
    shard.work.command.iter().map(|word| shortened(word)).collect()
}

/// A part of an exploration is too long for a cell.
fn shortened(word: &str) -> String {
    match word.char_indices().nth(160) {
        Some((end, _)) => format!("{}...", &word[..end]),
        None => word.to_string(),
    }
}

/// Numbers and words of a result, with the names that lead to them.
fn flatten(value: &Value, name: String, into: &mut Figures) {
    let below = |part: &str| if name.is_empty() { part.to_string() } else { format!("{name}.{part}") };
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(field, value)| flatten(value, below(field), into));
        }
        Value::Array(values) => {
            values.iter().enumerate().for_each(|(i, value)| flatten(value, below(&i.to_string()), into));
        }
        Value::Null => {}
        Value::Number(number) => drop(into.insert(name, figure(number))),
        Value::String(text) => drop(into.insert(name, shortened(text))),
        Value::Bool(yes) => drop(into.insert(name, yes.to_string())),
    }
}

/// A number with five significant digits, unless it is whole.
fn figure(number: &serde_json::Number) -> String {
    match number.as_f64() {
        Some(x) if number.is_f64() && x != 0.0 => {
            let digits = (4 - x.abs().log10().floor() as i32).clamp(0, 12) as usize;
            format!("{x:.digits$}")
        }
        _ => number.to_string(),
    }
}
