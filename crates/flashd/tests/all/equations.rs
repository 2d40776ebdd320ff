//! `docs/theory/equations.md` names existing functions and tests for every equation of the paper.

use crate::common::root;
use flashd_golden::family::EQUATIONS;
use std::fs;

/// The first cells of the rows.
fn expected() -> Vec<String> {
    let equations = (1..=12).map(|n| format!("({n})"));
    let algorithms = (1..=3).map(|n| format!("Alg. {n}"));
    let unnumbered = ["softmax", "safe softmax", "sum"].map(String::from).into_iter();
    unnumbered
        .chain(equations)
        .chain(algorithms)
        .chain(["FA2, scalars".into(), "FA2, lanes".into()])
        .collect()
}

/// The cells of each row of the table: equation, formula, module, model, test.
fn rows(document: &str) -> Vec<Vec<&str>> {
    let lines = document.lines().filter(|line| line.starts_with('|')).skip(2);
    lines.map(|line| line.trim_matches('|').split('|').map(str::trim).collect()).collect()
}

/// The places that a cell names, path and function each.
fn places(cell: &str) -> Vec<(&str, &str)> {
    let names = cell.split(',').map(|text| text.trim().trim_matches('`'));
    names.filter_map(|text| text.split_once("::")).collect()
}

/// Whether a file declares a function or a leaf of that name.
fn declares(text: &str, name: &str) -> bool {
    let names = |line: &str, keyword: &str| {
        let rest = line.trim_start().strip_prefix(keyword).and_then(|rest| rest.strip_prefix(name));
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    };
    let keywords = ["fn ", "pub fn ", "pub(crate) fn ", "pub(super) fn ", "pub struct "];
    text.lines().any(|line| keywords.iter().any(|keyword| names(line, keyword)))
}

/// Whether a test of that name is run: the attribute is above the function, with nothing but attributes between them.
fn tests(text: &str, name: &str) -> bool {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    (lines.iter().enumerate()).filter(|(_, line)| line.starts_with(&format!("fn {name}("))).any(|(i, _)| {
        let attributes = lines[..i].iter().rev().take_while(|line| line.starts_with("#["));
        attributes.into_iter().any(|line| *line == "#[test]")
    })
}

#[test]
fn every_equation_has_a_module_a_model_and_a_test() {
    let document = fs::read_to_string(root().join("docs/theory/equations.md")).unwrap();
    let rows = rows(&document);
    let named: Vec<&str> = rows.iter().map(|row| row[0]).collect();
    assert_eq!(named, expected());
    for equation in EQUATIONS {
        let number = format!("({})", equation.number);
        let row = rows.iter().find(|row| row[0] == number).unwrap();
        assert!(row[1].starts_with(&format!("`{}`", equation.formula)), "{number}: {}", row[1]);
    }
    for row in &rows {
        let [equation, formula, module, model, test] = row[..] else { panic!("{row:?} has not five cells") };
        assert!(formula.contains('`') || equation.starts_with("Alg."), "{equation} has no formula");
        for (cell, kind) in [(module, "module"), (model, "model"), (test, "test")] {
            let places = places(cell);
            assert_eq!(places.is_empty(), cell.starts_with("none: "), "{equation}: {kind}");
            for (path, name) in places {
                let text = fs::read_to_string(root().join("crates").join(path));
                let text = text.unwrap_or_else(|e| panic!("{equation}: {path}: {e}"));
                let there = if kind == "test" { tests(&text, name) } else { declares(&text, name) };
                assert!(there, "{equation}: there is no {kind} {name} in {path}");
                // A search of the sources for an equation finds its module.
                let cited = equation.split(',').next().unwrap_or(equation);
                assert!(kind != "module" || text.contains(cited), "{path} does not name {cited}");
            }
        }
    }
}
