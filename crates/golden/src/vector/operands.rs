//! Encodings as the numbers that kernels compute with.

use super::isa::{Isa, Kernel};
use flashd_hwmodel::format::Format;

/// A number that a kernel computes with, of an encoding; `of` must be `#[inline(always)]`.
pub(crate) trait Convert: Sync {
    type Number: Copy + Send;

    fn of(&self, bits: u64) -> Self::Number;
}

/// Maps encodings. Where there are many times more of them than the format has, every encoding is mapped once.
pub(crate) fn convert<C: Convert>(isa: Isa, format: Format, bits: &[u64], by: &C) -> Vec<C::Number> {
    let width = format.width();
    if width > 16 || bits.len() < 4 << width {
        return isa.run(Direct { bits, by });
    }
    let all: Vec<u64> = (0..1 << width).collect();
    let table = isa.run(Direct { bits: &all, by });
    isa.run(Table { bits, table: &table })
}

struct Direct<'a, C> {
    bits: &'a [u64],
    by: &'a C,
}

impl<C: Convert> Kernel for Direct<'_, C> {
    type Output = Vec<C::Number>;

    #[inline(always)]
    fn run<const FMA: bool>(self) -> Vec<C::Number> {
        let mut numbers = vec![self.by.of(0); self.bits.len()];
        for (number, &bits) in numbers.iter_mut().zip(self.bits) {
            *number = self.by.of(bits);
        }
        numbers
    }
}

struct Table<'a, T> {
    bits: &'a [u64],
    table: &'a [T],
}

impl<T: Copy> Kernel for Table<'_, T> {
    type Output = Vec<T>;

    #[inline(always)]
    fn run<const FMA: bool>(self) -> Vec<T> {
        let mask = self.table.len() - 1;
        self.bits.iter().map(|&bits| self.table[bits as usize & mask]).collect()
    }
}

/// The magnitudes of encodings that are neither zero nor special: the largest and the smallest, 0 if there are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) largest: u64,
    pub(crate) smallest: u64,
}

impl Extent {
    pub(crate) fn of(isa: Isa, format: Format, bits: &[u64]) -> Extent {
        isa.run(Extents { format, bits })
    }
}

struct Extents<'a> {
    format: Format,
    bits: &'a [u64],
}

impl Kernel for Extents<'_> {
    type Output = Extent;

    #[inline(always)]
    fn run<const FMA: bool>(self) -> Extent {
        let Extents { format, bits } = self;
        let (mask, most) = (format.sign_bit() - 1, format.max_finite());
        // Encodings have at most 32 bits.
        let (mask, most, least) = (mask as u32, most as u32, format.min_positive() as u32);
        let (mut largest, mut smallest) = (0, u32::MAX);
        for &bits in bits {
            let magnitude = bits as u32 & mask;
            let counts = (magnitude >= least) & (magnitude <= most);
            largest = largest.max(if counts { magnitude } else { 0 });
            smallest = smallest.min(if counts { magnitude } else { u32::MAX });
        }
        Extent { largest: largest.into(), smallest: if largest == 0 { 0 } else { smallest.into() } }
    }
}

/// For each vector, whether some element is Inf or NaN.
pub(crate) fn special(isa: Isa, format: Format, d: usize, bits: &[u64]) -> Vec<bool> {
    isa.run(Specials { format, d, bits })
}

struct Specials<'a> {
    format: Format,
    d: usize,
    bits: &'a [u64],
}

impl Kernel for Specials<'_> {
    type Output = Vec<bool>;

    #[inline(always)]
    fn run<const FMA: bool>(self) -> Vec<bool> {
        let (mask, most) = (self.format.sign_bit() as u32 - 1, self.format.max_finite() as u32);
        let special = |row: &[u64]| row.iter().fold(0, |any, &bits| any.max(bits as u32 & mask)) > most;
        self.bits.chunks(self.d).map(special).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::round::decode;

    #[test]
    fn extents_are_those_of_the_values() {
        for (_, format) in Format::NAMED {
            let width = format.width().min(16);
            let high = format.width() - width;
            let all: Vec<u64> = (0..1u64 << width).map(|bits| bits << high).collect();
            for bits in [&all[..], &all[1..40], &all[..1], &[]] {
                let values = bits.iter().map(|&bits| decode(format, bits).abs()).filter(|&x| x > 0.0);
                let (least, most) = values.fold((f64::INFINITY, 0f64), |(l, m), x| (l.min(x), m.max(x)));
                let extent = Extent::of(Isa::best(), format, bits);
                assert_eq!(decode(format, extent.largest), most, "{format}");
                if most > 0.0 {
                    assert_eq!(decode(format, extent.smallest), least, "{format}");
                }
            }
        }
    }

    struct Decoded(Format);

    impl Convert for Decoded {
        type Number = f64;

        #[inline(always)]
        fn of(&self, bits: u64) -> f64 {
            decode(self.0, bits)
        }
    }

    #[test]
    fn tables_change_nothing() {
        let format = Format::FP8_E4M3;
        let bits: Vec<u64> = (0..1000).map(|i| i * 37 % 256).collect();
        let expected: Vec<f64> = bits.iter().map(|&bits| decode(format, bits)).collect();
        for isa in Isa::available() {
            assert_eq!(convert(isa, format, &bits, &Decoded(format)), expected);
            assert_eq!(convert(isa, format, &bits[..10], &Decoded(format)), expected[..10]);
        }
    }

    #[test]
    fn special_vectors_are_found() {
        for (_, format) in Format::NAMED {
            let (ordinary, inf) = (format.max_finite() | format.sign_bit(), format.max_finite() + 1);
            let bits = [0, ordinary, inf, 0, ordinary, ordinary, 0, inf | format.sign_bit()];
            for isa in Isa::available() {
                assert_eq!(special(isa, format, 2, &bits), [false, true, false, true], "{format}");
            }
        }
    }
}
