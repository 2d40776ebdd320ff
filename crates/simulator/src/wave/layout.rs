//! The pipeline as a reader meets it: stages in order, in each of them control, then the numbers that it
//! computes, then what is folded away. This is what the save file shows and what the default selection
//! records.

mod fa2;
mod flash_d;

use flashd_hwmodel::config::{CoreConfig, Design, Fa2Variant, WeightUnit};
use flashd_hwmodel::numerics::Numerics;

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
    /// Path below the core.
    pub path: String,
    /// What the reader sees instead of the path.
    pub label: String,
    /// How it is drawn.
    pub look: Look,
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
    fn new(title: String) -> Self {
        Group { title, ..Group::default() }
    }

    fn stage(number: usize, what: &str) -> Self {
        Group::new(format!("Stage {number}: {what}"))
    }

    /// All rows, folded or not.
    pub fn all_rows(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().chain(self.folds.iter().flat_map(|(_, rows)| rows))
    }

    fn add(&mut self, look: Look, rows: &[(&str, &str)]) {
        self.rows.extend(rows.iter().map(|(path, label)| row(look, path, label)));
    }

    /// `|j| -> rows` of element 0 in the open, of the others that are shown folded away.
    fn add_elements(&mut self, count: usize, rows: impl Fn(usize) -> Vec<Row>) {
        let shown = count.min(SHOWN_ELEMENTS);
        self.rows.extend(rows(0));
        if shown > 1 {
            let title = if shown == 2 { "Element 1".into() } else { format!("Elements 1 to {}", shown - 1) };
            self.folds.push((title, (1..shown).flat_map(rows).collect()));
        }
    }
}

/// Elements of a vector that are shown.
const SHOWN_ELEMENTS: usize = 4;

fn row(look: Look, path: &str, label: &str) -> Row {
    Row { path: path.into(), label: label.into(), look }
}

fn number(path: String, label: String) -> Row {
    Row { path, label, look: Look::Number }
}

use Look::{Bits, Number, Trace};

/// The stages of a core.
pub(super) fn stages(config: &CoreConfig) -> Vec<Group> {
    let levels = Numerics::new(config).tree_levels as usize;
    let mut stages = vec![query_and_key(config.d), adder_tree(config.d, levels)];
    let [score, value, output] = [1, 2, 3].map(|offset| levels + offset);
    stages.extend(match (config.design, config.weight, config.fa2) {
        (Design::FlashD, WeightUnit::Lse, _) => flash_d::lse(score, value, output, config.d),
        (Design::FlashD, WeightUnit::Paper, _) => flash_d::paper(score, value, output, config.d),
        (Design::Fa2, _, Fa2Variant::Default) => fa2::default(score, value, output, config.d),
        (Design::Fa2, _, Fa2Variant::Literal) => fa2::literal(score, value, output, config.d),
    });
    let mut result = Group::stage(levels + 4, "result");
    result.add(Bits, &[("o_valid", "o_valid"), ("o_invalid", "o_invalid")]);
    result.add_elements(config.d, |j| {
        let look = if j == 0 { Trace } else { Number };
        vec![row(look, &format!("o_{j}"), &format!("o[{j}]"))]
    });
    stages.push(result);
    stages
}

fn query_and_key(d: usize) -> Group {
    let mut g = Group::stage(0, "query and key");
    g.add(
        Bits,
        &[
            ("clk", "clk"),
            ("rst", "rst"),
            ("q_valid", "q_valid"),
            ("k_valid", "k_valid"),
            ("k_last", "k_last"),
            ("control.expect_first_q.q", "first key"),
            ("control.flags.invalid", "q or k is Inf or NaN"),
        ],
    );
    g.add_elements(d, |j| {
        vec![
            number(format!("q_{j}"), format!("q[{j}]")),
            number(format!("q_q_{j}.q"), format!("query register [{j}]")),
            number(format!("k_{j}"), format!("k[{j}]")),
            number(format!("dot.product_{j}.y"), format!("q[{j}] k[{j}]")),
        ]
    });
    g
}

fn adder_tree(d: usize, levels: usize) -> Group {
    let mut g = Group::new(match levels {
        1 => "Stage 1: adder tree".into(),
        _ => format!("Stage 1..{levels}: adder tree"),
    });
    let flag = |name: &str, stage: usize| {
        row(Bits, &format!("control.pipe.{name}_q_{}.q", stage - 1), &format!("{name}, stage {stage}"))
    };
    g.rows.extend((1..=levels).map(|stage| flag("valid", stage)));
    let others = ["first", "last", "invalid"];
    let flags = (1..=levels).flat_map(|stage| others.map(|name| flag(name, stage)));
    g.folds.push(("First, last, invalid".into(), flags.collect()));
    let (mut tree, mut sums, mut folded) = ("dot.tree_0".to_string(), d, Vec::new());
    for stage in 1..=levels {
        sums = sums.div_ceil(2);
        for i in 0..sums.min(SHOWN_ELEMENTS) {
            let row = number(format!("{tree}.sum_q_{i}.d"), format!("level {stage}, sum {i}"));
            if i == 0 { g.rows.push(row) } else { folded.push(row) }
        }
        tree += ".rest_0";
    }
    if !folded.is_empty() {
        g.folds.push(("More sums".into(), folded));
    }
    g
}

/// The flags at the score stage, all designs.
const SCORE_FLAGS: [(&str, &str); 4] = [
    ("control.valid", "valid"),
    ("control.first", "first key"),
    ("control.last", "last key"),
    ("control.invalid", "invalid"),
];
/// The flags at the value stage, all designs.
const VALUE_FLAGS: [(&str, &str); 4] = [
    ("flags.valid_out", "valid"),
    ("flags.first_out", "first key"),
    ("flags.last_out", "last key"),
    ("flags.invalid_out", "invalid"),
];

#[cfg(test)]
mod tests {
    use super::super::{numbers::Numbers, signals};
    use super::*;
    use flashd_hwmodel::config::Accumulator;
    use flashd_hwmodel::cores::build;
    use flashd_hwmodel::format::Format;

    /// The names are written out by hand: they have to follow the hardware.
    #[test]
    fn every_row_is_a_signal_and_every_number_has_a_value() {
        let mut missing = std::collections::BTreeSet::new();
        for (_, format) in Format::NAMED {
            let wide = Accumulator::Fraction(format.fraction_bits.max(16));
            for (d, accumulator) in [(2, None), (5, Some(wide)), (16, None)] {
                let flash_d = CoreConfig { accumulator, ..CoreConfig::new(Design::FlashD, d, format) };
                let fa2 = CoreConfig { accumulator, ..CoreConfig::new(Design::Fa2, d, format) };
                for config in [
                    flash_d.clone(),
                    CoreConfig { weight: WeightUnit::Paper, ..flash_d },
                    fa2.clone(),
                    CoreConfig { fa2: Fa2Variant::Literal, ..fa2 },
                ] {
                    let signals = signals::list("core", build(&config).unwrap().as_ref());
                    let numbers = Numbers::new(&config);
                    for row in stages(&config).iter().flat_map(Group::all_rows) {
                        let i = signals.iter().position(|s| s.below_core() == row.path);
                        let beside = i.and_then(|i| numbers.beside(&signals, i));
                        if i.is_none() || beside.is_none() && row.look != Look::Bits {
                            missing.insert(format!("{}: {}", config.name(), row.path));
                        }
                    }
                }
            }
        }
        assert!(missing.is_empty(), "no such signal, or no number: {missing:#?}");
    }
}
