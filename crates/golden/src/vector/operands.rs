//! Converts encodings to the numbers that kernels compute with.

use crate::block::{BLOCK, Block};
use crate::operand::{OperandVectors, rows_of_piece};
use crate::parallel;
use crate::round::{biased_exponent, pow2};
use crate::rows::Special;
use flashd_spec::format::{Format, Subnormals};
use flashd_spec::isa::{Isa, Kernel};

/// A conversion from encodings to the numbers of a kernel. `of` must be `#[inline(always)]`.
pub trait Convert: Sync {
    /// The type that a kernel computes with.
    type Number: Copy + Default + Send;

    /// Converts an encoding.
    fn of(&self, bits: u64) -> Self::Number;
}

/// Converts encodings on this thread.
pub(crate) fn convert<C: Convert>(isa: Isa, bits: &[u64], by: &C, numbers: &mut [C::Number]) {
    isa.run(Conversion { numbers, bits, by });
}

/// Converts encodings on the threads of the current rayon pool.
pub fn convert_all<C: Convert>(isa: Isa, bits: &[u64], by: &C) -> Vec<C::Number> {
    convert_rows(isa, OperandVectors::Words(bits), 1, by)
}

/// [`convert_all`] of vectors of d words.
pub(crate) fn convert_rows<C: Convert>(isa: Isa, bits: OperandVectors, d: usize, by: &C) -> Vec<C::Number> {
    let mut numbers = vec![C::Number::default(); bits.len()];
    let together = rows_of_piece(d);
    parallel::fill(&mut numbers, together * d, &|number, numbers| {
        let rows = number * together..number * together + numbers.len() / d;
        convert(isa, bits.rows(d, rows, &mut Vec::new()), by, numbers);
    });
    numbers
}

struct Conversion<'a, C: Convert> {
    numbers: &'a mut [C::Number],
    bits: &'a [u64],
    by: &'a C,
}

impl<C: Convert> Kernel for Conversion<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for (number, &bits) in self.numbers.iter_mut().zip(self.bits) {
            *number = self.by.of(bits);
        }
    }
}

/// [`crate::round::decode`] in f32, without a branch.
#[derive(Clone, Copy, Debug)]
pub struct Decoder {
    magnitude: Magnitude,
    /// The largest finite magnitude, and the smallest that does not count as zero.
    most: u32,
    least: u32,
    /// Left shifts from the format's fraction to f32's, and from the format's sign to f32's.
    left: u32,
    sign_left: u32,
    /// f32's bias minus the format's, in f32's exponent field.
    rebias: u32,
    /// The smallest normal magnitude, and the value of a unit below it.
    normal: u32,
    unit: f32,
}

impl Decoder {
    /// The decoder of a format; `None` unless f32 holds every value of the format.
    pub fn new(format: Format) -> Option<Decoder> {
        let bias = (f32::MAX_EXP - 1) - format.bias;
        // Flushed subnormals need no unit.
        let unit = match format.subnormals {
            Subnormals::Flushed => 0,
            Subnormals::Supported => format.min_exponent() - format.fraction_bits as i32,
        };
        let fits = format.exponent_bits <= 8
            && format.fraction_bits < f32::MANTISSA_DIGITS
            && bias >= 0
            && (-149..=0).contains(&unit)
            && (format.exponent_bits < 8 || format.max_finite() <= u64::from(f32::MAX.to_bits()));
        fits.then(|| Decoder {
            magnitude: Magnitude::new(format),
            most: format.max_finite() as u32,
            least: match format.subnormals {
                Subnormals::Flushed => 1 << format.fraction_bits,
                Subnormals::Supported => 0,
            },
            left: f32::MANTISSA_DIGITS - 1 - format.fraction_bits,
            sign_left: u32::BITS - format.width(),
            rebias: (bias as u32) << (f32::MANTISSA_DIGITS - 1),
            normal: 1 << format.fraction_bits,
            unit: pow2(unit) as f32,
        })
    }

    /// The value of an encoding; Inf and NaN count as zero.
    #[inline(always)]
    pub fn of(&self, bits: u64) -> f32 {
        let bits = bits as u32;
        let magnitude = self.magnitude.of(bits);
        let normal = (magnitude << (self.left & 31)) + self.rebias;
        let subnormal = (magnitude as i32 as f32 * self.unit).to_bits();
        let value = if magnitude >= self.normal { normal } else { subnormal };
        let value = if magnitude >= self.least { value } else { 0 };
        let signed = value | (bits << (self.sign_left & 31) & (1 << 31));
        f32::from_bits(if magnitude <= self.most { signed } else { 0 })
    }
}

/// Specials and magnitudes of the encodings of a tensor.
pub struct Survey {
    /// For each vector, whether an element is Inf or NaN.
    pub special: Vec<bool>,
    /// Whether any element of the tensor is Inf or NaN.
    pub any_special: bool,
    /// For each vector, the largest magnitude that is neither zero nor special; 0 if there is none.
    largest: Vec<u32>,
    /// The largest and the smallest magnitude of the tensor that is neither zero nor special.
    pub extent: Extent,
}

/// The largest and the smallest magnitude of some numbers, as encodings; 0 if there are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// Encoding of the largest magnitude.
    pub largest: u64,
    /// Encoding of the smallest magnitude.
    pub smallest: u64,
}

