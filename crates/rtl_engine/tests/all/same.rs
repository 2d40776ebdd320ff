//! Every net of every design is the same in both engines, at every moment.

use crate::random::Pair;
use flashd_hwmodel::netlist::Steps;
use flashd_hwmodel::rtl::{Circuit, Instance};
use flashd_hwmodel::{catalogue, split};
use flashd_rtl_engine::Backend;
use flashd_simulator::random::draw;
use flashd_spec::config::{ArrayConfig, CoreConfig, Design, KINDS, SplitConfig, WrapperConfig};
use flashd_spec::format::{Format, Formats};
use flashd_spec::machine::Machine;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use std::collections::HashMap;

const SEED: u64 = 0x5eed;

fn same(what: &str, seed: u64, cycles: usize, circuit: impl Fn() -> Circuit) {
    println!("{what}: seed {seed:#x}");
    for backend in Backend::available() {
        let mut pair = Pair::new(circuit(), backend, seed);
        pair.run(cycles)
            .unwrap_or_else(|difference| panic!("{what}, seed {seed:#x}, {backend:?}: {}", difference.0));
    }
}

fn same_core(config: &CoreConfig, cycles: usize) {
    same(&config.name(), SEED, cycles, || catalogue::build(config).expect("a valid configuration"));
}

fn built(config: &Machine) -> Circuit {
    flashd_hwmodel::build(config).expect("a legal configuration")
}

#[test]
fn every_variant_in_every_format() {
    for (_, format) in Format::NAMED {
        for config in CoreConfig::variants(8, format).iter().filter(|config| config.validate().is_ok()) {
            same_core(config, 100);
        }
    }
}

#[test]
fn a_fifth_of_the_pairs_of_formats() {
    pairs_of_formats(5);
}

#[test]
#[ignore = "half a minute"]
fn every_pair_of_formats() {
    pairs_of_formats(1);
}

/// Every `step`th pair of formats of v and o, and of q and k: each with every other datapath, so that each datapath has half of them.
fn pairs_of_formats(step: usize) {
    let formats = || Format::named().map(|(_, format)| format);
    let pairs = || formats().flat_map(|a| formats().map(move |b| (a, b))).filter(|(a, b)| a != b);
    let lanes = pairs().map(|(v, o)| Formats { q: v, k: v, v, o });
    let scores = pairs().map(|(q, k)| Formats { q, k, v: q, o: q.of_results() });
    let integers = Format::INTEGERS.map(|(_, format)| format.into());
    for (i, formats) in lanes.chain(scores).chain(integers).step_by(step).enumerate() {
        for kind in KINDS.iter().skip(i % 2).step_by(2) {
            let core = CoreConfig::with_datapath(kind.datapath, 3, formats.q).with_formats(formats);
            let core = CoreConfig { dv: Some(2), ..core };
            if core.validate().is_ok() {
                same_core(&core, 40);
            }
            let core = CoreConfig { masks: true, partial: true, ..core };
            if core.validate().is_ok() {
                let config = SplitConfig { core, parts: 2 };
                same(&config.name(), SEED, 40, || split::build(&config).expect("a valid configuration"));
            }
        }
    }
}

#[test]
fn cores_with_masks_and_partial_results() {
    for format in [Format::BF16, Format::FP8_E4M3] {
        for config in CoreConfig::variants(8, format) {
            let config = CoreConfig { masks: true, partial: true, ..config };
            if config.validate().is_ok() {
                same_core(&config, 100);
            }
        }
    }
}

#[test]
fn shipped_cores() {
    for config in CoreConfig::shipped() {
        same_core(&config, if config.d > 64 { 30 } else { 60 });
    }
}

/// Lengths at which blocks are full, not full, and one element.
#[test]
fn vector_lengths() {
    for d in [2, 3, 4, 5, 7, 9, 12, 15, 17, 31, 33] {
        for design in [Design::FlashD, Design::Fa2] {
            same_core(&CoreConfig::new(design, d, Format::BF16), 100);
        }
    }
}

#[test]
fn arrays_splits_and_wrappers() {
    for design in [Design::FlashD, Design::Fa2] {
        for format in [Format::BF16, Format::FP8_E4M3] {
            let core = CoreConfig::new(design, 8, format);
            let array = ArrayConfig::new(CoreConfig { masks: true, ..core.clone() }, 3);
            for drawn in [
                Machine::Array(array.clone()),
                Machine::Split(SplitConfig::new(core, 4)),
                Machine::Wrapper(WrapperConfig::new(array)),
            ] {
                same(&drawn.name(), SEED, 200, || built(&drawn));
            }
        }
    }
}

/// Runs of one program do not share state.
#[test]
fn another_run_begins_afresh() {
    for seed in 0..12 {
        let drawn = draw(&mut ChaCha8Rng::seed_from_u64(seed), 24);
        for backend in Backend::available() {
            let mut pair = Pair::new(built(&drawn), backend, seed);
            for run in ["first", "second", "third"] {
                pair.run(30).unwrap_or_else(|e| panic!("{}, {backend:?}, {run} run: {}", drawn.name(), e.0));
                pair = pair.another(built(&drawn));
            }
        }
    }
}

/// As many as FLASHD_COMPILED_DRAWN says.
#[test]
fn drawn_configurations() {
    let count = std::env::var("FLASHD_COMPILED_DRAWN").ok().and_then(|text| text.parse().ok()).unwrap_or(60);
    for seed in 0..count {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let drawn = draw(&mut rng, 24);
        same(&drawn.name(), seed, 60, || built(&drawn));
    }
}

/// Leaves that are taken for one kind, by their name and the widths of their pins, were recorded alike.
#[test]
fn leaves_of_one_name_are_one_function() {
    for seed in 0..40 {
        let drawn = draw(&mut ChaCha8Rng::seed_from_u64(seed), 24);
        let design = built(&drawn).design();
        let mut known: HashMap<(String, Vec<u32>), Steps> = HashMap::new();
        for Instance { leaf, inputs, outputs } in &design.leaves {
            let widths = inputs.iter().chain(outputs).map(|&net| design.widths[net as usize]).collect();
            let name = leaf.tag().name;
            let steps = Steps::of(&leaf.inputs(), &leaf.netlist());
            let first = known.entry((name.clone(), widths)).or_insert_with(|| steps.clone());
            assert_eq!(*first, steps, "{}, seed {seed}: {name}", drawn.name());
        }
    }
}
