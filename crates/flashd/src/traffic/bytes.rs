//! Bytes that a core moves for each key, from the widths of its operands.

use super::HoldCounts;
use flashd_golden::family::{Counts, MemoryTensor};
use flashd_spec::config::Scale;
use flashd_spec::format::{Encodings, Format, Formats, Scales};
use serde::Serialize;

/// The format of a tensor, if it is an input or output of a core.
fn format_of(formats: Formats, tensor: MemoryTensor) -> Option<Format> {
    match tensor {
        MemoryTensor::Q => Some(formats.q),
        MemoryTensor::K => Some(formats.k),
        MemoryTensor::V => Some(formats.v),
        MemoryTensor::O => Some(formats.o),
        _ => None,
    }
}

/// Bytes in one format, queries resident, keys and values streamed.
#[derive(Clone, Serialize)]
pub struct Bytes {
    /// How operands are encoded.
    pub format: Encodings,
    /// Bytes of a key.
    pub key: u64,
    /// Bytes of a value.
    pub value: u64,
    /// Bytes of a key and its value, shared by the resident queries.
    pub a_query: f64,
    /// Bytes of a key and its value for one query alone that reads no values of held keys.
    pub a_query_with_hold: f64,
    /// All bytes that are read and written, all heads together.
    pub total: u64,
}

/// Whole bytes of elements.
fn bytes(elements: u64, format: Format) -> u64 {
    (elements * u64::from(format.width())).div_ceil(8)
}

impl Bytes {
    /// Bytes of cores of each named format, with its default scales, and with scales of blocks where the format takes them.
    pub fn of_all_formats(d: usize, resident: usize, counts: &Counts, hold: &HoldCounts) -> Vec<Bytes> {
        let formats = || Format::named().map(|(_, format)| format);
        let blocks = [Scale::Mx, Scale::Nvfp4].into_iter().flat_map(|scale| {
            let scales = Scales { q: scale, k: scale, v: scale };
            let of = move |format: Format| Encodings { formats: format.into(), scales };
            formats().filter(move |&format| scale.takes(format)).map(of)
        });
        let plain = formats().map(|format| Encodings::from(Formats::from(format)));
        plain.chain(blocks).map(|of| Bytes::new(of, d as u64, resident, counts, hold)).collect()
    }

    fn new(encodings: Encodings, d: u64, resident: usize, counts: &Counts, hold: &HoldCounts) -> Bytes {
        let of = encodings.formats;
        // Including scales.
        let words = encodings.words(d as usize, d as usize);
        let (key, value) = (bytes(words.k as u64, of.k), bytes(words.v as u64, of.v));
        let read = 1.0 - hold.held as f64 / hold.steps.max(1) as f64;
        let moved = |&tensor: &MemoryTensor| {
            let elements = counts.reads(tensor) + counts.writes(tensor);
            let row = match tensor {
                MemoryTensor::Q => words.q,
                MemoryTensor::K => words.k,
                MemoryTensor::V => words.v,
                _ => d as usize,
            };
            format_of(of, tensor).map(|format| bytes(elements + elements / d * (row as u64 - d), format))
        };
        Bytes {
            format: encodings,
            key,
            value,
            a_query: (key + value) as f64 / resident as f64,
            a_query_with_hold: key as f64 + value as f64 * read,
            total: MemoryTensor::ALL.iter().filter_map(moved).sum(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys and values of other formats than the queries: each operand counts with its own width.
    #[test]
    fn each_operand_has_its_own_width() {
        let of = Formats { k: Format::FP8_E4M3, v: Format::FP16, ..Format::FP32.into() };
        let hold = HoldCounts { steps: 4, held: 1, ..HoldCounts::default() };
        let bytes = Bytes::new(of.into(), 10, 4, &Counts::default(), &hold);
        assert_eq!((bytes.key, bytes.value, bytes.a_query, bytes.a_query_with_hold), (10, 20, 7.5, 25.0));
        assert_eq!(
            MemoryTensor::ALL.iter().filter_map(|&t| format_of(of, t)).map(|f| f.width()).sum::<u32>(),
            32 + 8 + 16 + 32
        );
    }
}
