//! The checked-in header matches the code. `UPDATE_HEADER=1 cargo test -p flashd-capi header` writes it.

use std::path::Path;

#[test]
fn the_header_is_up_to_date() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml")).unwrap();
    let sources = ["error", "types", "attention", "steps"];
    let mut builder = cbindgen::Builder::new().with_config(config);
    for source in sources {
        builder = builder.with_src(folder.join(format!("src/{source}.rs")));
    }
    let mut text = Vec::new();
    builder.generate().unwrap().write(&mut text);
    let text = String::from_utf8(text).unwrap();
    let file = folder.join("include/flashd.h");
    if std::env::var_os("UPDATE_HEADER").is_some() {
        std::fs::write(&file, &text).unwrap();
    }
    assert!(
        std::fs::read_to_string(&file).unwrap_or_default() == text,
        "include/flashd.h is out of date; UPDATE_HEADER=1 writes it"
    );
}
