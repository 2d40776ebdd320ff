//! Names of emitted modules: equal names are equal modules, and any designs can be compiled together.

use crate::common::refusal;
use flashd_generator::{Emission, Prefix, machine_files};
use flashd_simulator::random::draw;
use flashd_spec::config::{ArrayConfig, CoreConfig, Design, SplitConfig, Values, WrapperConfig};
use flashd_spec::format::Format;
use flashd_spec::machine::Machine;
use flashd_spec::unit::UnitConfig;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, PoisonError};

/// The variable that repeats a draw.
const SEED: &str = "FLASHD_NAMES_SEED";

fn run(args: &[String]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_flashd")).args(args).output().unwrap()
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(String::from).collect()
}

/// Random configurations with different names; the seed is printed.
fn drawn(count: usize, longest: usize) -> Vec<Machine> {
    let seed =
        std::env::var(SEED).ok().and_then(|text| text.parse().ok()).unwrap_or_else(|| rand::rng().random());
    println!("{count} configurations; {SEED}={seed} draws them again");
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut names = BTreeSet::new();
    let mut all = Vec::new();
    while all.len() < count {
        let config = draw(&mut rng, longest);
        if names.insert(config.name()) {
            all.push(config);
        }
    }
    all
}

/// An array, split keys, a stream wrapper and a unit of both designs, with values of floats and of integers.
fn of_other_kinds() -> Vec<Machine> {
    let mut all = Vec::new();
    let shown = [
        (Design::FlashD, Format::BF16),
        (Design::Fa2, Format::FP8_E4M3),
        (Design::FlashD, Format::INT8),
        (Design::Fa2, Format::INT8),
    ];
    for (design, format) in shown {
        let core = CoreConfig::new(design, 4, format);
        let array = ArrayConfig::new(core.clone(), 2);
        all.push(Machine::Split(SplitConfig::new(core, 2)));
        all.push(Machine::Wrapper(WrapperConfig::new(array.clone())));
        all.push(Machine::Unit(UnitConfig::new(array.clone())));
        all.push(Machine::Array(array));
    }
    all
}

/// The flags that select it.
fn flags(config: &Machine) -> String {
    let core = config.core();
    let mut flags = core.flags();
    let mut array = |array: &ArrayConfig| {
        let bits = array.key_index_bits.map_or(String::new(), |bits| format!(" --key-index-bits {bits}"));
        let turns = match array.interleave {
            1 => String::new(),
            turns => format!(" --interleave {turns}"),
        };
        let _ = write!(flags, " --queries {}{bits}{turns}", array.queries);
    };
    match config {
        Machine::Core(_) => {}
        Machine::Array(config) => array(config),
        Machine::Split(config) => flags += &format!(" --parts {}", config.parts),
        Machine::Wrapper(config) => {
            array(&config.array);
            flags += " --wrapper axis";
            flags += &config.beat_bits.map_or(String::new(), |bits| format!(" --beat {bits}"));
            flags += if config.values == Values::All { " --values all" } else { "" };
        }
        Machine::Unit(config) => {
            array(&config.array);
            let _ = write!(flags, " --wrapper axi4 --beat {}", config.beat_bits);
            flags += if config.values == Values::All { " --values all" } else { "" };
        }
    }
    flags
}

/// How many names of modules occur, and those that occur with several texts, in emissions that know nothing of each other.
fn collisions(configs: &[Machine], prefix: &Prefix) -> (usize, Vec<String>) {
    let emission = Emission::from(prefix.clone());
    let texts: Vec<String> =
        configs.par_iter().map(|config| machine_files(config, &emission).unwrap().remove(0).text).collect();
    let mut bodies: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for text in &texts {
        for module in text.split("\nmodule ").skip(1) {
            let (name, body) = module.split_once(" (").unwrap();
            bodies.entry(name).or_default().insert(body.split("\nendmodule").next().unwrap());
        }
    }
    let several = bodies.iter().filter(|(_, texts)| texts.len() > 1).map(|(name, _)| name.to_string());
    (bodies.len(), several.collect())
}

