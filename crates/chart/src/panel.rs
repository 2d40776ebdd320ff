//! A panel: axes, curves or bars.

use crate::axis::{AxisSpan, number};
use crate::canvas::{Canvas, Drawn, Font, Ink, Marker, Pixel, around, from, text_width};
use crate::{AxisScale, BarGroup, ChartError, Interpolation, Panel, PanelBody, Series};
use plotters::style::FontStyle;
use plotters::style::text_anchor::HPos;

/// Room around the axes, pixels: numbers and label at the left and below, the title above.
pub(crate) const LEFT: f64 = 84.0;
const RIGHT: f64 = 20.0;
const ABOVE: f64 = 34.0;
const BELOW: f64 = 50.0;
/// Heights of letters: numbers, labels.
const TEXT: i32 = 12;
const LABEL: i32 = 13;
const NUMBER: Font = Font(TEXT, HPos::Right, FontStyle::Normal, false);
const TURNED: Font = Font(LABEL, HPos::Center, FontStyle::Normal, true);
/// Most outliers whose values are written.
const MOST_OUTSIDE: usize = 4;
/// Part of a group's width that its bars take.
const FILLED: f64 = 0.82;

/// Size that a panel needs where it is one of some columns and rows.
pub(crate) fn size(panel: &Panel, columns: usize, rows: usize) -> (f64, f64) {
    let PanelBody::Bars(groups) = &panel.body else {
        return match (columns, rows) {
            (1, 1) => (820.0, 500.0),
            (1, _) => (820.0, 340.0),
            (2, _) => (500.0, 340.0),
            _ => (400.0, 330.0),
        };
    };
    let width = |group: &BarGroup| {
        // A name has the room of all its bars.
        let names = group.bars.chunk_by(|a, b| a.name == b.name);
        let names = names.map(|same| (text_width(&same[0].name, TEXT) + 10.0) / same.len() as f64);
        let values = group.bars.iter().map(|bar| text_width(&bar.value, TEXT) + 10.0);
        let bars = names.chain(values).fold(10.0, f64::max) * group.bars.len() as f64 / FILLED;
        bars.max(text_width(&group.note, LABEL) + 10.0)
    };
    let groups_width = groups.iter().map(width).fold(0.0, f64::max) * groups.len() as f64;
    (LEFT + RIGHT + groups_width.max(420.0 / columns as f64), ABOVE + 250.0 + below(panel))
}

/// Room below the axes.
fn below(panel: &Panel) -> f64 {
    match &panel.body {
        PanelBody::Bars(groups) if !named(groups) => {
            groups.iter().map(|group| text_width(&group.name, LABEL)).fold(0.0, f64::max) + 20.0
        }
        _ => BELOW,
    }
}

fn named(groups: &[BarGroup]) -> bool {
    groups.iter().flat_map(|group| &group.bars).any(|bar| !bar.name.is_empty())
}

/// The rectangle of the axes, with the ranges.
struct Plot {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
    x: AxisSpan,
    y: AxisSpan,
}

impl Plot {
    fn across(&self, x: f64) -> f64 {
        self.left + (self.right - self.left) * self.x.fraction(x)
    }

    fn down(&self, y: f64) -> f64 {
        self.bottom - (self.bottom - self.top) * self.y.fraction(y)
    }

    /// The nearest point within.
    fn clamp(&self, (x, y): Pixel) -> Pixel {
        (x.clamp(self.left, self.right), y.clamp(self.top, self.bottom))
    }

    /// Clips a line to the axes.
    fn clip(&self, a: Pixel, b: Pixel) -> Option<[Pixel; 2]> {
        let (dx, dy) = (b.0 - a.0, b.1 - a.1);
        let (mut from, mut to) = (0f64, 1f64);
        let edges =
            [(-dx, a.0 - self.left), (dx, self.right - a.0), (-dy, a.1 - self.top), (dy, self.bottom - a.1)];
        for (step, room) in edges {
            match step {
                0.0 if room < 0.0 => return None,
                0.0 => {}
                step if step < 0.0 => from = from.max(room / step),
                step => to = to.min(room / step),
            }
        }
        let at = |part: f64| (a.0 + part * dx, a.1 + part * dy);
        (from <= to).then(|| [at(from), at(to)])
    }

    /// The corners of a series' line.
    fn corners(&self, series: &Series) -> Vec<Pixel> {
        let mut line: Vec<Pixel> = series.points.iter().map(|p| (self.across(p.0), self.down(p.1))).collect();
        match (series.course, line.first(), line.last()) {
            (Interpolation::Level, Some(&(_, y)), _) => vec![(self.left, y), (self.right, y)],
            (Interpolation::Steps, Some(&first), Some(&last)) => {
                let along = line.windows(2).flat_map(|ends| [(ends[1].0, ends[0].1), ends[1]]);
                let start = [(first.0, self.top), first].into_iter();
                line = start.chain(along).chain([(self.right, last.1)]).collect();
                line
            }
            _ => line,
        }
    }

