//! The result in tables.

use super::{Golden, GoldenPoint};
use crate::output::{percent, table};
use flashd_golden::family::{MemoryTensor, Operation};

pub(super) fn text(golden: &Golden) -> String {
    let Golden { source, heads, pairs, seen, block_rows, block_columns, mask, algorithms } = golden;
    let mut text = match heads {
        1 => source.clone(),
        heads => format!("{heads} heads of {source}"),
    };
    let mask = if *mask { ", additive mask" } else { "" };
    let share = percent(*seen as f64 / (*pairs).max(1) as f64);
    text += &format!(
        "; blocks of {block_rows} queries and {block_columns} keys{mask}; {seen} of {pairs} pairs of a query and a key ({share}) are seen\n\n"
    );
    text += &summary(algorithms);
    if let [one] = &algorithms[..] {
        text += "\n\n";
        text += &details(one);
    }
    let beyond = algorithms.iter().filter(|point| point.beyond_its_domain > 0);
    for point in beyond {
        let heads = match point.beyond_its_domain {
            1 => "1 head has".to_string(),
            n => format!("{n} heads have"),
        };
        text += &format!(
            "\n{}: {heads} scores beyond what it can compute, and counts nothing there",
            point.algorithm
        );
    }
    text + "\nErrors are against safe softmax in f64, fractions of max|v|. An access is an element read from or written to slow memory.\n"
}

/// A line for each algorithm.
fn summary(algorithms: &[GoldenPoint]) -> String {
    let row = |point: &GoldenPoint| {
        let error =
            |error: Option<f64>| error.map_or_else(|| "-".to_string(), |error| format!("{error:.1e}"));
        let (counted, formula) = (&point.counts.counted, &point.counts.formula);
        let mut row = vec![point.algorithm.to_string(), error(point.mean_error), error(point.max_error)];
        let numbers = [
            counted.accesses(),
            formula.accesses(),
            counted.flops(),
            formula.flops(),
            counted.extra,
            formula.extra,
            point.working_set as u64,
        ];
        row.extend(numbers.map(|n| n.to_string()));
        row
    };
    let header = [
        "algorithm",
        "mean error",
        "max error",
        "accesses",
        "formula",
        "operations",
        "formula",
        "extra",
        "formula",
        "working set",
    ];
    table(&header, algorithms.iter().map(row).collect())
}

/// Every count of an algorithm.
fn details(point: &GoldenPoint) -> String {
    let (counted, formula) = (&point.counts.counted, &point.counts.formula);
    let row = |what: String, counted: u64, formula: u64| vec![what, counted.to_string(), formula.to_string()];
    let mut rows = Vec::new();
    for tensor in MemoryTensor::ALL {
        let name = tensor.name();
        rows.push(row(format!("{name} read"), counted.reads(tensor), formula.reads(tensor)));
        rows.push(row(format!("{name} written"), counted.writes(tensor), formula.writes(tensor)));
    }
    for operation in Operation::ALL {
        rows.push(row(operation.name().into(), counted.operations(operation), formula.operations(operation)));
    }
    // Operations that neither count has.
    rows.retain(|row| row[1] != "0" || row[2] != "0");
    format!(
        "{}: {}\n{}\n{}",
        point.algorithm,
        point.words,
        point.equation,
        table(&["", "counted", "formula"], rows)
    )
}