/// Takes the magnitude bits of an encoding, without a branch.
#[derive(Clone, Copy, Debug)]
struct Magnitude {
    /// Mask of all bits below the sign.
    mask: u32,
    /// Place of the sign.
    sign: u32,
    /// All ones for two's complement, otherwise 0.
    complement: u32,
    /// The largest magnitude in two's complement, otherwise all ones.
    most: u32,
}

impl Magnitude {
    fn new(format: Format) -> Magnitude {
        let integer = format.is_integer();
        Magnitude {
            mask: (format.sign_bit() - 1) as u32,
            sign: format.width() - 1,
            complement: if integer { u32::MAX } else { 0 },
            most: if integer { format.max_finite() as u32 } else { u32::MAX },
        }
    }

    #[inline(always)]
    fn of(self, bits: u32) -> u32 {
        let negative = (bits >> (self.sign & 31) & 1).wrapping_neg() & self.complement;
        let low = bits & self.mask;
        ((low ^ (negative & self.mask)) + (negative & 1)).min(self.most)
    }
}

impl Survey {
    /// Surveys vectors of d words on the threads of the current pool. The last `tail` words of a vector are no
    /// encodings. `known` has the special vectors, if they are known. The magnitudes are then left at zero if there are
    /// tail words or if f32 lacks exponents of the format: nothing asks for them.
    pub(crate) fn of(
        isa: Isa,
        format: Format,
        tail: usize,
        d: usize,
        bits: OperandVectors,
        known: Special,
    ) -> Survey {
        let own = |special: Vec<bool>| (special.contains(&true), special);
        match known.map(own) {
            None => Survey::of_encodings(isa, format, d, bits),
            Some((any_special, special)) if tail > 0 || format.exponent_bits > Format::BF16.exponent_bits => {
                Survey { any_special, largest: vec![0; special.len()], special, extent: Extent::default() }
            }
            Some((any_special, special)) => {
                Survey { special, any_special, ..Survey::of_encodings(isa, format, d, bits) }
            }
        }
    }

    /// Surveys vectors of d encodings on the threads of the current pool.
    pub fn of_encodings<'a>(
        isa: Isa,
        format: Format,
        d: usize,
        bits: impl Into<OperandVectors<'a>>,
    ) -> Survey {
        let bits = bits.into();
        let mut rows = vec![RowMagnitudes::default(); bits.len() / d];
        let together = rows_of_piece(d);
        parallel::fill(&mut rows, together, &|number, rows| {
            let mut buffer = Vec::new();
            let bits = bits.rows(d, number * together..number * together + rows.len(), &mut buffer);
            isa.run(OperandRows { format, d, rows, bits });
        });
        let most = format.max_finite() as u32;
        let special: Vec<bool> = rows.iter().map(|row| row.top > most).collect();
        let largest: Vec<u32> = rows.iter().map(|row| row.largest).collect();
        let extent = match largest.iter().max() {
            None | Some(0) => Extent::default(),
            Some(&largest) => {
                let smallest = rows.iter().map(|row| row.smallest).min().unwrap_or(0);
                Extent { largest: largest.into(), smallest: smallest.into() }
            }
        };
        Survey { any_special: special.contains(&true), special, largest, extent }
    }

    /// For each vector, whether an element has an exponent field above `exponent`.
    pub fn overflow(&self, format: Format, exponent: u64) -> Vec<bool> {
        let over = |&largest: &u32| largest != 0 && biased_exponent(format, largest.into()) > exponent;
        self.largest.iter().map(over).collect()
    }
}

/// Magnitudes of a vector: the largest of all (`top`), and the largest (0 if there is none) and the smallest of those
/// that are neither zero nor special.
#[derive(Clone, Copy, Default)]
struct RowMagnitudes {
    top: u32,
    largest: u32,
    smallest: u32,
}

struct OperandRows<'a> {
    format: Format,
    d: usize,
    rows: &'a mut [RowMagnitudes],
    bits: &'a [u64],
}

impl Kernel for OperandRows<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let OperandRows { format, d, rows, bits } = self;
        // Encodings have at most 32 bits.
        let (magnitude, most) = (Magnitude::new(format), format.max_finite() as u32);
        let least = format.min_positive() as u32;
        for (row, bits) in rows.iter_mut().zip(bits.chunks_exact(d)) {
            // First 16 elements at a time, then the rest of the row.
            let mut lanes = [[0; BLOCK], [0; BLOCK], [u32::MAX; BLOCK]];
            let look = |[top, largest, smallest]: [u32; 3], bits: u64| {
                let magnitude = magnitude.of(bits as u32);
                let counts = u32::from(magnitude.wrapping_sub(least) <= most - least).wrapping_neg();
                [top.max(magnitude), largest.max(magnitude & counts), smallest.min(magnitude | !counts)]
            };
            let blocks = bits.chunks_exact(BLOCK);
            let rest = blocks.remainder();
            for bits in blocks {
                for i in 0..BLOCK {
                    let all = look([lanes[0][i], lanes[1][i], lanes[2][i]], bits[i]);
                    (lanes[0][i], lanes[1][i], lanes[2][i]) = (all[0], all[1], all[2]);
                }
            }
            let [top, largest, smallest] = lanes;
            let fold = |lanes: Block<u32>, by: fn(u32, u32) -> u32| lanes.into_iter().reduce(by).unwrap_or(0);
            let folded = [fold(top, u32::max), fold(largest, u32::max), fold(smallest, u32::min)];
            let [top, largest, smallest] = rest.iter().fold(folded, |all, &bits| look(all, bits));
            *row = RowMagnitudes { top, largest, smallest };
        }
    }
}