/// Shipped cores of up to so many elements, some other designs, and random ones, all with different names.
fn designs(longest: usize, random: usize, random_longest: usize) -> Vec<Machine> {
    let shipped = CoreConfig::shipped().into_iter().filter(|core| core.d <= longest);
    let mut configs: Vec<Machine> = shipped.map(Machine::Core).chain(of_other_kinds()).collect();
    let known: BTreeSet<String> = configs.iter().map(Machine::name).collect();
    configs
        .extend(drawn(random, random_longest).into_iter().filter(|config| !known.contains(&config.name())));
    configs
}

/// Designs of separate runs, too: each is emitted alone.
fn no_name_has_two_bodies(configs: &[Machine], at_least: usize) {
    // Without a prefix and without a digest there would be some: the draw is wide enough to show them.
    let (names, several) = collisions(configs, &Prefix::Plain);
    println!("{names} names without prefix and digest, {} with several bodies", several.len());
    assert!(several.len() >= at_least, "{several:?}");
    for prefix in [Prefix::Top, Prefix::Shared(String::new())] {
        let (names, several) = collisions(configs, &prefix);
        println!("{prefix:?}: {names} names, {} with several bodies", several.len());
        assert_eq!(several, Vec::<String>::new(), "{prefix:?}");
    }
}

#[test]
fn equal_names_are_equal_modules() {
    no_name_has_two_bodies(&designs(16, 40, 6), 5);
}

#[test]
#[ignore = "takes minutes"]
fn equal_names_are_equal_modules_in_300_configurations() {
    no_name_has_two_bodies(&designs(256, 300, 16), 20);
}

/// The files of a list, without options.
fn listed(folder: &Path, list: &str) -> Vec<PathBuf> {
    fs::read_to_string(folder.join(list)).unwrap().lines().map(|line| folder.join(line)).collect()
}

fn names(folder: &Path, end: &str) -> Vec<String> {
    let entries =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> =
        entries.filter_map(|name| name.strip_suffix(end).map(String::from)).collect();
    names.sort();
    names
}

/// Runs a tool, which has to succeed without a word.
fn silent(command: &mut Command) -> String {
    let tool = command.get_program().to_string_lossy().into_owned();
    let output = command.output().unwrap_or_else(|e| panic!("{tool}: {e}"));
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    let loud = text.lines().any(|line| line.contains("arning") || line.contains("rror"));
    assert!(
        output.status.success() && !loud,
        "{tool}: {}",
        text.lines().take(30).collect::<Vec<_>>().join("\n")
    );
    text
}

/// Reads all files together with three tools; every testbench runs in one simulation.
fn together(folder: &Path, sources: &[PathBuf], tops: &[String]) {
    let benches = names(folder, "_tb.v");
    let roots = |command: &mut Command, names: &[String]| {
        for name in names {
            command.args(["-s", name]);
        }
    };
    let mut icarus = Command::new("iverilog");
    icarus.args(["-g2005", "-Wall", "-t", "null"]).args(sources);
    roots(&mut icarus, tops);
    assert_eq!(silent(&mut icarus), "");
    let list = folder.join("all.ys");
    let read: String = sources.iter().map(|path| format!("read_verilog {}\n", path.display())).collect();
    fs::write(&list, read + "hierarchy -check\n").unwrap();
    silent(Command::new("yosys").arg("-q").arg("-s").arg(&list));
    // Each design is a top. The files go by a list: their names exceed the length of a command of the shell.
    let list = folder.join("all.f");
    let lines: String = sources.iter().map(|path| format!("{}\n", path.display())).collect();
    fs::write(&list, lines).unwrap();
    let mut verilator = Command::new("verilator");
    verilator.args(["--lint-only", "-Wall", "-Wno-MULTITOP", "-f"]).arg(&list);
    // It takes 12 GB for 240 designs: not in two tests at once.
    static ALONE: Mutex<()> = Mutex::new(());
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    assert_eq!(silent(&mut verilator), "");
    drop(alone);
    let mut compile = Command::new("iverilog");
    compile.args(["-g2005", "-Wall", "-o"]).arg(folder.join("all.vvp")).args(sources);
    compile.args(benches.iter().map(|name| folder.join(format!("{name}_tb.v"))));
    roots(&mut compile, &benches.iter().map(|name| format!("{name}_tb")).collect::<Vec<_>>());
    silent(&mut compile);
    let said = silent(Command::new("vvp").current_dir(folder).args(["-n", "all.vvp"]));
    let passed = said.lines().filter(|line| line.starts_with("TEST PASSED: ")).count();
    assert_eq!(passed, benches.len(), "{said}");
    println!("{} tops in {} files, {passed} testbenches pass", tops.len(), sources.len());
}

