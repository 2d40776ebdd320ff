//! The page: the chart as data, and a script that draws the visible part. Nothing is loaded from elsewhere.

use super::Pipeline;
use flashd_golden::Action;
use serde_json::{Value, json};
use std::io::{Result, Write};

/// The page around the data.
const PAGE: &str = include_str!("page.html");
/// Where in the page the title and the data go.
const PLACES: [&str; 2] = ["{title}", "{data}"];

/// The name of an action in the script.
fn action(action: Action) -> &'static str {
    match action {
        Action::Load => "load",
        Action::Update => "update",
        Action::Hold => "held",
        Action::Masked => "masked",
        Action::Restore => "restore",
    }
}

/// Writes a chart.
pub(super) fn write(chart: &Pipeline, out: &mut impl Write) -> Result<()> {
    let (head, rest) = PAGE.split_once(PLACES[0]).unwrap_or((PAGE, ""));
    let (middle, tail) = rest.split_once(PLACES[1]).unwrap_or((rest, ""));
    // Names of designs are identifiers.
    write!(out, "{head}{}{middle}", chart.design)?;
    let shapes: Vec<Vec<[u64; 3]>> = chart
        .shapes
        .iter()
        .map(|spans| spans.iter().map(|span| [span.stage as u64, span.from, span.to]).collect())
        .collect();
    let memory: Vec<Value> =
        chart.memory.iter().map(|lane| json!({ "kind": lane.kind, "bursts": lane.bursts })).collect();
    let frame = json!({
        "design": chart.design,
        "stages": chart.stages,
        "shapes": shapes,
        "frozen": chart.frozen,
        "memory": memory
    });
    // A row a step, one after another: there may be many.
    write!(out, "{{\"frame\": {frame}, \"steps\": [")?;
    for (i, step) in chart.steps.iter().enumerate() {
        let row: Value = json!([
            step.query,
            step.core,
            step.step,
            step.key,
            step.offered,
            step.taken,
            action(step.action),
            step.shape,
            step.text
        ]);
        write!(out, "{}{row}", if i > 0 { ",\n" } else { "\n" })?;
    }
    write!(out, "]}}{tail}")
}
