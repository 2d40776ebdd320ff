//! Multiplies elements by their scales, and finds the vectors that make a query invalid.

use crate::operand::{OperandVectors, VectorSource};
use crate::round::{decode, encode};
use flashd_spec::bits::packed;
use flashd_spec::config::{CoreConfig, Lengths};
use flashd_spec::format::{Encodings, Format, Scale, ScaleFormat};
use flashd_spec::numerics::Numerics;
use std::borrow::Cow;
use std::ops::Range;

/// Words after the elements of a query or key: 2, its [`VectorScale`], if scales multiply whole scores, else 0.
pub(crate) fn tail_words(n: &Numerics) -> usize {
    if n.is_exact() || n.has_significands() { 2 } else { 0 }
}

/// The scale of a whole vector, `significand 2^(exponent - 127 - FRACTION)`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct VectorScale {
    /// `2^FRACTION` or more and below twice that, or 0 if the scale counts as zero.
    pub(crate) significand: u64,
    pub(crate) exponent: i32,
}

impl VectorScale {
    /// Fraction bits of every significand: as many as the longest has, that of Q0.16.
    pub(crate) const FRACTION: u32 = ScaleFormat::Q16.fraction_bits();
    const ONE: VectorScale = VectorScale { significand: 1 << VectorScale::FRACTION, exponent: 127 };

    fn of(format: ScaleFormat, bits: u64) -> VectorScale {
        let (value, special) = format.value(bits);
        if special || value == 0.0 {
            return VectorScale::default();
        }
        // A scale is a normal number of f64.
        let exponent = (value.to_bits() >> 52) as i32 - 1023;
        let significand = value * f64::from(VectorScale::FRACTION as i32 - exponent).exp2();
        VectorScale { significand: significand as u64, exponent: exponent + 127 }
    }

    /// Reads the words after a vector's elements.
    pub(crate) fn in_words(words: &[u64]) -> VectorScale {
        VectorScale { significand: words[0], exponent: words[1] as i32 }
    }
}

/// The vectors of a tensor with their scales applied.
pub(crate) struct ScaledRows<'a> {
    /// Elements of each vector; in queries and keys [`tail_words`] follow them.
    pub(crate) words: Cow<'a, [u64]>,
    /// For each vector, whether it makes a query invalid. `None` if the elements are unchanged, so that they show it themselves.
    pub(crate) special: Special,
}

/// Whether one of the encodings is Inf or NaN.
pub(crate) fn any_special(format: Format, row: &[u64]) -> bool {
    row.iter().any(|&bits| format.is_special(bits))
}

impl ScaledRows<'_> {
    /// Whether the first vector makes a query invalid; `format` is the elements'.
    pub(crate) fn first_is_special(&self, format: Format) -> bool {
        self.special.as_ref().map_or_else(|| any_special(format, &self.words), |special| special[0])
    }
}

/// For each vector, whether it makes a query invalid; `None` if not yet known.
pub(crate) type Special = Option<Vec<bool>>;

/// K or V with their scales applied.
pub(crate) struct Applied<'a> {
    pub(crate) form: AppliedForm<'a>,
    /// As in [`ScaledRows`].
    pub(crate) special: Special,
}

/// Where the vectors of [`Applied`] are.
pub(crate) enum AppliedForm<'a> {
    Unchanged(OperandVectors<'a>),
    Stored(Vec<u64>),
    Made(AppliedSource<'a>),
}

impl AppliedForm<'_> {
    pub(crate) fn operand(&self) -> OperandVectors<'_> {
        match self {
            AppliedForm::Unchanged(operand) => *operand,
            AppliedForm::Stored(words) => OperandVectors::Words(words),
            AppliedForm::Made(source) => OperandVectors::Source { words: source.layout.words(), source },
        }
    }
}

/// Applies scales to vectors as they are read.
pub(crate) struct AppliedSource<'a> {
    layout: PortLayout,
    source: &'a dyn VectorSource,
}

impl VectorSource for AppliedSource<'_> {
    fn vectors(&self) -> usize {
        self.source.vectors()
    }

    fn read(&self, vectors: Range<usize>, words: &mut Vec<u64>) {
        let mut port = Vec::with_capacity(vectors.len() * self.layout.port);
        self.source.read(vectors, &mut port);
        port.chunks_exact(self.layout.port).for_each(|row| self.layout.append(row, words));
    }
}

/// A tensor's layout on the port, and in the units.
pub(crate) struct PortLayout {
    format: Format,
    scale: Scale,
    d: usize,
    /// Words of a vector on the port.
    port: usize,
    /// The format of an element times its scale; `None` if elements stay unchanged.
    product: Option<Format>,
    tail: usize,
}

impl PortLayout {
    /// Whether the units take the words of the port.
    fn is_unchanged(&self) -> bool {
        self.scale == Scale::None && self.tail == 0
    }

    /// Words of a vector in the units.
    fn words(&self) -> usize {
        self.d + self.tail
    }

