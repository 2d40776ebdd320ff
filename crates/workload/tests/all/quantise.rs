//! Scaling and rounding of whole heads.

use flashd_spec::config::default_score_shift;
use flashd_spec::format::{Format, Scale, ScaleFormat};
use flashd_workload::synthetic::attention_like;
use flashd_workload::{
    Attention, Quantised, RowEncoding, Scaling, ScalingError, ScoreScale, TensorScale, choose_scaling,
    quantise, round_value, v_candidates,
};

fn choose(format: Format, head: &Attention, tensor: TensorScale) -> Scaling {
    choose_scaling(format, head, ScoreScale::Auto, tensor).unwrap()
}

fn exact_score(head: &Attention, i: usize, j: usize, scale: f64) -> f64 {
    let products = head.query(i).iter().zip(head.key(j)).map(|(&q, &k)| f64::from(q) * f64::from(k));
    products.sum::<f64>() * scale
}

/// The score as a core computes it: every product and every sum of neighbours rounded.
fn core_score(head: &Quantised, i: usize, j: usize) -> f64 {
    let format = head.encodings.formats.q;
    let round = |x: f64| round_value(format, x);
    let products = head.query(i).iter().zip(head.key(j));
    let mut level: Vec<f64> = products.map(|(&q, &k)| round(format.value(q) * format.value(k))).collect();
    while level.len() > 1 {
        level = level.chunks(2).map(|pair| if let [a, b] = pair { round(a + b) } else { pair[0] }).collect();
    }
    head.scaling.score(level[0])
}

fn mean_error(head: &Attention, scaling: Scaling, format: Format) -> f64 {
    let quantised = quantise(format, scaling, head);
    let (mut sum, mut count) = (0.0, 0);
    for i in 0..head.queries {
        for j in 0..head.keys {
            sum += (core_score(&quantised, i, j) - exact_score(head, i, j, scaling.score_scale)).abs();
            count += 1;
        }
    }
    sum / f64::from(count)
}

/// A run-time scale has the factor and the powers of two of Q and K, and floats give up such as leave it few bits.
#[test]
fn a_scale_at_run_time_has_the_whole_factor() {
    let scaling = |score, d| Scaling::unscaled(score, d).unwrap();
    let of = |s: Scaling, format: Format, shift| s.with_run_time_scale(format.into(), shift);
    for (score, d, shift, units) in [
        (ScoreScale::Auto, 64, 0, Some(0x2000)),
        (ScoreScale::Auto, 48, 0, Some(9459)),
        (ScoreScale::Auto, 64, -3, Some(0)),
        (ScoreScale::None, 64, 0, Some(0)),
        (ScoreScale::None, 64, 2, Some(0x4000)),
        (ScoreScale::Value(4.0), 64, 0, None),
        (ScoreScale::Value(1e-6), 64, 0, None),
    ] {
        let scaling = of(scaling(score, d), Format::BF16, shift);
        assert_eq!((scaling.q_factor, scaling.score_shift), (1.0, shift));
        assert_eq!(scaling.run_time_scale().ok(), units, "{score:?} {d} {shift}");
    }
    let exponents = |s: Scaling| (s.q_exponent, s.k_exponent);
    let scaled = scaling(ScoreScale::Auto, 64).with_exponents(5, 6);
    let [int8, fp8] = [Format::INT8, Format::FP8_E4M3].map(|format| of(scaled, format, 0));
    assert_eq!((exponents(int8), int8.run_time_scale()), ((5, 6), Ok(4)));
    assert_eq!((exponents(fp8), fp8.run_time_scale()), ((0, 1), Ok(0x1000)));
    assert_eq!(exponents(of(scaled, Format::FP8_E4M3, -10)), (5, 6));
}

