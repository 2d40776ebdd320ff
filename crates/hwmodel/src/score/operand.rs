//! Multiplies the elements of an operand by their scales, before the dot product and the lanes.
//!
//! ```text
//!  port    | scales | element d-1 | ... | element 0 |
//!  product   element 2^e, or element * scale for e4m3 scales: a float with the exponent range of both together
//! ```
//!
//! The products are exact. A power of two adds to the exponent; an e4m3 scale multiplies the significand, two bits by
//! four. Of a bf16 or Q0.16 scale only the power of two is applied here: its significand is the same for all elements, and
//! [`super::scaled`] multiplies the whole sum by it. Subnormal elements and integers are normalised, so that later units get
//! normal numbers and zeros only.

use super::special::AnySpecial;
use crate::arith::normalise::normalise_within;
use crate::arith::{canonical, unpack};
use crate::attention::any_flag::AnyFlag;
use crate::function;
use crate::rtl::{Module, Name, Number, Pins, Tag, VectorFunction, VectorLeaf, Wire};
use crate::word::{Word, bits_for, ones};
use flashd_spec::format::{Format, Scale, ScaleFormat, Subnormals};
use std::iter::repeat_n;

/// A vector of elements with scales.
#[derive(Clone, Copy, Debug)]
pub struct Operand {
    /// Format of the elements.
    pub format: Format,
    /// Number of elements.
    pub d: usize,
    /// Kind of scales.
    pub scale: Scale,
}

impl Operand {
    /// The scales, unpacked from the words after the elements; empty if there are none.
    pub(crate) fn scales(self, m: &mut Module, name: &'static str, words: &[Wire]) -> Vec<Wire> {
        let Some(format) = self.scale.format() else { return Vec::new() };
        let packed = PackedNumbers {
            words: words.len(),
            width: self.format.width(),
            numbers: self.scale.count(self.d),
            bits: format.bits(),
        };
        m.leaf(name, VectorLeaf::new(packed), words)
    }

    /// The d elements times their scales, exact, in the format [`Scale::product`]. `words` has the elements, followed by the
    /// words of scales. Without scales, the words themselves.
    pub fn products(self, around: &mut Module, name: impl Into<Name>, words: &[Wire]) -> Vec<Wire> {
        let Operand { format, d, scale } = self;
        let Some(encoding) = scale.format() else { return words.to_vec() };
        let tag = Tag::module(
            format!("{}_{}_{d}", scale_ident(scale), format.ident()),
            format!(
                "y = elements of x in {format} times the {} behind them, exact, as {}.",
                words_of(scale),
                scale.product(format)
            ),
        );
        around.part(name, tag, |m| {
            let x = m.inputs("x", words);
            let scales = self.scales(m, "scales", &x[d..]);
            let parts: Vec<[Wire; 2]> = (scales.iter().enumerate())
                .map(|(i, &number)| m.call(("scale", i), ScalePartsFunction { encoding }, [number]))
                .collect();
            let of_elements = parts.iter().flat_map(|parts| repeat_n(*parts, scale.shared_by(d)));
            let products: Vec<Wire> = (x[..d].iter().zip(of_elements).enumerate())
                .map(|(i, (&element, [significand, exponent]))| {
                    let function = ElementFunction { format, scale };
                    m.call(("element", i), function, [element, significand, exponent])[0]
                })
                .collect();
            m.number_each(&products, Number::Float(scale.product(format)));
            m.outputs("y", &products)
        })
    }

    /// Whether a vector makes the query invalid: an element is Inf or NaN, or a scale is negative, Inf or NaN.
    pub fn any_special(self, m: &mut Module, name: &'static str, words: &[Wire]) -> Wire {
        let (elements, format) = (&words[..self.d], self.format);
        let Some(encoding) = self.scale.format().filter(|encoding| encoding.has_flaws()) else {
            return m.leaf(name, AnySpecial { format, elements: self.d }, elements)[0];
        };
        let tag = Tag::module(
            format!("{}_{}_any_special_{}", scale_ident(self.scale), format.ident(), self.d),
            "any = some element is Inf or NaN, or some scale is one that none may be.",
        );
        // Elements of a format without Inf and NaN are left out.
        let looked_at = if format.sign_bit() - 1 > format.max_finite() { self.d } else { 0 };
        m.part(name, tag, |m| {
            let x = m.inputs("x", &words[self.d - looked_at..]);
            let (elements, behind) = x.split_at(looked_at);
            let scales = self.scales(m, "scales", behind);
            let mut flags: Vec<Wire> = (scales.iter().enumerate())
                .map(|(i, &number)| m.call(("scale", i), ScaleSpecialFunction { encoding }, [number])[0])
                .collect();
            if !elements.is_empty() {
                flags.push(m.leaf("elements", AnySpecial { format, elements: self.d }, elements)[0]);
            }
            let doc = "Some element or some scale is special.";
            let any = match flags[..] {
                [flag] => flag,
                _ => m.leaf("any", AnyFlag { count: flags.len(), doc }, &flags)[0],
            };
            m.output("any", any)
        })
    }
}