    pub(crate) fn rows<'a>(&self, words: &'a [u64]) -> ScaledRows<'a> {
        if self.is_unchanged() {
            return ScaledRows { words: words.into(), special: None };
        }
        let special = words.chunks_exact(self.port).map(|row| self.is_special(row)).collect();
        let mut all = Vec::with_capacity(words.len() / self.port * self.words());
        words.chunks_exact(self.port).for_each(|row| self.append(row, &mut all));
        ScaledRows { words: all.into(), special: Some(special) }
    }

    /// [`PortLayout::rows`] of stored or made vectors: made ones stay so.
    pub(crate) fn operand(self, operand: OperandVectors) -> Applied {
        let source = match operand {
            _ if self.is_unchanged() => {
                return Applied { form: AppliedForm::Unchanged(operand), special: None };
            }
            OperandVectors::Words(words) => {
                let ScaledRows { words, special } = self.rows(words);
                return Applied { form: AppliedForm::Stored(words.into_owned()), special };
            }
            OperandVectors::Source { source, .. } => source,
        };
        let mut special = Vec::with_capacity(source.vectors());
        operand.pieces(|words| {
            special.extend(words.chunks_exact(self.port).map(|row| self.is_special(row)));
        });
        Applied { form: AppliedForm::Made(AppliedSource { layout: self, source }), special: Some(special) }
    }

    /// Appends the words that the units take for a vector of the port.
    fn append(&self, row: &[u64], all: &mut Vec<u64>) {
        let scales = self.scales(row);
        match self.product {
            None => all.extend(&row[..self.d]),
            Some(to) => all.extend((0..self.d).map(|i| self.product(row[i], &scales, i, to))),
        }
        if self.tail > 0 {
            let VectorScale { significand, exponent } = match (self.scale.format(), &scales[..]) {
                (Some(format), &[bits]) if !self.scale.is_of_blocks() => VectorScale::of(format, bits),
                _ => VectorScale::ONE,
            };
            all.extend([significand, exponent as u64]);
        }
    }

    /// The encodings of the scales after the elements.
    fn scales(&self, row: &[u64]) -> Vec<u64> {
        let Some(format) = self.scale.format() else { return Vec::new() };
        let number = |i| packed(&row[self.d..], self.format.width(), format.bits(), i);
        (0..self.scale.count(self.d)).map(number).collect()
    }

    /// An element times its scale; times its power of two only, if its significand multiplies scores.
    fn product(&self, bits: u64, scales: &[u64], i: usize, to: Format) -> u64 {
        let Some(format) = self.scale.format() else { return bits };
        let scale = scales[i / self.scale.shared_by(self.d)];
        let by = if self.scale.has_significand() {
            let VectorScale { significand, exponent } = VectorScale::of(format, scale);
            if significand == 0 { 0.0 } else { f64::from(exponent - 127).exp2() }
        } else {
            format.value(scale).0
        };
        let unit = f64::from(self.scale.element_exponent(self.format)).exp2();
        encode(to, decode(self.format, bits) * unit * by)
    }

    fn is_special(&self, row: &[u64]) -> bool {
        let scales = || self.scales(row).into_iter();
        let of_scale = self.scale.format().is_some_and(|format| scales().any(|bits| format.value(bits).1));
        of_scale || any_special(self.format, &row[..self.d])
    }
}

/// The layouts of queries, keys and values.
pub(crate) fn layouts(config: &CoreConfig, n: &Numerics) -> [PortLayout; 3] {
    let (formats, scales, words) = (n.encodings.formats, n.encodings.scales, config.port_words());
    let Lengths { k: d, v: dv } = config.lengths();
    let changed = |scale: Scale, to: Format, stays: bool| (scale != Scale::None && !stays).then_some(to);
    let (exact, tail) = (n.is_exact(), tail_words(n));
    [
        PortLayout {
            format: formats.q,
            scale: scales.q,
            d,
            port: words.q,
            product: changed(scales.q, n.formats.q, exact),
            tail,
        },
        PortLayout {
            format: formats.k,
            scale: scales.k,
            d,
            port: words.k,
            product: changed(scales.k, n.formats.k, exact),
            tail,
        },
        PortLayout {
            format: formats.v,
            scale: scales.v,
            d: dv,
            port: words.v,
            product: changed(scales.v, n.formats.v, false),
            tail: 0,
        },
    ]
}

/// Applies the scales of queries, keys and values, in this order.
pub(crate) fn rows<'a>(config: &CoreConfig, n: &Numerics, tensors: [&'a [u64]; 3]) -> [ScaledRows<'a>; 3] {
    let [q, k, v] = layouts(config, n);
    let [of_q, of_k, of_v] = tensors;
    [q.rows(of_q), k.rows(of_k), v.rows(of_v)]
}

/// The exponent to which a core's fixed-point lanes scale values: [`crate::v_exponent`] of the values times their scales. `v` has
/// the words of the core's port.
pub fn values_exponent<'a>(config: &CoreConfig, v: impl Into<OperandVectors<'a>>) -> u64 {
    let mut largest = 0;
    v.into().pieces(|v| largest = largest.max(exponent_of_values(config.encodings(), config.dv(), v)));
    largest
}

/// [`values_exponent`] for values of d elements with these encodings.
pub fn exponent_of_values(encodings: Encodings, d: usize, v: &[u64]) -> u64 {
    let (format, scale) = (encodings.formats.v, encodings.scales.v);
    let (to, port) = (encodings.products().v, d + scale.words(format, d));
    let product = (scale != Scale::None).then_some(to);
    crate::v_exponent(to, &PortLayout { format, scale, d, port, product, tail: 0 }.rows(v).words)
}