    /// The runs of a series' line that lie within.
    fn runs(&self, series: &Series) -> Vec<Vec<Pixel>> {
        let mut runs: Vec<Vec<Pixel>> = Vec::new();
        for ends in self.corners(series).windows(2) {
            let Some([from, to]) = self.clip(ends[0], ends[1]) else { continue };
            match runs.last_mut() {
                Some(run) if run.last() == Some(&from) => run.push(to),
                _ => runs.push(vec![from, to]),
            }
        }
        runs
    }
}

/// Draws a panel into a rectangle of the drawing.
pub(crate) fn draw(canvas: &Canvas, panel: &Panel, (left, top): Pixel, (width, height): (f64, f64)) -> Drawn {
    let title = Font(14, HPos::Left, FontStyle::Bold, false);
    canvas.text(&panel.title, (left + LEFT, top + ABOVE / 2.0), title)?;
    let mut y = panel.y.clone();
    let (xs, ys): (Vec<f64>, Vec<f64>) = match &panel.body {
        PanelBody::Curves(all) => {
            // A level has no x, and a band no y.
            let but =
                |course| all.iter().filter(move |series| series.course != course).flat_map(|s| &s.points);
            (
                but(Interpolation::Level).map(|p| p.0).collect(),
                but(Interpolation::Band).map(|p| p.1).collect(),
            )
        }
        PanelBody::Bars(groups) => {
            (Vec::new(), groups.iter().flat_map(|group| &group.bars).map(|bar| bar.total()).collect())
        }
    };
    if ys.is_empty() || (y.scale == AxisScale::Log && ys.iter().all(|y| *y <= 0.0)) {
        return canvas.text("nothing to draw", (left + LEFT, top + 2.0 * ABOVE), from(LABEL));
    }
    if matches!(&panel.body, PanelBody::Bars(_)) && y.scale == AxisScale::Linear {
        // With room for the highest bar's value and note.
        y.low = y.low.or(Some(0.0));
        y.high = y.high.or(Some(1.22 * ys.iter().copied().fold(0.0, f64::max)));
    }
    let (right, bottom) = (left + width - RIGHT, top + height - below(panel));
    let (x, y) = (panel.x.span(&xs), y.span(&ys));
    let plot = Plot { left: left + LEFT, top: top + ABOVE, right, bottom, x, y };
    if let PanelBody::Curves(all) = &panel.body {
        for band in all.iter().filter(|series| series.course == Interpolation::Band) {
            let ends = band.points.first().zip(band.points.last());
            if let Some((from, to)) = ends.map(|(a, b)| (plot.across(a.0), plot.across(b.0))) {
                let corners = [(from, plot.top), (to, plot.bottom)].map(|corner| plot.clamp(corner));
                canvas.rectangle(corners, band.ink, false)?;
            }
        }
    }
    canvas.text(&panel.y.label, (left + 12.0, (plot.top + bottom) / 2.0), TURNED)?;
    for tick in plot.y.ticks(6) {
        let y = plot.down(tick);
        canvas.line(&[(plot.left, y), (right, y)], Ink::GRID, 1, false)?;
        canvas.text(&number(tick), (plot.left - 6.0, y), NUMBER)?;
    }
    canvas.line(&[(plot.left, plot.top), (plot.left, bottom), (right, bottom)], Ink::GREY, 1, false)?;
    match &panel.body {
        PanelBody::Curves(series) => {
            axis_x(canvas, &plot, panel, xs)?;
            curves(canvas, &plot, series, panel.x.fenced || panel.y.fenced)
        }
        PanelBody::Bars(groups) => groups.iter().zip(0..).try_for_each(|(group, place)| {
            let slot = (right - plot.left) / groups.len() as f64;
            bars(canvas, &plot, group, plot.left + (f64::from(place) + 0.5) * slot, slot, named(groups))
        }),
    }
}

fn axis_x(canvas: &Canvas, plot: &Plot, panel: &Panel, mut values: Vec<f64>) -> Drawn {
    canvas.text(&panel.x.label, ((plot.left + plot.right) / 2.0, plot.bottom + 36.0), around(LABEL))?;
    values.sort_by(f64::total_cmp);
    if !panel.x.at_points {
        values = plot.x.ticks(((plot.right - plot.left) / 70.0) as usize);
    }
    // Labels leave room for each other.
    let mut free = f64::NEG_INFINITY;
    for tick in values.into_iter().filter(|value| plot.x.contains(*value)) {
        let (words, x) = (number(tick), plot.across(tick));
        let half = text_width(&words, TEXT) / 2.0;
        if x - half >= free {
            free = x + half + 6.0;
            canvas.line(&[(x, plot.top), (x, plot.bottom)], Ink::GRID, 1, false)?;
            canvas.text(&words, (x, plot.bottom + 14.0), around(TEXT))?;
        }
    }
    Ok(())
}

