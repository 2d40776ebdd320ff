//! Stacked bars of area and power, after Fig. 4 and 5 of the paper.
//!
//! A panel for each vector length, because areas of different lengths would not be readable on one axis; in it
//! a pair of bars for each format.

use super::compare::{
    Compared, Pair, area_saving, energy_saving, glitch_saving, groups, in_words, mean, same_clock,
};
use super::layout::{axis, caption, rows_of_legend, wrap};
use super::tables::significant;
use crate::figures::{CoreFigures, Part};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::collections::BTreeMap;

/// Sizes in pixels.
const PAIR: i32 = 136;
/// A pair where there are only a few.
const WIDE_PAIR: i32 = 190;
/// A pair of four bars: each design without glitches and with.
const DOUBLE_PAIR: i32 = 230;
const AXIS: i32 = 72;
const MARGIN: i32 = 16;
const NARROWEST: i32 = 560;
const PANEL: i32 = 330;
const BELOW: i32 = 66;
const LINE: i32 = 18;
const TITLE: i32 = 18;
const TITLE_LINE: i32 = 24;
/// Room above the highest bar for its value and the saving, as a part of the bar.
const HEADROOM: f64 = 0.22;

const GREY: RGBColor = RGBColor(0x44, 0x4c, 0x56);
const INK: RGBColor = RGBColor(0x1b, 0x1f, 0x24);
/// A core without figures by function.
const WHOLE: RGBColor = RGBColor(0x8a, 0xa4, 0xc0);

/// What a chart shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Cell area.
    Area,
    /// Power, or energy a cycle where the clocks differ; with glitches beside it, where they are known.
    Power,
}

/// A chart of one group of figures.
#[derive(Clone, Debug)]
pub struct Chart {
    /// What it shows.
    pub measure: Measure,
    /// Position of its group in [`groups`].
    pub group: usize,
    /// File name: `area_osu018_stdcells.svg`.
    pub name: String,
    /// In words, with the average saving.
    pub caption: String,
    /// The drawing.
    pub svg: String,
}

/// A chart that could not be drawn.
#[derive(Debug, thiserror::Error)]
#[error("drawing {name}: {problem}")]
pub struct DrawingError {
    name: String,
    problem: String,
}

/// Charts of area and power of every group that has a pair to compare.
///
/// # Errors
/// If the drawing library fails.
pub fn charts(figures: &[CoreFigures]) -> Result<Vec<Chart>, DrawingError> {
    let mut charts = Vec::new();
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    for (index, group) in groups(figures).iter().enumerate() {
        let library: String =
            group.library.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let count = names.entry(library.clone()).or_default();
        *count += 1;
        let suffix = if *count > 1 { format!("_{count}") } else { String::new() };
        for (measure, stem) in [(Measure::Area, "area"), (Measure::Power, "power")] {
            let Some(plan) = Plan::new(group, measure) else { continue };
            let name = format!("{stem}_{library}{suffix}.svg");
            let svg = plan.draw().map_err(|e| DrawingError { name: name.clone(), problem: e.to_string() })?;
            charts.push(Chart { measure, group: index, name, caption: plan.caption, svg });
        }
    }
    Ok(charts)
}

/// A bar: what it stands for and its segments from the bottom up.
struct Bar {
    label: &'static str,
    segments: Vec<(RGBColor, f64)>,
    /// The same with glitches; empty where they are not known.
    glitches: Vec<(RGBColor, f64)>,
}

impl Bar {
    /// Height of the bar, and of the one with glitches.
    fn heights(&self) -> [f64; 2] {
        [&self.segments, &self.glitches].map(|segments| segments.iter().map(|(_, value)| value).sum())
    }
}

/// Two bars and what is written at them.
struct Bars {
    format: String,
    fa2: Bar,
    flash_d: Bar,
    saving: String,
}

