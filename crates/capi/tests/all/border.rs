//! What a caller can do wrong, and the packing of vectors.

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
fn what_is_wrong_says_so() {
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
