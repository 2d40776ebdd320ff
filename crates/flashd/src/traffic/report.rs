//! The points as tables.

use super::{CountedTraffic, TrafficPoint};
use crate::output::{percent, table};
use flashd_golden::family::Counts;
use std::collections::BTreeSet;

/// Columns that all tables share.
const SHAPE: [&str; 5] = ["heads of", "heads", "N", "d", "SRAM"];

fn shape(p: &TrafficPoint) -> Vec<String> {
    let n = if p.queries == p.keys { p.keys.to_string() } else { format!("{} x {}", p.queries, p.keys) };
    let sram = p.sram.map_or_else(|| "-".into(), |sram| sram.to_string());
    vec![p.source.clone(), p.heads.to_string(), n, p.d.to_string(), sram]
}

/// Counted, and by formula.
fn both(m: &CountedTraffic, of: &dyn Fn(&Counts) -> u64) -> [String; 2] {
    [of(&m.counted), of(&m.formula)].map(|x| x.to_string())
}

/// A table with a column of shapes in front.
fn shaped(points: &[TrafficPoint], more: &[&str], cells: impl Fn(&TrafficPoint) -> Vec<String>) -> String {
    let rows = points.iter().map(|p| [shape(p), cells(p)].concat());
    table(&[&SHAPE[..], more].concat(), rows.collect())
}

pub fn text(points: &[TrafficPoint]) -> String {
    let mut text = String::from(
        "Slow-memory accesses, and values that FLASH-D's hold rule leaves unread, in elements\n",
    );
    text += &accesses(points);
    text +=
        "\n\nQueries resident, keys and values streamed: the order of FlashAttention-2 and of these cores\n";
    text += &streamed(points);
    text += "\n\nFloating-point operations, and memory in elements\n";
    text += &operations(points);
    text += "\n\nBytes that a core reads for a key, by format, queries resident\n";
    text += &bytes(points);
    text += "\n\nFormulas, T_c = ceil(N / B_c), T_r = ceil(N / B): standard 4 N d + 4 N^2 accesses, 2 N^2 extra; FlashAttention\n\
             2 N d + N (T_c (3 d + 4) + d + 2) accesses, 2 N extra; with B queries resident 2 N d + 2 T_r N d, none extra.\n\
             Counts are of dense attention; the hold rule is measured in f64 on the keys that each query sees.";
    text
}

fn accesses(points: &[TrafficPoint]) -> String {
    let t = points.first().map_or(0.0, |p| p.hold.threshold);
    let saved = format!("values saved, T = {t}");
    let header = ["B_r x B_c", "standard", "formula", "FlashAttention", "formula", saved.as_str()];
    shaped(points, &header, |p| {
        let share = p.hold.held as f64 / p.hold.steps.max(1) as f64;
        let saved = format!("{} of {}", p.hold.value_elements_saved, p.hold.value_elements);
        let mut row = vec![format!("{} x {}", p.block_rows, p.block_columns)];
        row.extend(both(&p.standard, &Counts::accesses));
        row.extend(both(&p.flash_attention, &Counts::accesses));
        row.push(format!("{saved} ({})", percent(share)));
        row
    })
}

fn streamed(points: &[TrafficPoint]) -> String {
    let header = [
        "resident",
        "accesses",
        "formula",
        "of FlashAttention's",
        "operations",
        "formula",
        "extra",
        "working set",
    ];
    shaped(points, &header, |p| {
        let share = p.streamed.counted.accesses() as f64 / p.flash_attention.counted.accesses().max(1) as f64;
        let mut row = vec![p.resident_queries.to_string()];
        row.extend(both(&p.streamed, &Counts::accesses));
        row.push(percent(share));
        row.extend(both(&p.streamed, &Counts::flops));
        row.extend([p.streamed.counted.extra.to_string(), p.streamed_working_set.to_string()]);
        row
    })
}

fn operations(points: &[TrafficPoint]) -> String {
    let header = [
        "standard",
        "formula",
        "FlashAttention",
        "formula",
        "standard extra",
        "formula",
        "FlashAttention extra",
        "formula",
        "working set",
    ];
    shaped(points, &header, |p| {
        let mut row = Vec::new();
        row.extend(both(&p.standard, &Counts::flops));
        row.extend(both(&p.flash_attention, &Counts::flops));
        row.extend(both(&p.standard, &|c| c.extra));
        row.extend(both(&p.flash_attention, &|c| c.extra));
        row.push(p.working_set.to_string());
        row
    })
}

/// A line for each format, vector length and number of resident queries.
fn bytes(points: &[TrafficPoint]) -> String {
    let mut met = BTreeSet::new();
    let mut rows = Vec::new();
    for p in points.iter().filter(|p| met.insert((p.source.as_str(), p.d, p.resident_queries))) {
        for b in &p.bytes {
            rows.push(vec![
                p.source.clone(),
                p.d.to_string(),
                p.resident_queries.to_string(),
                b.format.to_string(),
                b.key.to_string(),
                b.value.to_string(),
                format!("{:.3}", b.a_query),
                format!("{:.3}", b.a_query_with_hold),
            ]);
        }
    }
    let header = [
        "heads of",
        "d",
        "resident",
        "format",
        "key",
        "value",
        "both, a query",
        "one query alone, with hold",
    ];
    table(&header, rows)
}