/// Generates all of them with testbenches, wrappers without, and reads them together.
fn company(configs: &[Machine], prefix: Option<&str>, keys: u32) {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let generate = |configs: &[&Machine], more: &[&str]| {
        let mut args = words("generate --quiet --out");
        args.push(out.into());
        args.extend(more.iter().map(|word| word.to_string()));
        args.extend(prefix.into_iter().flat_map(|prefix| ["--prefix".to_string(), prefix.to_string()]));
        args.extend(configs.iter().flat_map(|config| ["--core".to_string(), flags(config)]));
        let ran = run(&args);
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    };
    let is_wrapper = |config: &&Machine| matches!(config, Machine::Wrapper(_) | Machine::Unit(_));
    let (wrappers, others): (Vec<&Machine>, Vec<&Machine>) = configs.iter().partition(is_wrapper);
    let keys = keys.to_string();
    let with_bench = ["--testbench", "inside", "--seed", "3", "--keys", &keys];
    let sources: Vec<PathBuf> = match prefix {
        None => {
            generate(&wrappers, &[]);
            generate(&others, &with_bench);
            configs.iter().flat_map(|config| listed(folder.path(), &format!("{}.f", config.name()))).collect()
        }
        // Shared modules are emitted in one run: first designs with testbenches, then all.
        Some(prefix) => {
            generate(&others, &with_bench);
            generate(&configs.iter().collect::<Vec<_>>(), &[]);
            listed(folder.path(), &format!("{}.f", if prefix == "none" { "modules" } else { prefix }))
        }
    };
    let distinct: BTreeSet<&PathBuf> = sources.iter().collect();
    assert_eq!(distinct.len(), sources.len(), "each file once");
    let tops: Vec<String> = names(folder.path(), ".sdc");
    assert_eq!(tops.len(), configs.len());
    together(folder.path(), &sources, &tops);
}

/// Some designs of every kind, with separate and with shared names.
#[test]
fn designs_of_every_kind_can_be_compiled_together() {
    let configs = designs(16, 10, 6);
    for prefix in [None, Some("none"), Some("acme")] {
        company(&configs, prefix, 40);
    }
}

/// All shipped cores, arrays, wrappers and 200 random configurations.
#[test]
#[ignore = "takes a quarter of an hour"]
fn all_shipped_and_200_random_designs_can_be_compiled_together() {
    company(&designs(256, 200, 16), None, 60);
}

/// The same designs with the modules that they share.
#[test]
#[ignore = "takes a quarter of an hour"]
fn all_shipped_and_200_random_designs_can_share_modules() {
    company(&designs(256, 200, 16), Some("none"), 60);
}