/// A Q0.16 scale is the smallest with which nothing saturates, and at most 1.
#[test]
fn q16_scales_cover_the_largest_element() {
    let scale = Scale::RowQ16;
    for format in [Format::INT8, Format::FP8_E4M3, Format::fixed(16, 8), Format::BF16] {
        let encoding = RowEncoding { format, scale, rule: Default::default() };
        let most = if format == Format::BF16 { 1.0 } else { format.value(format.max_finite()) };
        for m in [1e-9, 1e-5, 0.01, 0.3, 0.9999, 1.0, 2.0, 500.0] {
            let row = [m * most, -0.25 * m * most, 0.0];
            let (words, saturated) = encoding.encode(&row);
            let bits = flashd_spec::bits::packed(&words[3..], format.width(), 16, 0);
            let (value, _) = ScaleFormat::Q16.value(bits);
            assert!(
                value >= m.min(1.0) && (value - m.min(1.0)) * 65536.0 < 1.0 + 1e-6,
                "{format} {m}: {value}"
            );
            // Elements of a wide format are as they are under a scale of 1.
            let beyond = row.iter().filter(|x| x.abs() > most && format != Format::BF16).count();
            assert_eq!(saturated, beyond, "{format} {m}");
            if (0.01..=1.0).contains(&m) {
                let decoded = encoding.decode(3, &words);
                assert!((decoded[0] / row[0] - 1.0).abs() < 0.07, "{format} {m}: {decoded:?}");
            }
        }
    }
}

#[test]
fn the_power_of_two_of_the_scale_goes_to_the_core() {
    for d in 2..=512 {
        let s = Scaling::unscaled(ScoreScale::Auto, d).unwrap();
        assert_eq!(s.score_shift, default_score_shift(d), "d = {d}");
        assert!(s.q_factor > 0.5 && s.q_factor <= 1.0, "d = {d}: {}", s.q_factor);
        assert_eq!(s.q_factor * 2f64.powi(s.score_shift), s.score_scale);
    }
    let of = |scale| {
        let s = Scaling::unscaled(ScoreScale::Value(scale), 64).unwrap();
        (s.score_shift, s.q_factor)
    };
    assert_eq!((of(0.25), of(1.0), of(4.0)), ((-2, 1.0), (0, 1.0), (2, 1.0)));
    assert_eq!((of(0.375), of(0.75), of(3.0)), ((-1, 0.75), (0, 0.75), (2, 0.75)));
    assert_eq!(Scaling::unscaled(ScoreScale::None, 64).unwrap().score_shift, 0);
    // A padded head keeps the scale of its unpadded dimension, which the caller passes.
    assert_eq!(Scaling::unscaled(ScoreScale::Auto, 8).unwrap().score_scale, 1.0 / 8f64.sqrt());
}

#[test]
fn a_scale_that_no_core_can_apply_is_an_error() {
    for bad in [0.0, -1.0, f64::INFINITY] {
        assert_eq!(Scaling::unscaled(ScoreScale::Value(bad), 64), Err(ScalingError::ScoreScale(bad)));
    }
    assert!(Scaling::unscaled(ScoreScale::Value(f64::NAN), 64).is_err());
    let error = Scaling::unscaled(ScoreScale::Value(0.0), 64).unwrap_err();
    assert_eq!(error.to_string(), "score scale 0 is not a positive finite number; 1/sqrt(d) is usual");
    let error = Scaling::unscaled(ScoreScale::Value(2f64.powi(-70)), 64).unwrap_err();
    assert!(error.to_string().ends_with(" needs score_shift -70, which is outside -64 to 64"), "{error}");
}

#[test]
fn the_shift_undoes_the_exponents() {
    let s = Scaling::unscaled(ScoreScale::Auto, 32).unwrap();
    let t = s.with_exponents(5, -2).with_exponents(3, -7).with_v_exponent(4);
    assert_eq!((t.q_exponent, t.k_exponent, t.v_exponent, t.score_shift), (3, -7, 4, s.score_shift + 4));
    let dot = |s: &Scaling| s.score(s.factors().q(1.25) * s.factors().k(-3.5));
    assert_eq!(dot(&s), dot(&t));
    assert_eq!(t.result(Format::FP8_E4M3, Format::FP8_E4M3.one()), 1.0 / 16.0);
}

