//! RustHDL's own checks on every kind of core and of array: no open input, no logic loop, no write to an input.

use flashd_hwmodel::axis::{self, AxisConfig, Values};
use flashd_hwmodel::block::{self, BlockConfig};
use flashd_hwmodel::config::{Accumulator, CoreConfig};
use flashd_hwmodel::cores::build;
use flashd_hwmodel::format::Format;
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
