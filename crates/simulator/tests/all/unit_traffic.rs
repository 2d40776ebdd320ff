//! Bytes that an attention unit counts, and the formulas of `flashd traffic`.

use super::unit::job;
use flashd_golden::family::{Blocks, MemoryTensor, Sizes, flash_attention2_blocks_formula};
use flashd_simulator::unit::{UnitDrive, UnitRun, run};
use flashd_spec::config::{Carried, Values};
use flashd_spec::format::Format;
use flashd_spec::unit::UnitConfig;

/// A shipped unit.
fn shipped(text: &str) -> UnitConfig {
    serde_json::from_str(text).unwrap()
}

/// Queries of the contest, in blocks of which the last is not full.
fn contest() -> (UnitConfig, Vec<(&'static str, u64)>) {
    let config = shipped(include_str!("../../../../configs/units/cpipc_2026.json"));
    (config, vec![("QUERIES", 20), ("KEYS", 24), ("GROUP", 1), ("K_HEADS", 1)])
}

/// A token of two groups of eight heads.
fn decode() -> (UnitConfig, Vec<(&'static str, u64)>) {
    let config = shipped(include_str!("../../../../configs/units/decode.json"));
    (config, vec![("QUERIES", 1), ("KEYS", 40), ("GROUP", 8), ("K_HEADS", 2)])
}

/// Runs a job, whose bytes of q, k and o must be those of the formula; returns the run, and the formula's bytes of v.
fn counted(config: &UnitConfig, fields: &[(&str, u64)]) -> (UnitRun, u64) {
    let job = job(config, fields, &[], 3);
    let core = &config.array.core;
    let of = job.job();
    let queries = u64::from(of.queries * of.group);
    let blocks = Blocks { rows: config.array.queries, columns: 1 };
    let counts =
        flash_attention2_blocks_formula(&Sizes::dense(queries, of.keys.into(), core.d as u64, blocks));
    // Rows of so many words, scales included.
    let bytes = |elements: u64, words: usize, format: Format| {
        u64::from(of.key_heads) * elements / core.d as u64 * words as u64 * u64::from(format.width()) / 8
    };
    let run = run(config, &[job], &UnitDrive::fixed(20, 1), &mut []).unwrap();
    let (formats, words) = (core.formats(), config.words());
    let due = [
        ("BYTES_QUERIES", bytes(counts.reads(MemoryTensor::Q), words.q, formats.q)),
        ("BYTES_KEYS", bytes(counts.reads(MemoryTensor::K), words.k, formats.k)),
        ("BYTES_WRITTEN", bytes(counts.writes(MemoryTensor::O), core.dv(), formats.o)),
    ];
    for (name, due) in due {
        assert!(due > 0 && run.register(name) == due, "{name} is {}, expected {due}", run.register(name));
    }
    (run, bytes(counts.reads(MemoryTensor::V), words.v, formats.v))
}

/// With all values the bytes of values are those of the formula; with requested ones, those of the values that a query of their block
/// needs.
#[test]
fn counted_bytes_are_those_of_the_formulas() {
    for (config, fields) in [contest(), decode()] {
        let all = UnitConfig { values: Values::All, ..config.clone() };
        let (run, due) = counted(&all, &fields);
        assert_eq!(run.register("BYTES_VALUES"), due, "{}", all.name());
        let requested = UnitConfig { values: Values::Requested, ..config };
        let (run, all_values) = counted(&requested, &fields);
        let due = run.values * u64::from(requested.row_bytes(Carried::Value));
        assert_eq!(run.register("BYTES_VALUES"), due, "{}", requested.name());
        assert!(due <= all_values && run.register("VALUES_READ") == run.values);
    }
}
