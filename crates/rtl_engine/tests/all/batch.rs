//! Runs in a batch behave as single runs.

use crate::random::words;
use flashd_hwmodel::rtl::Circuit;
use flashd_hwmodel::{array, catalogue, split, wrapper};
use flashd_rtl_engine::{Backend, Batch, Compiled};
use flashd_spec::config::{ArrayConfig, CoreConfig, Design, SplitConfig, WrapperConfig};
use flashd_spec::format::Format;
use rand::{RngExt, SeedableRng};
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
            // In all runs, in some, or in the first ones.
            let driven = runs - rng.random_range(0..3);
            let values: Vec<Option<Vec<u64>>> = (0..driven)
                .map(|_| (!rng.random_ratio(1, 16)).then(|| words(&mut rng, port, cycle, 3)))
                .collect();
            let rows: Vec<Option<&[u64]>> = values.iter().map(Option::as_deref).collect();
            for (alone, row) in alone.iter_mut().zip(&rows) {
                row.iter().for_each(|row| alone.drive(place, row));
            }
            match (rng.random_range(0..3), &rows.iter().copied().collect::<Option<Vec<&[u64]>>>()) {
                (0, Some(rows)) if port.nets.len() == 1 => {
                    let words: Vec<u64> = rows.iter().map(|row| row[0]).collect();
                    batch.drive_words(place, &words);
                }
                (1, _) => batch.drive_rows(place, &rows),
                _ => rows.iter().enumerate().for_each(|(run, row)| {
                    row.iter().for_each(|row| batch.drive(run, place, row));
                }),
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
        for port in design.ports.iter().filter(|port| port.nets.len() == 1) {
            let place = batch.port(&port.name).expect("a port of the design");
            let mut words = vec![0; runs];
            batch.read_words(place, &mut words);
            let expected: Vec<u64> = alone.iter().flat_map(|alone| alone.read(place)).collect();
            assert_eq!(words, expected, "{}, cycle {cycle}, {}", circuit.name(), port.name);
        }
        batch.clock();
        alone.iter_mut().for_each(Compiled::clock);
        compare(&batch, &alone, "clocked");
    }
}

#[test]
fn runs_in_a_batch_behave_as_single_runs() {
    println!("seed {SEED:#x}");
    for backend in Backend::available() {
        for format in [Format::BF16, Format::FP8_E4M3] {
            for config in CoreConfig::variants(8, format) {
                let circuit = catalogue::build(&config).expect("a valid configuration");
                same(&circuit, 11, backend, 60);
            }
            // Rows of whole blocks of words, and a partial block.
            let circuit = catalogue::build(&CoreConfig::new(Design::FlashD, 35, format))
                .expect("a valid configuration");
            same(&circuit, 35, backend, 20);
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
