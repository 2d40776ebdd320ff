//! The formats of a core's operands, with their scales, and the words on its ports.

use super::{Format, Scale, Scales};
use serde::Serialize;
use std::fmt;

/// The formats of a core's operands and of its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Formats {
    /// Format of queries.
    pub q: Format,
    /// Format of keys.
    pub k: Format,
    /// Format of values.
    pub v: Format,
    /// Format of results.
    pub o: Format,
}

/// The same format for q, k and v; results as in [`Format::of_results`].
impl From<Format> for Formats {
    fn from(format: Format) -> Self {
        Formats { q: format, k: format, v: format, o: format.of_results() }
    }
}

impl Formats {
    /// The common format of q, k, v and o, if there is one.
    pub fn uniform(&self) -> Option<Format> {
        self.by_operand().iter().all(|(_, format)| *format == self.q).then_some(self.q)
    }

    /// The formats with the letters of their operands.
    pub fn by_operand(&self) -> [(&'static str, Format); 4] {
        [("q", self.q), ("k", self.k), ("v", self.v), ("o", self.o)]
    }

    /// The formats that differ from the defaults for q's.
    pub fn others(&self) -> impl Iterator<Item = (&'static str, Format)> {
        let one = Formats::from(self.q);
        let pairs = self.by_operand().into_iter().zip(one.by_operand());
        pairs.filter(|(own, of_one)| own != of_one).map(|(own, _)| own)
    }

    /// Significand bits of the lanes: the larger of v's and o's.
    pub fn lane_precision(&self) -> u32 {
        self.v.precision().max(self.o.precision())
    }

    /// The exponents of float lanes: o's if they hold every v, else v's. Results that are integers have bf16's for this: a sum of many
    /// values is beyond the largest integer.
    pub fn lane_exponents(&self) -> Format {
        let results = if self.o.is_wide_float() { self.o } else { Format::BF16 };
        if results.with_fraction(results.fraction_bits.max(self.v.fraction_bits)).holds(self.v) {
            results
        } else {
            self.v.with_fraction(self.v.fraction_bits)
        }
    }

    /// Default scales: a bf16 scale per row for queries and keys that are integers without a binary point.
    pub fn scales(&self) -> Scales {
        let of = |format: Format| {
            if format.is_integer() && !format.is_fixed_point() { Scale::Row } else { Scale::None }
        };
        Scales { q: of(self.q), k: of(self.k), v: Scale::None }
    }

    /// Part of a name: q's format after the formats that differ from it: `bf16`, `k_fp8_e4m3_v_fp8_e4m3_bf16`.
    pub fn ident(&self) -> String {
        let others = self.others().map(|(operand, format)| format!("{operand}_{}_", format.ident()));
        others.collect::<String>() + &self.q.ident()
    }
}

/// Formats and scales of the operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Encodings {
    /// The formats of elements.
    pub formats: Formats,
    /// Their scales.
    pub scales: Scales,
}

/// Most bits of the product of two magnitudes that a dot product adds exactly before a scale multiplies it. The product of sum and scale in the score's
/// places is then a word of 64 bits.
const EXACT_PRODUCT_BITS: u32 = 2 * Format::INT8.precision();

/// Words per vector on the ports: elements, then scales.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Words {
    /// Words of a query.
    pub q: usize,
    /// Words of a key.
    pub k: usize,
    /// Words of a value.
    pub v: usize,
}

impl Words {
    /// `[q, k, v]`.
    pub fn all(self) -> [usize; 3] {
        [self.q, self.k, self.v]
    }
}

/// Vectors of d elements without scales.
impl From<usize> for Words {
    fn from(d: usize) -> Words {
        Words { q: d, k: d, v: d }
    }
}

/// The default scales of the formats.
impl<F: Into<Formats>> From<F> for Encodings {
    fn from(formats: F) -> Encodings {
        let formats = formats.into();
        Encodings { formats, scales: formats.scales() }
    }
}

impl Encodings {
    /// Set if the dot product is an exact integer that the row scales multiply at the end: integers q and k whose
    /// products have at most 14 bits, scaled, and not by block.
    pub fn is_exact(&self) -> bool {
        let Scales { q, k, .. } = self.scales;
        let integers = self.formats.q.is_integer() && self.formats.k.is_integer();
        let any = q != Scale::None || k != Scale::None;
        let short = self.formats.q.precision() + self.formats.k.precision() <= EXACT_PRODUCT_BITS;
        integers && short && any && ![q, k].into_iter().any(Scale::is_of_blocks)
    }

    /// Set if the significands of scales multiply the natural score: a scale that has one where the dot product is not exact.
    pub fn has_significands(&self) -> bool {
        let Scales { q, k, .. } = self.scales;
        !self.is_exact() && [q, k].into_iter().any(Scale::has_significand)
    }

    /// Formats of a core's operands: elements with the powers of two of their scales, and the result. If the dot product is exact, q and k stay integers.
    pub fn products(&self) -> Formats {
        let Encodings { formats, scales } = self;
        let of_scores = |scale: Scale, format| if self.is_exact() { format } else { scale.product(format) };
        Formats {
            q: of_scores(scales.q, formats.q),
            k: of_scores(scales.k, formats.k),
            v: scales.v.product(formats.v),
            o: formats.o,
        }
    }

    /// Words per vector for queries and keys of d elements and values of dv.
    pub fn words(&self, d: usize, dv: usize) -> Words {
        let Encodings { formats, scales } = self;
        Words {
            q: d + scales.q.words(formats.q, d),
            k: d + scales.k.words(formats.k, d),
            v: dv + scales.v.words(formats.v, dv),
        }
    }
}

/// The formats, and the scales that are not the default: `int8`, `int8 without scales`, or `fp8-e4m3, q scales mx, k scales mx`.
impl fmt::Display for Encodings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.formats)?;
        let plain = self.formats.scales();
        if self.scales == Scales::NONE && plain != Scales::NONE {
            return f.write_str(" without scales");
        }
        let Scales { q, k, v } = self.scales;
        if q == k && k == v && self.scales != plain {
            return write!(f, ", scales {}", q.word());
        }
        let mut others = self.scales.by_operand().into_iter().zip(plain.by_operand()).filter(|(a, b)| a != b);
        others.try_for_each(|((operand, scale), _)| write!(f, ", {operand} scales {}", scale.word()))
    }
}

impl Serialize for Encodings {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

/// As options print them: `bf16`, or `bf16, k fp8-e4m3`.
impl fmt::Display for Formats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.q)?;
        self.others().try_for_each(|(operand, format)| write!(f, ", {operand} {format}"))
    }
}

impl Serialize for Formats {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}