/// The kind of scale, for names of modules.
fn scale_ident(scale: Scale) -> &'static str {
    match scale {
        Scale::None => "plain",
        Scale::Row => "row",
        Scale::RowE8m0 => "row_e8m0",
        Scale::RowQ16 => "row_q16",
        Scale::Mx => "mx",
        Scale::Nvfp4 => "nvfp4",
    }
}

/// A phrase for the scales after the elements.
fn words_of(scale: Scale) -> &'static str {
    match scale {
        Scale::None => "nothing",
        Scale::Row => "power of two of the bf16 scale",
        Scale::RowE8m0 => "E8M0 scale",
        Scale::RowQ16 => "power of two of the Q0.16 scale",
        Scale::Mx => "E8M0 scales, one for 32 elements,",
        Scale::Nvfp4 => "e4m3 scales, one for 16 elements,",
    }
}

/// Unpacks numbers of `bits` bits from words of `width` bits; the first number is in the lowest bits. A number may
/// cross words.
struct PackedNumbers {
    words: usize,
    width: u32,
    numbers: usize,
    bits: u32,
}

impl VectorFunction for PackedNumbers {
    fn header(&self) -> (Tag, Vec<Pins>, Vec<Pins>) {
        let PackedNumbers { words, width, numbers, bits } = *self;
        let tag = Tag::module(
            format!("packed_{numbers}_{bits}_in_{words}_{width}"),
            "y = the numbers in the words of x, the first one lowest.",
        );
        (tag, vec![Pins::vector("x", words, width)], vec![Pins::vector("y", numbers, bits)])
    }

    fn eval<W: Word>(&self, inputs: &[Vec<W>]) -> Vec<Vec<W>> {
        let (width, bits) = (self.width as usize, self.bits as usize);
        let number = |i: usize| {
            // From the highest word with bits of the number to the lowest.
            let (from, to) = (i * bits, (i + 1) * bits);
            let words = (from / width..to.div_ceil(width)).rev();
            let part = |word: usize| {
                let (low, high) = (from.max(word * width), to.min((word + 1) * width));
                inputs[0][word].slice((low - word * width) as u32, (high - low) as u32)
            };
            words.map(part).reduce(|high, low| high.concat(&low))
        };
        vec![(0..self.numbers).filter_map(number).collect()]
    }
}

/// Significand 1.f and exponent field, with bf16's bias, of a Q0.16 scale, in which 0 encodes 1.
pub(super) fn normalise_q16<W: Word>(scale: &W) -> (W, W) {
    let extended = scale.any().not().concat(scale).named("extended");
    let (normal, zeros) = normalise_within(&extended, scale.width());
    // 127 - zeros: the bits of 127 are ones.
    let field = W::zero(1).concat(&zeros.zext(Format::BF16.exponent_bits - 1).not());
    // The lowest bit is zero: only 1 has no leading zero.
    (normal.drop_low(1), field)
}

/// Whether a scale counts as zero, and whether it makes the query invalid: negative, Inf or NaN. Not for encodings without either.
pub(super) fn flaws<W: Word>(encoding: ScaleFormat, scale: &W) -> (W, W) {
    let Some(format) = encoding.float() else {
        let special = scale.all();
        return (special.clone(), special);
    };
    let magnitude = scale.slice(0, format.width() - 1);
    match format.subnormals {
        Subnormals::Flushed => {
            let exponent = scale.slice(format.fraction_bits, format.exponent_bits);
            let special = scale.msb().or(&exponent.all());
            (special.or(&exponent.any().not()), special)
        }
        Subnormals::Supported => {
            let special = scale.msb().and(&magnitude.any()).or(&magnitude.all());
            (special.or(&magnitude.any().not()), special)
        }
    }
}

function! {
    /// Whether a scale is negative, Inf or NaN.
    pub struct ScaleSpecialFunction { encoding: ScaleFormat }
    name(this) = match this.encoding {
        ScaleFormat::Bf16 => "scale_special",
        ScaleFormat::E8m0 => "e8m0_special",
        ScaleFormat::E4m3 => "e4m3_scale_special",
        ScaleFormat::Q16 => "q16_scale_special",
    };
    doc = match this.encoding {
        ScaleFormat::Bf16 => "special = scale, a bf16 number, is negative, Inf or NaN.",
        ScaleFormat::E8m0 => "special = scale is NaN.",
        ScaleFormat::Q16 => "special = never.",
        ScaleFormat::E4m3 => "special = scale, an e4m3 number, is negative or NaN.",
    };
    inputs { scale: this.encoding.bits() }
    outputs { special: 1 }
    eval<W> { [flaws(this.encoding, &scale).1] }
}

/// Bits of a scale's exponent field: E8M0 and Q0.16 have bf16's.
fn exponent_bits(encoding: ScaleFormat) -> u32 {
    encoding.float().unwrap_or(Format::BF16).exponent_bits
}

