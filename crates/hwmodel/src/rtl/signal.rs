//! The table of signals: the number on a wire, and the row that shows it.
//!
//! A module describes a signal where it makes the wire: [`Module::signal`](super::Module::signal) with the format of the number, the
//! text of the row and, before that, the [`Stage`]. Waves, their save files, the actions in them and the recorder of the pipeline chart
//! read the table from the finished [`Circuit`](super::Circuit). The format of a number belongs to the net, so all pins of the net and
//! the registers before and after it have it. The table does not change the emitted Verilog.
//!
//! A wrong row does not go unnoticed. Wires, stages, roles and formats are Rust values, so a misspelt one does not compile. A port or a
//! part that is shown by its name must exist, and a float must be as wide as its wire; otherwise building the design panics. Tests build
//! all kinds of cores and fail for a bus of several bits that has neither a format nor a row.

use flashd_spec::bits::{ones, signed as signed_value};
use flashd_spec::format::Format;

/// The format of the number on a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// A float.
    Float(Format),
    /// Fixed point.
    Fixed {
        /// Two's complement.
        signed: bool,
        /// Fraction bits.
        fraction: u32,
    },
    /// `{right, m}`: `m 2^-fraction 2^-right`.
    Factor {
        /// Width of the significand m.
        significand: u32,
        /// Fraction bits of the significand.
        fraction: u32,
    },
    /// An exponent field, the amount of a shift, flags: best read as bits.
    Bits,
}

/// Two's complement with so many fraction bits.
pub const fn signed(fraction: u32) -> Number {
    Number::Fixed { signed: true, fraction }
}

/// Unsigned, with so many fraction bits.
pub const fn unsigned(fraction: u32) -> Number {
    Number::Fixed { signed: false, fraction }
}

impl Number {
    /// The decimal value of a word of `width` bits.
    pub fn value(self, bits: u64, width: u32) -> f64 {
        // A power of two by its exponent field, as long as it is a normal number.
        let scaled = |x: f64, fraction: u64| match fraction {
            ..1023 => x * f64::from_bits((1023 - fraction) << 52),
            _ => x * (-(fraction as f64)).exp2(),
        };
        match self {
            Number::Float(format) => format.value(bits),
            Number::Fixed { signed: true, fraction } => {
                scaled(signed_value(bits, width) as f64, fraction.into())
            }
            Number::Fixed { signed: false, fraction } => scaled(bits as f64, fraction.into()),
            Number::Factor { significand, fraction } => {
                scaled((bits & ones(significand)) as f64, u64::from(fraction) + (bits >> significand))
            }
            Number::Bits => bits as f64,
        }
    }

    /// Whether a wire of `width` bits can carry it.
    pub fn fits(self, width: u32) -> bool {
        match self {
            Number::Float(format) => format.width() == width,
            Number::Factor { significand, .. } => significand < width,
            Number::Fixed { .. } | Number::Bits => true,
        }
    }
}

/// The pipeline stages of a core, after the ports of a machine around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// The streams of a wrapper.
    Streams,
    /// The ports of a machine made of cores.
    Ports,
    /// A query and a key enter the core.
    QueryAndKey,
    /// The sum of the products.
    AdderTree,
    /// The score before its cap.
    UncappedScore,
    /// So many stages after the score.
    Score(usize),
    /// The result.
    Result,
}

/// The order of rows in a stage, by their kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row {
    /// A flag of the step in the stage.
    Flag,
    /// Bits, or a number.
    Plain,
    /// After numbers.
    Late,
    /// A number, and its course as an analog trace; among the late ones.
    Trace,
}

/// The role of a bit for readers that compute with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A step is in the stage.
    Valid,
    /// The step is its query's first.
    First,
    /// The step updates the output; otherwise it is held.
    Update,
    /// In a wrapper: low in reset.
    NoReset,
    /// In a wrapper: the array moves.
    Moves,
    /// A key is offered to an array.
    KeyValid,
    /// The array takes a key.
    KeyReady,
}

/// A row that shows a signal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signal {
    /// Its stage.
    pub stage: Stage,
    /// The kind of row.
    pub row: Row,
    /// The text next to it.
    pub label: String,
    /// The title of the rows with which it is folded away.
    pub fold: Option<&'static str>,
    /// The element that it belongs to, of a vector.
    pub element: Option<usize>,
    /// Its role, if readers look for it.
    pub role: Option<Role>,
    /// The names of the parts around its pin and of the pin, joined by dots, as [`readable`](super::readable) writes them.
    pub path: String,
}

/// A path as readers see it: element 3 of a vector is visited as `x$3`, and here it is `x_3`, as in the emitted Verilog's instances.
/// GTKWave takes `x[3]` for bit 3 of a bus `x`.
pub fn readable(path: &str) -> String {
    path.replace('$', "_")
}

/// Elements of a vector that have rows.
pub const SHOWN_ELEMENTS: usize = 4;

/// The place in labels of the number of the element.
pub(super) const NUMBER: char = '#';

/// The place of rows that are described next.
#[derive(Clone, Copy, Default)]
pub(super) struct Place {
    /// The stage; none where nothing is shown.
    pub(super) stage: Option<Stage>,
    pub(super) fold: Option<&'static str>,
}
