//! Errors of callers, and the packing of vectors.

use flashd_api::{Error, guarded, pack, unpack};
use flashd_core::*;
use std::ffi::CStr;
use std::ptr::{null, null_mut};

fn error() -> String {
    unsafe { CStr::from_ptr(flashd_error()) }.to_str().unwrap().to_string()
}

#[test]
fn nothing_unwinds() {
    assert!(
        matches!(guarded::<()>(|| panic!("out of {}", "order")), Err(Error::Internal(text)) if text == "out of order")
    );
}

#[test]
fn errors_name_their_argument() {
    unsafe {
        assert!(flashd_core_new(null()).is_null());
        assert_eq!(error(), "json is NULL");
        assert!(flashd_core_new(c"\xff".as_ptr()).is_null());
        assert_eq!(error(), "json is not UTF-8");
        let core = flashd_core_new(c"{\"design\": \"fa2\", \"d\": 4, \"format\": \"fp8-e4m3\"}".as_ptr());
        assert!(!core.is_null(), "{}", error());
        assert!(!flashd_core_info(core, null_mut()));
        assert_eq!(error(), "info is NULL");
        let words = [0x1ffu32; 4];
        let heads = FlashdRawHead {
            queries: 1,
            keys: 1,
            q: words.as_ptr(),
            k: words.as_ptr(),
            v: words.as_ptr(),
            lengths: null(),
            mask: null(),
            bias: null(),
            v_exponent: -1,
        };
        let mut o = [7u32; 4];
        assert!(!flashd_attention_raw(core, &heads, o.as_mut_ptr(), null_mut()));
        assert_eq!(error(), "q: row 0, column 0 is 0x1ff, which has more than the 8 bits of fp8-e4m3");
        for shape in [(usize::MAX, 1), (1, usize::MAX), (0, 1)] {
            let heads = FlashdRawHead { queries: shape.0, keys: shape.1, ..heads };
            assert!(!flashd_attention_raw(core, &heads, o.as_mut_ptr(), null_mut()), "{shape:?}");
        }
        assert_eq!(o, [7; 4]);
        let steps = flashd_steps_new(core);
        let mut step = FlashdStep::default();
        assert!(!flashd_steps_key(steps, words.as_ptr(), false, &mut step));
        assert_eq!(error(), "there is no query: load one first");
        let ones = [0x38u32; 4];
        assert!(flashd_steps_query(steps, ones.as_ptr(), 8), "{}", error());
        assert!(!flashd_steps_query(steps, ones.as_ptr(), 16));
        assert!(!flashd_steps_key(steps, ones.as_ptr(), true, &mut step));
        assert_eq!(error(), "a masked key: takes a core with masks");
        assert!(flashd_steps_key(steps, ones.as_ptr(), false, &mut step) && step.value_is_due);
        assert!(!flashd_steps_key(steps, ones.as_ptr(), false, &mut step));
        assert_eq!(error(), "the step before reads its value: give it first");
        assert!(!flashd_steps_result(steps, o.as_mut_ptr(), null_mut()));
        assert!(flashd_steps_value(steps, ones.as_ptr()));
        assert!(flashd_steps_result(steps, o.as_mut_ptr(), null_mut()));
        assert_eq!(o, ones);
        flashd_steps_free(steps);
        flashd_core_free(core);
    }
}

