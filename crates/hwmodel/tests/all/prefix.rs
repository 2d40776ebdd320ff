//! Sums by a parallel-prefix network.

use flashd_hwmodel::arith::prefix::prefix_sum;
use flashd_hwmodel::word::{Num, Word};

fn is_the_sum(width: u32, a: u64, b: u64) {
    let (x, y) = (Num::new(width, a), Num::new(width, b));
    assert_eq!(prefix_sum(&x, &y), x.add(&y), "{a} + {b}, {width} bits");
}

#[test]
fn all_narrow_sums() {
    for width in 1..=7 {
        for a in 0..1 << width {
            (0..1 << width).for_each(|b| is_the_sum(width, a, b));
        }
    }
}

/// A carry that starts anywhere and passes any number of places.
#[test]
fn carries_go_all_the_way() {
    for width in [15, 16, 17, 33, 64] {
        for low in 0..width {
            for high in low..width {
                let run = (u64::MAX >> (63 - high)) & (u64::MAX << low);
                is_the_sum(width, run, 1 << low);
                is_the_sum(width, run, run);
            }
        }
    }
}
