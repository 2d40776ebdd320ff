//! Runs beside each other are what each is alone.

use crate::random::words;
use flashd_compiled::{Backend, Batch, Compiled};
use flashd_hwmodel::rtl::Circuit;
use flashd_hwmodel::{array, catalogue, split, wrapper};
use flashd_spec::config::{ArrayConfig, CoreConfig, Design, SplitConfig, WrapperConfig};
use flashd_spec::format::Format;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

const SEED: u64 = 0xbe51de;

fn same(circuit: &Circuit, runs: usize, backend: Backend, cycles: usize) {
    let design = circuit.design();
    let mut batch = Batch::with_backend(&design, runs, backend).expect("no loop");
    let mut alone: Vec<Compiled> = (0..runs)
        .map(|_| Compiled::with_steps(&design, backend, &|_, steps| steps).expect("no loop"))
        .collect();
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    for cycle in 0..cycles {
        for port in design.ports.iter().filter(|port| !port.output && !port.nets.is_empty()) {
            let place = batch.port(&port.name).expect("a port of the design");
            for (run, alone) in alone.iter_mut().enumerate() {
                let values = words(&mut rng, port, cycle, 3);
                batch.drive(run, place, &values);
                alone.drive(place, &values);
            }
        }
        batch.settle();
        alone.iter_mut().for_each(Compiled::settle);
        let compare = |batch: &Batch, alone: &[Compiled], moment: &str| {
            for (run, alone) in alone.iter().enumerate() {
                for net in 0..design.widths.len() as u32 {
                    let (expected, actual) = (alone.value(net), batch.value(run, net));
                    let name = circuit.name();
                    assert_eq!(
                        expected, actual,
                        "{name}, {backend:?}, cycle {cycle}, {moment}, run {run}, net {net}"
                    );
                }
            }
        };
        compare(&batch, &alone, "settled");
        batch.clock();
        alone.iter_mut().for_each(Compiled::clock);
        compare(&batch, &alone, "clocked");
    }
}

#[test]
fn runs_beside_each_other_are_what_each_is_alone() {
    println!("seed {SEED:#x}");
    for backend in Backend::available() {
        for format in [Format::BF16, Format::FP8_E4M3] {
            for config in CoreConfig::variants(8, format) {
                let circuit = catalogue::build(&config).expect("a valid configuration");
                same(&circuit, 11, backend, 60);
            }
            for design in [Design::FlashD, Design::Fa2] {
                let core = CoreConfig::new(design, 8, format);
                let block = ArrayConfig::new(CoreConfig { masks: true, ..core.clone() }, 3);
                let circuits = [
                    array::build(&block),
                    split::build(&SplitConfig::new(core, 2)),
                    wrapper::build(&WrapperConfig::new(block)),
                ];
                for circuit in circuits {
                    same(&circuit.expect("a valid configuration"), 9, backend, 60);
                }
            }
        }
    }
}
