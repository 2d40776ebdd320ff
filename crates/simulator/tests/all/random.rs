//! Random configurations: the draw, and the agreement of all engines.

use flashd_simulator::random::{EngineCounts, LONGEST, compare, draw, packets};
use flashd_spec::config::{
    CoreConfig, CoreOption, Design, Fa2Variant, OPTIONS, OptionValue, Update, WEIGHT_BITS_RANGE, WeightUnit,
};
use flashd_spec::format::Format;
use flashd_spec::machine::Machine;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json, to_value};
use std::collections::{BTreeMap, BTreeSet};

fn drawn(seed: u64, longest: usize) -> Machine {
    draw(&mut ChaCha8Rng::seed_from_u64(seed), longest)
}

/// A configuration's fields, those of its parts among them, and their values.
fn fields(drawn: &Machine) -> Vec<(String, Value)> {
    let mut fields = Vec::new();
    let mut add = |value: Value| fields.extend(value.as_object().cloned().unwrap_or_default());
    let core = drawn.core();
    // Fields are left out where they are left to a default, and where they are switches that are off.
    let applying = OPTIONS.into_iter().filter(|option| option.applies_to(core));
    let absent = |option: &CoreOption| if option.is_switch() { Value::Bool(false) } else { Value::Null };
    let written = to_value(core).unwrap();
    let left_out = applying.filter(|option| written.get(option.field).is_none());
    add(left_out.map(|option| (option.field.to_string(), absent(option))).collect());
    add(written);
    match drawn {
        Machine::Core(_) => (),
        Machine::Array(array) => add(to_value(array).unwrap()),
        Machine::Split(split) => add(to_value(split).unwrap()),
        Machine::Wrapper(wrapper) => {
            add(to_value(&wrapper.array).unwrap());
            add(to_value(wrapper).unwrap());
        }
        Machine::Unit(unit) => {
            add(to_value(&unit.array).unwrap());
            add(to_value(unit).unwrap());
        }
    }
    fields
}

/// All words of an option, as JSON has them.
fn words<T: OptionValue>() -> Vec<String> {
    T::words().into_iter().map(|(word, _)| Value::from(word).to_string()).collect()
}

/// All legal values of every field with few of them are drawn.
#[test]
fn every_value_of_every_option_is_drawn() {
    let mut seen: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for seed in 0..16_000 {
        for (field, value) in fields(&drawn(seed, LONGEST)) {
            // A field in several parts, such as the widths of a lane: each by itself.
            match value.as_object() {
                Some(parts) if field == "lane" => {
                    for (part, value) in parts {
                        seen.entry(format!("lane.{part}")).or_default().insert(value.to_string());
                    }
                }
                _ => drop(seen.entry(field).or_default().insert(value.to_string())),
            }
        }
    }
    let text = |values: Vec<Value>| values.iter().map(Value::to_string).collect::<Vec<_>>();
    let numbers = |range: std::ops::RangeInclusive<u32>| text(range.map(Value::from).collect());
    let format = ["bf16", "fp8-e4m3", "fp8-e5m2", "fp16", "fp32"];
    let operand: Vec<Value> = format.into_iter().chain(["int8", "int4"]).map(Value::from).collect();
    let budgets = (4..=22).map(|f| json!({ "budget": f }));
    let fractions = (2..=23).map(|f| json!({ "fraction": f }));
    let wide = ["bf16", "fp16", "fp32"].map(|f| json!({ "float": f }));
    let scales: Vec<Value> = [Value::Null]
        .into_iter()
        .chain(["none", "row", "row-e8m0", "row-q16", "mx", "nvfp4"].map(Value::from))
        .collect();
    // Q0.16 is a scale of queries alone, and a number for each row none of values.
    let without = |words: &[&str]| {
        text(scales.iter().filter(|scale| words.iter().all(|word| **scale != **word)).cloned().collect())
    };
    for (field, values) in [
        ("design", words::<Design>()),
        ("d", numbers(2..=64)),
        ("dk", numbers(0..=0)),
        ("dv", numbers(0..=0)),
        ("format", text(operand.clone())),
        ("k_format", text(operand.clone())),
        ("v_format", text(operand.clone())),
        ("o_format", text(format.map(Value::from).to_vec())),
        ("weight", words::<WeightUnit>()),
        ("fa2", words::<Fa2Variant>()),
        ("update", words::<Update>()),
        ("scales", without(&["row-q16"])),
        ("q_scales", without(&[])),
        ("k_scales", without(&["row-q16"])),
        ("v_scales", without(&["row-q16", "row"])),
        ("lane", text(vec![Value::Null])),
        ("lane.o", numbers(8..=28)),
        ("lane.v", numbers(4..=20)),
        ("lane.w", numbers(3..=12)),
        ("value_stage", text(vec![Value::Null, true.into(), false.into()])),
        ("masks", text(vec![true.into(), false.into()])),
        ("bias", text(vec![true.into(), false.into()])),
        (
            "softcap",
            text(
                [Value::Null]
                    .into_iter()
                    .chain([1.0, 2.5, 15.0, 20.0, 30.0, 50.0, 200.0].map(Value::from))
                    .collect(),
            ),
        ),
        ("partial", text(vec![true.into(), false.into()])),
        ("value_latency", numbers(1..=16)),
        ("hold", text([Value::Null, "none".into(), "static".into()].into_iter().chain(budgets).collect())),
        (
            "accumulator",
            text([Value::Null, "format".into()].into_iter().chain(wide).chain(fractions).collect()),
        ),
        ("weight_bits", numbers(WEIGHT_BITS_RANGE.0..=WEIGHT_BITS_RANGE.1)),
        ("max_keys", text((1..=20).map(|g| Value::from(1 << g)).collect())),
        ("segments", text([4, 8, 16, 32].map(Value::from).to_vec())),
        ("score_shift", text((-64..=64).map(Value::from).collect())),
        ("score_integer_bits", numbers(5..=20)),
        ("score_fraction_bits", numbers(2..=20)),
        ("state_fraction_bits", numbers(2..=26)),
        ("queries", numbers(1..=64)),
        ("key_index_bits", numbers(2..=32)),
        ("interleave", numbers(2..=8)),
        ("parts", text([2, 4, 8, 16, 32, 64].map(Value::from).to_vec())),
        ("beat_bits", numbers(0..=0)),
        ("values", text(vec!["requested".into(), "all".into()])),
    ] {
        let seen = seen.remove(field).unwrap_or_default();
        match field {
            // Beats: any divisor of a vector's bits; and any lengths.
            "beat_bits" | "dk" | "dv" => assert!(seen.len() > 20, "{field}: {seen:?}"),
            _ => {
                let missing: Vec<_> = values.iter().filter(|value| !seen.contains(*value)).collect();
                assert!(missing.is_empty(), "{field}: never {missing:?}");
            }
        }
    }
    // These consist of fields that were checked above; any other field is new and needs a check, too.
    let rest: Vec<&str> = seen.keys().map(String::as_str).collect();
    assert_eq!(rest, ["block", "core"]);
}

