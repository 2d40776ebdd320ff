//! Errors over the number of keys, and by row.

use crate::explore::chart::{colour, ticks};
use flashd_spec::config::Design;
use flashd_spec::format::Encodings;
use flashd_study::accuracy::{FormatAccuracy, MeanMax};
use flashd_study::lengths::{FormatLengths, LengthErrors};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::error::Error;

/// Panels side by side.
const COLUMNS: usize = 2;
/// Size of a panel, pixels.
const PANEL: (u32, u32) = (480, 330);
/// Height of the legend: a line for each entry, and a margin.
const LINE: u32 = 20;
const FONT: &str = "sans-serif";
const INPUT: RGBColor = RGBColor(120, 120, 120);
/// The smallest error that has a place on a logarithmic axis, in percent: below is 0, or rounding of f64.
const LEAST: f64 = 1e-9;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), Box<dyn Error>>;
/// Name, colour, error in percent.
type Bar = (String, RGBColor, f64);

/// One line of a panel; marks tell lines of one colour apart.
struct Line {
    name: String,
    ink: RGBColor,
    dashed: bool,
    /// Sides of the mark, 0 for a circle.
    mark: usize,
    points: Vec<(f64, f64)>,
}

fn ink(design: Design, nth: usize) -> RGBColor {
    let RGBColor(r, g, b) = colour(design);
    // Further cores of a design are lighter.
    let lighter = |x: u8| (f64::from(x) + (255.0 - f64::from(x)) * (0.3 * nth as f64).min(0.75)) as u8;
    RGBColor(lighter(r), lighter(g), lighter(b))
}

/// Position of a core among those of its design.
fn nth(designs: impl Iterator<Item = Design>, i: usize) -> (Design, usize) {
    let designs: Vec<Design> = designs.collect();
    (designs[i], designs[..i].iter().filter(|design| **design == designs[i]).count())
}

fn curve(errors: &[LengthErrors]) -> Vec<(f64, f64)> {
    let points = errors.iter().map(|e| (e.keys as f64, 100.0 * e.errors.mean));
    points.filter(|(_, error)| *error > LEAST).collect()
}

fn lines_of(format: &FormatLengths) -> Vec<Line> {
    let mut lines = vec![Line {
        name: "input error, spread scores".into(),
        ink: INPUT,
        dashed: true,
        mark: 4,
        points: curve(&format.input),
    }];
    for (i, core) in format.cores.iter().enumerate() {
        let (design, nth) = nth(format.cores.iter().map(|core| core.configuration.design()), i);
        let line = |what: &str, dashed: bool, errors: &[LengthErrors]| Line {
            name: format!("{}, {what} scores", core.core),
            ink: ink(design, nth),
            dashed,
            mark: if design == Design::FlashD { 0 } else { 3 },
            points: curve(errors),
        };
        lines.push(line("spread", true, &core.spread));
        lines.push(line("equal", false, &core.equal));
    }
    lines
}

/// A grid of panels with a legend of lines below.
fn paged(
    panels: usize,
    legend: &[(String, RGBColor, bool, usize)],
    draw: &dyn Fn(usize, &Area) -> Drawn,
) -> Result<String, Box<dyn Error>> {
    let columns = COLUMNS.min(panels).max(1);
    let rows = panels.div_ceil(columns).max(1);
    let height = PANEL.1 * rows as u32;
    let below = LINE * (legend.len().div_ceil(columns) as u32 + 1);
    let mut svg = String::new();
    {
        let size = (PANEL.0 * columns as u32, height + below);
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        root.fill(&WHITE)?;
        let (above, bottom) = root.split_vertically(height);
        for (panel, area) in above.split_evenly((rows, columns)).iter().enumerate().take(panels) {
            draw(panel, area)?;
        }
        for (i, (name, ink, dashed, mark)) in legend.iter().enumerate() {
            let (x, y) =
                ((i % columns) as i32 * PANEL.0 as i32 + 20, (i / columns) as i32 * LINE as i32 + 14);
            for start in if *dashed { vec![x, x + 14, x + 28] } else { vec![x] } {
                let end = if *dashed { start + 8 } else { x + 36 };
                bottom.draw(&PathElement::new([(start, y), (end, y)], ink.stroke_width(2)))?;
            }
            draw_mark(&bottom, (x + 18, y), *mark, *ink)?;
            let style = (FONT, 13).into_text_style(&bottom).pos(Pos::new(HPos::Left, VPos::Center));
            bottom.draw(&Text::new(name.clone(), (x + 46, y), style))?;
        }
        root.present()?;
    }
    Ok(svg)
}

fn draw_mark(area: &Area, (x, y): (i32, i32), mark: usize, ink: RGBColor) -> Drawn {
    match mark {
        0 => area.draw(&Circle::new((x, y), 4, ink.filled()))?,
        3 => area.draw(&TriangleMarker::new((x, y), 5, ink.filled()))?,
        _ => area.draw(&Rectangle::new([(x - 3, y - 3), (x + 3, y + 3)], ink.filled()))?,
    }
    Ok(())
}

/// Mean error over the number of keys, both axes logarithmic, a panel for each format.
pub fn lengths(formats: &[FormatLengths]) -> Result<String, Box<dyn Error>> {
    let mut legend: Vec<(String, RGBColor, bool, usize)> = Vec::new();
    for line in formats.iter().flat_map(lines_of) {
        if !legend.iter().any(|(name, ..)| *name == line.name) {
            legend.push((line.name, line.ink, line.dashed, line.mark));
        }
    }
    paged(formats.len(), &legend, &|i, area| length_panel(area, formats[i].format, &lines_of(&formats[i])))
}

