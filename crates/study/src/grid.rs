//! Which cores are compared.

use flashd_spec::config::{ACCUMULATOR_GUARD_BITS, Accumulator, CoreConfig, Design, LaneBits, OPTIONS};
use flashd_spec::format::Format;
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Most cores that a grid file may describe; every one takes minutes to measure.
pub const MOST_CORES: usize = 10_000;

/// A grid file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum GridError {
    /// It cannot be read.
    #[error("{}: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: std::io::Error,
    },
    /// It is not a list of objects.
    #[error("{}: {problem}; a grid is a JSON list of objects with fields of a configuration", path.display())]
    NotAGrid {
        /// The file.
        path: PathBuf,
        /// Its description.
        problem: String,
    },
    /// An entry is not a configuration.
    #[error("{}: entry {entry}: {problem}", path.display())]
    Entry {
        /// The file.
        path: PathBuf,
        /// The entry, from 1.
        entry: usize,
        /// The error and the accepted values.
        problem: String,
    },
}

/// The default grid of a vector length and format: every variant of both designs, the float lanes with accumulators of
/// 3 to 5 fraction bits more than the format and of about the bits that their most keys need, the fixed-point lanes with widths around the format's precision p.
pub fn default_grid(d: usize, format: Format) -> Vec<CoreConfig> {
    let p = format.precision();
    let mut cores = CoreConfig::variants(d, format);
    cores.extend(CoreConfig::mixed_precision(d).into_iter().filter(|c| c.format == format));
    let variants = cores.clone();
    for config in variants.iter().filter(|c| c.value_stage.is_none()) {
        if config.has_fixed_lanes() {
            // Bits beyond p: of FLASH-D's accumulator, and of v and w together. FA2 takes v as it is.
            let (accumulators, factors): (&[u32], &[(u32, i32)]) = match config.design() {
                Design::FlashD => (&[7, 10, 13, 16], &[(2, 0), (4, 0), (4, 1), (6, 1)]),
                // A multiplier that also does the final scale has a factor of p + 2 bits at least.
                Design::Fa2 if config.kind().scales_in_lane => (&[6, 9, 12], &[(6, 2), (6, 3)]),
                Design::Fa2 => (&[6, 9, 12], &[(6, -1), (6, 0), (6, 1)]),
            };
            for &o in accumulators {
                for &(v, w) in factors {
                    let lane = Some(LaneBits { o: p + o, v: p + v, w: p.saturating_add_signed(w) });
                    cores.push(CoreConfig { lane, ..config.clone() });
                }
            }
        } else if !config.follows_the_paper() {
            let few = (ACCUMULATOR_GUARD_BITS - 1..=ACCUMULATOR_GUARD_BITS + 1)
                .map(|bits| format.fraction_bits + bits);
            let enough = config.accumulator_fraction();
            for bits in few.chain([enough - 1, enough + 1]) {
                let accumulator = Some(Accumulator::Fraction(bits));
                cores.push(CoreConfig { accumulator, ..config.clone() });
            }
        }
    }
    // Wide formats have no room for all of them.
    cores.retain(|core| core.validate().is_ok());
    distinct(cores)
}

/// Drops duplicates of earlier cores.
fn distinct(mut cores: Vec<CoreConfig>) -> Vec<CoreConfig> {
    let mut seen = HashSet::new();
    cores.retain(|core| seen.insert(core.name()));
    cores
}

/// The name of a core without format and vector length: `fa2_shared`, `flash_d_fixed_o16v12w8`.
pub fn stem(config: &CoreConfig) -> String {
    let name = config.name();
    let end = config.shape();
    name.strip_suffix(&end).unwrap_or(&name).to_string()
}

/// The stem without scales, which belong to the formats: `fa2` for `fa2_mx`.
pub fn stem_without_scales(config: &CoreConfig) -> String {
    let scales = OPTIONS.iter().filter(|option| option.field.ends_with("scales"));
    let scales: HashSet<String> = scales.filter_map(|option| (option.suffix)(config)).collect();
    let stem = stem(config);
    let kept: Vec<&str> = stem.split('_').filter(|part| !scales.contains(*part)).collect();
    kept.join("_")
}

/// The variant that a core is of: its name without widths and scales.
pub fn variant(config: &CoreConfig) -> String {
    stem_without_scales(&in_formats_of(config.plain(), config))
}

/// A core with the formats and scales of another.
fn in_formats_of(core: CoreConfig, other: &CoreConfig) -> CoreConfig {
    let CoreConfig { scales, q_scales, k_scales, v_scales, .. } = *other;
    CoreConfig { scales, q_scales, k_scales, v_scales, ..core.with_formats(other.formats()) }
}

/// The valid ones of all variants with the vector length, formats and scales of a core.
pub fn variants_like(core: &CoreConfig) -> Vec<CoreConfig> {
    let all = CoreConfig::variants(core.d, core.format).into_iter();
    all.map(|variant| in_formats_of(variant, core)).filter(|variant| variant.validate().is_ok()).collect()
}

