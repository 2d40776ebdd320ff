//! Every net of every design is the same in both engines, at every moment.

use crate::random::Pair;
use flashd_compiled::Backend;
use flashd_hwmodel::catalogue::build;
use flashd_hwmodel::rtl::Circuit;
use flashd_spec::config::CoreConfig;
use flashd_spec::format::Format;

const SEED: u64 = 0x5eed;

fn same(what: &str, cycles: usize, circuit: impl Fn() -> Circuit) {
    println!("{what}: seed {SEED:#x}");
    for backend in Backend::available() {
        let mut pair = Pair::new(circuit(), backend, SEED);
        pair.run(cycles).unwrap_or_else(|difference| panic!("{what}, {backend:?}: {}", difference.0));
    }
}

fn same_core(config: &CoreConfig, cycles: usize) {
    same(&config.name(), cycles, || build(config).expect("a valid configuration"));
}

#[test]
fn every_variant_in_several_formats() {
    for format in [Format::BF16, Format::FP8_E4M3] {
        for config in CoreConfig::variants(8, format) {
            same_core(&config, 150);
        }
    }
}

#[test]
fn shipped_cores() {
    for config in CoreConfig::shipped() {
        same_core(&config, if config.d > 64 { 30 } else { 60 });
    }
}