/// Verilator hashes names of more than 127 letters, and finds no top by them.
#[test]
fn verilator_finds_tops_with_many_options() {
    let long = "generate --quiet --design flash-d --d 3 --format fp4-e2m1 --update rounded --masks --softcap 20 --bias \
        --value-latency 14 --hold 22.572340581701507 --accumulator fp8-e4m3 --weight-bits 11 --segments 16 --score-shift 2";
    let array = "--queries 2 --key-index-bits 27";
    let wrapper = format!("{array} --wrapper axis --beat 40 --values all");
    let (letters, underscores) = ("p".repeat(64), "_a".repeat(8) + "__b");
    let mut tops = BTreeSet::new();
    for kind in [
        "",
        array,
        &wrapper,
        &format!("{wrapper} --prefix {letters}"),
        &format!("{array} --prefix {underscores}"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let args = words(&format!("{long} {kind} --out {}", folder.path().display()));
        let ran = run(&args);
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        let [top] = &names(folder.path(), ".sdc")[..] else { panic!("{kind}: a top each") };
        let mut verilator = Command::new("verilator");
        verilator.args(["--lint-only", "-Wall", "--top-module", top]);
        verilator.args(listed(folder.path(), &format!("{top}.f")));
        assert_eq!(silent(&mut verilator), "", "{top}");
        tops.insert(top.clone());
    }
    assert_eq!(tops.len(), 5, "{tops:?}");
}

/// Several files of configurations in one run, with a flag for all of them.
#[test]
fn several_configurations_share_modules() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    fs::write(at("a.json"), r#"{"design": "fa2", "format": "bf16"}"#).unwrap();
    fs::write(at("b.json"), r#"{"core": {"design": "flash-d", "format": "bf16"}, "queries": 2}"#).unwrap();
    let configs = [words("generate --config"), vec![at("a.json"), "--config".into(), at("b.json")]].concat();
    let generate = |more: &str| run(&[configs.clone(), words(more)].concat());
    let out = at("out");
    let ran = generate(&format!("--d 4 --prefix acme --out {out}"));
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let out = Path::new(&out);
    assert_eq!(names(out, ".f"), ["acme", "acme_fa2_bf16_d4", "acme_flash_d_bf16_d4_x2"]);
    let [all, fa2, flash_d] = ["acme", "acme_fa2_bf16_d4", "acme_flash_d_bf16_d4_x2"]
        .map(|list| listed(out, &format!("{list}.f")).into_iter().collect::<BTreeSet<PathBuf>>());
    assert_eq!(all, &fa2 | &flash_d);
    assert!((&fa2 & &flash_d).len() > 3, "the dot product is the same");
    let manifest = fs::read_to_string(out.join("acme_fa2_bf16_d4.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    assert_eq!((&manifest["name"], &manifest["prefix"]), (&"acme_fa2_bf16_d4".into(), &"acme".into()));
    for module in manifest["modules"].as_array().unwrap() {
        assert!(module["name"].as_str().unwrap().starts_with("acme_"), "{module}");
    }
    // By default everything has the name of its top.
    let ran = generate(&format!("--d 4 --out {}", at("own")));
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let text = fs::read_to_string(Path::new(&at("own")).join("fa2_bf16_d4.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(manifest["prefix"], "fa2_bf16_d4");
    for module in manifest["modules"].as_array().unwrap() {
        assert!(module["name"].as_str().unwrap().starts_with("fa2_bf16_d4"), "{module}");
    }
}

#[test]
fn prefixes_and_selections_that_cannot_be_are_refused() {
    let refused = |text: &str| {
        let args = words(text);
        let shown: Vec<&str> = args.iter().map(String::as_str).collect();
        refusal(run(&args), &shown)
    };
    for (prefix, problem) in
        [("4x", "begins with the digit 4"), ("wire", "is a keyword"), ("a.b", "has the character '.'")]
    {
        for command in ["generate", "cosim"] {
            let text = refused(&format!("{command} --design fa2 --d 4 --prefix {prefix}"));
            assert!(text.contains("--prefix") && text.contains(problem), "{text}");
            assert!(text.contains("up to 64 letters, digits and '_'"), "{text}");
        }
    }
    let text = refused("generate --unit add --prefix acme");
    assert!(text.contains("--prefix"), "{text}");
    let text = refused("simulate --config a.json --config b.json");
    assert!(text.contains("cannot be used multiple times"), "{text}");
    let twice = format!("{}/../../configs/fa2_bf16_d16.json", env!("CARGO_MANIFEST_DIR"));
    let text = refused(&format!("generate --config {twice} --config {twice}"));
    assert!(text.contains("module fa2_bf16_d16: ") && text.contains("name each design once"), "{text}");
    let split = ["generate", "--cocotb", "--core", "--design fa2 --d 4 --parts 2"].map(String::from);
    assert!(refusal(run(&split), &["--cocotb"]).contains("fa2_partial_bf16_d4_p2 has split keys"));
}
