//! An option of a core, and functions over the table of options.

use super::value::{OptionValue, Word, json};
use super::*;
use crate::format::{Format, SCALE_ALIASES, Scales};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The numbers that an option takes. `validate.rs` checks what depends on other options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range {
    /// Not a number, or checked elsewhere.
    Any,
    /// `lo` to `hi`, both included.
    Between(i64, i64),
    /// One of these.
    OneOf(&'static [i64]),
}

impl Range {
    /// Describes why a value is out of range; `None` if it is not.
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

/// The headings of options in help and in documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionGroup {
    /// The recurrence, its datapath, vector lengths and the hold rule.
    Core,
    /// Formats of operands and results, and scales.
    Formats,
    /// Optional ports, and the memory that serves them.
    Ports,
    /// Bit widths and table sizes.
    Precision,
}

impl OptionGroup {
    /// All, in the order of help and documents.
    pub const ALL: [OptionGroup; 4] =
        [OptionGroup::Core, OptionGroup::Formats, OptionGroup::Ports, OptionGroup::Precision];

    /// The heading.
    pub fn heading(self) -> &'static str {
        match self {
            OptionGroup::Core => "Core",
            OptionGroup::Formats => "Number formats",
            OptionGroup::Ports => "Ports of the core",
            OptionGroup::Precision => "Precision",
        }
    }
}

/// A row of [`OPTIONS`].
pub struct CoreOption {
    /// Key in JSON. The flag has dashes in place of underscores.
    pub field: &'static str,
    /// Its heading in help and documents.
    pub group: OptionGroup,
    /// Placeholder of the value in help; empty for a switch.
    pub value_name: &'static str,
    /// Help in one line.
    pub help: &'static str,
    /// The text of `-h`, before the default; `-h` omits options with an empty one.
    pub short: &'static str,
    /// The reasons for each choice, for `--help` and the reference; empty if the line is enough. Figures in it come from `docs/results`.
    pub why: &'static str,
    /// The default in words, where it follows from other options; empty if [`CoreOption::default_words`] computes it.
    pub default: &'static str,
    /// The numbers that it takes.
    pub range: Range,
    /// Which cores have it, as a predicate and in words.
    pub applies: Applies,
    /// Suffix of the core's name for a value that is not the default.
    pub suffix: fn(&CoreConfig) -> Option<String>,
    pub(super) access: OptionAccess,
}

/// Parses, reads, prints and sets the value.
pub(super) struct OptionAccess {
    parse: fn(&str) -> Result<Value, String>,
    read: fn(&Value) -> Result<Value, String>,
    text: fn(&Value) -> String,
    words: fn() -> Vec<Word>,
    /// The configured value; null if it is left to a default.
    get: fn(&CoreConfig) -> Value,
    /// The value in use, configured or default.
    in_force: fn(&CoreConfig) -> Value,
    set: fn(&mut CoreConfig, &Value),
}

/// Access to a field of type `T`.
pub(super) const fn access<T: OptionValue>(
    get: fn(&CoreConfig) -> Value,
    in_force: fn(&CoreConfig) -> Value,
    set: fn(&mut CoreConfig, &Value),
) -> OptionAccess {
    OptionAccess {
        parse: |text| match T::parse(text).map(json) {
            // JSON has no NaN and no infinity: null would mean that the option is not given.
            Ok(Value::Null) => Err(format!("'{text}' is not a finite number")),
            value => value,
        },
        // The error names the place inside the value: `o: invalid type`.
        read: |value| serde_path_to_error::deserialize::<_, T>(value).map(json).map_err(|e| e.to_string()),
        text: |value| T::deserialize(value).map_or(String::new(), |value| value.text()),
        words: T::words,
        get,
        in_force,
        set,
    }
}

/// Sets a field to a value that [`CoreOption::read`] or [`CoreOption::parse`] has checked.
pub(super) fn set<T: DeserializeOwned>(field: &mut T, value: &Value) {
    if let Ok(value) = T::deserialize(value) {
        *field = value;
    }
}

