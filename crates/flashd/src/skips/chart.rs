//! Added error over the share of value reads saved: a panel for each group, a curve for each family of rules.

use super::Skips;
use flashd_study::skips::{GroupHolds, Rule};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::error::Error;

/// Most groups that get a panel each; more share one.
const MOST_PANELS: usize = 9;
/// Panels side by side.
const COLUMNS: usize = 3;
/// Width and height of a panel, pixels.
const PANEL: (u32, u32) = (380, 320);
/// The panel that all groups share.
const SHARED: (u32, u32) = (760, 520);
const LEGEND: u32 = 190;
const FONT: &str = "sans-serif";
const TEXT: i32 = 13;

/// Errors further below the limit than by this factor are not drawn: what matters is near it.
const DEPTH: f64 = 1e3;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// Share of reads saved and largest added error, percent.
type Place = (f64, f64);

/// A family of rules with its ink.
struct Family {
    name: &'static str,
    /// Indices into the rules.
    rules: Vec<usize>,
    ink: RGBColor,
    shape: usize,
}

const INKS: [RGBColor; 10] = [
    RGBColor(200, 0, 0),
    RGBColor(0, 90, 170),
    RGBColor(205, 95, 0),
    RGBColor(110, 110, 110),
    RGBColor(150, 90, 40),
    RGBColor(0, 120, 60),
    RGBColor(120, 190, 40),
    RGBColor(130, 60, 170),
    RGBColor(220, 90, 170),
    BLACK,
];
const SHAPES: usize = 4;

fn families(rules: &[Rule]) -> Vec<Family> {
    let mut all: Vec<Family> = Vec::new();
    for (i, rule) in rules.iter().enumerate() {
        let name = rule.family();
        match all.iter_mut().find(|family| family.name == name) {
            Some(family) => family.rules.push(i),
            None => {
                let n = all.len();
                all.push(Family { name, rules: vec![i], ink: INKS[n % INKS.len()], shape: n % SHAPES });
            }
        }
    }
    all
}

/// The points of a family that are drawn, by share.
fn points(family: &Family, group: &GroupHolds, limit: f64) -> Vec<Place> {
    let point = |&i: &usize| {
        let figures = &group.rules[i].exact;
        (100.0 * figures.held, 100.0 * figures.max_error)
    };
    let mut points: Vec<Place> =
        family.rules.iter().map(point).filter(|p| p.1 > 100.0 * limit / DEPTH).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

/// One panel for each group, or one for all if they are many.
pub fn draw(skips: &Skips, rules: &[Rule]) -> Result<String, Box<dyn Error>> {
    let families = families(rules);
    let panels: Vec<Vec<&GroupHolds>> = match skips.groups.len() {
        0..=MOST_PANELS => skips.groups.iter().map(|group| vec![group]).collect(),
        _ => vec![skips.groups.iter().collect()],
    };
    let (columns, panel) = if panels.len() > 1 { (COLUMNS.min(panels.len()), PANEL) } else { (1, SHARED) };
    let lines = panels.len().div_ceil(columns);
    // The legend takes the place of a last panel that is missing, or a column of its own.
    let own_column = panels.len() == lines * columns;
    let width = panel.0 * columns as u32 + if own_column { LEGEND } else { 0 };
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, (width, panel.1 * lines as u32)).into_drawing_area();
        root.fill(&WHITE)?;
        let (grid, beside) = root.split_horizontally(panel.0 * columns as u32);
        let cells = grid.split_evenly((lines, columns));
        let all = skips.groups.iter().flat_map(|g| families.iter().flat_map(|f| points(f, g, skips.limit)));
        let y = all.fold((100.0 * skips.limit, 100.0 * skips.limit), |(a, b), p| (p.1.min(a), p.1.max(b)));
        for (cell, groups) in cells.iter().zip(&panels) {
            one_panel(cell, skips, &families, groups, y)?;
        }
        legend(if own_column { &beside } else { &cells[panels.len()] }, skips, &families)?;
        root.present()?;
    }
    Ok(svg)
}

