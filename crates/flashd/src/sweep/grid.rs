//! Grid files: entries whose fields stand for many values.
//!
//! A field is a value; a list, which stands for each of its elements; a range as in the JSON of OpenROAD's AutoTuner,
//! `{"type": "int", "minmax": [1, 200], "step": 1}`; or `{"all": [...]}`, an option that is given several times. An entry
//! stands for all combinations, or, with `"samples": {"count": 20, "seed": 1}`, for so many drawn at random.

use crate::output::Failure;
use flashd_study::grid::{ALL, count, doubled, product};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Deserialize;
use serde_json::{Map, Number, Value};
use std::path::Path;

/// Most shards of a sweep.
const MOST: usize = 1_000_000;
/// A step of 0 has no list: it is replaced by a list of this one field, which only a draw understands.
const BETWEEN: &str = "between";

/// `samples` of an entry.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Samples {
    count: usize,
    seed: u64,
}

/// A range.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Range {
    #[serde(rename = "type")]
    kind: RangeKind,
    #[serde(default)]
    minmax: Option<[f64; 2]>,
    #[serde(default)]
    step: f64,
    #[serde(default)]
    values: Option<Vec<Value>>,
}

#[derive(Deserialize, PartialEq, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum RangeKind {
    Int,
    Float,
    String,
}

/// Reads a grid: the file as it is.
pub fn read(path: &Path) -> Result<Value, Failure> {
    let problem = |e: String| Failure::input(format!("{}: {e}", path.display()));
    let text = flashd_files::read_text(path).map_err(|e| problem(e.to_string()))?;
    let grid: Value = flashd_files::from_json(&text).map_err(|e| {
        problem(format!(
            "{e}; a grid is a JSON list of entries such as {{\"kind\": \"accuracy\", \"every\": [1, 4]}}"
        ))
    })?;
    match grid.as_array().is_some_and(|entries| !entries.is_empty()) {
        true => Ok(grid),
        false => Err(problem("is no list of entries; one such as [{\"kind\": \"units\"}] is needed".into())),
    }
}

/// The number of an entry, from 1, and one of its combinations.
pub type Combination = (usize, Map<String, Value>);

/// The combinations of all entries.
///
/// # Errors
/// Names the entry and what is wrong with it.
pub fn combinations(grid: &Value) -> Result<Vec<Combination>, String> {
    let mut all = Vec::new();
    let entries = grid.as_array().map(Vec::as_slice).unwrap_or_default();
    if let Some((number, problem)) = doubled(entries) {
        return Err(format!("entry {number}: {problem}"));
    }
    for (i, entry) in entries.iter().enumerate() {
        let number = i + 1;
        let wrong = |e: String| format!("entry {number}: {e}");
        let Value::Object(fields) = entry else {
            return Err(wrong(format!("is {entry}; an object with a kind is needed")));
        };
        let mut fields = fields.clone();
        let samples = fields.remove("samples").map(flashd_files::from_value::<Samples>);
        let samples = samples.transpose().map_err(|e| wrong(format!("samples: {e}")))?;
        for (name, value) in &mut fields {
            expand(value, samples.is_some()).map_err(|e| wrong(format!("{name}: {e}")))?;
        }
        let fields = Value::Object(fields);
        let values = match samples {
            Some(samples) if all.len() + samples.count <= MOST => {
                let mut rng = ChaCha8Rng::seed_from_u64(samples.seed);
                (0..samples.count).map(|_| draw(&fields, &mut rng)).collect()
            }
            None if count(&fields).is_some_and(|n| all.len() + n <= MOST) => product(&fields),
            _ => return Err(wrong(format!("more than {MOST} shards; shorten the lists, or draw samples"))),
        };
        let objects = values.into_iter().filter_map(|value| match value {
            Value::Object(fields) => Some((number, fields)),
            _ => None,
        });
        all.extend(objects);
    }
    Ok(all)
}

/// Replaces ranges by lists.
fn expand(value: &mut Value, drawn: bool) -> Result<(), String> {
    match value {
        Value::Array(values) if values.is_empty() => Err("the list is empty".into()),
        Value::Array(values) => values.iter_mut().try_for_each(|value| expand(value, drawn)),
        Value::Object(fields) if ["minmax", "values"].iter().any(|name| fields.contains_key(*name)) => {
            let range: Range = flashd_files::from_value(value.clone()).map_err(|e| e.to_string())?;
            *value = range.list(drawn)?;
            Ok(())
        }
        Value::Object(fields) if fields.contains_key(ALL) => match fields.get(ALL) {
            Some(Value::Array(values)) if fields.len() == 1 && !values.is_empty() => Ok(()),
            _ => Err("all: is a list, and the only field of its object".into()),
        },
        Value::Object(fields) => fields
            .iter_mut()
            .try_for_each(|(name, value)| expand(value, drawn).map_err(|e| format!("{name}: {e}"))),
        _ => Ok(()),
    }
}

