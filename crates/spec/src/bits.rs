//! Bit widths, bit masks, and packing of fixed-width fields into words.

/// `2^width - 1`, the mask of the low `width` bits; all ones from 64 bits up.
pub const fn ones(width: u32) -> u64 {
    if width >= 64 { u64::MAX } else { (1 << width) - 1 }
}

/// Bits of an unsigned counter from 0 to `n`: `floor(log2 n) + 1`, at least 1.
pub const fn bits_for(n: u64) -> u32 {
    if n == 0 { 1 } else { 64 - n.leading_zeros() }
}

/// Bits of an index 0 to `n - 1`, at least 1.
pub const fn index_bits(n: usize) -> u32 {
    bits_for((n as u64).saturating_sub(1))
}

/// Sign-extends the low `width` bits (two's complement, 1 to 64).
pub const fn signed(value: u64, width: u32) -> i64 {
    ((value << (64 - width)) as i64) >> (64 - width)
}

/// Concatenates `words` of `width` bits, the first in the lowest bits: `sum words[i] 2^(i width)`.
pub fn joined(words: &[u64], width: u32) -> u64 {
    words.iter().rev().fold(0, |bits, word| bits << width | word)
}

/// Reads field `index` of the fields of `bits` bits (at most 32) that [`pack`] laid out in words of `width` bits.
pub fn packed(words: &[u64], width: u32, bits: u32, index: usize) -> u64 {
    let place = index * bits as usize;
    let (first, last) = (place / width as usize, (place + bits as usize - 1) / width as usize);
    let words = words[first..=last].iter().rev().fold(0u128, |all, &word| all << width | u128::from(word));
    (words >> (place - first * width as usize)) as u64 & ones(bits)
}

/// Packs fields of `bits` bits into words of `width` bits without gaps, the first in the lowest bits. The rest of the last word is 0.
pub fn pack(numbers: &[u64], bits: u32, width: u32) -> Vec<u64> {
    let words = (numbers.len() * bits as usize).div_ceil(width as usize);
    let bit = |place: usize| {
        let number = numbers.get(place / bits as usize).copied().unwrap_or(0);
        number >> (place % bits as usize) & 1
    };
    let word = |word: usize| (0..width as usize).fold(0, |all, i| all | bit(word * width as usize + i) << i);
    (0..words).map(word).collect()
}
