//! The scales of vectors and of blocks, which the core gets.

use super::round::{FormatRounding, floor_log2, round_to, scale_by_power_of_two};
use flashd_spec::bits::{ones, pack, packed};
use flashd_spec::format::{Format, Scale, ScaleFormat, Subnormals};
use serde::{Deserialize, Serialize};

/// Which power of two a block's scale is, E8M0, m being the block's largest magnitude, M the largest number of its elements, e the
/// exponent of M and F the bits of their fraction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScaleRule {
    /// `2^(floor(log2 m) - e)`: OCP Microscaling v1.0. Up to half of the elements between M and the next power of two saturate.
    Floor,
    /// `2^(ceil(log2 m) - e)`: nothing saturates, and a bit of range is left unless m is a power of two.
    Ceil,
    /// `2^ceil(log2(m / M))`: the smallest with which nothing saturates.
    #[default]
    Rceil,
    /// `2^(floor(log2 r) - e)`, r being m rounded to F bits of fraction, half up.
    Even,
}

impl ScaleRule {
    /// All of them, with descriptions.
    pub const ALL: [(ScaleRule, &'static str); 4] = [
        (ScaleRule::Floor, "2^(floor(log2 m) - e), OCP v1.0: some elements saturate"),
        (ScaleRule::Ceil, "2^(ceil(log2 m) - e): nothing saturates"),
        (ScaleRule::Rceil, "2^ceil(log2(m / M)): the smallest with which nothing saturates"),
        (ScaleRule::Even, "as floor, of m rounded to the elements' fraction"),
    ];

    /// The exponent for a largest magnitude m, which is positive and finite, of elements whose largest is `most`, with `fraction` bits
    /// of fraction.
    fn exponent(self, m: f64, most: f64, fraction: u32) -> i32 {
        let (e, floor) = (floor_log2(most), floor_log2(m));
        let is_power = scale_by_power_of_two(m, -floor) == 1.0;
        match self {
            ScaleRule::Floor => floor - e,
            ScaleRule::Ceil => floor + i32::from(!is_power) - e,
            ScaleRule::Rceil => {
                // The estimate is right or one too small: m / M is in (1/2, 2).
                let estimate = floor - e;
                estimate + i32::from(m > scale_by_power_of_two(most, estimate))
            }
            ScaleRule::Even => {
                let significand = scale_by_power_of_two(m, fraction as i32 - floor);
                floor + i32::from((significand + 0.5).floor() >= f64::from(2u32 << fraction)) - e
            }
        }
    }
}

/// Whether tensors need a power of two of their own: where the exponent range is narrow. A format that flushes
/// subnormal numbers has the range of float32, and nothing is to be gained.
pub(super) fn is_narrow(format: Format) -> bool {
    format.subnormals == Subnormals::Supported
}

/// The bits of the smallest bf16 number that is not below `x`, which is positive and finite.
fn bf16_not_below(x: f64) -> u64 {
    let format = Format::BF16;
    let nearest = round_to(format, x).max(format.min_positive());
    if format.value(nearest) < x { (nearest + 1).min(format.max_finite()) } else { nearest }
}

/// The scale of zeros: the smallest power of two, as gfloat has it, or one.
fn zeros(format: ScaleFormat) -> u64 {
    if format == ScaleFormat::E8m0 { 0 } else { format.one() }
}

/// How a vector's elements are scaled and rounded.
#[derive(Clone, Copy, Debug)]
pub struct RowEncoding {
    /// Of elements.
    pub format: Format,
    /// What multiplies them.
    pub scale: Scale,
    /// Which power of two that is, where it is one.
    pub rule: ScaleRule,
}

impl RowEncoding {
    /// The largest number of an element: with a wide range, which has no use for more, one.
    fn most(self) -> f64 {
        let unit = f64::from(self.scale.element_exponent(self.format)).exp2();
        if is_narrow(self.format) { self.format.value(self.format.max_finite()) * unit } else { 1.0 }
    }

