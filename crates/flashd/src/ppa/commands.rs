//! The command lines that make figures again.

use crate::cli::{DesignArg, DotArg, Fa2Arg, UpdateArg, WeightArg};
use clap::ValueEnum;
use flashd_ppa::figures::{CoreFigures, Run};
use flashd_ppa::report::Commands;
use flashd_ppa::report::compare::groups;
use flashd_spec::config::{Accumulator, CoreConfig, Design, Dot, Fa2Variant, Hold, Update, WeightUnit};

/// A command for each core, and those for all of them.
pub(super) fn commands(figures: &[CoreFigures]) -> Commands {
    let one =
        |f: &CoreFigures| format!("flashd ppa {}{}{}", all_flags(f), libraries(&[&f.run]), options(&f.run));
    Commands { cores: figures.iter().map(one).collect(), whole: whole(figures) }
}

/// One command if all was measured alike but for the library, else one for each part and one to join them.
fn whole(figures: &[CoreFigures]) -> Vec<String> {
    // What is the same but for the library, with the libraries.
    let mut parts: Vec<(Run, Vec<String>, Vec<&Run>)> = Vec::new();
    for group in groups(figures) {
        let key = Run {
            library_file: String::new(),
            library_sha256: String::new(),
            default_library: false,
            ..group.run.clone()
        };
        let cores: Vec<String> = group.cores.iter().map(|core| all_flags(core)).collect();
        match parts.iter_mut().find(|(run, same, _)| *run == key && *same == cores) {
            Some((.., libraries)) => libraries.push(group.run),
            None => parts.push((key, cores, vec![group.run])),
        }
    }
    let measure = |(run, cores, used): &(Run, Vec<String>, Vec<&Run>)| {
        let cores: String = cores.iter().map(|flags| format!(" --core \"{flags}\"")).collect();
        format!("flashd ppa{cores}{}{}", libraries(used), options(run))
    };
    if let [part] = parts.as_slice() {
        return vec![format!("{} --html report.html", measure(part))];
    }
    let file = |index: usize| format!("part{}.json", index + 1);
    let mut lines: Vec<String> = parts
        .iter()
        .enumerate()
        .map(|(index, part)| format!("{} --json > {}", measure(part), file(index)))
        .collect();
    let from: String = (0..parts.len()).map(|index| format!(" --from {}", file(index))).collect();
    lines.push(format!("flashd ppa{from} --html report.html"));
    lines
}

/// The default library alone needs no flag.
fn libraries(runs: &[&Run]) -> String {
    match runs {
        [run] if run.default_library => String::new(),
        runs => runs.iter().map(|run| format!(" --liberty {}", quoted(&run.library_file))).collect(),
    }
}

