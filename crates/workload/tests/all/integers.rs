//! Integers: their encodings and values, and the scales of rows and channels.

use flashd_spec::bits::packed;
use flashd_spec::format::{Encodings, Format, Formats, Scale, Scales};
use flashd_workload::synthetic::attention_like;
use flashd_workload::{
    Attention, Quantised, RowEncoding, ScaleRule, Scaling, ScoreScale, TensorScale, choose_scaling, quantise,
    round_to, round_value,
};

/// Two's complement, read plainly; the lowest counts as the one above it.
fn plain(bits: u64, width: u32) -> f64 {
    let half = 1i64 << (width - 1);
    let value = if bits as i64 >= half { bits as i64 - 2 * half } else { bits as i64 };
    value.max(1 - half) as f64
}

#[test]
fn every_encoding_is_its_integer() {
    for (_, format) in Format::INTEGERS {
        for bits in 0..1u64 << format.width() {
            let value = plain(bits, format.width());
            assert_eq!(format.value(bits), value, "{format}: {bits:#x}");
            assert!(!format.is_special(bits));
            let lowest = bits == 1 << (format.width() - 1);
            assert_eq!(round_to(format, value), if lowest { bits + 1 } else { bits });
            // Ties to even, and saturation.
            let even = if value.rem_euclid(2.0) == 0.0 { value } else { value + 1.0 };
            let most = format.max_finite() as f64;
            assert_eq!(format.value(round_to(format, value + 0.5)), even.min(most));
        }
        assert_eq!(format.value(round_to(format, -1e30)), -(format.max_finite() as f64));
        assert_eq!(round_to(format, f64::NAN), 0);
        assert_eq!(round_to(format, -0.2), 0);
    }
}

/// Every fixed-point number, and numbers between any two of them, against the definition in whole units.
#[test]
fn every_fixed_point_number_is_rounded_to_its_units() {
    for format in Format::fixed_points() {
        let (width, one) = (format.width(), f64::from(1u32 << format.integer_fraction()));
        let most = (1i64 << (width - 1)) - 1;
        let word = |units: i64| units.clamp(-most, most) as u64 & ((1 << width) - 1);
        for bits in 0..1u64 << width {
            let units = plain(bits, width) as i64;
            assert_eq!(format.value(bits) * one, units as f64, "{format}: {bits:#x}");
            let even = units + (units & 1);
            for (quarters, nearest) in [(0, units), (1, units), (2, even), (3, units + 1)] {
                let x = (units as f64 + f64::from(quarters) / 4.0) / one;
                assert_eq!(round_to(format, x), word(nearest), "{format}: {x}");
                let value = word(nearest);
                assert_eq!(round_value(format, x), format.value(value), "{format}: {x}");
                let (words, saturated) =
                    RowEncoding { format, scale: Scale::None, rule: ScaleRule::default() }.encode(&[x]);
                assert_eq!((words, saturated), (vec![value], usize::from(nearest > most)), "{format}: {x}");
            }
        }
        for (x, bits) in [(f64::NAN, 0), (1e30, word(most)), (-1e30, word(-most)), (-1e-9, 0)] {
            assert_eq!(round_to(format, x), bits, "{format}: {x}");
        }
    }
}

/// Tensors in a fixed-point format keep their units: no power of two, and no scale of rows or channels.
#[test]
fn fixed_point_tensors_are_rounded_as_they_are() {
    let mut head: Attention = attention_like(5, 7, 30, 16);
    head.v[3] = 1000.0;
    let q8_8 = Format::fixed(16, 8);
    for formats in [q8_8.into(), Formats { o: Format::FP16, ..q8_8.into() }] {
        let scaling = choose_scaling(formats, &head, ScoreScale::Auto, TensorScale::Auto).unwrap();
        assert_eq!(
            (scaling.q_exponent, scaling.k_exponent, scaling.v_exponent, scaling.q_factor),
            (0, 0, 0, 1.0)
        );
        let rounded = quantise(formats, scaling, &head);
        assert_eq!((rounded.q.len(), rounded.saturated), (7 * 16, [0, 0, 1]));
        assert_eq!(rounded.v[3], 0x7fff);
        for (&bits, &x) in rounded.k.iter().zip(&head.k) {
            assert_eq!(bits, (f64::from(x) * 256.0).round_ties_even() as i64 as u64 & 0xffff);
        }
        assert_eq!(rounded.result(2, formats.o.one()), 1.0);
    }
}

