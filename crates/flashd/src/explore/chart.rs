//! Error over cost: every core, both fronts, both knees.

use super::points::{CorePoint, Cost, Exploration, FormatResult};
use flashd_chart::{Axis, Chart, Ink, Interpolation, Marker, Panel, PanelBody, Series};
use flashd_spec::config::Design;
use std::collections::BTreeSet;

/// A chart for each format, then one of all formats where there are several; none without a cost.
pub fn charts(exploration: &Exploration) -> Vec<Chart> {
    let Some(cost) = exploration.cost else { return Vec::new() };
    let library = exploration.library.as_deref().unwrap_or_default();
    let clock = exploration.clock_ns.unwrap_or_default();
    let chart = |result: &FormatResult| {
        let drawn: Vec<&CorePoint> = result.points.iter().filter(|p| p.cost(cost).is_some()).collect();
        let note = match drawn.is_empty() {
            true => "No core meets the clock.",
            false => "Pale: not on its design's front.",
        };
        let panel = Panel {
            title: String::new(),
            x: Axis { fenced: true, ..Axis::linear(cost.label()) },
            y: Axis { fenced: true, ..Axis::log("mean error, % of max|v|") },
            body: PanelBody::Curves(series(exploration, cost, result, &drawn)),
        };
        let title = format!("{}, d = {}, {library} at {clock} ns", result.title(), exploration.d);
        Chart { title, notes: vec![note.into()], columns: 1, panels: vec![panel] }
    };
    exploration.formats.iter().chain(&exploration.all_formats).map(chart).collect()
}

/// The name of a core's marker: its format in the chart of all formats, its variant in that of one format.
fn shape(point: &CorePoint) -> String {
    point.format.map_or_else(|| point.variant.clone(), |format| format.to_string())
}

fn series(exploration: &Exploration, cost: Cost, result: &FormatResult, drawn: &[&CorePoint]) -> Vec<Series> {
    // A variant has the same marker in the charts of all formats.
    let together = result.format.is_none();
    let results = if together { std::slice::from_ref(result) } else { &exploration.formats };
    let shapes: BTreeSet<String> = results.iter().flat_map(|result| &result.points).map(shape).collect();
    let shapes: Vec<String> = shapes.into_iter().collect();
    let marker = |p: &CorePoint| Marker::nth(shapes.iter().position(|s| *s == shape(p)).unwrap_or(0));
    let place = |p: &CorePoint| (p.cost(cost).unwrap_or_default(), 100.0 * p.errors.mean);
    let ink = |p: &CorePoint| Ink::nth(p.design() as usize);
    let mut all = Vec::new();
    for p in shapes.iter().filter_map(|s| drawn.iter().find(|p| shape(p) == *s)) {
        // Both designs have a format; a variant belongs to one design.
        all.push(Series::markers(shape(p), if together { Ink::GREY } else { ink(p) }, marker(p)));
    }
    let point = |p: &CorePoint, ink| Series { points: vec![place(p)], ..Series::markers("", ink, marker(p)) };
    // Dominated points first, so that the fronts lie over them.
    all.extend(drawn.iter().filter(|p| !p.on_design_front).map(|p| point(p, ink(p).pale(0.35))));
    for design in Design::ALL {
        // Sorted by cost.
        let front: Vec<&&CorePoint> =
            drawn.iter().filter(|p| p.design() == design && p.on_design_front).collect();
        let Some(first) = front.first() else { continue };
        let (name, points) = (format!("{}, front", design.title()), front.iter().map(|p| place(p)).collect());
        all.push(Series { course: Interpolation::Steps, points, ..Series::line(name, ink(first)) });
        all.extend(front.iter().map(|p| point(p, ink(p))));
        let knee = result.choice(design).and_then(|choice| choice.knee.as_ref());
        all.extend(front.iter().filter(|p| Some(&p.core) == knee).map(|p| {
            let format = p.format.map_or(String::new(), |format| format!(", {format}"));
            let name = format!("knee: {}{format}", p.stem);
            Series { points: vec![place(p)], ..Series::markers(name, ink(p), Marker::RING) }
        }));
    }
    all
}

#[cfg(test)]
mod tests;
