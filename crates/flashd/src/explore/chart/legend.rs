//! The legend of a panel.

use super::marker::{Marker, Shape, draw_marker};
use super::shapes::Shapes;
use super::{Area, Drawn, FONT, TEXT, colour};
use crate::explore::points::FormatResult;
use flashd_spec::config::Design;
use flashd_spec::format::Encodings;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::error::Error;

/// Pixels from line to line, and above the first.
const LINE: i32 = 21;
const ABOVE: i32 = 60;
/// Characters that a line has room for.
const CHARACTERS: usize = 26;
const GREY: RGBColor = RGBColor(90, 90, 90);

/// What stands before a line.
#[derive(Clone, Copy)]
enum Sign {
    Nothing,
    Marker(Shape, RGBColor),
    Front(RGBColor),
    Knee(RGBColor),
}

/// The lines of a legend: formats are in grey once, as they are those of both designs; variants belong to one.
fn lines(shapes: &Shapes, drawn: &[Drawn], result: &FormatResult) -> Vec<(Sign, String)> {
    let mut lines = Vec::new();
    if let Shapes::Formats(formats) = shapes {
        for (i, format) in formats.iter().enumerate() {
            if drawn.iter().any(|p| p.point.format == Some(*format)) {
                let marker = Sign::Marker(Shape::numbered(i), GREY);
                let signs = std::iter::once(marker).chain(std::iter::repeat(Sign::Nothing));
                lines.extend(signs.zip(in_lines(format)));
            }
        }
        lines.push((Sign::Nothing, String::new()));
    }
    for design in Design::ALL {
        let ink = colour(design);
        let mut variants: Vec<&str> =
            drawn.iter().filter(|p| p.point.design() == design).map(|p| p.point.variant.as_str()).collect();
        variants.sort_unstable();
        variants.dedup();
        if variants.is_empty() {
            continue;
        }
        match shapes {
            Shapes::Variants => {
                let marker = |variant| Sign::Marker(Marker::of(variant).into(), ink);
                lines.extend(variants.into_iter().map(|variant| (marker(variant), variant.to_string())));
                lines.push((Sign::Front(ink), "front".into()));
            }
            Shapes::Formats(_) => lines.push((Sign::Front(ink), format!("{}, front", design.title()))),
        }
        if result.choice(design).is_some_and(|choice| choice.knee.is_some()) {
            lines.push((Sign::Knee(ink), "knee".into()));
        }
        lines.push((Sign::Nothing, String::new()));
    }
    lines.push((Sign::Nothing, "pale: not on its design's front".into()));
    lines
}

/// Formats and scales in lines that fit.
fn in_lines(format: &Encodings) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in format.to_string().split(", ") {
        match lines.last_mut() {
            Some(line) if line.len() + part.len() + 2 <= CHARACTERS => {
                line.push_str(", ");
                line.push_str(part);
            }
            _ => lines.push(part.to_string()),
        }
    }
    lines
}

/// Height that a legend needs, pixels.
pub fn height(shapes: &Shapes, drawn: &[Drawn], result: &FormatResult) -> u32 {
    (ABOVE + LINE * (lines(shapes, drawn, result).len() as i32 + 1)) as u32
}

/// Draws the legend.
pub fn draw(
    area: &Area,
    shapes: &Shapes,
    drawn: &[Drawn],
    result: &FormatResult,
) -> Result<(), Box<dyn Error>> {
    for ((sign, text), y) in lines(shapes, drawn, result).into_iter().zip((ABOVE..).step_by(LINE as usize)) {
        match sign {
            Sign::Nothing => {}
            Sign::Marker(shape, ink) => draw_marker(area, (20, y), shape.style(ink, false))?,
            Sign::Front(ink) => area.draw(&PathElement::new([(8, y), (32, y)], ink.stroke_width(2)))?,
            Sign::Knee(ink) => area.draw(&Circle::new((20, y), 9, ink.stroke_width(2)))?,
        }
        let style = (FONT, TEXT).into_text_style(area).pos(Pos::new(HPos::Left, VPos::Center));
        area.draw(&Text::new(text, (40, y), style))?;
    }
    Ok(())
}