/// What is drawn, before it has a size.
struct Plan {
    title: String,
    caption: String,
    unit: &'static str,
    legend: Vec<(RGBColor, &'static str)>,
    panels: BTreeMap<usize, Vec<Bars>>,
    /// Whether each bar has one with glitches beside it.
    with_glitches: bool,
}

fn colour(part: Part) -> RGBColor {
    // Told apart by readers who are colour-blind, and in grey.
    match part {
        Part::DotProduct => RGBColor(0x00, 0x72, 0xb2),
        Part::Weight => RGBColor(0xf0, 0xc0, 0x40),
        Part::OutputUpdate => RGBColor(0x2a, 0xa8, 0x82),
        Part::Division => RGBColor(0xc4, 0x4e, 0x1a),
        Part::Control => RGBColor(0xb4, 0xb8, 0xbe),
    }
}

impl Plan {
    /// `None` if there is nothing to compare.
    fn new(group: &Compared, measure: Measure) -> Option<Plan> {
        let drawn = |pair: &Pair| measure == Measure::Area || energy_saving(pair.flash_d, pair.fa2).is_some();
        let pairs: Vec<Pair> = group.pairs().into_iter().filter(drawn).collect();
        let cores = || pairs.iter().flat_map(|pair| [pair.fa2, pair.flash_d]);
        let clock = cores().next()?.timing.clock;
        let known = |pair: &Pair| glitch_saving(pair.flash_d, pair.fa2).is_some();
        let with_glitches = measure == Measure::Power && pairs.iter().all(known);
        let one_clock = cores().all(|core| same_clock(core.timing.clock, clock));
        let largest_area = cores().map(|core| core.area.total).fold(0.0, f64::max);
        let (quantity, unit, scale): (_, _, Scale) = match measure {
            Measure::Area if largest_area >= 1e5 => ("Area", "mm2", Box::new(|_| 1e-6)),
            Measure::Area => ("Area", "um2", Box::new(|_| 1.0)),
            Measure::Power if one_clock => ("Power", "mW", Box::new(|_| 1.0)),
            Measure::Power => {
                let energy = |core: &CoreFigures| core.power.as_ref().map_or(0.0, |p| p.energy() / p.total);
                ("Energy a cycle", "pJ", Box::new(energy))
            }
        };
        let values = |core: &CoreFigures| match (measure, &core.power) {
            (Measure::Power, Some(power)) => {
                let glitches = power.glitches.as_ref().filter(|_| with_glitches);
                let glitches = glitches.map(|glitches| (glitches.total, glitches.by_part.clone()));
                ((power.total, power.by_part.clone()), glitches)
            }
            _ => ((core.area.total, core.area.by_part.clone()), None),
        };
        let mut legend: Vec<(RGBColor, &'static str)> = Vec::new();
        let mut bar = |label, core: &CoreFigures| {
            let (plain, glitches) = values(core);
            let scale = scale(core);
            let mut segments = |(total, by_part): (f64, Vec<(Part, f64)>)| -> Vec<(RGBColor, f64)> {
                if core.area.by_part.is_empty() {
                    legend.push((WHOLE, "whole core, hierarchy dissolved"));
                    return vec![(WHOLE, total * scale)];
                }
                let parts = Part::ALL.into_iter().map(|part| (part, part.of(&by_part) * scale));
                let parts: Vec<_> = parts.filter(|(_, value)| *value > 0.0).collect();
                legend.extend(parts.iter().map(|(part, _)| (colour(*part), part.name())));
                parts.into_iter().map(|(part, value)| (colour(part), value)).collect()
            };
            Bar { label, segments: segments(plain), glitches: glitches.map(segments).unwrap_or_default() }
        };
        let mut savings = Vec::new();
        let mut panels: BTreeMap<usize, Vec<Bars>> = BTreeMap::new();
        for pair in &pairs {
            let saving = match measure {
                Measure::Area => area_saving(pair.flash_d, pair.fa2),
                Measure::Power => energy_saving(pair.flash_d, pair.fa2).unwrap_or_default(),
            };
            savings.push(saving);
            panels.entry(pair.flash_d.configuration.d).or_default().push(Bars {
                format: pair.flash_d.configuration.format.to_string(),
                fa2: bar("FA2", pair.fa2),
                flash_d: bar("FLASH-D", pair.flash_d),
                saving: match glitch_saving(pair.flash_d, pair.fa2).filter(|_| with_glitches) {
                    Some(glitches) => format!("{}, {}", in_words(saving), in_words(glitches)),
                    None => in_words(saving),
                },
            });
        }
        let all: Vec<(RGBColor, &'static str)> =
            Part::ALL.map(|part| (colour(part), part.name())).into_iter().chain(legend.clone()).collect();
        let mut shown: Vec<(RGBColor, &'static str)> = Vec::new();
        for entry in all {
            if legend.contains(&entry) && !shown.contains(&entry) {
                shown.push(entry);
            }
        }
        let at = match (measure, one_clock) {
            (Measure::Power, true) => format!(" at {} ns", significant(clock)),
            _ => String::new(),
        };
        let title = format!("{quantity}{at}, {unit}: {}", group.library);
        let mut caption = caption(&savings, &pairs, group)?;
        if with_glitches {
            let savings = pairs.iter().filter_map(|pair| glitch_saving(pair.flash_d, pair.fa2));
            let words = mean(savings).map_or(String::new(), in_words);
            caption +=
                &format!(" Left bar of each design: without glitches; right bar: with glitches, {words}.");
        }
        Some(Plan { title, caption, unit, legend: shown, panels, with_glitches })
    }

    fn draw(&self) -> Result<String, Box<dyn std::error::Error>> {
        let pairs: i32 = self.panels.values().map(|bars| bars.len() as i32).sum();
        let between = MARGIN + (AXIS + MARGIN) * self.panels.len() as i32;
        let (pair, wide) = if self.with_glitches { (DOUBLE_PAIR, DOUBLE_PAIR) } else { (PAIR, WIDE_PAIR) };
        let width = (between + pair * pairs).max(NARROWEST);
        let pair_width = ((width - between) / pairs.max(1)).clamp(pair, wide);
        let legend = rows_of_legend(&self.legend, width - 2 * MARGIN);
        let caption = wrap(&self.caption, 13, width - 2 * MARGIN);
        let title = wrap(&self.title, TITLE, width - 2 * MARGIN);
        let caption_top = MARGIN + TITLE_LINE * title.len() as i32 + 6;
        let legend_top = caption_top + LINE * caption.len() as i32 + 8;
        let top = legend_top + LINE * legend.len() as i32 + 10;
        let height = top + PANEL + MARGIN / 2;
        let mut svg = String::new();
        {
            let root = SVGBackend::with_string(&mut svg, (width as u32, height as u32)).into_drawing_area();
            root.fill(&WHITE)?;
            let text = |size: i32, colour: RGBColor| ("sans-serif", size).into_font().color(&colour);
            for (line, words) in title.iter().enumerate() {
                let y = MARGIN + TITLE_LINE * (line as i32 + 1) - 6;
                root.draw_text(words, &text(TITLE, INK).pos(anchor(HPos::Left)), (MARGIN, y))?;
            }
            for (line, words) in caption.iter().enumerate() {
                let y = caption_top + LINE * (line as i32 + 1) - 4;
                root.draw_text(words, &text(13, GREY).pos(anchor(HPos::Left)), (MARGIN, y))?;
            }
            for (row, entries) in legend.iter().enumerate() {
                let y = legend_top + LINE * row as i32;
                for (x, colour, words) in entries {
                    let x = MARGIN + x;
                    root.draw(&Rectangle::new([(x, y + 2), (x + 12, y + 14)], colour.filled()))?;
                    root.draw_text(words, &text(12, INK).pos(anchor(HPos::Left)), (x + 18, y + 13))?;
                }
            }
            let mut left = 0;
            for (d, bars) in &self.panels {
                let panel_width = AXIS + MARGIN + pair_width * bars.len() as i32;
                let area = root.clone().shrink((left, top), (panel_width, PANEL));
                self.panel(&root, &area, *d, bars)?;
                left += panel_width;
            }
            root.present()?;
        }
        Ok(svg)
    }

    /// The bars of one vector length.
    fn panel(&self, root: &Area<'_>, area: &Area<'_>, d: usize, bars: &[Bars]) -> Drawn {
        let height = |bar: &Bar| bar.heights().into_iter().fold(0.0, f64::max);
        let highest = bars.iter().flat_map(|b| [height(&b.fa2), height(&b.flash_d)]).fold(0.0, f64::max);
        let top = highest * (1.0 + HEADROOM);
        let mut chart = ChartBuilder::on(area)
            .margin_top(22)
            .margin_right(MARGIN)
            .set_label_area_size(LabelAreaPosition::Left, AXIS)
            .set_label_area_size(LabelAreaPosition::Bottom, BELOW)
            .build_cartesian_2d(0.0..bars.len() as f64, 0.0..top)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .disable_x_axis()
            .y_labels(6)
            .y_label_style(("sans-serif", 12).into_font().color(&GREY))
            .y_label_formatter(&|y| axis(*y))
            .bold_line_style(RGBColor(0xe0, 0xe3, 0xe8))
            .light_line_style(WHITE)
            .axis_style(GREY)
            .draw()?;
        let plot = chart.plotting_area();
        let text = |size: i32, colour: RGBColor| {
            ("sans-serif", size).into_font().color(&colour).pos(anchor(HPos::Center))
        };
        for (index, pair) in bars.iter().enumerate() {
            for (bar, from) in [(&pair.fa2, 0.1), (&pair.flash_d, 0.52)] {
                let whole = (index as f64 + from, 0.38);
                let half = (whole.0, 0.19);
                let stacks = match bar.glitches.is_empty() {
                    true => vec![(whole, &bar.segments)],
                    false => vec![(half, &bar.segments), ((half.0 + half.1, half.1), &bar.glitches)],
                };
                for ((left, width), segments) in stacks {
                    let mut bottom = 0.0;
                    for (colour, value) in segments {
                        let corners = [(left, bottom), (left + width, bottom + value)];
                        plot.draw(&Rectangle::new(corners, colour.filled()))?;
                        plot.draw(&Rectangle::new(corners, WHITE.stroke_width(1)))?;
                        bottom += value;
                    }
                    let (x, y) = plot.map_coordinate(&(left + width / 2.0, bottom));
                    root.draw_text(&significant(bottom), &text(12, INK), (x, y - 4))?;
                }
                let (x, y) = plot.map_coordinate(&(whole.0 + whole.1 / 2.0, 0.0));
                root.draw_text(bar.label, &text(12, INK), (x, y + 17))?;
            }
            let taller = height(&pair.fa2).max(height(&pair.flash_d));
            let (x, y) = plot.map_coordinate(&(index as f64 + 0.5, taller));
            let bold = ("sans-serif", 14, FontStyle::Bold).into_font().color(&INK).pos(anchor(HPos::Center));
            root.draw_text(&pair.saving, &bold, (x, y - 22))?;
            let (x, y) = plot.map_coordinate(&(index as f64 + 0.5, 0.0));
            root.draw_text(&pair.format, &text(13, INK), (x, y + 35))?;
        }
        let (x, y) = plot.map_coordinate(&(bars.len() as f64 / 2.0, 0.0));
        root.draw_text(&format!("d = {d}"), &text(14, INK), (x, y + 56))?;
        let (x, y) = plot.map_coordinate(&(0.0, top));
        root.draw_text(self.unit, &text(12, GREY).pos(anchor(HPos::Right)), (x - 10, y - 9))?;
        Ok(())
    }
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
/// From a core's figures to the unit of the axis.
type Scale = Box<dyn Fn(&CoreFigures) -> f64>;
type Drawn = Result<(), Box<dyn std::error::Error>>;

fn anchor(horizontal: HPos) -> Pos {
    Pos::new(horizontal, VPos::Bottom)
}
