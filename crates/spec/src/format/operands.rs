//! A format for each operand of a core, and what stands beside the numbers on its ports.

use super::{Format, Scale, Scales};
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

/// One format for all; results of integers and of floats below eight bits are bf16.
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

    /// The scales that go with them where nothing else is said: a bf16 number for each query and each key that are integers.
    pub fn scales(&self) -> Scales {
        let of = |format: Format| if format.is_integer() { Scale::Row } else { Scale::None };
        Scales { q: of(self.q), k: of(self.k), v: Scale::None }
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
    /// The formats of elements.
    pub formats: Formats,
    /// What they are multiplied by.
    pub scales: Scales,
}

/// Words on the ports: elements, and the scales behind them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Words {
    /// Of a query.
    pub q: usize,
    /// Of a key.
    pub k: usize,
    /// Of a value.
    pub v: usize,
}

impl Words {
    /// Each, in this order.
    pub fn all(self) -> [usize; 3] {
        [self.q, self.k, self.v]
    }
}

/// One length of all, without scales.
impl From<usize> for Words {
    fn from(d: usize) -> Words {
        Words { q: d, k: d, v: d }
    }
}

/// With the scales that go with the formats where nothing else is said.
impl<F: Into<Formats>> From<F> for Encodings {
    fn from(formats: F) -> Encodings {
        let formats = formats.into();
        Encodings { formats, scales: formats.scales() }
    }
}

impl Encodings {
    /// Whether products and sums of q and k are exact integers, which both scales multiply at the end: integers, and no blocks.
    pub fn is_exact(&self) -> bool {
        let Scales { q, k, .. } = self.scales;
        let integers = self.formats.q.is_integer() && self.formats.k.is_integer();
        let any = q != Scale::None || k != Scale::None;
        integers && any && ![q, k].into_iter().any(Scale::is_of_blocks)
    }

    /// Whether the score is the sum of products times the significands of scales: those of bf16 scales, where products are not exact.
    pub fn has_significands(&self) -> bool {
        let Scales { q, k, .. } = self.scales;
        !self.is_exact() && [q, k].contains(&Scale::Row)
    }

    /// What a core multiplies: elements with the powers of two of their scales, and the result. Where sums are exact, q and k are the
    /// integers that they are.
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

    /// Words of queries and keys of d elements and of values of dv.
    pub fn words(&self, d: usize, dv: usize) -> Words {
        let Encodings { formats, scales } = self;
        Words {
            q: d + scales.q.words(formats.q, d),
            k: d + scales.k.words(formats.k, d),
            v: dv + scales.v.words(formats.v, dv),
        }
    }
}

/// The formats, and what is not so by default: `int8`, `int8 without scales`, or `fp8-e4m3, q scales mx, k scales mx`.
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
