//! Shared by the tests: seeded random operands, and exact arithmetic on dyadic numbers as a reference.
#![allow(dead_code)]

pub mod scores;

use flashd_golden::units::round_from_f64;
use flashd_golden::{decode, encode};
use flashd_spec::config::{CoreConfig, Datapath, Design, Fa2Variant, FlashDVariant, LaneBits};
use flashd_spec::format::{Format, Subnormals};
use rand::{RngExt, SeedableRng};
pub use rand_chacha::ChaCha8Rng as Rng;

pub fn rng(seed: u64) -> Rng {
    Rng::seed_from_u64(seed)
}

/// An exact value, `mantissa * 2^exponent`.
#[derive(Clone, Copy, Debug)]
pub struct Dyadic {
    pub mantissa: i128,
    pub exponent: i32,
}

impl Dyadic {
    pub fn of(format: Format, bits: u64) -> Dyadic {
        if format.is_integer() {
            let half = 1i128 << (format.width() - 1);
            let value = if bits as i128 >= half { bits as i128 - 2 * half } else { bits as i128 };
            // The lowest number of two's complement counts as the one above it.
            return Dyadic { mantissa: value.max(1 - half), exponent: -format.integer_fraction() };
        }
        let magnitude = bits & (format.sign_bit() - 1);
        let exponent = (magnitude >> format.fraction_bits) as i32;
        let fraction = (magnitude & format.fraction_mask()) as i128;
        let hidden = 1i128 << format.fraction_bits;
        let mantissa = match (exponent, format.subnormals) {
            _ if format.is_special(bits) => 0,
            (0, Subnormals::Flushed) => 0,
            (0, Subnormals::Supported) => fraction,
            _ => hidden + fraction,
        };
        let sign = if bits & format.sign_bit() != 0 { -1 } else { 1 };
        Dyadic {
            mantissa: sign * mantissa,
            exponent: exponent.max(1) - format.bias - format.fraction_bits as i32,
        }
    }

    /// The sum. An operand so small that it only decides how the sum rounds is replaced by another one as small.
    pub fn add(self, other: Dyadic) -> Dyadic {
        if self.mantissa == 0 {
            return other;
        }
        if other.mantissa == 0 {
            return self;
        }
        let (large, mut small) = if self.exponent > other.exponent { (self, other) } else { (other, self) };
        if large.exponent - small.exponent > 60 {
            // Mantissas have at most 53 bits, so only the sign of the small operand matters.
            small = Dyadic { mantissa: small.mantissa.signum(), exponent: large.exponent - 60 };
        }
        let aligned = large.mantissa << (large.exponent - small.exponent);
        Dyadic { mantissa: aligned + small.mantissa, exponent: small.exponent }
    }

    pub fn neg(self) -> Dyadic {
        Dyadic { mantissa: -self.mantissa, ..self }
    }

    pub fn mul(self, other: Dyadic) -> Dyadic {
        Dyadic { mantissa: self.mantissa * other.mantissa, exponent: self.exponent + other.exponent }
    }

    /// Rounds to the format: magnitude bits with the sign of the exact value (+ for zero).
    pub fn round(self, format: Format) -> u64 {
        format.signed(self.rounded_magnitude(format), self.mantissa < 0)
    }

    fn rounded_magnitude(self, format: Format) -> u64 {
        let magnitude = self.mantissa.unsigned_abs();
        if magnitude == 0 {
            return 0;
        }
        let f = format.fraction_bits as i32;
        let top = self.exponent + magnitude.ilog2() as i32;
        let floor = if format.subnormals == Subnormals::Supported { format.min_exponent() } else { i32::MIN };
        let quantum = top.max(floor) - f;
        let drop = quantum - self.exponent;
        let (mut significand, mut quantum) = match drop {
            ..=0 => ((magnitude << -drop) as u64, quantum),
            128.. => (0, quantum),
            _ => {
                let kept = magnitude >> drop;
                let rest = magnitude & ((1u128 << drop) - 1);
                let half = 1u128 << (drop - 1);
                let up = rest > half || (rest == half && kept & 1 == 1);
                ((kept + u128::from(up)) as u64, quantum)
            }
        };
        if significand == 2 << f {
            (significand, quantum) = (1 << f, quantum + 1);
        }
        let exponent = quantum + f + format.bias;
        let normal = significand >= 1 << f;
        if normal && exponent > format.exponent_mask() as i32 {
            return format.max_finite();
        }
        let bits = match (normal && exponent >= 1, format.subnormals) {
            (true, _) => ((exponent as u64) << f) | (significand & format.fraction_mask()),
            (false, Subnormals::Flushed) => 0,
            (false, Subnormals::Supported) => significand,
        };
        bits.min(format.max_finite())
    }
}

