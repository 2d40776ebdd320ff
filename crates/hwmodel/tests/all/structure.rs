//! RustHDL's checks on every kind of core, array and wrapper: no open input, no logic loop, no write to an input. And
//! the reference simulator against itself, driven as a RustHDL block.

use flashd_hwmodel::array;
use flashd_hwmodel::catalogue::build;
use flashd_hwmodel::rtl::Circuit;
use flashd_hwmodel::rtl::structure::Structure;
use flashd_hwmodel::wrapper;
use flashd_spec::config::{Accumulator, ArrayConfig, CoreConfig, Design, Values, WrapperConfig};
use flashd_spec::format::Format;
use rust_hdl::core::check_error::check_all;
use rust_hdl::core::prelude::Block;
use std::collections::HashSet;
use std::sync::Arc;

fn check(config: &CoreConfig) {
    let core = build(config).unwrap();
    check_all(&core).unwrap_or_else(|e| panic!("{}: {e:?}", config.name()));
}

#[test]
fn shipped_cores_pass_rusthdl_checks() {
    for config in CoreConfig::shipped() {
        check(&config);
    }
}

/// Formats take turns with long vectors: the length changes the trees and the groups of lanes alike in all formats and accumulators and
/// with masks.
#[test]
fn odd_cores_pass_rusthdl_checks() {
    for ((_, format), long) in Format::NAMED.into_iter().zip([17, 48, 100].into_iter().cycle()) {
        for d in [2, 3, 5] {
            for config in CoreConfig::variants(d, format) {
                if !config.has_fixed_lanes() {
                    let accumulator = Some(Accumulator::Fraction(format.fraction_bits.max(16)));
                    check(&CoreConfig { accumulator, ..config.clone() });
                }
                check(&CoreConfig { masks: true, ..config.clone() });
                check(&config);
            }
        }
        CoreConfig::variants(long, format).iter().for_each(check);
    }
}

#[test]
fn arrays_pass_rusthdl_checks() {
    for queries in [1, 2, 3, 4, 5, 8, 13] {
        for core in CoreConfig::variants(3, Format::BF16) {
            for masks in [false, true] {
                let config = ArrayConfig::new(CoreConfig { masks, ..core.clone() }, queries);
                let array = array::build(&config).unwrap();
                check_all(&array).unwrap_or_else(|e| panic!("{}: {e:?}", config.name()));
            }
        }
    }
}

#[test]
fn wrappers_pass_rusthdl_checks() {
    for queries in [1, 3] {
        for core in CoreConfig::variants(3, Format::BF16) {
            for (masks, values) in [(false, Values::Requested), (true, Values::All)] {
                for beat_bits in [48, 24, 8] {
                    let array = ArrayConfig::new(CoreConfig { masks, ..core.clone() }, queries);
                    let config =
                        WrapperConfig { beat_bits: Some(beat_bits), values, ..WrapperConfig::new(array) };
                    let wrapper = wrapper::build(&config).unwrap();
                    check_all(&wrapper).unwrap_or_else(|e| panic!("{}: {e:?}", config.name()));
                }
            }
        }
    }
}

/// The modules that a design describes, below a module of it.
fn descriptions(module: &Arc<Structure>, found: &mut HashSet<*const Structure>) {
    if found.insert(Arc::as_ptr(module)) {
        module.modules().for_each(|(_, inner)| descriptions(inner, found));
    }
}

/// A module is described once, however many instances it has: an array of 9 describes what one of 3 does, a core of 80 lanes what one of
/// 48 does.
#[test]
fn descriptions_do_not_grow_with_instances() {
    let count = |design: &Circuit| {
        let mut found = HashSet::new();
        descriptions(design.structure(), &mut found);
        found.len()
    };
    for core in CoreConfig::variants(4, Format::BF16) {
        for masks in [false, true] {
            let core = CoreConfig { masks: masks && !core.follows_the_paper(), ..core.clone() };
            let [few, many] =
                [3, 9].map(|queries| count(&array::build(&ArrayConfig::new(core.clone(), queries)).unwrap()));
            assert_eq!(few, many, "{}", core.name());
        }
    }
    for design in Design::ALL {
        let [few, many] = [48, 80].map(|d| count(&build(&CoreConfig::new(design, d, Format::BF16)).unwrap()));
        assert!(many <= few + 1, "{design:?}: the adder tree may have a stage more");
    }
}

/// Sets the inputs of a cycle so that every register is exercised: random words and keys, and a query every 20 cycles.
fn drive(core: &mut Circuit, cycle: u64, noise: &mut u64) {
    let mut random = |bits: u32| {
        *noise = noise.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        *noise >> (64 - bits)
    };
    let flags = [
        ("rst", u64::from(cycle < 3)),
        ("q_valid", u64::from(cycle % 20 == 3)),
        ("k_valid", u64::from(cycle > 3 && random(3) > 0)),
        ("k_last", u64::from(cycle % 20 == 3)),
    ];
    for (name, value) in flags {
        core.set(name, value);
    }
    for name in ["q", "k", "v"] {
        let (elements, width) = core.shape(name);
        let words: Vec<u64> = (0..elements).map(|_| random(width)).collect();
        core.set_words(name, &words);
    }
}

fn outputs(core: &Circuit) -> Vec<u64> {
    let names = ["v_step", "v_ren", "o_valid", "o_invalid", "o"];
    names.into_iter().flat_map(|name| core.words(name)).collect()
}

/// The reference simulator settles once while the clock is low and captures at its edge. Driven as a RustHDL block, by `update_all` until
/// nothing changes and by the level of the clock port, it gives the same outputs. Inputs that move while the clock is high change nothing.
#[test]
fn a_cycle_is_settling_and_capturing() {
    for config in [Format::BF16, Format::FP8_E4M3].into_iter().flat_map(|f| CoreConfig::variants(17, f)) {
        let [mut core, mut swept] = [(); 2].map(|()| build(&config).unwrap());
        let (mut noise, mut same, mut other) = (1, 1, 2);
        let sweep = |core: &mut Circuit, level: u64| {
            core.set("clk", level);
            let sweeps = (1..100).find(|_| {
                core.update_all();
                level == 1 || !core.has_changed()
            });
            assert!(sweeps.is_some(), "{} does not settle", config.name());
        };
        for cycle in 0..200 {
            drive(&mut core, cycle, &mut noise);
            core.settle();
            assert!(!core.has_changed(), "{} in cycle {cycle}", config.name());

            sweep(&mut swept, 0);
            drive(&mut swept, cycle, &mut same);
            sweep(&mut swept, 0);
            assert_eq!(outputs(&core), outputs(&swept), "{} in cycle {cycle}", config.name());

            core.clock();
            sweep(&mut swept, 1);
            drive(&mut swept, cycle, &mut other);
            sweep(&mut swept, 1);
        }
    }
}