    /// The scale of elements whose largest magnitude is this; of zeros and where m is not finite that of [`zeros`].
    fn scale_for(self, format: ScaleFormat, m: f64) -> u64 {
        if !(m > 0.0 && m.is_finite()) {
            return zeros(format);
        }
        match format {
            ScaleFormat::Bf16 => {
                let ratio = m / self.most();
                // Of numbers so small that no scale is: one.
                if ratio > 0.0 { bf16_not_below(ratio) } else { format.one() }
            }
            // At most 1, beyond which elements saturate, or a wide format has them as they are.
            ScaleFormat::Q16 => {
                let one = f64::from(1u32 << format.bits());
                (m / self.most() * one).ceil().clamp(1.0, one) as u64 & ones(format.bits())
            }
            ScaleFormat::E8m0 => {
                let exponent = self.rule.exponent(m, self.most(), self.format.fraction_bits);
                (exponent + ScaleFormat::E8M0_BIAS).clamp(0, 254) as u64
            }
            // To nearest, as NVFP4 has it; not to zero, which would lose the block.
            ScaleFormat::E4m3 => round_to(Format::FP8_E4M3, m / self.most()).max(1),
        }
    }

    /// The divisor of an element before it is rounded to its format.
    fn unit(self, format: ScaleFormat, scale: u64) -> f64 {
        format.value(scale).0 * f64::from(self.scale.element_exponent(self.format)).exp2()
    }

    /// A vector's words: elements to nearest, ties to even, and its scales behind them; and how many elements saturated. A bf16 scale is
    /// the largest magnitude over the largest element, rounded up, so that none saturates.
    pub fn encode(self, row: &[f64]) -> (Vec<u64>, usize) {
        let mut words = Vec::with_capacity(row.len());
        let saturated = self.append(FormatRounding::new(self.format), &mut row.to_vec(), &mut words);
        (words, saturated)
    }

    /// Appends what [`RowEncoding::encode`] gives, with the rounding to the format; returns how many elements saturated. The row is left
    /// divided by its scales.
    pub(super) fn append(self, rounding: FormatRounding, row: &mut [f64], words: &mut Vec<u64>) -> usize {
        let RowEncoding { format, scale, .. } = self;
        let Some(encoding) = scale.format() else { return rounding.append(row, words) };
        let (mut numbers, mut saturated) = (Vec::new(), 0);
        let shared_by = scale.shared_by(row.len()).max(1);
        for block in row.chunks_mut(shared_by) {
            let m = block.iter().fold(0f64, |m, x| m.max(x.abs()));
            let number = self.scale_for(encoding, m);
            let by = self.unit(encoding, number);
            block.iter_mut().for_each(|x| *x /= by);
            saturated += rounding.append(block, words);
            numbers.push(number);
        }
        words.extend(pack(&numbers, encoding.bits(), format.width()));
        saturated
    }

    /// The numbers that the first d words of a vector encode, with the scales that follow them.
    pub fn decode(self, d: usize, words: &[u64]) -> Vec<f64> {
        let RowEncoding { format, scale, .. } = self;
        let (elements, scales) = words.split_at(d);
        let by = |i: usize| match scale.format() {
            None => 1.0,
            Some(encoding) => {
                let number = packed(scales, format.width(), encoding.bits(), i / scale.shared_by(d));
                self.unit(encoding, number)
            }
        };
        elements.iter().enumerate().map(|(i, &bits)| format.value(bits) * by(i)).collect()
    }

    /// A vector's d elements padded with zeros to `to` words.
    pub(super) fn padded(self, d: usize, to: usize, words: &[u64]) -> Vec<u64> {
        let RowEncoding { format, scale, .. } = self;
        let (elements, scales) = words.split_at(d);
        let mut padded = elements.to_vec();
        padded.resize(to, 0);
        if let Some(encoding) = scale.format() {
            let own = scale.count(d);
            let number = |i| match i < own {
                true => packed(scales, format.width(), encoding.bits(), i),
                false => zeros(encoding),
            };
            let numbers: Vec<u64> = (0..scale.count(to)).map(number).collect();
            padded.extend(pack(&numbers, encoding.bits(), format.width()));
        }
        padded
    }
}
