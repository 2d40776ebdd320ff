//! The result in tables.

use super::{Skips, Worst};
use crate::output::{percent, table};
use flashd_study::skips::{Figures, GroupHolds, Rule, RuleHolds, best};
use std::fmt::Write;
use std::path::Path;

const NOTES: &str = "Shares of the updates, a pair of a query and a key each. held: o and L stay, the value is not read; \
                     a held key is known\nbefore its value is read, never before the key is. loaded: o = v, first keys \
                     not counted. added error: results with\nthe rule against those without it, fractions of max|v|. \
                     bound: of the added error, for as many keys as were held,\nor (any N) for any number of them. f64: \
                     the rule's own figures; core: the bit-exact model of a core that has the rule.\n";

pub fn text(skips: &Skips, svg: Option<&Path>) -> String {
    let heads: usize = skips.groups.iter().map(|g| g.heads).sum();
    let queries = if skips.every == 1 { String::new() } else { format!(", one query in {}", skips.every) };
    let mut text = format!("{heads} heads of {}{queries}; cores in {}\n", skips.data.display(), skips.format);
    for group in &skips.groups {
        let _ = writeln!(text, "\n{}, {} heads, {} updates", group.group, group.heads, group.updates);
        text += &rules(group);
        text += "\n";
    }
    text += &chosen(skips);
    text += NOTES;
    if let Some(path) = svg {
        let _ = writeln!(text, "{}", path.display());
    }
    text
}

fn rules(group: &GroupHolds) -> String {
    let row = |r: &RuleHolds| {
        let Figures { held, loaded, computed, mean_error, max_error } = r.exact;
        let mut row = vec![r.rule.to_string()];
        row.extend([held, loaded, computed].map(percent));
        row.extend([mean_error, max_error].map(error));
        row.push(match (r.bound, r.bound_for_any_n) {
            (Some(bound), true) => format!("{}, any N", error(bound)),
            (Some(bound), false) => error(bound),
            (None, _) => "none".into(),
        });
        let core = |of: fn(&Figures) -> f64, text: fn(f64) -> String| {
            r.core.as_ref().map_or(String::new(), |figures| text(of(figures)))
        };
        row.extend([
            core(|c| c.held, percent),
            core(|c| c.loaded, percent),
            core(|c| c.mean_error, error),
            core(|c| c.max_error, error),
        ]);
        row
    };
    let header = [
        "rule",
        "held = reads saved",
        "loaded",
        "computed",
        "mean added",
        "max added",
        "bound",
        "core: held",
        "loaded",
        "mean added",
        "max added",
    ];
    table(&header, group.rules.iter().map(row).collect())
}

/// An error as a percentage; the smallest, which budgets reach, with an exponent.
fn error(x: f64) -> String {
    if x > 0.0 && x < 1e-6 { format!("{:.1e} %", 100.0 * x) } else { percent(x) }
}

/// The rules that save most below the limit: among fixed thresholds, among all rules, and among rules with a bound below it.
fn chosen(skips: &Skips) -> String {
    let (least, most) = skips.paper_skipped;
    let row = |group: &GroupHolds| {
        let skipped =
            group.rules.iter().find(|r| r.rule == Rule::Static).map(|r| r.exact.held + r.exact.loaded);
        let mut row = vec![group.group.clone(), skipped.map_or_else(String::new, percent)];
        let kinds: [&dyn Fn(&RuleHolds) -> bool; 3] =
            [&|r| matches!(r.rule, Rule::Hold(_)), &|_| true, &|r| {
                r.bound_for_any_n && r.bound.is_some_and(|bound| bound < skips.limit)
            }];
        for eligible in kinds {
            let Some(r) = best(group, skips.limit, eligible).filter(|r| r.exact.held > 0.0) else {
                row.extend(["none".to_string(), String::new(), String::new(), String::new()]);
                continue;
            };
            let held = r.exact.held;
            let paper = format!("{:.1} to {:.1}", held / most, held / least);
            row.extend([r.rule.to_string(), percent(held), paper, error(r.exact.max_error)]);
        }
        row
    };
    let limit = percent(skips.limit);
    let bounded = format!("below {limit} for any N");
    let mut header = vec!["heads of", "static holds"];
    for best in ["best hold:T", "best rule", &bounded] {
        header.extend([best, "saves", "x paper", "max added"]);
    }
    let rows = skips.groups.iter().map(row).collect();
    format!(
        "\nThe rule that saves most with a largest added error below {limit}, and its share as a multiple of the {} to \
         {} that the\npaper holds\n{}\n",
        percent(most),
        percent(least),
        table(&header, rows)
    )
}

pub fn worst(worst: &Worst) -> String {
    let number = |x: f64| format!("{x:.6}");
    let core = |x: Option<f64>| x.map_or(String::new(), number);
    let streams = worst.streams.iter().map(|s| {
        let mut row = vec![s.stream.clone(), s.keys.to_string(), s.rule.clone(), s.held.to_string()];
        row.extend([s.result, s.exact, s.max_error].map(number));
        row.push(core(s.core_max_error));
        row
    });
    let cases = worst.worst_cases.iter().map(|w| {
        let mut row = vec![w.rule.clone(), w.keys.to_string(), w.distance.to_string(), w.held.to_string()];
        row.push(number(w.error));
        row.push(w.bound.map_or_else(|| "none".into(), number));
        row.push(core(w.core_error));
        row
    });
    let core = format!("{} core", worst.format);
    let header = ["stream", "keys", "rule", "held", "result", "exact", "largest error", core.as_str()];
    let mut text = format!(
        "Streams with values of +1 and -1: the result after the last key, and the largest error after any of them\n{}\n",
        table(&header, streams.collect())
    );
    let header = ["rule", "keys", "distance", "held", "error", "bound", core.as_str()];
    text += &format!(
        "\nOne key of value 1, all others of value -1 at one distance below it: the distance, of all quarters from 1 to \
         24 and\nthe rule's own T, at which the rule errs most\n{}\n",
        table(&header, cases.collect())
    );
    text
}