fn one_panel(
    area: &Area,
    skips: &Skips,
    families: &[Family],
    groups: &[&GroupHolds],
    (least, most): (f64, f64),
) -> Result<(), Box<dyn Error>> {
    let caption = match groups {
        [group] => group.group.clone(),
        _ => format!("mean of {} groups, each pale", groups.len()),
    };
    let right = groups
        .iter()
        .flat_map(|g| families.iter().flat_map(|f| points(f, g, skips.limit)))
        .fold(1f64, |most, p| most.max(p.0))
        * 1.05;
    let (bottom, top) = (least / 2.0, most * 2.0);
    let mut chart = ChartBuilder::on(area)
        .caption(caption, (FONT, 16))
        .margin(8)
        .x_label_area_size(36)
        .y_label_area_size(64)
        .build_cartesian_2d(0.0..right, (bottom..top).log_scale())?;
    chart
        .configure_mesh()
        .max_light_lines(0)
        .x_desc("value reads saved, %")
        .y_desc("largest added error, %")
        .x_labels(6)
        .y_labels(7)
        .x_label_formatter(&share)
        .y_label_formatter(&power_of_ten)
        .label_style((FONT, 12))
        .axis_desc_style((FONT, 13))
        .draw()?;
    let (from, to) = skips.paper_skipped;
    chart.draw_series([Rectangle::new(
        [(100.0 * from, bottom), ((100.0 * to).min(right), top)],
        BLACK.mix(0.12).filled(),
    )])?;
    let limit = 100.0 * skips.limit;
    chart.draw_series(LineSeries::new([(0.0, limit), (right, limit)], BLACK))?;
    for family in families {
        if groups.len() > 1 {
            for group in groups {
                chart
                    .draw_series(LineSeries::new(points(family, group, skips.limit), family.ink.mix(0.2)))?;
            }
        }
        let mean = mean_points(family, groups, skips.limit);
        chart.draw_series(LineSeries::new(mean.clone(), family.ink.stroke_width(2)))?;
        for p in mean {
            let pixel = chart.backend_coord(&p);
            let (columns, rows) = area.get_pixel_range();
            marker(area, (pixel.0 - columns.start, pixel.1 - rows.start), family)?;
        }
    }
    Ok(())
}

/// Mean share and mean of the largest errors over groups, by rule.
fn mean_points(family: &Family, groups: &[&GroupHolds], limit: f64) -> Vec<Place> {
    let mean = |&i: &usize| {
        let sum = groups
            .iter()
            .map(|g| &g.rules[i].exact)
            .fold((0.0, 0.0), |(x, y), figures| (x + 100.0 * figures.held, y + 100.0 * figures.max_error));
        (sum.0 / groups.len() as f64, sum.1 / groups.len() as f64)
    };
    let mut points: Vec<Place> =
        family.rules.iter().map(mean).filter(|p| p.1 > 100.0 * limit / DEPTH).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

/// A label of the axis of shares, with as many decimals as it needs: steps are below 1 where the range is small.
fn share(x: &f64) -> String {
    let text = format!("{x:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// A label of a logarithmic axis, whose key points are off by roundings.
fn power_of_ten(y: &f64) -> String {
    let exponent = y.log10().round();
    let decimals = (-exponent).max(0.0) as usize;
    format!("{:.decimals$}", 10f64.powf(exponent))
}

fn marker(area: &Area, (x, y): (i32, i32), family: &Family) -> Result<(), Box<dyn Error>> {
    let ink = family.ink.filled();
    match family.shape {
        0 => area.draw(&Circle::new((x, y), 4, ink))?,
        1 => area.draw(&Polygon::new(vec![(x, y - 5), (x + 5, y + 4), (x - 5, y + 4)], ink))?,
        2 => area.draw(&Rectangle::new([(x - 4, y - 4), (x + 4, y + 4)], ink))?,
        _ => area.draw(&Polygon::new(vec![(x, y - 5), (x + 5, y), (x, y + 5), (x - 5, y)], ink))?,
    }
    Ok(())
}

fn legend(area: &Area, skips: &Skips, families: &[Family]) -> Result<(), Box<dyn Error>> {
    let style = (FONT, TEXT).into_text_style(area).pos(Pos::new(HPos::Left, VPos::Center));
    let mut y = 40;
    for family in families {
        area.draw(&PathElement::new([(8, y), (32, y)], family.ink.stroke_width(2)))?;
        marker(area, (20, y), family)?;
        area.draw(&Text::new(family.name, (40, y), style.clone()))?;
        y += 20;
    }
    area.draw(&PathElement::new([(8, y), (32, y)], BLACK))?;
    area.draw(&Text::new(format!("{} % added", 100.0 * skips.limit), (40, y), style.clone()))?;
    y += 20;
    area.draw(&Rectangle::new([(8, y - 6), (32, y + 6)], BLACK.mix(0.12).filled()))?;
    area.draw(&Text::new("skipped in the paper", (40, y), style.clone()))?;
    y += 20;
    area.draw(&Text::new(format!("below {} % not drawn", 100.0 * skips.limit / DEPTH), (8, y), style))?;
    Ok(())
}
