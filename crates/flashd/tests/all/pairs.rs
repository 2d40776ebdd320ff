//! Two options that cannot go together are refused by one line that names both.

use flashd_spec::config::{CoreFields, CoreOption, OPTIONS};
use flashd_spec::format::Format;

/// Values of each option: every word of a choice, and numbers at the ends of ranges.
fn values(option: &CoreOption) -> Vec<String> {
    let words = option.words();
    if !words.is_empty() {
        return words.into_iter().map(|(word, _)| word).collect();
    }
    let values: &[&str] = match option.field {
        "d" | "dk" | "dv" => &["2", "5", "576"],
        "format" | "q_format" | "k_format" | "v_format" | "o_format" => {
            &Format::named().map(|(name, _)| name).chain(["int8q4", "int16q8"]).collect::<Vec<_>>()
        }
        "lane" => &["18,14,9", "28,20,3", "8,4,12"],
        "value_stage" => &["true", "false"],
        "masks" | "partial" | "bias" => &["true"],
        "softcap" => &["1", "50", "150", "300"],
        "value_latency" => &["1", "8"],
        "hold" => &["none", "7.5", "budget:9", "static"],
        "accumulator" => &["format", "3", "10", "23", "fp32", "fp16"],
        "weight_bits" => &["3", "16"],
        "segments" => &["4", "64"],
        "max_keys" => &["2", "1048576"],
        "score_shift" => &["-64", "64"],
        "score_integer_bits" => &["5", "12", "18"],
        "score_fraction_bits" => &["6", "14"],
        "state_fraction_bits" => &["10", "18", "26"],
        other => panic!("{other} is new: values of it are missing here"),
    };
    values.iter().map(|value| value.to_string()).collect()
}

type Given<'a> = (&'static CoreOption, &'a str);

/// The core of these options, or the words of its refusal.
fn core(design: &str, given: &[Given]) -> Result<(), String> {
    let mut fields = CoreFields::default();
    let field = |name: &str| CoreOption::of(name).unwrap();
    let has = |name: &str| given.iter().any(|(option, _)| option.field == name);
    let mut all = vec![(field("design"), design)];
    if !["d", "dk", "dv"].into_iter().any(has) {
        all.push((field("d"), "8"));
    }
    // Each needs the other.
    all.extend(
        [("dk", "dv"), ("dv", "dk")]
            .into_iter()
            .filter(|(one, other)| has(one) && !has(other))
            .map(|(_, other)| (field(other), "8")),
    );
    all.extend(given);
    for (option, text) in all {
        let value = match option.is_switch() {
            true => (text == "true").into(),
            false => option.parse(text).map_err(|e| format!("--{}: {e}", option.flag()))?,
        };
        fields.set(option, value);
    }
    fields.core().map(|_| ()).map_err(|e| e.by_flag())
}

#[test]
fn two_options_that_exclude_each_other_are_both_named() {
    let (mut taken, mut refused, mut silent) = (0, 0, Vec::new());
    let options = OPTIONS.into_iter().filter(|option| option.field != "design");
    let valued: Vec<(&CoreOption, String)> =
        options.flat_map(|option| values(option).into_iter().map(move |value| (option, value))).collect();
    for design in ["flash-d", "fa2"] {
        let all: Vec<Given> = valued
            .iter()
            .map(|(option, value)| (*option, value.as_str()))
            .filter(|&one| core(design, &[one]).is_ok())
            .collect();
        for (i, &a) in all.iter().enumerate() {
            for &b in all[i + 1..].iter().filter(|b| b.0.field != a.0.field) {
                let Err(error) = core(design, &[a, b]) else {
                    taken += 1;
                    continue;
                };
                refused += 1;
                let names = |option: &CoreOption| {
                    let flag = format!("--{}", option.flag());
                    error.match_indices(&flag).any(|(at, _)| {
                        !error[at + flag.len()..].starts_with(|c: char| c == '-' || c.is_alphanumeric())
                    })
                };
                if error.contains('\n') || !names(a.0) || !names(b.0) {
                    silent.push(format!(
                        "{design} --{} {} --{} {}: {error}",
                        a.0.flag(),
                        a.1,
                        b.0.flag(),
                        b.1
                    ));
                }
            }
        }
    }
    assert!(
        silent.is_empty(),
        "{} of {refused} refusals do not name both:\n{}",
        silent.len(),
        silent.join("\n")
    );
    assert!(taken > 1000 && refused > 150, "{taken} taken, {refused} refused");
}
