//! What the shape of a marker tells: the variant among cores of one format, the format among cores of all.

use super::marker::{Marker, Shape};
use crate::explore::points::{CorePoint, FormatResult};
use flashd_spec::format::Encodings;

/// What shapes tell apart.
pub enum Shapes {
    /// Variants.
    Variants,
    /// Formats, in the order of their panels.
    Formats(Vec<Encodings>),
}

impl Shapes {
    /// Those of a panel, beside the panels of `formats`.
    pub fn of(result: &FormatResult, formats: &[FormatResult]) -> Shapes {
        match result.format {
            Some(_) => Shapes::Variants,
            None => Shapes::Formats(formats.iter().filter_map(|result| result.format).collect()),
        }
    }

    /// The shape of a core.
    pub fn shape(&self, point: &CorePoint) -> Shape {
        match self {
            Shapes::Variants => Marker::of(&point.variant).into(),
            Shapes::Formats(all) => {
                Shape::numbered(all.iter().position(|&format| Some(format) == point.format).unwrap_or(0))
            }
        }
    }

    /// How a core is called in the panel.
    pub fn label(&self, point: &CorePoint) -> String {
        match point.format {
            Some(format) => format!("{}, {format}", point.stem),
            None => point.stem.clone(),
        }
    }
}
