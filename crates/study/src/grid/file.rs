//! Grid files: lists of entries, objects whose fields may have many values.
//!
//! A field is a value; a list of choices; a range as in the JSON of OpenROAD's AutoTuner,
//! `{"type": "int", "minmax": [1, 200], "step": 1}`; or `{"all": [...]}`, a list that stays one value. An entry
//! gives all combinations, or, with `"samples": {"count": 20, "seed": 1}`, 20 random ones.

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Deserialize;
use serde_json::{Map, Number, Value, json};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// An error of a grid file, or of one of its entries, which are counted from 1.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", path.display())]
pub struct GridError {
    path: PathBuf,
    problem: String,
}

/// The number of an entry, from 1, and one of its combinations.
pub type Combination = (usize, Map<String, Value>);

/// A grid as it was read.
#[derive(Clone, Debug)]
pub struct GridFile {
    path: PathBuf,
    entries: Vec<Map<String, Value>>,
}

impl GridFile {
    /// Reads a file.
    ///
    /// # Errors
    /// A file that cannot be read or is not a list of objects, or that says something twice. The fields are checked by their users.
    pub fn read(path: &Path) -> Result<GridFile, GridError> {
        let problem = |problem: String| GridError { path: path.into(), problem };
        let not_a_grid = |what: String| problem(format!("{what}; a grid is a JSON list of objects"));
        let text = flashd_files::read_text(path).map_err(|e| problem(e.to_string()))?;
        let entries: Vec<Value> = flashd_files::from_json(&text).map_err(|e| not_a_grid(e.to_string()))?;
        if entries.is_empty() {
            return Err(not_a_grid("the list is empty".into()));
        }
        if let Some((entry, what)) = doubled(&entries) {
            return Err(problem(format!("entry {entry}: {what}")));
        }
        let object = |(i, value)| match value {
            Value::Object(fields) => Ok(fields),
            other => Err(not_a_grid(format!("entry {} is {other}", i + 1))),
        };
        let entries = entries.into_iter().enumerate().map(object).collect::<Result<_, _>>()?;
        Ok(GridFile { path: path.into(), entries })
    }

    /// The error of an entry.
    pub fn wrong(&self, entry: usize, problem: String) -> GridError {
        GridError { path: self.path.clone(), problem: format!("entry {entry}: {problem}") }
    }

    /// The combinations of all entries, each with the number of its entry from 1, the last field changing fastest. `complete` adds fields
    /// to an entry before.
    ///
    /// # Errors
    /// What `complete` returns, empty lists, wrong ranges, more than `most` combinations.
    pub fn combinations(
        &self,
        most: usize,
        complete: impl Fn(&mut Map<String, Value>) -> Result<(), String>,
    ) -> Result<Vec<Combination>, GridError> {
        let mut all = Vec::new();
        for (i, fields) in self.entries.iter().enumerate() {
            let mut fields = fields.clone();
            let found = complete(&mut fields).and_then(|()| {
                expanded(fields, most - all.len())?.ok_or_else(|| {
                    format!("more than {most} combinations; shorten the lists, or draw samples")
                })
            });
            let found = found.map_err(|problem| self.wrong(i + 1, problem))?;
            all.extend(found.into_iter().map(|fields| (i + 1, fields)));
        }
        Ok(all)
    }
}

/// The combinations of an entry; none if there are more than `most`.
fn expanded(mut fields: Map<String, Value>, most: usize) -> Result<Option<Vec<Map<String, Value>>>, String> {
    let samples = fields.remove("samples").map(flashd_files::from_value::<Samples>).transpose();
    let samples = samples.map_err(|e| format!("samples: {e}"))?;
    expand_all(&mut fields, samples.is_some())?;
    Ok(match samples {
        Some(Samples { count, seed }) if count <= most => {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            Some((0..count).map(|_| drawn(&fields, &mut rng)).collect())
        }
        None if count(fields.values()).is_some_and(|n| n <= most) => Some(combined(&fields)),
        _ => None,
    })
}

/// Most numbers of a range.
const MOST_NUMBERS: f64 = 1e6;
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
struct GridRange {
    #[serde(rename = "type")]
    kind: RangeKind,
    minmax: [f64; 2],
    #[serde(default)]
    step: f64,
}

#[derive(Deserialize, PartialEq, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum RangeKind {
    Int,
    Float,
}

/// Replaces ranges by lists.
fn expand(value: &mut Value, drawn: bool) -> Result<(), String> {
    match value {
        Value::Array(values) if values.is_empty() => Err("the list is empty".into()),
        Value::Array(values) => values.iter_mut().try_for_each(|value| expand(value, drawn)),
        Value::Object(fields) if fields.contains_key("minmax") => {
            let range: GridRange = flashd_files::from_value(value.clone()).map_err(|e| e.to_string())?;
            *value = range.list(drawn)?;
            Ok(())
        }
        Value::Object(fields) if fields.contains_key(ALL) => match fields.get(ALL) {
            Some(Value::Array(values)) if fields.len() == 1 && !values.is_empty() => Ok(()),
            _ => Err("all: is a list, and the only field of its object".into()),
        },
        Value::Object(fields) => expand_all(fields, drawn),
        _ => Ok(()),
    }
}

