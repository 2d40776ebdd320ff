//! Error over cost: every core, both fronts, both knees.

mod legend;
mod marker;
mod place;
mod shapes;

use super::points::{CorePoint, Cost, Exploration, FormatResult};
use flashd_spec::config::Design;
use marker::draw_marker;
use place::{Box2, place};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use shapes::Shapes;
use std::error::Error;

/// Width of the picture and least height of a panel, pixels.
const SIZE: (u32, u32) = (980, 560);
/// Width of the legend.
const LEGEND: u32 = 220;
const FONT: &str = "sans-serif";
/// Height of labels.
const TEXT: i32 = 13;
const FLASH_D: RGBColor = RGBColor(0, 90, 170);
const FA2: RGBColor = RGBColor(205, 95, 0);

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// A point in the plane of the chart.
struct Drawn<'a> {
    point: &'a CorePoint,
    at: (f64, f64),
}

/// A panel: cores that are drawn together.
struct Panel<'a> {
    exploration: &'a Exploration,
    cost: Cost,
    result: &'a FormatResult,
    shapes: Shapes,
    /// The cores that have a place on the axes.
    drawn: Vec<Drawn<'a>>,
}

impl<'a> Panel<'a> {
    fn new(exploration: &'a Exploration, cost: Cost, result: &'a FormatResult) -> Panel<'a> {
        // A logarithmic axis has no place for 0.
        let on_axes = result.points.iter().filter(|point| point.errors.mean > 0.0);
        let drawn = on_axes
            .filter_map(|point| Some(Drawn { point, at: (point.cost(cost)?, 100.0 * point.errors.mean) }));
        let shapes = Shapes::of(result, &exploration.formats);
        Panel { exploration, cost, result, shapes, drawn: drawn.collect() }
    }

    /// Many formats have a long legend.
    fn height(&self) -> u32 {
        match self.shapes {
            Shapes::Variants => SIZE.1,
            Shapes::Formats(_) => legend::height(&self.shapes, &self.drawn, self.result).max(SIZE.1),
        }
    }
}

/// A panel for each format, one below the other, then one of all formats where there are several.
pub fn draw(exploration: &Exploration) -> Result<String, Box<dyn Error>> {
    let cost = exploration.cost.ok_or("there is no cost to draw over")?;
    let results = exploration.formats.iter().chain(&exploration.all_formats);
    let panels: Vec<Panel> = results.map(|result| Panel::new(exploration, cost, result)).collect();
    let mut svg = String::new();
    {
        let height = panels.iter().map(Panel::height).sum();
        let root = SVGBackend::with_string(&mut svg, (SIZE.0, height)).into_drawing_area();
        root.fill(&WHITE)?;
        let mut rest = root.clone();
        for panel in &panels {
            let (area, below) = rest.split_vertically(panel.height());
            draw_panel(&area, panel)?;
            rest = below;
        }
        root.present()?;
    }
    Ok(svg)
}

