//! Which other option stands in the way of one that is refused.

use super::*;
use serde_json::Value;

impl CoreFields {
    /// The configuration, validated.
    ///
    /// # Errors
    /// As [`CoreFields::config`] and [`CoreConfig::validate`]. Where the refused option would be legal without another one that is given, the
    /// error names that one, too.
    pub fn core(self) -> Result<CoreConfig, ConfigError> {
        self.checked().map_err(|error| self.with_what_excludes(error))
    }

    fn checked(&self) -> Result<CoreConfig, ConfigError> {
        let config = self.clone().config()?;
        config.validate().map(|()| config)
    }

    fn with_what_excludes(&self, mut error: ConfigError) -> ConfigError {
        if error.field == "format" && !self.has("format") && self.has("q_format") {
            error.field = "q_format";
        }
        let stands_in_the_way = |field: &&'static str| {
            *field != error.field && !error.names(field) && self.with_another(field).checked().is_ok()
        };
        let others: Vec<String> =
            self.given().filter(stands_in_the_way).map(|field| self.as_flag(field)).collect();
        if !others.is_empty() {
            error.problem += &format!(" (with {})", others.join(" and "));
        }
        error
    }

    /// These fields with another value of one of them: a default, or where there is none a value that goes with most options.
    fn with_another(&self, field: &'static str) -> CoreFields {
        match (field, self.get::<Design>("design")) {
            ("design", Some(Design::FlashD)) => self.clone().with_design(Design::Fa2),
            ("design", _) => self.clone().with_design(Design::FlashD),
            ("d" | "dk" | "dv", _) => {
                let mut fields = self.clone();
                CoreOption::of(field).into_iter().for_each(|option| fields.set(option, 16.into()));
                fields
            }
            _ => self.without(field),
        }
    }

    /// A given field as it is typed.
    fn as_flag(&self, field: &str) -> String {
        let flag = format!("--{}", field.replace('_', "-"));
        match (CoreOption::of(field), self.value(field)) {
            (Some(option), Some(value)) if !matches!(value, Value::Bool(true)) || !option.is_switch() => {
                format!("{flag} {}", option.text(value))
            }
            _ => flag,
        }
    }
}

impl ConfigError {
    /// Whether the problem names this field's flag.
    fn names(&self, field: &str) -> bool {
        let flag = format!("--{}", field.replace('_', "-"));
        let ends = |rest: &str| !rest.starts_with(|c: char| c == '-' || c.is_alphanumeric());
        self.problem.match_indices(&flag).any(|(at, _)| ends(&self.problem[at + flag.len()..]))
    }
}
