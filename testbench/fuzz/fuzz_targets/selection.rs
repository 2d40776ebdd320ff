//! Words after `flashd generate`: the name of a module, which is an identifier, or a non-empty error.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    // Files are the other targets' matter.
    if text.contains("--config") || text.contains("--out") {
        return;
    }
    match flashd::selected(text.split_ascii_whitespace()) {
        Ok(names) => {
            for name in names {
                assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'), "{name}");
            }
        }
        Err(e) => assert!(!e.trim().is_empty()),
    }
});