/// Setter of options that select the datapath, formats or lengths: these are set before all others.
pub(super) fn with_the_datapath(_: &mut CoreConfig, _: &Value) {}

/// The most values that the default of an option has in help, by format.
const MOST_DEFAULTS: usize = 3;

/// Which cores have an option, as a predicate and in words.
pub type Applies = (fn(&CoreConfig) -> bool, &'static str);

impl CoreOption {
    /// The option with this field.
    pub fn of(field: &str) -> Option<&'static CoreOption> {
        OPTIONS.into_iter().find(|option| option.field == field)
    }

    /// All options, in the order of help and documents.
    pub fn in_order() -> impl Iterator<Item = &'static CoreOption> {
        OptionGroup::ALL
            .into_iter()
            .flat_map(|group| OPTIONS.into_iter().filter(move |option| option.group == group))
    }

    /// The flag without `--`.
    pub fn flag(&self) -> String {
        self.field.replace('_', "-")
    }

    /// Set if the flag takes no value and means true.
    pub fn is_switch(&self) -> bool {
        self.value_name.is_empty()
    }

    /// Set if it takes the name of a format and nothing else.
    pub fn is_format(&self) -> bool {
        self.value_name == "FORMAT"
    }

    /// Other names for its words, each with the word.
    pub fn aliases(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let scales = self.value_name == "SCALES";
        SCALE_ALIASES.into_iter().filter(move |_| scales)
    }

    /// Set if it takes a number, maybe among other values.
    pub fn takes_numbers(&self) -> bool {
        ["1", "12", "1,1,1"].iter().any(|text| self.parse(text).is_ok())
    }

    /// The words it takes; empty if it takes numbers.
    pub fn words(&self) -> Vec<Word> {
        (self.access.words)()
    }

    /// Parses a typed value. [`CoreConfig::validate`] checks the range.
    ///
    /// # Errors
    /// Names the error and the accepted values.
    pub fn parse(&self, text: &str) -> Result<Value, String> {
        (self.access.parse)(text).map_err(|problem| match self.range {
            Range::Any => problem,
            Range::Between(lo, hi) => format!("{problem} from {lo} to {hi}"),
            Range::OneOf(all) => {
                let all: Vec<String> = all.iter().map(i64::to_string).collect();
                format!("{problem}: one of {}", all.join(", "))
            }
        })
    }

    /// Reads a value from JSON. Aliases are replaced by today's names.
    ///
    /// # Errors
    /// The message of serde.
    pub(super) fn read(&self, value: &Value) -> Result<Value, String> {
        (self.access.read)(value)
    }

    /// Set for design, lengths and formats, which are set with the datapath before all others.
    pub(super) fn is_frame(&self) -> bool {
        ["design", "d", "dk", "dv", "format", "q_format", "k_format", "v_format", "o_format"]
            .contains(&self.field)
    }

    /// Set if the core has this option.
    pub fn applies_to(&self, core: &CoreConfig) -> bool {
        (self.applies.0)(core)
    }

    /// The default for help: in words where the row has them, else the value in use in the default cores of both designs in each format.
    /// `fa2:` precedes that of FA2 where both have the option with different values. Empty where every core must name it.
    pub fn default_words(&self) -> String {
        if !self.default.is_empty() || ["design", "d", "dk", "dv"].contains(&self.field) {
            return self.default.to_string();
        }
        if self.is_switch() {
            return "off".into();
        }
        let [flash_d, fa2] = Design::ALL.map(|design| self.default_by_format(design));
        match (flash_d.is_empty(), fa2.is_empty()) {
            (false, false) if flash_d != fa2 => format!("{flash_d}; fa2: {fa2}"),
            (true, _) => fa2,
            _ => flash_d,
        }
    }

    /// The value in bf16, then the other values with the formats that have them: `ranged; in int8 and int4 fixed`. Of more than
    /// [`MOST_DEFAULTS`] values only the first.
    fn default_by_format(&self, design: Design) -> String {
        let mut values: Vec<(String, Vec<&str>)> = Vec::new();
        for (name, format) in Format::named() {
            let core = CoreConfig::new(design, 16, format);
            if !self.applies_to(&core) {
                continue;
            }
            let value = self.text(&self.in_force(&core));
            match values.iter_mut().find(|(known, _)| *known == value) {
                Some((_, formats)) => formats.push(name),
                None => values.push((value, vec![name])),
            }
        }
        let others = |(value, formats): &(String, Vec<&str>)| {
            let (last, first) = formats.split_last().map_or(("", &[][..]), |(last, first)| (*last, first));
            let joint = if first.is_empty() { String::new() } else { format!("{} and ", first.join(", ")) };
            format!("in {joint}{last} {value}")
        };
        match values.as_slice() {
            [] => String::new(),
            [(first, formats), ..] if values.len() > MOST_DEFAULTS => format!("{first} in {}", formats[0]),
            // Some options only exist in other formats than bf16.
            [(_, formats), ..] if formats[0] != Format::NAMED[0].0 => {
                values.iter().map(others).collect::<Vec<_>>().join("; ")
            }
            [(first, _), rest @ ..] => {
                std::iter::once(first.clone()).chain(rest.iter().map(others)).collect::<Vec<_>>().join("; ")
            }
        }
    }

    /// The value as it is typed.
    pub fn text(&self, value: &Value) -> String {
        (self.access.text)(value)
    }

    /// The value in use; the core must have the option.
    pub fn in_force(&self, core: &CoreConfig) -> Value {
        (self.access.in_force)(core)
    }

    /// The configured value; null if it is left to a default.
    pub(super) fn configured(&self, core: &CoreConfig) -> Value {
        (self.access.get)(core)
    }

    pub(super) fn set(&self, core: &mut CoreConfig, value: &Value) {
        (self.access.set)(core, value);
    }

    /// The core with this option at its default and all others unchanged.
    pub(super) fn reset(&self, core: &CoreConfig) -> CoreConfig {
        let mut core = core.clone();
        let default = core.plain();
        self.set(&mut core, &self.configured(&default));
        core
    }

    /// The error for a core that does not have it.
    pub(super) fn not_here(&self) -> ConfigError {
        ConfigError { field: self.field, problem: format!("{}; leave it out", self.applies.1) }
    }

    /// Describes why the configured value is out of range. Defaults may lie outside the range: fp32's weight has 24 bits.
    pub(super) fn problem(&self, core: &CoreConfig) -> Option<String> {
        self.range.problem(&self.configured(core))
    }
}

