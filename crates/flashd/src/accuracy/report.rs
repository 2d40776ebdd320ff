//! The result in words and tables.

use super::{MeasuredAccuracy, Traces};
use crate::output::{percent, table};
use flashd_study::accuracy::{CoreAccuracy, FormatAccuracy, RowAccuracy};
use flashd_study::channels::{self, ChannelErrors, FormatChannels};
use flashd_study::lengths::{self, CoreLengths, FormatLengths, LengthErrors, QUERIES, REFERENCE};
use flashd_study::{By, CHECKED_KEYS, SYNTHETIC_HEADS, SYNTHETIC_KEYS, equal};
use std::fmt::Write;
use std::path::PathBuf;

const TRACE_NOTES: &str = "Errors against f64 attention on the unrounded data, in percent of max|v|: the mean over the \
    heads, and the largest of an element; by channel: the mean as a fraction of each channel's own max|v|, over all channels
and of the worst one.
rounding: the exact result rounded, no result in the format is closer. input: f64 attention on the rounded inputs, its
result rounded; a core can be below it by luck alone. rms: of the error over that of the exact result. cosine: mean and
smallest over the queries. saturated: roundings in the lanes, elements of q, k and v. hardware: RTL core against
bit-exact model, largest difference, and comparisons that failed of those made.
";

pub fn text(measured: &MeasuredAccuracy, written: &[PathBuf]) -> String {
    let mut text = String::new();
    if let Some(traces) = &measured.traces {
        heads(&mut text, traces);
    }
    if let Some(formats) = &measured.lengths {
        for format in formats {
            over_length(&mut text, format);
        }
        let _ = writeln!(
            text,
            "Lengths: d = {}. Equal scores: seeds {} to {}, against the mean of the rounded values. Spread scores: \
             synthetic heads
of {QUERIES} queries, seeds {} to {}, against f64 attention on the unrounded data; \
             input as above. growth: mean error over that
with {REFERENCE} keys.",
            equal::D,
            equal::SEEDS.start(),
            equal::SEEDS.end(),
            lengths::SEEDS.start(),
            lengths::SEEDS.end()
        );
    }
    if let Some(formats) = &measured.channels {
        formats.iter().for_each(|format| over_channels(&mut text, format));
        let _ = writeln!(
            text,
            "Synthetic heads, d = {}, {} keys, seeds {} to {}: some channels of V are so many times the others. Errors of the
others alone, each as a fraction of its own max|v|: the mean, the worst channel, and the mean over the first FA2 core's.",
            channels::D,
            channels::KEYS,
            channels::SEEDS.start(),
            channels::SEEDS.end()
        );
    }
    for path in written {
        let _ = writeln!(text, "{}", path.display());
    }
    text
}

fn heads(text: &mut String, traces: &Traces) {
    let source = match traces.synthetic_seed {
        Some(seed) => format!(
            "{SYNTHETIC_HEADS} synthetic heads of {SYNTHETIC_KEYS} keys for each d, seeds from {seed} on"
        ),
        None => traces.data.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", "),
    };
    let mut every =
        if traces.every == 1 { String::new() } else { format!(", one query in {}", traces.every) };
    for (what, number) in [("ALiBi with slope", traces.alibi), ("a sink of", traces.sink)] {
        every += &number.map_or_else(String::new, |number| format!(", {what} {number}"));
    }
    for format in &traces.formats {
        let _ = writeln!(text, "{}: {source}{every}", format.format);
        *text += &rows(format, traces.by);
        *text += "\n\n";
    }
    for (plain, smooth) in traces.formats.iter().zip(&traces.smooth_k) {
        let _ = writeln!(text, "{}: K minus its mean over the keys", plain.format);
        *text += &smoothed(plain, smooth, traces.by);
        *text += "\n\n";
    }
    *text += TRACE_NOTES;
    let checks = || traces.formats.iter().flat_map(|f| &f.rows).flat_map(|row| &row.cores);
    if let Some(queries) = checks().filter_map(|core| Some(core.hardware?.queries)).max() {
        let _ = writeln!(
            text,
            "The first head of each row, up to {queries} queries and {CHECKED_KEYS} keys of each, ran in lock-step."
        );
    }
    *text += "\n";
}

/// Heading of the rows' names.
fn row_name(by: By) -> &'static str {
    match by {
        By::Head => "head",
        By::Layer => "layer",
        By::Prompt => "prompt",
        By::Model => "model",
    }
}

/// Mean and largest errors on K as it is and on K minus its mean.
fn smoothed(plain: &FormatAccuracy, smooth: &FormatAccuracy, by: By) -> String {
    let header = [row_name(by), "heads", "core", "mean", "smooth K", "over plain", "max", "smooth K"];
    let cells = plain.rows.iter().zip(&smooth.rows).flat_map(|(plain, smooth)| {
        plain.cores.iter().zip(&smooth.cores).enumerate().map(move |(i, (core, smooth))| {
            let row = if i == 0 { [plain.name.clone(), plain.heads.to_string()] } else { Default::default() };
            let [before, after] = [&core.errors, &smooth.errors];
            let over = (before.mean > 0.0).then(|| after.mean / before.mean);
            let errors = [
                percent(before.mean),
                percent(after.mean),
                ratio(over),
                percent(before.max),
                percent(after.max),
            ];
            row.into_iter().chain([core.core.clone()]).chain(errors).collect()
        })
    });
    table(&header, cells.collect())
}