fn options(run: &Run) -> String {
    let mut text = run.clock.map_or(String::new(), |ns| format!(" --clock {ns}"));
    text += if run.flat { " --flat" } else { "" };
    text += &format!(" --cycles {}", run.cycles);
    text + &run.data.as_ref().map_or(String::new(), |folder| format!(" --data {}", quoted(folder)))
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-/+,=:@%".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_string(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// The flags of a core or an array.
fn all_flags(f: &CoreFigures) -> String {
    let mut text = flags(&f.configuration);
    if let Some(array) = f.array {
        text += &format!(" --queries {}", array.queries);
        text += &array.key_index_bits.map_or(String::new(), |bits| format!(" --key-index-bits {bits}"));
    }
    text
}

/// The flags that select a configuration: the inverse of [`crate::select::configuration`].
pub(crate) fn flags(config: &CoreConfig) -> String {
    // Every field is named, so that a new one cannot be forgotten here.
    let CoreConfig {
        design,
        d,
        format,
        weight,
        fa2,
        dot,
        update,
        lane,
        value_stage,
        masks,
        partial,
        value_latency,
        hold,
        accumulator,
        weight_bits,
        segments,
        score_shift,
        score_integer_bits,
        score_fraction_bits,
        state_fraction_bits,
    } = config;
    let default = CoreConfig::new(*design, *d, *format);
    let mut text = format!(
        "--design {} --d {d} --format {format}",
        value(match design {
            Design::FlashD => DesignArg::FlashD,
            Design::Fa2 => DesignArg::Fa2,
        })
    );
    if *masks {
        text += " --masks";
    }
    if *partial {
        text += " --partial";
    }
    let mut flag = |differs: bool, name: &str, value: String| {
        if differs {
            text += &format!(" --{name} {value}");
        }
    };
    flag(*value_latency != default.value_latency, "value-latency", value_latency.to_string());
    flag(
        *weight != default.weight,
        "weight",
        value(match weight {
            WeightUnit::Lse => WeightArg::Lse,
            WeightUnit::Paper => WeightArg::Paper,
        }),
    );
    flag(
        *fa2 != default.fa2,
        "fa2",
        value(match fa2 {
            Fa2Variant::SeparateScale => Fa2Arg::SeparateScale,
            Fa2Variant::Literal => Fa2Arg::Literal,
            Fa2Variant::SharedScale => Fa2Arg::SharedScale,
            Fa2Variant::Fixed => Fa2Arg::Fixed,
            Fa2Variant::LogReference => Fa2Arg::LogReference,
        }),
    );
    flag(
        *update != default.update,
        "update",
        value(match update {
            Update::Rounded => UpdateArg::Rounded,
            Update::Fused => UpdateArg::Fused,
            Update::Fixed => UpdateArg::Fixed,
        }),
    );
    if let Some(dot) = dot {
        let dot = match dot {
            Dot::Tree => DotArg::Tree,
            Dot::Fused => DotArg::Fused,
        };
        flag(true, "dot", value(dot));
    }
    if let Some(lane) = lane {
        flag(true, "lane", format!("{},{},{}", lane.o, lane.v, lane.w));
    }
    if let Some(stage) = value_stage {
        flag(true, "value-stage", stage.to_string());
    }
    if let Some(hold) = hold {
        let hold = match hold {
            Hold::None => "none".to_string(),
            Hold::Static => "static".to_string(),
            Hold::Below(threshold) => threshold.to_string(),
            Hold::Budget(fraction) => format!("budget:{fraction}"),
        };
        flag(true, "hold", hold);
    }
    if let Some(accumulator) = accumulator {
        let accumulator = match accumulator {
            Accumulator::Format => "format".to_string(),
            Accumulator::Fraction(bits) => bits.to_string(),
            Accumulator::Float(format) => format.to_string(),
        };
        flag(true, "accumulator", accumulator);
    }
    if let Some(bits) = weight_bits {
        flag(true, "weight-bits", bits.to_string());
    }
    flag(*segments != default.segments, "segments", segments.to_string());
    if let Some(shift) = score_shift {
        flag(true, "score-shift", shift.to_string());
    }
    let mut bits = |name: &str, bits: u32, default: u32| flag(bits != default, name, bits.to_string());
    bits("score-integer-bits", *score_integer_bits, default.score_integer_bits);
    bits("score-fraction-bits", *score_fraction_bits, default.score_fraction_bits);
    bits("state-fraction-bits", *state_fraction_bits, default.state_fraction_bits);
    text
}

/// What is typed for a value.
fn value(argument: impl ValueEnum) -> String {
    argument.to_possible_value().map_or(String::new(), |value| value.get_name().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::configuration;
    use crate::select::parse_flags;
    use flashd_spec::config::LaneBits;
    use flashd_spec::format::Format;

    #[test]
    fn flags_give_the_configuration_that_they_were_made_from() {
        let flash_d = CoreConfig::new(Design::FlashD, 24, Format::FP16);
        let fa2 = CoreConfig::new(Design::Fa2, 7, Format::FP8_E5M2);
        let mut all = CoreConfig::shipped();
        all.extend(CoreConfig::variants(16, Format::FP32));
        all.extend(CoreConfig::with_hold(16, Format::BF16, Hold::Below(12.0)));
        all.extend([
            CoreConfig {
                hold: Some(Hold::Below(9.25)),
                update: Update::Rounded,
                accumulator: Some(Accumulator::Fraction(15)),
                dot: Some(Dot::Fused),
                segments: 32,
                score_shift: Some(-3),
                score_integer_bits: 7,
                score_fraction_bits: 9,
                state_fraction_bits: 17,
                ..flash_d.clone()
            },
            CoreConfig { weight: WeightUnit::Paper, hold: Some(Hold::Static), ..flash_d },
            CoreConfig { hold: Some(Hold::None), accumulator: Some(Accumulator::Format), ..fa2.clone() },
            CoreConfig { fa2: Fa2Variant::Fixed, lane: Some(LaneBits { o: 20, v: 9, w: 5 }), ..fa2 },
        ]);
        for config in all {
            let text = flags(&config);
            let again = parse_flags(&text).and_then(|selection| configuration(&selection, None));
            assert_eq!(again.map_err(|e| e.to_string()), Ok(config), "{text}");
        }
    }

    #[test]
    fn words_survive_a_shell() {
        assert_eq!(quoted("asap7-1.lib.xz"), "asap7-1.lib.xz");
        assert_eq!(quoted("it's $1.lib"), "'it'\\''s $1.lib'");
        assert_eq!(quoted(""), "''");
    }
}
