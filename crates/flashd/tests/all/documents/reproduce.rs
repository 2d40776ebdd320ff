//! `scripts/reproduce`: tables agree with their pages, and a wrong figure is reported.

use super::markdown::Command;
use super::workshop::Workshop;
use std::fs;
use std::path::{Path, PathBuf};

fn command(text: &str) -> Command {
    Command { place: String::new(), folder: String::new(), text: text.into(), output: None, long: false }
}

/// Changes the page that has a table, after its mark.
fn change(workshop: &Workshop, mark: &str, from: &str, to: &str) {
    let pages = workshop.repository().join("docs/results");
    let months = fs::read_dir(pages).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let files = months.flat_map(|month| fs::read_dir(month).unwrap().map(|entry| entry.unwrap().path()));
    let has = |path: &PathBuf| fs::read_to_string(path).is_ok_and(|text| text.contains(mark));
    let page = files.filter(|path| path.extension().is_some_and(|end| end == "md")).find(has).unwrap();
    let text = fs::read_to_string(&page).unwrap();
    let (before, after) = text.split_once(mark).unwrap();
    assert!(after.contains(from), "{from}");
    fs::write(page, format!("{before}{mark}{}", after.replacen(from, to, 1))).unwrap();
}

#[test]
fn tables_agree_with_their_pages() {
    let workshop = Workshop::new(&super::root());
    let said = workshop.run(&command("scripts/reproduce --sample accuracy skips")).unwrap();
    assert!(said.contains("2 of 2 tables are those of their pages"), "{said}");
    // In the last place of a figure, in a rule, and a row too few.
    const MARK: &str = "<!-- reproduce skips on the sample -->";
    let row = said.lines().rfind(|line| line.starts_with("| `hold:8`")).unwrap();
    let first = row.split(" | ").nth(1).unwrap().split(',').next().unwrap();
    let digit = first.chars().last().unwrap().to_digit(10).unwrap();
    let changed = format!("{}{}", &first[..first.len() - 1], (digit + 1) % 10);
    for (from, to, wrong) in [
        (first, changed.as_str(), "skips: `hold:8`: bytes-d16: "),
        ("| `hold:8` |", "| `hold:9` |", "skips: `hold:8`: is not on the page"),
        (row, "", "skips: `hold:8`: is not on the page"),
    ] {
        let workshop = Workshop::new(&super::root());
        change(&workshop, MARK, from, to);
        let failure = workshop.run(&command("scripts/reproduce --sample skips")).unwrap_err();
        assert!(failure.starts_with("exit status: 1: ") && failure.contains(wrong), "{failure}");
        // The measured table can be written.
        workshop.run(&command("scripts/reproduce --sample skips --update")).unwrap();
        workshop.run(&command("scripts/reproduce --sample skips")).unwrap();
        // With where it comes from, beneath and in the run; this copy is no clone.
        let page = fs::read_to_string(workshop.repository().join("docs/results/2026-11/sample.md")).unwrap();
        let line = lines_beneath(&page).find(|(name, _)| name == "skips on the sample").unwrap().1;
        assert!(line.starts_with("Run: 20") && line.contains(", no clone; flashd 0."), "{line}");
        let run = workshop.repository().join("docs/results/2026-11/runs/skips-sample.json");
        let run: serde_json::Value = serde_json::from_slice(&fs::read(run).unwrap()).unwrap();
        assert_eq!(run["runs"][0]["heads"]["files"], 15);
        assert_eq!(run["runs"][0]["rows"][0][0][0], "`static`");
    }
}

/// The line beneath each marked table of a page, by the mark's name.
fn lines_beneath(page: &str) -> impl Iterator<Item = (String, String)> {
    page.split("\n<!-- reproduce ").skip(1).map(|rest| {
        let (mark, after) = rest.split_once(" -->").unwrap();
        let mut lines = after.lines().skip_while(|line| line.is_empty() || line.starts_with('|'));
        (mark.to_string(), lines.next().unwrap_or_default().to_string())
    })
}

/// A line beneath every table has the origin of its figures, and tables with a run agree with tables written from the run.
#[test]
fn tables_agree_with_their_runs() {
    let workshop = Workshop::new(&super::root());
    let printed = workshop.run(&command("scripts/reproduce --from-runs")).unwrap();
    let mut kept = 0;
    for file in super::documents() {
        let text = fs::read_to_string(super::root().join(&file)).unwrap();
        assert!(text == fs::read_to_string(workshop.repository().join(&file)).unwrap(), "{file}");
        for (mark, line) in lines_beneath(&text) {
            assert!(line.starts_with("Run: "), "{file}: {mark}: {line}");
            let none = printed.lines().any(|printed| printed == format!("{mark}: no run is kept"));
            assert_eq!(line.starts_with("Run: none is kept: "), none, "{file}: {mark}");
            kept += usize::from(!none);
        }
    }
    assert!(kept > 4, "{kept}");
    for chart in ["docs/results/2026-11/savings-formats.svg", "docs/results/2026-11/savings-clocks.svg"] {
        let drawn = |folder: &Path| fs::read_to_string(folder.join(chart)).unwrap();
        assert!(drawn(&super::root()) == drawn(&workshop.repository()), "{chart}: not that of its run");
    }
    // A table made from other tables' runs agrees with the present runs.
    workshop.run(&command("scripts/reproduce beside-paper")).unwrap();
    // The run counts, not the page.
    let (path, mark) = ("docs/results/2026-11/throughput.md", "<!-- reproduce throughput -->");
    let page = fs::read_to_string(super::root().join(path)).unwrap();
    let mut rows = page.lines().skip_while(|line| *line != mark);
    let row = rows.find(|line| line.starts_with("| FLASH-D")).unwrap();
    let figure = row.rsplit('|').nth(1).unwrap();
    change(&workshop, mark, row, &row.replace(figure, " 0.001 "));
    workshop.run(&command("scripts/reproduce --from-runs")).unwrap();
    assert_eq!(fs::read_to_string(workshop.repository().join(path)).unwrap(), page);
}

/// Every mark of a page is the name of a table, and every table is on a page.
#[test]
fn every_mark_is_a_table() {
    let workshop = Workshop::new(&super::root());
    let listed = workshop.run(&command("scripts/reproduce --list")).unwrap();
    assert!(!listed.contains("on no page"), "{listed}");
    let mut marks = 0;
    for file in super::documents() {
        let text = fs::read_to_string(super::root().join(&file)).unwrap();
        for mark in text.lines().filter_map(|line| line.strip_prefix("<!-- reproduce ")) {
            let name = mark.split(' ').next().unwrap();
            assert!(listed.lines().any(|line| line.split(' ').next() == Some(name)), "{file}: {mark}");
            marks += 1;
        }
    }
    assert!(marks > 15, "{marks}");
}

#[test]
fn bad_arguments_are_refused() {
    let workshop = Workshop::new(&super::root());
    for (words, wrong) in [
        ("", "which table? --list names them"),
        ("figures", "figures: no such table; --list names them"),
        ("skips --data nowhere", "--data nowhere: there is no such file or folder"),
        ("skips --data docs --sample", "--data and --sample: give one of them"),
        ("area-periods", "this table is of ASAP7: --liberty names its file"),
    ] {
        let failure = workshop.run(&command(&format!("scripts/reproduce {words}"))).unwrap_err();
        assert!(failure.starts_with("exit status: 2: ") && failure.contains(wrong), "{words}: {failure}");
    }
}
