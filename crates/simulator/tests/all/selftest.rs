//! Streams that emitted testbenches run: however short one is asked for, it brings a result.

use flashd_hwmodel::vectors::{Layout, Look};
use flashd_simulator::selftest::{self, Expected, Streamed, VectorStream};
use flashd_simulator::{RtlEngine, VectorWriter};
use flashd_spec::config::{ArrayConfig, CoreConfig, Design, SplitConfig};
use flashd_spec::format::Format;
use flashd_spec::machine::Machine;

/// A stream through a machine in lock-step with the model; all its keys must be taken.
pub(crate) fn in_lockstep(machine: impl Into<Machine>, stream: &VectorStream) -> Streamed {
    let machine = machine.into();
    let layout = Layout::of(&machine, Look::Inside).unwrap();
    let mut out = VectorWriter::new(std::io::sink(), layout).unwrap();
    let streamed =
        selftest::stream(&machine, stream, Expected::Lockstep(RtlEngine::default()), &mut out, &mut |_| {});
    let streamed = streamed.unwrap_or_else(|e| panic!("{}: {e}", machine.name()));
    assert!(streamed.keys >= stream.keys, "{}: {} keys", machine.name(), streamed.keys);
    streamed
}

/// Many cores in lock-step, and arrays and split keys of others.
pub(crate) fn machines_in_lockstep(cores: impl Fn(usize) -> Vec<CoreConfig>, stream: &VectorStream) {
    for d in [2, 5, 16] {
        let cores = cores(d);
        assert!(cores.len() > 60, "{}", cores.len());
        cores.into_iter().for_each(|config| _ = in_lockstep(config, stream));
    }
    for core in cores(5) {
        match core.partial {
            false => in_lockstep(ArrayConfig::new(core, 3), stream),
            true => in_lockstep(SplitConfig::new(core, 4), stream),
        };
    }
}

const SEEDS: std::ops::Range<u64> = 0..6;

/// The shortest streams of a machine.
fn brings_a_result(machine: impl Into<Machine>, expected: Expected) {
    let machine = machine.into();
    for seed in SEEDS {
        let layout = Layout::of(&machine, Look::Inside).unwrap();
        let mut out = VectorWriter::new(Vec::new(), layout).unwrap();
        let streamed =
            selftest::stream(&machine, &VectorStream::of(seed, 1), expected, &mut out, &mut |_| ()).unwrap();
        assert!(streamed.results > 0, "{} seed {seed} {expected:?}: no result", machine.name());
    }
}

#[test]
fn the_shortest_stream_of_a_core_brings_a_result() {
    let variants = CoreConfig::variants(3, Format::BF16).into_iter();
    let long = CoreConfig { d: 127, ..CoreConfig::variants(3, Format::BF16)[0].clone() };
    for config in variants.chain([long]) {
        brings_a_result(&config, Expected::Lockstep(RtlEngine::default()));
        brings_a_result(&config, Expected::Model);
    }
}

#[test]
fn the_shortest_stream_of_arrays_and_split_keys_brings_a_result() {
    for core in CoreConfig::variants(2, Format::BF16).into_iter().skip(3).step_by(4) {
        for masks in [false, true] {
            let core = CoreConfig { masks, ..core.clone() };
            brings_a_result(ArrayConfig::new(core, 3), Expected::Lockstep(RtlEngine::default()));
        }
    }
    for design in Design::ALL {
        let core = CoreConfig::new(design, 3, Format::BF16);
        brings_a_result(SplitConfig::new(core, 2), Expected::Lockstep(RtlEngine::default()));
    }
}