#[test]
fn formats_of_wide_range_are_left_alone() {
    let head = attention_like(1, 8, 32, 64);
    let unscaled = Scaling::unscaled(ScoreScale::Auto, 64).unwrap();
    assert_eq!(choose(Format::BF16, &head, TensorScale::Auto), unscaled);
    assert_eq!(choose(Format::FP32, &head, TensorScale::Auto), unscaled);
    assert_eq!(choose(Format::FP8_E4M3, &head, TensorScale::None), unscaled);
    assert_eq!(v_candidates(3.0, Format::BF16), [0]);
}

#[test]
fn v_candidates_start_where_the_range_is_full() {
    for max in [1e-6, 0.3, 0.875, 0.8751, 1.0, 3.0, 447.0, 448.0, 449.0, 1e9] {
        let candidates = v_candidates(max, Format::FP8_E4M3);
        let filled = max * 2f64.powi(candidates[0]);
        assert!(filled > 224.0 && filled <= 448.0, "{max}: {filled}");
        let expected: Vec<i32> = (0..=10).map(|below| candidates[0] - below).collect();
        assert_eq!(candidates, expected);
    }
    assert_eq!(v_candidates(1.0, Format::FP16)[0], 15);
    assert_eq!(v_candidates(0.0, Format::FP8_E4M3), [0]);
}

#[test]
fn heads_in_e4m3_neither_saturate_nor_vanish() {
    for (d, seed) in [(16, 1), (64, 2), (256, 3)] {
        let head = attention_like(seed, 24, 64, d);
        let scaling = choose(Format::FP8_E4M3, &head, TensorScale::Auto);
        let quantised = quantise(Format::FP8_E4M3, scaling, &head);
        assert_eq!(quantised.saturated, [0; 3]);
        let elements = quantised.q.len() + quantised.k.len() + quantised.v.len();
        assert!(quantised.vanished.iter().sum::<usize>() * 100 < elements, "{:?}", quantised.vanished);
        // Three bits of fraction: errors of some hundredths of the score's spread of 2 to 4, a few tenths at most.
        let error = mean_error(&head, scaling, Format::FP8_E4M3);
        assert!(error < 0.5, "d = {d}: {error}");
    }
}

#[test]
fn the_choice_follows_the_magnitude_of_the_tensors() {
    let head = attention_like(5, 16, 48, 32);
    let by = |x: &[f32], factor: f32| x.iter().map(|x| x * factor).collect::<Vec<f32>>();
    for format in [Format::FP8_E4M3, Format::FP8_E5M2, Format::FP16] {
        let scaling = choose(format, &head, TensorScale::Auto);
        for (a, b) in [(12, -9), (-20, 6), (-7, -7)] {
            let q = by(&head.q, 2f32.powi(a));
            let k = by(&head.k, 2f32.powi(b));
            let other = Attention { q, k, ..head.clone() };
            let scale = ScoreScale::Value(scaling.score_scale * 2f64.powi(-a - b));
            let chosen = choose_scaling(format, &other, scale, TensorScale::Auto).unwrap();
            assert_eq!(
                (chosen.q_exponent, chosen.k_exponent),
                (scaling.q_exponent - a, scaling.k_exponent - b)
            );
            assert_eq!(chosen.score_shift, scaling.score_shift);
            assert_eq!(quantise(format, chosen, &other).q, quantise(format, scaling, &head).q);
        }
    }
}

