//! Changes of the emitted Verilog by one: the testbench that is emitted with it finds them.
//!
//! Some are always tried. Any number of others, of table coefficients and of limits, drawn at random in shipped cores:
//!
//! ```text
//! FAULTS=100 SEED=1 cargo test -p flashd --test all faults::drawn -- --ignored --nocapture
//! ```

use crate::testbench::{generate, verdict};
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::process::Command;

/// Whether the testbench of a folder finds a change of its design.
fn found(folder: &Path, name: &str, changed: &str) -> bool {
    let original = fs::read_to_string(folder.join(format!("{name}.v"))).unwrap();
    assert_ne!(original, changed);
    fs::write(folder.join(format!("{name}.v")), changed).unwrap();
    let verdict = verdict(folder, name);
    fs::write(folder.join(format!("{name}.v")), original).unwrap();
    assert!(verdict.starts_with("TEST "), "{verdict}");
    verdict.starts_with("TEST FAILED: cycle ")
}

/// The places of a text where a line's constant `W'hX` follows `before`, and the line holds `with`.
fn constants(text: &str, with: &str, before: &str) -> Vec<Range<usize>> {
    let mut places = Vec::new();
    let mut start = 0;
    for line in text.lines() {
        let code = line.split("//").next().unwrap_or_default();
        if code.contains(with) {
            for (at, _) in code.match_indices(before) {
                places.extend(constant(code, at + before.len()).map(|r| start + r.start..start + r.end));
            }
        }
        start += line.len() + 1;
    }
    places
}

/// The digits of the constant that begins at a place, if one does.
fn constant(code: &str, at: usize) -> Option<Range<usize>> {
    let width = code[at..].find(|c: char| !c.is_ascii_digit())?;
    let digits = at + width + 2;
    if width == 0 || !code[at + width..].starts_with("'h") {
        return None;
    }
    let end = code[digits..].find(|c: char| !c.is_ascii_hexdigit()).map_or(code.len(), |n| digits + n);
    Some(digits..end)
}

/// The constant at a place, another number.
fn with_constant(text: &str, place: &Range<usize>, change: i64) -> Option<String> {
    let bits: u32 = {
        let head = &text[..place.start - 2];
        let begin = head.rfind(|c: char| !c.is_ascii_digit())? + 1;
        head[begin..].parse().ok()?
    };
    let value = u64::from_str_radix(&text[place.clone()], 16).ok()?.checked_add_signed(change)?;
    (value >> bits == 0).then(|| format!("{}{value:x}{}", &text[..place.start], &text[place.end..]))
}

/// A change of the first constant of a kind.
fn first(text: &str, with: &str, before: &str, change: i64) -> String {
    let place = constants(text, with, before).into_iter().next().unwrap_or_else(|| panic!("no {with}"));
    with_constant(text, &place, change).unwrap()
}

/// A line's text in another way.
fn line_with(text: &str, with: &str, change: impl Fn(&str) -> String) -> String {
    let line = text.lines().find(|line| line.contains(with)).unwrap_or_else(|| panic!("no {with}"));
    text.replacen(line, &change(line), 1)
}

/// Faults that only a comparison inside, or a special operand, finds in few keys.
#[test]
fn faults_of_units_are_found() {
    let more = |by: &'static str| move |line: &str| line.replacen(';', &format!(" + {by};"), 1);
    let (folder, name) = generate("--design flash-d --d 4");
    let text = fs::read_to_string(folder.path().join(format!("{name}.v"))).unwrap();
    for (what, changed) in [
        ("the sigmoid, four more", line_with(&text, " sigmoid_value = ", more("15'h4"))),
        ("log2(1 + 2^-x), one more", line_with(&text, " log2p1_value = ", more("15'h1"))),
        ("the sigmoid's first offset", first(&text, "sigmoid_c0 = ", "sigmoid_c0 = ", -1)),
    ] {
        assert!(found(folder.path(), &name, &changed), "{name}: {what}");
    }
    let (folder, name) = generate("--design fa2 --fa2 shared-scale --d 4");
    let text = fs::read_to_string(folder.path().join(format!("{name}.v"))).unwrap();
    let rounding = |line: &str| line.split(" + ").next().unwrap_or_default().to_string() + ";";
    for (what, changed) in [
        ("the hold limit", first(&text, "updates_far = ", " >= ", 1)),
        ("no rounding of l", line_with(&text, "= scaled_halves[", rounding)),
        ("the reciprocal's first offset", first(&text, "reciprocal_c0 = ", "reciprocal_c0 = ", -1)),
    ] {
        assert!(found(folder.path(), &name, &changed), "{name}: {what}");
    }
    let (folder, name) = generate("--design flash-d --weight paper --d 4");
    let text = fs::read_to_string(folder.path().join(format!("{name}.v"))).unwrap();
    let changed = first(&text, "keeps_q ? ", "keeps_q ? ", 1);
    assert!(found(folder.path(), &name, &changed), "{name}: the weight of a key that is not read");
}

