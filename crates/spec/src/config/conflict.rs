//! The option that conflicts with a refused one.

use super::*;

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
        let stands_in_the_way = |option: &&'static CoreOption| {
            option.field != error.field && !error.names(option) && self.with_another(option).checked().is_ok()
        };
        let given = OPTIONS.into_iter().filter(|option| self.has(option.field));
        let others: Vec<String> =
            given.filter(stands_in_the_way).map(|option| self.as_typed(option)).collect();
        if !others.is_empty() {
            error.problem += &format!(" (with {})", others.join(" and "));
        }
        error
    }

    /// These fields with another value of one of them: a default, or where there is none a value that goes with most options.
    fn with_another(&self, option: &'static CoreOption) -> CoreFields {
        let mut fields = self.clone();
        match (option.field, self.get::<Design>("design")) {
            ("design", Some(Design::FlashD)) => fields.with_design(Design::Fa2),
            ("design", _) => fields.with_design(Design::FlashD),
            ("d" | "dk" | "dv", _) => {
                fields.set(option, 16.into());
                fields
            }
            (field, _) => fields.without(field),
        }
    }

    /// A given option as it is typed.
    fn as_typed(&self, option: &CoreOption) -> String {
        let flag = option.flag();
        match self.value(option.field) {
            Some(value) if !option.is_switch() => format!("--{flag} {}", option.text(value)),
            _ => format!("--{flag}"),
        }
    }
}

impl ConfigError {
    /// Whether the problem names this option's flag.
    fn names(&self, option: &CoreOption) -> bool {
        let flag = format!("--{}", option.flag());
        let ends = |rest: &str| !rest.starts_with(|c: char| c == '-' || c.is_alphanumeric());
        self.problem.match_indices(&flag).any(|(at, _)| ends(&self.problem[at + flag.len()..]))
    }
}
