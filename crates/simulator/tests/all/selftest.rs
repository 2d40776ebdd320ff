//! Streams that emitted testbenches run: however short one is asked for, it brings a result.

use flashd_hwmodel::vectors::{Layout, Look};
use flashd_simulator::VectorWriter;
use flashd_simulator::selftest::{self, Expected, Stream};
use flashd_spec::config::{ArrayConfig, CoreConfig, SplitConfig};
use flashd_spec::format::Format;

const SEEDS: std::ops::Range<u64> = 0..6;

#[test]
fn the_shortest_stream_of_a_core_brings_a_result() {
    let variants = CoreConfig::variants(3, Format::BF16).into_iter();
    let long = CoreConfig { d: 127, ..CoreConfig::variants(3, Format::BF16)[0].clone() };
    for config in variants.chain([long]) {
        for (seed, expected) in SEEDS.flat_map(|seed| [(seed, Expected::Lockstep), (seed, Expected::Model)]) {
            let layout = Layout::of(&config, Look::Inside).unwrap();
            let mut out = VectorWriter::new(Vec::new(), layout).unwrap();
            let stream = Stream::of(seed, 1);
            let streamed = selftest::core(&config, &stream, expected, &mut out, &mut |_| ()).unwrap();
            assert!(streamed.results > 0, "{} seed {seed} {expected:?}: no result", config.name());
        }
    }
}

#[test]
fn the_shortest_stream_of_arrays_and_split_keys_brings_a_result() {
    for core in CoreConfig::variants(2, Format::BF16).into_iter().skip(3).step_by(4) {
        for seed in SEEDS {
            let stream = Stream::of(seed, 1);
            for masks in [false, true] {
                let config = ArrayConfig::new(CoreConfig { masks, ..core.clone() }, 3);
                let layout = Layout::of(&config, Look::Inside).unwrap();
                let mut out = VectorWriter::new(Vec::new(), layout).unwrap();
                let streamed = selftest::array(&config, &stream, &mut out, &mut |_| ()).unwrap();
                assert!(streamed.results > 0, "{} seed {seed}: no result", config.name());
            }
        }
    }
    for design in [flashd_spec::config::Design::FlashD, flashd_spec::config::Design::Fa2] {
        let config = SplitConfig::new(CoreConfig::new(design, 3, Format::BF16), 2);
        for seed in SEEDS {
            let layout = Layout::of(&config, Look::Inside).unwrap();
            let mut out = VectorWriter::new(Vec::new(), layout).unwrap();
            let streamed =
                selftest::split_keys(&config, &Stream::of(seed, 1), &mut out, &mut |_| ()).unwrap();
            assert!(streamed.results > 0, "{} seed {seed}: no result", config.name());
        }
    }
}
