//! RustHDL's own checks on every kind of core and of array: no open input, no logic loop, no write to an input.

use flashd_hwmodel::array::{self, BlockConfig};
use flashd_hwmodel::catalogue::build;
use flashd_hwmodel::config::{Accumulator, CoreConfig};
use flashd_hwmodel::format::Format;
use flashd_hwmodel::rtl::Circuit;
use flashd_hwmodel::wrapper::{self, AxisConfig, Values};
use rust_hdl::core::check_error::check_all;
use rust_hdl::core::prelude::Block;

struct Wrapper(Box<dyn flashd_hwmodel::cores::Core>);

fn check(config: &CoreConfig) {
    let core = Wrapper(build(config).unwrap());
    let block: &dyn Block = core.0.as_ref();
    check_all(block).unwrap_or_else(|e| panic!("{}: {e:?}", config.name()));
}

#[test]
fn shipped_cores_pass_rusthdl_checks() {
    for config in CoreConfig::shipped() {
        check(&config);
    }
}

#[test]
fn odd_cores_pass_rusthdl_checks() {
    for (_, format) in Format::NAMED {
        for d in [2, 3, 5, 17, 48, 100] {
            for config in CoreConfig::variants(d, format) {
                if !config.has_fixed_lanes() {
                    let accumulator = Some(Accumulator::Fraction(format.fraction_bits.max(16)));
                    check(&CoreConfig { accumulator, ..config.clone() });
                }
                check(&CoreConfig { masks: true, ..config.clone() });
                check(&config);
            }
        }
    }
}

#[test]
fn arrays_pass_rusthdl_checks() {
    for queries in [1, 2, 3, 4, 5, 8, 13] {
        for core in CoreConfig::variants(3, Format::BF16) {
            for masks in [false, true] {
                let config = BlockConfig::new(CoreConfig { masks, ..core.clone() }, queries);
                let array = block::build(&config).unwrap();
                let design: &dyn Block = array.as_ref();
                check_all(design).unwrap_or_else(|e| panic!("{}: {e:?}", config.name()));
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
                    let block = BlockConfig::new(CoreConfig { masks, ..core.clone() }, queries);
                    let config = AxisConfig { beat_bits: Some(beat_bits), values, ..AxisConfig::new(block) };
                    let wrapper = axis::build(&config).unwrap();
                    let design: &dyn Block = wrapper.as_ref();
                    check_all(design).unwrap_or_else(|e| panic!("{}: {e:?}", config.name()));
                }
            }
        }
    }
}

/// Inputs that look at every register: words, keys and ends of queries at random.
fn drive(core: &mut dyn Core, cycle: u64, noise: &mut u64) {
    let mut random = |bits: u32| {
        *noise = noise.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        *noise >> (64 - bits)
    };
    let ports = core.ports();
    ports.rst.next = u64::from(cycle < 3);
    ports.q_valid.next = u64::from(cycle % 20 == 3);
    ports.k_valid.next = u64::from(cycle > 3 && random(3) > 0);
    ports.k_last.next = u64::from(cycle % 20 == 3);
    for vector in [ports.q, ports.k, ports.v] {
        vector.iter_mut().for_each(|bus| bus.next = random(bus.width()));
    }
}

fn outputs(core: &mut dyn Core) -> Vec<u64> {
    let ports = core.ports();
    let bits = [ports.v_step, ports.v_ren, ports.o_valid, ports.o_invalid];
    bits.into_iter().chain(ports.o).map(|bus| bus.val()).collect()
}

/// One sweep while the clock is low and one at its edge; sweeping until nothing changes, as RustHDL's simulation does,
/// and inputs that move while the clock is high change nothing.
#[test]
fn a_cycle_takes_two_sweeps() {
    for config in [Format::BF16, Format::FP8_E4M3].into_iter().flat_map(|f| CoreConfig::variants(17, f)) {
        let [mut core, mut swept] = [(); 2].map(|()| build(&config).unwrap());
        let (mut noise, mut same, mut other) = (1, 1, 2);
        let settle = |core: &mut dyn Core| {
            let sweeps = (1..100).find(|_| {
                core.update_all();
                !core.has_changed()
            });
            assert!(sweeps.is_some(), "{} does not settle", config.name());
        };
        for cycle in 0..200 {
            core.ports().clk.next = 0;
            drive(core.as_mut(), cycle, &mut noise);
            core.update_all();
            assert!(!core.has_changed(), "{} in cycle {cycle}", config.name());

            swept.ports().clk.next = 0;
            settle(swept.as_mut());
            drive(swept.as_mut(), cycle, &mut same);
            settle(swept.as_mut());
            assert_eq!(outputs(core.as_mut()), outputs(swept.as_mut()), "{} in cycle {cycle}", config.name());

            core.ports().clk.next = 1;
            core.update_all();
            swept.ports().clk.next = 1;
            settle(swept.as_mut());
            drive(swept.as_mut(), cycle, &mut other);
            settle(swept.as_mut());
        }
    }
}
