//! The piecewise linear tables against their functions.

use flashd_spec::pwl::{Function, Table, value_fraction};

#[test]
fn the_fit_is_close_to_the_minimax_bound() {
    for segments in [4, 8, 16, 32] {
        let b = value_fraction(segments);
        let h = 1.0 / segments as f64;
        // A free linear fit of f on a segment of width h has error h^2 max|f''| / 16; a pinned first
        // value at most doubles it, and truncation and rounding add two units.
        for (function, curvature) in
            [(Function::Exp, 0.4805), (Function::Ln, 1.0), (Function::Reciprocal, 2.0)]
        {
            let t = Table::get(function, segments, b);
            let bound = h * h * curvature / 8.0 + 2.0 / (b as f64).exp2();
            assert!(t.max_error(0).0 <= bound, "{function:?} {segments}: {:?} > {bound}", t.max_error(0));
        }
    }
}

#[test]
fn octave_tables_are_relatively_accurate_in_every_octave() {
    for segments in [4u32, 8, 16, 32] {
        let bound = 0.11 / (segments * segments) as f64;
        for function in [Function::Sigmoid, Function::Softplus, Function::Log2p1] {
            let t = Table::get(function, segments, value_fraction(segments));
            for k in 0..24 {
                let (_, relative) = t.max_error(k);
                assert!(relative < bound, "{function:?}, {segments} segments, octave {k}: {relative}");
            }
        }
    }
}

#[test]
fn values_that_must_be_exact_are() {
    for segments in [4, 8, 16, 32] {
        let b = value_fraction(segments);
        assert_eq!(Table::get(Function::Exp, segments, b).eval(0, 0), 1 << b);
        assert_eq!(Table::get(Function::Reciprocal, segments, b).eval(0, 0), 1 << b);
        assert_eq!(Table::get(Function::Sigmoid, segments, b).eval(0, 0), 1 << (b - 1));
        assert_eq!(Table::get(Function::Ln, segments, b).eval(0, 0), 0);
    }
}

#[test]
fn values_stay_inside_the_functions_range() {
    for segments in [4, 8, 16, 32] {
        let b = value_fraction(segments);
        for function in Function::ALL {
            let t = Table::get(function, segments, b);
            for entry in 0..t.c0.len() {
                for dx in [0, (1u64 << t.offset_bits) - 1] {
                    let y = t.eval(entry, dx);
                    let largest = (function.largest() * (b as f64).exp2()) as u64;
                    assert!(y <= largest, "{function:?} {segments} entry {entry}");
                }
            }
        }
    }
}