#[test]
fn all_engines_agree_and_meet_special_operands() {
    let mut all = EngineCounts::default();
    for seed in 0..32 {
        let drawn = drawn(seed, 6);
        all += compare(&drawn, seed, 100).unwrap_or_else(|e| panic!("seed {seed}, {}: {e}", drawn.name()));
    }
    assert!(all.held > 100 && all.values_read > 100, "{all:?}");
    assert!(all.special_keys > 100 && all.special_values > 100, "{all:?}");
}

/// Wrappers that count places in two or three bits: values drawn for their registers fit. Seed 10438 drew a window of 8 keys for a
/// register of three bits.
#[test]
fn values_drawn_for_narrow_registers_fit() {
    let mut narrow = 0;
    for seed in (0..3000).chain([10438]) {
        let drawn = drawn(seed, 4);
        let Machine::Wrapper(wrapper) = &drawn else { continue };
        if !wrapper.array.core.masks || wrapper.array.key_index_bits() > 3 {
            continue;
        }
        narrow += 1;
        compare(&drawn, seed, 100).unwrap_or_else(|e| panic!("seed {seed}, {}: {e}", drawn.name()));
    }
    assert!(narrow > 3, "{narrow} wrappers of narrow registers were drawn");
}

/// A query's words are its elements and the words of its scales: seed 105 drew a wrapper of scaled queries, whose packets lacked words.
#[test]
fn packets_of_scaled_queries_are_whole() {
    let mut scaled = 0;
    for seed in 0..400 {
        let drawn = drawn(seed, 6);
        let Machine::Wrapper(wrapper) = &drawn else { continue };
        let words = wrapper.array.core.port_words().q;
        scaled += usize::from(words > wrapper.array.core.d);
        let w = packets(wrapper, 60, &mut ChaCha8Rng::seed_from_u64(seed));
        for (query, _) in w.blocks.iter().flat_map(|block| &block.queries) {
            assert_eq!(query.len(), words, "seed {seed}, {}", drawn.name());
        }
    }
    assert!(scaled > 3, "{scaled} wrappers of scaled queries were drawn");
}

/// Tables that go further than the octaves of a state with few fraction bits.
#[test]
fn coarse_states_take_all_tables() {
    for (segments, bits) in [4, 8, 16, 32].into_iter().flat_map(|s| (2..=6).map(move |bits| (s, bits))) {
        let core = CoreConfig {
            segments: Some(segments),
            score_fraction_bits: Some(2),
            state_fraction_bits: Some(bits),
            ..CoreConfig::new(Design::FlashD, 3, Format::BF16)
        };
        let compared = compare(&Machine::Core(core), 1, 100);
        assert!(compared.is_ok_and(|c| c.held > 0), "{segments} segments, {bits} bits");
    }
}

/// A drawn configuration is legal, and the same for a seed.
#[test]
fn a_seed_gives_one_legal_configuration() {
    for seed in 0..50 {
        let (one, other) = (drawn(seed, 20), drawn(seed, 20));
        assert_eq!(one, other);
        let core: &CoreConfig = one.core();
        assert!(core.validate().is_ok() && core.d <= 20);
    }
}
