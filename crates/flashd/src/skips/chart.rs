//! Added error over the share of value reads saved: a panel for each group, a curve for each family of rules.

use super::Skips;
use flashd_chart::{Axis, Chart, Ink, Interpolation, Marker, Panel, PanelBody, Series};
use flashd_study::skips::{GroupHolds, Rule};

/// Most groups that get a panel each; more share one.
const MOST_PANELS: usize = 9;

/// Errors further below the limit than by this factor are at the edge: what matters is near it.
const DEPTH: f64 = 1e3;

/// Families of rules with the indices of theirs.
fn families(rules: &[Rule]) -> Vec<(&'static str, Vec<usize>)> {
    let mut all: Vec<(&'static str, Vec<usize>)> = Vec::new();
    for (i, rule) in rules.iter().enumerate() {
        match all.iter_mut().find(|(name, _)| *name == rule.family()) {
            Some((_, rules)) => rules.push(i),
            None => all.push((rule.family(), vec![i])),
        }
    }
    all
}

/// Mean share of reads saved and mean of the largest added errors over groups, percent, by rule.
fn points(rules: &[usize], groups: &[&GroupHolds]) -> Vec<(f64, f64)> {
    let mean = |&i: &usize| {
        let figures = groups.iter().map(|group| &group.rules[i].exact);
        let sum = figures.fold((0.0, 0.0), |(x, y), figures| (x + figures.held, y + figures.max_error));
        (100.0 * sum.0 / groups.len() as f64, 100.0 * sum.1 / groups.len() as f64)
    };
    let mut points: Vec<(f64, f64)> = rules.iter().map(mean).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

/// One panel for each group, or one for all if they are many.
pub fn chart(skips: &Skips, rules: &[Rule]) -> Chart {
    let families = families(rules);
    let panels: Vec<Vec<&GroupHolds>> = match skips.groups.len() {
        0..=MOST_PANELS => skips.groups.iter().map(|group| vec![group]).collect(),
        _ => vec![skips.groups.iter().collect()],
    };
    let limit = 100.0 * skips.limit;
    let errors = skips.groups.iter().flat_map(|group| &group.rules).map(|rule| 100.0 * rule.exact.max_error);
    let most = errors.fold(limit, f64::max);
    let panel = |groups: &Vec<&GroupHolds>| {
        let title = match groups.as_slice() {
            [group] => group.group.clone(),
            _ => format!("mean of {} groups, each pale", groups.len()),
        };
        Panel {
            x: Axis { low: Some(0.0), ..Axis::linear("value reads saved, %") },
            y: Axis {
                low: Some(limit / DEPTH),
                high: Some(2.0 * most),
                ..Axis::log("largest added error, %")
            },
            title,
            body: PanelBody::Curves(series(skips, &families, groups)),
        }
    };
    Chart {
        notes: vec![format!("Errors below {} % are marked at the edge.", limit / DEPTH)],
        columns: 3,
        panels: panels.iter().map(panel).collect(),
        ..Chart::default()
    }
}

fn series(skips: &Skips, families: &[(&str, Vec<usize>)], groups: &[&GroupHolds]) -> Vec<Series> {
    let limit = 100.0 * skips.limit;
    let paper = [skips.paper_skipped.0, skips.paper_skipped.1].map(|share| (100.0 * share, limit));
    let mut all = vec![
        Series {
            course: Interpolation::Band,
            points: paper.to_vec(),
            ..Series::line("skipped in the paper", Ink::BLACK.pale(0.12))
        },
        Series {
            course: Interpolation::Level,
            width: 1,
            points: vec![(0.0, limit)],
            ..Series::line(format!("{limit} % added"), Ink::BLACK)
        },
    ];
    for (i, (_, rules)) in families.iter().enumerate().filter(|_| groups.len() > 1) {
        all.extend(groups.iter().map(|group| Series {
            width: 1,
            points: points(rules, &[*group]),
            ..Series::line("", Ink::nth(i).pale(0.2))
        }));
    }
    all.extend(families.iter().enumerate().map(|(i, (name, rules))| Series {
        marker: Some(Marker::nth(i)),
        points: points(rules, groups),
        ..Series::line(*name, Ink::nth(i))
    }));
    all
}
