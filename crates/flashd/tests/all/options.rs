//! The options of a core: each is honoured or refused by name, whatever is chosen, and one table says which.

use flashd::{measured, selected};
use flashd_spec::config::{CoreConfig, CoreFields, Design, HoldRules, KINDS, OPTIONS};
use flashd_spec::format::Format;
use std::collections::BTreeSet;

/// Two values for each option, of which one at least is not the default of a core.
fn values(field: &str) -> [&'static str; 2] {
    match field {
        "design" => ["flash-d", "fa2"],
        "d" => ["5", "6"],
        "format" => ["bf16", "fp16"],
        "weight" => ["lse", "paper"],
        "fa2" => ["fixed", "separate-scale"],
        "update" => ["rounded", "fused"],
        "dot" => ["tree", "fused"],
        "lane" => ["18,14,9", "20,13,8"],
        "value_stage" => ["true", "false"],
        "masks" | "partial" => ["", ""],
        "value_latency" => ["2", "3"],
        "hold" => ["none", "7.5"],
        "accumulator" => ["10", "12"],
        "weight_bits" => ["5", "6"],
        "segments" => ["4", "16"],
        "score_shift" => ["-4", "3"],
        "score_integer_bits" => ["7", "8"],
        "score_fraction_bits" => ["8", "9"],
        "state_fraction_bits" => ["19", "20"],
        other => panic!("{other} is new: values of it are missing here"),
    }
}

/// What a command makes of its arguments: the names of all that it would write or measure.
type Chooses = fn(&[&str]) -> Result<Vec<String>, String>;

fn generate(arguments: &[&str]) -> Result<Vec<String>, String> {
    selected(arguments.iter().copied())
}

fn ppa(arguments: &[&str]) -> Result<Vec<String>, String> {
    measured(arguments.iter().copied())
}

/// Every way to choose, and every option beside it: the choice changes, or the flag is refused by its name, or clap has it twice.
#[test]
fn every_flag_is_honoured_or_refused() {
    let mut choices: Vec<(Chooses, String)> = Vec::new();
    for core in CoreConfig::variants(4, Format::FP8_E4M3) {
        let flags = core.flags();
        choices.push((generate, flags.clone()));
        choices.push((ppa, flags));
    }
    let more: [(Chooses, &[&str]); 2] = [
        (
            generate,
            &[
                "--unit add",
                "--unit sigmoid --format fp16",
                "--all",
                "--design flash-d --d 4 --queries 2",
                "--design fa2 --d 4 --queries 2 --masks --key-index-bits 9",
                "--design flash-d --d 4 --parts 2",
                "--design fa2 --d 4 --queries 2 --wrapper axis",
            ],
        ),
        (
            ppa,
            &[
                "--d 16",
                "--variants --d 4",
                "--core --design=flash-d --d 4",
                "--design fa2 --d 4 --queries 2",
            ],
        ),
    ];
    for (command, all) in more {
        choices.extend(all.iter().map(|text| (command, text.to_string())));
    }
    let (mut honoured, mut refused) = (0, 0);
    for (command, choice) in &choices {
        // One word for `--core`, whose flags stand in quotes.
        let words: Vec<String> = match choice.strip_prefix("--core ") {
            Some(flags) => vec!["--core".into(), flags.replace('=', " ")],
            None => choice.split_whitespace().map(String::from).collect(),
        };
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let plain = command(&words).unwrap_or_else(|e| panic!("{choice}: {e}"));
        for option in &OPTIONS {
            let flag = format!("--{}", option.flag());
            let outcome = values(option.field).map(|value| {
                let with = if value.is_empty() { vec![&*flag] } else { vec![&*flag, value] };
                command(&[&words[..], &with].concat())
            });
            let changes = outcome.iter().any(|outcome| outcome.as_ref().is_ok_and(|names| *names != plain));
            // Two flags that exclude each other: the error names one of them.
            let names_it = |outcome: &Result<Vec<String>, String>| match outcome {
                Err(text) => {
                    text.contains(&flag)
                        || words.iter().any(|word| word.starts_with("--") && text.contains(word))
                }
                // The words of a datapath may say again what is chosen.
                Ok(_) => ["weight", "update", "fa2"].contains(&option.field),
            };
            // What the choice says or brings along stays as it is: split keys are cores with masks and partial results.
            let implied = choice.contains("--parts") && ["masks", "partial"].contains(&option.field);
            let said = choice.contains(&flag) || implied;
            let refusals = outcome.iter().filter(|outcome| outcome.is_err()).count();
            assert!(
                changes || (refusals > 0 && outcome.iter().all(names_it)) || said,
                "flashd {choice} {flag}: neither honoured nor refused by name: {outcome:?}, without it {plain:?}"
            );
            honoured += usize::from(changes);
            refused += usize::from(!changes);
        }
    }
    assert!(honoured > 200 && refused > 100, "{honoured} honoured, {refused} refused");
}

