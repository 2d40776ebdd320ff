//! Markers: the shape tells the variant, the colour the design.

use plotters::coord::Shift;
use plotters::drawing::DrawingAreaErrorKind;
use plotters::prelude::*;

/// Shape of a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    /// The shipped variant.
    Disc,
    /// One of the float variants: `fused`, `separate`.
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
    /// A rounding tree as dot product.
    Down,
}

/// A marker with its ink.
#[derive(Clone, Copy)]
pub struct Style {
    marker: Marker,
    ink: RGBAColor,
}

impl Marker {
    /// The marker of a variant, by the words in its name.
    pub fn of(variant: &str) -> Marker {
        let has = |word: &str| variant.split('_').any(|part| part == word);
        match () {
            _ if has("tree") => Marker::Down,
            _ if has("paper") || has("literal") => Marker::Cross,
            _ if has("logref") => Marker::Diamond,
            _ if has("sharedlog") => Marker::Right,
            _ if has("fixed") || has("ranged") => Marker::Square,
            _ if has("fused") || has("separate") => Marker::Triangle,
            _ if has("rounded") => Marker::Bar,
            _ => Marker::Disc,
        }
    }

    /// In a design's colour, pale where the point is not on the front.
    pub fn style(self, colour: RGBColor, pale: bool) -> Style {
        Style { marker: self, ink: colour.mix(if pale { 0.35 } else { 1.0 }) }
    }

    /// Corners around the centre, pixels.
    fn corners(self) -> Vec<(i32, i32)> {
        match self {
            Marker::Disc => Vec::new(),
            Marker::Triangle => vec![(0, -6), (6, 5), (-6, 5)],
            Marker::Down => vec![(0, 6), (6, -5), (-6, -5)],
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
    let ink = style.ink.filled();
    match style.marker {
        Marker::Disc => area.draw(&Circle::new((x, y), 5, ink)),
        marker => {
            let corners: Vec<_> = marker.corners().iter().map(|(dx, dy)| (x + dx, y + dy)).collect();
            area.draw(&Polygon::new(corners, ink))
        }
    }
}