#[test]
fn a_row_fills_its_integers_and_none_saturates() {
    let rows: [&[f64]; 5] =
        [&[1.0, -0.5, 0.25], &[1e-3, -7e-5], &[300.0, 299.0, -300.0], &[0.0, 0.0], &[1e-45, 0.0]];
    for (_, format) in Format::INTEGERS {
        for row in rows {
            let encoding = RowEncoding { format, scale: Scale::Row, rule: ScaleRule::default() };
            let (words, saturated) = encoding.encode(row);
            assert_eq!(saturated, 0);
            let (elements, scale) = words.split_at(row.len());
            let by = Format::BF16.value(packed(scale, format.width(), 16, 0));
            assert!(by > 0.0 && f64::from(by as f32) == by && (by as f32).to_bits() & 0xffff == 0, "bf16");
            let largest = row.iter().fold(0f64, |m, x| m.max(x.abs()));
            let most = format.max_finite() as f64;
            // Rounded up by less than a place of bf16, unless it is smaller than any scale.
            assert!(largest / by <= most, "{format}, {row:?}");
            if largest > 1e-30 {
                assert!(largest / by > most * (1.0 - 2f64.powi(-7)), "{format}, {row:?}: {by}");
            }
            for (&bits, x) in elements.iter().zip(row) {
                assert!((format.value(bits) * by - x).abs() <= by / 2.0 * (1.0 + 1e-12), "{format}, {row:?}");
            }
        }
    }
}

fn mean_distance(a: &[f64], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - f64::from(*b)).abs()).sum::<f64>() / a.len() as f64
}

#[test]
fn a_head_is_its_integers_times_their_scales() {
    let mut head: Attention = attention_like(3, 20, 30, 16);
    // One channel of V far larger than the others, and a row of K far smaller.
    head.v.iter_mut().step_by(16).for_each(|v| *v *= 1000.0);
    head.k[16..32].iter_mut().for_each(|k| *k *= 1e-4);
    let scaling = Scaling::unscaled(ScoreScale::Auto, 16).unwrap();
    let with = quantise(Format::INT8, scaling, &head);
    assert_eq!((with.words().q, with.q.len(), with.k.len()), (18, 20 * 18, 30 * 18));
    assert_eq!((with.saturated, with.query(3).len()), ([0; 3], 18));
    let [q, k, v] = with.dequantised();
    assert_eq!((q.len(), k.len(), v.len()), (20 * 16, 30 * 16, 30 * 16));
    for (row, x) in k.chunks(16).zip(head.k.chunks(16)) {
        let largest = x.iter().fold(0f32, |m, x| m.max(x.abs()));
        let worst = row.iter().zip(x).map(|(a, b)| (a - f64::from(*b)).abs()).fold(0.0, f64::max);
        assert!(worst <= f64::from(largest) / 127.0 * 0.51, "{worst} of {largest}");
    }
    for channel in 0..16 {
        let of = |x: usize| (v[x * 16 + channel] - f64::from(head.v[x * 16 + channel])).abs();
        let largest = (0..30).map(|x| head.v[x * 16 + channel].abs()).fold(0f32, f32::max);
        assert!((0..30).all(|x| of(x) <= f64::from(largest) / 127.0 * 0.5001), "channel {channel}");
        assert_eq!(with.result(channel, 0x3f80), f64::from(largest) / 127.0, "1.0 in bf16");
    }
    // Without scales a small row keeps next to nothing.
    let formats = Format::INT8.into();
    let without = quantise(Encodings { formats, scales: Scales::NONE }, scaling, &head);
    assert_eq!(without.k.len(), 30 * 16);
    let [_, coarse, _] = without.dequantised();
    assert!(mean_distance(&k, &head.k) < 0.1 * mean_distance(&coarse, &head.k));
}

#[test]
fn padding_precedes_the_scale() {
    let head = attention_like(4, 2, 3, 5);
    let scaling = Scaling::unscaled(ScoreScale::Auto, 5).unwrap();
    let narrow = quantise(Format::INT4, scaling, &head);
    let wide: Quantised = narrow.clone().pad_to(8);
    assert_eq!((narrow.words().k, wide.words().k), (9, 12));
    for row in 0..3 {
        let (own, padded) = (narrow.key(row), wide.key(row));
        assert_eq!((&padded[..5], &padded[5..8], &padded[8..]), (&own[..5], &[0; 3][..], &own[5..]));
    }
}