/// Two cores that differ have two names, and flags and JSON give the core back.
#[test]
fn flags_and_json_give_back_every_core() {
    let mut all = CoreConfig::shipped();
    for format in [Format::BF16, Format::FP8_E5M2, Format::FP32] {
        all.extend(CoreConfig::variants(8, format));
    }
    all.extend(CoreConfig::mixed_precision(8));
    let mut names = BTreeSet::new();
    for core in &all {
        let json = serde_json::to_string(core).unwrap();
        let again: CoreConfig = serde_json::from_str(&json).unwrap();
        assert_eq!(&again, core, "{json}");
        assert_eq!(selected(core.flags().split(' ')), Ok(vec![core.name()]), "{}", core.flags());
        names.insert(core.name());
        // Nothing is written that the core does not have.
        let fields: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&json).unwrap();
        for option in OPTIONS.iter().filter(|option| !option.applies_to(core)) {
            assert!(!fields.contains_key(option.field), "{}: {}", core.name(), option.field);
            assert!(!core.derived().contains_key(option.field), "{}: {}", core.name(), option.field);
        }
    }
    let distinct: BTreeSet<String> = all.iter().map(CoreConfig::flags).collect();
    assert_eq!(names.len(), distinct.len());
}

/// Files of the version before name every field, those that a core does not have with their defaults, and absent ones as null.
#[test]
fn files_of_the_version_before_still_load() {
    let all = |design: &str, weight: &str, fa2: &str, update: &str| {
        format!(
            r#"{{"design":"{design}","d":8,"format":"bf16","weight":"{weight}","fa2":"{fa2}","dot":null,"update":"{update}",
            "lane":null,"value_stage":null,"hold":null,"accumulator":null,"weight_bits":null,"segments":8,"score_shift":null,
            "score_integer_bits":9,"score_fraction_bits":10,"state_fraction_bits":18}}"#
        )
    };
    for (json, name) in [
        (all("flash-d", "lse", "shared-scale", "fixed"), "flash_d_bf16_d8"),
        (all("flash-d", "lse", "shared-scale", "rounded"), "flash_d_rounded_bf16_d8"),
        (all("flash-d", "paper", "shared-scale", "fixed"), "flash_d_paper_bf16_d8"),
        (all("fa2", "lse", "literal", "fixed"), "fa2_literal_bf16_d8"),
        (all("fa2", "lse", "default", "fixed"), "fa2_separate_bf16_d8"),
    ] {
        let core: CoreConfig = serde_json::from_str(&json).unwrap();
        assert_eq!(core.name(), name);
    }
    // What was never a core is none now.
    for json in [
        all("fa2", "paper", "shared-scale", "fixed"),
        all("fa2", "lse", "shared-scale", "rounded"),
        all("flash-d", "lse", "literal", "fixed"),
    ] {
        assert!(serde_json::from_str::<CoreFields>(&json).unwrap().config().is_err(), "{json}");
    }
}

/// The table's own rows: words for each option, and for each datapath a core that is legal.
#[test]
fn the_tables_are_complete() {
    for option in &OPTIONS {
        assert!(!option.help.is_empty() && !option.applies.1.is_empty(), "{}", option.field);
    }
    for kind in KINDS {
        let core = CoreConfig::with_datapath(kind.datapath, 8, Format::BF16);
        core.validate().unwrap();
        assert_eq!(core.kind().datapath, kind.datapath);
        assert_eq!(kind.design == Design::Fa2, kind.fa2.is_some());
        assert_eq!(kind.hold == HoldRules::Never, core.derived().get("hold").is_none(), "{}", kind.suffix);
    }
}
