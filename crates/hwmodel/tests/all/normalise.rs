//! Normalisation of words with few leading zeros, within a limit, and with ones shifted in.

use flashd_hwmodel::arith::normalise::{normalise_filled, normalise_limited, normalise_within};
use flashd_hwmodel::word::{Num, Word};

#[test]
fn few_leading_zeros_are_found() {
    for width in 3..9 {
        for most in 1..=3.min(width - 1) {
            let smallest = 1u64 << (width - 1 - most);
            for value in smallest..1 << width {
                let x = Num::new(width, value);
                let (shifted, count) = normalise_within(&x, most);
                let (all, zeros) = x.normalise();
                assert_eq!((shifted.value(), count.value()), (all.value(), zeros.value()), "{width} {value}");
            }
            assert_eq!(normalise_within(&Num::new(width, 0), most).0.value(), 0);
        }
    }
}

#[test]
fn ones_are_shifted_in() {
    for value in 1..1u64 << 7 {
        let x = Num::new(7, value);
        let (shifted, count) = normalise_filled(&x, None, &Num::new(1, 1));
        let zeros = 6 - value.ilog2();
        assert_eq!((shifted.value(), count.value()), (((value + 1) << zeros) - 1, zeros as u64), "{value}");
    }
}

#[test]
fn the_shift_stops_at_the_room() {
    for width in 2..10 {
        for room_bits in 1..6 {
            for value in 1..1u64 << width {
                for room in 0..1u64 << room_bits {
                    let x = Num::new(width, value);
                    let expected = (width - 1 - value.ilog2()).min(room as u32);
                    let (shifted, count) = normalise_limited(&x, &Num::new(room_bits, room));
                    assert_eq!(count.value(), expected as u64, "{value} of {width} bits, room {room}");
                    assert_eq!(shifted.value(), value << expected);
                }
            }
        }
    }
}