/// Draws series; the values of few points outside are written where that is unexpected.
fn curves(canvas: &Canvas, plot: &Plot, all: &[Series], fenced: bool) -> Drawn {
    let mut outside: Vec<(Pixel, Ink, (f64, f64))> = Vec::new();
    for series in all.iter().filter(|series| series.course != Interpolation::Band) {
        for run in plot.runs(series).iter().filter(|_| series.width > 0) {
            canvas.line(run, series.ink, series.width, series.dashed)?;
        }
        let Some(marker) = series.marker else { continue };
        for &(x, y) in &series.points {
            let at = (plot.across(x), plot.down(y));
            if plot.x.contains(x) && plot.y.contains(y) {
                canvas.marker(at, marker, series.ink)?;
            } else if marker != Marker::RING {
                outside.push((at, series.ink, (x, y)));
            }
        }
    }
    let told = fenced && outside.len() <= MOST_OUTSIDE;
    for (at, ink, (x, y)) in outside {
        let edge = plot.clamp(at);
        // An arrow outwards.
        let sign = |d: f64| if d == 0.0 { 0.0 } else { d.signum() };
        let (right, down) = (sign(at.0 - edge.0), sign(at.1 - edge.1));
        let corner = |along: f64, side: f64| {
            (edge.0 + along * right - side * down, edge.1 + along * down + side * right)
        };
        canvas.polygon(vec![corner(7.0, 0.0), corner(-3.0, 5.0), corner(-3.0, -5.0)], ink)?;
        if told {
            let short = |x: f64| number(format!("{x:.3e}").parse().unwrap_or(x));
            let words = format!("at {}; {}", short(x), short(y));
            let in_right_half = edge.0 > (plot.left + plot.right) / 2.0;
            let (font, away) = if in_right_half { (NUMBER, -12.0) } else { (from(TEXT), 12.0) };
            canvas.text(&words, (edge.0 + away, edge.1 - 10.0 * down), font)?;
        }
    }
    Ok(())
}

fn bars(canvas: &Canvas, plot: &Plot, group: &BarGroup, middle: f64, slot: f64, named: bool) -> Drawn {
    let width = (FILLED * slot / group.bars.len().max(1) as f64).min(90.0);
    let first = middle - width * group.bars.len() as f64 / 2.0;
    let mut highest = plot.bottom;
    for (i, bar) in group.bars.iter().enumerate() {
        let (left, mut sum, mut below) = (first + i as f64 * width, 0.0, plot.bottom);
        for (_, ink, value) in &bar.segments {
            sum += value;
            let above = plot.clamp((left, plot.down(sum))).1;
            canvas.rectangle([(left, above), (left + 0.92 * width, below)], *ink, true)?;
            below = above;
        }
        highest = highest.min(below);
        canvas.text(&bar.value, (left + 0.46 * width, below - 9.0), around(TEXT))?;
    }
    let mut from = first;
    for same in group.bars.chunk_by(|a, b| a.name == b.name) {
        let to = from + same.len() as f64 * width;
        canvas.text(&same[0].name, ((from + to) / 2.0 - 0.04 * width, plot.bottom + 12.0), around(TEXT))?;
        from = to;
    }
    let note = Font(LABEL, HPos::Center, FontStyle::Bold, false);
    canvas.text(&group.note, (middle, highest - 27.0), note)?;
    let turned = Font(LABEL, HPos::Right, FontStyle::Normal, true);
    let (down, font) = if named { (32.0, around(LABEL)) } else { (8.0, turned) };
    canvas.text(&group.name, (middle, plot.bottom + down), font)
}

/// Refuses numbers that have no place.
pub(crate) fn check(panel: &Panel) -> Result<(), ChartError> {
    let wrong = match &panel.body {
        PanelBody::Curves(all) => {
            let values =
                all.iter().flat_map(|s| s.points.iter().flat_map(move |p| [(&s.name, p.0), (&s.name, p.1)]));
            values.into_iter().find(|(_, value)| !value.is_finite())
        }
        PanelBody::Bars(groups) => {
            let segments = groups.iter().flat_map(|group| &group.bars).flat_map(|bar| &bar.segments);
            segments.map(|s| (&s.0, s.2)).find(|(_, value)| !(value.is_finite() && *value >= 0.0))
        }
    };
    wrong.map_or(Ok(()), |(name, value)| Err(ChartError::Value(name.clone(), value)))
}