fn draw_panel(area: &Area, panel: &Panel) -> Result<(), Box<dyn Error>> {
    let Panel { exploration, cost, result, shapes, drawn } = panel;
    let (plot, legend) = area.split_horizontally(SIZE.0 - LEGEND);
    let title = format!(
        "{}, d = {}, {} at {} ns",
        result.title(),
        exploration.d,
        exploration.library.as_deref().unwrap_or_default(),
        exploration.clock_ns.unwrap_or_default()
    );
    let bounds = |values: &dyn Fn(&Drawn) -> f64| {
        drawn.iter().map(values).fold((f64::INFINITY, 0f64), |(a, b), v| (a.min(v), b.max(v)))
    };
    let ((x0, x1), (y0, y1)) = (bounds(&|p| p.at.0), bounds(&|p| p.at.1));
    if drawn.is_empty() {
        plot.draw(&Text::new(title, (90, 20), (FONT, 20)))?;
        plot.draw(&Text::new("no core meets the clock", (90, 60), (FONT, 16)))?;
        return Ok(());
    }
    let margin = 0.06 * (x1 - x0).max(0.1 * x1);
    let pad = (y1 / y0).powf(0.08).max(1.08);
    let (bottom, top) = (y0 / pad, y1 * pad);
    let mut chart = ChartBuilder::on(&plot)
        .caption(title, (FONT, 20))
        .margin(12)
        .x_label_area_size(42)
        .y_label_area_size(78)
        .build_cartesian_2d(x0 - margin..x1 + margin, (bottom..top).log_scale())?;
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .disable_y_mesh()
        .y_labels(0)
        // One label would stay; they are drawn below.
        .y_label_formatter(&|_| String::new())
        .x_desc(cost.label())
        .y_desc("mean error, % of max|v|")
        .x_labels(8)
        .x_label_formatter(&|x| tick(*x))
        .label_style((FONT, TEXT))
        .axis_desc_style((FONT, 15))
        .draw()?;
    // Pixels of the whole picture, as the chart gives them, and of this part.
    let (columns, rows) = plot.get_pixel_range();
    let local = |(x, y): (i32, i32)| (x - columns.start, y - rows.start);
    for y in ticks(bottom, top) {
        chart.draw_series(LineSeries::new([(x0 - margin, y), (x1 + margin, y)], BLACK.mix(0.2)))?;
        let (x, y_pixel) = local(chart.backend_coord(&(x0 - margin, y)));
        let style = (FONT, TEXT).into_text_style(&plot).pos(Pos::new(HPos::Right, VPos::Center));
        plot.draw(&Text::new(tick(y), (x - 8, y_pixel), style))?;
    }
    // Dominated points first, so that the fronts lie over them.
    for on_front in [false, true] {
        for p in drawn.iter().filter(|p| p.point.on_design_front == on_front) {
            let style = shapes.shape(p.point).style(colour(p.point.design()), !on_front);
            draw_marker(&plot, local(chart.backend_coord(&p.at)), style)?;
        }
        if on_front {
            continue;
        }
        for design in Design::ALL {
            let steps = steps(drawn, design, (x1 + margin, top));
            chart.draw_series(LineSeries::new(steps, colour(design).stroke_width(2)))?;
        }
    }
    // What labels should not cover.
    let mut taken: Vec<Box2> = Vec::new();
    for p in drawn {
        taken.push(Box2::around(chart.backend_coord(&p.at), 5));
    }
    for design in Design::ALL {
        let line = steps(drawn, design, (x1 + margin, top));
        for ends in line.windows(2) {
            taken.push(Box2::between(chart.backend_coord(&ends[0]), chart.backend_coord(&ends[1])));
        }
    }
    let (across, down) = chart.plotting_area().get_pixel_range();
    let inside = Box2 { left: across.start, top: down.start, right: across.end, bottom: down.end };
    for design in Design::ALL {
        let knee = result.choice(design).and_then(|choice| choice.knee.as_ref());
        let Some(p) = drawn.iter().find(|p| Some(&p.point.core) == knee) else { continue };
        let (x, y) = chart.backend_coord(&p.at);
        let text = format!("knee: {}", shapes.label(p.point));
        let style = (FONT, TEXT).into_text_style(&plot);
        let (width, _) = plot.estimate_text_size(&text, &style)?;
        let label = place((x, y), (width as i32, TEXT + 3), inside, &taken);
        taken.push(label);
        let ink = colour(design);
        plot.draw(&Circle::new(local((x, y)), 10, ink.stroke_width(2)))?;
        plot.draw(&PathElement::new([local((x, y)), local(label.nearest((x, y)))], ink.stroke_width(1)))?;
        plot.draw(&Rectangle::new(
            [local((label.left, label.top)), local((label.right, label.bottom))],
            WHITE.mix(0.85).filled(),
        ))?;
        let anchor = Pos::new(HPos::Left, VPos::Center);
        let style = style.color(&ink).pos(anchor);
        plot.draw(&Text::new(text, local((label.left, (label.top + label.bottom) / 2)), style))?;
    }
    legend::draw(&legend, shapes, drawn, result)
}

/// The best error to be had for a cost: down to each point of a front, and along to the next.
fn steps(drawn: &[Drawn], design: Design, (right, top): (f64, f64)) -> Vec<(f64, f64)> {
    let mut line: Vec<(f64, f64)> = Vec::new();
    // Points are sorted by cost.
    for p in drawn.iter().filter(|p| p.point.on_design_front && p.point.design() == design) {
        let before = line.last().map_or(top, |last| last.1);
        line.extend([(p.at.0, before), p.at]);
    }
    let last = line.last().map(|last| (right, last.1));
    line.extend(last);
    line
}

pub(crate) fn colour(design: Design) -> RGBColor {
    [FLASH_D, FA2][design as usize]
}

/// Round numbers in a range, for a logarithmic axis: powers of ten, and as many between them as it takes to have four.
pub(crate) fn ticks(bottom: f64, top: f64) -> Vec<f64> {
    let sets: [&[f64]; 4] = [&[1.0], &[1.0, 2.0, 5.0], &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0], &[]];
    let mut found = Vec::new();
    for set in sets {
        let tenths: Vec<f64> = (10..100).map(|tenth| f64::from(tenth) / 10.0).collect();
        let set = if set.is_empty() { &tenths } else { set };
        let decades = bottom.log10().floor() as i32..=top.log10().floor() as i32;
        let all = decades.flat_map(|e| set.iter().map(move |m| m * 10f64.powi(e)));
        found = all.filter(|y| (bottom..=top).contains(y)).collect();
        if found.len() >= 4 {
            break;
        }
    }
    found
}

fn tick(x: f64) -> String {
    match x.abs() {
        x if x >= 10_000.0 => format!("{:.0}k", x / 1000.0),
        _ => format!("{}", (x * 1e6).round() / 1e6),
    }
}

#[cfg(test)]
mod tests;