/// The empty state is neutral, unseen keys may hold anything, and a bias of minus infinity hides a key.
#[test]
fn no_key_and_unseen_keys() {
    for design in ["flash-d", "fa2"] {
        let json =
            format!(r#"{{"design": "{design}", "d": 4, "masks": true, "bias": true, "partial": true}}"#);
        let json = std::ffi::CString::new(json).unwrap();
        unsafe {
            let core = flashd_core_new(json.as_ptr());
            let steps = flashd_steps_new(core);
            let (ones, mut o) = ([0x3f80u32; 4], [7u32; 4]);
            assert!(flashd_steps_query(steps, ones.as_ptr(), 0), "{}", error());
            let (mut scalars, mut none, mut accumulators, mut zeros) =
                ([1u64; 2], [1u64; 2], [1u64; 4], [1u64; 4]);
            assert!(flashd_no_key_state(core, none.as_mut_ptr(), zeros.as_mut_ptr()), "{}", error());
            assert!(flashd_steps_state(steps, scalars.as_mut_ptr(), accumulators.as_mut_ptr()));
            assert_eq!((scalars, accumulators, zeros), (none, zeros, [0; 4]));
            let mut lse = 0.0;
            assert!(flashd_log_sum_exp(core, none.as_ptr(), &mut lse) && lse == f64::NEG_INFINITY);
            assert!(flashd_steps_restore(steps, none.as_ptr(), zeros.as_ptr()), "{}", error());
            let mut flags = FlashdResult { invalid: true, overflow: true, empty: false, saturated: true };
            assert!(flashd_steps_result(steps, o.as_mut_ptr(), &mut flags) && flags.empty);
            assert!(flashd_steps_key(steps, ones.as_ptr(), false, null_mut()));
            assert!(flashd_steps_value(steps, ones.as_ptr()));
            assert!(flashd_steps_state(steps, scalars.as_mut_ptr(), accumulators.as_mut_ptr()));
            // q . k / sqrt(4) = 2, which is 2 log2 e = 2.885 in base 2.
            assert!(
                flashd_log_sum_exp(core, scalars.as_ptr(), &mut lse) && (lse - 2.885).abs() < 0.01,
                "{lse}"
            );
            let (mut merged, mut sums) = ([0u64; 2], [0u64; 4]);
            for [a, b] in [[(scalars, accumulators), (none, zeros)], [(none, zeros), (scalars, accumulators)]]
            {
                assert!(
                    flashd_merge_states(
                        core,
                        a.0.as_ptr(),
                        a.1.as_ptr(),
                        b.0.as_ptr(),
                        b.1.as_ptr(),
                        merged.as_mut_ptr(),
                        sums.as_mut_ptr()
                    ),
                    "{}",
                    error()
                );
                assert_eq!((merged, sums), (scalars, accumulators));
            }
            // Two keys, the second of which is hidden in two ways and holds NaN.
            let (q, k, v) = (
                [1f32; 4],
                [1.0, 1.0, 1.0, 1.0, f32::NAN, 3e38, f32::INFINITY, 1.0],
                [2f32, 2.0, 2.0, 2.0, f32::NAN, 0.0, 1e30, 1.0],
            );
            let (mask, bias) = ([true, false], [0.0, f32::NEG_INFINITY]);
            let heads = FlashdHeads {
                heads: 1,
                key_heads: 1,
                queries: 1,
                keys: 2,
                q: q.as_ptr(),
                k: k.as_ptr(),
                v: v.as_ptr(),
                causal: false,
                scale: 0.0,
                mask: null(),
                bias: null(),
            };
            for heads in
                [FlashdHeads { mask: mask.as_ptr(), ..heads }, FlashdHeads { bias: bias.as_ptr(), ..heads }]
            {
                let mut o = [0f32; 4];
                assert!(flashd_attention(core, &heads, o.as_mut_ptr(), null_mut()), "{}", error());
                assert_eq!(o, [2.0; 4]);
            }
            let mut o = [0f32; 4];
            assert!(!flashd_attention(core, &heads, o.as_mut_ptr(), null_mut()));
            assert_eq!(error(), "k: row 1, column 0 is NaN; every element must be a finite float32");
            flashd_steps_free(steps);
            flashd_core_free(core);
        }
    }
}

#[test]
fn packed_vectors() {
    for bits in [1, 5, 8, 16, 19, 32, 33, 47, 64] {
        let mask = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
        let elements: Vec<u64> =
            (0..70u64).map(|i| (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) & mask).collect();
        let mut words = vec![!0; (70 * bits as usize).div_ceil(32)];
        pack(&elements, bits, &mut words);
        // Bit by bit.
        for (place, bit) in elements.iter().flat_map(|&e| (0..bits).map(move |b| e >> b & 1)).enumerate() {
            assert_eq!(u64::from(words[place / 32] >> (place % 32) & 1), bit, "{bits} bits, place {place}");
        }
        assert_eq!(unpack(&words, bits, 70), elements);
    }
}
