//! The fields of a core as given by the user; the others take their defaults.

use super::*;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;

/// The fields of a core that a file or flags give. Fields that are not given are as in [`CoreConfig::new`] for the given design, vector length and format: one rule for
/// files and flags.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CoreFields(BTreeMap<&'static str, Given>);

/// A value, and whether it comes from a file. Earlier versions wrote all fields to files, with defaults for fields that the core does not have.
#[derive(Clone, Debug, PartialEq)]
struct Given {
    value: Value,
    from_file: bool,
}

impl CoreFields {
    /// Set if no field is given.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The given fields, in the order of the options.
    pub fn given(&self) -> impl Iterator<Item = &'static str> + '_ {
        OPTIONS.into_iter().map(|option| option.field).filter(|field| self.0.contains_key(field))
    }

    /// Set if the field is given.
    pub fn has(&self, field: &str) -> bool {
        self.0.contains_key(field)
    }

    /// Sets a field to a value of its option.
    pub fn set(&mut self, option: &'static CoreOption, value: Value) {
        self.0.insert(option.field, Given { value, from_file: false });
    }

    /// These fields without one of them.
    #[must_use]
    pub(super) fn without(mut self, field: &str) -> CoreFields {
        self.0.remove(field);
        self
    }

    /// Sets d, or dk and dv if they differ.
    #[must_use]
    pub fn with_lengths(mut self, Lengths { k, v }: Lengths) -> Self {
        let lengths = if k == v { vec![("d", k)] } else { vec![("dk", k), ("dv", v)] };
        self.0.extend(
            lengths.into_iter().map(|(field, d)| (field, Given { value: d.into(), from_file: false })),
        );
        self
    }

    /// Takes d_k and d_v from the data if no length is given.
    #[must_use]
    pub fn or_lengths(self, lengths: Lengths) -> Self {
        let any = ["d", "dk", "dv"].into_iter().any(|field| self.has(field));
        if any { self } else { self.with_lengths(lengths) }
    }

    /// Sets the design.
    #[must_use]
    pub fn with_design(mut self, design: Design) -> Self {
        self.0.insert("design", Given { value: value::json(design), from_file: false });
        self
    }

    /// The value of a field, if given.
    pub fn value(&self, field: &str) -> Option<&Value> {
        Some(&self.0.get(field)?.value)
    }

    /// The value of a field, if given and of type `T`.
    pub fn get<T: serde::de::DeserializeOwned>(&self, field: &str) -> Option<T> {
        T::deserialize(&self.0.get(field)?.value).ok()
    }

    /// Takes from `other` the fields that are not given here. A given `d` overrides `dk` and `dv` of `other`; a given `format` overrides each operand's format.
    #[must_use]
    pub fn or(mut self, other: CoreFields) -> CoreFields {
        let [d, format] = ["d", "format"].map(|field| self.has(field));
        for (field, given) in other.0 {
            let is_said = match field {
                "dk" | "dv" => d,
                "q_format" | "k_format" | "v_format" | "o_format" => format,
                _ => false,
            };
            if !is_said {
                self.0.entry(field).or_insert(given);
            }
        }
        self
    }

    /// The configuration, not yet validated. The default format is bf16.
    ///
    /// # Errors
    /// Names a missing design or vector length, which have no default, or a field that the core does not have.
    pub fn config(self) -> Result<CoreConfig, ConfigError> {
        let missing = |field, problem| ConfigError { field, problem };
        let design: Design =
            self.get("design").ok_or_else(|| missing("design", "is missing: flash-d or fa2".into()))?;
        let lengths = self.lengths()?;
        let formats = self.formats();
        let any = CoreConfig::new(design, lengths.k, formats.q).with_lengths(lengths).with_formats(formats);
        // The default datapath depends on the scales of values.
        let [scales, q_scales, k_scales, v_scales] =
            ["scales", "q_scales", "k_scales", "v_scales"].map(|field| self.get(field));
        let scaled = CoreConfig { scales, q_scales, k_scales, v_scales, ..any.clone() };
        let mut config = CoreConfig { datapath: self.datapath(design, scaled.encodings()), ..any };
        for option in OPTIONS.into_iter().filter(|option| !option.is_frame()) {
            let Some(given) = self.0.get(option.field) else { continue };
            if option.applies_to(&config) {
                option.set(&mut config, &given.value);
            } else if !(given.from_file && was_written(option, &config, &given.value)) {
                return Err(option.not_here());
            }
        }
        Ok(config)
    }