fn expand_all(fields: &mut Map<String, Value>, drawn: bool) -> Result<(), String> {
    fields.iter_mut().try_for_each(|(name, value)| expand(value, drawn).map_err(|e| format!("{name}: {e}")))
}

impl GridRange {
    fn list(self, drawn: bool) -> Result<Value, String> {
        let whole = |x: f64| x.fract() == 0.0 && x.abs() < 9e15;
        let number = |x: f64| match self.kind {
            RangeKind::Float => Number::from_f64(x).map(Value::Number).unwrap_or_default(),
            RangeKind::Int => Value::from(x as i64),
        };
        let [min, max] = self.minmax;
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
            return match drawn {
                true => Ok(json!({BETWEEN: [number(min), number(max)]})),
                false => {
                    Err("step: 0 leaves all numbers between; give a step, or the entry \"samples\"".into())
                }
            };
        }
        // What rounding takes from the last step does not drop it.
        let steps = ((max - min) / self.step + 1e-9).floor();
        if steps >= MOST_NUMBERS {
            return Err(format!("minmax: more than {MOST_NUMBERS} numbers; take a larger step"));
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
            _ => Value::Object(drawn(fields, rng)),
        },
        other => other.clone(),
    }
}

fn drawn(fields: &Map<String, Value>, rng: &mut impl Rng) -> Map<String, Value> {
    fields.iter().map(|(name, value)| (name.clone(), draw(value, rng))).collect()
}

/// The field that keeps a list together: `{"all": [1, 2]}` is one value in a grid.
pub const ALL: &str = "all";

fn is_kept_together(fields: &Map<String, Value>) -> bool {
    fields.len() == 1 && fields.contains_key(ALL)
}

/// The first entry of a grid that repeats another one, or has a list of choices with a repeated element; and the problem.
fn doubled(entries: &[Value]) -> Option<(usize, String)> {
    let twice = |i: usize| {
        let first = entries.iter().position(|other| *other == entries[i]).unwrap_or(i);
        (i + 1, format!("is the same as entry {}; one is needed", first + 1))
    };
    let in_entry = |(i, entry)| Some((i + 1, doubled_choice(entry)?));
    second(entries).map(twice).or_else(|| entries.iter().enumerate().find_map(in_entry))
}

/// The place of the first value that was there before.
fn second(values: &[Value]) -> Option<usize> {
    let mut seen = HashSet::new();
    values.iter().position(|value| !seen.insert(value.to_string()))
}

/// The first list of choices that has one twice.
fn doubled_choice(value: &Value) -> Option<String> {
    match value {
        Value::Object(fields) if is_kept_together(fields) => None,
        Value::Object(fields) => {
            let of = |(name, value)| Some(format!("{name}: {}", doubled_choice(value)?));
            fields.iter().find_map(of)
        }
        Value::Array(choices) => {
            let told = second(choices).map(|i| format!("{} is there twice; once is needed", choices[i]));
            told.or_else(|| choices.iter().find_map(doubled_choice))
        }
        _ => None,
    }
}

/// The number of combinations of some fields; `None` if that overflows.
fn count<'a>(mut fields: impl Iterator<Item = &'a Value>) -> Option<usize> {
    let choices = |value: &Value| match value {
        Value::Array(choices) => {
            choices.iter().try_fold(0usize, |n, value| n.checked_add(count([value].into_iter())?))
        }
        Value::Object(fields) if !is_kept_together(fields) => count(fields.values()),
        _ => Some(1),
    };
    fields.try_fold(1usize, |n, value| n.checked_mul(choices(value)?))
}

/// The values of a field with lists.
fn product(value: &Value) -> Vec<Value> {
    match value {
        Value::Array(choices) => choices.iter().flat_map(product).collect(),
        Value::Object(fields) if !is_kept_together(fields) => {
            combined(fields).into_iter().map(Value::Object).collect()
        }
        other => vec![other.clone()],
    }
}

/// All combinations of the values of fields, the last field changing fastest.
fn combined(fields: &Map<String, Value>) -> Vec<Map<String, Value>> {
    fields.iter().fold(vec![Map::new()], |all, (name, value)| {
        let choices = product(value);
        let with = |partial: &Map<String, Value>, choice: &Value| {
            let mut fields = partial.clone();
            fields.insert(name.clone(), choice.clone());
            fields
        };
        all.iter()
            .flat_map(|partial| choices.iter().map(|choice| with(partial, choice)).collect::<Vec<_>>())
            .collect()
    })
}
