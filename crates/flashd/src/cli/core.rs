//! The flags that choose a core, from the table of options.

use super::named::format_by;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, ArgAction, ArgGroup, ArgMatches, Args, Command, Error, FromArgMatches, Id};
use flashd_spec::config::{CoreConfig, CoreFields, CoreOption, Design, OPTIONS, OptionGroup, Range};
use flashd_spec::format::{Format, scaled_format};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Which core.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selection {
    /// A file with a configuration, whose fields the others override.
    pub config: Option<PathBuf>,
    /// More configuration files, for a command that takes several.
    pub more: Vec<PathBuf>,
    /// The fields set by flags.
    pub fields: CoreFields,
}

pub(super) const CONFIG: &str = "config";

/// The meaning of an option, and its range of numbers.
pub fn with_range(option: &CoreOption) -> String {
    let numbers = match option.range {
        Range::Any => String::new(),
        Range::Between(lo, hi) => format!(", {lo} to {hi}"),
        Range::OneOf(all) => {
            let all: Vec<String> = all.iter().map(i64::to_string).collect();
            let (last, others) =
                all.split_last().map_or(("", &[][..]), |(last, others)| (last.as_str(), others));
            format!(": {} or {last}", others.join(", "))
        }
    };
    format!("{}{numbers}", option.help)
}

/// The default in brackets.
fn default(option: &CoreOption) -> String {
    match option.default_words().as_str() {
        "" | "off" => String::new(),
        words => format!(" (default: {words})"),
    }
}

/// The line of `-h`. Defaults that depend on the format are bf16's.
fn short_help(option: &CoreOption) -> String {
    let short = option.short;
    if short.is_empty() {
        return String::new();
    }
    if !option.default_words().contains("; in ") {
        return format!("{short}{}", default(option));
    }
    let in_bf16 = |design| {
        let core = CoreConfig::new(design, 16, Format::BF16);
        option.applies_to(&core).then(|| option.text(&option.in_force(&core)))
    };
    let words = match [Design::FlashD, Design::Fa2].map(in_bf16) {
        [Some(flash_d), Some(fa2)] if flash_d != fa2 => format!("{flash_d}; fa2: {fa2}"),
        [flash_d, fa2] => flash_d.or(fa2).unwrap_or_default(),
    };
    format!("{short} (default in bf16: {words})")
}

/// The line of `--help`: the same, and its default.
fn help(option: &CoreOption) -> String {
    format!("{}{}", with_range(option), default(option))
}

/// The same with the words that it takes, and the reasons for one or the other.
fn long_help(option: &CoreOption) -> String {
    let words: String =
        option.words().iter().map(|(word, meaning)| format!("\n- {word}: {meaning}")).collect();
    let why = option.why;
    [help(option), words.trim_start().into(), why.into()]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("\n\n")
}

fn arg(option: &'static CoreOption) -> Arg {
    let arg = Arg::new(option.field)
        .long(option.flag())
        .help_heading(option.group.heading())
        .help(short_help(option))
        .hide_short_help(option.short.is_empty())
        .long_help(long_help(option));
    if option.is_switch() {
        return arg.action(ArgAction::SetTrue);
    }
    let arg = arg.value_name(option.value_name).allow_negative_numbers(true);
    let words = option.words();
    if option.is_format() {
        return arg.hide_possible_values(true).value_parser(format_by(|text: &str| format_of(option, text)));
    }
    if words.is_empty() {
        return arg.value_parser(|text: &str| option.parse(text));
    }
    let words = words.into_iter().map(|(word, meaning)| {
        let aliases = option.aliases().filter(|(_, of)| *of == word).map(|(alias, _)| alias);
        PossibleValue::new(word.clone()).help(meaning).aliases(aliases)
    });
    // They are in the long help; the short one is one screen.
    let arg = arg.hide_possible_values(true);
    arg.value_parser(PossibleValuesParser::new(words).try_map(|word| option.parse(&word)))
}

/// The value of an option that takes a format. A name such as mxfp8 gives scales, too: both, for [`Selection`] to take apart.
fn format_of(option: &CoreOption, text: &str) -> Result<Value, String> {
    match scaled_format(text).filter(|_| option.field == "format") {
        Some((format, scale)) => Ok(json!([format, scale])),
        None => option.parse(text),
    }
}

impl Args for Selection {
    fn augment_args(command: Command) -> Command {
        let config = Arg::new(CONFIG)
            .long(CONFIG)
            .value_name("FILE")
            .value_parser(clap::value_parser!(PathBuf))
            .help_heading(OptionGroup::Core.heading())
            .help("JSON file with a configuration; options override its fields");
        let fields = OPTIONS.into_iter().map(|option| option.field);
        let group = ArgGroup::new("Selection").multiple(true).args(fields.chain([CONFIG]));
        command.arg(config).args(CoreOption::in_order().map(arg)).group(group)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }

    fn group_id() -> Option<Id> {
        Some(Id::from("Selection"))
    }
}

impl FromArgMatches for Selection {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut selection = Selection::default();
        selection.update_from_arg_matches(matches)?;
        Ok(selection)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        let mut paths = matches.get_many::<PathBuf>(CONFIG).into_iter().flatten().cloned();
        if let Some(first) = paths.next() {
            self.config = Some(first);
            self.more = paths.collect();
        }
        for option in OPTIONS {
            let value = match option.is_switch() {
                true => matches.get_flag(option.field).then_some(Value::Bool(true)),
                false => matches.get_one::<Value>(option.field).cloned(),
            };
            match value {
                Some(Value::Array(both)) => {
                    let scales = CoreOption::of("scales").filter(|_| !matches.contains_id("scales"));
                    for (option, value) in [Some(option), scales].into_iter().zip(both) {
                        option.into_iter().for_each(|option| self.fields.set(option, value.clone()));
                    }
                }
                Some(value) => self.fields.set(option, value),
                None => {}
            }
        }
        Ok(())
    }
}