    /// d_k and d_v: `dk` and `dv`, else `d` for both.
    ///
    /// # Errors
    /// Names the missing length.
    pub fn lengths(&self) -> Result<Lengths, ConfigError> {
        let (lo, hi) = D_RANGE;
        let of = |own: &'static str| {
            self.get(own).or_else(|| self.get("d")).ok_or_else(|| {
                // If one of dk and dv is given, the other one is missing.
                let field = if self.has("dk") || self.has("dv") { own } else { "d" };
                ConfigError { field, problem: format!("is missing: a vector length, {lo} to {hi}") }
            })
        };
        Ok(Lengths { k: of("dk")?, v: of("dv")? })
    }

    /// Formats of q, k, v and o: each operand's own, else `format`.
    fn formats(&self) -> Formats {
        let format = self.get("format").unwrap_or(Format::BF16);
        let of = |field| self.get(field);
        let [q, k, v] = ["q_format", "k_format", "v_format"].map(|field| of(field).unwrap_or(format));
        Formats { q, k, v, o: of("o_format").unwrap_or(format.of_results()) }
    }

    /// The datapath selected by the design and the options `weight`, `update` and `fa2`; the shipped one if they leave a choice. A word that the design does
    /// not have selects nothing here; [`Self::config`] reports it.
    fn datapath(&self, design: Design, encodings: Encodings) -> Datapath {
        let mut kinds: Vec<&DatapathKind> = vec![Datapath::shipped(design, encodings).kind()];
        kinds.extend(KINDS.iter().filter(|kind| kind.design == design));
        type Word = fn(&DatapathKind) -> Value;
        let words: [(&str, Word); 3] = [
            ("weight", |kind| value::json(kind.weight)),
            ("update", |kind| value::json(kind.update)),
            ("fa2", |kind| value::json(kind.fa2)),
        ];
        for (field, word) in words {
            let Some(given) = self.0.get(field) else { continue };
            let fits: Vec<&DatapathKind> =
                kinds.iter().copied().filter(|kind| word(kind) == given.value).collect();
            if !fits.is_empty() {
                kinds = fits;
            }
        }
        kinds[0].datapath
    }
}

/// Set if earlier versions wrote this value for a core that does not have the option.
fn was_written(option: &CoreOption, core: &CoreConfig, given: &Value) -> bool {
    let shipped = Datapath::shipped(core.design(), core.encodings()).kind();
    let written = match option.field {
        "weight" => vec![value::json(WeightUnit::Lse)],
        "fa2" => vec![value::json(Fa2Variant::SharedScale)],
        "update" => vec![value::json(Update::Fixed), value::json(shipped.update)],
        // The default before products and scores grew.
        "score_integer_bits" => vec![value::json(9), option.configured(&core.plain())],
        // The defaults before they followed the results.
        "score_fraction_bits" => vec![value::json(10), value::json(12), Value::Null],
        // The default before it followed the number of keys.
        "state_fraction_bits" => vec![value::json(18), Value::Null],
        _ => vec![option.configured(&core.plain())],
    };
    written.contains(given)
}

impl TryFrom<CoreFields> for CoreConfig {
    type Error = ConfigError;
    fn try_from(fields: CoreFields) -> Result<CoreConfig, ConfigError> {
        fields.config()
    }
}

impl<'de> Deserialize<'de> for CoreFields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Fields)
    }
}

struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = CoreFields;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("the fields of a core")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<CoreFields, A::Error> {
        let mut fields = CoreFields::default();
        while let Some(key) = map.next_key::<String>()? {
            let Some(option) = CoreOption::of(&key) else {
                let known: Vec<String> =
                    OPTIONS.into_iter().map(|option| format!("`{}`", option.field)).collect();
                let problem = format!("unknown field `{key}`, expected one of {}", known.join(", "));
                return Err(A::Error::custom(problem));
            };
            let value = map.next_value_seed(ValueOf(option))?;
            let given = Given { value, from_file: true };
            // Earlier versions wrote null for a default.
            if !given.value.is_null() && fields.0.insert(option.field, given).is_some() {
                return Err(A::Error::custom(format!("duplicate field `{key}`")));
            }
        }
        Ok(fields)
    }
}

/// Reads the value of an option and checks it while the reader still knows the line and column.
struct ValueOf(&'static CoreOption);

impl<'de> DeserializeSeed<'de> for ValueOf {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        let value = Value::deserialize(deserializer)?;
        if value.is_null() {
            return Ok(value);
        }
        self.0.read(&value).map_err(D::Error::custom)
    }
}

/// Writes the fields that the core has, in the order of the options, without those left to a default.
impl Serialize for CoreConfig {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for option in OPTIONS.into_iter().filter(|option| option.applies_to(self)) {
            let value = option.configured(self);
            // Omit options left to a default, and switches that are off.
            let plain = value.is_null() || value == Value::Bool(false) && option.is_switch();
            if !plain {
                map.serialize_entry(option.field, &value)?;
            }
        }
        map.end()
    }
}
