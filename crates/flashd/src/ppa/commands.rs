//! The command lines that make figures again.

use crate::origin::quoted;
use flashd_ppa::figures::{CoreFigures, FiguresRun};
use flashd_ppa::report::Commands;
use flashd_ppa::report::compare::groups;

/// A command for each core, and those for all of them.
pub(super) fn commands(figures: &[CoreFigures]) -> Commands {
    let one =
        |f: &CoreFigures| format!("flashd ppa {}{}{}", all_flags(f), libraries(&[&f.run]), options(&f.run));
    Commands { cores: figures.iter().map(one).collect(), whole: whole(figures) }
}

/// One command if all was measured alike but for the library, else one for each part and one to join them.
fn whole(figures: &[CoreFigures]) -> Vec<String> {
    // Runs that differ in the library only are joined, with their libraries.
    let mut parts: Vec<(FiguresRun, Vec<String>, Vec<&FiguresRun>)> = Vec::new();
    for group in groups(figures) {
        let key = FiguresRun {
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
    let measure = |(run, cores, used): &(FiguresRun, Vec<String>, Vec<&FiguresRun>)| {
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
fn libraries(runs: &[&FiguresRun]) -> String {
    match runs {
        [run] if run.default_library => String::new(),
        runs => runs.iter().map(|run| format!(" --liberty {}", quoted(&run.library_file))).collect(),
    }
}

fn options(run: &FiguresRun) -> String {
    let mut text: String = run.dont_use.iter().map(|word| format!(" --dont-use {}", quoted(word))).collect();
    text += &run.clock.map_or(String::new(), |ns| format!(" --clock {ns}"));
    text += if run.flat { " --flat" } else { "" };
    text += if run.clock_gates { " --clock-gates" } else { "" };
    text += &format!(" --cycles {}", run.cycles);
    text += &run.glitches.map_or(String::new(), |cycles| format!(" --glitches {cycles}"));
    text + &run.data.as_ref().map_or(String::new(), |folder| format!(" --data {}", quoted(folder)))
}

/// The flags of a core or an array.
fn all_flags(f: &CoreFigures) -> String {
    let mut text = f.configuration.flags();
    if let Some(array) = f.array {
        text += &format!(" --queries {}", array.queries);
        text += &array.key_index_bits.map_or(String::new(), |bits| format!(" --key-index-bits {bits}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::configuration;
    use crate::select::parse_flags;
    use flashd_spec::config::{Accumulator, CoreConfig, Design, Fa2Variant, FlashDVariant, Hold, LaneBits};
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
                datapath: FlashDVariant::Rounded.into(),
                accumulator: Some(Accumulator::Fraction(15)),
                segments: Some(32),
                score_shift: Some(-3),
                score_integer_bits: 7,
                score_fraction_bits: Some(9),
                state_fraction_bits: Some(17),
                ..flash_d.clone()
            },
            CoreConfig { datapath: FlashDVariant::Paper.into(), hold: Some(Hold::Static), ..flash_d },
            CoreConfig {
                datapath: Fa2Variant::SharedScale.into(),
                hold: Some(Hold::None),
                accumulator: Some(Accumulator::Format),
                ..fa2.clone()
            },
            CoreConfig {
                datapath: Fa2Variant::LogReference.into(),
                lane: Some(LaneBits { o: 20, v: 9, w: 5 }),
                ..fa2
            },
        ]);
        for config in all {
            let text = config.flags();
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