/// The range of some positive numbers, with room around.
fn bounds(values: impl Iterator<Item = f64>, room: f64) -> Option<std::ops::Range<f64>> {
    let (low, high) = values.fold((f64::INFINITY, 0f64), |(low, high), x| (low.min(x), high.max(x)));
    (high > 0.0).then(|| low / room..high * room)
}

fn title(area: &Area, format: Encodings, note: &str) -> Drawn {
    area.draw(&Text::new(format!("{format}: {note}"), (70, 20), (FONT, 16)))?;
    Ok(())
}

fn length_panel(area: &Area, format: Encodings, lines: &[Line]) -> Drawn {
    let points = || lines.iter().flat_map(|line| &line.points);
    let Some((x, y)) = bounds(points().map(|p| p.0), 1.4).zip(bounds(points().map(|p| p.1), 1.6)) else {
        return title(area, format, "no errors to draw");
    };
    let mut counts: Vec<f64> = points().map(|p| p.0).collect();
    counts.sort_by(f64::total_cmp);
    counts.dedup();
    let errors = ticks(y.start, y.end);
    let mut chart = ChartBuilder::on(area)
        .caption(format.to_string(), (FONT, 18))
        .margin(8)
        .margin_right(18)
        .x_label_area_size(38)
        .y_label_area_size(68)
        .build_cartesian_2d(x.log_scale().with_key_points(counts), y.log_scale().with_key_points(errors))?;
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .x_desc("keys")
        .y_desc("mean error, % of max|v|")
        .x_label_formatter(&|x| format!("{x:.0}"))
        .y_label_formatter(&|y| tick(*y))
        .label_style((FONT, 12))
        .draw()?;
    for line in lines {
        let style = line.ink.stroke_width(2);
        let points = line.points.iter().copied();
        if line.dashed {
            chart.draw_series(DashedLineSeries::new(points.clone(), 9, 7, style))?;
        } else {
            chart.draw_series(LineSeries::new(points.clone(), style))?;
        }
        let (columns, rows) = area.get_pixel_range();
        for point in points {
            let (x, y) = chart.backend_coord(&point);
            draw_mark(area, (x - columns.start, y - rows.start), line.mark, line.ink)?;
        }
    }
    Ok(())
}

fn tick(y: f64) -> String {
    if y < 1e-4 { format!("{y:.0e}") } else { format!("{}", (y * 1e5).round() / 1e5) }
}

/// Bars of the mean error of every core by row, the input error beside them; a panel for each format.
pub fn rows(formats: &[FormatAccuracy]) -> Result<String, Box<dyn Error>> {
    let mut legend: Vec<(String, RGBColor, bool, usize)> = Vec::new();
    for (name, ink, _) in formats.iter().flat_map(bars).flat_map(|(_, bars)| bars) {
        if !legend.iter().any(|(known, ..)| *known == name) {
            legend.push((name, ink, false, 4));
        }
    }
    paged(formats.len(), &legend, &|i, area| row_panel(area, &formats[i]))
}

/// For each row its name, and its bars.
fn bars(format: &FormatAccuracy) -> Vec<(String, Vec<Bar>)> {
    let row = |row: &flashd_study::accuracy::RowAccuracy| {
        let MeanMax { mean, .. } = row.input;
        let mut bars = vec![("input error".to_string(), INPUT, 100.0 * mean)];
        for (i, core) in row.cores.iter().enumerate() {
            let (design, nth) = nth(row.cores.iter().map(|core| core.configuration.design()), i);
            bars.push((core.core.clone(), ink(design, nth), 100.0 * core.errors.mean));
        }
        (row.name.clone(), bars)
    };
    format.rows.iter().map(row).collect()
}

fn row_panel(area: &Area, format: &FormatAccuracy) -> Drawn {
    let rows = bars(format);
    let errors = || rows.iter().flat_map(|(_, bars)| bars).map(|(.., error)| *error);
    let Some(range) = bounds(errors().filter(|error| *error > LEAST), 1.6) else {
        return title(area, format.format, "no errors to draw");
    };
    // Room for the names, which are written at an angle of 90 degrees.
    let longest = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0) as u32;
    let mut chart = ChartBuilder::on(area)
        .caption(format.format.to_string(), (FONT, 18))
        .margin(8)
        .x_label_area_size((longest * 7 + 10).min(PANEL.1 / 2))
        .y_label_area_size(68)
        .build_cartesian_2d(
            0.0..rows.len() as f64,
            range.clone().log_scale().with_key_points(ticks(range.start, range.end)),
        )?;
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .disable_x_mesh()
        .x_labels(0)
        .y_desc("mean error, % of max|v|")
        .y_label_formatter(&|y| tick(*y))
        .label_style((FONT, 12))
        .draw()?;
    let (columns, lines) = area.get_pixel_range();
    for (i, (name, bars)) in rows.iter().enumerate() {
        let width = 0.8 / bars.len() as f64;
        for (j, (_, ink, error)) in bars.iter().enumerate() {
            let left = i as f64 + 0.1 + j as f64 * width;
            let corners = [(left, range.start), (left + 0.9 * width, error.max(range.start))];
            chart.draw_series([Rectangle::new(corners, ink.filled())])?;
        }
        let (x, y) = chart.backend_coord(&(i as f64 + 0.5, range.start));
        let style = (FONT, 12).into_text_style(area).transform(FontTransform::Rotate270);
        let style = style.pos(Pos::new(HPos::Right, VPos::Center));
        area.draw(&Text::new(name.clone(), (x - columns.start, y - lines.start + 6), style))?;
    }
    Ok(())
}
