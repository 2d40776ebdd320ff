//! Markers: the shape tells the variant or the format, the colour the design.

use plotters::coord::Shift;
use plotters::drawing::DrawingAreaErrorKind;
use plotters::prelude::*;

/// Shape of a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    /// The shipped variant.
    Disc,
    /// FA2 with a separate multiplier for the final scale: `separate`.
    Triangle,
    /// FLASH-D with every operation rounded.
    Bar,
    /// Fixed point.
    Square,
    /// Fixed point relative to the log-sum-exp's exponent.
    Diamond,
    /// The same with one multiplier a lane.
    Right,
    /// After the paper.
    Cross,
    /// Formats use it, variants do not.
    Down,
    /// FA2 in fixed point, each lane with an exponent.
    Up,
}

/// A marker, filled or as an outline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    marker: Marker,
    hollow: bool,
}

/// A shape with its ink.
#[derive(Clone, Copy)]
pub struct Style {
    shape: Shape,
    ink: RGBAColor,
}

/// Markers of formats, those first that differ most.
const IN_ORDER: [Marker; 8] = [
    Marker::Disc,
    Marker::Square,
    Marker::Triangle,
    Marker::Diamond,
    Marker::Cross,
    Marker::Down,
    Marker::Right,
    Marker::Bar,
];

impl From<Marker> for Shape {
    fn from(marker: Marker) -> Shape {
        Shape { marker, hollow: false }
    }
}

impl Shape {
    /// The n-th of 16 shapes, counted from 0; more begin again.
    pub fn numbered(n: usize) -> Shape {
        Shape { marker: IN_ORDER[n % IN_ORDER.len()], hollow: n / IN_ORDER.len() % 2 == 1 }
    }

    /// In a design's colour, pale where the point is not on the front.
    pub fn style(self, colour: RGBColor, pale: bool) -> Style {
        Style { shape: self, ink: colour.mix(if pale { 0.35 } else { 1.0 }) }
    }
}

impl Marker {
    /// The marker of a variant, by the words in its name.
    pub fn of(variant: &str) -> Marker {
        let has = |word: &str| variant.split('_').any(|part| part == word);
        match () {
            _ if has("paper") || has("literal") => Marker::Cross,
            _ if has("logref") => Marker::Diamond,
            _ if has("sharedlog") => Marker::Right,
            // A shipped datapath has no word in its name: of FA2, one of the two has, and FLASH-D's is `flash_d_ranged` only where another one ships.
            _ if has("fa2") && (has("ranged") || has("shared")) => Marker::Up,
            _ if has("fixed") || has("ranged") => Marker::Square,
            _ if has("separate") => Marker::Triangle,
            _ if has("rounded") => Marker::Bar,
            _ => Marker::Disc,
        }
    }

    /// Corners around the centre, pixels.
    fn corners(self) -> Vec<(i32, i32)> {
        match self {
            Marker::Disc => Vec::new(),
            Marker::Triangle => vec![(0, -6), (6, 5), (-6, 5)],
            Marker::Down => vec![(0, 6), (6, -5), (-6, -5)],
            Marker::Up => vec![(-6, 5), (0, -6), (6, 5), (0, 1)],
            Marker::Right => vec![(6, 0), (-5, -6), (-5, 6)],
            Marker::Bar => vec![(-6, -2), (6, -2), (6, 3), (-6, 3)],
            Marker::Square => vec![(-4, -4), (5, -4), (5, 5), (-4, 5)],
            Marker::Diamond => vec![(0, -6), (6, 0), (0, 6), (-6, 0)],
            Marker::Cross => vec![
                (-5, -3),
                (-3, -5),
                (0, -2),
                (3, -5),
                (5, -3),
                (2, 0),
                (5, 3),
                (3, 5),
                (0, 2),
                (-3, 5),
                (-5, 3),
                (-2, 0),
            ],
        }
    }
}

/// Draws a marker around a pixel.
///
/// # Errors
/// Those of the backend.
pub fn draw_marker<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    (x, y): (i32, i32),
    style: Style,
) -> Result<(), DrawingAreaErrorKind<DB::ErrorType>> {
    let Style { shape: Shape { marker, hollow }, ink } = style;
    let filled = if hollow { ink.stroke_width(2) } else { ink.filled() };
    let mut corners: Vec<_> = marker.corners().iter().map(|(dx, dy)| (x + dx, y + dy)).collect();
    match (marker, hollow) {
        (Marker::Disc, _) => area.draw(&Circle::new((x, y), 5, filled)),
        (_, false) => area.draw(&Polygon::new(corners, filled)),
        (_, true) => {
            corners.extend_from_within(..1);
            area.draw(&PathElement::new(corners, filled))
        }
    }
}
