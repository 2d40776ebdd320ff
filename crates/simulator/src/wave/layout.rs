//! The pipeline as a reader meets it: stages in order, in each of them control, then the numbers that it
//! computes, then what is folded away. This is what the save file shows and what the default selection
//! records.

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
    let title = |offset: usize, what: &str| Group::new(format!("Stage {}: {what}", levels + offset));
    let mut stages = vec![query_and_key(config.d), adder_tree(config.d, levels)];
    match (config.design, config.weight, config.fa2) {
        (Design::FlashD, WeightUnit::Lse, _) => {
            stages.push(lse_score(title(1, "score and weight state")));
            stages.push(lse_weight(title(2, "weight")));
            stages.push(flash_d_update(title(3, "output update"), config.d));
        }
        (Design::FlashD, WeightUnit::Paper, _) => {
            stages.push(paper_score(title(1, "score and weight state")));
            stages.push(paper_weight(title(2, "weight")));
            stages.push(flash_d_update(title(3, "output update"), config.d));
        }
        (Design::Fa2, _, Fa2Variant::Default) => {
            stages.push(fa2_score(title(1, "score and weight state")));
            stages.push(fa2_value(title(2, "value"), config.d));
            stages.push(fa2_division(title(3, "division"), config.d));
        }
        (Design::Fa2, _, Fa2Variant::Literal) => {
            stages.push(literal_score(title(1, "score and weight state")));
            stages.push(literal_value(title(2, "value"), config.d));
            stages.push(literal_division(title(3, "division"), config.d));
        }
    }
    let mut result = title(4, "result");
    result.add(Bits, &[("o_valid", "o_valid"), ("o_invalid", "o_invalid")]);
    result.add_elements(config.d, |j| {
        let look = if j == 0 { Trace } else { Number };
        vec![row(look, &format!("o_{j}"), &format!("o[{j}]"))]
    });
    stages.push(result);
    stages
}

