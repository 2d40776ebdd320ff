//! The options of a core: each is honoured or refused by name, whatever design is chosen, and one table lists them.

use flashd::{commands, selected};
use flashd_spec::config::{CoreConfig, CoreFields, Design, HoldRules, KINDS, OPTIONS};
use flashd_spec::format::Format;
use std::collections::BTreeSet;

/// Two values for each option, at least one of them no default.
fn values(field: &str) -> [&'static str; 2] {
    match field {
        "design" => ["flash-d", "fa2"],
        "d" => ["5", "6"],
        "max_keys" => ["512", "1000"],
        "format" => ["bf16", "fp16"],
        "weight" => ["lse", "paper"],
        "dk" | "dv" => ["6", "5"],
        "q_format" | "k_format" | "v_format" | "o_format" => ["fp8-e5m2", "fp16"],
        "fa2" => ["log-reference", "separate-scale"],
        "update" => ["rounded", "fixed"],
        "scales" | "q_scales" | "k_scales" => ["row", "mx"],
        "v_scales" => ["row-e8m0", "mx"],
        "lane" => ["18,14,9", "20,13,8"],
        "value_stage" => ["true", "false"],
        "masks" | "partial" | "bias" => ["", ""],
        "softcap" => ["30", "50"],
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

/// Flags of arrays, split keys and wrappers, with two values each.
const AROUND: [(&str, [&str; 2]); 9] = [
    ("queries", ["2", "3"]),
    ("key-index-bits", ["9", "12"]),
    ("parts", ["2", "4"]),
    ("wrapper", ["axis", "axi4"]),
    ("beat", ["8", "256"]),
    ("values", ["all", "requested"]),
    ("address-bits", ["32", "64"]),
    ("in-flight", ["16", "128"]),
    ("kv-buffer", ["16", "256"]),
];

/// Every option with two values.
fn flags() -> Vec<(String, [&'static str; 2])> {
    let of_cores = OPTIONS.into_iter().map(|option| (option.flag(), values(option.field)));
    of_cores.chain(AROUND.map(|(flag, values)| (flag.into(), values))).collect()
}

/// A command with a choice: its words, and whether more flags of the core go into the last word, a core in quotes.
struct Choice {
    words: Vec<String>,
    in_quotes: bool,
}

impl Choice {
    fn of(text: &str) -> Choice {
        Choice { words: text.split_whitespace().map(String::from).collect(), in_quotes: false }
    }

    /// `command --core "flags"`.
    fn quoted(command: &str, flags: &str) -> Choice {
        let mut choice = Choice::of(&format!("{command} --core"));
        choice.words.push(flags.into());
        Choice { in_quotes: true, ..choice }
    }

    /// The names that the command selects with more flags, or its error.
    fn with(&self, more: &[&str]) -> Result<Vec<String>, String> {
        let mut words = self.words.clone();
        match words.last_mut() {
            Some(last) if self.in_quotes => more.iter().for_each(|word| *last += &format!(" {word}")),
            _ => words.extend(more.iter().map(|word| word.to_string())),
        }
        selected(words.iter().map(String::as_str))
    }

    fn says(&self, flag: &str) -> bool {
        self.words.iter().any(|word| word.contains(flag))
    }
}

/// Every datapath with every command that takes a core, and every other way to choose a command's designs.
fn choices() -> Vec<Choice> {
    const SIMULATE: &str = "simulate --q q.npy --k k.npy --v v.npy";
    const LLM: &str = "llm --checkpoint c --tokenizer t";
    let mut all = Vec::new();
    for core in CoreConfig::variants(4, Format::FP8_E4M3) {
        let flags = core.flags();
        all.extend(["generate", "ppa", "cosim", SIMULATE].map(|c| Choice::of(&format!("{c} {flags}"))));
        all.extend(["cosim", "ppa"].map(|command| Choice::quoted(command, &flags)));
        all.push(Choice::quoted("accuracy", &flags.replace("--d 4 ", "")));
        let attention = flags.replace("--design", "--attention");
        all.push(Choice::of(&format!("{LLM} {attention}")));
    }
    for core in ["--design flash-d --d 4", "--design fa2 --d 4 --masks"] {
        for command in ["generate", "cosim", SIMULATE] {
            all.push(Choice::of(&format!("{command} {core} --parts 2")));
        }
        for command in ["generate", "ppa", "cosim", SIMULATE] {
            all.push(Choice::of(&format!("{command} {core} --queries 2")));
        }
        all.push(Choice::of(&format!("generate {core} --queries 2 --wrapper axis")));
        all.push(Choice::of(&format!("generate {core} --queries 2 --wrapper axi4 --values all")));
    }
    let others = [
        "--unit add",
        "--unit sigmoid --format fp16",
        "--all",
        "--design fa2 --d 4 --queries 2 --masks --key-index-bits 8",
    ];
    all.extend(others.map(|text| Choice::of(&format!("generate {text}"))));
    all.extend(["--d 16", "--variants --d 4"].map(|text| Choice::of(&format!("ppa {text}"))));
    all.push(Choice::of("cosim --shipped --design fa2 --d 4"));
    all.push(Choice::of(&format!("{LLM} --attention f32")));
    all.push(Choice::of("accuracy --format fp16"));
    all
}

/// Every way to choose, with every option: the choice changes, or the flag is refused by its name.
#[test]
fn every_flag_is_honoured_or_refused() {
    let (mut honoured, mut refused) = (0, 0);
    for choice in choices() {
        let text = choice.words.join(" ");
        let plain = choice.with(&[]).unwrap_or_else(|e| panic!("{text}: {e}"));
        for (flag, values) in flags() {
            let name = format!("--{flag}");
            let outcome = values.map(|value| {
                choice
                    .with(if value.is_empty() { vec![name.as_str()] } else { vec![&name, value] }.as_slice())
            });
            let changes = outcome.iter().any(|outcome| outcome.as_ref().is_ok_and(|names| *names != plain));
            // Two flags that exclude each other: the error names one of them.
            let said_flags =
                || choice.words.iter().flat_map(|w| w.split(' ')).filter(|w| w.starts_with("--"));
            let names_it = |outcome: &Result<Vec<String>, String>| match outcome {
                Err(error) => error.contains(&name) || said_flags().any(|word| error.contains(word)),
                // The words of a datapath may repeat the choice.
                Ok(_) => ["weight", "update", "fa2"].contains(&flag.as_str()),
            };
            // Given and implied options do not change: split keys are cores with masks and partial results.
            let implied = choice.says("--parts") && ["masks", "partial"].contains(&flag.as_str());
            let said = choice.says(&name) || implied;
            let refusals = outcome.iter().filter(|outcome| outcome.is_err()).count();
            assert!(
                changes || (refusals > 0 && outcome.iter().all(names_it)) || said,
                "flashd {text} {name}: neither honoured nor refused by name: {outcome:?}, without it {plain:?}"
            );
            honoured += usize::from(changes);
            refused += usize::from(!changes);
        }
    }
    assert!(honoured > 500 && refused > 500, "{honoured} honoured, {refused} refused");
}

/// Commands that take no core refuse its flags, except flags with another meaning there.
#[test]
fn commands_without_a_core_refuse_its_flags() {
    let with_cores = ["generate", "simulate", "cosim", "ppa", "size", "accuracy", "llm"];
    // In the order of their help.
    let own: [(&str, &[&str]); 12] = [
        ("demo", &[]),
        ("pwl", &["segments", "format", "softcap"]),
        ("explore", &["d", "format"]),
        ("figure weight", &["weight", "format", "segments"]),
        ("traffic", &["d", "hold", "queries"]),
        ("golden", &["d"]),
        ("skips", &["hold", "format"]),
        ("liberty merge", &[]),
        ("sweep plan", &[]),
        ("list", &["d"]),
        ("completions bash", &[]),
        ("man", &[]),
    ];
    let known: BTreeSet<&str> = own
        .iter()
        .map(|(command, _)| command.split(' ').next().unwrap_or(command))
        .chain(with_cores)
        .collect();
    assert_eq!(
        known,
        commands().iter().map(String::as_str).collect(),
        "a command is new: does it take a core?"
    );
    for (command, flags_of_its_own) in own {
        for (flag, values) in flags() {
            let name = format!("--{flag}");
            let mut words: Vec<&str> = command.split(' ').chain([name.as_str()]).collect();
            words.extend(Some(values[0]).filter(|value| !value.is_empty()));
            let refused = selected(words.iter().copied())
                .is_err_and(|e| e.contains(&format!("unexpected argument '{name}'")));
            assert_eq!(refused, !flags_of_its_own.contains(&flag.as_str()), "flashd {command} {name}");
        }
    }
}

/// A flag that depends on another one is refused without it, also where a third one excludes the other.
#[test]
fn flags_that_need_another_are_refused_without_it() {
    for (arguments, flag, needed) in [
        ("generate --design fa2 --d 4 --parts 2 --beat 8", "--beat", "--wrapper"),
        ("generate --unit add --values all", "--values", "--wrapper"),
        ("simulate --design fa2 --q q --k k --v v --memory-gap 2", "--memory-gap", "--wrapper"),
        ("simulate --design fa2 --job j", "--job", "--wrapper"),
        ("generate --design fa2 --d 4 --seed 2", "--seed", "--testbench"),
        ("simulate --design fa2 --q q --k k --v v --results r", "--results", "--data"),
        ("simulate --design fa2 --data d", "--data", "--results"),
        ("simulate --design fa2 --q q --k k --v v --parts 2 --signals all", "--signals", "--vcd"),
        ("simulate --design fa2 --q q --k k --v v --parts 2 --to 5", "--to", "--fst"),
        ("list --json --d 5", "--d", "--variants"),
        ("accuracy --alibi 0.5", "--alibi", "--no-lengths"),
        ("accuracy --sink 0", "--sink", "--no-lengths"),
    ] {
        let error = selected(arguments.split(' ')).expect_err(arguments);
        assert!(error.starts_with(flag) && error.contains(needed), "{arguments}: {error}");
    }
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
        assert_eq!(
            selected(format!("generate {}", core.flags()).split(' ')),
            Ok(vec![core.name()]),
            "{}",
            core.flags()
        );
        names.insert(core.name());
        // Nothing is written that the core does not have.
        let fields: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&json).unwrap();
        for option in OPTIONS.into_iter().filter(|option| !option.applies_to(core)) {
            assert!(!fields.contains_key(option.field), "{}: {}", core.name(), option.field);
            assert!(!core.derived().contains_key(option.field), "{}: {}", core.name(), option.field);
        }
    }
    let distinct: BTreeSet<String> = all.iter().map(CoreConfig::flags).collect();
    assert_eq!(names.len(), distinct.len());
}

/// Files of the previous version name every field: fields that a core does not have with their defaults, absent ones as null.
#[test]
fn files_of_the_version_before_still_load() {
    let all = |design: &str, weight: &str, fa2: &str, update: &str| {
        format!(
            r#"{{"design":"{design}","d":8,"format":"bf16","weight":"{weight}","fa2":"{fa2}","update":"{update}",
            "lane":null,"value_stage":null,"hold":null,"accumulator":null,"weight_bits":null,"segments":8,"score_shift":null,
            "score_integer_bits":9,"score_fraction_bits":10,"state_fraction_bits":18}}"#
        )
    };
    for (json, name) in [
        (all("flash-d", "lse", "shared-scale", "fixed"), "flash_d_fixed_seg8_score9p10_bf16_d8"),
        (all("flash-d", "lse", "shared-scale", "rounded"), "flash_d_rounded_seg8_score9p10_bf16_d8"),
        (all("flash-d", "paper", "shared-scale", "fixed"), "flash_d_paper_bf16_d8"),
        (all("fa2", "lse", "literal", "fixed"), "fa2_literal_bf16_d8"),
        (all("fa2", "lse", "default", "fixed"), "fa2_separate_seg8_score9p10_state18_bf16_d8"),
    ] {
        let core: CoreConfig = serde_json::from_str(&json).unwrap();
        assert_eq!(core.name(), name);
    }
    // Illegal combinations are still refused.
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
    for option in OPTIONS {
        assert!(!option.why.contains("  "), "{}", option.field);
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