/// A random finite encoding, every bit pattern equally likely.
pub fn any_finite(rng: &mut Rng, format: Format) -> u64 {
    loop {
        let bits = rng.random::<u64>() & ((format.sign_bit() << 1) - 1);
        if !format.is_special(bits) {
            return bits;
        }
    }
}

/// A random encoding with an exponent within `spread` of that of 1.0.
pub fn near_one(rng: &mut Rng, format: Format, spread: i32) -> u64 {
    let top = (format.max_finite() >> format.fraction_bits) as i32;
    let exponent = rng.random_range((format.bias - spread).max(0)..=(format.bias + spread).min(top)) as u64;
    let bits = (exponent << format.fraction_bits) | (rng.random::<u64>() & format.fraction_mask());
    format.signed(bits.min(format.max_finite()), rng.random())
}

/// Approximately normal random numbers (sums of uniform ones), rounded to the format.
pub fn normal(rng: &mut Rng, format: Format, deviation: f64, n: usize) -> Vec<u64> {
    let mut one = || (0..12).map(|_| rng.random_range(-0.5..0.5f64)).sum::<f64>() * deviation;
    // Integers are scaled so that they fill their range.
    let fill = if format.is_integer() { format.max_finite() as f64 / 4.0 } else { 1.0 };
    (0..n).map(|_| round_from_f64(format, one() * fill)).collect()
}

pub fn values(format: Format, bits: &[u64]) -> Vec<f64> {
    bits.iter().map(|&b| decode(format, b)).collect()
}

pub fn bits_of(format: Format, x: f64) -> u64 {
    let bits = round_from_f64(format, x);
    assert_eq!(bits, encode(format, x), "{x} is not a {format}");
    bits
}

/// The four cores with float lanes and separate units.
pub fn cores(d: usize, format: Format) -> [CoreConfig; 4] {
    let flash_d = CoreConfig::new(Design::FlashD, d, format);
    let fa2 = CoreConfig::new(Design::Fa2, d, format);
    [
        CoreConfig { datapath: FlashDVariant::Rounded.into(), ..flash_d.clone() },
        CoreConfig { datapath: FlashDVariant::Paper.into(), ..flash_d },
        CoreConfig { datapath: Fa2Variant::SeparateScale.into(), ..fa2.clone() },
        CoreConfig { datapath: Fa2Variant::Literal.into(), ..fa2 },
    ]
}

/// Every variant that computes in base 2.
pub fn variants(d: usize, format: Format) -> [CoreConfig; 8] {
    let [flash_d, _, fa2, _] = cores(d, format);
    // The default widths of fp32's lanes are beyond the limits.
    let lane = (format == Format::FP32).then_some(LaneBits { o: 28, v: 20, w: 12 });
    let update = |update: FlashDVariant| CoreConfig { datapath: update.into(), ..flash_d.clone() };
    let variant = |variant: Fa2Variant| CoreConfig { datapath: variant.into(), ..fa2.clone() };
    [
        flash_d.clone(),
        CoreConfig { lane, ..update(FlashDVariant::Fixed) },
        fa2.clone(),
        variant(Fa2Variant::SharedScale),
        CoreConfig { lane, ..variant(Fa2Variant::LogReference) },
        CoreConfig { lane, ..variant(Fa2Variant::SharedLogReference) },
        CoreConfig { lane, ..variant(Fa2Variant::Ranged) },
        CoreConfig { lane, ..update(FlashDVariant::Ranged) },
    ]
}

/// The variant with a datapath.
pub fn variant_of(d: usize, format: Format, datapath: impl Into<Datapath>) -> CoreConfig {
    let datapath = datapath.into();
    variants(d, format).into_iter().find(|core| core.datapath == datapath).expect("a variant")
}

/// Largest magnitude.
pub fn largest(x: &[f64]) -> f64 {
    x.iter().fold(0f64, |m, x| m.max(x.abs()))
}