fn rows(format: &FormatAccuracy, by: By) -> String {
    let name = row_name(by);
    let with_hardware = format.rows.iter().flat_map(|row| &row.cores).any(|core| core.hardware.is_some());
    let mut header = vec![
        name,
        "heads",
        "core",
        "mean",
        "max",
        "by channel",
        "worst channel",
        "rounding",
        "input",
        "over input",
        "over FA2",
        "rms",
        "cosine",
        "saturated",
    ];
    if with_hardware {
        header.extend(["hardware", "mismatches"]);
    }
    let cells = format.rows.iter().flat_map(|row| {
        row.cores.iter().enumerate().map(move |(i, core)| {
            let mut cells = cells(row, core, i == 0);
            if let Some(check) = &core.hardware {
                cells.push(percent(check.max_error));
                cells.push(format!("{} of {}", check.mismatches, check.comparisons));
            }
            cells
        })
    });
    table(&header, cells.collect())
}

fn ratio(x: Option<f64>) -> String {
    x.map_or_else(|| "-".into(), |x| format!("{x:.3}"))
}

/// Cells that a row's lines share are in its first line only.
fn cells(row: &RowAccuracy, core: &CoreAccuracy, first: bool) -> Vec<String> {
    let e = &core.errors;
    let shared = |text: String| if first { text } else { String::new() };
    let cosine = |x: Option<f64>| x.map_or_else(|| "-".into(), |x| format!("{x:.6}"));
    let [q, k, v] = e.saturated_inputs;
    let mut saturated = format!("{}, {q} {k} {v}", e.saturated_roundings);
    if e.overflowed_queries > 0 {
        let _ = write!(saturated, ", {} queries", e.overflowed_queries);
    }
    if e.saturated_queries > 0 {
        let _ = write!(saturated, ", scores of {} queries", e.saturated_queries);
    }
    vec![
        shared(row.name.clone()),
        shared(row.heads.to_string()),
        core.core.clone(),
        percent(e.mean),
        percent(e.max),
        percent(e.channel_mean),
        percent(e.channel_worst),
        shared(percent(row.rounding.mean)),
        shared(percent(row.input.mean)),
        ratio(core.over_input),
        ratio(core.over_fa2),
        e.relative.map_or_else(|| "-".into(), percent),
        format!("{} {}", cosine(e.cosine), cosine(e.least_cosine)),
        saturated,
    ]
}

fn over_length(text: &mut String, format: &FormatLengths) {
    let name = |core: &CoreLengths| core.core.clone();
    let equal = format.cores.iter().map(|core| (name(core), &core.equal[..])).collect();
    let input = std::iter::once(("input".to_string(), &format.input[..]));
    let spread = input.chain(format.cores.iter().map(|core| (name(core), &core.spread[..]))).collect();
    length_table(text, &format!("{}, equal scores", format.format), equal);
    length_table(text, &format!("{}, spread scores", format.format), spread);
}

/// One line for each size of large channels, three columns for each core.
fn over_channels(text: &mut String, format: &FormatChannels) {
    let mut header = vec!["large channels".to_string(), "factor".into()];
    for core in &format.cores {
        header.extend([format!("{}: mean", core.core), "worst".into(), "over FA2".into()]);
    }
    let lines = format.cores.first().map_or(0, |core| core.errors.len());
    let rows = (0..lines).map(|i| {
        let ChannelErrors { large, factor, .. } = format.cores[0].errors[i];
        let mut cells = vec![format!("{} of {}", large.channels(), channels::D), factor.to_string()];
        for core in &format.cores {
            let errors = &core.errors[i];
            cells.extend([percent(errors.mean), percent(errors.worst), ratio(errors.over_fa2)]);
        }
        cells
    });
    let _ = writeln!(text, "{}", format.format);
    *text += &table(&header.iter().map(String::as_str).collect::<Vec<_>>(), rows.collect());
    *text += "\n\n";
}

/// One line for each number of keys, three columns for each name.
fn length_table(text: &mut String, title: &str, columns: Vec<(String, &[LengthErrors])>) {
    let mut header = vec!["keys".to_string()];
    for (name, _) in &columns {
        header.extend([format!("{name}: mean"), "max".into(), "growth".into()]);
    }
    let lines = columns.first().map_or(0, |(_, errors)| errors.len());
    let rows = (0..lines).map(|i| {
        let mut cells = vec![columns[0].1[i].keys.to_string()];
        for (_, column) in &columns {
            let LengthErrors { errors, over_reference, .. } = column[i];
            cells.extend([percent(errors.mean), percent(errors.max)]);
            cells.push(over_reference.map_or_else(|| "-".into(), |x| format!("{x:.2}")));
        }
        cells
    });
    let _ = writeln!(text, "{title}");
    *text += &table(&header.iter().map(String::as_str).collect::<Vec<_>>(), rows.collect());
    *text += "\n\n";
}
