//! A format for each operand of a core, and what stands beside the numbers on its ports.

use super::Format;
use serde::Serialize;
use std::fmt;

/// The formats of a core's operands and of its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Formats {
    /// Queries.
    pub q: Format,
    /// Keys.
    pub k: Format,
    /// Values.
    pub v: Format,
    /// Results.
    pub o: Format,
}

/// One format for all; results of integers are bf16.
impl From<Format> for Formats {
    fn from(format: Format) -> Self {
        Formats { q: format, k: format, v: format, o: format.of_results() }
    }
}

impl Formats {
    /// The one format of all, if they have one.
    pub fn uniform(&self) -> Option<Format> {
        self.by_operand().iter().all(|(_, format)| *format == self.q).then_some(self.q)
    }

    /// Each by the letter of its operand.
    pub fn by_operand(&self) -> [(&'static str, Format); 4] {
        [("q", self.q), ("k", self.k), ("v", self.v), ("o", self.o)]
    }

    /// Those that do not follow from the queries'.
    pub fn others(&self) -> impl Iterator<Item = (&'static str, Format)> {
        let one = Formats::from(self.q);
        let pairs = self.by_operand().into_iter().zip(one.by_operand());
        pairs.filter(|(own, of_one)| own != of_one).map(|(own, _)| own)
    }

    /// Significand bits that lanes between v and o keep: those of the more precise one.
    pub fn lane_precision(&self) -> u32 {
        self.v.precision().max(self.o.precision())
    }

    /// The exponents that float lanes compute in: those of the result where they reach as far as those of v.
    pub fn lane_exponents(&self) -> Format {
        if self.o.with_fraction(self.o.fraction_bits.max(self.v.fraction_bits)).holds(self.v) {
            self.o
        } else {
            self.v.with_fraction(self.v.fraction_bits)
        }
    }

    /// Whether queries and keys can have scales: they are integers of one width.
    pub fn can_be_scaled(&self) -> bool {
        self.q.is_integer() && self.q == self.k
    }

    /// Words of a scale, a bf16 number, behind the elements of a query and of a key; 0 where there can be none.
    pub fn row_scale_words(&self) -> usize {
        if self.can_be_scaled() { Format::BF16.width().div_ceil(self.q.width()) as usize } else { 0 }
    }

    /// As part of a name: that of all, or each that is not the queries': `bf16`, `k_fp8_e4m3_v_fp8_e4m3_bf16`.
    pub fn ident(&self) -> String {
        let others = self.others().map(|(operand, format)| format!("{operand}_{}_", format.ident()));
        others.collect::<String>() + &self.q.ident()
    }
}

/// How operands are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Encodings {
    /// The formats.
    pub formats: Formats,
    /// Words of a scale behind the elements of a query and of a key; 0 where there are none.
    pub scale_words: usize,
}

/// With scales, if there can be.
impl<F: Into<Formats>> From<F> for Encodings {
    fn from(formats: F) -> Encodings {
        let formats = formats.into();
        Encodings { formats, scale_words: formats.row_scale_words() }
    }
}

/// The formats, and what is not so by default: `int8`, or `int8 without scales`.
impl fmt::Display for Encodings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = self.scale_words == self.formats.row_scale_words();
        write!(f, "{}{}", self.formats, if plain { "" } else { " without scales" })
    }
}

impl Serialize for Encodings {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

/// As options give them: `bf16`, or `bf16, k fp8-e4m3`.
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