/// Coefficients of tables, and constants that something is compared with.
fn sites(text: &str) -> Vec<Range<usize>> {
    let mut places = constants(text, "_c0 = ", "_c0 = ");
    places.extend(constants(text, "_c1 = ", "_c1 = "));
    for compared in [" < ", " < $signed(", " >= ", " >= $signed("] {
        places.extend(constants(text, "", compared));
    }
    // The constant may also be the left operand.
    let mut start = 0;
    for line in text.lines() {
        let code = line.split("//").next().unwrap_or_default();
        for (at, _) in code.match_indices(" < ").chain(code.match_indices(" >= ")) {
            let head = code[..at].trim_end_matches(')');
            let begin =
                head.rfind(|c: char| !c.is_ascii_hexdigit() && !"'h".contains(c)).map_or(0, |n| n + 1);
            places.extend(constant(head, begin).map(|r| start + r.start..start + r.end));
        }
        start += line.len() + 1;
    }
    places
}

/// The module around a place; None if it has a clock or instances.
fn unit(text: &str, place: usize) -> Option<&str> {
    let start = text[..place].rfind("\nmodule ")? + 1;
    let end = place + text[place..].find("endmodule")? + "endmodule".len();
    let module = &text[start..end];
    (!module.contains("posedge") && !module.contains(" u_")).then_some(module)
}

/// Whether a changed module is equivalent to the original: proved by ABC, which comes with Yosys. None where it is no module of gates
/// alone.
fn is_equal(original: &str, changed: &str, place: usize) -> Option<bool> {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("good", original), ("bad", changed)] {
        let (_, rest) = unit(text, place)?.split_once('(').unwrap();
        fs::write(folder.path().join(format!("{name}.v")), format!("module unit ({rest}\n")).unwrap();
        let gates = format!(
            "read_verilog {name}.v; hierarchy -top unit; proc -norom; opt; techmap; opt_clean; aigmap; opt_clean; \
             write_aiger {name}.aig"
        );
        let yosys = Command::new("yosys").current_dir(folder.path()).args(["-q", "-p", &gates]).output();
        let yosys = yosys.expect("scripts/test installs Yosys");
        assert!(yosys.status.success(), "{}", String::from_utf8_lossy(&yosys.stderr));
    }
    let abc = Command::new("yosys-abc")
        .current_dir(folder.path())
        .args(["-q", "cec good.aig bad.aig"])
        .output()
        .expect("it comes with Yosys");
    let said = String::from_utf8_lossy(&abc.stdout);
    let (equal, differs) = (said.contains("Networks are equivalent"), said.contains("NOT EQUIVALENT"));
    assert!(equal != differs, "{said}");
    Some(equal)
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable)
        .map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{variable}={text}")))
}

/// Among the requested number of changes that some operand of their unit shows, 95 in 100 are found.
#[test]
#[ignore = "takes minutes; see the head of this file"]
fn drawn_at_random() {
    let (count, seed) = (number("FAULTS", 100), number("SEED", 1));
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let designs: Vec<_> = ["flash-d", "flash-d --weight paper", "fa2"]
        .iter()
        .flat_map(|design| {
            ["bf16", "fp8-e4m3"].map(|format| format!("--design {design} --d 16 --format {format}"))
        })
        .map(|flags| generate(&flags))
        .collect();
    let (mut caught, mut equal, mut left) = (0, 0, Vec::new());
    while caught + (left.len() as u64) < count {
        let (folder, name) = designs.choose(&mut rng).unwrap();
        let text = fs::read_to_string(folder.path().join(format!("{name}.v"))).unwrap();
        let place = sites(&text).choose(&mut rng).unwrap().clone();
        let change = if rng.random() { 1 } else { -1 };
        let Some(changed) = with_constant(&text, &place, change) else { continue };
        if found(folder.path(), name, &changed) {
            caught += 1;
        } else if is_equal(&text, &changed, place.start) == Some(true) {
            equal += 1;
        } else {
            let line = text[..place.start].lines().count();
            left.push(format!("{name}.v:{line}: {} by {change}", text.lines().nth(line - 1).unwrap().trim()));
        }
    }
    println!(
        "seed {seed}: {caught} of {count} found; {equal} more change no result of their unit, whatever its operands are"
    );
    for change in &left {
        println!("    not found: {change}");
    }
    assert!(100 * caught >= 95 * count, "{caught} of {count}");
}
