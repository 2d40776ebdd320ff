//! Writes all shipped cores and units to a folder.
fn main() {
    use flashd_hwmodel::{config::CoreConfig, format::Format, units::FormatUnit};
    let out = std::env::args().nth(1).unwrap();
    for c in CoreConfig::shipped() {
        let t = std::time::Instant::now();
        let files = flashd_generator::core_files(&c).unwrap();
        println!(
            "{} {:?} {} lines {} bytes",
            c.name(),
            t.elapsed(),
            files[0].text.lines().count(),
            files[0].text.len()
        );
        flashd_generator::write_all(out.as_ref(), &files).unwrap();
    }
    for (_, f) in Format::NAMED {
        for u in FormatUnit::ALL {
            flashd_generator::write_all(out.as_ref(), &[flashd_generator::unit_file(u, f, 8).unwrap()])
                .unwrap();
        }
    }
}
