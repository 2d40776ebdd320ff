//! Parsers of numbers. Each checks the range; the error names the option, the value and the range.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use flashd_spec::config::CoreOption;
use flashd_spec::number;
use flashd_workload::ScoreScale;
use serde_json::Value;
use std::any::TypeId;
use std::error::Error;

/// More than any count of queries, keys, cycles or elements that fits a machine.
pub const MANY: u64 = 1 << 40;
/// Segments of a PWL table.
pub const SEGMENTS: [u64; 4] = [4, 8, 16, 32];
/// Clock periods in ns: beyond any library.
pub const SHORTEST_NS: f64 = 1e-3;
pub const LONGEST_NS: f64 = 1e6;
/// The least limit of an error, in percent.
pub const LEAST_PERCENT: f64 = 1e-9;

/// Parses a whole number from `least` to `most`.
pub fn whole<T: TryFrom<u64>>(
    least: u64,
    most: u64,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    move |text| {
        let Ok(number) = text.parse::<i128>() else {
            return Err(format!("'{text}' is not a whole number from {least} to {most}"));
        };
        let within = u64::try_from(number).ok().filter(|number| (least..=most).contains(number));
        within
            .and_then(|number| T::try_from(number).ok())
            .ok_or_else(|| format!("{number} is outside {least} to {most}"))
    }
}

/// Parses one of some whole numbers.
pub fn one_of<T: TryFrom<u64>>(
    all: &'static [u64],
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    move |text| {
        let number = text.parse::<u64>().ok().filter(|number| all.contains(number));
        number.and_then(|number| T::try_from(number).ok()).ok_or_else(|| {
            let all: Vec<String> = all.iter().map(u64::to_string).collect();
            format!("{text} is not one of {}", all.join(", "))
        })
    }
}

/// Parses a finite number from `least` to `most`.
pub fn between(
    least: f64,
    most: f64,
) -> impl Fn(&str) -> Result<f64, String> + Clone + Send + Sync + 'static {
    move |text| number::between(text, least, most)
}

/// The most that a slope or the score of a sink may be: the largest number that bf16 holds, and float32 too.
const LARGEST_SCORE: f64 = 3e38;

/// Parses a number that is added to scores.
pub fn parse_slope(text: &str) -> Result<f32, String> {
    let number = number::between(text, -LARGEST_SCORE, LARGEST_SCORE)?;
    match number as f32 {
        0.0 if number != 0.0 => Err(format!("{} is too small for float32; give 0", number::short(number))),
        number => Ok(number),
    }
}

/// The factors of scores whose power of two cores can apply.
const SCALES: (f64, f64) = (1e-19, 1e19);

/// Parses the factor of scores.
pub fn parse_scale(text: &str) -> Result<ScoreScale, String> {
    match text {
        "auto" => Ok(ScoreScale::Auto),
        "none" => Ok(ScoreScale::None),
        _ => number::between(text, SCALES.0, SCALES.1)
            .map(ScoreScale::Value)
            .map_err(|e| format!("{e}, or auto or none")),
    }
}

/// Whether an argument takes numbers, so that a value with a minus sign is a number and not an option.
pub fn is_number(arg: &clap::Arg) -> bool {
    let of = arg.get_value_parser().type_id();
    let numbers = [
        TypeId::of::<u32>(),
        TypeId::of::<u64>(),
        TypeId::of::<usize>(),
        TypeId::of::<f32>(),
        TypeId::of::<f64>(),
        TypeId::of::<ScoreScale>(),
        TypeId::of::<Value>(),
    ];
    arg.get_action().takes_values() && numbers.iter().any(|number| of == *number)
}

/// Whether an argument takes numbers and nothing else: options of a core may also take formats, or true and false.
pub fn takes_number(arg: &clap::Arg) -> bool {
    let numbers = |option: &CoreOption| option.words().is_empty() && option.takes_numbers();
    is_number(arg) && CoreOption::of(arg.get_id().as_str()).is_none_or(numbers)
}

/// The message for an option's invalid value, worded as all other errors; `None` for other errors of clap.
pub fn problem(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(arg)) = error.get(ContextKind::InvalidArg) else { return None };
    let flag = arg.split_whitespace().next().unwrap_or(arg);
    match error.kind() {
        ErrorKind::ValueValidation => Some(format!("{flag}: {}", error.source()?)),
        _ => None,
    }
}