fn query_and_key(d: usize) -> Group {
    let mut g = Group::new("Stage 0: query and key".into());
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
        _ => format!("Stages 1 to {levels}: adder tree"),
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
/// FLASH-D's flags at the weight stage.
const WEIGHT_FLAGS: [(&str, &str); 8] = [
    ("flags.valid_q_0.q", "valid"),
    ("weight.first_q.q", "first key"),
    ("flags.last_q_0.q", "last key"),
    ("flags.invalid_q_0.q", "invalid"),
    ("v_step", "v_step"),
    ("v_ren", "v_ren"),
    ("weight.update", "update (not held)"),
    ("weight.load", "load v"),
];

fn lse_score(mut g: Group) -> Group {
    g.add(Bits, &SCORE_FLAGS);
    g.add(Bits, &[("weight.hold.update", "update (not held)"), ("weight.argument.negative", "x < 0")]);
    g.add(
        Number,
        &[
            ("dot.dot", "dot product q k"),
            ("weight.score.score", "score s"),
            ("weight.log_sum_exp_q.q", "state L"),
            ("weight.difference.x", "x = s - L"),
            ("weight.argument.t", "t = |x|"),
            ("weight.tail.tail", "tail = ln(1 + exp(-t))"),
            ("weight.log_sum_exp.log_sum_exp_next", "next L"),
        ],
    );
    g
}

fn lse_weight(mut g: Group) -> Group {
    g.add(Bits, &WEIGHT_FLAGS);
    g.add(Bits, &[("weight.negative_q.q", "x < 0")]);
    g.add(Number, &[("weight.t_q.q", "t = |x|")]);
    g.add(Trace, &[("weight.w", "weight w")]);
    g
}

fn paper_score(mut g: Group) -> Group {
    g.add(Bits, &SCORE_FLAGS);
    g.add(Bits, &[("weight.skip.keeps", "D <= -6: keep o"), ("weight.skip.loads", "first or D >= 11: load v")]);
    g.add(
        Number,
        &[
            ("dot.dot", "dot product q k"),
            ("weight.score.score", "score s"),
            ("weight.score_q.q", "previous score"),
            ("weight.difference.y", "D = s - previous"),
        ],
    );
    g
}

fn paper_weight(mut g: Group) -> Group {
    g.add(Bits, &WEIGHT_FLAGS);
    g.add(Bits, &[("weight.keeps_q.q", "D <= -6: keep o")]);
    g.add(
        Number,
        &[
            ("weight.difference_q.q", "D"),
            ("weight.w_q.q", "previous w"),
            ("weight.ln.y", "ln of previous w"),
            ("weight.x.y", "x = D + ln w"),
            ("weight.sigmoid.y", "sigmoid(x)"),
        ],
    );
    g.add(Trace, &[("weight.w", "weight w")]);
    g
}

fn flash_d_update(mut g: Group, d: usize) -> Group {
    g.add(Bits, &VALUE_FLAGS);
    g.add(
        Bits,
        &[
            ("reads_v_q.q", "v was read"),
            ("group_0.update_q.q", "update (not held)"),
            ("group_0.load_q.q", "load v"),
        ],
    );
    g.add(Number, &[("group_0.w_q.q", "w")]);
    g.add_elements(d, |j| {
        let lane = format!("group_0.lane_{j}");
        vec![
            number(format!("v_{j}"), format!("v[{j}]")),
            number(format!("{lane}.o_q.q"), format!("o[{j}] before")),
            number(format!("{lane}.difference.y"), format!("v[{j}] - o[{j}]")),
            number(format!("{lane}.product.y"), format!("w (v[{j}] - o[{j}])")),
            number(format!("{lane}.sum.y"), format!("o[{j}] + w (v[{j}] - o[{j}])")),
            number(format!("{lane}.select.o_next"), format!("next o[{j}]")),
        ]
    });
    g
}

fn fa2_score(mut g: Group) -> Group {
    g.add(Bits, &SCORE_FLAGS);
    g.add(Bits, &[("v_step", "v_step"), ("v_ren", "v_ren"), ("softmax.moved", "maximum moves")]);
    g.add(
        Number,
        &[
            ("dot.dot", "dot product q k"),
            ("softmax.score.score", "score s"),
            ("softmax.maximum_q.q", "maximum m"),
            ("softmax.maximum.distance", "|s - m|"),
            ("softmax.maximum.maximum_next", "next m"),
        ],
    );
    g.add(Trace, &[("softmax.e", "e = exp(-|s - m|)")]);
    g
}

fn fa2_value(mut g: Group, d: usize) -> Group {
    g.add(Bits, &VALUE_FLAGS);
    g.add(
        Bits,
        &[
            ("group_0.update_q.q", "update"),
            ("group_0.load_q.q", "load v"),
            ("group_0.moved_q.q", "maximum moved"),
        ],
    );
    g.add(
        Number,
        &[("group_0.e_q.q", "e"), ("sum.sum_q.q", "running sum l"), ("sum.sum.sum_next", "next l")],
    );
    g.add_elements(d, |j| {
        let lane = format!("group_0.lane_{j}");
        vec![
            number(format!("v_{j}"), format!("v[{j}]")),
            number(format!("{lane}.o_q.q"), format!("accumulator [{j}]")),
            number(format!("{lane}.product.y"), format!("o[{j}] e or v[{j}] e")),
            number(format!("{lane}.sum.y"), format!("sum [{j}]")),
            number(format!("{lane}.select.o_next"), format!("next accumulator [{j}]")),
        ]
    });
    g
}

/// The flags at the division stage, both FA2 variants.
const DIVISION_FLAGS: [(&str, &str); 2] =
    [("result.done", "last key done"), ("result.done_invalid", "invalid")];

fn fa2_division(mut g: Group, d: usize) -> Group {
    g.add(Bits, &DIVISION_FLAGS);
    g.add(Number, &[("sum.reciprocal.sum", "sum l"), ("sum.r", "r: 1 / l = r 2^-right")]);
    g.add(Bits, &[("sum.right", "right")]);
    g.add_elements(d, |j| {
        let lane = format!("group_0.lane_{j}");
        vec![
            number(format!("{lane}.scale.o"), format!("accumulator [{j}]")),
            number(format!("{lane}.scale.y"), format!("accumulator [{j}] / l")),
        ]
    });
    g
}

fn literal_score(mut g: Group) -> Group {
    g.add(Bits, &SCORE_FLAGS);
    g.add(Bits, &[("v_step", "v_step"), ("v_ren", "v_ren")]);
    g.add(
        Number,
        &[
            ("dot.dot", "dot product q k"),
            ("softmax.score.score", "score s"),
            ("softmax.maximum_q.q", "old maximum"),
            ("softmax.maximum.y", "maximum m"),
            ("softmax.old_difference.y", "old maximum - m"),
            ("softmax.new_difference.y", "s - m"),
            ("softmax.c", "c = exp(old maximum - m)"),
        ],
    );
    g.add(Trace, &[("softmax.e", "e = exp(s - m)")]);
    g
}

fn literal_value(mut g: Group, d: usize) -> Group {
    g.add(Bits, &VALUE_FLAGS);
    g.add(Bits, &[("group_0.update_q.q", "update"), ("group_0.load_q.q", "load v")]);
    g.add(
        Number,
        &[
            ("group_0.c_q.q", "c"),
            ("group_0.e_q.q", "e"),
            ("sum.sum_q.q", "running sum l"),
            ("sum.scaled.y", "l c"),
            ("sum.select.y", "next l"),
        ],
    );
    g.add_elements(d, |j| {
        let lane = format!("group_0.lane_{j}");
        vec![
            number(format!("v_{j}"), format!("v[{j}]")),
            number(format!("{lane}.o_q.q"), format!("accumulator [{j}]")),
            number(format!("{lane}.old_product.y"), format!("accumulator [{j}] c")),
            number(format!("{lane}.new_product.y"), format!("v[{j}] e")),
            number(format!("{lane}.sum.y"), format!("sum [{j}]")),
            number(format!("{lane}.select.o_next"), format!("next accumulator [{j}]")),
        ]
    });
    g
}

fn literal_division(mut g: Group, d: usize) -> Group {
    g.add(Bits, &DIVISION_FLAGS);
    g.add(Number, &[("sum.reciprocal.sum", "sum l"), ("sum.r", "r = 1 / l")]);
    g.add_elements(d, |j| {
        let lane = format!("group_0.lane_{j}");
        vec![
            number(format!("{lane}.scale.a"), format!("accumulator [{j}]")),
            number(format!("{lane}.scale.y"), format!("accumulator [{j}] r")),
        ]
    });
    g
}