/// A grid file: a JSON list of objects with fields of a configuration, as in `configs`. A field may be a list, which
/// stands for each of its elements; an object with several lists stands for all combinations. The vector length is left
/// out. An entry without `format` is for every format asked for, one with it for that format only.
///
/// ```json
/// [{"design": "flash-d", "update": "fixed", "lane": {"o": [16, 18], "v": 12, "w": [7, 8]}},
///  {"design": "fa2", "fa2": ["separate-scale", "shared-scale"], "format": "bf16", "accumulator": {"fraction": [9, 10]}}]
/// ```
#[derive(Clone, Debug)]
pub struct GridFile {
    path: PathBuf,
    entries: Vec<Map<String, Value>>,
}

impl GridFile {
    /// Reads a file.
    ///
    /// # Errors
    /// A file that cannot be read or is not a list of objects, or that says something twice. The fields are checked by [`GridFile::cores`].
    pub fn read(path: &Path) -> Result<GridFile, GridError> {
        let text = flashd_files::read_text(path)
            .map_err(|error| GridError::Unreadable { path: path.into(), error })?;
        let not_a_grid = |problem: String| GridError::NotAGrid { path: path.into(), problem };
        let entries: Vec<Value> =
            flashd_files::from_json(&text).map_err(|error| not_a_grid(error.to_string()))?;
        if entries.is_empty() {
            return Err(not_a_grid("the list is empty".into()));
        }
        if let Some((entry, problem)) = doubled(&entries) {
            return Err(GridError::Entry { path: path.into(), entry, problem });
        }
        let object = |(i, value)| match value {
            Value::Object(fields) => Ok(fields),
            other => Err(not_a_grid(format!("entry {} is {other}", i + 1))),
        };
        let entries = entries.into_iter().enumerate().map(object).collect::<Result<_, _>>()?;
        Ok(GridFile { path: path.into(), entries })
    }

    /// The cores of a vector length, each once: of an entry with a `format` those in that format, of others those in each of `formats`.
    ///
    /// # Errors
    /// Names the entry, the field, and what is wrong with it: unknown fields, values that are not allowed, combinations
    /// that are not valid, more than [`MOST_CORES`] cores.
    pub fn cores(&self, d: usize, formats: &[Format]) -> Result<Vec<CoreConfig>, GridError> {
        let mut cores = Vec::new();
        for (i, fields) in self.entries.iter().enumerate() {
            let wrong = |problem: String| GridError::Entry { path: self.path.clone(), entry: i + 1, problem };
            if fields.contains_key("d") {
                return Err(wrong("d: the vector length is one for the whole grid; leave it out".into()));
            }
            let mut fields = fields.clone();
            fields.insert("d".into(), d.into());
            let all = serde_json::to_value(formats).map_err(|e| wrong(e.to_string()))?;
            fields.entry("format").or_insert(all);
            let fields = Value::Object(fields);
            if count(&fields).is_none_or(|n| n + cores.len() > MOST_CORES) {
                return Err(wrong(format!("more than {MOST_CORES} cores; shorten the lists")));
            }
            for value in product(&fields) {
                let core: CoreConfig = flashd_files::from_value(value).map_err(|e| wrong(e.to_string()))?;
                core.validate().map_err(|e| wrong(e.to_string()))?;
                cores.push(core);
            }
        }
        Ok(distinct(cores))
    }
}

/// The field that keeps a list together: `{"all": [1, 2]}` is one value in a grid.
pub const ALL: &str = "all";

fn is_kept_together(fields: &Map<String, Value>) -> bool {
    fields.len() == 1 && fields.contains_key(ALL)
}

/// The first entry of a grid that repeats another one, or has a list of choices with a repeated element; and the problem.
pub fn doubled(entries: &[Value]) -> Option<(usize, String)> {
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

/// How many values [`product`] gives; `None` if that overflows.
pub fn count(value: &Value) -> Option<usize> {
    match value {
        Value::Object(fields) if is_kept_together(fields) => Some(1),
        Value::Array(choices) => choices.iter().try_fold(0usize, |n, v| n.checked_add(count(v)?)),
        Value::Object(fields) => fields.values().try_fold(1usize, |n, v| n.checked_mul(count(v)?)),
        _ => Some(1),
    }
}

/// All values that a value with lists expands to, the last field changing fastest. `{"all": [...]}` is a value.
pub fn product(value: &Value) -> Vec<Value> {
    match value {
        Value::Object(fields) if is_kept_together(fields) => vec![value.clone()],
        Value::Array(choices) => choices.iter().flat_map(product).collect(),
        Value::Object(fields) => fields.iter().fold(vec![Value::Object(Map::new())], |all, (name, value)| {
            let choices = product(value);
            let with = |partial: &Value| -> Vec<Value> {
                choices
                    .iter()
                    .map(|choice| {
                        let mut fields = partial.as_object().cloned().unwrap_or_default();
                        fields.insert(name.clone(), choice.clone());
                        Value::Object(fields)
                    })
                    .collect()
            };
            all.iter().flat_map(with).collect()
        }),
        other => vec![other.clone()],
    }
}

#[cfg(test)]
mod tests;
