//! Widths of numbers, and numbers of a width.

/// The largest number of `width` bits.
pub const fn ones(width: u32) -> u64 {
    if width >= 64 { u64::MAX } else { (1 << width) - 1 }
}

/// Bits needed to count from 0 to `n`.
pub const fn bits_for(n: u64) -> u32 {
    if n == 0 { 1 } else { 64 - n.leading_zeros() }
}

/// Bits of an index into `n` entries.
pub const fn index_bits(n: usize) -> u32 {
    bits_for((n as u64).saturating_sub(1))
}

/// Two's complement value of the low `width` bits.
pub const fn signed(value: u64, width: u32) -> i64 {
    ((value << (64 - width)) as i64) >> (64 - width)
}

/// A number whose words of `width` bits are these, the low one first.
pub fn joined(words: &[u64], width: u32) -> u64 {
    words.iter().rev().fold(0, |bits, word| bits << width | word)
}
