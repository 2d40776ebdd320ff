//! The whole drawing: titles, notes, panels in rows, legends.

use crate::canvas::{Canvas, Drawn, Font, Ink, Marker, Pixel, from, text_width};
use crate::panel::{LEFT, check, draw, size};
use crate::{Chart, ChartError, Interpolation, Panel, PanelBody};
use plotters::drawing::IntoDrawingArea;
use plotters::prelude::SVGBackend;
use plotters::style::text_anchor::HPos;
use plotters::style::{FontStyle, WHITE};

const MARGIN: f64 = 16.0;
const TITLE: Font = Font(18, HPos::Left, FontStyle::Bold, false);
const TEXT: i32 = 13;
/// Distance of lines of text.
const LINE: f64 = 20.0;
/// Width of the sign before the words of the legend.
const SIGN: f64 = 40.0;

/// Draws charts, one below the other.
///
/// # Errors
/// Numbers that are not finite, negative bars, and failures of the drawing library.
pub fn svg(charts: &[Chart]) -> Result<String, ChartError> {
    charts.iter().flat_map(|chart| &chart.panels).try_for_each(check)?;
    let layouts: Vec<ChartLayout> = charts.iter().map(ChartLayout::of).collect();
    let width = layouts.iter().map(|layout| layout.width).fold(0.0, f64::max);
    let height: f64 = layouts.iter().map(|layout| layout.height).sum();
    let failed = |e: &dyn std::fmt::Display| ChartError::Drawing(e.to_string());
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (width as u32, height as u32)).into_drawing_area();
        area.fill(&WHITE).map_err(|e| failed(&e))?;
        let canvas = Canvas(area);
        let mut top = 0.0;
        for layout in &layouts {
            layout.draw(&canvas, top)?;
            top += layout.height;
        }
        canvas.0.present().map_err(|e| failed(&e))?;
    }
    Ok(svg)
}

/// An entry of the legend: its words, and a line with a marker, or else an area.
#[derive(PartialEq)]
struct LegendEntry<'a> {
    name: &'a str,
    ink: Ink,
    line: Option<(u32, bool, Option<Marker>)>,
}

struct ChartLayout<'a> {
    title: Vec<String>,
    notes: Vec<String>,
    rows: Vec<&'a [Panel]>,
    /// Widths of columns and heights of rows.
    widths: Vec<f64>,
    heights: Vec<f64>,
    legend: Vec<LegendEntry<'a>>,
    /// Entries in a row.
    legend_columns: usize,
    width: f64,
    height: f64,
}

impl<'a> ChartLayout<'a> {
    fn of(chart: &'a Chart) -> ChartLayout<'a> {
        let columns = chart.columns.clamp(1, chart.panels.len().max(1));
        let rows: Vec<&[Panel]> = chart.panels.chunks(columns).collect();
        let (mut widths, mut heights) = (vec![0f64; columns], vec![0f64; rows.len()]);
        for (i, panel) in chart.panels.iter().enumerate() {
            let (width, height) = size(panel, columns, rows.len());
            widths[i % columns] = widths[i % columns].max(width);
            heights[i / columns] = heights[i / columns].max(height);
        }
        let legend = legend(chart);
        let entry =
            legend.iter().map(|entry| text_width(entry.name, TEXT)).fold(0.0, f64::max) + SIGN + MARGIN;
        let width = widths.iter().sum::<f64>().max(LEFT + entry);
        let title = wrap(&chart.title, TITLE.0, width - 2.0 * MARGIN);
        let notes: Vec<String> =
            chart.notes.iter().flat_map(|note| wrap(note, TEXT, width - 2.0 * MARGIN)).collect();
        let legend_columns = (((width - LEFT) / entry) as usize).max(1);
        let lines = title.len() + notes.len() + legend.len().div_ceil(legend_columns);
        let height = heights.iter().sum::<f64>() + LINE * lines as f64 + 2.0 * MARGIN;
        ChartLayout { title, notes, rows, widths, heights, legend, legend_columns, width, height }
    }

    fn draw(&self, canvas: &Canvas, top: f64) -> Drawn {
        let mut y = top + MARGIN + LINE / 2.0;
        let title = self.title.iter().map(|line| (line, TITLE));
        for (line, font) in title.chain(self.notes.iter().map(|line| (line, from(TEXT)))) {
            canvas.text(line, (MARGIN, y), font)?;
            y += LINE;
        }
        y -= LINE / 2.0;
        for (row, height) in self.rows.iter().zip(&self.heights) {
            let mut x = 0.0;
            for (panel, width) in row.iter().zip(&self.widths) {
                draw(canvas, panel, (x, y), (*width, *height))?;
                x += width;
            }
            y += height;
        }
        let column = (self.width - LEFT) / self.legend_columns as f64;
        for (i, entry) in self.legend.iter().enumerate() {
            let (row, place) = (i / self.legend_columns, i % self.legend_columns);
            entry.draw(canvas, (LEFT / 2.0 + column * place as f64, y + LINE * (row as f64 + 0.5)))?;
        }
        Ok(())
    }
}

impl LegendEntry<'_> {
    fn draw(&self, canvas: &Canvas, (x, y): Pixel) -> Drawn {
        canvas.text(self.name, (x + SIGN, y), from(TEXT))?;
        let Some((width, dashed, marker)) = self.line else {
            return canvas.rectangle([(x + 10.0, y - 6.0), (x + 24.0, y + 6.0)], self.ink, false);
        };
        if width > 0 {
            canvas.line(&[(x, y), (x + 34.0, y)], self.ink, width, dashed)?;
        }
        marker.map_or(Ok(()), |marker| canvas.marker((x + 17.0, y), marker, self.ink))
    }
}

/// Each name once for each look, in the order of the panels.
fn legend(chart: &Chart) -> Vec<LegendEntry<'_>> {
    let mut entries: Vec<LegendEntry> = Vec::new();
    let mut add = |name, ink, line| {
        let entry = LegendEntry { name, ink, line };
        if !entry.name.is_empty() && !entries.contains(&entry) {
            entries.push(entry);
        }
    };
    for panel in &chart.panels {
        match &panel.body {
            PanelBody::Curves(all) => all.iter().for_each(|series| {
                let line = (series.width, series.dashed, series.marker);
                add(&series.name, series.ink, Some(line).filter(|_| series.course != Interpolation::Band));
            }),
            PanelBody::Bars(groups) => {
                let segments = groups.iter().flat_map(|group| &group.bars).flat_map(|bar| &bar.segments);
                segments.for_each(|(name, ink, _)| add(name, *ink, None));
            }
        }
    }
    entries
}

/// Breaks words into lines of at most `width` pixels; only a single wide word exceeds it.
pub(crate) fn wrap(words: &str, height: i32, width: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words.split_whitespace() {
        match lines.last_mut() {
            Some(line) if text_width(&format!("{line} {word}"), height) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_string()),
        }
    }
    lines
}
