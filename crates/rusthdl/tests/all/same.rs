//! Every pin of every block has, in RustHDL's simulation, the value of its net in the compiled engine, in every cycle.

use crate::random::words;
use flashd_hwmodel::catalogue;
use flashd_hwmodel::rtl::{Circuit, PortPlace};
use flashd_rtl_engine::Compiled;
use flashd_rusthdl::Simulated;
use flashd_spec::config::{ArrayConfig, CoreConfig, Design, SplitConfig, WrapperConfig};
use flashd_spec::format::Format;
use flashd_spec::machine::Machine;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const SEED: u64 = 0x5eed;

/// Runs a design in the compiled engine and another one, which should be equal, in RustHDL's simulation; returns the number of compared
/// values of pins, or the first difference.
fn compared(compiled: &Circuit, simulated: &Circuit, cycles: usize) -> Result<u64, String> {
    let design = compiled.design();
    let mut compiled = Compiled::new(&design).unwrap();
    let mut simulated = Simulated::new(simulated).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    let often: Vec<u32> = design.ports.iter().map(|_| [1, 4, 7][rng.random_range(0..3)]).collect();
    let (mut compared, mut difference) = (0, None);
    for cycle in 0..cycles {
        for (place, port) in design.ports.iter().enumerate().filter(|(_, port)| !port.output) {
            let words = words(&mut rng, port, cycle, often[place]);
            compiled.drive(PortPlace(place), &words);
            simulated.drive(PortPlace(place), &words);
        }
        compiled.settle();
        simulated.settle();
        simulated.each_pin(&mut |net, pin| {
            compared += 1;
            if pin.value() != compiled.value(net) && difference.is_none() {
                difference = Some(format!("seed {SEED:#x}, cycle {cycle}: net {net} at {}", pin.name()));
            }
        });
        if let Some(difference) = difference {
            return Err(difference);
        }
        compiled.clock();
        simulated.clock();
    }
    Ok(compared)
}

fn same(machine: impl Into<Machine>, cycles: usize) {
    let circuit = flashd_hwmodel::build(&machine.into()).unwrap();
    let (name, started) = (circuit.name(), std::time::Instant::now());
    let compared = compared(&circuit, &circuit, cycles).unwrap_or_else(|e| panic!("{name}: {e}"));
    let each = started.elapsed().as_secs_f64() * 1e6 / cycles as f64;
    println!("{name}: {cycles} cycles, {compared} values of pins, {each:.0} us a cycle");
}

/// Another cap changes a constant of a leaf and no wire.
#[test]
fn a_changed_constant_is_found() {
    let core = |cap| {
        let softcap = Some(cap);
        catalogue::build(&CoreConfig { softcap, ..CoreConfig::new(Design::Fa2, 4, Format::FP8_E4M3) })
            .unwrap()
    };
    let difference = compared(&core(30.0), &core(50.0), 200).unwrap_err();
    assert!(difference.contains("net "), "{difference}");
    compared(&core(30.0), &core(30.0), 200).unwrap();
}

/// The shipped cores at another length.
fn shipped(d: usize) -> impl Iterator<Item = CoreConfig> {
    CoreConfig::shipped().into_iter().filter(|core| core.d == 16).map(move |core| CoreConfig { d, ..core })
}

#[test]
fn shipped_cores() {
    shipped(4).for_each(|core| same(&core, 500));
    shipped(16).for_each(|core| same(&core, 200));
}

#[test]
#[ignore = "minutes"]
fn shipped_cores_for_ten_thousand_cycles() {
    for d in [4, 16] {
        shipped(d).for_each(|core| same(&core, 10_000));
    }
}

/// Wrappers have clock gates, arrays and split keys leaves and modules that others do not have.
#[test]
fn other_machines() {
    for design in Design::ALL {
        let core = CoreConfig::new(design, 4, Format::BF16);
        let array = ArrayConfig::new(CoreConfig { masks: true, partial: true, ..core.clone() }, 2);
        same(&array, 50);
        same(SplitConfig::new(core.clone(), 2), 50);
        same(WrapperConfig::new(ArrayConfig::new(core, 2)), 100);
    }
}
