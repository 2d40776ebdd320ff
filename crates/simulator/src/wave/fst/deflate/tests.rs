use super::*;
use rand::rand_core::SeedableRng;
use rand::{Rng, RngExt};
use rand_chacha::ChaCha8Rng;
use wavefst::block::FrameSection;

/// What libdeflate makes of the stream.
fn restored(stream: &[u8], length: usize) -> Vec<u8> {
    let section = FrameSection::decode(length as u64, stream.len() as u64, stream.to_vec(), 1).unwrap();
    section.as_slice().to_vec()
}

/// A chain of records from draws of a time and a value.
fn chain(records: usize, value: usize, mut draw: impl FnMut(usize) -> (u32, u64)) -> Vec<u8> {
    let mut chain = Vec::new();
    for record in 0..records {
        let (mut time, bits) = draw(record);
        while time >= 0x80 {
            chain.push(time as u8 | 0x80);
            time >>= 7;
        }
        chain.push(time as u8);
        chain.extend(&bits.to_be_bytes()[..value]);
    }
    chain
}

#[test]
fn another_library_restores_the_chains() {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut deflate = Deflate::default();
    let mut compressed = 0;
    for value in 0..=8 {
        for records in [1, 2, 3, 10, 100, 1000, 20_000] {
            for kind in 0..5 {
                let kept: Vec<u64> = (0..700).map(|_| random.next_u64()).collect();
                let chain = chain(records, value, |record| match kind {
                    // A clock.
                    0 => (4 | (record as u32 & 1) << 1, 0),
                    // Noise, whose symbols come equally often.
                    1 => (random.next_u32() >> random.random_range(0..32), random.next_u64()),
                    // New in some bits, at the same distance.
                    2 => (4, random.next_u64() & 0x3ff0_f000_0000_0000),
                    // What comes again.
                    3 => (4, kept[record % kept.len()]),
                    // Counts like Fibonacci's numbers: codes become longer than they may be.
                    _ => (4, u64::MAX << random.next_u32().trailing_zeros().min(63)),
                });
                if let Some(stream) = deflate.compress(&chain, value) {
                    compressed += 1;
                    assert!(restored(stream, chain.len()) == chain, "{value} {records} {kind}");
                }
            }
        }
    }
    assert!(compressed > 120, "{compressed}");
}

#[test]
fn codes_are_not_longer_than_they_may_be() {
    let mut counts = vec![1u32, 1];
    while counts.len() < 40 {
        counts.push(counts[counts.len() - 1] + counts[counts.len() - 2]);
    }
    for limit in [7, 15] {
        let code = Code::of(&counts, limit);
        let lengths: Vec<u32> = (0..counts.len()).map(|symbol| code.of_symbol(symbol).1).collect();
        assert!(lengths.iter().all(|length| (1..=limit).contains(length)), "{lengths:?}");
        // Complete: every sequence of bits is one of symbols.
        let sum: u32 = lengths.iter().map(|length| 1 << (limit - length)).sum();
        assert_eq!(sum, 1 << limit);
    }
}

#[test]
fn the_check_sum_is_that_of_the_standard() {
    assert_eq!(adler32(b""), 1);
    assert_eq!(adler32(b"Wikipedia"), 0x11e6_0398);
    let (mut a, mut b) = (1u32, 0u32);
    let long = [255u8; 20_001];
    for byte in long {
        a = (a + u32::from(byte)) % 65_521;
        b = (b + a) % 65_521;
    }
    assert_eq!(adler32(&long), b << 16 | a);
}

#[test]
fn repeated_keys_and_zeros_cost_little() {
    let mut random = ChaCha8Rng::seed_from_u64(2);
    let keys: Vec<u64> = (0..1000).map(|_| random.next_u64()).collect();
    let again = chain(20_000, 2, |record| (4, keys[record % 1000]));
    let decimals = chain(20_000, 8, |_| (4, 0x3ff0 << 48 | (random.next_u64() >> 49) << 37));
    let mut deflate = Deflate::default();
    // Two bytes of the first round alone.
    let length = deflate.compress(&again, 2).unwrap().len();
    assert!(length < 4_000, "{length} of {}", again.len());
    // Fifteen bits each, and ten to tell which bytes they are and that the others are as before.
    let length = deflate.compress(&decimals, 8).unwrap().len();
    assert!(length < 20_000 * 26 / 8, "{length} of {}", decimals.len());
}