impl CoreConfig {
    /// The flags that select this configuration: design, lengths, formats, and non-default options: `--design fa2 --d 16 --format bf16`.
    pub fn flags(&self) -> String {
        let default =
            CoreConfig { datapath: Datapath::shipped(self.design(), self.encodings()), ..self.plain() };
        let mut flags = Vec::new();
        for option in OPTIONS.into_iter().filter(|option| option.applies_to(self)) {
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

    /// Resets every option that the core does not have to its default.
    #[must_use]
    pub fn without_what_does_not_apply(&self) -> CoreConfig {
        let absent = OPTIONS.into_iter().filter(|option| !option.applies_to(self));
        absent.fold(self.clone(), |core, option| option.reset(&core))
    }

    /// The values in use of the options left to a default, by field.
    pub fn derived(&self) -> serde_json::Map<String, Value> {
        let open =
            OPTIONS.into_iter().filter(|option| option.applies_to(self) && option.configured(self).is_null());
        // Omit scales and cap if there are none.
        let unscaled = self.scales() == Scales::NONE;
        let says = |option: &&CoreOption| {
            !(option.in_force(self).is_null() || unscaled && option.field.ends_with("scales"))
        };
        open.filter(says).map(|option| (option.field.to_string(), option.in_force(self))).collect()
    }
}
