//! Options that take names: completions list them, and names of other programs are taken, too.

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command, Error};
use flashd_hwmodel::units::FormatUnit;
use flashd_spec::format::Format;
use std::ffi::OsStr;
use std::sync::LazyLock;

/// Parses by a function, and lists the names that it takes.
#[derive(Clone)]
pub struct Named<F> {
    parse: F,
    names: fn() -> Vec<&'static str>,
}

impl<T, F> TypedValueParser for Named<F>
where
    T: Clone + Send + Sync + 'static,
    F: Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static,
{
    type Value = T;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<T, Error> {
        self.parse.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.names)().into_iter().map(PossibleValue::new)))
    }
}

/// The names of all formats, fixed-point numbers last.
pub fn format_names() -> Vec<&'static str> {
    static FIXED: LazyLock<Vec<String>> =
        LazyLock::new(|| Format::fixed_points().map(|format| format.to_string()).collect());
    Format::named().map(|(name, _)| name).chain(FIXED.iter().map(String::as_str)).collect()
}

fn float_names() -> Vec<&'static str> {
    Format::NAMED.map(|(name, _)| name).to_vec()
}

fn unit_names() -> Vec<&'static str> {
    FormatUnit::ALL.into_iter().map(FormatUnit::name).collect()
}

/// Parses a word.
type Parse<T> = fn(&str) -> Result<T, String>;

/// Parser of a core's option that takes a format, with the values of `parse`.
pub fn format_by<T, F>(parse: F) -> Named<F>
where
    F: Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static,
{
    Named { parse, names: format_names }
}

/// A format.
pub fn format() -> Named<Parse<Format>> {
    Named {
        parse: |text| text.parse().map_err(|e: flashd_spec::format::UnknownFormat| e.to_string()),
        names: format_names,
    }
}

/// A float format, for options without integers.
pub fn float_format() -> Named<Parse<Format>> {
    Named {
        parse: |text| {
            let format: Format =
                text.parse().map_err(|e: flashd_spec::format::UnknownFormat| e.to_string())?;
            match format.is_wide_float() {
                false => Err(format!("this takes a format of floats: {}", Format::float_names())),
                true => Ok(format),
            }
        },
        names: float_names,
    }
}

/// A unit's name. The generator refuses unknown names.
pub fn unit() -> Named<Parse<String>> {
    Named { parse: |text| Ok(text.to_ascii_lowercase()), names: unit_names }
}
