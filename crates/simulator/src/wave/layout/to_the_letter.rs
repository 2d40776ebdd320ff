//! The stages of the two variants that follow the paper to the letter, everything in the format.

use super::Look::{Bits, Number, Trace};
use super::{Group, number, score_rows};
use flashd_spec::config::CoreConfig;

/// FLASH-D with the paper's weight unit, from the score to the output update.
pub(super) fn paper(config: &CoreConfig) -> Vec<Group> {
    vec![
        score(config),
        paper_delay(config),
        paper_difference(config),
        paper_weight(config),
        paper_update(config),
    ]
}

/// FA2 as the paper draws it, from the score to the division.
pub(super) fn literal(config: &CoreConfig) -> Vec<Group> {
    vec![
        score(config),
        literal_exponentials(config),
        literal_sum(config),
        literal_value(config),
        literal_division(config),
    ]
}

fn score(config: &CoreConfig) -> Group {
    let mut g = Group::after_score(config, 0, "score");
    g.add(Number, &score_rows(config));
    g
}

fn paper_delay(config: &CoreConfig) -> Group {
    let mut g = Group::after_score(config, 1, "score waits for the other variants' pipeline");
    g.add(Number, &[("weight.late_score.stage_q_0.q", "score s")]);
    g
}

fn paper_difference(config: &CoreConfig) -> Group {
    let mut g = Group::after_score(config, 2, "difference");
    g.add(
        Bits,
        &[("weight.skip.keeps", "D <= -6: keep o"), ("weight.skip.loads", "first or D >= 11: load v")],
    );
    g.add(
        Number,
        &[
            ("weight.late_score.y", "score s"),
            ("weight.score_q.q", "previous score"),
            ("weight.difference.y", "D = s - previous"),
        ],
    );
    g
}

fn paper_weight(config: &CoreConfig) -> Group {
    let mut g = Group::after_score(config, 3, "weight");
    g.add(
        Bits,
        &[
            ("weight.update", "update (not held)"),
            ("weight.keeps_q.q", "D <= -6: keep o"),
            ("weight.load", "first or D >= 11: load v"),
        ],
    );
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

fn paper_update(config: &CoreConfig) -> Group {
    let mut g = Group::after_score(config, 4, "output update");
    g.add(
        Bits,
        &[
            ("late_reads_v.y", "v was read"),
            ("group_0.update_q.q", "update (not held)"),
            ("group_0.load_q.q", "load v"),
        ],
    );
    g.add(Number, &[("group_0.w_q.q", "w")]);
    g.add_elements(config.dv(), |j| {
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

fn literal_exponentials(config: &CoreConfig) -> Group {
    let mut g = Group::after_score(config, 1, "maximum and exponentials");
    g.add(
        Number,
        &[
            ("weight.score_q.q", "score s"),
            ("weight.maximum_q.q", "old maximum"),
            ("weight.maximum.y", "maximum m"),
            ("weight.old_difference.y", "old maximum - m"),
            ("weight.new_difference.y", "s - m"),
            ("weight.old_exp.y", "c = exp(old maximum - m)"),
        ],
    );
    g.add(Trace, &[("weight.new_exp.y", "e = exp(s - m)")]);
    g
}

fn literal_sum(config: &CoreConfig) -> Group {
    let mut g = Group::after_score(config, 2, "running sum");
    g.add(
        Number,
        &[
            ("weight.c", "c"),
            ("weight.e", "e"),
            ("weight.sum.sum_q.q", "running sum l"),
            ("weight.sum.scaled.y", "l c"),
            ("weight.sum.select.y", "next l"),
        ],
    );
    g
}

fn literal_value(config: &CoreConfig) -> Group {
    let mut g = Group::after_score(config, 3, "value, reciprocal");
    g.add(Bits, &[("reads_v_q.q", "v was read"), ("group_0.update_q.q", "update")]);
    g.add(Bits, &[("group_0.load_q.q", "load v"), ("finish.end", "l is final")]);
    g.add(
        Number,
        &[
            ("weight.sum.reciprocal.sum", "sum l"),
            ("weight.r", "r = 1 / l"),
            ("group_0.c_q.q", "c"),
            ("group_0.e_q.q", "e"),
        ],
    );
    g.add_elements(config.dv(), |j| {
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

fn literal_division(config: &CoreConfig) -> Group {
    let mut g = Group::after_score(config, 4, "division");
    g.add(Bits, &[("group_0.finish_q.q", "accumulator is final")]);
    g.add(Number, &[("group_0.r_q.q", "r = 1 / l")]);
    g.add_elements(config.dv(), |j| {
        let lane = format!("group_0.lane_{j}");
        vec![
            number(format!("{lane}.scale.a"), format!("accumulator [{j}]")),
            number(format!("{lane}.scale.y"), format!("accumulator [{j}] r")),
        ]
    });
    g
}
