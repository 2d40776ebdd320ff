//! Off-by-one changes of a core's constants: its tables' coefficients and its hold limit.

use flashd_spec::config::{CoreConfig, WeightUnit};
use flashd_spec::numerics::Numerics;
use flashd_spec::pwl::Table;
use std::sync::Arc;

/// A table of the numerics.
#[derive(Clone, Copy)]
pub(super) enum TablePlace {
    Exp,
    Sigmoid,
    Log2p1,
    Ln,
    PaperSigmoid,
    Reciprocal,
}

impl TablePlace {
    /// The tables that a core has.
    pub(super) fn of_core(config: &CoreConfig) -> &'static [TablePlace] {
        match config.weight() {
            Some(WeightUnit::Lse) => &[TablePlace::Sigmoid, TablePlace::Log2p1],
            Some(WeightUnit::Paper) => &[TablePlace::PaperSigmoid, TablePlace::Ln],
            None => &[TablePlace::Exp, TablePlace::Reciprocal],
        }
    }

    pub(super) fn of(self, n: &mut Numerics) -> &mut Arc<Table> {
        match self {
            TablePlace::Exp => &mut n.exp.exp,
            TablePlace::Sigmoid => &mut n.exp.sigmoid,
            TablePlace::Log2p1 => &mut n.exp.log2p1,
            TablePlace::Ln => &mut n.exp.ln,
            TablePlace::PaperSigmoid => &mut n.exp.paper_sigmoid,
            TablePlace::Reciprocal => &mut n.reciprocal.table,
        }
    }
}

/// A kind of change: everything of it that is left is made at once.
pub(super) struct ChangeKind {
    pub(super) what: What,
    /// Entries that no query has shown so far; of a limit there is one.
    pub(super) left: Vec<usize>,
}

#[derive(Clone, Copy)]
pub(super) enum What {
    /// A table, its offsets (0) or slopes (1), up or down.
    Coefficients(TablePlace, usize, i64),
    /// The hold threshold, up or down.
    Threshold(i64),
}

impl ChangeKind {
    /// All changes of a core's constants.
    pub(super) fn all(numerics: &Numerics, config: &CoreConfig) -> Vec<ChangeKind> {
        let mut kinds = Vec::new();
        for &place in TablePlace::of_core(config) {
            for (which, change) in [(0, 1), (0, -1), (1, 1), (1, -1)] {
                let table = place.of(&mut numerics.clone()).clone();
                let coefficients = if which == 0 { &table.c0 } else { &table.c1 };
                let left = (0..coefficients.len()).filter(|&i| possible(&table, which, i, change)).collect();
                kinds.push(ChangeKind { what: What::Coefficients(place, which, change), left });
            }
        }
        if numerics.hold_threshold.is_some() {
            kinds.extend([1, -1].map(|change| ChangeKind { what: What::Threshold(change), left: vec![0] }));
        }
        kinds
    }

    /// The numerics with the change in these entries.
    pub(super) fn changed(&self, numerics: &Numerics, entries: &[usize]) -> Numerics {
        let mut n = numerics.clone();
        match self.what {
            What::Coefficients(place, which, change) => {
                let table = Arc::make_mut(place.of(&mut n));
                let coefficients = if which == 0 { &mut table.c0 } else { &mut table.c1 };
                for &i in entries {
                    coefficients[i] = coefficients[i].wrapping_add_signed(change);
                }
            }
            What::Threshold(change) => {
                n.hold_threshold = n.hold_threshold.map(|t| t.saturating_add_signed(change));
            }
        }
        n
    }
}

/// Whether a table can have a coefficient one more or less: none leaves its width, and values stay what hardware expects.
fn possible(table: &Table, which: usize, i: usize, change: i64) -> bool {
    let coefficients = if which == 0 { &table.c0 } else { &table.c1 };
    let bits = if which == 0 { table.c0_bits() } else { table.c1_bits() };
    let changed = coefficients[i].checked_add_signed(change);
    let one = (table.function.largest() * (table.value_fraction as f64).exp2()) as u64;
    changed.is_some_and(|x| x >> bits == 0 && (which == 1 || x <= one || coefficients[i] > one))
        // A value of 0 has no significand.
        && (which == 1 || change > 0 || coefficients[i] > 1)
}