impl Range {
    fn list(self, drawn: bool) -> Result<Value, String> {
        let whole = |x: f64| x.fract() == 0.0 && x.abs() < 9e15;
        let number = |x: f64| match self.kind {
            RangeKind::Float => Number::from_f64(x).map(Value::Number).unwrap_or_default(),
            _ => Value::from(x as i64),
        };
        let (min, max) = match (self.values, self.minmax) {
            (Some(values), None) if !values.is_empty() => return Ok(Value::Array(values)),
            (None, Some([min, max])) if self.kind != RangeKind::String => (min, max),
            _ => return Err("a range has a minmax of two numbers, or values".into()),
        };
        if !(min <= max && self.step >= 0.0 && (max - min).is_finite()) {
            return Err(format!("minmax: {min} to {max} by {} is no range", self.step));
        }
        if self.kind == RangeKind::Int && ![min, max, self.step].into_iter().all(whole) {
            return Err("minmax: a range of type int has whole numbers".into());
        }
        if min == max {
            return Ok(number(min));
        }
        if self.step == 0.0 {
            let between: Map<String, Value> =
                [(BETWEEN.to_string(), Value::from(vec![number(min), number(max)]))].into_iter().collect();
            return match drawn {
                true => Ok(Value::Object(between)),
                false => {
                    Err("step: 0 leaves all numbers between; give a step, or the entry \"samples\"".into())
                }
            };
        }
        // What rounding takes from the last step does not drop it.
        let steps = ((max - min) / self.step + 1e-9).floor();
        if steps >= MOST as f64 {
            return Err(format!("minmax: more than {MOST} numbers; take a larger step"));
        }
        Ok(Value::Array((0..=steps as usize).map(|i| number(min + i as f64 * self.step)).collect()))
    }
}

/// One value, drawn at random: of a list an element, of a range any number.
fn draw(value: &Value, rng: &mut impl Rng) -> Value {
    match value {
        Value::Array(values) => draw(&values[rng.random_range(0..values.len())], rng),
        Value::Object(fields) if fields.contains_key(ALL) => value.clone(),
        Value::Object(fields) => match fields.get(BETWEEN).and_then(Value::as_array).map(Vec::as_slice) {
            Some([min, max]) => match (min.as_i64(), max.as_i64()) {
                (Some(min), Some(max)) => rng.random_range(min..=max).into(),
                _ => rng.random_range(min.as_f64().unwrap_or(0.0)..=max.as_f64().unwrap_or(0.0)).into(),
            },
            _ => Value::Object(fields.iter().map(|(name, value)| (name.clone(), draw(value, rng))).collect()),
        },
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn all(grid: Value) -> Vec<Value> {
        combinations(&grid).unwrap().into_iter().map(|(_, fields)| Value::Object(fields)).collect()
    }

    fn refused(entry: Value) -> String {
        combinations(&json!([entry])).unwrap_err()
    }

    #[test]
    fn lists_and_ranges_stand_for_all_combinations() {
        let found = all(json!([
            {"kind": "a", "x": [1, 2], "y": {"type": "int", "minmax": [4, 9], "step": 2}},
            {"kind": "b", "n": {"all": [1, 2]}, "z": {"type": "float", "minmax": [0.1, 0.3], "step": 0.1}},
            {"kind": "c", "s": {"type": "string", "values": ["u", "v"]}, "core": {"lane": {"o": [7, 8]}}},
        ]));
        let mut expected = Vec::new();
        for x in [1, 2] {
            expected.extend([4, 6, 8].map(|y| json!({"kind": "a", "x": x, "y": y})));
        }
        expected
            .extend([0.1, 0.2, 0.1 + 2.0 * 0.1].map(|z| json!({"kind": "b", "n": {"all": [1, 2]}, "z": z})));
        for o in [7, 8] {
            expected.extend(["u", "v"].map(|s| json!({"kind": "c", "s": s, "core": {"lane": {"o": o}}})));
        }
        assert_eq!(found, expected);
    }

    #[test]
    fn samples_are_drawn_from_a_seed() {
        let entry = |seed: u64| {
            json!([{
                "x": {"type": "float", "minmax": [2.0, 3.0], "step": 0}, "y": {"type": "int", "minmax": [1, 6]},
                "z": ["a", "b"], "samples": {"count": 200, "seed": seed},
            }])
        };
        let found = all(entry(3));
        assert_eq!((found.len(), &found), (200, &all(entry(3))));
        assert_ne!(found, all(entry(4)));
        assert!(found.iter().all(|v| (2.0..=3.0).contains(&v["x"].as_f64().unwrap())));
        for y in 1..=6 {
            for z in ["a", "b"] {
                // 200 / 12 on average; none in 200 draws is a chance of 3e-8.
                assert!(found.iter().any(|v| v["y"] == y && v["z"] == z), "{y} {z}");
            }
        }
    }

    #[test]
    fn what_is_no_grid_is_refused() {
        for (entry, part) in [
            (json!(3), "entry 1: is 3"),
            (json!({"x": []}), "x: the list is empty"),
            (json!({"core": {"x": [1, "a", 1]}}), "entry 1: core: x: 1 is there twice"),
            (json!({"x": {"type": "int", "minmax": [1, 2]}}), "x: step: 0"),
            (json!({"x": {"type": "int", "minmax": [1, 2.5], "step": 1}}), "whole numbers"),
            (json!({"x": {"type": "int", "minmax": [2, 1], "step": 1}}), "2 to 1"),
            (json!({"x": {"type": "text", "minmax": [2, 1]}}), "text"),
            (json!({"x": {"type": "float", "minmax": [0, 1], "step": 1e-9}}), "larger step"),
            (json!({"x": {"all": [1], "y": 2}}), "only field"),
            (json!({"samples": 3}), "samples"),
            (
                json!({"a": (0..2000).collect::<Vec<_>>(), "b": (0..2000).collect::<Vec<_>>()}),
                "more than 1000000 shards",
            ),
        ] {
            let message = refused(entry.clone());
            assert!(message.contains(part), "{entry}: {message}");
        }
        let twice = combinations(&json!([{"kind": "a"}, {"kind": "b"}, {"kind": "a"}])).unwrap_err();
        assert_eq!(twice, "entry 3: is the same as entry 1; one is needed");
    }
}
