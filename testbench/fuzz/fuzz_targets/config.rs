//! A configuration file: refused with a non-empty error, or written back unchanged and, where it is small,
//! made into Verilog.
#![no_main]

use flashd_spec::config::{ArrayConfig, CoreConfig, WrapperConfig};
use libfuzzer_sys::fuzz_target;
use serde::{Serialize, de::DeserializeOwned};
use std::fmt::Debug;

/// Larger ones take the fuzzer too long.
const LARGEST: usize = 4;

fn read<T: DeserializeOwned + Serialize + PartialEq + Debug>(text: &str) -> Option<T> {
    match serde_json::from_str::<T>(text) {
        Ok(config) => {
            let again = serde_json::to_string(&config).expect("a configuration can be written");
            assert_eq!(serde_json::from_str::<T>(&again).expect("and read again"), config);
            Some(config)
        }
        Err(e) => {
            assert!(!e.to_string().is_empty());
            None
        }
    }
}

fuzz_target!(|text: &str| {
    if let Some(core) = read::<CoreConfig>(text)
        && core.validate().is_ok()
        && core.d <= LARGEST
    {
        flashd_generator::core_files(&core).expect("a valid core can be generated");
    }
    if let Some(array) = read::<ArrayConfig>(text)
        && array.validate().is_ok()
        && array.core.d * array.queries <= LARGEST
    {
        flashd_generator::array_files(&array).expect("a valid array can be generated");
    }
    if let Some(wrapper) = read::<WrapperConfig>(text)
        && wrapper.validate().is_ok()
        && wrapper.array.core.d * wrapper.array.queries <= LARGEST
    {
        flashd_generator::axis_files(&wrapper).expect("a valid wrapper can be generated");
    }
});
