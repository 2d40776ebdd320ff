//! Names, limits and widths of arrays.

use flashd_spec::config::{ArrayConfig, CoreConfig, Design};
use flashd_spec::format::Format;

fn array_of(queries: usize) -> ArrayConfig {
    ArrayConfig::new(CoreConfig::new(Design::FlashD, 64, Format::BF16), queries)
}

#[test]
fn names_say_how_many() {
    assert_eq!(array_of(8).name(), "flash_d_bf16_d64_x8");
    assert_eq!(array_of(1).name(), "flash_d_bf16_d64_x1");
}

#[test]
fn numbers_outside_the_range_are_refused() {
    for queries in [0, 65, 1000] {
        let e = array_of(queries).validate().unwrap_err();
        assert_eq!(e.to_string(), format!("queries: {queries} is outside 1 to 64"));
    }
    let mut bad = array_of(8);
    bad.core.d = 1;
    assert_eq!(bad.validate().unwrap_err().field, "d");
    assert!(array_of(1).validate().is_ok() && array_of(64).validate().is_ok());
}

#[test]
fn key_indices_belong_to_masks() {
    let masked = |bits| {
        let core = CoreConfig { masks: true, ..array_of(4).core };
        ArrayConfig { key_index_bits: Some(bits), ..ArrayConfig::new(core, 4) }
    };
    assert_eq!(masked(17).name(), "flash_d_masked_bf16_d64_x4");
    assert_eq!(masked(12).name(), "flash_d_masked_bf16_d64_x4_k12");
    assert!(masked(2).validate().is_ok() && masked(32).validate().is_ok());
    for bits in [0, 1, 33] {
        let e = masked(bits).validate().unwrap_err();
        assert_eq!(e.to_string(), format!("key_index_bits: {bits} is outside 2 to 32"));
    }
    let unmasked = ArrayConfig { key_index_bits: Some(17), ..array_of(4) };
    assert_eq!(unmasked.validate().unwrap_err().field, "key_index_bits");
}

#[test]
fn indices_fit() {
    let bits: Vec<u32> = [1, 2, 3, 4, 5, 8, 9, 64].map(|n| array_of(n).index_bits()).to_vec();
    assert_eq!(bits, [1, 1, 2, 2, 3, 3, 4, 6]);
}
