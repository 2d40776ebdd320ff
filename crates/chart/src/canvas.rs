//! Colours and shapes, and how they are drawn in pixels.

use crate::ChartError;
use plotters::coord::Shift;
use plotters::element::{DashedPathElement, Drawable, PointCollection};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// A colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ink(u8, u8, u8);

impl Ink {
    /// Black.
    pub const BLACK: Ink = Ink(0x1b, 0x1f, 0x24);
    /// Grey, for references.
    pub const GREY: Ink = Ink(0x78, 0x78, 0x78);
    pub(crate) const GRID: Ink = Ink(0xe0, 0xe3, 0xe8);
    /// Neighbours differ for readers who are colour-blind, and in grey.
    const ALL: [Ink; 10] = [
        Ink(0x00, 0x72, 0xb2),
        Ink(0xd5, 0x5e, 0x00),
        Ink(0x00, 0x9e, 0x73),
        Ink(0xf0, 0xb4, 0x20),
        Ink(0x78, 0x5a, 0xa0),
        Ink(0x56, 0xb4, 0xe9),
        Ink(0x96, 0x50, 0x28),
        Ink(0xcc, 0x58, 0x9a),
        Ink(0x78, 0xa8, 0x20),
        Ink::BLACK,
    ];

    /// The n-th colour, counted from 0; after ten they begin again.
    pub fn nth(n: usize) -> Ink {
        Ink::ALL[n % Ink::ALL.len()]
    }

    /// Mixed with white: 1 is the colour, 0 is white.
    pub fn pale(self, strength: f64) -> Ink {
        let mixed = |x: u8| (255.0 - (255.0 - f64::from(x)) * strength).round() as u8;
        Ink(mixed(self.0), mixed(self.1), mixed(self.2))
    }

    fn rgb(self) -> RGBColor {
        RGBColor(self.0, self.1, self.2)
    }
}

/// The shape of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marker(usize);

/// Corners of markers around the centre, pixels; none for a disc. Those first that differ most.
const CORNERS: [&[(f64, f64)]; 8] = [
    &[],
    &[(-4., -4.), (5., -4.), (5., 5.), (-4., 5.)],
    &[(0., -6.), (6., 5.), (-6., 5.)],
    &[(0., -6.), (6., 0.), (0., 6.), (-6., 0.)],
    &[(-5., -5.), (0., -2.), (5., -5.), (2., 0.), (5., 5.), (0., 2.), (-5., 5.), (-2., 0.)],
    &[(0., 6.), (6., -5.), (-6., -5.)],
    &[(6., 0.), (-5., -6.), (-5., 6.)],
    &[(-6., -2.), (6., -2.), (6., 3.), (-6., 3.)],
];

impl Marker {
    /// A circle around a point that another series has.
    pub const RING: Marker = Marker(2 * CORNERS.len());

    /// The n-th marker, counted from 0: eight filled, eight hollow; after 16 they begin again.
    pub fn nth(n: usize) -> Marker {
        Marker(n % Marker::RING.0)
    }
}

/// A point in pixels.
pub(crate) type Pixel = (f64, f64);
pub(crate) type Drawn = Result<(), ChartError>;

/// Width of words in letters of some height, pixels: more than that of most fonts, so that nothing overlaps.
pub(crate) fn text_width(words: &str, height: i32) -> f64 {
    (words.chars().count() as f64 * f64::from(height) * 0.56).ceil()
}

/// How a text looks: height, position to its point across (down it is in the middle), weight, and whether it is read from below.
#[derive(Clone, Copy)]
pub(crate) struct Font(pub(crate) i32, pub(crate) HPos, pub(crate) FontStyle, pub(crate) bool);

/// A font that begins at its point.
pub(crate) const fn from(size: i32) -> Font {
    Font(size, HPos::Left, FontStyle::Normal, false)
}

/// A font with its point in the middle.
pub(crate) const fn around(size: i32) -> Font {
    Font(size, HPos::Center, FontStyle::Normal, false)
}

fn pixel((x, y): Pixel) -> (i32, i32) {
    (x.round() as i32, y.round() as i32)
}

/// The drawing.
pub(crate) struct Canvas<'a>(pub(crate) DrawingArea<SVGBackend<'a>, Shift>);

impl Canvas<'_> {
    fn element<E>(&self, element: E) -> Drawn
    where
        for<'b> &'b E: PointCollection<'b, (i32, i32)>,
        for<'b> E: Drawable<SVGBackend<'b>>,
    {
        self.0.draw(&element).map_err(|e| ChartError::Drawing(e.to_string()))
    }

    pub(crate) fn text(&self, words: &str, at: Pixel, Font(size, across, weight, turned): Font) -> Drawn {
        let turn = if turned { FontTransform::Rotate270 } else { FontTransform::None };
        let style = ("sans-serif", size, weight).into_font().transform(turn).color(&Ink::BLACK.rgb());
        self.element(Text::new(words.to_string(), pixel(at), style.pos(Pos::new(across, VPos::Center))))
    }

    pub(crate) fn line(&self, points: &[Pixel], ink: Ink, width: u32, dashed: bool) -> Drawn {
        let points: Vec<(i32, i32)> = points.iter().map(|p| pixel(*p)).collect();
        let style = ink.rgb().stroke_width(width);
        match dashed {
            true => self.element(DashedPathElement::new(points, 8, 6, style)),
            false => self.element(PathElement::new(points, style)),
        }
    }

    /// A rectangle, with a white frame where it is a segment of a bar.
    pub(crate) fn rectangle(&self, corners: [Pixel; 2], ink: Ink, framed: bool) -> Drawn {
        self.element(Rectangle::new(corners.map(pixel), ink.rgb().filled()))?;
        if framed { self.element(Rectangle::new(corners.map(pixel), WHITE.stroke_width(1))) } else { Ok(()) }
    }

    pub(crate) fn polygon(&self, corners: Vec<Pixel>, ink: Ink) -> Drawn {
        self.element(Polygon::new(corners.into_iter().map(pixel).collect::<Vec<_>>(), ink.rgb().filled()))
    }

    pub(crate) fn marker(&self, at: Pixel, Marker(n): Marker, ink: Ink) -> Drawn {
        let corners = CORNERS[n % CORNERS.len()].iter().map(|(dx, dy)| (at.0 + dx, at.1 + dy));
        let corners: Vec<Pixel> = corners.collect();
        let radius = if Marker(n) == Marker::RING { 10 } else { 4 };
        match (corners.first(), n < CORNERS.len()) {
            (None, true) => self.element(Circle::new(pixel(at), radius, ink.rgb().filled())),
            (None, false) => self.element(Circle::new(pixel(at), radius, ink.rgb().stroke_width(2))),
            (_, true) => self.polygon(corners, ink),
            (Some(&first), false) => self.line(&[&corners[..], &[first]].concat(), ink, 2, false),
        }
    }
}
