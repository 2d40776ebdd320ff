//! What an option of a core is, and what follows from the table of them.

use super::value::{OptionValue, Word, json};
use super::*;
use crate::format::Scales;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The numbers that an option may have. What also depends on other options is checked in `validate.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range {
    /// Not a number, or checked elsewhere.
    Any,
    /// From the first to the second, both included.
    Between(i64, i64),
    /// One of these.
    OneOf(&'static [i64]),
}

impl Range {
    /// What is wrong with a value, if something is.
    pub fn problem(&self, value: &Value) -> Option<String> {
        let number = value.as_i64()?;
        match *self {
            Range::Any => None,
            Range::Between(lo, hi) => {
                (!(lo..=hi).contains(&number)).then(|| format!("{number} is outside {lo} to {hi}"))
            }
            Range::OneOf(all) => (!all.contains(&number)).then(|| {
                let all: Vec<String> = all.iter().map(i64::to_string).collect();
                format!("{number} is not one of {}", all.join(", "))
            }),
        }
    }
}

/// An option.
pub struct CoreOption {
    /// Key in JSON; the flag has dashes for underscores.
    pub field: &'static str,
    /// What stands for a value in help; nothing for a flag without one.
    pub value_name: &'static str,
    /// One line of words.
    pub help: &'static str,
    /// The default in words, where help names it.
    pub default: &'static str,
    /// The numbers that it takes.
    pub range: Range,
    /// Whether a core of that datapath has it, and in words which have.
    pub applies: Applies,
    /// What a name has of a value that is not the default.
    pub suffix: fn(&CoreConfig) -> Option<String>,
    pub(super) access: Access,
}

/// How the value is reached.
pub(super) struct Access {
    parse: fn(&str) -> Result<Value, String>,
    read: fn(&Value) -> Result<Value, String>,
    text: fn(&Value) -> String,
    words: fn() -> Vec<Word>,
    /// What is configured.
    get: fn(&CoreConfig) -> Value,
    /// What is in force, which a default decides where nothing is configured.
    in_force: fn(&CoreConfig) -> Value,
    set: fn(&mut CoreConfig, &Value),
}

/// The access to a field with values of type `T`.
pub(super) const fn access<T: OptionValue>(
    get: fn(&CoreConfig) -> Value,
    in_force: fn(&CoreConfig) -> Value,
    set: fn(&mut CoreConfig, &Value),
) -> Access {
    Access {
        parse: |text| T::parse(text).map(json),
        // With the place inside the value: `o: invalid type`.
        read: |value| serde_path_to_error::deserialize::<_, T>(value).map(json).map_err(|e| e.to_string()),
        text: |value| T::deserialize(value).map_or(String::new(), |value| value.text()),
        words: T::words,
        get,
        in_force,
        set,
    }
}

/// Sets a field; the value was checked when it came.
pub(super) fn set<T: DeserializeOwned>(field: &mut T, value: &Value) {
    if let Ok(value) = T::deserialize(value) {
        *field = value;
    }
}

/// What decides on the datapath is set with it, before all others.
pub(super) fn with_the_datapath(_: &mut CoreConfig, _: &Value) {}

/// Which cores have an option, and that in words.
pub type Applies = (fn(&CoreConfig) -> bool, &'static str);

impl CoreOption {
    /// The option of a field.
    pub fn of(field: &str) -> Option<&'static CoreOption> {
        OPTIONS.iter().find(|option| option.field == field)
    }

    /// All, in the order of help and documents.
    pub fn in_order() -> impl Iterator<Item = &'static CoreOption> {
        ABOUT.iter().filter_map(|about| CoreOption::of(about.field))
    }

    /// What is said of it beyond this row.
    pub fn about(&self) -> &'static About {
        static NOTHING: About = About { field: "", group: Group::Precision, short: "", why: "" };
        ABOUT.iter().find(|about| about.field == self.field).unwrap_or(&NOTHING)
    }

    /// Without `--`.
    pub fn flag(&self) -> String {
        self.field.replace('_', "-")
    }

    /// Whether the flag stands alone and means true.
    pub fn is_switch(&self) -> bool {
        self.value_name.is_empty()
    }

    /// The words that it takes, if it takes words.
    pub fn words(&self) -> Vec<Word> {
        (self.access.words)()
    }

    /// The value of what is typed. Whether a number is in range is told with the other checks of a configuration.
    ///
    /// # Errors
    /// What was wrong, and what would be right.
    pub fn parse(&self, text: &str) -> Result<Value, String> {
        (self.access.parse)(text)
    }

    /// A value from JSON, if it is one of this option's kind, by the name that it has today.
    ///
    /// # Errors
    /// What serde says.
    pub(super) fn read(&self, value: &Value) -> Result<Value, String> {
        (self.access.read)(value)
    }

    /// Whether it is one that a core is built around, with the datapath, before all others are set.
    pub(super) fn is_frame(&self) -> bool {
        ["design", "d", "dk", "dv", "format", "q_format", "k_format", "v_format", "o_format"]
            .contains(&self.field)
    }

    /// Whether a core has it.
    pub fn applies_to(&self, core: &CoreConfig) -> bool {
        (self.applies.0)(core)
    }

    /// What is typed for a value.
    pub fn text(&self, value: &Value) -> String {
        (self.access.text)(value)
    }

    /// The value in force in a core that has it.
    pub fn in_force(&self, core: &CoreConfig) -> Value {
        (self.access.in_force)(core)
    }

    /// What a core has as its own: null for what is left to a default that other options decide.
    pub(super) fn configured(&self, core: &CoreConfig) -> Value {
        (self.access.get)(core)
    }

    pub(super) fn set(&self, core: &mut CoreConfig, value: &Value) {
        (self.access.set)(core, value);
    }

    /// The core with the default of this option, all others being as they are.
    pub(super) fn reset(&self, core: &CoreConfig) -> CoreConfig {
        let mut core = core.clone();
        let default = core.plain();
        self.set(&mut core, &self.configured(&default));
        core
    }

    /// That a core does not have it.
    pub(super) fn not_here(&self) -> ConfigError {
        ConfigError { field: self.field, problem: format!("{}; leave it out", self.applies.1) }
    }

    /// What is wrong with the configured value, by itself. Defaults may lie outside: fp32's weight has 24 bits.
    pub(super) fn problem(&self, core: &CoreConfig) -> Option<String> {
        self.range.problem(&self.configured(core))
    }
}

impl CoreConfig {
    /// The flags that select this configuration: `--design fa2 --d 16 --format bf16` and what is not default.
    pub fn flags(&self) -> String {
        let default =
            CoreConfig { datapath: Datapath::shipped(self.design(), self.encodings()), ..self.plain() };
        let mut flags = Vec::new();
        for option in OPTIONS.iter().filter(|option| option.applies_to(self)) {
            let value = option.configured(self);
            let always = option.is_frame();
            if value.is_null() || (!always && value == option.configured(&default)) {
                continue;
            }
            flags.push(match option.is_switch() {
                true => format!("--{}", option.flag()),
                false => format!("--{} {}", option.flag(), option.text(&value)),
            });
        }
        flags.join(" ")
    }

    /// The same with the defaults of all options that it does not have.
    #[must_use]
    pub fn without_what_does_not_apply(&self) -> CoreConfig {
        let absent = OPTIONS.iter().filter(|option| !option.applies_to(self));
        absent.fold(self.clone(), |core, option| option.reset(&core))
    }

    /// What follows from the configuration where it leaves something open, by the fields that would say the same.
    pub fn derived(&self) -> serde_json::Map<String, Value> {
        let open =
            OPTIONS.iter().filter(|option| option.applies_to(self) && option.configured(self).is_null());
        // Where nothing is scaled or capped there is nothing to say of it.
        let unscaled = self.scales() == Scales::NONE;
        let says = |option: &&CoreOption| {
            !(option.in_force(self).is_null() || unscaled && option.field.ends_with("scales"))
        };
        open.filter(says).map(|option| (option.field.to_string(), option.in_force(self))).collect()
    }
}
