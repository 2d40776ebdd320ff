//! The types of elements that files hold.

use flashd_spec::format::Format;
use safetensors::Dtype;

/// A type of elements that is understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ElementType {
    F32,
    F16,
    F64,
    Bf16,
    F8E5m2,
    F8E4m3,
}

impl ElementType {
    pub(super) const ALL: [ElementType; 6] = [
        ElementType::F32,
        ElementType::F16,
        ElementType::F64,
        ElementType::Bf16,
        ElementType::F8E5m2,
        ElementType::F8E4m3,
    ];

    /// The first type that `fits`.
    pub(super) fn find(fits: impl Fn(&ElementType) -> bool) -> Option<ElementType> {
        ElementType::ALL.into_iter().find(fits)
    }

    /// As numpy, ml_dtypes and PyTorch call it.
    pub(super) fn name(self) -> &'static str {
        match self {
            ElementType::F32 => "float32",
            ElementType::F16 => "float16",
            ElementType::F64 => "float64",
            ElementType::Bf16 => "bfloat16",
            ElementType::F8E5m2 => "float8_e5m2",
            ElementType::F8E4m3 => "float8_e4m3fn",
        }
    }

    /// In the header of a `.npy` file, without the byte order. ml_dtypes has one type that numpy describes as two bytes
    /// of nothing and one as a float of one byte, but many as one byte of nothing.
    pub(super) fn npy(self) -> Option<&'static str> {
        match self {
            ElementType::F32 => Some("f4"),
            ElementType::F16 => Some("f2"),
            ElementType::F64 => Some("f8"),
            ElementType::Bf16 => Some("V2"),
            ElementType::F8E5m2 => Some("f1"),
            ElementType::F8E4m3 => None,
        }
    }

    /// In the header of a `.safetensors` file.
    pub(super) fn safetensors(self) -> Dtype {
        match self {
            ElementType::F32 => Dtype::F32,
            ElementType::F16 => Dtype::F16,
            ElementType::F64 => Dtype::F64,
            ElementType::Bf16 => Dtype::BF16,
            ElementType::F8E5m2 => Dtype::F8_E5M2,
            ElementType::F8E4m3 => Dtype::F8_E4M3,
        }
    }

    /// The least finite number, where libraries add it to scores as a mask in place of minus infinity.
    pub(super) fn least(self) -> f64 {
        match self {
            ElementType::F16 => -65504.0,
            ElementType::F32 | ElementType::Bf16 | ElementType::F64 => f32::MIN.into(),
            ElementType::F8E5m2 | ElementType::F8E4m3 => f64::NEG_INFINITY,
        }
    }

    pub(super) fn bytes(self) -> usize {
        match self {
            ElementType::F8E5m2 | ElementType::F8E4m3 => 1,
            ElementType::F16 | ElementType::Bf16 => 2,
            ElementType::F32 => 4,
            ElementType::F64 => 8,
        }
    }

    /// The value of one element's bytes, least significant first. Exact: f64 holds all of them.
    pub(super) fn value(self, le: &[u8]) -> f64 {
        let word = le.iter().rev().fold(0u64, |word, &byte| word << 8 | u64::from(byte));
        match self {
            ElementType::F8E5m2 => small(Format::FP8_E5M2, word),
            ElementType::F8E4m3 => small(Format::FP8_E4M3, word),
            ElementType::F16 => half::f16::from_bits(word as u16).to_f64(),
            // The hardware's have no subnormals.
            ElementType::Bf16 => half::bf16::from_bits(word as u16).to_f64(),
            ElementType::F32 => f64::from(f32::from_bits(word as u32)),
            ElementType::F64 => f64::from_bits(word),
        }
    }
}

/// The value of an encoding of a format with subnormals; encodings without a value are infinite or NaN.
fn small(format: Format, bits: u64) -> f64 {
    match (format.is_special(bits), bits & ((1 << format.fraction_bits) - 1)) {
        (false, _) => format.value(bits),
        (true, 0) => f64::INFINITY.copysign(if bits & format.sign_bit() == 0 { 1.0 } else { -1.0 }),
        (true, _) => f64::NAN,
    }
}
