//! The keys of JSON reports and manifests: the reference has every one, and no other.

use crate::common::{data, root, words};
use crate::llm;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

const PAGES: [&str; 4] = ["reports.md", "reports-tools.md", "reports-runs.md", "files.md"];

/// Head that commands run on.
const HEAD: &str = "bytes_math-d16-layer04-head03";

/// A section of a page: the keys of its table with their meanings, and the commands whose output has them.
#[derive(Default)]
struct Section {
    keys: BTreeMap<String, String>,
    commands: Vec<String>,
    /// The commands write a manifest, which has the keys.
    manifest: bool,
    /// They take more than a few seconds.
    later: bool,
}

/// Sections by page and anchor: `reports.md#simulate`.
fn sections() -> BTreeMap<String, Section> {
    let mut all: BTreeMap<String, Section> = BTreeMap::new();
    for page in PAGES {
        let text = fs::read_to_string(root().join("docs/reference").join(page)).unwrap();
        let mut name = page.to_string();
        for line in text.lines() {
            if let Some(heading) = line.strip_prefix("## ").or(line.strip_prefix("### ")) {
                let words = heading.to_lowercase();
                let anchor = words.chars().filter(|c| c.is_alphanumeric() || " -".contains(*c));
                name =
                    format!("{page}#{}", anchor.map(|c| if c == ' ' { '-' } else { c }).collect::<String>());
            }
            let section = all.entry(name.clone()).or_default();
            for beginning in ["<!-- keys of: ", "<!-- keys of the manifest: ", "<!-- later, keys of: "] {
                if let Some(command) = line.strip_prefix(beginning) {
                    section.commands.push(command.trim_end_matches(" -->").to_string());
                    section.manifest = beginning.contains("manifest");
                    section.later = beginning.contains("later");
                }
            }
            let cells: Vec<&str> = line.trim_matches('|').split(" | ").collect();
            if line.starts_with("| `") && cells.len() == 2 {
                let keys = cells[0].split('`').skip(1).step_by(2);
                section.keys.extend(keys.map(|key| (key.to_string(), cells[1].to_string())));
            }
        }
    }
    all
}

/// The path of each value that is neither object nor a list of objects: `groups[].rules[].core.held`.
fn leaves(value: &Value, at: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                leaves(value, &format!("{at}.{key}"), found);
            }
        }
        Value::Array(values) if values.iter().any(Value::is_object) => {
            values.iter().for_each(|value| leaves(value, &format!("{at}[]"), found));
        }
        _ => {
            found.insert(at.trim_start_matches('.').to_string());
        }
    }
}

/// What commands of these pages name: a model, and grids of `explore` and `sweep`.
fn write_files(folder: &Path) {
    llm::write_files(folder);
    let shards = serde_json::json!([{"kind": "skips", "every": 256, "rules": "hold:6"}]);
    let cores = serde_json::json!([{"design": ["flash-d", "fa2"], "format": "bf16"}]);
    fs::write(folder.join("grid.json"), shards.to_string()).unwrap();
    let formats = serde_json::json!([{"design": "fa2", "format": ["bf16", "int8"]}]);
    fs::write(folder.join("cores.json"), cores.to_string()).unwrap();
    fs::write(folder.join("formats.json"), formats.to_string()).unwrap();
}

/// What a command prints with `--json`, or the manifest that it writes.
fn run(line: &str, manifest: bool, folder: &Path) -> Value {
    write_files(folder);
    let words = words(line).into_iter().map(|word| match word.as_str() {
        "q.npy" | "k.npy" | "v.npy" => data(&format!("{HEAD}-{word}")),
        path if path.contains('/') => root().join(path).display().to_string(),
        _ => word,
    });
    let flashd = Path::new(env!("CARGO_BIN_EXE_flashd"));
    let (program, quiet) = match line.starts_with("xtask ") {
        true => (flashd.with_file_name("xtask"), None),
        false => (flashd.to_path_buf(), Some("--quiet")),
    };
    let mut command = Command::new(program);
    command.args(words.skip(usize::from(quiet.is_none()))).args(quiet).arg("--json");
    let out = command.current_dir(folder).output().unwrap();
    assert!(out.status.success(), "{line}: {}", String::from_utf8_lossy(&out.stderr));
    let printed: Value = serde_json::from_slice(&out.stdout).unwrap();
    if !manifest {
        return printed;
    }
    let files = printed.as_array().unwrap().iter().map(|file| file.as_str().unwrap());
    let path = folder.join(files.clone().find(|file| file.ends_with(".json")).unwrap());
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// How a printed key is documented: by itself, or below a key whose row leads to another section or to the options.
fn documented(key: &str, page: &str, section: &Section, all: &BTreeMap<String, Section>) -> Option<String> {
    if section.keys.contains_key(key) {
        return Some(key.to_string());
    }
    // Names that are not the program's.
    let (above, _) = key.rsplit_once('.').unwrap_or_default();
    let any = format!("{above}.*");
    if section.keys.contains_key(&any) {
        return Some(any);
    }
    // Null as a whole.
    if section
        .keys
        .keys()
        .any(|below| below.starts_with(&format!("{key}.")) || below.starts_with(&format!("{key}[]")))
    {
        return Some(key.to_string());
    }
    let (above, meaning) = section.keys.iter().find(|(above, _)| key.starts_with(&format!("{above}.")))?;
    let below = &key[above.len() + 1..];
    let mut links = meaning.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let leads = |link: &str| {
        let target = if link.starts_with('#') { format!("{page}{link}") } else { link.to_string() };
        link == "options.md" || all.get(&target).is_some_and(|section| section.keys.contains_key(below))
    };
    links.any(leads).then(|| above.clone())
}

/// Runs the long or the short commands of all sections; returns their number.
fn compare(later: bool) -> usize {
    let all = sections();
    let mut ran = 0;
    let mut wrong = Vec::new();
    let asked = |section: &Section| !section.commands.is_empty() && section.later == later;
    for (name, section) in all.iter().filter(|(_, section)| asked(section)) {
        let page = name.split('#').next().unwrap();
        let mut printed = BTreeSet::new();
        for command in &section.commands {
            let folder = tempfile::tempdir().unwrap();
            leaves(&run(command, section.manifest, folder.path()), "", &mut printed);
            ran += 1;
        }
        let mut met = BTreeSet::new();
        for key in &printed {
            match documented(key, page, section, &all) {
                Some(row) => met.extend([row]),
                None => wrong.push(format!("{name}: `{key}` is printed and not documented")),
            }
        }
        // A key that is null has no keys below it.
        let empty = |key: &str| {
            printed
                .iter()
                .any(|above| key.starts_with(&format!("{above}.")) || key.starts_with(&format!("{above}[]")))
        };
        let missing = section.keys.keys().filter(|key| !met.contains(*key) && !empty(key));
        wrong.extend(missing.map(|key| format!("{name}: `{key}` is documented and not printed")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    ran
}

#[test]
fn the_reference_has_every_key_and_no_other() {
    assert!(compare(false) > 18);
}

#[test]
#[ignore = "half a minute, with xtask in the folder of flashd"]
fn the_reference_has_every_key_of_what_takes_longer() {
    assert_eq!(compare(true), 4);
}

#[test]
fn leaves_are_found() {
    let value = serde_json::json!({"a": {"b": 1}, "c": [{"d": [1, 2]}, {"e": null}], "f": []});
    let mut found = BTreeSet::new();
    leaves(&value, "", &mut found);
    assert_eq!(found.into_iter().collect::<Vec<_>>(), ["a.b", "c[].d", "c[].e", "f"]);
}