#[test]
fn the_choice_is_about_the_best_there_is() {
    let head = attention_like(9, 12, 32, 64);
    let format = Format::FP8_E4M3;
    let chosen = mean_error(&head, choose(format, &head, TensorScale::Auto), format);
    let unscaled = Scaling::unscaled(ScoreScale::Auto, 64).unwrap();
    let all = (-8..=8).flat_map(|q| (-8..=8).map(move |k| (q, k)));
    let best =
        all.map(|(q, k)| mean_error(&head, unscaled.with_exponents(q, k), format)).fold(f64::MAX, f64::min);
    assert!(chosen < 1.1 * best, "{chosen} against {best}");
    let tiny = Attention { k: head.k.iter().map(|x| x / 4096.0).collect(), ..head.clone() };
    let scale = ScoreScale::Value(4096.0 / 8.0);
    let with = choose_scaling(format, &tiny, scale, TensorScale::Auto).unwrap();
    let without = choose_scaling(format, &tiny, scale, TensorScale::None).unwrap();
    assert!(mean_error(&tiny, with, format) < 0.1 * mean_error(&tiny, without, format));
}

#[test]
fn sums_do_not_saturate() {
    // 256 products of 16 * 16 are 65536, far beyond 448, and every element is the largest one.
    let ones = vec![16.0; 4 * 256];
    let head = Attention::new(256, ones.clone(), ones.clone(), ones);
    let scaling = choose(Format::FP8_E4M3, &head, TensorScale::Auto);
    let quantised = quantise(Format::FP8_E4M3, scaling, &head);
    assert_eq!(core_score(&quantised, 0, 0), 65536.0 / 16.0);
}

#[test]
fn a_head_of_zeros_is_no_trouble() {
    let zeros = vec![0.0; 8];
    let head = Attention::new(4, zeros.clone(), zeros.clone(), zeros);
    let scaling = choose(Format::FP8_E4M3, &head, TensorScale::Auto);
    assert_eq!(scaling, Scaling::unscaled(ScoreScale::Auto, 4).unwrap());
    assert_eq!(quantise(Format::FP8_E4M3, scaling, &head).q, [0; 8]);
}

#[test]
fn quantised_heads_keep_shape_and_count_lost_elements() {
    let head =
        Attention::new(2, vec![1.0, -0.0], vec![500.0, -1e-9, 448.0, 0.0], vec![0.5, -500.0, 1e9, 1e-9]);
    let scaling = Scaling::unscaled(ScoreScale::None, 2).unwrap();
    let q = quantise(Format::FP8_E4M3, scaling, &head);
    assert_eq!((q.query(0), q.key(0)), ([0x38, 0x80].as_slice(), [0x7e, 0x80].as_slice()));
    assert_eq!((q.key(1), q.value(0)), ([0x7e, 0x00].as_slice(), [0x30, 0xfe].as_slice()));
    assert_eq!((q.saturated, q.vanished), ([0, 1, 2], [0, 1, 1]));
    let wide = q.clone().pad_to(3);
    assert_eq!((wide.d, wide.keys, wide.key(1)), (3, 2, [0x7e, 0x00, 0x00].as_slice()));
    assert_eq!(wide.scaling, q.scaling);
}

#[test]
fn dequantised_tensors_give_the_score_of_the_encodings() {
    let head = attention_like(2, 4, 16, 32);
    let scaling = choose(Format::FP16, &head, TensorScale::Auto);
    let quantised = quantise(Format::FP16, scaling, &head);
    let [q, k, v] = quantised.dequantised();
    let format = Format::FP16;
    for (i, j) in [(0, 0), (3, 15), (1, 7)] {
        let dot: f64 = (0..32).map(|e| q[i * 32 + e] * k[j * 32 + e]).sum::<f64>() * scaling.score_scale;
        let encoded = quantised.query(i).iter().zip(quantised.key(j));
        let exact = scaling.score(encoded.map(|(&q, &k)| format.value(q) * format.value(k)).sum());
        assert!((dot - exact).abs() < 1e-12, "{dot} {exact}");
    }
    assert_eq!(v[5], scaling.result(format, quantised.v[5]));
    assert!((v[5] - f64::from(head.v[5])).abs() < 1e-3);
}
