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

/// Number `index` of those of `bits` bits each, 32 at most, that stand one after another, the low one first, in words of `width` bits.
pub fn packed(words: &[u64], width: u32, bits: u32, index: usize) -> u64 {
    let place = index * bits as usize;
    let (first, last) = (place / width as usize, (place + bits as usize - 1) / width as usize);
    let words = words[first..=last].iter().rev().fold(0u128, |all, &word| all << width | u128::from(word));
    (words >> (place - first * width as usize)) as u64 & ones(bits)
}

/// The words of `width` bits that hold numbers of `bits` bits each one after another, the low one first, and zeros above them.
pub fn pack(numbers: &[u64], bits: u32, width: u32) -> Vec<u64> {
    let words = (numbers.len() * bits as usize).div_ceil(width as usize);
    let bit = |place: usize| {
        let number = numbers.get(place / bits as usize).copied().unwrap_or(0);
        number >> (place % bits as usize) & 1
    };
    let word = |word: usize| (0..width as usize).fold(0, |all, i| all | bit(word * width as usize + i) << i);
    (0..words).map(word).collect()
}