/// Bits of the significand that multiplies each element. For other scales than e4m3 it is one bit, 0 if the scale
/// counts as zero.
fn significand_bits(encoding: ScaleFormat) -> u32 {
    if encoding == ScaleFormat::E4m3 { Format::FP8_E4M3.precision() } else { 1 }
}

function! {
    /// Splits a scale into significand and exponent.
    pub struct ScalePartsFunction { encoding: ScaleFormat }
    name(this) = match this.encoding {
        ScaleFormat::Bf16 => "scale_parts",
        ScaleFormat::E8m0 => "e8m0_parts",
        ScaleFormat::E4m3 => "e4m3_scale_parts",
        ScaleFormat::Q16 => "q16_parts",
    };
    doc = match this.encoding {
        ScaleFormat::E4m3 => "significand = 1.f, or 0.f of a subnormal, 0 where scale counts as zero; exponent = its field, at least 1.",
        ScaleFormat::Q16 => "significand = 1; exponent = bf16's field of scale / 2^16, 0 being 1.",
        _ => "significand = 0 where scale counts as zero; exponent = its field.",
    };
    inputs { scale: this.encoding.bits() }
    outputs { significand: significand_bits(this.encoding), exponent: exponent_bits(this.encoding) }
    eval<W> {
        let counts = || flaws(this.encoding, &scale).0.not();
        match this.encoding {
            ScaleFormat::Q16 => [W::constant(1, 1), normalise_q16(&scale).1],
            ScaleFormat::E8m0 => [counts(), scale],
            ScaleFormat::Bf16 => [counts(), scale.slice(Format::BF16.fraction_bits, Format::BF16.exponent_bits)],
            ScaleFormat::E4m3 => {
                let u = unpack(Format::FP8_E4M3, &scale, "scale");
                [counts().repeat(u.significand.width()).and(&u.significand), u.exponent]
            }
        }
    }
}

function! {
    /// Multiplies an element by its scale.
    pub struct ElementFunction { format: Format, scale: Scale }
    name(this) = format!("{}_{}_element", scale_ident(this.scale), this.format.ident());
    doc = format!(
        "y = x * scale as {}: exact. Inf and NaN count as 0.", this.scale.product(this.format)
    );
    inputs {
        x: this.format.width(), significand: this.scale.format().map_or(1, significand_bits),
        exponent: this.scale.format().map_or(1, exponent_bits)
    }
    outputs { y: this.scale.product(this.format).width() }
    eval<W> {
        let (from, to) = (this.format, this.scale.product(this.format));
        let u = unpack(from, &canonical(from, &x).named("finite"), "x");
        let (scaled, scale_bias) = match this.scale.format() {
            Some(ScaleFormat::E4m3) => (u.significand.mul(&significand).named("significands"), Format::FP8_E4M3.bias),
            _ => (significand.repeat(u.significand.width()).and(&u.significand), ScaleFormat::E8M0_BIAS),
        };
        let width = scaled.width();
        let (normal, zeros) = match (from.subnormals, width == from.precision()) {
            (Subnormals::Flushed, true) => (scaled.clone(), W::zero(1)),
            _ => normalise_within(&scaled, width - 1),
        };
        // The top bit of a product of two significands is one place higher.
        let places = i32::from(width > from.precision());
        let offset = to.bias - from.bias - scale_bias + this.scale.element_exponent(from) + places;
        let wide = to.exponent_bits.max(bits_for(offset.unsigned_abs().into())).max(exponent.width()).max(zeros.width()) + 2;
        let sum = u.exponent.zext(wide).add(&exponent.zext(wide)).named("exponents");
        let offset = W::constant(wide, offset as i64 as u64 & ones(wide));
        let field = sum.add(&offset).sub(&zeros.named("leading_zeros").zext(wide)).slice(0, to.exponent_bits);
        let nonzero = normal.msb().named("nonzero");
        let magnitude = field.concat(&normal.slice(0, width - 1));
        [u.sign.concat(&nonzero.repeat(magnitude.width()).and(&magnitude))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtl::Function;
    use crate::word::Num;

    /// Significand and exponent of every Q0.16 scale are its value, and the elements get the exponent.
    #[test]
    fn every_q16_scale_is_normalised() {
        let encoding = ScaleFormat::Q16;
        let parts = ScalePartsFunction { encoding };
        for bits in 0..1 << encoding.bits() {
            let scale = Num::new(encoding.bits(), bits);
            let (significand, field) = normalise_q16(&scale);
            assert_eq!(
                (significand.width(), field.width()),
                (1 + encoding.fraction_bits(), exponent_bits(encoding))
            );
            assert!(significand.msb().value() == 1, "{bits:#x}");
            let exponent = field.value() as i32 - Format::BF16.bias - encoding.fraction_bits() as i32;
            let value = significand.value() as f64 * f64::from(exponent).exp2();
            assert_eq!((value, false), encoding.value(bits), "{bits:#x}");
            assert_eq!(parts.eval([scale]), [Num::new(1, 1), field]);
        }
    }
}
