//! The bytes of a memory.

use std::collections::BTreeMap;
use std::ops::Range;

/// Bytes of a page.
const PAGE: u64 = 4096;

/// A memory of which only written pages take room. Bytes that nobody has written are noise, so that a read of the wrong place is seen.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    pages: BTreeMap<u64, Vec<u8>>,
}

/// The byte of an address that nobody has written.
fn noise(address: u64) -> u8 {
    // The upper bits of a product with the golden ratio.
    (address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
}

impl Memory {
    /// The byte at an address.
    pub fn byte(&self, address: u64) -> u8 {
        let page = self.pages.get(&(address / PAGE));
        page.map_or_else(|| noise(address), |page| page[(address % PAGE) as usize])
    }

    /// The little-endian word of 64 bits at a multiple of 8.
    pub fn word(&self, address: u64) -> u64 {
        let Some(page) = self.pages.get(&(address / PAGE)) else {
            return (0..8).fold(0, |word, n| word | u64::from(noise(address + n)) << (8 * n));
        };
        page[(address % PAGE) as usize..].first_chunk().copied().map_or(0, u64::from_le_bytes)
    }

    /// Writes a byte.
    pub fn set(&mut self, address: u64, byte: u8) {
        let number = address / PAGE;
        let fresh = || (number * PAGE..).take(PAGE as usize).map(noise).collect();
        self.pages.entry(number).or_insert_with(fresh)[(address % PAGE) as usize] = byte;
    }

    /// The bytes from an address on.
    pub fn bytes(&self, address: u64, count: usize) -> Vec<u8> {
        (0..count as u64).map(|n| self.byte(address.wrapping_add(n))).collect()
    }

    /// Writes bytes from an address on.
    pub fn write(&mut self, address: u64, bytes: &[u8]) {
        bytes.iter().zip(0..).for_each(|(&byte, n)| self.set(address.wrapping_add(n), byte));
    }

    /// Fills bytes from an address on with something else than is there.
    pub fn spoil(&mut self, address: u64, count: u64) {
        (0..count).map(|n| address.wrapping_add(n)).for_each(|at| self.set(at, !self.byte(at)));
    }

    /// The first address at which another memory has another byte.
    pub fn difference(&self, other: &Memory) -> Option<u64> {
        let mut numbers: Vec<u64> = self.pages.keys().chain(other.pages.keys()).copied().collect();
        numbers.sort_unstable();
        numbers.dedup();
        let differs = |&address: &u64| self.byte(address) != other.byte(address);
        numbers.into_iter().find_map(|page| (page * PAGE..).take(PAGE as usize).find(differs))
    }
}

/// Addresses that answer with an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorRange {
    /// The addresses.
    pub addresses: Range<u64>,
    /// `rresp` and `bresp`: [`SLVERR`](super::SLVERR) or [`DECERR`](super::DECERR).
    pub resp: u64,
}

impl ErrorRange {
    /// The worst answer to an access to some addresses.
    pub(super) fn answer(ranges: &[ErrorRange], accessed: &Range<u64>) -> u64 {
        let hit = |range: &&ErrorRange| {
            range.addresses.start < accessed.end && accessed.start < range.addresses.end
        };
        ranges.iter().filter(hit).map(|range| range.resp).max().unwrap_or(super::OKAY)
    }
}
