//! The order of the pipeline in the save file and the default selection: stages in order, in each of them flags, then bits, then
//! numbers, then the elements of vectors, of which all but the first are folded away. The rows are those that modules describe where
//! they make their wires.

use super::signals::{Reading, Signal};
use flashd_hwmodel::catalogue::stage_title;
use flashd_hwmodel::rtl::{self, Circuit, Role};
use flashd_spec::machine::Machine;
use std::collections::{BTreeSet, HashMap};

/// How a signal is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// Bits: one bit as a line, more as hexadecimal.
    Bits,
    /// A decimal number.
    Number,
    /// A decimal number, and below it its course as an analog trace.
    Trace,
}

/// One line of the display.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// Path below the design.
    pub path: String,
    /// The name shown instead of the path.
    pub label: String,
    /// How it is drawn.
    pub look: Look,
    /// The role of the bit.
    pub role: Option<Role>,
}

/// Rows under a heading.
#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    /// Heading.
    pub title: String,
    /// Always visible.
    pub rows: Vec<Row>,
    /// Folded away until opened: title and rows.
    pub folds: Vec<(String, Vec<Row>)>,
}

impl Group {
    /// All rows, folded or not.
    pub(super) fn all_rows(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().chain(self.folds.iter().flat_map(|(_, rows)| rows))
    }

    fn add(&mut self, fold: Option<String>, row: Row) {
        match (fold, self.folds.last_mut()) {
            (None, _) => self.rows.push(row),
            (Some(fold), Some((title, rows))) if *title == fold => rows.push(row),
            (Some(fold), _) => self.folds.push((fold, vec![row])),
        }
    }
}

/// The stages of a machine, from the rows of its design and from its signals.
///
/// # Panics
/// If a row shows a pin that is none of the signals.
pub(super) fn stages(machine: &Machine, design: &Circuit, signals: &[Signal]) -> Vec<Group> {
    let by_path: HashMap<&str, &Signal> = signals.iter().map(|signal| (signal.below_top(), signal)).collect();
    let shown: Vec<_> = design.signals().iter().map(|row| (row, by_path[&*row.path])).collect();
    let stages: BTreeSet<rtl::Stage> = shown.iter().map(|(row, _)| row.stage).collect();
    let group = |stage| {
        let mut rows: Vec<_> = shown.iter().filter(|(row, _)| row.stage == stage).copied().collect();
        rows.sort_by_key(|(row, signal)| (row.element, place(row, signal)));
        let mut group = Group { title: stage_title(machine, stage), ..Group::default() };
        let last = rows.iter().filter_map(|(row, _)| row.element).max().unwrap_or(0);
        for (row, signal) in rows {
            let fold = match (row.fold, row.element) {
                (None, None | Some(0)) => None,
                (Some(fold), _) => Some(fold.to_string()),
                _ if last == 1 => Some("Element 1".into()),
                _ => Some(format!("Elements 1 to {last}")),
            };
            group.add(fold, line(row, signal));
        }
        group
    };
    stages.into_iter().map(group).collect()
}

/// The place of a row among those of its stage; the rows of an element of a vector keep their order.
fn place(row: &rtl::Signal, signal: &Signal) -> usize {
    match (row.row, signal.reading) {
        _ if row.element.is_some() => 0,
        (rtl::Row::Flag, _) => 0,
        (rtl::Row::Plain, Some(Reading::Own(..))) => 2,
        (rtl::Row::Plain, _) => 1,
        (rtl::Row::Late | rtl::Row::Trace, _) => 3,
    }
}

fn line(row: &rtl::Signal, signal: &Signal) -> Row {
    let look = match (row.row, signal.reading) {
        (rtl::Row::Trace, _) => Look::Trace,
        (_, Some(Reading::Own(..))) => Look::Number,
        _ => Look::Bits,
    };
    Row { path: row.path.clone(), label: row.label.clone(), look, role: row.role }
}
