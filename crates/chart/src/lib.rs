//! A chart as data, and its drawing as SVG.
//!
//! ```
//! use flashd_chart::{Axis, Chart, Ink, Marker, Panel, PanelBody, Series, svg};
//! let errors = Series { points: vec![(16.0, 0.5), (64.0, 0.2)], ..Series::line("FLASH-D", Ink::nth(0)) };
//! let body = PanelBody::Curves(vec![Series { marker: Some(Marker::nth(0)), ..errors }]);
//! let panel = Panel { title: "bf16".into(), x: Axis::log("keys"), y: Axis::log("error, %"), body };
//! let text = svg(&[Chart { title: "Errors".into(), panels: vec![panel], ..Chart::default() }])?;
//! assert!(text.contains("FLASH-D") && text.matches("<circle").count() == 3);
//! # Ok::<(), flashd_chart::ChartError>(())
//! ```

#![warn(unreachable_pub)]

mod axis;
mod canvas;
mod layout;
mod panel;

pub use axis::{Axis, AxisScale};
pub use canvas::{Ink, Marker};
pub use layout::svg;

/// Panels in rows, with one legend below.
#[derive(Clone, Debug, Default)]
pub struct Chart {
    /// Above all.
    pub title: String,
    /// Sentences below the title.
    pub notes: Vec<String>,
    /// Panels in a row; 0 counts as 1.
    pub columns: usize,
    /// Row by row.
    pub panels: Vec<Panel>,
}

/// A pair of axes and the data on them.
#[derive(Clone, Debug)]
pub struct Panel {
    /// Above the axes.
    pub title: String,
    /// The horizontal axis; bars have names in its place.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The data.
    pub body: PanelBody,
}

/// The data of a panel.
#[derive(Clone, Debug)]
pub enum PanelBody {
    /// Points in the plane.
    Curves(Vec<Series>),
    /// Groups of bars.
    Bars(Vec<BarGroup>),
}

/// Points of one style. A point outside the axes is an arrow at their edge.
#[derive(Clone, Debug)]
pub struct Series {
    /// Entry of the legend; a series without points has one, too. Empty: none.
    pub name: String,
    /// Colour.
    pub ink: Ink,
    /// Width of the line, pixels; 0 for none.
    pub width: u32,
    /// Whether the line is dashed.
    pub dashed: bool,
    /// At each point.
    pub marker: Option<Marker>,
    /// How the points are joined.
    pub course: Interpolation,
    /// x and y, in the order in which they are joined. On a logarithmic axis 0 and less are outside, below.
    pub points: Vec<(f64, f64)>,
}

impl Series {
    /// A solid line of two pixels, without points yet.
    pub fn line(name: impl Into<String>, ink: Ink) -> Series {
        let (name, points, course) = (name.into(), Vec::new(), Interpolation::Straight);
        Series { name, ink, width: 2, dashed: false, marker: None, course, points }
    }

    /// Markers without a line, without points yet.
    pub fn markers(name: impl Into<String>, ink: Ink, marker: Marker) -> Series {
        Series { width: 0, marker: Some(marker), ..Series::line(name, ink) }
    }
}

/// How the points of a series are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interpolation {
    /// From point to point.
    Straight,
    /// The least y for an x, points sorted by x: down to each point, along to the next, at last to the right edge.
    Steps,
    /// A horizontal line through the first point, from edge to edge.
    Level,
    /// The area between the x of the first and the last point, from edge to edge.
    Band,
}

/// Bars that belong together.
#[derive(Clone, Debug, Default)]
pub struct BarGroup {
    /// Below the bars; turned, unless the bars have names.
    pub name: String,
    /// Above the bars.
    pub note: String,
    /// From left to right.
    pub bars: Vec<Bar>,
}

/// A bar of stacked segments.
#[derive(Clone, Debug, Default)]
pub struct Bar {
    /// Below the bar, once for neighbours of one name.
    pub name: String,
    /// Above the bar.
    pub value: String,
    /// Name in the legend, colour and height, from the bottom up.
    pub segments: Vec<(String, Ink, f64)>,
}

impl Bar {
    /// The height of all segments.
    pub fn total(&self) -> f64 {
        self.segments.iter().map(|segment| segment.2).sum()
    }
}

/// A chart that cannot be drawn.
#[derive(Debug, thiserror::Error)]
pub enum ChartError {
    /// A coordinate that is not finite, or a bar of negative height.
    #[error("{0}: {1} has no place on an axis")]
    Value(String, f64),
    /// The drawing library failed.
    #[error("drawing: {0}")]
    Drawing(String),
}

#[cfg(test)]
mod tests;
